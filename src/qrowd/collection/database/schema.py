"""The tables: one schema for SQLite and PostgreSQL. `triggers` holds the rules between tables.

Times are milliseconds since 1970, money is in minor units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem

from qrowd.collection.database.states import ASSIGNMENT_KINDS, PLACE_KINDS, STATES, WORKER_STATES

ROLES = ("pool", "gold", "qualification")
EVENT_KINDS = ("grade", "ranking", "rating", "cannot-tell", "broken", "clear")
ACCOUNTS = ("outside", "free", "promised", "owed", "settled")
OPEN_SETS = "role = 'pool' AND open = 1 AND held < target"

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# --- Rows, and columns that many tables have ------------------------------------------------------

Values = Mapping[str, Any] | None  # of a query's parameters
Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # SQLite numbers rows by INTEGER only


class TypedRow:
    """The columns of a row, by which mypy knows what a query gives: `work.rows(query, Topic)`.

    With a `table`, its columns are made from the class; what may be None here may be NULL there. A
    subclass without one declares the columns of a query. Nobody makes rows of these classes: rows
    are SQLAlchemy's, whose columns are attributes. The tests look at every row that is asked for by
    its class, so that a class cannot declare what its query does not give.
    """

    table: ClassVar[sa.Table]
    rules: ClassVar[tuple[SchemaItem, ...]] = ()  # constraints and indexes

    def __init_subclass__(cls, *, table: str = "") -> None:
        if not table:
            return
        columns = {name: each for name, each in vars(cls).items() if isinstance(each, sa.Column)}
        rules = list(cls.rules)
        for name, each in columns.items():
            each.name = each.key = name
            each.nullable = cls.__annotations__[name].endswith("| None")
            if values := each.info.get("values"):
                listed = ", ".join(f"'{value}'" for value in values)
                known = sa.CheckConstraint(f"{name} IN ({listed})", name=f"{name}_known")
                rules.append(known)
        cls.table = sa.Table(table, metadata, *columns.values(), *rules)

    @classmethod
    def rows(cls, db: sa.Connection, query: sa.Executable, values: Values = None) -> list[Self]:
        """All rows of a query."""
        return cast(list[Self], db.execute(query, values).all())

    @classmethod
    def row(cls, db: sa.Connection, query: sa.Executable, values: Values = None) -> Self | None:
        """The only row of a query, or None."""
        return cast(Self | None, db.execute(query, values).one_or_none())


def column(*kind: Any, **options: Any) -> Any:
    """A column: it has the name and may be None as its class says."""
    return sa.Column(*kind, **options)


def row_id() -> Any:
    """The number that names a row."""
    return column(Id, primary_key=True, autoincrement=True)


def reference(table: str, **options: Any) -> Any:
    """The number of a row of another table."""
    return column(Id, sa.ForeignKey(f"{table}.id"), **options)


def reference_key(table: str) -> Any:
    """The number of a row of another table, as (part of) the key of this one."""
    return reference(table, primary_key=True, autoincrement=False)


def moment() -> Any:
    """A time."""
    return column(sa.BigInteger)


def counter(start: int = 0) -> Any:
    """A whole number that starts somewhere."""
    return column(sa.BigInteger, server_default=sa.text(str(start)))


def flag(start: int = 0) -> Any:
    """0 or 1."""
    return column(sa.SmallInteger, server_default=sa.text(str(start)))


def short(length: int, *items: SchemaItem, **options: Any) -> Any:
    """Text of bounded length."""
    return column(sa.String(length), *items, **options)


def one_of(*values: str, length: int = 20, **options: Any) -> Any:
    """One of these words; the database refuses others."""
    return short(length, info={"values": values}, **options)


def words() -> Any:
    """Text that may be empty."""
    return column(sa.Text, server_default=sa.text("''"))


def where(condition: str) -> dict[str, Any]:
    """The rows that an index is for."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


# --- A campaign and what is judged in it ----------------------------------------------------------


