"""The `qrowd` command: finds its verbs, and turns errors into one line and an exit code."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
import warnings
from typing import Any

import click

from qrowd import __version__, cli
from qrowd.errors import QrowdError

_NOT_VERBS = {"main", "method_commands", "options", "output"}


class Verbs(click.Group):
    """Every module of `qrowd.cli` that holds a `command` is a verb, named like the module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, sorted."""
        names = (module.name for module in pkgutil.iter_modules(cli.__path__))
        return sorted(name.rstrip("_") for name in names if name not in _NOT_VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The verb of this name; imported now."""
        if name not in self.list_commands(ctx):
            return None
        for module in (name, f"{name}_"):
            if importlib.util.find_spec(f"qrowd.cli.{module}"):
                found = importlib.import_module(f"qrowd.cli.{module}").command
                assert isinstance(found, click.Command)
                return found
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion for a mistyped verb."""
        from qrowd.errors import UnknownNameError

        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            raise UnknownNameError.among("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="qrowd")
def command() -> None:
    """Relevance judgements from many assessors: merge them, score systems, say how sure.

    Results go to stdout, or to the file given by -o; messages to stderr. `-` reads stdin.
    Exit code 2: misuse. Exit code 1: bad data.
    """


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"warning: {message}", err=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    warnings.showwarning = _say_warning
    try:
        command.main(arguments, prog_name="qrowd", standalone_mode=False)
    except QrowdError as error:
        click.echo(f"qrowd: {error}", err=True)
        sys.exit(error.exit_code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        click.echo("qrowd: interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away, as `head` does
        sys.exit(0)
