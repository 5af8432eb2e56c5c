"""Experts, as the organiser sees them: the error rate, what they decided, what that moves."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from qrowd.collection.adjudication import cases, expert_sample
from qrowd.collection.material import clarification
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.web import jobs
from qrowd.web.access import Member
from qrowd.web.api.experts import SampleWanted, draw_for_experts
from qrowd.web.pages.organiser.frame import Visit, Visiting, campaign_address, page_router
from qrowd.web.pages.organiser.overview import top

router = page_router()
PAGE = "/decisions"
MOST = 200


@router.get("/campaigns/{name}/decisions")
def decisions(name: str, visit: Visiting) -> Response:
    """What experts found, and which systems' scores that moves."""
    return _page(visit, name)


def _page(visit: Visit, name: str, problem: str = "") -> Response:
    member = visit.organiser(name)
    data = {**top(member, name, PAGE), **_found(member), "problem": problem}
    return visit.show("organiser/decisions.html.j2", status=409 if problem else 200, **data)


def _found(member: Member) -> dict[str, Any]:
    with member.store.read(member.campaign) as work:
        plan, moved = work.plan, jobs.latest(work, "decisions")
        labels = plan.scale.labels or tuple(str(grade) for grade in plan.scale.grades)
        found = cases.waiting(work)
        undone = audit.reversible(work, clarification.clarifications(work))
        return {
            "rate": expert_sample.error_rate(work),
            "sampled": found.sampled,
            "disputed": found.disputed,
            "objections": len(cases.disagreements(work)),
            "decided": cases.decisions(work)[:MOST],
            "labels": dict(zip(plan.scale.grades, labels, strict=True)),
            "relevant_from": plan.scale.relevant_from,
            "clarified": [
                (row, clarification.words_of(row)) for row in clarification.clarifications(work)
            ],
            "reversible": undone,
            "moved": moved,
            "each": _each(moved),
            "share": plan.techniques.expert_share,
            "day": clarification.day,
        }


def _each(moved: jobs.Result | None) -> dict[tuple[str, str], Any]:
    rows = moved.result["each"] if moved else []
    return {(row["topic"], row["doc"]): row for row in rows}


@router.post("/campaigns/{name}/decisions/sample")
def draw(name: str, visit: Visiting) -> Response:
    """Draw judgements for experts to judge again."""
    member = visit.organiser(name, "manage")
    size = visit.text("size")
    try:
        if not size.isdecimal() or len(size) > 18 or not 0 < int(size) <= 1_000_000:
            raise RuleError("malformed", "how many judgements: a whole number from 1 on")
        done = draw_for_experts(SampleWanted(size=int(size)), member)
    except RuleError as error:
        return _page(visit, name, str(error))
    return visit.go(campaign_address(name, PAGE), told="Drawn for experts.", undo=done.number)


@router.post("/campaigns/{name}/decisions/effect")
def effect(name: str, visit: Visiting) -> Response:
    """Ask which systems' scores the decisions move."""
    member = visit.organiser(name, "manage")
    with member.store.write(member.campaign) as work:
        last = jobs.latest(work, "merge")
        method = str(last.parameters.get("method", "mv")) if last else "mv"
        jobs.ask(work, "decisions", {"method": method})
    told = "It is being worked out; look again in a moment."
    return visit.go(campaign_address(name, PAGE), told=told)
