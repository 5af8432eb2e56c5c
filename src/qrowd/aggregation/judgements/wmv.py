"""Weighted majority votes: by agreement with the outcome, and by domain adaptation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qrowd.aggregation.ballot import TIES_INSIDE, Ballot
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Array, Codes, Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Merged
from qrowd.errors import UsageError
from qrowd.registry import method, param


@method("wmv-iter", paper="Li & Yu 2014; Piazzon 2019", uses=("gold",), shares=True)
class IterativeWeightedVote:
    r"""Iterative weighted majority vote: who agrees with the outcome gets more weight.

    With $y_{ij}$ what assessor $j$ said of pair $i$, $N_j$ the pairs that $j$ judged, and $L$
    grades, starting from $\nu_j = 1$, until no label changes:

    $$\hat y_i = \arg\max_g \sum_j \nu_j\, 1[y_{ij} = g], \qquad
      w_j = \frac{\sum_{i \in N_j} 1[y_{ij} = \hat y_i]}{|N_j|}, \qquad \nu_j = L w_j - 1$$

    For two grades that is $2 w_j - 1$: somebody at the level of chance weighs nothing, somebody
    worse than chance votes for the opposite. The probability of a grade is its share of the
    weights, a negative weight being given to all other grades.

    While it iterates, a tied pair counts in equal parts for the tied grades (`ties` may decide it
    by the rule of qrels instead). Gold pairs have their gold label in every step, and are never
    overturned. The trace is the sum over pairs of the winning grade's weight. A vote with weight 2
    counts as two votes.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 12, list("aaaabbbbcccc"), ["ann", "bob", "cy", "eve"] * 3,
    ...     [1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0],
    ... )
    >>> merged = q.IterativeWeightedVote().fit(crowd)
    >>> merged.relevant.round(2).tolist()
    [1.0, 0.13, 0.88]
    >>> merged.assessors["weight"].round(2).tolist()
    [1.0, 1.0, 0.33, -0.33]

    References: Li & Yu 2014; Piazzon 2019, section 2.5.1.
    """

    ties: str = param("split", "what to do with tied labels while it iterates", choices=TIES_INSIDE)
    max_iter: int = param(1000, "maximum number of iterations", at_least=1)
    clamp: bool = param(True, "treat gold as certain, and learn weights from it")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The weighted share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        ballot = Ballot(fitting.judgements, fitting.gold)
        made, size = ballot.votes.sum(axis=1), ballot.width
        weight = np.ones(ballot.shape[0])
        labels = None
        for _ in fitting.iterations(self.max_iter):
            table = np.repeat(weight[:, None], size, axis=1)
            step = ballot.expect(table, np.zeros(size), self.ties)
            fitting.gain(step.likelihood)
            fitting.settled = labels is not None and np.array_equal(labels, step.posterior)
            labels = step.posterior
            agreed = step.counts.sum(axis=1)
            share = np.divide(agreed, made, out=np.full(len(made), 1 / size), where=made > 0)
            weight = size * share - 1
        return fitting.merged(ballot.shares(weight), {"weight": weight})


@method(
    "wmv-da",
    paper="Piazzon 2019, section 2.5.1",
    needs=("documents",),
    uses=("gold", "priors"),
    shares=True,
)
class DomainAdaptedVote:
    r"""Weighted majority vote: weights by how an assessor's labelling function fits everybody's.

    An assessor's judgements teach a *labelling function* $f_k$ of the documents' text, all
    judgements together teach $g$, an estimate of the true one. The weight of assessor $k$ is the
    factor that brings them closest over the documents of the pool,

    $$w_k = \arg\min_w \|g - w f_k\|^2 = \frac{\langle g, f_k\rangle}{\langle f_k, f_k\rangle}$$

    and the grade with the largest sum of weights wins. The source does not say what a labelling
    function is: here a ridge regression (`ridge`) of the grades, each as 0 or 1 less $1/L$, on the
    tf-idf vector and a constant, topic by topic. A negative weight counts for all other grades; an
    assessor whose function is 0 has the weight 0.

    `version=2` is our reading of a sentence ("labelling functions that model assessor features"):
    one function of the document *and* the assessor, so that assessors with like features learn from
    each other. The features are the numeric columns of an assessors' table (`Given(priors=...)`,
    `--priors`), standardised, an unknown value as the mean; the kernel is that of the text times
    $1 + a_k \cdot a_l / q$ for $q$ columns.

    Gold teaches $g$ instead of the votes on its pairs, and overwrites the output there.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 9, list("aaabbbccc"), ["ann", "bob", "eve"] * 3,
    ...                         [1, 1, 0, 1, 1, 0, 0, 0, 1])
    >>> vectors = q.Vectors.of("abc", [[1, 1, 0], [1, 1, 1], [0, 0, 1]])
    >>> merged = q.DomainAdaptedVote().fit(crowd, q.Given(documents=vectors))
    >>> bool(merged.assessors["weight"][0] > 0 > merged.assessors["weight"][2])
    True

    References: Piazzon 2019, section 2.5.1.
    """

    version: int = param(1, "2: labelling functions know the assessors' features", choices=(1, 2))
    ridge: float = param(0.1, "strength of the regressions' ridge", above=0)
    clamp: bool = param(True, "gold teaches the true function and overwrites its pairs")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The weighted share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        rows = fitting.judgements
        features = None
        if self.version == 2:
            if given.priors is None:
                raise UsageError(
                    "wmv-da(version=2) needs features of assessors: pass Given(priors=table), on "
                    "the command line --priors FILE"
                )
            features = _standardised(given.priors, rows)
        votes, size = fitting.votes_with_gold(), len(rows.assessors)
        above, below = np.zeros(size), np.zeros(size)
        for pairs, cosines in fitting.alike():
            kernel = cosines + 1.0
            truth = _regression(kernel, np.arange(len(kernel)), votes[pairs], self.ridge)
            answers = _Answers.of(rows, pairs)
            if features is None:
                functions = self._each(kernel, answers)
            else:
                functions = self._joint(kernel, answers, features)
            for assessor, function in functions:
                above[assessor] += (truth * function).sum()
                below[assessor] += (function * function).sum()
        weight = np.divide(above, below, out=np.zeros(size), where=below > 0)
        ballot = Ballot(rows, fitting.gold)
        return fitting.merged(ballot.shares(weight), {"weight": weight})

    def _each(self, kernel: Floats, answers: _Answers) -> Iterator[tuple[int, Floats]]:
        """Each assessor's own function of the topic's documents."""
        for first, last in zip(answers.starts[:-1], answers.starts[1:], strict=True):
            own = slice(first, last)
            function = _regression(kernel, answers.document[own], answers.votes[own], self.ridge)
            yield int(answers.assessor[first]), function

    def _joint(
        self, kernel: Floats, answers: _Answers, features: Floats
    ) -> Iterator[tuple[int, Floats]]:
        """One function of document and assessor, as each assessor has it."""
        of_rows = features[answers.assessor]
        alike = 1.0 + of_rows @ of_rows.T / max(features.shape[1], 1)
        table = kernel[np.ix_(answers.document, answers.document)] * alike
        dual = _dual(table, answers.votes, self.ridge)
        for first in answers.starts[:-1]:
            function = kernel[:, answers.document] @ (alike[first][:, None] * dual)
            yield int(answers.assessor[first]), function


@dataclass(frozen=True, eq=False)
class _Answers:
    """One topic's judgements, one row per (assessor, document): votes[row, grade]."""

    assessor: Codes
    document: Array
    votes: Floats
    starts: Array

    @classmethod
    def of(cls, rows: Judgements, pairs: slice) -> _Answers:
        inside = slice(*rows.pair_starts[[pairs.start, pairs.stop]])
        n, size = pairs.stop - pairs.start, len(rows.scale)
        key = rows.assessor[inside].astype(np.int64) * n + rows.pair[inside] - pairs.start
        distinct, back = np.unique(key, return_inverse=True)
        weight = None if rows.weight is None else rows.weight[inside]
        counts = np.bincount(back * size + rows.grade[inside], weight, len(distinct) * size)
        assessor, document = np.divmod(distinct, n)
        starts = np.flatnonzero(np.diff(assessor, prepend=-1, append=-1))
        votes = counts.reshape(-1, size).astype(np.float64)
        return cls(assessor.astype(np.int32), document, votes, starts)


