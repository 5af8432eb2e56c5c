"""Results to stdout or a file; messages and progress to stderr.

say("3 topics have no gold")                        one line on stderr, unless -q
show({"run": [...], "AP": [...]}, output, as_json)  a table: rich on a terminal, else TSV
show_people({"id": [...]}, output)                  the same for a spreadsheet, to a private file
show_json({...})                                    one JSON object, NaN as null
put(noun, output, ties=..., seed=...)               a noun to -o, or to stdout
warn("--rel is above every grade")                  one line on stderr, -q or not
deliver(noun, output, as_json)                      a noun to -o, as JSON, or for eyes
save_pictures({"name": figure}, folder)             SVG files
with iterations("ds") as progress: ...              progress(done, at_most, objective) shows it
"""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from qrowd.io.atomic import made_folder, write
from qrowd.rendering import Table, cell, digits_of, is_number, records, to_json, tsv

if TYPE_CHECKING:
    from qrowd.data.given import Progress


_ROWS = 1000  # that a terminal shows
_BAR = 16  # letters of a bar that shows progress


QUIET = "qrowd.quiet"  # where -q is kept while a command runs


def quiet() -> bool:
    """Whether -q asked for no messages and no progress."""
    ctx = click.get_current_context(silent=True)
    return bool(ctx and ctx.meta.get(QUIET))


def say(message: str) -> None:
    """One message on stderr, unless -q."""
    if not quiet():
        click.echo(message, err=True)


def warn(message: str) -> None:
    """What is likely a mistake, on stderr; -q does not hide it."""
    click.echo(f"warning: {message}", err=True)


def put(noun: Any, output: str | None, **options: Any) -> None:
    """A noun to a file, or to stdout in its plain form."""
    from qrowd.io.save import encoded_noun, save

    if output and output != "-":
        save(noun, output, **options)
    else:
        sys.stdout.buffer.write(encoded_noun(noun, "", **options))
        sys.stdout.flush()


def show(
    table: Table,
    output: str | None = None,
    as_json: bool = False,
    *,
    title: str = "",
    digits: int = 4,
) -> None:
    """A table of columns: to a file by its suffix, as JSON, for eyes, or as TSV.

    On a terminal, and only there, numbers are rounded to `digits`, and a long table is cut.
    """
    if output and output != "-":
        from qrowd.io.save import save_table

        save_table(table, output)
    elif as_json:
        show_json(records(table))
    elif sys.stdout.isatty():
        _print(table, title, digits)
    else:
        click.echo(tsv(table), nl=False)


def show_people(table: Table, output: str | None, as_json: bool) -> None:
    """A table with people, for a spreadsheet: cells that would run do not, the file is private."""
    from qrowd.io.people import encoded_people, save_people

    if output and output != "-":
        save_people(table, output)
    elif as_json or sys.stdout.isatty():
        show(table, None, as_json)
    else:
        click.echo(encoded_people(table), nl=False)


def deliver(noun: Any, output: str | None, as_json: bool, **further: Any) -> None:
    """A noun to a file, and as JSON (with what is further in it) or, without a file, for eyes."""
    if output:
        put(noun, output)
    if as_json:
        show_json({**noun.to_dict(), **further})
    elif not output:
        click.echo(str(noun))


def say_notes(notes: Iterable[str]) -> None:
    """What a reader of the numbers should know, a line each on stderr."""
    for note in notes:
        say(f"note: {note}")


def show_json(value: Any) -> None:
    """JSON on stdout; what is not a number becomes null, arrays become lists."""
    click.echo(to_json(value))


def save_pictures(pictures: Mapping[str, Any], folder: str) -> list[str]:
    """Pictures as SVG files of a folder, which is made; what could not be drawn is None."""
    from qrowd.reporting.figures import standalone

    into = made_folder(folder)
    paths = []
    for name, figure in pictures.items():
        if figure is not None:
            path = into / f"{name}.svg"
            write(path, standalone(figure))
            paths.append(str(path))
            say(str(path))
    return paths


@contextlib.contextmanager
def iterations(method: str, *, sampled: bool = False) -> Iterator[Progress]:
    """How far a fit has come: one line that changes on a terminal, else a line now and then.

    `sampled` fits make sweeps, and what they show is the worst R-hat so far.
    """
    if quiet():
        yield lambda done, at_most, objective: None
        return
    live = sys.stderr.isatty()
    started = time.monotonic()
    next_time = started + (1 if live else 10)
    wait = 0.2 if live else 10
    step, name = ("sweep", "worst R-hat") if sampled else ("iteration", "objective")

    def progress(done: int, at_most: int, objective: float) -> None:
        nonlocal next_time
        if time.monotonic() >= next_time:
            next_time = time.monotonic() + wait
            value = "" if math.isnan(objective) else f", {name} {objective:.{4 if sampled else 8}g}"
            rate = f", {done / (time.monotonic() - started):.0f}/s" if sampled else ""
            line = f"{method}: {step} {done} of at most {at_most}{rate}{value}"
            if sampled and live:
                full = round(done / at_most * _BAR)
                line = f"[{'#' * full}{'.' * (_BAR - full)}] {line}"
            click.echo(f"\r{line:<79}" if live else line, err=True, nl=not live)

    yield progress
    if live:
        click.echo(f"\r{'':<79}\r", err=True, nl=False)


def _print(table: Table, title: str, digits: int) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable

    drawn = RichTable(title=title or None, title_justify="left", box=None, header_style="bold")
    for name, column in table.items():
        number = all(is_number(value) or value is None for value in column)
        drawn.add_column(name, justify="right" if number else "left", overflow="fold")
    decimals = [digits_of(name, digits) for name in table]
    for row in itertools.islice(zip(*table.values(), strict=True), _ROWS):
        drawn.add_row(*(cell(value, n) for value, n in zip(row, decimals, strict=True)))
    Console().print(drawn, markup=False)
    hidden = len(next(iter(table.values()), ())) - _ROWS
    if hidden > 0:
        say(f"{hidden} more rows; write all of them to a file with -o, or to a pipe")
