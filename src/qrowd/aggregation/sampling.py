"""Markov chains of the hierarchical model: laid out, started, run side by side, interrupted."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Grades, Mask, Offsets
from qrowd.data.judgements import Judgements
from qrowd.kernel import threads

if TYPE_CHECKING:
    from qrowd.aggregation.kernels.gibbs import Crowd, Record, State

PARETO = 1.5
_NONE = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Layout:
    """The judgements as the kernel wants them. `order` lists the pairs that take part: first the
    `free` ones, those with equally many judgements together, topics taking turns; then the known.
    """

    judgements: Judgements
    gold: Grades
    order: Codes
    free: int
    crowd: Crowd

    @property
    def grades(self) -> int:
        """How many grades there are."""
        return len(self.judgements.scale)


def lay_out(judgements: Judgements, gold: Grades, kappa_min: float) -> Layout:
    """Pairs without votes and without gold are left out: they tell nothing of anything."""
    from qrowd.aggregation.kernels.gibbs import Crowd

    size, weight = len(judgements.scale), judgements.weight
    order, free = _ordered(judgements, gold)
    first, at, rows = _columns(judgements, order[:free])
    cell: Codes = judgements.assessor * np.int32(size) + judgements.grade
    place = np.zeros(len(judgements.pairs), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    by_cell = np.argsort(cell, kind="stable")
    by_cell = by_cell[_takes_part(judgements, gold)[judgements.pair[by_cell]]]
    cells = len(judgements.assessors) * size
    counts = np.bincount(cell[by_cell], minlength=cells)
    of_cell = _NONE if weight is None else weight[by_cell]
    crowd = Crowd(
        first,
        at,
        cell[rows],
        _NONE if weight is None else weight[rows],
        judgements.pairs.topic[order],
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        place[judgements.pair[by_cell]],
        of_cell,
        np.bincount(cell[by_cell], None if weight is None else of_cell, cells).astype(np.float64),
        kappa_min,
        PARETO,
    )
    return Layout(judgements, gold, order, free, crowd)


def _takes_part(judgements: Judgements, gold: Grades) -> Mask:
    return np.asarray((judgements.votes.sum(axis=1) > 0) | (gold >= 0))


def _ordered(judgements: Judgements, gold: Grades) -> tuple[Codes, int]:
    """The pairs that take part, in the kernel's order, and how many of them are free."""
    pairs = np.flatnonzero(_takes_part(judgements, gold))
    degree = np.diff(judgements.pair_starts)[pairs]
    topic = judgements.pairs.topic[pairs]
    known: Mask = np.asarray(gold[pairs] >= 0)
    by_topic = np.lexsort((topic, degree, known))
    columns = (known[by_topic], degree[by_topic], topic[by_topic])
    turn = np.empty(len(pairs), np.int64)
    turn[by_topic] = _turns(*columns)
    order = np.lexsort((topic, turn, degree, known))
    return pairs[order].astype(np.int32), int((~known).sum())


def _turns(*columns: Array) -> Offsets:
    """The position of each row in its group of equal, adjacent rows."""
    new = np.ones(len(columns[0]), np.bool_)
    if len(new):
        new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    starts = np.flatnonzero(new)
    return np.arange(len(new)) - np.repeat(starts, np.diff(np.append(starts, len(new))))


def _columns(judgements: Judgements, pairs: Codes) -> tuple[Offsets, Offsets, Offsets]:
    """Where each group of equally many judgements starts, among pairs and among rows; the rows."""
    starts = judgements.pair_starts
    degree = np.diff(starts)[pairs]
    edges = np.flatnonzero(np.diff(degree)) + 1
    first = np.concatenate([[0], edges, [len(pairs)]] if len(pairs) else [[0]]).astype(np.int64)
    depth = degree[first[:-1]] if len(pairs) else np.zeros(0, np.int64)
    at = np.concatenate([[0], np.cumsum(np.diff(first) * depth)]).astype(np.int64)
    parts = [
        (starts[pairs[lo:hi]] + np.arange(deep)[:, None]).ravel()
        for (lo, hi), deep in zip(itertools.pairwise(first), depth, strict=True)
    ]
    return first, at, np.concatenate([np.zeros(0, np.int64), *parts])


# --- the start ------------------------------------------------------------------------------------


