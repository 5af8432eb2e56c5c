"""`qrowd experiment`: a grid of approaches, panels, topic sets and measures. A module per verb."""

from __future__ import annotations

import click

from qrowd.cli.verbs import Verbs

_NOT_VERBS = frozenset({"choosing"})


@click.group(cls=Verbs, package=__name__, others=_NOT_VERBS)
def command() -> None:
    """Compare approaches on a grid of panels, topic sets, measures and run sets.

    A plan file (TOML) says what is crossed with what; presets repeat published experiments. Results
    are a folder with one Parquet file of cells; a run that was stopped goes on with `resume`.
    """
