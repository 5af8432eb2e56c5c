"""Groups of commands: verbs that are imported when they are used, and a word for mistyped ones."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from qrowd.errors import UnknownNameError


class Verb(click.Command):
    """What a list of commands says of a command whose module is not imported yet."""

    def __init__(self, home: str, help: str | None = None, short_help: str | None = None) -> None:
        super().__init__(home, help=help, short_help=short_help)
        self.home = home

    def load(self) -> click.Command:
        """The command itself: `home` is its module in this package, and its name there."""
        module, name = self.home.split(":")
        command = getattr(importlib.import_module(f"qrowd.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command


class Family(click.Group):
    """A group of commands that suggests one for a mistyped verb."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion."""
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            kind = f"command of {ctx.info_name}" if ctx.parent else "command"
            raise UnknownNameError.among(kind, args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


class Verbs(Family):
    """A family whose list of commands is text: `--help` imports none of them."""

    def __init__(self, *arguments: Any, verbs: Mapping[str, Verb], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, sorted."""
        return sorted(self.verbs)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The verb of this name; imported now."""
        return self.verbs[name].load() if name in self.verbs else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does, without importing what is listed."""
        limit = formatter.width - 6 - max(map(len, self.verbs))
        rows = [
            (name, self.verbs[name].get_short_help_str(limit)) for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
