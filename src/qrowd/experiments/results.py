"""Figures from cells: means, differences with intervals, the analysis of variance.

Topics are a sample, and topic sets overlap. So an interval is a delete-one-topic jackknife: the
figure is computed again from the topic sets that do not score a topic, for every topic in turn, and

$$s^2 = \\frac{n - 1}{n} \\sum_t (\\hat\\theta_{(-t)} - \\bar\\theta)^2$$

with Student's t of n - 1 degrees of freedom. Panels are the same for all approaches; what is left
of their part is the noise of the panels that were drawn. Where every set has all topics there is
no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from qrowd.comparison.anova import Anova, anova
from qrowd.comparison.significance import jackknife_error
from qrowd.data.arrays import Floats
from qrowd.errors import InputError, ParameterError, UnknownNameError, UsageError
from qrowd.experiments.plan import TopicSets
from qrowd.experiments.run import Book, cells

Table = dict[str, list[Any]]
FACTORS = ("approach", "measure", "runs", "gold")
LEVEL = 0.95
SINGLE = "single"  # what single assessors are called where approaches are compared with them


class Estimate(NamedTuple):
    """A figure and its interval; the bounds are NaN where topics cannot be left out."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Results:
    """The cells of one group of topic sets, on one statistic."""

    book: Book
    statistic: str
    group: str
    frame: Any
    extra: tuple[str, ...] = ()  # approaches that the plan has not

    @classmethod
    def of(cls, book: Book, statistic: str = "", group: str = "") -> Results:
        """The cells of a folder; the plan's first statistic and group, where none is named."""
        if book.plan.labels.folds:
            raise UsageError(f"{book.folder} has labels, and no panels: see qrowd experiment table")
        grid = book.plan.grid
        statistic = statistic or grid.statistics[0]
        if statistic not in grid.statistics:
            raise UnknownNameError.among("statistic of this plan", statistic, grid.statistics)
        groups = list(book.plan.topics) or ["all"]
        group = group or groups[0]
        if group not in groups:
            raise UnknownNameError.among("group of topic sets", group, groups)
        return cls(book, statistic, group, cells(book, group))

    @property
    def caption(self) -> str:
        """What the figures are, and what of the data is real."""
        plan = self.book.plan
        sets = f"{len(self.sets)} topic sets ({self.group})" if self.sets else "all topics"
        return (
            f"{plan.experiment.name}: {self.statistic}, means over {sets} and {plan.panels.each} "
            f"panels of each size; {plan.legend}{self.book.caption}"
        )

    @property
    def sets(self) -> TopicSets:
        """The topic sets of the group."""
        return self.book.plan.topics.get(self.group, ())

    def means(self, by: Sequence[str]) -> Any:
        """Means of the statistic by these columns, over topic sets, then panels; in plan order."""
        import polars as pl

        known = [name for name in self.frame.columns if name not in self.book.plan.grid.statistics]
        for name in by:
            if name not in known:
                raise UnknownNameError.among("column of the cells", name, known)
        return self.frame.group_by(by, maintain_order=True).agg(pl.col(self.statistic).mean())

    def anova(self) -> Anova:
        """The analysis of variance over panel sizes (the subject) and all that the plan crosses."""
        factors = [name for name in FACTORS if self.frame[name].n_unique() > 1]
        if not factors:
            raise InputError("an analysis of variance needs two approaches or measures at least")
        means = self.means(["size", *factors])
        columns = {name: means[name].to_numpy() for name in ("size", *factors)}
        return anova(means[self.statistic].to_numpy(), columns, subject="size")

    def anova_columns(self) -> Table:
        """The analysis of variance as columns; strengths with their intervals, cut at 0 and 1."""
        whole = self.anova()
        columns = {
            name: np.asarray(found).tolist() for name, found in whole.frame_columns().items()
        }
        left = [
            replace(self, frame=self._frame_of(sets)).anova() for sets in self._without.values()
        ]
        if left:
            strengths = np.array([[term.strength for term in one.terms] for one in left])
            found = [
                jackknifed(term.strength, strengths[:, at]) for at, term in enumerate(whole.terms)
            ]
            columns |= {
                name: np.clip(bound, 0.0, 1.0).tolist() for name, bound in _bounds(found).items()
            }
        return columns

    def _frame_of(self, sets: list[int]) -> Any:
        return self.frame.filter(self.frame["set"].is_in(sets))

    # --- differences ------------------------------------------------------------------------------

    @cached_property
    def _without(self) -> dict[str, list[int]]:
        """The topic sets that do not score a topic, by topic; none if one is in all sets."""
        topics = sorted({name for one in self.sets for name in one.test})
        left = {
            name: [at for at, one in enumerate(self.sets, 1) if name not in one.test]
            for name in topics
        }
        return left if all(left.values()) else {}

    def estimate(self, weights: dict[str, float], **where: Any) -> Estimate:
        """A weighted sum of approaches' means, over the cells that `where` names, with an interval.

        `results.estimate({"mv": 1, "aware-uni": -1}, size=[2, 3])`: by how much `mv` is above.
        """
        by_set = self._by_set(weights, where)
        left = [by_set[np.array(sets) - 1].mean() for sets in self._without.values()]
        return jackknifed(float(by_set.mean()), np.array(left))

    def above(self, other: Results, approach: str, **where: Any) -> Estimate:
        """An approach's mean on these topic sets less its mean on others', with an interval."""
        mine, theirs = (one._by_set({approach: 1.0}, where) for one in (self, other))
        left = [
            mine[np.array(sets) - 1].mean() - theirs[np.array(other._without[name]) - 1].mean()
            for name, sets in self._without.items()
            if name in other._without
        ]
        return jackknifed(float(mine.mean() - theirs.mean()), np.array(left))

    def _by_set(self, weights: dict[str, float], where: dict[str, Any]) -> Floats:
        """The weighted sum on each topic set. Cells without a value of a column are in any case."""
        import polars as pl

        chosen = self.frame.filter(pl.col("approach").is_in(list(weights)))
        for name, values in where.items():
            listed = values if isinstance(values, list) else [values]
            known = self.frame[name].drop_nulls().unique().to_list()
            for value in listed:
                if value not in known:
                    raise UnknownNameError.among(
                        f"{name} of this plan", str(value), map(str, known)
                    )
            chosen = chosen.filter(pl.col(name).is_in(listed) | pl.col(name).is_null())
        table = chosen.group_by("approach", "set").agg(pl.col(self.statistic).mean())
        by_set = np.full((len(weights), max(len(self.sets), 1)), np.nan)
        names = list(weights)
        for approach, at, value in table.iter_rows():
            by_set[names.index(approach), at - 1] = value
        if np.isnan(by_set).any():
            what = "".join(f", {name} {values}" for name, values in where.items())
            raise ParameterError(f"undefined figures among those of {', '.join(names)}{what}")
        return np.asarray(np.array(list(weights.values())) @ by_set)


