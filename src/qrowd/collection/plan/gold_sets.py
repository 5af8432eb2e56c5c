"""Gold in sets: as large as the pool's, so that their size does not tell them; where that is left
to us, those that part good workers from the others best.
"""

from __future__ import annotations

import csv
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from qrowd.collection.plan.pass_rates import level_of, margin
from qrowd.collection.plan.rows import GoldRow, Pair, cut
from qrowd.collection.plan.sections import Plan

LEVELS = 3  # not relevant, relevant, more than that
LARGEST_SET = 8
COLUMNS = ("topic", "doc", "grade", "reason", "passage", "set")


#: how many sets of the pool have each size, by topic
Sizes: TypeAlias = Mapping[str, Counter[int]]


def pool_sizes(plan: Plan, pool: Sequence[Pair]) -> Sizes:
    """The sizes of the sets that the pairs of a pool are cut into."""
    chance, topics = random.Random(0), Counter(name for name, _ in pool)
    return {
        name: Counter(len(part) for part in plan.way.sets_of(plan, range(n), chance))
        for name, n in topics.items()
    }


def _turns(sizes: Counter[int], chance: random.Random) -> Iterator[int]:
    """The sizes of a topic's gold sets, one after another: each of the pool's, then as often."""
    order = sorted(sizes, key=lambda size: (-sizes[size], size))
    first = chance.choices(order, [sizes[size] for size in order])[0]
    made: Counter[int] = Counter()
    for size in (first, *(size for size in order if size != first)):
        made[size] += 1
        yield size
    while True:
        share = (made.total() + 1) / sizes.total()
        size = max(order, key=lambda size: sizes[size] * share - made[size])
        made[size] += 1
        yield size


# --- gold of a file -------------------------------------------------------------------------------


def cut_gold(
    plan: Plan, rows: Sequence[GoldRow], sizes: Sizes
) -> tuple[list[list[GoldRow]], list[list[GoldRow]]]:
    """Gold in sets as large as the pool's sets of its topic; and what is left over, by topic.

    A set of the file that is larger loses those documents without which it parts good workers from
    the others best. One that is smaller stays as it is: it can be told by its size.
    """
    groups: dict[str, dict[str, list[GoldRow]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        groups[row.topic][row.set].append(row)
    sets: list[list[GoldRow]] = []
    left: list[list[GoldRow]] = []
    for topic, named in sorted(groups.items()):
        chance = random.Random(f"{plan.campaign.seed} gold {topic}")
        made, over = _cut_topic(plan, named, sizes.get(topic, Counter()), chance)
        sets += made
        left += [over] if over else []
    return sets, left


def _cut_topic(
    plan: Plan, named: Mapping[str, list[GoldRow]], sizes: Counter[int], chance: random.Random
) -> tuple[list[list[GoldRow]], list[GoldRow]]:
    """The gold sets of a topic, by the names of the file's sets, "" for none; what is left over."""
    turns = _turns(sizes, chance) if sizes else itertools.repeat(0)

    def next_size(most: int) -> int:
        size = next(turns)
        return size if size <= most else max((n for n in sizes if n <= most), default=0)

    sets: list[list[GoldRow]] = []
    left: list[GoldRow] = []
    for name, rows in sorted(named.items()):
        rest = chance.sample(rows, len(rows))
        if not name and not next((n for n in sizes if n <= len(rest)), 0):
            sets += cut(rest, plan.sets.size, chance)
        elif not name:
            while size := next_size(len(rest)):
                sets.append(rest[:size])
                rest = rest[size:]
            left += rest
        else:
            kept = _best_part(plan, rest, next_size(len(rest)) or len(rest))
            sets.append([row for row in rows if row in kept])
            left += [row for row in rows if row not in kept]
    return sets, left


def _best_part(plan: Plan, rows: Sequence[GoldRow], size: int) -> list[GoldRow]:
    """So many rows that part good workers from the others best."""
    if size == len(rows):
        return list(rows)
    levels = _by_level(plan, rows)
    chosen = _best_levels(plan, size, {level: len(held) for level, held in levels.items()})
    return [levels[level].pop() for level in chosen] or list(rows[:size])


def _by_level(plan: Plan, rows: Sequence[GoldRow]) -> dict[int, list[GoldRow]]:
    levels: dict[int, list[GoldRow]] = defaultdict(list)
    for row in rows:
        levels[min(LEVELS - 1, level_of(plan, row.grade or 0))].append(row)
    return levels


# --- gold that is put in sets here ----------------------------------------------------------------


def arrange_gold(plan: Plan, rows: Sequence[GoldRow], pool: Sequence[Pair] = ()) -> list[GoldRow]:
    """Graded pairs in sets, the best set of a topic first; what fits no set is left out.

    In each topic, sets take the grades whose margin (how much oftener a good worker passes than the
    luckiest spammer) is largest among those that the remaining pairs allow, as long as it is above
    zero. Sets are as large as those of the pool, so that their size does not tell them.
    """
    graded = [row for row in sorted(rows, key=lambda row: row.pair) if row.grade is not None]
    sizes = pool_sizes(plan, pool)
    usual = sum(sizes.values(), Counter[int]()) or Counter({plan.sets.size: 1})
    in_sets: list[GoldRow] = []
    for name in sorted({row.topic for row in graded}):
        chance = random.Random(f"{plan.campaign.seed} gold {name}")
        held = [row for row in graded if row.topic == name]
        levels = _by_level(plan, chance.sample(held, len(held)))
        parts = _sets(plan, levels, sizes.get(name, usual), chance)
        for number, part in enumerate(parts, 1):
            in_sets += [replace(row, set=f"{name}-{number}") for row in part]
    return in_sets


def _sets(
    plan: Plan, levels: dict[int, list[GoldRow]], sizes: Counter[int], chance: random.Random
) -> Iterator[list[GoldRow]]:
    """The best set that the rows of each level allow, then the best of the rest, and so on."""
    for size in _turns(sizes, chance):
        counts = {level: len(rows) for level, rows in levels.items()}
        smaller = sorted((n for n in sizes if n != size), reverse=True)
        found = (_best_levels(plan, each, counts) for each in (size, *smaller))
        chosen = next(filter(None, found), ())
        if not chosen:
            return
        yield [levels[level].pop() for level in chosen]


def _best_levels(plan: Plan, size: int, remaining: dict[int, int]) -> tuple[int, ...]:
    """The levels of the best set that these counts allow; none where no set is any good."""
    if sum(remaining.values()) < size:
        return ()
    if size > LARGEST_SET:  # too many to compare: levels at equal distances in the sorted rest
        order = sorted(level for level, rows in remaining.items() for _ in range(rows))
        return tuple(order[:: max(1, len(order) // size)][:size])
    allowed = [
        levels
        for levels in itertools.combinations_with_replacement(sorted(remaining), size)
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
