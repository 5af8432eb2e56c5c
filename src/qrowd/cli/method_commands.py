"""A command for each method, its options made from its card: for `merge`, `aware` and `rank`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from qrowd.cli import options as opt
from qrowd.cli.output import warn
from qrowd.cli.verbs import Family, write_options
from qrowd.errors import UsageError
from qrowd.registry import Card, build, cards, get, parse_spec

VERBS = {"judgements": "merge", "scores": "aware", "orders": "rank"}
USUAL = {"judgements": "ds", "scores": "aware-uni", "orders": "plackett-luce"}
COMMON = {"seed", "ties"}  # what a method may have too: said once, for the method and the result


class MethodGroup(Family):
    """One command per method of a level; a spec string, `ds(max_iter=50)`, is one too.

    A command has the method's own parameters, then the `shared` options; `act` does it. Its help is
    the first paragraph of what the method says of itself, and what `words` make of its card: where
    it comes from, and examples. `old` has former spellings of options.
    """

    title = "Methods"

    def __init__(
        self,
        *arguments: Any,
        level: str,
        shared: Sequence[Callable[[Any], Any]],
        act: Callable[..., None],
        words: Callable[[Card], Sequence[str]],
        old: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        self.level, self.shared, self.act, self.words = level, shared, act, words
        self.old = old

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does: names are looked up by the registry, which has a word for others."""
        return click.Group.resolve_command(self, ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The methods, then the options that all of them have."""
        self.format_commands(ctx, formatter)
        usual = self.get_command(ctx, USUAL[self.level])
        assert usual is not None
        own = {param.name for param in get(USUAL[self.level]).card.params} - COMMON
        shared = [param for param in usual.params if param.name not in own]
        write_options([*shared, *self.get_params(ctx)], ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The methods, sorted."""
        return [id for id, card in cards().items() if card.level == self.level]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of a method, or of a method with parameters."""
        if Path(name).exists() or "/" in name:
            raise UsageError(
                f"name the method before the file: qrowd {VERBS[self.level]} {USUAL[self.level]} "
                f"{name}; there are {', '.join(self.list_commands(ctx))}"
            )
        method = get(name)
        level = method.card.level
        if level != self.level:
            raise UsageError(
                f"{method.card.id} merges {level}, not {self.level}: "
                f"qrowd {VERBS[level]} {method.card.id}"
            )
        return self._command(name, method)

    def _command(self, spec: str, method: Any) -> click.Command:
        card: Card = method.card
        names = [param.name for param in card.params]

        @click.pass_context
        def run(ctx: click.Context, /, **options: Any) -> None:
            default = click.core.ParameterSource.DEFAULT
            stated = {
                name: options[name]
                for name in names
                if name in options and ctx.get_parameter_source(name) is not default
            }
            _say_twice(spec, names, stated)
            before = {name: getattr(method, name) for name in names}
            changed = build(card, [], before | stated)
            for name in COMMON & set(names) & set(options):
                options[name] = _common(changed, name, options[name])
            self.act(changed, **{k: v for k, v in options.items() if k in COMMON or k not in names})

        for decorate in reversed(self.shared):
            run = decorate(run)
        about = (inspect.getdoc(card.cls) or "").split("\n\n")[0]
        source, *examples = self.words(card)
        listed = "\n".join(f"  {example}" for example in examples)
        text = f"{about}\n\n{source}\n\n\b\nExamples:\n{listed}"
        command = opt.command(spec, help=text, short_help=card.summary, old=self.old)(run)
        own = [
            opt.parameter(param, getattr(method, param.name))
            for param in card.params
            if param.name not in COMMON
        ]
        # of two options of one name (--missing of binmv), the method's own is meant
        hidden = {param.name for param in own}
        command.params = [*own, *(each for each in command.params if each.name not in hidden)]
        return command


def _say_twice(spec: str, names: list[str], stated: dict[str, Any]) -> None:
    """Which parameters both the spec string and an option set: the option counts."""
    _, positional, named = parse_spec(spec)
    twice = {*names[: len(positional)], *named} & set(stated)
    for name in sorted(twice):
        flag = f"--{name.replace('_', '-')} {stated[name]}"
        warn(f"{name} is given twice, in {spec!r} and by {flag}, which is used")


def _common(method: Any, name: str, otherwise: Any) -> Any:
    """What the method has, where that is something for the result too."""
    from qrowd.data.merged import TIES

    own = getattr(method, name)
    return own if name != "ties" or own in TIES else otherwise
