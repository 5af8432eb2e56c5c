"""The tables: one schema for SQLite and PostgreSQL. `triggers` holds the rules between tables."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from qrowd.collection.database.states import ASSIGNMENT_KINDS, PLACE_KINDS, STATES, WORKER_STATES

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
metadata = MetaData(naming_convention=NAMES)

Id = BigInteger().with_variant(Integer, "sqlite")
ROLES = ("pool", "gold", "qualification")
EVENT_KINDS = ("grade", "ranking", "cannot-tell", "broken", "clear")
OPEN_SETS = "role = 'pool' AND open = 1 AND held < target"
ACCOUNTS = ("outside", "free", "promised", "owed", "settled")


def one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    """A check that a column has one of these values."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def yes_no(name: str) -> Column[int]:
    """A column of 0 or 1."""
    return Column(name, SmallInteger, nullable=False, server_default=text("0"))


def number(name: str = "id") -> Column[int]:
    """A number that names the row."""
    return Column(name, Id, primary_key=True, autoincrement=True)


def to(name: str, target: str, nullable: bool = False, index: bool = False) -> Column[int]:
    """The number of a row of another table."""
    return Column(name, Id, ForeignKey(target), nullable=nullable, index=index)


def count(name: str, start: int = 0) -> Column[int]:
    """A whole number that starts somewhere."""
    return Column(name, BigInteger, nullable=False, server_default=text(str(start)))


def words(name: str) -> Column[str]:
    """Text that may be empty."""
    return Column(name, Text, nullable=False, server_default=text("''"))


campaign = Table(
    "campaign",
    metadata,
    number(),
    Column("name", String(200), nullable=False, unique=True),
    Column("plan", Text, nullable=False),
    Column("state", String(20), nullable=False, server_default="draft"),
    Column("made_at", BigInteger, nullable=False),
    Column("secret", String(64), nullable=False),
    count("budget"),
    count("free"),
    count("promised"),
    count("owed"),
    count("settled"),
    one_of("state", ("draft", "running", "paused", "closed")),
    CheckConstraint("budget = free + promised + owed + settled", name="balanced"),
    CheckConstraint("free >= 0 AND promised >= 0 AND owed >= 0 AND settled >= 0", name="no_debt"),
)

topic = Table(
    "topic",
    metadata,
    number(),
    to("campaign_id", "campaign.id"),
    Column("name", String(400), nullable=False),
    words("query"),
    words("description"),
    words("narrative"),
    words("category"),
    words("language"),
    UniqueConstraint("campaign_id", "name"),
)

