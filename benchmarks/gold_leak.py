"""Can gold be told from the rest? `python -m benchmarks.gold_leak [--workers 110] [--direct]`.

A worker who wants to know takes down everything that the server sends except the words themselves:
names, sizes, order, headers, the time of every reply; and learns from past batches which sets were
gold (the review after a batch shows them). The classifier is tested on sets and workers that it
has not seen. Area under the ROC curve: 0.5 is a guess.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from sqlalchemy import select

from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import place
from qrowd.collection.database.store import Store
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.people import visits
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow, TopicRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.record import audit

NAME = "leak"
PLAN = f"""
[campaign]
name = "{NAME}"
[scale]
grades = [0, 1, 2]
[sets]
size = 3
target = 3
[hit]
sets = 4
[checks.seconds]
at_least = 0
"""
TOPICS, GOLD_SETS, SIZE, BATCHES = 40, 800, 3, 10


@dataclass
class Seen:
    """What a worker saw of one set."""

    worker: int
    key: str
    numbers: list[float]
    gold: bool = False
    set: int = 0


@dataclass
class Replies:
    """The replies to a worker's requests: (seconds, bytes, headers) by kind of request."""

    ask: Callable[[str, str, Any], tuple[int, bytes, dict[str, str]]]
    count: int = 0
    last: tuple[float, float, float] = field(default=(0.0, 0.0, 0.0))

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request; its JSON."""
        began = time.perf_counter()
        status, content, headers = self.ask(method, path, body)
        seconds = time.perf_counter() - began
        self.count += 1
        self.last = (seconds, len(content), len(json.dumps(sorted(headers))))
        if status >= 400:
            raise RuntimeError(f"{path}: {status} {content[:200]!r}")
        return json.loads(content) if content else None


# --- a campaign and its workers -------------------------------------------------------------------


def make_campaign(database: str, workers: int) -> Store:
    """A running campaign whose gold documents are like all others."""
    store = open_store(database, new=True)
    create_campaign(store, parse_plan(PLAN), material(workers))
    with store.write(NAME) as work:
        audit.launch(work, "benchmark")
    return store


def material(workers: int) -> CampaignRows:
    """Enough for all workers; texts of one distribution of lengths."""
    chance = random.Random(4)
    places = workers * BATCHES * 3
    sets = -(-places // (3 * TOPICS)) + 2
    pool = [(f"t{t}", f"d{t}-{d}") for t in range(TOPICS) for d in range(sets * SIZE)]
    gold = [
        GoldRow(f"t{s % TOPICS}", f"g{s}-{d}", d % 3, "because", "", f"s{s}")
        for s in range(GOLD_SETS)
        for d in range(SIZE)
    ]
    names = [name for _, name in pool] + [row.document for row in gold]
    documents = [
        DocumentRow(name, b"word " * chance.randint(100, 1500), f"Page {chance.getrandbits(40):x}")
        for name in chance.sample(names, len(names))
    ]
    topics = [TopicRow(f"t{at}", query=f"query {at}") for at in range(TOPICS)]
    return CampaignRows(topics, documents, pool, gold)


def http_asker(address: str, token: str) -> Callable[..., tuple[int, bytes, dict[str, str]]]:
    """Requests over one connection that stays open."""
    parts = urlsplit(address)
    link = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(method: str, path: str, body: Any) -> tuple[int, bytes, dict[str, str]]:
        link.request(method, path, None if body is None else json.dumps(body), headers)
        reply = link.getresponse()
        return reply.status, reply.read(), dict(reply.getheaders())

    return ask


def direct_asker(store: Store, worker: int) -> Callable[..., tuple[int, bytes, dict[str, str]]]:
    """The same without a network, in this process: less noise in the times than anybody has."""
    from dataclasses import asdict

    from qrowd.collection.judging import events, queue, submission
    from qrowd.collection.judging import offer as showing
    from qrowd.collection.people import workers as people
    from qrowd.web.sanitiser import reader_of_text, text_of

    with store.write(NAME) as work:
        number = people.enter(work, "own", f"worker {worker}").id

    def reply(method: str, path: str, body: Any) -> Any:
        parts = path.split("/")
        if method == "GET":
            with store.read(NAME) as work:
                found = showing.body_of(work, number, parts[-2], int(parts[-1]))
            return {"html": reader_of_text(text_of(found.content)), "title": found.title}
        with store.write(NAME) as work:
            if parts[-1] == "next":
                offer = queue.next_batch(work, number)
                return {"batch": asdict(offer) if isinstance(offer, showing.Offer) else None}
            if parts[-1] == "answers":
                return asdict(events.save(work, number, events.Said(**body)))
            if parts[-1] == "finish":
                return asdict(submission.finish(work, number, parts[-2]))
            return asdict(submission.submit(work, number, parts[-2]))

    def ask(method: str, path: str, body: Any) -> tuple[int, bytes, dict[str, str]]:
        return 200, json.dumps(reply(method, path, body)).encode(), {}

    return ask


def work_through(replies: Replies, worker: int, batches: int) -> list[Seen]:
    """Judge so many batches; everything that was seen of each set."""
    seen: list[Seen] = []
    api = f"/api/campaigns/{NAME}/judging"
    for _ in range(batches):
        batch = replies("POST", f"{api}/next")["batch"]
        if batch is None:
            break
        uses = Counter(one["topic"]["query"] for one in batch["sets"])
        met = Counter[str]()
        for at, shown in enumerate(batch["sets"]):
            topic = shown["topic"]["query"]
            order = [at, uses[topic], met[topic], met.total() - at]
            met[topic] += 1
            seen.append(Seen(worker, shown["key"], _of_set(replies, api, shown, order)))
        replies("POST", f"{api}/batches/{batch['key']}/finish")
        replies("POST", f"{api}/batches/{batch['key']}/submit")
    return seen


def _of_set(
    replies: Replies, api: str, shown: dict[str, Any], order: Sequence[float]
) -> list[float]:
    """Read and judge one set; what can be counted and timed."""
    key, documents = shown["key"], shown["documents"]
    read, saved, events = [], [], []
    for one in documents:
        at = one["position"]
        replies("GET", f"/judge/{NAME}/documents/{key}/{at}")
        read.append(replies.last)
        body = {"key": f"{key}-{at}", "place": key, "kind": "grade", "position": at, "grade": 1}
        events.append(replies("POST", f"{api}/answers", body)["event"])
        saved.append(replies.last)
    names = [int(sign, 36) for sign in key[:8].lower().replace("-", "0").replace("_", "1")]
    others = [len(json.dumps(shown)), len(documents), len(documents[0]["title"]), events[0] % 97]
    return [*order, *names, *others, *_summary(read), *_summary(saved)]


def _summary(rows: list[tuple[float, float, float]]) -> list[float]:
    """Of each column: least, mean, most."""
    each = np.array(rows)
    return [*each.min(0), *each.mean(0), *each.max(0)]


def label(store: Store, seen: list[Seen]) -> None:
    """Say which sets were gold, as the review does after a batch."""
    with store.snapshot() as db:
        rows = {
            row.key: row for row in db.execute(select(place.c.key, place.c.kind, place.c.set_id))
        }
    for one in seen:
        one.gold, one.set = rows[one.key].kind == "gold", rows[one.key].set_id


# --- the classifier -------------------------------------------------------------------------------


@dataclass
class Cell:
    """Sets that a classifier has not met, of workers that it has not met."""

    gold: np.ndarray
    thought: np.ndarray
    worker: np.ndarray

    def area(self, weight: np.ndarray | None = None) -> float:
        """The area under the ROC curve; each set counts as often as its worker weighs."""
        from sklearn.metrics import roc_auc_score

        each = None if weight is None else weight[self.worker]
        return float(roc_auc_score(self.gold, self.thought, sample_weight=each))


def cells(seen: list[Seen], columns: Sequence[int]) -> list[Cell]:
    """A classifier for each half of the workers and of the sets, tested on the other half of both.

    Sets of the pool come several times, too: one that is met again is known not to be gold.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    x = np.array([one.numbers for one in seen], dtype=float)[:, list(columns)]
    y = np.array([one.gold for one in seen])
    worker = np.array([one.worker for one in seen])
    sets = np.array([one.set for one in seen])
    chance = np.random.default_rng(1)
    drawn = [chance.permutation(np.unique(sets[role]))[::2] for role in (y, ~y)]
    fold = np.isin(sets, np.concatenate(drawn))  # half of the gold sets, half of the others
    found = []
    for side in (0, 1):
        for half in (False, True):
            train = (worker % 2 != side) & (fold != half)
            test = (worker % 2 == side) & (fold == half)
            model = HistGradientBoostingClassifier(
                max_iter=60, max_depth=3, learning_rate=0.05, min_samples_leaf=40, random_state=1
            )
            thought = model.fit(x[train], y[train]).predict_proba(x[test])[:, 1]
            found.append(Cell(y[test], thought, worker[test]))
    return found


