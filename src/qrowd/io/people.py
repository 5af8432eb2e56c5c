"""Tables with people, for a spreadsheet: nothing in a cell runs, and only their owner reads them.

safe("=1+1")                    "'=1+1"    a spreadsheet shows it as text
original("'=1+1")               "=1+1"     exactly what `safe` was given
save_people({"id": [...]}, "owed.csv")     of mode 0600
read_people("owed.csv")                    the same table again
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from qrowd.errors import FormatError
from qrowd.io.atomic import write
from qrowd.io.formats import format_of
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
    form = format_of(source)
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
    return _invited(_rows(path), str(path))


def _invited(
    rows: Iterable[tuple[int, dict[str, Any]]], file: str
) -> list[tuple[int, dict[str, str]]]:
    people = []
    for line, row in rows:
        columns = [_COLUMN_OF.get(plain_name(column), "") for column in row]
        unknown = [column for column, known in zip(row, columns, strict=True) if not known]
        twice = [name for name in _COLUMNS if columns.count(name) > 1]
        if unknown or twice or not {"person", "email", "platform_id"} & set(columns):
            which = f"; {unknown[0]!r} is none of them" if unknown else ""
            which = f"; two of them are the {twice[0].replace('_', ' ')}" if twice else which
            message = "the columns must be person, email, name, language, platform id"
            raise FormatError(f"{message} (or some of them){which}", file=file, line=1)
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
            raise FormatError(message, file=file, line=line)
        people.append((line, one))
    if not people:
        raise FormatError("there is nobody in it", file=file, line=1)
    return people


PASTED = "pasted"  # what messages call it
_ORDERS = (  # of the fields of a line without a header, by the first of them that has an @
    ("email", "name", "language"),
    ("person", "email", "name", "language"),
    ("person", "name", "email", "language"),
)
_MAILBOX = re.compile(r"([^<>@]*)<([^<>\s]+@[^<>\s]+)>")  # Ann Lee <ann@...>


def read_pasted(text: str) -> list[tuple[int, dict[str, str]]]:
    """People as somebody pasted them, like `read_invited`: a table with its header, or without one
    a person a line: an address, what they are known by, or both with name and language, between
    tabs, semicolons or commas; or as mail programs list recipients.
    """
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise FormatError("there is nobody in it", file=PASTED, line=1)
    first = lines[0][1]
    header = _fields(first, _separator(first))
    rows: list[tuple[int, Sequence[str], list[str]]]
    if any(plain_name(field) in _COLUMN_OF for field in header) and "@" not in first:
        rows = [(number, header, _fields(line, _separator(first))) for number, line in lines[1:]]
    else:
        rows = [(number, *one) for number, line in lines for one in _people_of_line(line)]
    for number, columns, fields in rows:
        if len(fields) > len(columns):
            message = f"{len(fields)} fields, but there are {len(columns)}: {', '.join(columns)}"
            raise FormatError(message, file=PASTED, line=number)
    table = [(line, dict(zip_longest(names, row, fillvalue=""))) for line, names, row in rows]
    return _invited(table, PASTED)


def _separator(line: str) -> str:
    return next((sign for sign in "\t;," if sign in line), "\t")


def _fields(line: str, separator: str) -> list[str]:
    if separator == "\t":
        fields = line.split(separator)
    else:
        (fields,) = csv.reader([line], delimiter=separator)
    return [original(field.strip()) for field in fields]


def _people_of_line(line: str) -> list[tuple[Sequence[str], list[str]]]:
    """The columns and fields of each person on a line without a header."""
    separator = _separator(line)
    if separator == "," and "@" not in line:  # a name: Lee, Ann
        separator = "\t"
    fields = _fields(line, separator)
    mailboxes = [_MAILBOX.fullmatch(field) for field in fields if field]
    people = [[part.strip(' "') for part in match.groups()] for match in mailboxes if match]
    if len(people) == len(mailboxes):
        return [(("name", "email"), person) for person in people]
    at = next((place for place, field in enumerate(fields[:3]) if "@" in field), 2)
    return [(_ORDERS[at], fields)]


def _each(change: Callable[[str], str], cells: Iterable[Any]) -> list[Any]:
    return [change(cell) if isinstance(cell, str) else cell for cell in cells]
