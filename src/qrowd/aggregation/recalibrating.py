r"""Probabilities that mean what they say, by a little gold.

A method that takes assessors to err independently is too sure where they err together: pairs that
it gives .99 are relevant in, say, .8. Gold for some pairs, chosen at random, tells how much too
sure (Platt 1999, with a shift for each topic):

$$\operatorname{logit} P(z_d = 1) = \beta_0 + u_{t(d)} + \beta_1 \operatorname{logit} p_d,
\qquad \beta_0 \sim N(0, 1),\ \beta_1 \sim N(1, 1),\ u_t \sim N(0, 1)$$

so that without gold the belief stays as it is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qrowd.aggregation.reweighing import expit, newton_step, with_log_odds
from qrowd.data.arrays import Array, Codes, Floats, Grades, Mask
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.errors import DataWarning, InputError, ScaleError

STEPS, _SHIFT_STEPS = 50, 20


def recalibrate(merged: Merged, gold: Qrels, seed: int = 0, draws: int = 0) -> Merged:
    """A merged belief whose probabilities of relevance are corrected by gold for some pairs.

    The gold should be a random sample of the pairs. Pairs that have it become certain and are
    marked as given, so that scoring leaves them out; all others keep their order within a topic.
    Gold that the method was given is left out, with a warning: it shows nothing of its errors.

    `draws`: how many draws of relevance the result holds, for intervals that know that the gold is
    a sample too. For each, the coefficients are learned again on topics drawn with replacement, and
    every topic's shift is drawn about what its own gold says.

    >>> import qrowd as q
    >>> made = q.simulate(topics=6, documents=60, assessors=9, votes=5, difficulty=0.6, seed=3)
    >>> merged = q.get("ds").fit(made.judgements)
    >>> some = made.truth.select(np.random.default_rng(1).random(len(made.truth)) < 0.2)
    >>> before = q.score_labels(merged, made.truth, given=some)["log_loss"]
    >>> after = q.score_labels(q.recalibrate(merged, some), made.truth)["log_loss"]
    >>> after < before
    True
    """
    at = merged.pairs.locate(gold.pairs)
    found = _unseen(merged, at)
    codes = merged.scale.codes(np.maximum(gold.grade, merged.scale.grades[0]))[found]
    if (codes < 0).any():
        raise ScaleError(
            f"gold has grades {' '.join(map(str, gold.scale.grades))} but merged labels have "
            f"{' '.join(map(str, merged.scale.grades))}; cut it: gold.binary(at_least=...)"
        )
    known, truth = at[found], merged.scale.relevant[codes].astype(np.float64)
    regression = Regression(_said(merged), merged.pairs.topic, known, truth)
    made = _moved_to(merged, regression.corrected(), seed)
    posterior, given = made.posterior.copy(), merged.given.copy()
    posterior[known], given[known] = np.eye(len(merged.scale))[codes], True
    samples = _drawn(merged, regression, draws, seed) if draws else made.samples
    if samples is not None:
        samples = samples.copy()
        samples[known] = codes[:, None]
    fit = replace(merged.fit, method=f"{merged.fit.method} recalibrated on {len(known)} pairs")
    return replace(made, posterior=posterior, given=given, samples=samples, fit=fit)


def _unseen(merged: Merged, at: Codes) -> Mask:
    """Which rows of gold are about pairs of the pool whose gold the method was not given."""
    found = at >= 0
    if not found.any():
        raise InputError(
            "gold and merged labels have no pair in common; do topic and document names match?"
        )
    unseen = found & ~merged.given[at]
    if not unseen.any():
        raise InputError(
            "all of this gold was given to the method already; recalibrate with other gold"
        )
    seen = int((found & ~unseen).sum())
    if seen:
        warnings.warn(
            f"{seen} of {int(found.sum())} gold pairs were given to the method already and are "
            "left out of recalibration; recalibrate with gold that it has not seen",
            DataWarning,
            stacklevel=3,
        )
    return unseen


def _said(merged: Merged) -> Floats:
    """The log odds; where a probability is exactly 0, one beyond the largest that there are.

    A unanimous vote of five is no infinite evidence: the odds next to it are those of 4 to 1.
    """
    odds, relevant = merged.log_odds, merged.scale.relevant
    parts = [merged.posterior[:, which].sum(axis=1) for which in (relevant, ~relevant)]
    finite = np.abs(odds[(parts[0] > 0) & (parts[1] > 0)])
    limit = float(finite.max(initial=0.0)) + 1.0
    return np.clip(odds, -limit, limit)


def _moved_to(merged: Merged, odds: Floats, seed: int) -> Merged:
    """The belief with these log odds; pairs whose gold was given stay."""
    return with_log_odds(merged, np.where(merged.given, merged.log_odds, odds), seed)


def _drawn(merged: Merged, regression: Regression, draws: int, seed: int) -> Grades:
    """One draw of relevance from each of so many regressions, each learned again."""
    random = np.random.default_rng(seed)
    columns = []
    for draw in range(draws):
        own = (
            None if merged.samples is None else merged.samples[:, [draw % merged.samples.shape[1]]]
        )
        made = _moved_to(replace(merged, samples=own), regression.relearned(random), seed + draw)
        columns.append(made.one_draw(random) if made.samples is None else made.samples[:, 0])
    return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class Regression:
    """What was said of every pair (log odds), and the `truth` of the known ones."""

    said: Floats
    topic: Codes
    known: Codes
    truth: Floats

    @cached_property
    def _design(self) -> Floats:
        return np.stack([np.ones(len(self.said)), self.said], axis=1)

    @cached_property
    def _best(self) -> tuple[Floats, Floats]:
        topics = int(self.topic.max()) + 1
        return self._climbed(self.known, self.topic[self.known], self.truth, topics, STEPS)

    def _climbed(
        self, known: Codes, topic: Array, truth: Floats, topics: int, steps: int
    ) -> tuple[Floats, Floats]:
        """The likeliest coefficients and shifts, from 0 on, where Newton's steps are safe."""
        beta, shift, centre = np.zeros(2), np.zeros(topics), np.array([0.0, 1.0])
        design = self._design[known]
        for _ in range(steps):
            before = beta
            beta, shift = newton_step(design, topic, truth, beta, shift, centre, ridge=1.0)
            if np.abs(beta - before).max() < 1e-9:
                break
        return beta, shift

    def corrected(self) -> Floats:
        """The log odds of all pairs, corrected by all that is known."""
        beta, shift = self._best
        return np.asarray(self._design @ beta + shift[self.topic])

    def relearned(self, random: np.random.Generator) -> Floats:
        """The log odds of all pairs, by coefficients of topics drawn with replacement."""
        own = self.topic[self.known]
        topics = np.unique(own)
        chosen = [np.flatnonzero(own == topic) for topic in random.choice(topics, len(topics))]
        rows = np.concatenate(chosen)
        copy = np.repeat(np.arange(len(chosen)), [len(one) for one in chosen])
        beta, _ = self._climbed(self.known[rows], copy, self.truth[rows], len(chosen), STEPS)
        odds = self._design @ beta
        return np.asarray(odds + self._shifts(odds, random)[self.topic])

    def _shifts(self, odds: Floats, random: np.random.Generator) -> Floats:
        """Every topic's shift, drawn about the likeliest one: Laplace's approximation."""
        own, topics = self.topic[self.known], int(self.topic.max()) + 1
        shift: Floats = np.zeros(topics)
        certainty: Floats = np.ones(topics)
        for _ in range(_SHIFT_STEPS):
            p = expit(odds[self.known] + shift[own])
            certainty = np.asarray(np.bincount(own, p * (1 - p), topics), np.float64) + 1.0
            gap = np.bincount(own, self.truth - p, topics) - shift
            shift = shift + np.clip(gap / certainty, -1.0, 1.0)
        return np.asarray(shift + random.normal(size=topics) / np.sqrt(certainty))
