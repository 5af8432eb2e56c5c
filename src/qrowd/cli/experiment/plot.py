"""`qrowd experiment plot`: pictures of effects."""

from __future__ import annotations

import click

from qrowd.cli.experiment.choosing import group_option, results_of, statistic_option
from qrowd.cli.options import quiet_option
from qrowd.cli.output import save_pictures


@click.command()
@click.argument("folder")
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Where the SVG files go.")
@statistic_option
@group_option
@quiet_option
def command(folder: str, output: str, statistic: str, group: str, quiet: bool) -> None:
    """Main effects, interactions, lines by panel size and by number of test topics, as SVG files.

    \b
    Examples:
      qrowd experiment plot results -o pictures --statistic tau_ap
    """
    from qrowd.experiments.effects import figures

    save_pictures(figures(results_of(folder, statistic, group)), output, quiet)
