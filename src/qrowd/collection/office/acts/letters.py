"""Letters to people: invitations, reminders, and what became of them. What is undone is what did
not go out yet: nobody is written to twice because of an undo.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from qrowd.collection.database.schema import letter, link
from qrowd.collection.database.store import Work
from qrowd.collection.office import digest
from qrowd.collection.office.acts.people import MOST_DAYS, ListAct, People
from qrowd.collection.people import entry, letters
from qrowd.collection.people.entry import PersonRow
from qrowd.collection.people.letters import FIRST, INVITATION, SECOND, SENT, WAITING
from qrowd.collection.plan import limits
from qrowd.collection.plan.addresses import wire_address
from qrowd.collection.plan.sections import Pay
from qrowd.collection.plan.toml import rewritten, stored_plan
from qrowd.collection.record.act import Act, Consequence, Details, Stored
from qrowd.collection.record.details import Days, Kind, Line, Number, Rows, Words, YesNo, detail
from qrowd.errors import RuleError


class ChangeMail(Act):
    """Say whom letters come from, what they say, and how many go out in a minute."""

    name = "change mail"
    on = ("letters",)
    scope = "people"
    contact: str = detail(Line(), default="", hint=True, suggest=lambda plan: plan.mail.contact)
    sender: str = detail(Line(), default="", suggest=lambda plan: plan.mail.sender)
    per_minute: int = detail(
        Number(low=1, high=10_000), default=0, suggest=lambda plan: plan.mail.per_minute
    )
    headline: str = detail(Line(), default="", suggest=lambda plan: plan.mail.subject)
    text: str = detail(Words(), default="", hint=True, suggest=lambda plan: plan.mail.text)

    def do(self, work: Work) -> Details:
        keys = {
            "contact": self.contact,
            "sender": self.sender,
            "per_minute": self.per_minute,
            "subject": self.headline,
            "text": self.text,
        }
        said = {key: value for key, value in keys.items() if value}
        text, mail = work.plan.text, work.plan.mail
        before = {
            key: getattr(mail, key) if limits.is_given(text, "mail", key) else None for key in said
        }
        after = rewritten(text, "mail", said)
        for complaint in limits.mail(stored_plan(after)):
            raise RuleError("bad-value", str(complaint.message))
        if all(getattr(mail, key) == value for key, value in said.items()):
            raise RuleError("conflict", "this is how letters are sent already")
        work.store_plan(after)
        return {"plan": before}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        work.store_plan(rewritten(work.plan.text, "mail", stored["plan"]))


class InvitePeople(ListAct):
    """Write to people, once, who are put on the list; without people, to all who are on it."""

    name = "invite people"
    page = "/people"
    results = (("made", Rows()), ("letters", Rows()))
    people: list[PersonRow] = detail(
        People(more=True, strict=True), default=(), recorded=False, hint=True
    )
    days: float = detail(Days(high=MOST_DAYS), default=30.0, suggest=lambda _: 30)

    def do(self, work: Work) -> Details:
        letters.refuse_state(work)
        done = entry.put_on_list(work, self.people) if self.people else None
        if done is not None and not done.people:
            raise RuleError("not-allowed", entry.DECLINED)
        people = None if done is None else done.people
        written = letters.write_letters(work, people, INVITATION, self.days)
        if done is not None and done.moved:
            written += letters.write_again(work, done.moved, self.days)
        if not written:
            raise RuleError(
                "conflict", "all of them came or were invited already; nobody is written to twice"
            )
        made = {"made": done.made, "back": done.back} if done else {"made": [], "back": []}
        return {**made, "letters": written, "declined": done.declined if done else 0}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        take_back_letters(work, stored["letters"])
        ListAct.undo(work, stored)

    def foretell(self, work: Work) -> Consequence:
        n = len(self.people) or len(letters.recipients_of(work, INVITATION))
        return self.ask(work, "follows", n=n, days=f"{self.days:g}")


def take_back_letters(work: Work, numbers: Sequence[int]) -> None:
    """Letters that were never tried are gone with their links, and can be written again."""
    untried = letter.c.id.in_(numbers) & (letter.c.state == WAITING) & (letter.c.attempts == 0)
    links = list(work.db.scalars(select(letter.c.link_id).where(untried)))
    work.delete(letter, untried)
    work.delete(link, link.c.id.in_(links))


class Remind(Act):
    """Remind all whose letter went out a day ago or more and who did not come: at most twice."""

    name = "remind"
    on = ("letters",)
    scope = "people"
    adds = True
    results = (("letters", Rows()),)
    days: float = detail(Days(high=MOST_DAYS), default=30.0, suggest=lambda _: 30)

    def do(self, work: Work) -> Details:
        # the second reminders first, or who gets the first one now would be counted twice
        second = letters.write_letters(work, None, SECOND, self.days)
        first = letters.write_letters(work, None, FIRST, self.days)
        if not first + second:
            raise RuleError(
                "conflict",
                "nobody is due a reminder: they came, their letter did not go out or went out less "
                "than a day ago, or they were reminded twice",
            )
        return {"letters": [*first, *second]}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        take_back_letters(work, stored["letters"])

    def foretell(self, work: Work) -> Consequence:
        first, second = (len(letters.recipients_of(work, each)) for each in (FIRST, SECOND))
        return self.ask(work, "follows", n=first + second, first=first, second=second)


class SettleDoubt(Act):
    """Say of all letters in doubt that they were sent, or send them again."""

    name = "settle doubt"
    on = ("doubt",)
    scope = "people"
    adds = True
    results = (("letters", Rows()),)
    sent: bool = detail(YesNo())

    def do(self, work: Work) -> Details:
        numbers = [person.letter for person in letters.doubtful(work) if person.letter is not None]
        if not numbers:
            raise RuleError("conflict", "no letter is in doubt")
        return {"letters": letters.settle_doubt(work, numbers, self.sent)}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        # what went out meanwhile stays sent; the rest is asked about again
        settled = SENT if stored["sent"] else WAITING
        mine = letter.c.id.in_(stored["letters"]) & (letter.c.state == settled)
        work.update(letter, mine, state=letters.SENDING)

    def foretell(self, work: Work) -> Consequence:
        follows = "follows" if self.sent else "follows.again"
        return self.ask(work, follows, n=len(letters.doubtful(work)))


class Addresses(Kind):
    """Addresses: a list, or text with one on each line (or commas, semicolons, blanks between)."""

    sign = "ADDRESSES"
    input = "words"

    def read(self, name: str, value: Any) -> list[str]:
        texts = (
            value.replace(",", " ").replace(";", " ").split() if isinstance(value, str) else value
        )
        if not isinstance(texts, list | tuple) or not texts:
            raise RuleError("bad-value", f"{name} must be addresses, one a line")
        return list(dict.fromkeys(wire_address(str(text).strip("<>")) for text in texts))

    def form(self, value: Any, pay: Pay) -> str:
        return "\n".join(value)

    def shown(self, value: Any, pay: Pay) -> int:
        return len(value)


class MarkRefused(Act):
    """Mark letters as refused that came back after they were sent."""

    name = "mark refused"
    on = ("letters",)
    scope = "people"
    adds = True
    results = (("letters", Rows()),)
    addresses: list[str] = detail(Addresses(), recorded=False, hint=True)

    def do(self, work: Work) -> Details:
        numbers = letters.mark_refused(work, self.addresses)
        if not numbers:
            raise RuleError("not-found", "no letter was sent to any of these addresses")
        return {"letters": numbers}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        mine = letter.c.id.in_(stored["letters"]) & (letter.c.state == letters.REFUSED)
        work.update(letter, mine, state=SENT, problem="")

    def foretell(self, work: Work) -> Consequence:
        return self.ask(work, "follows", n=len(self.addresses))


class SendDigests(Act):
    """Tell these addresses what needs a decision, at most once a day and nothing twice."""

    name = "send digests"
    on = ("digests",)
    adds = True
    addresses: list[str] = detail(Addresses(), hint=True)

    def do(self, work: Work) -> Details:
        new = digest.ask(work, self.addresses)
        if not new:
            raise RuleError("conflict", "all of these addresses get digests already")
        return {"new": new}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        digest.stop(work, stored["new"])

    def foretell(self, work: Work) -> Consequence:
        return self.ask(work, "follows", n=len(self.addresses))


class StopDigests(Act):
    """Tell these addresses nothing more."""

    name = "stop digests"
    on = ("digests",)
    adds = True
    addresses: list[str] = detail(Addresses())

    def do(self, work: Work) -> Details:
        told = digest.stop(work, self.addresses)
        if not told:
            raise RuleError("not-found", "none of these addresses gets digests")
        return {"told": told}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        digest.ask(work, stored["told"])

    def foretell(self, work: Work) -> Consequence:
        return self.ask(work, "follows", n=len(self.addresses))
