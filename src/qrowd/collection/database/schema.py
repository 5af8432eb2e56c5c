"""The tables: one schema for SQLite and PostgreSQL. `triggers` holds the rules between tables.

Times are milliseconds since 1970, money is in minor units.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    FromClause,
    Index,
    Integer,
    Join,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.schema import SchemaItem

from qrowd.collection.database.states import ASSIGNMENT_KINDS, PLACE_KINDS, STATES, WORKER_STATES

ROLES = ("pool", "gold", "qualification")
EVENT_KINDS = ("grade", "ranking", "cannot-tell", "broken", "clear")
ACCOUNTS = ("outside", "free", "promised", "owed", "settled")
OPEN_SETS = "role = 'pool' AND open = 1 AND held < target"

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# --- Columns that many tables have ----------------------------------------------------------------

Id = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by INTEGER only


def table(name: str, *items: SchemaItem) -> Table:
    """A table of its columns, rules and indexes."""
    return Table(name, metadata, *items)


def row_id() -> Column[int]:
    """The number that names a row."""
    return Column("id", Id, primary_key=True, autoincrement=True)


def reference(table: str, name: str = "", **options: Any) -> Column[int]:
    """The number of a row of another table; `campaign_id` for `campaign`, unless it has a name."""
    options.setdefault("nullable", False)
    return Column(name or f"{table}_id", Id, ForeignKey(f"{table}.id"), **options)


def reference_key(table: str) -> Column[int]:
    """The number of a row of another table, as (part of) the key of this one."""
    return reference(table, primary_key=True, autoincrement=False)


def moment(name: str, nullable: bool = False) -> Column[int]:
    """A time."""
    return Column(name, BigInteger, nullable=nullable)


def counter(name: str, start: int = 0) -> Column[int]:
    """A whole number that starts somewhere."""
    return Column(name, BigInteger, nullable=False, server_default=text(str(start)))


def flag(name: str) -> Column[int]:
    """0 or 1, at first 0."""
    return Column(name, SmallInteger, nullable=False, server_default=text("0"))


def short(name: str, length: int, **options: Any) -> Column[str]:
    """Text of bounded length that must be there."""
    return Column(name, String(length), nullable=False, **options)


def words(name: str) -> Column[str]:
    """Text that may be empty."""
    return Column(name, Text, nullable=False, server_default=text("''"))


def one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    """A check that a column has one of these values."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def where(condition: str) -> dict[str, Any]:
    """The rows that an index is for."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


# --- A campaign and what is judged in it ----------------------------------------------------------

campaign = table(
    "campaign",
    row_id(),
    short("name", 200, unique=True),
    Column("plan", Text, nullable=False),
    short("state", 20, server_default="draft"),
    moment("made_at"),
    short("secret", 64),
    *map(counter, ("budget", "free", "promised", "owed", "settled")),
    one_of("state", ("draft", "running", "paused", "closed")),
    CheckConstraint("budget = free + promised + owed + settled", name="balanced"),
    CheckConstraint("free >= 0 AND promised >= 0 AND owed >= 0 AND settled >= 0", name="no_debt"),
)

topic = table(
    "topic",
    row_id(),
    reference("campaign"),
    short("name", 400),
    *map(words, ("query", "description", "narrative", "category", "language")),
    UniqueConstraint("campaign_id", "name"),
)

question = table(
    "question",
    row_id(),
    reference("topic", index=True),
    Column("text", Text, nullable=False),
    Column("choices", Text, nullable=False),
    Column("right_choice", Integer, nullable=False),
)

content = table(
    "content",
    Column("hash", String(64), primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

document = table(
    "document",
    row_id(),
    reference("campaign"),
    short("name", 1000),
    words("title"),
    words("url"),
    short("media_type", 200, server_default="text/plain"),
    Column("content", String(64), ForeignKey("content.hash")),
    UniqueConstraint("campaign_id", "name"),
)

pair = table(
    "pair",
    row_id(),
    reference("campaign", index=True),
    reference("topic"),
    reference("document"),
    short("role", 20),
    flag("in_pool"),  # gold may be of the pool too
    Column("priority", Float(53), nullable=False, server_default=text("0")),
    UniqueConstraint("topic_id", "document_id"),
    UniqueConstraint("id", "role"),
    one_of("role", ROLES),
)

gold = table(
    "gold",
    reference_key("pair"),
    Column("grade", SmallInteger, nullable=False),
    words("reason"),
    words("passage"),
)

judging_set = table(
    "judging_set",
    row_id(),
    reference("campaign"),
    reference("topic", index=True),
    short("role", 20),
    Column("size", Integer, nullable=False),
    counter("target"),  # judgements wanted of each document
    counter("held"),  # places that are judged or reserved; the triggers count them
    Column("open", SmallInteger, nullable=False, server_default=text("1")),
    Column("priority", Float(53), nullable=False, server_default=text("0")),
    Column("shuffle", BigInteger, nullable=False),  # the order of equals
    UniqueConstraint("id", "role"),
    one_of("role", ROLES),
    CheckConstraint("held >= 0 AND held <= target", name="held_at_most_target"),
    CheckConstraint("role = 'pool' OR target = 0", name="only_pool_counts"),
    CheckConstraint("size >= 1", name="not_empty"),
    Index("ix_judging_set_role", "campaign_id", "role"),
)
Index(
    "ix_judging_set_pick",
    judging_set.c.campaign_id,
    judging_set.c.priority.desc(),
    judging_set.c.held,
    judging_set.c.shuffle,
    **where(OPEN_SETS),
)

member = table(
    "member",
    Column("set_id", Id, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("pair_id", Id, nullable=False, index=True),
    short("role", 20),
    Column("sole", SmallInteger, nullable=False),  # 1: its pair is in no other set
    ForeignKeyConstraint(["set_id", "role"], ["judging_set.id", "judging_set.role"]),
    ForeignKeyConstraint(["pair_id", "role"], ["pair.id", "pair.role"]),
    UniqueConstraint("set_id", "pair_id"),
    CheckConstraint("position >= 1", name="from_one"),
    Index("uq_member_sole_pair", "pair_id", unique=True, **where("sole = 1")),
)


# --- People, and what is kept of them -------------------------------------------------------------

worker = table(
    "worker",
    row_id(),
    reference("campaign"),
    short("key", 32, unique=True),
    Column("number", Integer, nullable=False),
    short("kind", 20, server_default="human"),
    Column("name", String(400)),
    short("state", 20, server_default="new"),
    counter("failed_hits"),
    moment("made_at"),
    moment("forget_asked", nullable=True),
    moment("forgotten_at", nullable=True),
    Column("recognised", String(64)),  # a keyed hash of somebody who was forgotten
    UniqueConstraint("campaign_id", "number"),
    UniqueConstraint("campaign_id", "recognised"),
    UniqueConstraint("campaign_id", "kind", "name"),
    one_of("state", WORKER_STATES),
    one_of("kind", ("human", "expert", "machine")),
    CheckConstraint("kind <> 'human' OR name IS NULL", name="people_live_apart"),
)

person = table(
    "person",
    reference_key("worker"),
    reference("campaign"),
    short("platform", 40),
    short("platform_id", 400),
    words("name"),
    words("address"),
    UniqueConstraint("campaign_id", "platform", "platform_id"),
)

visit = table(
    "visit",
    row_id(),
    reference("worker", index=True),
    moment("at"),
    Column("parameters", Text, nullable=False, server_default=text("'{}'")),
)

consent = table(
    "consent",
    row_id(),
    reference("worker", index=True),
    short("version", 40),
    Column("text", Text, nullable=False),
    moment("at"),
)

expertise = table(
    "expertise",
    reference_key("worker"),
    reference_key("topic"),
    Column("right", Integer, nullable=False, quote=True),
    Column("asked", Integer, nullable=False),
    Column("passed", SmallInteger, nullable=False),
    moment("at"),
)

message = table(
    "message",
    row_id(),
    reference("worker", index=True),
    moment("at"),
    Column("from_worker", SmallInteger, nullable=False),
    Column("text", Text, nullable=False),
    moment("read_at", nullable=True),
)

completion_code = table(
    "completion_code",
    row_id(),
    reference("worker", index=True),
    short("code", 64, unique=True),
    short("outcome", 20),
    moment("made_at"),
    moment("used_at", nullable=True),
)


# --- What workers do ------------------------------------------------------------------------------

assignment = table(
    "assignment",
    row_id(),
    reference("campaign"),
    reference("worker", index=True),
    short("key", 32, unique=True),
    short("kind", 20),
    short("state", 20, server_default="active"),
    counter("attempt", 1),
    moment("leased_at"),
    moment("expires_at"),
    moment("latest_end"),  # no answer moves `expires_at` beyond it
    moment("finished_at", nullable=True),
    moment("ended_at", nullable=True),
    counter("pay"),  # as planned
    *map(counter, ("promised", "earned", "paid")),  # the triggers add up the entries
    UniqueConstraint("id", "worker_id"),
    one_of("kind", ASSIGNMENT_KINDS),
    one_of("state", STATES),
    CheckConstraint("promised >= 0 AND earned >= 0 AND paid >= 0", name="no_debt"),
    CheckConstraint("expires_at <= latest_end", name="lease_has_an_end"),
    Index("ix_assignment_due", "campaign_id", "state", "expires_at"),
    Index("ix_assignment_promised", "campaign_id", "state", **where("promised > 0")),
    Index(
        "uq_assignment_one_open",
        "worker_id",
        "kind",
        unique=True,
        **where("state IN ('active', 'finished') AND kind <> 'machine'"),
    ),
)

place = table(
    "place",
    row_id(),
    Column("assignment_id", Id, nullable=False, index=True),
    Column("worker_id", Id, nullable=False),
    reference("judging_set", "set_id", index=True),
    short("kind", 20),
    Column("ordinal", Integer, nullable=False),
    short("key", 32, unique=True),
    Column("shown", Text, nullable=False),  # positions in the order that the worker sees
    flag("held"),
    flag("surplus"),  # its set was full when it came back: paid, not counted
    reference("place", "reviews_id", nullable=True),
    ForeignKeyConstraint(["assignment_id", "worker_id"], ["assignment.id", "assignment.worker_id"]),
    UniqueConstraint("worker_id", "set_id", "kind"),
    UniqueConstraint("assignment_id", "ordinal"),
    one_of("kind", PLACE_KINDS),
    CheckConstraint("held IN (0, 1) AND surplus IN (0, 1)", name="yes_or_no"),
    CheckConstraint("held = 0 OR (kind = 'count' AND surplus = 0)", name="only_counted_is_held"),
)

event = table(
    "event",
    row_id(),
    reference("worker"),
    reference("place", index=True),
    Column("position", Integer, nullable=False),
    short("kind", 20),
    Column("grade", SmallInteger),
    Column("ranking", Text),
    counter("milliseconds"),
    moment("at"),
    short("key", 64),
    Column("follows", Id),  # the event that the client meant to replace
    flag("stale"),  # another event had come between: it replaced nothing
    UniqueConstraint("worker_id", "key"),
    one_of("kind", EVENT_KINDS),
    CheckConstraint("(kind = 'grade') = (grade IS NOT NULL)", name="grade_has_a_grade"),
    CheckConstraint("(kind = 'ranking') = (ranking IS NOT NULL)", name="ranking_has_an_order"),
    CheckConstraint("kind <> 'ranking' OR position = 0", name="ranking_is_of_the_set"),
    CheckConstraint("milliseconds >= 0", name="time_runs_forward"),
)

answer = table(
    "answer",
    reference_key("place"),
    Column("position", Integer, primary_key=True),
    reference("event"),
)

receipt = table("receipt", reference_key("event"), short("digest", 64))

note = table(
    "note",
    row_id(),
    reference("event", index=True),
    short("kind", 20),
    Column("text", Text, nullable=False),
    one_of("kind", ("reason", "passage")),
)

outcome = table(
    "outcome",
    row_id(),
    reference("assignment", index=True),
    reference("judging_set", "set_id", nullable=True, index=True),
    short("check", 20, quote=True),
    Column("value", Float(53)),
    Column("at_least", Float(53), nullable=False),
    Column("passed", SmallInteger, nullable=False),
    short("action", 20),
)


# --- Experts --------------------------------------------------------------------------------------

sampled = table(
    "sampled",
    row_id(),
    reference("place"),
    Column("position", Integer, nullable=False),
    moment("at"),
    UniqueConstraint("place_id", "position"),
)

decision = table(
    "decision",
    row_id(),
    reference("pair", index=True),
    reference("worker", "expert_id"),
    Column("grade", SmallInteger, nullable=False),
    words("reason"),
    short("code", 40, server_default=""),
    moment("at"),
)

appeal = table(
    "appeal",
    row_id(),
    reference("worker", index=True),
    reference("assignment", nullable=True),
    short("kind", 20),
    Column("position", Integer),
    reference("place", nullable=True),
    moment("at"),
    Column("text", Text, nullable=False),
    moment("answered_at", nullable=True),
    Column("won", SmallInteger),
    words("reply"),
    one_of("kind", ("refusal", "gold")),
)


# --- What an organiser keeps account of -----------------------------------------------------------

entry = table(
    "entry",
    row_id(),
    reference("campaign", index=True),
    reference("worker", nullable=True, index=True),
    reference("assignment", nullable=True, index=True),
    moment("at"),
    short("why", 40),
    short("source", 10),
    short("target", 10),
    Column("amount", BigInteger, nullable=False),
    CheckConstraint("amount > 0", name="positive"),
    CheckConstraint("source <> target", name="moves"),
    one_of("source", ACCOUNTS),
    one_of("target", ACCOUNTS),
)

audit = table(
    "audit",
    row_id(),
    reference("campaign", index=True),
    moment("at"),
    short("who", 200),
    short("act", 40),
    Column("details", Text, nullable=False),
    reference("audit", "undoes", nullable=True),
    UniqueConstraint("undoes"),
)

notice = table(
    "notice",
    row_id(),
    reference("campaign", index=True),
    moment("at"),
    short("kind", 40),
    short("about", 100, server_default=""),
    Column("text", Text, nullable=False),
    moment("settled_at", nullable=True),
    UniqueConstraint("campaign_id", "kind", "about"),
)


# --- The server: who may come in, and what it does by itself --------------------------------------

account = table(
    "account",
    row_id(),
    short("login", 200, unique=True),
    short("password", 300),
    moment("made_at"),
    flag("administrator"),
)

member_role = table(
    "member_role",
    reference_key("account"),
    reference_key("campaign"),
    Column("role", String(20), primary_key=True),
    reference("worker", nullable=True),
    one_of("role", ("organiser", "expert", "worker")),
)

token = table(
    "token",
    row_id(),
    short("hash", 64, unique=True),
    reference("account", nullable=True),
    reference("campaign", nullable=True),
    reference("worker", nullable=True, index=True),
    short("role", 20),
    Column("scopes", Text, nullable=False, server_default=""),
    moment("made_at"),
    moment("expires_at", nullable=True),
    moment("revoked_at", nullable=True),
    one_of("role", ("organiser", "expert", "worker")),
)

rate = table(
    "rate",
    Column("what", String(200), primary_key=True),
    Column("since", BigInteger, primary_key=True, autoincrement=False),
    counter("times"),
)

job = table(
    "job",
    row_id(),
    reference("campaign", nullable=True),
    short("kind", 40),
    Column("parameters", Text, nullable=False, server_default=text("'{}'")),
    short("state", 20, server_default="waiting"),
    moment("made_at"),
    moment("leased_until", nullable=True),
    counter("attempts"),
    moment("finished_at", nullable=True),
    Column("result", Text),
    Column("problem", Text),
    one_of("state", ("waiting", "running", "done", "failed")),
    Index("ix_job_waiting", "state", "made_at"),
)


# --- Joins that many queries need -----------------------------------------------------------------

PAIR_DOCUMENTS = pair.join(document, document.c.id == pair.c.document_id)
NAMED_PAIRS = PAIR_DOCUMENTS.join(topic, topic.c.id == pair.c.topic_id)
PLACED_SETS = place.join(judging_set, judging_set.c.id == place.c.set_id)
CURRENT_ANSWERS = answer.join(event, event.c.id == answer.c.event_id)
PAIR_NAMES = (topic.c.name.label("topic"), document.c.name.label("doc"))  # of NAMED_PAIRS


def with_pairs(rows: FromClause) -> Join:
    """Rows that name a place and a position in it, joined to the pair that stands there."""
    return (
        NAMED_PAIRS.join(member, member.c.pair_id == pair.c.id)
        .join(place, place.c.set_id == member.c.set_id)
        .join(rows, (rows.c.place_id == place.c.id) & (rows.c.position == member.c.position))
    )


# Answers that stand, with the sets and positions that they are about.
PLACED_ANSWERS = (
    CURRENT_ANSWERS.join(place, place.c.id == answer.c.place_id)
    .join(assignment, assignment.c.id == place.c.assignment_id)
    .join(member, (member.c.set_id == place.c.set_id) & (member.c.position == answer.c.position))
)
