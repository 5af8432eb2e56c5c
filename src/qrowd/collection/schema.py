"""The tables: one schema for SQLite and PostgreSQL. `triggers` holds the rules between tables.

Times are whole milliseconds since 1970 (UTC), money is in minor units (cents), JSON is text with
sorted keys: the same rows give the same bytes on both engines. Names that workers see (`key`) are
random, so that nothing about a set can be told from them.

| table | one row is |
|---|---|
| campaign | a campaign: its plan, its state, its five accounts |
| topic, document, content | a topic; a document; the bytes of documents, named by their hash |
| pair | a topic and a document; its `role` says which kind of set it may be in |
| gold | an expert's grade of a pair, with the reason |
| judging_set, member | a fixed list of documents of one topic; a pair in it |
| worker, person | a number that answers stand under; who that is, which can be erased |
| assignment, place | a batch given to a worker; a set in it, held or not |
| event, note, receipt, answer | what a worker said; its free text; its digest; what counts now |
| entry | an amount of money that went from one account to another |
| outcome | what one check said of one set of an assignment |
| decision, review, sampled, question, expertise | experts, reviewers, questions on topics |
| audit, notice, message, appeal | what organisers did, should know, wrote, were asked |
| account, member_role, token, completion_code, rate, job | for the web application |
"""

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

from qrowd.collection.states import ASSIGNMENT_KINDS, PLACE_KINDS, STATES, WORKER_STATES

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


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def _yes_no(name: str) -> Column[int]:
    return Column(name, SmallInteger, nullable=False, server_default=text("0"))


def _number(name: str = "id") -> Column[int]:
    return Column(name, Id, primary_key=True, autoincrement=True)


def _to(name: str, target: str, nullable: bool = False, index: bool = False) -> Column[int]:
    return Column(name, Id, ForeignKey(target), nullable=nullable, index=index)


def _count(name: str, start: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=text(str(start)))


def _words(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default=text("''"))


campaign = Table(
    "campaign", metadata,
    _number(),
    Column("name", String(200), nullable=False, unique=True),
    Column("plan", Text, nullable=False),
    Column("state", String(20), nullable=False, server_default="draft"),
    Column("made_at", BigInteger, nullable=False),
    Column("secret", String(64), nullable=False),
    _count("budget"), _count("free"), _count("promised"), _count("owed"), _count("settled"),
    _one_of("state", ("draft", "running", "paused", "closed")),
    CheckConstraint("budget = free + promised + owed + settled", name="balanced"),
    CheckConstraint("free >= 0 AND promised >= 0 AND owed >= 0 AND settled >= 0", name="no_debt"),
)  # fmt: skip

topic = Table(
    "topic", metadata,
    _number(), _to("campaign_id", "campaign.id"),
    Column("name", String(400), nullable=False),
    _words("query"), _words("description"), _words("narrative"), _words("category"),
    _words("language"),
    UniqueConstraint("campaign_id", "name"),
)  # fmt: skip

content = Table(
    "content", metadata,
    Column("hash", String(64), primary_key=True),
    Column("body", LargeBinary, nullable=False),
)  # fmt: skip

document = Table(
    "document", metadata,
    _number(), _to("campaign_id", "campaign.id"),
    Column("name", String(1000), nullable=False),
    _words("title"), _words("url"),
    Column("media_type", String(200), nullable=False, server_default="text/plain"),
    Column("content", String(64), ForeignKey("content.hash")),
    UniqueConstraint("campaign_id", "name"),
)  # fmt: skip

pair = Table(
    "pair", metadata,
    _number(), _to("campaign_id", "campaign.id", index=True), _to("topic_id", "topic.id"),
    _to("document_id", "document.id"),
    Column("role", String(20), nullable=False),
    _yes_no("in_pool"),
    Column("priority", Float(53), nullable=False, server_default=text("0")),
    UniqueConstraint("topic_id", "document_id"),
    UniqueConstraint("id", "role"),
    _one_of("role", ROLES),
)  # fmt: skip

gold = Table(
    "gold", metadata,
    Column("pair_id", Id, ForeignKey("pair.id"), primary_key=True, autoincrement=False),
    Column("grade", SmallInteger, nullable=False),
    _words("reason"), _words("passage"),
)  # fmt: skip

