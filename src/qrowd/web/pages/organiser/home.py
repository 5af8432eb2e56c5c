"""Home: the campaigns that are open to whoever is signed in, and how they go."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Response

from qrowd.collection.books.ledger import balance
from qrowd.collection.books.notices import notices
from qrowd.collection.books.progress import coverage
from qrowd.web.access import as_member
from qrowd.web.api import campaigns
from qrowd.web.api.campaigns import Listed
from qrowd.web.pages.organiser.frame import (
    Anybody,
    Visit,
    Visiting,
    campaign_address,
    page_router,
)
from qrowd.web.pages.organiser.questions import QUESTIONS
from qrowd.web.pages.organiser.wizard import drafts_of

router = page_router()
STATES = {
    "draft": "made, not launched",
    "running": "running",
    "paused": "paused",
    "closed": "closed",
}


@dataclass(frozen=True)
class Line:
    """A campaign in the list."""

    name: str
    title: str
    state: str
    share: float
    spent: str  # as budget and notices, for organisers only
    budget: str
    notices: int
    role: str

    @property
    def address(self) -> str:
        """The page that this one's role opens."""
        return campaign_address(self.name, "/experts" if self.role == "expert" else "")


@router.get("/")
def door(visit: Anybody) -> Response:
    """To the campaigns, or to sign in first."""
    return visit.go("/campaigns")


@router.get("/campaigns")
def home(visit: Visiting) -> Response:
    """The campaigns and their state."""
    found = campaigns.listed(visit.signed, visit.store)
    lines = [_line(visit, one) for one in found]
    return visit.show(
        "organiser/home.html.j2",
        lines=lines,
        states=STATES,
        drafts=drafts_of(visit),
        questions=len(QUESTIONS),
    )


def _line(visit: Visit, one: Listed) -> Line:
    with visit.store.read(one.name) as work:
        money, pay = balance(work), work.plan.pay
        wanted, held = coverage(work)
        who = as_member(visit.store, visit.signed, work.campaign, "organiser")
        may_know = who.role == "organiser" and "read" in who.scopes
        return Line(
            name=one.name,
            title=work.plan.campaign.title or one.name,
            state=one.state,
            share=held / wanted if wanted else 1.0,
            spent=pay.shown(money.owed + money.settled) if may_know else "",
            budget=pay.shown(money.budget) if money.budget and may_know else "",
            notices=len(notices(work)) if may_know else 0,
            role=who.role,
        )
