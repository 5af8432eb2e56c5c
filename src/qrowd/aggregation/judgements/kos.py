"""Karger, Oh & Shah's message passing."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Floats, starts_of
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.kernel import BLOCKS, in_blocks
from qrowd.registry import method, param


@method("kos", paper="Karger, Oh & Shah 2014", uses=("gold",), grades="binary", shares=True)
class KOS:
    r"""KOS: messages between pairs and assessors, for two grades.

    With $A_{ij} = \pm 1$ what assessor $j$ said of pair $i$ (the sum, where somebody judged a pair
    several times or votes have weights), messages go to and fro, nobody hearing their own:

    $$x_{i \to j} = \sum_{j' \in \partial i \setminus j} A_{ij'}\, y_{j' \to i}, \qquad
      y_{j \to i} = \sum_{i' \in \partial j \setminus i} A_{i'j}\, x_{i' \to j}, \qquad
      \hat z_i = \operatorname{sign} \sum_{j \in \partial i} A_{ij}\, y_{j \to i}$$

    from $y \sim \text{Normal}(1, 1)$, drawn by a generator of its own from `seed`. Messages grow
    without end, so those of each connected part of the crowd are divided by their root mean square:
    signs and shares stay the same. The method has a sign and no probability; ours is the share of
    the messages' weight, $p_i = \frac12 + \frac12 \sum_j A_{ij} y_{j \to i} / \sum_j |A_{ij}
    y_{j \to i}|$. With a handful of assessors the messages can end anywhere: the method's
    guarantees are for large sparse crowds. A zero score ($p = 0.5$: for one, where nobody judged
    two pairs) is a tie, for the tie rule.

    It stops when no $p$ moves by more than `tol` (the trace has the largest move). Gold overwrites
    the output on its pairs, and that is said: messages do not see it. The assessors' `weight` is
    the mean of what they send.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 30, sorted("abcdef" * 5), ["ann", "bob", "cy", "dee", "eve"] * 6,
    ...     [1,1,1,1,0, 0,0,0,1,1, 1,1,1,1,1, 0,0,0,0,1, 1,1,0,1,0, 0,0,0,0,0],
    ... )
    >>> merged = q.KOS().fit(crowd)
    >>> merged.relevant.round(2).tolist()
    [0.98, 0.31, 0.79, 0.02, 0.69, 0.21]
    >>> bool(merged.assessors["weight"][4] < 0)
    True

    Reference: Karger, Oh & Shah 2014.
    """

    tol: float = param(1e-8, "stop when no probability moves by more", above=0)
    max_iter: int = param(500, "rounds at most", at_least=1)
    clamp: bool = param(True, "gold overwrites the output on its pairs")
    seed: int = param(0, "of the first messages", at_least=0)

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The share of messages for relevance, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        messages = _Messages(fitting.judgements, self.seed)
        for _ in fitting.iterations(self.max_iter):
            moved = messages.exchange()
            fitting.gain(moved)
            fitting.settled = moved <= self.tol
        share = messages.share
        posterior = np.stack([1 - share, share], axis=1)
        return fitting.merged(posterior, {"weight": messages.sent()})


class _Messages:
    """Messages along the edges, one per pair and assessor with votes that do not cancel; `part` is
    the connected part of the crowd that each assessor is in, `share` each pair's for relevance.
    """

    def __init__(self, rows: Judgements, seed: int) -> None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        assessors, pairs = len(rows.assessors), len(rows.pairs)
        key = rows.pair.astype(np.int64) * max(assessors, 1) + rows.assessor
        distinct, back = np.unique(key, return_inverse=True)
        sign = (2.0 * rows.grade - 1.0) * (1.0 if rows.weight is None else rows.weight)
        vote = np.bincount(back, sign, len(distinct)).astype(np.float64)
        kept = np.abs(vote) > 1e-12
        pair, assessor = np.divmod(distinct[kept], max(assessors, 1))
        size = max(assessors + pairs, 1)
        links = coo_array((np.ones(len(pair)), (assessor, assessors + pair)), shape=(size, size))
        self.parts, part = connected_components(links, directed=False)
        self.part, self.assessors = part[:assessors], assessors
        self.edges = (starts_of(pair, pairs), assessor.astype(np.int32), vote[kept])
        self.to_pair = np.random.default_rng(seed).normal(1.0, 1.0, len(pair))
        self.to_assessor = np.zeros(len(pair))
        self.share = np.full(pairs, 0.5)
        self.total, self.scale = np.zeros(assessors), np.ones(assessors)
        self.first = True
        self.degree = np.bincount(assessor, minlength=assessors)

    def exchange(self) -> float:
        """One round; the largest move of a share."""
        from qrowd.aggregation.kernels.passes import pass_messages

        sums, moved = np.zeros((self.assessors, 2)), 0.0
        before = (self.total, self.scale, self.first)

        def part(lo: int, hi: int) -> tuple[float, Floats]:
            own = np.zeros((self.assessors, 2))
            messages = (self.to_assessor, self.to_pair, self.share, own)
            return pass_messages(*self.edges, *before, *messages, lo, hi), own

        blocks = max(1, min(BLOCKS, len(self.to_pair) // max(2 * self.assessors, 1)))
        for most, own in in_blocks(part, len(self.share), blocks):
            moved, sums = max(moved, most), sums + own
        self.total, self.scale, self.first = sums[:, 0], self._scale(sums[:, 1]), False
        return moved

    def _scale(self, squares: Floats) -> Floats:
        """The root mean square of the messages in each assessor's part of the crowd."""
        sums = np.bincount(self.part, squares, self.parts)
        edges = np.maximum(np.bincount(self.part, self.degree, self.parts), 1)
        mean = np.sqrt(sums / edges)[self.part]
        return np.where(mean > 0, mean, 1.0)

    def sent(self) -> Floats:
        """The mean message of each assessor, as scaled in the last round."""
        sums = np.bincount(self.edges[1], self.to_pair, self.assessors)
        return np.asarray(sums / np.maximum(self.degree, 1))
