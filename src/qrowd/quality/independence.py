"""Do assessors err independently, as `ds` and its kin believe? A posterior predictive check."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Floats, Offsets, over
from qrowd.data.given import NOTHING, Given, Merger
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.errors import NotConvergedWarning, ParameterError, UsageError
from qrowd.quality.detection import Detection, detection, made_up, matrices, sampled
from qrowd.rendering import Readable

TOGETHER = 0.05
_SHOWN = 5  # couples in the text
_ENOUGH = 20  # shared pairs of a couple that is named


@dataclass(frozen=True)
class Couple:
    """Two assessors: on how many shared pairs they agree, and as the model expects it."""

    one: str
    other: str
    shared: int
    agreement: float
    expected: float
    z: float

    def __str__(self) -> str:
        return (
            f"{self.one} and {self.other} agree on {self.agreement:.3f} of {self.shared} pairs; "
            f"expected {self.expected:.3f} (z {self.z:.1f})"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Independence(Readable):
    """How far assessors err together: `rho`, its interval over topics, and who with whom.

    Whether they do tells `detection`, a test that knows what it can see. Without it, they do from
    a `rho` of .05 on, if the interval leaves 0 out: that finds the strongest dependence only.
    `together` is None where the check has no degrees of freedom. `by_topic` has each topic's
    figure before the allowance for degrees of freedom (NaN without pairs that two judged).
    """

    rho: float = np.nan
    low: float = np.nan
    high: float = np.nan
    agreement: float = np.nan
    expected: float = np.nan
    freedom: int = 0
    assessors: int
    topics: tuple[str, ...]
    by_topic: Floats
    couples: tuple[Couple, ...] = ()
    method: str = ""
    level: float = 0.95
    detection: Detection | None = None

    @property
    def together(self) -> bool | None:
        """Whether the assessors are found to err together; None: it cannot be told."""
        if self.freedom < 1:
            return None
        if self.detection is not None:
            return self.detection.found
        return bool(self.rho >= TOGETHER and self.low > 0)

    @property
    def cleared(self) -> bool:
        """Whether nothing was found where copying and common difficulty both could have been."""
        found = self.detection
        return found is not None and bool(np.isfinite([found.copying, found.difficulty]).all())

    @property
    def verdict(self) -> str:
        """One sentence: what was found, and what to do about it."""
        if self.together is None:
            return (
                f"whether assessors err together cannot be told: with {self.assessors} of them (or "
                "so few who share pairs) the check has no degrees of freedom"
            )
        figure = f"correlation of errors {self.rho:.3f} [{self.low:.3f}, {self.high:.3f}]"
        if self.detection is not None:
            p = f"p {self.detection.p:.3f}" if self.detection.p >= 0.001 else "p < .001"
            figure = f"{p}, {figure}"
        if self.together:
            sign = f": {self.detection.sign}" if self.detection is not None else ""
            return (
                f"these assessors err together{sign} ({figure}): methods that multiply their "
                "votes are too sure, and may be wrong; use auto, with gold for some topics if "
                "there is any"
            )
        if self.detection is not None:
            return (
                f"no sign that assessors err together ({figure}): {self.detection.limits}; an "
                "error that all share is seen by gold only"
            )
        return (
            f"no strong sign that assessors err together ({figure}, together from {TOGETHER:g} "
            "on); what this leaves open: qrowd quality --independence"
        )

    def __str__(self) -> str:
        lines = [self.verdict]
        if self.freedom > 0:
            lines.append(
                f"two assessors agree on {self.agreement:.3f} of the pairs they share; "
                f"{self.method} expects {self.expected:.3f}"
            )
        lines += [str(couple) for couple in self.couples[:_SHOWN]]
        return "\n".join(lines)


def independence(
    judgements: Judgements,
    merge: Merger,
    given: Given = NOTHING,
    *,
    merged: Merged | None = None,
    replicates: int = 5,
    most: int | None = None,
    bound: bool = False,
    level: float = 0.95,
    seed: int = 0,
) -> Independence:
    """Check the independence of errors that a method with confusion matrices assumes.

    `merge` is that method (`q.DawidSkene(smoothing=1)`); `merged` its fit to these judgements,
    where there is one already. `most` looks at so many judgements only, of pairs drawn by a hash.
    `bound` adds the `detection`: a test that finds weaker dependence, and how much it would have
    found (in a second or a few, on at most 20,000 judgements). Two judgements of one assessor on
    one pair count as one. The interval is over topics (over pairs, where there is one topic).

    >>> import qrowd as q
    >>> made = q.simulate(topics=5, documents=80, assessors=10, votes=5, seed=1)
    >>> check = q.independence(made.judgements, q.DawidSkene(smoothing=1), bound=True)
    >>> check.together, check.detection.copying, check.detection.difficulty
    (False, 0.59, 1.3)
    >>> shared = q.simulate(topics=5, documents=80, assessors=10, votes=10, difficulty=0.95, seed=1)
    >>> q.independence(shared.judgements, q.DawidSkene(smoothing=1)).together
    True
    """
    if replicates < 1 or not 0 < level < 1:
        raise ParameterError(
            f"replicates must be at least 1 and level between 0 and 1, got {replicates}, {level}"
        )
    rows = judgements.one_each()
    if most is not None:
        rows = sampled(rows, most)
    if sharing(rows).freedom[1] < 1:  # nothing can be told
        return Independence(
            assessors=int((rows.per_assessor > 0).sum()),
            topics=tuple(rows.topics),
            by_topic=np.full(len(rows.topics), np.nan),
            level=level,
        )
    quiet = replace(given, progress=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        if merged is None or rows is not judgements:
            merged = merge.fit(rows, quiet)
        rows = rows.with_pool(merged.pairs)
        random = np.random.default_rng(seed)
        crowds = [_again(rows, merged, merge, quiet, random) for _ in range(replicates)]
    found = _compared(rows, merged, _Products.of(rows, merged), crowds, level)
    return replace(found, detection=detection(rows, merge, given, seed=seed)) if bound else found


@dataclass(frozen=True, eq=False)
class _Products:
    """Of each pair: products of residuals, agreeing couples, couples; and who shares how much."""

    products: Floats
    agreeing: Floats
    couples: Offsets
    sharing: Sharing

    @classmethod
    def of(cls, rows: Judgements, merged: Merged) -> _Products:
        pairs, size = len(rows.pairs), len(rows.scale)
        chance = matrices(merged)
        true = merged.posterior[rows.pair]
        expected = (chance[rows.assessor] * true[:, None, :]).sum(axis=2)  # [judgement, said]
        width = np.sqrt(np.maximum((expected * (1 - expected)).sum(axis=1), 1e-6))
        # who is right less often than chance: what makes others err makes them right
        misleading = np.trace(chance, axis1=1, axis2=2) < 1
        width *= np.where(misleading[rows.assessor], -1.0, 1.0)
        products, agreeing = np.zeros(pairs), np.zeros(pairs)
        for code in range(size):
            here = (rows.grade == code).astype(np.float64)
            residual = (here - expected[:, code]) / width
            total = np.bincount(rows.pair, residual, pairs)
            products += total**2 - np.bincount(rows.pair, residual**2, pairs)
            votes = np.bincount(rows.pair, here, pairs)
            agreeing += votes * (votes - 1)
        n = np.bincount(rows.pair, minlength=pairs)
        return cls(products, agreeing, n * (n - 1), sharing(rows))

    @property
    def correlation(self) -> float:
        """The mean product of two judges' residuals on a pair."""
        return float(self.products.sum() / max(self.couples.sum(), 1))

    @property
    def agreement(self) -> float:
        """The share of agreeing couples of judgements."""
        return float(self.agreeing.sum() / max(self.couples.sum(), 1))


