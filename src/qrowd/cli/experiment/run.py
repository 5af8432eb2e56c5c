"""`qrowd experiment run`: compute the cells of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from qrowd.cli.experiment.choosing import compute, on_option, workers_option
from qrowd.cli.options import quiet_option
from qrowd.errors import UsageError

if TYPE_CHECKING:
    from qrowd.experiments.plan import Plan


@click.command()
@click.argument("plan")
@click.option("-o", "--output", metavar="FOLDER", help="Default: the plan's name.")
@click.option(
    "--topics",
    multiple=True,
    metavar="GROUP",
    help="Only this group of topic sets of the plan. Repeatable.",
)
@click.option("--judgements", metavar="FILE", help="Judgements instead of the plan's.")
@click.option("--gold", metavar="FILE", help="Qrels instead of the plan's.")
@click.option(
    "--runs",
    multiple=True,
    metavar="NAME=FILES",
    help="Run sets instead of the plan's. Repeatable.",
)
@click.option(
    "--part", metavar="K/N", help="Compute the K-th of N parts only, for a cluster; then join them."
)
@on_option
@workers_option
@quiet_option
def command(
    plan: str,
    output: str | None,
    topics: tuple[str, ...],
    judgements: str | None,
    gold: str | None,
    runs: tuple[str, ...],
    part: str | None,
    on: str,
    workers: int | None,
    quiet: bool,
) -> None:
    """Compute the cells of PLAN, a TOML file or the name of a preset, into a folder.

    What is finished is kept: a run that was stopped goes on where it was, with the same command or
    with `qrowd experiment resume`.

    \b
    Examples:
      qrowd experiment run grid.toml -o results
      qrowd experiment run grid.toml -o results --part 3/32
    """
    from qrowd.experiments.presets import plan_of

    read = _with_own(plan_of(plan), judgements, gold, runs).only(topics)
    compute(read, output or read.experiment.name, on, workers, part, quiet)


def _with_own(plan: Plan, judgements: str | None, gold: str | None, runs: tuple[str, ...]) -> Plan:
    """The plan with one's own files, which are relative to the working folder."""
    from dataclasses import replace
    from pathlib import Path

    data = plan.data
    if judgements:
        data = replace(data, judgements=str(Path(judgements).resolve()))
    if gold:
        data = replace(data, gold=str(Path(gold).resolve()))
    if judgements or gold or runs:
        data = replace(data, made=False)
    named = [one.partition("=") for one in runs]
    if not all(name and path for name, _, path in named):
        raise UsageError("--runs takes NAME=FILES, as in T08=runs/")
    own = {name: str(Path(path).resolve()) for name, _, path in named}
    return replace(plan, data=data, runs=own or plan.runs)
