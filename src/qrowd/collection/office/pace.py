"""Where a campaign goes at its pace: done by when, for how much; from counters, and in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select

from qrowd.collection.books.ledger import balance
from qrowd.collection.books.progress import coverage
from qrowd.collection.books.prospect import foreseen_cost
from qrowd.collection.database.schema import assignment
from qrowd.collection.database.states import OPEN, VALID
from qrowd.collection.database.store import Work
from qrowd.collection.office.acts.next_sets import Decided, decided_now
from qrowd.collection.plan.sections import DAY, HOUR, Pay
from qrowd.rendering import spaced_percent, thousands
from qrowd.texts import Text, listed

ENOUGH = 20  # batches before what they cost says more than the plan
WINDOWS = (DAY, 7 * DAY)


@dataclass(frozen=True)
class Pace:
    """How far a campaign is, and where it goes. Money in minor units, times in milliseconds.

    Of the judgements that are `held`, `pending` are only reserved, for batches that are open.
    `per_day` counts judgements at the pace of the last day on which somebody worked (or the last
    week); `expected` is what the whole campaign costs if the rest costs what was paid so far.
    """

    state: str
    held: int
    pending: int
    wanted: int
    per_day: float
    now: int
    spent: int
    promised: int
    budget: int
    expected: int
    decided: Decided | None = None  # where documents that are decided give their places back

    @property
    def valid(self) -> int:
        """Judgements that are done, and good."""
        return self.held - self.pending

    @property
    def share(self) -> float:
        """The share of wanted judgements that are done."""
        return self.valid / self.wanted if self.wanted else 1.0

    @property
    def ready_at(self) -> int | None:
        """When all is judged at this pace; None where nobody works."""
        left = self.wanted - self.valid
        if left <= 0:
            return self.now
        return self.now + round(left / self.per_day * DAY) if self.per_day else None

    @property
    def missing(self) -> int:
        """What the budget lacks."""
        return max(0, self.expected - self.budget)

    @property
    def affordable(self) -> float:
        """The share of wanted judgements that the budget pays for."""
        left = self.expected - self.spent - self.promised
        if not self.missing or left <= 0:
            return 1.0
        rest = (self.budget - self.spent - self.promised) / left
        given_out = self.held / self.wanted if self.wanted else 1.0  # what is promised is paid for
        return given_out + (1 - given_out) * max(0.0, rest)

    @property
    def verdict(self) -> str:
        """On track, or what is in the way: a state, the budget, that nobody works (yet)."""
        if self.state != "running":
            return self.state
        if self.valid >= self.wanted:
            return "done"
        if self.missing:
            return "budget"
        if self.per_day:
            return "on track"
        return "nobody works" if self.held else "nobody yet"

    def sentence(
        self,
        pay: Pay,
        link: Callable[[Text, str], Any] = lambda text, page: text,
        *,
        opened: bool = True,
    ) -> Text:
        """All of it in one sentence; pages make links to what each part is made of.

        Without its opening ("On track") where something else was said before it.
        """
        parts = [(Text("office.pace.share", share=spaced_percent(self.share)), "/coverage")]
        if self.pending:
            reserved = spaced_percent(self.pending / self.wanted)
            parts.append((Text("office.pace.reserved", share=reserved), "/coverage"))
        if self.verdict in ("on track", "budget") and self.ready_at is not None:
            day = day_of(self.ready_at, self.now)
            parts.append((Text("office.pace.ready", day=day), "/coverage"))
        if self.budget:
            parts.append((spent_of(pay, self.spent, self.budget), "/money"))
        if self.verdict == "budget":
            values = {"share": spaced_percent(self.affordable), "amount": pay.shown(self.missing)}
            parts.append((Text("office.pace.missing", **values), "/money"))
        said = listed([link(text, page) for text, page in parts])
        if not opened:
            return Text("office.pace.parts", parts=said)
        opening = Text(f"office.pace.opening.{self.verdict.replace(' ', '-')}")
        return Text("office.pace.sentence", opening=opening, parts=said)


def spent_of(pay: Pay, spent: int, budget: int) -> Text:
    """Such as 212 of 300 EUR spent: whole units where nothing is lost by it."""
    unit = 10**pay.digits
    if spent % unit == 0 and budget % unit == 0:
        shown, whole = thousands(spent // unit), f"{thousands(budget // unit)} {pay.currency}"
    else:
        shown, whole = thousands(spent / unit, pay.digits), pay.shown(budget)
    return Text("office.pace.spent", spent=shown, budget=whole)


def day_of(at: int, now: int) -> Text:
    """A day in words, by this machine's clock: today, tomorrow, on Thursday, on 3 December 2027."""
    then, today = (datetime.fromtimestamp(time / 1000).astimezone() for time in (at, now))
    days = (then.date() - today.date()).days
    if days < 2:
        return Text("office.day.today" if days < 1 else "office.day.tomorrow")
    if days < 7:
        return Text(f"office.day.weekday.{then.isoweekday()}")
    date = {"day": then.day, "month": Text(f"office.month.{then.month}")}
    if then.year == today.year:
        return Text("office.day.date", **date)
    return Text("office.day.date-year", year=str(then.year), **date)


def pace_of(work: Work) -> Pace:
    """Where the campaign goes; from counters, not from answers."""
    wanted, held, pending = coverage(work)
    money, batches, decided = balance(work), _batches(work), decided_now(work)
    given_back = decided.given_back if decided else 0
    spent = money.owed + money.settled
    cost = spent + money.promised
    return Pace(
        state=work.state,
        held=held,
        pending=pending,
        wanted=wanted,
        per_day=_recent_batches_a_day(work) * (held / batches if batches else 0.0),
        now=work.now,
        spent=spent,
        promised=money.promised,
        budget=money.budget,
        expected=cost + _rest(work, wanted - held, held, given_back, cost, batches),
        decided=decided,
    )


def _rest(work: Work, left: int, held: int, given_back: int, cost: int, batches: int) -> int:
    """What the judgements that are left will cost, if those that are held cost this much.

    What was foreseen is the cost of the whole: of those that were given back, too.
    """
    if left <= 0:
        return 0
    if batches >= ENOUGH and held:
        return round(cost / held * left)
    return round(foreseen_cost(work, given_back) * left / (left + held + given_back))


def _batches(work: Work, *conditions: ColumnElement[bool]) -> int:
    """How many batches hold places."""
    return work.count(assignment, _holding(work), *conditions)


def _holding(work: Work) -> ColumnElement[bool]:
    states = assignment.c.state.in_((*OPEN, *VALID))
    return and_(work.own(assignment), assignment.c.kind == "judge", states)


def _recent_batches_a_day(work: Work) -> float:
    """In the shortest window in which somebody worked."""
    leased_at = assignment.c.leased_at
    first = work.db.scalar(select(func.min(leased_at)).where(_holding(work)))
    for window in WINDOWS if first is not None else ():
        batches = _batches(work, leased_at > work.now - window)
        if batches:
            # by its first minutes alone a campaign would do thousands a day
            return batches * DAY / max(HOUR, min(window, work.now - int(first)))
    return 0.0
