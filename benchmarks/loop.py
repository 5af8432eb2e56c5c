"""Crowdsourcing vote by vote: what it costs, and the curve of the paper's majority vote.

    QROWD_DATA=... python -m benchmarks loop

CPU seconds of 28 topics x 100 documents x 500 votes x 50 randomisations, all labels scored after
every vote: 700,000 refits of each method. Then the exact expectation of the majority vote on the
real votes of TREC 2011, and the table of topics on made text.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

import qrowd as q

FOLDER = Path(os.environ.get("QROWD_DATA") or "../shared/data")
LEFT_OUT = ("20644", "20922")


def main() -> None:
    """All tables."""
    costs()
    expected()
    table()


def costs() -> None:
    """CPU seconds of the whole loop."""
    collection = q.simulate(
        topics=28, documents=100, runs=0, assessors=40, votes=5, text=0.6, seed=1
    )
    assert collection.documents is not None
    vectors = q.tfidf(collection.documents)
    print("| methods | CPU s |\n|---|---|")
    for names in (["mv", "mvnn", "mev"], ["gp"]):
        started = time.process_time()
        loop = q.Loop(votes=5, randomisations=50, every=1)
        q.vote_by_vote(collection.judgements, collection.truth, names, documents=vectors, loop=loop)
        print(f"| {', '.join(names)} | {time.process_time() - started:.1f} |", flush=True)


def expected() -> None:
    """The majority vote on the paper's 28 topics."""
    folder = FOLDER / "trec11_crowd_task1"
    if not folder.is_dir():
        print(f"\nno {folder}: QROWD_DATA names the folder of real data")
        return
    crowd = q.read_judgements(folder / "judgements.tsv.gz")
    gold = q.read_qrels(folder / "gold.qrels.gz").binary(1)
    crowd = crowd[crowd.topics.without(q.Index.of(LEFT_OUT))]
    print("\n| votes per document | expected accuracy of mv | a loop of 50 | its 95 % interval |")
    print("|---|---|---|---|")
    curves = q.vote_by_vote(crowd, gold, ["mv"], loop=q.Loop(votes=5, every=20))
    low, high = curves.bounds()
    for votes in (1, 3, 5):
        at = curves.at(votes)
        exact = q.expected_majority(crowd, gold, votes).mean()
        print(
            f"| {votes} | {exact:.4f} | {curves.mean('mv')[at]:.4f} "
            f"| {low[0, 0, at]:.3f} to {high[0, 0, at]:.3f} |"
        )


def table() -> None:
    """Accuracy at one vote per document, with marks."""
    collection = q.simulate(topics=8, documents=60, runs=0, assessors=30, votes=5, text=0.6, seed=3)
    names = ["mv", "mvnn", "mev", "mev(own_counts=False)", "gp"]
    loop = q.Loop(votes=1, randomisations=50, every=60)
    curves = q.vote_by_vote(
        collection.judgements, collection.truth, names, documents=collection.documents, loop=loop
    )
    columns = curves.table(1.0)
    print("\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in zip(*columns.values(), strict=True):
        print("| " + " | ".join(map(str, row)) + " |")
    print(f"\n{np.size(curves.accuracy)} figures behind it.")


if __name__ == "__main__":
    main()
