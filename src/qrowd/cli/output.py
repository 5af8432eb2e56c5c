"""Results to stdout or a file; messages and progress to stderr.

say("3 topics have no gold", quiet)                 one line on stderr
show({"run": [...], "AP": [...]}, output, as_json)  a table: rich on a terminal, else TSV
show_json({...})                                    one JSON object, NaN as null
put(noun, output, ties=..., seed=...)               a noun to -o, or to stdout
with progress("fitting", quiet) as step: step(0.3)  a bar on stderr, only on a terminal
with iterations("ds", quiet) as told: ...           told(done, at_most, objective) shows how it goes
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from qrowd.data.given import Progress

Table = Mapping[str, Sequence[Any]]


def say(message: str, quiet: bool = False) -> None:
    """One message on stderr."""
    if not quiet:
        click.echo(message, err=True)


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

    Numbers are rounded to `digits` on a terminal only.
    """
    if output and output != "-":
        _save(table, output)
    elif as_json:
        show_json([dict(zip(table, row, strict=True)) for row in _rows(table)])
    elif sys.stdout.isatty():
        _print(table, title, digits)
    else:
        _print_tsv(table)


def show_json(value: Any) -> None:
    """JSON on stdout; what is not a number becomes null, arrays become lists."""
    click.echo(json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False))


@contextlib.contextmanager
def progress(what: str, quiet: bool = False) -> Iterator[Callable[[float], None]]:
    """A function that takes the share done so far; draws a bar where stderr is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda share: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


@contextlib.contextmanager
def iterations(what: str, quiet: bool = False, *, sampled: bool = False) -> Iterator[Progress]:
    """How far a fit has come: one line that changes on a terminal, else a line now and then.

    `sampled` fits make sweeps, and what they tell is the worst R-hat so far.
    """
    if quiet:
        yield lambda done, at_most, objective: None
        return
    live = sys.stderr.isatty()
    wait, next_time = (0.2, time.monotonic() + 1) if live else (10, time.monotonic() + 10)
    started, step = time.monotonic(), "sweep" if sampled else "iteration"

    def told(done: int, at_most: int, objective: float) -> None:
        nonlocal next_time
        if time.monotonic() >= next_time:
            next_time = time.monotonic() + wait
            name = "worst R-hat" if sampled else "objective"
            value = "" if math.isnan(objective) else f", {name} {objective:.{4 if sampled else 8}g}"
            rate = f", {done / (time.monotonic() - started):.0f}/s" if sampled else ""
            line = f"{what}: {step} {done} of at most {at_most}{rate}{value}"
            line = f"{_bar(done / at_most)} {line}" if sampled and live else line
            click.echo(f"\r{line:<79}" if live else line, err=True, nl=not live)

    yield told
    if live:
        click.echo(f"\r{'':<79}\r", err=True, nl=False)


def _bar(share: float, width: int = 16) -> str:
    full = round(share * width)
    return f"[{'#' * full}{'.' * (width - full)}]"


def _rows(table: Table) -> Iterator[tuple[Any, ...]]:
    return zip(*table.values(), strict=True)


def _save(table: Table, output: str) -> None:
    from qrowd.io.save import save_table

    save_table(table, output)


def _print_tsv(table: Table) -> None:
    click.echo("\t".join(table))
    for row in _rows(table):
        click.echo("\t".join(_text(value) for value in row))


def _print(table: Table, title: str, digits: int) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable

    drawn = RichTable(title=title or None, title_justify="left", box=None, header_style="bold")
    for name, column in table.items():
        number = all(_is_number(value) or value is None for value in column)
        drawn.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in _rows(table):
        drawn.add_row(*(_text(value, digits) for value in row))
    Console().print(drawn, markup=False)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or hasattr(value, "dtype")


def _text(value: Any, digits: int | None = None) -> str:
    value = _plain(value)
    if value is None:
        return "-" if digits is not None else ""
    if isinstance(value, float) and digits is not None:
        return f"{value:.{digits}f}"
    return str(value)


def _plain(value: Any) -> Any:
    """Python's own types; NaN and infinities become None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
