"""The pages of experts: a queue, a document judged blind and then decided, a topic, objections;
and what the organiser sees of it.

    ADDRESS                                  WHAT
    /campaigns/NAME/experts                  what waits, topics, own decisions
    /campaigns/NAME/experts/next             to the next document that waits
    /campaigns/NAME/experts/topic?topic=     a whole topic, earlier decisions
    /campaigns/NAME/experts/pair?topic=&doc= judge blind; then see, and decide
    /campaigns/NAME/experts/original?...     a document's original, for a frame
    /campaigns/NAME/experts/objections/N     an "I disagree": both sides, an answer
    /campaigns/NAME/decisions                for organisers: the error rate, decisions, their effect

What judges said comes from functions that refuse it before the expert's own judgement; no page of
experts knows anything about systems.
"""

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
from qrowd.texts import Text
from qrowd.web import jobs, neighbours
from qrowd.web.api.experts import reading, writing
from qrowd.web.pages.frame import CampaignVisit, ExpertVisit, ManagerVisit, ReaderVisit, page_router
from qrowd.web.pages.judging import readable, shown_original, shown_picture

router = page_router()
RECENT = 20
MOST_DECISIONS = 200  # on the organiser's page
LARGEST_SAMPLE = 1_000_000


def _scale(work: Work) -> dict[str, Any]:
    """How grades and days are shown."""
    scale = work.plan.scale
    return {
        "labels": dict(zip(scale.grades, scale.names, strict=True)),
        "relevant_from": scale.relevant_from,
        "day": clarification.day,
    }


def _shared(visit: CampaignVisit, work: Work) -> dict[str, Any]:
    """What every page of an expert shows: the campaign, its grades."""
    return {
        "name": visit.name,
        "title": work.plan.campaign.title or work.name,
        **_scale(work),
        "home": visit.address("/experts"),
        "pair_at": lambda topic, doc: _address(visit, "pair", topic=topic, doc=doc),
        "topic_at": lambda topic: _address(visit, "topic", topic=topic),
    }


def _address(visit: CampaignVisit, page: str, **parameters: str) -> str:
    return f"{visit.address(f'/experts/{page}')}?{urlencode(parameters)}"


# --- what waits, and topics -----------------------------------------------------------------------


@router.get("/campaigns/{name}/experts")
def home(visit: ExpertVisit) -> Response:
    """What waits, topics, and what was decided."""
    with reading(visit.member) as (work, expert):
        waiting = cases.waiting(work)
        data = {
            **_shared(visit, work),
            "waiting": len(waiting.pairs),
            "sampled": waiting.sampled,
            "disputed": waiting.disputed,
            "missed": waiting.missed,
            "topics": cases.topics(work, expert),
            "objections": cases.disagreements(work),
            "decided": cases.decisions(work, expert)[:RECENT],
        }
    return visit.show("expert/home.html.j2", **data)


@router.get("/campaigns/{name}/experts/topic")
def whole_topic(visit: ExpertVisit, topic: str = "") -> Response:
    """A whole topic: what it asks for, its documents, and what was decided on them."""
    with reading(visit.member) as (work, expert):
        pairs = cases.of_topic(work, topic)
        if not pairs:
            raise RuleError("not-found", f"there is no topic {topic!r} with documents here")
        decided = cases.decisions(work, expert, topic)
        data = {
            **_shared(visit, work),
            "topic": topic,
            "text": clarification.topic_named(work, topic),
            "pairs": pairs,
            "decided": {decision.pair: decision for decision in decided},
            "own": {row.id for row in pairs if cases.own_decision(work, expert, row.id)},
        }
    return visit.show("expert/topic.html.j2", **data)


@router.get("/campaigns/{name}/experts/next")
def following(visit: ExpertVisit, topic: str = "") -> Response:
    """To the next document: of what waits, or of a topic that is judged whole."""
    return _go_on(visit, topic)


def _go_on(visit: CampaignVisit, topic: str, *, decided: bool = False) -> Response:
    """To the next document, which shows what was done; or to the list, if there is none."""
    message = Text("office.expert.done") if decided else None
    after = ".decided" if decided else ""
    if topic:
        with reading(visit.member) as (work, expert):
            rows = cases.of_topic(work, topic)
            docs = (row.doc for row in rows if cases.own_decision(work, expert, row.id) is None)
            doc = next(docs, None)
        if doc is not None:
            address = _address(visit, "pair", topic=topic, doc=doc, whole="yes")
            return visit.go(address, message)
        done = Text(f"office.expert.topic-done{after}")
        return visit.go(_address(visit, "topic", topic=topic), done)
    with visit.read() as work:
        waiting = cases.queue(work)
    if waiting:
        address = _address(visit, "pair", topic=waiting[0].topic, doc=waiting[0].doc)
        return visit.go(address, message)
    return visit.go(visit.address("/experts"), Text(f"office.expert.all-done{after}"))


