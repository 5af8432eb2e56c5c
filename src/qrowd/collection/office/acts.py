"""What an organiser can do, how each act is taken back, and what it would cost: one table, `ACTS`.

`do` changes the campaign and returns what `undo` needs to know; `undo` brings back the state
before, except where others have filled a place meanwhile (the answers are then surplus), and for a
refusal, which is undone by accepting the batch. What was paid out cannot be taken back. `foretell`
says in words what would follow, for pages and commands. Extensions, releases and replies to appeals
have functions of their own (`extension`, `publishing.release`, `adjudication.appeals`); here is
their undo.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, and_, case, select

from qrowd.collection.adjudication import expert_sample
from qrowd.collection.books import ledger
from qrowd.collection.database.schema import (
    NAMED_PAIRS,
    PAIR_NAMES,
    appeal,
    assignment,
    campaign,
    judging_set,
    pair,
    place,
    worker,
)
from qrowd.collection.database.states import OPEN
from qrowd.collection.database.store import Row, Work
from qrowd.collection.judging import gold
from qrowd.collection.judging.assignments import by_id, move, undo_details
from qrowd.collection.material import clarification
from qrowd.collection.material.campaign_rows import set_priorities, withdraw
from qrowd.collection.office.extension import cost_of_target, pool_sets
from qrowd.collection.office.pace import pace_of
from qrowd.collection.people import workers
from qrowd.collection.record.act import (
    Act,
    Consequence,
    Details,
    Foretell,
    Reader,
    Undo,
    as_number,
    as_priorities,
    as_text,
    as_worker,
    as_workers,
)
from qrowd.errors import RuleError
from qrowd.rendering import thousands


def consequence(work: Work, name: str, details: Mapping[str, Any]) -> Consequence:
    """What the act of this name would do."""
    foretell = ACTS[name].foretell if name in ACTS else None
    if foretell is None:
        raise RuleError("not-found", f"there is no act {name!r} here")
    try:
        return foretell(work, dict(details))
    except KeyError as missing:
        raise RuleError("bad-value", f"say {missing.args[0]}") from None


# --- the campaign's state -------------------------------------------------------------------------


def _set_state(work: Work, _: Details, state: str, sources: tuple[str, ...]) -> Details:
    own = campaign.c.id == work.campaign
    now = work.db.scalar(select(campaign.c.state).where(own))
    if now not in sources:
        raise RuleError("wrong-state", f"this campaign is {now}")
    work.update(campaign, own, state=state)
    return {"before": now}


def _undo_state(work: Work, details: Details) -> None:
    before = details["before"]
    if before == "draft" and work.count(assignment, work.own(assignment)):
        raise RuleError("not-allowed", "work was given out already; pause the campaign instead")
    _set_state(work, {}, before, ("draft", "running", "paused", "closed"))


def _foretell_launch(work: Work, _: Details) -> Consequence:
    shown, pace = work.plan.pay.shown, pace_of(work)
    follows = (
        f"Workers can begin: {thousands(pace.wanted)} judgements are wanted.",
        f"If all goes as planned, {shown(pace.expected)} of {shown(pace.budget)} are spent.",
        "It can be undone until the first batch is given out.",
    )
    return Consequence("Launch this campaign?", "Launch", follows, pace.expected)


def _foretell_pause(work: Work, _: Details) -> Consequence:
    n = thousands(work.count(assignment, work.own(assignment), assignment.c.state.in_(OPEN)))
    follows = ("Nobody gets a new batch.", f"{n} open batches can be finished and are paid.")
    return Consequence("Pause this campaign?", "Pause", follows)


def _foretell_resume(work: Work, _: Details) -> Consequence:
    free = work.plan.pay.shown(ledger.balance(work).free)
    follows = ("Workers get batches again.", f"At most {free} can be promised: what is free now.")
    return Consequence("Resume this campaign?", "Resume", follows)


def _foretell_close(work: Work, _: Details) -> Consequence:
    follows = (
        "Nobody gets a new batch, and workers are told that it is over.",
        "Open batches can be finished; appeals and payments go on.",
    )
    return Consequence("Close this campaign?", "Close", follows)


# --- sets: targets, gold, priorities --------------------------------------------------------------


def _raise_target(work: Work, details: Details) -> Details:
    """Another target of the pool's open sets (of one topic, where it is named)."""
    sets, s = pool_sets(work, details.get("topic")), judging_set.c
    before: list[list[int]] = []  # first set, last set, target; neighbours with equal ones together
    for row in work.rows(select(s.id, s.target).where(sets).order_by(s.id)):
        if before and before[-1][2] == row.target:
            before[-1][1] = row.id
        else:
            before.append([row.id, row.id, row.target])
    if not before:
        raise RuleError("not-found", "there is no open set of that topic")
    _set_target(work, int(details["target"]), sets)
    return {"before": before}


