"""EM over assessors' confusion matrices: the state that Dawid-Skene's steps work on."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Array, Codes, Floats, Grades, over
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable
from qrowd.data.scale import Scale
from qrowd.errors import InputError
from qrowd.kernel import BLOCKS, in_blocks

FEWEST, MOST = 4, 16
LEAST_ROWS = 16_000  # of a block: below, calling it takes as long as its work
LEAST_CELLS = 1000


class ConfusionEM:
    """Posterior, parameters and expected counts; `m_step` and `e_step` go from one to the other.

    `cell` is whose matrix a judgement belongs to (the assessor, or the assessor on a topic),
    `owner` the assessor of each cell, `group` which prior a pair has; `pseudo[said, true]`, or one
    such block per cell, are counts added to the matrices, `smoothing` one added to the priors.
    """

    def __init__(
        self,
        judgements: Judgements,
        gold: Grades,
        *,
        cell: Codes | None = None,
        owner: Codes | None = None,
        group: Codes | None = None,
        pseudo: Floats | None = None,
        smoothing: float = 0.0,
        hard: bool = False,
    ) -> None:
        size = len(judgements.scale)
        cell = judgements.assessor if cell is None else cell
        everybody = np.arange(len(judgements.assessors), dtype=np.int32)
        self.owner: Codes = everybody if owner is None else owner
        self.size, self.cells = size, len(self.owner)
        self.judgements, self.gold, self.hard, self.smoothing = judgements, gold, hard, smoothing
        self.packed = _packed(cell, judgements.grade, size)
        self.group = group
        groups = 1 if group is None else len(judgements.topics)
        self.pseudo = np.zeros((size, size)) if pseudo is None else pseudo
        self.posterior: Floats = np.full((len(judgements.pairs), size), 1.0 / size)
        self.log_prior: Floats = np.full((groups, size), -np.log(size))
        self.log_said: Floats = np.full((self.cells * size, size), -np.log(size))
        self._cuts = _cuts(judgements, self.log_said.size)
        self._cell_blocks = min(self.cells // LEAST_CELLS + 1, BLOCKS)
        self._counts = np.zeros((len(self._cuts), *self.log_said.shape))
        self._prior_counts = np.zeros((len(self._cuts), groups, size))
        self.moved = np.inf
        if size == 2:
            self._said_odds, self._prior_odds = np.zeros(self.cells * 2), np.zeros(groups)
            self._times = _times(self.packed, judgements.weight, self.cells * 2)
            voted = np.diff(judgements.pair_starts) > 0
            where = np.zeros(len(voted), np.int32) if group is None else group
            self._pairs_of_group = _times(where, voted, groups)

    def count(self, posterior: Floats) -> None:
        """Start from a posterior: its expected counts."""
        self.posterior[:] = posterior
        self.moved = 0.0
        in_blocks(lambda number, _: self._count(number), len(self._cuts), len(self._cuts))

    def _count(self, number: int) -> None:
        """The expected counts of one block, added in the order of pairs and judgements."""
        lo, hi = self._cuts[number]
        starts = self.judgements.pair_starts[lo : hi + 1]
        rows, votes = slice(starts[0], starts[-1]), np.diff(starts)
        share, weight = self.posterior[lo:hi], self.judgements.weight
        where = np.zeros(hi - lo, np.int32) if self.group is None else self.group[lo:hi]
        for true in range(self.size):
            of_votes = np.repeat(share[:, true], votes)
            if weight is not None:
                of_votes *= weight[rows]
            self._counts[number, :, true] = _times(self.packed[rows], of_votes, len(self.log_said))
            of_pairs = np.where(votes > 0, share[:, true], 0.0)
            self._prior_counts[number, :, true] = _times(where, of_pairs, len(self.log_prior))

    def e_step(self) -> float:
        """Posterior and expected counts from the parameters; the log-likelihood of these.

        In blocks of pairs, each of which has counts of its own. Two grades have a kernel of their
        own, on log odds: it takes two thirds of the time.
        """
        from qrowd.aggregation.kernels.em import base_and_odds, e_step, e_step_binary

        rows = self.judgements
        data = (rows.pair_starts, self.packed, rows.weight, self.group, self.gold)
        binary = self.size == 2 and not self.hard
        base = 0.0
        if binary:  # log odds of the parameters; what all pairs share of the log-likelihood
            times, pairs = self._times, self._pairs_of_group
            base = base_and_odds(0, len(pairs), self.log_prior, pairs, self._prior_odds)
            parts = in_blocks(
                lambda lo, hi: base_and_odds(lo, hi, self.log_said, times, self._said_odds),
                len(times),
                self._cell_blocks,
            )
            base += float(sum(parts))

        def block(number: int, _: int) -> tuple[float, float]:
            lo, hi = self._cuts[number]
            counts, prior_counts = self._counts[number], self._prior_counts[number]
            counts.fill(0.0)
            prior_counts.fill(0.0)
            out = (self.posterior, counts, prior_counts)
            if binary:
                return e_step_binary(lo, hi, *data, self._prior_odds, self._said_odds, *out)
            sized = (0.0,) * self.size
            return e_step(lo, hi, sized, *data, self.log_prior, self.log_said, self.hard, *out)

        done = in_blocks(block, len(self._cuts), len(self._cuts))
        self.moved = max((moved for _, moved in done), default=0.0)
        return base + float(sum(part for part, _ in done))

    def m_step(self) -> float:
        """Parameters from the expected counts; the log of their prior density (0 if flat)."""
        from qrowd.aggregation.kernels.em import m_step

        prior = self._prior_counts.sum(axis=0) + self.smoothing
        total = prior.sum(axis=1, keepdims=True)
        share = np.divide(prior, total, out=np.full_like(prior, 1 / self.size), where=total > 0)
        self.log_prior = np.log(share, out=np.full_like(share, -np.inf), where=share > 0)
        parts = in_blocks(
            lambda lo, hi: m_step(lo, hi, self.size, self._counts, self.pseudo, self.log_said),
            self.cells,
            self._cell_blocks,
        )
        flat = self.smoothing == 0
        return float(sum(parts)) + (0 if flat else self.smoothing * float(self.log_prior.sum()))

    @property
    def prior(self) -> Floats:
        """prior[group, grade] of the latest M step."""
        return np.exp(self.log_prior)

    @property
    def group_counts(self) -> Floats:
        """Expected counts[group, true] of pairs under the present posterior."""
        return np.asarray(self._prior_counts.sum(axis=0))

    @property
    def cell_counts(self) -> Floats:
        """Expected counts[cell, said, true] under the present posterior."""
        total = self._counts.sum(axis=0)
        return np.asarray(total.reshape(self.cells, self.size, self.size))

    @property
    def counts(self) -> Floats:
        """Expected counts[assessor, said, true] under the present posterior."""
        result = np.zeros((len(self.judgements.assessors), self.size, self.size))
        np.add.at(result, self.owner, self.cell_counts)
        return result


def _cuts(judgements: Judgements, table: int) -> list[tuple[int, int]]:
    """Ranges of pairs with nearly equally many judgements, for blocks that run side by side.

    Each block fills a table of counts of this size: few blocks where tables are large.
    """
    blocks = min(max(len(judgements) // (8 * max(table, 1)), FEWEST), MOST)
    blocks = max(1, min(blocks, len(judgements) // LEAST_ROWS))
    rows = [len(judgements) * block // blocks for block in range(1, blocks)]
    inner = np.searchsorted(judgements.pair_starts, rows).tolist()
    return list(itertools.pairwise([0, *inner, len(judgements.pairs)]))


def _packed(cell: Codes, grade: Grades, size: int) -> npt.NDArray[np.uint32]:
    """One number per judgement: cell * size + grade."""
    result = cell.astype(np.uint32)
    result *= np.uint32(size)
    result += grade.view(np.uint8)
    return result


def _times(codes: Array, weight: Array | None, size: int) -> Floats:
    """How often (with what weight) each code occurs."""
    return np.bincount(codes, weight, size).astype(np.float64)


def confusion_columns(counts: Floats, scale: Scale) -> dict[str, Array]:
    """Columns of an assessors' table from counts[assessor, said, true]:

    `sensitivity` and `specificity` (binary scales), `n(g)`, the expected number of judgements on
    pairs of true grade g, and `p(h|g)`, the share of these that said h.
    """
    of_true = counts.sum(axis=1)
    p = over(counts, of_true[:, None])
    columns: dict[str, Array] = {}
    if scale.binary:
        columns |= {"sensitivity": p[:, 1, 1], "specificity": p[:, 0, 0]}
    return columns | grade_columns(of_true, p, scale)


def grade_columns(judged: Floats, p: Floats, scale: Scale) -> dict[str, Array]:
    """The columns `n(g)` of judged[assessor, true] and `p(h|g)` of p[assessor, said, true]."""
    columns = {f"n({grade})": judged[:, code] for code, grade in enumerate(scale.grades)}
    for true, grade in enumerate(scale.grades):
        columns |= {f"p({h}|{grade})": p[:, answer, true] for answer, h in enumerate(scale.grades)}
    return columns


def earlier_counts(fitting: Fitting, trust: float) -> Floats:
    """Pseudo-counts[assessor, said, true] from `Given(priors=...)`, each counting `trust`."""
    rows, priors = fitting.judgements, fitting.given.priors
    if priors is None:
        return np.zeros((len(rows.assessors), len(rows.scale), len(rows.scale)))
    return trust * counts_of_table(priors, rows.assessors, rows.scale)


def counts_of_table(table: AssessorTable, assessors: Index, scale: Scale) -> Floats:
    """Pseudo-counts[assessor, said, true] from an assessors' table of an earlier fit.

    Needs the columns `p(h|g)`, or `sensitivity` and `specificity`, or `accuracy`; `n(g)` or
    `judgements` say how much was seen of each assessor. Who is not in the table gets zeros.
    """
    p = _shares_of_table(table, scale)
    size = len(scale)
    if all(f"n({grade})" in table.columns for grade in scale.grades):
        seen = np.stack([table[f"n({grade})"] for grade in scale.grades], axis=1)
    elif "judgements" in table.columns:
        seen = np.repeat(table["judgements"][:, None] / size, size, axis=1)
    else:
        raise InputError("an assessors' table needs a column judgements to serve as a prior")
    counts = np.nan_to_num(p * seen[:, None, :])
    at = table.assessors.find(assessors)
    return np.where((at >= 0)[:, None, None], counts[at], 0.0)


def _shares_of_table(table: AssessorTable, scale: Scale) -> Floats:
    columns, grades, size = table.columns, scale.grades, len(scale)
    p = np.zeros((len(table), size, size))
    if all(f"p({h}|{g})" in columns for g in grades for h in grades):
        for true, g in enumerate(grades):
            for answer, h in enumerate(grades):
                p[:, answer, true] = columns[f"p({h}|{g})"]
        return p
    if scale.binary and "sensitivity" in columns and "specificity" in columns:
        right = np.stack([columns["specificity"], columns["sensitivity"]], axis=1)
    elif "accuracy" in columns:
        right = np.repeat(np.asarray(columns["accuracy"])[:, None], size, axis=1)
    else:
        wanted = f"p({grades[0]}|{grades[0]}) ..., or sensitivity and specificity, or accuracy"
        raise InputError(f"an assessors' table needs the columns {wanted} to serve as a prior")
    p[:] = (1 - right[:, None, :]) / (size - 1)
    p[:, np.arange(size), np.arange(size)] = right
    return p