# --- a document: judged blind; then what judges said, what is alike, and the decision -------------


@router.get("/campaigns/{name}/experts/pair")
def pair(visit: ExpertVisit, topic: str = "", doc: str = "") -> Response:
    """The document, to be judged blind; what judges said once that is done."""
    asked = visit.request.query_params
    with reading(visit.member) as (work, expert):
        pair_id = expert_sample.pair_named(work, topic, doc)
        own = cases.own_decision(work, expert, pair_id)
        decided = cases.decisions(work, expert, topic)
        data = {
            **_shared(visit, work),
            **_document(visit, work, topic, doc, pair_id),
            "own": own,
            "whole": visit.text("whole") or asked.get("whole", ""),
            "objection": visit.text("objection") or asked.get("objection", ""),
            "earlier": [decision for decision in decided if decision.pair != pair_id],
        }
        if own is not None:
            data |= _seen(work, expert, pair_id)
    return visit.show("expert/blind.html.j2" if own is None else "expert/decide.html.j2", **data)


@router.post("/campaigns/{name}/experts/pair")
def judge(visit: ExpertVisit) -> Response:
    """Keep the blind judgement, or the decision after it."""
    topic, doc = visit.text("topic"), visit.text("doc")
    try:
        seen = _keep(visit, topic, doc)
    except RuleError as error:
        if error.code == "not-found":
            raise
        return pair(visit.with_problem(error, 409), topic, doc)
    whole = {"whole": "yes"} if visit.text("whole") else {}
    if not seen and visit.text("objection").isdecimal():
        return visit.go(visit.address(f"/experts/objections/{visit.text('objection')}"))
    if not seen:
        return visit.go(_address(visit, "pair", topic=topic, doc=doc, **whole))
    return _go_on(visit, topic if whole else "", decided=True)


def _keep(visit: CampaignVisit, topic: str, doc: str) -> bool:
    """Keep a grade; whether what judges said had been seen."""
    grade = visit.text("grade")
    if not grade.lstrip("-").isdecimal() or len(grade) > 4:
        raise RuleError("malformed", "choose a grade")
    reason, code, words = visit.text("reason"), visit.text("code"), visit.text("clarify")
    with writing(visit.member) as (work, expert):
        pair_id = expert_sample.pair_named(work, topic, doc)
        seen = cases.own_decision(work, expert, pair_id) is not None
        if seen and visit.text("step") != "decide":
            raise RuleError("conflict", "you have judged this document before; decide below")
        if seen and not code and _is_against_most(work, expert, pair_id, int(grade)):
            raise RuleError("malformed", "most judges said something else: choose why")
        cases.decide(work, expert, pair_id, int(grade), reason, code if seen else "")
        if seen and words:
            details = {"topic": topic, "text": words}
            audit.perform(work, visit.member.name, clarification.ACT, details)
    return seen


def _is_against_most(work: Work, expert: int, pair_id: int, grade: int) -> bool:
    """Whether most judges disagree about relevance."""
    bound = work.plan.scale.relevant_from
    votes = [vote.grade for vote in cases.votes(work, expert, pair_id) if vote.grade is not None]
    agree = sum((vote >= bound) == (grade >= bound) for vote in votes)
    return 2 * agree < len(votes)


def _document(
    visit: CampaignVisit, work: Work, topic: str, doc: str, pair_id: int
) -> dict[str, Any]:
    """What a template needs to show a topic and a document."""
    original = _address(visit, "original", topic=topic, doc=doc)
    read = readable(document_of(work, pair_id), original, visit.settings)
    return {
        "topic": topic,
        "doc": doc,
        "text": clarification.topic_named(work, topic),
        "read": read,
        "pages": [
            (f"{original}&page={number}", " ".join(piece[4] for piece in pieces))
            for number, (_, _, pieces) in enumerate(read.pages, 1)
        ],
        "html": Markup(read.html),  # made safe by `sanitiser`
    }


