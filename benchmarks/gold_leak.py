"""Can gold be told from the rest? `python -m benchmarks.gold_leak [--direct] [--batches 1200]`.

With `--way game`, documents are sentences, put to topics.

The first table is about the *shape* of batches: in pools of 4, 5 and 12 topics, even and uneven, an
observer knows the topic, size and place of every set of all workers, and learns after each batch
which set was gold. Campaigns run to their end, again and again, until there are enough batches.
Beside it stands what `campaign check` says of such a plan.

The second is about *replies*. A worker who wants to know takes down everything that the server
sends except the words themselves: names, sizes, headers, the time of every reply.

A classifier learns from half of the campaigns, or of the workers and sets, and is tested on the
others, which it has not seen. Area under the ROC curve: 0.5 is a guess.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sqlalchemy import select
from threadpoolctl import threadpool_limits

from benchmarks._benchmark import Table, run
from benchmarks._campaign import launched
from benchmarks._server import Reply, Worker, running
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import assignment, place
from qrowd.collection.database.store import Store, Work
from qrowd.collection.judging import events, queue, submission
from qrowd.collection.judging.offer import Offer, body_of
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.people import entry, workers
from qrowd.collection.plan.exposure import exposure_of
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.plan.way import Way
from qrowd.collection.record import audit
from qrowd.data.topics import Topic
from qrowd.web.sanitiser import reader_of_text, text_of

NAME = "leak"
PLAN = """
[sets]
size = 3
target = 3
[hit]
sets = 4
[checks.seconds]
at_least = 0
[checks.binary]
action = "none"
"""
TOPICS, SIZE = 40, 3
SIZE_OF_SETS = 5  # by default
CAMPAIGN = 100_000  # sets of a campaign are numbered from a multiple of this on
Ask = Callable[[str, str, Any], Reply]  # method, path, body


@dataclass(frozen=True)
class Options:
    batches: int = 1200  # whose shape is looked at, of each pool
    workers: int = 110  # whose replies are
    each: int = 10  # batches of such a worker
    gold_sets: int = 800
    resamples: int = 100
    direct: bool = False  # without a server
    way: str = "grades"  # of judging
    pools: int = 12  # whose shape is looked at


def head_of(way: str) -> str:
    """The beginning of a plan in which documents are judged in a way."""
    trial = Way.named(way).trial
    scale = f"[scale]\ngrades = {list(trial.grades)}\n"
    pay = f"[pay]\nseconds_per_document = {trial.seconds}\n"
    return f'[campaign]\nname = "{NAME}"\nway = "{way}"\n{scale}{pay}'


SHORT = Options(batches=60, workers=8, each=3, gold_sets=60, resamples=3)


@dataclass
class Seen:
    """What a worker saw of one set."""

    worker: int
    key: str
    numbers: list[float]
    gold: bool = False
    set: int = 0


class Replies:
    """The replies to a worker's requests, and what can be counted and timed of the last one."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.count = 0
        self.last = (0.0, 0.0, 0.0)  # seconds, bytes, length of the headers

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request; its JSON."""
        began = time.perf_counter()
        reply = self.ask(method, path, body)
        seconds = time.perf_counter() - began
        self.count += 1
        self.last = (seconds, len(reply.content), len(json.dumps(sorted(reply.headers.items()))))
        return reply.json()


# --- the shape of batches -------------------------------------------------------------------------


@dataclass(frozen=True)
class Pool:
    """The documents of each topic; gold sets in each of so many of them, of a size."""

    documents: tuple[int, ...]
    gold_sets: int = 15
    gold_topics: int = 99
    gold_size: int = SIZE_OF_SETS
    each: int = 5  # batches of a worker, about
    more: str = ""  # of the plan

    def plan(self, way: str) -> str:
        """The plan of a campaign on it; all but these is as by default."""
        sets = sum(-(-documents // SIZE_OF_SETS) for documents in self.documents)
        number = max(3, round(sets * 3 / 5 / self.each))
        people = f"[people]\nworkers = {number}\n"
        return f"{head_of(way)}{people}[checks.seconds]\nat_least = 0\n{self.more}"

    def rows(self, way: str) -> CampaignRows:
        """Its topics, documents, pairs and gold."""
        pool = [(f"t{t}", f"d{t}-{d}") for t, n in enumerate(self.documents) for d in range(n)]
        gold = [
            GoldRow(
                f"t{t}",
                f"g{t}-{s}-{d}",
                (0, 0, 1, 1, 2)[d],
                passage=sentence(f"g{t}-{s}-{d}"),
                set=f"s{s}",
            )
            for t in range(min(self.gold_topics, len(self.documents)))
            for s in range(self.gold_sets)
            for d in range(self.gold_size)
        ]
        names = [name for _, name in pool] + [row.document for row in gold]
        topics = [Topic(f"t{t}", query=f"t{t}") for t in range(len(self.documents))]
        documents = [DocumentRow(name, sentence(name).encode()) for name in names]
        plan = parse_plan(self.plan(way))
        return plan.way.prepare(plan, CampaignRows(topics, documents, pool, gold))


def sentence(name: str) -> str:
    """What a document says."""
    return f"This is the text of {name}"


def uneven(topics: int) -> tuple[int, ...]:
    """From 5 to 120 documents."""
    return tuple(round(5 * 24 ** (at / (topics - 1))) for at in range(topics))


POOLS = {
    "4 topics of 100": Pool((100,) * 4),
    "5 topics of 100": Pool((100,) * 5),
    "12 topics of 60": Pool((60,) * 12),
    "12 topics of 57: sets of 4 and 5": Pool((57,) * 12),
    "4 topics of 5 to 120": Pool(uneven(4)),
    "5 topics of 5 to 120": Pool(uneven(5)),
    "12 topics of 5 to 120": Pool(uneven(12)),
    "5 topics of 20: a small pool": Pool((20,) * 5),
    "5 topics of 100, 3 with gold": Pool((100,) * 5, gold_topics=3),
    "5 topics of 100, gold of 3 documents": Pool((100,) * 5, gold_size=3),
    "5 topics of 100, a gold set in each": Pool((100,) * 5, gold_sets=1),
    "4 topics of 100, 2 gold sets in a batch": Pool((100,) * 4, more="[hit]\ngold = 2\n"),
}
SHAPE = {
    "topic": range(4),
    "size": range(4, 7),
    "place": range(7, 8),
    "over batches": range(8, 14),
    "all": range(14),
}


@dataclass
class Memory:
    """What an observer knows of a worker's batches so far."""

    batches: int = 0
    topics: Counter[str] = field(default_factory=Counter)
    gold: Counter[str] = field(default_factory=Counter)
    last: Counter[str] = field(default_factory=Counter)
    last_gold: str = ""


