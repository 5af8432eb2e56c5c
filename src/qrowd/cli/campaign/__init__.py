"""`qrowd campaign`: collect judgements. One module per verb, named like it."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import click

from qrowd.cli.verbs import Verbs
from qrowd.errors import MissingExtraError

_NOT_VERBS = frozenset({"opening"})


@click.group(cls=Verbs, package=__name__, others=_NOT_VERBS)
def command() -> None:
    """Collect judgements: campaigns on SQLite or PostgreSQL.

    A plan file says what is judged, by how many, with which checks and at what pay; `check` tells
    what that comes to before anybody is asked. DATABASE is a file, or a PostgreSQL URL.
    """
    if find_spec("sqlalchemy") is None and not {"-h", "--help"} & set(sys.argv):
        raise MissingExtraError.needed("campaigns", "serve")
