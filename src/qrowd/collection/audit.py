"""What organisers do: each act is written down with what it changed, and most can be undone.

    launch(work, who)                     an act of its own
    perform(work, who, "raise target", {"target": 5})
    undo(work, who, number)               a new act that takes back an earlier one

`ACTS` is the whole list. An act without an undo (message, settle, forget, release; launch after the
first lease) must be asked twice: `sure=True`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, func, insert, select, update

from qrowd.collection import ledger, people
from qrowd.collection.assignments import by_id, move
from qrowd.collection.building import set_priorities
from qrowd.collection.schema import (
    appeal,
    assignment,
    audit,
    campaign,
    document,
    judging_set,
    pair,
    topic,
    worker,
)
from qrowd.collection.store import Found, Work, new_id
from qrowd.errors import RuleError, UnknownNameError

Details = dict[str, Any]


@dataclass(frozen=True)
class Act:
    """`do` returns what `undo` needs to know; without `undo` the act must be asked twice."""

    do: Callable[[Work, Details], Details]
    undo: Callable[[Work, Details], None] | None = None


def perform(
    work: Work, who: str, act: str, details: Mapping[str, Any] | None = None, *, sure: bool = False
) -> int:
    """Do an act and write it down; its number, for `undo`."""
    if act not in ACTS:
        raise UnknownNameError.among("act", act, ACTS)
    if ACTS[act].undo is None and not sure:
        raise RuleError("ask-twice", f"{act} cannot be undone; confirm it")
    given = dict(details or {})
    changed = ACTS[act].do(work, given)
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
    own = (audit.c.id == number) & (audit.c.campaign_id == work.campaign)
    row = work.db.execute(select(audit).where(own)).one_or_none()
    if row is None:
        raise RuleError("not-found", f"there is no act {number} in this campaign")
    if work.db.scalar(select(audit.c.id).where(audit.c.undoes == number)) is not None:
        raise RuleError("conflict", f"act {number} was undone already")
    back = ACTS[row.act].undo if row.act in ACTS else None
    if back is None:
        raise RuleError("not-allowed", f"{row.act} cannot be undone")
    details = json.loads(row.details)
    back(work, details)
    return record(work, who, f"undo {row.act}"[:40], {"act": number}, number)


def acts(work: Work, limit: int = 100) -> list[Found]:
    """What was done, the newest first."""
    own = select(audit).where(audit.c.campaign_id == work.campaign)
    return list(work.db.execute(own.order_by(audit.c.id.desc()).limit(limit)))


# --- the campaign's state -------------------------------------------------------------------------


def launch(work: Work, who: str) -> int:
    """Start a draft."""
    return perform(work, who, "launch")


def _set_state(work: Work, state: str, allowed: tuple[str, ...]) -> Details:
    now = work.db.scalar(select(campaign.c.state).where(campaign.c.id == work.campaign))
    if now not in allowed:
        raise RuleError("wrong-state", f"this campaign is {now}")
    work.db.execute(update(campaign).where(campaign.c.id == work.campaign).values(state=state))
    return {"before": now}


def _state_back(work: Work, details: Details) -> None:
    before = details["before"]
    if before == "draft" and _leased(work):
        raise RuleError("not-allowed", "work was given out already; pause the campaign instead")
    _set_state(work, before, ("draft", "running", "paused", "closed"))


def _leased(work: Work) -> bool:
    own = assignment.c.campaign_id == work.campaign
    return work.db.scalar(select(assignment.c.id).where(own).limit(1)) is not None


# --- targets, gold, priorities, budget ------------------------------------------------------------


def _raise_target(work: Work, details: Details) -> Details:
    """A raised target of the pool's sets (of one topic, where it is named)."""
    wanted, own = int(details["target"]), _pool(work, details.get("topic"))
    before = int(work.db.scalar(select(func.max(judging_set.c.target)).where(own)) or 0)
    _set_target(work, wanted, own)
    return {"before": before}


def _set_target(work: Work, wanted: int, own: Any) -> None:
    """Never below what is held."""
    if wanted < 0:
        raise RuleError("malformed", "a target must be at least 0")
    held = judging_set.c.held
    lowest = case((held > wanted, held), else_=wanted)
    work.db.execute(update(judging_set).where(own).values(target=lowest))


def _pool(work: Work, name: str | None) -> Any:
    own = (judging_set.c.campaign_id == work.campaign) & (judging_set.c.role == "pool")
    if name is None:
        return own
    named = (topic.c.campaign_id == work.campaign) & (topic.c.name == name)
    return own & judging_set.c.topic_id.in_(select(topic.c.id).where(named))


def _target_back(work: Work, details: Details) -> None:
    _set_target(work, int(details["before"]), _pool(work, details.get("topic")))


def _retire_gold(work: Work, details: Details) -> Details:
    return _use_gold(work, int(details["set"]), 0)


def _use_gold(work: Work, number: int, in_use: int) -> Details:
    own = (judging_set.c.id == number) & (judging_set.c.campaign_id == work.campaign)
    changed = update(judging_set).where(own, judging_set.c.role != "pool").values(open=in_use)
    if not work.db.execute(changed).rowcount:
        raise RuleError("not-found", f"there is no gold set {number}")
    return {}


def _gold_back(work: Work, details: Details) -> None:
    _use_gold(work, int(details["set"]), 1)


def _prioritise(work: Work, details: Details) -> Details:
    """`priorities`: rows of topic, document, priority."""
    before = _priorities(work)
    given = {(t, d): float(p) for t, d, p in details["priorities"]}
    found = set_priorities(work, given)
    return {"found": found, "before": [[t, d, before.get((t, d), 0.0)] for t, d in given]}


