"""The wizard's last pages: who would pass, the dry run with robots, launch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Response
from markupsafe import Markup

from qrowd.collection.database.store import Found
from qrowd.collection.drafts import contents
from qrowd.collection.drafts import launch as launching
from qrowd.collection.drafts.draft import Draft, discard
from qrowd.collection.drafts.problems import everybody_passes, problems, warnings
from qrowd.collection.plan.forecast import Forecast
from qrowd.collection.plan.pass_rates import survival
from qrowd.collection.plan.sections import Pay
from qrowd.errors import MissingExtraError, RuleError
from qrowd.web import jobs
from qrowd.web.folders import Place, file_name
from qrowd.web.pages.organiser.frame import (
    Question,
    Visit,
    Visiting,
    campaign_address,
    page_router,
)
from qrowd.web.pages.organiser.pictures import placed
from qrowd.web.pages.organiser.wizard import address, opened, shared

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
def passing(key: str, visit: Visiting) -> Response:
    """Who would pass the checks, as a picture and a table."""
    draft = opened(visit, key)
    found = contents.outlook(draft)
    rows = found.passing if found else ()
    return visit.show(
        "organiser/passing.html.j2",
        found=found,
        rows=rows,
        problem="",
        plan=draft.plan,
        svg=_picture(draft, found) if found and rows else "",
        useless=everybody_passes(draft),
        **shared(draft, "passing"),
    )


def _picture(draft: Draft, found: Forecast) -> Markup:
    """The report's picture; nothing where matplotlib is not installed (the table has it all)."""
    from qrowd.reporting.figures import survivors

    batch = {row.worker: row.batch for row in found.passing}
    after = {
        name: [survival(draft.plan, share, n) for n in range(1, SHOWN + 1)]
        for name, share in batch.items()
    }
    try:
        return placed(survivors(batch, after).svg)
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
def rehearsal(key: str, visit: Visiting) -> Response:
    """The dry run: to start, on its way, or done."""
    return _rehearsal_page(visit, opened(visit, key))


def _rehearsal_page(visit: Visit, draft: Draft, problem: str = "") -> Response:
    with visit.store.snapshot() as db:
        row = jobs.of_draft(db, draft.key)
    return visit.show(
        "organiser/rehearsal.html.j2",
        status=422 if problem else 200,
        run=_run(draft, row) if row else None,
        crowds=CROWDS,
        problem=problem,
        plan=draft.plan,
        lacking=problems(draft),
        **shared(draft, "rehearsal"),
    )


@router.post("/drafts/{key}/rehearsal")
def rehearse(key: str, visit: Visiting) -> Response:
    """Start a dry run, as a job in the background."""
    draft = opened(visit, key)
    crowd = visit.text("crowd", "mixed")
    try:
        rate = float(visit.text("per_hour", "12").replace(",", "."))
    except ValueError:
        rate = 0.0
    if crowd not in {one[0] for one in CROWDS} or not 0 < rate <= MOST_PER_HOUR:
        return _rehearsal_page(visit, draft, "Say which crowd, and how many come in an hour.")
    if problems(draft):
        return _rehearsal_page(visit, draft, "Something is to be mended before robots can try it.")
    wanted = {"version": draft.version, "crowd": crowd, "per_hour": rate}
    with visit.store.transaction() as db:
        jobs.ask_for_draft(db, visit.store.clock(), draft.key, wanted)
    return visit.go(address(draft, "rehearsal"))


def _run(draft: Draft, row: Found) -> Run:
    held = json.loads(row.result) if row.result else {}
    done = row.state == "done"
    asked = json.loads(row.parameters)
    return Run(
        row.state,
        1.0 if done else float(held.get("progress", 0.0)),
        row.problem or "",
        done and asked["version"] != draft.version,
        _facts(held, draft.plan.pay) if done else [],
        _lines(held) if done else [],
    )


