r"""Measures that are no weighted sums, from human labels of a few sampled pairs: one step.

The machine's labels become probabilities of grades, calibrated on the human labels: for each grade
$g$ above the lowest a logistic regression

$$\operatorname{logit} P(y_i \ge g) = x_i \cdot \beta + z_i \cdot u_t,
  \qquad u_t \sim N(0, \Lambda)$$

on what the machine says and where the runs have the document, with effects $u_t$ of its topic $t$
on some of these. Under them a run's expected score is $F$, and a pair that has the grade $g$
instead of a random one moves it by $H_{ri}(g)$. Sampled pairs have their labels in this. They
also tell how wrong the probabilities of the others are, which corrects the score by one step:

$$\hat\theta_r = F_r + \sum_s (1 - \pi_s) C_{rs}, \qquad
  C_{rs} = \frac{1}{\pi_s} \Bigl[ H_{rs}(y_s) - \sum_g P_s(g) H_{rs}(g) \Bigr],$$

with $\pi_s$ the probability to be sampled, and $P_s$ learned without the pair's fold. $F$ is the
mean over what is not known of the topics' effects (three points in each direction), and what that
moves it by is taken for an error, too. The variance is the mean of that of the sample and of that
which the probabilities imply, of a weighted sum for the very pairs that nobody judged. Where topics
are a sample, too, it is that of the topics' own estimates, $F_{rt}$ and the corrections within
each: what differs between topics is in it, and what labels leave open within them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from qrowd.comparison.prediction_powered import Estimate
from qrowd.data.arrays import Array, Codes, Floats, Mask
from qrowd.data.index import Pairs
from qrowd.data.merged import Merged
from qrowd.data.qrels import NOT_JUDGED, QrelsSet, SoftQrels
from qrowd.data.runs import RunSet
from qrowd.data.sample import Sample
from qrowd.data.scale import Scale
from qrowd.evaluation.engine import Task, evaluate
from qrowd.evaluation.expectation import Quadrature
from qrowd.evaluation.linear import is_linear, pair_gains, pair_weights
from qrowd.evaluation.measure import Measure, measures_of
from qrowd.evaluation.measures.average_precision import AP
from qrowd.evaluation.measures.gain import NDCG, discounts
from qrowd.evaluation.relevance import Random

FOLDS = 10
TOP = 10  # documents that a run shows first
FREE, RIDGE = 1e-3, 1.0  # precision of the intercept and of the other coefficients
VARYING = (0, 1, 3)  # predictors whose coefficients differ by topic: level, machine, share on top
SPREAD = np.array([2.0, 0.3, 0.3])  # the variance of each of these
STEPS, LONGEST = 50, 5.0  # of Newton's method, and how far one may go
DRAWS = 400  # of grades, for nDCG
EDGE = 0.01  # as sure as a machine is taken to be
# below these, intervals hold too little (measured: benchmarks.few_labels --only steps)
FEWEST_EFFECTIVE = 2.0  # labelled pairs that a score or a difference rests on
FEWEST_LABELS = 40  # in all
FEWEST_RELEVANT = 25  # documents of the median topic, for AP and nDCG
_ABSENT = np.iinfo(np.int32).max  # the rank of what a run does not have


def can_step(measure: Measure) -> bool:
    """Whether sampled pairs can estimate it in one step."""
    exact = getattr(measure, "expected", "exact") == "exact"
    plain = exact and not getattr(measure, "judged_only", False)
    return is_linear(measure) or (plain and isinstance(measure, AP | NDCG))


def gains_of(measure: Measure, grades: Array) -> Floats:
    """What documents of these grades count for a measure of `can_step`."""
    if is_linear(measure):
        return pair_gains(measure, grades)
    if isinstance(measure, NDCG):
        return np.asarray(measure.by_grade[np.asarray(grades, np.int64) - NOT_JUDGED])
    return np.asarray(np.asarray(grades) >= measure.level, np.float64)


@dataclass(frozen=True, eq=False)
class ScoredPool:
    """Runs over a pool whose pairs have probabilities of grades, p[pair, grade]."""

    runs: RunSet
    pairs: Pairs
    scale: Scale

    @cached_property
    def _task(self) -> Task:
        return Task(self.runs, self.pairs, measures_of("AP"), False)

    @cached_property
    def ranks(self) -> Array:
        """rank[run, pair] from 0 on; a large number where a run does not have it."""
        pool = self.pairs
        rank = np.full((len(self.runs), len(pool)), _ABSENT, np.int32)
        for topic, ranked in self._task.rankings:
            rank[ranked.run, pool.topic_starts[topic] + ranked.row] = ranked.rank
        return rank

    def expected(self, measure: Measure, p: Floats) -> Floats:
        """The runs' expected mean scores."""
        if is_linear(measure):
            gains = p @ pair_gains(measure, np.array(self.scale.grades))
            return np.asarray(self._weights(measure) @ gains)
        total = np.zeros(len(self.runs))
        for topic, ranked in self._task.rankings:
            if isinstance(measure, NDCG):
                drawn = self._drawn(measure, p, topic)
                total += (drawn.dcg * drawn.over_ideal(drawn.counts)).mean(axis=1)
            else:
                total += measure.under(Random(ranked, self.scale, p[self._own(topic)], 0.0))
        return total / len(self._task.topics)

    def spread(self, measure: Measure, p: Floats) -> Floats:
        """The covariance of weighted sums, [run, run], where each pair's grade is drawn."""
        weights, gains = self._weights(measure), pair_gains(measure, np.array(self.scale.grades))
        each = p @ np.square(gains) - np.square(p @ gains)
        return np.asarray((weights.multiply(each) @ weights.T).todense())

    def influence(self, measure: Measure, p: Floats, at: Array) -> Floats:
        """H[run, pair, grade]: how the grade of a pair of `at` moves a run's expected score."""
        if is_linear(measure):
            weights = self._weights(measure)[:, at].toarray()
            gains = pair_gains(measure, np.array(self.scale.grades))
            return np.asarray(weights[:, :, None] * gains)
        result = np.zeros((len(self.runs), len(at), len(self.scale)))
        for topic in np.unique(self.pairs.topic[at]).tolist():
            among = np.flatnonzero(self.pairs.topic[at] == topic)
            row = at[among] - self.pairs.topic_starts[topic]
            if isinstance(measure, AP):
                result[:, among] = self._in_average_precision(measure, p, topic, row)
            elif isinstance(measure, NDCG):
                result[:, among] = self._in_ndcg(measure, p, topic, row)
        return result / len(self._task.topics)

    @cached_property
    def _known_weights(self) -> dict[str, Any]:
        return {}

    def _weights(self, measure: Measure) -> Any:
        """Made once: what is expected is asked for at several points."""
        name = repr(measure)
        if name not in self._known_weights:
            self._known_weights[name] = pair_weights(self.runs, self.pairs, measure)
        return self._known_weights[name]

    def _own(self, topic: int) -> slice:
        return slice(self.pairs.topic_starts[topic], self.pairs.topic_starts[topic + 1])

    def _in_average_precision(self, measure: AP, p: Floats, topic: int, row: Array) -> Floats:
        """The derivative of the integral that E[AP] is, where the grade is relevant."""
        relevant = np.array(self.scale.grades) >= measure.level
        chance = np.minimum(p[self._own(topic)][:, relevant].sum(axis=1), 1 - 1e-9)
        rank = self.ranks[:, self._own(topic)]
        order = np.argsort(rank, axis=1)
        place = np.argsort(order, axis=1)[:, row]  # of the pairs that are asked for
        rank = np.take_along_axis(rank, order, axis=1)
        over = (rank < measure.depth) / (rank + 1.0)
        own_over = np.take_along_axis(over, place, axis=1)
        slope = np.zeros(place.shape)
        by = Quadrature.of(chance)
        matter = by.weight > 1e-12 * by.weight.max()  # half of them, where much is relevant
        each = (by.node[matter], by.ratio[:, matter].T, by.weight[matter])
        for u, a, weight in zip(*each, strict=True):
            ranked = a[order]
            part = over * ranked
            until, seen = np.cumsum(ranked, axis=1), np.cumsum(part, axis=1)
            whole = (part * (1 + u * (until - ranked))).sum(axis=1, keepdims=True)
            above = np.take_along_axis(until, place, axis=1) - a[row]
            below = seen[:, -1:] - np.take_along_axis(seen, place, axis=1)
            factor = 1 - chance[row] * (1 - u)
            by_ratio = (own_over * (1 + u * above) + u * below) / factor**2
            slope += weight * (by_ratio - whole * (1 - u) / factor)
        return np.asarray(slope[:, :, None] * relevant)

    def _in_ndcg(self, measure: NDCG, p: Floats, topic: int, row: Array) -> Floats:
        """The mean over the same draws with the pair's grade in the place of the drawn one."""
        drawn = self._drawn(measure, p, topic)
        shown, code = drawn.shown[:, row], drawn.code[row]
        result = np.empty((len(self.runs), len(row), len(drawn.gains)))
        others = drawn.counts[:, None] - (np.arange(len(drawn.gains))[:, None, None] == code)
        for grade, gain in enumerate(drawn.gains):
            others[grade] += 1
            over = drawn.over_ideal(others)  # [pair, draw]
            others[grade] -= 1
            more = ((gain - drawn.gains[code]) * over).mean(axis=1)
            result[:, :, grade] = np.einsum("rk,pk->rp", drawn.dcg, over) / DRAWS + shown * more
        return result

    def _drawn(self, measure: NDCG, p: Floats, topic: int) -> _Drawn:
        """The same coins for all probabilities, so that what differs is not chance."""
        own = self._own(topic)
        rank, cumulated = self.ranks[:, own], np.cumsum(p[own], axis=1)
        coins = np.random.default_rng(topic).random((len(cumulated), DRAWS), np.float32)
        code = np.zeros(coins.shape, np.int8)
        for bound in cumulated.T[:-1]:
            code += coins >= bound[:, None]
        gains = measure.by_grade[np.array(self.scale.grades) - NOT_JUDGED]
        deepest = min(measure.depth, max(int(rank[rank < _ABSENT].max(initial=0)) + 1, len(rank.T)))
        discount = 1 / discounts(deepest, measure.dcg, measure.base)
        shown = np.where(rank < deepest, discount[np.minimum(rank, deepest - 1)], 0.0)
        return _Drawn(code, gains, shown, np.concatenate([[0.0], np.cumsum(discount)]))


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Grades of a topic's documents, drawn DRAWS times."""

    code: Array  # [document, draw]
    gains: Floats  # of each grade
    shown: Floats  # [run, document]: what a run's rank of it counts
    ideal: Floats  # what the first 0, 1, 2 ... ranks count together

    @cached_property
    def counts(self) -> Array:
        """How many documents have each grade: [grade, draw]."""
        return np.stack([(self.code == grade).sum(axis=0) for grade in range(len(self.gains))])

    @cached_property
    def dcg(self) -> Floats:
        """[run, draw]."""
        seen = np.flatnonzero(self.shown.any(axis=0))
        # einsum: for small products BLAS wakes its threads, which costs ten times the product
        return np.asarray(np.einsum("rd,dk->rk", self.shown[:, seen], self.gains[self.code[seen]]))

    def over_ideal(self, counts: Array) -> Floats:
        """1 / ideal DCG where there are so many documents of each grade; 0 where all gains are."""
        value, behind = np.zeros(counts.shape[1:]), np.zeros(counts.shape[1:], np.int64)
        for grade in np.argsort(-self.gains, kind="stable"):
            if self.gains[grade] <= 0:
                break
            ahead = np.minimum(behind + counts[grade], len(self.ideal) - 1)
            value += self.gains[grade] * (self.ideal[ahead] - self.ideal[behind])
            behind = ahead
        return np.divide(1.0, value, out=np.zeros_like(value), where=value > 0)


