"""Tables with people, for a spreadsheet: nothing in a cell runs, and only their owner reads them.

safe("=1+1")                    "'=1+1"    a spreadsheet shows it as text
original("'=1+1")               "=1+1"     exactly what `safe` was given
save_people({"id": [...]}, "owed.csv")     of mode 0600
read_people("owed.csv")                    the same table again
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from qrowd.io.atomic import write
from qrowd.io.formats import FORMATS
from qrowd.io.formats.text import Text
from qrowd.io.save import encoded_table, format_of_table
from qrowd.io.source import sources
from qrowd.rendering import Table

# A spreadsheet runs what begins with one of these (of full width, too: some are set so), whatever
# blanks and quotes stand before it; and a cell begins after every separator that it may be set to.
_RUN = r"""['"\s]*[=+\-@\t\r\n＝＋－＠]"""
_BEGIN = r"(?:\A|(?<=[,;|\t\r\n]))"
_TO_MARK = re.compile(f"{_BEGIN}(?={_RUN})")
_MARKED = re.compile(f"{_BEGIN}'(?={_RUN})")  # other apostrophes ('s-Hertogenbosch) are not ours


def safe(text: str) -> str:
    """A cell's text with an apostrophe wherever a spreadsheet would begin to run it."""
    return _TO_MARK.sub("'", text)


def original(text: str) -> str:
    """What `safe` was given."""
    return _MARKED.sub("", text)


def encoded_people(table: Table, name: str = "") -> bytes:
    """The bytes of a file of this name: TSV (also without a name) and CSV are safe, other forms
    hold every text as it is.
    """
    if isinstance(format_of_table(name), Text):
        table = {column: _each(safe, cells) for column, cells in table.items()}
    return encoded_table(table, name)


def save_people(table: Table, path: str | Path) -> None:
    """Write a table with people, by its suffix; only the file's owner can read it."""
    write(path, encoded_people(table, str(path)), private=True)


def read_people(path: str | Path) -> dict[str, list[Any]]:
    """The columns of a table that `save_people` wrote, exactly; a spreadsheet may have saved it."""
    (source,) = sources(path)
    form = next(form for form in FORMATS.values() if form.matches(source))
    table: dict[str, list[Any]] = {}
    for _, row in form.rows(source):
        for column, cell in row.items():
            table.setdefault(column, []).append(cell)
    if not isinstance(form, Text):
        return table
    return {column: _each(original, cells) for column, cells in table.items()}


def _each(change: Callable[[str], str], cells: Iterable[Any]) -> list[Any]:
    return [change(cell) if isinstance(cell, str) else cell for cell in cells]