def start(layout: Layout, seed: int, chain: int) -> State:
    """Z from the vote, ties by coins; everything else from a wide distribution."""
    from qrowd.aggregation.kernels.gibbs import FEW, State

    random = np.random.Generator(np.random.Philox(key=[seed, chain]))
    rows, size = layout.judgements, layout.grades
    z = _voted(layout, random)
    counts, topic_counts = _counts(layout, z)
    members = max(len(rows.assessors), len(rows.topics), 1)
    phi = random.dirichlet(np.ones(size), size + 1)
    phi[1:] = (phi[1:] + np.eye(size)) / 2
    return State(
        random.integers(2**64, size=1, dtype=np.uint64),
        z,
        phi,
        max(1.0, layout.crowd.kappa_min) * np.exp(random.uniform(0, np.log(100), size + 1)),
        np.ones((size + 1, size + 1)),
        counts,
        topic_counts,
        np.zeros((size, len(rows.assessors) * size)),
        np.zeros((len(rows.topics), size)),
        np.ones((size, layout.free)),
        np.zeros((size + 1, members)),
        np.zeros((size + 1, members)),
        np.zeros(FEW, np.int64),
    )


def _voted(layout: Layout, random: np.random.Generator) -> Grades:
    """The grade that most voted for, in the kernel's order; gold where it is known."""
    votes = layout.judgements.votes[layout.order]
    coins = random.random(votes.shape)
    ahead = votes >= votes.max(axis=1, keepdims=True)
    gold = layout.gold[layout.order]
    return np.where(gold >= 0, gold, (ahead * (1 + coins)).argmax(axis=1)).astype(np.int8)


def _counts(layout: Layout, z: Grades) -> tuple[Floats, Floats]:
    """counts[grade, cell] and topic_counts[topic, grade] for this z."""
    crowd, size = layout.crowd, layout.grades
    cells = len(crowd.total)
    cell = np.repeat(np.arange(cells), np.diff(crowd.cell_starts))
    weight = crowd.cell_weight if len(crowd.cell_weight) else np.ones(len(cell))
    at = z[crowd.cell_pairs].astype(np.int64) * cells + cell
    counts = np.bincount(at, weight, size * cells).astype(np.float64).reshape(size, cells)
    topics = len(layout.judgements.topics)
    at = crowd.topic.astype(np.int64) * size + z
    return counts, np.bincount(at, minlength=topics * size).reshape(topics, size).astype(np.float64)


def blank(layout: Layout, chains: int, sweeps: int, warmup: int, draws: int) -> Record:
    """An empty record of all chains, one after the other along each array's first axis."""
    from qrowd.aggregation.kernels.gibbs import Record

    rows, size, kept = layout.judgements, layout.grades, sweeps - warmup
    cells = len(rows.assessors) * size
    return Record(
        np.zeros((chains, sweeps, size + 1, size + 1)),
        np.zeros((chains, kept, len(rows.assessors), size), np.float32),
        np.zeros((chains, kept, len(rows.topics), size - 1), np.float32),
        np.zeros((chains, min(draws, kept), len(layout.order)), np.int8),
        np.zeros((chains, size - 1, layout.free)),
        np.zeros((chains, size if size > 2 else 0, cells)),
    )


def one_of(record: Record, chain: int) -> Record:
    """One chain's part of the record, to be written to."""
    return type(record)(*(part[chain] for part in record))


# --- running --------------------------------------------------------------------------------------


def side_by_side(
    chains: int,
    sweeps: int,
    block: int,
    work: Callable[[int, int, int], None],
    told: Callable[[int], None],
) -> tuple[list[int], bool]:
    """`work(chain, first, last)` for every chain, a block of sweeps at a time, on all threads.

    `told(sweeps)` hears how many sweeps all chains have done. An interrupt (of the keyboard) ends
    all chains after the block they are in. Returns the sweeps that each has done, and whether.
    """
    done, heard = [0] * chains, 0
    with ThreadPoolExecutor(min(threads(), chains)) as pool:
        going: dict[Future[None], int] = {}

        def go_on(chain: int) -> None:
            if done[chain] < sweeps:
                last = min(done[chain] + block, sweeps)
                going[pool.submit(work, chain, done[chain], last)] = chain

        try:
            for chain in range(chains):
                go_on(chain)
            while going:
                for future in wait(going, return_when=FIRST_COMPLETED).done:
                    future.result()
                    chain = going.pop(future)
                    done[chain] = min(done[chain] + block, sweeps)
                    go_on(chain)
                if min(done) > heard:
                    heard = min(done)
                    told(heard)
        except KeyboardInterrupt:
            _finish(going, done, sweeps, block)
            return done, True
    return done, False


def _finish(going: dict[Future[None], int], done: list[int], sweeps: int, block: int) -> None:
    """Let what runs run to its end, and forget what has not begun."""
    for future, chain in going.items():
        if not future.cancel():
            future.result()
            done[chain] = min(done[chain] + block, sweeps)
