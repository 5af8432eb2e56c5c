"""`qrowd experiment plot`: pictures of effects."""

from __future__ import annotations

import click

from qrowd.cli.experiment.choosing import book_of, group_option, statistic_option
from qrowd.cli.options import quiet_option
from qrowd.cli.output import save_pictures
from qrowd.errors import UsageError


@click.command()
@click.argument("folder")
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Where the SVG files go.")
@statistic_option
@group_option
@quiet_option
def command(folder: str, output: str, statistic: str, group: str, quiet: bool) -> None:
    """Draw main effects, interactions, lines by panel size and by number of topics, as SVG files.

    Also every single assessor against gold. Pictures of all statistics and groups of topic sets are
    drawn, unless one is named; a file's name begins with these.

    \b
    Examples:
      qrowd experiment plot results -o pictures
      qrowd experiment plot results -o pictures --statistic tau_ap
    """
    from qrowd.experiments.effects import pictures
    from qrowd.experiments.inputs import load

    book = book_of(folder)
    if book.plan.labels.folds:
        raise UsageError(f"{folder} has labels, and no panels: see qrowd experiment table")
    save_pictures(pictures(book, load(book.plan), statistic, group), output, quiet)
