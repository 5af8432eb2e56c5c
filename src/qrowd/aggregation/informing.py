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

from qrowd.aggregation.reweighing import expit, logit, newton_step, with_log_odds
from qrowd.data.arrays import Array, Floats
from qrowd.data.index import Pairs
from qrowd.data.merged import Merged
from qrowd.data.runs import RunSet
from qrowd.errors import DataWarning, NotConvergedWarning

MAX_ITER, TOLERANCE = 500, 1e-5
_EDGE = 1e-12


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
    after, converged = _informed(merged.log_odds, merged.given, x, merged.pairs)
    if not converged:
        message = f"inform did not settle in {MAX_ITER} iterations"
        warnings.warn(message, NotConvergedWarning, stacklevel=2)
    fit = replace(
        merged.fit,
        method=f"{merged.fit.method} informed by {len(runs)} runs",
        converged=merged.fit.converged and converged,
    )
    return replace(with_log_odds(merged, after, seed), fit=fit)


def evidence(runs: RunSet, pairs: Pairs) -> Floats:
    """X of each pair: sum over runs of log((length + 1) / rank), standardised within its topic."""
    result = np.zeros(len(pairs))
    code = runs.documents.find(pairs.documents)[pairs.document]
    topics = runs.topics.find(pairs.topics)
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
    """The log odds of each pair under the new prior, and whether EM settled."""
    now, free = expit(before), ~given
    usual = np.clip(now[free].mean() if free.any() else 0.5, _EDGE, 1 - _EDGE)
    votes = before - logit(usual)
    design = np.stack([np.ones(len(x)), x, x * x], axis=1)
    beta, centre, shift = np.zeros(3), np.zeros(3), np.zeros(len(pairs.topics))
    beta[0] = logit(np.clip(now.mean(), _EDGE, 1 - _EDGE))
    for _ in range(MAX_ITER):
        beta, shift = newton_step(design, pairs.topic, now, beta, shift, centre)
        after = np.where(given, before, design @ beta + shift[pairs.topic] + votes)
        moved, now = float(np.abs(expit(after) - now).max()), expit(after)
        if moved < TOLERANCE:
            return after, True
    return after, False
