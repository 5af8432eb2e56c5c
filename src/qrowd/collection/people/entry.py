"""Who may come in: by a signed link, from the campaign's list, sent by a platform, or anybody.

`[people] entry` is the rule; a signed link is a door under every rule. A link belongs to somebody
on the list, and its text tells nobody who that is. One person is one worker: each door leads to the
worker whom the organiser knows by the same name already.

    entrant = admitted(work, link=..., parameters=...)     only looks; an error where it is refused
    worker = come_in(work, entrant)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from itsdangerous import BadSignature, URLSafeSerializer
from sqlalchemy import ColumnElement, FromClause, Select, func, or_, select

from qrowd.collection.database import schema
from qrowd.collection.database.schema import (
    letter,
    link,
    listed_person,
    person,
    submission,
    token,
    worker,
)
from qrowd.collection.database.store import Work
from qrowd.collection.people import workers
from qrowd.collection.people.declined import DeclinedPeople
from qrowd.collection.plan.addresses import wire_address
from qrowd.collection.plan.platforms import Arrival, is_plain, provider_of
from qrowd.collection.plan.sections import DAY
from qrowd.errors import RuleError

LISTED, OFF = "listed", "off"
FREED = ("RETURNED", "TIMED-OUT")  # submissions whose places a platform gives away again
LINKED = "link"  # the platform of people who came by links before there were lists
MOST_PEOPLE = 10_000  # of one act
NEEDS_LINK = "this work is for people with a link of their own; please ask for yours"
NOT_LISTED = "you are not among the people of this work; please ask those who told you of it"
NO_PLACES = "all places are taken; please ask those who told you of this work"
ENDED = "this link has ended; please ask for a new one"
DECLINED = "all of them have said that they are not interested; nobody may write to them again"
CHANGED = "this link is not complete; please copy all of it"


@dataclass(frozen=True)
class PersonRow:
    """Somebody to be put on the list: what the organiser knows them by, and what else is known."""

    id: str
    name: str = ""
    email: str = ""
    language: str = ""


@dataclass(frozen=True)
class Entrant:
    """Somebody who is let in, before anything is stored of it."""

    platform: str = ""
    platform_id: str = ""
    worker: int | None = None  # who this is already
    listed: schema.ListedPerson | None = None
    kept: Mapping[str, str] = field(default_factory=dict)
    preview: bool = False  # looks, and takes no part


# --- the doors ------------------------------------------------------------------------------------


def admitted(work: Work, link: str = "", parameters: Mapping[str, str] | None = None) -> Entrant:
    """Whom the campaign's rule lets in; an error says what to do."""
    if link:
        return _by_link(work, link)
    if work.plan.entry == "links":
        raise RuleError("needs-link", NEEDS_LINK)
    arrival = provider_of(work.plan.platform).arrive(parameters or {})
    return Entrant(preview=True) if arrival.preview else _by_platform(work, arrival)


def _by_link(work: Work, text: str) -> Entrant:
    signed = _signed(work, text)
    if isinstance(signed, dict):  # sent before there were lists: it says who and until when
        name, until = str(signed["person"]), signed["until"]
        row = listed_as(work, name)
    else:
        joined = select(listed_person, link.c.expires_at, link.c.revoked_at).join_from(
            listed_person, link, link.c.person_id == listed_person.c.id
        )
        own = (link.c.key == signed) & work.own(listed_person)
        row = work.row(joined.where(own), _LinkedPerson)
        if row is None or row.revoked_at is not None:
            raise RuleError("expired-link", ENDED)
        name, until = row.platform_id, row.expires_at
    if until <= work.now or (row and row.state == OFF):
        raise RuleError("expired-link", ENDED)
    return Entrant(work.plan.platform.preset, name, _known(work, name, row), row)


def _signed(work: Work, text: str) -> Any:
    try:
        return _signer(work).loads(text)
    except BadSignature:
        raise RuleError("expired-link", CHANGED) from None


