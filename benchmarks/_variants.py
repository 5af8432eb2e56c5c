"""The hierarchical model changed in one way at a time, by variational inference: what would help?

A pair is of one of a few classes: not relevant, relevant, or each of these in an easy and a hard
kind. `Rows` and `Surface` are two kinds of populations of assessors; both turn the expected counts
n[assessor, class, said] into E log P(said | class, assessor).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln, log_expit, logsumexp

import qrowd as q
from qrowd.aggregation.judgements.hier_vb import expected_logs
from qrowd.data.arrays import Floats

PARETO, SWEEPS, CLOSE = 1.5, 80, 1e-4
Learn = Callable[[Floats], Floats]


class Rows:
    """A Beta row per assessor and class; assessors are of len(said) kinds, a Beta population each.

    said[kind, class] is where the mean of P(says 1 | class) starts.
    """

    def __init__(self, said: list[list[float]]) -> None:
        mean = np.array(said)
        self.alpha = 4 * np.stack([1 - mean, mean], axis=2)
        self.share = np.full(len(mean), 1 / len(mean))

    def __call__(self, n: Floats) -> Floats:
        kind = self._kinds(n)
        for k, c in np.ndindex(self.alpha.shape[:2]):
            self.alpha[k, c] = likeliest(self.alpha[k, c], n[:, c], kind[:, k])
        self.share = (kind.sum(axis=0) + 1) / (kind.sum() + len(self.share))
        logs = [[expected_logs(a, n[:, c]) for c, a in enumerate(rows)] for rows in self.alpha]
        return np.asarray(np.einsum("jk,kcjy->jcy", self._kinds(n), np.array(logs)))

    def _kinds(self, n: Floats) -> Floats:
        """P(kind | counts) of every assessor."""
        logs = [log_evidences(alpha, n).sum(axis=1) for alpha in self.alpha]
        return softmax(np.log(self.share) + np.stack(logs, axis=1))


class Surface:
    """Two numbers per assessor, normal in the population; logit P(says 1) is linear in them.

    slope[class] are the two factors, mean where the population's mean starts.
    """

    def __init__(self, slope: list[list[float]], mean: list[float], correlated: bool) -> None:
        first, second = np.meshgrid(np.linspace(-7, 7, 41), np.linspace(-7, 7, 41), indexing="ij")
        self.place = np.stack([first.ravel(), second.ravel()], axis=1)
        logit = self.place @ np.array(slope).T
        self.logs = np.stack([log_expit(-logit), log_expit(logit)], axis=2)
        self.mean, self.covariance, self.correlated = np.array(mean), np.eye(2), correlated

    def __call__(self, n: Floats) -> Floats:
        flat = self.logs.reshape(len(self.place), -1)
        for _ in range(3):
            off = self.place - self.mean
            prior = -0.5 * (off @ np.linalg.inv(self.covariance) * off).sum(axis=1)
            at = softmax(prior + n.reshape(len(n), -1) @ flat.T)
            self._learn(at.sum(axis=0))
        return np.asarray((at @ flat).reshape(n.shape))

    def _learn(self, mass: Floats) -> None:
        """Mean and covariance; three assessors' worth of prior keep the latter regular."""
        self.mean = mass @ self.place / mass.sum()
        off = self.place - self.mean
        covariance = ((off.T * mass) @ off + 1.5 * np.eye(2)) / (mass.sum() + 3)
        self.covariance = covariance if self.correlated else np.diag(np.diag(covariance))


def softmax(logs: Floats) -> Floats:
    return np.asarray(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))


def log_evidences(alpha: Floats, n: Floats) -> Floats:
    """The log evidence of n[..., y] under alpha[..., y], the distribution over y integrated out."""
    kappa, total = alpha.sum(axis=-1), n.sum(axis=-1)
    own = (gammaln(n + alpha) - gammaln(alpha)).sum(axis=-1)
    return np.asarray(own - gammaln(total + kappa) + gammaln(kappa))


def likeliest(alpha: Floats, n: Floats, weight: Floats) -> Floats:
    """A few steps up the weighted evidence and the Pareto prior."""
    from scipy.optimize import minimize

    used = (weight > 1e-6) & (n.sum(axis=1) > 0)
    n, weight = n[used], weight[used]

    def depth(x: Floats) -> float:
        a = np.exp(x)
        return float(PARETO * np.log(a.sum()) - weight @ log_evidences(a, n))

    bounds = [(np.log(0.01), np.log(1e4))] * len(alpha)
    found = minimize(depth, np.log(alpha), bounds=bounds, options={"maxiter": 8})
    return np.asarray(np.exp(found.x))


