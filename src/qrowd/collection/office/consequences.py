"""What an act would do and cost, told before it is done; in words, for pages and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from qrowd.collection.books import ledger
from qrowd.collection.database.schema import appeal, assignment, judging_set, place
from qrowd.collection.database.store import Work
from qrowd.collection.judging import gold
from qrowd.collection.judging.assignments import by_id
from qrowd.collection.office.extension import cost_of_target
from qrowd.collection.office.pace import outlook
from qrowd.collection.people import workers
from qrowd.errors import RuleError


@dataclass(frozen=True)
class Consequence:
    """A question, its answer's name, what follows, and what it costs in minor units.

    A negative cost gives money back. `final` acts cannot be undone.
    """

    question: str
    button: str
    follows: tuple[str, ...] = ()
    cost: int = 0
    final: bool = False
    words: str = ""  # instead of the cost's

    def price(self, work: Work) -> str:
        """The cost in words, beside what is free."""
        shown, free = work.plan.pay.shown, ledger.balance(work).free
        if self.words:
            return self.words
        if not self.cost:
            return "This costs nothing."
        if self.cost < 0:
            return f"This gives back {shown(-self.cost)}."
        short = free < self.cost
        more = f"; {shown(self.cost - free)} more would be needed" if short else ""
        return f"This costs {shown(self.cost)}; {shown(free)} are free{more}."


def consequence(work: Work, act: str, details: Mapping[str, Any]) -> Consequence:
    """What an act would do."""
    if act not in _TOLD:
        raise RuleError("not-found", f"there is no act {act!r} here")
    try:
        return _TOLD[act](work, details)
    except KeyError as missing:
        raise RuleError("bad-value", f"say {missing.args[0]}") from None


def _launch(work: Work, _: Mapping[str, Any]) -> Consequence:
    shown, ahead = work.plan.pay.shown, outlook(work)
    follows = (
        f"Workers can begin: {ahead.wanted:,} judgements are wanted.",
        f"If all goes as planned, {shown(ahead.expected)} of {shown(ahead.budget)} are spent.",
        "It can be undone until the first batch is given out.",
    )
    return Consequence("Launch this campaign?", "Launch", follows, ahead.expected)


def _pause(work: Work, _: Mapping[str, Any]) -> Consequence:
    a = assignment.c
    own = (a.campaign_id == work.campaign) & a.state.in_(("active", "finished"))
    n = int(work.db.scalar(select(func.count()).select_from(assignment).where(own)) or 0)
    follows = ("Nobody gets a new batch.", f"{n:,} open batches can be finished and are paid.")
    return Consequence("Pause this campaign?", "Pause", follows)


def _resume(work: Work, _: Mapping[str, Any]) -> Consequence:
    free = work.plan.pay.shown(ledger.balance(work).free)
    follows = ("Workers get batches again.", f"At most {free} can be promised: what is free now.")
    return Consequence("Resume this campaign?", "Resume", follows)


def _close(work: Work, _: Mapping[str, Any]) -> Consequence:
    follows = (
        "Nobody gets a new batch, and workers are told that it is over.",
        "Open batches can be finished; appeals and payments go on.",
    )
    return Consequence("Close this campaign?", "Close", follows)


def _raise_target(work: Work, details: Mapping[str, Any]) -> Consequence:
    wanted, name = int(details["target"]), details.get("topic") or None
    cost = cost_of_target(work, wanted, name)
    where = f"topic {name}" if name else "every topic"
    follows = (
        f"{wanted} judgements are wanted of each document of {where}.",
        f"{cost.pairs:,} documents get more: {cost.judgements:,} judgements in about "
        f"{cost.batches:,} batches.",
        "Where more is held already, it stays.",
    )
    return Consequence(f"Ask for {wanted} judgements?", "Set the target", follows, cost.amount)


def _retire_gold(work: Work, details: Mapping[str, Any]) -> Consequence:
    number = int(details["set"])
    own = (judging_set.c.id == number) & (judging_set.c.campaign_id == work.campaign)
    if work.db.scalar(select(judging_set.c.id).where(own, judging_set.c.role != "pool")) is None:
        raise RuleError("not-found", f"there is no gold set {number}")
    left = gold.supply(work) - 1
    each = left // work.plan.gold_per_hit if work.plan.gold_per_hit else left
    follows = (
        "It is given to nobody any more; what was decided by it stays.",
        f"{left} gold sets are left: {each} batches for each worker.",
    )
    return Consequence(f"Retire gold set {number}?", "Retire", follows)


def _fund(work: Work, details: Mapping[str, Any]) -> Consequence:
    amount, shown = int(details["amount"]), work.plan.pay.shown
    total = ledger.balance(work).budget + amount
    what = f"Add {shown(amount)}" if amount > 0 else f"Take out {shown(-amount)}"
    words = f"Up to {shown(total)} may then be spent in all."
    return Consequence(f"{what}?", what, (f"The budget becomes {shown(total)}.",), words=words)


def _screen_out(work: Work, details: Mapping[str, Any]) -> Consequence:
    found = workers.worker_by_number(work, int(details["worker"]))
    a, pay = assignment.c, work.plan.pay
    own = (a.worker_id == found.id) & a.state.in_(("active", "finished"))
    rows = work.db.execute(select(a.promised).where(own)).all()
    due = sum(min(pay.minor(pay.screen_out), row.promised) for row in rows)
    follows = [f"Worker w{found.number} gets no more batches.", "Accepted work stays, and is paid."]
    if rows:
        follows.insert(1, "The open batch ends, its answers are void, its places are free again.")
    freed = sum(row.promised for row in rows) - due
    return Consequence(
        f"Screen out worker w{found.number}?", "Screen out", tuple(follows), -freed if freed else 0
    )


def _stop(work: Work, details: Mapping[str, Any]) -> Consequence:
    found = workers.worker_by_number(work, int(details["worker"]))
    follows = ("No more batches are given; an open one can be finished and is paid.",)
    return Consequence(f"Give worker w{found.number} no more work?", "Stop", follows)


def _bonus(work: Work, details: Mapping[str, Any]) -> Consequence:
    found = workers.worker_by_number(work, int(details["worker"]))
    amount = int(details["amount"])
    shown = work.plan.pay.shown(amount)
    follows = ("It is owed at once, and paid with the next settlement.",)
    title = f"Give worker w{found.number} a bonus of {shown}?"
    return Consequence(title, f"Give {shown}", follows, amount)


def _message(work: Work, details: Mapping[str, Any]) -> Consequence:
    found = workers.worker_by_number(work, int(details["worker"]))
    text = str(details.get("text", ""))
    shown = f"“{text[:300]}{'…' if len(text) > 300 else ''}”"
    title = f"Write to worker w{found.number}?"
    return Consequence(title, "Send", (shown, "It is on the worker's page at once."), final=True)


def _settle(work: Work, details: Mapping[str, Any]) -> Consequence:
    wanted = {int(number) for number in details["workers"]}
    rows = [row for row in ledger.owed(work) if row.number in wanted]
    total = work.plan.pay.shown(sum(row.amount for row in rows))
    follows = (
        f"{len(rows):,} workers are marked as paid: {total} in all.",
        "Pay them first: no money is sent from here.",
    )
    return Consequence(f"Mark {total} as paid?", "Mark as paid", follows, final=True)


def _on_batch(act: str) -> Callable[[Work, Mapping[str, Any]], Consequence]:
    def told(work: Work, details: Mapping[str, Any]) -> Consequence:
        row = by_id(work, int(details["assignment"]))
        owner = workers.worker_of(work, row.worker_id).number
        freed = (place.c.assignment_id == row.id) & (place.c.held == 1)
        n = int(work.db.scalar(select(func.count()).select_from(place).where(freed)) or 0)
        pay = work.plan.pay.shown(row.promised)
        follows = {
            "accept": (f"The answers count, {pay} are owed to worker w{owner}.",),
            "exclude": (
                f"The answers are void; {n} sets are judged again by somebody else.",
                f"The worker is paid: {pay}." if row.promised else "What was paid stays paid.",
            ),
            "refuse": (
                f"The answers are void; {n} sets are judged again by somebody else.",
                f"The worker is not paid and can appeal for {work.plan.pay.appeal_days:g} days; "
                f"until then {pay} are kept.",
                "Undone, a refusal becomes an acceptance.",
            ),
        }[act]
        again = _again(work, n) if act != "accept" else 0
        title = f"{act.capitalize()} this batch of worker w{owner}?"
        return Consequence(title, act.capitalize(), follows, again)

    return told


def _again(work: Work, sets: int) -> int:
    """What judging so many sets again costs."""
    each = work.plan.hit.sets - work.plan.gold_per_hit
    return round(sets / each * work.plan.pay_of("judge"))


def _answer_appeal(work: Work, details: Mapping[str, Any]) -> Consequence:
    number, won = int(details["appeal"]), bool(details.get("won"))
    found = work.db.execute(select(appeal).where(appeal.c.id == number)).one_or_none()
    if found is None:
        raise RuleError("not-found", f"there is no appeal {number}")
    who = workers.worker_of(work, found.worker_id).number
    follows = [f"Worker w{who} reads the answer on the own page."]
    cost = 0
    if won and found.kind == "refusal":
        row = by_id(work, found.assignment_id)
        follows.append(f"The batch is accepted, and {work.plan.pay.shown(row.pay)} are owed.")
        cost = 0 if row.promised else row.pay
    elif won:
        follows.append("The check question stays in use until its set is retired.")
    title = f"Answer worker w{who}: {'you are right' if won else 'it stays as it is'}?"
    return Consequence(title, "Send the answer", tuple(follows), cost)


_TOLD: dict[str, Callable[[Work, Mapping[str, Any]], Consequence]] = {
    "launch": _launch,
    "pause": _pause,
    "resume": _resume,
    "close": _close,
    "raise target": _raise_target,
    "retire gold": _retire_gold,
    "fund": _fund,
    "screen out": _screen_out,
    "stop": _stop,
    "accept": _on_batch("accept"),
    "exclude": _on_batch("exclude"),
    "refuse": _on_batch("refuse"),
    "bonus": _bonus,
    "message": _message,
    "settle": _settle,
    "answer appeal": _answer_appeal,
}
