"""The wizard's last pages: who would pass, the dry run with robots, launch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Response
from markupsafe import Markup

from qrowd.collection.database.store import Row
from qrowd.collection.drafts import contents
from qrowd.collection.drafts.draft import Draft, discard
from qrowd.collection.drafts.launch import everybody_passes, problems, warnings
from qrowd.collection.drafts.launch import launch as launch_draft
from qrowd.collection.plan.forecast import Forecast
from qrowd.collection.plan.pass_rates import survival
from qrowd.collection.plan.sections import Pay
from qrowd.errors import MissingExtraError, RuleError
from qrowd.rendering import duration, percent, thousands
from qrowd.web import jobs
from qrowd.web.files import CampaignFiles, file_name
from qrowd.web.pages.drafts import OpenDraft, address, shared
from qrowd.web.pages.frame import AdministratorVisit, Confirmation, campaign_address, page_router
from qrowd.web.pages.quality import embedded

router = page_router()
CROWDS = (
    ("mixed", "A usual crowd", "Half of them are good, a third careless, one in six only clicks."),
    ("careful", "A careful panel", "Four of five are good, nobody only clicks."),
    ("rough", "A rough crowd", "A third are good, a third only click."),
)
SHOWN = 10  # batches in the picture
MOST_PER_HOUR = 10_000.0


# --- who would pass -------------------------------------------------------------------------------


@router.get("/drafts/{key}/passing")
def passing(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Who would pass the checks, as a picture and a table."""
    expected = contents.forecast_of(draft)
    rows = expected.passing if expected else ()
    return visit.show(
        "organiser/passing.html.j2",
        found=expected,
        rows=rows,
        svg=_picture(draft, expected) if expected and rows else "",
        useless=everybody_passes(draft),
        **shared(draft, "passing"),
    )


def _picture(draft: Draft, expected: Forecast) -> Markup:
    """The report's picture; nothing where matplotlib is not installed (the table has it all)."""
    from qrowd.reporting.figures import survivors

    batch = {row.worker: row.batch for row in expected.passing}
    after = {
        name: [survival(draft.plan, share, n) for n in range(1, SHOWN + 1)]
        for name, share in batch.items()
    }
    try:
        return embedded(survivors(batch, after).svg)
    except MissingExtraError:
        return Markup("")


# --- the dry run ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A dry run as the page shows it: how far it is, or what it found."""

    state: str
    progress: float
    problem: str
    outdated: bool
    facts: list[tuple[str, str, str]]
    lines: list[str]


