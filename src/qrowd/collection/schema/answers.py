"""Who judges, what was given to whom, what they said, and the money."""

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
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from qrowd.collection.schema.columns import (
    ACCOUNTS,
    EVENT_KINDS,
    Id,
    count,
    metadata,
    number,
    one_of,
    to,
    words,
    yes_no,
)
from qrowd.collection.states import ASSIGNMENT_KINDS, PLACE_KINDS, STATES, WORKER_STATES

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
