"""Numbers, cells and tables of them as text, TSV, JSON, LaTeX and HTML: the one place that renders.

cell(0.61234)                      '0.6123'          what a person reads
thousands(19033), grouped(19033)   '19,033'          in messages; with thin blanks on pages
percent(0.612)                     '61%'
counted(3, "topic")                '3 topics'
between(0.4, 0.52, 2)              '[0.40, 0.52]'
aligned(["run", "AP"], rows)                          columns under each other, for a terminal
tsv({"run": [...], "AP": [...]})                      a table for programs; undefined is empty
plain(value), to_json(value)                          JSON: undefined is null
latex(header, rows), latex_text(name)                 a booktabs `tabular`
html_table({"run": [...]}, "3 runs")                  a table for a notebook; `Readable` shows text
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

Row = Sequence[Any]
Table = Mapping[str, Sequence[Any]]

UNKNOWN = "-"
DIGITS = 3  # decimal places of a figure that a person reads, unless its table says otherwise
_TENTHS = ("seconds",)  # columns of which nobody reads more


def cell(value: Any, digits: int = 4, unknown: str = UNKNOWN) -> str:
    """A cell as a person reads it: fixed digits, whole numbers as they are, undefined as -."""
    value = plain(value)
    if value is None:
        return unknown
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def digits_of(column: str, digits: int = DIGITS) -> int:
    """The decimal places of a column's figures."""
    return 1 if column in _TENTHS else digits


def thousands(number: float, digits: int = 0) -> str:
    """A number with commas between thousands, as messages and plain text have it."""
    return f"{number:,.{digits}f}"


def grouped(number: int) -> str:
    """A whole number with thin blanks between thousands, as reports have it."""
    return thousands(number).replace(",", "\u202f")


def percent(share: float, digits: int = 0) -> str:
    """A share in percent: 0.9 is 90%."""
    return f"{share:.{digits}%}"


def spaced_percent(share: float, digits: int = 0) -> str:
    """A share in percent as sentences on pages have it: 90 %, never at two ends of lines."""
    return percent(share, digits).replace("%", "\u00a0%")


def counted(number: int, noun: str) -> str:
    """So many of something: 1 topic, 0 topics."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def some_of(names: Sequence[str] | Any, noun: str, most: int = 3) -> str:
    """How many names there are, and the first of them: 4 topics (a, b, c, ...)."""
    rest = ", ..." if len(names) > most else ""
    return f"{counted(len(names), noun)} ({', '.join(names[:most])}{rest})"


def between(low: float, high: float, digits: int = 4) -> str:
    """An interval by its ends: [0.41, 0.52]."""
    return f"[{cell(low, digits)}, {cell(high, digits)}]"


def is_number(value: Any) -> bool:
    """Whether a cell is set flush right."""
    return isinstance(value, int | float) or hasattr(value, "dtype")


def aligned(header: Sequence[str], rows: Sequence[Row], digits: int = 4) -> str:
    """Columns with two blanks between them; the first to the left, the others to the right."""
    cells = [list(header), *([cell(value, digits) for value in row] for row in rows)]
    width = [max(len(row[at]) for row in cells) for at in range(len(header))]
    lines = (
        "  ".join(
            text.ljust(width[at]) if at == 0 else text.rjust(width[at])
            for at, text in enumerate(row)
        )
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


# --- for programs ---------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """The value as JSON has it: NaN and infinities are None, arrays lists, at any depth."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_json(value: Any) -> str:
    """JSON for people and programs; undefined numbers are null."""
    return json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False)


def records(table: Table) -> list[dict[str, Any]]:
    """The rows of a table, a mapping each."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def table_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The table of rows that have the same keys: the way back from `records`."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def tsv(table: Table) -> str:
    """Tab-separated, with a header row; undefined numbers are empty."""
    lines = ["\t".join(table)]
    lines += [
        "\t".join(_exact(value) for value in row) for row in zip(*table.values(), strict=True)
    ]
    return "\n".join(lines) + "\n"


def _exact(value: Any) -> str:
    value = plain(value)
    return "" if value is None else str(value)


# --- LaTeX ----------------------------------------------------------------------------------------

_LATEX = str.maketrans(
    {mark: f"\\{mark}" for mark in "_%&#${}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)


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


# --- notebooks ------------------------------------------------------------------------------------


def html_table(table: Table, caption: str = "", note: str = "", digits: int = 4) -> str:
    """A table for a notebook: numbers flush right, a caption above, a note below."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table)
    rows = "".join(
        "<tr>" + "".join(_html_cell(value, digits) for value in row) + "</tr>"
        for row in zip(*table.values(), strict=True)
    )
    above = f"<div>{html.escape(caption)}</div>" if caption else ""
    below = f"<div><small>{html.escape(note)}</small></div>" if note else ""
    return f"{above}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{below}"


class Readable:
    """What a notebook shows as the text that `print` gives."""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _html_cell(value: Any, digits: int) -> str:
    side = "right" if is_number(value) else "left"
    return f'<td style="text-align: {side}">{html.escape(cell(value, digits))}</td>'
