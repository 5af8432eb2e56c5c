"""`qrowd campaign robots`: a dry run, or a load test."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.campaign.database import opened
from qrowd.cli.output import say, show_json
from qrowd.errors import InputError
from qrowd.rendering import thousands

if TYPE_CHECKING:
    from qrowd.collection.database.store import Store
    from qrowd.collection.plan.sections import Plan
    from qrowd.web.robots.crowd import Crowd
    from qrowd.web.robots.rehearsal import Rehearsal


@opt.command()
@opt.database
@opt.campaign
@opt.with_default(
    "--robots", "number", default=40, type=click.IntRange(1, 100_000), help="How many come."
)
@opt.input_file(
    "--truth",
    metavar="QRELS",
    help="The true grades. Default: those of gold; other pairs get random ones.",
)
@opt.method(default="mv", show_default=True, help="How their answers are merged.")
@opt.switch("--storm", help="Many double clicks, lost networks, abandoned and late batches.")
@opt.option(
    "--address", metavar="URL", help="Send the robots to a running server instead: a load test."
)
@opt.with_default(
    "--speed",
    default=60.0,
    type=click.FloatRange(0, min_open=True),
    help="Load test: how much faster than people the robots are.",
)
@opt.seed
@opt.as_json
@opt.quiet
def robots(
    database: str,
    name: str | None,
    number: int,
    truth: str | None,
    method: str,
    storm: bool,
    address: str | None,
    speed: float,
    seed: int,
    as_json: bool,
) -> None:
    """Let robots judge: what a campaign would cost, how long it takes, how accurate it gets.

    Robots of many kinds (good, sloppy, biased, random, ...) do a copy of the campaign over the
    web application's interface, on a simulated clock; the campaign itself is not changed. With
    --address they go to a running server, in real time, and how long it lets them wait is shown.

    \b
    Examples:
      qrowd campaign robots campaign.db --robots 12
      qrowd campaign robots campaign.db --robots 12 --seed 3 --json
    """
    from qrowd.web.robots.crowd import Crowd
    from qrowd.web.robots.rehearsal import dry_run
    from qrowd.web.robots.robot import CALM, STORM

    def progress(requests: int) -> None:
        if requests % 500 == 0:
            say(f"{thousands(requests)} requests")

    crowd = Crowd(
        robots=number,
        habits=STORM if storm else CALM,
        truth=q.read_qrels(truth) if truth is not None else None,
        seed=seed,
    )
    with opened(database) as store:
        campaign = store.only(name)
        if address is not None:
            _load(store, campaign, crowd, address, speed, as_json)
            return
        rehearsal = dry_run(store, campaign, crowd, method=method, progress=progress)
        with store.read(campaign) as work:
            plan = work.plan
    if as_json:
        low, high = rehearsal.accuracy_interval()
        parts = {key: value for key, value in vars(rehearsal).items() if key != "labels"}
        parts["outlay"] = asdict(rehearsal.outlay)
        show_json({**parts, "accuracy": rehearsal.labels["accuracy"], "low": low, "high": high})
    else:
        click.echo(_text(plan, rehearsal))


def _text(plan: Plan, rehearsal: Rehearsal) -> str:
    low, high = rehearsal.accuracy_interval()
    robots = ", ".join(f"{n} {kind}" for kind, n in rehearsal.robots.items())
    batches = ", ".join(f"{n} {state}" for state, n in rehearsal.batches.items()) or "none"
    ends = ", ".join(f"{n} {why}" for why, n in rehearsal.left.items())
    return "\n".join(
        [
            f"robots    {robots}",
            f"batches   {batches}",
            f"stopped   {ends}",
            f"cost      {plan.pay.shown(rehearsal.spent)} "
            f"for {thousands(rehearsal.judgements)} judgements that count",
            f"time      {thousands(rehearsal.hours, 1)} hours",
            f"accuracy  {rehearsal.labels['accuracy']:.3f} of merged grades "
            f"(90 % over topics: {low:.3f} to {high:.3f})",
        ]
    )


def _load(
    store: Store, campaign: str, crowd: Crowd, address: str, speed: float, as_json: bool
) -> None:
    from qrowd.web.robots.crowd import by_content, make_robots, truth_of
    from qrowd.web.robots.traffic import load, summary

    with store.read(campaign) as work:
        truth = by_content(work, truth_of(work, crowd.truth))
    robots = make_robots(store, campaign, crowd, truth)
    timings = load(address, robots, speed=speed)
    requests = summary(timings)
    if not requests:
        raise InputError(f"{address}: no server answers there; start one with `qrowd serve`")
    if as_json:
        show_json({"requests": requests, "failed": timings.failed})
        return
    click.echo(f"{'request':12}{'number':>8}{'median ms':>12}{'99 % ms':>10}")
    for kind, (number, median, high) in requests.items():
        click.echo(f"{kind:12}{number:>8,}{median:>12.1f}{high:>10.1f}")
    click.echo(f"replies of 500 and above, or none: {len(timings.failed)}")
