"""A merged belief revised: by a little gold (`recalibrate`), or by rankings (`inform`)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qrowd.aggregation.fit import shares_of
from qrowd.data.arrays import Array, Codes, Floats, Grades, Mask
from qrowd.data.index import Pairs
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.errors import DataWarning, InputError, NotConvergedWarning, ScaleError

STEPS, _SHIFT_STEPS = 50, 20  # of Newton's method, at most
MAX_ITER, TOLERANCE = 500, 1e-5  # of the EM of `inform`
RIDGE = 1e-2
_EDGE = 1e-12
_LEAST = 1e-300


def recalibrate(
    merged: Merged, gold: Qrels, seed: int = 0, draws: int = 0, level: float = 1.0
) -> Merged:
    """A merged belief whose probabilities of relevance are corrected by gold for some pairs.

    The gold should be a random sample of the pairs. Pairs that have it become certain and are
    marked as given, so that scoring leaves them out; all others keep their order within a topic.
    Gold that the method was given is left out, with a warning: it shows nothing of its errors.

    `draws`: how many draws of relevance the result holds, for intervals that know that the gold is
    a sample too. For each, the coefficients are learned again on topics drawn with replacement, and
    every topic's shift is drawn about what its own gold says. `level` is the precision with which
    the common shift is held to 0: more than 1 where the gold is of a handful of topics, whose
    shares of relevant documents may be unusual.

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
    unseen = _unseen(merged, at)
    codes = merged.scale.codes(np.maximum(gold.grade, merged.scale.grades[0]))[unseen]
    if (codes < 0).any():
        raise ScaleError(
            f"gold has grades {' '.join(map(str, gold.scale.grades))} but merged labels have "
            f"{' '.join(map(str, merged.scale.grades))}; cut it: gold.binary(at_least=...)"
        )
    labelled, truth = at[unseen], merged.scale.relevant[codes].astype(np.float64)
    # a unanimous vote of five is no infinite evidence: the odds next to it are those of 4 to 1,
    # so where a probability is exactly 0 they are one beyond the largest finite ones
    odds, relevant = merged.log_odds, merged.scale.relevant
    yes, no = (merged.posterior[:, part].sum(axis=1) for part in (relevant, ~relevant))
    limit = float(np.abs(odds[(yes > 0) & (no > 0)]).max(initial=0.0)) + 1.0
    odds = np.clip(odds, -limit, limit)
    regression = Regression(odds, merged.pairs.topic, labelled, truth, level)
    made = _moved_to(merged, regression.corrected(), seed)
    posterior, fixed = made.posterior.copy(), merged.given.copy()
    posterior[labelled], fixed[labelled] = np.eye(len(merged.scale))[codes], True
    samples = _drawn(merged, regression, draws, seed) if draws else made.samples
    if samples is not None:
        samples = samples.copy()
        samples[labelled] = codes[:, None]
    fit = replace(merged.fit, method=f"{merged.fit.method} recalibrated on {len(labelled)} pairs")
    told = merged.provenance
    told = told and replace(told, recalibrated=told.recalibrated + len(labelled))
    return replace(
        made, posterior=posterior, given=fixed, samples=samples, fit=fit, provenance=told
    )


def _unseen(merged: Merged, at: Codes) -> Mask:
    """Which rows of gold are about pairs of the pool whose gold the method was not given."""
    inside = at >= 0
    if not inside.any():
        raise InputError(
            "gold and merged labels have no pair in common; do topic and document names match?"
        )
    unseen = inside & ~merged.given[at]
    if not unseen.any():
        raise InputError(
            "all of this gold was given to the method already; recalibrate with other gold"
        )
    seen = int((inside & ~unseen).sum())
    if seen:
        warnings.warn(
            f"{seen} of {int(inside.sum())} gold pairs were given to the method already and are "
            "left out of recalibration; recalibrate with gold that it has not seen",
            DataWarning,
            stacklevel=3,
        )
    return unseen


def _moved_to(merged: Merged, odds: Floats, seed: int) -> Merged:
    """The belief with these log odds; pairs whose gold was given stay."""
    return with_log_odds(merged, np.where(merged.given, merged.log_odds, odds), seed)


