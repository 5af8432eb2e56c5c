"""Acts of organisers on pages: asked with their cost, done, undone; and more pool, topics, runs."""

from __future__ import annotations

import secrets
import shutil
import time
from pathlib import Path
from typing import Any

from fastapi import Response

from qrowd.collection.adjudication import appeals
from qrowd.collection.database.store import Work
from qrowd.collection.office import extension as extending
from qrowd.collection.office.acts import ACTS, consequence
from qrowd.collection.plan.files import extension
from qrowd.collection.plan.rows import Material
from qrowd.collection.record import audit
from qrowd.collection.record.act import Consequence
from qrowd.errors import QrowdError, RuleError
from qrowd.io.source import refuse_bomb
from qrowd.web.access import Member
from qrowd.web.api.manage import scope_of
from qrowd.web.folders import Place, file_name
from qrowd.web.pages.organiser.frame import (
    Question,
    Visit,
    Visiting,
    campaign_address,
    own_address,
    page_router,
)
from qrowd.web.pages.organiser.live import place_of, shown

router = page_router()
WHOLE = ("worker", "target", "set", "assignment", "appeal")
WORDS = ("topic", "text", "reply")
STAGED_SECONDS = 86_400
FILES = ("topics", "documents", "pool", "runs", "gold")
TOLD = {
    "launch": "Launched: workers can begin.",
    "pause": "Paused: nobody gets a new batch.",
    "resume": "Running again.",
    "close": "Closed.",
    "raise target": "The target is set.",
    "retire gold": "The gold set is retired.",
    "fund": "The budget is changed.",
    "screen out": "Screened out.",
    "stop": "This worker gets no more batches.",
    "accept": "Accepted.",
    "exclude": "Excluded.",
    "refuse": "Refused.",
    "bonus": "The bonus is owed.",
    "message": "Sent.",
    "settle": "Marked as paid.",
    "answer appeal": "Answered.",
}


@router.post("/campaigns/{name}/act")
def act(name: str, visit: Visiting) -> Response:
    """Ask first, with what it costs; then do it."""
    wanted = visit.text("act")
    if wanted not in TOLD:
        raise RuleError("not-found", f"there is no act {wanted!r} here")
    member = visit.organiser(name, scope_of(wanted))
    back = own_address(visit.text("back"), campaign_address(name))
    with member.store.read(member.campaign) as work:
        details = _details(visit, work)
        told = consequence(work, wanted, details)
        question = _question(work, told, back)
    if not visit.sure:
        return visit.ask(question)
    with member.store.write(member.campaign) as work:
        number = _perform(work, member, wanted, details, visit)
    undo = number if ACTS[wanted].undo is not None else None
    return visit.go(back, told=TOLD[wanted], undo=undo)


def _question(work: Work, told: Consequence, back: str) -> Question:
    return Question(told.question, told.follows, told.price(work), told.button, back, told.final)


def _details(visit: Visit, work: Work) -> dict[str, Any]:
    """What the form says of the act, as the act wants it; amounts in minor units."""
    found: dict[str, Any] = {}
    try:
        for key in WHOLE:
            if visit.text(key):
                found[key] = int(visit.text(key))
        if visit.text("amount"):
            found["amount"] = work.plan.pay.minor(float(visit.text("amount").replace(",", ".")))
        if visit.text("workers"):
            found["workers"] = [int(one) for one in visit.text("workers").split()]
    except (ValueError, OverflowError):
        raise RuleError("bad-value", "give a number, such as 2 or 2.50") from None
    found |= {key: visit.text(key) for key in WORDS if visit.text(key)}
    return found | ({"won": visit.text("won") == "yes"} if visit.text("won") else {})


def _perform(work: Work, member: Member, act: str, details: dict[str, Any], visit: Visit) -> int:
    who, seen = member.who.name, _seen(visit)
    if act == "answer appeal":
        audit.refuse_unseen(work, act, details, seen)
        return appeals.answer_appeal(
            work,
            who,
            details["appeal"],
            won=details.get("won", False),
            reply=details.get("reply", ""),
        )
    try:
        return audit.perform(work, who, act, details, sure=True, seen=seen)
    except KeyError as missing:
        raise RuleError("bad-value", f"say {missing.args[0]}") from None


def _seen(visit: Visit) -> int | None:
    given = visit.text("seen")
    return int(given) if given.isdecimal() and len(given) < 19 else None