@router.get("/drafts/{key}/rehearsal")
def rehearsal(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """The dry run: to start, on its way, or done."""
    with visit.store.snapshot() as db:
        row = jobs.of_draft(db, draft.key)
    return visit.show(
        "organiser/rehearsal.html.j2",
        run=_run(draft, row) if row else None,
        crowds=CROWDS,
        lacking=problems(draft),
        **shared(draft, "rehearsal"),
    )


@router.post("/drafts/{key}/rehearsal")
def rehearse(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Start a dry run, as a job in the background."""
    crowd = visit.text("crowd", "mixed")
    try:
        rate = float(visit.text("per_hour", "12").replace(",", "."))
    except ValueError:
        rate = 0.0
    if crowd not in {name for name, _, _ in CROWDS} or not 0 < rate <= MOST_PER_HOUR:
        problem = "Say which crowd, and how many come in an hour."
        return rehearsal(draft, visit.with_problem(problem, 422))
    if problems(draft):
        problem = "Something is to be mended before robots can try it."
        return rehearsal(draft, visit.with_problem(problem, 422))
    wanted = {"version": draft.version, "crowd": crowd, "per_hour": rate}
    with visit.store.transaction() as db:
        jobs.ask_for_draft(db, visit.store.clock(), draft.key, wanted)
    return visit.go(address(draft, "rehearsal"))


def _run(draft: Draft, row: Row) -> Run:
    result = json.loads(row.result) if row.result else {}
    done = row.state == "done"
    return Run(
        state=row.state,
        progress=1.0 if done else float(result.get("progress", 0.0)),
        problem=row.problem or "",
        outdated=done and json.loads(row.parameters)["version"] != draft.version,
        facts=_facts(result, draft.plan.pay) if done else [],
        lines=_lines(result) if done else [],
    )


def _facts(estimate: Mapping[str, Any], pay: Pay) -> list[tuple[str, str, str]]:
    """What dry runs found: what it is, the typical value, where it may be."""
    lines: list[tuple[str, Mapping[str, float], Callable[[float], str]]] = [
        ("cost", estimate["cost"], lambda amount: pay.shown(round(amount))),
        ("until the last answer", estimate["hours"], duration),
        ("of the merged grades are right", estimate["accuracy"], percent),
    ]
    return [
        (label, shown(span["middle"]), f"95 %: {shown(span['low'])} to {shown(span['high'])}")
        for label, span, shown in lines
    ]


def _lines(estimate: Mapping[str, Any]) -> list[str]:
    robots = ", ".join(f"{n} {kind}" for kind, n in estimate["robots"].items())
    batches = ", ".join(f"{n} {state}" for state, n in estimate["batches"].items()) or "none"
    tried = f"{estimate['times']} dry runs"
    if estimate["share"] < 1:
        tried += (
            f" on {estimate['topics']} topics ({percent(estimate['share'])} of the documents); "
        )
        tried += "cost and time are those of the whole, by proportion"
    lines = [f"{tried}.", f"Robots: {robots}.", f"Batches: {batches}."]
    if estimate["done"] < 0.995:
        lines.append(
            f"Only {percent(estimate['done'])} of the judgements were reached: people or gold ran "
            "out, or too much failed the checks."
        )
    return lines


# --- launch ---------------------------------------------------------------------------------------


@router.get("/drafts/{key}/launch")
def ready(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """What will be launched, and what is still to be mended."""
    return visit.show(
        "organiser/launch.html.j2",
        found=contents.forecast_of(draft),
        lacking=problems(draft),
        warned=warnings(draft),
        **shared(draft, "launch"),
    )


@router.post("/drafts/{key}/launch")
def launch(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Launch, after a question with what it costs."""
    if problems(draft):
        return visit.go(address(draft, "launch"))
    if not visit.sure:
        return visit.confirm(_confirmation(draft))
    act = launch_draft(visit.store, draft, visit.signed.name)
    # the runs that made the pool are the systems that are scored later
    with visit.store.read(draft.plan.campaign.name) as work:
        files = CampaignFiles(visit.store, visit.settings.folder, work.campaign)
    for name in draft.plan.files.runs:
        path = draft.folder / name
        shutil.copyfile(path, files.runs / file_name(path.name))
    discard(draft)
    message = "Launched. People can start now."
    return visit.go(campaign_address(draft.plan.campaign.name), message=message, undo=act)


def _confirmation(draft: Draft) -> Confirmation:
    expected = contents.forecast_of(draft)
    if expected is None:
        raise RuleError("not-found", "there is nothing to judge yet")
    money = draft.plan.pay.shown
    useless = everybody_passes(draft)
    follows = [
        f"{thousands(expected.judgements)} judgements in {thousands(expected.batches)} batches "
        "are offered at once.",
        "Launching can be taken back until the first batch is given out; after that the campaign "
        "can be paused and closed.",
        "Topics, documents, targets and money can be added later; the way of judging and the "
        "grades stay as they are.",
    ]
    if useless:
        follows.insert(0, f"Look at the gold again: {useless}.")
    cost = "Nobody is paid, so this costs nothing."
    if draft.plan.pay.hit:
        likely, most = money(expected.likely_cost), money(expected.budget)
        cost = f"This will cost about {likely}, and {most} at most."
    title = "Everybody passes the gold. Launch all the same?" if useless else "Launch it?"
    back = address(draft, "launch")
    return Confirmation(title, follows, cost, "Launch", back, doubtful=bool(useless))