def _regression(kernel: Floats, document: Array, votes: Floats, ridge: float) -> Floats:
    """The function that votes[row, grade] on these documents teach, on all documents."""
    voted = votes.sum(axis=1) > 0
    document, votes = document[voted], votes[voted]
    dual = _dual(kernel[np.ix_(document, document)], votes, ridge)
    return np.asarray(kernel[:, document] @ dual)


def _dual(table: Floats, votes: Floats, ridge: float) -> Floats:
    total = votes.sum(axis=1)
    target = votes / total[:, None] - 1 / votes.shape[1]
    return np.asarray(np.linalg.solve(table + np.diag(ridge / total), target))


def _standardised(table: AssessorTable, rows: Judgements) -> Floats:
    """Features[assessor, column] of the judgements' assessors: mean 0, deviation 1."""
    at = table.assessors.find(rows.assessors)
    columns = []
    for values in table.columns.values():
        if np.asarray(values).dtype.kind in "iuf":
            feature = np.where(at >= 0, np.asarray(values, np.float64)[at], np.nan)
            if not np.isfinite(feature).any():
                feature = np.zeros(len(at))
            centred = feature - np.nanmean(feature)
            sd = np.sqrt(np.nanmean(centred**2))
            columns.append(np.nan_to_num(centred / sd) if sd > 0 else np.zeros(len(at)))
    return np.stack(columns, axis=1) if columns else np.zeros((len(at), 1))
