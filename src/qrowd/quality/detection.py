"""Do assessors err independently, and what would have been found if they did not?

Two signs are held against crowds that the fitted model makes up with independent errors, of the
same pairs by the same assessors, to which it is fitted again: what a fit explains away of any
dependence it explains away there, too. Made-up crowds with copying or common difficulty put into
them then tell how much of either would have been found.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from qrowd.data.arrays import Array, Floats
from qrowd.data.given import NOTHING, Given, Merger
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.errors import NotConvergedWarning, UsageError

ALARM = 0.02  # p of dependent errors: it is approximate, and false alarms stay below 5 %
GROUPS = 4  # of assessors who copy
COPYING = (0.2, 0.35, 0.5, 0.7, 1.0)  # shares of answers among which the bound is sought
DIFFICULTY = (0.4, 0.8, 1.3, 2.0, 3.0)  # and logits
_INDEPENDENT = 50  # crowds made up with independent errors
_FIRST, _CLEAR = 15, 1e-5  # so many are enough where their p is below this
_AT_EACH = 10  # crowds made up at each strength of a cause
# How far (in standard deviations) the mean score at the bound is above the limit. 0.84 would be
# 80 %, were it all known; the rest is for chance in the bound, and for skills that a fit overrates.
_SURELY = 1.6
_MOST = 20_000  # judgements that are looked at
_APART = 100  # of more votes on a pair, only those so close are held against each other


@dataclass(frozen=True)
class Detection:
    """Whether errors look dependent, and how much dependence is found in 80 % of such crowds.

    `p` is that of independent errors. `common` tells the clearer sign: errors come together on a
    pair, whoever judges it, or else certain assessors agree. The bounds are `copying`, the share of
    answers that are not one's own but those of one of `groups`, and `difficulty`, the spread in
    logits of what all find hard about a pair; infinite where the most that was tried is missed,
    NaN where dependence was found and no bound was sought.
    """

    p: float
    common: bool
    groups: int
    copying: float = np.nan
    difficulty: float = np.nan

    @property
    def found(self) -> bool:
        """Whether errors are dependent; said of fewer than 5 % of crowds where they are not."""
        return self.p <= ALARM

    @property
    def sign(self) -> str:
        """What it looks like, if errors are dependent."""
        return "all find the same pairs hard" if self.common else "certain assessors agree too much"

    @property
    def limits(self) -> str:
        """What would have been found, and what not."""
        seen, missed = [], []
        if np.isfinite(self.copying):
            seen.append(
                f"{self.groups} groups who copy more than {self.copying:.2f} of their answers"
            )
        else:
            missed.append("copying")
        if np.isfinite(self.difficulty):
            seen.append(f"pairs that are hard for all by more than {self.difficulty:.1f} logits")
        else:
            missed.append("pairs that are hard for all")
        found = [f"{' or '.join(seen)} would have been found in 80 of 100 cases"] if seen else []
        unseen = [f"{' and '.join(missed)} may be missed, however strong"] if missed else []
        return ", ".join([*found, *unseen])


def detection(
    judgements: Judgements,
    merge: Merger,
    given: Given = NOTHING,
    *,
    most: int = _MOST,
    seed: int = 0,
) -> Detection:
    """Test the independence of errors that a method assumes, and say what the test can see.

    It looks at one judgement of an assessor on a pair, and at about `most` of them.
    """
    rows, quiet = sampled(judgements.one_each(), most), replace(given, progress=None)
    random = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        merged = merge.fit(rows, quiet)
        rows = rows.with_pool(merged.pairs)
        signs = _Signs(rows)
        groups = max(min(GROUPS, int((rows.per_assessor > 0).sum()) // 2), 1)
        if not len(signs.one):
            return Detection(1.0, False, groups, np.inf, np.inf)

        def made(times: int, **cause: float) -> Floats:
            """The signs[crowd, sign] in crowds with this cause."""
            crowds = [made_up(rows, merged, random, groups=groups, **cause) for _ in range(times)]
            return np.array([signs.seen(crowd, merge.fit(crowd, quiet)) for crowd in crowds])

        seen, crowds = signs.seen(rows, merged), made(_FIRST)
        usual = _Usual(crowds)
        if usual.p(float(usual.scores(seen).max())) > _CLEAR:
            usual = _Usual(np.concatenate([crowds, made(_INDEPENDENT - _FIRST)]))
        scores = usual.scores(seen)
        result = Detection(usual.p(float(scores.max())), bool(scores[0] > scores[1]), groups)
        if result.found:
            return result
        copying = usual.bound(COPYING, lambda share: made(_AT_EACH, copying=share))
        difficulty = usual.bound(DIFFICULTY, lambda logits: made(_AT_EACH, difficulty=logits))
    return replace(
        result,
        copying=float(np.ceil(100 * copying) / 100),
        difficulty=float(np.ceil(10 * difficulty) / 10),
    )


class _Signs:
    """The two signs of dependent errors, in crowds of the same pairs by the same assessors.

    Given a grade that may be true, two answers to a pair are each right or wrong, more or less
    often than the fit expects: the product of the two residuals, weighted by the grade's
    probability, is the score for a correlation of the two. The first sign is the mean product (the
    score test of a variance between pairs: common difficulty), the second how far sums over the
    couples of assessors exceed what chance makes of so many products (of a variance between
    couples: copying).
    """

    def __init__(self, rows: Judgements) -> None:
        # two answers to a pair stand so many rows apart, for rows are sorted by pair
        widest = min(int(np.diff(rows.pair_starts).max(initial=2)), _APART)
        apart = [np.flatnonzero(rows.pair[by:] == rows.pair[:-by]) for by in range(1, widest)]
        self.one = np.concatenate(apart)
        self.other = np.concatenate([first + by for by, first in enumerate(apart, start=1)])
        key = rows.assessor[self.one].astype(np.int64) * len(rows.assessors)
        self.couple = np.unique(key + rows.assessor[self.other], return_inverse=True)[1]

    def seen(self, rows: Judgements, merged: Merged) -> Floats:
        """Both signs in one crowd."""
        right = np.diagonal(matrices(merged), axis1=1, axis2=2)  # [assessor, true grade]
        width = np.sqrt(np.maximum(right * (1 - right), 1e-3))
        # who is right less often than chance: what makes others err makes them right
        width[right.sum(axis=1) < 1] *= -1
        is_right = rows.grade[:, None] == np.arange(right.shape[1])
        residual = (is_right - right[rows.assessor]) / width[rows.assessor]
        residual *= np.sqrt(merged.posterior)[rows.pair]
        product = (residual[self.one] * residual[self.other]).sum(axis=1)
        mean = product.mean()
        excess = product - mean
        squares = (np.bincount(self.couple, excess) ** 2).sum(), (excess**2).sum()
        return np.array([mean, np.log(max(squares[0], 1e-12) / max(squares[1], 1e-12))])


class _Usual:
    """What is usual of the signs[crowd, sign] where errors are independent."""

    def __init__(self, signs: Floats) -> None:
        from scipy.special import stdtrit

        self.mean = signs.mean(axis=0)
        self.width = np.maximum(signs.std(axis=0, ddof=1), 1e-12) * np.sqrt(1 + 1 / len(signs))
        self.freedom = len(signs) - 1
        self.limit = float(-stdtrit(self.freedom, ALARM / 2))

    def scores(self, signs: Floats) -> Floats:
        """How many standard deviations above the usual."""
        return np.asarray((signs - self.mean) / self.width)

    def p(self, score: float) -> float:
        """Of the larger of two scores."""
        from scipy.special import stdtr

        return float(min(2 * stdtr(self.freedom, -score), 1.0))

    def bound(self, strengths: tuple[float, ...], made: Callable[[float], Floats]) -> float:
        """The strength of a cause from which on it is surely found; infinite if there is none."""
        enough, before, score_before = self.limit + _SURELY, 0.0, 0.0
        for strength in strengths:
            score = float(self.scores(made(strength)).max(axis=1).mean())
            if score >= enough:
                return float(np.interp(enough, [score_before, score], [before, strength]))
            before, score_before = strength, score
        return float("inf")


# --- made-up crowds -------------------------------------------------------------------------------


def made_up(
    rows: Judgements,
    merged: Merged,
    random: np.random.Generator,
    *,
    copying: float = 0.0,
    difficulty: float = 0.0,
    groups: int = GROUPS,
) -> Judgements:
    """The same pairs judged by the same assessors, as a fitted model with matrices draws it.

    On each pair `difficulty` times a normal number is taken from the log odds of all right answers;
    with probability `copying` an answer is that of the assessor's group, which is as skilled as the
    average. What is drawn does not depend on the assessors' names.
    """
    order = np.lexsort((rows.places_by_content[rows.assessor], rows.pair))
    chance = matrices(merged)
    truth = _drawn(merged.posterior, random)
    true, each = truth[rows.pair], np.arange(len(rows))
    shares = chance[rows.assessor, :, true]
    if difficulty:
        right = np.clip(shares[each, true], 1e-3, 1 - 1e-3)
        hard = np.exp(difficulty * random.standard_normal(len(truth)))[rows.pair]
        harder = right / (right + (1 - right) * hard)
        shares *= ((1 - harder) / (1 - right))[:, None]
        shares[each, true] = harder
    grade = np.empty(len(rows), np.int8)
    grade[order] = _drawn(shares[order], random)
    if copying:
        average = np.average(chance, axis=0, weights=rows.per_assessor)
        of_group = _drawn(average.T[np.repeat(truth, groups)], random).reshape(-1, groups)
        group = (random.permutation(len(chance)) % groups)[rows.places_by_content]
        copied = np.empty(len(rows), np.bool_)
        copied[order] = random.random(len(rows)) < copying
        grade = np.where(copied, of_group[rows.pair, group[rows.assessor]], grade).astype(np.int8)
    return replace(rows, grade=grade)


def _drawn(shares: Floats, random: np.random.Generator) -> Array:
    """A code from each row of probabilities."""
    ends = np.cumsum(shares, axis=1)[:, :-1]
    return np.asarray((random.random(len(ends))[:, None] >= ends).sum(axis=1))


def matrices(merged: Merged) -> Floats:
    """P(said | true): [assessor, said, true]."""
    grades, table = merged.scale.grades, merged.assessors
    if f"p({grades[0]}|{grades[0]})" not in table.columns:
        raise UsageError(
            f"the check of independence needs a method with confusion matrices, such as ds; "
            f"{merged.fit.method} has none"
        )
    columns = [[table[f"p({answer}|{true})"] for true in grades] for answer in grades]
    return np.nan_to_num(np.moveaxis(np.array(columns), 2, 0), nan=1.0 / len(grades))


def sampled(rows: Judgements, most: int) -> Judgements:
    """About so many judgements at most: those of pairs with the smallest hashes."""
    if len(rows) <= most:
        return rows
    coin = rows.pairs.hashes(np.arange(len(rows.pairs), dtype=np.int32), 0)
    kept = coin < np.uint64(int(2**64 * min(most / len(rows), 1.0)) - 1)
    return rows.select(kept[rows.pair])