def person_of_link(work: Work, text: str) -> tuple[str, schema.ListedPerson | None]:
    """A link's key, and whose it is, ended or not; None for somebody who is not on the list."""
    signed = _signed(work, text)
    if isinstance(signed, dict):  # as in `_by_link`
        return text, listed_as(work, str(signed["person"]))
    joined = listed_person.join(link, link.c.person_id == listed_person.c.id)
    own = work.own(listed_person) & (link.c.key == signed)
    query = select(listed_person).select_from(joined).where(own)
    return str(signed), work.row(query, schema.ListedPerson)


class _LinkedPerson(schema.ListedPerson):
    expires_at: int
    revoked_at: int | None


def _by_platform(work: Work, arrival: Arrival) -> Entrant:
    """Somebody without a link, who brings what the platform sends."""
    provider, row = provider_of(work.plan.platform), listed_as(work, arrival.person)
    if (row is None and work.plan.entry == "listed") or (row and row.state == OFF):
        raise RuleError("not-listed", NOT_LISTED)
    same = workers.worker_called(work, arrival.platform, arrival.person)
    known = same or _known(work, arrival.person, row)
    if work.plan.entry == "platform" and not provider.jwks:
        provider.refuse_odd(arrival)
        if known is None and row is None and places_taken(work) >= provider.places:
            raise RuleError("no-places", NO_PLACES)
    # names on an own panel can be guessed: nobody who has a link comes in by saying a name
    guessable = work.plan.platform.preset == "own" and not provider.jwks
    if guessable and (same is None or (row and row.worker_id == same)):
        by_link = known is not None and workers.worker_called(work, LINKED, arrival.person) == known
        if by_link or (row and _links_of(work, row.id)):
            raise RuleError("needs-link", NEEDS_LINK)
    return Entrant(arrival.platform, arrival.person, known, row, arrival.kept)


def come_in(work: Work, entrant: Entrant) -> schema.Worker:
    """The worker that this is, made at the first visit; the visit is kept."""
    if entrant.worker is None:
        who = (entrant.platform, entrant.platform_id)
        came = workers.enter(work, *who, parameters=entrant.kept)
    else:
        workers.keep_visit(work, entrant.worker, entrant.kept)
        came = workers.worker_of(work, entrant.worker)
    if entrant.listed is not None and entrant.listed.worker_id is None:
        work.update(listed_person, listed_person.c.id == entrant.listed.id, worker_id=came.id)
    if entrant.listed is not None and entrant.listed.qualified_at is not None:
        workers.skip_test(work, [came.id])
    return workers.worker_of(work, came.id)


def places_taken(work: Work) -> int:
    """How many people the platform has sent; those on the list come beside them, and it has given
    away again the places of those who returned theirs or ran out of time.
    """
    on_list = select(listed_person.c.worker_id).where(
        work.own(listed_person), listed_person.c.worker_id.is_not(None)
    )
    sent = worker.outerjoin(person, person.c.worker_id == worker.c.id)
    came = or_(person.c.worker_id.is_not(None), worker.c.forgotten_at.is_not(None))
    freed = select(submission.c.worker_id).where(
        work.own(submission), submission.c.state.in_(FREED), submission.c.worker_id.is_not(None)
    )
    human = (worker.c.kind == "human") & worker.c.id.not_in(on_list) & worker.c.id.not_in(freed)
    return work.count(sent, work.own(worker), human, came)


def _known(work: Work, name: str, row: schema.ListedPerson | None) -> int | None:
    """The worker whom the organiser knows by a name: on the list, by an old link, by the id."""
    if row is not None and row.worker_id is not None:
        return row.worker_id
    return workers.worker_called(work, LINKED, name) or workers.worker_called(
        work, work.plan.platform.preset, name
    )


# --- the list -------------------------------------------------------------------------------------


