"""`qrowd campaign restore`: a backup into a new database."""

from __future__ import annotations

import click

from qrowd.cli.campaign.opening import opened
from qrowd.cli.output import say


@click.command()
@click.argument("backup")
@click.option(
    "-o",
    "--output",
    "database",
    required=True,
    metavar="DATABASE",
    help="A new file, or the URL of an empty PostgreSQL database.",
)
def command(backup: str, database: str) -> None:
    """Put a backup into a new database; its rules are checked row by row.

    \b
    Examples:
      qrowd campaign restore campaign.db -o restored.db
    """
    from qrowd.collection.database.transfer import restore

    with opened(database, new=True) as store:
        rows = restore(backup, store)
    say(f"{sum(rows.values()):,} rows restored into {database}")
