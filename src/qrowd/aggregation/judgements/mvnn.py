"""Majority vote with the nearest neighbour's votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.aggregation.ballot import Counted, shares_of, votes_with_gold
from qrowd.aggregation.fitting import Fitting
from qrowd.content.similarity import Alike, nearest_first
from qrowd.data.arrays import Codes, Floats
from qrowd.data.given import NOTHING, Given, Steps
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param


@method("mvnn", paper="Davtyan, Eickhoff & Hofmann 2015", needs=("documents",), uses=("gold",))
class NearestNeighbourVote:
    r"""Majority vote with the votes of the nearest neighbour, where that is near enough.

    With $V_i$ the votes on document $i$, $o_i$ the document of the topic's pool with the highest
    cosine $\rho$ to it, and a bound $\rho_s$ (`similarity`),

    $$p_i(g) = \begin{cases}
      \text{share of } g \text{ in } V_i \cup V_{o_i} & \rho(i, o_i) > \rho_s \\
      \text{share of } g \text{ in } V_i & \text{else} \end{cases}$$

    As printed, a document without a vote of its own has $p_i(g) = 1/K$, whatever its neighbour
    has. Of equally near neighbours the one whose name sorts first is taken. Gold overwrites the
    output on its pairs and counts as one vote for neighbours (`clamp=false`: it is not used).

    The paper prints the tuned values of this method and of `mev` under each other's names: 0.5 is
    the bound on the similarity.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 4, ["a", "b", "b", "c"], ["ann", "ann", "bob", "ann"],
    ...                         [0, 1, 1, 0])
    >>> vectors = q.Vectors.of("abc", [[1, 1, 0], [1, 1, 1], [0, 0, 1]])
    >>> q.NearestNeighbourVote().fit(crowd, q.Given(documents=vectors)).relevant.round(2).tolist()
    [0.67, 0.67, 0.67]

    References: Davtyan, Eickhoff & Hofmann 2015, algorithm 3.
    """

    similarity: float = param(
        0.5, "merge the nearest one's votes above this cosine", at_least=-1, at_most=1
    )
    clamp: bool = param(True, "use the gold grade of pairs that have one")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        assert given.documents is not None
        votes = votes_with_gold(fitting)
        joined = votes.copy()
        alike = Alike.of(fitting.judgements.pairs, given.documents)
        fitting.notes += alike.notes
        for rows, cosines in alike.topics():
            near = self._near(cosines)
            own = votes[rows].sum(axis=1) > 0
            take = (near >= 0) & own
            joined[rows][take] += votes[rows][near[take]]
        return fitting.merged(shares_of(joined))

    def _near(self, cosines: Floats) -> Codes:
        """Each document's nearest neighbour; -1 where none is near enough."""
        if len(cosines) < 2:
            return np.full(len(cosines), -1, np.int32)
        first = nearest_first(cosines)[:, 0]
        close = cosines[np.arange(len(first)), first] > self.similarity
        return np.where(close, first, -1).astype(np.int32)

    def steps(self, pairs: Pairs, copies: int, given: Given = NOTHING) -> Steps:
        """The same, vote by vote."""
        assert given.documents is not None
        ((_, cosines),) = Alike.of(pairs, given.documents).topics()
        return _NeighbourSteps(np.zeros((copies, len(pairs), 2)), self._near(cosines))


@dataclass
class _NeighbourSteps(Counted):
    near: Codes

    def relevant(self) -> Floats:
        """The share of votes of the document and its neighbour."""
        extra = self.votes[:, np.maximum(self.near, 0)] * (self.near >= 0)[:, None]
        own = self.votes.sum(axis=2, keepdims=True) > 0
        return np.asarray(shares_of(self.votes + extra * own)[..., 1])
