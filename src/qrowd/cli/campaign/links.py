"""`qrowd campaign links`: links for one's own panel."""

from __future__ import annotations

import click

from qrowd.cli.campaign.opening import campaign_option, database_argument, opened
from qrowd.cli.options import output_option
from qrowd.cli.output import show


@click.command()
@database_argument
@click.argument("people", nargs=-1, required=True, metavar="PERSON...")
@campaign_option
@click.option(
    "--address",
    default="http://127.0.0.1:8000",
    show_default=True,
    metavar="URL",
    help="Where `qrowd serve` can be reached.",
)
@click.option(
    "--days",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="How long a link lets its person in.",
)
@output_option
def command(
    database: str,
    people: tuple[str, ...],
    name: str | None,
    address: str,
    days: float,
    output: str | None,
) -> None:
    """Make a signed link for each person of your own panel; links expire.

    \b
    Examples:
      qrowd campaign links campaign.db ann bob --days 14
    """
    from urllib.parse import quote

    from qrowd.collection.people.visits import make_link
    from qrowd.errors import UsageError

    if not all(one.strip() for one in people):
        raise UsageError("a person needs a name that is not empty")
    with opened(database) as store, store.read(store.only(name)) as work:
        made = [make_link(work, one, days) for one in people]
        where = f"{address.rstrip('/')}/judge/{quote(work.name, safe='')}?link="
    show({"person": list(people), "link": [where + quote(one, safe="") for one in made]}, output)
