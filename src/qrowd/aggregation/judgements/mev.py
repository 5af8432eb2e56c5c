"""Merge enough votes: neighbours' votes where a document has too few of its own."""

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


@method("mev", paper="Davtyan, Eickhoff & Hofmann 2015", needs=("documents",), uses=("gold",))
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
        assert given.documents is not None
        votes = votes_with_gold(fitting)
        posterior = np.empty_like(votes)
        alike = Alike.of(fitting.judgements.pairs, given.documents)
        fitting.notes += alike.notes
        for rows, cosines in alike.topics():
            taken = self._taken(votes[None, rows], *_neighbours(cosines))
            posterior[rows] = shares_of(taken[0])
        return fitting.merged(posterior, unvoted="believed")

    def _taken(self, votes: Floats, order: Codes, count: Codes) -> Floats:
        """votes[copies, documents, grades] with those of neighbours, as many as are needed.

        order[document] lists its neighbours, count[document] says how many they are.
        """
        result, own = votes.copy(), votes.sum(axis=2)
        total = own.copy() if self.own_counts else np.zeros_like(own)
        copy, document = np.nonzero((total < self.votes) & (count > 0))
        for place in range(order.shape[1]):
            if not len(copy):
                break
            other = order[document, place]
            result[copy, document] += votes[copy, other]
            total[copy, document] += own[copy, other]
            more = (total[copy, document] < self.votes) & (count[document] > place + 1)
            copy, document = copy[more], document[more]
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
