"""`qrowd campaign move`: from one engine to the other."""

from __future__ import annotations

import click

from qrowd.cli.campaign.opening import opened
from qrowd.cli.output import say


@click.command()
@click.argument("source")
@click.argument("target")
def command(source: str, target: str) -> None:
    """Copy a database into an empty one: SQLite to PostgreSQL, or back.

    Exports of both are the same, byte for byte. Stop the server first: what is said meanwhile
    stays behind. SOURCE is left as it is.

    \b
    Examples:
      qrowd campaign move campaign.db moved.db
    """
    from qrowd.collection.database.transfer import move

    with opened(source) as old, opened(target, new=True) as new:
        rows = move(old, new)
    say(f"{sum(rows.values()):,} rows moved")
