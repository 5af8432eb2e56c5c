"""Letters to people on the list: an invitation, at most two reminders; each goes out once.

    numbers = write_letters(work, people, INVITATION, days=30)    they wait, each with a link
    person = begin(work, number)                                  marked as being sent: commit this
    done(work, number, mailer.deliver(message_of(work, person, person.round, address)))

A letter is marked before it is handed to a mail server, and once more after the server's answer.
Whoever dies in between leaves a letter of which nobody knows whether it went out: it is in doubt,
and is asked about rather than sent again. `mailer` sends; `declined` has who wants no letters.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.headerregistry import Address, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8, EmailPolicy
from html import escape
from typing import Any, cast
from urllib.parse import quote

from sqlalchemy import Select, and_, func, or_, select

from qrowd.collection.books.prospect import batch_documents
from qrowd.collection.database import schema
from qrowd.collection.database.schema import (
    assignment,
    letter,
    link,
    listed_person,
    worker,
)
from qrowd.collection.database.states import VALID
from qrowd.collection.database.store import Work
from qrowd.collection.people import declined, entry, workers
from qrowd.collection.people.entry import LISTED, OFF, PersonLine
from qrowd.collection.plan.addresses import same_address, wire_address
from qrowd.collection.plan.sections import DAY, MINUTE
from qrowd.errors import RuleError
from qrowd.rendering import Table
from qrowd.texts import language_of, template

INVITATION, FIRST, SECOND = 0, 1, 2  # rounds; the last two are reminders
WAITING, SENDING, SENT, REFUSED = "waiting", "sending", "sent", "refused"
DOUBT_AFTER = 10 * MINUTE  # longer than any server's answers take: nobody is sending it any more
REMIND_AFTER = DAY  # nobody is written to twice within
PAUSES = (1, 5, 15, 60, 240)  # minutes until the next try, the last of them from then on
HELD = 2**62  # a time that never comes
LONGEST_LINE = 900  # of the 998 that mail may have
MOST_TRIES = 20  # over some three days
LATER, DOUBT, UNTRIED = "later", "doubt", "untried"  # of an outcome, beside sent and refused
IN_DOUBT = "in doubt"


@dataclass(frozen=True)
class Outcome:
    """What became of a letter that was to be handed over: sent, later, refused, doubt, or untried
    where the server takes no mail at all.
    """

    kind: str
    problem: str = ""  # what the server said


# --- who was written to ---------------------------------------------------------------------------


class InvitedPerson(PersonLine):
    """Somebody on the list with their last letter, if there is one."""

    letter: int | None
    round: int | None
    letter_state: str | None
    tried_at: int | None
    next_at: int | None
    problem: str | None


def shown_state(person: InvitedPerson, now: int) -> str:
    """What became of somebody on the list, in one word for pages, commands and files."""
    if person.state == OFF:
        return OFF
    if person.worker_id is not None:
        return "entered"
    if person.letter_state == SENDING:
        assert person.tried_at is not None
        return IN_DOUBT if person.problem or person.tried_at < now - DOUBT_AFTER else WAITING
    return person.letter_state or LISTED


_LETTER = (
    letter.c.id.label("letter"),
    letter.c.round,
    letter.c.state.label("letter_state"),
    letter.c.tried_at,
    letter.c.next_at,
    letter.c.problem,
)


def invited(work: Work, limit: int | None = None) -> list[InvitedPerson]:
    """The list, by number, with the newest good link and the last letter."""
    newest = select(func.max(letter.c.round)).where(letter.c.person_id == listed_person.c.id)
    last = and_(
        letter.c.person_id == listed_person.c.id,
        letter.c.round == newest.correlate(listed_person).scalar_subquery(),
    )
    query = entry.lines(work, *_LETTER, joined=lambda rows: rows.outerjoin(letter, last))
    return work.rows(query.order_by(listed_person.c.id).limit(limit), InvitedPerson)


def list_of(work: Work) -> Table:
    """The list as a table: who, what became of them, by how many letters, what a server said."""
    people = invited(work)
    return {
        "person": [f"p{person.id}" for person in people],
        "id": [person.platform_id for person in people],
        "name": [person.name for person in people],
        "email": [person.email for person in people],
        "language": [person.language for person in people],
        "state": [shown_state(person, work.now) for person in people],
        "letters": [0 if person.round is None else person.round + 1 for person in people],
        "problem": [person.problem or "" for person in people],
        "worker": [f"w{person.number}" if person.number else "" for person in people],
        "link": ["yes" if person.key and person.state == LISTED else "no" for person in people],
    }


@dataclass(frozen=True)
class Funnel:
    """From invited to passing, in people. Those who are off the list are in none of it."""

    invited: int  # everybody on the list, and those who declined
    listed: int  # without a letter, and not come in yet
    waiting: int  # for their letter to go out
    sent: int  # and not come in yet
    in_doubt: int
    refused: int  # by the mail server, or bounced later
    declined: int
    entered: int
    qualified: int  # of those who entered: passed the test, or there is none
    passing: int  # of those who qualified: may go on, with a batch that counts


def funnel(work: Work) -> Funnel:
    """How far the invited people have come."""
    people = [person for person in invited(work) if person.state != OFF]
    states = Counter(shown_state(person, work.now) for person in people)
    came = listed_person.join(worker, worker.c.id == listed_person.c.worker_id)
    mine = work.own(listed_person) & (listed_person.c.state != OFF)
    passed = or_(
        worker.c.state.not_in(("new", "failed")), listed_person.c.qualified_at.is_not(None)
    )
    good = select(assignment.c.id).where(
        assignment.c.worker_id == worker.c.id,
        assignment.c.kind == "judge",
        assignment.c.state.in_(VALID),
    )
    # who came in and declined letters since is still on the list
    refusing = declined.DeclinedPeople(work)
    inside = [person for person in people if person.worker_id is not None]
    gone = declined.people_declined(work) - sum(
        refusing.has_here(person.platform_id) for person in inside
    )
    return Funnel(
        invited=len(people) + gone,
        listed=states[LISTED],
        waiting=states[WAITING],
        sent=states[SENT],
        in_doubt=states[IN_DOUBT],
        refused=states[REFUSED],
        declined=gone,
        entered=states["entered"],
        qualified=work.count(came, mine, passed),
        passing=work.count(came, mine, worker.c.state == "qualified", good.exists()),
    )


# --- written --------------------------------------------------------------------------------------


def write_letters(work: Work, people: Sequence[int] | None, round: int, days: float) -> list[int]:
    """Letters that wait, each with a new link, to those of these people (of everybody on the list)
    who are due one of this round; their numbers.

    An invitation is for those who have none, a reminder for those whose last letter was sent a day
    ago at least and who have not come in.
    """
    refuse_state(work)
    wanted = None if people is None else set(people)
    recipients = [
        person.id for person in recipients_of(work, round) if wanted is None or person.id in wanted
    ]
    links = entry.new_links(work, recipients, days)
    rows = [
        {
            "person_id": number,
            "round": round,
            "link_id": link_id,
            "made_at": work.now,
            "next_at": work.now,
        }
        for number, link_id in zip(recipients, links, strict=True)
    ]
    work.insert_all(letter, rows)
    of_round = select(letter.c.link_id, letter.c.id).where(
        letter.c.round == round, letter.c.made_at == work.now
    )
    numbers = dict(work.db.execute(of_round).all())
    return [numbers[link_id] for link_id in links]


def write_again(work: Work, people: Sequence[int], days: float) -> list[int]:
    """Letters to those of these people whose last one was refused, wait again; their numbers."""
    refused = [
        person
        for person in invited(work)
        if person.id in people and shown_state(person, work.now) == REFUSED
    ]
    links = entry.new_links(work, [person.id for person in refused], days)
    for person, link_id in zip(refused, links, strict=True):
        work.update(
            letter,
            letter.c.id == person.letter,
            state=WAITING,
            link_id=link_id,
            attempts=0,
            next_at=work.now,
            problem="",
        )
    return [person.letter for person in refused if person.letter is not None]


def recipients_of(work: Work, round: int) -> list[InvitedPerson]:
    """Everybody on the list who is due a letter of this round."""
    refusing = declined.DeclinedPeople(work)
    return [
        person
        for person in invited(work)
        if _is_due(person, round, work.now) and not refusing.has(person.platform_id, person.email)
    ]


def _is_due(person: InvitedPerson, round: int, now: int) -> bool:
    state = shown_state(person, now)
    if round == INVITATION:
        return state == LISTED
    if state != SENT or person.round is None or person.tried_at is None:
        return False
    return person.round == round - 1 and person.tried_at <= now - REMIND_AFTER


def refuse_state(work: Work) -> None:
    """An error unless people can be invited to this campaign now."""
    if work.state == "closed":
        raise RuleError("closed", "this campaign is closed: nobody can be invited to it")
    if work.state == "draft":
        raise RuleError("wrong-state", "this campaign is not launched; launch it, then invite")


def decline(work: Work, link_text: str) -> None:
    """Whoever has this link is never written to again; twice is fine.

    Nothing is left of somebody who never came in but keyed hashes. Whoever came in keeps the link,
    to answers and pay; the address and the letters are gone. `scrub` of `erasure` must follow.
    """
    key, row = entry.person_of_link(work, link_text)
    if row is None:
        if declined.by_link(work, key):
            return
        raise RuleError("expired-link", entry.ENDED)
    _erase(work, row, key)


def _erase(work: Work, row: schema.ListedPerson, key: str) -> None:
    keys = work.db.scalars(select(link.c.key).where(link.c.person_id == row.id))
    declined.remember(work, row, {key, *keys})
    if row.worker_id is None:
        entry.remove(work, [row.id])
    else:
        work.delete(letter, letter.c.person_id == row.id)
        work.update(listed_person, listed_person.c.id == row.id, email="")


# --- sent -----------------------------------------------------------------------------------------


class LetterToSend(InvitedPerson):
    """Somebody with a letter that is to be sent: its link is the one in it."""

    letter: int
    round: int
    next_at: int
    attempts: int


def _to_send(work: Work) -> Select[int]:
    """Letters that wait, to people who can still be written to."""
    rows = letter.join(listed_person, listed_person.c.id == letter.c.person_id)
    rows = rows.join(link, link.c.id == letter.c.link_id)
    rows = rows.outerjoin(worker, worker.c.id == listed_person.c.worker_id)
    query = select(
        listed_person,
        worker.c.number,
        link.c.key,
        link.c.expires_at,
        *_LETTER,
        letter.c.attempts,
    )
    return query.select_from(rows).where(
        work.own(listed_person),
        listed_person.c.state == LISTED,
        listed_person.c.worker_id.is_(None),
        letter.c.state == WAITING,
    )


def waiting(work: Work) -> list[LetterToSend]:
    """All letters that wait, due or not, to an address or not."""
    refusing = declined.DeclinedPeople(work)  # of another campaign, since they were written
    rows = work.rows(_to_send(work).order_by(letter.c.next_at, letter.c.id), LetterToSend)
    return [row for row in rows if not refusing.has(row.platform_id, row.email)]


def due(work: Work) -> list[LetterToSend]:
    """Letters that may be sent now, as many as the plan allows in a minute."""
    joined = letter.join(listed_person, listed_person.c.id == letter.c.person_id)
    just_now = work.count(joined, work.own(listed_person), letter.c.tried_at > work.now - MINUTE)
    return ready(work, max(0, work.plan.mail.per_minute - just_now))


def ready(work: Work, limit: int) -> list[LetterToSend]:
    """Letters whose time has come, however many went out in the last minute."""
    if work.state in ("closed", "draft") or not work.plan.mail.contact or not limit:
        return []
    now = _to_send(work).where(letter.c.next_at <= work.now, listed_person.c.email != "")
    return work.rows(now.order_by(letter.c.next_at, letter.c.id).limit(limit), LetterToSend)


def begin(work: Work, number: int) -> LetterToSend | None:
    """Mark a letter as being sent, which must be committed before it is handed over; None where
    somebody else sends it, or it is not to be sent any more.
    """
    if work.state in ("closed", "draft"):
        return None
    row = work.row(_to_send(work).where(letter.c.id == number), LetterToSend)
    if row is not None and declined.DeclinedPeople(work).has(row.platform_id, row.email):
        _erase(work, row, str(row.key))  # declined another campaign since this was written
        return None
    if row is not None:
        again = row.attempts + 1
        mine = letter.c.id == number
        work.update(letter, mine, state=SENDING, tried_at=work.now, attempts=again, problem="")
    return row


def done(work: Work, number: int, outcome: Outcome) -> None:
    """Write down what became of a letter; nothing where it was settled, or erased, meanwhile."""
    mine = (letter.c.id == number) & (letter.c.state == SENDING)
    row = work.row(select(letter).where(mine), schema.Letter)
    if row is None:
        return
    if outcome.kind == DOUBT:
        work.update(letter, mine, problem=outcome.problem or "no answer")
    elif outcome.kind == UNTRIED:
        tries = row.attempts - 1
        work.update(letter, mine, state=WAITING, attempts=tries, problem=outcome.problem)
    elif outcome.kind == LATER and row.attempts < MOST_TRIES:
        pause = PAUSES[min(row.attempts, len(PAUSES)) - 1] * MINUTE
        next_at = work.now + pause
        work.update(letter, mine, state=WAITING, next_at=next_at, problem=outcome.problem)
    else:
        state = SENT if outcome.kind == SENT else REFUSED
        work.update(letter, mine, state=state, problem=outcome.problem)


def hold(work: Work, numbers: Sequence[int]) -> None:
    """Let letters wait until somebody says how they go out: by `release`, or `handed_out`."""
    work.update(letter, letter.c.id.in_(numbers) & (letter.c.state == WAITING), next_at=HELD)


def release(work: Work) -> None:
    """Let the server send what was held."""
    mine = select(listed_person.c.id).where(work.own(listed_person))
    held = letter.c.person_id.in_(mine) & (letter.c.state == WAITING) & (letter.c.next_at == HELD)
    work.update(letter, held, next_at=work.now)


def handed_out(work: Work, numbers: Sequence[int]) -> None:
    """Mark letters as sent that the organiser's own mailer sends, from a file."""
    mine = letter.c.id.in_(numbers) & (letter.c.state == WAITING)
    work.update(letter, mine, state=SENT, tried_at=work.now, problem="")


