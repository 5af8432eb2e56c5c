"""`qrowd methods` and `qrowd measures`: what there is to merge with, and to score runs with."""

from __future__ import annotations

import inspect

import click

from qrowd.cli import options as opt
from qrowd.cli.output import show, show_json
from qrowd.registry import Card, cards, get
from qrowd.rendering import table_of


@opt.command()
@click.argument("method", required=False, type=opt.Spec("method"))
@opt.output
@opt.as_json
def methods(method: str | None, output: str | None, as_json: bool) -> None:
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
    if method is None:
        rows = [_method(card) for card in cards().values()]
        show(table_of(rows), output, as_json, title="Methods")
        return
    card: Card = get(method).card
    facts = [
        f"{card.id} ({card.cls.__name__}): {card.paper}; level {card.level}",
        f"grades: {card.grades}",
    ]
    facts += [f"needs: {', '.join(card.needs)}"] if card.needs else []
    facts += [f"uses: {', '.join(card.uses)}"] if card.uses else []
    _describe(card, facts, _method(card), as_json)


@opt.command()
@click.argument("measure", required=False, type=opt.Spec("measure"))
@opt.output
@opt.as_json
def measures(measure: str | None, output: str | None, as_json: bool) -> None:
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
    from qrowd.evaluation.measure import parse_measure

    if measure is None:
        rows = [_measure(card) for card in cards("measure").values()]
        show(table_of(rows), output, as_json, title="Measures")
        return
    card = parse_measure(measure).card
    facts = [f"{card.id}: {card.paper}", f"expectation under random relevance: {_expected(card)}"]
    _describe(card, facts, _measure(card), as_json)


def _method(card: Card) -> dict[str, str]:
    return {
        "method": card.id,
        "level": card.level,
        "grades": card.grades,
        "what it is": card.summary,
        "paper": card.paper,
        "needs": " ".join(card.needs),
        "uses": " ".join(card.uses),
    }


def _measure(card: Card) -> dict[str, str]:
    return {
        "measure": card.id,
        "what it is": card.summary,
        "parameters": ", ".join(p.name for p in card.params),
        "expected": _expected(card),
        "paper": card.paper,
    }


def _expected(card: Card) -> str:
    """Whether a measure has an expectation under random relevance."""
    from qrowd.evaluation.measure import Measure

    assert issubclass(card.cls, Measure)
    return "by draws" if card.cls.expectation is Measure.expectation else "yes"


def _describe(card: Card, facts: list[str], row: dict[str, str], as_json: bool) -> None:
    """All that a card says, as JSON or for eyes."""
    about = inspect.getdoc(card.cls) or ""
    if as_json:
        parameters = [
            {"name": p.name, "default": p.default, "values": p.allowed, "meaning": p.help}
            for p in card.params
        ]
        show_json({**row, "parameters": parameters, "documentation": about})
        return
    facts += [f"also {alias} = {full}" for alias, full in card.aliases]
    rows = [f"  {p.name} = {p.default!r}: {p.help} ({p.allowed})" for p in card.params]
    click.echo("\n".join([*facts, "", about, "", "Parameters:", *(rows or ["  none"])]))
