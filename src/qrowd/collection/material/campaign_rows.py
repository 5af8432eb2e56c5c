"""A campaign's rows from a plan and what its files hold; and more of them while it runs."""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from qrowd.collection.books import ledger
from qrowd.collection.database.schema import (
    campaign,
    content,
    document,
    gold,
    judging_set,
    member,
    pair,
    question,
    topic,
)
from qrowd.collection.database.store import NUMBERING, Store, Work, analyze, new_id
from qrowd.collection.plan.rows import (
    DocumentRow,
    GoldRow,
    Material,
    QuestionRow,
    TopicRow,
    couples,
    cut,
    gold_parts,
)
from qrowd.collection.plan.sections import Plan
from qrowd.errors import InputError, RuleError

CHUNK = 5_000


@dataclass(frozen=True)
class Added:
    """What was added."""

    topics: int = 0
    documents: int = 0
    pairs: int = 0
    sets: int = 0


def create_campaign(store: Store, plan: Plan, material: Material) -> int:
    """A new campaign, as a draft with its budget; all of it, or nothing."""
    with store.transaction() as db:
        name = plan.campaign.name
        if db.scalar(select(campaign.c.id).where(campaign.c.name == name)) is not None:
            raise RuleError(
                "conflict", f"there is a campaign {name!r} already; choose another name"
            )
        secret = f"{store.random.getrandbits(256):064x}"
        values = {"name": name, "plan": plan.text, "made_at": store.clock(), "secret": secret}
        made = db.execute(insert(campaign).values(**values))
        number = new_id(made)
        work = Work(db, number, name, "draft", plan, store.clock(), store.random)
        ledger.fund(work, plan.pay.minor(plan.pay.budget)) if plan.pay.budget else None
        add(work, material)
    return number


def add(work: Work, material: Material) -> Added:
    """Put topics, documents, gold and pool into a campaign; the pool gets new sets."""
    before = _sizes(work)
    _add_topics(work, material.topics)
    _add_documents(work, material.documents)
    _add_gold_sets(work, material.gold, "gold", set(material.pool))
    _add_gold_sets(work, material.qualification, "qualification", set(material.pool))
    _add_pool(work, material)
    _add_questions(work, material.questions)
    after = _sizes(work)
    return Added(*(now - then for now, then in zip(after, before, strict=True)))


def _sizes(work: Work) -> tuple[int, int, int, int]:
    def count(table: Table) -> int:
        own = select(func.count()).select_from(table).where(table.c.campaign_id == work.campaign)
        return int(work.db.scalar(own) or 0)

    return count(topic), count(document), count(pair), count(judging_set)


def _add_topics(work: Work, topics: Sequence[TopicRow]) -> None:
    known = _ids(work, topic)
    fresh = {one.name: one for one in topics if one.name not in known}
    _insert(work.db, topic, [{"campaign_id": work.campaign, **vars(one)} for one in fresh.values()])


def _add_documents(work: Work, documents: Iterable[DocumentRow]) -> None:
    known, rows, bodies = set(_ids(work, document)), [], {}
    for one in documents:
        if one.name in known:
            continue
        known.add(one.name)
        hashed = hashlib.sha256(one.body).hexdigest()
        bodies[hashed] = one.body
        values = {"name": one.name, "title": one.title, "url": one.url, "content": hashed}
        rows.append({"campaign_id": work.campaign, "media_type": one.media_type, **values})
        if len(rows) >= CHUNK:
            _store_documents(work.db, rows, bodies)
            rows, bodies = [], {}
    _store_documents(work.db, rows, bodies)


def _store_documents(db: Connection, rows: list[dict[str, Any]], bodies: dict[str, bytes]) -> None:
    if rows:
        new = sqlite.insert if db.dialect.name == "sqlite" else postgresql.insert
        values = [{"hash": hashed, "body": body} for hashed, body in bodies.items()]
        db.execute(new(content).on_conflict_do_nothing(), values)
        db.execute(insert(document), rows)


def _ids(work: Work, table: Table) -> dict[str, int]:
    query = select(table.c.name, table.c.id).where(table.c.campaign_id == work.campaign)
    return {row.name: row.id for row in work.db.execute(query)}