def listed_as(work: Work, name: str) -> schema.ListedPerson | None:
    """The row of the list that an id of the campaign's platform stands on."""
    same = (listed_person.c.platform == work.plan.platform.preset) & (
        listed_person.c.platform_id == name
    )
    query = select(listed_person).where(work.own(listed_person), same)
    return work.row(query, schema.ListedPerson)


def person_numbered(work: Work, number: int) -> schema.ListedPerson:
    """Somebody on the list by number."""
    query = select(listed_person).where(work.own(listed_person), listed_person.c.id == number)
    return work.existing(query, f"there is no person p{number} on the list", schema.ListedPerson)


class _Known:
    """Everybody whom the organiser knows: on the list or as a worker, by ids, names, addresses."""

    def __init__(self, work: Work) -> None:
        rows = select(listed_person).where(work.own(listed_person)).order_by(listed_person.c.id)
        persons = select(person).where(work.own(person)).order_by(person.c.worker_id)
        self.platforms = (LINKED, work.plan.platform.preset)
        self.listed: dict[str, schema.ListedPerson] = {}
        self.came: dict[int | None, schema.ListedPerson] = {}
        self.called: dict[str, list[schema.ListedPerson]] = defaultdict(list)
        self.ids: dict[tuple[str, str], schema.Person] = {}
        self.names: dict[str, list[schema.Person]] = defaultdict(list)
        for row in work.rows(rows, schema.ListedPerson):
            self.listed[row.platform_id] = self.came[row.worker_id] = row
            for name in {row.name, row.email}:
                self.called[name].append(row)
        for one in work.rows(persons, schema.Person):
            self.ids[one.platform, one.platform_id] = one
            for name in {one.name, one.address}:
                self.names[name].append(one)

    def on_list(self, name: str) -> schema.ListedPerson | None:
        """Somebody on the list by id, else by name or email; several of them are an error."""
        rows = [self.listed[name]] if name in self.listed else self.called.get(name, [])
        if len(rows) > 1:
            several = ", ".join(row.platform_id for row in rows[:3])
            raise RuleError("conflict", f"{name!r} is several people; say which id: {several}")
        return rows[0] if rows else None

    def worker(self, name: str) -> schema.Person | None:
        """The worker of an id, by an old link first; else the only one of a name or address."""
        ids = [self.ids[each, name] for each in self.platforms if (each, name) in self.ids]
        named = self.names.get(name, [])
        return ids[0] if ids else named[0] if len(named) == 1 else None


def person_called(work: Work, name: str) -> schema.ListedPerson:
    """Somebody on the list by id, name or email."""
    row = _Known(work).on_list(name)
    if row is None:
        raise RuleError("not-found", f"{name!r} is not on the list")
    return row


@dataclass(frozen=True)
class OnList:
    """The numbers of people's rows of the list; those that were made, that are back on it, and
    that have another address now.
    """

    people: list[int]
    made: list[int]
    back: list[int]
    moved: list[int] = field(default_factory=list)
    declined: int = 0  # people who want no letters, and are not put on it


def put_on_list(work: Work, wanted: Sequence[PersonRow]) -> OnList:
    """Put people on the list; who is known by the same id, name or address is the same person.

    What is said of somebody who is on it replaces what was known. Who declined stays off it.
    """
    known, refusing = _Known(work), DeclinedPeople(work)
    ids, back, new = list[str](), list[int](), dict[str, dict[str, Any]]()
    moved, declined = list[int](), 0
    for one in wanted:
        _refuse_odd(one)
        if refusing.has(one.id, one.email):
            declined += 1
            continue
        row, came = known.on_list(one.id), None
        if row is None:
            came = known.worker(one.id)
            row = known.came.get(came.worker_id) if came else None
        if row is not None and row.state == OFF and row.id not in back:
            back.append(row.id)
        if row is not None:
            said = {name: getattr(one, name) for name in ("name", "email", "language")}
            other = {
                name: text for name, text in said.items() if text not in ("", getattr(row, name))
            }
            if other:
                work.update(listed_person, listed_person.c.id == row.id, **other)
            if "email" in other:
                moved.append(row.id)
        ids.append(row.platform_id if row else came.platform_id if came else one.id)
        if row is None:
            new[ids[-1]] = {
                "worker_id": came.worker_id if came else None,
                "platform": work.plan.platform.preset,
                "platform_id": ids[-1],
                "name": one.name or (came.name if came else ""),
                "email": one.email or (came.address if came else ""),
                "language": one.language,
                "made_at": work.now,
            }
    work.update(listed_person, _numbered(work, back), state=LISTED)
    work.insert_all(listed_person, list(new.values()))
    names = select(listed_person.c.platform_id, listed_person.c.id).where(work.own(listed_person))
    numbers = dict(work.db.execute(names).all())
    people, made = ([numbers[name] for name in names] for names in (ids, new))
    return OnList(people, made, back, moved, declined)


