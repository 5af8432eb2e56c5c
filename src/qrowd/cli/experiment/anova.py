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
    `strength` is omega squared; `low` and `high` are its 95 % interval over topics, where topic
    sets leave topics out.

    \b
    Examples:
      qrowd experiment anova results --statistic rmse --topics half
    """
    results = results_of(folder, statistic, group)
    say(results.caption, quiet)
    show(results.anova_columns(), output, as_json)
