"""The hierarchical model: its Markov chains, its parameters by name, its assessors.

Chains are laid out, started, run side by side, interrupted; parameters and assessors are written
down alike, however the model was fitted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qrowd.aggregation.confusion import grade_columns
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Array, Codes, Floats, Grades
from qrowd.data.chains import Chains, Likelihood, ParameterTable
from qrowd.data.details import Caution
from qrowd.data.judgements import Judgements
from qrowd.errors import DataWarning, ParameterError
from qrowd.kernel import threads
from qrowd.registry import spec_of

if TYPE_CHECKING:
    from qrowd.aggregation.kernels.gibbs import Crowd, Record, State

PARETO = 1.5
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
    # quick to go through: pairs with equally many judgements together, and topics taking turns,
    # for the next pair of a topic must wait for the last one
    by = np.lexsort((topic, degree))
    new = np.ones(len(by), np.bool_)
    new[1:] = (np.diff(degree[by]) != 0) | (np.diff(topic[by]) != 0)
    first = np.flatnonzero(new)
    turn = np.arange(len(by)) - np.repeat(first, np.diff(np.append(first, len(by))))
    turns = by[np.lexsort((topic[by], turn, degree[by]))]
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


# --- the start ------------------------------------------------------------------------------------


def start(layout: Layout, seed: int, chain: int) -> State:
    """Z from the vote, ties by coins; everything else from a wide distribution."""
    from qrowd.aggregation.kernels.gibbs import FEW, State

    random = np.random.Generator(np.random.Philox(key=[seed, chain]))
    size, members = layout.grades, max(int(layout.crowd.members.max()), 1)
    votes, gold = layout.judgements.votes[layout.order], layout.gold[layout.order]
    ahead = votes >= votes.max(axis=1, keepdims=True)
    voted = (ahead * (1 + random.random(votes.shape))).argmax(axis=1)
    z = np.where(gold >= 0, gold, voted).astype(np.int8)
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


def confusion_of(record: Record, kept: int) -> Floats:
    """The posterior mean of P(says h | is g), [assessor, g, h], over all sweeps that are kept."""
    assessors, size = record.accuracy.shape[2:]
    mean = record.confusion.sum(axis=0) / kept
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
    crowd = layout.crowd
    voted = np.flatnonzero(np.diff(crowd.starts))
    gold = crowd.gold[voted]
    pairs = layout.judgements.pairs
    names = (pairs.topic_names + " " + pairs.document_names)[layout.order[voted]]

    def work_out() -> Array:
        result = np.empty((len(record.accuracy), draws, len(voted)), np.float32)
        for chain in range(len(result)):
            for draw, sweep in enumerate(sweeps):
                chances = np.maximum(_answer_chances(record, chain, draw, sweep), _LEAST)
                of_votes = np.log(chances)[:, crowd.cell] * crowd.weight
                joint = np.add.reduceat(of_votes, crowd.starts[voted], axis=1)
                share = np.maximum(_shares(record, chain, sweep), _LEAST)
                joint += np.log(share)[crowd.topic[voted]].T
                joint[(gold >= 0) & (gold != np.arange(len(joint))[:, None])] = -np.inf
                result[chain, draw] = np.logaddexp.reduce(joint, axis=0)
        return result

    return Likelihood(sweeps, names, work_out)


def _answer_chances(record: Record, chain: int, draw: int, sweep: int) -> Floats:
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


# --- parameters and assessors, however the model was fitted -------------------------------------


def named_parameters(hyper: Floats, accuracy: Array, prevalence: Array, rows: Judgements) -> Chains:
    """The draws[chain, draw, ...] of all parameters, by the names that users know."""
    if not rows.scale.binary:
        return _graded(hyper, accuracy, prevalence, rows)
    populations = (("prevalence", 1), ("specificity", 0), ("sensitivity", 1))
    values: dict[str, Array] = {}
    for at, (name, grade) in enumerate(populations):
        values |= {f"phi_{name}": hyper[:, :, at, grade], f"kappa_{name}": hyper[:, :, at, 2]}
    values |= {"prevalence": prevalence[..., 0]}
    values |= {"specificity": accuracy[..., 0], "sensitivity": accuracy[..., 1]}
    axes = {"prevalence": ("topic",), "specificity": ("assessor",), "sensitivity": ("assessor",)}
    labels = {"topic": rows.topics.names, "assessor": rows.assessors.names}
    return Chains(values, axes, labels)


def _graded(hyper: Floats, accuracy: Array, prevalence: Array, rows: Judgements) -> Chains:
    grades = np.array([str(grade) for grade in rows.scale.grades], object)
    values: dict[str, Array] = {
        "phi_prevalence": hyper[:, :, 0, 1:-1],
        "kappa_prevalence": hyper[:, :, 0, -1],
        "phi": hyper[:, :, 1:, :-1],
        "kappa": hyper[:, :, 1:, -1],
        "prevalence": prevalence,
        "accuracy": accuracy,
    }
    axes = {
        "phi_prevalence": ("grade above the lowest",),
        "phi": ("grade", "said"),
        "kappa": ("grade",),
        "prevalence": ("topic", "grade above the lowest"),
        "accuracy": ("assessor", "grade"),
    }
    labels = {
        "topic": rows.topics.names,
        "assessor": rows.assessors.names,
        "grade": grades,
        "said": grades,
        "grade above the lowest": grades[1:],
    }
    return Chains(values, axes, labels)


def assessor_columns(
    rows: Judgements, posterior: Floats, confusion: Floats, parameters: ParameterTable
) -> dict[str, Array]:
    """Columns of the assessors' table: sensitivity and specificity with intervals where there are
    two grades; the expected number of judgements `n(g)` on true grade g and `p(h|g)`.
    """
    columns: dict[str, Array] = {}
    if rows.scale.binary:
        for name, code in (("sensitivity", 1), ("specificity", 0)):
            columns[name] = confusion[:, code, code]
            for edge in ("low", "high"):
                columns[f"{name} {edge}"] = parameters.of(name, edge)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    shares = [weight * posterior[rows.pair, code] for code in range(len(rows.scale))]
    judged = [np.bincount(rows.assessor, share, len(rows.assessors)) for share in shares]
    return columns | grade_columns(
        np.stack(judged, axis=1), confusion.transpose(0, 2, 1), rows.scale
    )


def warn_of_contrary(fitting: Fitting, confusion: Floats) -> None:
    """Caution where the judgements, by weight, would fit better with two grades' names swapped.

    Gold tells the grades apart.
    """
    rows = fitting.judgements
    weight = np.bincount(rows.assessor, rows.weight, len(rows.assessors))
    if (fitting.gold >= 0).any() or not weight.sum():
        return
    mean = np.average(confusion, axis=0, weights=weight)
    right = np.diag(mean)
    swapped = mean + mean.T
    if (right[:, None] + right[None, :] < swapped - 1e-9).any():
        caution = Caution("by weight, the judgements speak against the grades found")
        fitting.notes.append(caution)
        warnings.warn(f"{spec_of(fitting.method)}: {caution}", DataWarning, stacklevel=3)
