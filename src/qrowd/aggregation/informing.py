r"""What the systems' rankings say about relevance, added to what the assessors said.

Merging methods take pairs to be exchangeable: before the votes, each is relevant with the same
probability. But a document that most systems rank high is likelier to be relevant than one that
few rank low, and scores of systems depend on just that: with few votes, draws from a posterior that
does not know it give every system too low a score. `inform` puts a prior in its place that depends
on the rankings,

$$\operatorname{logit} P(z_d = 1) = \beta_0 + u_{t(d)} + \beta_1 x_d + \beta_2 x_d^2,
\qquad u_t \sim N(0, 1)$$

where x is the sum over runs of log((length + 1) / rank), 0 where a run does not have the document,
standardised within the topic's pool. What the votes say is kept: the odds of the merged posterior
over those of its mean. The coefficients are found by EM.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from qrowd.data.arrays import Array, Floats, Grades
from qrowd.data.index import Pairs
from qrowd.data.merged import Merged
from qrowd.data.runs import RunSet
from qrowd.errors import DataWarning, NotConvergedWarning

MAX_ITER, TOLERANCE, NEWTON = 500, 1e-5, 2
_EDGE = 1e-12
_RIDGE = 1e-2


def inform(merged: Merged, runs: RunSet, seed: int = 0) -> Merged:
    """A merged belief that also knows how the systems rank the documents.

    Use it before `draws` or `soft` when systems are to be scored and pairs have few votes. It leans
    on the systems' consensus: an unusual system that finds what no other does gets less credit for
    documents with weak votes. It expects a posterior of a model (`ds`, `hier-bayes`, ...), not
    shares of votes. Pairs whose gold was given stay as they are.

    >>> import qrowd as q
    >>> made = q.simulate(topics=5, documents=40, runs=8, assessors=8, votes=2, seed=3)
    >>> merged = q.get("ds").fit(made.judgements)
    >>> informed = q.inform(merged, made.runs)
    >>> plain, better = (q.score_labels(one, made.truth)["auc"] for one in (merged, informed))
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
    before = np.clip(merged.relevant, 0.0, 1.0)
    after, converged = _informed(before, merged.given, x, merged.pairs)
    if not converged:
        message = f"inform did not settle in {MAX_ITER} iterations"
        warnings.warn(message, NotConvergedWarning, stacklevel=2)
    fit = replace(
        merged.fit,
        method=f"{merged.fit.method} informed by {len(runs)} runs",
        converged=merged.fit.converged and converged,
    )
    posterior = _rescaled(merged, before, after)
    samples = _moved(merged, before, after, seed) if merged.samples is not None else None
    return replace(merged, posterior=posterior, samples=samples, decided=None, fit=fit)


def evidence(runs: RunSet, pairs: Pairs) -> Floats:
    """X of each pair: sum over runs of log((length + 1) / rank), standardised within its topic."""
    result = np.zeros(len(pairs))
    code = runs.documents.codes(pairs.documents.names)[pairs.document]
    topics = runs.topics.codes(pairs.topics.names)
    for topic in np.flatnonzero(topics >= 0):
        first, last = pairs.topic_starts[topic : topic + 2]
        total = _fused(runs, int(topics[topic]))
        x = np.where(code[first:last] >= 0, total[code[first:last]], 0.0)
        result[first:last] = (x - x.mean()) / (x.std() or 1.0) if len(x) else x
    return result


def _fused(runs: RunSet, topic: int) -> Floats:
    documents, lengths = runs.lists(topic)
    rank = np.arange(1, documents.shape[1] + 1)
    worth = np.log((lengths[:, None] + 1.0) / rank[None, :])
    inside = documents >= 0
    total = np.bincount(documents[inside], worth[inside], minlength=len(runs.documents) + 1)
    return np.asarray(total, np.float64)


def _informed(before: Floats, given: Array, x: Floats, pairs: Pairs) -> tuple[Floats, bool]:
    """P(relevant) of each pair under the new prior, and whether EM settled."""
    p = np.clip(before, _EDGE, 1 - _EDGE)
    votes = _logit(p) - _logit(np.array(p[~given].mean() if not given.all() else 0.5))
    design = np.stack([np.ones(len(x)), x, x * x], axis=1)
    beta, shift = np.zeros(3), np.zeros(len(pairs.topics))
    beta[0] = _logit(p.mean(keepdims=True))[0]
    now = p
    for _ in range(MAX_ITER):
        for _ in range(NEWTON):
            beta, shift = _step(design, pairs.topic, now, beta, shift)
        prior = design @ beta + shift[pairs.topic]
        new = np.where(given, before, _expit(prior + votes))
        moved, now = float(np.abs(new - now).max()), new
        if moved < TOLERANCE:
            return now, True
    return now, False


def _step(
    design: Floats, topic: Array, target: Floats, beta: Floats, shift: Floats
) -> tuple[Floats, Floats]:
    """One Newton step of the logistic regression with a normal shift per topic."""
    mean = _expit(design @ beta + shift[topic])
    weight, miss = mean * (1 - mean), target - mean
    n = len(shift)
    per_topic = np.bincount(topic, weight, minlength=n) + 1.0  # u ~ N(0, 1)
    mixed = np.stack([np.bincount(topic, weight * column, minlength=n) for column in design.T])
    gap = np.bincount(topic, miss, minlength=n) - shift
    inner = design.T @ (design * weight[:, None]) + _RIDGE * np.eye(len(beta))
    slope = design.T @ miss - _RIDGE * beta
    left = inner - (mixed / per_topic) @ mixed.T
    change = np.linalg.solve(left, slope - mixed @ (gap / per_topic))
    return beta + change, shift + (gap - mixed.T @ change) / per_topic


def _logit(p: Floats) -> Floats:
    return np.asarray(np.log(p) - np.log1p(-p))


def _expit(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -700, 700))))


def _rescaled(merged: Merged, before: Floats, after: Floats) -> Floats:
    """The posterior with its relevant grades adding up to `after`, in the same proportions."""
    relevant = merged.scale.relevant
    result = merged.posterior.copy()
    for columns, old, new in ((relevant, before, after), (~relevant, 1 - before, 1 - after)):
        result[:, columns] *= (new / np.maximum(old, _EDGE))[:, None]
    return np.asarray(result / result.sum(axis=1, keepdims=True))


def _moved(merged: Merged, before: Floats, after: Floats, seed: int) -> Grades:
    """Draws with as few grades changed as `after` wants: what draws have in common stays."""
    random = np.random.default_rng(seed)
    assert merged.samples is not None
    samples, relevant = merged.samples.copy(), merged.scale.relevant
    low, high = int(np.flatnonzero(~relevant)[-1]), int(np.flatnonzero(relevant)[0])
    up = (after - before) / np.maximum(1 - before, _EDGE)
    down = (before - after) / np.maximum(before, _EDGE)
    for draw in range(samples.shape[1]):
        column, coin = samples[:, draw], random.random(len(before))
        yes = relevant[column]
        samples[:, draw] = np.where(
            ~yes & (coin < up), high, np.where(yes & (coin < down), low, column)
        )
    return samples
