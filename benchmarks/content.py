"""What reading the documents buys: cold fits against scikit-learn, made text, real abstracts,
and what it does to the ranking of systems.

    QROWD_DATA=... python -m benchmarks content

CPU seconds. Intervals are 95 %, over collections (made text) or topics (abstracts).
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import qrowd as q
from qrowd.data.arrays import Array, Floats

FOLDER = Path(os.environ.get("QROWD_DATA") or "../shared/data")
STRENGTHS = {"0": 0.0, "0.6": 0.6}
COLLECTIONS = 30


def main() -> None:
    """All tables."""
    cold_fits()
    made()
    centred()
    abstracts()
    systems()


def cpu(work: Callable[[], object], times: int = 3) -> float:
    """The least CPU seconds of several calls."""
    found = []
    for _ in range(times):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


# --- cold fits ------------------------------------------------------------------------------------


def cold_fits() -> None:
    """`gp` on one topic of 100 documents, against GaussianProcessClassifier on the same votes."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import DotProduct

    print("| votes | gp, s | scikit-learn, s | ratio | its optimiser off, s | ratio |")
    print("|---|---|---|---|---|---|")
    collection = q.simulate(
        topics=1, documents=100, runs=0, assessors=30, votes=1, text=0.6, seed=1
    )
    assert collection.documents is not None
    vectors = q.tfidf(collection.documents)
    features = vectors.rows.toarray()
    random = np.random.default_rng(0)
    for votes in (100, 300, 700, 1500):
        at = np.arange(votes) % 100
        said = (random.random(votes) < np.where(collection.truth.grade[at] == 1, 0.7, 0.3)) * 1
        rows = q.Judgements.of(
            ["t01"] * votes, vectors.index.names[at], [f"a{k}" for k in range(votes)], said
        )
        own = cpu(partial(q.get("gp").fit, rows, q.Given(documents=vectors)), 25)
        theirs = [
            cpu(
                partial(
                    _peer,
                    GaussianProcessClassifier(DotProduct(1.0), optimizer=optimiser),
                    features,
                    at,
                    said,
                ),
                7 if votes < 500 else 3,
            )
            for optimiser in ("fmin_l_bfgs_b", None)
        ]
        print(
            f"| {votes} | {own:.4f} | {theirs[0]:.3f} | {theirs[0] / own:.0f} "
            f"| {theirs[1]:.3f} | {theirs[1] / own:.1f} |",
            flush=True,
        )


def _peer(peer: Any, features: Floats, at: Array, said: Array) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(peer.fit(features[at], said).predict_proba(features))


# --- made text ------------------------------------------------------------------------------------


def made() -> None:
    """Gains over `mv` at half a vote, 1 and 2 votes per document."""
    print("\n| strength | method | 0.5 votes | 1 vote | 2 votes |\n|---|---|---|---|---|")
    methods = ["mv", "mvnn", "mev", "mev(own_counts=False)", "gp", "gp(centred=True)"]
    points = (0.5, 1.0, 2.0)
    for name, strength in STRENGTHS.items():
        gains = np.array([_gains(strength, seed, methods, points) for seed in range(COLLECTIONS)])
        for at, method in enumerate(methods[1:], 1):
            cells = " | ".join(_cell(gains[:, at, p]) for p in range(len(points)))
            print(f"| {name} | `{method}` | {cells} |", flush=True)


def _gains(strength: float, seed: int, methods: list[str], points: tuple[float, ...]) -> Floats:
    """Accuracy less that of `mv`: [method, point]."""
    collection = q.simulate(
        topics=5, documents=60, runs=0, assessors=25, votes=5, text=strength, seed=seed
    )
    loop = q.Loop(votes=2, randomisations=5, every=30, seed=seed)
    curves = q.vote_by_vote(
        collection.judgements, collection.truth, methods, documents=collection.documents, loop=loop
    )
    means = np.stack([curves.mean(m) for m in curves.methods])
    at = [curves.at(point) for point in points]
    return np.asarray((means - means[:1])[:, at])


def centred() -> None:
    """Gains over `mv` of one fit on 1 and on 2 votes per document, as in the paper and centred."""
    print("\n| strength | method | 1 vote | 2 votes |\n|---|---|---|---|")
    methods = ("gp", "gp(centred=True)")
    for name, strength in STRENGTHS.items():
        found = np.array(
            [
                [_fitted(strength, votes, seed, methods) for votes in (1, 2)]
                for seed in range(COLLECTIONS)
            ]
        )
        for at, method in enumerate(methods):
            print(f"| {name} | `{method}` | {_cell(found[:, 0, at])} | {_cell(found[:, 1, at])} |")