content = Table(
    "content",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

document = Table(
    "document",
    metadata,
    number(),
    to("campaign_id", "campaign.id"),
    Column("name", String(1000), nullable=False),
    words("title"),
    words("url"),
    Column("media_type", String(200), nullable=False, server_default="text/plain"),
    Column("content", String(64), ForeignKey("content.hash")),
    UniqueConstraint("campaign_id", "name"),
)

pair = Table(
    "pair",
    metadata,
    number(),
    to("campaign_id", "campaign.id", index=True),
    to("topic_id", "topic.id"),
    to("document_id", "document.id"),
    Column("role", String(20), nullable=False),
    yes_no("in_pool"),
    Column("priority", Float(53), nullable=False, server_default=text("0")),
    UniqueConstraint("topic_id", "document_id"),
    UniqueConstraint("id", "role"),
    one_of("role", ROLES),
)

gold = Table(
    "gold",
    metadata,
    Column("pair_id", Id, ForeignKey("pair.id"), primary_key=True, autoincrement=False),
    Column("grade", SmallInteger, nullable=False),
    words("reason"),
    words("passage"),
)

judging_set = Table(
    "judging_set",
    metadata,
    number(),
    to("campaign_id", "campaign.id"),
    to("topic_id", "topic.id", index=True),
    Column("role", String(20), nullable=False),
    Column("size", Integer, nullable=False),
    count("target"),
    count("held"),
    Column("open", SmallInteger, nullable=False, server_default=text("1")),
    Column("priority", Float(53), nullable=False, server_default=text("0")),
    Column("shuffle", BigInteger, nullable=False),
    UniqueConstraint("id", "role"),
    one_of("role", ROLES),
    CheckConstraint("held >= 0 AND held <= target", name="held_at_most_target"),
    CheckConstraint("role = 'pool' OR target = 0", name="only_pool_counts"),
    CheckConstraint("size >= 1", name="not_empty"),
)
Index(
    "ix_judging_set_pick",
    judging_set.c.campaign_id,
    judging_set.c.priority.desc(),
    judging_set.c.held,
    judging_set.c.shuffle,
    sqlite_where=text(OPEN_SETS),
    postgresql_where=text(OPEN_SETS),
)
Index("ix_judging_set_role", judging_set.c.campaign_id, judging_set.c.role)

member = Table(
    "member",
    metadata,
    Column("set_id", Id, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("pair_id", Id, nullable=False, index=True),
    Column("role", String(20), nullable=False),
    Column("sole", SmallInteger, nullable=False),
    ForeignKeyConstraint(["set_id", "role"], ["judging_set.id", "judging_set.role"]),
    ForeignKeyConstraint(["pair_id", "role"], ["pair.id", "pair.role"]),
    UniqueConstraint("set_id", "pair_id"),
    CheckConstraint("position >= 1", name="from_one"),
)
Index(
    "uq_member_sole_pair",
    member.c.pair_id,
    unique=True,
    sqlite_where=text("sole = 1"),
    postgresql_where=text("sole = 1"),
)


worker = Table(
    "worker",
    metadata,
    number(),
    to("campaign_id", "campaign.id"),
    Column("key", String(32), nullable=False, unique=True),
    Column("number", Integer, nullable=False),
    Column("kind", String(20), nullable=False, server_default="human"),
    Column("name", String(400)),
    Column("state", String(20), nullable=False, server_default="new"),
    count("failed_hits"),
    Column("made_at", BigInteger, nullable=False),
    Column("forget_asked", BigInteger),
    Column("forgotten_at", BigInteger),
    Column("recognised", String(64)),
    UniqueConstraint("campaign_id", "number"),
    UniqueConstraint("campaign_id", "recognised"),
    UniqueConstraint("campaign_id", "kind", "name"),
    one_of("state", WORKER_STATES),
    one_of("kind", ("human", "expert", "machine")),
    CheckConstraint("kind <> 'human' OR name IS NULL", name="people_live_apart"),
)

person = Table(
    "person",
    metadata,
    Column("worker_id", Id, ForeignKey("worker.id"), primary_key=True, autoincrement=False),
    to("campaign_id", "campaign.id"),
    Column("platform", String(40), nullable=False),
    Column("platform_id", String(400), nullable=False),
    words("name"),
    words("address"),
    UniqueConstraint("campaign_id", "platform", "platform_id"),
)

visit = Table(
    "visit",
    metadata,
    number(),
    to("worker_id", "worker.id", index=True),
    Column("at", BigInteger, nullable=False),
    Column("parameters", Text, nullable=False, server_default=text("'{}'")),
)

consent = Table(
    "consent",
    metadata,
    number(),
    to("worker_id", "worker.id", index=True),
    Column("version", String(40), nullable=False),
    Column("text", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)

assignment = Table(
    "assignment",
    metadata,
    number(),
    to("campaign_id", "campaign.id"),
    to("worker_id", "worker.id", index=True),
    Column("key", String(32), nullable=False, unique=True),
    Column("kind", String(20), nullable=False),
    Column("state", String(20), nullable=False, server_default="active"),
    count("attempt", 1),
    Column("leased_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("latest_end", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("ended_at", BigInteger),
    count("pay"),
    count("promised"),
    count("earned"),
    count("paid"),
    UniqueConstraint("id", "worker_id"),
    one_of("kind", ASSIGNMENT_KINDS),
    one_of("state", STATES),
    CheckConstraint("promised >= 0 AND earned >= 0 AND paid >= 0", name="no_debt"),
    CheckConstraint("expires_at <= latest_end", name="lease_has_an_end"),
    Index("ix_assignment_due", "campaign_id", "state", "expires_at"),
)
Index(
    "uq_assignment_one_open",
    assignment.c.worker_id,
    assignment.c.kind,
    unique=True,
    sqlite_where=text("state IN ('active', 'finished') AND kind <> 'machine'"),
    postgresql_where=text("state IN ('active', 'finished') AND kind <> 'machine'"),
)

Index(
    "ix_assignment_promised",
    assignment.c.campaign_id,
    assignment.c.state,
    sqlite_where=text("promised > 0"),
    postgresql_where=text("promised > 0"),
)

place = Table(
    "place",
    metadata,
    number(),
    Column("assignment_id", Id, nullable=False, index=True),
    Column("worker_id", Id, nullable=False),
    to("set_id", "judging_set.id", index=True),
    Column("kind", String(20), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("key", String(32), nullable=False, unique=True),
    Column("shown", Text, nullable=False),
    yes_no("held"),
    yes_no("surplus"),
    to("reviews_id", "place.id", nullable=True),
    ForeignKeyConstraint(["assignment_id", "worker_id"], ["assignment.id", "assignment.worker_id"]),
    UniqueConstraint("worker_id", "set_id", "kind"),
    UniqueConstraint("assignment_id", "ordinal"),
    one_of("kind", PLACE_KINDS),
    CheckConstraint("held IN (0, 1) AND surplus IN (0, 1)", name="yes_or_no"),
    CheckConstraint("held = 0 OR (kind = 'count' AND surplus = 0)", name="only_counted_is_held"),
)

event = Table(
    "event",
    metadata,
    number(),
    to("worker_id", "worker.id"),
    to("place_id", "place.id", index=True),
    Column("position", Integer, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("grade", SmallInteger),
    Column("ranking", Text),
    Column("milliseconds", BigInteger, nullable=False, server_default=text("0")),
    Column("at", BigInteger, nullable=False),
    Column("key", String(64), nullable=False),
    Column("follows", Id),
    yes_no("stale"),
    UniqueConstraint("worker_id", "key"),
    one_of("kind", EVENT_KINDS),
    CheckConstraint("(kind = 'grade') = (grade IS NOT NULL)", name="grade_has_a_grade"),
    CheckConstraint("(kind = 'ranking') = (ranking IS NOT NULL)", name="ranking_has_an_order"),
    CheckConstraint("kind <> 'ranking' OR position = 0", name="ranking_is_of_the_set"),
    CheckConstraint("milliseconds >= 0", name="time_runs_forward"),
)

answer = Table(
    "answer",
    metadata,
    Column("place_id", Id, ForeignKey("place.id"), primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True),
    to("event_id", "event.id"),
)

receipt = Table(
    "receipt",
    metadata,
    Column("event_id", Id, ForeignKey("event.id"), primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
)

note = Table(
    "note",
    metadata,
    number(),
    to("event_id", "event.id", index=True),
    Column("kind", String(20), nullable=False),
    Column("text", Text, nullable=False),
    one_of("kind", ("reason", "passage")),
)

outcome = Table(
    "outcome",
    metadata,
    number(),
    to("assignment_id", "assignment.id", index=True),
    to("set_id", "judging_set.id", nullable=True, index=True),
    Column("check", String(20), nullable=False, quote=True),
    Column("value", Float(53)),
    Column("at_least", Float(53), nullable=False),
    Column("passed", SmallInteger, nullable=False),
    Column("action", String(20), nullable=False),
)

entry = Table(
    "entry",
    metadata,
    number(),
    to("campaign_id", "campaign.id", index=True),
    to("worker_id", "worker.id", nullable=True, index=True),
    to("assignment_id", "assignment.id", nullable=True, index=True),
    Column("at", BigInteger, nullable=False),
    Column("why", String(40), nullable=False),
    Column("source", String(10), nullable=False),
    Column("target", String(10), nullable=False),
    Column("amount", BigInteger, nullable=False),
    CheckConstraint("amount > 0", name="positive"),
    CheckConstraint("source <> target", name="moves"),
    one_of("source", ACCOUNTS),
    one_of("target", ACCOUNTS),
)


decision = Table(
    "decision",
    metadata,
    number(),
    to("pair_id", "pair.id", index=True),
    to("expert_id", "worker.id"),
    Column("grade", SmallInteger, nullable=False),
    words("reason"),
    Column("code", String(40), nullable=False, server_default=""),
    Column("at", BigInteger, nullable=False),
)

sampled = Table(
    "sampled",
    metadata,
    number(),
    to("place_id", "place.id"),
    Column("position", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    UniqueConstraint("place_id", "position"),
)

question = Table(
    "question",
    metadata,
    number(),
    to("topic_id", "topic.id", index=True),
    Column("text", Text, nullable=False),
    Column("choices", Text, nullable=False),
    Column("right_choice", Integer, nullable=False),
)

expertise = Table(
    "expertise",
    metadata,
    Column("worker_id", Id, ForeignKey("worker.id"), primary_key=True, autoincrement=False),
    Column("topic_id", Id, ForeignKey("topic.id"), primary_key=True, autoincrement=False),
    Column("right", Integer, nullable=False, quote=True),
    Column("asked", Integer, nullable=False),
    Column("passed", SmallInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    number(),
    to("campaign_id", "campaign.id", index=True),
    Column("at", BigInteger, nullable=False),
    Column("who", String(200), nullable=False),
    Column("act", String(40), nullable=False),
    Column("details", Text, nullable=False),
    to("undoes", "audit.id", nullable=True),
    UniqueConstraint("undoes"),
)

notice = Table(
    "notice",
    metadata,
    number(),
    to("campaign_id", "campaign.id", index=True),
    Column("at", BigInteger, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("about", String(100), nullable=False, server_default=""),
    Column("text", Text, nullable=False),
    Column("settled_at", BigInteger),
    UniqueConstraint("campaign_id", "kind", "about"),
)

message = Table(
    "message",
    metadata,
    number(),
    to("worker_id", "worker.id", index=True),
    Column("at", BigInteger, nullable=False),
    Column("from_worker", SmallInteger, nullable=False),
    Column("text", Text, nullable=False),
    Column("read_at", BigInteger),
)

appeal = Table(
    "appeal",
    metadata,
    number(),
    to("worker_id", "worker.id", index=True),
    to("assignment_id", "assignment.id", nullable=True),
    Column("kind", String(20), nullable=False),
    Column("position", Integer),
    to("place_id", "place.id", nullable=True),
    Column("at", BigInteger, nullable=False),
    Column("text", Text, nullable=False),
    Column("answered_at", BigInteger),
    Column("won", SmallInteger),
    words("reply"),
    one_of("kind", ("refusal", "gold")),
)

account = Table(
    "account",
    metadata,
    number(),
    Column("login", String(200), nullable=False, unique=True),
    Column("password", String(300), nullable=False),
    Column("made_at", BigInteger, nullable=False),
    yes_no("administrator"),
)

member_role = Table(
    "member_role",
    metadata,
    Column("account_id", Id, ForeignKey("account.id"), primary_key=True, autoincrement=False),
    Column("campaign_id", Id, ForeignKey("campaign.id"), primary_key=True, autoincrement=False),
    Column("role", String(20), primary_key=True),
    to("worker_id", "worker.id", nullable=True),
    one_of("role", ("organiser", "expert", "worker")),
)

token = Table(
    "token",
    metadata,
    number(),
    Column("hash", String(64), nullable=False, unique=True),
    to("account_id", "account.id", nullable=True),
    to("campaign_id", "campaign.id", nullable=True),
    to("worker_id", "worker.id", nullable=True, index=True),
    Column("role", String(20), nullable=False),
    Column("scopes", Text, nullable=False, server_default=""),
    Column("made_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    one_of("role", ("organiser", "expert", "worker")),
)

completion_code = Table(
    "completion_code",
    metadata,
    number(),
    to("worker_id", "worker.id", index=True),
    Column("code", String(64), nullable=False, unique=True),
    Column("outcome", String(20), nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
)

rate = Table(
    "rate",
    metadata,
    Column("what", String(200), primary_key=True),
    Column("since", BigInteger, primary_key=True, autoincrement=False),
    count("times"),
)

job = Table(
    "job",
    metadata,
    number(),
    to("campaign_id", "campaign.id", nullable=True),
    Column("kind", String(40), nullable=False),
    Column("parameters", Text, nullable=False, server_default=text("'{}'")),
    Column("state", String(20), nullable=False, server_default="waiting"),
    Column("made_at", BigInteger, nullable=False),
    Column("leased_until", BigInteger),
    count("attempts"),
    Column("finished_at", BigInteger),
    Column("result", Text),
    Column("problem", Text),
    one_of("state", ("waiting", "running", "done", "failed")),
    Index("ix_job_waiting", "state", "made_at"),
)


__all__ = [
    "ACCOUNTS",
    "EVENT_KINDS",
    "OPEN_SETS",
    "ROLES",
    "Id",
    "account",
    "answer",
    "appeal",
    "assignment",
    "audit",
    "campaign",
    "completion_code",
    "consent",
    "content",
    "decision",
    "document",
    "entry",
    "event",
    "expertise",
    "gold",
    "job",
    "judging_set",
    "member",
    "member_role",
    "message",
    "metadata",
    "note",
    "notice",
    "outcome",
    "pair",
    "person",
    "place",
    "question",
    "rate",
    "receipt",
    "sampled",
    "token",
    "topic",
    "visit",
    "worker",
]