class Campaign(TypedRow, table="campaign"):
    """A campaign, its plan and its accounts."""

    id: int = row_id()
    name: str = short(200, unique=True)
    plan: str = column(sa.Text)
    state: str = one_of("draft", "running", "paused", "closed", server_default="draft")
    made_at: int = moment()
    secret: str = short(64)
    budget: int = counter()
    free: int = counter()
    promised: int = counter()
    owed: int = counter()
    settled: int = counter()
    rules = (
        sa.CheckConstraint("budget = free + promised + owed + settled", name="balanced"),
        sa.CheckConstraint(
            "free >= 0 AND promised >= 0 AND owed >= 0 AND settled >= 0", name="no_debt"
        ),
    )


campaign = Campaign.table


class Topic(TypedRow, table="topic"):
    """What is looked for."""

    id: int = row_id()
    campaign_id: int = reference("campaign")
    name: str = short(400)
    query: str = words()
    description: str = words()
    narrative: str = words()
    category: str = words()
    language: str = words()
    rules = (sa.UniqueConstraint("campaign_id", "name"),)


topic = Topic.table


class Question(TypedRow, table="question"):
    """A question on a topic; choices are a JSON list."""

    id: int = row_id()
    topic_id: int = reference("topic", index=True)
    text: str = column(sa.Text)
    choices: str = column(sa.Text)
    right_choice: int = column(sa.Integer)


question = Question.table


class Content(TypedRow, table="content"):
    """The bytes of documents, once each."""

    hash: str = short(64, primary_key=True)
    body: bytes = column(sa.LargeBinary)


content = Content.table


class Document(TypedRow, table="document"):
    """A document of a campaign."""

    id: int = row_id()
    campaign_id: int = reference("campaign")
    name: str = short(1000)
    title: str = words()
    url: str = words()
    media_type: str = short(200, server_default="text/plain")
    content: str | None = short(64, sa.ForeignKey("content.hash"))
    rules = (sa.UniqueConstraint("campaign_id", "name"),)


document = Document.table


class Pair(TypedRow, table="pair"):
    """A topic and a document."""

    id: int = row_id()
    campaign_id: int = reference("campaign", index=True)
    topic_id: int = reference("topic")
    document_id: int = reference("document")
    role: str = one_of(*ROLES)
    #: gold may be of the pool too
    in_pool: int = flag()
    priority: float = column(sa.Float(53), server_default=sa.text("0"))
    rules = (sa.UniqueConstraint("topic_id", "document_id"), sa.UniqueConstraint("id", "role"))


pair = Pair.table


class Gold(TypedRow, table="gold"):
    """An expert's grade of a pair."""

    pair_id: int = reference_key("pair")
    grade: int = column(sa.SmallInteger)
    reason: str = words()
    passage: str = words()


gold = Gold.table


class JudgingSet(TypedRow, table="judging_set"):
    """Documents of one topic that are judged together."""

    id: int = row_id()
    campaign_id: int = reference("campaign")
    topic_id: int = reference("topic", index=True)
    role: str = one_of(*ROLES)
    size: int = column(sa.Integer)
    #: judgements wanted of each document
    target: int = counter()
    #: places that are judged or reserved; the triggers count them
    held: int = counter()
    open: int = flag(1)
    priority: float = column(sa.Float(53), server_default=sa.text("0"))
    #: the order of equals
    shuffle: int = column(sa.BigInteger)
    rules = (
        sa.UniqueConstraint("id", "role"),
        sa.CheckConstraint("held >= 0 AND held <= target", name="held_at_most_target"),
        sa.CheckConstraint("role = 'pool' OR target = 0", name="only_pool_counts"),
        sa.CheckConstraint("size >= 1", name="not_empty"),
        sa.Index("ix_judging_set_role", "campaign_id", "role"),
    )


judging_set = JudgingSet.table
sa.Index(
    "ix_judging_set_pick",
    judging_set.c.campaign_id,
    judging_set.c.priority.desc(),
    judging_set.c.held,
    judging_set.c.shuffle,
    **where(OPEN_SETS),
)