def _again(
    rows: Judgements, merged: Merged, merge: Merger, given: Given, random: np.random.Generator
) -> _Products:
    """A crowd that the fitted model makes up, fitted again."""
    made = made_up(rows, merged, random)
    return _Products.of(made, merge.fit(made, given))


def _compared(
    rows: Judgements, merged: Merged, seen: _Products, crowds: list[_Products], level: float
) -> Independence:
    """What is seen against what made-up crowds of independent assessors show."""
    couples, freedom = seen.sharing.freedom
    factor = couples / freedom if freedom > 0 else 1.0
    usual = np.mean([crowd.products for crowd in crowds], axis=0)
    rho = (seen.correlation - float(np.mean([crowd.correlation for crowd in crowds]))) * factor
    excess, weight = seen.products - usual, seen.couples
    topic = rows.pairs.topic
    groups = topic if len(rows.topics) > 1 else np.arange(len(topic))
    margin = factor * _half_width(groups, excess, weight, level)
    n = len(rows.topics)
    by_topic = over(np.bincount(topic, excess, n), np.bincount(topic, weight, n))
    return Independence(
        rho=rho,
        low=rho - margin,
        high=rho + margin,
        agreement=seen.agreement,
        expected=float(np.mean([crowd.agreement for crowd in crowds])),
        freedom=freedom,
        assessors=int((rows.per_assessor > 0).sum()),
        topics=tuple(rows.topics),
        by_topic=by_topic,
        couples=_couples(rows, seen, crowds),
        method=merged.fit.method,
        level=level,
    )


