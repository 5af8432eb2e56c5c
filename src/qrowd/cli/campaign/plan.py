"""`qrowd campaign check`, `new` and `extend`: what is asked for, what it costs, and more of it."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from qrowd.cli import options as opt
from qrowd.cli.campaign.database import confirmed, opened, user
from qrowd.cli.output import say, show_json
from qrowd.errors import InputError, UsageError
from qrowd.rendering import percent, thousands

if TYPE_CHECKING:
    from qrowd.collection.plan.exposure import Exposure
    from qrowd.collection.plan.forecast import Forecast
    from qrowd.collection.plan.limits import Complaint
    from qrowd.collection.plan.rows import CampaignRows
    from qrowd.collection.plan.sections import Plan


@opt.command()
@opt.file("plan")
@opt.with_default(
    "--crowd",
    type=click.Choice(("mixed", "careful", "rough")),
    default="mixed",
    help="Who comes, for what it costs.",
)
@opt.switch("--dry-run", help="Let robots do it a few times first; takes minutes.")
@opt.as_json
@opt.quiet
def check(plan: str, crowd: str, dry_run: bool, as_json: bool) -> None:
    """Show what a plan costs, takes and pays, and how often good and bad workers would pass.

    Needs no database and no server. The cost is that of campaigns in numbers, or with --dry-run
    what robots found over the application's own interface; 90 of 100 campaigns lie within the
    interval. "Survives" is the chance to get more batches after so many, under what the plan does
    when a check fails. The last lines say how well gold could be told from other sets: the area
    under the ROC curve (AUC) of somebody who sees all batches.

    \b
    Examples:
      qrowd campaign check plan.toml
      qrowd campaign check plan.toml --crowd rough
      qrowd campaign check plan.toml --json
    """
    from qrowd.collection.plan.exposure import exposure_of
    from qrowd.collection.plan.forecast import forecast
    from qrowd.collection.plan.limits import without_effect

    read, rows = _read(plan)
    outcome, exposed = forecast(read, rows, crowd=crowd), exposure_of(read, rows)
    if dry_run:
        outcome = _rehearsed(read, rows, crowd, outcome)
    outcome = replace(outcome, warnings=(*outcome.warnings, *without_effect(read)))
    if as_json:
        show_json({**asdict(outcome), "exposure": asdict(exposed) if exposed else None})
    else:
        click.echo(_forecast_text(read, outcome, exposed))


@opt.command()
@opt.file("plan")
@opt.switch("--launch", help="Start it at once; otherwise it is a draft.")
@opt.target("DATABASE", "A file, made if it is not there, or a PostgreSQL URL.", "database")
@opt.as_json
@opt.quiet
def new(plan: str, database: str, launch: bool, as_json: bool) -> None:
    """Make a campaign from a plan file and the files that it names.

    What cannot be met (too little gold, a target above the workers, a gold set that nobody can
    pass) is refused, with the line of the plan. A database can hold several campaigns.

    \b
    Examples:
      qrowd campaign new plan.toml -o another.db
    """
    from qrowd.collection.material.campaign_rows import create_campaign
    from qrowd.collection.plan.forecast import forecast
    from qrowd.collection.record import audit

    read, rows = _read(plan)
    with opened(database, new=True) as store:
        create_campaign(store, read, rows)
        if launch:
            with store.write(read.campaign.name) as work:
                audit.perform(work, user(), "launch")
    outcome = forecast(read, rows)
    say(
        f"campaign {read.campaign.name!r} in {database}: {thousands(outcome.pairs)} pairs, "
        f"{thousands(outcome.sets)} sets, {thousands(outcome.batches)} batches, "
        f"{read.pay.shown(outcome.spend.total)}"
    )
    for warning in outcome.warnings:
        say(f"warning: {warning.message}")
    if as_json:
        show_json({"campaign": read.campaign.name, "database": database, **asdict(outcome)})


@opt.command()
@opt.database
@opt.campaign
@opt.input_file("--topics", help="More topics.")
@opt.input_file("--documents", help="More documents.")
@opt.input_file("--pool", help="More pairs to judge.")
@opt.input_file("--runs", multiple=True, help="Runs whose top documents to judge. Repeatable.")
@opt.with_default(
    "--depth", type=click.IntRange(min=1), default=20, help="How many documents of each run."
)
@opt.option(
    "--into",
    multiple=True,
    metavar="TOPIC",
    help="Judge under this topic what is not in its pool: all of --documents, or without a file "
    "all documents of the campaign. Repeatable.",
)
@opt.input_file("--gold", help="More gold sets.")
@opt.input_file("--priorities", help="Priorities of pairs; higher comes first.")
@opt.option("--target", type=click.IntRange(min=1), help="Judgements wanted of every document.")
@opt.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True, max=1e12),
    metavar="AMOUNT",
    help="Money to add.",
)
@opt.yes
@opt.as_json
@opt.quiet
def extend(
    database: str,
    name: str | None,
    topics: str | None,
    documents: str | None,
    pool: str | None,
    runs: tuple[str, ...],
    depth: int,
    into: tuple[str, ...],
    gold: str | None,
    priorities: str | None,
    target: int | None,
    budget: float | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Add to a campaign while it runs; shows the cost and asks before doing it.

    New pairs get sets of their own: what was given out stays as it is.

    \b
    Examples:
      qrowd campaign extend campaign.db --target 4 --yes
      qrowd campaign extend campaign.db --budget 50
    """
    from qrowd.collection.office.acts.sets import Extend, RaiseTarget, outside_pool
    from qrowd.collection.plan import files
    from qrowd.collection.record import audit

    rows = files.read_extension(
        topics=topics, documents=documents, pool=pool, runs=runs, depth=depth, gold=gold, into=into
    )
    grows = bool(rows.topics or rows.pool or rows.gold or rows.documents or into)
    if not grows and (target, budget, priorities) == (None, None, None):
        raise UsageError("nothing to add; name what: --pool, --target, --budget, ... (see --help)")
    if budget is not None and not isfinite(budget):
        raise UsageError("--budget must be an amount of money")
    ranks = files.priority_rows(priorities) if priorities else []
    with opened(database) as store:
        campaign = store.only(name)
        with store.read(campaign) as work:  # nobody waits for the answer to a question
            if into and not documents:
                stored = [pair for topic in into for pair in outside_pool(work, topic)]
                rows = replace(rows, pool=[*rows.pool, *stored])
            for problem in Extend(rows=rows).refused(work) if grows else ():
                raise InputError(str(problem))
            for left_out in Extend(rows=rows).left_out(work) if grows else ():
                say(str(left_out))
            costs = [Extend(rows=rows).cost(work)] if grows else []
            costs += [RaiseTarget(target=target).cost(work)] if target is not None else []
            plan = work.plan
        if any(cost.judgements for cost in costs):
            for cost in costs:
                say(
                    f"{thousands(cost.pairs)} documents, {thousands(cost.judgements)} judgements, "
                    f"{thousands(cost.batches)} batches: {plan.pay.shown(cost.amount)}; "
                    f"{plan.pay.shown(cost.free)} is free"
                )
            if not confirmed("Add this?", yes):
                return
        acts: dict[str, Any] = {}
        if budget is not None:
            acts["fund"] = {"amount": plan.pay.minor(budget)}
        if grows:
            acts["extend"] = {"rows": rows}
        if target is not None:
            acts["raise target"] = {"target": target}
        if ranks:
            acts["prioritise"] = {"priorities": [[*pair, value] for pair, value in ranks]}
        with store.write(campaign) as work:
            done = {name: audit.perform(work, user(), name, acts[name]) for name in acts}
            for number in done.values():
                say(f"act {number}: {audit.said_of(work, number)}")
    if as_json:
        show_json({"acts": done})