# --- more pool, topics, runs, gold ----------------------------------------------------------------


@router.get("/campaigns/{name}/extend")
def more(name: str, visit: Visiting) -> Response:
    """The form."""
    return _form(name, visit)


def _form(name: str, visit: Visit, problem: str = "", depth: str = "20") -> Response:
    member = visit.organiser(name, "manage")
    with member.store.read(member.campaign) as work:
        data = shown(member, name, "", work)
    return visit.show(
        "organiser/extend.html.j2",
        problem=problem,
        depth=depth,
        status=422 if problem else 200,
        **data,
    )


@router.post("/campaigns/{name}/extend")
def extend(name: str, visit: Visiting) -> Response:
    """What the files would add and cost; then add it."""
    member = visit.organiser(name, "manage")
    place = place_of(visit, member)
    if visit.sure:
        return _add(name, visit, member, place)
    key = secrets.token_hex(8)
    try:
        _stage(visit, place.staged / key)
        material = _read(place.staged / key, _depth(visit))
        with member.store.read(member.campaign) as work:
            question = _extension(work, material, campaign_address(name, "/extend"))
    except QrowdError as error:
        shutil.rmtree(place.staged / key, ignore_errors=True)
        return _form(name, visit, str(error), visit.text("depth", "20"))
    kept = [("key", key), ("depth", str(_depth(visit))), ("seen", visit.text("seen"))]
    return visit.show("organiser/question.html.j2", question=question, kept=kept)


def _depth(visit: Visit) -> int:
    given = visit.text("depth", "20")
    if not given.isdecimal() or len(given) > 18 or not 1 <= int(given) <= 10_000:
        raise RuleError("bad-value", "the depth must be a whole number from 1 to 10,000")
    return int(given)


def _stage(visit: Visit, folder: Path) -> None:
    """Keep the files until the question is answered; what was left for a day is removed."""
    for old in folder.parent.iterdir():
        if time.time() - old.stat().st_mtime > STAGED_SECONDS:
            shutil.rmtree(old, ignore_errors=True)
    sent = [(kind, file) for kind in FILES for file in visit.files(kind)]
    if not sent:
        raise RuleError("bad-value", "choose at least one file")
    for kind, file in sent:
        path = folder / kind / file_name(file.filename or kind)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as target:
            shutil.copyfileobj(file.file, target)
        refuse_bomb(path)


def _read(folder: Path, depth: int) -> Material:
    found = {kind: sorted((folder / kind).glob("*")) for kind in FILES}
    if not any(found.values()):
        raise RuleError("conflict", "the files are not here any more; choose them again")
    one = {kind: next(iter(found[kind]), None) for kind in FILES if kind != "runs"}
    return extension(**one, runs=found["runs"], depth=depth, within=folder)


def _extension(work: Work, material: Material, back: str) -> Question:
    cost, shown_ = extending.cost_of_pool(work, material), work.plan.pay.shown
    follows = [
        f"{cost.pairs:,} new pairs of {len({name for name, _ in material.pool}):,} topics: "
        f"{cost.judgements:,} judgements in about {cost.batches:,} batches.",
        f"{len(material.topics):,} topics, {len(list(material.documents)):,} documents and "
        f"{len(material.gold):,} gold pairs were sent; what is here already stays as it is.",
        "They make new sets; sets that are there do not change.",
    ]
    short = cost.amount - cost.free
    lacks = f"; {shown_(short)} more would be needed" if short > 0 else ""
    price = f"This costs {shown_(cost.amount)}; {shown_(cost.free)} are free{lacks}."
    return Question("Add this to the campaign?", follows, price, "Add it", back)


def _add(name: str, visit: Visit, member: Member, place: Place) -> Response:
    key = visit.text("key")
    folder = place.staged / (key if key.isalnum() else "none")
    material = _read(folder, _depth(visit))
    with member.store.write(member.campaign) as work:
        done = extending.extend(work, member.who.name, material, _seen(visit))
        number = audit.last_act(work)
    for path in sorted((folder / "runs").glob("*")):
        shutil.move(path, place.runs / path.name)
    shutil.rmtree(folder, ignore_errors=True)
    told = f"Added: {done.pairs:,} pairs in {done.sets:,} sets."
    return visit.go(campaign_address(name), told=told, undo=number)
