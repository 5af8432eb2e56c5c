"""What an organiser can do, and how each act is taken back: one table, `ACTS`.

`do` changes the campaign and returns what `undo` needs to know; `undo` brings back the state
before, except where others have filled a place meanwhile (the answers are then surplus), and for a
refusal, which is undone by accepting the batch. What was paid out cannot be taken back. Extensions
and answers to appeals have functions of their own (`extending`, `appeals`); here is their undo.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_, case, select, update

from qrowd.collection.adjudication import expert_sample
from qrowd.collection.books import ledger
from qrowd.collection.database.schema import (
    appeal,
    assignment,
    campaign,
    document,
    judging_set,
    pair,
    topic,
    worker,
)
from qrowd.collection.database.store import Work
from qrowd.collection.judging.assignments import by_id, kept, move
from qrowd.collection.material import clarification
from qrowd.collection.material.campaign_rows import set_priorities, withdraw
from qrowd.collection.people import workers
from qrowd.collection.record.act import Act, Details, register
from qrowd.errors import RuleError

# --- the campaign's state -------------------------------------------------------------------------


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
    """Another target of the pool's open sets (of one topic, where it is named)."""
    wanted, own = int(details["target"]), pool_sets(work, details.get("topic"))
    before = _targets(work, own)
    if not before:
        raise RuleError("not-found", "there is no open set of that topic")
    _set_target(work, wanted, own)
    return {"before": before}


def _targets(work: Work, own: ColumnElement[bool]) -> list[list[int]]:
    """The targets as they are: first set, last set, target; neighbours with equal ones together."""
    s, found = judging_set.c, list[list[int]]()
    for row in work.db.execute(select(s.id, s.target).where(own).order_by(s.id)):
        if found and found[-1][2] == row.target:
            found[-1][1] = row.id
        else:
            found.append([row.id, row.id, row.target])
    return found


def _set_target(work: Work, wanted: int, own: ColumnElement[bool]) -> None:
    """Never below what is held."""
    if wanted < 0:
        raise RuleError("malformed", "a target must be at least 0")
    held = judging_set.c.held
    lowest = case((held > wanted, held), else_=wanted)
    work.db.execute(update(judging_set).where(own).values(target=lowest))


def pool_sets(work: Work, name: str | None = None) -> ColumnElement[bool]:
    """The pool's sets that are offered (of one topic, where it is named)."""
    s = judging_set.c
    own = and_(s.campaign_id == work.campaign, s.role == "pool", s.open == 1)
    if name is None:
        return own
    named = (topic.c.campaign_id == work.campaign) & (topic.c.name == name)
    return and_(own, s.topic_id.in_(select(topic.c.id).where(named)))


def _target_back(work: Work, details: Details) -> None:
    own = pool_sets(work, details.get("topic"))
    for first, last, target in details["before"]:
        _set_target(work, int(target), and_(own, judging_set.c.id.between(first, last)))


def _retire_gold(work: Work, details: Details) -> Details:
    return _use_gold(work, int(details["set"]), 0)


def _use_gold(work: Work, number: int, in_use: int) -> Details:
    own = and_(judging_set.c.id == number, judging_set.c.campaign_id == work.campaign)
    query = select(judging_set.c.open).where(own, judging_set.c.role != "pool")
    now = work.db.scalar(query)
    if now is None:
        raise RuleError("not-found", f"there is no gold set {number}")
    if now == in_use:
        raise RuleError(
            "conflict", f"gold set {number} is {'in use' if now else 'retired'} already"
        )
    work.db.execute(update(judging_set).where(own).values(open=in_use))
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


def _fund(work: Work, details: Details) -> Details:
    ledger.fund(work, int(details["amount"]))
    return {}


def _only_by_its_function(work: Work, details: Details) -> Details:
    raise RuleError("not-allowed", "this act has a function of its own")


# --- workers --------------------------------------------------------------------------------------


def _screen_out(work: Work, details: Details) -> Details:
    """No more batches for a worker; an open one ends with screen-out pay."""
    before = _set_worker(work, details, "screened-out")
    number = workers.worker_by_number(work, int(details["worker"])).id
    own = (assignment.c.worker_id == number) & assignment.c.state.in_(("active", "finished"))
    rows = work.db.execute(select(assignment).where(own).order_by(assignment.c.id)).all()
    for row in rows:
        move(work, row, "screen out")
    return {**before, "batches": [kept(row) for row in rows]}


def _stop(work: Work, details: Details) -> Details:
    """No more batches for a worker; no assignment changes."""
    return _set_worker(work, details, "stopped")


def _set_worker(work: Work, details: Details, state: str) -> Details:
    found = workers.worker_by_number(work, int(details["worker"]))
    if found.state == state:
        raise RuleError("conflict", f"worker w{found.number} is {state} already")
    work.db.execute(update(worker).where(worker.c.id == found.id).values(state=state))
    return {"before": found.state}


