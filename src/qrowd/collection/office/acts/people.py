"""Who may come in: the rule, the list, links. The record has numbers, which mean nothing once the
people behind them are forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from qrowd.collection.database.schema import link, listed_person, worker
from qrowd.collection.database.store import Work
from qrowd.collection.judging.submission import passed_here
from qrowd.collection.people import entry, workers
from qrowd.collection.people.declined import DeclinedPeople
from qrowd.collection.people.entry import MOST_PEOPLE, OFF, PersonRow
from qrowd.collection.plan import limits
from qrowd.collection.plan.sections import ENTRIES, Pay, Plan
from qrowd.collection.plan.toml import rewritten, stored_plan
from qrowd.collection.record.act import Act, Consequence, Details, Stored
from qrowd.collection.record.details import (
    Choice,
    Days,
    Identifier,
    Inside,
    Kind,
    Number,
    Rows,
    detail,
)
from qrowd.errors import RuleError
from qrowd.texts import Text

MOST_DAYS = 3650
STRICTER = {name: at for at, name in enumerate(("open", "platform", "listed", "links"))}


class ChangeEntry(Act):
    """Say who may come in from now on; people who came in without a link must come in again."""

    name = "change entry"
    on = ("entry",)
    entry: str = detail(
        Choice(of=ENTRIES, text="office.entry.short."), suggest=lambda plan: plan.entry
    )
    places: int = detail(
        Number(low=0, high=10**6),
        default=0,
        hint=True,
        suggest=lambda plan: plan.platform.places or plan.people.workers,
    )

    def do(self, work: Work) -> Details:
        before = work.plan
        after = self._changed(before)
        for complaint in limits.entry(after):
            raise RuleError("bad-value", str(complaint.message))
        if (before.entry, before.platform.places) == (after.entry, after.platform.places):
            raise RuleError("conflict", "this is how people come in already")
        if STRICTER[after.entry] > STRICTER[before.entry]:
            entry.end_sessions_without_link(work)
        work.store_plan(after.text)
        return {"plan": {"entry": before.people.entry, "places": before.platform.places}}

    def _changed(self, plan: Plan) -> Plan:
        # the number of places stays as it is where nobody gives another
        return _with(plan, self.entry, self.places or plan.platform.places)

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        work.store_plan(_with(work.plan, **stored["plan"]).text)

    def foretell(self, work: Work) -> Consequence:
        after, taken = self._changed(work.plan), entry.places_taken(work)
        counts = {"n": after.platform.places, "taken": taken}
        follows = [Text(f"office.entry.means.{after.rule}", **counts)]
        if STRICTER[after.entry] > STRICTER[work.plan.entry]:
            follows.append(self.says("sessions"))
        return self.ask(work, *follows)


def _with(plan: Plan, entry: str, places: int) -> Plan:
    text = rewritten(plan.text, "people", {"entry": entry or None})
    return stored_plan(rewritten(text, "platform", {"places": places or None}))


# --- the list and links ---------------------------------------------------------------------------


class PersonNumber(Identifier):
    """The number of somebody on the list: 7 or "p7"."""

    def read(self, name: str, value: Any) -> int:
        return super().read(name, str(value).removeprefix("p"))

    def shown(self, value: Any, pay: Pay) -> str:
        return f"p{value}"


@dataclass(frozen=True, kw_only=True)
class People(Kind):
    """People: a list of ids or of objects, or text with somebody on each line.

    With `more`, an id may be followed by name, email and language, after tabs or semicolons.
    """

    more: bool = False
    #: two different rows for one person are refused, and so is what is no address
    strict: bool = False
    sign = "PEOPLE"
    input = "words"

    def read(self, name: str, value: Any) -> list[PersonRow]:
        rows = value.splitlines() if isinstance(value, str) else value
        if not isinstance(rows, list | tuple):
            raise RuleError("bad-value", f"{name} must be people, one a line")
        wanted = [self._row(row) for row in rows if not isinstance(row, str) or row.strip()]
        problem = entry.first_problem(wanted) if self.strict else None
        if problem is not None:
            raise RuleError("bad-value", f"row {problem[0] + 1}: {problem[1]}")
        wanted = list({row.id: row for row in wanted}.values())
        if not 1 <= len(wanted) <= MOST_PEOPLE:
            raise RuleError("bad-value", f"{name} must be 1 to {MOST_PEOPLE:,} people, one a line")
        return wanted

    def _row(self, row: Any) -> PersonRow:
        if isinstance(row, PersonRow):
            return row
        if isinstance(row, str):
            parts = re.split(r"[\t;]", row) if self.more else [row]
            return PersonRow(*(part.strip() for part in parts[:4]))
        fields = PersonRow.__dataclass_fields__
        plain = isinstance(row, Mapping) and row.keys() <= fields.keys() and "id" in row
        if not plain or not all(isinstance(text, str) for text in row.values()):
            raise RuleError("bad-value", f"a person has {', '.join(fields)}; got {row!r:.100}")
        return PersonRow(**{key: text.strip() for key, text in row.items()})

    def form(self, value: Any, pay: Pay) -> str:
        return "\n".join(row.id for row in value)

    def shown(self, value: Any, pay: Pay) -> int:
        return len(value)


class ListAct(Act):
    """Something that puts people on the list, who are off it again when it is undone."""

    scope = "people"
    adds = True

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        work.delete(link, link.c.id.in_(stored.get("links", ())), _own_links(work))
        entry.take_back(work, stored["made"])
        entry.take_off(work, stored["back"])


def _own_links(work: Work) -> Any:
    return link.c.person_id.in_(select(listed_person.c.id).where(work.own(listed_person)))


class ListPeople(ListAct):
    """Put people on the campaign's list; whoever was taken off it is on it again."""

    name = "list people"
    on = ("people",)
    results = (("made", Rows()), ("back", Rows()))
    people: list[PersonRow] = detail(People(more=True), recorded=False, hint=True)

    def do(self, work: Work) -> Details:
        done = entry.put_on_list(work, self.people)
        if not done.people:
            raise RuleError("not-allowed", entry.DECLINED)
        if not done.made and not done.back and not done.moved:
            raise RuleError("conflict", "all of them are on the list already")
        return {"made": done.made, "back": done.back}

    def foretell(self, work: Work) -> Consequence:
        return self.ask(work, Text(f"office.entry.list.{work.plan.rule}"), n=len(self.people))