def jackknifed(value: float, left: Floats) -> Estimate:
    """The jackknife's interval, from the values with each topic left out."""
    if len(left) < 2:
        return Estimate(value, np.nan, np.nan)
    from scipy.special import stdtrit

    half = float(stdtrit(len(left) - 1, (1 + LEVEL) / 2)) * jackknife_error(left)
    return Estimate(value, value - half, value + half)


def against(results: Results, baseline: str, **where: Any) -> Table:
    """Every approach less a baseline, with intervals, as a table."""
    approaches = [*results.book.plan.grid.approaches, *results.extra]
    if baseline not in approaches:
        raise UnknownNameError.among("approach of this plan", baseline, [*approaches, SINGLE])
    others = [name for name in approaches if name != baseline]
    found = [results.estimate({name: 1.0, baseline: -1.0}, **where) for name in others]
    return {"approach": others, f"less {baseline}": [one.value for one in found], **_bounds(found)}


def against_topics(results: Results, group: str, **where: Any) -> Table:
    """Every approach on the results' topic sets less on another group of sets, as a table."""
    other = Results.of(results.book, results.statistic, group)
    approaches = list(results.book.plan.grid.approaches)
    found = [results.above(other, name, **where) for name in approaches]
    values = [one.value for one in found]
    return {"approach": approaches, f"{results.group} less {group}": values, **_bounds(found)}


def _bounds(found: Sequence[Estimate]) -> Table:
    return {"low": [one.low for one in found], "high": [one.high for one in found]}
