"""Figures from cells: means, differences with intervals, the analysis of variance.

Topics are a sample, and topic sets overlap. So an interval is a delete-one-topic jackknife: the
figure is computed again from the topic sets that do not score a topic, for every topic in turn, and

$$s^2 = \frac{n - 1}{n} \\sum_t (\\hat\theta_{(-t)} - \bar\theta)^2$$

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

from qrowd.budget.curves import Curves
from qrowd.comparison.anova import Anova, anova
from qrowd.comparison.labels import LabelScores, score_labels
from qrowd.comparison.significance import holm, jackknife_error, paired_t
from qrowd.data.arrays import Floats
from qrowd.data.index import Index, Pairs
from qrowd.data.qrels import Qrels, SoftQrels
from qrowd.data.scale import Scale
from qrowd.errors import InputError, ParameterError, UnknownNameError, UsageError, require_name
from qrowd.evaluation.engine import evaluate
from qrowd.experiments.inputs import Inputs
from qrowd.experiments.plan import TopicSets
from qrowd.experiments.run import Book, cells
from qrowd.rendering import percent, table_of
from qrowd.simulation.trec21 import retrieved_share

Table = dict[str, list[Any]]
FACTORS = ("approach", "measure", "runs", "gold")
LEVEL = 0.9  # of intervals, unless asked otherwise
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
        if book.plan.loop.votes:
            raise UsageError(
                f"{book.folder} has votes one by one: see qrowd experiment table, plot"
            )
        grid = book.plan.grid
        statistic = statistic or grid.statistics[0]
        require_name("statistic of this plan", statistic, grid.statistics)
        groups = list(book.plan.topics) or ["all"]
        group = group or groups[0]
        require_name("group of topic sets", group, groups)
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

        statistics = self.book.plan.grid.statistics
        columns = [name for name in self.frame.columns if name not in statistics]
        for name in by:
            require_name("column of the cells", name, columns)
        return self.frame.group_by(by, maintain_order=True).agg(pl.col(self.statistic).mean())

    def anova(self) -> Anova:
        """The analysis of variance over panel sizes (the subject) and all that the plan crosses."""
        factors = [name for name in FACTORS if self.frame[name].n_unique() > 1]
        if not factors:
            raise InputError("an analysis of variance needs two approaches or measures at least")
        means = self.means(["size", *factors])
        columns = {name: means[name].to_numpy() for name in ("size", *factors)}
        return anova(means[self.statistic].to_numpy(), columns, subject="size")

    def anova_columns(self, level: float = LEVEL) -> Table:
        """The analysis of variance as columns; strengths with their intervals, cut at 0 and 1."""
        whole = self.anova()
        columns = {name: np.asarray(c).tolist() for name, c in whole.frame_columns().items()}
        strengths = []  # with each topic left out in turn
        for sets in self._without.values():
            kept = self.frame.filter(self.frame["set"].is_in(sets))
            left = replace(self, frame=kept).anova()
            strengths.append([term.strength for term in left.terms])
        if strengths:
            estimates = [
                jackknifed(term.strength, np.array(without), level)
                for term, without in zip(whole.terms, zip(*strengths, strict=True), strict=True)
            ]
            for name in ("low", "high"):
                ends = [getattr(estimate, name) for estimate in estimates]
                columns[name] = np.clip(ends, 0.0, 1.0).tolist()
        return columns

    # --- differences ------------------------------------------------------------------------------

    @cached_property
    def _without(self) -> dict[str, list[int]]:
        """The topic sets that do not score a topic, by topic; none if one is in all sets."""
        topics = sorted({name for test, _ in self.sets for name in test})
        left = {
            name: [at for at, (test, _) in enumerate(self.sets, 1) if name not in test]
            for name in topics
        }
        return left if all(left.values()) else {}

    def estimate(self, weights: dict[str, float], level: float = LEVEL, **where: Any) -> Estimate:
        """A weighted sum of approaches' means, over the cells that `where` names, with an interval.

        `results.estimate({"mv": 1, "aware-uni": -1}, size=[2, 3])`: by how much `mv` is above.
        """
        by_set = self._by_set(weights, where)
        left = [by_set[np.array(sets) - 1].mean() for sets in self._without.values()]
        return jackknifed(float(by_set.mean()), np.array(left), level)

    def above(self, other: Results, approach: str, level: float = LEVEL, **where: Any) -> Estimate:
        """An approach's mean on these topic sets less its mean on others', with an interval."""
        mine, theirs = (side._by_set({approach: 1.0}, where) for side in (self, other))
        left = [
            mine[np.array(sets) - 1].mean() - theirs[np.array(other._without[name]) - 1].mean()
            for name, sets in self._without.items()
            if name in other._without
        ]
        return jackknifed(float(mine.mean() - theirs.mean()), np.array(left), level)

    def _by_set(self, weights: dict[str, float], where: dict[str, Any]) -> Floats:
        """The weighted sum on each topic set. Cells without a value of a column are in any case."""
        import polars as pl

        chosen = self.frame.filter(pl.col("approach").is_in(list(weights)))
        for name, values in where.items():
            listed = values if isinstance(values, list) else [values]
            present = self.frame[name].drop_nulls().unique().to_list()
            for value in listed:
                if value not in present:
                    noun = f"{name} of this plan"
                    raise UnknownNameError.among(noun, str(value), map(str, present))
            chosen = chosen.filter(pl.col(name).is_in(listed) | pl.col(name).is_null())
        table = chosen.group_by("approach", "set").agg(pl.col(self.statistic).mean())
        by_set = np.full((len(weights), max(len(self.sets), 1)), np.nan)
        names = list(weights)
        for approach, at, value in table.iter_rows():
            by_set[names.index(approach), at - 1] = value
        if np.isnan(by_set).any():
            chosen_by = "".join(f", {name} {values}" for name, values in where.items())
            raise ParameterError(f"undefined figures among those of {', '.join(names)}{chosen_by}")
        return np.asarray(np.array(list(weights.values())) @ by_set)


def columns_of(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """The columns of these names of a table, from its rows."""
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def jackknifed(value: float, left: Floats, level: float = LEVEL) -> Estimate:
    """The jackknife's interval, from the values with each topic left out."""
    if len(left) < 2:
        return Estimate(value, np.nan, np.nan)
    from scipy.special import stdtrit

    half = float(stdtrit(len(left) - 1, (1 + level) / 2)) * jackknife_error(left)
    return Estimate(value, value - half, value + half)