def area(found: list[Cell], resamples: int = 200) -> tuple[float, float, float]:
    """The mean area under the ROC curve of the cells, and its interval over workers (bootstrap)."""
    chance = np.random.default_rng(2)
    number = 1 + max(int(cell.worker.max()) for cell in found)
    drawn = []
    for _ in range(resamples):
        weight = np.bincount(chance.integers(0, number, number), minlength=number).astype(float)
        drawn.append(np.mean([cell.area(weight) for cell in found]))
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(np.mean([cell.area() for cell in found])), float(low), float(high)


def main() -> None:
    """Print the table."""
    from benchmarks.soak import running

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=110)
    parser.add_argument("--direct", action="store_true", help="without a server")
    given, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="qrowd-leak-") as name:
        folder = Path(name)
        database = str(folder / "qrowd.db")
        store = make_campaign(database, given.workers)
        askers: Iterator[Callable[..., Any]]
        if given.direct:
            askers = (direct_asker(store, worker) for worker in range(given.workers))
            seen, replies = all_of(askers)
        else:
            with running(folder, database, processes=1) as server:
                askers = (
                    http_asker(server.address, _enter(store, server.address, worker))
                    for worker in range(given.workers)
                )
                seen, replies = all_of(askers)
        label(store, seen)
        store.engine.dispose()
    _print(seen, replies)


