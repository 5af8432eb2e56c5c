"""Small campaigns to test with, and workers who judge in them."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store, Work
from qrowd.collection.judging import events, queue, submission
from qrowd.collection.judging.offer import Offer
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.people import workers
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.data.topics import Topic

PLAN = """
[campaign]
name = "tiny"
seed = 1
[sets]
size = 3
target = 2
[hit]
sets = 3
gold = 1
lease_minutes = 10
longest_minutes = 60
[pay]
hit = 1.00
screen_out = 0.20
budget = 100.00
[checks.seconds]
at_least = 0
"""
# who misses gold is paid and not counted, and stays
EXCLUDING = f'{PLAN}[checks.binary]\naction = "exclude"\n'
START = 1_800_000_000_000
MINUTE = 60_000
_seeds = itertools.count(3)
Choice = Callable[[str, int], int]


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now

    def forward(self, minutes: float) -> None:
        """Let time pass."""
        self.now += round(minutes * MINUTE)


@dataclass
class Site:
    """A campaign, its clock, and a counter for keys."""

    store: Store
    clock: Clock
    name: str = "tiny"
    keys: Any = field(default_factory=itertools.count)

    def work(self, act: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Run a function in a transaction of its own."""
        with self.store.write(self.name) as work:
            return act(work, *arguments, **named)

    def worker(self, name: str) -> int:
        """The worker of a person of one's own panel."""
        return int(self.work(workers.enter, "own", name).id)

    def next(self, worker: int) -> Any:
        """What the worker should do next."""
        return self.work(queue.next_batch, worker)

    def say(self, worker: int, place: str, position: int, grade: int | None, **more: Any) -> Any:
        """A grade, or another kind of event, under a new key."""
        kind = more.pop("kind", "grade")
        key = more.pop("key", f"k{next(self.keys)}")
        what = {"place": place, "position": position, "grade": grade, "kind": kind, "key": key}
        return self.work(events.save, worker, events.Said(**what, **more))

    def judge(self, worker: int, offer: Offer, choose: Choice | None = None) -> None:
        """Judge a whole batch: as the titles say, unless `choose` says otherwise."""
        for shown in offer.sets:
            for document in shown.documents:
                right = int(document.title.split()[-1])
                grade = choose(document.title, right) if choose else right
                self.say(worker, shown.key, document.position, grade, seconds=1.0)

    def whole(self, worker: int, choose: Choice | None = None) -> Any:
        """Take a batch, judge, finish and submit it; how it ended, or why there was none."""
        offer = self.next(worker)
        if not isinstance(offer, Offer):
            return offer
        self.judge(worker, offer, choose)
        self.work(submission.finish, worker, offer.key)
        return self.work(submission.submit, worker, offer.key)


def wrong(title: str, right: int) -> int:
    """The answer of somebody who is always wrong."""
    return 0 if right else 2


def material(
    topics: int = 3, pool: int = 7, gold_sets: int = 6, qualification: int = 0, size: int = 3
) -> CampaignRows:
    """Topics with documents whose titles end in their true grade."""
    chance = random.Random(5)
    texts, documents, pairs = [], [], []
    golds: list[GoldRow] = []
    tests: list[GoldRow] = []
    for t in range(topics):
        texts.append(Topic(f"t{t}", query=f"query {t}"))
        for d in range(pool):
            grade = chance.choice((0, 1, 2))
            name = f"d{t}-{d}"
            documents.append(DocumentRow(name, f"text {name}".encode(), f"page {grade}"))
            pairs.append((f"t{t}", name))
    for rows, count, letter in ((golds, gold_sets, "g"), (tests, qualification, "q")):
        for s in range(count):
            for d, grade in enumerate((0, 1, 2, 0, 1)[:size]):
                name = f"{letter}{s}-{d}"
                documents.append(DocumentRow(name, f"text {name}".encode(), f"page {grade}"))
                rows.append(GoldRow(f"t{s % topics}", name, grade, "because", "", f"s{s}"))
    return CampaignRows(texts, documents, pairs, golds, tests)


def make_site(
    url: str,
    plan: str = PLAN,
    made: CampaignRows | None = None,
    *,
    start: bool = True,
    seed: int | None = None,
) -> Site:
    """A campaign in a new database, running; each draws other numbers unless `seed` is given."""
    from qrowd.collection.record.audit import perform

    clock = Clock()
    store = open_store(url, clock=clock, seed=next(_seeds) if seed is None else seed, new=True)
    create_campaign(store, parse_plan(plan), made or material())
    site = Site(store, clock, parse_plan(plan).campaign.name)
    if start:
        site.work(perform, "organiser", "launch")
    return site


def rows_of(work: Work, query: Any) -> list[Any]:
    """All rows of a query."""
    return list(work.db.execute(query))


def platform_key(folder: Path) -> tuple[Any, Path]:
    """A platform's private key, and the file of the public one."""
    jwt = pytest.importorskip("jwt")
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(private.public_key()))
    path = folder / "jwks.json"
    path.write_text(json.dumps({"keys": [{**public, "kid": "k1", "alg": "RS256"}]}))
    return private, path
