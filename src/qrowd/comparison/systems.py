"""Systems against each other: `compare_systems` and its `SystemComparison`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.comparison.compare import TESTS_IN_WORDS, letter
from qrowd.comparison.significance import (
    CORRECTIONS,
    TESTS,
    beyond_reach,
    corrected,
    enough_flips,
    means_of,
    paired_test,
)
from qrowd.data.arrays import Array, Floats, Mask
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index
from qrowd.data.scores import Scores
from qrowd.errors import InputError, ParameterError, UsageError
from qrowd.rendering import Readable, aligned, cell, latex, latex_text, plain

_CORRECTIONS = {
    "holm": ", Holm's correction over {} tests",
    "bonferroni": ", Bonferroni's correction over {} tests",
    "fdr": ", false discovery rate by Benjamini & Hochberg over {} tests",
    "none": ", not corrected for {} tests",
}
_UP, _DOWN = "+", "-"


def legend(found: SystemComparison) -> str:
    """What the marks mean."""
    count = len(found.runs)
    tests = count - 1 if found.baseline else count * (count - 1) // 2
    how = f"{TESTS_IN_WORDS[found.test]} over {len(found.topics)} topics (p < {found.alpha:g}"
    how += f"{_CORRECTIONS[found.correction].format(tests)} in each measure)"
    marks = f"{_UP} / {_DOWN}: significantly better / worse than {found.baseline}"
    marks = marks if found.baseline else "Letters: significantly better than these"
    return f"{marks}, by {how}."


def marks(found: SystemComparison, m: int, run: int) -> str:
    """The letters of the runs that this one beats; with a baseline, better or worse than it."""
    better = found.better(m)
    if not found.baseline:
        return " ".join(_ranges(np.flatnonzero(better[run]).tolist()))
    base = found.runs.index(found.baseline)
    return _UP if better[run, base] else _DOWN if better[base, run] else ""


def _ranges(runs: list[int]) -> list[str]:
    """Letters of runs, three and more in a row as their first and last: a c-f."""
    blocks: list[list[int]] = []
    for run in runs:
        if blocks and run == blocks[-1][-1] + 1:
            blocks[-1].append(run)
        else:
            blocks.append([run])
    long = [f"{letter(block[0])}-{letter(block[-1])}" for block in blocks]
    return [
        whole if len(block) > 2 else " ".join(map(letter, block))
        for block, whole in zip(blocks, long, strict=True)
    ]


def as_text(found: SystemComparison) -> str:
    """One table per measure, what the marks mean, and the notes."""
    tables = [_table(found, m) for m in range(len(found.measures))]
    brackets = f"[ ]: {found.level:.0%} interval over topics."
    notes = [f"note: {note}" for note in found.notes]
    return "\n\n".join([*tables, "\n".join([brackets, legend(found), *notes])])


def _table(found: SystemComparison, m: int) -> str:
    base = found.runs.index(found.baseline) if found.baseline else -1
    rows = []
    for run in np.argsort(-found.mean[m], kind="stable"):
        ends = f"[{cell(found.low[m, run])}, {cell(found.high[m, run])}]"
        row = [_name(found, run), float(found.mean[m, run]), ends]
        if found.baseline:
            difference = float(found.mean[m, run] - found.mean[m, base])
            p = float(found.p_values[m, run, base])
            row += ["", ""] if run == base else [f"{difference:+.4f}", cell(p)]
        rows.append([*row, marks(found, m, int(run))])
    extra = [f"to {found.baseline}", "p", ""] if found.baseline else ["better than"]
    return aligned([found.measures[m], "mean", f"{found.level:.0%}", *extra], rows)


def _name(found: SystemComparison, run: int) -> str:
    return found.runs[run] if found.baseline else f"{letter(int(run))} {found.runs[run]}"


def as_latex(found: SystemComparison, digits: int) -> str:
    """Runs down, measures across; needs the booktabs package."""
    rows = [
        [_latex_name(found, run), *(_cell(found, m, run, digits) for m in range(len(found.mean)))]
        for run in range(len(found.runs))
    ]
    caption = "\n".join([legend(found), *found.notes])
    return latex(["", *map(latex_text, found.measures)], rows, caption)


def _latex_name(found: SystemComparison, run: int) -> str:
    name = latex_text(found.runs[run])
    return name if found.baseline else f"$^{{{letter(run)}}}$ {name}"


def _cell(found: SystemComparison, m: int, run: int, digits: int) -> str:
    text = cell(float(found.mean[m, run]), digits)
    if found.mean[m, run] == np.nanmax(found.mean[m]):
        text = rf"\textbf{{{text}}}"
    beaten = marks(found, m, run)
    signs = {_UP: r"\blacktriangle", _DOWN: r"\blacktriangledown"}  # amssymb
    beaten = signs.get(beaten, beaten) if found.baseline else beaten
    return text + (f"$^{{{beaten}}}$" if beaten else "")


def as_dict(found: SystemComparison) -> dict[str, Any]:
    """The rows, the tests, and how all of it was made."""
    tests = [
        {
            "measure": found.measures[m],
            "runs": [found.runs[a], found.runs[b]],
            "p": float(found.p_values[m, a, b]),
        }
        for m, a, b in np.ndindex(found.p_values.shape)
        if a < b and not np.isnan(found.p_values[m, a, b])
    ]
    about = ("baseline", "level", "test", "correction", "alpha")
    result: dict[str, Any] = plain(
        {name: getattr(found, name) for name in about}
        | {"topics": list(found.topics), "rows": found.rows(), "tests": tests}
        | {"notes": list(found.notes)}
    )
    return result


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

        return as_text(self)

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
        rows = self.rows()
        words = ("measure", "run", "better_than")
        return {
            name: np.array([row[name] for row in rows], object if name in words else np.float64)
            for name in rows[0]
        }

    def to_latex(self, digits: int = 3) -> str:
        """One `tabular`: runs down, measures across, the best in bold, marks as superscripts."""
        return as_latex(self, digits)

    def to_dict(self) -> dict[str, Any]:
        """The rows, every p, and how all of it was made, as JSON has it."""
        return as_dict(self)


def compare_systems(
    scores: Scores,
    *,
    baseline: str = "",
    test: str = "randomisation",
    correction: str = "holm",
    alpha: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
) -> SystemComparison:
    """Which runs differ by more than the choice of topics explains.

    Tests (`randomisation`, `t` or `wilcoxon`) are paired over topics; `correction` (`holm`,
    `bonferroni`, `fdr`, `none`) is over all tests of a measure: all pairs of runs, or, where a
    `baseline` is named, each run against it.

    >>> import qrowd as q
    >>> made = q.simulate(topics=12, documents=40, runs=5, seed=2)
    >>> scores = q.evaluate(made.runs, made.truth, ["AP"])
    >>> found = q.compare_systems(scores, baseline="run03")
    >>> [row["run"] for row in found.rows() if row["p"] < 0.05]
    ['run05', 'run01']
    """
    _check(scores, baseline, test, correction)
    order = np.argsort(-scores.means()[0, 0], kind="stable")
    values = scores.values[:, 0][:, :, order].transpose(0, 2, 1)  # [measure, run, topic]
    runs = tuple(str(scores.runs.names[at]) for at in order)
    first, second = _pairs(runs, baseline)
    flips = enough_flips(len(first), alpha)
    p = paired_test(values[:, first], values[:, second], test, flips=flips, seed=seed)
    p_values = np.full((len(values), len(runs), len(runs)), np.nan)
    for m, family in enumerate(p):
        p_values[m, first, second] = p_values[m, second, first] = corrected(family, correction)
    mean, half = mean_interval(values, level)
    caution = beyond_reach(test, len(scores.topics), len(first), correction, alpha)
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
    for what, value, known in (("test", test, TESTS), ("correction", correction, CORRECTIONS)):
        if value not in known:
            raise ParameterError(f"{what} must be one of {', '.join(known)}, got {value!r}")
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


def _pairs(runs: tuple[str, ...], baseline: str) -> tuple[Array, Array]:
    """Which runs are tested against which."""
    if not baseline:
        return np.triu_indices(len(runs), 1)
    base = runs.index(baseline)
    others = np.array([at for at in range(len(runs)) if at != base])
    return others, np.full(len(others), base)


def mean_interval(values: Floats, level: float) -> tuple[Floats, Floats]:
    """Means over the last axis, and half of the width of their Student intervals."""
    from scipy.special import stdtrit

    n = (~np.isnan(values)).sum(axis=-1)
    mean = means_of(values)
    square = np.nansum((values - mean[..., None]) ** 2, axis=-1)
    error = np.sqrt(square / np.maximum(n - 1, 1) / np.maximum(n, 1))
    half = stdtrit(np.maximum(n - 1, 1), (1 + level) / 2) * error
    return mean, np.where(n > 1, half, np.nan)
