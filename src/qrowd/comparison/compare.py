"""Many estimates of the systems' scores against one reference: `compare` and its `Comparison`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from qrowd import rendering
from qrowd.comparison import significance
from qrowd.comparison.correlation import max_drop, rbo, rmse, spearman, tau_a, tau_ap, tau_b
from qrowd.comparison.significance import means_of, topic_weights, weighted_means
from qrowd.data.arrays import Array, Floats
from qrowd.data.frames import Coded, Framed, columns_of
from qrowd.data.index import Index
from qrowd.data.scores import Scores
from qrowd.errors import InputError, UsageError, require_choice, require_name
from qrowd.rendering import Readable, aligned, between, cell, latex_text, percent, plain

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SYMBOLS = {
    "tau_a": r"$\tau_a$",
    "tau_b": r"$\tau_b$",
    "tau_ap": r"$\tau_{AP}$",
    "rbo": "RBO",
    "spearman": r"$\rho$",
    "rmse": "RMSE",
    "max_drop": "max drop",
}
TESTS_IN_WORDS = {
    "randomisation": "the randomisation test",
    "t": "the paired t test",
    "wilcoxon": "Wilcoxon's signed rank test",
}
_WHOSE = {
    "holm": "Holm's",
    "hochberg": "Hochberg's",
    "bonferroni": "Bonferroni's",
    "sidak": "Sidak's",
    "fdr": "Benjamini & Hochberg's",
    "by": "Benjamini & Yekutieli's",
}


Statistic = Callable[[Floats, Floats], Floats]

STATISTICS: dict[str, Statistic] = {
    "tau_a": tau_a,
    "tau_b": tau_b,
    "tau_ap": tau_ap,
    "rbo": rbo,
    "spearman": spearman,
    "rmse": rmse,
    "max_drop": max_drop,
}
LESS_IS_BETTER = ("rmse", "max_drop")
_LEAST = {"rbo": 0.0, "rmse": 0.0, "max_drop": 0.0}
_MOST = {"rmse": np.inf, "max_drop": np.inf}


def letter(at: int) -> str:
    """A to z, then a1, b1, ..."""
    return _LETTERS[at % 26] + (str(at // 26) if at >= 26 else "")


@dataclass(frozen=True, eq=False)
class Comparison(Readable, Framed):
    """How near each estimate's ranking of systems is to the reference's, per measure.

    `values[measure, estimate, statistic]` are of the systems' means over topics; `low` and `high`
    say where they would be with other topics of this kind, as many: the interval of what topics
    drawn with replacement give (`samples[..., replicate]`), recentred at the value.
    `per_topic[measure, estimate, statistic, topic]` are of each topic alone: on these, paired over
    topics, the tests are made. `p_values[measure, statistic, estimate, estimate]` are corrected
    within one measure and statistic, over all pairs of estimates.
    """

    measures: tuple[str, ...]
    estimates: tuple[str, ...]
    statistics: tuple[str, ...]
    topics: Index
    runs: Index
    values: Floats
    low: Floats
    high: Floats
    samples: Floats
    per_topic: Floats
    p_values: Floats
    level: float
    test: str
    correction: str
    alpha: float
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Comparison({', '.join(self.estimates)} on {', '.join(self.measures)}: "
            f"{len(self.topics)} topics, {len(self.runs)} runs)"
        )

    def __str__(self) -> str:
        tables = [self._table(m) for m in range(len(self.measures))]
        notes = [f"note: {note}" for note in self.notes]
        return "\n\n".join([*tables, "\n".join([self._legend(), *notes]).strip()]).rstrip()

    def value(self, estimate: str, statistic: str = "tau_ap", measure: str = "") -> float:
        """One figure; of the first measure if none is named."""
        at = (self.measures.index(measure) if measure else 0, self.estimates.index(estimate))
        return float(self.values[*at, self.statistics.index(statistic)])

    def beats(self, measure: int, estimate: int, statistic: int) -> tuple[int, ...]:
        """The estimates that this one is significantly nearer to the reference than, by number."""
        name = self.statistics[statistic]
        means = means_of(self.per_topic[measure, :, statistic])
        sign = -1 if name in LESS_IS_BETTER else 1
        p = self.p_values[measure, statistic, estimate]
        better = sign * (means[estimate] - means) > 0
        return tuple(int(at) for at in np.flatnonzero((p < self.alpha) & better))

    def rows(self) -> list[dict[str, Any]]:
        """One row per measure, estimate and statistic."""
        return [
            {
                "measure": self.measures[m],
                "estimate": self.estimates[e],
                "statistic": self.statistics[s],
                "value": float(self.values[m, e, s]),
                "low": float(self.low[m, e, s]),
                "high": float(self.high[m, e, s]),
                "topic_mean": float(means_of(self.per_topic[m, :, s])[e]),
                "beats": ",".join(self.estimates[at] for at in self.beats(m, e, s)) or "-",
            }
            for m, e, s in np.ndindex(self.values.shape)
        ]

    def frame_columns(self) -> dict[str, Coded | Array]:
        """One row per measure, estimate and statistic."""
        return columns_of(self.rows())

    def to_tsv(self) -> str:
        """The rows, tab-separated."""
        return rendering.tsv(rendering.table_of(self.rows()))

    def to_latex(self, digits: int = 3) -> str:
        """One `tabular` per measure: estimates down, statistics across, the best in bold.

        It needs the booktabs package.
        """
        header = ["", *(_SYMBOLS.get(name, latex_text(name)) for name in self.statistics)]
        tables = []
        for m in range(len(self.measures)):
            rows = [self._latex_row(m, e, digits) for e in range(len(self.estimates))]
            tables.append(rendering.latex(header, rows, f"{self._title(m)}\n{self._legend()}"))
        return "\n".join(tables)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the samples, as JSON has it."""
        pairs = [
            {
                "measure": self.measures[m],
                "statistic": self.statistics[s],
                "estimates": [self.estimates[a], self.estimates[b]],
                "p": float(self.p_values[m, s, a, b]),
            }
            for m, s, a, b in np.ndindex(self.p_values.shape)
            if a < b
        ]
        rows = [
            {**row, "beats": [self.estimates[other] for other in self.beats(*at)]}
            for row, at in zip(self.rows(), np.ndindex(self.values.shape), strict=True)
        ]
        account = {
            "topics": list(self.topics),
            "runs": list(self.runs),
            "level": self.level,
            "bootstrap": self.samples.shape[-1],
            "test": self.test,
            "correction": self.correction,
            "alpha": self.alpha,
            "rows": rows,
            "tests": pairs,
            "notes": list(self.notes),
        }
        return dict(plain(account))

    # --- text -------------------------------------------------------------------------------------

    def _legend(self) -> str:
        lines = []
        replicates = self.samples.shape[-1]
        if replicates:
            lines.append(
                f"[ ]: {percent(self.level)} interval over topics "
                f"({replicates} bootstrap samples, recentred)."
            )
        if len(self.estimates) > 1 and len(self.topics) > 1:
            name = _WHOSE.get(self.correction)
            correction = f", {name} correction over all pairs" if name else ""
            test = TESTS_IN_WORDS[self.test]
            lines.append(
                f"Letters: better than these on the topics one by one, by {test} "
                f"(p < {self.alpha:g}{correction})."
            )
        return "\n".join(lines)

    def _title(self, m: int) -> str:
        return f"{self.measures[m]}: {len(self.runs)} runs, {len(self.topics)} topics"

    def _table(self, m: int) -> str:
        rows: list[list[str]] = []
        for e, name in enumerate(self.estimates):
            cells = [self._figures(m, e, s) for s in range(len(self.statistics))]
            tag = f"{letter(e)} {name}" if len(self.estimates) > 1 else name
            rows.append([tag, *(f"{value} {beaten}" for value, beaten, _ in cells)])
            if self.samples.shape[-1]:
                rows.append(["", *(interval for _, _, interval in cells)])
        header = ["", *(f"{name} " for name in self.statistics)]
        return self._title(m) + "\n" + aligned(header, rows)

    def _figures(self, m: int, e: int, s: int, digits: int = 3) -> tuple[str, str, str]:
        """A value, the letters of whom it is significantly better than, its interval."""
        digits = 1 if self.statistics[s] == "max_drop" else digits
        value = cell(self.values[m, e, s], digits)
        interval = between(self.low[m, e, s], self.high[m, e, s], digits)
        return value, "".join(map(letter, self.beats(m, e, s))), interval

    def _latex_row(self, m: int, e: int, digits: int) -> list[str]:
        prefix = f"$^{{{letter(e)}}}$ " if len(self.estimates) > 1 else ""
        row = [prefix + latex_text(self.estimates[e])]
        for s, statistic in enumerate(self.statistics):
            text, beaten, interval = self._figures(m, e, s, digits)
            column = self.values[m, :, s]
            best = np.nanmin if statistic in LESS_IS_BETTER else np.nanmax
            if len(column) > 1 and not np.isnan(column).all() and column[e] == best(column):
                text = rf"\textbf{{{text}}}"
            text += f"$^{{{beaten}}}$" if beaten else ""
            if self.samples.shape[-1]:
                text += rf" {{\scriptsize {interval}}}"
            row.append(text)
        return row


