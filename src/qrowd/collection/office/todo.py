"""The overview of a campaign: the causes of what goes wrong, where it goes at its pace, and what
needs an organiser's decision now, each with the act that answers it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import func, select

from qrowd.collection.adjudication.appeals import APPEALS_BY_WORKERS
from qrowd.collection.books.notices import text_of
from qrowd.collection.database.schema import Notice, appeal, assignment, notice, worker
from qrowd.collection.database.store import Work
from qrowd.collection.judging import gold, hierarchy
from qrowd.collection.office.acts.sets import contested_sets
from qrowd.collection.office.causes import Cause, causes_of
from qrowd.collection.office.pace import Pace, pace_of
from qrowd.collection.people.workers import TO_BE_FORGOTTEN
from qrowd.collection.plan.sections import DAY, Pay
from qrowd.rendering import spaced_percent
from qrowd.texts import Text, listed

TRIED = 10  # answers to a gold set before its rate says something
MISSED = 0.5  # of those who tried it: a gold set that so many miss is perhaps wrong
LONG_AGO = 2 * DAY
NAMED = 20  # workers in a sentence
LOOK = Text("office.need.look")
INVITE = Text("office.cause.look.people")


@dataclass(frozen=True)
class Need:
    """Something to decide: what it is, the act that answers it, or the page to look at.

    `button` is what leads to the page; an act has words of its own.
    """

    text: Text
    act: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    page: str = ""
    button: Text = LOOK
    notice: int | None = None  # can be taken off the list
    urgent: bool = False  # said in red


@dataclass(frozen=True)
class Overview:
    """What an organiser reads first, on the page, by command and by the interface alike."""

    causes: list[Cause]
    pace: Pace
    needs: list[Need]

    def first_sentence(self, pay: Pay) -> Text:
        """The cause where there is one, else how far the campaign is."""
        return self.causes[0].text if self.causes else self.pace.sentence(pay)


def overview(work: Work) -> Overview:
    """The campaign as it is now."""
    pace = pace_of(work)
    causes = causes_of(work, pace)
    return Overview(causes, pace, needs(work, pace, causes))


def needs(work: Work, pace: Pace, causes: Sequence[Cause] = ()) -> list[Need]:
    """The list, the most urgent first, without what a cause says already."""
    named = {cause.name for cause in causes}
    answered = {(cause.act, tuple(cause.details)) for cause in causes}
    by_verdict = [_BY_VERDICT[pace.verdict]] if pace.verdict in _BY_VERDICT else []
    phases = _phases(work, pace)
    if phases and pace.verdict == "done":  # all is judged, but not yet all of it looked at again
        by_verdict = []
    return [
        *_open_to_anybody(work),
        *phases,
        *(by_verdict if "nobody" not in named or pace.verdict in ("paused", "done") else ()),
        *(() if named & {"budget", "spent"} else _budget(work, pace)),
        *_appeals(work),
        *_by_hand(work),
        *(need for need in _gold(work) if (need.act, tuple(need.details.items())) not in answered),
        *_forgetting(work),
        *_notices(work),
    ]


_BY_VERDICT = {
    "draft": Need(Text("office.need.draft"), "launch"),
    "paused": Need(Text("office.need.paused"), "resume"),
    "done": Need(Text("office.need.done"), "close"),
    "nobody works": Need(Text("office.need.nobody-works"), page="/people", button=INVITE),
    "nobody yet": Need(Text("office.need.nobody-yet"), page="/people", button=INVITE),
}


def _open_to_anybody(work: Work) -> Iterator[Need]:
    """A campaign that anybody enters, with the act that closes it."""
    if work.plan.entry != "open" or work.state == "closed":
        return
    text = Text("office.need.open-paid" if work.plan.paid else "office.need.open")
    own = work.plan.platform.preset == "own"
    # of a platform it must be said how many places there are
    details = {"entry": "links", "places": 0} if own else {"entry": "platform"}
    yield Need(text, "change entry", details, "/people", urgent=True)


def _phases(work: Work, pace: Pace) -> list[Need]:
    """Mode hierarchy: what waits for experts or the texts; in the end also for people."""
    if not work.plan.in_phases or work.state != "running":
        return []
    found = hierarchy.hierarchy(work)
    if not found.waits or (found.waits == "people" and pace.verdict != "done"):
        return []
    return [Need(found.sentence, page="/hierarchy")]


def _budget(work: Work, pace: Pace) -> Iterator[Need]:
    if pace.state in ("running", "paused") and pace.missing:
        lacks = work.plan.pay.shown(pace.missing)
        text = Text("office.need.budget", share=spaced_percent(pace.affordable), amount=lacks)
        yield Need(text, "fund", {"amount": pace.missing})


def _appeals(work: Work) -> Iterator[Need]:
    query = select(func.count(), func.min(appeal.c.at)).select_from(APPEALS_BY_WORKERS)
    unanswered = query.where(work.own(worker), appeal.c.answered_at.is_(None))
    n, oldest = work.db.execute(unanswered).one()
    if n:
        text = Text("office.need.appeals", n=n)
        if work.now - oldest > LONG_AGO:
            text = Text("office.need.appeals-old", n=n, days=(work.now - oldest) // DAY)
        yield Need(text, page="/appeals", button=Text("office.need.answer"))


def _by_hand(work: Work) -> Iterator[Need]:
    if work.plan.campaign.accept != "by hand":
        return
    n = work.count(assignment, work.own(assignment), assignment.c.state == "submitted")
    if n:
        yield Need(Text("office.need.batches", n=n), page="/batches")


def weak_gold(rows: list[gold.PassRate]) -> Iterator[gold.PassRate]:
    """Of the pass rates of gold sets: those in use that most workers miss."""
    for row in rows:
        if row.open and row.tried >= TRIED and row.passed < MISSED * row.tried:
            yield row


def _gold(work: Work) -> Iterator[Need]:
    contested = contested_sets(work)
    for number, held in contested.items():
        text = Text("office.need.contested", set=str(number), topic=held[0].topic, doc=held[0].doc)
        yield Need(text, "check again", {"set": number}, "/gold")
    weak = {row.id: row for row in weak_gold(gold.pass_rates(work)) if row.id not in contested}
    for number, row in weak.items():
        text = Text(
            "office.need.gold",
            set=str(number),
            missed=row.tried - row.passed,
            tried=row.tried,
            check=Text(f"office.check.{row.check}"),
        )
        yield Need(text, "retire gold", {"set": number}, "/gold")


def _forgetting(work: Work) -> Iterator[Need]:
    query = select(worker.c.number).where(work.own(worker), TO_BE_FORGOTTEN)
    numbers = work.db.scalars(query.limit(NAMED + 1)).all()
    if numbers:
        named = listed([f"w{number}" for number in numbers[:NAMED]])
        id = "office.need.forget-more" if len(numbers) > NAMED else "office.need.forget"
        yield Need(Text(id, workers=named), page=f"/workers/{numbers[0]}")


# notices about single workers: the page that answers several of them
_GROUPED = {
    "gold-used-up": "/extend",
    "stopped": "/workers?state=stopped",
    "reviewed": "/workers",
    "prolific-paid": "/prolific",
    "prolific-failed": "/prolific",
}


class _NewestNotice(Notice):
    n: int  # how many there are of its kind


def _notices(work: Work) -> Iterator[Need]:
    """Other notices; those about single workers together, once there are several."""
    n = notice.c
    kinds = (
        select(func.count().label("n"), func.max(n.id).label("last"))
        .where(work.own(notice), n.settled_at.is_(None), n.kind != "appeal")
        .group_by(n.kind)
        .subquery()
    )
    newest = select(notice, kinds.c.n).join_from(notice, kinds, kinds.c.last == n.id)
    for row in work.rows(newest.order_by(n.kind), _NewestNotice):
        page = _GROUPED.get(row.kind, "")
        if row.n > 1 and page:
            yield Need(Text(f"office.notice.{row.kind}.many", n=row.n), page=page)
        else:
            yield Need(text_of(row), page=page, notice=row.id)