class Member(TypedRow, table="member"):
    """A pair at its position in a set."""

    set_id: int = column(Id, primary_key=True)
    position: int = column(sa.Integer, primary_key=True)
    pair_id: int = column(Id, index=True)
    role: str = short(20)
    #: 1: its pair is in no other set
    sole: int = column(sa.SmallInteger)
    rules = (
        sa.ForeignKeyConstraint(["set_id", "role"], ["judging_set.id", "judging_set.role"]),
        sa.ForeignKeyConstraint(["pair_id", "role"], ["pair.id", "pair.role"]),
        sa.UniqueConstraint("set_id", "pair_id"),
        sa.CheckConstraint("position >= 1", name="from_one"),
        sa.Index("uq_member_sole_pair", "pair_id", unique=True, **where("sole = 1")),
    )


member = Member.table


# --- People, and what is kept of them -------------------------------------------------------------


class Worker(TypedRow, table="worker"):
    """Whoever judges, without a name."""

    id: int = row_id()
    campaign_id: int = reference("campaign")
    key: str = short(32, unique=True)
    number: int = column(sa.Integer)
    kind: str = one_of("human", "expert", "machine", server_default="human")
    name: str | None = short(400)
    state: str = one_of(*WORKER_STATES, server_default="new")
    failed_hits: int = counter()
    #: let in again after being screened out: answers until then are not held against the worker
    readmitted_at: int | None = moment()
    #: agreed to be asked again for other work
    ask_again_at: int | None = moment()
    made_at: int = moment()
    forget_asked: int | None = moment()
    forgotten_at: int | None = moment()
    #: a keyed hash of somebody who was forgotten
    recognised: str | None = short(64)
    rules = (
        sa.UniqueConstraint("campaign_id", "number"),
        sa.UniqueConstraint("campaign_id", "recognised"),
        sa.UniqueConstraint("campaign_id", "kind", "name"),
        sa.CheckConstraint("kind <> 'human' OR name IS NULL", name="people_live_apart"),
    )


worker = Worker.table


class Person(TypedRow, table="person"):
    """Who a worker is."""

    worker_id: int = reference_key("worker")
    campaign_id: int = reference("campaign")
    platform: str = short(40)
    platform_id: str = short(400)
    name: str = words()
    address: str = words()
    rules = (sa.UniqueConstraint("campaign_id", "platform", "platform_id"),)


person = Person.table


class ListedPerson(TypedRow, table="listed_person"):
    """Somebody on a campaign's list; who has come in is a worker, the same by every door."""

    id: int = row_id()
    campaign_id: int = reference("campaign")
    worker_id: int | None = reference("worker", unique=True)
    platform: str = short(40)
    #: what the platform calls them; on an own panel whatever the organiser knows them by
    platform_id: str = short(400)
    name: str = words()
    email: str = words()
    language: str = short(40, server_default="")
    #: `listed`, or `off` for somebody who was taken off; no constraint: more may happen to people
    state: str = short(20, server_default="listed")
    made_at: int = moment()
    #: share of counted pairs that were right in a qualification elsewhere
    test_share: float | None = column(sa.Float(53))
    #: passed a qualification elsewhere: nothing is left to pass here
    qualified_at: int | None = moment()
    rules = (sa.UniqueConstraint("campaign_id", "platform", "platform_id"),)


listed_person = ListedPerson.table


class Link(TypedRow, table="link"):
    """A signed link of somebody on the list, who comes in by it until it ends or is revoked."""

    id: int = row_id()
    person_id: int = reference("listed_person", index=True)
    #: what the link's text holds: nobody can read from it whose it is
    key: str = short(32, unique=True)
    made_at: int = moment()
    expires_at: int = moment()
    revoked_at: int | None = moment()


link = Link.table


