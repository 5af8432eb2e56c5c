"""What an organiser should know, once each, until it is dealt with."""

from __future__ import annotations

from sqlalchemy import insert, select, update

from qrowd.collection.database.schema import notice
from qrowd.collection.database.store import Found, Work


def tell(work: Work, kind: str, text: str, about: str = "") -> None:
    """Tell the organiser, unless that was told already."""
    own = (notice.c.campaign_id == work.campaign) & (notice.c.kind == kind)
    same = own & (notice.c.about == about)
    if work.db.scalar(select(notice.c.id).where(same)) is None:
        values = {"campaign_id": work.campaign, "at": work.now, "kind": kind, "about": about}
        work.db.execute(insert(notice).values(**values, text=text))


def notices(work: Work) -> list[Found]:
    """What was told and is not dealt with, the newest first."""
    mine = (notice.c.campaign_id == work.campaign) & notice.c.settled_at.is_(None)
    return list(work.db.execute(select(notice).where(mine).order_by(notice.c.id.desc())))


def dealt_with(work: Work, number: int) -> None:
    """Take a notice off the list."""
    mine = (notice.c.campaign_id == work.campaign) & (notice.c.id == number)
    work.db.execute(update(notice).where(mine).values(settled_at=work.now))
