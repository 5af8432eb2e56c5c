"""An "I disagree": the document judged blind, then both sides, then an answer."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from qrowd.collection.adjudication import cases
from qrowd.errors import RuleError
from qrowd.web.api.experts import reading, writing
from qrowd.web.pages.expert.pair import document_data
from qrowd.web.pages.expert.queue import pair_address, shared
from qrowd.web.pages.organiser.frame import Visit, Visiting, campaign_address, page_router

router = page_router()


@router.get("/campaigns/{name}/experts/objections/{number}")
def objection(name: str, number: int, visit: Visiting) -> Response:
    """Both sides; the document first, where this expert has not judged it."""
    return _page(visit, name, number)


def _page(visit: Visit, name: str, number: int, **more: Any) -> Response:
    member = visit.expert(name)
    with reading(member) as (work, mine):
        pair = cases.objected_to(work, number)
        own = cases.own_decision(work, mine, pair)
        if own is None:
            row = next(one for one in cases.disagreements(work) if one.id == number)
            return visit.go(pair_address(name, row.topic, row.doc, objection=str(number)))
        found = cases.disagreement(work, mine, number)
        data = {
            **shared(work, name),
            **document_data(work, visit, name, found.topic, found.doc, pair),
            "own": own,
            "found": found,
            "problem": "",
            "reply": visit.text("reply"),
            "right": visit.text("right"),
            **more,
        }
    return visit.show("expert/objection.html.j2", status=409 if more else 200, **data)


@router.post("/campaigns/{name}/experts/objections/{number}")
def answer(name: str, number: int, visit: Visiting) -> Response:
    """Answer it."""
    member = visit.expert(name)
    right = visit.text("right")
    try:
        if right not in ("yes", "no"):
            raise RuleError("malformed", "say who is right")
        with writing(member) as (work, mine):
            cases.answer_disagreement(
                work,
                member.who.name,
                mine,
                number,
                right=right == "yes",
                reply=visit.text("reply"),
            )
    except RuleError as error:
        if error.code != "malformed":
            raise
        return _page(visit, name, number, problem=str(error))
    return visit.go(campaign_address(name, "/experts"), told="The answer was sent.")
