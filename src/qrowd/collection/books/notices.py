"""What an organiser should know, until it is dealt with; what is told again is shown again."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import select

from qrowd.collection.database.schema import Notice, notice
from qrowd.collection.database.store import Work
from qrowd.texts import Text


def tell(work: Work, kind: str, about: str = "", **values: Any) -> None:
    """Tell the organiser `office.notice.KIND`, unless that is on the list already."""
    same = work.own(notice) & (notice.c.kind == kind) & (notice.c.about == about)
    told = work.row(select(notice).where(same), Notice)
    if told is not None and told.settled_at is None:
        return
    work.delete(notice, same)  # told again, it is the newest
    text, details = str(Text(f"office.notice.{kind}", **values)), json.dumps(values)
    work.insert(notice, at=work.now, kind=kind, about=about, text=text, details=details)


def text_of(row: Notice) -> Text:
    """What a notice says; those of earlier versions have English words only."""
    if row.details:
        return Text(f"office.notice.{row.kind}", **json.loads(row.details))
    return Text("office.notice.earlier", words=f"{row.text[:1].upper()}{row.text[1:]}")


def notices(work: Work) -> list[Notice]:
    """What was told and is not dealt with, the newest first."""
    query = select(notice).where(work.own(notice), notice.c.settled_at.is_(None))
    return work.rows(query.order_by(notice.c.id.desc()), Notice)


def settle(work: Work, kind: str) -> None:
    """Take the notices of a kind off the list, once what they tell is over."""
    work.update(notice, work.own(notice), notice.c.kind == kind, settled_at=work.now)


def dealt_with(work: Work, number: int) -> None:
    """Take a notice off the list."""
    work.update(notice, work.own(notice), notice.c.id == number, settled_at=work.now)
