"""The wizard's last pages: who would pass, the dry run with robots, launch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from fastapi import Response
from markupsafe import Markup

from qrowd.collection.database.schema import Job
from qrowd.collection.drafts import contents
from qrowd.collection.drafts.draft import Draft, discard, save_newest
from qrowd.collection.drafts.launch import everybody_passes, problems, warnings
from qrowd.collection.drafts.launch import launch as launch_draft
from qrowd.collection.plan.changes import change
from qrowd.collection.plan.exposure import exposure_of
from qrowd.collection.plan.forecast import Forecast, Spend, spend_of
from qrowd.collection.plan.pass_rates import HITS, found_out, gold_words, nobody_leaves, screens
from qrowd.collection.plan.sections import Pay
from qrowd.collection.plan.turnout import ITEMS, PER_HOUR
from qrowd.errors import MissingExtraError, RuleError
from qrowd.io.qrels import is_drawn
from qrowd.rendering import percent, thousands
from qrowd.simulation.setting import CROWDS
from qrowd.texts import Text, listed
from qrowd.web import jobs
from qrowd.web.files import CampaignFiles, file_name
from qrowd.web.pages.drafts import OpenDraft, address, shared
from qrowd.web.pages.frame import AdministratorVisit, Confirmation, campaign_address, page_router
from qrowd.web.pages.quality import embedded

router = page_router()
MOST_PER_HOUR = 10_000.0
ASKED_LAST = ("release.licence", "release.contact")  # keys of the plan
LICENCES = ("CC BY 4.0", "CC BY-SA 4.0", "CC BY-NC 4.0", "CC0 1.0")


# --- who would pass -------------------------------------------------------------------------------


@router.get("/drafts/{key}/passing")
def passing(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Who would pass the checks, as a picture and a table."""
    expected = contents.forecast_of(draft)
    exposed = exposure_of(draft.plan, contents.campaign_rows(draft))
    return visit.show(
        "organiser/passing.html.j2",
        batches=HITS if screens(draft.plan) else (),
        stay=nobody_leaves(draft.plan),
        found_out=found_out(draft.plan, expected.passing) if expected else None,
        exposure=exposed.sentences(draft.plan) if exposed else (),
        gold_words=gold_words(draft.plan),
        svg=_picture(draft, expected) if expected and expected.passing else "",
        useless=everybody_passes(draft),
        **shared(draft, "passing"),
    )


def _picture(draft: Draft, expected: Forecast) -> Markup:
    """The report's picture; nothing where matplotlib is not installed (the table has it all)."""
    from qrowd.reporting.figures import survivors

    batch = {row.worker: row.batch for row in expected.passing}
    after = {row.worker: row.stays for row in expected.passing} if screens(draft.plan) else {}
    try:
        return embedded(survivors(batch, after).svg)
    except MissingExtraError:
        return Markup("")


# --- the dry run ----------------------------------------------------------------------------------


Fact: TypeAlias = tuple[Text, Text | str, Text]  # what it is, its value, where it may be


