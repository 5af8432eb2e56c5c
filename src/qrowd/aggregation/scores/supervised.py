r"""s-AWARE: accuracies by closeness to gold on training topics (Piazzon 2019)."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.gaps import GAPS, Divergence, in_unit_range, overall_gaps, varies
from qrowd.aggregation.panels import by_assessor, merge_scores, warn_of_contrarians
from qrowd.data.arrays import Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.index import Index
from qrowd.data.scores import Scores
from qrowd.errors import InputError
from qrowd.registry import method, param


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
        training = by_assessor(scores)[training_topics(scores, given)]
        gold = gold_scores(scores, given)
        found = [
            self.accuracy(*in_unit_range(values, reference, by_topic=True))
            for values, reference in zip(training.values, gold, strict=True)
        ]
        return np.repeat(np.stack(found)[:, :, None], len(scores.topics), axis=2)

    def accuracy(self, scores: Floats, gold: Floats) -> Floats:
        """Each assessor's accuracy from scores[assessor, topic, run] and gold[1, topic, run]."""
        gaps = overall_gaps(self.gap, scores, gold, Divergence(self.floor, self.reverse))[:, 0]
        close = GAPS[self.gap].close(gaps, self.beta, self.negative == "absolute")
        closeness = np.where(varies(scores), close, 0.0) ** self.power
        unseen = np.isnan(scores).all(axis=(1, 2))
        if unseen.any() and not unseen.all():
            closeness[unseen] = closeness[~unseen].mean()
        return self._shrunk(closeness, scores.shape[1])

    def _shrunk(self, accuracy: Floats, topics: int) -> Floats:
        if not self.shrink or accuracy.mean() <= 0:
            return accuracy
        share = topics / (topics + self.shrink)
        return np.asarray(share * accuracy / accuracy.mean() + (1.0 - share))

    def fit(self, scores: Scores, given: Given = NOTHING) -> Scores:
        """The mean over assessors, weighted by their accuracies."""
        accuracies = self.accuracies(scores, given)
        warn_of_contrarians(scores, accuracies)
        return merge_scores(scores, accuracies, repr(self))


def training_topics(scores: Scores, given: Given) -> Index:
    """The topics of the reference that the scores have too."""
    if given.reference is None:
        raise InputError(
            "aware-s needs the scores under gold on training topics: "
            "Given(reference=by_gold[train])"
        )
    topics = given.reference.topics.intersection(scores.topics)
    if not len(topics):
        raise InputError("the reference and the assessors' scores have no topic in common")
    return topics


def gold_scores(scores: Scores, given: Given) -> Floats:
    """Gold's scores on the training topics, [measure, 1, topic, run], in the order of `scores`."""
    topics = training_topics(scores, given)
    assert given.reference is not None
    reference = given.reference[topics].of_runs(scores.runs)
    return np.concatenate([reference.measure(name).values for name in scores.measures])[:, :1]