@dataclass(frozen=True, eq=False)
class OneStep:
    """A sample with human labels beside merged machine labels, for all measures of the runs."""

    runs: RunSet
    machine: Merged
    sample: Sample
    over_topics: bool = False  # they are a sample, too

    @cached_property
    def at(self) -> Codes:
        """Where the labelled pairs are in the pool."""
        return self.machine.pairs.locate(self.sample.pairs)

    @cached_property
    def scale(self) -> Scale:
        """The grades of the machine and of the human labels."""
        ours, theirs = self.machine.scale, self.sample.qrels.scale
        return Scale(tuple(sorted({*ours.grades, *theirs.grades})), ours.relevant_from)

    @cached_property
    def _scored(self) -> ScoredPool:
        return ScoredPool(self.runs, self.machine.pairs, self.scale)

    @cached_property
    def informed(self) -> bool:
        """Whether the machine says different things of the labelled pairs."""
        said = self.machine.posterior[self.at]
        return bool(np.ptp(said, axis=0).any()) if len(said) else False

    @cached_property
    def alone(self) -> OneStep:
        """The same where the machine says the same of all pairs."""
        even = np.full_like(self.machine.posterior, 1 / len(self.machine.scale))
        return replace(self, machine=replace(self.machine, posterior=even))

    def relevant(self, measure: Measure) -> float:
        """How many documents of the median topic are believed to count for a measure whose scores
        depend on that number; infinite for weighted sums, which do not.
        """
        if is_linear(measure):
            return np.inf
        counts = gains_of(measure, np.array(self.scale.grades)) > 0
        believed = self._mean[:, counts].sum(axis=1)
        by_topic = np.bincount(self.machine.pairs.topic, believed)
        return float(np.median(by_topic[np.diff(self.machine.pairs.topic_starts) > 0]))

    def shown(self, measure: Measure) -> Mask:
        """Which labelled pairs each run has among the ranks that a measure looks at."""
        return np.asarray(self._scored.ranks[:, self.at] < measure.depth)

    # --- probabilities of grades ------------------------------------------------------------------

    @cached_property
    def _predictors(self) -> Floats:
        """What is known of each pair: the machine's answer, the runs' ranks, the topic's level."""
        from scipy.special import logit

        grades, pairs = np.array(self.machine.scale.grades, np.float64), self.machine.pairs
        share = self.machine.posterior @ (grades - grades[0]) / max(grades[-1] - grades[0], 1.0)
        near, on_top = 1.0 / (61.0 + self._scored.ranks), self._scored.ranks < TOP
        # runs that the machine likes count more: without that, the best runs' documents would be
        # taken for too bad, together, which no correction pair by pair repairs
        quality = _standard((on_top * share).sum(axis=1) / np.maximum(on_top.sum(axis=1), 1))
        trusted = np.exp(quality) / np.exp(quality).sum()
        said = _standard(logit(np.clip(share, EDGE, 1 - EDGE)))
        fused, seen = np.log(near.mean(axis=0)), np.log(on_top.mean(axis=0) + 0.02)
        topics = len(pairs.topics)
        level = np.bincount(pairs.topic, share, topics) / np.maximum(
            np.bincount(pairs.topic, minlength=topics), 1
        )
        columns = [
            said,
            fused,
            seen,
            level[pairs.topic],
            np.log(trusted @ near) - fused,
            np.log(trusted @ on_top + 0.02) - seen,
            said * _standard(seen),
            np.square(_standard(seen)),
        ]
        return np.column_stack([np.ones(len(pairs)), *map(_standard, columns)])

    def _learned(self, taught: Array) -> list[_Regression]:
        """A regression for each grade above the lowest, from these rows of the sample."""
        x, topic = self._predictors[self.at[taught]], self.machine.pairs.topic[self.at[taught]]
        grade = self.sample.qrels.grade[taught]
        topics = len(self.machine.pairs.topics)
        return [_Regression.of(x, topic, grade >= g, topics) for g in self.scale.grades[1:]]

    @cached_property
    def _taught(self) -> list[_Regression]:
        """By all labels."""
        return self._learned(np.arange(len(self.at)))

    @cached_property
    def _believed(self) -> list[tuple[float, Floats]]:
        """Weights of points in what is not known of the topics' effects, and P[pair, grade] there;
        the first is the middle.
        """
        x, topic = self._predictors, self.machine.pairs.topic
        odds = [each.odds(x, topic) for each in self._taught]
        points = [(1 - len(VARYING) / 3, self._with_labels(_grades(odds)))]
        for direction in np.sqrt(3) * np.eye(len(VARYING)):
            moves = [each.move(x, topic, direction) for each in self._taught]
            for sign in (1, -1):
                moved = [one + sign * by for one, by in zip(odds, moves, strict=True)]
                points.append((1 / 6, self._with_labels(_grades(moved))))
        return points

    def _with_labels(self, p: Floats) -> Floats:
        p[self.at] = np.eye(len(self.scale))[self.scale.codes(self.sample.qrels.grade)]
        return p

    @cached_property
    def _mean(self) -> Floats:
        """P[pair, grade], the mean over what is not known."""
        return np.asarray(sum(weight * p for weight, p in self._believed))

    @property
    def labels(self) -> SoftQrels:
        """The human labels where they are known, elsewhere what is believed: to order systems."""
        return SoftQrels(self.machine.pairs, self.scale, self._mean)

    def drawn(self, draws: int, seed: int = 0) -> QrelsSet:
        """Labels as they could be: topics' effects and grades drawn from what is believed of them,
        human labels where they are known.
        """
        random, grades = np.random.default_rng(seed), np.array(self.scale.grades, np.int8)
        x, topic = self._predictors, self.machine.pairs.topic
        result = np.empty((len(x), draws), np.int8)
        for draw in range(draws):
            effects = random.standard_normal((len(self.machine.pairs.topics), len(VARYING)))
            odds = [each.odds(x, topic) + each.move(x, topic, effects) for each in self._taught]
            below = np.cumsum(self._with_labels(_grades(odds)), axis=1)[:, :-1]
            result[:, draw] = grades[(random.random(len(x))[:, None] >= below).sum(axis=1)]
        return QrelsSet.of_draws(self.machine.pairs, result)

    @cached_property
    def _unseen(self) -> Floats:
        """P[sampled pair, grade] by labels of other folds."""
        n = len(self.at)
        # a hash of names, so that the order of rows does not matter
        turn = np.argsort(np.argsort(self.sample.pairs.hashes(np.arange(n, dtype=np.int32), 0)))
        fold = turn % min(FOLDS, n)
        x, topic = self._predictors[self.at], self.machine.pairs.topic[self.at]
        result = np.empty((n, len(self.scale)))
        for out in (fold == part for part in np.unique(fold)):
            learned = self._learned(np.flatnonzero(~out))
            result[out] = _grades([each.odds(x[out], topic[out]) for each in learned])
        return result

    # --- measures ---------------------------------------------------------------------------------

    def of(self, measure: Measure) -> Estimate:
        """The runs' scores, and what is not known of them."""
        middle = self._scored.expected(measure, self._mean)
        value = sum(weight * self._scored.expected(measure, p) for weight, p in self._believed)
        moved = self._scored.influence(measure, self._mean, self.at)
        code = self.scale.codes(self.sample.qrels.grade)
        n, chance = len(code), self.sample.probability
        believed = np.einsum("rsg,sg->rs", moved, self._unseen)
        step = (moved[:, np.arange(n), code] - believed) / chance
        left = 1 - chance
        centre = (step * left).sum(axis=1, keepdims=True) / max(left.sum(), 1e-300)
        parts = (step - centre) * np.sqrt(left * n / max(n - 1, 1))
        # what the probabilities imply of the same sum
        away = (moved - believed[:, :, None]) * np.sqrt(self._unseen * (left / chance**2)[:, None])
        flat = away.reshape(len(away), -1)
        implied = flat @ flat.T
        if is_linear(measure):
            # by the pairs that are open themselves, not by sampled ones for them
            flat = (away * np.sqrt(left)[:, None]).reshape(len(away), -1)
            implied = flat @ flat.T + self._scored.spread(measure, self._mean)
        more = max(float(np.square(parts).sum() / max(np.trace(implied), 1e-300)), 1.0)
        aside = np.asarray(value - middle)
        if self.over_topics:
            parts, beyond = self._by_topic(measure, step * left), np.zeros_like(implied)
        else:
            parts, beyond = parts / np.sqrt(2), more * implied / 2
        beyond = beyond + np.outer(aside, aside)
        squares = np.square(parts)
        weight = np.square(away).sum(axis=2)
        return Estimate(
            np.asarray(value + step @ left),
            np.sqrt(squares.sum(axis=1) + np.diag(beyond)),
            2 * squares.sum(axis=1) ** 2 / np.maximum(np.square(squares).sum(axis=1), 1e-300),
            np.array([float(self.informed)]),
            parts,
            weight.sum(axis=1) ** 2 / np.maximum(np.square(weight).sum(axis=1), 1e-300),
            beyond,
            FEWEST_EFFECTIVE,
        )

    def _by_topic(self, measure: Measure, step: Floats) -> Floats:
        """What each topic adds to the error, [run, topic]: how far its own estimate is off the
        mean.
        """
        scores = evaluate(self.runs, self.labels, measure)
        own = scores.topics.find(self.machine.pairs.topics)[self.machine.pairs.topic[self.at]]
        topics = len(scores.topics)
        each = scores.values[0, 0] / topics + _by_topic(step.T, own, topics)
        away = each - each.mean(axis=0)
        return np.asarray(away.T * np.sqrt(topics / max(topics - 1, 1)))


