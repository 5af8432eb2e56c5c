"""Commands and groups of commands: old spellings, help by what options are for, late imports."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

import click

from qrowd.cli.output import say
from qrowd.errors import UnknownNameError, UsageError

PARTS = {"in": "What goes in", "how": "How", "out": "What comes out"}


class Option(click.Option):
    """An option that knows what it is for, one of PARTS; others are about how."""

    def __init__(self, *flags: Any, part: str = "how", **settings: Any) -> None:
        super().__init__(*flags, **settings)
        self.part = part


class Command(click.Command):
    """A command whose help lists options by what they are for, and that knows old spellings.

    `old` has the spelling of today for each former one: {"--qrels-rel": "--rel"}. Without one, what
    follows is a positional argument now: {"--judgements": ""}. A former value is named with its
    option: {"--topics both": "--average both"}.
    """

    def __init__(
        self, *arguments: Any, old: Mapping[str, str] | None = None, **settings: Any
    ) -> None:
        super().__init__(*arguments, **settings)
        self.old = old or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, in the spelling of today."""
        return super().parse_args(ctx, self._in_new_spelling(ctx, args) if self.old else args)

    def invoke(self, ctx: click.Context) -> Any:
        """As click does; first says how today's spelling is."""
        for old, new in ctx.meta.get("qrowd.old", {}).items():
            word = f"called {new} now" if new else "a positional argument now: leave the option out"
            say(f"note: {old} is {word}")
        from qrowd.io.grades import same_labels  # not for help: it imports numpy

        with same_labels():
            return super().invoke(ctx)

    def _in_new_spelling(self, ctx: click.Context, args: list[str]) -> list[str]:
        single = {
            flag
            for param in self.params
            if isinstance(param, click.Option) and not (param.is_flag or param.multiple)
            for flag in param.opts
        }
        renamed: dict[str, str] = {}  # what to say
        stated: dict[str, tuple[str, str]] = {}  # a flag of today: the spelling and value given
        words: list[str] = []
        for at, word in enumerate(args):
            if word == "--":
                words += args[at:]
                break
            flag, equals, inline = word.partition("=")
            value = inline if equals else "".join(args[at + 1 : at + 2])
            with_value = f"{flag} {value}"
            old = with_value if with_value in self.old else flag
            new = self.old.get(old, old)
            if old != new:
                renamed[old] = new
                new = new.split(" ")[0]
                word = f"{new}{equals}{inline}" if new else inline
            if new in single:
                spelling, before = stated.setdefault(new, (flag, value))
                if spelling != flag and before != value:
                    raise UsageError(
                        f"{spelling} {before} and {flag} {value} contradict: both mean {new}"
                    )
            words += [word] if word else []
        ctx.meta["qrowd.old"] = renamed
        return words

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, under headings that say what they are for."""
        write_options(self.get_params(ctx), ctx, formatter)


def write_options(
    params: Iterable[click.Parameter], ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """A list of options for each of PARTS; one list where all are about the same."""
    parts: dict[str, list[tuple[str, str]]] = {part: [] for part in PARTS}
    last = []
    for param in params:
        record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
        if record and "--help" in param.opts:
            last = [record]
        elif record:
            parts[getattr(param, "part", "how")].append(record)
    filled = {PARTS[part]: records for part, records in parts.items() if records}
    if len(filled) < 2:
        filled = {"Options": [record for records in filled.values() for record in records]}
    filled[list(filled)[-1]] += last
    for title, records in filled.items():
        with formatter.section(title):
            formatter.write_dl(records)


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
    """A group of commands, in the order in which they are needed; a mistyped one gets a word."""

    command_class = Command
    title = "Commands"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, as they were declared."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion."""
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            kind = f"command of {ctx.info_name}" if ctx.parent else "command"
            raise UnknownNameError.among(kind, args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every command with all of its first sentence."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        write_commands(self.title, commands, formatter)


def write_commands(
    title: str, commands: Mapping[str, click.Command | None], formatter: click.HelpFormatter
) -> None:
    """A list of commands; no sentence is cut."""
    with formatter.section(title):
        formatter.write_dl(
            [(name, verb.get_short_help_str(1000)) for name, verb in commands.items() if verb]
        )


class Verbs(Family):
    """A family whose list of commands is text, by groups: `--help` imports none of them."""

    def __init__(
        self, *arguments: Any, groups: Mapping[str, Mapping[str, Verb]], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.groups = groups
        self.verbs = {name: verb for group in groups.values() for name, verb in group.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, group by group."""
        return list(self.verbs)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The verb of this name; imported now."""
        return self.verbs[name].load() if name in self.verbs else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A list for each group, without importing what is listed."""
        for title, verbs in self.groups.items():
            write_commands(title, verbs, formatter)
