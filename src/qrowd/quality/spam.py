r"""Two statistics that single out spammers, after Vuurens & De Vries (2012).

Taken from the description that Piazzon (2019, 2.4.2) gives of them, which is all we have word for
word: random spammers by "the average squared distance in relevance labels between each assessor's
judgements and the judgements of all other assessors", uniform ones by "the averaged squared number
of disagreements that each worker has with other workers while repeating voting patterns". What is
ours, the scaling by chance and by size, is said at each function.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.data.arrays import Floats, over
from qrowd.data.judgements import Judgements
from qrowd.quality.behaviour import Sequences, crossed

PATTERNS = (1, 2, 3)


@dataclass(frozen=True, eq=False)
class Distances:
    r"""Squared distances to the others, per assessor.

    `mean`: $ R_k = \frac{1}{n_k}\sum_{j \in J_k} \sum_{i \ne k} (g_j - g_i)^2 $ over all $n_k$
    comparisons with others' judgements of the same pair, grades scaled to 0..1 (on two grades: the
    share of disagreements). `chance`: the same if the assessor had given the same answers to
    these pairs in a random order. `ratio` = mean / chance: 1 for who answers without looking, at
    random or always the same; below 1 for who looks; above 1 for who turns the scale around.
    `error` is the ratio's standard deviation over all such orders (exact, by Hoeffding's formula
    for sums over permutations); 0 for who always says the same.
    """

    mean: Floats
    chance: Floats
    comparisons: Floats
    error: Floats

    @property
    def ratio(self) -> Floats:
        """The mean distance over that by chance."""
        return over(self.mean, self.chance)


def distances(judgements: Judgements) -> Distances:
    """The mean squared distance of each assessor to all others (one judgement per pair each)."""
    assessors, assessor = len(judgements.assessors), judgements.assessor
    grades = np.array(judgements.scale.grades, np.float64)
    grade = ((grades - grades[0]) / (grades[-1] - grades[0]))[judgements.grade]
    one = np.ones_like(grade)
    n, first, second = (_over_others(judgements, power) for power in (one, grade, grade**2))

    def per_assessor(values: Floats) -> Floats:
        return np.bincount(assessor, values, assessors).astype(np.float64)

    comparisons, others, squares, seen = map(per_assessor, (n, first, second, one))
    total = per_assessor(n * grade**2 - 2 * grade * first + second)
    mean, square = (over(per_assessor(part), seen) for part in (grade, grade**2))
    by_chance = square * comparisons - 2 * mean * others + squares
    # the standard deviation of the sum over all orders of the assessor's answers: with answers g
    # and, centred, the others' number n and sum s of each pair, the sum of a(i, j) = g_i^2 n_j -
    # 2 g_i s_j over a random matching has the variance sum d_ij^2 / (N - 1)
    centred = n - over(comparisons, seen)[assessor]
    centred_sum = first - over(others, seen)[assessor]
    of_grade, of_square = grade - mean[assessor], grade**2 - square[assessor]
    own = map(per_assessor, (of_square**2, of_square * of_grade, of_grade**2))
    pairs = map(per_assessor, (centred**2, centred * centred_sum, centred_sum**2))
    squared, mixed, summed = (a * b for a, b in zip(own, pairs, strict=True))
    variance = squared - 4 * mixed + 4 * summed
    spread = np.sqrt(np.maximum(variance, 0) / np.maximum(seen - 1, 1))
    chance, error = over(by_chance, comparisons), over(spread, by_chance)
    return Distances(over(total, comparisons), chance, comparisons, error)


def _over_others(judgements: Judgements, values: Floats) -> Floats:
    """For each row, the sum of the values of the pair's other rows."""
    total = np.bincount(judgements.pair, values, len(judgements.pairs))
    return np.asarray(total[judgements.pair] - values)


def others_votes(judgements: Judgements) -> Floats:
    """For each row, how many others gave the pair each grade: [rows, grades]."""
    shape = (len(judgements.pairs), len(judgements.scale))
    votes = crossed(judgements.pair, judgements.grade, shape)
    others = votes[judgements.pair].astype(np.float64)
    others[np.arange(len(others)), judgements.grade] -= 1
    return others


def pattern_disagreement(
    judgements: Judgements,
    ordered: Sequences,
    lengths: tuple[int, ...] = PATTERNS,
    *,
    per_comparison: bool = True,
) -> Floats:
    r"""Squared disagreement while the same short patterns of answers are repeated.

    For every sequence s of 1 to 3 consecutive answers, $D_s$ counts the disagreements with others
    within all of its occurrences, $N_s$ the comparisons:

    $$ U_k = \frac{1}{3}\sum_{\ell=1}^{3} \frac{\sum_{|s|=\ell} D_s^2}{(\sum_{|s|=\ell} N_s)^2} $$

    It lies between 0 and 1: the squared share of disagreements if one pattern has them all, less
    the more patterns share them. `per_comparison=False` divides by $\sum N_s$ only once, which
    grows with the number of judgements: an average of squared *numbers*, to the letter.
    """
    assessors = len(judgements.assessors)
    n = _over_others(judgements, np.ones(len(judgements)))
    cells = judgements.pair.astype(np.int64) * len(judgements.scale) + judgements.grade
    differ = n - (np.bincount(cells)[cells] - 1.0)
    sums = [np.append(0.0, np.cumsum(column[ordered.rows])) for column in (differ, n)]
    parts = [_one_length(ordered, sums, length, len(judgements.scale)) for length in lengths]
    above = np.zeros(assessors)
    counted = np.zeros(assessors)
    for squares, compared in parts:
        below = compared**2 if per_comparison else compared
        above += np.nan_to_num(over(squares, below))
        counted += compared > 0
    return over(above, counted)


def _one_length(
    ordered: Sequences, sums: list[Floats], length: int, grades: int
) -> tuple[Floats, Floats]:
    """Per assessor the sum of squared disagreements per pattern, and of comparisons."""
    assessors, n = len(ordered.starts) - 1, len(ordered.grade) - length + 1
    if n <= 0:
        return np.zeros(assessors), np.zeros(assessors)
    whole = ordered.assessor[:n] == ordered.assessor[length - 1 :]
    code = np.zeros(n, np.int64)
    for place in range(length):
        code = code * grades + ordered.grade[place : place + n]
    assessor = ordered.assessor[:n][whole].astype(np.int64)
    differ, compared = ((part[length:] - part[:-length])[whole] for part in sums)
    pattern = assessor * grades**length + code[whole]
    if assessors * grades**length > 20_000_000:
        kinds, pattern = np.unique(pattern, return_inverse=True)
    else:
        kinds = np.arange(assessors * grades**length)
    per_pattern = np.bincount(pattern, differ, len(kinds))
    owner = kinds // grades**length
    squares = np.bincount(owner, per_pattern**2, assessors).astype(np.float64)
    return squares, np.bincount(assessor, compared, assessors).astype(np.float64)
