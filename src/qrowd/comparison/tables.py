"""Rows of words and numbers as aligned text, TSV, LaTeX, and as JSON has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Row = Sequence[Any]


def figure(value: Any, digits: int = 4) -> str:
    """A cell as text: numbers with fixed digits, whole ones as they are, undefined ones as -."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return str(value)
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def aligned(header: Sequence[str], rows: Sequence[Row], digits: int = 4) -> str:
    """Columns with two blanks between them; the first to the left, the others to the right."""
    cells = [list(header), *([figure(cell, digits) for cell in row] for row in rows)]
    width = [max(len(row[at]) for row in cells) for at in range(len(header))]
    lines = (
        "  ".join(
            cell.ljust(width[at]) if at == 0 else cell.rjust(width[at])
            for at, cell in enumerate(row)
        )
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def tsv(header: Sequence[str], rows: Sequence[Row]) -> str:
    """Tab-separated, with a header row; undefined numbers are empty."""
    lines = ["\t".join(header)]
    lines += ["\t".join(_plain(cell) for cell in row) for row in rows]
    return "\n".join(lines) + "\n"


def _plain(cell: Any) -> str:
    if isinstance(cell, float):
        return "" if math.isnan(cell) else repr(cell)
    return str(cell)


_LATEX = str.maketrans(
    {"_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}",
     "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)  # fmt: skip


def latex_text(text: str) -> str:
    """A name with what LaTeX reads as commands made harmless."""
    return text.translate(_LATEX)


def latex(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    r"""A `tabular` with booktabs rules; cells are LaTeX already."""
    lines = [r"\begin{tabular}{l" + "r" * (len(header) - 1) + "}", r"\toprule"]
    lines += [" & ".join(header) + r" \\", r"\midrule"]
    lines += [" & ".join(row) + r" \\" for row in rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    comment = [f"% {line}" for line in caption.splitlines()]
    return "\n".join([*comment, *lines]) + "\n"


def defined(value: Any) -> Any:
    """The value as JSON has it: NaN becomes None, numpy numbers become Python's, at any depth."""
    if isinstance(value, dict):
        return {str(key): defined(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [defined(inner) for inner in value]
    if hasattr(value, "tolist"):
        return defined(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