def _insert(db: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    for at in range(0, len(rows), CHUNK):
        db.execute(insert(table), rows[at : at + CHUNK])


# --- pairs and sets -------------------------------------------------------------------------------


def _pairs_of(
    work: Work, wanted: Iterable[tuple[str, str]], role: str, in_pool: set[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """New pairs of a role, made; pairs that are there already are left out."""
    topics, documents = _ids(work, topic), _ids(work, document)
    mine = select(pair.c.topic_id, pair.c.document_id).where(pair.c.campaign_id == work.campaign)
    known = {(row.topic_id, row.document_id) for row in work.db.execute(mine)}
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for name in wanted:
        ids = (_known(topics, name[0], "topic"), _known(documents, name[1], "document"))
        if ids not in known:
            rows[ids] = {
                "campaign_id": work.campaign,
                "topic_id": ids[0],
                "document_id": ids[1],
                "role": role,
                "in_pool": int(name in in_pool),
            }
    _insert(work.db, pair, list(rows.values()))
    topic_names = {number: name for name, number in topics.items()}
    document_names = {number: name for name, number in documents.items()}
    query = select(pair.c.id, pair.c.topic_id, pair.c.document_id)
    own = work.db.execute(query.where(pair.c.campaign_id == work.campaign, pair.c.role == role))
    return {
        (topic_names[row.topic_id], document_names[row.document_id]): row.id
        for row in own
        if (row.topic_id, row.document_id) in rows
    }


def _known(ids: Mapping[str, int], name: str, what: str) -> int:
    if name not in ids:
        raise InputError(f"there is no {what} {name!r}; the {what}s' file must have it")
    return ids[name]


def _add_pool(work: Work, material: Material) -> None:
    made = _pairs_of(work, material.pool, "pool", set(material.pool))
    _set_priorities(
        work, {made[name]: p for name, p in material.priorities.items() if name in made}
    )
    by_topic: dict[str, list[int]] = defaultdict(list)
    for (name, _), number in made.items():
        by_topic[name].append(number)
    chance = random.Random(f"{work.plan.campaign.seed} {len(made)} {min(made.values(), default=0)}")
    topics, sets = _ids(work, topic), []
    for name in sorted(by_topic):
        members = sorted(by_topic[name])
        parts = (
            couples(members, work.plan.sets.couples, chance)
            if work.plan.preferences
            else cut(members, work.plan.sets.size, chance)
        )
        sets += [(topics[name], part) for part in parts]
    make_sets(work, "pool", sets, chance)
    analyze(work.db, "topic", "document", "pair", "member", "judging_set")
    refresh_priorities(work)


def make_sets(
    work: Work, role: str, sets: Sequence[tuple[int, Sequence[int]]], chance: random.Random
) -> None:
    """New sets (topic id, pair ids), in a random order so that numbers tell nothing."""
    target = work.plan.sets.target if role == "pool" else 0
    sole = int(role == "pool" and not work.plan.preferences)
    mixed = chance.sample(list(sets), len(sets))
    if work.db.dialect.name == "postgresql":  # SQLite has one writer at a time anyway
        work.db.execute(select(func.pg_advisory_xact_lock(NUMBERING)))
    last = int(work.db.scalar(select(func.coalesce(func.max(judging_set.c.id), 0))) or 0)
    rows, members = [], []
    for number, (topic_id, pairs) in enumerate(mixed, last + 1):
        key = {"id": number, "campaign_id": work.campaign, "topic_id": topic_id, "role": role}
        rows.append(
            {**key, "size": len(pairs), "target": target, "shuffle": chance.getrandbits(53)}
        )
        members += [
            {"set_id": number, "position": at, "pair_id": one, "role": role, "sole": sole}
            for at, one in enumerate(pairs, 1)
        ]
    _insert(work.db, judging_set, rows)
    _insert(work.db, member, members)
    _advance_sequence(work.db, last + len(rows))


def _advance_sequence(db: Connection, last: int) -> None:
    if db.dialect.name == "postgresql" and last:
        name = func.pg_get_serial_sequence("judging_set", "id")
        db.execute(select(func.setval(name, last)))


def _add_gold_sets(
    work: Work, rows: Sequence[GoldRow], role: str, in_pool: set[tuple[str, str]]
) -> None:
    made = _pairs_of(work, [(row.topic, row.document) for row in rows], role, in_pool)
    lost = [row for row in rows if (row.topic, row.document) not in made]
    if lost:
        one = f"{lost[0].topic} {lost[0].document}"
        raise InputError(
            f"{one} is used already: gold and qualification share no pair, nor the pool's sets"
        )
    graded = [row for row in rows if row.grade is not None]
    _insert(
        work.db,
        gold,
        [
            {
                "pair_id": made[row.topic, row.document],
                "grade": row.grade,
                "reason": row.reason,
                "passage": row.passage,
            }
            for row in graded
        ],
    )
    chance = random.Random(f"{work.plan.campaign.seed} {role} {len(rows)}")
    topics = _ids(work, topic)
    sets = [
        (topics[part[0].topic], [made[row.topic, row.document] for row in part])
        for part in gold_parts(rows, work.plan.sets.size, chance)
    ]
    make_sets(work, role, sets, chance)


def _add_questions(work: Work, questions: Sequence[QuestionRow]) -> None:
    topics = _ids(work, topic)
    rows = [
        {
            "topic_id": _known(topics, one.topic, "topic"),
            "text": one.text,
            "choices": json.dumps(one.choices),
            "right_choice": one.right,
        }
        for one in questions
    ]
    _insert(work.db, question, rows)


# --- priorities -----------------------------------------------------------------------------------


def _set_priorities(work: Work, priorities: Mapping[int, float]) -> None:
    for number, value in priorities.items():
        work.db.execute(update(pair).where(pair.c.id == number).values(priority=value))


def set_priorities(work: Work, priorities: Mapping[tuple[str, str], float]) -> int:
    """Give pairs (topic, document) priorities; a set has its highest pair's. How many are known."""
    topics, documents = _ids(work, topic), _ids(work, document)
    query = select(pair.c.id, pair.c.topic_id, pair.c.document_id)
    rows = work.db.execute(query.where(pair.c.campaign_id == work.campaign))
    ids = {(row.topic_id, row.document_id): row.id for row in rows}
    found = {
        ids[topics[name[0]], documents[name[1]]]: value
        for name, value in priorities.items()
        if (topics.get(name[0], 0), documents.get(name[1], 0)) in ids
    }
    _set_priorities(work, found)
    refresh_priorities(work)
    return len(found)


def refresh_priorities(work: Work) -> None:
    """Give every set of the pool the priority of its highest pair."""
    highest = (
        select(func.max(pair.c.priority))
        .join_from(member, pair, pair.c.id == member.c.pair_id)
        .where(member.c.set_id == judging_set.c.id)
        .scalar_subquery()
    )
    own = (judging_set.c.campaign_id == work.campaign) & (judging_set.c.role == "pool")
    changed = own & (judging_set.c.priority != highest)
    work.db.execute(update(judging_set).where(changed).values(priority=highest))
