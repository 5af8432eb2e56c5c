"""Accuracy after each vote: curves with intervals, a table of topics, marks of significance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qrowd.comparison.significance import interval, topic_weights, wilcoxon
from qrowd.data.arrays import Array, Floats
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index
from qrowd.errors import ParameterError, require_name

_REPLICATES = 2000
ALL = "all"


@dataclass(frozen=True, eq=False)
class Curves(Framed):
    """accuracy[method, topic, randomisation, point]; `votes` per document at each point.

    `order[method, randomisation, point]`, where there are runs: tau_AP of their order with that
    under all labels.

    A topic's interval is over randomisations: where its mean lies, had they been done without end.
    That of `all`, the mean of topics, is over topics: they are a sample (percentiles of 2000
    bootstrap samples of topics).
    """

    methods: tuple[str, ...]
    topics: Index
    votes: Floats
    accuracy: Floats
    notes: tuple[str, ...] = ()
    seed: int = 0
    level: float = 0.9  # of intervals
    order: Floats | None = None

    def __repr__(self) -> str:
        size = f"{len(self.topics)} topics, {self.accuracy.shape[2]} randomisations"
        return f"Curves({', '.join(self.methods)}; {size}, {len(self.votes)} points)"

    def __len__(self) -> int:
        return len(self.methods) * (len(self.topics) + 1) * len(self.votes)

    def at(self, votes: float) -> int:
        """The point at which documents have this many votes."""
        points = np.flatnonzero(np.abs(self.votes - votes) < 1e-9)
        if not len(points):
            raise ParameterError(
                f"labels were not scored at {votes:g} votes per document; the nearest point is "
                f"{self.votes[np.argmin(np.abs(self.votes - votes))]:g}"
            )
        return int(points[0])

    def _code(self, method: str) -> int:
        require_name("method of these curves", method, self.methods)
        return self.methods.index(method)

    def mean(self, method: str) -> Floats:
        """The mean over topics at each point."""
        return np.asarray(self.accuracy[self._code(method)].mean(axis=(0, 1)))

    def means(self) -> Floats:
        """[method, topic + 1, point]: `all` first, then topics."""
        each = self.accuracy.mean(axis=2)
        return np.concatenate([each.mean(axis=1, keepdims=True), each], axis=1)

    def bounds(self) -> tuple[Floats, Floats]:
        """Low and high ends of the intervals of `means`."""
        from scipy.special import stdtrit

        each, copies = self.accuracy.mean(axis=2), self.accuracy.shape[2]
        low, high = self._over_topics(each)
        with np.errstate(invalid="ignore", divide="ignore"):
            sd = self.accuracy.std(axis=2, ddof=1) if copies > 1 else np.full(each.shape, np.nan)
            half = stdtrit(max(copies - 1, 1), (1 + self.level) / 2) * sd / np.sqrt(copies)
        least, most = np.clip(each - half, 0, 1), np.clip(each + half, 0, 1)
        return (
            np.concatenate([low[:, None], least], axis=1),
            np.concatenate([high[:, None], most], axis=1),
        )

    def _over_topics(self, each: Floats) -> tuple[Floats, Floats]:
        """Ends of the interval of the mean over topics of each[..., topic, point]."""
        if len(self.topics) < 2:
            nothing = np.full((*each.shape[:-2], each.shape[-1]), np.nan)
            return nothing, nothing
        weights = topic_weights(len(self.topics), _REPLICATES, self.seed) / len(self.topics)
        return interval(np.einsum("bt,...tp->...pb", weights, each), self.level)

    def gain(self, method: str, over: str) -> tuple[Floats, Floats, Floats]:
        """Mean difference in accuracy at each point, and its interval over topics."""
        own, other = self.accuracy[self._code(method)], self.accuracy[self._code(over)]
        each = (own - other).mean(axis=1)
        low, high = self._over_topics(each)
        return np.asarray(each.mean(axis=0)), low, high

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`method topic votes accuracy low high`; topic `all` is the mean of topics. With runs
        also `tau_ap`, of `all`.
        """
        names = Index.of([*self.topics, ALL])
        order = names.codes([ALL, *self.topics])
        shape = (len(self.methods), len(order), len(self.votes))
        method, topic, point = (part.ravel() for part in np.indices(shape))
        low, high = self.bounds()
        of_runs: dict[str, Array] = {}
        if self.order is not None:
            tau = np.full(shape, np.nan)
            tau[:, 0] = self.order.mean(axis=1)  # of all topics together
            of_runs = {"tau_ap": tau.ravel()}
        return {
            "method": np.array(self.methods, object)[method],
            "topic": Coded(names, order[topic].astype(np.int32)),
            "votes": self.votes[point],
            "accuracy": self.means().ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
            **of_runs,
        }

    def summary(self) -> dict[str, Sequence[object]]:
        """At each whole number of votes per document: the mean of topics, and the gain over the
        first method, both with intervals over topics; with runs the tau_AP of their order, and how
        far it varies by chance (its standard error over randomisations).
        """
        whole = np.flatnonzero(np.abs(self.votes - np.round(self.votes)) < 1e-9)
        means, (low, high) = self.means()[:, 0], self.bounds()
        gains = [self.gain(method, self.methods[0]) for method in self.methods]
        columns: dict[str, Sequence[object]] = {
            "votes": np.repeat((self.votes[whole] + 0.5).astype(int), len(self.methods)).tolist(),
            "method": [*self.methods] * len(whole),
        }
        figures = {"accuracy": means, "low": low[:, 0], "high": high[:, 0]}
        figures |= {
            name: np.array([gain[at] for gain in gains])
            for at, name in enumerate(("gain", "from", "to"))
        }
        if self.order is not None:
            copies = self.order.shape[1]
            spread = self.order.std(axis=1, ddof=1) if copies > 1 else np.full(means.shape, np.nan)
            figures |= {"tau_ap": self.order.mean(axis=1), "tau_error": spread / np.sqrt(copies)}
        return columns | {name: each[:, whole].T.ravel().tolist() for name, each in figures.items()}

    def table(self, votes: float = 1.0, baseline: str | None = None) -> dict[str, Sequence[str]]:
        """Accuracy per topic at so many votes per document, with marks of significance.

        `*`: better than the baseline (the first method), `#`: better than all others, by
        Wilcoxon's signed rank test at .05: over randomisations for a topic, over topics for
        `overall`.
        """
        point, base = self.at(votes), self._code(baseline or self.methods[0])
        values = self.accuracy[..., point]
        topics = [_marked(row, base) for row in values.transpose(1, 0, 2)]
        cells = [*topics, _marked(values.mean(axis=2), base)]
        columns = {name: [row[at] for row in cells] for at, name in enumerate(self.methods)}
        return {"topic": [*self.topics, "overall"], **columns}


def _marked(values: Floats, base: int) -> list[str]:
    """The mean of each of values[method, sample], with its mark."""
    means, others = values.mean(axis=1), ~np.eye(len(values), dtype=bool)
    gaps = values[:, None] - values[None, :]
    gaps = np.where(np.abs(gaps) < 1e-12, 0.0, gaps)
    p = wilcoxon(gaps) if values.shape[1] > 1 else np.ones(gaps.shape[:2])
    better = (gaps.mean(axis=2) > 0) & (p < 0.05)  # [a, b]: a significantly better than b
    best = [len(values) > 1 and bool(better[m][others[m]].all()) for m in range(len(values))]
    marks = ["#" if best[m] else "*" if better[m, base] else "" for m in range(len(values))]
    return [f"{mean:.3f}{mark}" for mean, mark in zip(means, marks, strict=True)]