def doubtful(work: Work) -> list[InvitedPerson]:
    """People whose letter was handed over, and no answer was seen."""
    return [person for person in invited(work) if shown_state(person, work.now) == IN_DOUBT]


def settle_doubt(work: Work, numbers: Sequence[int], sent: bool) -> list[int]:
    """Say of letters in doubt that they were sent, or send them again; their numbers."""
    settled = [
        person.letter
        for person in doubtful(work)
        if person.letter is not None and person.letter in numbers
    ]
    work.update(letter, letter.c.id.in_(settled), state=SENT if sent else WAITING)
    return settled


def mark_refused(work: Work, addresses: Sequence[str]) -> list[int]:
    """Mark the last letters to these addresses as refused, which bounced after they were sent;
    their numbers.
    """
    bounced = {same_address(address) for address in addresses}
    numbers = [
        person.letter
        for person in invited(work)
        if person.letter is not None
        and person.letter_state == SENT
        and same_address(person.email) in bounced
    ]
    work.update(letter, letter.c.id.in_(numbers), state=REFUSED, problem="came back")
    return numbers


# --- what they say --------------------------------------------------------------------------------


def refuse_silence(work: Work) -> None:
    """An error where the plan does not say whom letters come from."""
    if not work.plan.mail.contact:
        raise RuleError(
            "incomplete",
            "the plan has no [mail] contact, the address that letters come from; "
            'give one: act "change mail" contact=ADDRESS',
        )


