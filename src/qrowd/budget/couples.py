r"""Which judgement tells systems apart: `couples`, runs two by two, and what is undecided of them.

Every pair of the pool is relevant with a probability $p_d$: what the labels say where it is judged,
elsewhere a ridge logistic regression on its log rank in each run, on what all of them say together
(and its square), with a level of each topic. The expected score of a run is then nearly linear in
each of them, with the derivative $w_{rd}$, and two runs A and B differ by $\mu$ with the variance
$\sigma^2 = \sum_d p_d (1 - p_d) (w_{Ad} - w_{Bd})^2$ and that of the regression. The better one by
expectation is the worse one with the probability $e = \Phi(-|\mu| / \sigma)$. A judgement of $d$ is
worth

$$I_d = p_d (1 - p_d) \sum_{A, B} \kappa_{AB} (w_{Ad} - w_{Bd})^2, \qquad
  \kappa = e (1 - e) / \sigma^2,$$

what it takes off the variance of couples that are undecided. Pairs are drawn with a probability
proportional to $\sqrt{I_d}$, not by the largest: that would be sure too soon.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.aggregation.revision import climbed, evidence
from qrowd.budget.sampling_design import probabilities, systematic
from qrowd.budget.worklist import Worklist
from qrowd.data.arrays import Array, Codes, Floats, Mask
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.runs import RunSet
from qrowd.errors import ParameterError, UsageError
from qrowd.evaluation.engine import Task
from qrowd.evaluation.linear import is_linear, pair_weights
from qrowd.evaluation.measure import Measure, measures_of
from qrowd.evaluation.measures.average_precision import AP
from qrowd.rendering import counted

# precision of the weights of log ranks, of what they say together, and of the intercept
RIDGE, FUSED, FREE = 5.0, 0.1, 1e-3
EVEN = 0.1  # of the draws: every pair can come
DECIDED = 0.05  # chance of being wrong up to which a couple is called decided


@dataclass(frozen=True, eq=False)
class Couples:
    """Runs two by two: which is better by expectation, and how likely that is wrong.

    `expected[run]` is the mean score over topics that is expected; `error[run, run]` the chance
    that the one with the higher expectation is the worse one. `relevant[pair]` is what is believed
    of the pool, `judged` where labels say so, and `worth[pair]` what a judgement takes off the
    variance of undecided couples, as a share of all.
    """

    runs: Index
    pairs: Pairs
    measure: str
    expected: Floats
    error: Floats
    relevant: Floats
    judged: Mask
    worth: Floats

    @property
    def decided(self) -> Floats:
        """The errors of the couples that are decided."""
        each = self.error[np.triu_indices(len(self.runs), 1)]
        return each[each <= DECIDED]

    def __repr__(self) -> str:
        return f"Couples({len(self.decided)} of {self._number} decided by {self.measure})"

    @property
    def _number(self) -> int:
        return len(self.runs) * (len(self.runs) - 1) // 2

    @property
    def summary(self) -> str:
        """How many couples are decided, in a sentence."""
        decided = self.decided
        error = f", {decided.mean():.3f} on average" if len(decided) else ""
        return (
            f"{len(decided)} of {counted(self._number, 'couple')} of runs are decided by "
            f"{self.measure}: which one is better is wrong with at most {DECIDED:g}{error}"
        )

    def worklist(self, number: int, seed: int = 0, even: float = EVEN) -> Worklist:
        """Draw so many pairs at most to judge next, each with its probability written beside it.

        `even` of the draws are spread evenly; where a part of the list is drawn uniformly
        (`with_uniform`), that does the same, and nothing else need be.
        """
        candidates = np.flatnonzero(self.worth > 0)
        if number < 1:
            raise ParameterError(f"number must be at least 1, got {number}")
        if not len(candidates):
            raise UsageError("no pair of the pool can change a score any more")
        number = min(number, len(candidates))
        chance = probabilities(np.sqrt(self.worth[candidates]), number, even)
        drawn = systematic(chance, np.random.default_rng(seed))
        chosen, chance = candidates[drawn], chance[drawn]
        first = np.argsort(-self.worth[chosen], kind="stable")
        chosen, notes = chosen[first], (self.summary,)
        return Worklist.of(
            "systems",
            self.pairs,
            chosen,
            self._reasons(chosen),
            self.worth[chosen],
            probability=chance[first],
            notes=notes,
        )

    def likely(self, number: int | None = None) -> Worklist:
        """Pairs that nobody judged, the likeliest to be relevant first."""
        chosen = np.flatnonzero(~self.judged)
        chosen = chosen[np.argsort(-self.relevant[chosen], kind="stable")][:number]
        reasons = self._reasons(chosen)
        return Worklist.of("relevant", self.pairs, chosen, reasons, self.relevant[chosen])

    def _reasons(self, chosen: Array) -> list[str]:
        return [f"relevant with {self.relevant[at]:.2f}" for at in chosen.tolist()]


def couples(
    judgements: Judgements,
    runs: RunSet,
    merged: Merged,
    measure: Measure | str = "AP",
    *,
    accuracy: float = 1.0,
) -> Couples:
    """Which runs are told apart by what is judged, and what a judgement would add.

    `judgements` are over the pool from which to choose (`with_pool`), `merged` is what they say of
    it. Measures: AP, P, DCG and RBP. `accuracy`: how often the next judgement is right; 1 is an
    expert's.

    >>> import qrowd as q
    >>> made = q.simulate(topics=6, documents=40, runs=8, assessors=5, votes=1, seed=2)
    >>> some = made.judgements.select(made.judgements.pair % 2 == 0)
    >>> told = q.couples(some, made.runs, q.MajorityVote().fit(some), "AP")
    >>> told
    Couples(21 of 28 decided by AP)
    """
    from scipy.special import ndtr

    if not 0.5 < accuracy <= 1:
        raise ParameterError(f"accuracy must be above .5 and at most 1, got {accuracy:g}")
    if len(judgements.scale) != 2:
        raise UsageError("systems are told apart under two grades; say --rel GRADE")
    (scored,) = measures_of(measure)
    if not (is_linear(scored) or (isinstance(scored, AP) and repr(scored) == "AP")):
        raise UsageError(f"{scored!r}: systems are told apart by AP, P@k, DCG@k or RBP")
    if len(runs.runs) < 2:
        raise UsageError("at least two runs can be told apart")
    pairs = judgements.pairs
    judged = np.bincount(judgements.pair, minlength=len(pairs)) > 0
    if judged.sum() < 2:
        raise UsageError("what is judged tells what else is relevant: judge some pairs first")
    task = Task(runs, pairs, (scored,), False)
    believed = _believed(task, merged.relevant[merged.pairs.locate(pairs)], judged)
    p = believed.relevant
    if is_linear(scored):
        weights = pair_weights(runs, pairs, scored).toarray()
        expected = weights @ p
    else:
        expected, weights = _average_precision(task, p)
    free = p * (1 - p)
    covariance = (weights * free) @ weights.T + believed.spread(weights)
    variance = np.diag(covariance)
    variance = np.maximum(variance[:, None] + variance - 2 * covariance, 1e-18)
    error = ndtr(-np.abs(expected[:, None] - expected) / np.sqrt(variance))
    kappa = error * (1 - error) / variance
    np.fill_diagonal(kappa, 0.0)
    sure = 2 * accuracy - 1
    says = p * accuracy + (1 - p) * (1 - accuracy)
    change = free**2 * sure**2 / np.maximum(says * (1 - says), 1e-12)
    worth = change * (
        (weights**2).T @ kappa.sum(axis=1) - (weights * (kappa @ weights)).sum(axis=0)
    )
    worth = np.maximum(worth, 0.0)
    worth /= max(float(worth.sum()), 1e-300)
    return Couples(runs.runs, pairs, repr(scored), expected, error, p, judged, worth)


@dataclass(frozen=True, eq=False)
class _Believed:
    """The probability of relevance of each pair of a pool, and how unsure the regression is."""

    relevant: Floats
    judged: Mask
    topic: Codes
    design: Floats
    inner: Floats  # minus the second derivative, by weights
    level: Floats  # and by each topic's level

    def spread(self, weights: Floats) -> Floats:
        """The covariance of runs' scores that comes from what the regression does not know."""
        p = self.relevant
        moved = (weights * (p * (1 - p)))[:, ~self.judged]
        by_weight = moved @ self.design[~self.judged]
        inside = np.eye(len(self.level))[self.topic[~self.judged]]
        by_topic = moved @ inside
        return np.asarray(
            by_weight @ np.linalg.solve(self.inner, by_weight.T)
            + (by_topic / self.level) @ by_topic.T
        )


