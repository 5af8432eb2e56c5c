"""`qrowd rank METHOD`: orders of many into one consensus ranking."""

from __future__ import annotations

from typing import Any

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.method_commands import MethodGroup
from qrowd.cli.output import iterations, put, say
from qrowd.errors import UsageError
from qrowd.registry import Card

SHARED = (
    click.argument("files", nargs=-1, required=True, metavar="FILES...", callback=opt.once),
    opt.grade(
        "--rel", help="Make grades and gold binary: relevant from this grade on (gauss-rank)."
    ),
    opt.gold,
    opt.with_default("--name", default="consensus", help="The tag of the consensus run."),
    opt.seed,
    opt.output,
    opt.output_file("--worths", help="Write worth, deviation and component of each document."),
    opt.output_file("--assessors", help="Write what was learned of each assessor."),
    opt.quiet,
)


def _words(card: Card) -> tuple[str, str]:
    source = f"After {card.paper}; the model: `qrowd methods {card.id}`."
    return source, f"qrowd rank {card.id} orders.tsv -o consensus.run --worths worths.tsv"


def _rank(
    method: Any,
    *,
    files: tuple[str, ...],
    rel: int | None,
    gold: opt.GoldFile,
    name: str,
    seed: int,
    output: str | None,
    worths: str | None,
    assessors: str | None,
    quiet: bool,
) -> None:
    card = method.card
    orders, judgements = _read(card, files, rel)
    if gold.path and "gold" not in card.uses:
        raise UsageError(f"--gold: {card.id} has no use for it; gauss-rank does")
    trusted = gold.read(rel)
    with iterations(card.id, quiet) as progress:
        consensus: q.Consensus = method.fit(
            orders, q.Given(gold=trusted, judgements=judgements, progress=progress)
        )
    fit = consensus.fit
    state = "settled" if fit.converged else "not settled"
    steps = f": {state} after {fit.iterations} iterations" if fit.iterations else ""
    say(f"{fit.method}{steps}; {len(consensus.pairs)} documents, {fit.seconds:.2f} s", quiet)
    for note in fit.notes:
        say(note, quiet)
    if output or not worths:
        put(consensus.runs(name, seed), output)
    if worths:
        put(consensus, worths)
    if assessors:
        put(consensus.assessors, assessors)


@click.group(
    cls=MethodGroup,
    level="orders",
    shared=SHARED,
    act=_rank,
    words=_words,
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


def _read(
    card: Card, files: tuple[str, ...], rel: int | None
) -> tuple[q.Orders, q.Judgements | None]:
    """The orders, and the judgements where the method takes them."""
    from qrowd.io.anything import read_ranked

    orders, judgements = read_ranked(list(files), opt.stated_grades())
    takes = "judgements" in card.uses
    if not takes and not len(orders):
        raise UsageError(f"{files[0]}: no ranks in it, and {card.id} merges ranks; see gauss-rank")
    if not takes or judgements is None:
        return orders, None
    return orders, judgements if rel is None else judgements.binary(rel)
