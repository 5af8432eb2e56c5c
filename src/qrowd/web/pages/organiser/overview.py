"""A campaign that was made: how it goes at a glance; and taking an act back."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from qrowd.collection.status import status
from qrowd.web.access import Member
from qrowd.web.api import manage
from qrowd.web.pages.organiser.frame import TABS, Visiting, campaign_address, page_router

router = page_router()


def top(member: Member, name: str, tab: str = "") -> dict[str, Any]:
    """What `organiser/campaign.html.j2` wants to know."""
    with member.store.read(member.campaign) as work:
        title, state = work.plan.campaign.title or work.name, work.state
    return {"member": member, "name": name, "title": title, "state": state, "tab": tab,
            "tabs": TABS}  # fmt: skip


@router.get("/campaigns/{name}")
def overview(name: str, visit: Visiting) -> Response:
    """How it goes."""
    member = visit.organiser(name)
    with member.store.read(member.campaign) as work:
        found, pay = status(work), work.plan.pay
    facts = [
        ("of the judgements", f"{found.share:.0%}", f"{found.held:,} of {found.wanted:,}"),
        ("spent", pay.shown(found.money.owed + found.money.settled),
         f"of {pay.shown(found.money.budget)}"),
        ("workers", f"{sum(found.workers.values()):,}", ""),
    ]  # fmt: skip
    return visit.show("organiser/overview.html.j2", facts=facts, **top(member, name))


@router.post("/campaigns/{name}/acts/{number}/undo")
def take_back(name: str, number: int, visit: Visiting) -> Response:
    """Undo an act."""
    manage.undo(number, visit.organiser(name, "manage"))
    return visit.go(campaign_address(name), told="Taken back.")
