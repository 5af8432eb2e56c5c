r"""AWARE with gold on training topics: accuracies by closeness, weights found together, and tuned.

s-AWARE is of Piazzon (2019), and so is the idea of tuning; the regression is ours.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from qrowd.aggregation import panels
from qrowd.aggregation.gaps import GAPS, Divergence, in_unit_range, judged_topics, varies
from qrowd.comparison.correlation import tau_ap
from qrowd.data.arrays import Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.scores import Scores
from qrowd.errors import InputError
from qrowd.registry import method, param

_POWERS = (1.0, 2.0, 4.0, 8.0, 16.0)
_RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0)
_RESAMPLES = 200
UNIFORM = "uniform"


@method(
    "aware-s",
    paper="Piazzon 2019",
    needs=("reference",),
    aliases={f"sup_{gap}": f"aware-s(gap='{gap}')" for gap in GAPS},
)
class SupervisedAware:
    r"""AWARE with accuracies learned from gold on a few topics: the closer to gold, the better.

    `Given(reference=...)` holds the scores under gold on the training topics. With $G_k$ the gap of
    assessor $k$ to gold there, the accuracy is

    - `fro`, `rmse`: $a_k = 1 - G_k$
    - `kld`: $a_k = e^{-\beta G_k}$
    - `tau`, `apc`: $a_k = \max(0, G_k)$; the printed $|G_k|$ makes a perfectly reversed assessor a
      perfect one, and is there as `negative=absolute`

    then $a_k^{\text{power}}$ (2: the squared closeness that the thesis names as future work),
    shrunk towards uniform as if `shrink` more training topics had shown all assessors to be equal:

    $$a_k \leftarrow \lambda \frac{a_k}{\bar a} + (1 - \lambda), \qquad
    \lambda = \frac{|T|}{|T| + \text{shrink}}$$

    An assessor without a training topic gets the mean accuracy of the others. All zero: uniform.
    Scores beyond 1 (DCG) are divided by the largest one that occurs on the topic.

    Reference: L. Piazzon, *s-AWARE: measure-based supervised merging of crowd assessors*, 2019,
    section 3.3; M. Ferrante, N. Ferro and M. Maistro, ACM TOIS 36(2), 2017.

    >>> import qrowd as q
    >>> q.get("sup_apc")
    aware-s(gap='apc')
    """

    gap: str = param("fro", "how closeness to gold is measured", choices=tuple(GAPS))
    power: float = param(1.0, "sharpen accuracies by this power (2: squared closeness)", at_least=0)
    shrink: float = param(0.0, "shrink to uniform, in training topics", at_least=0)
    negative: str = param(
        "zero", "tau, apc: what a reversed ranking counts as", choices=("zero", "absolute")
    )
    beta: float = param(1.0, "kld: exp(-beta * divergence)", above=0)
    floor: float = param(2.0**-52, "kld: the least density", above=0, below=1)
    reverse: bool = param(False, "kld: divergence from gold's density instead")

    def accuracies(self, scores: Scores, given: Given = NOTHING) -> Floats:
        """The accuracy of every (measure, assessor, topic)."""
        learned = [
            self.accuracy(*in_unit_range(values, gold, by_topic=True))
            for values, gold in _training(scores, given)
        ]
        return _on_every_topic(learned, scores)

    def accuracy(self, scores: Floats, gold: Floats) -> Floats:
        """Each assessor's accuracy from scores[assessor, topic, run] and gold[1, topic, run]."""
        gap = GAPS[self.gap]
        gaps = gap.overall(scores, gold, Divergence(self.floor, self.reverse))[:, 0]
        close = gap.close(gaps, self.beta, self.negative == "absolute")
        closeness = np.where(varies(scores), close, 0.0) ** self.power
        unseen = np.isnan(scores).all(axis=(1, 2))
        if unseen.any() and not unseen.all():
            closeness[unseen] = closeness[~unseen].mean()
        if not self.shrink or closeness.mean() <= 0:
            return closeness
        topics = scores.shape[1]
        share = topics / (topics + self.shrink)
        return np.asarray(share * closeness / closeness.mean() + (1.0 - share))

    def fit(self, scores: Scores, given: Given = NOTHING) -> Scores:
        """The mean over assessors, weighted by their accuracies."""
        accuracies = self.accuracies(scores, given)
        panels.warn_of_contrarians(scores, accuracies)
        return panels.merge_scores(scores, accuracies, repr(self))


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
        learned = [
            ridge_weights(values, gold[0], self.ridge) for values, gold in _training(scores, given)
        ]
        return _on_every_topic(learned, scores)

    def fit(self, scores: Scores, given: Given = NOTHING) -> Scores:
        """The mean over assessors, weighted together."""
        return panels.merge_scores(scores, self.accuracies(scores, given), repr(self))


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
        learned, names = [], []
        for name, training in zip(scores.measures, _training(scores, given), strict=True):
            values, gold = in_unit_range(*training, by_topic=True)
            best = self._best(values, gold)
            learned.append(_candidates(values, gold)[best])
            names.append(f"{name}: {best}")
        return _on_every_topic(learned, scores), names

    def _best(self, scores: Floats, gold: Floats) -> str:
        """The name of the candidate that ranks runs best on topics that it did not learn from."""
        topics = scores.shape[1]
        if topics < 2:
            return UNIFORM
        random = np.random.default_rng(self.seed)
        fold = random.permutation(topics) % min(self.folds, topics)
        merged = _held_out(scores, gold, fold)
        names = list(merged)
        sample = random.integers(0, topics, (_RESAMPLES, topics))
        truth = gold[0][sample].mean(axis=1)
        means = (candidate[sample].mean(axis=1) for candidate in merged.values())
        tau = np.stack([tau_ap(mean, truth) for mean in means])
        gain = tau - tau[names.index(UNIFORM)]
        best = int(np.argmax(gain.mean(axis=1)))
        sure = gain[best].mean() > self.guard * gain[best].std()
        return names[best] if sure else UNIFORM

    def fit(self, scores: Scores, given: Given = NOTHING) -> Scores:
        """The mean over assessors, weighted by the chosen accuracies; `notes` name the choice."""
        accuracies, names = self._chosen(scores, given)
        return panels.merge_scores(scores, accuracies, f"{self!r}, chosen {'; '.join(names)}")


