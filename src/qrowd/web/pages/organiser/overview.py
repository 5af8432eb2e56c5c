"""What all pages of one campaign have at their top."""

from __future__ import annotations

from typing import Any

from qrowd.web.access import Member
from qrowd.web.pages.organiser.frame import TABS


def top(member: Member, name: str, tab: str = "") -> dict[str, Any]:
    """What `organiser/campaign.html.j2` wants to know."""
    with member.store.read(member.campaign) as work:
        title, state = work.plan.campaign.title or work.name, work.state
    return {
        "member": member,
        "name": name,
        "title": title,
        "state": state,
        "tab": tab,
        "tabs": TABS,
    }
