"""What every benchmark shares: a full and a short form, tables that are checked, and how it ends.

    @dataclass(frozen=True)
    class Options:
        rows: int = 10_000_000

    SHORT = Options(rows=20_000)

    def main(options: Options) -> None: ...

    if __name__ == "__main__":
        run(main, Options(), SHORT, __doc__)

Each field is an option of the command line, its default the full form's value, or with `--short`
that of the short form. A benchmark fails (exit code 1) if it raises, if it prints no table, if a
table has no row, or if a row lacks a figure. What it cannot measure here, for want of data, of a
peer or of a program, it skips, and says so in its last line.

`--store` keeps the tables of a full run for the documentation (`_results.py`).
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from benchmarks import _results

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SKIPPED, IN_PART = "skipped: ", "skipped in part: "
_LACKING = re.compile(r"\s*[-–]?\s*|.*\b(nan|inf)\b.*", re.IGNORECASE)
Form = TypeVar("Form", bound="DataclassInstance")


class SkippedError(Exception):
    """What a benchmark, or a part of it, needs is not here."""


class Table:
    """A markdown table, printed row by row.

    Every cell must be filled, except those of `optional` columns.
    """

    made: list[Table] = []  # noqa: RUF012  all tables of this process, for the check in the end

    def __init__(self, *columns: str, title: str = "", optional: Collection[str] = ()) -> None:
        self.columns = columns
        self.optional = optional
        self.title = title
        self.rows = 0
        self.cells: list[list[str]] = []
        self.problems: list[str] = []
        self.lines: list[str] = []
        Table.made.append(self)
        print()
        if title:
            self._print(f"{title}\n")
        self._print("| " + " | ".join(columns) + " |")
        self._print("|" + "---|" * len(columns))

    def row(self, *cells: object, complete: bool = True) -> None:
        """Print one row; of a peer that failed, `complete` is not asked for."""
        texts = [str(cell) for cell in cells]
        self._print("| " + " | ".join(texts) + " |")
        self.cells.append(texts)
        self.rows += 1
        for column, text in zip(self.columns, texts, strict=True):
            if complete and column not in self.optional and _LACKING.fullmatch(text):
                self.problems.append(f"row {self.rows} ({texts[0]}) lacks its {column!r}")

    def checked(self) -> list[str]:
        """What is wrong with it."""
        name = " | ".join(self.columns)
        if not self.rows:
            return [f"the table | {name} | is empty"]
        return [f"the table | {name} |: {problem}" for problem in self.problems]

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"

    def _print(self, line: str) -> None:
        self.lines.append(line)
        print(line, flush=True)


_skipped: list[str] = []
_collections: list[str] = []  # real ones that were read


def skip(reason: str) -> None:
    """Leave a part out, and say why in the end."""
    if reason not in _skipped:
        _skipped.append(reason)


def reads(collection: str) -> None:
    """Note that a real collection is read, for stored results."""
    if collection not in _collections:
        _collections.append(collection)


def need(there: object, reason: str) -> None:
    """Leave the rest of this part out unless something is there."""
    if not there:
        raise SkippedError(reason)


def attempt(part: Callable[[], object]) -> None:
    """Run a part; one that lacks what it needs is skipped without the others."""
    try:
        part()
    except SkippedError as missing:
        skip(str(missing))


def option(default: Any, *, positional: bool = False, choices: Sequence[str] | None = None) -> Any:
    """A field of the options that is given by its place, or that has words of some kinds only."""
    return field(default=default, metadata={"positional": positional, "choices": choices})


def run(main: Callable[[Form], None], full: Form, short: Form, about: str | None) -> NoReturn:
    """Run a benchmark as its command line asks, check its tables, and end the process."""
    options, name = _parsed(full, short, about)
    attempt(lambda: main(options))
    problems = [problem for table in Table.made for problem in table.checked()]
    if not Table.made and not _skipped:
        problems.append("no table was printed")
    for problem in problems:
        print(f"failed: {problem}", file=sys.stderr)
    if _skipped:
        whole = not any(table.rows for table in Table.made)
        print(f"\n{SKIPPED if whole else IN_PART}{'; '.join(_skipped)}")
    if name and not problems:
        _store(name)
    sys.exit(1 if problems else 0)


def _store(name: str) -> None:
    keys = _results.slugs([table.title for table in Table.made])
    tables = {
        key: (table.columns, table.cells) for key, table in zip(keys, Table.made, strict=True)
    }
    words = [Path(sys.argv[0]).stem, *sys.argv[1:]]
    at = words.index("--store")
    words[at : at + 2 if words[at + 1 :][:1] == [name] else at + 1] = []
    data = ", ".join(_collections) or "simulated"
    path = _results.store(name, "python -m benchmarks." + shlex.join(words), data, tables)
    print(f"\nstored: {path.relative_to(_results.ROOT)}")


def _parsed(full: Form, short: Form, about: str | None) -> tuple[Form, str]:
    """The options, and the name to store tables under."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="the smallest form, in seconds")
    own = Path(sys.argv[0]).stem
    parser.add_argument(
        "--store",
        nargs="?",
        const=own,
        default="",
        metavar="NAME",
        help=f"keep the tables for the documentation, as {own} or another name",
    )
    for each in fields(full):
        default = getattr(full, each.name)
        settings: dict[str, Any] = {
            "default": None,
            "help": f"{_words(default)}; short: {_words(getattr(short, each.name))}",
        }
        if isinstance(default, bool):
            settings["action"] = "store_true"
        else:
            several = isinstance(default, tuple)
            example = next(iter(default), "") if several else default
            settings["type"] = type(example)
            settings["metavar"] = each.name.upper()
            if several or each.metadata.get("positional"):
                settings["nargs"] = "*" if several else "?"
        dashes = "" if each.metadata.get("positional") else "--"
        parser.add_argument(dashes + each.name.replace("_", "-" if dashes else "_"), **settings)
    given = vars(parser.parse_args())
    name: str = given.pop("store")
    if name and given["short"]:
        parser.error("figures of the short form mean nothing: --store without --short")
    form = short if given.pop("short") else full
    for each in fields(full):
        value = given[each.name]
        if value in (None, []):
            continue
        if isinstance(value, list):
            value = tuple(value)
        choices = each.metadata.get("choices") or ()
        unknown = [word for word in value if word not in choices] if choices else []
        if unknown:
            parser.error(f"no {each.name} {' '.join(unknown)}; there are: {' '.join(choices)}")
        form = replace(form, **{each.name: value})
    return form, name


def _words(value: object) -> str:
    words = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return (words or "none").replace("%", "%%")