def _standard(values: Floats) -> Floats:
    """With the mean 0 and the spread 1."""
    spread = values.std()
    return np.asarray((values - values.mean()) / (spread if spread > 0 else 1.0))


def _grades(odds: list[Floats]) -> Floats:
    """P[pair, grade] from the log odds of being at least each grade above the lowest."""
    from scipy.special import expit

    above = np.minimum.accumulate(expit(np.stack(odds, axis=1)), axis=1)
    ends = np.ones((len(above), 1))
    return np.asarray(-np.diff(np.hstack([ends, above, 0 * ends]), axis=1))


@dataclass(frozen=True, eq=False)
class _Regression:
    """Coefficients, the topics' effects, and a root of the covariance of each topic's effects."""

    beta: Floats
    effect: Floats  # [topic, varying]
    root: Floats  # [topic, varying, varying]

    @classmethod
    def of(cls, x: Floats, topic: Codes, yes: Array, topics: int) -> _Regression:
        """The likeliest ones, by Newton's method on blocks of topics."""
        from scipy.special import expit

        z, k = x[:, VARYING], x.shape[1]
        ridge = np.full(k, RIDGE)
        ridge[0] = FREE
        beta, effect = np.zeros(k), np.zeros((topics, len(VARYING)))
        for _ in range(STEPS):
            mean = expit(x @ beta + (z * effect[topic]).sum(axis=1))
            miss, curve = yes - mean, mean * (1 - mean)
            inner = _by_topic(z[:, :, None] * z[:, None, :] * curve[:, None, None], topic, topics)
            inner += np.diag(1 / SPREAD)
            across = _by_topic(z[:, :, None] * x[:, None, :] * curve[:, None, None], topic, topics)
            pull = _by_topic(z * miss[:, None], topic, topics) - effect / SPREAD
            solved = np.linalg.solve(inner, np.concatenate([across, pull[:, :, None]], axis=2))
            whole = x.T @ (x * curve[:, None]) + np.diag(ridge)
            left = whole - np.einsum("tvk,tvl->kl", across, solved[:, :, :k])
            rest = x.T @ miss - ridge * beta - np.einsum("tvk,tv->k", across, solved[:, :, k])
            move = np.linalg.solve(left, rest)
            by_topic = solved[:, :, k] - solved[:, :, :k] @ move
            longest = max(float(np.abs(move).max()), float(np.abs(by_topic).max()))
            share = min(1.0, LONGEST / max(longest, 1e-300))
            beta, effect = beta + share * move, effect + share * by_topic
            if longest < 1e-7:
                break
        known = np.linalg.inv(inner)
        known = known + solved[:, :, :k] @ np.linalg.solve(
            left, solved[:, :, :k].transpose(0, 2, 1)
        )
        return cls(beta, effect, np.linalg.cholesky(known))

    def odds(self, x: Floats, topic: Codes) -> Floats:
        """Log odds of pairs."""
        return np.asarray(x @ self.beta + (x[:, VARYING] * self.effect[topic]).sum(axis=1))

    def move(self, x: Floats, topic: Codes, by: Floats) -> Floats:
        """What so many standard deviations [direction], or [topic, direction], do to log odds."""
        effect = (self.root @ by[..., None])[..., 0]
        return np.asarray((x[:, VARYING] * effect[topic]).sum(axis=1))


def _by_topic(values: Floats, topic: Codes, topics: int) -> Floats:
    """Sums of rows by topic."""
    result = np.zeros((topics, *values.shape[1:]))
    np.add.at(result, topic, values)
    return result
