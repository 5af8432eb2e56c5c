"""What organisers did: each act is written down with what it changed, and most can be undone.

    perform(work, who, "raise target", {"target": 5})
    perform(work, who, RaiseTarget(target=5))
    undo(work, who, number)               a new act that takes back an earlier one

`act.all_acts()` is the whole list. A final act (message, settle, release) must be asked twice:
`sure=True`. Two people may act at once: `seen` is the number of the last act that somebody knew of;
an act on the same thing after it is a conflict, and nothing is done. An act is undone only while
nothing later changed the same thing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select

from qrowd.collection.database.schema import Audit, audit
from qrowd.collection.database.store import Work
from qrowd.collection.record.act import Act, Stored, act_named, all_acts
from qrowd.errors import RuleError
from qrowd.texts import Text

_log = logging.getLogger(__name__)


def perform(
    work: Work,
    who: str,
    wanted: Act | str,
    details: Mapping[str, Any] | None = None,
    *,
    sure: bool = False,
    seen: int | None = None,
) -> int:
    """Do an act, or the one of this name with these details, and write it down.

    Its number, for `undo`.
    """
    act = act_named(wanted).of(details or {}) if isinstance(wanted, str) else wanted
    if act.final and not sure:
        raise RuleError("ask-twice", f"{act.name} cannot be undone; confirm it")
    said = act.recorded()
    since = [] if seen is None else _later(work, seen, act.subject_of(said), undone=True)
    if since:
        last = since[-1]
        raise RuleError(
            "conflict",
            f"meanwhile {last.who} did this: {last.act} (act {last.id}); nothing was changed by "
            "you; look again, then decide",
        )
    return record(work, who, act.name, {**said, **(act.do(work) or {})})


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
    act = all_acts().get(row.act)
    if act is None or act.final:
        raise RuleError("not-allowed", f"{row.act} cannot be undone")
    stored = details_of(row)
    later = [] if act.adds else _later(work, number, act.subject_of(stored))
    if later:
        last = later[-1]
        raise RuleError(
            "conflict",
            f"act {last.id} ({last.act}, by {last.who}) came after it and changed the same; "
            "undo that first",
        )
    act.undo(work, stored)
    return record(work, who, f"undo {row.act}"[:40], {"act": number}, number)


def last_act(work: Work) -> int:
    """The number of the newest act."""
    return work.number(select(func.max(audit.c.id)).where(work.own(audit)))


def act_numbered(work: Work, number: int) -> Audit:
    """An act of this campaign by its number."""
    query = select(audit).where(work.own(audit), audit.c.id == number)
    return work.existing(query, f"there is no act {number} in this campaign", Audit)


def details_numbered(work: Work, number: int) -> Stored:
    """The details of an act of this campaign by its number."""
    return details_of(act_numbered(work, number))


def details_of(row: Audit) -> Stored:
    """The details of an act in the record."""
    stored: Stored = json.loads(row.details)
    return stored


def readable_details(row: Audit) -> Stored:
    """The details of an act in the record, without what is stored for `undo` alone."""
    act = all_acts().get(row.act)
    unread = act.unread if act else ()
    return {name: value for name, value in details_of(row).items() if name not in unread}


def said_of(work: Work, number: int) -> Text:
    """What is said to whoever has just done this act."""
    row = act_numbered(work, number)
    act = act_named(row.act)
    return act.says("done", **act.shown(details_of(row), work.plan.pay))


def acts(work: Work, limit: int = 100, before: int | None = None) -> list[Audit]:
    """What was done, the newest first; `before` is the number of the last one known."""
    query = select(audit).where(work.own(audit))
    if before is not None:
        query = query.where(audit.c.id < before)
    return work.rows(query.order_by(audit.c.id.desc()).limit(limit), Audit)


def reversible(work: Work, rows: list[Audit]) -> set[int]:
    """The numbers of those acts that can still be undone, as far as other acts tell."""
    acts = all_acts()
    able = [row for row in rows if row.act in acts and not acts[row.act].final]
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


def _since(work: Work, number: int) -> list[Audit]:
    """The acts from a number on, the oldest first."""
    since = (audit.c.id >= number) & work.own(audit)
    return work.rows(select(audit).where(since).order_by(audit.c.id), Audit)


def _later(work: Work, number: int, subject: str, *, undone: bool = False) -> list[Audit]:
    """Acts after one on the same thing, the oldest first; with `undone`, also undos and undone."""
    rows = _since(work, number + 1)
    if not undone:
        taken_back = {row.undoes for row in rows}
        rows = [row for row in rows if row.undoes is None and row.id not in taken_back]
    return [row for row in rows if _subject(work, row) == subject]


def _subject(work: Work, row: Audit) -> str:
    """What an act changed, "" for one that is not known; of an undo, what it brought back."""
    source = row if row.undoes is None else act_numbered(work, row.undoes)
    act = all_acts().get(source.act)
    return act.subject_of(details_of(source)) if act else ""
