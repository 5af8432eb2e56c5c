"""`qrowd experiment resume`: go on with a run that was stopped."""

from __future__ import annotations

import click

from qrowd.cli.experiment.choosing import compute, on_option, workers_option
from qrowd.cli.options import quiet_option


@click.command()
@click.argument("folder")
@on_option
@workers_option
@quiet_option
def command(folder: str, on: str, workers: int | None, quiet: bool) -> None:
    """Compute what FOLDER lacks. Finished tasks are kept, and none is counted twice.

    \b
    Examples:
      qrowd experiment resume results
    """
    from qrowd.experiments.run import Book

    compute(Book.read(folder).plan, folder, on, workers, None, quiet)
