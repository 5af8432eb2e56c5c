"""`SystemComparison` as text, LaTeX, and as JSON has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.comparison.compare_text import TESTS_IN_WORDS, letter
from qrowd.comparison.systems import SystemComparison
from qrowd.rendering import aligned, cell, latex, latex_text, plain

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