def seen_in_campaigns(pool: Pool, wanted: int, way: str) -> list[Seen]:
    """What is seen of so many batches, in one campaign after another, two at least."""
    plan, rows, seen = parse_plan(pool.plan(way)), pool.rows(way), list[Seen]()
    done = campaigns = 0
    while done < wanted:
        most = min(wanted - done, -(-wanted // 2))
        with (
            tempfile.TemporaryDirectory(prefix="qrowd-leak-") as name,
            open_store(f"{name}/qrowd.db", new=True, seed=campaigns) as store,
        ):
            create_campaign(store, plan, rows)
            with store.write(NAME) as work:
                audit.perform(work, "benchmark", "launch")
            with store.write(NAME) as work:  # one transaction: nothing of it is kept
                for batch in islice(batches_of(work, plan.people.workers, campaigns), most):
                    seen += batch
                    done += 1
        campaigns += 1
    return seen


def batches_of(work: Work, number: int, campaign: int) -> Iterator[list[Seen]]:
    """What workers see who come in a random order, until the campaign is done."""
    memories = {workers.enter(work, "own", f"{at}").id: Memory() for at in range(number)}
    coming, chance = list(memories), random.Random(campaign)
    while coming:
        worker = chance.choice(coming)
        offer = queue.next_batch(work, worker)
        if not isinstance(offer, Offer):
            coming.remove(worker)
            continue
        for state in ("finished", "submitted", "accepted"):
            mine = assignment.c.key == offer.key
            work.update(assignment, mine, state=state, finished_at=work.now)
        keys = [shown.key for shown in offer.sets]
        query = select(place.c.key, place.c.kind, place.c.set_id).where(place.c.key.in_(keys))
        kinds = {row.key: row for row in work.db.execute(query)}
        yield list(shape_of(offer, kinds, memories[worker], worker + 1000 * campaign, campaign))


def shape_of(
    offer: Offer, rows: dict[str, Any], memory: Memory, worker: int, campaign: int
) -> Iterator[Seen]:
    """The topic, size and place of each set of a batch, and what its worker met before."""
    topics = Counter(shown.topic.query for shown in offer.sets)
    sizes = [len(shown.documents) for shown in offer.sets]
    for at, shown in enumerate(offer.sets):
        topic, size = shown.topic.query, len(shown.documents)
        numbers = [
            *(int(topic[1:]), topics[topic], len(topics), len(sizes)),
            *(size, size - float(np.mean(sizes)), sizes.count(size)),
            at,
            *(memory.batches, memory.topics[topic], memory.last[topic]),
            *(memory.gold[topic], topic == memory.last_gold, topics[topic] - memory.last[topic]),
        ]
        row = rows[shown.key]
        number = row.set_id + CAMPAIGN * campaign
        yield Seen(worker, shown.key, numbers, row.kind == "gold", number)
    golds = [shown.topic.query for shown in offer.sets if rows[shown.key].kind == "gold"]
    memory.batches += 1
    memory.topics += topics
    memory.last = topics
    memory.gold.update(golds)
    memory.last_gold = golds[-1]


def by_shape(options: Options) -> None:
    """The table of shapes."""
    names = (*SHAPE, "all, 95 % interval", "`campaign check` says")
    print(f"\nAreas under the curve, of {options.batches:,} batches of each pool:")
    table = Table("pool", *names, title="Shape")
    for name, pool in islice(POOLS.items(), options.pools):
        seen = seen_in_campaigns(pool, options.batches, options.way)
        cell = {
            part: cells(seen, columns, halves_of_campaigns(seen)) for part, columns in SHAPE.items()
        }
        areas = {
            part: f"{np.mean([each.area() for each in tested]):.3f}"
            for part, tested in cell.items()
        }
        _, low, high = area(cell["all"], options.resamples)
        stated = exposure_of(parse_plan(pool.plan(options.way)), pool.rows(options.way))
        assert stated is not None
        said = f"{stated.area:.3f} {stated.told}".strip()
        table.row(name, *areas.values(), f"{low:.3f} to {high:.3f}", said)


# --- a campaign and its workers -------------------------------------------------------------------


def material(options: Options) -> CampaignRows:
    """Enough for all workers; texts of one distribution of lengths, gold like all others."""
    chance = random.Random(4)
    places = options.workers * options.each * 3
    sets = -(-places // (3 * TOPICS)) + 2
    pool = [(f"t{t}", f"d{t}-{d}") for t in range(TOPICS) for d in range(sets * SIZE)]
    gold = [
        GoldRow(f"t{s % TOPICS}", f"g{s}-{d}", d % 3, "because", "", f"s{s}")
        for s in range(options.gold_sets)
        for d in range(SIZE)
    ]
    names = [name for _, name in pool] + [row.document for row in gold]
    texts = {
        name: f"x{chance.getrandbits(40):x} " + "word " * chance.randint(100, 1500)
        for name in chance.sample(names, len(names))
    }
    documents = [
        DocumentRow(name, text.encode(), f"Page {chance.getrandbits(40):x}")
        for name, text in texts.items()
    ]
    gold = [replace(row, passage=texts[row.document]) for row in gold]
    topics = [Topic(f"t{at}", query=f"query {at}") for at in range(TOPICS)]
    plan = parse_plan(head_of(options.way) + PLAN)
    return plan.way.prepare(plan, CampaignRows(topics, documents, pool, gold))


def by_http(store: Store, address: str, worker: int) -> Ask:
    """Requests over one connection that stays open."""
    with store.write(NAME) as work:
        link = entry.make_link(work, f"worker {worker}", 1)
    program = Worker(address, NAME)
    program.enter(link)
    return program.ask


def directly(store: Store, worker: int) -> Ask:
    """The same without a network, in this process: less noise in the times than anybody has."""
    with store.write(NAME) as work:
        number = workers.enter(work, "own", f"worker {worker}").id

    def content(method: str, path: str, body: Any) -> Any:
        parts = path.split("/")
        if method == "GET":
            with store.read(NAME) as work:
                document = body_of(work, number, parts[-2], int(parts[-1]))
            return {"html": reader_of_text(text_of(document.content)), "title": document.title}
        with store.write(NAME) as work:
            if parts[-1] == "next":
                offer = queue.next_batch(work, number)
                return {"batch": asdict(offer) if isinstance(offer, Offer) else None}
            if parts[-1] == "answers":
                return asdict(events.save(work, number, events.Said(**body)))
            if parts[-1] == "finish":
                return asdict(submission.finish(work, number, parts[-2]))
            return asdict(submission.submit(work, number, parts[-2]))

    def ask(method: str, path: str, body: Any) -> Reply:
        return Reply(200, json.dumps(content(method, path, body)).encode(), {})

    return ask


def work_through(replies: Replies, worker: int, batches: int) -> list[Seen]:
    """Judge so many batches; everything that was seen of each set."""
    seen: list[Seen] = []
    api = f"/api/campaigns/{NAME}/judging"
    for _ in range(batches):
        batch = replies("POST", f"{api}/next")["batch"]
        if batch is None:
            break
        uses = Counter(shown["topic"]["query"] for shown in batch["sets"])
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
    read, saved, numbers = [], [], []
    for document in documents:
        at = document["position"]
        replies("GET", f"/judge/{NAME}/documents/{key}/{at}")
        read.append(replies.last)
        body = {"key": f"{key}-{at}", "place": key, "kind": "grade", "position": at, "grade": 1}
        if shown["buckets"]:
            body["bucket"] = shown["topic"]["query"]
        numbers.append(replies("POST", f"{api}/answers", body)["event"])
        saved.append(replies.last)
    names = [int(sign, 36) for sign in key[:8].lower().replace("-", "0").replace("_", "1")]
    sizes = [len(json.dumps(shown)), len(documents), len(documents[0]["title"]), numbers[0] % 97]
    return [*order, *names, *sizes, *_summary(read), *_summary(saved)]


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
    for shown in seen:
        row = rows[shown.key]
        shown.gold, shown.set = row.kind == "gold", row.set_id


# --- the classifier -------------------------------------------------------------------------------


@dataclass
class Cell:
    """Sets that a classifier has not met, of workers that it has not met."""

    gold: np.ndarray
    thought: np.ndarray
    worker: np.ndarray

    def area(self, weight: np.ndarray | None = None) -> float:
        """The area under the ROC curve; each set counts as often as its worker weighs."""
        each = None if weight is None else weight[self.worker]
        return float(roc_auc_score(self.gold, self.thought, sample_weight=each))


Halves: TypeAlias = Iterable[tuple[np.ndarray, np.ndarray]]  # what is learnt from, what is tried


def halves_of_campaigns(seen: list[Seen]) -> Halves:
    """Every second campaign: the others have other workers, and gold and a pool of their own.

    Not halves of one campaign's gold: of a topic that has more of it in one half, the other half
    has less, and what is learnt would be wrong rather than useless.
    """
    side = np.array([shown.set // CAMPAIGN % 2 for shown in seen])
    return [(side != half, side == half) for half in (0, 1)]


def halves_of_workers_and_sets(seen: list[Seen]) -> Halves:
    """Half of the workers and half of the sets, tried on the other half of both.

    Sets of the pool come several times, too: one that is met again is known not to be gold.
    """
    y = np.array([shown.gold for shown in seen])
    worker = np.array([shown.worker for shown in seen])
    sets = np.array([shown.set for shown in seen])
    chance = np.random.default_rng(1)
    drawn = [chance.permutation(np.unique(sets[role]))[::2] for role in (y, ~y)]
    fold = np.isin(sets, np.concatenate(drawn))  # half of the gold sets, half of the others
    for side in (0, 1):
        for half in (False, True):
            yield (worker % 2 != side) & (fold != half), (worker % 2 == side) & (fold == half)


def cells(seen: list[Seen], columns: Sequence[int], halves: Halves) -> list[Cell]:
    """A classifier for each half, tested on the other."""
    x = np.array([shown.numbers for shown in seen], dtype=float)[:, list(columns)]
    y = np.array([shown.gold for shown in seen])
    worker = np.array([shown.worker for shown in seen])
    tested = []
    for train, test in halves:
        model = HistGradientBoostingClassifier(
            max_iter=60, max_depth=3, learning_rate=0.05, min_samples_leaf=40, random_state=1
        )
        with threadpool_limits(1):  # faster than several for so little
            thought = model.fit(x[train], y[train]).predict_proba(x[test])[:, 1]
        tested.append(Cell(y[test], thought, worker[test]))
    return tested


def area(tested: list[Cell], resamples: int) -> tuple[float, float, float]:
    """The mean area under the ROC curve of the cells, and its interval over workers (bootstrap)."""
    chance = np.random.default_rng(2)
    number = 1 + max(int(cell.worker.max()) for cell in tested)
    drawn = []
    for _ in range(resamples):
        weight = np.bincount(chance.integers(0, number, number), minlength=number).astype(float)
        drawn.append(np.mean([cell.area(weight) for cell in tested]))
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(np.mean([cell.area() for cell in tested])), float(low), float(high)


PARTS = {
    "order": range(4),
    "names": range(4, 12),
    "sizes": range(12, 16),
    "bytes and headers of replies": (17, 18, 20, 21, 23, 24, 26, 27, 29, 30, 32, 33),
    "times of reading": (16, 19, 22),
    "times of saving": (25, 28, 31),
    "all": range(34),
}


def main(options: Options) -> None:
    """Print both tables."""
    by_shape(options)
    by_replies(options)


def by_replies(options: Options) -> None:
    """The table of replies."""
    with tempfile.TemporaryDirectory(prefix="qrowd-leak-") as name:
        folder = Path(name)
        database = str(folder / "qrowd.db")
        store = launched(database, head_of(options.way) + PLAN, material(options))
        if options.direct:
            seen, replies = seen_by_all(partial(directly, store), options)
        else:
            with running(folder, database, processes=1) as server:
                asker = partial(by_http, store, server.address)
                seen, replies = seen_by_all(asker, options)
        label(store, seen)
        store.engine.dispose()
    gold = sum(shown.gold for shown in seen)
    print(f"\n{replies:,} replies, {len(seen):,} sets shown, {gold:,} of them gold:")
    names = ("what the classifier knows", "AUC", "95 % interval over workers")
    table = Table(*names, title="Replies")
    for part, columns in PARTS.items():
        mean, low, high = area(
            cells(seen, columns, halves_of_workers_and_sets(seen)), options.resamples
        )
        table.row(part, f"{mean:.3f}", f"{low:.3f} to {high:.3f}")


def seen_by_all(asker: Callable[[int], Ask], options: Options) -> tuple[list[Seen], int]:
    """What all workers saw, one after another, and how many replies they got."""
    seen, count = [], 0
    for worker in range(options.workers):
        replies = Replies(asker(worker))
        seen += work_through(replies, worker, options.each)
        count += replies.count
    return seen, count


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
