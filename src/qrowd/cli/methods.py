"""`qrowd methods`: what there is to merge with."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from qrowd.cli.options import json_option, output_option
from qrowd.cli.output import show, show_json

if TYPE_CHECKING:
    from qrowd.registry import Card


@click.command()
@click.argument("method", required=False)
@output_option
@json_option
def command(method: str | None, output: str | None, as_json: bool) -> None:
    """List the merging methods, or describe one.

    `needs` lists what a method cannot run without, `uses` what it can make use of.
    Methods of level `judgements` make qrels (`qrowd merge`), those of level `scores` merge the
    scores of systems under each assessor (`qrowd aware`), those of level `orders` rankings and
    preferences (`qrowd rank`).

    \b
    Examples:
      qrowd methods
      qrowd methods ds
      qrowd methods --json
    """
    from qrowd.registry import cards

    if method is None:
        show(_listed(list(cards().values())), output, as_json, title="Methods")
    elif as_json:
        show_json(_facts(_card(method)))
    else:
        click.echo(_text(_card(method)))


def _card(spec: str) -> Card:
    from qrowd.registry import Card, get

    found = get(spec).card
    assert isinstance(found, Card)
    return found


def _listed(found: list[Card]) -> dict[str, list[str]]:
    return {
        "method": [card.id for card in found],
        "level": [card.level for card in found],
        "grades": [card.grades for card in found],
        "what it is": [card.summary for card in found],
        "paper": [card.paper for card in found],
        "needs": [" ".join(card.needs) for card in found],
        "uses": [" ".join(card.uses) for card in found],
    }


def _facts(card: Card) -> dict[str, object]:
    row = {name: column[0] for name, column in _listed([card]).items()}
    parameters = [
        {"name": p.name, "default": p.default, "values": p.allowed, "meaning": p.help}
        for p in card.params
    ]
    return {**row, "parameters": parameters, "documentation": inspect.getdoc(card.cls) or ""}


def _text(card: Card) -> str:
    about = inspect.getdoc(card.cls) or ""
    facts = [f"{card.id} ({card.cls.__name__}): {card.paper}; level {card.level}"]
    facts += [f"grades: {card.grades}"]
    facts += [f"needs: {', '.join(card.needs)}"] if card.needs else []
    facts += [f"uses: {', '.join(card.uses)}"] if card.uses else []
    facts += [f"also {alias} = {full}" for alias, full in card.aliases]
    rows = [f"  {p.name} = {p.default!r}: {p.help} ({p.allowed})" for p in card.params]
    return "\n".join([*facts, "", about, "", "Parameters:", *(rows or ["  none"])])