@dataclass(frozen=True)
class Passed:
    """Those who have passed a qualification elsewhere: their ids, and the share they got right."""

    shares: Mapping[str, float]


class QualifyPeople(ListAct):
    """Put those on the list who have passed the qualification elsewhere: they need no test here."""

    name = "qualify people"
    page = "/qualification"
    command = "qrowd campaign qualify"
    results = (("made", Rows()), ("qualified", Rows()))
    passed: Passed = detail(Inside(of=Passed), recorded=False)

    def do(self, work: Work) -> Details:
        if work.state == "closed":
            raise RuleError("closed", "this campaign is closed; nobody can qualify for it any more")
        shares = self.new(work)
        if not shares:
            raise RuleError(
                "conflict", "none of them is new: they are qualified, off the list, or declined"
            )
        done = entry.put_on_list(work, [PersonRow(name) for name in shares])
        for number, share in zip(done.people, shares.values(), strict=True):
            marks = {"qualified_at": work.now, "test_share": share}
            work.update(listed_person, listed_person.c.id == number, **marks)
        came = select(listed_person.c.worker_id).where(listed_person.c.id.in_(done.people))
        ids = [number for number in work.db.scalars(came) if number is not None]
        tested = sorted({*ids} - {*workers.skip_test(work, ids)})
        return {
            "made": done.made,
            "back": done.back,
            "qualified": sorted(set(done.people)),
            "tested": tested,  # workers who had no test before them
        }

    def new(self, work: Work) -> dict[str, float]:
        """Those who are not qualified yet; who was taken off the list, or declined, stays so."""
        declined = DeclinedPeople(work)
        rows = {name: entry.listed_as(work, name) for name in self.passed.shares}
        return {
            name: share
            for name, share in self.passed.shares.items()
            if (not (row := rows[name]) or (row.state != OFF and row.qualified_at is None))
            and not declined.has(name, "")
        }

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        mine = work.own(listed_person) & listed_person.c.id.in_(stored["qualified"])
        came = select(listed_person.c.worker_id).where(mine, listed_person.c.worker_id.is_not(None))
        for worker_id in work.db.scalars(came).all():
            # the test is before them again, unless it was not, or they passed it here since
            if worker_id not in stored["tested"] and not passed_here(work, worker_id):
                own = (worker.c.id == worker_id) & (worker.c.state == "qualified")
                work.update(worker, own, state="new")
        work.update(listed_person, mine, qualified_at=None, test_share=None)
        ListAct.undo(work, stored)

    def foretell(self, work: Work) -> Consequence:
        new = len(self.new(work))
        follows = ["follows"] if new == len(self.passed.shares) else ["follows", "known"]
        return self.ask(work, *follows, n=new, known=len(self.passed.shares) - new)


class MakeLinks(ListAct):
    """Make a signed link for each of these people, who are put on the list."""

    name = "make links"
    page = "/people"  # whose form shows the links
    results = (("links", Rows()),)
    people: list[PersonRow] = detail(People(), recorded=False)
    days: float = detail(Days(high=MOST_DAYS), default=30.0, suggest=lambda _: 30)

    def do(self, work: Work) -> Details:
        done = entry.put_on_list(work, self.people)
        if not done.people:
            raise RuleError("not-allowed", entry.DECLINED)
        links = entry.new_links(work, list(dict.fromkeys(done.people)), self.days)
        return {"made": done.made, "back": done.back, "links": links}

    def foretell(self, work: Work) -> Consequence:
        return self.ask(work, "follows", n=len(self.people), days=f"{self.days:g}")


class PersonAct(Act):
    """Something about one person on the list."""

    on = ("listed",)
    scope = "people"
    subject = "person {person}"
    person: int = detail(PersonNumber())

    def foretell(self, work: Work) -> Consequence:
        row = entry.person_numbered(work, self.person)
        return self.ask(work, "follows", who=row.platform_id)


class TakeOffList(PersonAct):
    """Take somebody off the list: they cannot come in any more; what they judged stays."""

    name = "take off list"
    states = ("listed",)

    def do(self, work: Work) -> Details:
        row = entry.person_numbered(work, self.person)
        if row.state == OFF:
            raise RuleError("conflict", f"p{self.person} is off the list already")
        entry.take_off(work, [row.id])
        return {"before": row.state}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        number = entry.person_numbered(work, int(stored["person"])).id
        work.update(listed_person, listed_person.c.id == number, state=stored["before"])


class RevokeLinks(PersonAct):
    """Revoke all links of somebody on the list; a new one can be made."""

    name = "revoke links"
    states = ("listed",)
    results = (("links", Rows()),)

    def do(self, work: Work) -> Details:
        numbers = entry.revoke_links(work, entry.person_numbered(work, self.person))
        if not numbers:
            raise RuleError("conflict", f"p{self.person} has no link that could be revoked")
        return {"links": numbers}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        work.update(link, link.c.id.in_(stored["links"]), _own_links(work), revoked_at=None)
