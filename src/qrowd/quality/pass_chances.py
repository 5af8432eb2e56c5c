"""How often good and bad workers pass the checks on a gold set, before anybody is asked.

A worker says of each document whether it is relevant, then ranks the relevant ones above the others
(the page allows nothing else). Within the two groups somebody who *knows* the documents ranks by
gold, ties at random; others rank at random. All outcomes are enumerated, up to a limit: what counts
is how many documents of each grade were called relevant, and in which order the grades stand.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Floats
from qrowd.data.qrels import Qrels
from qrowd.errors import InputError
from qrowd.quality import against_gold
from qrowd.quality.against_gold import POINTS, binary_points, gains, ideal_dcg

MOST, DRAWS = 300_000, 20_000
THRESHOLDS = tuple(np.linspace(0, 1, 101).tolist())
Curves = dict[tuple[int, ...], dict[str, dict[str, Floats]]]
"""Of each gold set: check, worker, share who pass at each threshold."""


@dataclass(frozen=True)
class Worker:
    """Says "relevant" with these probabilities where gold is not, and where it is, relevant."""

    name: str
    false_alarm: float
    hit: float
    knows: bool = False


WORKERS = (
    Worker("good", 0.1, 0.9, knows=True),
    Worker("sloppy", 0.3, 0.7),
    Worker("random", 0.5, 0.5),
    Worker("always relevant", 1.0, 1.0),
    Worker("always irrelevant", 0.0, 0.0),
)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What can come out for one worker on one gold set: probabilities and scores.

    `missed` relevant documents and `false_alarms` are counts. `exact` says whether all outcomes
    are there, or a sample of them.
    """

    p: Floats
    accuracy: Floats
    binary: Floats
    ndcg: Floats
    missed: Floats
    false_alarms: Floats
    exact: bool

    def passing(
        self, binary: float = -math.inf, ndcg: float = -math.inf, accuracy: float = -math.inf
    ) -> float:
        """The probability to reach all of these bounds."""
        near = 1e-12
        passed = self.accuracy >= accuracy - near
        passed &= self.binary >= binary - near
        if ndcg > -math.inf:  # an undefined score passes no bound
            passed &= self.ndcg >= ndcg - near
        return min(1.0, float(self.p[passed].sum()))

    def joint(self, **bounds: float) -> dict[tuple[frozenset[str], int, int], float]:
        """How often exactly these checks are failed, with so many documents missed and so many
        false alarms.
        """
        failed = np.stack(
            [~(getattr(self, name) >= least - 1e-12) for name, least in bounds.items()]
        )
        code = (2 ** np.arange(len(bounds))) @ failed
        keys = np.stack([code, self.missed, self.false_alarms]).astype(np.int64)
        kinds, kind = np.unique(keys, axis=1, return_inverse=True)
        chances = np.bincount(kind.ravel(), self.p)
        names = list(bounds)
        return {
            (frozenset(name for at, name in enumerate(names) if code >> at & 1), missed, alarms): p
            for (code, missed, alarms), p in zip(kinds.T.tolist(), chances.tolist(), strict=True)
        }


def outcomes(
    gold: Sequence[int] | Array, worker: Worker, *, ideal: str = "tied", seed: int = 0
) -> Outcomes:
    """All outcomes of a worker on a gold set, or a sample where there are too many."""
    grades = np.sort(np.maximum(np.asarray(gold, np.int64), 0))[::-1]
    if not len(grades):
        raise InputError("a gold set must have a document")
    kinds, size = np.unique(grades, return_counts=True)
    if _number(size, worker.knows) > MOST:
        return _sampled(grades, worker, ideal, np.random.default_rng(seed))
    return _enumerated(kinds, size, grades, worker, ideal)


def _number(size: Array, knows: bool) -> float:
    """An upper bound of the number of different outcomes."""
    counts = float(np.prod(size + 1.0))
    orders = math.factorial(int(size.sum())) / math.prod(math.factorial(int(n)) for n in size)
    return counts if knows else counts * orders


