"""`qrowd measures`: what there is to score runs with."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from qrowd.cli.options import json_option, output_option
from qrowd.cli.output import show, show_json

if TYPE_CHECKING:
    from qrowd.registry import Card


@click.command()
@click.argument("measure", required=False)
@output_option
@json_option
def command(measure: str | None, output: str | None, as_json: bool) -> None:
    """List the measures, or describe one.

    A measure is written with its parameters in brackets and its cutoff after an @: AP, P@10,
    AP(rel=2), nDCG(dcg='exp-log2')@20. The names of ir_measures and of trec_eval (map,
    ndcg_cut_20) work too.

    \b
    Examples:
      qrowd measures
      qrowd measures nDCG
      qrowd measures --json
    """
    from qrowd.registry import cards

    if measure is None:
        show(_listed(list(cards("measure").values())), output, as_json, title="Measures")
    elif as_json:
        show_json(_facts(_card(measure)))
    else:
        click.echo(_text(_card(measure)))


def _card(spec: str) -> Card:
    from qrowd.evaluation.measure import parse_measure

    return parse_measure(spec).card


def _listed(found: list[Card]) -> dict[str, list[str]]:
    return {
        "measure": [card.id for card in found],
        "what it is": [card.summary for card in found],
        "parameters": [", ".join(p.name for p in card.params) for card in found],
        "expected": [_expected(card) for card in found],
        "paper": [card.paper for card in found],
    }


def _expected(card: Card) -> str:
    """Whether it has an expectation under random relevance."""
    from qrowd.evaluation.measure import Measure

    return "yes" if card.cls.expectation is not Measure.expectation else "by draws"  # type: ignore[attr-defined]


def _facts(card: Card) -> dict[str, object]:
    row = {name: column[0] for name, column in _listed([card]).items()}
    parameters = [
        {"name": p.name, "default": p.default, "values": p.allowed, "meaning": p.help}
        for p in card.params
    ]
    return {**row, "parameters": parameters, "documentation": inspect.getdoc(card.cls) or ""}


def _text(card: Card) -> str:
    facts = [f"{card.id}: {card.paper}", f"expectation under random relevance: {_expected(card)}"]
    facts += [f"also {alias} = {full}" for alias, full in card.aliases]
    rows = [f"  {p.name} = {p.default!r}: {p.help} ({p.allowed})" for p in card.params]
    about = inspect.getdoc(card.cls) or ""
    return "\n".join([*facts, "", about, "", "Parameters:", *(rows or ["  none"])])
