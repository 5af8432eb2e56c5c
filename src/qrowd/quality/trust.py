r"""TurkRank: trust by PageRank with priors over agreement (Piazzon 2019, 2.5.4).

$$ \pi(v) = (1-\beta) \sum_u p(v|u)\,\pi(u) + \beta\,p_v $$

where $p(v|u)$ is the number of pairs on which u and v gave the same grade, divided by the sum of it
over all v. Gold, where given, is one more node that has the whole prior; without it the prior is
uniform. No matrix of assessors is made: one step is a product with the judgements and back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.data.arrays import Array, Floats
from qrowd.data.judgements import Judgements


@dataclass(frozen=True, eq=False)
class TurkRanked:
    """The trust of each assessor and of gold (0 without gold); together they sum to 1."""

    assessors: Floats
    gold: float
    iterations: int
    converged: bool


def turkrank(
    judgements: Judgements,
    hits: Array | None = None,
    *,
    beta: float = 0.3,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> TurkRanked:
    """Trust of every assessor; `hits` says on how many gold pairs each agrees with gold.

    An assessor may judge a pair once (`judgements.one_each()`). Who agrees with nobody passes
    trust on by the prior.
    """
    from scipy.sparse import csr_array

    n, size = len(judgements.assessors), len(judgements.scale)
    cells = judgements.pair.astype(np.int64) * size + judgements.grade
    shape = (n, len(judgements.pairs) * size)
    said = csr_array((np.ones(len(cells)), (judgements.assessor, cells)), shape=shape)
    back = said.T.tocsr()
    own = np.asarray(said.sum(axis=1), np.float64)
    with_gold = hits is not None and float(np.sum(hits)) > 0
    gold = np.asarray(hits, np.float64) if with_gold else np.zeros(n)
    degree = said @ (back @ np.ones(n)) - own + gold
    prior = np.append(np.zeros(n), 1.0) if with_gold else np.append(np.full(n, 1 / max(n, 1)), 0.0)
    trust = prior.copy()
    step, moved = 0, np.inf
    while step < max_iter and moved > tol:
        share = np.divide(trust[:n], degree, out=np.zeros(n), where=degree > 0)
        of_gold = trust[n] / gold.sum() if with_gold else 0.0
        lost = float(trust[:n][degree <= 0].sum())
        passed = said @ (back @ share) - own * share + of_gold * gold
        new = (1 - beta) * np.append(passed, share @ gold) + (beta + (1 - beta) * lost) * prior
        moved = float(np.abs(new - trust).sum())
        trust, step = new, step + 1
    return TurkRanked(trust[:n], float(trust[n]), step, moved <= tol)
