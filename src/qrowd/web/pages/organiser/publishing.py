"""Releases: what would be published, asked twice; those that were made."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from fastapi.responses import FileResponse

from qrowd.collection.books.progress import status
from qrowd.collection.material import clarification
from qrowd.collection.publishing import release
from qrowd.errors import QrowdError, RuleError
from qrowd.web import jobs
from qrowd.web.access import Member
from qrowd.web.api import releases
from qrowd.web.api.releases import ReleaseWanted
from qrowd.web.folders import Place
from qrowd.web.pages.organiser.frame import (
    Question,
    Visit,
    Visiting,
    campaign_address,
    page_router,
)
from qrowd.web.pages.organiser.overview import top

router = page_router()
PAGE = "/releases"
METHODS = (
    ("auto", "auto: what fits best"),
    ("mv", "mv: majority vote"),
    ("ds", "ds: weighs judges by their errors"),
)


@router.get("/campaigns/{name}/releases")
def listed(name: str, visit: Visiting) -> Response:
    """What a release holds, and the releases so far."""
    return _page(visit, name)


def _page(visit: Visit, name: str, problem: str = "") -> Response:
    member = visit.organiser(name, "export")
    data = {
        **top(member, name, PAGE),
        **_plan(visit, member),
        "made": releases.made_so_far(member, visit.settings)[::-1],
        "methods": METHODS,
        "method": visit.text("method", "auto"),
        "problem": problem,
        "day": clarification.day,
    }
    return visit.show("organiser/releases.html.j2", status=409 if problem else 200, **data)


def _plan(visit: Visit, member: Member) -> dict[str, Any]:
    place = Place(member.store, visit.settings.folder, member.campaign)
    with member.store.read(member.campaign) as work:
        found, plan = status(work), work.plan
        waiting = jobs.unfinished(work, "release")
    return {
        "found": found,
        "says": plan.release,
        "consent": bool(plan.people.consent),
        "runs": sum(1 for _ in place.runs.iterdir()),
        "job": waiting,
    }


@router.post("/campaigns/{name}/releases")
def make(name: str, visit: Visiting) -> Response:
    """Make one, once it is asked twice."""
    member = visit.organiser(name, "export")
    method = visit.text("method", "auto")
    try:
        releases.refuse_unusable(ReleaseWanted(method=method[:300]))
        if not visit.sure:
            return visit.ask(_question(member, name))
        releases.ask(ReleaseWanted(method=method[:300], sure=True), member)
    except QrowdError as error:
        return _page(visit, name, str(error))
    told = "The release is being made; look again in a moment."
    return visit.go(campaign_address(name, PAGE), told=told)


def _question(member: Member, name: str) -> Question:
    with member.store.read(member.campaign) as work:
        found, plan, earlier = status(work), work.plan, len(release.releases(work))
    texts = "with their texts" if plan.release.text else "as ids, without their texts"
    follows = [
        f"{found.held:,} of {found.wanted:,} judgements are there.",
        f"Documents are included {texts}.",
        "People are numbers drawn at random; times and reasons are left out.",
        "Whoever gets it can keep it: later deletions do not reach it.",
    ]
    if earlier:
        follows.append(f"There are {earlier} earlier releases; this one replaces none.")
    back = campaign_address(name, PAGE)
    return Question("Make a release?", follows, "", "Make the release", back, final=True)


@router.get("/campaigns/{name}/releases/{number}/zip")
def download(name: str, number: int, visit: Visiting) -> FileResponse:
    """The zip."""
    if not 1 <= number < 2**31:
        raise RuleError("not-found", f"there is no release {number}")
    return releases.download(number, visit.organiser(name, "export"), visit.settings)
