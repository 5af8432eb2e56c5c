"""`qrowd campaign pay`: who is owed what."""

from __future__ import annotations

import click

from qrowd.cli.campaign.opening import (
    campaign_option,
    confirmed,
    database_argument,
    opened,
    who,
    yes_option,
)
from qrowd.cli.options import output_option
from qrowd.cli.output import say, show


@click.command()
@database_argument
@campaign_option
@click.option("--settle", is_flag=True, help="Mark all of it as paid; this cannot be undone.")
@output_option
@yes_option
def command(database: str, name: str | None, settle: bool, output: str | None, yes: bool) -> None:
    """List what each worker is owed, with the platform's id, and mark it as paid.

    \b
    Examples:
      qrowd campaign pay campaign.db -o owed.tsv
      qrowd campaign pay campaign.db --settle --yes
    """
    from sqlalchemy import select

    from qrowd.collection.books import ledger
    from qrowd.collection.database.schema import person
    from qrowd.collection.record import audit
    from qrowd.errors import RuleError

    with opened(database) as store:
        chosen = store.only(name)
        with store.read(chosen) as work:
            rows, pay = ledger.owed(work), work.plan.pay
            ids = {row.worker_id: row for row in work.db.execute(select(person))}
        total = sum(row.amount for row in rows)
        if settle and rows and confirmed(f"Mark {pay.shown(total)} as paid?", yes):
            with store.write(chosen) as work:
                if ledger.owed(work) != rows:
                    raise RuleError("conflict", "what is owed has changed meanwhile; try again")
                numbers = {"workers": [row.number for row in rows]}
                audit.perform(work, who(), "settle", numbers, sure=True)
            say(f"{pay.shown(total)} settled")
    people = [ids.get(row.id) for row in rows]
    table = {
        "worker": [f"w{row.number}" for row in rows],
        "platform": [one.platform if one else "" for one in people],
        "id": [one.platform_id if one else "" for one in people],
        "amount": [f"{row.amount / 10**pay.digits:.{pay.digits}f}" for row in rows],
        "currency": [pay.currency for _ in rows],
    }
    show(table, output)
    if not rows:
        say("nothing is owed")
