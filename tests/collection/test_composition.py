"""What a batch is made of: nothing is passed over, and gold has the shape of the batch."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pytest
from benchmarks._campaign import left_behind
from hypothesis import given, settings
from hypothesis import strategies as st

from qrowd.collection.plan import composition
from qrowd.collection.plan.composition import hide, pick
from qrowd.collection.plan.exposure import Set


@dataclass
class Listed:
    """Open sets in a list, as a source of picks."""

    rows: Sequence[Set]
    chance: random.Random

    def first(self, taken: Collection[int]) -> Set | None:
        left = [row for row in self.rows if row.id not in taken]
        return min(left, key=lambda row: (-row.priority, row.held), default=None)

    def equals(
        self, row: Set, taken: Collection[int], but: Collection[int], most: int
    ) -> list[Set]:
        alike = [
            other
            for other in self.rows
            if (other.priority, other.held) == (row.priority, row.held)
            and other.id not in taken
            and other.topic_id not in but
        ]
        return self.chance.sample(alike, min(most, len(alike)))


SETS = st.lists(
    st.tuples(
        st.integers(0, 4), st.integers(3, 5), st.sampled_from((0.0, 0.0, 1.0)), st.integers(0, 1)
    ),
    max_size=40,
)
GOLD = st.lists(st.tuples(st.integers(0, 5), st.integers(2, 5)), min_size=3, max_size=12)


@settings(max_examples=400, deadline=None)
@given(SETS, GOLD, st.integers(1, 7), st.integers(1, 3), st.integers(0, 10**6))
def test_nothing_is_passed_over_and_gold_is_whole(
    sets: list[tuple[int, int, float, int]],
    golds: list[tuple[int, int]],
    counted: int,
    hidden: int,
    seed: int,
) -> None:
    chance = random.Random(seed)
    rows = [Set(at, "pool", *numbers) for at, numbers in enumerate(sets)]
    gold = [Set(1000 + at, "gold", *numbers) for at, numbers in enumerate(golds)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(composition, "LOOK", 2)  # so that few of the equals are in view at a time
        picked = pick(Listed(rows, chance), counted + hidden, Counter())
        assert left_behind(rows, picked) == []
        batch = hide(picked, gold, hidden, counted, Counter(), chance)
    assert left_behind(rows, batch) == []
    kinds = Counter(row.role for row in batch)
    assert (kinds["pool"], kinds["gold"]) == (min(counted, len(rows)), hidden)
    assert len({row.id for row in batch}) == len(batch)


def drawn(topics: int, sizes: Sequence[int], times: int = 6000) -> list[list[Set]]:
    """Batches of six from a pool of equals with gold in all its shapes, each drawn anew."""
    chance = random.Random(1)
    shapes = [(topic, size) for topic in range(topics) for size in sizes]
    rows = [Set(at, "pool", *shape) for at, shape in enumerate(shapes * 12)]
    gold = [Set(10_000 + at, "gold", *shape) for at, shape in enumerate(shapes)]
    batches = []
    for _ in range(times):
        picked = pick(Listed(rows, chance), 6, Counter())
        mixed = chance.sample(gold, len(gold))
        batches.append(hide(picked, mixed, 1, 5, Counter(), chance))
    return batches


@pytest.mark.parametrize("topics", [2, 4, 5, 12])
def test_each_set_of_a_batch_is_gold_equally_often(topics: int) -> None:
    """However often its topic comes: of 5 topics and 6 sets one comes twice."""
    met, gold = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for batch in drawn(topics, (4, 5, 5, 5)):
        uses = Counter(row.topic_id for row in batch)
        for row in batch:
            met[uses[row.topic_id], row.size] += 1
            gold[uses[row.topic_id], row.size] += row.role == "gold"
    assert len(met) >= 2
    for shape, times in met.items():
        error = (times / 6 * 5 / 6) ** 0.5
        assert abs(gold[shape] - times / 6) < 4 * error, shape


def test_gold_takes_the_shape_of_what_it_stands_for() -> None:
    for batch in drawn(5, (3, 4), times=50):
        assert sorted(Counter(row.topic_id for row in batch).values()) == [1, 1, 1, 1, 2]


def test_where_no_gold_has_the_shape_it_has_the_topic() -> None:
    rows = [Set(at, "pool", at, 5) for at in range(6)]
    gold = [Set(10, "gold", 9, 5), Set(11, "gold", 3, 2)]
    batch = hide(rows, gold, 1, 5, Counter(), random.Random(1))
    assert [row.id for row in batch if row.role == "gold"] == [11]
    assert 3 not in {row.id for row in batch}
    far = hide(rows, gold[:1], 1, 5, Counter(), random.Random(1))
    assert [row.id for row in far] == [0, 1, 2, 3, 4, 10]
