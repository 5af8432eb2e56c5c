"""`qrowd experiment join`: the parts that a cluster computed, as one file."""

from __future__ import annotations

import click

from qrowd.cli.options import quiet_option
from qrowd.cli.output import say


@click.command()
@click.argument("folder")
@click.argument("more", nargs=-1)
@quiet_option
def command(folder: str, more: tuple[str, ...], quiet: bool) -> None:
    """Join the parts in FOLDER, and in other folders of the same plan, to one Parquet file.

    \b
    Examples:
      qrowd experiment join results
    """
    from qrowd.experiments.run import Book, join

    say(str(join(Book.read(folder), more)), quiet)
