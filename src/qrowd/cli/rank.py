"""`qrowd rank METHOD`: orders of many into one consensus ranking."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.files import stated_grades
from qrowd.cli.method_commands import MethodGroup, method_command
from qrowd.cli.options import (
    gold_option,
    load_gold,
    once,
    output_option,
    quiet_option,
    seed_option,
    written_option,
)
from qrowd.cli.output import iterations, put, say
from qrowd.errors import UsageError

if TYPE_CHECKING:
    from qrowd.data.consensus import Consensus
    from qrowd.registry import Card

SHARED = (
    click.argument("files", nargs=-1, required=True, metavar="FILES...", callback=once),
    click.option(
        "--rel",
        type=int,
        metavar="GRADE",
        help="Make grades and gold binary: relevant from this grade on (gauss-rank).",
    ),
    gold_option,
    click.option(
        "--name", default="consensus", show_default=True, help="The tag of the consensus run."
    ),
    seed_option,
    output_option,
    written_option("--worths", help="Write worth, deviation and component of each document."),
    written_option("--assessors", help="Write what was learned of each assessor."),
    quiet_option,
)


def _command_of(name: str, method: Any) -> click.Command:
    return method_command(name, method, SHARED, _rank, _help(method.card))


@click.group(
    cls=MethodGroup,
    level="orders",
    make=_command_of,
    subcommand_metavar="METHOD FILES... [OPTIONS]",
)
def command() -> None:
    """Merge rankings and preferences of many assessors into one consensus ranking.

    FILES are orders (topic doc assessor place, or topic better worse assessor), or judgements with
    a column rank, which are both: gauss-rank takes grades and ranks, the others the ranks only.
    The result is a run, which every measure can score.

    \b
    Examples:
      qrowd rank plackett-luce orders.tsv -o consensus.run --worths worths.tsv
      qrowd rank crowd-bt preferences.tsv -o consensus.run --assessors assessors.tsv
      qrowd rank gauss-rank crowd.tsv.gz orders.tsv -o consensus.run
    """


def _help(card: Card) -> str:
    about = (inspect.getdoc(card.cls) or "").split("\n\n")[0]
    source = f"After {card.paper}; the model: `qrowd methods {card.id}`."
    example = f"qrowd rank {card.id} orders.tsv -o consensus.run --worths worths.tsv"
    return f"{about}\n\n{source}\n\n\b\nExamples:\n  {example}"


def _rank(
    method: Any,
    *,
    files: tuple[str, ...],
    rel: int | None,
    gold: str | None,
    gold_rel: int | None,
    name: str,
    seed: int,
    output: str | None,
    worths: str | None,
    assessors: str | None,
    quiet: bool,
) -> None:
    from qrowd.data.given import Given

    orders, judgements = _load(method.card, files, rel)
    if gold and "gold" not in method.card.uses:
        raise UsageError(f"--gold: {method.card.id} has no use for it; gauss-rank does")
    known = load_gold(gold, gold_rel, rel)
    with iterations(method.card.id, quiet) as told:
        found: Consensus = method.fit(
            orders, Given(gold=known, judgements=judgements, progress=told)
        )
    _summarise(found, quiet)
    if output or not worths:
        put(found.runs(name, seed), output)
    if worths:
        put(found, worths)
    if assessors:
        put(found.assessors, assessors)


def _load(card: Card, files: tuple[str, ...], rel: int | None) -> tuple[Any, Any]:
    """The orders, and the judgements where the method takes them."""
    from qrowd.io.anything import read_ranked

    orders, judgements = read_ranked(list(files), stated_grades())
    takes = "judgements" in card.uses
    if not takes and not len(orders):
        raise UsageError(f"{files[0]}: no ranks in it, and {card.id} merges ranks; see gauss-rank")
    if not takes or judgements is None:
        return orders, None
    return orders, judgements if rel is None else judgements.binary(rel)


def _summarise(found: Consensus, quiet: bool) -> None:
    fit = found.fit
    state = "settled" if fit.converged else "not settled"
    steps = f": {state} after {fit.iterations} iterations" if fit.iterations else ""
    say(f"{fit.method}{steps}; {len(found.pairs)} documents, {fit.seconds:.2f} s", quiet)
    for note in fit.notes:
        say(note, quiet)