def _refuse_odd(wanted: PersonRow) -> None:
    workers.refuse_odd_id(wanted.id)
    if not (is_plain(wanted.name) and is_plain(wanted.email) and is_plain(wanted.language, 40)):
        raise RuleError("malformed", "names, emails and languages are short text in one line")


def first_problem(rows: Sequence[PersonRow]) -> tuple[int, str] | None:
    """The first thing that is wrong with people who are to be written to."""
    return next(problems(rows), None)


def problems(rows: Sequence[PersonRow]) -> Iterator[tuple[int, str]]:
    """What is wrong with people who are to be written to, and with which of them."""
    ids, addresses = dict[str, int](), dict[str, int]()
    for at, row in enumerate(rows):
        try:
            _refuse_odd(row)
            address = wire_address(row.email).casefold() if row.email else ""
        except RuleError as error:
            yield at, str(error)
            continue
        if row.id in ids:
            yield at, f"{row.id!r} has a row already; each person has one"
        elif address in addresses:
            yield at, f"{row.email!r} is {rows[addresses[address]].id!r} already"
        ids.setdefault(row.id, at)
        if address:
            addresses.setdefault(address, at)


def take_off(work: Work, numbers: Sequence[int]) -> None:
    """Close all doors to people of the list; what they judged stays."""
    mine = _numbered(work, numbers)
    _end_sessions(work, token.c.worker_id.in_(select(listed_person.c.worker_id).where(mine)))
    work.update(listed_person, mine, state=OFF)


def take_back(work: Work, numbers: Sequence[int]) -> None:
    """Take people off the list who were put on it; those who were written to are only taken off, or
    they might be written to again.
    """
    tried = or_(letter.c.state != "waiting", letter.c.attempts > 0)
    written = select(letter.c.person_id).where(tried)
    mine = _numbered(work, numbers) & listed_person.c.id.in_(written)
    kept = list(work.db.scalars(select(listed_person.c.id).where(mine)))
    take_off(work, kept)
    remove(work, [number for number in numbers if number not in kept])


def remove(work: Work, numbers: Sequence[int]) -> None:
    """Take people off the list as if they had never been there, with their links."""
    mine = _numbered(work, numbers)
    _end_sessions(work, token.c.worker_id.in_(select(listed_person.c.worker_id).where(mine)))
    rows = select(listed_person.c.id).where(mine)
    work.delete(letter, letter.c.person_id.in_(rows))
    work.delete(link, link.c.person_id.in_(rows))
    work.delete(listed_person, mine)


def _numbered(work: Work, numbers: Sequence[int]) -> ColumnElement[bool]:
    return work.own(listed_person) & listed_person.c.id.in_(numbers)


def end_sessions_without_link(work: Work) -> None:
    """Ask everybody to come in again who did not come by a link."""
    linked = select(listed_person.c.worker_id).join_from(
        listed_person, link, link.c.person_id == listed_person.c.id
    )
    by_link = linked.where(link.c.revoked_at.is_(None), listed_person.c.worker_id.is_not(None))
    before = select(person.c.worker_id).where(person.c.platform == LINKED)
    _end_sessions(work, token.c.worker_id.not_in(by_link), token.c.worker_id.not_in(before))