def against(results: Results, baseline: str, level: float = LEVEL, **where: Any) -> Table:
    """Every approach less a baseline, with intervals, as a table."""
    approaches = [*results.book.plan.grid.approaches, *results.extra]
    if baseline not in approaches:  # single assessors may be meant: `with_singles` adds them
        raise UnknownNameError.among("approach of this plan", baseline, [*approaches, SINGLE])
    rows = [
        (name, *results.estimate({name: 1.0, baseline: -1.0}, level, **where))
        for name in approaches
        if name != baseline
    ]
    return columns_of(("approach", f"less {baseline}", "low", "high"), rows)


def against_topics(results: Results, group: str, level: float = LEVEL, **where: Any) -> Table:
    """Every approach on the results' topic sets less on another group of sets, as a table."""
    other = Results.of(results.book, results.statistic, group)
    approaches = results.book.plan.grid.approaches
    rows = [(name, *results.above(other, name, level, **where)) for name in approaches]
    return columns_of(("approach", f"{results.group} less {group}", "low", "high"), rows)


def by_size(results: Results) -> Table:
    """A row per gold, measure and approach (and run set), a column per panel size."""
    plan = results.book.plan
    rows = [
        name
        for name in ("runs", "gold", "measure", "approach")
        if name == "approach" or results.frame[name].n_unique() > 1
    ]
    means = results.means([*rows, "size"]).pivot("size", index=rows, values=results.statistic)
    ordered = means.select([*rows, *map(str, plan.panels.sizes)])
    return {name: ordered[name].to_list() for name in ordered.columns}


def agreement(inputs: Inputs, depth: int = 20) -> Table:
    """The share of pairs on which each assessor agrees with gold, by topic (Piazzon 2019, 5.3).

    Over the documents that some run has among its first `depth`; pairs that the assessor judged.
    """
    gold, crowd = inputs.gold, inputs.crowd
    shares = [retrieved_share(gold, runs, depth) for runs in inputs.runs.values()]
    seen = np.max(shares, axis=0) > 0
    at = gold.pairs.locate(crowd.pairs)[crowd.pair]
    counted = (at >= 0) & seen[np.maximum(at, 0)]
    topic = gold.pairs.topic[at[counted]].astype(np.int64)
    cell = topic * len(crowd.assessors) + crowd.assessor[counted]
    shape = (len(gold.topics), len(crowd.assessors))
    relevant = np.array(crowd.scale.grades)[crowd.grade[counted]] >= crowd.scale.relevant_from
    right = relevant == (gold.grade[at[counted]] > 0)
    total = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    agreed = np.bincount(cell, right, shape[0] * shape[1]).reshape(shape)
    share = np.divide(agreed, total, out=np.full(shape, np.nan), where=total > 0)
    columns: Table = {"assessor": list(crowd.assessors)}
    columns |= {name: share[row].tolist() for row, name in enumerate(gold.topics)}
    return columns | {"mean": np.nanmean(share, axis=0).tolist()}


