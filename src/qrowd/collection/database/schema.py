"""The tables: one schema for SQLite and PostgreSQL. `triggers` holds the rules between tables.

Times are milliseconds since 1970, money is in minor units.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem

from qrowd.collection.database.states import ASSIGNMENT_KINDS, PLACE_KINDS, STATES, WORKER_STATES

ROLES = ("pool", "gold", "qualification")
EVENT_KINDS = ("grade", "ranking", "cannot-tell", "broken", "clear")
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

# --- Columns that many tables have ----------------------------------------------------------------

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # SQLite numbers rows by INTEGER only


def table(name: str, *items: SchemaItem) -> sa.Table:
    """A table of its columns, rules and indexes."""
    return sa.Table(name, metadata, *items)


def row_id() -> sa.Column[int]:
    """The number that names a row."""
    return sa.Column("id", Id, primary_key=True, autoincrement=True)


def reference(table: str, name: str = "", **options: Any) -> sa.Column[int]:
    """The number of a row of another table; `campaign_id` for `campaign`, unless it has a name."""
    options.setdefault("nullable", False)
    return sa.Column(name or f"{table}_id", Id, sa.ForeignKey(f"{table}.id"), **options)


def reference_key(table: str) -> sa.Column[int]:
    """The number of a row of another table, as (part of) the key of this one."""
    return reference(table, primary_key=True, autoincrement=False)


def moment(name: str, nullable: bool = False) -> sa.Column[int]:
    """A time."""
    return sa.Column(name, sa.BigInteger, nullable=nullable)


def counter(name: str, start: int = 0) -> sa.Column[int]:
    """A whole number that starts somewhere."""
    return sa.Column(name, sa.BigInteger, nullable=False, server_default=sa.text(str(start)))


def flag(name: str) -> sa.Column[int]:
    """0 or 1, at first 0."""
    return sa.Column(name, sa.SmallInteger, nullable=False, server_default=sa.text("0"))


def short(name: str, length: int, **options: Any) -> sa.Column[str]:
    """Text of bounded length that must be there."""
    return sa.Column(name, sa.String(length), nullable=False, **options)


def words(name: str) -> sa.Column[str]:
    """Text that may be empty."""
    return sa.Column(name, sa.Text, nullable=False, server_default=sa.text("''"))


def one_of(column: str, values: tuple[str, ...]) -> sa.CheckConstraint:
    """A check that a column has one of these values."""
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def where(condition: str) -> dict[str, Any]:
    """The rows that an index is for."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


# --- A campaign and what is judged in it ----------------------------------------------------------

campaign = table(
    "campaign",
    row_id(),
    short("name", 200, unique=True),
    sa.Column("plan", sa.Text, nullable=False),
    short("state", 20, server_default="draft"),
    moment("made_at"),
    short("secret", 64),
    *map(counter, ("budget", "free", "promised", "owed", "settled")),
    one_of("state", ("draft", "running", "paused", "closed")),
    sa.CheckConstraint("budget = free + promised + owed + settled", name="balanced"),
    sa.CheckConstraint(
        "free >= 0 AND promised >= 0 AND owed >= 0 AND settled >= 0", name="no_debt"
    ),
)

topic = table(
    "topic",
    row_id(),
    reference("campaign"),
    short("name", 400),
    *map(words, ("query", "description", "narrative", "category", "language")),
    sa.UniqueConstraint("campaign_id", "name"),
)

question = table(
    "question",
    row_id(),
    reference("topic", index=True),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("choices", sa.Text, nullable=False),
    sa.Column("right_choice", sa.Integer, nullable=False),
)

content = table(
    "content",
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
)

document = table(
    "document",
    row_id(),
    reference("campaign"),
    short("name", 1000),
    words("title"),
    words("url"),
    short("media_type", 200, server_default="text/plain"),
    sa.Column("content", sa.String(64), sa.ForeignKey("content.hash")),
    sa.UniqueConstraint("campaign_id", "name"),
)

pair = table(
    "pair",
    row_id(),
    reference("campaign", index=True),
    reference("topic"),
    reference("document"),
    short("role", 20),
    flag("in_pool"),  # gold may be of the pool too
    sa.Column("priority", sa.Float(53), nullable=False, server_default=sa.text("0")),
    sa.UniqueConstraint("topic_id", "document_id"),
    sa.UniqueConstraint("id", "role"),
    one_of("role", ROLES),
)

gold = table(
    "gold",
    reference_key("pair"),
    sa.Column("grade", sa.SmallInteger, nullable=False),
    words("reason"),
    words("passage"),
)