class Letter(TypedRow, table="letter"):
    """An invitation or a reminder to somebody on the list; each goes out once."""

    id: int = row_id()
    person_id: int = reference("listed_person")
    #: 0: the invitation; 1, 2: reminders
    round: int = column(sa.Integer)
    link_id: int = reference("link")
    #: a letter stays `sending` where it was handed over and no answer was seen: it is in doubt
    state: str = one_of("waiting", "sending", "sent", "refused", server_default="waiting")
    attempts: int = counter()
    made_at: int = moment()
    #: not tried before
    next_at: int = moment()
    #: when its last try began
    tried_at: int | None = moment()
    #: what the mail server answered
    problem: str = words()
    rules = (
        sa.UniqueConstraint("person_id", "round"),
        sa.CheckConstraint("round >= 0 AND round <= 2", name="at_most_two_reminders"),
        sa.Index("ix_letter_due", "state", "next_at"),
    )


letter = Letter.table


class Declined(TypedRow, table="declined"):
    """Somebody who wants no letters, as keyed hashes of what they were known by."""

    id: int = row_id()
    campaign_id: int = reference("campaign")
    #: what the hash is of
    kind: str = one_of("person", "email", "link")
    hash: str = short(64)
    at: int = moment()
    rules = (sa.UniqueConstraint("campaign_id", "kind", "hash"),)


declined = Declined.table


class Visit(TypedRow, table="visit"):
    """That somebody came."""

    id: int = row_id()
    worker_id: int = reference("worker", index=True)
    at: int = moment()
    parameters: str = column(sa.Text, server_default=sa.text("'{}'"))


visit = Visit.table


class Consent(TypedRow, table="consent"):
    """What a worker agreed to."""

    id: int = row_id()
    worker_id: int = reference("worker", index=True)
    version: str = short(40)
    text: str = column(sa.Text)
    at: int = moment()


consent = Consent.table


class Expertise(TypedRow, table="expertise"):
    """How a worker answered the questions on a topic."""

    worker_id: int = reference_key("worker")
    topic_id: int = reference_key("topic")
    right: int = column("right", sa.Integer, quote=True)
    asked: int = column(sa.Integer)
    passed: int = column(sa.SmallInteger)
    at: int = moment()


expertise = Expertise.table


class Message(TypedRow, table="message"):
    """Between a worker and the organiser."""

    id: int = row_id()
    worker_id: int = reference("worker", index=True)
    at: int = moment()
    from_worker: int = column(sa.SmallInteger)
    text: str = column(sa.Text)
    read_at: int | None = moment()


message = Message.table


class CompletionCode(TypedRow, table="completion_code"):
    """What a worker tells the platform."""

    id: int = row_id()
    worker_id: int = reference("worker", index=True)
    code: str = short(64, unique=True)
    outcome: str = short(20)
    made_at: int = moment()
    used_at: int | None = moment()


completion_code = CompletionCode.table


# --- A platform that is told what to do -----------------------------------------------------------


class Study(TypedRow, table="study"):
    """A campaign's study at Prolific."""

    id: int = row_id()
    campaign_id: int = reference("campaign", unique=True)
    #: what the platform calls it; None until it is known to be made
    platform_id: str | None = short(64)
    #: as the platform said last
    state: str = short(40, server_default="")
    #: where the platform sends participants
    address: str = column(sa.Text)
    #: what an approved submission is paid, in minor units
    reward: int = column(sa.BigInteger)
    #: what one that is screened out is paid
    screen_out: int = column(sa.BigInteger)
    places: int = column(sa.Integer)
    made_at: int = moment()
    heard_at: int | None = moment()


study = Study.table


class Submission(TypedRow, table="submission"):
    """Somebody's part in a study. Who has come in is a worker; of others only the id is kept."""

    id: int = row_id()
    campaign_id: int = reference("campaign")
    worker_id: int | None = reference("worker", index=True)
    platform_id: str = short(64)
    #: as the platform said last, in its words
    state: str = short(40)
    #: something was heard that does not follow: ask
    doubtful: int = flag()
    #: of what the platform was told to pay, in minor units: for the submission itself
    base: int = counter()
    #: and in bonuses
    bonuses: int = counter()
    made_at: int = moment()
    heard_at: int = moment()
    rules = (
        sa.UniqueConstraint("campaign_id", "platform_id"),
        sa.CheckConstraint("base >= 0 AND bonuses >= 0", name="no_debt"),
    )