def _undo_raise_target(work: Work, details: Details) -> None:
    sets = pool_sets(work, details.get("topic"))
    for first, last, target in details["before"]:
        _set_target(work, int(target), and_(sets, judging_set.c.id.between(first, last)))


def _set_target(work: Work, target: int, sets: ColumnElement[bool]) -> None:
    if target < 0:
        raise RuleError("malformed", "a target must be at least 0")
    held = judging_set.c.held
    never_below_held = case((held > target, held), else_=target)
    work.update(judging_set, sets, target=never_below_held)


def _foretell_raise_target(work: Work, details: Details) -> Consequence:
    target, topic_name = int(details["target"]), details.get("topic") or None
    cost = cost_of_target(work, target, topic_name)
    where = f"topic {topic_name}" if topic_name else "every topic"
    follows = (
        f"{target} judgements are wanted of each document of {where}.",
        f"{thousands(cost.pairs)} documents get more: {thousands(cost.judgements)} judgements in "
        f"about {thousands(cost.batches)} batches.",
        "Where more is held already, it stays.",
    )
    return Consequence(f"Ask for {target} judgements?", "Set the target", follows, cost.amount)


def _use_gold(work: Work, details: Details, in_use: bool) -> Details:
    row = _gold_set(work, details)
    if bool(row.open) == in_use:
        state = "in use" if in_use else "retired"
        raise RuleError("conflict", f"gold set {row.id} is {state} already")
    work.update(judging_set, judging_set.c.id == row.id, open=int(in_use))
    return {}


def _gold_set(work: Work, details: Details) -> Row:
    number = int(details["set"])
    is_gold = (judging_set.c.id == number) & (judging_set.c.role != "pool")
    query = select(judging_set).where(work.own(judging_set), is_gold)
    return work.existing(query, f"there is no gold set {number}")


def _foretell_retire_gold(work: Work, details: Details) -> Consequence:
    number = _gold_set(work, details).id
    left = gold.supply(work) - 1
    each = left // work.plan.gold_per_hit if work.plan.gold_per_hit else left
    follows = (
        "It is given to nobody any more; what was decided by it stays.",
        f"{left} gold sets are left: {each} batches for each worker.",
    )
    return Consequence(f"Retire gold set {number}?", "Retire", follows)


def _prioritise(work: Work, details: Details) -> Details:
    query = select(*PAIR_NAMES, pair.c.priority).select_from(NAMED_PAIRS)
    rows = work.rows(query.where(work.own(pair), pair.c.priority != 0))
    before = {(row.topic, row.doc): row.priority for row in rows}
    wanted = {(name, doc): float(priority) for name, doc, priority in details["priorities"]}
    return {
        "found": set_priorities(work, wanted),
        "before": [[*names, before.get(names, 0.0)] for names in wanted],
    }


def _undo_prioritise(work: Work, details: Details) -> None:
    set_priorities(work, {(name, doc): priority for name, doc, priority in details["before"]})


# --- workers --------------------------------------------------------------------------------------


def _worker(work: Work, details: Details) -> Row:
    return workers.worker_by_number(work, int(details["worker"]))


def _screen_out(work: Work, details: Details) -> Details:
    """No more batches for a worker; an open one ends with screen-out pay."""
    before = _set_worker(work, details, "screened-out")
    rows = _ongoing(work, _worker(work, details).id)
    for row in rows:
        move(work, row, "screen out")
    return {**before, "batches": [undo_details(row) for row in rows]}