def _end_sessions(work: Work, *whose: ColumnElement[bool]) -> None:
    mine = (work.own(token), token.c.role == "worker", token.c.revoked_at.is_(None))
    work.update(token, *mine, *whose, revoked_at=work.now)


class PersonLine(schema.ListedPerson):
    """Somebody on the list, the worker that they are, and their newest link, if it is good."""

    number: int | None
    key: str | None
    expires_at: int | None


def people(work: Work, after: int = 0, limit: int | None = None) -> list[PersonLine]:
    """The list, those who were taken off too, by number from `after` on."""
    query = lines(work).where(listed_person.c.id > after)
    return work.rows(query.order_by(listed_person.c.id).limit(limit), PersonLine)


def lines(
    work: Work,
    *more: ColumnElement[Any],
    joined: Callable[[FromClause], FromClause] = lambda rows: rows,
) -> Select[Any]:
    """The query for the columns of `PersonLine`, and for more, of what is joined to them."""
    good = (link.c.revoked_at.is_(None)) & (link.c.expires_at > work.now)
    newest = select(func.max(link.c.id)).where(link.c.person_id == listed_person.c.id, good)
    rows = listed_person.outerjoin(
        link, link.c.id == newest.correlate(listed_person).scalar_subquery()
    ).outerjoin(worker, worker.c.id == listed_person.c.worker_id)
    query = select(listed_person, worker.c.number, link.c.key, link.c.expires_at, *more)
    return query.select_from(joined(rows)).where(work.own(listed_person))


# --- links ----------------------------------------------------------------------------------------


def new_links(work: Work, people: Sequence[int], days: float) -> list[int]:
    """A link for each of these people of the list, good for so many days; their numbers."""
    until, keys = work.now + round(days * DAY), [work.key() for _ in people]
    last = work.number(select(func.max(link.c.id)))
    rows = [
        {"person_id": number, "key": key, "made_at": work.now, "expires_at": until}
        for number, key in zip(people, keys, strict=True)
    ]
    work.insert_all(link, rows)
    made = select(link.c.key, link.c.id).where(link.c.id > last)
    numbers = dict(work.db.execute(made).all())
    return [numbers[key] for key in keys]


def make_link(work: Work, name: str, days: float = 30) -> str:
    """The signed text that lets somebody in for so many days, who is put on the list for it."""
    people = put_on_list(work, [PersonRow(name)]).people
    if not people:
        raise RuleError("not-allowed", DECLINED)
    numbers = new_links(work, people, days)
    return links_numbered(work, numbers)[0][1]


def link_text(work: Work, key: str) -> str:
    """The signed text of a link."""
    return str(_signer(work).dumps(key))


def links_numbered(work: Work, numbers: Sequence[int]) -> list[tuple[str, str]]:
    """The person and the text of each link, in this order."""
    joined = link.join(listed_person, listed_person.c.id == link.c.person_id)
    query = select(link.c.id, listed_person.c.platform_id, link.c.key).select_from(joined)
    rows = work.db.execute(query.where(work.own(listed_person), link.c.id >= min(numbers)))
    by_number = {number: (name, link_text(work, key)) for number, name, key in rows}
    return [by_number[number] for number in numbers]


def _links_of(work: Work, person_id: int) -> list[int]:
    mine = (link.c.person_id == person_id) & link.c.revoked_at.is_(None)
    return list(work.db.scalars(select(link.c.id).where(mine).order_by(link.c.id)))


def revoke_links(work: Work, row: schema.ListedPerson) -> list[int]:
    """Let nobody in by somebody's links any more; the numbers of the links."""
    numbers = _links_of(work, row.id)
    work.update(link, link.c.id.in_(numbers), revoked_at=work.now)
    _end_sessions(work, token.c.worker_id == row.worker_id)
    return numbers


def _signer(work: Work) -> URLSafeSerializer:
    return URLSafeSerializer(workers.secret_of(work), salt="worker-link")