def _seen(work: Work, expert: int, pair_id: int) -> dict[str, Any]:
    """What judges said, and what is alike."""
    votes = cases.votes(work, expert, pair_id)
    counts = Counter(vote.grade for vote in votes if vote.grade is not None)
    usual = max(counts, key=lambda grade: (counts[grade], grade or 0)) if counts else None
    return {
        "votes": votes,
        "gold": cases.gold_says(work, expert, pair_id),
        "counts": counts,
        "most": max(counts.values(), default=1),
        "usual": usual,
        "alike": neighbours.neighbours(work, expert, pair_id),
        "codes": [code for code in expert_sample.CODES if code],
    }


@router.get("/campaigns/{name}/experts/original")
def original(visit: ExpertVisit, topic: str = "", doc: str = "", page: int = 0) -> Response:
    """The original in a frame, or a page's picture: nothing in it runs, loads or leads anywhere."""
    with visit.read() as work:
        body = document_of(work, expert_sample.pair_named(work, topic, doc))
    return shown_picture(body, page, visit.settings) if page else shown_original(body)


# --- an "I disagree": the document judged blind, then both sides, then an answer ------------------


@router.get("/campaigns/{name}/experts/objections/{number}")
def objection(number: int, visit: ExpertVisit) -> Response:
    """Both sides; the document first, where this expert has not judged it."""
    with reading(visit.member) as (work, expert):
        pair_id = cases.objected_to(work, number)
        own = cases.own_decision(work, expert, pair_id)
        if own is None:
            row = next(row for row in cases.disagreements(work) if row.id == number)
            names = {"topic": row.topic, "doc": row.doc}
            return visit.go(_address(visit, "pair", **names, objection=str(number)))
        sides = cases.disagreement(work, expert, number)
        data = {
            **_shared(visit, work),
            **_document(visit, work, sides.topic, sides.doc, pair_id),
            "own": own,
            "found": sides,
            "reply": visit.text("reply"),
            "right": visit.text("right"),
        }
    return visit.show("expert/objection.html.j2", **data)


@router.post("/campaigns/{name}/experts/objections/{number}")
def answer(number: int, visit: ExpertVisit) -> Response:
    """Answer it."""
    right, reply = visit.text("right"), visit.text("reply")
    try:
        if right not in ("yes", "no"):
            raise RuleError("malformed", "say who is right")
        with writing(visit.member) as (work, expert):
            cases.answer_disagreement(
                work, visit.member.name, expert, number, right=right == "yes", reply=reply
            )
    except RuleError as error:
        if error.code != "malformed":
            raise
        return objection(number, visit.with_problem(error, 409))
    return visit.go(visit.address("/experts"), Text("office.objection.sent"))


# --- for organisers: the error rate, what experts decided, what that moves ------------------------


@router.get("/campaigns/{name}/decisions")
def decisions(visit: ReaderVisit) -> Response:
    """What experts found, and which systems' scores that moves."""
    with visit.read() as work:
        moved, waiting = jobs.latest(work, "decisions"), cases.waiting(work)
        clarified = clarification.clarifications(work)
        data = {
            "rate": expert_sample.error_rate(work),
            "sampled": waiting.sampled,
            "disputed": waiting.disputed,
            "missed": waiting.missed,
            "objections": len(cases.disagreements(work)),
            "decided": cases.decisions(work)[:MOST_DECISIONS],
            "clarified": [(row, clarification.words_of(row)) for row in clarified],
            "reversible": audit.reversible(work, clarified),
            "moved": moved,
            "each": {
                (row["topic"], row["doc"]): row for row in (moved.result["each"] if moved else ())
            },
            **_scale(work),
            **visit.top(work, "/decisions"),
        }
    return visit.show("organiser/decisions.html.j2", **data)


@router.post("/campaigns/{name}/decisions/sample")
def draw(visit: ManagerVisit) -> Response:
    """Draw judgements for experts to judge again."""
    size = visit.number("size")
    try:
        if not size or size > LARGEST_SAMPLE:
            raise RuleError("malformed", "how many judgements: a whole number from 1 on")
        with visit.write() as work:
            act = audit.perform(work, visit.member.name, "draw sample", {"size": size})
    except RuleError as error:
        return decisions(visit.with_problem(error, 409))
    return visit.go(visit.address("/decisions"), Text("office.decisions.drawn-now"), act)


@router.post("/campaigns/{name}/decisions/effect")
def effect(visit: ManagerVisit) -> Response:
    """Ask which systems' scores the decisions move."""
    with visit.write() as work:
        last = jobs.latest(work, "merge")
        method = str(last.parameters.get("method", "mv")) if last else "mv"
        jobs.ask(work, "decisions", {"method": method})
    return visit.go(visit.address("/decisions"), Text("office.decisions.begun"))