def _stop(work: Work, details: Details) -> Details:
    """No more batches for a worker; no assignment changes."""
    return _set_worker(work, details, "stopped")


def _readmit(work: Work, details: Details) -> None:
    """After being screened out or stopped; the latter has no batches to give back."""
    _set_worker(work, details, details["before"])
    for batch in details.get("batches", ()):
        back = "reopen" if batch["before"] == "active" else "reopen finished"
        _take_back(work, batch, back)


def _set_worker(work: Work, details: Details, state: str) -> Details:
    row = _worker(work, details)
    if row.state == state:
        raise RuleError("conflict", f"worker w{row.number} is {state} already")
    work.update(worker, worker.c.id == row.id, state=state)
    return {"before": row.state}


def _ongoing(work: Work, worker_id: int) -> list[Row]:
    mine = (assignment.c.worker_id == worker_id) & assignment.c.state.in_(OPEN)
    return work.rows(select(assignment).where(mine).order_by(assignment.c.id))


def _foretell_screen_out(work: Work, details: Details) -> Consequence:
    row, pay = _worker(work, details), work.plan.pay
    ends = "The open batch ends, its answers are void, its places are free again."
    promised = [batch.promised for batch in _ongoing(work, row.id)]
    follows = (
        f"Worker w{row.number} gets no more batches.",
        *([ends] if promised else []),
        "Accepted work stays, and is paid.",
    )
    freed = sum(amount - min(pay.minor(pay.screen_out), amount) for amount in promised)
    return Consequence(f"Screen out worker w{row.number}?", "Screen out", follows, -freed)


def _foretell_stop(work: Work, details: Details) -> Consequence:
    number = _worker(work, details).number
    follows = ("No more batches are given; an open one can be finished and is paid.",)
    return Consequence(f"Give worker w{number} no more work?", "Stop", follows)


def _message(work: Work, details: Details) -> Details:
    worker_id = _worker(work, details).id
    # not into the record, which keeps what is erased with a person
    text = str(details.pop("text"))
    workers.write_message(work, worker_id, text, from_worker=False)
    return {}


def _foretell_message(work: Work, details: Details) -> Consequence:
    number = _worker(work, details).number
    text = str(details.get("text", ""))
    quoted = f"“{text[:300]}{'…' if len(text) > 300 else ''}”"
    follows = (quoted, "It is on the worker's page at once.")
    return Consequence(f"Write to worker w{number}?", "Send", follows, final=True)


# --- batches --------------------------------------------------------------------------------------


def _move(work: Work, details: Details, name: str) -> Details:
    assigned = by_id(work, int(details["assignment"]))
    move(work, assigned, name)
    return undo_details(assigned)


def _take_back(work: Work, before: Mapping[str, Any], move_name: str) -> None:
    """A batch as it was: state, places (where they are open), promise and debt."""
    row = by_id(work, int(before["assignment"]))
    if row.paid != before["paid"]:
        raise RuleError("not-allowed", "this batch was paid since; that cannot be taken back")
    moved = move(work, row, move_name, ended_at=before["ended_at"])
    ledger.take_back(work, moved, promised=before["promised"], earned=before["earned"])


def _undo_accept(work: Work, details: Details) -> None:
    _take_back(work, details, "take back accept")


def _undo_exclude(work: Work, details: Details) -> None:
    accepted = details["before"] == "accepted"
    _take_back(work, details, "restore" if accepted else "take back exclude")


def _undo_refuse(work: Work, details: Details) -> None:
    move(work, by_id(work, int(details["assignment"])), "restore")


def _foretell_accept(work: Work, details: Details) -> Consequence:
    row, owner = _batch_and_owner(work, details)
    follows = (f"The answers count, {work.plan.pay.shown(row.promised)} are owed to {owner}.",)
    return Consequence(f"Accept this batch of {owner}?", "Accept", follows)


