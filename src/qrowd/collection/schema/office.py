"""What organisers, experts and the web application keep."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from qrowd.collection.schema.columns import Id, count, metadata, number, one_of, to, words, yes_no

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