@router.get("/drafts/{key}/rehearsal")
def rehearsal(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """The dry run: to start, on its way, or done."""
    with visit.store.snapshot() as db:
        row = jobs.of_draft(db, draft.key)
    return visit.show(
        "organiser/rehearsal.html.j2",
        run=_run(draft, row) if row else None,
        crowds=list(CROWDS),
        per_hour=PER_HOUR,
        lacking=problems(draft),
        **shared(draft, "rehearsal"),
    )


@router.post("/drafts/{key}/rehearsal")
def rehearse(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Start a dry run, as a job in the background."""
    crowd = visit.text("crowd", "mixed")
    try:
        rate = float(visit.text("per_hour", f"{PER_HOUR:g}").replace(",", "."))
    except ValueError:
        rate = 0.0
    if crowd not in CROWDS or not 0 < rate <= MOST_PER_HOUR:
        return rehearsal(draft, visit.with_problem(Text("office.rehearsal.which"), 422))
    if problems(draft):
        return rehearsal(draft, visit.with_problem(Text("office.rehearsal.not-yet"), 422))
    wanted = {"version": draft.version, "crowd": crowd, "per_hour": rate}
    with visit.store.transaction() as db:
        jobs.ask_for_draft(db, visit.store.clock(), draft.key, wanted)
    return visit.go(address(draft, "rehearsal"))


def _run(draft: Draft, row: Job) -> dict[str, Any] | None:
    """A dry run as the page shows it: how far it is, or what it found."""
    result = json.loads(row.result) if row.result else {}
    done, pay = row.state == "done", draft.plan.pay
    spend = spend_of(result) if done else None
    if done and spend is None:  # an earlier version ran it, which had no items
        return None
    return {
        "state": row.state,
        "progress": 1.0 if done else float(result.get("progress", 0.0)),
        "problem": row.problem or "",
        "outdated": draft.dry_run is not None and not draft.dry_run.holds_for(draft.plan),
        "facts": [_cost(spend, pay), *_facts(result)] if spend else [],
        "items": items_of(spend, pay) if spend else [],
        "lines": _lines(result) if done else [],
    }


def items_of(spend: Spend, pay: Pay) -> list[tuple[Text, str]]:
    """What money is spent on, without what costs nothing."""
    amounts = [(item, getattr(spend.items, item)) for item in ITEMS]
    return [
        (Text(f"office.spend.{item.replace('_', '-')}"), pay.shown(round(amount)))
        for item, amount in amounts
        if round(amount)
    ]


def _cost(spend: Spend, pay: Pay) -> Fact:
    ends = {"low": pay.shown(round(spend.low)), "high": pay.shown(round(spend.high))}
    interval = Text("office.rehearsal.interval", **ends)
    return Text("office.rehearsal.cost"), pay.shown(spend.total), interval


def _facts(estimate: Mapping[str, Any]) -> list[Fact]:
    """What dry runs found: what it is, the typical value, where it may be."""
    shown: dict[str, Callable[[float], Text | str]] = {"hours": duration, "accuracy": percent}
    facts = []
    for name, show in shown.items():
        ends = {end: show(estimate[name][end]) for end in ("low", "middle", "high")}
        interval = Text("office.rehearsal.interval", **ends)
        facts.append((Text(f"office.rehearsal.{name}"), ends["middle"], interval))
    return facts


def duration(hours: float) -> Text:
    """A stretch of work: minutes below two hours, then hours."""
    if hours < 2:
        return Text("office.word.minutes", n=round(hours * 60))
    return Text("office.word.hours", hours=thousands(hours, 1))


def _lines(estimate: Mapping[str, Any]) -> list[Text]:
    robots = _counted("office.rehearsal.robot.", estimate["robots"])
    batches = _counted("office.batch.state.", estimate["batches"])
    lines = [
        Text(
            "office.rehearsal.part" if estimate["share"] < 1 else "office.rehearsal.times",
            times=estimate["times"],
            topics=estimate["topics"],
            share=percent(estimate["share"]),
        ),
        Text("office.rehearsal.robots", robots=robots),
        Text("office.rehearsal.batches", batches=batches or Text("office.rehearsal.no-batches")),
    ]
    if estimate["done"] < 0.995:
        lines.append(Text("office.rehearsal.unfinished", share=percent(estimate["done"])))
    return lines


def _counted(names: str, numbers: Mapping[str, int]) -> Any:
    """Such as: 3 accepted, 1 excluded."""
    return listed(
        [
            Text("office.rehearsal.counted", number=number, name=Text(f"{names}{name}"))
            for name, number in numbers.items()
        ]
    )


# --- launch ---------------------------------------------------------------------------------------


@router.get("/drafts/{key}/launch")
def ready(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """What will be launched, and what is still to be mended."""
    expected, name = contents.forecast_of(draft), visit.signed.name
    return visit.show(
        "organiser/launch.html.j2",
        lacking=problems(draft),
        warned=warnings(draft),
        licence=draft.plan.release.licence or LICENCES[0],
        licences=LICENCES,
        contact=draft.plan.release.contact or (name if "@" in name else ""),
        items=items_of(expected.spend, draft.plan.pay) if expected else [],
        **shared(draft, "launch"),
    )


@router.post("/drafts/{key}/launch")
def launch(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Launch, after a question with what it costs."""
    if problems(draft):
        return visit.go(address(draft, "launch"))
    if not visit.sure:
        asked = {key: visit.text(key) for key in ASKED_LAST if key in visit.form}
        if asked:
            save_newest(
                draft,
                lambda newest: change(newest.plan, asked),
                visit.signed.name,
                visit.store.clock(),
                "",
            )
        return visit.confirm(_confirmation(draft))
    act = launch_draft(visit.store, draft, visit.signed.name)
    # the runs that made the pool are the systems that are scored later
    with visit.store.write(draft.plan.campaign.name) as work:
        files = CampaignFiles(visit.store, visit.settings.folder, work.campaign)
        run = jobs.of_draft(work.db, draft.key, done=True)
        if run and draft.dry_run and draft.dry_run.holds_for(draft.plan):
            jobs.hand_over(work, run.id)
    for name in draft.plan.files.runs:
        path = draft.folder / name
        shutil.copyfile(path, files.runs / file_name(path.name))
    pool = draft.folder / draft.plan.files.pool
    if draft.plan.files.pool and is_drawn(pool):  # by it, scores are corrected later
        shutil.copyfile(pool, files.sample / file_name(pool.name))
    discard(draft)
    message = Text("office.launch.done")
    return visit.go(campaign_address(draft.plan.campaign.name), message=message, undo=act)


def _confirmation(draft: Draft) -> Confirmation:
    expected = contents.forecast_of(draft)
    if expected is None:
        raise RuleError("not-found", "there is nothing to judge yet")
    money = draft.plan.pay.shown
    useless = everybody_passes(draft)
    follows = [
        Text("office.launch.follows", judgements=expected.judgements, batches=expected.batches),
        Text("office.launch.undo"),
        Text("office.launch.later"),
    ]
    short = [warning for warning in expected.warnings if warning.section == "pay"]
    follows[:0] = [Text("office.launch.short-of-money", problem=each.message) for each in short]
    if useless:
        follows.insert(0, Text("office.launch.look", problem=useless))
    cost, spend = Text("office.launch.unpaid"), expected.spend
    if draft.plan.paid:
        cost = Text(
            "office.launch.cost",
            likely=money(spend.total),
            low=money(round(spend.low)),
            high=money(round(spend.high)),
            most=money(expected.budget),
        )
    # below the interval, it is all but sure that the budget ends first
    ends_first = bool(short) and expected.budget < round(spend.low)
    doubt = "office.launch.doubt" if useless else "office.launch.doubt.money"
    return Confirmation(
        title=Text(doubt if useless or ends_first else "office.launch.sure"),
        follows=follows,
        cost=cost,
        button=Text("office.launch.button"),
        back=address(draft, "launch"),
        doubtful=useless is not None or ends_first,
    )
