"""`qrowd campaign release`: what a campaign publishes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from qrowd.cli.campaign.opening import (
    campaign_option,
    confirmed,
    database_argument,
    opened,
    who,
    yes_option,
)
from qrowd.cli.options import json_option
from qrowd.cli.output import show

if TYPE_CHECKING:
    from pathlib import Path

    from qrowd.collection.database.store import Store


@click.command()
@database_argument
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FOLDER",
    help="A new folder to write to, or a file that ends in .zip.",
)
@campaign_option
@click.option(
    "--method",
    default="mv",
    show_default=True,
    metavar="METHOD",
    help="The method that makes the qrels.",
)
@click.option(
    "--runs",
    multiple=True,
    metavar="FILE",
    help="A run to include; repeatable.  [default: the runs that were uploaded to the "
    "server of this database]",
)
@yes_option
@json_option
def command(
    database: str,
    output: str,
    name: str | None,
    method: str,
    runs: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """Write what a campaign publishes: a folder or zip that `qrowd report` reads alone.

    Topics, pool, documents' ids (their texts if the plan says so), qrels, judgements and orders
    without times and reasons under numbers that mean nothing, runs, the consent text, a datasheet,
    a manifest with checksums. It is written down and cannot be taken back, so you are asked.

    \b
    Examples:
      qrowd campaign release campaign.db -o published.zip --yes
    """
    from qrowd.collection.publishing.release import release
    from qrowd.web.tasks import figures_of

    figures = figures_of(method)
    with opened(database) as store:
        chosen = store.only(name)
        if not confirmed("A release cannot be taken back. Make it?", yes):
            return
        found = _runs(store, chosen, runs)
        made = release(store, chosen, output, figures, who=who(), runs=found, sure=True)
    show({"file": list(made.files), "rows": list(made.files.values())}, None, as_json)


def _runs(store: Store, name: str, named: tuple[str, ...]) -> list[Path]:
    """The runs that were named, or uploaded."""
    from pathlib import Path

    from sqlalchemy.engine import make_url

    from qrowd.errors import InputError
    from qrowd.web.folders import Place

    for one in named:
        if not Path(one).is_file():
            raise InputError("there is no such run; name a file", file=one)
    if named or not store.is_sqlite:
        return [Path(one) for one in named]
    with store.read(name) as work:
        place = Place(store, Path(str(make_url(store.url).database)).parent, work.campaign)
    folder = place.folder / "files" / str(place.campaign) / "runs"
    return sorted(folder.iterdir()) if folder.is_dir() else []