submission = Submission.table


class PlatformCall(TypedRow, table="platform_call"):
    """Something that a platform is told, once: written down before it is sent."""

    id: int = row_id()
    campaign_id: int = reference("campaign")
    submission_id: int | None = reference("submission")
    worker_id: int | None = reference("worker", index=True)
    #: no constraint: platforms may be told more
    kind: str = short(20)
    #: a call stays `sending` where it was sent and no answer was seen: the platform is asked
    state: str = one_of("waiting", "sending", "done", "refused", server_default="waiting")
    #: what is paid by it, in minor units
    amount: int = counter()
    #: what else is said, as JSON
    body: str = column(sa.Text, server_default=sa.text("'{}'"))
    #: of a bonus: the payment that it is part of
    payment: str = short(64, server_default="")
    #: of a bonus: the sum of bonuses that the platform knew of before
    before: int = counter()
    attempts: int = counter()
    made_at: int = moment()
    #: not tried before
    next_at: int = moment()
    tried_at: int | None = moment()
    #: what the platform answered
    problem: str = words()
    rules = (
        sa.Index("ix_platform_call_due", "campaign_id", "state", "next_at"),
        sa.Index(
            "uq_platform_call_one_open",
            "submission_id",
            unique=True,
            **where("state IN ('waiting', 'sending')"),
        ),
    )


platform_call = PlatformCall.table


class PlatformEvent(TypedRow, table="platform_event"):
    """Something that a platform has told, by the id under which it may tell it again."""

    id: int = row_id()
    campaign_id: int = reference("campaign")
    platform_id: str = short(100)
    at: int = moment()
    rules = (sa.UniqueConstraint("campaign_id", "platform_id"),)


platform_event = PlatformEvent.table


# --- What workers do ------------------------------------------------------------------------------


class Assignment(TypedRow, table="assignment"):
    """Sets that were given to one worker at a time."""

    id: int = row_id()
    campaign_id: int = reference("campaign")
    worker_id: int = reference("worker", index=True)
    key: str = short(32, unique=True)
    kind: str = one_of(*ASSIGNMENT_KINDS)
    state: str = one_of(*STATES, server_default="active")
    attempt: int = counter(1)
    leased_at: int = moment()
    expires_at: int = moment()
    #: no answer moves `expires_at` beyond it
    latest_end: int = moment()
    finished_at: int | None = moment()
    ended_at: int | None = moment()
    #: as planned
    pay: int = counter()
    #: the triggers add up the entries
    promised: int = counter()
    #: the triggers add up the entries
    earned: int = counter()
    #: the triggers add up the entries
    paid: int = counter()
    rules = (
        sa.UniqueConstraint("id", "worker_id"),
        sa.CheckConstraint("promised >= 0 AND earned >= 0 AND paid >= 0", name="no_debt"),
        sa.CheckConstraint("expires_at <= latest_end", name="lease_has_an_end"),
        sa.Index("ix_assignment_due", "campaign_id", "state", "expires_at"),
        sa.Index("ix_assignment_promised", "campaign_id", "state", **where("promised > 0")),
        sa.Index(
            "uq_assignment_one_open",
            "worker_id",
            "kind",
            unique=True,
            **where("state IN ('active', 'finished') AND kind <> 'machine'"),
        ),
    )


assignment = Assignment.table


class Place(TypedRow, table="place"):
    """One set within an assignment."""

    id: int = row_id()
    assignment_id: int = column(Id, index=True)
    worker_id: int = column(Id)
    set_id: int = reference("judging_set", index=True)
    kind: str = one_of(*PLACE_KINDS)
    ordinal: int = column(sa.Integer)
    key: str = short(32, unique=True)
    #: positions in the order that the worker sees
    shown: str = column(sa.Text)
    held: int = flag()
    #: its set was full when it came back: paid, not counted
    surplus: int = flag()
    reviews_id: int | None = reference("place")
    rules = (
        sa.ForeignKeyConstraint(
            ["assignment_id", "worker_id"], ["assignment.id", "assignment.worker_id"]
        ),
        sa.UniqueConstraint("worker_id", "set_id", "kind"),
        sa.UniqueConstraint("assignment_id", "ordinal"),
        sa.CheckConstraint("held IN (0, 1) AND surplus IN (0, 1)", name="yes_or_no"),
        sa.CheckConstraint(
            "held = 0 OR (kind = 'count' AND surplus = 0)", name="only_counted_is_held"
        ),
    )


