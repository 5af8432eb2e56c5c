"""A document: judged blind; then what judges said, what is alike, and the decision."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import urlencode

from fastapi import Response
from markupsafe import Markup

from qrowd.collection.adjudication import cases, expert_sample
from qrowd.collection.database.store import Work
from qrowd.collection.judging.offer import document_of
from qrowd.collection.material import clarification
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.web import neighbours
from qrowd.web.access import Member
from qrowd.web.api.experts import reading, writing
from qrowd.web.pages.expert.queue import go_on, pair_address, shared
from qrowd.web.pages.organiser.frame import Visit, Visiting, campaign_address, page_router
from qrowd.web.pages.reader import readable, shown_original, shown_picture

router = page_router()
CODES = (
    ("missed passage", "They missed a passage"),
    ("misread topic", "They misread the topic"),
    ("borderline", "It is borderline"),
    ("broken page", "The page is broken"),
    ("careless", "They were careless"),
    ("gold wrong", "A check question is wrong"),
)


@router.get("/campaigns/{name}/experts/pair")
def pair(name: str, visit: Visiting, topic: str = "", doc: str = "") -> Response:
    """The document, to be judged blind; what judges said once that is done."""
    return _page(visit, name, topic, doc)


def _page(visit: Visit, name: str, topic: str, doc: str, **more: Any) -> Response:
    member, status = visit.expert(name), 409 if more else 200
    asked = visit.request.query_params
    with reading(member) as (work, number):
        number_of_pair = expert_sample.pair_named(work, topic, doc)
        own = cases.own_decision(work, number, number_of_pair)
        data = {
            **shared(work, name),
            **document_data(work, visit, name, topic, doc, number_of_pair),
            "own": own,
            "whole": visit.text("whole") or asked.get("whole", ""),
            "objection": visit.text("objection") or asked.get("objection", ""),
            "earlier": _earlier(work, number, topic, number_of_pair),
            "problem": "",
            **more,
        }
        if own is not None:
            data |= _seen(work, number, number_of_pair)
    template = "expert/blind.html.j2" if own is None else "expert/decide.html.j2"
    return visit.show(template, status=status, **data)


def document_data(
    work: Work, visit: Visit, name: str, topic: str, doc: str, pair_id: int
) -> dict[str, Any]:
    """What a template needs to show a topic and a document."""
    body = document_of(work, pair_id)
    address, asked = campaign_address(name, "/experts/original"), {"topic": topic, "doc": doc}
    read = readable(body, f"{address}?{urlencode(asked)}", visit.settings)
    pages = [
        (f"{address}?{urlencode({**asked, 'page': at})}", " ".join(piece[4] for piece in pieces))
        for at, (_, _, pieces) in enumerate(read.pages, 1)
    ]
    return {
        "topic": topic,
        "doc": doc,
        "text": clarification.topic_named(work, topic),
        "read": read,
        "pages": pages,
        "html": Markup(read.html),  # made safe by `sanitising`
    }


def _earlier(work: Work, number: int, topic: str, pair_id: int) -> list[cases.Decided]:
    found = cases.decisions(work, number, topic)
    return [one for one in found if one.pair != pair_id]


def _seen(work: Work, number: int, pair_id: int) -> dict[str, Any]:
    votes = cases.votes(work, number, pair_id)
    counts = Counter(one.grade for one in votes if one.kind == "grade")
    usual = max(counts, key=lambda grade: (counts[grade], grade or 0)) if counts else None
    return {
        "votes": votes,
        "counts": counts,
        "most": max(counts.values(), default=1),
        "usual": usual,
        "alike": neighbours.neighbours(work, number, pair_id),
        "codes": CODES,
    }


@router.post("/campaigns/{name}/experts/pair")
def judge(name: str, visit: Visiting) -> Response:
    """Keep the blind judgement, or the decision after it."""
    member = visit.expert(name)
    topic, doc = visit.text("topic"), visit.text("doc")
    try:
        seen = _kept(visit, member, topic, doc)
    except RuleError as error:
        if error.code == "not-found":
            raise
        return _page(visit, name, topic, doc, problem=str(error))
    whole = {"whole": "yes"} if visit.text("whole") else {}
    if not seen and visit.text("objection").isdecimal():
        return visit.go(campaign_address(name, f"/experts/objections/{visit.text('objection')}"))
    if not seen:
        return visit.go(pair_address(name, topic, doc, **whole))
    return go_on(visit, member, name, topic if whole else "", "Decided.")


def _kept(visit: Visit, member: Member, topic: str, doc: str) -> bool:
    """Whether what judges said had been seen."""
    grade = visit.text("grade")
    if not grade.lstrip("-").isdecimal() or len(grade) > 4:
        raise RuleError("malformed", "choose a grade")
    reason, code, words = visit.text("reason"), visit.text("code"), visit.text("clarify")
    with writing(member) as (work, number):
        found = expert_sample.pair_named(work, topic, doc)
        seen = cases.own_decision(work, number, found) is not None
        if seen and visit.text("step") != "decide":
            raise RuleError("conflict", "you have judged this document before; decide below")
        if seen and not code and _against(work, number, found, int(grade)):
            raise RuleError("malformed", "most judges said something else: choose why")
        cases.decide(work, number, found, int(grade), reason, code if seen else "")
        if seen and words:
            audit.perform(work, member.who.name, clarification.ACT, {"topic": topic, "text": words})
    return seen


def _against(work: Work, number: int, pair_id: int, grade: int) -> bool:
    """Whether most judges disagree about relevance."""
    bound = work.plan.scale.relevant_from
    said = [one.grade for one in cases.votes(work, number, pair_id) if one.grade is not None]
    agree = sum((one >= bound) == (grade >= bound) for one in said)
    return 2 * agree < len(said)


@router.get("/campaigns/{name}/experts/original")
def original(name: str, visit: Visiting, topic: str = "", doc: str = "", page: int = 0) -> Response:
    """The original in a frame, or a page's picture: nothing in it runs, loads or leads anywhere."""
    member = visit.expert(name)
    with member.store.read(member.campaign) as work:
        body = document_of(work, expert_sample.pair_named(work, topic, doc))
    return shown_picture(body, page, visit.settings) if page else shown_original(body)
