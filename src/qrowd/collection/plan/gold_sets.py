"""Gold that spammers fail: graded pairs in the sets that part good workers from the others best."""

from __future__ import annotations

import csv
import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path

from qrowd.collection.plan.pass_rates import level_of, margin
from qrowd.collection.plan.rows import GoldRow, Pair
from qrowd.collection.plan.sections import Plan

LEVELS = 3  # not relevant, relevant, more than that
LARGEST_SET = 8
COLUMNS = ("topic", "doc", "grade", "reason", "passage", "set")


def arrange_gold(plan: Plan, rows: Sequence[GoldRow], pool: Sequence[Pair] = ()) -> list[GoldRow]:
    """Graded pairs in sets, the best set of a topic first; what fits no set is left out.

    In each topic, sets take the grades whose margin (how much oftener a good worker passes than the
    luckiest spammer) is largest among those that the remaining pairs allow, as long as it is above
    zero. Sets are as large as those of the pool, so that their size does not tell them.
    """
    by_topic: dict[str, dict[int, list[GoldRow]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(rows, key=lambda row: row.pair):
        if row.grade is not None:
            level = min(LEVELS - 1, level_of(plan, row.grade))
            by_topic[row.topic][level].append(row)
    sizes = set_sizes_of(plan, pool)
    in_sets: list[GoldRow] = []
    for name in sorted(by_topic):
        chance = random.Random(f"{plan.campaign.seed} gold {name}")
        levels = {level: chance.sample(held, len(held)) for level, held in by_topic[name].items()}
        size = sizes.get(name) or max(sizes.values(), default=plan.sets.size)
        for number, part in enumerate(_sets(plan, levels, size), 1):
            in_sets += [replace(row, set=f"{name}-{number}") for row in part]
    return in_sets


def set_sizes_of(plan: Plan, pool: Sequence[Pair]) -> dict[str, int]:
    """The size of the larger sets of each topic of the pool."""
    topics = Counter(name for name, _ in pool)
    sets = {name: math.ceil(pairs / plan.sets.size) for name, pairs in topics.items()}
    return {name: math.ceil(pairs / sets[name]) for name, pairs in topics.items()}


def _sets(plan: Plan, levels: dict[int, list[GoldRow]], size: int) -> list[list[GoldRow]]:
    """The best set that the rows of each level allow, then the best of the rest, and so on."""
    parts = []
    while chosen := _best_levels(plan, size, {level: len(rows) for level, rows in levels.items()}):
        parts.append([levels[level].pop() for level in chosen])
    return parts


def _best_levels(plan: Plan, size: int, remaining: dict[int, int]) -> tuple[int, ...]:
    """The levels of the best set that these counts allow; none where no set is any good."""
    if sum(remaining.values()) < size:
        return ()
    if size > LARGEST_SET:  # too many to compare: levels at equal distances in the sorted rest
        order = sorted(level for level, rows in remaining.items() for _ in range(rows))
        return tuple(order[:: max(1, len(order) // size)][:size])
    allowed = [
        levels
        for levels in combinations_with_replacement(sorted(remaining), size)
        if all(levels.count(level) <= remaining[level] for level in set(levels))
    ]
    best = max(allowed, key=lambda levels: (margin(plan, levels), levels), default=())
    return best if best and margin(plan, best) > 0 else ()


def write_gold(rows: Sequence[GoldRow], path: Path) -> Path:
    """A file of gold, as plans name it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(
            file, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n"
        )
        lines.writerow(COLUMNS)
        for row in rows:
            grade = "" if row.grade is None else row.grade
            texts = (" ".join(text.split()) for text in (row.reason, row.passage))
            lines.writerow((row.topic, row.document, grade, *texts, row.set))
    return path
