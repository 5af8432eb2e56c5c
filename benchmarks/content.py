"""What reading the documents buys: cold fits against scikit-learn, made text, real abstracts,
and what it does to the ranking of systems.

    QROWD_DATA=... python -m benchmarks.content [--only PART ...]

CPU seconds. Intervals are 95 %, over collections (made text) or topics (abstracts).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import DotProduct

import qrowd as q
from benchmarks._benchmark import Table, attempt, option, run
from benchmarks._data import folder
from benchmarks._measure import least
from qrowd.data.arrays import Array, Floats

STRENGTHS = (0.0, 0.6)
PARTS = ("cold", "made", "centred", "abstracts", "systems")


@dataclass(frozen=True)
class Options:
    collections: int = 30
    votes: tuple[int, ...] = (100, 300, 700, 1500)  # of a cold fit
    times: int = 25  # a cold fit
    randomisations: int = 5
    topics: int = 100  # of the abstracts
    documents: int = 60
    assessors: int = 4  # of the abstracts who are gold in turn
    only: tuple[str, ...] = option(PARTS, choices=PARTS)


SHORT = Options(
    collections=2, votes=(20,), times=1, randomisations=1, topics=3, documents=20, assessors=1
)


def main(options: Options) -> None:
    """A table for each part."""
    for name, part in zip(PARTS, (cold_fits, made, centred, abstracts, systems), strict=True):
        if name in options.only:
            attempt(partial(part, options))


# --- cold fits ------------------------------------------------------------------------------------


def cold_fits(options: Options) -> None:
    """`gp` on one topic of 100 documents, against GaussianProcessClassifier on the same votes."""
    table = Table(
        "votes",
        "gp, s",
        "scikit-learn, s",
        "ratio",
        "its optimiser off, s",
        "ratio to that",
        title="Cold fits",
    )
    collection = q.simulate(
        topics=1, documents=100, runs=0, assessors=30, votes=1, text=0.6, seed=1
    )
    assert collection.documents is not None
    vectors = q.tfidf(collection.documents)
    features = vectors.rows.toarray()
    random = np.random.default_rng(0)
    for votes in options.votes:
        at = np.arange(votes) % 100
        said = (random.random(votes) < np.where(collection.truth.grade[at] == 1, 0.7, 0.3)) * 1
        rows = q.Judgements.of(
            ["t01"] * votes, vectors.index.names[at], [f"a{k}" for k in range(votes)], said
        )
        fit = partial(q.get("gp").fit, rows, q.Given(documents=vectors))
        own = least(fit, options.times).cpu
        cells = []
        for optimiser in ("fmin_l_bfgs_b", None):
            peer = GaussianProcessClassifier(DotProduct(1.0), optimizer=optimiser)
            fewer = min(options.times, 7 if votes < 500 else 3)
            theirs = least(partial(_peer, peer, features, at, said), fewer).cpu
            cells += [f"{theirs:.3f}", f"{theirs / own:.1f}"]
        table.row(votes, f"{own:.4f}", *cells)


def _peer(peer: Any, features: Floats, at: Array, said: Array) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(peer.fit(features[at], said).predict_proba(features))


# --- made text ------------------------------------------------------------------------------------


def made(options: Options) -> None:
    """Gains over `mv` at half a vote, 1 and 2 votes per document."""
    table = Table("strength", "method", "0.5 votes", "1 vote", "2 votes", title="Made text")
    methods = ["mv", "mvnn", "mev", "mev(own_counts=False)", "gp", "gp(centred=True)"]
    for strength in STRENGTHS:
        gains = np.array(
            [_gains(strength, seed, methods, options) for seed in range(options.collections)]
        )
        for at, method in enumerate(methods[1:], 1):
            table.row(f"{strength:g}", f"`{method}`", *map(_cell, gains[:, at].T))


def _gains(strength: float, seed: int, methods: list[str], options: Options) -> Floats:
    """Accuracy less that of `mv`: [method, 0.5, 1 and 2 votes]."""
    collection = _collection(strength, seed, options, topics=5, votes=5)
    every = options.documents // 2
    loop = q.Loop(votes=2, randomisations=options.randomisations, every=every, seed=seed)
    curves = q.vote_by_vote(
        collection.judgements, collection.truth, methods, documents=collection.documents, loop=loop
    )
    means = np.stack([curves.mean(method) for method in curves.methods])
    at = [curves.at(votes) for votes in (0.5, 1.0, 2.0)]
    return np.asarray((means - means[:1])[:, at])


def _collection(
    strength: float, seed: int, options: Options, *, topics: int, votes: int
) -> q.Collection:
    return q.simulate(
        topics=topics,
        documents=options.documents,
        runs=0,
        assessors=25,
        votes=votes,
        text=strength,
        seed=seed,
    )


def centred(options: Options) -> None:
    """Gains over `mv` of one fit on 1 and on 2 votes per document, as in the paper and centred."""
    table = Table("strength", "method", "1 vote", "2 votes", title="Centred")
    methods = ("gp", "gp(centred=True)")
    for strength in STRENGTHS:
        gains = np.array(
            [
                [_fitted(strength, votes, seed, methods, options) for votes in (1, 2)]
                for seed in range(options.collections)
            ]
        )
        for at, method in enumerate(methods):
            table.row(f"{strength:g}", f"`{method}`", *map(_cell, gains[:, :, at].T))


def _fitted(
    strength: float, votes: int, seed: int, methods: tuple[str, ...], options: Options
) -> list[float]:
    """Each method's accuracy less that of `mv`; ties are half right."""
    collection = _collection(strength, seed, options, topics=5, votes=votes)
    assert collection.documents is not None
    given = q.Given(documents=q.tfidf(collection.documents))

    def right(method: str) -> float:
        gap = q.get(method).fit(collection.judgements, given).relevant - 0.5
        sign = np.where(np.abs(gap) < 1e-9, 0.0, np.sign(gap))
        return float((0.5 + 0.5 * sign * (2 * collection.truth.grade - 1)).mean())

    base = right("mv")
    return [right(method) - base for method in methods]


