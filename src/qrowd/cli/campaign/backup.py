"""`qrowd campaign backup`: a copy while others go on working."""

from __future__ import annotations

import click

from qrowd.cli.campaign.opening import database_argument, opened
from qrowd.cli.output import say


@click.command()
@database_argument
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="The copy: one SQLite file, from either engine.",
)
def command(database: str, output: str) -> None:
    """Copy a database as it is at one moment, while others go on working.

    \b
    Examples:
      qrowd campaign backup campaign.db -o monday.db
    """
    from qrowd.collection.database.transfer import backup

    with opened(database) as store:
        say(f"backup in {backup(store, output)}")
