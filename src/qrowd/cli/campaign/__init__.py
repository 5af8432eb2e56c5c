"""`qrowd campaign`: collect judgements. Verbs by subject, in modules named like those of campaigns.

What campaigns need is imported by each verb when it runs: it takes half a second, and belongs to an
extra that may be missing where `--help` is asked for.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import click

from qrowd.cli.campaign import database, letters, office, plan, prolific, publishing, robots
from qrowd.cli.verbs import Family
from qrowd.errors import MissingExtraError


@click.group(
    cls=Family,
    commands=[
        plan.check,
        plan.new,
        plan.extend,
        office.status,
        office.next_sets,
        office.phases,
        office.act,
        office.people,
        letters.invite,
        letters.invited,
        office.links,
        office.pay,
        prolific.prolific,
        office.review,
        office.forget,
        robots.robots,
        publishing.export,
        publishing.import_,
        publishing.qualify,
        publishing.release,
        database.backup,
        database.restore,
        database.move,
        database.upgrade,
    ],
)
def command() -> None:
    """Collect judgements: campaigns in a database.

    A plan file says what is judged, by how many, with which checks and at what pay; `check` tells
    what that comes to before anybody is asked. DATABASE is a file (SQLite), or a PostgreSQL URL.
    """
    if find_spec("sqlalchemy") is None and not {"-h", "--help"} & set(sys.argv):
        raise MissingExtraError.needed("campaigns", "serve")
