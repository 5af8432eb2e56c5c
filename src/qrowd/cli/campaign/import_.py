"""`qrowd campaign import`: judgements of machines and experts."""

from __future__ import annotations

import click

from qrowd.cli.campaign.opening import campaign_option, database_argument, opened
from qrowd.cli.output import say


@click.command()
@database_argument
@click.argument("file")
@campaign_option
@click.option(
    "--as",
    "kind",
    type=click.Choice(("machine", "expert")),
    default="machine",
    show_default=True,
    help="Whose judgements they are.",
)
def command(database: str, file: str, name: str | None, kind: str) -> None:
    """Import judgements made elsewhere, such as those of machine judges or experts.

    FILE is TSV with a header: topic, doc, assessor, grade and, if known, seconds and time. They
    are exported with the others and never count towards a target. All of it comes in, or nothing.

    \b
    Examples:
      qrowd campaign import campaign.db machine.tsv
    """
    from qrowd.collection.publishing.imports import import_judgements

    with opened(database) as store, store.write(store.only(name)) as work:
        done = import_judgements(work, file, kind)
    say(f"{done.judgements:,} judgements of {done.assessors:,} assessors")
    if done.unknown:
        say(f"note: {done.unknown:,} rows are of pairs that the campaign does not have")
