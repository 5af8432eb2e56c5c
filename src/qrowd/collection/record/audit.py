"""What organisers did: each act is written down with what it changed, and most can be undone.

    launch(work, who)                     an act of its own
    perform(work, who, "raise target", {"target": 5})
    undo(work, who, number)               a new act that takes back an earlier one

`acts.ACTS` is the whole list. An act without an undo (message, settle, forget, release; launch
after the first lease) must be asked twice: `sure=True`. Two people may act at once: `seen` is the
number of the last act that somebody knew of; an act on the same thing after it is a conflict, and
nothing is done. An act is undone only while nothing later changed the same thing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, insert, select

from qrowd.collection.database.schema import audit
from qrowd.collection.database.store import Found, Work, new_id
from qrowd.collection.record.act import checked, known_acts, subject_of
from qrowd.errors import RuleError, UnknownNameError


def perform(
    work: Work,
    who: str,
    act: str,
    details: Mapping[str, Any] | None = None,
    *,
    sure: bool = False,
    seen: int | None = None,
) -> int:
    """Do an act and write it down; its number, for `undo`."""
    known = known_acts()
    if act not in known:
        raise UnknownNameError.among("act", act, known)
    if known[act].undo is None and not sure:
        raise RuleError("ask-twice", f"{act} cannot be undone; confirm it")
    given = checked(act, details or {})
    refuse_unseen(work, act, given, seen)
    changed = known[act].do(work, given)
    return record(work, who, act, {**given, **changed})


def record(
    work: Work, who: str, act: str, details: Mapping[str, Any], undoes: int | None = None
) -> int:
    """Write an act down; its number."""
    text = json.dumps(details, sort_keys=True)
    values = {"campaign_id": work.campaign, "at": work.now, "who": who, "act": act}
    return new_id(work.db.execute(insert(audit).values(**values, details=text, undoes=undoes)))


def undo(work: Work, who: str, number: int) -> int:
    """Take an act back: a new act, which cannot be taken back twice."""
    row = found(work, number)
    if work.db.scalar(select(audit.c.id).where(audit.c.undoes == number)) is not None:
        raise RuleError("conflict", f"act {number} was undone already")
    act = known_acts().get(row.act)
    if act is None or act.undo is None:
        raise RuleError("not-allowed", f"{row.act} cannot be undone")
    details = json.loads(row.details)
    later = [] if act.adds else _later(work, number, subject_of(row.act, details))
    if later:
        told = f"act {later[-1].id} ({later[-1].act}, by {later[-1].who}) came after it"
        raise RuleError("conflict", f"{told} and changed the same; undo that first")
    act.undo(work, details)
    return record(work, who, f"undo {row.act}"[:40], {"act": number}, number)


def found(work: Work, number: int) -> Found:
    """An act of this campaign by its number."""
    own = (audit.c.id == number) & (audit.c.campaign_id == work.campaign)
    row = work.db.execute(select(audit).where(own)).one_or_none()
    if row is None:
        raise RuleError("not-found", f"there is no act {number} in this campaign")
    return row


def refuse_unseen(work: Work, act: str, details: Mapping[str, Any], seen: int | None) -> None:
    """A conflict where somebody acted on the same thing after the act `seen`."""
    if seen is None:
        return
    since = _later(work, seen, subject_of(act, details), undone=True)
    if since:
        last = since[-1]
        told = f"meanwhile {last.who} did this: {last.act} (act {last.id})"
        raise RuleError("conflict", f"{told}; nothing was changed by you; look again, then decide")


def _later(work: Work, number: int, subject: str, *, undone: bool = False) -> list[Found]:
    """Acts after one on the same thing, the oldest first; with `undone`, also undos and undone."""
    mine = (audit.c.campaign_id == work.campaign) & (audit.c.id > number)
    rows = work.db.execute(select(audit).where(mine).order_by(audit.c.id)).all()
    taken_back = {row.undoes for row in rows if row.undoes is not None}
    kept = [row for row in rows if undone or (row.undoes is None and row.id not in taken_back)]
    return [row for row in kept if subject and _subject(work, row) == subject]


def _subject(work: Work, row: Found) -> str:
    """What an act changed; of an undo, what the act it undoes changed."""
    source = row if row.undoes is None else found(work, row.undoes)
    return subject_of(source.act, json.loads(source.details))


def last_act(work: Work) -> int:
    """The number of the newest act."""
    newest = select(func.max(audit.c.id)).where(audit.c.campaign_id == work.campaign)
    return int(work.db.scalar(newest) or 0)


def acts(work: Work, limit: int = 100, before: int | None = None) -> list[Found]:
    """What was done, the newest first; `before` is the number of the last one known."""
    own = select(audit).where(audit.c.campaign_id == work.campaign)
    if before is not None:
        own = own.where(audit.c.id < before)
    return list(work.db.execute(own.order_by(audit.c.id.desc()).limit(limit)))


def reversible(work: Work, rows: list[Found]) -> set[int]:
    """The numbers of those acts that can still be undone, as far as other acts tell."""
    known = known_acts()
    able = [row for row in rows if row.act in known and known[row.act].undo is not None]
    oldest = min((row.id for row in able), default=0)
    later = work.db.execute(
        select(audit).where(audit.c.campaign_id == work.campaign, audit.c.id >= oldest)
    ).all()
    undone = {row.undoes for row in later}
    last: dict[str, int] = {}
    for row in sorted(later, key=lambda one: one.id):
        if row.undoes is None and row.id not in undone:
            last[_subject(work, row)] = row.id
    subjects = {row.id: _subject(work, row) for row in able}
    newest = {row.id for row in able if last.get(subjects[row.id], row.id) == row.id}
    adding = {row.id for row in able if known[row.act].adds}
    return (newest | adding) - undone


def launch(work: Work, who: str) -> int:
    """Start a draft."""
    return perform(work, who, "launch")
