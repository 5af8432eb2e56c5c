"""`qrowd campaign export`: results as files."""

from __future__ import annotations

import click

from qrowd.cli.campaign.opening import campaign_option, database_argument, opened
from qrowd.cli.options import json_option
from qrowd.cli.output import show


@click.command()
@database_argument
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    metavar="FOLDER",
    help="The folder to write to; made if it is not there.",
)
@campaign_option
@click.option(
    "--merge",
    metavar="METHOD",
    default="mv",
    show_default=True,
    help="The method that makes qrels and probabilities; none for no such files.",
)
@click.option("--parquet", is_flag=True, help="Tables as Parquet, too.")
@json_option
def command(
    database: str, folder: str, name: str | None, merge: str, parquet: bool, as_json: bool
) -> None:
    """Write judgements, orders, gold, qrels and a manifest with checksums; at any time.

    The files are of one moment, whoever is working meanwhile. Assessors are numbers: no names.

    \b
    Examples:
      qrowd campaign export campaign.db -o results
      qrowd campaign export campaign.db -o results --merge ds --parquet
    """
    from qrowd.collection.publishing.export import export
    from qrowd.errors import UsageError
    from qrowd.registry import get

    method = None if merge == "none" else get(merge)
    if method is not None and method.card.level != "judgements":
        raise UsageError(f"--merge: {merge} does not merge judgements; see `qrowd methods`")
    with opened(database) as store, store.read(store.only(name)) as work:
        done = export(work, folder, parquet=parquet, merge=method)
    columns = {key: [getattr(one, key) for one in done] for key in ("name", "rows", "sha256")}
    show(columns, None, as_json)
