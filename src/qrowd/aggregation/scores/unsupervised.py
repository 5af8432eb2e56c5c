r"""AWARE without gold: equal accuracies, and distances from random assessors.

Both are of Ferrante, Ferro & Maistro (2017).
"""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.gaps import GAPS, Divergence, in_unit_range, varies, varies_by_topic
from qrowd.aggregation.panels import by_assessor, merge_scores, warn_of_contrarians
from qrowd.comparison.significance import means_of
from qrowd.data.arrays import Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.index import Index
from qrowd.data.scores import Scores
from qrowd.errors import InputError
from qrowd.registry import method, param


@method("aware-uni", paper="Ferrante, Ferro & Maistro 2017")
class UniformAware:
    r"""Mean of the scores under each assessor.

    Scores every run under every assessor's own judgements, then takes the mean over assessors,
    topic by topic; no common truth is ever made:

    $$\mathrm{aware}(t, s) = \frac{1}{m} \sum_{k=1}^{m} M_k[t, s]$$

    On each topic the mean is over the assessors who judged there.

    Reference: M. Ferrante, N. Ferro and M. Maistro, *AWARE: Exploiting Evaluation Measures to
    Combine Multiple Assessors*, ACM TOIS 36(2), 2017.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["1"] * 4, ["a", "b", "a", "b"], ["x", "x", "y", "y"], [1, 0, 1, 1])
    >>> runs = q.RunSet.of(["r", "r"], ["1", "1"], ["a", "b"], [2.0, 1.0])
    >>> by_each = q.evaluate(runs, crowd.by_assessor(), [q.P @ 2])
    >>> q.UniformAware().fit(by_each).values.item()
    0.75
    """

    def accuracies(self, scores: Scores, given: Given = NOTHING) -> Floats:
        """One for every (measure, assessor, topic)."""
        return np.ones(by_assessor(scores).values.shape[:3])

    def fit(self, scores: Scores, given: Given = NOTHING) -> Scores:
        """The mean over assessors."""
        return merge_scores(scores, self.accuracies(scores, given), repr(self))


_ALIASES = {
    f"{per}_{gap}_{weight}": f"aware-u(gap='{gap}', weight='{weight}', per='{per}')"
    for per in ("sgl", "tpc")
    for gap in GAPS
    for weight in ("md", "msd", "med")
}


@method("aware-u", paper="Ferrante, Ferro & Maistro 2017", needs=("random",), aliases=_ALIASES)
class UnsupervisedAware:
    r"""AWARE with accuracies learned without gold: the farther from random assessors, the better.

    Random assessors judge the whole pool, calling each document relevant with probability
    $p \in \{0.05, 0.5, 0.95\}$, 100 replicates each (`q.random_scores`). The gap of assessor $k$ to
    each replicate, normalised to [0, 1] so that 0 is random behaviour, is averaged within a class
    to $G'^{p}_k$, and the three are combined to the accuracy $a_k$:

    - `weight=md`: $\min_p G'^{p}_k$
    - `weight=msd`: $\min_p (G'^{p}_k)^2$
    - `weight=med`: $\sum_p G'^{p}_k$

    `per=sgl` gives one accuracy per assessor, `per=tpc` one per topic: 5 gaps x 3 weights x 2 = 30
    estimators; the thesis's names (`sgl_fro_msd`, ...) are aliases. `fro` and `rmse` are their own
    normalisation, `tau` and `apc` become $1 - |G|$, `kld` $1 - e^{-\beta G}$.

    An assessor whose scores are all equal (who found nothing relevant) has accuracy 0; a constant
    random replicate is skipped. *Far from random* includes *broken*: on real machine assessors
    the largest weights go to some who rank the systems backwards. A warning names them.
    Scores beyond 1 (DCG) are divided by the largest one that occurs.

    Reference: M. Ferrante, N. Ferro and M. Maistro, *AWARE: Exploiting Evaluation Measures to
    Combine Multiple Assessors*, ACM TOIS 36(2), 2017; L. Piazzon, *s-AWARE*, 2019, section 3.2.

    >>> import qrowd as q
    >>> q.get("tpc_apc_msd")
    aware-u(gap='apc', per='tpc')
    """

    gap: str = param(
        "fro", "how the distance to a random assessor is measured", choices=tuple(GAPS)
    )
    weight: str = param("msd", "how the three gaps make an accuracy", choices=("md", "msd", "med"))
    per: str = param("sgl", "one accuracy, or one per topic", choices=("sgl", "tpc"))
    beta: float = param(1.0, "kld: 1 - exp(-beta * divergence)", above=0)
    floor: float = param(2.0**-52, "kld: the least density", above=0, below=1)
    reverse: bool = param(False, "kld: divergence from the random assessor's density instead")

    def accuracies(self, scores: Scores, given: Given = NOTHING) -> Floats:
        """The accuracy of every (measure, assessor, topic)."""
        random = _aligned(by_assessor(scores), given)
        return np.stack(
            [
                self._accuracy(*in_unit_range(values, replicates), random.columns)
                for values, replicates in zip(scores.values, random.values, strict=True)
            ]
        )

    def _accuracy(self, scores: Floats, random: Floats, columns: Index) -> Floats:
        classes = np.array([name.partition(":")[0] for name in columns])
        used = varies(random)
        gap = GAPS[self.gap]
        measured = gap.overall if self.per == "sgl" else gap.by_topic
        gaps = measured(scores, random, Divergence(self.floor, self.reverse))
        if self.per == "tpc":
            gaps = np.where(varies_by_topic(random)[None], gaps, np.nan)
        normal = gap.far(gaps, self.beta)
        groups = [normal[:, used & (classes == name)] for name in sorted(set(classes[used]))]
        means = np.stack([means_of(group, axis=1) for group in groups])  # [class, k(, t)]
        means = np.nan_to_num(means)
        if self.weight == "med":
            accuracy = means.sum(axis=0)
        else:
            accuracy = (means**2 if self.weight == "msd" else means).min(axis=0)
        if self.per == "tpc":
            return np.where(varies_by_topic(scores), accuracy, 0.0)
        accuracy = np.where(varies(scores), accuracy, 0.0)
        return np.repeat(accuracy[:, None], scores.shape[1], axis=1)

    def fit(self, scores: Scores, given: Given = NOTHING) -> Scores:
        """The mean over assessors, weighted by their accuracies."""
        accuracies = self.accuracies(scores, given)
        warn_of_contrarians(scores, accuracies)
        return merge_scores(scores, accuracies, repr(self))


def _aligned(scores: Scores, given: Given) -> Scores:
    """The random assessors' scores, on the same measures, topics and runs."""
    if given.random is None:
        raise InputError(
            "aware-u needs the scores of random assessors: "
            "Given(random=random_scores(runs, pool, measures))"
        )
    random = given.random[scores.topics].of_runs(scores.runs)
    at = [random.measures.index(random.measure(name).measures[0]) for name in scores.measures]
    return Scores(
        scores.measures, random.axis, random.columns, random.topics, random.runs, random.values[at]
    )
