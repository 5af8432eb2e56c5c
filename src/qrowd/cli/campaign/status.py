"""`qrowd campaign status`: how a campaign goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from qrowd.cli.campaign.opening import campaign_option, database_argument, opened
from qrowd.cli.options import json_option
from qrowd.cli.output import show_json

if TYPE_CHECKING:
    from qrowd.collection.books.progress import Status
    from qrowd.collection.database.store import Found
    from qrowd.collection.plan.sections import Plan


@click.command()
@database_argument
@campaign_option
@click.option("--topics", "per_topic", is_flag=True, help="Also one line per topic.")
@click.option("--acts", is_flag=True, help="Also what organisers did, with the numbers to undo.")
@json_option
def command(database: str, name: str | None, per_topic: bool, acts: bool, as_json: bool) -> None:
    """Show how a campaign is going: coverage, money, batches, workers, what needs a decision.

    \b
    Examples:
      qrowd campaign status campaign.db
      qrowd campaign status campaign.db --topics --acts
      qrowd campaign status campaign.db --json
    """
    from dataclasses import asdict

    from qrowd.collection.books.progress import status
    from qrowd.collection.office.pace import outlook
    from qrowd.collection.office.todo import needs
    from qrowd.collection.record.audit import acts as done

    with opened(database) as store, store.read(store.only(name)) as work:
        found, ahead, history = status(work), outlook(work), done(work)
        plan, told = work.plan, needs(work, ahead)
    if as_json:
        more = {"per_day": ahead.per_day, "ready_at": ahead.ready_at, "expected": ahead.expected}
        show_json({**asdict(found), **more, "notices": [one.text for one in told]})
        return
    click.echo(ahead.sentence(plan.pay))
    click.echo(_text(plan, found))
    if per_topic:
        for one in found.topics:
            click.echo(f"  {one.topic}\t{one.held} of {one.wanted}")
    for need in told:
        click.echo(f"needs a decision: {need.text}")
    for one in reversed(history) if acts else ():
        click.echo(_act(one))


def _text(plan: Plan, found: Status) -> str:
    money, shown = found.money, plan.pay.shown
    batches = ", ".join(f"{n} {state}" for state, n in found.assignments.items()) or "none yet"
    workers = ", ".join(f"{n} {state}" for state, n in found.workers.items()) or "none yet"
    votes = ", ".join(f"{n:,} with {votes}" for votes, n in found.by_votes.items())
    return (
        f"{found.name}: {found.state}; {found.share:.1%} done ({found.held:,} of {found.wanted:,} "
        f"judgements given out or done)\n"
        f"documents  {votes} judgements\n"
        f"money      {shown(money.budget)}: {shown(money.free)} free, {shown(money.promised)} "
        f"promised, {shown(money.owed)} owed, {shown(money.settled)} settled\n"
        f"batches    {batches}\n"
        f"workers    {workers}"
    )


def _act(one: Found) -> str:
    from datetime import UTC, datetime

    when = datetime.fromtimestamp(one.at / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    return f"  {one.id}\t{when}\t{one.who}\t{one.act}\t{one.details}"
