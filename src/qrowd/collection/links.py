"""Signed links that let one person in, until a day: no server is needed to make them.

A link holds who it is for and until when, signed with the campaign's own secret.
"""

from __future__ import annotations

from itsdangerous import BadSignature, URLSafeSerializer
from sqlalchemy import select

from qrowd.collection.plan import DAY
from qrowd.collection.schema import campaign
from qrowd.collection.store import Work
from qrowd.errors import RuleError

PLATFORM = "link"
_ENDED = "this link has ended; please ask for a new one"
_BROKEN = "this link is not complete; please copy all of it"


def make_link(work: Work, person: str, days: float = 30) -> str:
    """The signed text that lets `person` in for so many days."""
    until = work.now + round(days * DAY)
    return str(_signer(work).dumps({"person": person, "until": until}))


def open_link(work: Work, link: str) -> str:
    """Who a link is for; an error where it was changed, or its time is over."""
    try:
        held = _signer(work).loads(link)
    except BadSignature:
        raise RuleError("expired-link", _BROKEN) from None
    if held["until"] <= work.now:
        raise RuleError("expired-link", _ENDED)
    return str(held["person"])


def _signer(work: Work) -> URLSafeSerializer:
    secret = work.db.scalar(select(campaign.c.secret).where(campaign.c.id == work.campaign))
    return URLSafeSerializer(str(secret), salt="worker-link")