def _foretell_exclude(work: Work, details: Details) -> Consequence:
    row, owner = _batch_and_owner(work, details)
    again, cost = _judged_again(work, row)
    pay = work.plan.pay.shown(row.promised)
    paid = f"The worker is paid: {pay}." if row.promised else "What was paid stays paid."
    return Consequence(f"Exclude this batch of {owner}?", "Exclude", (again, paid), cost)


def _foretell_refuse(work: Work, details: Details) -> Consequence:
    row, owner = _batch_and_owner(work, details)
    again, cost = _judged_again(work, row)
    follows = (
        again,
        f"The worker is not paid and can appeal for {work.plan.pay.appeal_days:g} days; "
        f"until then {work.plan.pay.shown(row.promised)} are kept.",
        "Undone, a refusal becomes an acceptance.",
    )
    return Consequence(f"Refuse this batch of {owner}?", "Refuse", follows, cost)


def _batch_and_owner(work: Work, details: Details) -> tuple[Row, str]:
    row = by_id(work, int(details["assignment"]))
    return row, f"worker w{workers.worker_of(work, row.worker_id).number}"


def _judged_again(work: Work, row: Row) -> tuple[str, int]:
    """What is judged again where a batch is void, and what that costs."""
    sets = work.count(place, place.c.assignment_id == row.id, place.c.held == 1)
    cost = round(sets / work.plan.counted_per_hit * work.plan.pay_of("judge"))
    return f"The answers are void; {sets} sets are judged again by somebody else.", cost


# --- money ----------------------------------------------------------------------------------------


def _fund(work: Work, details: Details) -> Details:
    ledger.fund(work, int(details["amount"]))
    return {}


def _undo_fund(work: Work, details: Details) -> None:
    ledger.fund(work, -int(details["amount"]))


def _foretell_fund(work: Work, details: Details) -> Consequence:
    amount, shown = int(details["amount"]), work.plan.pay.shown
    total = shown(ledger.balance(work).budget + amount)
    button = f"Add {shown(amount)}" if amount > 0 else f"Take out {shown(-amount)}"
    follows = (f"The budget becomes {total}.",)
    words = f"Up to {total} may then be spent in all."
    return Consequence(f"{button}?", button, follows, words=words)


def _bonus(work: Work, details: Details) -> Details:
    ledger.bonus(work, _worker(work, details).id, int(details["amount"]))
    return {}


def _undo_bonus(work: Work, details: Details) -> None:
    worker_id = _worker(work, details).id
    amount = int(details["amount"])
    due = {row.id: row.amount for row in ledger.owed(work)}
    if due.get(worker_id, 0) < amount:
        raise RuleError("not-allowed", "this bonus was paid already")
    ledger.post(work, "bonus undone", amount, "owed", "free", worker_id=worker_id)


def _foretell_bonus(work: Work, details: Details) -> Consequence:
    number, amount = _worker(work, details).number, int(details["amount"])
    shown = work.plan.pay.shown(amount)
    follows = ("It is owed at once, and paid with the next settlement.",)
    question = f"Give worker w{number} a bonus of {shown}?"
    return Consequence(question, f"Give {shown}", follows, amount)


def _settle(work: Work, details: Details) -> Details:
    """What all workers are owed, or those of `workers`, is paid."""
    numbers = details.get("workers") or [row.number for row in ledger.owed(work)]
    ids = [workers.worker_by_number(work, int(number)).id for number in numbers]
    return {"workers": numbers, "amount": ledger.settle(work, ids)}


def _foretell_settle(work: Work, details: Details) -> Consequence:
    numbers = {int(number) for number in details["workers"]}
    amounts = [row.amount for row in ledger.owed(work) if row.number in numbers]
    total = work.plan.pay.shown(sum(amounts))
    follows = (
        f"{thousands(len(amounts))} workers are marked as paid: {total} in all.",
        "Pay them first: no money is sent from here.",
    )
    return Consequence(f"Mark {total} as paid?", "Mark as paid", follows, final=True)


# --- appeals --------------------------------------------------------------------------------------