def _cell(values: Floats, sign: str = "+") -> str:
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    mean = values.mean()
    return f"{mean:{sign}.3f} [{mean - half:{sign}.3f}, {mean + half:{sign}.3f}]"


# --- real abstracts -------------------------------------------------------------------------------


def abstracts(options: Options) -> None:
    """`cystic_fibrosis`: each assessor in turn is the gold, the other three are the crowd."""
    data = folder("cystic_fibrosis")
    rows = q.read_judgements(data / "judgements.tsv.gz").binary(1)
    vectors = q.tfidf(q.read_documents(data / "documents.tsv.gz"))
    texts = q.with_text(rows[q.Index(rows.topics.names[: options.topics])], vectors)
    rows, points = texts.judgements, (0.3, 1.0, 2.0)
    methods = ["mv", "mvnn", "mev", "gp", "gp(centred=True)"]
    accuracies = [
        _left_out(rows, vectors, str(assessor), methods, points, options)
        for assessor in rows.assessors.names[: options.assessors]
    ]
    each = np.mean(accuracies, axis=0)  # a topic's four figures are not independent
    print(f"\n{len(texts.missing)} documents without text are left out.")
    table = Table("method", "0.3 votes", "1 vote", "2 votes", title="Abstracts")
    table.row("`mv` (accuracy)", *(f"{value:.3f}" for value in each[0].mean(axis=0)))
    for at, method in enumerate(methods[1:], 1):
        table.row(f"`{method}` (gain)", *map(_cell, (each[at] - each[0]).T))


