"""`qrowd experiment presets`: published experiments that are ready to run."""

from __future__ import annotations

import click

from qrowd.cli.options import json_option
from qrowd.cli.output import show


@click.command()
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the presets, or print the plan of one.

    \b
    Examples:
      qrowd experiment presets
      qrowd experiment presets trec21-aware
    """
    from qrowd.experiments.presets import names, preset

    if name:
        click.echo(preset(name).text, nl=False)
        return
    plans = [preset(one) for one in names()]
    show({"preset": names(), "about": [plan.experiment.about for plan in plans]}, None, as_json)