def compare(
    estimates: Mapping[str, Scores],
    reference: Scores,
    *,
    topics: Index | None = None,
    leave_out: Index | None = None,
    statistics: tuple[str, ...] = tuple(STATISTICS),
    bootstrap: int = 1000,
    level: float = 0.9,
    test: str = "randomisation",
    correction: str = "holm",
    alpha: float = 0.05,
    over: str = "estimate",
    ties: str = "independent",
    p: float = 0.9,
    seed: int = 0,
) -> Comparison:
    """Compare rankings of systems with the reference's, on topics that no method was trained on.

    `topics` names the topics to compare on (default: those that all have), `leave_out` some not to
    use. Each statistic is of the systems' means over topics, with an interval (recentred) from
    `bootstrap` samples of topics, the same for all estimates. Where one has means over topics only
    (corrected scores), means of all are compared, without intervals. Estimates are tested against
    each other on the statistic's *per-topic* values, paired over topics (`test`: randomisation, t
    or wilcoxon), with a `correction` over all pairs of estimates (holm, hochberg, bonferroni,
    sidak, fdr, by, none); a randomisation test flips as often as that needs. `over` and `ties` are
    `tau_ap`'s, `p` is `rbo`'s.
    """
    if not estimates:
        raise UsageError("compare needs at least one estimate beside the reference")
    require_choice("test", test, significance.TESTS)
    require_choice("correction", correction, significance.CORRECTIONS)
    for name in statistics:
        require_name("statistic", name, STATISTICS)
    aligned, truth, notes = _aligned(estimates, reference, topics, leave_out)
    tuned = STATISTICS | {"tau_ap": partial(tau_ap, over=over, ties=ties), "rbo": partial(rbo, p=p)}
    count = len(truth.topics)
    weights = topic_weights(count, bootstrap, seed) if count > 1 and bootstrap else np.ones((0, 1))
    shape = (len(truth.measures), len(aligned), len(statistics))
    values, samples = np.empty(shape), np.empty((*shape, len(weights)))
    per_topic = np.empty((*shape, count))
    for m in range(shape[0]):
        right = truth.values[m, 0]
        for e, scores in enumerate(aligned.values()):
            left = scores.values[m, 0]
            for s, name in enumerate(statistics):
                function = tuned[name]
                values[m, e, s] = function(means_of(left.T), means_of(right.T))
                per_topic[m, e, s] = function(left, right)
                if len(weights):
                    drawn = (weighted_means(weights, side) for side in (left, right))
                    samples[m, e, s] = function(*drawn)
    low = high = values * np.nan
    if len(weights):
        least = np.array([_LEAST.get(name, -1.0) for name in statistics])
        most = np.array([_MOST.get(name, 1.0) for name in statistics])
        low, high = significance.recentred(samples, values, level, least, most)
    pairs = np.triu_indices(len(aligned), 1)
    by_statistic = per_topic.swapaxes(1, 2)
    p_values = significance.pairwise_tests(
        by_statistic, pairs, test, correction, alpha=alpha, seed=seed
    )
    if count > 1:
        notes += significance.beyond_reach(test, count, len(pairs[0]), correction, alpha)
    return Comparison(
        truth.measures,
        tuple(aligned),
        statistics,
        truth.topics,
        truth.runs,
        values,
        low,
        high,
        samples,
        per_topic,
        p_values,
        level,
        test,
        correction,
        alpha,
        notes,
    )