@dataclass(frozen=True)
class Words:
    """A letter's words, and its addresses."""

    subject: str
    text: str
    html: str
    link: str
    decline: str
    until: str


def words_of(work: Work, person: PersonLine, round: int, address: str) -> Words:
    """What a letter says, in the person's language."""
    plan = work.plan
    language = language_of(person.language, plan.campaign.language)
    page, signed = quote(work.name, safe=""), "..."
    if person.key is not None:
        signed = quote(entry.link_text(work, person.key), safe="")
    until = person.expires_at or work.now
    pay, title = plan.pay_of("judge"), plan.campaign.title or plan.campaign.name
    values = {
        "name": one_line(person.name),
        "title": title,
        "sender": plan.mail.who or title,
        "contact": plan.mail.contact,
        "pay": plan.pay.shown(pay),
        "minutes": f"{max(1.0, plan.seconds_of(1) * batch_documents(work) / 60):.0f}",
        "until": datetime.fromtimestamp(until / 1000, UTC).strftime("%Y-%m-%d"),
        "link": f"{address}/judge/{page}?link={signed}",
        "decline": f"{address}/decline/{page}?link={signed}",
    }
    kind = "reminder" if round else "invitation"
    parts = (
        "letter.hello" if values["name"] else "letter.hello.nobody",
        f"letter.asks.{kind}",
        f"preview.{plan.way.name}",
        "letter.paid" if pay else "letter.unpaid",
        "letter.link",
        "letter.decline",
        "letter.from" if plan.mail.sender else "letter.from.nobody",
    )
    body = plan.mail.text or "\n\n".join(template(id, language) for id in parts)
    subject = plan.mail.subject or template(f"letter.subject.{kind}", language)
    return Words(
        subject=one_line(subject.format_map(values)),
        text=body.format_map(values),
        html=_html(body, values, language),
        link=values["link"],
        decline=values["decline"],
        until=values["until"],
    )


