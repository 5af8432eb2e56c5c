"""`qrowd campaign extend`: more pool, topics, runs, gold, judgements or money."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from qrowd.cli.campaign.opening import (
    campaign_option,
    confirmed,
    database_argument,
    opened,
    who,
    yes_option,
)
from qrowd.cli.output import say

if TYPE_CHECKING:
    from qrowd.collection.building import Material
    from qrowd.collection.extending import Cost
    from qrowd.collection.store import Work


@click.command()
@database_argument
@campaign_option
@click.option("--topics", metavar="FILE", help="More topics.")
@click.option("--documents", metavar="FILE", help="More documents.")
@click.option("--pool", metavar="FILE", help="More pairs to judge.")
@click.option("--runs", multiple=True, metavar="FILE", help="Runs whose top documents to judge.")
@click.option("--depth", type=click.IntRange(min=1), default=20, show_default=True,
              help="How many documents of each run.")  # fmt: skip
@click.option("--gold", metavar="FILE", help="More gold sets.")
@click.option("--priorities", metavar="FILE", help="Priorities of pairs; higher comes first.")
@click.option("--target", type=click.IntRange(min=1), help="Judgements wanted of every document.")
@click.option("--budget", type=float, metavar="AMOUNT", help="Money to add.")
@yes_option
def command(
    database: str, name: str | None, topics: str | None, documents: str | None, pool: str | None,
    runs: tuple[str, ...], depth: int, gold: str | None, priorities: str | None,
    target: int | None, budget: float | None, yes: bool,
) -> None:  # fmt: skip
    """Add to a campaign while it runs; shows the cost and asks before doing it.

    New pairs get sets of their own: what was given out stays as it is.

    \b
    Examples:
      qrowd campaign extend campaign.db --target 4 --yes
      qrowd campaign extend campaign.db --budget 50
    """
    from qrowd.collection import audit, extending
    from qrowd.collection.gathering import extension, priority_rows
    from qrowd.errors import UsageError

    material = extension(
        topics=topics, documents=documents, pool=pool, runs=runs, depth=depth, gold=gold
    )
    if not _any(material) and (target, budget, priorities) == (None, None, None):
        raise UsageError("nothing to add; name what: --pool, --target, --budget, ... (see --help)")
    with opened(database) as store, store.write(store.only(name)) as work:
        if budget is not None:
            number = audit.perform(work, who(), "fund", {"amount": work.plan.pay.minor(budget)})
            say(f"act {number}: {work.plan.pay.shown(work.plan.pay.minor(budget))} added")
        cost = extending.cost_of_pool(work, material)
        if cost.pairs == 0 or _agreed(work, cost, yes):
            done = extending.extend(work, who(), material) if _any(material) else None
            if done is not None:
                say(f"{done.topics} topics, {done.documents} documents, {done.pairs} pairs added")
        if target is not None and _agreed(work, extending.cost_of_target(work, target), yes):
            say(f"act {extending.raise_target(work, who(), target)}: target {target}")
        if priorities is not None:
            rows = [[*pair, value] for pair, value in priority_rows(priorities)]
            audit.perform(work, who(), "prioritise", {"priorities": rows})
            say(f"{len(rows):,} priorities set")


def _any(material: Material) -> bool:
    return bool(material.topics or material.pool or material.gold or material.documents)


def _agreed(work: Work, cost: Cost, yes: bool) -> bool:
    shown = work.plan.pay.shown
    say(
        f"{cost.pairs:,} documents, {cost.judgements:,} judgements, {cost.batches:,} batches: "
        f"{shown(cost.amount)}; {shown(cost.free)} is free"
    )
    return confirmed("Add this?", yes)
