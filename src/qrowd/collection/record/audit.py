"""What organisers did: each act is written down with what it changed, and most can be undone.

    launch(work, who)                     an act of its own
    perform(work, who, "raise target", {"target": 5})
    undo(work, who, number)               a new act that takes back an earlier one

`office.acts.ACTS` is the whole list. An act without an undo (message, settle, forget, release;
launch after the first lease) must be asked twice: `sure=True`. Two people may act at once: `seen`
is the number of the last act that somebody knew of; an act on the same thing after it is a
conflict, and nothing is done. An act is undone only while nothing later changed the same thing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select

from qrowd.collection.database.schema import audit
from qrowd.collection.database.store import Row, Work
from qrowd.collection.record.act import checked, known_acts, subject_of
from qrowd.errors import RuleError, UnknownNameError

_log = logging.getLogger(__name__)


def launch(work: Work, who: str) -> int:
    """Start a draft."""
    return perform(work, who, "launch")


def perform(
    work: Work,
    who: str,
    name: str,
    details: Mapping[str, Any] | None = None,
    *,
    sure: bool = False,
    seen: int | None = None,
) -> int:
    """Do the act of this name and write it down; its number, for `undo`."""
    acts = known_acts()
    if name not in acts:
        raise UnknownNameError.among("act", name, acts)
    act = acts[name]
    if act.undo is None and not sure:
        raise RuleError("ask-twice", f"{name} cannot be undone; confirm it")
    wanted = checked(name, details or {})
    refuse_unseen(work, name, wanted, seen)
    if act.do is None:
        raise RuleError("not-allowed", "this act has a function of its own")
    changed = act.do(work, wanted)
    return record(work, who, name, {**wanted, **changed})


def record(
    work: Work, who: str, name: str, details: Mapping[str, Any], undoes: int | None = None
) -> int:
    """Write an act down; its number."""
    number = work.insert(
        audit,
        at=work.now,
        who=who,
        act=name,
        details=json.dumps(details, sort_keys=True),
        undoes=undoes,
    )
    _log.info("act", extra={"act": name, "number": number, "campaign": work.campaign})
    return number


def undo(work: Work, who: str, number: int) -> int:
    """Take an act back: a new act, which cannot be taken back twice."""
    row = act_numbered(work, number)
    if work.count(audit, audit.c.undoes == number):
        raise RuleError("conflict", f"act {number} was undone already")
    act = known_acts().get(row.act)
    if act is None or act.undo is None:
        raise RuleError("not-allowed", f"{row.act} cannot be undone")
    details = json.loads(row.details)
    later = [] if act.adds else _later(work, number, subject_of(row.act, details))
    if later:
        last = later[-1]
        raise RuleError(
            "conflict",
            f"act {last.id} ({last.act}, by {last.who}) came after it and changed the same; "
            "undo that first",
        )
    act.undo(work, details)
    return record(work, who, f"undo {row.act}"[:40], {"act": number}, number)


def refuse_unseen(work: Work, name: str, details: Mapping[str, Any], seen: int | None) -> None:
    """A conflict where somebody acted on the same thing after the act `seen`."""
    if seen is None:
        return
    since = _later(work, seen, subject_of(name, details), undone=True)
    if since:
        last = since[-1]
        raise RuleError(
            "conflict",
            f"meanwhile {last.who} did this: {last.act} (act {last.id}); nothing was changed by "
            "you; look again, then decide",
        )


def last_act(work: Work) -> int:
    """The number of the newest act."""
    return work.number(select(func.max(audit.c.id)).where(work.own(audit)))


def act_numbered(work: Work, number: int) -> Row:
    """An act of this campaign by its number."""
    query = select(audit).where(work.own(audit), audit.c.id == number)
    return work.existing(query, f"there is no act {number} in this campaign")


def acts(work: Work, limit: int = 100, before: int | None = None) -> list[Row]:
    """What was done, the newest first; `before` is the number of the last one known."""
    query = select(audit).where(work.own(audit))
    if before is not None:
        query = query.where(audit.c.id < before)
    return work.rows(query.order_by(audit.c.id.desc()).limit(limit))


def reversible(work: Work, rows: list[Row]) -> set[int]:
    """The numbers of those acts that can still be undone, as far as other acts tell."""
    acts = known_acts()
    able = [row for row in rows if row.act in acts and acts[row.act].undo is not None]
    if not able:
        return set()
    since = _since(work, min(row.id for row in able))
    undone = {row.undoes for row in since}
    last: dict[str, int] = {}
    for row in since:
        if row.undoes is None and row.id not in undone:
            last[_subject(work, row)] = row.id
    return {
        row.id
        for row in able
        if row.id not in undone and (acts[row.act].adds or last[_subject(work, row)] == row.id)
    }


def _since(work: Work, number: int) -> list[Row]:
    """The acts from a number on, the oldest first."""
    since = (audit.c.id >= number) & work.own(audit)
    return work.rows(select(audit).where(since).order_by(audit.c.id))


def _later(work: Work, number: int, subject: str, *, undone: bool = False) -> list[Row]:
    """Acts after one on the same thing, the oldest first; with `undone`, also undos and undone."""
    rows = _since(work, number + 1)
    if not undone:
        taken_back = {row.undoes for row in rows}
        rows = [row for row in rows if row.undoes is None and row.id not in taken_back]
    return [row for row in rows if subject and _subject(work, row) == subject]


def _subject(work: Work, row: Row) -> str:
    """What an act changed; of an undo, what the act it undoes changed."""
    source = row if row.undoes is None else act_numbered(work, row.undoes)
    return subject_of(source.act, json.loads(source.details))