def _html(body: str, values: dict[str, str], language: str) -> str:
    """The same words as a small HTML part, with the addresses as links."""
    shown = {name: escape(value) for name, value in values.items()}
    for name in ("link", "decline"):
        shown[name] = f'<a href="{shown[name]}">{shown[name]}</a>'
    paragraphs = [
        f"<p>{escape(part.strip(), quote=False).format_map(shown)}</p>".replace("\n", "<br>\n")
        for part in body.split("\n\n")
        if part.strip()
    ]
    inside = "\n".join(paragraphs)
    return f'<!doctype html>\n<html lang="{language}"><body>\n{inside}\n</body></html>\n'


def message_of(work: Work, person: PersonLine, round: int, address: str) -> EmailMessage:
    """A letter as mail; `address` is where the server can be reached."""
    refuse_silence(work)
    mail, words = work.plan.mail, words_of(work, person, round, address)
    sender = address_of(mail.sender, mail.contact)
    message = new_message(sender, address_of(person.name, person.email), work.now)
    message["Subject"] = words.subject
    message["Reply-To"] = sender
    # the same letter has the same number, however often it is handed over
    number = f"{work.campaign}.{person.id}.{round}"
    secret = workers.secret_of(work).encode()
    mark = hmac.new(secret, f"letter {number}".encode(), hashlib.sha256).hexdigest()[:16]
    message["Message-ID"] = f"<{number}.{mark}@{sender.domain}>"
    if len(words.decline) < LONGEST_LINE:
        message["List-Unsubscribe"] = f"<{words.decline}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(words.text)
    message.add_alternative(words.html, subtype="html")
    return message


