r"""AWARE with accuracies chosen on validation topics for the ranking of systems."""

from __future__ import annotations

import itertools

import numpy as np

from qrowd.aggregation.gaps import GAPS, in_unit_range, judged_topics
from qrowd.aggregation.panels import by_assessor, merge_scores, panel_scores, panel_weights
from qrowd.aggregation.scores.regression import ridge_weights
from qrowd.aggregation.scores.supervised import SupervisedAware, gold_scores, training_topics
from qrowd.comparison.correlation import tau_ap
from qrowd.data.arrays import Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.scores import Scores
from qrowd.registry import method, param

_POWERS = (1.0, 2.0, 4.0, 8.0, 16.0)
_RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0)
_RESAMPLES = 200
UNIFORM = "uniform"


@method("aware-t", paper="qrowd, after Piazzon 2019, chapter 6", needs=("reference",))
class TunedAware:
    r"""AWARE with the estimator of accuracies chosen, per measure, on topics held out of training.

    The future work that Piazzon (2019) names: sharper accuracies, combinations of gaps chosen per
    measure, and accuracies tuned on validation topics for $\tau_{AP}$. The candidates are the five
    closenesses of s-AWARE and the geometric means of two of them, each to the powers 1, 2, 4, 8,
    16, and the weights of `aware-r` at five strengths. Training topics are cut into `folds`; a
    candidate learns on the others and is merged on the one left out, so that every training topic
    has merged scores from accuracies that never saw it. The candidate whose held-out means have the
    largest mean $\tau_{AP}$ with gold over 200 resamplings of the topics is learned again on all
    training topics, unless its gain over uniform accuracies is not above `guard` standard
    deviations of that gain: then they stay uniform.

    >>> import qrowd as q
    >>> q.get("aware-t(folds=3)")
    aware-t(folds=3)
    """

    folds: int = param(5, "parts that the training topics are cut into", at_least=2)
    guard: float = param(0.5, "standard deviations by which uniform must be beaten", at_least=0)
    seed: int = param(0, "of the folds and the resampling of topics", at_least=0)

    def accuracies(self, scores: Scores, given: Given = NOTHING) -> Floats:
        """The accuracy of every (measure, assessor, topic)."""
        return self._chosen(scores, given)[0]

    def _chosen(self, scores: Scores, given: Given) -> tuple[Floats, list[str]]:
        training = by_assessor(scores)[training_topics(scores, given)]
        found, names = [], []
        for name, values, gold in zip(
            scores.measures, training.values, gold_scores(scores, given), strict=True
        ):
            values, gold = in_unit_range(values, gold, by_topic=True)
            best = self._best(values, gold)
            found.append(candidates(values, gold)[best])
            names.append(f"{name}: {best}")
        return np.repeat(np.stack(found)[:, :, None], len(scores.topics), axis=2), names

    def _best(self, scores: Floats, gold: Floats) -> str:
        """The name of the candidate that ranks runs best on topics that it did not learn from."""
        topics = scores.shape[1]
        if topics < 2:
            return UNIFORM
        random = np.random.default_rng(self.seed)
        fold = random.permutation(topics) % min(self.folds, topics)
        names, merged = _held_out(scores, gold, fold)
        sample = random.integers(0, topics, (_RESAMPLES, topics))
        truth = gold[0][sample].mean(axis=1)
        found = np.stack([tau_ap(one[sample].mean(axis=1), truth) for one in merged])
        gain = found - found[names.index(UNIFORM)]
        best = int(np.argmax(gain.mean(axis=1)))
        sure = gain[best].mean() > self.guard * gain[best].std()
        return names[best] if sure else UNIFORM

    def fit(self, scores: Scores, given: Given = NOTHING) -> Scores:
        """The mean over assessors, weighted by the chosen accuracies; `notes` name the choice."""
        accuracies, names = self._chosen(scores, given)
        return merge_scores(scores, accuracies, f"{self!r}, chosen {'; '.join(names)}")


def candidates(scores: Floats, gold: Floats) -> dict[str, Floats]:
    """Accuracies of each assessor by every estimator that tuning chooses from."""
    close = {gap: SupervisedAware(gap=gap).accuracy(scores, gold) for gap in GAPS}
    for one, other in itertools.combinations(GAPS, 2):
        close[f"{one}*{other}"] = np.sqrt(close[one] * close[other])
    found = {UNIFORM: np.ones(len(scores))}
    found |= {f"{gap}^{power:g}": near**power for gap, near in close.items() for power in _POWERS}
    return found | {f"ridge {r:g}": ridge_weights(scores, gold[0], r) for r in _RIDGES}


def _held_out(scores: Floats, gold: Floats, fold: Floats) -> tuple[list[str], Floats]:
    """Names of the candidates, and [candidate, topic, run] merged by accuracies of other folds."""
    names: list[str] = []
    merged: Floats = np.empty(0)
    for part in np.unique(fold):
        inside = fold == part
        learned = candidates(scores[:, ~inside], gold[:, ~inside])
        if not names:
            names = list(learned)
            merged = np.empty((len(names), *scores.shape[1:]))
        left = scores[:, inside]
        everyone = np.ones((1, len(scores)))
        for at, accuracy in enumerate(learned.values()):
            spread = np.repeat(accuracy[:, None], left.shape[1], axis=1)
            weights = panel_weights(spread, judged_topics(left), everyone)
            merged[at, inside] = panel_scores(left, weights)[0]
    return names, merged
