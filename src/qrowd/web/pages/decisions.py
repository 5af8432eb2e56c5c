"""Experts, as the organiser sees them: the error rate, what they decided, what that moves."""

from __future__ import annotations

from fastapi import Response

from qrowd.collection.adjudication import cases, expert_sample
from qrowd.collection.material import clarification
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.web import jobs
from qrowd.web.pages.frame import CampaignVisit, ManagerVisit, ReaderVisit, page_router

router = page_router()
PAGE = "/decisions"
MOST = 200
LARGEST_SAMPLE = 1_000_000


@router.get("/campaigns/{name}/decisions")
def decisions(visit: ReaderVisit) -> Response:
    """What experts found, and which systems' scores that moves."""
    return _page(visit)


def _page(visit: CampaignVisit, problem: str = "") -> Response:
    with visit.read() as work:
        scale, moved = work.plan.scale, jobs.latest(work, "decisions")
        labels = scale.labels or tuple(str(grade) for grade in scale.grades)
        waiting, clarified = cases.waiting(work), clarification.clarifications(work)
        data = {
            "rate": expert_sample.error_rate(work),
            "sampled": waiting.sampled,
            "disputed": waiting.disputed,
            "objections": len(cases.disagreements(work)),
            "decided": cases.decisions(work)[:MOST],
            "labels": dict(zip(scale.grades, labels, strict=True)),
            "relevant_from": scale.relevant_from,
            "clarified": [(row, clarification.words_of(row)) for row in clarified],
            "reversible": audit.reversible(work, clarified),
            "moved": moved,
            "each": {
                (row["topic"], row["doc"]): row for row in (moved.result["each"] if moved else ())
            },
            "share": work.plan.techniques.expert_share,
            "day": clarification.day,
            "problem": problem,
            **visit.top(work, PAGE),
        }
    return visit.show("organiser/decisions.html.j2", status=409 if problem else 200, **data)


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
        return _page(visit, str(error))
    return visit.go(visit.address(PAGE), message="Drawn for experts.", undo=act)


@router.post("/campaigns/{name}/decisions/effect")
def effect(visit: ManagerVisit) -> Response:
    """Ask which systems' scores the decisions move."""
    with visit.write() as work:
        last = jobs.latest(work, "merge")
        method = str(last.parameters.get("method", "mv")) if last else "mv"
        jobs.ask(work, "decisions", {"method": method})
    message = "It is being worked out; look again in a moment."
    return visit.go(visit.address(PAGE), message=message)