def _aligned(
    estimates: Mapping[str, Scores],
    reference: Scores,
    topics: Index | None,
    leave_out: Index | None,
) -> tuple[dict[str, Scores], Scores, tuple[str, ...]]:
    """Everything on the same measures, topics and runs, and what was left out for that."""
    everyone, notes = {"the reference": reference, **estimates}, []
    averaged = [name for name, scores in everyone.items() if scores.averaged]
    if averaged and len(averaged) < len(everyone):  # then means of all, for one has nothing else
        everyone = {n: s if s.averaged else s.averages() for n, s in everyone.items()}
        notes.append(
            f"{' and '.join(averaged)} has no scores by topic, so means over all topics are "
            "compared, without intervals and tests over topics"
        )
    reference, estimates = everyone["the reference"], {name: everyone[name] for name in estimates}
    for name, scores in everyone.items():
        if len(scores.columns) != 1:
            raise UsageError(
                f"{name} has {len(scores.columns)} {scores.axis}s; compare takes scores with one "
                "column: merge them first, or choose one with .of_columns([...])"
            )
    measures = [m for m in reference.measures if all(m in s.measures for s in estimates.values())]
    common, runs = reference.topics, reference.runs
    for scores in estimates.values():
        common, runs = common.intersection(scores.topics), runs.intersection(scores.runs)
    chosen = common if topics is None else topics
    chosen = chosen if leave_out is None else chosen.without(leave_out)
    for noun, shared in (("measure", measures), ("topic", chosen), ("run", runs)):
        if not len(shared):
            have = "; ".join(
                f"{name}: {', '.join(list(getattr(scores, f'{noun}s'))[:3])}"
                for name, scores in everyone.items()
            )
            raise InputError(f"no {noun} is in all of the scores to compare ({have})")
    if len(runs) < 2:
        raise InputError(f"comparing rankings needs at least two runs in common, got {len(runs)}")
    cut = {}
    for name, scores in everyone.items():
        at = [scores.measures.index(measure) for measure in measures]
        values = scores[chosen].of_runs(runs).values[at]
        cut[name] = Scores(tuple(measures), "", scores.columns, chosen, runs, values)
        for axis in ("measures", "runs", "topics"):
            had, has = len(getattr(scores, axis)), len(getattr(cut[name], axis))
            if has < had:
                notes.append(f"{name}: {had - has} of {had} {axis} not compared")
    return {name: cut[name] for name in estimates}, cut["the reference"], tuple(notes)
