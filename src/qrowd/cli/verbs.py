"""A group of commands whose verbs are the modules of a package."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import click

from qrowd.errors import UnknownNameError


class Verbs(click.Group):
    """Every module of the package that holds a `command` is a verb, named like the module.

    A module whose verb is a word of Python's own has a `_` behind its name. `others` are modules
    that are no verbs.
    """

    def __init__(self, *, package: str, others: frozenset[str], **more: Any) -> None:
        super().__init__(**more)
        self.package, self.others = package, others

    def _modules(self) -> dict[str, str]:
        path = importlib.import_module(self.package).__path__
        names = (module.name for module in pkgutil.iter_modules(path))
        return {name.rstrip("_"): name for name in sorted(names) if name not in self.others}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, sorted."""
        return sorted(self._modules())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The verb of this name; imported now."""
        module = self._modules().get(name)
        if module is None:
            return None
        found = importlib.import_module(f"{self.package}.{module}").command
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion for a mistyped verb."""
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            of = self.package.removeprefix("qrowd.cli").strip(".")
            what = f"command of {of}" if of else "command"
            raise UnknownNameError.among(what, args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)
