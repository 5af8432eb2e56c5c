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
    from qrowd.collection.office.extension import Cost
    from qrowd.collection.plan.rows import Material
    from qrowd.collection.plan.sections import Plan


@click.command()
@database_argument
@campaign_option
@click.option("--topics", metavar="FILE", help="More topics.")
@click.option("--documents", metavar="FILE", help="More documents.")
@click.option("--pool", metavar="FILE", help="More pairs to judge.")
@click.option("--runs", multiple=True, metavar="FILE", help="Runs whose top documents to judge.")
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many documents of each run.",
)
@click.option("--gold", metavar="FILE", help="More gold sets.")
@click.option("--priorities", metavar="FILE", help="Priorities of pairs; higher comes first.")
@click.option("--target", type=click.IntRange(min=1), help="Judgements wanted of every document.")
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True, max=1e12),
    metavar="AMOUNT",
    help="Money to add.",
)
@yes_option
def command(
    database: str,
    name: str | None,
    topics: str | None,
    documents: str | None,
    pool: str | None,
    runs: tuple[str, ...],
    depth: int,
    gold: str | None,
    priorities: str | None,
    target: int | None,
    budget: float | None,
    yes: bool,
) -> None:
    """Add to a campaign while it runs; shows the cost and asks before doing it.

    New pairs get sets of their own: what was given out stays as it is.

    \b
    Examples:
      qrowd campaign extend campaign.db --target 4 --yes
      qrowd campaign extend campaign.db --budget 50
    """
    from math import isfinite

    from qrowd.collection.office import extension as extending
    from qrowd.collection.plan.files import extension, priority_rows
    from qrowd.collection.record import audit
    from qrowd.errors import UsageError

    material = extension(
        topics=topics, documents=documents, pool=pool, runs=runs, depth=depth, gold=gold
    )
    if not _any(material) and (target, budget, priorities) == (None, None, None):
        raise UsageError("nothing to add; name what: --pool, --target, --budget, ... (see --help)")
    if budget is not None and not isfinite(budget):
        raise UsageError("--budget must be an amount of money")
    rows = [[*pair, value] for pair, value in priority_rows(priorities)] if priorities else []
    with opened(database) as store:
        chosen = store.only(name)
        with store.read(chosen) as work:  # nobody waits for the answer to a question
            costs = [extending.cost_of_pool(work, material)] if _any(material) else []
            costs += [extending.cost_of_target(work, target)] if target is not None else []
            plan = work.plan
        if any(cost.judgements for cost in costs) and not _agreed(plan, costs, yes):
            return
        with store.write(chosen) as work:
            if budget is not None:
                amount = plan.pay.minor(budget)
                number = audit.perform(work, who(), "fund", {"amount": amount})
                say(f"act {number}: {plan.pay.shown(amount)} added")
            if _any(material):
                done = extending.extend(work, who(), material)
                say(f"{done.topics} topics, {done.documents} documents, {done.pairs} pairs added")
            if target is not None:
                say(f"act {extending.raise_target(work, who(), target)}: target {target}")
            if rows:
                audit.perform(work, who(), "prioritise", {"priorities": rows})
                say(f"{len(rows):,} priorities set")


def _any(material: Material) -> bool:
    return bool(material.topics or material.pool or material.gold or material.documents)


def _agreed(plan: Plan, costs: list[Cost], yes: bool) -> bool:
    shown = plan.pay.shown
    for cost in costs:
        say(
            f"{cost.pairs:,} documents, {cost.judgements:,} judgements, {cost.batches:,} batches: "
            f"{shown(cost.amount)}; {shown(cost.free)} is free"
        )
    return confirmed("Add this?", yes)