def _readmit(work: Work, details: Details) -> None:
    _set_worker(work, details, details["before"])
    for batch in details.get("batches", ()):
        back = "reopen" if batch["before"] == "active" else "reopen finished"
        _take_back(work, batch, back)


def _bonus(work: Work, details: Details) -> Details:
    found = workers.worker_by_number(work, int(details["worker"]))
    ledger.bonus(work, found.id, int(details["amount"]))
    return {}


def _bonus_back(work: Work, details: Details) -> None:
    found = workers.worker_by_number(work, int(details["worker"]))
    amount = int(details["amount"])
    due = {row.id: row.amount for row in ledger.owed(work)}
    if due.get(found.id, 0) < amount:
        raise RuleError("not-allowed", "this bonus was paid already")
    ledger.post(work, "bonus undone", amount, "owed", "free", worker_id=found.id)


def _message(work: Work, details: Details) -> Details:
    found = workers.worker_by_number(work, int(details["worker"]))
    workers.write_message(work, found.id, str(details.pop("text")), from_worker=False)
    return {}


def _settle(work: Work, details: Details) -> Details:
    """What all workers are owed, or those of `workers`, is paid."""
    numbers = details.get("workers") or [row.number for row in ledger.owed(work)]
    ids = [workers.worker_by_number(work, int(number)).id for number in numbers]
    return {"workers": numbers, "amount": ledger.settle(work, ids)}


# --- batches --------------------------------------------------------------------------------------


def _moving(act: str) -> Callable[[Work, Details], Details]:
    def do(work: Work, details: Details) -> Details:
        row = by_id(work, int(details["assignment"]))
        move(work, row, act)
        return kept(row)

    return do


def _take_back(work: Work, before: Mapping[str, Any], how: str) -> None:
    """A batch as it was: state, places (where they are open), promise and debt."""
    row = by_id(work, int(before["assignment"]))
    if row.paid != before["paid"]:
        raise RuleError("not-allowed", "this batch was paid since; that cannot be taken back")
    moved = move(work, row, how, ended_at=before["ended_at"])
    ledger.take_back(work, moved, promised=before["promised"], earned=before["earned"])


def _accept_back(work: Work, details: Details) -> None:
    _take_back(work, details, "take back accept")


def _exclude_back(work: Work, details: Details) -> None:
    how = "restore" if details["before"] == "accepted" else "take back exclude"
    _take_back(work, details, how)


def _refuse_back(work: Work, details: Details) -> None:
    move(work, by_id(work, int(details["assignment"])), "restore")


def _reopen_appeal(work: Work, details: Details) -> None:
    """An appeal is open again; a batch that was accepted for it is refused again."""
    values = {"answered_at": None, "won": None, "reply": ""}
    work.db.execute(update(appeal).where(appeal.c.id == details["appeal"]).values(**values))
    if details.get("batch"):
        _take_back(work, details["batch"], "refuse again")


ACTS: dict[str, Act] = {
    "launch": Act(lambda w, _: _set_state(w, "running", ("draft",)), _state_back, "state"),
    "pause": Act(lambda w, _: _set_state(w, "paused", ("running",)), _state_back, "state"),
    "resume": Act(lambda w, _: _set_state(w, "running", ("paused",)), _state_back, "state"),
    "close": Act(lambda w, _: _set_state(w, "closed", ("running", "paused")), _state_back, "state"),
    "raise target": Act(_raise_target, _target_back),
    "retire gold": Act(_retire_gold, _gold_back, "set {set}"),
    "prioritise": Act(_prioritise, _priorities_back),
    "fund": Act(_fund, lambda w, d: ledger.fund(w, -int(d["amount"])), adds=True),
    "screen out": Act(_screen_out, _readmit, "worker {worker}"),
    "stop": Act(_stop, _readmit, "worker {worker}"),
    "accept": Act(_moving("accept"), _accept_back, "batch {assignment}"),
    "exclude": Act(_moving("exclude"), _exclude_back, "batch {assignment}"),
    "refuse": Act(_moving("refuse"), _refuse_back, "batch {assignment}"),
    "extend": Act(_only_by_its_function, withdraw, adds=True),
    "answer appeal": Act(_only_by_its_function, _reopen_appeal, "appeal {appeal}"),
    "bonus": Act(_bonus, _bonus_back, "bonus {worker}", adds=True),
    "message": Act(_message, subject="message {worker}"),
    "settle": Act(_settle),
    "release": Act(_only_by_its_function),
    "draw sample": Act(expert_sample.draw, expert_sample.put_back, adds=True),
    clarification.ACT: Act(
        clarification.clarify, clarification.take_back, "topic {topic}", adds=True
    ),
}
register(ACTS)