def _read(file: str) -> tuple[Plan, CampaignRows]:
    """A plan that can be met, and the rows of the files that it names."""
    from qrowd.collection.plan.files import read_plan_files
    from qrowd.collection.plan.forecast import refuse_unmeetable
    from qrowd.collection.plan.toml import read_plan

    plan = read_plan(file)
    rows = read_plan_files(plan, file)
    refuse_unmeetable(plan, rows, file)
    return plan, rows


def _rehearsed(plan: Plan, rows: CampaignRows, crowd: str, expected: Forecast) -> Forecast:
    """The forecast as a dry run has it."""
    import logging

    from qrowd.web.robots.rehearsal import try_out

    logging.disable(logging.INFO)  # requests and acts of robots
    told = 0.0

    def progress(share: float) -> None:
        nonlocal told
        if share >= told + 0.1:
            told = share
            say(f"dry run: {percent(share)}")

    try:
        found = try_out(plan, rows, crowd=crowd, progress=progress)
    finally:
        logging.disable(logging.NOTSET)
    return expected.rehearsed(plan, found.spend, found.accuracy.middle)


def _forecast_text(plan: Plan, outcome: Forecast, exposed: Exposure | None) -> str:
    from qrowd.collection.plan.pass_rates import gold_words
    from qrowd.texts import Text

    shown, tests = plan.pay.shown, plan.qualification.sets
    lines = [
        f"{thousands(outcome.pairs)} pairs of {thousands(outcome.topics)} topics in "
        f"{thousands(outcome.sets)} sets; {thousands(outcome.judgements)} judgements in "
        f"{thousands(outcome.batches)} batches",
        f"entry     {plan.entry}: {_entry_text(plan)}",
        f"budget    {shown(outcome.budget)}",
    ]
    spend = outcome.spend
    if plan.paid:
        low, high = shown(round(spend.low)), shown(round(spend.high))
        by = "robots found it" if spend.robots else "worked out"
        lines.append(f"cost      {shown(spend.total)} ({low} to {high}), {spend.crowd} crowd, {by}")
        for item, amount in vars(spend.items).items():
            if round(amount):
                text = Text(f"office.spend.{item.replace('_', '-')}")
                lines.append(f"          {shown(round(amount))}  {text}")
        if plan.in_phases and plan.hierarchy.revisions and not spend.robots:
            documents = plan.counted_per_hit * plan.sets.size
            lines.append(
                f"          {shown(plan.pay_of('review'))}  more for each batch of up to "
                f"{documents} own answers to look at again, at most "
                f"{plan.hierarchy.revisions} answers a person"
            )
    lines += [
        f"wage      {shown(outcome.hourly)} an hour{', tests included' if tests else ''}: "
        f"{outcome.minutes_per_batch:.1f} minutes a batch",
        f"work      {thousands(outcome.hours, 1)} hours in all, "
        f"{thousands(outcome.workers_needed)} workers at least",
    ]
    if plan.way.graded and not plan.owner:
        crowd = "with workers like those of `qrowd simulate`"
        lines.append(f"accuracy  {percent(outcome.accuracy)} of documents by majority, {crowd}")
    if outcome.batches_per_worker is not None:
        lines.append(
            f"gold      {outcome.gold_sets} sets: {outcome.batches_per_worker} batches a worker"
        )
        if words := gold_words(plan):
            lines.append(f"          {words}")
    lines += _passing_table(plan, outcome)
    if outcome.better_gold:
        lines.append(
            f"gold sets of grades {outcome.better_gold} would tell good workers from others better"
        )
    lines += [str(line) for line in exposed.sentences(plan)] if exposed else []
    return "\n".join([*lines, *(f"warning: {_warning_text(each)}" for each in outcome.warnings)])