def _drawn(merged: Merged, regression: Regression, draws: int, seed: int) -> Grades:
    """One draw of relevance from each of so many regressions, each learned again."""
    random = np.random.default_rng(seed)
    columns = []
    for draw in range(draws):
        sample = merged.samples
        if sample is not None:
            sample = sample[:, [draw % sample.shape[1]]]
        made = _moved_to(replace(merged, samples=sample), regression.relearned(random), seed + draw)
        columns.append(made.one_draw(random) if made.samples is None else made.samples[:, 0])
    return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class Regression:
    """Gold on the `odds` (logs) of every pair: the `truth` of the labelled ones.

    `level` is the precision with which the intercept is held to 0.
    """

    odds: Floats
    topic: Codes
    labelled: Codes
    truth: Floats
    level: float = 1.0

    @cached_property
    def _design(self) -> Floats:
        return np.stack([np.ones(len(self.odds)), self.odds], axis=1)

    @cached_property
    def _best(self) -> tuple[Floats, Floats]:
        topics = int(self.topic.max()) + 1
        return self._climbed(self.labelled, self.topic[self.labelled], self.truth, topics)

    def _climbed(
        self, rows: Codes, topic: Array, truth: Floats, topics: int
    ) -> tuple[Floats, Floats]:
        """The likeliest coefficients and shifts of these pairs."""
        ridge, centre = np.array([self.level, 1.0]), np.array([0.0, 1.0])
        return climbed(self._design[rows], topic, truth, topics, ridge, centre)

    def corrected(self) -> Floats:
        """The log odds of all pairs, corrected by all of the gold."""
        beta, shift = self._best
        return np.asarray(self._design @ beta + shift[self.topic])

    def relearned(self, random: np.random.Generator) -> Floats:
        """The log odds of all pairs, by coefficients of topics drawn with replacement."""
        own = self.topic[self.labelled]
        topics = np.unique(own)
        chosen = [np.flatnonzero(own == topic) for topic in random.choice(topics, len(topics))]
        rows = np.concatenate(chosen)
        copy = np.repeat(np.arange(len(chosen)), [len(part) for part in chosen])
        beta, _ = self._climbed(self.labelled[rows], copy, self.truth[rows], len(chosen))
        odds = self._design @ beta
        return np.asarray(odds + self._shifts(odds, random)[self.topic])

    def _shifts(self, odds: Floats, random: np.random.Generator) -> Floats:
        """Every topic's shift, drawn about the likeliest one: Laplace's approximation."""
        from scipy.special import expit

        own, topics = self.topic[self.labelled], int(self.topic.max()) + 1
        shift: Floats = np.zeros(topics)
        certainty: Floats = np.ones(topics)
        for _ in range(_SHIFT_STEPS):
            p = expit(odds[self.labelled] + shift[own])
            certainty = np.asarray(np.bincount(own, p * (1 - p), topics), np.float64) + 1.0
            gap = np.bincount(own, self.truth - p, topics) - shift
            shift = shift + np.clip(gap / certainty, -1.0, 1.0)
        return np.asarray(shift + random.normal(size=topics) / np.sqrt(certainty))


def inform(merged: Merged, runs: RunSet, seed: int = 0) -> Merged:
    """A merged belief that also knows how the systems rank the documents.

    Use it before `draws` or `soft` when systems are to be scored and pairs have few votes. It leans
    on the systems' consensus: an unusual system that finds what no other does gets less credit for
    documents with weak votes. It expects a posterior of a model (`ds`, `hier-bayes`, ...), not
    shares of votes, nor `auto`: the scores' notes say so. Pairs whose gold was given stay as they
    are.

    >>> import qrowd as q
    >>> made = q.simulate(topics=5, documents=40, runs=8, assessors=8, votes=2, seed=3)
    >>> merged = q.get("ds").fit(made.judgements)
    >>> informed = q.inform(merged, made.runs)
    >>> plain, better = (q.score_labels(x, made.truth)["auc"] for x in (merged, informed))
    >>> better > plain
    True
    """
    x = evidence(runs, merged.pairs)
    if not x.any():
        warnings.warn(
            "the runs rank none of the merged pairs: nothing to learn from",
            DataWarning,
            stacklevel=2,
        )
        return merged
    after, converged = _informed(merged.log_odds, merged.given, x, merged.pairs)
    if not converged:
        message = f"inform did not settle in {MAX_ITER} iterations"
        warnings.warn(message, NotConvergedWarning, stacklevel=2)
    fit = replace(
        merged.fit,
        method=f"{merged.fit.method} informed by {len(runs)} runs",
        converged=merged.fit.converged and converged,
    )
    told = merged.provenance
    told = told and replace(told, informed=tuple(runs.runs))
    return replace(with_log_odds(merged, after, seed), fit=fit, provenance=told)


def evidence(runs: RunSet, pairs: Pairs) -> Floats:
    """X of each pair: sum over runs of log((length + 1) / rank), standardised within its topic."""
    result = np.zeros(len(pairs))
    code = runs.documents.find(pairs.documents)[pairs.document]
    topics = runs.topics.find(pairs.topics)
    for topic in np.flatnonzero(topics >= 0):
        first, last = pairs.topic_starts[topic : topic + 2]
        documents, lengths = runs.lists(int(topics[topic]))
        rank = np.arange(1, documents.shape[1] + 1)
        worth = np.log((lengths[:, None] + 1.0) / rank[None, :])
        inside = documents >= 0
        total = np.bincount(documents[inside], worth[inside], minlength=len(runs.documents) + 1)
        x = np.where(code[first:last] >= 0, total[code[first:last]], 0.0)
        result[first:last] = (x - x.mean()) / (x.std() or 1.0) if len(x) else x
    return result