def significance(inputs: Inputs, level: float = LEVEL, alpha: float = 0.05) -> Table:
    """How many differences between runs are significant under gold as it is, and as random.

    Paired t-tests over topics of all pairs of runs, as they are and by Holm; `kept` are the pairs
    that are significant under both kinds of gold, `turned` those whose sign differs (both Holm).
    `more` is the share of pairs that only random gold adds, less those it loses, with its interval:
    all tests again without each topic in turn. `swaps` are the pairs among the ten runs that are
    first under gold as it is whose order random gold turns round; `tied` the pairs of all runs with
    equal means.
    """
    grid = inputs.plan.grid
    blurred = inputs.gold.soft(grid.p_rel, grid.p_nonrel)
    by_holm = ("certain Holm", "random Holm", "kept", "turned")
    places = ("swaps", "certain tied", "random tied")
    counts = ("pairs", "certain", "random", "more", "low", "high")
    columns = ("runs", "measure", *counts, *by_holm, *places)
    rows = []
    for name, runs in inputs.runs.items():
        hard = evaluate(runs, inputs.gold, inputs.measures).values[:, 0]
        soft = evaluate(runs, blurred, inputs.measures).values[:, 0]
        for measure, *both in zip(grid.measures, hard, soft, strict=True):
            rows.append((name, measure, *_significant(both[0], both[1], level, alpha)))
    return columns_of(columns, rows)


def _significant(certain: Floats, random: Floats, level: float, alpha: float) -> list[float]:
    """The counts of `significance`, of two kinds of values[topic, run]."""
    sides = [_pairwise(values) for values in (certain, random)]
    plain = [int((p < alpha).sum()) for _, p in sides]
    strict = [holm(p) < alpha for _, p in sides]
    both = strict[0] & strict[1]
    turned = both & (np.sign(sides[0][0]) != np.sign(sides[1][0]))
    pairs = len(both)
    left = []  # the share that random gold adds, without each topic in turn
    for at in range(len(certain)):
        rest = [_pairwise(np.delete(values, at, 0))[1] for values in (certain, random)]
        left.append((rest[1] < alpha).mean() - (rest[0] < alpha).mean())
    added = jackknifed((plain[1] - plain[0]) / pairs, np.array(left), level)
    counts = [int(side.sum()) for side in (*strict, both, turned)]
    means = [values.mean(axis=0) for values in (certain, random)]
    top = np.argsort(-means[0], kind="stable")[:10]
    signs = [np.sign(side[top][:, None] - side[top]) for side in means]
    swaps = int((signs[0] * signs[1] < 0).sum()) // 2
    ties = [int(np.isclose(side, 0, atol=1e-12).sum()) for side, _ in sides]
    return [pairs, *plain, *added, *counts, swaps, *ties]


def _pairwise(values: Floats) -> tuple[Floats, Floats]:
    """Mean difference and p of the paired t-test of every pair of runs, of values[topic, run]."""
    first, second = np.triu_indices(values.shape[1], 1)
    differences = (values[:, first] - values[:, second]).T
    return differences.mean(axis=1), paired_t(differences)