def _enumerated(kinds: Array, size: Array, grades: Array, worker: Worker, ideal: str) -> Outcomes:
    yes = np.where(kinds > 0, worker.hit, worker.false_alarm)
    best, parts = ideal_dcg(grades, ideal), []
    row = binary_points(kinds)
    most = (POINTS[row, (row > 0).astype(np.int64)] * size).sum()
    for answer in itertools.product(*(range(n + 1) for n in size)):
        yeses = np.array(answer)
        p = math.prod(
            math.comb(int(n), int(k)) * chance**k * (1 - chance) ** (n - k)
            for n, k, chance in zip(size, answer, yes, strict=True)
        )
        if p == 0:
            continue
        noes = size - yeses
        binary = (POINTS[row, 1] * yeses + POINTS[row, 0] * noes).sum() / most
        right = np.where(kinds > 0, yeses, noes).sum() / size.sum()
        wrong = (noes[kinds > 0].sum(), yeses[kinds == 0].sum())
        top = _gained(yeses, gains(kinds), 0, worker.knows)
        rest = _gained(noes, gains(kinds), int(yeses.sum()), worker.knows)
        dcg = (top[:, None] + rest[None, :]).ravel()
        parts.append((np.full(len(dcg), p / len(dcg)), right, binary, *wrong, dcg))
    p_all = np.concatenate([part[0] for part in parts])
    lengths = [len(part[0]) for part in parts]
    of_parts = (np.repeat([part[at] for part in parts], lengths) for at in (1, 2, 3, 4))
    accuracy, binaries, missed, false_alarms = of_parts
    dcgs = np.concatenate([part[5] for part in parts])
    ndcg = dcgs / best if best > 0 else np.full(len(dcgs), np.nan)
    return Outcomes(p_all, accuracy, binaries, ndcg, missed, false_alarms, True)


def _gained(counts: Array, gain: Floats, above: int, knows: bool) -> Floats:
    """The DCG of all equally likely orders of documents with these counts per grade."""
    n = int(counts.sum())
    discounts = 1 / np.log2(2.0 + above + np.arange(n))
    if knows:  # the best first; equal ones are alike
        order = np.repeat(np.arange(len(counts)), counts)[::-1]
        return np.array([(gain[order] * discounts).sum()])
    level: dict[tuple[int, ...], Floats] = {tuple(counts.tolist()): np.zeros(1)}
    for discount in discounts:
        following: dict[tuple[int, ...], list[Floats]] = {}
        for left, sums in level.items():
            for kind, count in enumerate(left):
                if count:
                    then = (*left[:kind], count - 1, *left[kind + 1 :])
                    following.setdefault(then, []).append(sums + gain[kind] * discount)
        level = {left: np.concatenate(sums) for left, sums in following.items()}
    return next(iter(level.values()))


def _sampled(grades: Array, worker: Worker, ideal: str, random: np.random.Generator) -> Outcomes:
    shape = (DRAWS, len(grades))
    chance = np.where(grades > 0, worker.hit, worker.false_alarm)
    relevant = random.random(shape) < chance
    coin = random.random(shape)
    knowledge = grades / (grades.max() + 1) if worker.knows else 0.0
    key = 2.0 * relevant + knowledge + (1e-6 if worker.knows else 1.0) * coin
    order = np.argsort(-key, axis=1)
    discounts = 1 / np.log2(2.0 + np.arange(len(grades)))
    best = ideal_dcg(grades, ideal)
    dcg = (gains(grades)[order] * discounts).sum(axis=1)
    row = binary_points(grades)
    points = POINTS[row[None, :], relevant.astype(np.int64)].sum(axis=1)
    most = POINTS[row, (row > 0).astype(np.int64)].sum()
    right = (relevant == (grades > 0)).mean(axis=1)
    missed = (~relevant & (grades > 0)).sum(axis=1)
    false_alarms = (relevant & (grades == 0)).sum(axis=1)
    ndcg = dcg / best if best > 0 else np.full(DRAWS, np.nan)
    p = np.full(DRAWS, 1 / DRAWS)
    return Outcomes(p, right, points / most, ndcg, missed, false_alarms, False)


# --- tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Passing:
    """How often one worker passes the checks on one kind of gold set."""

    gold: tuple[int, ...]
    topics: int
    best_ndcg: float
    worker: str
    binary: float
    ndcg: float
    both: float
    accuracy: float
    exact: bool
    problem: str