def _half_width(groups: Array, excess: Floats, weight: Array, level: float) -> float:
    """Of the interval of sum(excess) / sum(weight), groups being a sample: t, linearised."""
    from scipy.special import stdtrit

    total = float(weight.sum())
    of_group = np.bincount(groups, excess - excess.sum() / max(total, 1.0) * weight)
    used = int((np.bincount(groups, weight) > 0).sum())
    if used < 2:
        return float("nan")
    error = np.sqrt(used / (used - 1) * (of_group**2).sum()) / total
    return float(stdtrit(used - 1, (1 + level) / 2) * error)


def _couples(rows: Judgements, seen: _Products, crowds: list[_Products]) -> tuple[Couple, ...]:
    """The couples who agree more than expected, beyond chance for so many couples."""
    from scipy.special import ndtri

    kept = np.flatnonzero(seen.sharing.shared >= _ENOUGH)
    shared = seen.sharing.shared[kept]
    expected = np.mean([crowd.sharing.same[kept] for crowd in crowds], axis=0) / shared
    share = seen.sharing.same[kept] / shared
    spread = np.sqrt(np.maximum(expected * (1 - expected), 0.01) / shared)
    z = (share - expected) / (spread * np.sqrt(1 + 1 / len(crowds)))
    limit = -ndtri(0.05 / max(len(z), 1)) if len(z) else np.inf
    order = np.argsort(-z, kind="stable")[: int((z > limit).sum())]
    one, other = seen.sharing.one[kept], seen.sharing.other[kept]
    names: Any = rows.assessors.names
    return tuple(
        Couple(
            str(names[one[at]]),
            str(names[other[at]]),
            int(shared[at]),
            float(share[at]),
            float(expected[at]),
            float(z[at]),
        )
        for at in order
    )


