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
from dataclasses import replace

import numpy as np

from qrowd.aggregation.reweighing import newton_step, with_log_odds
from qrowd.data.arrays import Codes, Floats, Mask
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.errors import DataWarning, InputError, ScaleError

STEPS = 50


def recalibrate(merged: Merged, gold: Qrels, seed: int = 0) -> Merged:
    """A merged belief whose probabilities of relevance are corrected by gold for some pairs.

    The gold should be a random sample of the pairs. Pairs that have it become certain and are
    marked as given, so that scoring leaves them out; all others keep their order within a topic.
    Gold that the method was given is left out, with a warning: it shows nothing of its errors.

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
    after = _corrected(merged.log_odds, merged.pairs.topic, known, truth)
    made = with_log_odds(merged, np.where(merged.given, merged.log_odds, after), seed)
    posterior, given = made.posterior.copy(), merged.given.copy()
    posterior[known], given[known] = np.eye(len(merged.scale))[codes], True
    samples = None if made.samples is None else made.samples.copy()
    if samples is not None:
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


def _corrected(said: Floats, topic: Codes, known: Codes, truth: Floats) -> Floats:
    """The log odds of all pairs, as the `truth` of the known ones corrects what was said."""
    design = np.stack([np.ones(len(said)), said], axis=1)
    centre, topics = np.array([0.0, 1.0]), int(topic.max()) + 1
    beta, shift = np.zeros(2), np.zeros(topics)  # where Newton's steps are safe
    for _ in range(STEPS):
        beta, shift = newton_step(
            design[known], topic[known], truth, beta, shift, centre, ridge=1.0
        )
    return np.asarray(design @ beta + shift[topic])