def _priorities_back(work: Work, details: Details) -> None:
    set_priorities(work, {(t, d): p for t, d, p in details["before"]})


def _priorities(work: Work) -> dict[tuple[str, str], float]:
    joined = pair.join(topic, topic.c.id == pair.c.topic_id)
    joined = joined.join(document, document.c.id == pair.c.document_id)
    query = select(topic.c.name, document.c.name.label("doc"), pair.c.priority).select_from(joined)
    rows = work.db.execute(query.where(pair.c.campaign_id == work.campaign, pair.c.priority != 0))
    return {(row.name, row.doc): row.priority for row in rows}


def _withdraw(work: Work, details: Details) -> None:
    """Sets that an extension made are offered no more; what is held stays."""
    own = (judging_set.c.campaign_id == work.campaign) & (judging_set.c.role == "pool")
    made = (
        own & (judging_set.c.id > details["after_set"]) & (judging_set.c.id <= details["last_set"])
    )
    work.db.execute(update(judging_set).where(made).values(open=0, target=judging_set.c.held))


def _only_by_its_function(work: Work, details: Details) -> Details:
    raise RuleError("not-allowed", "this act has a function of its own")


def _reopen_appeal(work: Work, details: Details) -> None:
    """An appeal is open again; what was accepted for it is excluded, and stays paid."""
    values = {"answered_at": None, "won": None, "reply": ""}
    work.db.execute(update(appeal).where(appeal.c.id == details["appeal"]).values(**values))
    if details.get("assignment"):
        move(work, by_id(work, int(details["assignment"])), "exclude")


def _fund(work: Work, details: Details) -> Details:
    ledger.fund(work, int(details["amount"]))
    return {}


# --- workers and their batches --------------------------------------------------------------------


def _screen_out(work: Work, details: Details) -> Details:
    """No more batches for a worker; an open one ends with screen-out pay."""
    found = people.worker_by_number(work, int(details["worker"]))
    _set_worker_state(work, found.id, "screened-out")
    own = (assignment.c.worker_id == found.id) & assignment.c.state.in_(("active", "finished"))
    for row in work.db.execute(select(assignment).where(own)).all():
        move(work, row, "screen out")
    return {"before": found.state}


def _stop(work: Work, details: Details) -> Details:
    """No more batches for a worker; no assignment changes."""
    found = people.worker_by_number(work, int(details["worker"]))
    _set_worker_state(work, found.id, "stopped")
    return {"before": found.state}


def _readmit(work: Work, details: Details) -> None:
    found = people.worker_by_number(work, int(details["worker"]))
    _set_worker_state(work, found.id, details["before"])


def _set_worker_state(work: Work, worker_id: int, state: str) -> None:
    work.db.execute(update(worker).where(worker.c.id == worker_id).values(state=state))


def _moving(act: str) -> Callable[[Work, Details], Details]:
    def do(work: Work, details: Details) -> Details:
        row = by_id(work, int(details["assignment"]))
        move(work, row, act)
        return {"before": row.state}

    return do


def _restore(work: Work, details: Details) -> None:
    move(work, by_id(work, int(details["assignment"])), "restore")


def _exclude(work: Work, details: Details) -> None:
    move(work, by_id(work, int(details["assignment"])), "exclude")


def _bonus(work: Work, details: Details) -> Details:
    found = people.worker_by_number(work, int(details["worker"]))
    ledger.bonus(work, found.id, int(details["amount"]))
    return {}


def _bonus_back(work: Work, details: Details) -> None:
    found = people.worker_by_number(work, int(details["worker"]))
    amount = int(details["amount"])
    due = {row.id: row.amount for row in ledger.owed(work)}
    if due.get(found.id, 0) < amount:
        raise RuleError("not-allowed", "this bonus was paid already")
    ledger.post(work, "bonus undone", amount, "owed", "free", worker_id=found.id)


def _message(work: Work, details: Details) -> Details:
    found = people.worker_by_number(work, int(details["worker"]))
    people.write_message(work, found.id, str(details.pop("text")), from_worker=False)
    return {}


def _settle(work: Work, details: Details) -> Details:
    ids = [people.worker_by_number(work, int(number)).id for number in details["workers"]]
    return {"amount": ledger.settle(work, ids)}


def _nothing(work: Work, details: Details) -> Details:
    return {}


ACTS: dict[str, Act] = {
    "launch": Act(lambda work, _: _set_state(work, "running", ("draft",)), _state_back),
    "pause": Act(lambda work, _: _set_state(work, "paused", ("running",)), _state_back),
    "resume": Act(lambda work, _: _set_state(work, "running", ("paused",)), _state_back),
    "close": Act(lambda work, _: _set_state(work, "closed", ("running", "paused")), _state_back),
    "raise target": Act(_raise_target, _target_back),
    "retire gold": Act(_retire_gold, _gold_back),
    "prioritise": Act(_prioritise, _priorities_back),
    "fund": Act(_fund, lambda work, d: ledger.fund(work, -int(d["amount"]))),
    "screen out": Act(_screen_out, _readmit),
    "stop": Act(_stop, _readmit),
    "accept": Act(_moving("accept"), _exclude),
    "exclude": Act(_moving("exclude"), _restore),
    "refuse": Act(_moving("refuse"), _restore),
    "extend": Act(_only_by_its_function, _withdraw),
    "answer appeal": Act(_only_by_its_function, _reopen_appeal),
    "bonus": Act(_bonus, _bonus_back),
    "message": Act(_message),
    "settle": Act(_settle),
    "release": Act(_nothing),
}