place = Place.table


class Event(TypedRow, table="event"):
    """Something that a worker said."""

    id: int = row_id()
    worker_id: int = reference("worker")
    place_id: int = reference("place", index=True)
    position: int = column(sa.Integer)
    kind: str = one_of(*EVENT_KINDS)
    #: what was chosen; of a rating, what the plan's cuts make of its value
    grade: int | None = column(sa.SmallInteger)
    ranking: str | None = column(sa.Text)
    #: of a rating: a number from 0 to 100
    value: float | None = column(sa.Float(53))
    milliseconds: int = counter()
    at: int = moment()
    key: str = short(64)
    #: the event that the client meant to replace
    follows: int | None = column(Id)
    #: another event had come between: it replaced nothing
    stale: int = flag()
    rules = (
        sa.UniqueConstraint("worker_id", "key"),
        sa.CheckConstraint(
            "(kind IN ('grade', 'rating')) = (grade IS NOT NULL)", name="grade_has_a_grade"
        ),
        sa.CheckConstraint("(kind = 'rating') = (value IS NOT NULL)", name="rating_has_a_value"),
        sa.CheckConstraint("value >= 0 AND value <= 100", name="value_from_0_to_100"),
        sa.CheckConstraint(
            "(kind = 'ranking') = (ranking IS NOT NULL)", name="ranking_has_an_order"
        ),
        sa.CheckConstraint("kind <> 'ranking' OR position = 0", name="ranking_is_of_the_set"),
        sa.CheckConstraint("milliseconds >= 0", name="time_runs_forward"),
    )


event = Event.table


class Answer(TypedRow, table="answer"):
    """The event that counts now."""

    place_id: int = reference_key("place")
    position: int = column(sa.Integer, primary_key=True)
    event_id: int = reference("event")


answer = Answer.table


class Receipt(TypedRow, table="receipt"):
    """By which a repeated request is recognised."""

    event_id: int = reference_key("event")
    digest: str = short(64)


receipt = Receipt.table


class Note(TypedRow, table="note"):
    """Free text that came with an event."""

    id: int = row_id()
    event_id: int = reference("event", index=True)
    kind: str = one_of("reason", "passage")
    text: str = column(sa.Text)


note = Note.table


class Bucket(TypedRow, table="bucket"):
    """The topic that somebody put a document to, beside the grade that follows from it."""

    event_id: int = reference_key("event")
    #: None: to none of those that there were to choose from
    topic_id: int | None = reference("topic", index=True)


bucket = Bucket.table


class Outcome(TypedRow, table="outcome"):
    """What a check said."""

    id: int = row_id()
    assignment_id: int = reference("assignment", index=True)
    set_id: int | None = reference("judging_set", index=True)
    check: str = column("check", sa.String(20), quote=True)
    value: float | None = column(sa.Float(53))
    at_least: float = column(sa.Float(53))
    passed: int = column(sa.SmallInteger)
    action: str = short(20)


outcome = Outcome.table


# --- Experts --------------------------------------------------------------------------------------


class Sampled(TypedRow, table="sampled"):
    """An answer that experts judge again."""

    id: int = row_id()
    place_id: int = reference("place")
    position: int = column(sa.Integer)
    at: int = moment()
    rules = (sa.UniqueConstraint("place_id", "position"),)


sampled = Sampled.table


class Decision(TypedRow, table="decision"):
    """What an expert decided."""

    id: int = row_id()
    pair_id: int = reference("pair", index=True)
    expert_id: int = reference("worker")
    grade: int = column(sa.SmallInteger)
    reason: str = words()
    code: str = short(40, server_default="")
    at: int = moment()