def _warning_text(warning: Complaint) -> str:
    """A warning, with the key that it is about where the sentence does not say it."""
    about = f"[{warning.section}] {warning.key} " if warning.section.startswith("checks") else ""
    return f"{about}{warning.message}"


def _entry_text(plan: Plan) -> str:
    """What the rule of who may come in means."""
    from qrowd.texts import Text

    return str(Text(f"office.entry.means.{plan.rule}", n=plan.platform.places, taken=0))


def _passing_table(plan: Plan, outcome: Forecast) -> list[str]:
    if not outcome.passing:
        return []
    from qrowd.collection.plan.pass_rates import HITS, found_out, nobody_leaves, screens

    sentences, ends = (nobody_leaves(plan), found_out(plan, outcome.passing)), screens(plan)
    columns = [("passes a batch", 16)]
    columns += [(f"{'' if at else 'survives '}{n}", 8 if at else 12) for at, n in enumerate(HITS)]
    columns = columns if ends else columns[:1]
    columns += [("qualifies", 12)] if plan.qualification.sets else []
    lines = ["", f"{'worker':20}" + "".join(f"{name:>{width}}" for name, width in columns)]
    for row in outcome.passing:
        shares = [row.batch, *(row.survives if ends else ())]
        shares += [row.qualification] if plan.qualification.sets else []
        cells = (f"{share:>{width}.1%}" for share, (_, width) in zip(shares, columns, strict=True))
        lines.append(f"{row.worker:20}" + "".join(cells))
    return [*lines, *(str(sentence) for sentence in sentences if sentence), ""]