def _left_out(
    rows: q.Judgements,
    vectors: q.Vectors,
    assessor: str,
    methods: list[str],
    points: tuple[float, ...],
    options: Options,
) -> Array:
    """Mean accuracy [method, topic, point] with this assessor as gold."""
    alone = q.Index.of([assessor])
    gold = rows.of_assessors(alone).by_assessor().qrels(assessor)
    others = rows.of_assessors(rows.assessors.without(alone))
    loop = q.Loop(votes=2, randomisations=options.randomisations, every=1)
    curves = q.vote_by_vote(others, gold, methods, documents=vectors, loop=loop)
    at = [int(np.argmin(np.abs(curves.votes - point))) for point in points]
    return np.asarray(curves.accuracy.mean(axis=2)[:, :, at])


# --- the ranking of systems -----------------------------------------------------------------------


def systems(options: Options) -> None:
    """Lexical and dense runs under merged qrels and under the truth."""
    table = Table(
        "text",
        "qrels",
        "tau_AP with truth",
        "AP of lexical runs, less truth's",
        "of dense runs",
        "lexical less dense",
        title="Systems",
    )
    for strength in STRENGTHS:
        collections = [_ranked(strength, seed, options) for seed in range(options.collections)]
        for method in collections[0]:
            figures = np.array([collection[method] for collection in collections])
            tau, *gaps = figures.T
            table.row(f"{strength:g}", f"`{method}`", _cell(tau, "-"), *map(_cell, gaps))


def _ranked(strength: float, seed: int, options: Options) -> dict[str, list[float]]:
    """What runs get under the qrels of each method, beside what they get under the truth."""
    collection = _collection(strength, seed, options, topics=15, votes=2)
    assert collection.documents is not None
    vectors = q.tfidf(collection.documents)
    runs, lexical = _runs(collection, seed)
    truth = q.evaluate(runs, collection.truth, [q.AP]).means()[0, 0]
    figures = {}
    for method in ("mv", "ds", "gp"):
        merged = q.get(method).fit(collection.judgements, q.Given(documents=vectors))
        scores = q.evaluate(runs, merged.qrels(), [q.AP]).means()[0, 0]
        gap = scores - truth
        apart = float(gap[lexical].mean()), float(gap[~lexical].mean())
        figures[method] = [float(q.tau_ap(scores, truth)), *apart, apart[0] - apart[1]]
    return figures


def _runs(collection: q.Collection, seed: int) -> tuple[q.RunSet, Array]:
    """Eight runs that see the query's words, eight that see relevance as well but no words."""
    random = np.random.default_rng([seed, 7])
    truth, rows = collection.truth, []
    for number in range(16):
        kind, weight = ("lexical", "dense")[number // 8], 0.2 + 0.1 * (number % 8)
        for topic in range(len(truth.topics)):
            part = slice(*truth.pairs.topic_starts[topic : topic + 2])
            names = truth.pairs.document_names[part]
            signal = truth.grade[part] + random.normal(0, 1.0, len(names))
            if kind == "lexical":
                signal = _matches(collection, topic, names) + random.normal(0, 1.0, len(names))
            signal = (signal - signal.mean()) / (signal.std() or 1.0)
            score = weight * signal + random.normal(0, 1 - weight, len(names))
            run_name, topic_name = f"{kind}{number % 8}", str(truth.topics.names[topic])
            for document, value in zip(names, score, strict=True):
                rows.append((run_name, topic_name, str(document), float(value)))
    runs = q.RunSet.of(*(list(column) for column in zip(*rows, strict=True)))
    return runs, np.array([str(name).startswith("lexical") for name in runs.runs])


def _matches(collection: q.Collection, topic: int, names: Array) -> Floats:
    """How many words of its topic's description each document has."""
    assert collection.topics is not None
    assert collection.documents is not None
    words = set(str(collection.topics.description[topic]).strip(".").split()[2:])
    texts = (collection.documents[str(name)].text.split() for name in names)
    return np.array([sum(word in words for word in text) for text in texts], np.float64)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