@dataclass(frozen=True, eq=False)
class LabelResults:
    """The cells of a plan of labels."""

    book: Book
    frame: Any

    @classmethod
    def of(cls, book: Book) -> LabelResults:
        """The cells of a folder."""
        return cls(book, cells(book))

    def caption(self, level: float = LEVEL) -> str:
        """What the figures are, and what of the data is real."""
        plan = self.book.plan
        pairs, topics = self.frame.n_unique(["topic", "doc"]), self.frame["topic"].n_unique()
        against = "gold" if plan.labels.gold == "file" else "the majority of the other approaches"
        return (
            f"{plan.experiment.name}: labels of {pairs} pairs of {topics} topics against "
            f"{against}, each in one of {plan.labels.folds} parts whose gold was not given; +- is "
            f"half the {percent(level)} interval over topics; {plan.legend}{self.book.caption}"
        )

    @cached_property
    def scores(self) -> dict[str, LabelScores]:
        """The figures of every approach."""
        return {name: self._scores(name) for name in self.book.plan.grid.approaches}

    def _scores(self, approach: str) -> LabelScores:
        own = self.frame.filter(self.frame["approach"] == approach).sort("topic", "doc")
        names = [name for name in own.columns if name.startswith("p(")]
        scale = Scale(tuple(int(name[2:-1]) for name in names))
        pairs = Pairs.of(own["topic"].to_list(), own["doc"].to_list())
        merged = SoftQrels(pairs, scale, own.select(names).to_numpy())
        gold = Qrels(pairs, own["gold"].to_numpy())
        if self.book.plan.labels.gold == "consensus":
            gold = self._consensus(approach, pairs, scale)
        return score_labels(merged, gold, ties=self.book.plan.labels.ties)

    def _consensus(self, approach: str, pairs: Pairs, scale: Scale) -> Qrels:
        """What most of the other approaches say; pairs on which they are divided are left out."""
        others = [name for name in self.book.plan.grid.approaches if name != approach]
        relevant = [f"p({grade})" for grade in np.array(scale.grades)[scale.relevant]]
        votes = np.zeros(len(pairs))
        for name in others:
            own = self.frame.filter(self.frame["approach"] == name).sort("topic", "doc")
            votes += np.sign(own.select(relevant).to_numpy().sum(axis=1) - 0.5)
        decided = votes != 0
        return Qrels(pairs.select(decided), (votes[decided] > 0).astype(np.int8))

    def table(self, level: float = LEVEL) -> Table:
        """A row for every approach and way to answer, two columns for every figure."""
        rows = []
        for approach, answers in self._rows():
            row: dict[str, Any] = {"approach": approach, "answers": answers}
            for name in self.book.plan.grid.statistics:
                scores, figure = self.scores[approach], self._figure(name, answers)
                low, high = scores.interval(figure, level)
                row |= {name: scores[figure], f"{name} +-": (high - low) / 2}
            rows.append(row)
        return table_of(rows)

    def against(self, baseline: str, statistic: str = "", level: float = LEVEL) -> Table:
        """Every approach less a baseline that answers likewise, with intervals."""
        grid = self.book.plan.grid
        statistic = statistic or grid.statistics[0]
        require_name("approach of this plan", baseline, grid.approaches)
        require_name("statistic of this plan", statistic, grid.statistics)
        rows = []
        for name, answers in self._rows():
            if name != baseline:
                figure = self._figure(statistic, answers)
                difference = self.scores[name].less(self.scores[baseline], figure, level)
                rows.append((name, answers, *difference))
        return columns_of(("approach", "answers", f"less {baseline}", "low", "high"), rows)

    def _rows(self) -> list[tuple[str, str]]:
        plan = self.book.plan
        return [(name, answers) for name in plan.grid.approaches for answers in plan.labels.answers]

    def _figure(self, statistic: str, answers: str) -> str:
        """Rankings and losses are of probabilities, whichever way labels are answered."""
        name = f"fractional_{statistic}"
        figures = next(iter(self.scores.values())).overall
        return name if answers == "fractional" and name in figures else statistic


@dataclass(frozen=True, eq=False)
class LoopResults:
    """The cells of a plan of votes one by one."""

    book: Book
    curves: Curves

    @classmethod
    def of(cls, book: Book) -> LoopResults:
        """The cells of a folder."""
        plan, frame = book.plan, cells(book)
        topics, votes = frame["topic"].unique(), frame["votes"].unique().sort()
        shape = (len(plan.grid.approaches), len(topics), plan.loop.randomisations, len(votes))
        order = {name: at for at, name in enumerate(plan.grid.approaches)}
        ranked = frame.with_columns(frame["approach"].replace_strict(order).alias("_at"))
        ordered = ranked.sort("_at", "topic", "randomisation", "votes")
        accuracy = ordered["accuracy"].to_numpy().reshape(shape)
        names = Index.of(topics.to_list())
        return cls(
            book,
            Curves(plan.grid.approaches, names, votes.to_numpy(), accuracy, seed=plan.loop.seed),
        )

    @property
    def caption(self) -> str:
        """What the figures are, and what of the data is real."""
        plan = self.book.plan
        return (
            f"{plan.experiment.name}: accuracy at {plan.loop.at:g} votes per document, means of "
            f"{plan.loop.randomisations} randomisations; * better than {self.curves.methods[0]}, "
            f"# than all others (Wilcoxon, .05); {plan.legend}{self.book.caption}"
        )

    def table(self) -> Table:
        """Accuracy by topic and approach with marks: Table 1 of Davtyan et al. 2015."""
        return {
            name: list(column) for name, column in self.curves.table(self.book.plan.loop.at).items()
        }


def bold(row: Sequence[str]) -> list[str]:
    """LaTeX's cells of a table of `LoopResults`, with the best of a row in bold."""
    label, *cells = row
    figures = [float(text.rstrip("*#")) for text in cells]
    marked = [text.replace("#", r"\#") for text in cells]
    best = max(figures)
    return [
        label,
        *(
            rf"\textbf{{{text}}}" if f == best else text
            for text, f in zip(marked, figures, strict=True)
        ),
    ]
