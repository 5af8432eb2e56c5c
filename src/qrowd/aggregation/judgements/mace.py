"""MACE: assessors who know, and assessors who guess in their own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.aggregation.ballot import CLASS_PRIORS, Ballot, Expected, class_prior
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Floats
from qrowd.data.details import Details
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.errors import InputError
from qrowd.registry import method, param

BEFORE = 30
"""Iterations of each start before the best of them goes on."""
AHEAD = 1.0
"""By how much a random start must be ahead to be preferred, in nats."""

Learned = tuple[Floats, Floats, float]
"""Log of copying[assessor], log of spam[assessor, grade], and a log density."""


@method("mace", paper="Hovy et al. 2013", uses=("gold", "priors"), assumes_independence=True)
class MACE:
    r"""MACE: each judgement either copies the truth or is spam from the assessor's own habit.

    The true grade $T_i$ of pair $i$ is uniform over $K$ grades. With probability $\theta_j$
    assessor $j$ gives the true grade, otherwise (spam, $S_{ij} = 1$) a grade from the habit
    $\xi_j$:

    $$P(A_{ij} = a \mid T_i = t) = \theta_j\, 1[a = t] + (1 - \theta_j)\, \xi_{ja}$$

    The E step, in logs, so that any number of judgements of a pair may come:

    $$P(T_i = t \mid A) \propto \prod_{j: A_{ij} = t}
      \frac{\theta_j + (1 - \theta_j) \xi_{jt}}{(1 - \theta_j) \xi_{jt}}, \qquad
      P(S_{ij} = 0) = P(T_i = A_{ij} \mid A)\,
      \frac{\theta_j}{\theta_j + (1 - \theta_j) \xi_{j A_{ij}}}$$

    `inference=vb` (the default, as the paper recommends) gives $\theta_j \sim
    \text{Beta}(0.5, 0.5)$ and $\xi_j \sim \text{Dirichlet}(10, \ldots)$ and puts $\exp E[\log
    \cdot]$ in their places, climbing the evidence bound; `em` takes expected counts with
    `smoothing`, climbing the log-likelihood and the smoothing's density. Neither falls (the trace).
    `prior=learned` gives the grades their expected shares, one pair of each added, where the
    paper has them all alike (the authors' program takes such shares as an input): worth much where
    few pairs are relevant.

    Either finds a local optimum. There is a start from the vote, and `restarts` random ones that
    differ from one another (keyed by seed and assessor, so that the order of rows cannot matter);
    each gets 30 iterations, and the best (the vote's, unless another is ahead by 1) goes on until
    it gains less than `tol` per judgement. Gold pairs are certain and teach the assessors.
    `Given(priors=...)`, with a column `competence` (else `accuracy`), adds judgements known
    before, each counting `trust`.

    The assessors' table has `competence`, $\theta_j$, and `habit(g)`, $\xi_{jg}$.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 18, list("aaabbbcccdddeeefff"), ["ann", "bob", "yes"] * 6,
    ...     [1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1, 1],
    ... )
    >>> merged = q.MACE().fit(crowd)
    >>> merged.relevant.round(1).tolist()
    [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    >>> merged.assessors["competence"].round(1).tolist()
    [1.0, 1.0, 0.0]

    Reference: Hovy, Berg-Kirkpatrick, Vaswani & Hovy 2013.
    """

    inference: str = param("vb", "variational Bayes or EM", choices=("vb", "em"))
    prior: str = param("none", "prior of the grades", choices=CLASS_PRIORS)
    restarts: int = param(10, "random starts beside the vote's", at_least=0)
    alpha: float = param(0.5, "vb: pseudo-count of copying the truth", above=0)
    beta: float = param(0.5, "vb: pseudo-count of spamming", above=0)
    habit: float = param(10.0, "vb: pseudo-count of each grade in a habit", above=0)
    smoothing: float = param(0.1, "em: added to every expected count", above=0)
    trust: float = param(1.0, "how much each judgement behind `priors` counts", at_least=0)
    tol: float = param(1e-9, "stop when the objective gains less per judgement", above=0)
    max_iter: int = param(1000, "maximum number of iterations", at_least=1)
    clamp: bool = param(True, "gold is certain and teaches the assessors")
    seed: int = param(0, "of the random starts", at_least=0)

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """Posterior of every pair of the pool, and the assessors' competences and habits."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        ballot = Ballot(fitting.judgements, fitting.gold)
        earlier = self._earlier(fitting)
        learn = self._bayes if self.inference == "vb" else self._maximum
        model = _Model(ballot, lambda honest, spam: learn(honest, spam, earlier), self.prior)
        starts = [model.first(start) for start in self._starts(fitting, ballot)]
        tried = [model.climb(start, BEFORE) for start in starts]
        state = tried[0]
        for other in tried[1:]:
            state = other if other.objective > state.objective + AHEAD else state
        enough = self.tol * ballot.total
        for step in fitting.iterations(self.max_iter):
            state = state if step == 1 else model.improved(state)
            fitting.settled = abs(fitting.gain(state.objective)) < enough
        details = Details(own={"starts": tuple(start.objective for start in tried)})
        columns = _columns(state, fitting.judgements)
        return fitting.merged(state.expected.posterior, columns, details=details)

    def _starts(self, fitting: Fitting, ballot: Ballot) -> Iterator[Floats]:
        """Expected shares of right judgements[assessor, grade]: by the vote, then random ones."""
        rows, share = fitting.judgements, fitting.shares()
        right = share[rows.pair, rows.grade] * (1.0 if rows.weight is None else rows.weight)
        total = np.bincount(ballot.cell, right, ballot.votes.size).reshape(ballot.shape)
        yield np.divide(total, ballot.votes, out=np.zeros(ballot.shape), where=ballot.votes > 0)
        every = np.arange(len(rows.assessors), dtype=np.int32)
        for start in range(self.restarts):
            keyed = rows.assessors.hashes(every)
            yield _uniform(keyed, self.seed * 7919 + start + 1, len(rows.scale))

    def _earlier(self, fitting: Fitting) -> Floats:
        """Judgements[assessor, (honest, spam)] of an earlier fit, from its assessors' table."""
        rows, table = fitting.judgements, fitting.given.priors
        if table is None:
            return np.zeros((len(rows.assessors), 2))
        if "competence" in table.columns:
            share = np.asarray(table["competence"], dtype=np.float64)
        elif "accuracy" in table.columns:
            size = len(rows.scale)
            share = np.clip((size * np.asarray(table["accuracy"]) - 1) / (size - 1), 0.0, 1.0)
        else:
            raise InputError(
                "an assessors' table needs the column competence or accuracy as a prior"
            )
        if "judgements" not in table.columns:
            raise InputError("an assessors' table needs a column judgements to serve as a prior")
        made = np.nan_to_num(np.asarray(table["judgements"], dtype=np.float64))
        counts = np.nan_to_num(np.stack([made * share, made * (1 - share)], axis=1))
        at = table.assessors.find(rows.assessors)
        return self.trust * np.where((at >= 0)[:, None], counts[at], 0.0)

    def _bayes(self, honest: Floats, spam: Floats, earlier: Floats) -> Learned:
        """Exp E[log] of copying and of each spam grade; minus the divergence from the priors."""
        from scipy.special import digamma

        before = earlier + np.array([self.alpha, self.beta])
        a = before + np.stack([honest, spam.sum(axis=1)], axis=1)
        b = self.habit + spam
        log_a = digamma(a) - digamma(a.sum(axis=1, keepdims=True))
        log_b = digamma(b) - digamma(b.sum(axis=1, keepdims=True))
        habits = np.full_like(b, self.habit)
        bound = _divergence(a, before, log_a) + _divergence(b, habits, log_b)
        return log_a[:, 0], log_a[:, 1:] + log_b, -bound

    def _maximum(self, honest: Floats, spam: Floats, earlier: Floats) -> Learned:
        """Log of copying and of each spam grade; the density of the smoothing."""
        extra = earlier + self.smoothing
        a = extra + np.stack([honest, spam.sum(axis=1)], axis=1)
        b = self.smoothing + spam
        log_a = np.log(a / a.sum(axis=1, keepdims=True))
        log_b = np.log(b / b.sum(axis=1, keepdims=True))
        density = float((extra * log_a).sum() + self.smoothing * log_b.sum())
        return log_a[:, 0], log_a[:, 1:] + log_b, density


@dataclass(frozen=True, eq=False)
class _State:
    objective: float
    expected: Expected
    honest: Floats
    spam: Floats


@dataclass(frozen=True, eq=False)
class _Model:
    """`learn` has expected counts of honest judgements[assessor] and of spam[assessor, grade]."""

    ballot: Ballot
    learn: Callable[[Floats, Floats], Learned]
    prior: str

    def first(self, right: Floats) -> _State:
        """From the share of right judgements[assessor, grade], three in four of them copied, and
        grades that are all alike.
        """
        honest = 0.75 * right * self.ballot.votes
        alike = np.full((1, self.ballot.width), 1.0 / self.ballot.width)
        return self._state(honest.sum(axis=1), self.ballot.votes - honest, alike)

    def improved(self, state: _State) -> _State:
        """One M step and one E step on."""
        seen = state.expected.posterior[self.ballot.voted]
        return self._state(state.honest, state.spam, seen)

    def climb(self, state: _State, steps: int) -> _State:
        """So many steps on."""
        for _ in range(steps):
            state = self.improved(state)
        return state

    def _state(self, honest: Floats, spam: Floats, posterior: Floats) -> _State:
        copy, guess, density = self.learn(honest, spam)
        log_prior, extra = class_prior(self.prior, posterior)
        both = np.logaddexp(copy[:, None], guess)
        expected = self.ballot.expect(both - guess, log_prior)
        copied = np.exp(copy[:, None] - both) * expected.counts
        votes = self.ballot.votes
        objective = expected.likelihood + float((votes * guess).sum()) + density + extra
        return _State(objective, expected, copied.sum(axis=1), votes - copied)


def _columns(state: _State, rows: Judgements) -> dict[str, Floats]:
    made = np.maximum(state.honest + state.spam.sum(axis=1), 1e-300)
    spam = np.maximum(state.spam.sum(axis=1), 1e-300)
    habits = {f"habit({g})": state.spam[:, k] / spam for k, g in enumerate(rows.scale.grades)}
    return {"competence": state.honest / made, **habits}


def _uniform(keyed: Any, seed: int, size: int) -> Floats:
    """Numbers in (0, 1) for each key and column, from the seed."""
    from qrowd.data.index import mixed

    columns = [mixed(keyed, seed * size + column) >> np.uint64(11) for column in range(size)]
    return np.asarray((np.stack(columns, axis=1) + 0.5) * 2.0**-53)


def _divergence(after: Floats, before: Floats, log_mean: Floats) -> float:
    """Of Dirichlet(after) from Dirichlet(before), summed over rows."""
    from scipy.special import gammaln

    norm = gammaln(after.sum(axis=1)) - gammaln(before.sum(axis=1))
    return float(
        norm.sum() + (gammaln(before) - gammaln(after) + (after - before) * log_mean).sum()
    )
