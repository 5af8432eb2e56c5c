"""Votes weighted by skills that a few adversaries cannot shift."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.ballot import Ballot
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Array, Floats, over
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.errors import UsageError
from qrowd.registry import method, param

MOST = 3000  # assessors, of whom each two are compared


@method("mmsr", paper="Ma & Olshevsky 2020", uses=("gold",), shares=True)
class MMSR:
    r"""Matrix mean-subsequence-reduced: skills from agreement of each two assessors, robustly.

    With $a_{jk}$ the share of shared pairs on which $j$ and $k$ agree, of $K$ grades,

    $$E\Bigl[\frac{K a_{jk} - 1}{K - 1}\Bigr] = s_j s_k$$

    if somebody of skill $s$ is right with probability $(1 + (K - 1) s) / K$, and otherwise says
    each other grade as often. The vector $s$ is fitted to this matrix by turns, an entry being the
    mean of what each colleague implies, without the $F$ largest and the $F$ smallest above and
    below the present one ($F$ is half of the fewest colleagues that anybody has, less one). Signs
    come from the matrix's leading eigenvector. Votes have the weight
    $\log \frac{(K - 1) p_j}{1 - p_j}$. Gold overwrites the output on its pairs.

    Skills agree with crowd-kit's, which takes signs from a graph that needs more than 16 GB of
    memory for crowds of a few hundred.

    >>> import qrowd as q
    >>> made = q.simulate(topics=2, documents=40, assessors=7, votes=6, seed=1)
    >>> merged = q.MMSR().fit(made.judgements)
    >>> bool((merged.qrels().grade == made.truth.grade).mean() > 0.8)
    True

    Reference: Ma & Olshevsky, Adversarial crowdsourcing through robust rank-one matrix completion,
    2020.
    """

    tol: float = param(1e-10, "stop when no product of skills moves by more", above=0)
    max_iter: int = param(10_000, "maximum number of iterations", at_least=1)
    clamp: bool = param(True, "use the gold grade of pairs that have one")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The weighted share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        single, size = fitting.judgements.one_each(), len(fitting.judgements.scale)
        matrix, shared = _agreement(single, size)
        tasks, skill = max(len(np.unique(single.pair)), 1), np.ones(len(matrix))
        trimmed = max(int(shared.sum(axis=0).min(initial=len(matrix))) // 2 - 1, 0)
        target, other = np.abs(matrix), np.ones(len(matrix))
        for _ in fitting.iterations(self.max_iter):
            before = np.outer(skill, other)
            other = _completed(target, shared, skill, other, trimmed, tasks)
            skill = _completed(target, shared, other, skill, trimmed, tasks)
            moved = float(np.abs(np.outer(skill, other) - before).max(initial=0))
            fitting.gain(-moved)
            fitting.settled = moved < self.tol
        if skill.any() and other.any():
            skill = skill / np.sqrt(np.linalg.norm(skill) / np.linalg.norm(other))
        skill = skill * _signs(matrix)
        edge = 1 / np.sqrt(tasks)
        skill = np.clip(skill, -1 / max(size - 1, 1) + edge, max(1 - edge, edge))
        right = np.clip((skill * (size - 1) + 1) / size, 1e-9, 1 - 1e-9)
        weight = np.log(right * max(size - 1, 1) / (1 - right))
        shares = Ballot(fitting.judgements, fitting.gold).shares(weight)
        return fitting.merged(fitting.clamped(shares), {"weight": weight, "skill": skill})


def _agreement(single: Judgements, size: int) -> tuple[Floats, Array]:
    """How far each two agree beyond chance, 0 where they share nothing; and who shares a pair."""
    from scipy.sparse import csr_array

    n = len(single.assessors)
    if n > MOST:
        raise UsageError(f"mmsr compares each two of {n} assessors, which is too many ({MOST})")
    shape = (n, len(single.pairs))
    common, same = np.zeros((n, n)), np.zeros((n, n))
    judged = csr_array((np.ones(len(single)), (single.assessor, single.pair)), shape=shape)
    common += (judged @ judged.T).toarray()
    for grade in range(size):
        rows = single.grade == grade
        where = (single.assessor[rows], single.pair[rows])
        of_grade = csr_array((np.ones(int(rows.sum())), where), shape=shape)
        same += (of_grade @ of_grade.T).toarray()
    np.fill_diagonal(common, 0)
    agreed = over(size * same - common, common * max(size - 1, 1), 0.0)
    return agreed, common > 0


def _completed(
    target: Floats, shared: Array, by: Floats, now: Floats, trimmed: int, tasks: int
) -> Floats:
    """Each one's skill as colleagues imply it, without the outermost."""
    result = now.copy()
    for j in range(len(now)):
        implied = np.sort(target[shared[:, j], j] / np.maximum(by[shared[:, j]], 1e-12))
        low = min(trimmed, int((implied < now[j]).sum()))
        high = min(trimmed, int((implied > now[j]).sum()))
        kept = implied[low : len(implied) - high]
        if len(kept):
            result[j] = max(float(kept.mean()), 1e-12) if kept.any() else 1 / np.sqrt(tasks)
    return result


def _signs(matrix: Floats) -> Floats:
    """Who agrees with most, and who with the others."""
    if not matrix.any():
        return np.ones(len(matrix))
    leading = np.linalg.eigh(matrix)[1][:, -1]
    signs = np.where(leading >= 0, 1.0, -1.0)
    return signs if leading.sum() >= 0 else -signs
