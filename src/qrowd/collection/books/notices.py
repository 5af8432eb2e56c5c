"""What an organiser should know, once each, until it is dealt with."""

from __future__ import annotations

from sqlalchemy import select

from qrowd.collection.database.schema import notice
from qrowd.collection.database.store import Row, Work


def tell(work: Work, kind: str, text: str, about: str = "") -> None:
    """Tell the organiser, unless that was told already."""
    same = (notice.c.kind == kind) & (notice.c.about == about)
    if not work.count(notice, work.own(notice), same):
        work.insert(notice, at=work.now, kind=kind, about=about, text=text)


def notices(work: Work) -> list[Row]:
    """What was told and is not dealt with, the newest first."""
    query = select(notice).where(work.own(notice), notice.c.settled_at.is_(None))
    return work.rows(query.order_by(notice.c.id.desc()))


def dealt_with(work: Work, number: int) -> None:
    """Take a notice off the list."""
    work.update(notice, work.own(notice), notice.c.id == number, settled_at=work.now)