decision = Decision.table

# The code of a row that takes a decision back: rows are never removed. The last row of a pair
# stands; if it is such a row, nothing is decided.
TAKEN_BACK = "taken back"
_LAST = sa.select(sa.func.max(decision.c.id)).group_by(decision.c.pair_id)
STANDING = sa.select(decision.c.id).where(decision.c.id.in_(_LAST), decision.c.code != TAKEN_BACK)
DECIDED = STANDING.with_only_columns(decision.c.pair_id)


class Appeal(TypedRow, table="appeal"):
    """What a worker objects to."""

    id: int = row_id()
    worker_id: int = reference("worker", index=True)
    assignment_id: int | None = reference("assignment")
    kind: str = one_of("refusal", "gold", "screen-out")
    position: int | None = column(sa.Integer)
    place_id: int | None = reference("place")
    at: int = moment()
    text: str = column(sa.Text)
    answered_at: int | None = moment()
    won: int | None = column(sa.SmallInteger)
    reply: str = words()


appeal = Appeal.table


# --- What an organiser keeps account of -----------------------------------------------------------


class Entry(TypedRow, table="entry"):
    """A line of the ledger."""

    id: int = row_id()
    campaign_id: int = reference("campaign", index=True)
    worker_id: int | None = reference("worker", index=True)
    assignment_id: int | None = reference("assignment", index=True)
    at: int = moment()
    why: str = short(40)
    source: str = one_of(*ACCOUNTS, length=10)
    target: str = one_of(*ACCOUNTS, length=10)
    amount: int = column(sa.BigInteger)
    rules = (
        sa.CheckConstraint("amount > 0", name="positive"),
        sa.CheckConstraint("source <> target", name="moves"),
    )


entry = Entry.table


class Audit(TypedRow, table="audit"):
    """What an organiser did."""

    id: int = row_id()
    campaign_id: int = reference("campaign", index=True)
    at: int = moment()
    who: str = short(200)
    act: str = short(40)
    details: str = column(sa.Text)
    undoes: int | None = reference("audit")
    rules = (sa.UniqueConstraint("undoes"),)


audit = Audit.table


class Notice(TypedRow, table="notice"):
    """What an organiser should know."""

    id: int = row_id()
    campaign_id: int = reference("campaign", index=True)
    at: int = moment()
    kind: str = short(40)
    about: str = short(100, server_default="")
    #: in English, as it was told
    text: str = column(sa.Text)
    #: the values of its words, as JSON; "" where it was told before words had ids
    details: str = words()
    settled_at: int | None = moment()
    rules = (sa.UniqueConstraint("campaign_id", "kind", "about"),)


notice = Notice.table


class Digest(TypedRow, table="digest"):
    """An address that is told what a campaign needs, and what it was told last."""

    id: int = row_id()
    campaign_id: int = reference("campaign")
    address: str = short(400)
    made_at: int = moment()
    sent_at: int | None = moment()
    #: as JSON, so that nothing is told twice
    told: str = words()
    rules = (sa.UniqueConstraint("campaign_id", "address"),)


digest = Digest.table


# --- The server: who may come in, and what it does by itself --------------------------------------


class Account(TypedRow, table="account"):
    """Somebody who signs in."""

    id: int = row_id()
    login: str = short(200, unique=True)
    password: str = short(300)
    made_at: int = moment()
    administrator: int = flag()


account = Account.table


class AccountAct(TypedRow, table="account_act"):
    """What was done to an account, or to an invitation to make one; `who` may be the account's."""

    id: int = row_id()
    at: int = moment()
    who: str = short(200)
    act: str = short(40)
    login: str = short(200)
    details: str = column(sa.Text, server_default=sa.text("'{}'"))
    rules = (sa.Index("ix_account_act_login", "login"),)


account_act = AccountAct.table


class MemberRole(TypedRow, table="member_role"):
    """What an account may do in a campaign."""

    account_id: int = reference_key("account")
    campaign_id: int = reference_key("campaign")
    role: str = one_of("organiser", "expert", "worker", primary_key=True)
    worker_id: int | None = reference("worker")


