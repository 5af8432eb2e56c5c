"""Arguments that the verbs of `qrowd campaign` share, and how they open a campaign."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from qrowd.errors import UsageError

if TYPE_CHECKING:
    from qrowd.collection.database.store import Store

database_argument = click.argument("database")
campaign_option = click.option(
    "--campaign", "name", metavar="NAME", help="Which campaign, if the database has several."
)
yes_option = click.option("--yes", is_flag=True, help="Do it without asking.")


@contextmanager
def opened(database: str, *, new: bool = False) -> Iterator[Store]:
    """The database, closed at the end."""
    from qrowd.collection.database.opening import open_store

    store = open_store(database, new=new)
    try:
        yield store
    finally:
        store.engine.dispose()


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
