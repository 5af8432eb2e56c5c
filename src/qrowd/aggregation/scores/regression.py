"""AWARE with weights found together: non-negative ridge regression on gold's scores."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.panels import by_assessor, merge_scores
from qrowd.aggregation.scores.supervised import gold_scores, training_topics
from qrowd.data.arrays import Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.scores import Scores
from qrowd.registry import method, param


@method("aware-r", paper="qrowd", needs=("reference",))
class RegressionAware:
    r"""AWARE with the weights that together come nearest to gold on training topics.

    s-AWARE weighs each assessor alone; assessors who make the same mistakes then count many times
    over. Here the weights are found together. With $\tilde M_k[t, s]$ the scores less their mean
    over runs on each topic (only differences between runs matter), $\tilde M^*$ those of gold,

    $$\min_{w \ge 0} \; \sum_{t \in T} \sum_s \Big(\tilde M^*[t, s] -
    \sum_k w_k \tilde M_k[t, s]\Big)^2 + \lambda\, v \sum_k (w_k - c)^2$$

    where $c$ is the best common weight, so that $\lambda \to \infty$ is the uniform mean, and $v$
    the mean sum of squares of an assessor's scores, so that $\lambda$ has no unit. The weights are
    then rescaled to sum to 1. Ours; in the manner of stacking (Breiman 1996).

    >>> import qrowd as q
    >>> q.get("aware-r(ridge=1)")
    aware-r(ridge=1.0)
    """

    ridge: float = param(0.3, "how strongly weights are pulled towards each other", above=0)

    def accuracies(self, scores: Scores, given: Given = NOTHING) -> Floats:
        """The weight of every (measure, assessor, topic)."""
        training = by_assessor(scores)[training_topics(scores, given)]
        gold = gold_scores(scores, given)
        found = [
            ridge_weights(values, reference[0], self.ridge)
            for values, reference in zip(training.values, gold, strict=True)
        ]
        return np.repeat(np.stack(found)[:, :, None], len(scores.topics), axis=2)

    def fit(self, scores: Scores, given: Given = NOTHING) -> Scores:
        """The mean over assessors, weighted together."""
        return merge_scores(scores, self.accuracies(scores, given), repr(self))


def ridge_weights(scores: Floats, gold: Floats, ridge: float) -> Floats:
    """Non-negative weights of scores[assessor, topic, run] that come near gold[topic, run]."""
    from scipy.optimize import nnls

    own = np.nan_to_num(scores - scores.mean(axis=2, keepdims=True)).reshape(len(scores), -1)
    wanted = (gold - gold.mean(axis=1, keepdims=True)).ravel()
    gram, projection = own @ own.T, own @ wanted
    size = float(np.trace(gram)) / len(gram)
    together = float(gram.sum())
    if size <= 0 or together <= 0:
        return np.ones(len(scores))
    common = max(float(projection.sum()) / together, 0.0)
    penalised = gram + (ridge + 1e-9) * size * np.eye(len(gram))
    root = np.linalg.cholesky(penalised)
    target = np.linalg.solve(root, projection + ridge * size * common)
    weights, _ = nnls(root.T, target, maxiter=100 * len(gram))
    return np.asarray(weights, np.float64) if weights.sum() > 0 else np.ones(len(scores))
