"""The pages of experts: a queue, a document judged blind and then decided, a topic, objections;
and what the organiser sees of it.

    ADDRESS                                  WHAT
    /campaigns/NAME/experts                  what waits, topics, own decisions
    /campaigns/NAME/experts/next             to the next document that waits
    /campaigns/NAME/experts/topic?topic=     a whole topic, earlier decisions
    /campaigns/NAME/experts/pair?topic=&doc= judge blind; then see, and decide
    /campaigns/NAME/experts/take-back        an own decision: the case waits again
    /campaigns/NAME/experts/reading?...      a document for the reader
    /campaigns/NAME/experts/following?...    what comes after it
    /campaigns/NAME/experts/alike?...        documents that are alike
    /campaigns/NAME/experts/original/TICKET  a document's original, for a frame (/N: of a page)
    /campaigns/NAME/experts/objections/N     an "I disagree": both sides, an answer
    /campaigns/NAME/decisions                for organisers: the error rate, decisions, their effect

What judges said comes from functions that refuse it before the expert's own judgement; no page of
experts knows anything about systems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from fastapi import Response
from itsdangerous import BadSignature

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
from qrowd.web.pages.judging import (
    Reading,
    page_data,
    readable,
    shown_original,
    shown_picture,
)

router = page_router()
RECENT = 20
MOST_DECISIONS = 200  # on the organiser's page
LARGEST_SAMPLE = 1_000_000
# why most judges said something else, and the key for it
KEYS_OF_CODES = {
    "missed passage": "m",
    "misread topic": "t",
    "borderline": "l",
    "broken page": "b",
    "careless": "c",
    "gold wrong": "g",
}


def _scale(work: Work) -> dict[str, Any]:
    """How grades are shown."""
    scale = work.plan.scale
    return {"labels": scale.names, "relevant_from": scale.relevant_from}


def _shared(visit: CampaignVisit, work: Work) -> dict[str, Any]:
    """What every page of an expert shows: the campaign, its grades."""
    return {
        "name": visit.name,
        "title": work.plan.campaign.title or work.name,
        **_scale(work),
        "home": visit.address("/experts"),
        "pair_at": lambda topic, doc: _address(visit, "pair", topic=topic, doc=doc),
        "topic_at": lambda topic: _address(visit, "topic", topic=topic),
        "reading_at": lambda topic, doc: _address(visit, "reading", topic=topic, doc=doc),
        "data": page_data({"name": visit.name}, visit.language),
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


def _go_on(visit: CampaignVisit, topic: str, grade: str = "") -> Response:
    """To the next document, or to the list if there is none; it shows what was decided."""
    row = _foreseen(visit, topic) or _following(visit, topic)
    decided = ".decided" if grade else ""
    if row is not None:
        said = Text("office.expert.done", grade=grade) if grade else None
        return visit.go(_case(visit, row.topic, row.doc, topic), said)
    if topic:
        done = Text(f"office.expert.topic-done{decided}", grade=grade)
        return visit.go(_address(visit, "topic", topic=topic), done)
    return visit.go(
        visit.address("/experts"), Text(f"office.expert.all-done{decided}", grade=grade)
    )


def _case(visit: CampaignVisit, topic: str, doc: str, whole: str) -> str:
    more = {"whole": "yes"} if whole else {}
    return _address(visit, "pair", topic=topic, doc=doc, **more)


def _following(
    visit: CampaignVisit, topic: str, but: tuple[str, str] = ("", "")
) -> expert_sample.NamedPair | None:
    """The next document that waits, or the next of a topic that is judged whole."""
    with reading(visit.member) as (work, expert):
        if not topic:
            rows = cases.queue(work)
        else:
            own = set(work.db.scalars(cases.judged_by(expert)))
            rows = [row for row in cases.of_topic(work, topic) if row.id not in own]
    return next((row for row in rows if (row.topic, row.doc) != but), None)


def _foreseen(visit: CampaignVisit, topic: str) -> expert_sample.NamedPair | None:
    """What the page has fetched, if it still waits: the queue of a large campaign takes long."""
    names = visit.text("next_topic"), visit.text("next_doc")
    if not all(names):
        return None
    with reading(visit.member) as (work, expert):
        return cases.still_open(work, expert if topic else None, *names)


@router.get("/campaigns/{name}/experts/following")
def upcoming(visit: ExpertVisit, topic: str, doc: str, whole: str = "") -> dict[str, str] | None:
    """What comes after a document, and where its text is, so that it can be fetched before."""
    row = _following(visit, topic if whole else "", (topic, doc))
    if row is None:
        return None
    where = _address(visit, "reading", topic=row.topic, doc=row.doc)
    return {"topic": row.topic, "doc": row.doc, "reading": where}


# --- a document: judged blind; then what judges said, what is alike, and the decision -------------


@router.get("/campaigns/{name}/experts/pair")
def pair(visit: ExpertVisit, topic: str = "", doc: str = "") -> Response:
    """The document, to be judged blind; what judges said once that is done."""
    asked = visit.request.query_params
    whole = visit.text("whole") or asked.get("whole", "")
    with reading(visit.member) as (work, expert):
        pair_id = expert_sample.pair_named(work, topic, doc)
        own = cases.own_decision(work, expert, pair_id)
        decided = cases.decisions(work, expert, topic)
        scale = work.plan.scale
        data = {
            **_shared(visit, work),
            **_document(work, topic, doc, pair_id),
            "own": own,
            "whole": whole,
            "objection": visit.text("objection") or asked.get("objection", ""),
            "earlier": [decision for decision in decided if decision.pair != pair_id],
            "last": cases.last_own(work, expert),
            "alike_at": _address(visit, "alike", topic=topic, doc=doc),
            "following": _address(visit, "following", topic=topic, doc=doc, whole=whole),
            "leave": visit.address("/experts/next")
            + (f"?{urlencode({'topic': topic})}" if whole else ""),
            "digits": all(0 <= grade <= 9 for grade in scale.grades),
        }
        if own is not None:
            kept = _grade(visit, scale.grades) if visit.problem else None
            data |= _seen(work, expert, pair_id, own.grade if kept is None else kept)
    return visit.show("expert/case.html.j2", **data)


@router.post("/campaigns/{name}/experts/pair")
def judge(visit: ExpertVisit) -> Response:
    """Keep the blind judgement, or the decision after it.

    Where all who judged it say what the expert says at first, there is nothing to weigh.
    """
    topic, doc = visit.text("topic"), visit.text("doc")
    try:
        grade, is_done = _keep(visit, topic, doc)
    except RuleError as error:
        if error.code == "not-found":
            raise
        return pair(visit.with_problem(error, 409), topic, doc)
    whole = topic if visit.text("whole") else ""
    if visit.text("objection").isdecimal() and visit.text("step") != "decide":
        return visit.go(visit.address(f"/experts/objections/{visit.text('objection')}"))
    if not is_done:
        return visit.go(_case(visit, topic, doc, whole))
    return _go_on(visit, whole, grade)


def _keep(visit: CampaignVisit, topic: str, doc: str) -> tuple[str, bool]:
    """Keep a grade; its name, and whether the case is done: what judges said had been seen, or is
    the same.
    """
    reason, code, words = visit.text("reason"), visit.text("code"), visit.text("clarify")
    with writing(visit.member) as (work, expert):
        scale = work.plan.scale
        grade = _grade(visit, scale.grades)
        if grade is None:
            raise RuleError("malformed", "choose a grade")
        pair_id = expert_sample.pair_named(work, topic, doc)
        seen = cases.own_decision(work, expert, pair_id) is not None
        if seen and visit.text("step") != "decide":
            raise RuleError("conflict", "you have judged this document before; decide below")
        if seen and not code and _is_against_most(work, expert, pair_id, grade):
            raise RuleError("malformed", "most judges said something else: choose why")
        cases.decide(work, expert, pair_id, grade, reason, code if seen else "")
        if seen and words:
            details = {"topic": topic, "text": words}
            audit.perform(work, visit.member.name, clarification.ACT, details)
        return scale.names[grade], seen or cases.is_agreed(work, expert, pair_id)


def _grade(visit: CampaignVisit, grades: Sequence[int]) -> int | None:
    """The grade of the button that was pressed, else the one that the page kept."""
    text = visit.text("grade") or visit.text("kept")
    return next((grade for grade in grades if str(grade) == text), None)


@router.post("/campaigns/{name}/experts/take-back")
def take_back(visit: ExpertVisit) -> Response:
    """Take back an own decision, and see the document again."""
    topic, doc = visit.text("topic"), visit.text("doc")
    with writing(visit.member) as (work, expert):
        pair_id = expert_sample.pair_named(work, topic, doc)
        cases.take_back(work, visit.member.name, expert, pair_id)
    address = _case(visit, topic, doc, visit.text("whole"))
    return visit.go(address, Text("office.expert.taken-back"))


def _is_against_most(work: Work, expert: int, pair_id: int, grade: int) -> bool:
    """Whether most judges disagree about relevance."""
    bound = work.plan.scale.relevant_from
    votes = [vote.grade for vote in cases.votes(work, expert, pair_id) if vote.grade is not None]
    agree = sum((vote >= bound) == (grade >= bound) for vote in votes)
    return 2 * agree < len(votes)


def _document(work: Work, topic: str, doc: str, pair_id: int) -> dict[str, Any]:
    """What a template needs to show a topic and a document."""
    return {
        "topic": topic,
        "doc": doc,
        "text": clarification.topic_named(work, topic),
        "read_title": document_of(work, pair_id).title,
        "passages": "",
    }


def _seen(work: Work, expert: int, pair_id: int, kept: int) -> dict[str, Any]:
    """What judges said, and what is alike; `kept` is the grade that stands."""
    votes, gold = cases.votes(work, expert, pair_id), cases.gold_says(work, expert, pair_id)
    counts = Counter(vote.grade for vote in votes if vote.grade is not None)
    passages = [passage for vote in votes for passage in vote.passages]
    return {
        "votes": votes,
        "gold": gold,
        "counts": counts,
        "most": max(counts.values(), default=1),
        "kept": kept,
        "against": _is_against_most(work, expert, pair_id, kept),
        "codes": KEYS_OF_CODES,
        "passages": "\n".join([*passages, gold.passage if gold else ""]),
    }


@router.get("/campaigns/{name}/experts/alike")
def alike(visit: ExpertVisit, topic: str = "", doc: str = "") -> Response:
    """The part of a page that says which documents are alike, once this one is judged."""
    with reading(visit.member) as (work, expert):
        pair_id = expert_sample.pair_named(work, topic, doc)
        found = neighbours.neighbours(work, expert, pair_id)
        data = {**_shared(visit, work), "topic": topic, "alike": found}
    return visit.show("expert/alike.html.j2", **data)


@router.get("/campaigns/{name}/experts/reading")
def document(visit: ExpertVisit, response: Response, topic: str = "", doc: str = "") -> Reading:
    """A document for the reader, made safe."""
    response.headers["Cache-Control"] = "private, max-age=3600"
    ticket = visit.settings.signer("original").dumps([topic, doc])
    with visit.read() as work:
        body = document_of(work, expert_sample.pair_named(work, topic, doc))
    return readable(body, visit.address(f"/experts/original/{ticket}"), visit.settings)


@router.get("/campaigns/{name}/experts/original/{ticket}")
@router.get("/campaigns/{name}/experts/original/{ticket}/{page}")
def original(visit: ExpertVisit, ticket: str, page: int = 0) -> Response:
    """The original in a frame, or a page's picture: nothing in it runs, loads or leads anywhere."""
    try:
        topic, doc = visit.settings.signer("original").loads(ticket)
    except BadSignature:
        raise RuleError("not-found", "there is no such document") from None
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
            **_document(work, sides.topic, sides.doc, pair_id),
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