def _informed(before: Floats, fixed: Array, x: Floats, pairs: Pairs) -> tuple[Floats, bool]:
    """The log odds of each pair under the new prior, and whether EM settled."""
    from scipy.special import expit, logit

    now, free = expit(before), ~fixed
    usual = np.clip(now[free].mean() if free.any() else 0.5, _EDGE, 1 - _EDGE)
    votes = before - logit(usual)
    design = np.stack([np.ones(len(x)), x, x * x], axis=1)
    beta, centre, shift = np.zeros(3), np.zeros(3), np.zeros(len(pairs.topics))
    beta[0] = logit(np.clip(now.mean(), _EDGE, 1 - _EDGE))
    for _ in range(MAX_ITER):
        beta, shift = newton_step(design, pairs.topic, now, beta, shift, centre)
        after = np.where(fixed, before, design @ beta + shift[pairs.topic] + votes)
        moved, now = float(np.abs(expit(after) - now).max()), expit(after)
        if moved < TOLERANCE:
            return after, True
    return after, False


# --- what both do ---------------------------------------------------------------------------------


def with_log_odds(merged: Merged, after: Floats, seed: int = 0) -> Merged:
    """The same belief with the log odds of relevance changed to `after`; its draws follow."""
    from scipy.special import expit

    relevant = merged.scale.relevant
    posterior = merged.posterior.copy()
    for columns, new in ((relevant, expit(after)), (~relevant, expit(-after))):
        # relevant and other grades stay in the same proportions
        posterior[:, columns] = shares_of(posterior[:, columns]) * new[:, None]
    posterior = posterior / posterior.sum(axis=1, keepdims=True)
    samples = _moved(merged, posterior, seed) if merged.samples is not None else None
    return replace(merged, posterior=posterior, samples=samples, decided=None)


def _moved(merged: Merged, posterior: Floats, seed: int) -> Grades:
    """Draws with as few grades changed as this posterior wants: what they have in common stays."""
    random = np.random.default_rng(seed)
    assert merged.samples is not None
    samples, relevant = merged.samples.copy(), merged.scale.relevant
    low, high = int(np.flatnonzero(~relevant)[-1]), int(np.flatnonzero(relevant)[0])
    change = posterior - merged.posterior
    up, down = (
        change[:, to].sum(axis=1) / np.maximum(merged.posterior[:, ~to].sum(axis=1), _LEAST)
        for to in (relevant, ~relevant)
    )
    for draw in range(samples.shape[1]):
        column, coin = samples[:, draw], random.random(len(up))
        yes = relevant[column]
        samples[:, draw] = np.where(
            ~yes & (coin < up), high, np.where(yes & (coin < down), low, column)
        )
    return samples


def climbed(
    design: Floats,
    topic: Array,
    target: Floats,
    topics: int,
    ridge: Floats,
    centre: Floats | None = None,
) -> tuple[Floats, Floats]:
    """The likeliest coefficients and shifts, from 0 on, where Newton's steps are safe."""
    beta, shift = np.zeros(design.shape[1]), np.zeros(topics)
    centre = np.zeros_like(beta) if centre is None else centre
    for _ in range(STEPS):
        before = beta
        beta, shift = newton_step(design, topic, target, beta, shift, centre, ridge)
        if np.abs(beta - before).max() < 1e-9:
            break
    return beta, shift


def newton_step(
    design: Floats,
    topic: Array,
    target: Floats,
    beta: Floats,
    shift: Floats,
    centre: Floats,
    ridge: float | Floats = RIDGE,
) -> tuple[Floats, Floats]:
    """One Newton step of the logistic regression with a shift u ~ N(0, 1) per topic.

    The coefficients `beta` are drawn to `centre` with the precision `ridge`.
    """
    from scipy.special import expit

    mean = expit(design @ beta + shift[topic])
    weight, miss = mean * (1 - mean), target - mean
    n = len(shift)
    per_topic = np.bincount(topic, weight, minlength=n) + 1.0
    mixed = np.stack([np.bincount(topic, weight * column, minlength=n) for column in design.T])
    gap = np.bincount(topic, miss, minlength=n) - shift
    inner = design.T @ (design * weight[:, None]) + ridge * np.eye(len(beta))
    slope = design.T @ miss - ridge * (beta - centre)
    left = inner - (mixed / per_topic) @ mixed.T
    change = np.linalg.solve(left, slope - mixed @ (gap / per_topic))
    moved = (gap - mixed.T @ change) / per_topic

    def objective(size: float) -> float:
        b, u = beta + size * change, shift + size * moved
        eta = design @ b + u[topic]
        fit = (target * eta - np.logaddexp(0.0, eta)).sum()
        return float(fit - (ridge * (b - centre) ** 2).sum() / 2 - (u**2).sum() / 2)

    size, now = 1.0, objective(0.0)
    while objective(size) < now and size > 1e-6:  # a full step may go too far
        size /= 2
    return beta + size * change, shift + size * moved
