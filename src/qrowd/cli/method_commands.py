"""A command for each method, its options made from its card: for `merge` and `aware`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from qrowd.cli.options import parameter_option
from qrowd.cli.output import say
from qrowd.errors import UsageError

VERBS = {"judgements": "merge", "scores": "aware", "orders": "rank"}
USUAL = {"judgements": "ds", "scores": "aware-uni", "orders": "plackett-luce"}
COMMON = {"seed", "ties"}  # what a method may have too: said once, for the method and the result


class MethodGroup(click.Group):
    """One command per method of a level; a spec string, `ds(max_iter=50)`, is one too."""

    def __init__(
        self, *arguments: Any, level: str, make: Callable[[str, Any], click.Command], **more: Any
    ) -> None:
        super().__init__(*arguments, **more)
        self.level, self.make = level, make

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The methods, sorted."""
        from qrowd.registry import cards

        return [id for id, card in cards().items() if card.level == self.level]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of a method, or of a method with parameters."""
        from qrowd.registry import get

        self._refuse_file(ctx, name)
        method = get(name)
        level = method.card.level
        if level != self.level:
            raise UsageError(
                f"{method.card.id} merges {level}, not {self.level}: "
                f"qrowd {VERBS[level]} {method.card.id}"
            )
        return self.make(name, method)

    def _refuse_file(self, ctx: click.Context, name: str) -> None:
        if Path(name).exists() or "/" in name:
            raise UsageError(
                f"name the method before the file: qrowd {VERBS[self.level]} {USUAL[self.level]} "
                f"{name}; there are {', '.join(self.list_commands(ctx))}"
            )


def method_command(
    name: str,
    method: Any,
    shared: Sequence[Callable[[Any], Any]],
    act: Callable[..., None],
    help: str,
) -> click.Command:
    """The command of one method: its own parameters, then the shared options; `act` does it."""
    card, spec = method.card, name

    @click.pass_context
    def run(ctx: click.Context, /, **given: Any) -> None:
        stated = {name: value for name, value in given.items() if _is_stated(ctx, name)}
        own = {known.name for known in card.params}
        _say_twice(spec, [known.name for known in card.params], stated)
        changed = _changed(method, {name: stated[name] for name in own & set(stated)})
        for name in COMMON & own & set(given):
            given[name] = _common(changed, name, given[name])
        act(changed, **{name: value for name, value in given.items() if name not in own - COMMON})

    for decorate in reversed(shared):
        run = decorate(run)
    made = click.command(name=name, help=help, short_help=card.summary)(run)
    own_params = [known for known in card.params if known.name not in COMMON]
    options = [parameter_option(known, getattr(method, known.name)) for known in own_params]
    made.params = [*options, *made.params]
    return made


def _say_twice(spec: str, params: list[str], stated: dict[str, Any]) -> None:
    """Which parameters both the spec string and an option set: the option counts."""
    from qrowd.registry import parse_spec

    _, positional, named = parse_spec(spec)
    twice = {*params[: len(positional)], *named} & set(stated) & set(params)
    for name in sorted(twice):
        flag = f"--{name.replace('_', '-')} {stated[name]}"
        say(f"warning: {name} is given twice, in {spec!r} and by {flag}, which is used")


def _common(method: Any, name: str, otherwise: Any) -> Any:
    """What the method has, where that is something for the result too."""
    from qrowd.data.merged import TIES

    own = getattr(method, name)
    return own if name != "ties" or own in TIES else otherwise


def _is_stated(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def _changed(method: Any, own: dict[str, Any]) -> Any:
    """The method with the parameters that options changed."""
    from qrowd.registry import build

    before = {known.name: getattr(method, known.name) for known in method.card.params}
    return build(method.card, [], before | own)
