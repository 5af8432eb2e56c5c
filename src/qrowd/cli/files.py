"""Files that a command reads and writes: none may be both, nor written twice."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from glob import has_magic, iglob
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from qrowd.errors import UsageError
from qrowd.io.atomic import refuse_unwritable

F = TypeVar("F", bound=Callable[..., Any])
_CHECKED = "_checks_files"


def writable(ctx: click.Context, _: click.Parameter, path: str | None) -> str | None:
    """A callback of options that name a file to write; it also tells these options from others."""
    may_be_folder = any(each.name == "to" for each in ctx.command.params)  # convert looks itself
    if path and path != "-" and not (may_be_folder and Path(path).is_dir()):
        refuse_unwritable(path)
    return path


def checking_files(function: F) -> F:
    """A command's function that first looks at all files the command was given."""
    if hasattr(function, _CHECKED):
        return function

    @functools.wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        refuse_clashes(click.get_current_context())
        return function(*arguments, **options)

    setattr(checked, _CHECKED, True)
    return cast(F, checked)


def refuse_clashes(ctx: click.Context) -> None:
    """An error if a file would be written twice, or written and read."""
    written: dict[Path, str] = {}
    for option, path in _named(ctx, written=True):
        if path.exists() and not path.is_file():
            continue  # /dev/null, a pipe
        if path.resolve() in written:
            other = written[path.resolve()]
            raise UsageError(f"{path} would be written by both {other} and {option}; name another")
        written[path.resolve()] = option
    if not written:
        return
    for option, path in _named(ctx, written=False):
        for file in _read(path, written):
            if file.resolve() in written:
                other = written[file.resolve()]
                raise UsageError(
                    f"{file} is read ({option}) and would be overwritten by {other}; "
                    "write to another file"
                )


def _named(ctx: click.Context, *, written: bool) -> Iterator[tuple[str, Path]]:
    """The names of options and arguments, and the paths that were given to them."""
    for option in ctx.command.params:
        value = ctx.params.get(option.name or "")
        if (option.callback is writable) == written:
            label = (
                max(option.opts, key=len) if isinstance(option, click.Option) else "as an argument"
            )
            for text in value if isinstance(value, tuple) else (value,):
                if isinstance(text, str) and text not in ("", "-"):
                    yield label, Path(text)


def _read(path: Path, written: dict[Path, str]) -> Iterator[Path]:
    """The files that a path stands for, as far as they matter: NAME=FILE, patterns, folders."""
    try:
        if path.is_file():
            yield path
        elif path.is_dir():
            folder = path.resolve()
            yield from (file for file in written if file.parent == folder and file.exists())
        elif has_magic(str(path)):
            yield from map(Path, iglob(str(path)))  # noqa: PTH207
        elif "=" in str(path):
            yield from _read(Path(str(path).partition("=")[2]), written)
    except OSError:  # not a path at all, such as a very long expression
        return