# --- couples of assessors -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sharing:
    """Couples of assessors who share pairs: who, how many pairs, on how many they agree."""

    one: Offsets
    other: Offsets
    shared: Floats
    same: Floats

    @property
    def freedom(self) -> tuple[int, int]:
        """Couples and degrees of freedom left, over the parts of the crowd that have any.

        A part of a assessors who are linked by c couples leaves c - a - 1: a sensitivity, a
        specificity and a leaning each, and the prior, are learned from the couples and the shares.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        if not len(self.one):
            return 0, 0
        size = int(self.other.max()) + 1
        links = coo_array((np.ones(len(self.one)), (self.one, self.other)), shape=(size, size))
        parts, part = connected_components(links, directed=False)
        couples = np.bincount(part[self.one], minlength=parts)
        left = couples - np.bincount(part, minlength=parts) - 1
        return int(couples[left > 0].sum()), int(left[left > 0].sum())


def sharing(judgements: Judgements) -> Sharing:
    """The couples of assessors who share pairs, of which each has judged each once at most."""
    from scipy.sparse import csr_array, triu

    n, pairs = len(judgements.assessors), len(judgements.pairs)

    def together(rows: Array) -> Any:
        where = (judgements.assessor[rows], judgements.pair[rows])
        judged = csr_array((np.ones(int(rows.sum())), where), shape=(n, pairs))
        return csr_array(triu(judged @ judged.T, 1))

    shared = together(np.ones(len(judgements), np.bool_)).tocoo()
    same = csr_array((n, n))
    for code in range(len(judgements.scale)):
        same = same + together(judgements.grade == code)
    one, other = shared.row.astype(np.int64), shared.col.astype(np.int64)
    return Sharing(one, other, shared.data, np.asarray(same[one, other]).ravel())


@dataclass(frozen=True, eq=False)
class Couples:
    """How far each two assessors agree: dense [assessors, assessors], NaN without shared pairs."""

    assessors: Index
    shared: Offsets
    raw: Floats
    kappa: Floats

    def order(self) -> Offsets:
        """Assessors ordered so that alike ones are neighbours (average linkage on agreement)."""
        if len(self.assessors) < 3:
            return np.arange(len(self.assessors))
        from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

        middle = np.nanmean(self.raw[self.shared > 0]) if (self.shared > 0).any() else 0.5
        distance = 1 - np.where(np.isnan(self.raw), middle, self.raw)
        flat = distance[np.triu_indices(len(distance), 1)]
        tree = linkage(flat, "average")
        if len(self.assessors) <= 300:  # the best of all orders of the tree's leaves
            tree = optimal_leaf_ordering(tree, flat)
        return np.asarray(leaves_list(tree), np.int64)


def cohen(judgements: Judgements, most: int | None = None) -> Couples:
    r"""Raw agreement and Cohen's kappa (1960) of each two assessors on the pairs that both judged.

    $$ \kappa = (p_o - p_e)/(1 - p_e), \quad p_e = \sum_k p_k^{(a)} p_k^{(b)} $$ with the shares
    of both on their shared pairs. `most` keeps the assessors with the most judgements.
    """
    from scipy.sparse import csr_array

    single = judgements.one_each()
    if most is not None and most < len(single.assessors):
        busiest = np.sort(np.argsort(-single.per_assessor, kind="stable")[:most])
        single = single.of_assessors(Index(single.assessors.names[busiest]))
    n, size = len(single.assessors), len(single.scale)
    if n > 3000:
        raise UsageError(f"a matrix of {n} assessors is too large to use; pass most=100, say")
    by_grade = []
    for code in range(size):
        rows = np.flatnonzero(single.grade == code)
        where = (single.assessor[rows], single.pair[rows])
        by_grade.append(csr_array((np.ones(len(rows)), where), shape=(n, len(single.pairs))))
    judged = csr_array(sum(by_grade[1:], by_grade[0]))
    shared = (judged @ judged.T).toarray()
    same = sum((graded @ graded.T).toarray() for graded in by_grade)
    margins = [(graded @ judged.T).toarray() for graded in by_grade]
    observed = over(np.asarray(same), shared)
    expected = over(np.asarray(sum(margin * margin.T for margin in margins)), shared**2)
    kappa = over(observed - expected, np.where(expected < 1 - 1e-12, 1 - expected, 0.0))
    np.fill_diagonal(observed, np.nan)
    np.fill_diagonal(kappa, np.nan)
    return Couples(single.assessors, shared.astype(np.int64), observed, kappa)
