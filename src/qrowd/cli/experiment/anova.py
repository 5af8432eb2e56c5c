"""`qrowd experiment anova`: which choices matter."""

from __future__ import annotations

import click

from qrowd.cli.experiment.choosing import group_option, results_of, statistic_option
from qrowd.cli.options import json_option, output_option, quiet_option
from qrowd.cli.output import say, show


@click.command()
@click.argument("folder")
@statistic_option
@group_option
@output_option
@json_option
@quiet_option
def command(
    folder: str, statistic: str, group: str, output: str | None, as_json: bool, quiet: bool
) -> None:
    """The analysis of variance of a finished experiment: panel sizes are the subject.

    Factors are approach, measure, run set and gold, where there are several, and their pairs.

    \b
    Examples:
      qrowd experiment anova results --statistic rmse --topics half
    """
    import numpy as np

    results = results_of(folder, statistic, group)
    found = results.anova().frame_columns()
    columns = {name: np.asarray(column).tolist() for name, column in found.items()}
    say(results.caption, quiet)
    show(columns, output, as_json)