judging_set = table(
    "judging_set",
    row_id(),
    reference("campaign"),
    reference("topic", index=True),
    short("role", 20),
    sa.Column("size", sa.Integer, nullable=False),
    counter("target"),  # judgements wanted of each document
    counter("held"),  # places that are judged or reserved; the triggers count them
    sa.Column("open", sa.SmallInteger, nullable=False, server_default=sa.text("1")),
    sa.Column("priority", sa.Float(53), nullable=False, server_default=sa.text("0")),
    sa.Column("shuffle", sa.BigInteger, nullable=False),  # the order of equals
    sa.UniqueConstraint("id", "role"),
    one_of("role", ROLES),
    sa.CheckConstraint("held >= 0 AND held <= target", name="held_at_most_target"),
    sa.CheckConstraint("role = 'pool' OR target = 0", name="only_pool_counts"),
    sa.CheckConstraint("size >= 1", name="not_empty"),
    sa.Index("ix_judging_set_role", "campaign_id", "role"),
)
sa.Index(
    "ix_judging_set_pick",
    judging_set.c.campaign_id,
    judging_set.c.priority.desc(),
    judging_set.c.held,
    judging_set.c.shuffle,
    **where(OPEN_SETS),
)

member = table(
    "member",
    sa.Column("set_id", Id, primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("pair_id", Id, nullable=False, index=True),
    short("role", 20),
    sa.Column("sole", sa.SmallInteger, nullable=False),  # 1: its pair is in no other set
    sa.ForeignKeyConstraint(["set_id", "role"], ["judging_set.id", "judging_set.role"]),
    sa.ForeignKeyConstraint(["pair_id", "role"], ["pair.id", "pair.role"]),
    sa.UniqueConstraint("set_id", "pair_id"),
    sa.CheckConstraint("position >= 1", name="from_one"),
    sa.Index("uq_member_sole_pair", "pair_id", unique=True, **where("sole = 1")),
)


# --- People, and what is kept of them -------------------------------------------------------------

worker = table(
    "worker",
    row_id(),
    reference("campaign"),
    short("key", 32, unique=True),
    sa.Column("number", sa.Integer, nullable=False),
    short("kind", 20, server_default="human"),
    sa.Column("name", sa.String(400)),
    short("state", 20, server_default="new"),
    counter("failed_hits"),
    moment("made_at"),
    moment("forget_asked", nullable=True),
    moment("forgotten_at", nullable=True),
    sa.Column("recognised", sa.String(64)),  # a keyed hash of somebody who was forgotten
    sa.UniqueConstraint("campaign_id", "number"),
    sa.UniqueConstraint("campaign_id", "recognised"),
    sa.UniqueConstraint("campaign_id", "kind", "name"),
    one_of("state", WORKER_STATES),
    one_of("kind", ("human", "expert", "machine")),
    sa.CheckConstraint("kind <> 'human' OR name IS NULL", name="people_live_apart"),
)

person = table(
    "person",
    reference_key("worker"),
    reference("campaign"),
    short("platform", 40),
    short("platform_id", 400),
    words("name"),
    words("address"),
    sa.UniqueConstraint("campaign_id", "platform", "platform_id"),
)

visit = table(
    "visit",
    row_id(),
    reference("worker", index=True),
    moment("at"),
    sa.Column("parameters", sa.Text, nullable=False, server_default=sa.text("'{}'")),
)

consent = table(
    "consent",
    row_id(),
    reference("worker", index=True),
    short("version", 40),
    sa.Column("text", sa.Text, nullable=False),
    moment("at"),
)

expertise = table(
    "expertise",
    reference_key("worker"),
    reference_key("topic"),
    sa.Column("right", sa.Integer, nullable=False, quote=True),
    sa.Column("asked", sa.Integer, nullable=False),
    sa.Column("passed", sa.SmallInteger, nullable=False),
    moment("at"),
)

message = table(
    "message",
    row_id(),
    reference("worker", index=True),
    moment("at"),
    sa.Column("from_worker", sa.SmallInteger, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
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
    sa.UniqueConstraint("id", "worker_id"),
    one_of("kind", ASSIGNMENT_KINDS),
    one_of("state", STATES),
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

place = table(
    "place",
    row_id(),
    sa.Column("assignment_id", Id, nullable=False, index=True),
    sa.Column("worker_id", Id, nullable=False),
    reference("judging_set", "set_id", index=True),
    short("kind", 20),
    sa.Column("ordinal", sa.Integer, nullable=False),
    short("key", 32, unique=True),
    sa.Column("shown", sa.Text, nullable=False),  # positions in the order that the worker sees
    flag("held"),
    flag("surplus"),  # its set was full when it came back: paid, not counted
    reference("place", "reviews_id", nullable=True),
    sa.ForeignKeyConstraint(
        ["assignment_id", "worker_id"], ["assignment.id", "assignment.worker_id"]
    ),
    sa.UniqueConstraint("worker_id", "set_id", "kind"),
    sa.UniqueConstraint("assignment_id", "ordinal"),
    one_of("kind", PLACE_KINDS),
    sa.CheckConstraint("held IN (0, 1) AND surplus IN (0, 1)", name="yes_or_no"),
    sa.CheckConstraint("held = 0 OR (kind = 'count' AND surplus = 0)", name="only_counted_is_held"),
)

event = table(
    "event",
    row_id(),
    reference("worker"),
    reference("place", index=True),
    sa.Column("position", sa.Integer, nullable=False),
    short("kind", 20),
    sa.Column("grade", sa.SmallInteger),
    sa.Column("ranking", sa.Text),
    counter("milliseconds"),
    moment("at"),
    short("key", 64),
    sa.Column("follows", Id),  # the event that the client meant to replace
    flag("stale"),  # another event had come between: it replaced nothing
    sa.UniqueConstraint("worker_id", "key"),
    one_of("kind", EVENT_KINDS),
    sa.CheckConstraint("(kind = 'grade') = (grade IS NOT NULL)", name="grade_has_a_grade"),
    sa.CheckConstraint("(kind = 'ranking') = (ranking IS NOT NULL)", name="ranking_has_an_order"),
    sa.CheckConstraint("kind <> 'ranking' OR position = 0", name="ranking_is_of_the_set"),
    sa.CheckConstraint("milliseconds >= 0", name="time_runs_forward"),
)

answer = table(
    "answer",
    reference_key("place"),
    sa.Column("position", sa.Integer, primary_key=True),
    reference("event"),
)

receipt = table("receipt", reference_key("event"), short("digest", 64))

note = table(
    "note",
    row_id(),
    reference("event", index=True),
    short("kind", 20),
    sa.Column("text", sa.Text, nullable=False),
    one_of("kind", ("reason", "passage")),
)

outcome = table(
    "outcome",
    row_id(),
    reference("assignment", index=True),
    reference("judging_set", "set_id", nullable=True, index=True),
    short("check", 20, quote=True),
    sa.Column("value", sa.Float(53)),
    sa.Column("at_least", sa.Float(53), nullable=False),
    sa.Column("passed", sa.SmallInteger, nullable=False),
    short("action", 20),
)


# --- Experts --------------------------------------------------------------------------------------

sampled = table(
    "sampled",
    row_id(),
    reference("place"),
    sa.Column("position", sa.Integer, nullable=False),
    moment("at"),
    sa.UniqueConstraint("place_id", "position"),
)

decision = table(
    "decision",
    row_id(),
    reference("pair", index=True),
    reference("worker", "expert_id"),
    sa.Column("grade", sa.SmallInteger, nullable=False),
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
    sa.Column("position", sa.Integer),
    reference("place", nullable=True),
    moment("at"),
    sa.Column("text", sa.Text, nullable=False),
    moment("answered_at", nullable=True),
    sa.Column("won", sa.SmallInteger),
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
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.CheckConstraint("amount > 0", name="positive"),
    sa.CheckConstraint("source <> target", name="moves"),
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
    sa.Column("details", sa.Text, nullable=False),
    reference("audit", "undoes", nullable=True),
    sa.UniqueConstraint("undoes"),
)

notice = table(
    "notice",
    row_id(),
    reference("campaign", index=True),
    moment("at"),
    short("kind", 40),
    short("about", 100, server_default=""),
    sa.Column("text", sa.Text, nullable=False),
    moment("settled_at", nullable=True),
    sa.UniqueConstraint("campaign_id", "kind", "about"),
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
    sa.Column("role", sa.String(20), primary_key=True),
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
    sa.Column("scopes", sa.Text, nullable=False, server_default=""),
    moment("made_at"),
    moment("expires_at", nullable=True),
    moment("revoked_at", nullable=True),
    one_of("role", ("organiser", "expert", "worker")),
)

rate = table(
    "rate",
    sa.Column("what", sa.String(200), primary_key=True),
    sa.Column("since", sa.BigInteger, primary_key=True, autoincrement=False),
    counter("times"),
)

job = table(
    "job",
    row_id(),
    reference("campaign", nullable=True),
    short("kind", 40),
    sa.Column("parameters", sa.Text, nullable=False, server_default=sa.text("'{}'")),
    short("state", 20, server_default="waiting"),
    moment("made_at"),
    moment("leased_until", nullable=True),
    counter("attempts"),
    moment("finished_at", nullable=True),
    sa.Column("result", sa.Text),
    sa.Column("problem", sa.Text),
    one_of("state", ("waiting", "running", "done", "failed")),
    sa.Index("ix_job_waiting", "state", "made_at"),
)


# --- Joins that many queries need -----------------------------------------------------------------

PAIR_DOCUMENTS = pair.join(document, document.c.id == pair.c.document_id)
NAMED_PAIRS = PAIR_DOCUMENTS.join(topic, topic.c.id == pair.c.topic_id)
PLACED_SETS = place.join(judging_set, judging_set.c.id == place.c.set_id)
CURRENT_ANSWERS = answer.join(event, event.c.id == answer.c.event_id)
PAIR_NAMES = (topic.c.name.label("topic"), document.c.name.label("doc"))  # of NAMED_PAIRS


def with_pairs(rows: sa.FromClause) -> sa.Join:
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
