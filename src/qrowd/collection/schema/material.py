"""What is judged: campaigns, topics, documents, pairs, gold, sets."""

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
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from qrowd.collection.schema.columns import (
    OPEN_SETS,
    ROLES,
    Id,
    count,
    metadata,
    number,
    one_of,
    to,
    words,
    yes_no,
)

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