def relevant(
    crowd: q.Judgements, learn: Learn, kinds: int = 1, *, once: bool = False, shared: bool = False
) -> Floats:
    """P(relevant) of every pair of so many kinds.

    With `once`, an assessor's repetitions share one vote; with `shared`, the kinds' shares are the
    same for all topics and for relevant and other pairs, else each topic has its own.
    """
    weight = shared_votes(crowd) if once else np.ones(len(crowd))
    cell = crowd.assessor.astype(np.int64) * 2 + crowd.grade
    cells, topics = 2 * len(crowd.assessors), len(crowd.topics)
    p = start(crowd, kinds)
    prior, before = np.ones(2 if shared else 2 * kinds), np.inf
    for _ in range(SWEEPS):
        counts = [np.bincount(cell, weight * c[crowd.pair], cells) for c in p.T]
        n: Floats = np.stack(counts).astype(np.float64)
        logs = learn(n.reshape(len(n), -1, 2).transpose(1, 0, 2))
        own = p.reshape(len(p), kinds, 2)
        members = own.sum(axis=1) if shared else p
        tallies = [np.bincount(crowd.pairs.topic, c, topics) for c in members.T]
        by_topic: Floats = np.stack(tallies, axis=1).astype(np.float64)
        prior = likeliest(prior, by_topic, np.ones(topics))
        score = expected_logs(prior, by_topic)[crowd.pairs.topic]
        if shared:
            kind = np.log((own.sum(axis=(0, 2)) + 1) / (len(p) + kinds))
            score = (score[:, None, :] + kind[:, None]).reshape(len(p), -1)
        for c in range(2 * kinds):
            said = logs[:, c].ravel()[cell]
            score[:, c] += np.bincount(crowd.pair, weight * said, len(crowd.pairs))
        p = softmax(score)
        now = p[:, 1::2].sum(axis=1)
        if np.abs(now - before).max() < CLOSE:
            break
        before = now
    return np.asarray(now)


def start(crowd: q.Judgements, kinds: int) -> Floats:
    """The vote; of two kinds, pairs on which votes differ are of the second, hard one; of more
    kinds, all equally. Classes: 0 and 1 of the first kind, 0 and 1 of the second ...
    """
    votes = crowd.votes + 0.02
    p = np.asarray(votes / votes.sum(axis=1, keepdims=True))
    sure = np.abs(p[:, 1:] - p[:, :1])
    share = [sure, 1 - sure] if kinds == 2 else [np.full_like(sure, 1 / kinds)] * kinds
    return np.concatenate([p * each for each in share], axis=1)


def shared_votes(crowd: q.Judgements) -> Floats:
    key = crowd.pair.astype(np.int64) * len(crowd.assessors) + crowd.assessor
    _, place, times = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(1 / times[place])


def skilled(*levels: float) -> Surface:
    """Logit P(says 1) = bias + level * skill on relevant pairs, bias - level * skill on others."""
    slope = [[1.0, sign * level] for level in levels for sign in (-1, 1)]
    return Surface(slope, [0, 2], False)


LOGITS = [[-1.0, 0.0], [0.0, 1.0]]  # of specificity and of sensitivity
PLAIN, SPAM = [0.3, 0.7], [0.5, 0.5]
VARIANTS: dict[str, Callable[[q.Judgements], Floats]] = {
    "as printed": lambda crowd: relevant(crowd, Rows([PLAIN])),
    "repetitions share a vote": lambda crowd: relevant(crowd, Rows([PLAIN]), once=True),
    "assessors of 2 kinds": lambda crowd: relevant(crowd, Rows([[0.2, 0.8], SPAM])),
    "of 3 kinds": lambda crowd: relevant(crowd, Rows([[0.15, 0.85], [0.8, 0.8], [0.2, 0.2]])),
    "of 4 kinds": lambda crowd: relevant(crowd, Rows([[0.15, 0.85], SPAM, [0.8, 0.8], [0.2, 0.2]])),
    "normal logits": lambda crowd: relevant(crowd, Surface(LOGITS, [1, 1], False)),
    "correlated logits": lambda crowd: relevant(crowd, Surface(LOGITS, [1, 1], True)),
    "easy and hard pairs, own rows": lambda crowd: relevant(
        crowd, Rows([[0.15, 0.85, 0.4, 0.6]]), 2
    ),
    "bias and skill": lambda crowd: relevant(crowd, skilled(1)),
    "and easy, hard pairs (1, 0.2)": lambda crowd: relevant(crowd, skilled(1, 0.2), 2),
    "the same, shares for all topics": lambda crowd: relevant(
        crowd, skilled(1, 0.2), 2, shared=True
    ),
    "three levels (1, 0.5, 0.25), so": lambda crowd: relevant(
        crowd, skilled(1, 0.5, 0.25), 3, shared=True
    ),
    "four levels (2, 1, 0.3, 0.1), so": lambda crowd: relevant(
        crowd, skilled(2, 1, 0.3, 0.1), 4, shared=True
    ),
}
