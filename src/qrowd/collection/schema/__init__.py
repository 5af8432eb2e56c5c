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

from qrowd.collection.schema.answers import (
    answer,
    assignment,
    consent,
    entry,
    event,
    note,
    outcome,
    person,
    place,
    receipt,
    visit,
    worker,
)
from qrowd.collection.schema.columns import ACCOUNTS, EVENT_KINDS, OPEN_SETS, ROLES, Id, metadata
from qrowd.collection.schema.material import (
    campaign,
    content,
    document,
    gold,
    judging_set,
    member,
    pair,
    topic,
)
from qrowd.collection.schema.office import (
    account,
    appeal,
    audit,
    completion_code,
    decision,
    expertise,
    job,
    member_role,
    message,
    notice,
    question,
    rate,
    sampled,
    token,
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
