"""`qrowd campaign backup`, `restore`, `move` and `upgrade`: databases as a whole."""

from __future__ import annotations

import click

from qrowd.cli.campaign.opening import confirmed, database_argument, opened, yes_option
from qrowd.cli.output import say
from qrowd.errors import UnknownNameError


@click.command()
@database_argument
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="The copy: one SQLite file, from either engine.",
)
def backup(database: str, output: str) -> None:
    """Copy a database as it is at one moment, while others go on working.

    \b
    Examples:
      qrowd campaign backup campaign.db -o monday.db
    """
    from qrowd.collection.database import transfer

    with opened(database) as store:
        say(f"backup in {transfer.backup(store, output)}")


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
def restore(backup: str, database: str) -> None:
    """Put a backup into a new database; its rules are checked row by row.

    \b
    Examples:
      qrowd campaign restore campaign.db -o restored.db
    """
    from qrowd.collection.database import transfer

    with opened(database, new=True) as store:
        rows = transfer.restore(backup, store)
    say(f"{sum(rows.values()):,} rows restored into {database}")


@click.command()
@click.argument("source")
@click.argument("target")
def move(source: str, target: str) -> None:
    """Copy a database into an empty one: SQLite to PostgreSQL, or back.

    Exports of both are the same, byte for byte. Stop the server first: what is said meanwhile
    stays behind. SOURCE is left as it is.

    \b
    Examples:
      qrowd campaign move campaign.db moved.db
    """
    from qrowd.collection.database import transfer

    with opened(source) as old, opened(target, new=True) as new:
        rows = transfer.move(old, new)
    say(f"{sum(rows.values()):,} rows moved")


@click.command()
@database_argument
@click.option("--to", metavar="VERSION", help="Another version than the newest; it may be older.")
@yes_option
def upgrade(database: str, to: str | None, yes: bool) -> None:
    """Bring a database to the schema of this version of qrowd; all of it, or nothing.

    Going back to an older version may lose what only the newer one has; you are asked first.

    \b
    Examples:
      qrowd campaign upgrade campaign.db
    """
    from qrowd.collection.database import versions
    from qrowd.collection.database.opening import open_store

    newest_first = versions.known_versions()
    if to is not None and to not in newest_first:
        raise UnknownNameError.among("version", to, newest_first)
    store = open_store(database, check_version=False)
    before = versions.version(store)
    versions.refuse_newer(store, before)
    back = (
        to is not None
        and before in newest_first
        and newest_first.index(to) > newest_first.index(before)
    )
    if back and confirmed(f"Go back from version {before} to {to}?", yes):
        versions.downgrade(store, str(to))
    elif not back:
        versions.upgrade(store, to or "head")
    say(f"version {versions.version(store)} (was {before or 'none'})")
    store.engine.dispose()
