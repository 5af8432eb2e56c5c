"""The dry run: robots judge a copy of the campaign; what it would cost, how long, how accurate."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import qrowd as q
from qrowd.collection.books import ledger
from qrowd.collection.books.progress import last_answer
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store
from qrowd.collection.database.transfer import backup
from qrowd.collection.record import audit
from qrowd.simulation.setting import Setting
from qrowd.web.app import make_app
from qrowd.web.folders import Place
from qrowd.web.robots.crowd import by_content, make_robots, truth_of
from qrowd.web.robots.driving import Clock, in_process, rehearse
from qrowd.web.robots.habits import CALM, Habits
from qrowd.web.robots.robot import Robot
from qrowd.web.settings import Settings
from qrowd.web.tasks import exported


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Who comes to a dry run."""

    robots: int = 40
    per_hour: float = 12.0
    setting: Setting | None = None
    habits: Habits = CALM
    truth: q.Qrels | None = None
    seed: int = 0


@dataclass(frozen=True)
class Rehearsal:
    """What a dry run found. Money is in minor units; accuracy's interval is over topics.

    `hours` pass until the last answer.
    """

    robots: dict[str, int]
    requests: int
    hours: float
    spent: int
    judgements: int
    batches: dict[str, int]
    left: dict[str, int]
    labels: q.LabelScores

    def accuracy_interval(self) -> tuple[float, float]:
        """Where the accuracy would be with other topics, 95 of 100 times; within 0 and 1."""
        low, high = self.labels.interval("accuracy")
        return max(low, 0.0), min(high, 1.0)


def dry_run(
    store: Store,
    name: str,
    crowd: Crowd,
    *,
    method: str = "mv",
    told: Callable[[int], None] | None = None,
) -> Rehearsal:
    """Let robots do a copy of the campaign, on a clock that jumps; the campaign is not touched."""
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        backup(store, folder / "copy.db")
        clock = Clock(store.clock())
        copy = open_store(folder / "copy.db", clock=clock, seed=crowd.seed)
        try:
            return judge(copy, clock, folder, name, crowd, method, told)
        finally:
            copy.engine.dispose()


def judge(
    store: Store,
    clock: Clock,
    folder: Path,
    name: str,
    crowd: Crowd,
    method: str = "mv",
    told: Callable[[int], None] | None = None,
) -> Rehearsal:
    """Let robots do a campaign itself (a draft is launched first); its clock must be `clock`."""
    with store.write(name) as work:
        if work.state == "draft":
            audit.launch(work, "robots")
        truth = truth_of(work, crowd.truth)
        place, known = Place(store, folder, work.campaign), by_content(work, truth)
        began = work.now
    robots = make_robots(
        store,
        name,
        crowd.robots,
        known,
        setting=crowd.setting,
        habits=crowd.habits,
        seed=crowd.seed,
    )
    random = np.random.default_rng(crowd.seed + 1)
    arrivals = np.cumsum(random.exponential(3600 / crowd.per_hour, crowd.robots))
    settings = Settings.of_folder(folder, store.url)
    with in_process(make_app(settings, store)) as send:
        requests = rehearse(send, clock, robots, arrivals.tolist(), told)
    return _found(place, robots, truth, method, requests, began)


def _found(
    place: Place, robots: list[Robot], truth: q.Qrels, method: str, requests: int, began: int
) -> Rehearsal:
    with place.store.read(place.campaign) as work:
        money, last = ledger.balance(work), last_answer(work)
    with exported(place) as material:
        merged = q.get(method).fit(material.judgements, material.given())
    ended: Counter[str] = Counter()
    for robot in robots:
        ended.update(robot.tally.ended)
    return Rehearsal(
        robots=dict(Counter(robot.kind for robot in robots)),
        requests=requests,
        hours=max(0, (last or began) - began) / 3_600_000,
        spent=money.owed + money.settled,
        judgements=len(material.judgements),
        batches=dict(ended),
        left=dict(Counter(robot.tally.why or "had enough" for robot in robots)),
        labels=q.score_labels(merged, truth),
    )
