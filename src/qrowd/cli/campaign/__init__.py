"""`qrowd campaign`: collect judgements. One module per verb, named like it."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from importlib.util import find_spec

import click

from qrowd.errors import MissingExtraError, UnknownNameError

_NOT_VERBS = {"opening"}


class Verbs(click.Group):
    """Every module of this package that holds a `command` is a verb."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, sorted."""
        names = (module.name for module in pkgutil.iter_modules(__path__))
        return sorted(name.rstrip("_") for name in names if name not in _NOT_VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The verb of this name; imported now."""
        if name not in self.list_commands(ctx):
            return None
        module = name if find_spec(f"{__name__}.{name}") else f"{name}_"
        found = importlib.import_module(f"{__name__}.{module}").command
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion for a mistyped verb."""
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            raise UnknownNameError.among("command of campaign", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


@click.group(cls=Verbs)
def command() -> None:
    """Collect judgements: campaigns on SQLite or PostgreSQL.

    A plan file says what is judged, by how many, with which checks and at what pay; `check` tells
    what that comes to before anybody is asked. DATABASE is a file, or a PostgreSQL URL.
    """
    if find_spec("sqlalchemy") is None and not {"-h", "--help"} & set(sys.argv):
        raise MissingExtraError.needed("campaigns", "serve")
