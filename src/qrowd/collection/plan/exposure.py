"""How well gold could be told by the shape of batches, before anybody is asked.

Workers are sent through a plan's sets as a campaign would send them. An observer who sees all of
their batches, and learns after each which set was gold, counts what gold is like: its topic, its
size, how often the topic comes in the batch, came in the one before and in all before, and was gold
before. What was learnt from every second worker is tried on the others. Area under the ROC curve:
0.5 is a guess.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from qrowd.collection.plan.composition import hide, pick
from qrowd.collection.plan.forecast import counted, sizes_of
from qrowd.collection.plan.gold_sets import cut_gold
from qrowd.collection.plan.rows import CampaignRows, Pair
from qrowd.collection.plan.sections import Plan
from qrowd.data.arrays import Array
from qrowd.texts import Text

BATCHES = 5000  # that are tried: the standard error of an area is about .005
MOST_SETS = 2000
TOLD = 0.52  # above this, gold counts as told
SURE = 2.5  # standard deviations


@dataclass(eq=False, slots=True)
class Set:
    """A set of the pool, or of gold."""

    id: int
    role: str
    topic_id: int
    size: int
    priority: float = 0.0
    held: int = 0
    met: int = 0


_Groups: TypeAlias = dict[tuple[float, int], dict[int, Set]]  # by priority, highest first, and held


@dataclass(frozen=True)
class Exposure:
    """The area under an observer's ROC curve, where each worker does so many batches.

    `told`: by what gold can be told, if it can: its `topics` or `sizes`, since some of the pool's
    have no gold; the `supply`, which a worker uses up; the `pool`, which is so small that batches
    have to take what is left. `meets` is how many workers meet a gold set; a set of the pool comes
    to as many as the target says, and gold would if there were `enough` sets.
    """

    area: float
    batches: int
    told: str
    meets: float
    enough: int

    def sentences(self, plan: Plan) -> list[Text]:
        """What an organiser should know."""
        area = f"{self.area:.2f}"
        told = f"told-{self.told}" if self.told else "hidden"
        lines = [Text(f"office.exposure.{told}", area=area, batches=self.batches)]
        if self.meets > plan.sets.target + 0.5:
            numbers = {"meets": round(self.meets), "target": plan.sets.target}
            lines.append(Text("office.exposure.meets", **numbers, enough=self.enough))
        if plan.hit.first_gold:
            lines.append(Text("office.exposure.first", n=plan.hit.first_gold))
        return lines


@dataclass(frozen=True)
class _Seen:
    """What an observer notes of a set, and whether it was gold."""

    notes: tuple[Hashable, ...]
    worker: int
    gold: bool


def exposure_of(plan: Plan, rows: CampaignRows) -> Exposure | None:
    """How well gold would be told; None where none is hidden, or none can be."""
    sizes = sizes_of(plan, rows)
    parts = cut_gold(plan, rows.gold, sizes)[0]
    if not sizes or len(parts) < plan.gold_per_hit + plan.hit.first_gold:
        return None
    names = sorted({*sizes, *(part[0].topic for part in parts)})
    topics = {name: number for number, name in enumerate(names)}
    gold = [
        Set(-1 - number, "gold", topics[part[0].topic], len(part))
        for number, part in enumerate(parts)
    ]
    by_topic: dict[str, list[Pair]] = defaultdict(list)
    for pair in counted(rows):
        by_topic[pair[0]].append(pair)
    chance = random.Random(plan.campaign.seed)
    pool: list[Set] = []
    for name, pairs in sorted(by_topic.items()):
        for part in plan.way.sets_of(plan, pairs, chance):
            priority = max(rows.priorities.get(pair, 0.0) for pair in part)
            pool.append(Set(len(pool), "pool", topics[name], len(part), priority))
    return exposure(plan, pool, gold)


def exposure(plan: Plan, pool: Sequence[Set], gold: Sequence[Set]) -> Exposure:
    """How well gold would be told among the sets of a pool.

    By as many workers as the plan expects; else by as few as can do it.
    """
    batches = math.ceil(len(pool) * plan.sets.target / plan.counted_per_hit)
    most = max(1, len(gold) // plan.gold_per_hit)
    workers = plan.people.workers or max(plan.sets.target, math.ceil(batches / most))
    each = max(1, min(math.ceil(batches / workers), most))
    golds = batches * plan.gold_per_hit
    if len(pool) > MOST_SETS:  # a part of the pool, and of the workers: each does as much
        workers = max(plan.sets.target, workers * MOST_SETS // len(pool))
        pool = random.Random(plan.campaign.seed).sample(pool, MOST_SETS)
    area, told = _area(_seen(plan, pool, gold, workers, each)), ""
    if area > TOLD:
        shapes = {(row.topic_id, row.size) for row in gold}
        lacking = {(row.topic_id, row.size) for row in pool} - shapes
        if {topic for topic, _ in lacking} - {topic for topic, _ in shapes}:
            told = "topics"
        elif _area(_seen(plan, pool, gold, workers, each, afresh=True)) < (area + 0.5) / 2:
            told = "supply"
        else:
            told = "sizes" if lacking else "pool"
    enough = math.ceil(golds / plan.sets.target)
    return Exposure(area, each, told, golds / len(gold), enough)


# --- a campaign on paper --------------------------------------------------------------------------


class _Worker:
    """What a worker has met; and the sets still open to them, as a source of picks."""

    def __init__(self, number: int, groups: _Groups, chance: random.Random) -> None:
        self.number = number
        self.groups = groups
        self.chance = chance
        self.met: set[int] = set()
        self.batches = 0
        self.last: Counter[int] = Counter()  # topics of the last batch
        self.topics: Counter[int] = Counter()  # of all sets before
        self.gold: Counter[int] = Counter()  # of gold before

    def first(self, taken: Collection[int]) -> Set | None:
        """One of the highest priority and then the fewest held."""
        seen = self.met.union(taken)
        rows = (row for group in sorted(self.groups) for row in self.groups[group].values())
        return next((row for row in rows if row.id not in seen), None)

    def equals(
        self, row: Set, taken: Collection[int], but: Collection[int], most: int
    ) -> list[Set]:
        """Its equals, at random."""
        seen = self.met.union(taken)
        group = self.groups[-row.priority, row.held].values()
        rows = [other for other in group if other.id not in seen and other.topic_id not in but]
        return self.chance.sample(rows, min(most, len(rows)))


def _seen(
    plan: Plan,
    pool: Sequence[Set],
    gold: Sequence[Set],
    workers: int,
    each: int,
    afresh: bool = False,
) -> list[_Seen]:
    """What workers would see in campaigns like this one."""
    chance, batches, first = random.Random(plan.campaign.seed), 0, 0
    seen: list[_Seen] = []
    while batches < BATCHES:
        groups: _Groups = defaultdict(dict)
        for row in pool:
            groups[-row.priority, 0][row.id] = replace(row)
        golds = [replace(row) for row in gold]
        crowd = [_Worker(first + at, groups, chance) for at in range(workers)]
        first += workers
        while crowd and batches < BATCHES:
            worker = chance.choice(crowd)
            batch = _batch(plan, worker, golds, afresh)
            if batch:
                seen += _noted(worker, batch)
                batches += 1
            if not batch or worker.batches == each:
                crowd.remove(worker)
    return seen


def _batch(plan: Plan, worker: _Worker, golds: Sequence[Set], afresh: bool) -> list[Set]:
    """The next batch of a worker, taken; empty where there is none."""
    chance, hidden = worker.chance, plan.gold_per_hit
    picked = pick(worker, plan.hit.sets, Counter())
    unmet = [row for row in golds if row.id not in worker.met]
    if not picked or len(unmet) < hidden:
        return []
    unmet = sorted(chance.sample(unmet, len(unmet)), key=lambda row: row.met)
    batch = hide(picked, unmet, hidden, plan.counted_per_hit, Counter(), chance)
    for row in batch:
        if row.role == "pool" or not afresh:
            worker.met.add(row.id)
        row.met += 1
        if row.role == "pool":
            group = worker.groups[-row.priority, row.held]
            del group[row.id]
            if not group:
                del worker.groups[-row.priority, row.held]
            row.held += 1
            if row.held < plan.sets.target:
                worker.groups[-row.priority, row.held][row.id] = row
    worker.batches += 1
    return batch


# --- an observer ----------------------------------------------------------------------------------


def _noted(worker: _Worker, batch: Sequence[Set]) -> Iterator[_Seen]:
    """What can be noted of each set of a batch."""
    topics = Counter(row.topic_id for row in batch)
    sizes = Counter(row.size for row in batch)
    for row in batch:
        topic = row.topic_id
        notes = (
            topic,
            row.size,
            (topic, row.size),
            (topics[topic], len(topics), len(batch)),
            (topic, topics[topic]),
            (sizes[row.size], len(batch)),
            (worker.last[topic], topics[topic]),
            worker.gold[topic],
            (topic, worker.gold[topic]),
            (worker.batches, worker.topics[topic] - worker.gold[topic]),
            (worker.gold[topic], worker.topics[topic] - worker.gold[topic]),
        )
        yield _Seen(notes, worker.number, row.role == "gold")
    worker.last = topics
    worker.topics += topics
    worker.gold.update(row.topic_id for row in batch if row.role == "gold")


def _area(seen: Sequence[_Seen]) -> float:
    """The area under the ROC curve, learnt from every second worker and tried on the others."""
    areas = []
    for side in (0, 1):
        learnt = _learnt([row for row in seen if row.worker % 2 == side])
        tried = [row for row in seen if row.worker % 2 != side]
        doubt = np.array(
            [sum(learnt.get((at, note), 0.0) for at, note in enumerate(row.notes)) for row in tried]
        )
        areas.append(roc_area(doubt, np.array([row.gold for row in tried])))
    return float(np.mean(areas))


def _learnt(seen: Sequence[_Seen]) -> dict[tuple[int, Hashable], float]:
    """How much a note speaks for gold: the logarithm of how much oftener gold has it.

    Only notes that chance alone would hardly explain; the others would add noise.
    """
    there: Counter[tuple[int, Hashable]] = Counter()
    gold: Counter[tuple[int, Hashable]] = Counter()
    for row in seen:
        for note in enumerate(row.notes):
            there[note] += 1
            gold[note] += row.gold
    base = sum(row.gold for row in seen) / max(1, len(seen))
    return {
        note: math.log((gold[note] / base + 1) / (number + 1))
        for note, number in there.items()
        if abs(gold[note] - base * number) > SURE * math.sqrt(number * base * (1 - base))
    }


def roc_area(scores: Array, positive: Array) -> float:
    """The area under the ROC curve: how often a positive one has the higher score; ties half."""
    _, code = np.unique(scores, return_inverse=True)
    ones, zeros = np.bincount(code[positive]), np.bincount(code[~positive])
    longest = max(len(ones), len(zeros))
    ones, zeros = np.pad(ones, (0, longest - len(ones))), np.pad(zeros, (0, longest - len(zeros)))
    pairs = float(ones.sum()) * float(zeros.sum())
    below = np.cumsum(zeros) - zeros / 2
    return float((ones * below).sum() / pairs) if pairs else 0.5