def _candidates(scores: Floats, gold: Floats) -> dict[str, Floats]:
    """Accuracies of each assessor by every estimator that tuning chooses from."""
    close = {gap: SupervisedAware(gap=gap).accuracy(scores, gold) for gap in GAPS}
    for first, second in itertools.combinations(GAPS, 2):
        close[f"{first}*{second}"] = np.sqrt(close[first] * close[second])
    return {
        UNIFORM: np.ones(len(scores)),
        **{f"{gap}^{power:g}": near**power for gap, near in close.items() for power in _POWERS},
        **{f"ridge {r:g}": ridge_weights(scores, gold[0], r) for r in _RIDGES},
    }


def _held_out(scores: Floats, gold: Floats, fold: Floats) -> dict[str, Floats]:
    """The scores[topic, run] of each candidate, merged by accuracies of other folds."""
    merged: defaultdict[str, Floats] = defaultdict(lambda: np.empty(scores.shape[1:]))
    everyone = np.ones((1, len(scores)))
    for part in np.unique(fold):
        inside = fold == part
        left = scores[:, inside]
        for name, accuracy in _candidates(scores[:, ~inside], gold[:, ~inside]).items():
            spread = np.repeat(accuracy[:, None], left.shape[1], axis=1)
            weights = panels.panel_weights(spread, judged_topics(left), everyone)
            merged[name][inside] = panels.panel_scores(left, weights)[0]
    return merged


# --- what all three learn from --------------------------------------------------------------------


def _training(scores: Scores, given: Given) -> Iterator[tuple[Floats, Floats]]:
    """The scores[assessor, topic, run] and gold's[1, topic, run] on the training topics, measure by
    measure.
    """
    each = panels.by_assessor(scores)
    if given.reference is None:
        raise InputError(
            "aware-s needs the scores under gold on training topics: "
            "Given(reference=by_gold[train])"
        )
    topics = given.reference.topics.intersection(scores.topics)
    if not len(topics):
        raise InputError("the reference and the assessors' scores have no topic in common")
    reference = given.reference[topics].of_runs(scores.runs)
    for name, values in zip(scores.measures, each[topics].values, strict=True):
        yield values, reference.measure(name).values[0, :1]


def _on_every_topic(learned: list[Floats], scores: Scores) -> Floats:
    """[measure, assessor, topic] from one accuracy of each assessor, for each measure."""
    return np.repeat(np.stack(learned)[:, :, None], len(scores.topics), axis=2)
