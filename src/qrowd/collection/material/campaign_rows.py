"""A campaign's rows from a plan and what its files hold; more of them while it runs.

An extension can be taken back: what nobody has met is gone, what somebody has is offered no more.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from qrowd.collection.books import ledger
from qrowd.collection.database.schema import (
    bucket,
    campaign,
    content,
    decision,
    document,
    gold,
    judging_set,
    member,
    pair,
    place,
    question,
    topic,
)
from qrowd.collection.database.store import CHUNK, NUMBERING, Store, Work, analyze, new_id
from qrowd.collection.plan import forecast
from qrowd.collection.plan.gold_sets import Sizes, cut_gold
from qrowd.collection.plan.rows import (
    CampaignRows,
    DocumentRow,
    GoldRow,
    Pair,
    QuestionRow,
    gold_parts,
)
from qrowd.collection.plan.sections import Plan
from qrowd.data.topics import Topic
from qrowd.errors import InputError, RuleError

GROWING = {"set": judging_set, "pair": pair, "document": document, "topic": topic}


@dataclass(frozen=True)
class Added:
    """What was added."""

    topics: int = 0
    documents: int = 0
    pairs: int = 0
    sets: int = 0


def create_campaign(store: Store, plan: Plan, rows: CampaignRows) -> int:
    """A new campaign, as a draft with its budget; all of it, or nothing."""
    with store.transaction() as db:
        name, now = plan.campaign.name, store.clock()
        if db.scalar(sa.select(campaign.c.id).where(campaign.c.name == name)) is not None:
            raise RuleError(
                "conflict", f"there is a campaign {name!r} already; choose another name"
            )
        secret = f"{store.random.getrandbits(256):064x}"
        row = sa.insert(campaign).values(name=name, plan=plan.text, made_at=now, secret=secret)
        number = new_id(db.execute(row))
        work = Work(db, number, name, "draft", plan, now, store.random)
        if plan.pay.budget:
            ledger.fund(work, plan.pay.minor(plan.pay.budget))
        add(work, rows)
    return number


def add(work: Work, rows: CampaignRows) -> Added:
    """Put topics, documents, gold and pool into a campaign; the pool gets new sets."""
    tables = (topic, document, pair, judging_set)
    before = [work.count(table, work.own(table)) for table in tables]
    pool = set(rows.pool)
    _add_topics(work, rows.topics)
    _add_documents(work, rows.documents)
    _add_gold(work, rows.gold, "gold", pool, *cut_gold(work.plan, rows.gold, sizes_of(work, rows)))
    chance = random.Random(f"{work.plan.campaign.seed} qualification {len(rows.qualification)}")
    tests = gold_parts(rows.qualification, work.plan.sets.size, chance)
    _add_gold(work, rows.qualification, "qualification", pool, tests)
    _add_pool(work, rows)
    _add_questions(work, rows.questions)
    after = [work.count(table, work.own(table)) for table in tables]
    return Added(*(now - then for now, then in zip(after, before, strict=True)))


def _add_topics(work: Work, topics: Sequence[Topic]) -> None:
    stored = _ids(work, topic)
    new = {row.name: row for row in topics if row.name not in stored}
    work.insert_all(topic, [row._asdict() for row in new.values()])


def _add_documents(work: Work, documents: Iterable[DocumentRow]) -> None:
    names, rows, bodies = set(_ids(work, document)), [], {}
    for row in documents:
        if row.name in names:
            continue
        names.add(row.name)
        columns = dict(vars(row))
        body = columns.pop("body")
        columns["content"] = hashlib.sha256(body).hexdigest()
        bodies[columns["content"]] = body
        rows.append(columns)
        if len(rows) >= CHUNK:
            _store_documents(work, rows, bodies)
            rows, bodies = [], {}
    _store_documents(work, rows, bodies)


def _store_documents(work: Work, rows: list[dict[str, Any]], bodies: dict[str, bytes]) -> None:
    if rows:
        new = sqlite.insert if work.db.dialect.name == "sqlite" else postgresql.insert
        values = [{"hash": hashed, "body": body} for hashed, body in bodies.items()]
        work.db.execute(new(content).on_conflict_do_nothing(), values)
        work.insert_all(document, rows)


def _add_questions(work: Work, questions: Sequence[QuestionRow]) -> None:
    topics = _ids(work, topic)
    rows = [
        {
            "topic_id": _id_of(topics, row.topic, "topic"),
            "text": row.text,
            "choices": json.dumps(row.choices),
            "right_choice": row.right,
        }
        for row in questions
    ]
    work.insert_all(question, rows)


def _ids(work: Work, table: sa.Table) -> dict[str, int]:
    query = sa.select(table.c.name, table.c.id).where(work.own(table))
    return dict(work.db.execute(query).all())


def _id_of(ids: Mapping[str, int], name: str, noun: str) -> int:
    if name not in ids:
        raise InputError(f"there is no {noun} {name!r}; the {noun}s' file must have it")
    return ids[name]


# --- pairs and sets -------------------------------------------------------------------------------


def _add_pairs(work: Work, pairs: Iterable[Pair], role: str, pool: set[Pair]) -> dict[Pair, int]:
    """The numbers of new pairs of a role; pairs that are there already are left out."""
    topics, documents = _ids(work, topic), _ids(work, document)
    stored = _pair_ids(work)
    new: dict[tuple[int, int], Pair] = {}
    for name in pairs:
        ids = (_id_of(topics, name[0], "topic"), _id_of(documents, name[1], "document"))
        if ids not in stored:
            new[ids] = name
    rows = [
        {
            "topic_id": topic_id,
            "document_id": document_id,
            "role": role,
            "in_pool": int(name in pool),
        }
        for (topic_id, document_id), name in new.items()
    ]
    work.insert_all(pair, rows)
    numbers = _pair_ids(work, pair.c.role == role)
    return {new[ids]: number for ids, number in numbers.items() if ids in new}


def _pair_ids(work: Work, *conditions: sa.ColumnElement[bool]) -> dict[tuple[int, int], int]:
    query = sa.select(pair.c.id, pair.c.topic_id, pair.c.document_id).where(work.own(pair))
    rows = work.db.execute(query.where(*conditions))
    return {(topic_id, document_id): number for number, topic_id, document_id in rows}


def _add_pool(work: Work, rows: CampaignRows) -> None:
    numbers = _add_pairs(work, rows.pool, "pool", set(rows.pool))
    priorities = {numbers[name]: p for name, p in rows.priorities.items() if name in numbers}
    work.update_all(pair, "priority", priorities)
    by_topic: dict[str, list[int]] = defaultdict(list)
    for (name, _), number in numbers.items():
        by_topic[name].append(number)
    first = min(numbers.values(), default=0)
    chance = random.Random(f"{work.plan.campaign.seed} {len(numbers)} {first}")
    topics = _ids(work, topic)
    sets = [
        (topics[name], part)
        for name in sorted(by_topic)
        for part in work.plan.way.sets_of(work.plan, sorted(by_topic[name]), chance)
    ]
    _add_sets(work, "pool", sets, chance)
    analyze(work.db, "topic", "document", "pair", "member", "judging_set")
    _refresh_priorities(work)


def sizes_of(work: Work, rows: CampaignRows) -> Sizes:
    """The sizes of the pool's sets, by topic, with what comes to topics that have none yet."""
    query = sa.select(topic.c.name, judging_set.c.size, sa.func.count()).join_from(
        judging_set, topic, topic.c.id == judging_set.c.topic_id
    )
    stored: dict[str, Counter[int]] = defaultdict(Counter)
    grouped = query.where(work.pool_sets()).group_by(topic.c.name, judging_set.c.size)
    for name, size, number in work.db.execute(grouped):
        stored[name][size] = number
    return {**forecast.sizes_of(work.plan, rows), **stored} if work.plan.gold_per_hit else {}


