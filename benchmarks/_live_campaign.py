"""A campaign in full swing, as large as wanted: its rows are inserted, then rules are in force."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, insert, text

from benchmarks._soak_campaign import SIZE, made_material
from qrowd.collection.books import ledger
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import assignment, entry, event, outcome, place, worker
from qrowd.collection.database.store import Store, Work
from qrowd.collection.database.triggers import create_triggers, drop_triggers
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.record import audit

PLAN = """
[campaign]
name = "large"
title = "A large campaign"
[scale]
grades = [0, 1]
[sets]
target = {target}
[hit]
sets = 6
[pay]
hit = 0.50
budget = 40000.00
"""
TOPICS = 100
DAY = 86_400_000
CHUNK = 20_000
Rows = Iterator[dict[str, Any]]


def make_campaign(
    database: str, *, workers: int, judgements: int, pool: int, seed: int = 1
) -> Store:
    """A running campaign over some days in which so many judgements are held."""
    store = open_store(database, new=True)
    target = -(-judgements // pool) + 2
    create_campaign(
        store, parse_plan(PLAN.format(target=target)), made_material(pool, TOPICS, times=1)
    )
    with store.write("large") as work:
        audit.launch(work, "benchmark")
        drop_triggers(work.db)
        _fill(work, workers, judgements, random.Random(seed))
        create_triggers(work.db)
    if store.is_sqlite:
        with store.engine.connect() as db:
            db.exec_driver_sql("ANALYZE")
    return store


def _fill(work: Work, workers: int, judgements: int, chance: random.Random) -> None:
    """Every worker does the same number of batches of five sets and one gold set, all accepted."""
    sets = [
        row[0]
        for row in work.db.execute(
            text("SELECT id FROM judging_set WHERE role = 'pool' ORDER BY id")
        )
    ]
    gold = [
        row[0]
        for row in work.db.execute(
            text("SELECT id FROM judging_set WHERE role = 'gold' ORDER BY id")
        )
    ]
    truth = {at: chance.random() < 0.3 for at in sets}
    batches = judgements // (5 * SIZE)
    skill = [0.55 if chance.random() < 0.1 else 0.9 for _ in range(workers)]
    start, span = work.now - 6 * DAY, 6 * DAY
    _put(
        work.db,
        worker,
        (
            {
                "id": n + 1,
                "campaign_id": work.campaign,
                "key": f"w{n}",
                "number": n + 1,
                "state": "qualified",
                "made_at": start,
            }
            for n in range(workers)
        ),
    )
    _put(
        work.db,
        assignment,
        (_batch(work, b, workers, start + span * b // batches) for b in range(batches)),
    )
    _put(work.db, place, _places(batches, workers, sets, gold))
    _put(work.db, event, _events(batches, workers, sets, gold, truth, skill, start, chance))
    _put(
        work.db,
        outcome,
        (
            {
                "assignment_id": b + 1,
                "set_id": gold[(b // workers) % len(gold)],
                "check": "binary",
                "value": 0.9,
                "at_least": 0.85,
                "passed": int(b % 7 > 0),
                "action": "exclude",
            }
            for b in range(batches)
        ),
    )
    work.db.execute(
        text(
            "INSERT INTO answer (place_id, position, event_id) "
            "SELECT place_id, position, id FROM event"
        )
    )
    work.db.execute(
        text(
            "UPDATE judging_set SET held = (SELECT count(*) FROM place "
            "WHERE set_id = judging_set.id AND held = 1)"
        )
    )
    _pay(work, batches, workers, start, span)


def _batch(work: Work, number: int, workers: int, at: int) -> dict[str, Any]:
    times = {"leased_at": at, "expires_at": at + 1, "latest_end": at + 1, "finished_at": at + 1}
    return {
        "id": number + 1,
        "campaign_id": work.campaign,
        "worker_id": number % workers + 1,
        "key": f"a{number}",
        "kind": "judge",
        "state": "accepted",
        "pay": 50,
        "earned": 50,
        "ended_at": at + 1,
        **times,
    }


def _sets_of(batch: int, workers: int, sets: list[int]) -> list[int]:
    """Five sets, others for each batch of a worker."""
    shift = batch // workers * (len(sets) // 8 + 3)
    return [sets[(batch * 5 + at + shift) % len(sets)] for at in range(5)]


def _places(batches: int, workers: int, sets: list[int], gold: list[int]) -> Rows:
    number = 0
    for batch in range(batches):
        hidden = gold[(batch // workers) % len(gold)]
        for ordinal, one in enumerate([*_sets_of(batch, workers, sets), hidden], 1):
            number += 1
            counted = ordinal <= 5
            yield {
                "id": number,
                "assignment_id": batch + 1,
                "worker_id": batch % workers + 1,
                "set_id": one,
                "kind": "count" if counted else "gold",
                "ordinal": ordinal,
                "key": f"p{number}",
                "shown": "1 2 3 4 5",
                "held": int(counted),
            }


def _events(
    batches: int,
    workers: int,
    sets: list[int],
    gold: list[int],
    truth: dict[int, bool],
    skill: list[float],
    start: int,
    chance: random.Random,
) -> Rows:
    number, spot = 0, 0
    for batch in range(batches):
        who, at = batch % workers, start + 6 * DAY * batch // batches
        hidden = gold[(batch // workers) % len(gold)]
        for one in [*_sets_of(batch, workers, sets), hidden]:
            spot += 1
            for position in range(1, SIZE + 1):
                number += 1
                right = truth.get(one, (position - 1) % 2 == 1)
                said = right if chance.random() < skill[who] else not right
                yield {
                    "id": number,
                    "worker_id": who + 1,
                    "place_id": spot,
                    "position": position,
                    "kind": "grade",
                    "grade": int(said),
                    "at": at + position,
                    "milliseconds": 1000 * chance.randint(4, 40),
                    "key": f"e{number}",
                }


def _pay(work: Work, batches: int, workers: int, start: int, span: int) -> None:
    ids = (
        {
            "campaign_id": work.campaign,
            "worker_id": b % workers + 1,
            "assignment_id": b + 1,
            "at": start + span * b // batches,
            "why": "earned",
            "source": "free",
            "target": "owed",
            "amount": 50,
        }
        for b in range(batches)
    )
    _put(work.db, entry, ids)
    work.db.execute(
        text("UPDATE campaign SET free = free - :n, owed = owed + :n WHERE id = :id"),
        {"n": 50 * batches, "id": work.campaign},
    )
    assert ledger.balance(work).owed == 50 * batches


def _put(db: Connection, table: Table, rows: Rows) -> None:
    while chunk := list(islice(rows, CHUNK)):
        db.execute(insert(table), chunk)