def _fitted(strength: float, votes: int, seed: int, methods: tuple[str, ...]) -> list[float]:
    """Each method's accuracy less that of `mv`; ties are half right."""
    collection = q.simulate(
        topics=5, documents=60, runs=0, assessors=25, votes=votes, text=strength, seed=seed
    )
    assert collection.documents is not None
    given = q.Given(documents=q.tfidf(collection.documents))

    def right(method: str) -> float:
        gap = q.get(method).fit(collection.judgements, given).relevant - 0.5
        sign = np.where(np.abs(gap) < 1e-9, 0.0, np.sign(gap))
        return float((0.5 + 0.5 * sign * (2 * collection.truth.grade - 1)).mean())

    base = right("mv")
    return [right(method) - base for method in methods]


def _cell(values: Floats) -> str:
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    mean = values.mean()
    return f"{mean:+.3f} [{mean - half:+.3f}, {mean + half:+.3f}]"


# --- real abstracts -------------------------------------------------------------------------------


def abstracts() -> None:
    """`cystic_fibrosis`: each assessor in turn is the gold, the other three are the crowd."""
    folder = FOLDER / "cystic_fibrosis"
    if not folder.is_dir():
        print(f"\nno {folder}: QROWD_DATA names the folder of real data")
        return
    rows = q.read_judgements(folder / "judgements.tsv.gz").binary(1)
    vectors = q.tfidf(q.read_documents(folder / "documents.tsv.gz"))
    found = q.with_text(rows, vectors)
    rows, points = found.judgements, (0.3, 1.0, 2.0)
    methods = ["mv", "mvnn", "mev", "gp", "gp(centred=True)"]
    gains = [_left_out(rows, vectors, str(who), methods, points) for who in rows.assessors]
    each = np.mean(gains, axis=0)  # a topic's four figures are not independent
    print(f"\n{len(found.missing)} documents without text are left out.")
    print("\n| method | 0.3 votes | 1 vote | 2 votes |\n|---|---|---|---|")
    base = " | ".join(f"{value:.3f}" for value in each[0].mean(axis=0))
    print(f"| `mv` (accuracy) | {base} |")
    for at, method in enumerate(methods[1:], 1):
        cells = " | ".join(_cell(each[at, :, p] - each[0, :, p]) for p in range(len(points)))
        print(f"| `{method}` (gain) | {cells} |")


def _left_out(
    rows: q.Judgements, vectors: q.Vectors, who: str, methods: list[str], points: tuple[float, ...]
) -> Array:
    """Mean accuracy [method, topic, point] with this assessor as gold."""
    one = q.Index.of([who])
    gold = rows.of_assessors(one).by_assessor().qrels(who)
    others = rows.of_assessors(rows.assessors.without(one))
    loop = q.Loop(votes=2, randomisations=5, every=1)
    curves = q.vote_by_vote(others, gold, methods, documents=vectors, loop=loop)
    at = [int(np.argmin(np.abs(curves.votes - point))) for point in points]
    return np.asarray(curves.accuracy.mean(axis=2)[:, :, at])


# --- the ranking of systems -----------------------------------------------------------------------


def systems() -> None:
    """Lexical and dense runs under merged qrels and under the truth."""
    print(
        "\n| text | qrels | tau_AP with truth | AP of lexical runs, less truth's "
        "| of dense runs | lexical less dense |"
    )
    print("|---|---|---|---|---|---|")
    for name, strength in STRENGTHS.items():
        found = {method: [] for method in ("mv", "ds", "gp")}  # type: dict[str, list[list[float]]]
        for seed in range(COLLECTIONS):
            for method, figures in _ranked(strength, seed, tuple(found)).items():
                found[method].append(figures)
        for method, rows in found.items():
            cells = " | ".join(_cell(column) for column in np.array(rows).T)
            print(f"| {name} | `{method}` | {cells} |", flush=True)


def _ranked(strength: float, seed: int, methods: tuple[str, ...]) -> dict[str, list[float]]:
    collection = q.simulate(
        topics=15, documents=60, runs=0, assessors=25, votes=2, text=strength, seed=seed
    )
    assert collection.documents is not None
    vectors = q.tfidf(collection.documents)
    runs, lexical = _runs(collection, seed)
    truth = q.evaluate(runs, collection.truth, [q.AP]).means()[0, 0]
    result = {}
    for method in methods:
        merged = q.get(method).fit(collection.judgements, q.Given(documents=vectors))
        scores = q.evaluate(runs, merged.qrels(), [q.AP]).means()[0, 0]
        gap = scores - truth
        apart = float(gap[lexical].mean()), float(gap[~lexical].mean())
        result[method] = [float(q.tau_ap(scores, truth)), *apart, apart[0] - apart[1]]
    return result


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
            rows += [
                (f"{kind}{number % 8}", str(truth.topics.names[topic]), str(d), float(s))
                for d, s in zip(names, score, strict=True)
            ]
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
    main()