def _facts(held: Mapping[str, Any], pay: Pay) -> list[tuple[str, str, str]]:
    cost, hours, right = held["cost"], held["hours"], held["accuracy"]

    def money(amount: float) -> str:
        return pay.shown(round(amount))

    def time(given: float) -> str:
        return f"{given * 60:.0f} minutes" if given < 2 else f"{given:,.1f} hours"

    return [
        ("cost", money(cost["middle"]), f"95 %: {money(cost['low'])} to {money(cost['high'])}"),
        (
            "until the last answer",
            time(hours["middle"]),
            f"95 %: {time(hours['low'])} to {time(hours['high'])}",
        ),
        (
            "of the merged grades are right",
            f"{right['middle']:.0%}",
            f"95 %: {right['low']:.0%} to {right['high']:.0%}",
        ),
    ]


def _lines(held: Mapping[str, Any]) -> list[str]:
    robots = ", ".join(f"{n} {kind}" for kind, n in held["robots"].items())
    batches = ", ".join(f"{n} {state}" for state, n in held["batches"].items()) or "none"
    tried = f"{held['times']} dry runs"
    if held["share"] < 1:
        tried += f" on {held['topics']} topics ({held['share']:.0%} of the documents); cost and "
        tried += "time are those of the whole, by proportion"
    lines = [f"{tried}.", f"Robots: {robots}.", f"Batches: {batches}."]
    if held["done"] < 0.995:
        lines.append(
            f"Only {held['done']:.0%} of the judgements were reached: people or gold ran "
            "out, or too much failed the checks."
        )
    return lines


# --- launch ---------------------------------------------------------------------------------------


@router.get("/drafts/{key}/launch")
def ready(key: str, visit: Visiting) -> Response:
    """What will be launched, and what is still to be mended."""
    draft = opened(visit, key)
    return visit.show(
        "organiser/launch.html.j2",
        found=contents.outlook(draft),
        plan=draft.plan,
        problem="",
        lacking=problems(draft),
        warned=warnings(draft),
        **shared(draft, "launch"),
    )


@router.post("/drafts/{key}/launch")
def launch(key: str, visit: Visiting) -> Response:
    """Launch, after a question with what it costs."""
    draft = opened(visit, key)
    if problems(draft):
        return visit.go(address(draft, "launch"))
    if not visit.sure:
        return visit.ask(_question(draft))
    act = launching.launch(visit.store, draft, visit.signed.name)
    _keep_runs(visit, draft)
    discard(draft)
    told = "Launched. People can start now."
    return visit.go(campaign_address(draft.plan.campaign.name), told=told, undo=act)


def _question(draft: Draft) -> Question:
    found = contents.outlook(draft)
    if found is None:
        raise RuleError("not-found", "there is nothing to judge yet")
    money = draft.plan.pay.shown
    useless = everybody_passes(draft)
    follows = [
        f"{found.judgements:,} judgements in {found.batches:,} batches are offered at once.",
        "Launching can be taken back until the first batch is given out; after that the campaign "
        "can be paused and closed.",
        "Topics, documents, targets and money can be added later; the way of judging and the "
        "grades stay as they are.",
    ]
    if useless:
        follows.insert(0, f"Look at the gold again: {useless}.")
    cost = f"This will cost about {money(found.likely_cost)}, and {money(found.budget)} at most."
    unpaid = "Nobody is paid, so this costs nothing."
    return Question(
        "Everybody passes the gold. Launch all the same?" if useless else "Launch it?",
        follows,
        cost if draft.plan.pay.hit else unpaid,
        "Launch",
        address(draft, "launch"),
        doubtful=bool(useless),
    )


def _keep_runs(visit: Visit, draft: Draft) -> None:
    """The runs that made the pool are the systems that are scored later."""
    with visit.store.read(draft.plan.campaign.name) as work:
        place = Place(visit.store, visit.settings.folder, work.campaign)
    for name in draft.plan.files.runs:
        path = draft.folder / name
        shutil.copyfile(path, place.runs / file_name(path.name))
