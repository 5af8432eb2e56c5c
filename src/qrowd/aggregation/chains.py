"""Markov chains of the hierarchical model: laid out, started, run side by side, interrupted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qrowd.aggregation.hierarchy import PARETO, named_parameters
from qrowd.data.arrays import Array, Codes, Floats, Grades, Offsets
from qrowd.data.chains import Chains, Likelihood, ParameterTable
from qrowd.data.judgements import Judgements
from qrowd.errors import ParameterError
from qrowd.kernel import threads

if TYPE_CHECKING:
    from qrowd.aggregation.kernels.gibbs import Crowd, Record, State


MOST_BYTES = 16_000_000_000  # of draws that are kept
MOST_RHAT = 1.01
_NAMED = 3  # parameters that did not mix, the worst first
_LEAST = 1e-30


@dataclass(frozen=True, eq=False)
class Layout:
    """The judgements as the kernel wants them; `order` lists the pairs that take part."""

    judgements: Judgements
    gold: Grades
    order: Codes
    crowd: Crowd

    @property
    def grades(self) -> int:
        """How many grades there are."""
        return len(self.judgements.scale)


def lay_out(judgements: Judgements, gold: Grades, kappa_min: float) -> Layout:
    """Pairs without votes and without gold are left out: they tell nothing of anything."""
    from qrowd.aggregation.kernels.gibbs import Crowd

    size, weight = len(judgements.scale), judgements.weight
    pairs = np.flatnonzero((judgements.votes.sum(axis=1) > 0) | (gold >= 0))
    degree, topic = np.diff(judgements.pair_starts)[pairs], judgements.pairs.topic[pairs]
    turns = _taking_turns(degree, topic)
    order, degree = pairs[turns], degree[turns]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree)])
    rows = np.arange(starts[-1]) + np.repeat(judgements.pair_starts[order] - starts[:-1], degree)
    crowd = Crowd(
        starts,
        (judgements.assessor[rows] * np.int32(size) + judgements.grade[rows]).astype(np.uint32),
        np.ones(len(rows)) if weight is None else weight[rows],
        topic[turns],
        gold[order],
        np.array([len(judgements.topics)] + [len(judgements.assessors)] * size),
        bool((gold >= 0).any()),
        kappa_min,
        PARETO,
    )
    return Layout(judgements, gold, order.astype(np.int32), crowd)


def _taking_turns(degree: Offsets, topic: Codes) -> Offsets:
    """An order of pairs that is quick to go through: those with equally many judgements together,
    and topics taking turns, for the next pair of a topic must wait for the last one.
    """
    by = np.lexsort((topic, degree))
    new = np.ones(len(by), np.bool_)
    new[1:] = (np.diff(degree[by]) != 0) | (np.diff(topic[by]) != 0)
    first = np.flatnonzero(new)
    turn = np.arange(len(by)) - np.repeat(first, np.diff(np.append(first, len(by))))
    return np.asarray(by[np.lexsort((topic[by], turn, degree[by]))])


# --- the start ------------------------------------------------------------------------------------


def start(layout: Layout, seed: int, chain: int) -> State:
    """Z from the vote, ties by coins; everything else from a wide distribution."""
    from qrowd.aggregation.kernels.gibbs import FEW, State

    random = np.random.Generator(np.random.Philox(key=[seed, chain]))
    size, members = layout.grades, max(int(layout.crowd.members.max()), 1)
    z = _voted(layout, random)
    counts = _counts(layout, z, members)
    phi = random.dirichlet(np.ones(size), size + 1)
    phi[1:] = (phi[1:] + np.eye(size)) / 2
    return State(
        random.integers(2**64, size=1, dtype=np.uint64),
        z,
        phi,
        max(1.0, layout.crowd.kappa_min) * np.exp(random.uniform(0, np.log(100), size + 1)),
        np.ones((size + 1, size + 1)),
        counts,
        counts.reshape(size + 1, -1),
        np.zeros_like(counts),
        np.zeros((size, members * size)),
        np.zeros(size),
        np.zeros((size + 1, members)),
        np.zeros((size + 1, members)),
        np.zeros(FEW, np.int64),
    )


def _voted(layout: Layout, random: np.random.Generator) -> Grades:
    """The grade that most voted for; gold where it is known."""
    votes = layout.judgements.votes[layout.order]
    coins = random.random(votes.shape)
    ahead = votes >= votes.max(axis=1, keepdims=True)
    gold = layout.gold[layout.order]
    return np.where(gold >= 0, gold, (ahead * (1 + coins)).argmax(axis=1)).astype(np.int8)


def _counts(layout: Layout, z: Grades, members: int) -> Floats:
    """counts[population, member, grade] for this z."""
    crowd, size = layout.crowd, layout.grades
    cells = members * size
    at = np.repeat(1 + z.astype(np.int64), np.diff(crowd.starts)) * cells + crowd.cell
    counts = np.bincount(at, crowd.weight, (1 + size) * cells).astype(np.float64)
    at = crowd.topic.astype(np.int64) * size + z
    counts[:cells] = np.bincount(at, minlength=cells)
    return counts.reshape(1 + size, members, size)


def blank(layout: Layout, chains: int, sweeps: int, warmup: int, draws: int) -> Record:
    """An empty record of all chains, one after the other along each array's first axis."""
    from qrowd.aggregation.kernels.gibbs import Record

    rows, size, kept = layout.judgements, layout.grades, sweeps - warmup
    cells, draws = len(rows.assessors) * size, min(draws, kept)
    needed = chains * (kept * 4 * (cells + len(rows.topics) * size) + draws * len(rows.pairs))
    if needed > MOST_BYTES:
        raise ParameterError(
            f"hier-bayes: this many sweeps, draws and chains would take {needed / 1e9:.0f} GB of "
            f"memory; ask for fewer, so that it is at most {MOST_BYTES / 1e9:.0f} GB"
        )
    return Record(
        np.zeros((chains, sweeps, size + 1, size + 1)),
        np.zeros((chains, kept, len(rows.assessors), size), np.float32),
        np.zeros((chains, kept, len(rows.topics), size - 1), np.float32),
        np.zeros((chains, draws, len(layout.order)), np.int8),
        np.zeros((chains, draws if size > 2 else 0, size, cells), np.float32),
        np.zeros((chains, len(layout.order), size)),
        np.zeros((chains, size, cells)),
    )


