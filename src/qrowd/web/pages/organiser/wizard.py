"""The wizard: one question a page, from an empty draft to a plan; the plan file both ways."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO
from urllib.parse import quote

from fastapi import Response
from fastapi.responses import StreamingResponse
from sqlalchemy import select

from qrowd.collection.database.schema import campaign
from qrowd.collection.drafts import answers, contents, launch
from qrowd.collection.drafts.draft import Draft, all_drafts, discard, new_draft, open_draft
from qrowd.collection.drafts.launch import plan_of
from qrowd.collection.drafts.plan_import import draft_of_files
from qrowd.collection.drafts.problems import problems
from qrowd.collection.drafts.suggestions import suggested
from qrowd.collection.plan.forecast import Forecast
from qrowd.errors import InputError, QrowdError, RuleError
from qrowd.web.folders import drafts_in
from qrowd.web.pages.organiser.frame import Question, Visit, Visiting, page_router
from qrowd.web.pages.organiser.questions import (
    LAST,
    ORDER,
    QUESTIONS,
    answer_of,
    before,
    next_of,
)

router = page_router()


def opened(visit: Visit, key: str) -> Draft:
    """A draft, for an administrator."""
    visit.administrator()
    return open_draft(drafts_in(visit.settings.folder), key)


def address(draft: Draft, step: str) -> str:
    """The address of a question of a draft."""
    return f"/drafts/{draft.key}/{step}"


def resumed(draft: Draft) -> str:
    """Where to go on: the first question without an answer, or what comes after them."""
    return next((step for step in QUESTIONS if step not in draft.answered), "passing")


def shared(draft: Draft, step: str) -> dict[str, Any]:
    """What every page of the wizard shows: the list of questions, the one before, the next."""
    names = {**QUESTIONS, **LAST}
    return {
        "draft": draft,
        "step": step,
        "words": names[step],
        "names": names,
        "at": ORDER.index(step) + 1,
        "of": len(ORDER),
        "before": before(step),
        "lacks": {one.step for one in problems(draft)} & set(draft.answered),
    }


@router.post("/drafts")
def begin(visit: Visiting) -> Response:
    """A new draft: empty, or from a plan file and the files that it names."""
    who, folder = visit.administrator().name, drafts_in(visit.settings.folder)
    files = [(one.filename or "file", one.file) for one in visit.files("plan")]
    if not files:
        return visit.go(address(new_draft(folder, who, visit.store.clock()), "name"))
    draft, missing = draft_of_files(folder, who, visit.store.clock(), files)
    told = (
        f"The plan was read. Still wanted: {', '.join(missing)}."
        if missing
        else "The plan was read."
    )
    return visit.go(address(draft, resumed(draft)), told=told)


@router.get("/drafts/{key}")
def resume(key: str, visit: Visiting) -> Response:
    """Go on where one left."""
    draft = opened(visit, key)
    return visit.go(address(draft, resumed(draft)))


@router.post("/drafts/{key}/delete")
def delete(key: str, visit: Visiting) -> Response:
    """Delete a draft, after a question."""
    draft = opened(visit, key)
    if not visit.sure:
        follows = ["The answers and the uploaded files are deleted."]
        return visit.ask(
            Question(
                "Delete this draft?", follows, button="Delete it", back="/campaigns", final=True
            )
        )
    discard(draft)
    return visit.go("/campaigns", told="The draft was deleted.")


# --- the plan file --------------------------------------------------------------------------------


@router.get("/drafts/{key}/plan")
def plan(key: str, visit: Visiting) -> Response:
    """The plan file so far."""
    draft = opened(visit, key)
    return visit.show("organiser/plan.html.j2", draft=draft, text=plan_of(draft))


@router.get("/drafts/{key}/plan.toml")
def plan_file(key: str, visit: Visiting) -> Response:
    """The plan file, to keep."""
    text = plan_of(opened(visit, key))
    return Response(text, media_type="application/toml", headers=_attached("plan.toml"))


@router.get("/drafts/{key}/plan.zip")
def bundle(key: str, visit: Visiting) -> Response:
    """The plan file and the files that it names."""
    draft, file = opened(visit, key), tempfile.TemporaryFile()  # noqa: SIM115 (closed when sent)
    launch.bundle(draft, file)
    file.seek(0)
    name = f"{draft.plan.campaign.name or 'campaign'}.zip"
    return StreamingResponse(_sent(file), media_type="application/zip", headers=_attached(name))


def _sent(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while part := file.read(2**16):
            yield part


def _attached(name: str) -> dict[str, str]:
    quoted = quote(name, safe="")
    named = f'filename="{name}"' if quoted == name else f"filename*=utf-8''{quoted}"
    return {"Content-Disposition": f"attachment; {named}", "X-Content-Type-Options": "nosniff"}


# --- questions ------------------------------------------------------------------------------------


@router.get("/drafts/{key}/{step}")
def ask(key: str, step: str, visit: Visiting) -> Response:
    """A question."""
    draft = opened(visit, key)
    if step not in QUESTIONS:
        raise RuleError("not-found", "there is no such question")
    return _page(visit, replace(draft, plan=suggested(draft, step)), step)


@router.post("/drafts/{key}/{step}")
def take(key: str, step: str, visit: Visiting) -> Response:
    """An answer: saved, then the next question; or the same again, and what is wrong."""
    newest = opened(visit, key)
    if step not in QUESTIONS:
        raise RuleError("not-found", "there is no such question")
    seen = open_draft(newest.folder.parent, key, _version(visit, newest))
    given = answer_of(visit, step)
    try:
        _refuse_taken(visit, newest, given)
        draft = answers.answer(seen, given, visit.signed.name, visit.store.clock())
    except (InputError, RuleError) as error:
        if isinstance(error, RuleError) and error.code != "conflict":
            raise
        return _again(visit, newest, step, given, str(error))
    if step == "pool" and given.files.get("runs"):
        return visit.go(address(draft, step))  # now the depths are known
    return visit.go(address(draft, next_of(step)))


def _version(visit: Visit, newest: Draft) -> int:
    given = visit.text("version")
    known = given.isdecimal() and len(given) < 19 and 0 < int(given) <= newest.version
    return int(given) if known else newest.version


def _refuse_taken(visit: Visit, draft: Draft, given: answers.Answer) -> None:
    """A name that a campaign has already is told at once, not at launch."""
    if given.step != "name":
        return
    name = answers.planned(draft, given).campaign.name
    with visit.store.snapshot() as db:
        taken = db.scalar(select(campaign.c.id).where(campaign.c.name == name))
    if taken is not None:
        raise InputError(f"there is a campaign {name!r} already; choose another name")


def _again(visit: Visit, newest: Draft, step: str, given: answers.Answer, problem: str) -> Response:
    """The same question, with what was said where it can be kept."""
    texts = {name: text for name, text in given.texts.items() if text}
    try:
        plan = answers.planned(newest, replace(given, texts=texts, step=step, files={}, choices={}))
    except QrowdError:
        plan = newest.plan
    return _page(visit, replace(newest, plan=plan), step, problem, 422)


def _page(visit: Visit, draft: Draft, step: str, problem: str = "", status: int = 200) -> Response:
    data = shared(draft, step)
    more: dict[str, Any] = {"depths": contents.depth_costs(draft)} if step == "pool" else {}
    held = {"found": contents.outlook(draft), "material": contents.material_of(draft)}
    if step == "gold":
        more["arranged"] = contents.is_arranged(draft) or not draft.plan.files.gold
    return visit.show(
        f"organiser/steps/{step}.html.j2",
        status=status,
        plan=draft.plan,
        problem=problem,
        side_problem="",
        saved=None,
        **data,
        **held,
        **more,
    )


@router.post("/drafts/{key}/{step}/preview")
def preview(key: str, step: str, visit: Visiting) -> Response:
    """What the answers on the page would come to; nothing is saved."""
    draft = opened(visit, key)
    if step not in QUESTIONS:
        raise RuleError("not-found", "there is no such question")
    found: Forecast | None = None
    problem, plan = "", draft.plan
    try:
        plan = answers.planned(draft, replace(answer_of(visit, step), files={}, choices={}))
        found = contents.outlook(replace(draft, plan=plan))
    except QrowdError as error:
        problem = str(error)
    saved = contents.outlook(draft)
    return visit.show(
        "organiser/side.html.j2",
        plan=plan,
        found=found,
        saved=saved,
        side_problem=problem,
        step=step,
    )


def drafts_of(visit: Visit) -> list[Draft]:
    """The drafts that the visitor may go on with."""
    return all_drafts(drafts_in(visit.settings.folder)) if visit.signed.administrator else []
