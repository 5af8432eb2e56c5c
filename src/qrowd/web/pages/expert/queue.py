"""What waits for an expert, the topics, and a whole topic for somebody who judges all of it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import Response

from qrowd.collection.adjudication import cases
from qrowd.collection.database.store import Work
from qrowd.collection.material import clarification
from qrowd.errors import RuleError
from qrowd.web.access import Member
from qrowd.web.api.experts import reading
from qrowd.web.pages.organiser.frame import Visit, Visiting, campaign_address, page_router

router = page_router()
RECENT = 20


def shared(work: Work, name: str) -> dict[str, Any]:
    """What every page of an expert shows: the campaign, its grades."""
    plan = work.plan
    labels = plan.scale.labels or tuple(str(grade) for grade in plan.scale.grades)
    return {
        "name": name,
        "title": plan.campaign.title or work.name,
        "labels": dict(zip(plan.scale.grades, labels, strict=True)),
        "relevant_from": plan.scale.relevant_from,
        "day": clarification.day,
        "home": campaign_address(name, "/experts"),
        "pair_at": lambda topic, doc: pair_address(name, topic, doc),
        "topic_at": lambda topic: topic_address(name, topic),
    }


def pair_address(name: str, topic: str, doc: str, **more: str) -> str:
    """The address of a pair's page."""
    asked = urlencode({"topic": topic, "doc": doc, **more})
    return f"{campaign_address(name, '/experts/pair')}?{asked}"


def topic_address(name: str, topic: str) -> str:
    """The address of a topic's page."""
    return f"{campaign_address(name, '/experts/topic')}?{urlencode({'topic': topic})}"


@router.get("/campaigns/{name}/experts")
def home(name: str, visit: Visiting) -> Response:
    """What waits, topics, and what was decided."""
    member = visit.expert(name)
    with reading(member) as (work, number):
        found = cases.waiting(work)
        data = {
            **shared(work, name),
            "waiting": len(found.pairs),
            "sampled": found.sampled,
            "disputed": found.disputed,
            "topics": cases.topics(work, number),
            "objections": cases.disagreements(work),
            "decided": cases.decisions(work, number)[:RECENT],
        }
    return visit.show("expert/home.html.j2", **data)


@router.get("/campaigns/{name}/experts/next")
def following(name: str, visit: Visiting, topic: str = "") -> Response:
    """To the next document: of what waits, or of a topic that is judged whole."""
    return go_on(visit, visit.expert(name), name, topic)


def go_on(visit: Visit, member: Member, name: str, topic: str, told: str = "") -> Response:
    """To the next document, which shows what was done; or to the list, if there is none."""
    found = _next_of_topic(member, topic) if topic else _next(member)
    if found is not None:
        more = {"whole": "yes"} if topic else {}
        return visit.go(pair_address(name, *found, **more), told=told)
    over = "This topic is judged." if topic else "Nothing waits any more. Thank you."
    home = topic_address(name, topic) if topic else campaign_address(name, "/experts")
    return visit.go(home, told=f"{told} {over}".strip())


def _next(member: Member) -> tuple[str, str] | None:
    with member.store.read(member.campaign) as work:
        found = cases.queue(work)
    return (found[0].topic, found[0].doc) if found else None


def _next_of_topic(member: Member, topic: str) -> tuple[str, str] | None:
    with reading(member) as (work, number):
        for row in cases.of_topic(work, topic):
            if cases.own_decision(work, number, row.id) is None:
                return topic, row.doc
    return None


@router.get("/campaigns/{name}/experts/topic")
def whole_topic(name: str, visit: Visiting, topic: str = "") -> Response:
    """A whole topic: what it asks for, its documents, and what was decided on them."""
    member = visit.expert(name)
    with reading(member) as (work, number):
        pairs = cases.of_topic(work, topic)
        if not pairs:
            raise RuleError("not-found", f"there is no topic {topic!r} with documents here")
        decided = {one.pair: one for one in cases.decisions(work, number, topic)}
        own = {row.id for row in pairs if cases.own_decision(work, number, row.id)}
        data = {
            **shared(work, name),
            "topic": topic,
            "text": clarification.topic_named(work, topic),
            "pairs": pairs,
            "decided": decided,
            "own": own,
            "clarified": clarification.clarifications(work, topic),
        }
    return visit.show("expert/topic.html.j2", **data)