# --- running --------------------------------------------------------------------------------------


def side_by_side(
    chains: int,
    sweeps: int,
    block: int,
    work: Callable[[int, int, int], None],
    report: Callable[[int], None],
) -> tuple[list[int], bool]:
    """`work(chain, first, last)` for every chain, a block of sweeps at a time, on all threads.

    `report(sweeps)` hears how many sweeps all chains have done. An interrupt (of the keyboard) ends
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
                    report(heard)
        except KeyboardInterrupt:
            # what runs runs to its end, and what has not begun is forgotten
            for future, chain in going.items():
                if not future.cancel():
                    future.result()
                    done[chain] = min(done[chain] + block, sweeps)
            return done, True
    return done, False


# --- what they leave behind -----------------------------------------------------------------------


def chains_of(record: Record, rows: Judgements, warmup: int, done: int) -> Chains:
    """The draws of all parameters after the warm-up, by name."""
    kept = done - warmup
    accuracy, prevalence = record.accuracy[:, :kept], record.prevalence[:, :kept]
    return named_parameters(record.hyper[:, warmup:done], accuracy, prevalence, rows)


def confusion_of(record: Record, done: list[int], warmup: int) -> Floats:
    """The posterior mean of P(says h | is g), [assessor, g, h]."""
    assessors, size = record.accuracy.shape[2:]
    mean = record.confusion.sum(axis=0) / sum(sweeps - warmup for sweeps in done)
    return np.asarray(mean.reshape(size, assessors, size).transpose(1, 0, 2))


def unmixed(parameters: ParameterTable, kept: int) -> str:
    """Which parameters did not mix, in words; nothing if all did."""
    rhat = parameters["rhat"]
    bad = np.flatnonzero(rhat > MOST_RHAT)
    if not len(bad):
        return ""
    worst = bad[np.argsort(-rhat[bad], kind="stable")][:_NAMED]
    named = ", ".join(
        f"{parameters.parameter[at]}{' of ' * bool(parameters.name[at])}{parameters.name[at]} "
        f"({rhat[at]:.3f})"
        for at in worst
    )
    others = f" and {len(bad) - len(worst)} more" if len(bad) > len(worst) else ""
    return (
        f"R-hat above {MOST_RHAT} after {kept} draws per chain for {named}{others} of "
        f"{len(parameters)} parameters"
    )


def likelihood_of(record: Record, layout: Layout) -> Likelihood:
    """At the draws of relevance that were kept, worked out when it is asked for.

    A pair's grade is summed out; where gold is known, it is that grade.
    """
    kept, draws = record.accuracy.shape[1], record.z.shape[1]
    sweeps = -(-np.arange(1, draws + 1) * kept // draws) - 1  # at which z was written down
    voted = np.flatnonzero(np.diff(layout.crowd.starts))
    pairs = layout.judgements.pairs
    names = (pairs.topic_names + " " + pairs.document_names)[layout.order[voted]]

    def work_out() -> Array:
        result = np.empty((len(record.accuracy), draws, len(voted)), np.float32)
        for chain in range(len(result)):
            for draw, sweep in enumerate(sweeps):
                said, share = _said(record, chain, draw, sweep), _shares(record, chain, sweep)
                result[chain, draw] = _log_likelihood(layout, voted, said, share)
        return result

    return Likelihood(sweeps, names, work_out)


def _said(record: Record, chain: int, draw: int, sweep: int) -> Floats:
    """P(says h | is c) as [c, assessor * grades + h]."""
    if len(record.said[chain]):
        return np.asarray(record.said[chain, draw], np.float64)
    no, yes = record.accuracy[chain, sweep].T.astype(np.float64)
    rows = [np.stack([no, 1 - no], axis=1), np.stack([1 - yes, yes], axis=1)]
    return np.stack(rows).reshape(2, -1)


def _shares(record: Record, chain: int, sweep: int) -> Floats:
    """Prevalence as [topic, grade]."""
    upper = record.prevalence[chain, sweep].astype(np.float64)
    return np.concatenate([1 - upper.sum(axis=1, keepdims=True), upper], axis=1)


def _log_likelihood(layout: Layout, voted: Offsets, said: Floats, share: Floats) -> Floats:
    crowd, gold = layout.crowd, layout.crowd.gold[voted]
    of_votes = np.log(np.maximum(said, _LEAST))[:, crowd.cell] * crowd.weight
    joint = np.add.reduceat(of_votes, crowd.starts[voted], axis=1)
    joint += np.log(np.maximum(share, _LEAST))[crowd.topic[voted]].T
    joint[(gold >= 0) & (gold != np.arange(len(joint))[:, None])] = -np.inf
    return np.asarray(np.logaddexp.reduce(joint, axis=0))