def _reopen_appeal(work: Work, details: Details) -> None:
    """An appeal is open again; a batch that was accepted for it is refused again."""
    same = appeal.c.id == details["appeal"]
    work.update(appeal, same, answered_at=None, won=None, reply="")
    if details.get("batch"):
        _take_back(work, details["batch"], "refuse again")


def _foretell_answer_appeal(work: Work, details: Details) -> Consequence:
    number, won = int(details["appeal"]), bool(details.get("won"))
    query = select(appeal).where(appeal.c.id == number)
    row = work.existing(query, f"there is no appeal {number}")
    author = f"worker w{workers.worker_of(work, row.worker_id).number}"
    follows = [f"{author.capitalize()} reads the answer on the own page."]
    cost = 0
    if won and row.kind == "refusal":
        batch = by_id(work, row.assignment_id)
        follows.append(f"The batch is accepted, and {work.plan.pay.shown(batch.pay)} are owed.")
        cost = 0 if batch.promised else batch.pay
    elif won:
        follows.append("The check question stays in use until its set is retired.")
    question = f"Answer {author}: {'you are right' if won else 'it stays as it is'}?"
    return Consequence(question, "Send the answer", tuple(follows), cost)


def _state_act(foretell: Foretell, state: str, *sources: str) -> Act:
    do = partial(_set_state, state=state, sources=sources)
    return Act(do, _undo_state, foretell, subject="state")


def _batch_act(name: str, undo: Undo, foretell: Foretell) -> Act:
    do = partial(_move, name=name)
    return Act(do, undo, foretell, {"assignment": as_number}, "batch {assignment}")


_WORKER: dict[str, Reader] = {"worker": as_worker}
_AMOUNT: dict[str, Reader] = {"amount": as_number}
_TEXT: dict[str, Reader] = {"text": as_text}

# do, undo, foretell, what it needs, what it changes. Names are stored in the record: permanent.
ACTS: dict[str, Act] = {
    "launch": _state_act(_foretell_launch, "running", "draft"),
    "pause": _state_act(_foretell_pause, "paused", "running"),
    "resume": _state_act(_foretell_resume, "running", "paused"),
    "close": _state_act(_foretell_close, "closed", "running", "paused"),
    "raise target": Act(
        _raise_target,
        _undo_raise_target,
        _foretell_raise_target,
        {"target": as_number},
        optional={"topic": as_text},
    ),
    "retire gold": Act(
        partial(_use_gold, in_use=False),
        partial(_use_gold, in_use=True),
        _foretell_retire_gold,
        {"set": as_number},
        "set {set}",
    ),
    "prioritise": Act(_prioritise, _undo_prioritise, None, {"priorities": as_priorities}),
    "fund": Act(_fund, _undo_fund, _foretell_fund, _AMOUNT, adds=True),
    "screen out": Act(_screen_out, _readmit, _foretell_screen_out, _WORKER, "worker {worker}"),
    "stop": Act(_stop, _readmit, _foretell_stop, _WORKER, "worker {worker}"),
    "accept": _batch_act("accept", _undo_accept, _foretell_accept),
    "exclude": _batch_act("exclude", _undo_exclude, _foretell_exclude),
    "refuse": _batch_act("refuse", _undo_refuse, _foretell_refuse),
    "extend": Act(None, withdraw, adds=True),
    "answer appeal": Act(None, _reopen_appeal, _foretell_answer_appeal, {}, "appeal {appeal}"),
    "bonus": Act(
        _bonus, _undo_bonus, _foretell_bonus, _WORKER | _AMOUNT, "bonus {worker}", adds=True
    ),
    "message": Act(_message, None, _foretell_message, _WORKER | _TEXT, "message {worker}"),
    "settle": Act(_settle, None, _foretell_settle, optional={"workers": as_workers}),
    "release": Act(None),
    "draw sample": Act(
        expert_sample.draw, expert_sample.put_back, optional={"size": as_number}, adds=True
    ),
    clarification.ACT: Act(
        clarification.clarify,
        clarification.take_back,
        needed={"topic": as_text, **_TEXT},
        subject="topic {topic}",
        adds=True,
    ),
}