def _add_gold(
    work: Work,
    rows: Sequence[GoldRow],
    role: str,
    pool: set[Pair],
    sets: Sequence[Sequence[GoldRow]],
    left: Sequence[Sequence[GoldRow]] = (),
) -> None:
    """Graded pairs in their sets. What is `left` over is in sets that are given to nobody."""
    numbers = _add_pairs(work, [row.pair for row in rows], role, pool)
    used = [row for row in rows if row.pair not in numbers]
    if used:
        raise InputError(
            f"{' '.join(used[0].pair)} is used already: gold and qualification share no pair, nor "
            "the pool's sets"
        )
    graded = [
        {
            "pair_id": numbers[row.pair],
            "grade": row.grade,
            "reason": row.reason,
            "passage": row.passage,
        }
        for row in rows
        if row.grade is not None
    ]
    work.insert_all(gold, graded)
    chance = random.Random(f"{work.plan.campaign.seed} {role} {len(rows)}")
    topics = _ids(work, topic)
    for is_open, parts in ((1, sets), (0, left)):
        members = [(topics[part[0].topic], [numbers[row.pair] for row in part]) for part in parts]
        _add_sets(work, role, members, chance, is_open)


def _add_sets(
    work: Work,
    role: str,
    sets: Sequence[tuple[int, Sequence[int]]],
    chance: random.Random,
    is_open: int = 1,
) -> None:
    """New sets (topic id, pair ids), in a random order so that numbers tell nothing."""
    target = work.plan.sets.target if role == "pool" else 0
    sole = int(role == "pool" and work.plan.way.sole)
    mixed = chance.sample(list(sets), len(sets))
    if work.db.dialect.name == "postgresql":  # SQLite has one writer at a time anyway
        work.db.execute(sa.select(sa.func.pg_advisory_xact_lock(NUMBERING)))
    last = work.number(sa.select(sa.func.max(judging_set.c.id)))
    rows, members = [], []
    for number, (topic_id, pairs) in enumerate(mixed, last + 1):
        rows.append(
            {
                "id": number,
                "topic_id": topic_id,
                "role": role,
                "size": len(pairs),
                "target": target,
                "open": is_open,
                "shuffle": chance.getrandbits(53),
            }
        )
        members += [
            {"set_id": number, "position": at, "pair_id": pair_id, "role": role, "sole": sole}
            for at, pair_id in enumerate(pairs, 1)
        ]
    work.insert_all(judging_set, rows)
    work.insert_all(member, members)
    last += len(rows)
    if work.db.dialect.name == "postgresql" and last:  # the numbers above did not come from it
        sequence = sa.func.pg_get_serial_sequence("judging_set", "id")
        work.db.execute(sa.select(sa.func.setval(sequence, last)))


