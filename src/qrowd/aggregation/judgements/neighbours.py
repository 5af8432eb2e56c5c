"""Votes of documents that are alike: the nearest one's, or enough of the neighbours'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.aggregation.fit import Fitting, shares_of
from qrowd.aggregation.judgements.mv import Counted
from qrowd.content.similarity import Alike, nearest_first
from qrowd.data.arrays import Codes, Floats
from qrowd.data.given import NOTHING, Given, Steps
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param


@method(
    "mvnn",
    paper="Davtyan, Eickhoff & Hofmann 2015",
    needs=("documents",),
    uses=("gold",),
    shares=True,
)
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
        votes = fitting.votes_with_gold()
        joined = votes.copy()
        for rows, cosines in fitting.alike():
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


@method(
    "mev",
    paper="Davtyan, Eickhoff & Hofmann 2015",
    needs=("documents",),
    uses=("gold",),
    shares=True,
)
class EnoughVotes:
    r"""Merge enough votes: a document with too few votes takes those of its neighbours.

    Starting from its own votes $U_i = V_i$, document $i$ takes those of its neighbours in the
    topic's pool, the nearest first, a neighbour's whole, until there are $C$ (`votes`):

    $$U_i \leftarrow U_i \cup V_{o_i(k)}, \quad k = 2, 3, \ldots \text{ while } |U_i| < C, \qquad
      p_i(g) = \text{share of } g \text{ in } U_i$$

    also where it has no vote of its own. Only documents with a cosine above 0 are neighbours;
    equally near ones come as their names sort. Gold overwrites the output on its pairs and counts
    as one vote for neighbours (`clamp=false`: it is not used).

    As printed, a document's own votes count towards $C$; then $C = 1$ *is* the majority vote as
    soon as each document has one, though the paper's table at one vote per document has .709
    against .664. Perhaps $C$ was counted beyond the document's own votes: `own_counts=false`.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 3, ["b", "b", "c"], ["ann", "bob", "ann"], [1, 0, 0])
    >>> crowd = crowd.with_pool(q.Pairs.of(["t"], ["a"]))
    >>> vectors = q.Vectors.of("abc", [[1, 1, 0], [1, 1, 1], [0, 0, 1]])
    >>> q.EnoughVotes(votes=2).fit(crowd, q.Given(documents=vectors)).relevant.round(2).tolist()
    [0.5, 0.5, 0.33]

    References: Davtyan, Eickhoff & Hofmann 2015, algorithm 4.
    """

    votes: float = param(1.0, "enough votes for a document (C)", at_least=0)
    own_counts: bool = param(True, "whether a document's own votes count towards enough")
    clamp: bool = param(True, "use the gold grade of pairs that have one")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        votes = fitting.votes_with_gold()
        posterior = np.empty_like(votes)
        for rows, cosines in fitting.alike():
            taken = self._taken(votes[None, rows], *_neighbours(cosines))
            posterior[rows] = shares_of(taken[0])
        return fitting.merged(posterior, keep_unvoted=True)

    def _taken(self, votes: Floats, order: Codes, count: Codes) -> Floats:
        """votes[copies, documents, grades] with those of neighbours, as many as are needed.

        order[document] lists its neighbours, count[document] says how many they are.
        """
        result, own = votes.copy(), votes.sum(axis=2)
        total = own.copy() if self.own_counts else np.zeros_like(own)
        copy, document = np.nonzero((total < self.votes) & (count > 0))
        for nearest in range(order.shape[1]):
            if not len(copy):
                break
            other = order[document, nearest]
            result[copy, document] += votes[copy, other]
            total[copy, document] += own[copy, other]
            wanting = (total[copy, document] < self.votes) & (count[document] > nearest + 1)
            copy, document = copy[wanting], document[wanting]
        return result

    def steps(self, pairs: Pairs, copies: int, given: Given = NOTHING) -> Steps:
        """The same, vote by vote."""
        assert given.documents is not None
        ((_, cosines),) = Alike.of(pairs, given.documents).topics()
        return _EnoughSteps(np.zeros((copies, len(pairs), 2)), self, *_neighbours(cosines))


def _neighbours(cosines: Floats) -> tuple[Codes, Codes]:
    """Each document's neighbours, nearest first, and how many have a cosine above 0."""
    return nearest_first(cosines), ((cosines > 0).sum(axis=1) - 1).astype(np.int32)


@dataclass
class _EnoughSteps(Counted):
    method: EnoughVotes
    order: Codes
    count: Codes

    def relevant(self) -> Floats:
        """The share of the votes that a document has and takes."""
        taken = self.method._taken(self.votes, self.order, self.count)
        return np.asarray(shares_of(taken)[..., 1])
