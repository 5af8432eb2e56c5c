"""`qrowd experiment`: a grid of approaches, panels, topic sets and measures. A module per verb."""

from __future__ import annotations

import importlib
import pkgutil

import click

from qrowd.errors import UnknownNameError

_NOT_VERBS = {"choosing"}


class Verbs(click.Group):
    """Every module of this package that holds a `command` is a verb."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, sorted."""
        names = (module.name for module in pkgutil.iter_modules(__path__))
        return sorted(name for name in names if name not in _NOT_VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The verb of this name; imported now."""
        if name not in self.list_commands(ctx):
            return None
        found = importlib.import_module(f"{__name__}.{name}").command
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion for a mistyped verb."""
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            raise UnknownNameError.among("command of experiment", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


@click.group(cls=Verbs)
def command() -> None:
    """Compare approaches on a grid of panels, topic sets, measures and run sets.

    A plan file (TOML) says what is crossed with what; presets repeat published experiments. Results
    are a folder with one Parquet file of cells; a run that was stopped goes on with `resume`.
    """
