"""How verbs open a campaign; `backup`, `restore`, `move`, `upgrade`: databases as a whole."""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING

import click

from qrowd.cli import options as opt
from qrowd.cli.output import say, show_json
from qrowd.errors import UnknownNameError, UsageError
from qrowd.rendering import thousands

if TYPE_CHECKING:
    from qrowd.collection.database.store import Store


def opened(database: str, *, new: bool = False) -> Store:
    """The database, to be closed by `with`; its code is imported when it is needed."""
    from qrowd.collection.database.opening import open_store

    return open_store(database, new=new)


def user() -> str:
    """Who is at the keyboard, for the audit."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "command line"


def confirmed(question: str, yes: bool) -> bool:
    """Whether to go on; asks on a terminal, and without one wants --yes."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Add --yes to do it.")
    return bool(click.confirm(question, err=True))


# --- verbs ----------------------------------------------------------------------------------------


@opt.command()
@opt.database
@opt.target("FILE", "The copy: one SQLite file, from either engine.")
@opt.as_json
@opt.quiet
def backup(database: str, output: str, as_json: bool) -> None:
    """Copy a database as it is at one moment, while others go on working.

    \b
    Examples:
      qrowd campaign backup campaign.db -o monday.db
    """
    from qrowd.collection.database import transfer

    with opened(database) as store:
        copy = transfer.backup(store, output)
    say(f"backup in {copy}")
    if as_json:
        show_json({"backup": str(copy)})


@opt.command()
@opt.file("backup")
@opt.target("DATABASE", "A new file, or the URL of an empty PostgreSQL database.", "database")
@opt.as_json
@opt.quiet
def restore(backup: str, database: str, as_json: bool) -> None:
    """Put a backup into a new database; its rules are checked row by row.

    \b
    Examples:
      qrowd campaign restore campaign.db -o restored.db
    """
    from qrowd.collection.database import transfer

    with opened(database, new=True) as store:
        rows = transfer.restore(backup, store)
    say(f"{thousands(sum(rows.values()))} rows restored into {database}")
    if as_json:
        show_json({"database": database, "rows": rows})


@opt.command()
@opt.file("source")
@opt.file("target")
@opt.as_json
@opt.quiet
def move(source: str, target: str, as_json: bool) -> None:
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
    say(f"{thousands(sum(rows.values()))} rows moved")
    if as_json:
        show_json({"database": target, "rows": rows})


@opt.command()
@opt.database
@opt.option("--to", metavar="VERSION", help="Another version than the newest; it may be older.")
@opt.yes
@opt.as_json
@opt.quiet
def upgrade(database: str, to: str | None, yes: bool, as_json: bool) -> None:
    """Bring a database to the schema of this version of qrowd; all of it, or nothing.

    Going back to an older version may lose what only the newer one has; you are asked first.

    \b
    Examples:
      qrowd campaign upgrade campaign.db
    """
    from qrowd.collection.database import opening

    newest_first = opening.known_versions()
    if to is not None and to not in newest_first:
        raise UnknownNameError.among("version", to, newest_first)
    store = opening.open_store(database, check_version=False)
    before = opening.version(store)
    opening.refuse_newer(store, before)
    back = (
        to is not None
        and before in newest_first
        and newest_first.index(to) > newest_first.index(before)
    )
    if back and confirmed(f"Go back from version {before} to {to}?", yes):
        opening.downgrade(store, str(to))
    elif not back:
        opening.upgrade(store, to or "head")
    now = opening.version(store)
    say(f"version {now} (was {before or 'none'})")
    if as_json:
        show_json({"version": now, "before": before})
    store.close()
