"""The `qrowd` command: finds its verbs, and turns errors into one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click

from qrowd import __version__
from qrowd.cli.verbs import Verbs
from qrowd.errors import QrowdError

_NOT_VERBS = frozenset(
    {"correction", "files", "main", "method_commands", "options", "output", "verbs"}
)


@click.group(
    cls=Verbs,
    package="qrowd.cli",
    others=_NOT_VERBS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="qrowd")
def command() -> None:
    """Turn the judgements of many assessors into relevance judgements and scores you can trust.

    Results go to stdout, or to a file with -o; messages go to stderr. A file named - is stdin.
    Exit codes: 1 for bad data, 2 for a wrong command line.
    """


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"warning: {message}", err=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: whatever fails is told in one line, with an exit code."""
    warnings.showwarning = _say_warning
    sys.stderr = sys.stderr or _nowhere()
    if sys.stdout is None:
        _stop("stdout is closed; open it, or send it to a file", 2)
    try:
        command.main(arguments, prog_name="qrowd", standalone_mode=False)
        sys.stdout.flush()
    except QrowdError as error:
        _stop(str(error), error.exit_code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        _stop("interrupted", 130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stdout = _nowhere()  # the reader of our output went away, as `head` does
        sys.exit(0)
    except OSError as error:
        _stop_writing(error)
    except MemoryError as error:
        _stop(f"not enough memory: {error}; use fewer draws or samples, or less data", 1)


def _stop(message: str, code: int) -> NoReturn:
    click.echo(f"qrowd: {message}", err=True)
    sys.exit(code)


def _stop_writing(error: OSError) -> NoReturn:
    """A full disk, a folder that cannot be written to, a file that cannot be read."""
    name = error.filename or "output"
    if error.errno == errno.ENOSPC:
        sys.stdout = _nowhere()  # or what is left in its buffer fails once more at the end
    _stop(f"{name}: {error.strerror or error}", 1)


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")
