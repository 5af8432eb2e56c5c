"""Systems against each other: `compare_systems` and its `SystemComparison`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.comparison import significance
from qrowd.comparison.compare import TESTS_IN_WORDS, letter
from qrowd.data.arrays import Array, Floats, Mask
from qrowd.data.frames import Coded, Framed, columns_of
from qrowd.data.index import Index
from qrowd.data.scores import Scores
from qrowd.errors import InputError, UsageError, require_choice
from qrowd.rendering import Readable, aligned, between, cell, latex, latex_text, percent, plain

_CORRECTIONS = {
    "holm": ", Holm's correction over {} tests",
    "bonferroni": ", Bonferroni's correction over {} tests",
    "hochberg": ", Hochberg's correction over {} tests",
    "sidak": ", Sidak's correction over {} tests",
    "by": ", false discovery rate by Benjamini & Yekutieli over {} tests",
    "fdr": ", false discovery rate by Benjamini & Hochberg over {} tests",
    "none": ", not corrected for {} tests",
}
_UP, _DOWN = "+", "-"


@dataclass(frozen=True, eq=False)
class SystemComparison(Readable, Framed):
    """The runs' means with intervals over topics, and paired tests between them.

    `runs` are in the order of their means by the first measure. `mean`, `low`, `high` are
    [measure, run]: the mean over topics and its Student interval. `p_values[measure, a, b]` are of
    the paired test over topics, corrected within a measure over all tests that were made: all pairs
    of runs, or each run against the `baseline` (the others are NaN).
    """

    measures: tuple[str, ...]
    runs: tuple[str, ...]
    topics: Index
    mean: Floats
    low: Floats
    high: Floats
    p_values: Floats
    baseline: str
    level: float
    test: str
    correction: str
    alpha: float
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"SystemComparison({', '.join(self.measures)}: {len(self.runs)} runs, "
            f"{len(self.topics)} topics)"
        )

    def __str__(self) -> str:
        tables = [self._table(m) for m in range(len(self.measures))]
        brackets = f"[ ]: {percent(self.level)} interval over topics."
        notes = [f"note: {note}" for note in self.notes]
        return "\n\n".join([*tables, "\n".join([brackets, self._legend(), *notes])])

    def better(self, measure: int) -> Mask:
        """better[a, b]: run a is significantly better than run b."""
        ahead = self.mean[measure][:, None] > self.mean[measure][None, :]
        return np.asarray(ahead & (self.p_values[measure] < self.alpha))

    def rows(self) -> list[dict[str, Any]]:
        """One row per measure and run; with a baseline, the difference to it and its p."""
        base = self.runs.index(self.baseline) if self.baseline else -1
        rows = []
        for m, r in np.ndindex(self.mean.shape):
            better = [self.runs[at] for at in np.flatnonzero(self.better(m)[r])]
            row = {
                "measure": self.measures[m],
                "run": self.runs[r],
                "mean": float(self.mean[m, r]),
                "low": float(self.low[m, r]),
                "high": float(self.high[m, r]),
            }
            if self.baseline:
                difference = float(self.mean[m, r] - self.mean[m, base])
                row |= {"difference": difference, "p": float(self.p_values[m, r, base])}
            rows.append(row | {"better_than": ",".join(better) or "-"})
        return rows

    def frame_columns(self) -> dict[str, Coded | Array]:
        """One row per measure and run."""
        return columns_of(self.rows())

    def to_latex(self, digits: int = 3) -> str:
        """One `tabular`: runs down, measures across, the best in bold, marks as superscripts.

        It needs the booktabs package.
        """
        rows = []
        for run, name in enumerate(self.runs):
            tag = "" if self.baseline else f"$^{{{letter(run)}}}$ "
            cells = [self._cell(m, run, digits) for m in range(len(self.mean))]
            rows.append([tag + latex_text(name), *cells])
        caption = "\n".join([self._legend(), *self.notes])
        return latex(["", *map(latex_text, self.measures)], rows, caption)

    def to_dict(self) -> dict[str, Any]:
        """The rows, every p, and how all of it was made, as JSON has it."""
        tests = [
            {
                "measure": self.measures[m],
                "runs": [self.runs[a], self.runs[b]],
                "p": float(self.p_values[m, a, b]),
            }
            for m, a, b in np.ndindex(self.p_values.shape)
            if a < b and not np.isnan(self.p_values[m, a, b])
        ]
        about = ("baseline", "level", "test", "correction", "alpha")
        account = {name: getattr(self, name) for name in about}
        account |= {"topics": list(self.topics), "rows": self.rows(), "tests": tests}
        return dict(plain(account | {"notes": list(self.notes)}))

    # --- text -------------------------------------------------------------------------------------

    def _legend(self) -> str:
        count = len(self.runs)
        tests = count - 1 if self.baseline else count * (count - 1) // 2
        correction = _CORRECTIONS[self.correction].format(tests)
        how = f"{TESTS_IN_WORDS[self.test]} over {len(self.topics)} topics "
        how += f"(p < {self.alpha:g}{correction} in each measure)"
        marks = f"{_UP} / {_DOWN}: significantly better / worse than {self.baseline}"
        marks = marks if self.baseline else "Letters: significantly better than these"
        return f"{marks}, by {how}."

    def _marks(self, m: int, run: int) -> str:
        """The letters of the runs that this one beats; with a baseline, better or worse than it."""
        better = self.better(m)
        if not self.baseline:
            return " ".join(_ranges(np.flatnonzero(better[run]).tolist()))
        base = self.runs.index(self.baseline)
        return _UP if better[run, base] else _DOWN if better[base, run] else ""

    def _table(self, m: int) -> str:
        base = self.runs.index(self.baseline) if self.baseline else -1
        rows = []
        for run in np.argsort(-self.mean[m], kind="stable"):
            ends = between(self.low[m, run], self.high[m, run])
            tag = "" if self.baseline else f"{letter(int(run))} "
            row = [tag + self.runs[run], float(self.mean[m, run]), ends]
            if self.baseline:
                difference = float(self.mean[m, run] - self.mean[m, base])
                p = float(self.p_values[m, run, base])
                row += ["", ""] if run == base else [f"{difference:+.4f}", cell(p)]
            rows.append([*row, self._marks(m, int(run))])
        extra = [f"to {self.baseline}", "p", ""] if self.baseline else ["better than"]
        return aligned([self.measures[m], "mean", percent(self.level), *extra], rows)

    def _cell(self, m: int, run: int, digits: int) -> str:
        text = cell(float(self.mean[m, run]), digits)
        if self.mean[m, run] == np.nanmax(self.mean[m]):
            text = rf"\textbf{{{text}}}"
        beaten = self._marks(m, run)
        signs = {_UP: r"\blacktriangle", _DOWN: r"\blacktriangledown"}  # amssymb
        beaten = signs.get(beaten, beaten) if self.baseline else beaten
        return text + (f"$^{{{beaten}}}$" if beaten else "")


def _ranges(runs: list[int]) -> list[str]:
    """Letters of runs, three and more in a row as their first and last: a c-f."""
    blocks: list[list[int]] = []
    for run in runs:
        if blocks and run == blocks[-1][-1] + 1:
            blocks[-1].append(run)
        else:
            blocks.append([run])
    return [
        f"{letter(block[0])}-{letter(block[-1])}"
        if len(block) > 2
        else " ".join(map(letter, block))
        for block in blocks
    ]


def compare_systems(
    scores: Scores,
    *,
    baseline: str = "",
    test: str = "randomisation",
    correction: str = "holm",
    alpha: float = 0.05,
    level: float = 0.9,
    seed: int = 0,
) -> SystemComparison:
    """Which runs differ by more than the choice of topics explains.

    Tests (`randomisation`, `t` or `wilcoxon`) are paired over topics; `correction` (`holm`,
    `bonferroni`, `fdr`, `none`) is over all tests of a measure: all pairs of runs, or, where a
    `baseline` is named, each run against it.

    >>> import qrowd as q
    >>> made = q.simulate(topics=12, documents=40, runs=5, seed=2)
    >>> scores = q.evaluate(made.runs, made.truth, ["AP"])
    >>> comparison = q.compare_systems(scores, baseline="run03")
    >>> [row["run"] for row in comparison.rows() if row["p"] < 0.05]
    ['run05', 'run01']
    """
    _check(scores, baseline, test, correction)
    order = np.argsort(-scores.means()[0, 0], kind="stable")
    values = scores.values[:, 0][:, :, order].transpose(0, 2, 1)  # [measure, run, topic]
    runs = tuple(str(scores.runs.names[at]) for at in order)
    pairs = np.triu_indices(len(runs), 1)
    if baseline:  # the pairs that it is one of
        base = runs.index(baseline)
        others = np.delete(np.arange(len(runs)), base)
        pairs = others, np.full(len(others), base)
    p_values = significance.pairwise_tests(values, pairs, test, correction, alpha=alpha, seed=seed)
    mean, half = mean_interval(values, level)
    caution = significance.beyond_reach(test, len(scores.topics), len(pairs[0]), correction, alpha)
    notes = (*scores.notes, *caution)
    return SystemComparison(
        scores.measures,
        runs,
        scores.topics,
        mean,
        mean - half,
        mean + half,
        p_values,
        baseline,
        level,
        test,
        correction,
        alpha,
        notes,
    )


def _check(scores: Scores, baseline: str, test: str, correction: str) -> None:
    require_choice("test", test, significance.TESTS)
    require_choice("correction", correction, significance.CORRECTIONS)
    if len(scores.columns) != 1:
        raise UsageError(
            f"the scores have {len(scores.columns)} {scores.axis}s; systems are compared "
            "under one: merge them first, or choose one with .of_columns([...])"
        )
    if baseline:
        scores.runs.code(baseline, "run")
    if len(scores.runs) < 2 or len(scores.topics) < 2:
        raise InputError(
            f"comparing systems needs two or more runs and topics, got {len(scores.runs)} and "
            f"{len(scores.topics)}"
        )


def mean_interval(values: Floats, level: float) -> tuple[Floats, Floats]:
    """Means over the last axis, and half of the width of their Student intervals."""
    from scipy.special import stdtrit

    n, mean, error = significance.mean_error(values)
    half = stdtrit(np.maximum(n - 1, 1), (1 + level) / 2) * error
    return mean, np.where(n > 1, half, np.nan)