member_role = MemberRole.table


class Token(TypedRow, table="token"):
    """What a browser or a program shows of itself."""

    id: int = row_id()
    hash: str = short(64, unique=True)
    account_id: int | None = reference("account")
    campaign_id: int | None = reference("campaign")
    worker_id: int | None = reference("worker", index=True)
    role: str = one_of("organiser", "expert", "worker")
    scopes: str = column(sa.Text, server_default="")
    made_at: int = moment()
    expires_at: int | None = moment()
    revoked_at: int | None = moment()


token = Token.table


class Rate(TypedRow, table="rate"):
    """How often something was tried."""

    what: str = short(200, primary_key=True)
    since: int = column(sa.BigInteger, primary_key=True, autoincrement=False)
    times: int = counter()


rate = Rate.table


class Job(TypedRow, table="job"):
    """Work in the background."""

    id: int = row_id()
    campaign_id: int | None = reference("campaign")
    kind: str = short(40)
    parameters: str = column(sa.Text, server_default=sa.text("'{}'"))
    state: str = one_of("waiting", "running", "done", "failed", server_default="waiting")
    made_at: int = moment()
    leased_until: int | None = moment()
    attempts: int = counter()
    finished_at: int | None = moment()
    result: str | None = column(sa.Text)
    problem: str | None = column(sa.Text)
    rules = (sa.Index("ix_job_waiting", "state", "made_at"),)


job = Job.table


# --- Joins and sums that many queries need --------------------------------------------------------

PAIR_DOCUMENTS = pair.join(document, document.c.id == pair.c.document_id)
NAMED_PAIRS = PAIR_DOCUMENTS.join(topic, topic.c.id == pair.c.topic_id)
PLACED_SETS = place.join(judging_set, judging_set.c.id == place.c.set_id)
CURRENT_ANSWERS = answer.join(event, event.c.id == answer.c.event_id)
PAIR_NAMES = (topic.c.name.label("topic"), document.c.name.label("doc"))  # of NAMED_PAIRS


def has_grade(events: sa.FromClause = event) -> sa.ColumnElement[bool]:
    """The condition that an event has a grade: one that was chosen, or that a value stands for."""
    return events.c.grade.is_not(None)


def with_pairs(rows: sa.FromClause) -> sa.Join:
    """Rows that name a place and a position in it, joined to the pair that stands there."""
    return (
        NAMED_PAIRS.join(member, member.c.pair_id == pair.c.id)
        .join(place, place.c.set_id == member.c.set_id)
        .join(rows, (rows.c.place_id == place.c.id) & (rows.c.position == member.c.position))
    )


def with_contents(documents: sa.FromClause) -> sa.Join:
    """Documents, or a join that has them, with their bytes where there are any."""
    return documents.outerjoin(content, content.c.hash == document.c.content)


def total(numbers: sa.ColumnElement[int], *where: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    """The sum of whole numbers, 0 of none; PostgreSQL's own sum would be a decimal."""
    return sa.cast(sa.func.coalesce(sa.func.sum(numbers).filter(*where), 0), sa.BigInteger)


# Answers that stand, with the sets and positions that they are about.
PLACED_ANSWERS = (
    CURRENT_ANSWERS.join(place, place.c.id == answer.c.place_id)
    .join(assignment, assignment.c.id == place.c.assignment_id)
    .join(member, (member.c.set_id == place.c.set_id) & (member.c.position == answer.c.position))
)


def _standing_outcome() -> sa.ColumnElement[bool]:
    newer = outcome.alias("newer")
    # by the index of batches: a gold set may be in very many
    same_set = newer.c.set_id + 0 == outcome.c.set_id
    same = (newer.c.assignment_id == outcome.c.assignment_id) & same_set
    return ~sa.exists().where(same, newer.c.check == outcome.c.check, newer.c.id > outcome.c.id)


# The condition that what a check said stands: gold that was wrong is checked again.
STANDING_OUTCOME = _standing_outcome()
