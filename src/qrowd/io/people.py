"""Tables with people, for a spreadsheet: nothing in a cell runs, and only their owner reads them.

safe("=1+1")                    "'=1+1"    a spreadsheet shows it as text
original("'=1+1")               "=1+1"     exactly what `safe` was given
save_people({"id": [...]}, "owed.csv")     of mode 0600
read_people("owed.csv")                    the same table again
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from qrowd.errors import FormatError
from qrowd.io.atomic import write
from qrowd.io.formats import FORMATS
from qrowd.io.formats.text import Text
from qrowd.io.roles import plain_name
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
    table: dict[str, list[Any]] = {}
    for _, row in _rows(path):
        for column, cell in row.items():
            table.setdefault(column, []).append(cell)
    return table


def _rows(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row with its line."""
    (source,) = sources(path)
    form = next(form for form in FORMATS.values() if form.matches(source))
    for line, row in form.rows(source):
        if isinstance(form, Text):
            yield line, dict(zip(row, _each(original, row.values()), strict=True))
        else:
            yield line, dict(row)


# --- who is to be written to ----------------------------------------------------------------------

_COLUMNS = {
    "person": "person id person_id worker worker_id participant login user user_id",
    "email": "email e_mail mail email_address e_mail_address address",
    "name": "name full_name display_name first_name",
    "language": "language lang locale",
    "platform_id": "platform_id prolific_id prolific_pid participant_id mturk_id external_id",
}
_COLUMN_OF = {synonym: name for name, names in _COLUMNS.items() for synonym in names.split()}


def read_invited(path: str | Path) -> list[tuple[int, dict[str, str]]]:
    """The people of a table: the line of each, and id, name, email, language.

    The id is the platform's where there is one, else what the organiser calls the person, else the
    address.
    """
    people = []
    for line, row in _rows(path):
        columns = [_COLUMN_OF.get(plain_name(column), "") for column in row]
        unknown = [column for column, known in zip(row, columns, strict=True) if not known]
        twice = [name for name in _COLUMNS if columns.count(name) > 1]
        if unknown or twice or not {"person", "email", "platform_id"} & set(columns):
            which = f"; {unknown[0]!r} is none of them" if unknown else ""
            which = f"; two of them are the {twice[0].replace('_', ' ')}" if twice else which
            message = "the columns must be person, email, name, language, platform id"
            raise FormatError(f"{message} (or some of them){which}", file=str(path), line=1)
        cells = zip(columns, row.values(), strict=True)
        texts = {name: str("" if cell is None else cell).strip() for name, cell in cells}
        person, platform_id = texts.get("person", ""), texts.get("platform_id", "")
        email = texts.get("email", "")
        called = person if platform_id and person != platform_id else ""
        one = {
            "id": platform_id or person or email,
            "name": texts.get("name", "") or called,
            "email": email,
            "language": texts.get("language", ""),
        }
        if not one["id"]:
            message = "a person needs an id: person, platform id or email"
            raise FormatError(message, file=str(path), line=line)
        people.append((line, one))
    if not people:
        raise FormatError("there is nobody in it", file=str(path), line=1)
    return people


def _each(change: Callable[[str], str], cells: Iterable[Any]) -> list[Any]:
    return [change(cell) if isinstance(cell, str) else cell for cell in cells]
