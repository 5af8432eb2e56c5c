"""Crowdsourcing vote by vote: what it costs, and the curve of the paper's majority vote.

    QROWD_DATA=... python -m benchmarks.loop [--only PART ...]

cost: CPU seconds of 28 topics x 100 documents x 500 votes x 50 randomisations, all labels scored
after every vote: 700,000 refits of each method. expected: the exact expectation of the majority
vote on the real votes of TREC 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import qrowd as q
from benchmarks._benchmark import Table, attempt, option, run
from benchmarks._data import folder
from benchmarks._measure import timed

PARTS = ("cost", "expected")
LEFT_OUT = ("20644", "20922")


@dataclass(frozen=True)
class Options:
    topics: int = 28
    documents: int = 100
    randomisations: int = 50
    real_topics: int = 28
    only: tuple[str, ...] = option(PARTS, choices=PARTS)


SHORT = Options(topics=2, documents=20, randomisations=3, real_topics=3)


def main(options: Options) -> None:
    """A table for each part."""
    for name, part in zip(PARTS, (costs, expected), strict=True):
        if name in options.only:
            attempt(partial(part, options))


def costs(options: Options) -> None:
    """CPU seconds of the whole loop."""
    collection = q.simulate(
        topics=options.topics,
        documents=options.documents,
        runs=0,
        assessors=40,
        votes=5,
        text=0.6,
        seed=1,
    )
    assert collection.documents is not None
    vectors = q.tfidf(collection.documents)
    loop = q.Loop(votes=5, randomisations=options.randomisations, every=1)
    run_loop = partial(
        q.vote_by_vote, collection.judgements, collection.truth, documents=vectors, loop=loop
    )
    table = Table("methods", "CPU s", title="Cost")
    for names in (["mv", "mvnn", "mev"], ["gp"]):
        _, spent = timed(partial(run_loop, methods=names))
        table.row(", ".join(names), f"{spent.cpu:.1f}")


def expected(options: Options) -> None:
    """The majority vote on the paper's 28 topics."""
    data = folder("trec11_crowd_task1")
    crowd = q.read_judgements(data / "judgements.tsv.gz")
    gold = q.read_qrels(data / "gold.qrels.gz").binary(1)
    topics = gold.topics.intersection(crowd.topics).without(q.Index.of(LEFT_OUT))
    crowd = crowd[q.Index(topics.names[: options.real_topics])]
    loop = q.Loop(votes=5, every=20, randomisations=options.randomisations)
    curves = q.vote_by_vote(crowd, gold, ["mv"], loop=loop)
    low, high = curves.bounds()
    table = Table(
        "votes per document",
        "expected accuracy of mv",
        f"a loop of {options.randomisations}",
        "its 95 % interval",
        title="Expected",
    )
    for votes in (1, 3, 5):
        at = curves.at(votes)
        exact = q.expected_majority(crowd, gold, votes).mean()
        interval = f"{low[0, 0, at]:.3f} to {high[0, 0, at]:.3f}"
        table.row(votes, f"{exact:.4f}", f"{curves.mean('mv')[at]:.4f}", interval)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