judging_set = Table(
    "judging_set", metadata,
    _number(), _to("campaign_id", "campaign.id"), _to("topic_id", "topic.id", index=True),
    Column("role", String(20), nullable=False),
    Column("size", Integer, nullable=False),
    _count("target"), _count("held"),
    Column("open", SmallInteger, nullable=False, server_default=text("1")),
    Column("priority", Float(53), nullable=False, server_default=text("0")),
    Column("shuffle", BigInteger, nullable=False),
    UniqueConstraint("id", "role"),
    _one_of("role", ROLES),
    CheckConstraint("held >= 0 AND held <= target", name="held_at_most_target"),
    CheckConstraint("role = 'pool' OR target = 0", name="only_pool_counts"),
    CheckConstraint("size >= 1", name="not_empty"),
)  # fmt: skip
Index(
    "ix_judging_set_pick", judging_set.c.campaign_id, judging_set.c.priority.desc(),
    judging_set.c.held, judging_set.c.shuffle,
    sqlite_where=text(OPEN_SETS), postgresql_where=text(OPEN_SETS),
)  # fmt: skip
Index("ix_judging_set_role", judging_set.c.campaign_id, judging_set.c.role)

member = Table(
    "member", metadata,
    Column("set_id", Id, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("pair_id", Id, nullable=False, index=True),
    Column("role", String(20), nullable=False),
    Column("sole", SmallInteger, nullable=False),
    ForeignKeyConstraint(["set_id", "role"], ["judging_set.id", "judging_set.role"]),
    ForeignKeyConstraint(["pair_id", "role"], ["pair.id", "pair.role"]),
    UniqueConstraint("set_id", "pair_id"),
    CheckConstraint("position >= 1", name="from_one"),
)  # fmt: skip
Index(
    "uq_member_sole_pair", member.c.pair_id, unique=True,
    sqlite_where=text("sole = 1"), postgresql_where=text("sole = 1"),
)  # fmt: skip

worker = Table(
    "worker", metadata,
    _number(), _to("campaign_id", "campaign.id"),
    Column("key", String(32), nullable=False, unique=True),
    Column("number", Integer, nullable=False),
    Column("kind", String(20), nullable=False, server_default="human"),
    Column("name", String(400)),
    Column("state", String(20), nullable=False, server_default="new"),
    _count("failed_hits"),
    Column("made_at", BigInteger, nullable=False),
    Column("forget_asked", BigInteger),
    Column("forgotten_at", BigInteger),
    Column("recognised", String(64)),
    UniqueConstraint("campaign_id", "number"),
    UniqueConstraint("campaign_id", "recognised"),
    UniqueConstraint("campaign_id", "kind", "name"),
    _one_of("state", WORKER_STATES),
    _one_of("kind", ("human", "expert", "machine")),
    CheckConstraint("kind <> 'human' OR name IS NULL", name="people_live_apart"),
)  # fmt: skip

person = Table(
    "person", metadata,
    Column("worker_id", Id, ForeignKey("worker.id"), primary_key=True, autoincrement=False),
    _to("campaign_id", "campaign.id"),
    Column("platform", String(40), nullable=False),
    Column("platform_id", String(400), nullable=False),
    _words("name"), _words("address"),
    UniqueConstraint("campaign_id", "platform", "platform_id"),
)  # fmt: skip

visit = Table(
    "visit", metadata,
    _number(), _to("worker_id", "worker.id", index=True),
    Column("at", BigInteger, nullable=False),
    Column("parameters", Text, nullable=False, server_default=text("'{}'")),
)  # fmt: skip

consent = Table(
    "consent", metadata,
    _number(), _to("worker_id", "worker.id", index=True),
    Column("version", String(40), nullable=False),
    Column("text", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)  # fmt: skip

assignment = Table(
    "assignment", metadata,
    _number(), _to("campaign_id", "campaign.id"), _to("worker_id", "worker.id", index=True),
    Column("key", String(32), nullable=False, unique=True),
    Column("kind", String(20), nullable=False),
    Column("state", String(20), nullable=False, server_default="active"),
    _count("attempt", 1),
    Column("leased_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("latest_end", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("ended_at", BigInteger),
    _count("pay"), _count("promised"), _count("earned"), _count("paid"),
    UniqueConstraint("id", "worker_id"),
    _one_of("kind", ASSIGNMENT_KINDS),
    _one_of("state", STATES),
    CheckConstraint("promised >= 0 AND earned >= 0 AND paid >= 0", name="no_debt"),
    CheckConstraint("expires_at <= latest_end", name="lease_has_an_end"),
    Index("ix_assignment_due", "campaign_id", "state", "expires_at"),
)  # fmt: skip
Index(
    "uq_assignment_one_open", assignment.c.worker_id, assignment.c.kind, unique=True,
    sqlite_where=text("state IN ('active', 'finished') AND kind <> 'machine'"),
    postgresql_where=text("state IN ('active', 'finished') AND kind <> 'machine'"),
)  # fmt: skip

Index(
    "ix_assignment_promised", assignment.c.campaign_id, assignment.c.state,
    sqlite_where=text("promised > 0"), postgresql_where=text("promised > 0"),
)  # fmt: skip

place = Table(
    "place", metadata,
    _number(), Column("assignment_id", Id, nullable=False, index=True),
    Column("worker_id", Id, nullable=False), _to("set_id", "judging_set.id", index=True),
    Column("kind", String(20), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("key", String(32), nullable=False, unique=True),
    Column("shown", Text, nullable=False),
    _yes_no("held"), _yes_no("surplus"),
    _to("reviews_id", "place.id", nullable=True),
    ForeignKeyConstraint(
        ["assignment_id", "worker_id"], ["assignment.id", "assignment.worker_id"]
    ),
    UniqueConstraint("worker_id", "set_id", "kind"),
    UniqueConstraint("assignment_id", "ordinal"),
    _one_of("kind", PLACE_KINDS),
    CheckConstraint("held IN (0, 1) AND surplus IN (0, 1)", name="yes_or_no"),
    CheckConstraint("held = 0 OR (kind = 'count' AND surplus = 0)", name="only_counted_is_held"),
)  # fmt: skip

event = Table(
    "event", metadata,
    _number(), _to("worker_id", "worker.id"), _to("place_id", "place.id", index=True),
    Column("position", Integer, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("grade", SmallInteger),
    Column("ranking", Text),
    Column("milliseconds", BigInteger, nullable=False, server_default=text("0")),
    Column("at", BigInteger, nullable=False),
    Column("key", String(64), nullable=False),
    Column("follows", Id),
    _yes_no("stale"),
    UniqueConstraint("worker_id", "key"),
    _one_of("kind", EVENT_KINDS),
    CheckConstraint("(kind = 'grade') = (grade IS NOT NULL)", name="grade_has_a_grade"),
    CheckConstraint("(kind = 'ranking') = (ranking IS NOT NULL)", name="ranking_has_an_order"),
    CheckConstraint("kind <> 'ranking' OR position = 0", name="ranking_is_of_the_set"),
    CheckConstraint("milliseconds >= 0", name="time_runs_forward"),
)  # fmt: skip

answer = Table(
    "answer", metadata,
    Column("place_id", Id, ForeignKey("place.id"), primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True),
    _to("event_id", "event.id"),
)  # fmt: skip

receipt = Table(
    "receipt", metadata,
    Column("event_id", Id, ForeignKey("event.id"), primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
)  # fmt: skip

note = Table(
    "note", metadata,
    _number(), _to("event_id", "event.id", index=True),
    Column("kind", String(20), nullable=False),
    Column("text", Text, nullable=False),
    _one_of("kind", ("reason", "passage")),
)  # fmt: skip

outcome = Table(
    "outcome", metadata,
    _number(), _to("assignment_id", "assignment.id", index=True),
    _to("set_id", "judging_set.id", nullable=True, index=True),
    Column("check", String(20), nullable=False, quote=True),
    Column("value", Float(53)),
    Column("at_least", Float(53), nullable=False),
    Column("passed", SmallInteger, nullable=False),
    Column("action", String(20), nullable=False),
)  # fmt: skip

entry = Table(
    "entry", metadata,
    _number(), _to("campaign_id", "campaign.id", index=True),
    _to("worker_id", "worker.id", nullable=True, index=True),
    _to("assignment_id", "assignment.id", nullable=True, index=True),
    Column("at", BigInteger, nullable=False),
    Column("why", String(40), nullable=False),
    Column("source", String(10), nullable=False),
    Column("target", String(10), nullable=False),
    Column("amount", BigInteger, nullable=False),
    CheckConstraint("amount > 0", name="positive"),
    CheckConstraint("source <> target", name="moves"),
    _one_of("source", ACCOUNTS), _one_of("target", ACCOUNTS),
)  # fmt: skip

decision = Table(
    "decision", metadata,
    _number(), _to("pair_id", "pair.id", index=True), _to("expert_id", "worker.id"),
    Column("grade", SmallInteger, nullable=False),
    _words("reason"),
    Column("code", String(40), nullable=False, server_default=""),
    Column("at", BigInteger, nullable=False),
)  # fmt: skip

sampled = Table(
    "sampled", metadata,
    _number(), _to("place_id", "place.id"),
    Column("position", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    UniqueConstraint("place_id", "position"),
)  # fmt: skip

question = Table(
    "question", metadata,
    _number(), _to("topic_id", "topic.id", index=True),
    Column("text", Text, nullable=False),
    Column("choices", Text, nullable=False),
    Column("right_choice", Integer, nullable=False),
)  # fmt: skip

expertise = Table(
    "expertise", metadata,
    Column("worker_id", Id, ForeignKey("worker.id"), primary_key=True, autoincrement=False),
    Column("topic_id", Id, ForeignKey("topic.id"), primary_key=True, autoincrement=False),
    Column("right", Integer, nullable=False, quote=True),
    Column("asked", Integer, nullable=False),
    Column("passed", SmallInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
)  # fmt: skip

audit = Table(
    "audit", metadata,
    _number(), _to("campaign_id", "campaign.id", index=True),
    Column("at", BigInteger, nullable=False),
    Column("who", String(200), nullable=False),
    Column("act", String(40), nullable=False),
    Column("details", Text, nullable=False),
    _to("undoes", "audit.id", nullable=True),
    UniqueConstraint("undoes"),
)  # fmt: skip

notice = Table(
    "notice", metadata,
    _number(), _to("campaign_id", "campaign.id", index=True),
    Column("at", BigInteger, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("about", String(100), nullable=False, server_default=""),
    Column("text", Text, nullable=False),
    Column("settled_at", BigInteger),
    UniqueConstraint("campaign_id", "kind", "about"),
)  # fmt: skip

message = Table(
    "message", metadata,
    _number(), _to("worker_id", "worker.id", index=True),
    Column("at", BigInteger, nullable=False),
    Column("from_worker", SmallInteger, nullable=False),
    Column("text", Text, nullable=False),
    Column("read_at", BigInteger),
)  # fmt: skip

appeal = Table(
    "appeal", metadata,
    _number(), _to("worker_id", "worker.id", index=True),
    _to("assignment_id", "assignment.id", nullable=True),
    Column("kind", String(20), nullable=False),
    Column("position", Integer),
    _to("place_id", "place.id", nullable=True),
    Column("at", BigInteger, nullable=False),
    Column("text", Text, nullable=False),
    Column("answered_at", BigInteger),
    Column("won", SmallInteger),
    _words("reply"),
    _one_of("kind", ("refusal", "gold")),
)  # fmt: skip

account = Table(
    "account", metadata,
    _number(),
    Column("login", String(200), nullable=False, unique=True),
    Column("password", String(300), nullable=False),
    Column("made_at", BigInteger, nullable=False),
    _yes_no("administrator"),
)  # fmt: skip

member_role = Table(
    "member_role", metadata,
    Column("account_id", Id, ForeignKey("account.id"), primary_key=True, autoincrement=False),
    Column("campaign_id", Id, ForeignKey("campaign.id"), primary_key=True, autoincrement=False),
    Column("role", String(20), primary_key=True),
    _to("worker_id", "worker.id", nullable=True),
    _one_of("role", ("organiser", "expert", "worker")),
)  # fmt: skip

token = Table(
    "token", metadata,
    _number(),
    Column("hash", String(64), nullable=False, unique=True),
    _to("account_id", "account.id", nullable=True),
    _to("campaign_id", "campaign.id", nullable=True),
    _to("worker_id", "worker.id", nullable=True, index=True),
    Column("role", String(20), nullable=False),
    Column("scopes", Text, nullable=False, server_default=""),
    Column("made_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    _one_of("role", ("organiser", "expert", "worker")),
)  # fmt: skip

completion_code = Table(
    "completion_code", metadata,
    _number(), _to("worker_id", "worker.id", index=True),
    Column("code", String(64), nullable=False, unique=True),
    Column("outcome", String(20), nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
)  # fmt: skip

rate = Table(
    "rate", metadata,
    Column("what", String(200), primary_key=True),
    Column("since", BigInteger, primary_key=True, autoincrement=False),
    _count("times"),
)  # fmt: skip

job = Table(
    "job", metadata,
    _number(), _to("campaign_id", "campaign.id", nullable=True),
    Column("kind", String(40), nullable=False),
    Column("parameters", Text, nullable=False, server_default=text("'{}'")),
    Column("state", String(20), nullable=False, server_default="waiting"),
    Column("made_at", BigInteger, nullable=False),
    Column("leased_until", BigInteger),
    _count("attempts"),
    Column("finished_at", BigInteger),
    Column("result", Text),
    Column("problem", Text),
    _one_of("state", ("waiting", "running", "done", "failed")),
    Index("ix_job_waiting", "state", "made_at"),
)  # fmt: skip