def all_of(askers: Iterable[Callable[..., Any]]) -> tuple[list[Seen], int]:
    """What all workers saw, and how many replies they got."""
    seen, count = [], 0
    for worker, ask in enumerate(askers):
        replies = Replies(ask)
        seen += work_through(replies, worker, BATCHES)
        count += replies.count
    return seen, count


def _enter(store: Store, address: str, worker: int) -> str:
    with store.write(NAME) as work:
        link = visits.make_link(work, f"worker {worker}", 1)
    ask = http_asker(address, "")
    _, content, _ = ask("POST", f"/api/campaigns/{NAME}/enter", {"link": link})
    return str(json.loads(content)["token"])


PARTS = {
    "order": range(4),
    "names": range(4, 12),
    "sizes": range(12, 16),
    "bytes and headers of replies": (17, 18, 20, 21, 23, 24, 26, 27, 29, 30, 32, 33),
    "times of reading": (16, 19, 22),
    "times of saving": (25, 28, 31),
    "all": range(34),
}


def _print(seen: list[Seen], replies: int) -> None:
    gold = sum(one.gold for one in seen)
    print(f"{replies:,} replies, {len(seen):,} sets shown, {gold:,} of them gold\n")
    print("| what the classifier knows | AUC | 95 % interval |\n|---|---|---|")
    for name, columns in PARTS.items():
        found, low, high = area(cells(seen, columns))
        print(f"| {name} | {found:.3f} | {low:.3f} to {high:.3f} |", flush=True)


if __name__ == "__main__":
    main()