class _Whole:
    """A header in one line as it is: Python would make encoded words of a long address."""

    max_count = 1
    value_parser = staticmethod(UnstructuredHeader.value_parser)
    parse = UnstructuredHeader.parse

    def fold(self, *, policy: EmailPolicy) -> str:
        """The line."""
        return f"List-Unsubscribe: {self}{policy.linesep}"


_HEADERS = HeaderRegistry()
_HEADERS.map_to_type("list-unsubscribe", cast(Any, _Whole))


def address_of(name: str, address: str) -> Address:
    """Somebody in a header."""
    local, _, domain = wire_address(address).rpartition("@")
    return Address(display_name(name), local, domain)


def display_name(name: str) -> str:
    """A name without what has a meaning in headers, and so short that it stays in a line: of longer
    ones Python forgets the quotes.
    """
    plain = name.translate(dict.fromkeys(map(ord, '"\\<>()[],;:@'), " "))
    return one_line(plain)[:60].strip()


def new_message(sender: Address, recipient: Address, now: int) -> EmailMessage:
    """A message from and to somebody; all of it is ASCII unless an address cannot be."""
    ascii_only = (sender.addr_spec + recipient.addr_spec).isascii()
    # bodies in seven bits pass every server
    policy = (SMTP if ascii_only else SMTPUTF8).clone(cte_type="7bit", header_factory=_HEADERS)
    message = EmailMessage(policy=policy)
    message["From"], message["To"] = sender, recipient
    message["Date"] = datetime.fromtimestamp(now // 1000, UTC)
    return message


def one_line(text: str) -> str:
    """A text that stays in one header, whatever it holds."""
    shown = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    # Python decodes what looks like an encoded word, line ends and all, and writes that out
    return shown.replace("=?", "= ?")


# --- for one's own mailer -------------------------------------------------------------------------


def table_of(work: Work, people: Sequence[LetterToSend], address: str) -> Table:
    """Letters as a table for a mail merge, whose text is the organiser's own."""
    words = [words_of(work, person, person.round, address) for person in people]
    return {
        "person": [person.platform_id for person in people],
        "email": [person.email for person in people],
        "name": [person.name for person in people],
        "language": [person.language for person in people],
        "subject": [each.subject for each in words],
        "link": [each.link for each in words],
        "decline": [each.decline for each in words],
        "until": [each.until for each in words],
    }


def files_of(work: Work, people: Sequence[LetterToSend], address: str) -> dict[str, bytes]:
    """Letters as `.eml` files by their names, for those who have an address."""
    return {
        f"p{person.id}-{person.round}.eml": bytes(message_of(work, person, person.round, address))
        for person in people
        if person.email
    }
