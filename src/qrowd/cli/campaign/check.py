"""`qrowd campaign check`: what a plan comes to, and who would pass its checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from qrowd.cli.options import json_option
from qrowd.cli.output import show_json

if TYPE_CHECKING:
    from qrowd.collection.plan.forecast import Forecast
    from qrowd.collection.plan.sections import Plan


@click.command()
@click.argument("plan")
@json_option
def command(plan: str, as_json: bool) -> None:
    """Show what a plan costs, takes and pays, and how often good and bad workers would pass.

    Needs no database and no server. "Survives" is the chance to fail fewer of so many batches
    than screen a worker out.

    \b
    Examples:
      qrowd campaign check plan.toml
      qrowd campaign check plan.toml --json
    """
    from dataclasses import asdict

    from qrowd.collection.plan.files import gather
    from qrowd.collection.plan.forecast import forecast, refuse_unmeetable
    from qrowd.collection.plan.toml import read_plan

    read = read_plan(plan)
    material = gather(read, plan)
    refuse_unmeetable(read, material, plan)
    found = forecast(read, material)
    if as_json:
        show_json(asdict(found))
    else:
        click.echo(_text(read, found))


def _text(plan: Plan, found: Forecast) -> str:
    shown = plan.pay.shown
    lines = [
        f"{found.pairs:,} pairs of {found.topics:,} topics in {found.sets:,} sets; "
        f"{found.judgements:,} judgements in {found.batches:,} batches",
        f"cost      {shown(found.cost)} of {shown(found.budget)}",
        *_likely(plan, found),
        f"wage      {shown(found.hourly)} an hour: {found.minutes_per_batch:.1f} minutes a batch",
        f"work      {found.hours:,.1f} hours in all, {found.workers_needed:,} workers at least",
    ]
    if not plan.preferences and not plan.owner:
        crowd = "with workers like those of `qrowd simulate`"
        lines.append(f"accuracy  {found.accuracy:.0%} of documents by majority, {crowd}")
    if found.batches_per_worker is not None:
        lines.append(
            f"gold      {found.gold_sets} sets: {found.batches_per_worker} batches a worker"
        )
    lines += _passing(plan, found)
    if found.better_gold:
        lines.append(
            f"gold sets of grades {found.better_gold} would tell good workers from others better"
        )
    return "\n".join([*lines, *(f"warning: {one}" for one in found.warnings)])


def _likely(plan: Plan, found: Forecast) -> list[str]:
    if found.likely_cost <= found.cost:
        return []
    reasons = [
        (plan.qualification.sets and plan.pay.qualification, "qualifications are paid"),
        (found.passing, "batches that fail a check are paid and done again"),
    ]
    why = ", ".join(reason for holds, reason in reasons if holds)
    return [f"likely    {plan.pay.shown(found.likely_cost)}: {why}"]


def _passing(plan: Plan, found: Forecast) -> list[str]:
    if not found.passing:
        return []
    test = bool(plan.qualification.sets)
    head = f"{'worker':20}{'passes a batch':>16}{'survives 1':>12}{'5':>8}{'10':>8}"
    lines = ["", head + (f"{'qualifies':>12}" if test else "")]
    for one in found.passing:
        first, five, ten = one.survives
        line = f"{one.worker:20}{one.batch:>16.1%}{first:>12.1%}{five:>8.1%}{ten:>8.1%}"
        lines.append(line + (f"{one.qualification:>12.1%}" if test else ""))
    return [*lines, ""]
