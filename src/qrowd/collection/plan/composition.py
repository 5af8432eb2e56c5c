"""What a batch is made of: sets of the pool in one order for all, and gold in their shape.

    pick(source, wanted, uses)     the next sets of the pool
    hide(picked, gold, ...)        gold in place of some of them

*Order*: the highest priority; the fewest held; a topic that the batch has least of; random. Nothing
that comes first is passed over.

*Gold* must not be told by its topic or its size. So a batch of n sets with g of gold is picked like
n sets of the pool; then gold of the same topic and size takes the place of g of them, drawn at
random, and these stay open to others. The batch has the shape of one without gold, whatever the
pool is like, and each of its sets is gold equally often. (Gold of a topic that the batch does not
have would be told where there are few topics: of 5 topics and 6 sets, one comes twice, and gold
would always be one of the two.)

A set gives up its place only if no set that stays comes after it in the order, gold counted among
the batch's topics: nothing is passed over for gold. Among equals that is any set. Where a batch has
to take what is left of those that are held least, or of the whole pool, only what follows may go;
gold then is like one of all, and comes in place of the last, or like one that may go, by a coin.
These batches are few, and gold can be told in them a little.

Which of the equals come is drawn anew each time: by a fixed order, a set that gave up its place
would be the next to come, and a topic that comes again in the next batch would tell gold.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Protocol, TypeVar

LOOK = 50  # sets that are looked at beside those wanted


class Shape(Protocol):
    """What is known of a set."""

    @property
    def id(self) -> int: ...  # noqa: D102
    @property
    def role(self) -> str: ...  # noqa: D102
    @property
    def topic_id(self) -> int: ...  # noqa: D102
    @property
    def size(self) -> int: ...  # noqa: D102
    @property
    def priority(self) -> float: ...  # noqa: D102
    @property
    def held(self) -> int: ...  # noqa: D102


S = TypeVar("S", bound=Shape)


class Source(Protocol[S]):
    """The sets that are open and allowed to a worker."""

    def first(self, taken: Collection[int]) -> S | None:
        """One of the highest priority and then the fewest held, of those that are not taken."""

    def equals(self, row: S, taken: Collection[int], but: Collection[int], most: int) -> list[S]:
        """Sets of the same priority and held, none taken, of no topic in `but`, mixed."""


def pick(source: Source[S], wanted: int, uses: Counter[int]) -> list[S]:
    """The next sets, at most `wanted`; `uses` are the topics that the batch has already."""
    chosen: list[S] = []
    uses = uses.copy()
    while len(chosen) < wanted:
        first = source.first([row.id for row in chosen])
        if first is None:
            break
        for row in _equals(source, first, chosen, uses, wanted):
            chosen.append(row)
            uses[row.topic_id] += 1
            if len(chosen) == wanted:
                break
    return chosen


def _equals(
    source: Source[S], first: S, chosen: Sequence[S], uses: Counter[int], wanted: int
) -> Iterator[S]:
    """The equals of the first set that a few looks show, the topics that are used least first.

    `chosen` and `uses` grow meanwhile. All sets are in view of topics that are used less than
    `seen` times.
    """
    most, seen = wanted + LOOK, 0
    view = source.equals(first, [row.id for row in chosen], (), most)
    whole = len(view) < most
    while view:
        least = min(uses[row.topic_id] for row in view)
        if least > seen and not whole:
            used = [topic for topic, times in uses.items() if times >= least]
            more = source.equals(first, [row.id for row in chosen], used, most)
            if len(more) < most:
                seen = least
            view += more
        else:
            row = next(row for row in view if uses[row.topic_id] == least)
            view.remove(row)
            yield row


def hide(
    picked: Sequence[S],
    gold: Sequence[S],
    hidden: int,
    counted: int,
    uses: Counter[int],
    chance: random.Random,
) -> list[S]:
    """The batch in the order of its picks: `picked`, with `hidden` gold sets among them.

    `gold`: what the worker has not met, the first ones first. As many sets go as there are more
    than `counted`. Where no gold has the shape of any of them it is gold of their topics, else of
    a topic that the batch has least of.
    """
    batch, left = list(picked), list(gold)
    for _ in range(hidden):
        places = [at for at, row in enumerate(batch) if row.role == "pool"]
        full = len(places) > counted
        free = {at for at in places if full and _may_go(batch, at, uses)}
        models = chance.sample(places, len(places))
        # what is forced has a shape of its own: gold is like that, or like what follows it
        if chance.random() < 0.5:
            models = sorted(models, key=lambda at: at not in free) if full else []
        at, row = _like(batch, left, models)
        left.remove(row)
        if at in free:
            batch[at] = row
            continue
        if full:
            del batch[places[-1]]
        batch.append(row)
    return batch


def _like(batch: Sequence[S], gold: Sequence[S], places: Sequence[int]) -> tuple[int, S]:
    """Gold like the set at the first place that there is any for, and that place or -1."""
    shapes: dict[tuple[int, int], S] = {}
    topics: dict[int, S] = {}
    for row in gold:
        shapes.setdefault((row.topic_id, row.size), row)
        topics.setdefault(row.topic_id, row)
    for at in places:
        if (batch[at].topic_id, batch[at].size) in shapes:
            return at, shapes[batch[at].topic_id, batch[at].size]
    for at in places:
        if batch[at].topic_id in topics:
            return at, topics[batch[at].topic_id]
    uses = Counter(row.topic_id for row in batch)
    return -1, min(gold, key=lambda row: uses[row.topic_id])


def _may_go(batch: Sequence[Shape], at: int, uses: Counter[int]) -> bool:
    """Whether no set of the pool that is picked later comes after this one."""
    gone, times = batch[at], uses + Counter(row.topic_id for row in batch[: at + 1])
    for row in batch[at + 1 :]:
        before = (-gone.priority, gone.held, times[gone.topic_id])
        if row.role == "pool" and before < (-row.priority, row.held, times[row.topic_id]):
            return False
        times[row.topic_id] += 1
    return True
