"""`qrowd campaign upgrade`: the schema of another version of qrowd."""

from __future__ import annotations

import click

from qrowd.cli.campaign.opening import confirmed, database_argument, yes_option
from qrowd.cli.output import say


@click.command()
@database_argument
@click.option("--to", metavar="VERSION", help="Another version than the newest; it may be older.")
@yes_option
def command(database: str, to: str | None, yes: bool) -> None:
    """Bring a database to the schema of this version of qrowd; all of it, or nothing.

    Going back to an older version may lose what only the newer one has; you are asked first.

    \b
    Examples:
      qrowd campaign upgrade campaign.db
    """
    from qrowd.collection.database import versions
    from qrowd.collection.database.opening import open_store
    from qrowd.errors import UnknownNameError

    known = versions.known_versions()
    if to is not None and to not in known:
        raise UnknownNameError.among("version", to, known)
    store = open_store(database, check_version=False)
    found = versions.version(store)
    versions.refuse_newer(store, found)
    back = to is not None and found in known and known.index(to) > known.index(found)
    if back and confirmed(f"Go back from version {found} to {to}?", yes):
        versions.downgrade(store, str(to))
    elif not back:
        versions.upgrade(store, to or "head")
    say(f"version {versions.version(store)} (was {found or 'none'})")
    store.engine.dispose()
