"""The list of verbs is text: it must be what the commands say themselves, and miss none."""

from __future__ import annotations

import importlib
import pkgutil

import click
import pytest

import qrowd.cli
from qrowd.cli.main import command as qrowd_command

VERBS = qrowd_command.verbs


@pytest.mark.parametrize("name", sorted(VERBS))
@pytest.mark.parametrize("limit", [20, 45, 62, 500])
def test_what_is_listed_is_what_the_command_says(name: str, limit: int) -> None:
    assert VERBS[name].get_short_help_str(limit) == VERBS[name].load().get_short_help_str(limit)


def test_every_command_is_listed() -> None:
    """Whatever stands at the head of a module of the room belongs to a verb."""
    listed = {id(command) for verb in VERBS.values() for command in _family(verb.load())}
    for module in pkgutil.walk_packages(qrowd.cli.__path__, "qrowd.cli."):
        for name, thing in vars(importlib.import_module(module.name)).items():
            if isinstance(thing, click.Command) and module.name != "qrowd.cli.main":
                assert id(thing) in listed, f"{module.name}:{name}"


def _family(command: click.Command) -> list[click.Command]:
    children = command.commands.values() if isinstance(command, click.Group) else ()
    return [command, *(each for child in children for each in _family(child))]
