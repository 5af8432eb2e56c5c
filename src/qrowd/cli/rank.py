"""`qrowd rank METHOD`: orders of many into one consensus ranking."""

from __future__ import annotations

from typing import Any

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.method_commands import MethodGroup
from qrowd.cli.output import iterations, put, say, show_json
from qrowd.errors import UsageError
from qrowd.registry import Card

SHARED = (
    opt.files("files", "FILES..."),
    opt.format,
    opt.topics,
    opt.rel,
    opt.gold,
    opt.with_default(
        "--name", default="consensus", part="out", help="The tag of the consensus run."
    ),
    opt.seed,
    opt.output,
    opt.as_json,
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
    format: str | None,
    topics: str | None,
    rel: int | None,
    gold: opt.GoldFile,
    name: str,
    seed: int,
    output: str | None,
    as_json: bool,
    worths: str | None,
    assessors: str | None,
) -> None:
    card = method.card
    orders, judgements = _read(card, files, format, rel)
    if topics:
        orders = orders[opt.kept_topics(orders.topics, topics)]
        if judgements is not None:
            judgements = judgements[opt.kept_topics(judgements.topics, topics)]
    if gold.path and "gold" not in card.uses:
        raise UsageError(f"--gold: {card.id} has no use for it; gauss-rank does")
    trusted = gold.read(rel)
    with iterations(card.id) as progress:
        consensus: q.Consensus = method.fit(
            orders, q.Given(gold=trusted, judgements=judgements, progress=progress)
        )
    fit = consensus.fit
    state = "settled" if fit.converged else "not settled"
    steps = f": {state} after {fit.iterations} iterations" if fit.iterations else ""
    say(f"{fit.method}{steps}; {len(consensus.pairs)} documents, {fit.seconds:.2f} s")
    for note in fit.notes:
        say(note)
    run = consensus.runs(name, seed)
    if as_json:
        account: dict[str, Any] = {"method": fit.method, "converged": fit.converged}
        account |= {"iterations": fit.iterations, "notes": fit.notes}
        show_json(account if output else account | {"run": run.to_polars().to_dicts()})
    if output or not (worths or as_json):
        put(run, output)
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
    """Merge rankings and preferences into a consensus ranking.

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
    card: Card, files: tuple[str, ...], format: str | None, rel: int | None
) -> tuple[q.Orders, q.Judgements | None]:
    """The orders, and the judgements where the method takes them."""
    from qrowd.io.anything import read_ranked

    orders, judgements = read_ranked(list(files), format, **opt.stated_grades())
    takes = "judgements" in card.uses
    if not takes and not len(orders):
        raise UsageError(f"{files[0]}: no ranks in it, and {card.id} merges ranks; see gauss-rank")
    if not takes or judgements is None:
        return orders, None
    return orders, judgements if rel is None else judgements.binary(rel)
