"""`Comparison` as text, LaTeX, and as JSON has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.comparison.compare import LESS_IS_BETTER, Comparison
from qrowd.rendering import aligned, cell, latex, latex_text, plain

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


def letter(at: int) -> str:
    """A to z, then a1, b1, ..."""
    return _LETTERS[at % 26] + (str(at // 26) if at >= 26 else "")


def marks(found: Comparison, m: int, e: int, s: int) -> str:
    """The letters of the estimates that this one is significantly better than."""
    return "".join(letter(other) for other in found.beats(m, e, s))


def legend(found: Comparison) -> str:
    """What the intervals and marks mean."""
    lines = []
    if found.samples.shape[-1]:
        lines.append(
            f"[ ]: {found.level:.0%} interval over topics "
            f"({found.samples.shape[-1]} bootstrap samples, recentred)."
        )
    if len(found.estimates) > 1 and len(found.topics) > 1:
        names = {"holm": "Holm's", "bonferroni": "Bonferroni's", "fdr": "Benjamini & Hochberg's"}
        name = names.get(found.correction)
        correction = f", {name} correction over all pairs" if name else ""
        lines.append(
            f"Letters: better than these on the topics one by one, by {TESTS_IN_WORDS[found.test]} "
            f"(p < {found.alpha:g}{correction})."
        )
    return "\n".join(lines)


def as_text(found: Comparison) -> str:
    """One table per measure, what the marks mean, and the notes."""
    blocks = [_table(found, m) for m in range(len(found.measures))]
    notes = [f"note: {note}" for note in found.notes]
    return "\n\n".join([*blocks, "\n".join([legend(found), *notes]).strip()]).rstrip()


def _title(found: Comparison, m: int) -> str:
    return f"{found.measures[m]}: {len(found.runs)} runs, {len(found.topics)} topics"


def _table(found: Comparison, m: int) -> str:
    rows: list[list[str]] = []
    for e, name in enumerate(found.estimates):
        tag = f"{letter(e)} {name}" if len(found.estimates) > 1 else name
        cells = range(len(found.statistics))
        rows.append([tag, *(f"{_digits(found, m, e, s)} {marks(found, m, e, s)}" for s in cells)])
        if found.samples.shape[-1]:
            rows.append(["", *(_ends(found, m, e, s) for s in cells)])
    return _title(found, m) + "\n" + aligned(["", *(f"{name} " for name in found.statistics)], rows)


def _places(found: Comparison, s: int) -> int:
    return 1 if found.statistics[s] == "max_drop" else 3


def _digits(found: Comparison, m: int, e: int, s: int) -> str:
    return cell(float(found.values[m, e, s]), _places(found, s))


def _ends(found: Comparison, m: int, e: int, s: int) -> str:
    low, high = (cell(float(end[m, e, s]), _places(found, s)) for end in (found.low, found.high))
    return f"[{low}, {high}]"


def as_latex(found: Comparison, digits: int) -> str:
    """One `tabular` per measure; needs the booktabs package."""
    header = ["", *(_symbol(name) for name in found.statistics)]
    tables = [
        latex(
            header,
            [_latex_row(found, m, e, digits) for e in range(len(found.estimates))],
            f"{_title(found, m)}\n{legend(found)}",
        )
        for m in range(len(found.measures))
    ]
    return "\n".join(tables)


def _symbol(name: str) -> str:
    return _SYMBOLS.get(name, latex_text(name))


def _latex_row(found: Comparison, m: int, e: int, digits: int) -> list[str]:
    prefix = f"$^{{{letter(e)}}}$ " if len(found.estimates) > 1 else ""
    name = prefix + latex_text(found.estimates[e])
    return [name, *(_latex_cell(found, m, e, s, digits) for s in range(len(found.statistics)))]


def _latex_cell(found: Comparison, m: int, e: int, s: int, digits: int) -> str:
    places = 1 if found.statistics[s] == "max_drop" else digits
    column = found.values[m, :, s]
    best = np.nanmin if found.statistics[s] in LESS_IS_BETTER else np.nanmax
    text = cell(float(column[e]), places)
    if len(column) > 1 and not np.isnan(column).all() and column[e] == best(column):
        text = rf"\textbf{{{text}}}"
    beaten = marks(found, m, e, s)
    text += f"$^{{{beaten}}}$" if beaten else ""
    if not found.samples.shape[-1]:
        return text
    low, high = (cell(float(end[m, e, s]), places) for end in (found.low, found.high))
    return rf"{text} {{\scriptsize [{low}, {high}]}}"


def as_dict(found: Comparison) -> dict[str, Any]:
    """The rows, the tests, and how all of it was made."""
    pairs = [
        {
            "measure": found.measures[m],
            "statistic": found.statistics[s],
            "estimates": [found.estimates[a], found.estimates[b]],
            "p": float(found.p_values[m, s, a, b]),
        }
        for m, s, a, b in np.ndindex(found.p_values.shape)
        if a < b
    ]
    rows = [
        {**row, "beats": [found.estimates[other] for other in found.beats(*at)]}
        for row, at in zip(found.rows(), np.ndindex(found.values.shape), strict=True)
    ]
    result: dict[str, Any] = plain(
        {
            "topics": list(found.topics),
            "runs": list(found.runs),
            "level": found.level,
            "bootstrap": found.samples.shape[-1],
            "test": found.test,
            "correction": found.correction,
            "alpha": found.alpha,
            "rows": rows,
            "tests": pairs,
            "notes": list(found.notes),
        }
    )
    return result
