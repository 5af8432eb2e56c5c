"""What a pool of judged documents does to runs: `leave_out_runs` and `unjudged`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.comparison.correlation import places, tau_b
from qrowd.data.arrays import Array, Codes, Floats, Offsets
from qrowd.data.frames import Coded, Framed, columns_of
from qrowd.data.index import Index, Pairs
from qrowd.data.qrels import NOT_JUDGED, Qrels, QrelsSet
from qrowd.data.runs import RunSet
from qrowd.errors import InputError, ParameterError
from qrowd.evaluation.engine import evaluate
from qrowd.evaluation.measure import Measure, measures_of
from qrowd.rendering import Readable, aligned, plain

TOP = 10  # ranks that users look at


@dataclass(frozen=True, eq=False)
class Reusability(Readable, Framed):
    """Runs scored without the judged pairs that only their own group brought into the pool.

    `full` and `without` are scores [measure, run], the latter of each run without its own group's
    pairs (of runs in no group, as `full`); `place` and `place_without` are the runs' places, each
    among the scores of all runs under the same qrels. `group` is each run's group, -1 for none;
    `removed` and `tau` [measure, group] say how many judged pairs a group's absence costs, and how
    the order of all runs then agrees with the full one.
    """

    measures: tuple[str, ...]
    runs: Index
    groups: Index
    depth: int
    group: Array
    removed: Array
    tau: Floats
    full: Floats
    without: Floats
    place: Floats
    place_without: Floats
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Reusability({len(self.groups)} groups of {len(self.runs)} runs)"

    def by_group(self) -> list[dict[str, Any]]:
        """One row per measure and group; the run that loses most is named."""
        rows = []
        for m, g in np.ndindex(self.tau.shape):
            own = np.flatnonzero(self.group == g)
            change = self.without[m, own] - self.full[m, own]
            lost = self.place_without[m, own] - self.place[m, own]
            worst = int(np.argmin(change))
            rows.append(
                {
                    "measure": self.measures[m],
                    "group": str(self.groups.names[g]),
                    "runs": len(own),
                    "removed": int(self.removed[g]),
                    "change": float(change.mean()),
                    "most": float(change[worst]),
                    "run": str(self.runs.names[own[worst]]),
                    "places": float(np.abs(lost).max()),
                    "tau": float(self.tau[m, g]),
                }
            )
        return rows

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`measure run group full without change place place_without`, runs in groups only."""
        m, columns = np.nonzero(np.broadcast_to(self.group >= 0, self.full.shape))
        run = columns.astype(np.int32)
        return {
            "measure": np.array(self.measures, object)[m],
            "run": Coded(self.runs, run),
            "group": self.groups.names[self.group[run]],
            "full": self.full[m, run],
            "without": self.without[m, run],
            "change": self.without[m, run] - self.full[m, run],
            "place": self.place[m, run],
            "place_without": self.place_without[m, run],
        }

    def to_dict(self) -> dict[str, Any]:
        """Both tables, as JSON has them."""
        account = {"pool_depth": self.depth, "groups": self.by_group(), "notes": self.notes}
        return dict(plain(account | {"runs": self.to_polars().to_dicts()}))

    def __str__(self) -> str:
        header = ["measure", "group", "runs", "pairs lost", "mean change", "largest", "of run"]
        rows = [list(row.values()) for row in self.by_group()]
        legend = [
            "Each group's runs are scored without the judged pairs that only they have among their "
            f"first {self.depth}: what a new system of that kind would lose under these qrels.",
            "tau: Kendall's tau_b of all runs' order without these pairs with that under all.",
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n\n".join([aligned([*header, "places moved", "tau"], rows), "\n".join(legend)])


def leave_out_runs(
    runs: RunSet,
    qrels: Qrels,
    groups: Mapping[str, str],
    measures: Measure | str | Iterable[Measure | str] = ("AP", "nDCG@10"),
    *,
    depth: int = 100,
) -> Reusability:
    """Score the runs of each group without the pairs that only they brought into the pool.

    `groups` maps runs to groups, such as the teams that submitted them; a pair was brought in by
    the runs that have it among their first `depth`. Pairs that no run has so far up stay.

    >>> import qrowd as q
    >>> made = q.simulate(topics=6, documents=60, assessors=4, votes=3, runs=4, seed=1)
    >>> teams = dict(zip(made.runs.runs, "aabb"))
    >>> q.leave_out_runs(made.runs, made.truth, teams, "AP", depth=20)
    Reusability(2 groups of 4 runs)
    """
    if depth < 1:
        raise ParameterError(f"the pool's depth must be at least 1, got {depth}")
    unknown = [name for name in groups if name not in set(runs.runs)]
    if unknown or not groups:
        some = ", ".join(list(runs.runs)[:3])
        what = f"{unknown[0]!r} is no run" if unknown else "no run is in a group"
        raise InputError(f"{what}; there are {some}, ...")
    chosen, names = measures_of(measures), Index.of(sorted(set(groups.values())))
    codes = {name: code for code, name in enumerate(names)}
    group = np.array([codes[groups[run]] if run in groups else -1 for run in runs.runs])
    only = _only_in(runs, qrels.pairs, group, depth)
    full = evaluate(runs, qrels, chosen).means()[:, 0]
    place = places(full)
    without, moved = full.copy(), place.copy()
    tau = np.empty((len(chosen), len(names)))
    removed = np.bincount(only[only >= 0], minlength=len(names))
    for g in range(len(names)):
        left = evaluate(runs, qrels.select(only != g), chosen).means()[:, 0]
        own = group == g
        without[:, own], moved[:, own] = left[:, own], places(left)[:, own]
        tau[:, g] = [tau_b(*orders) for orders in zip(left, full, strict=True)]
    return Reusability(
        tuple(map(repr, chosen)),
        runs.runs,
        names,
        depth,
        group,
        removed,
        tau,
        full,
        without,
        place,
        moved,
    )


def _only_in(runs: RunSet, pool: Pairs, group: Array, depth: int) -> Offsets:
    """The group that alone has each pair of the pool among its runs' first; -1 for none. Runs in no
    group are one each.
    """
    topic, run, document = _first(runs, depth)
    at = _rows(pool, runs, topic, document)
    of = np.where(group >= 0, group, len(group) + np.arange(len(group)))[run][at >= 0]
    at = at[at >= 0]
    least, most = np.full(len(pool), np.iinfo(np.int64).max), np.full(len(pool), -1)
    np.minimum.at(least, at, of)
    np.maximum.at(most, at, of)
    return np.where((least == most) & (most < len(group)), most, -1)


def _first(runs: RunSet, depth: int) -> tuple[Offsets, Offsets, Codes]:
    """The topic, run and document of every place among the first of a ranking."""
    cell = np.repeat(np.arange(len(runs.starts) - 1), np.diff(runs.starts))
    first = np.arange(len(cell)) - runs.starts[cell] < depth
    topic, run = np.divmod(cell[first], max(len(runs), 1))
    return topic, run, runs.document[first]


def _rows(pool: Pairs, runs: RunSet, topic: Array, document: Array) -> Offsets:
    """Where pairs of the runs' codes are in the pool; -1 where they are not."""
    topics, documents = pool.topics.find(runs.topics)[topic], pool.documents.find(runs.documents)
    known = topics.astype(np.int64) * len(pool.documents) + documents[document]
    codes = pool.topic.astype(np.int64) * len(pool.documents) + pool.document
    order = np.argsort(codes)
    at = np.minimum(np.searchsorted(codes[order], known), len(codes) - 1)
    found = (topics >= 0) & (documents[document] >= 0) & (codes[order][at] == known)
    return np.where(found, order[at], -1)


@dataclass(frozen=True, eq=False)
class Unjudged(Readable, Framed):
    """Documents among the runs' first ten that nobody judged, and how much higher each run's score
    could be at most if each of its own had the `highest` grade or were not relevant: `gain`
    [measure, run]. Not all of them need have it: by AP and nDCG what is relevant far down may cost
    more than it brings.
    """

    measures: tuple[str, ...]
    runs: Index
    number: Array
    shown: Array
    gain: Floats
    highest: int

    def rows(self) -> list[dict[str, Any]]:
        """One row per run, the most unjudged first."""
        return [
            {"run": str(self.runs.names[at]), "unjudged": int(self.number[at])}
            | {"shown": int(self.shown[at])}
            | dict(zip(self.measures, self.gain[:, at].tolist(), strict=True))
            for at in np.argsort(-self.number, kind="stable")
        ]

    def frame_columns(self) -> dict[str, Coded | Array]:
        """One row per run."""
        return columns_of(self.rows())

    def __str__(self) -> str:
        rows = [list(row.values()) for row in self.rows() if row["unjudged"]]
        if not rows:
            return f"All documents among the runs' first {TOP} are judged."
        header = [
            "run",
            "unjudged",
            f"of the first {TOP}",
            *(f"{m} at most" for m in self.measures),
        ]
        legend = (
            "Unjudged documents, and how much a run's score would rise at most if some of its own "
            f"had the highest grade ({self.highest})."
        )
        return f"{aligned(header, rows)}\n\n{legend}"


def unjudged(
    runs: RunSet,
    qrels: Qrels,
    measures: Measure | str | Iterable[Measure | str] = ("P@10",),
    *,
    highest: int | None = None,
) -> Unjudged:
    """How many documents among each run's first ten are not in the qrels, and how much its score
    would rise at most if some of them had the `highest` grade (by default, that of the qrels).

    >>> import qrowd as q
    >>> made = q.simulate(topics=6, documents=60, assessors=4, votes=3, runs=4, seed=1)
    >>> int(q.unjudged(made.runs, made.truth).number.sum())
    0
    """
    chosen = measures_of(measures)
    topic, run, document = _first(runs, TOP)
    judged = qrels.pairs.topics.find(runs.topics)[topic] >= 0
    topic, run, document = topic[judged], run[judged], document[judged]
    missing = _rows(qrels.pairs, runs, topic, document) < 0
    number = np.bincount(run[missing], minlength=len(runs))
    gain = np.zeros((len(chosen), len(runs)))
    highest = max(qrels.scale.grades) if highest is None else highest
    for at in np.flatnonzero(number):
        own = missing & (run == at)
        # of as many in a topic those nearest to the top bring most: the first 0, 1, 2 ... are tried
        nth = np.arange(own.sum()) - np.searchsorted(topic[own], topic[own])
        tried = np.where(nth[:, None] < np.arange(nth.max() + 2), highest, NOT_JUDGED)
        pool = Pairs.of(
            [*qrels.pairs.topic_names, *runs.topics.names[topic[own]]],
            [*qrels.pairs.document_names, *runs.documents.names[document[own]]],
        )
        grades = np.empty((len(pool), tried.shape[1]), np.int8)
        grades[pool.locate(qrels.pairs)] = qrels.grade[:, None]
        grades[_rows(pool, runs, topic[own], document[own])] = tried
        alone = runs.of_runs(Index.of([str(runs.runs.names[at])]))
        scores = evaluate(alone, QrelsSet.of_draws(pool, grades), chosen).values[..., 0]
        gain[:, at] = (scores.max(axis=1) - scores[:, 0]).mean(axis=1)
    shown = np.bincount(run, minlength=len(runs))
    return Unjudged(tuple(map(repr, chosen)), runs.runs, number, shown, gain, highest)
