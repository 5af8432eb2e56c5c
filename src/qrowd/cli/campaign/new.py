"""`qrowd campaign new`: a campaign from a plan."""

from __future__ import annotations

import click

from qrowd.cli.campaign.opening import opened, who
from qrowd.cli.output import say


@click.command()
@click.argument("plan")
@click.option(
    "-o",
    "--output",
    "database",
    required=True,
    metavar="DATABASE",
    help="A file, made if it is not there, or a PostgreSQL URL.",
)
@click.option("--launch", is_flag=True, help="Start it at once; otherwise it is a draft.")
def command(plan: str, database: str, launch: bool) -> None:
    """Make a campaign from a plan file and the files that it names.

    What cannot be met (too little gold, a target above the workers, a gold set that nobody can
    pass) is refused, with the line of the plan. A database can hold several campaigns.

    \b
    Examples:
      qrowd campaign new plan.toml -o another.db
    """
    from qrowd.collection.material.campaign_rows import create_campaign
    from qrowd.collection.plan.files import gather
    from qrowd.collection.plan.forecast import forecast, refuse_unmeetable
    from qrowd.collection.plan.toml import read_plan
    from qrowd.collection.record import audit

    read = read_plan(plan)
    material = gather(read, plan)
    refuse_unmeetable(read, material, plan)
    with opened(database, new=True) as store:
        create_campaign(store, read, material)
        if launch:
            with store.write(read.campaign.name) as work:
                audit.launch(work, who())
    found = forecast(read, material)
    say(
        f"campaign {read.campaign.name!r} in {database}: {found.pairs:,} pairs, "
        f"{found.sets:,} sets, {found.batches:,} batches, {read.pay.shown(found.cost)}"
    )
    for warning in found.warnings:
        say(f"warning: {warning}")