# --- priorities -----------------------------------------------------------------------------------


def set_priorities(work: Work, priorities: Mapping[Pair, float]) -> int:
    """Give pairs (topic, document) priorities; a set has its highest pair's. How many are known."""
    topics, documents, ids = _ids(work, topic), _ids(work, document), _pair_ids(work)
    by_number = {}
    for (topic_name, document_name), priority in priorities.items():
        number = ids.get((topics.get(topic_name, 0), documents.get(document_name, 0)))
        if number is not None:
            by_number[number] = priority
    store_priorities(work, by_number)
    return len(by_number)


def store_priorities(work: Work, priorities: Mapping[int, float]) -> None:
    """Give pairs priorities, by their numbers, and every set of the pool its highest pair's."""
    work.update_all(pair, "priority", priorities)
    _refresh_priorities(work)


def _refresh_priorities(work: Work) -> None:
    highest = (
        sa.select(sa.func.max(pair.c.priority))
        .join_from(member, pair, pair.c.id == member.c.pair_id)
        .where(member.c.set_id == judging_set.c.id)
        .scalar_subquery()
    )
    changed = judging_set.c.priority != highest
    work.update(judging_set, work.pool_sets(), changed, priority=highest)


# --- an extension taken back ----------------------------------------------------------------------


def highest(work: Work) -> dict[str, int]:
    """The highest number of each table that an extension adds to."""
    return {
        name: work.number(sa.select(sa.func.max(table.c.id))) for name, table in GROWING.items()
    }


def withdraw(work: Work, details: Mapping[str, Any]) -> None:
    """Take back what an extension made: rows between `after_...` and `last_...` of its act."""
    added = {
        name: sa.and_(
            work.own(table),
            table.c.id > int(details.get(f"after_{name}", 0)),
            table.c.id <= int(details.get(f"last_{name}", 0)),
        )
        for name, table in GROWING.items()
    }
    # sets that somebody has met stay, closed
    met = sa.exists().where(place.c.set_id == judging_set.c.id)
    target = sa.case((judging_set.c.role == "pool", judging_set.c.held), else_=0)
    if "last_pair" not in details:  # schema 0001, whose record names the sets alone: all stay
        work.update(judging_set, added["set"], open=0, target=target)
        return
    work.update(judging_set, added["set"], met, open=0, target=target)
    unmet = sa.select(judging_set.c.id).where(added["set"], ~met)
    work.delete(member, member.c.set_id.in_(unmet))
    work.delete(judging_set, added["set"], ~met)
    # pairs in no set that no expert has decided
    in_set = sa.exists().where(member.c.pair_id == pair.c.id)
    decided = sa.exists().where(decision.c.pair_id == pair.c.id)
    unused = sa.and_(added["pair"], ~in_set, ~decided)
    work.delete(gold, gold.c.pair_id.in_(sa.select(pair.c.id).where(unused)))
    work.delete(pair, unused)
    # documents and topics that nothing is about any more
    paired = sa.exists().where(pair.c.document_id == document.c.id)
    work.delete(document, added["document"], ~paired)
    judged = sa.exists().where(pair.c.topic_id == topic.c.id)
    asked = sa.exists().where(question.c.topic_id == topic.c.id)
    chosen = sa.exists().where(bucket.c.topic_id == topic.c.id)
    work.delete(topic, added["topic"], ~judged, ~asked, ~chosen)