def _believed(task: Task, labels: Floats, judged: Mask) -> _Believed:
    """Labels where pairs are judged; elsewhere a regression on the log rank in each run."""
    from scipy.special import expit

    pool, depth = task.pool, max(ranked.depth for ranked in task.ranked)
    # what a run does not have stands far behind what it has last (ten times as deep): with the
    # next place instead, DL 2021 needs more judgements for the same order of runs
    ranks = np.full((len(pool), len(task.runs.runs)), np.log(10.0 * max(depth, 1)))
    for topic, ranked in task.rankings:
        ranks[pool.topic_starts[topic] + ranked.row, ranked.run] = np.log(ranked.rank + 1.0)
    spread = ranks.std(axis=0)
    ranks = (ranks - ranks.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    fused = evidence(task.runs, pool)
    design = np.column_stack([np.ones(len(pool)), fused, fused * fused - 1, ranks])
    ridge = np.full(design.shape[1], RIDGE)
    ridge[:3] = FREE, FUSED, FUSED
    seen, topics = design[judged], pool.topic[judged]
    beta, shift = climbed(seen, topics, labels[judged], len(pool.topics), ridge)
    p = expit(design @ beta + shift[pool.topic])
    curve = p[judged] * (1 - p[judged])
    return _Believed(
        np.where(judged, labels, p),
        judged,
        pool.topic,
        design,
        seen.T @ (seen * curve[:, None]) + np.diag(ridge),
        np.asarray(np.bincount(topics, curve, len(shift)) + 1.0, np.float64),
    )


def _average_precision(task: Task, p: Floats) -> tuple[Floats, Floats]:
    """The runs' mean AP with probabilities for labels, and its derivative [run, pair].

    The number of relevant documents stands for its expectation.
    """
    runs, pool = len(task.runs.runs), task.pool
    expected, weights = np.zeros(runs), np.zeros((runs, len(pool)))
    for topic, ranked in task.rankings:
        first, last = pool.topic_starts[topic : topic + 2]
        own = p[first:last]
        relevant = max(float(own.sum()), 1e-9)
        at = np.zeros((runs, ranked.depth))  # by rank
        at[ranked.run, ranked.rank] = own[ranked.row]
        rank = np.arange(1, ranked.depth + 1)
        above = np.cumsum(at, axis=1) - at
        part = at / rank
        below = part[:, ::-1].cumsum(axis=1)[:, ::-1] - part
        score = (part * (1 + above)).sum(axis=1) / relevant
        slope = ((1 + above) / rank + below) / relevant
        expected += score / len(task.topics)
        weights[:, first:last] = -score[:, None] / relevant
        weights[ranked.run, first + ranked.row] += slope[ranked.run, ranked.rank]
        weights[:, first:last] /= len(task.topics)
    return expected, weights