def named(grades: Sequence[int]) -> str:
    """The grades of a gold set: each one, or how many there are of each where they are many."""
    if len(grades) <= 12:
        return " ".join(map(str, grades))
    return ", ".join(f"{n} of grade {grade}" for grade, n in sorted(Counter(grades).items()))


def gold_sets(gold: Qrels) -> Counter[tuple[int, ...]]:
    """The gold sets of qrels, one per topic, by their grades; equal ones are counted."""
    starts = gold.pairs.topic_starts
    return Counter(
        tuple(sorted(gold.grade[starts[t] : starts[t + 1]].tolist()))
        for t in range(len(gold.topics))
    )


def simulate_checks(
    gold: Qrels | Sequence[int],
    *,
    workers: Sequence[Worker] = WORKERS,
    binary_at_least: float = against_gold.BINARY_AT_LEAST,
    ndcg_at_least: float = against_gold.NDCG_AT_LEAST,
    accuracy_at_least: float = 0.6,
    ideal: str = "tied",
    seed: int = 0,
) -> list[Passing]:
    """How often each kind of worker passes the binary check, the NDCG check, and both.

    >>> import qrowd as q
    >>> for row in q.simulate_checks([0, 1, 1, 2, 2]):
    ...     print(f"{row.worker:18}{row.both:.3f}")
    good              0.787
    sloppy            0.325
    random            0.106
    always relevant   0.567
    always irrelevant 0.000
    """
    sets = gold_sets(gold) if isinstance(gold, Qrels) else Counter([tuple(sorted(gold))])
    rows = []
    for grades, topics in sorted(sets.items(), key=lambda item: (-item[1], item[0])):
        best = against_gold.best_ndcg_score(grades, ideal)
        problem = against_gold.unusable(grades, ndcg_at_least, ideal)
        for worker in workers:
            of_worker = outcomes(grades, worker, ideal=ideal, seed=seed)
            shares = (
                of_worker.passing(binary=binary_at_least),
                of_worker.passing(ndcg=ndcg_at_least),
                of_worker.passing(binary=binary_at_least, ndcg=ndcg_at_least),
                of_worker.passing(accuracy=accuracy_at_least),
            )
            row = Passing(grades, topics, best, worker.name, *shares, of_worker.exact, problem)
            rows.append(row)
    return rows


def passing_curves(
    gold: Sequence[int],
    *,
    thresholds: Sequence[float] | Array = THRESHOLDS,
    ideal: str = "tied",
    seed: int = 0,
) -> dict[str, dict[str, Floats]]:
    """For each check (binary, ndcg, accuracy) and worker: how often each threshold is passed."""
    of_worker = {worker.name: outcomes(gold, worker, ideal=ideal, seed=seed) for worker in WORKERS}
    return {
        check: {
            name: np.array([outcome.passing(**{check: float(at)}) for at in thresholds])
            for name, outcome in of_worker.items()
        }
        for check in ("binary", "ndcg", "accuracy")
    }


def curves_of(gold: Qrels, *, ideal: str = "tied", seed: int = 0) -> Curves:
    """The curves of each different gold set."""
    return {grades: passing_curves(grades, ideal=ideal, seed=seed) for grades in gold_sets(gold)}


def passing_table(rows: Sequence[Passing]) -> dict[str, list[Any]]:
    """What `simulate_checks` found as columns."""
    columns: dict[str, list[Any]] = {
        field.name: [getattr(row, field.name) for row in rows] for field in fields(Passing)
    }
    return columns | {"gold": [named(row.gold) for row in rows]}


def curve_table(curves: Curves) -> dict[str, list[Any]]:
    """Curves as columns, a row for each gold set, check, worker and threshold."""
    rows = [
        (named(gold), check, worker, at, float(share))
        for gold, checks in curves.items()
        for check, workers in checks.items()
        for worker, shares in workers.items()
        for at, share in zip(THRESHOLDS, shares, strict=True)
    ]
    names = ("gold", "check", "worker", "at_least", "passing")
    return {name: [row[n] for row in rows] for n, name in enumerate(names)}
