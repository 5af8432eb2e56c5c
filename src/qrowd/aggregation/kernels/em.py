"""E steps and M steps over ranges of pairs and of assessors."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from qrowd.data.arrays import Array, Codes, Floats, Grades, Offsets
from qrowd.kernel import inner, kernel

Packed = npt.NDArray[np.uint32]


@kernel
def e_step(
    lo: int,
    hi: int,
    sized: tuple[float, ...],
    starts: Offsets,
    packed: Packed,
    weight: Floats | None,
    group: Codes | None,
    gold: Grades,
    log_prior: Floats,
    log_said: Floats,
    hard: bool,
    posterior: Floats,
    counts: Floats,
    prior_counts: Floats,
) -> tuple[float, float]:
    """The posterior of pairs lo..hi, the expected counts that they add, their log-likelihood, and
    the largest move of a posterior. `hard` counts only each pair's likeliest grade. `sized` is any
    tuple of K numbers: so K is known when this is compiled.
    """
    size = len(sized)
    score, share = np.empty(size), np.empty(size)
    total, product, pending, moved = 0.0, 1.0, 0, 0.0
    for pair in range(lo, hi):
        first, last = starts[pair], starts[pair + 1]
        if first == last:
            continue
        where = 0 if group is None else group[pair]
        for true in range(size):
            score[true] = log_prior[where, true]
        for row in range(first, last):
            at = packed[row]
            if weight is None:
                for true in range(size):
                    score[true] += log_said[at, true]
            elif weight[row] > 0.0:  # 0 * -inf is not a number
                for true in range(size):
                    score[true] += weight[row] * log_said[at, true]
        if gold[pair] >= 0:
            total += score[gold[pair]]
            for true in range(size):
                share[true] = 1.0 if true == gold[pair] else 0.0
        else:
            best = score[0]
            for true in range(1, size):
                best = max(best, score[true])
            whole = 0.0
            for true in range(size):
                share[true] = np.exp(score[true] - best)
                whole += share[true]
            total += best
            product *= whole
            pending += 1
            if pending == 64:  # one logarithm for many pairs: each factor lies in [1, K], K < 256
                total += np.log(product)
                product, pending = 1.0, 0
            for true in range(size):
                share[true] /= whole
        for true in range(size):
            moved = max(moved, abs(share[true] - posterior[pair, true]))
            posterior[pair, true] = share[true]
        if hard:
            top, ties = share[0], 0
            for true in range(1, size):
                top = max(top, share[true])
            for true in range(size):
                ties += share[true] == top
            for true in range(size):
                share[true] = 1.0 / ties if share[true] == top else 0.0
        for true in range(size):
            prior_counts[where, true] += share[true]
        for row in range(first, last):
            at = packed[row]
            for true in range(size):
                counts[at, true] += share[true] if weight is None else weight[row] * share[true]
    return total + np.log(product), moved


@kernel
def e_step_binary(
    lo: int,
    hi: int,
    starts: Offsets,
    packed: Packed,
    weight: Floats | None,
    group: Codes | None,
    gold: Grades,
    prior_odds: Floats,
    said_odds: Floats,
    posterior: Floats,
    counts: Floats,
    prior_counts: Floats,
) -> tuple[float, float]:
    """`e_step` for two grades, on log odds: half of the memory to fetch, one exp per pair.

    The log-likelihood that it returns is short of what `base_and_odds` sums up for all pairs.
    """
    total, product, pending, moved = 0.0, 1.0, 0, 0.0
    zeros, ones = 0.0, 0.0
    for pair in range(lo, hi):
        first, last = starts[pair], starts[pair + 1]
        if first == last:
            continue
        where = 0 if group is None else group[pair]
        odds = prior_odds[where]
        for row in range(first, last):
            if weight is None:
                odds += said_odds[packed[row]]
            elif weight[row] > 0.0:
                odds += weight[row] * said_odds[packed[row]]
        small = np.exp(-abs(odds))
        large = 1.0 / (1.0 + small)
        small_share, likely = small * large, odds > 0.0
        one = large if likely else small_share  # no branch: it would be guessed wrong too often
        zero = small_share if likely else large
        gain = odds if likely else 0.0
        if gold[pair] >= 0:
            one = float(gold[pair])
            zero, gain = 1.0 - one, odds if one > 0.0 else 0.0
        else:
            product *= 1.0 + small
            pending += 1
            if pending == 512:
                total += np.log(product)
                product, pending = 1.0, 0
        if gain == np.inf:  # grade 0 is impossible: the base holds grade 1's part of such votes
            gain = prior_odds[where] if prior_odds[where] < np.inf else 0.0
            for row in range(first, last):
                if said_odds[packed[row]] < np.inf:
                    times = 1.0 if weight is None else weight[row]
                    gain += times * said_odds[packed[row]]
        total += gain
        moved = max(moved, abs(one - posterior[pair, 1]))
        posterior[pair, 0], posterior[pair, 1] = zero, one
        if group is None:
            zeros += zero
            ones += one
        else:
            prior_counts[where, 0] += zero
            prior_counts[where, 1] += one
        for row in range(first, last):
            at = packed[row]
            times = 1.0 if weight is None else weight[row]
            counts[at, 0] += times * zero
            counts[at, 1] += times * one
    prior_counts[0, 0] += zeros
    prior_counts[0, 1] += ones
    return total + np.log(product), moved


@kernel
def base_and_odds(lo: int, hi: int, log_p: Floats, times: Floats, odds: Floats) -> float:
    """Log odds of rows lo..hi, each of which occurs so many times, and the log-likelihood that
    remains where every pair is of grade 0.

    Where grade 0 is impossible, grade 1's probability stands in for it.
    """
    base = 0.0
    for row in range(lo, hi):
        if times[row] > 0.0:
            odds[row] = log_p[row, 1] - log_p[row, 0]
            base += times[row] * (log_p[row, 0] if odds[row] < np.inf else log_p[row, 1])
        else:
            odds[row] = 0.0
    return base


@kernel
def m_step(lo: int, hi: int, size: int, partial: Floats, pseudo: Floats, log_said: Floats) -> float:
    """Parameters of assessors lo..hi from the blocks' expected counts (added in block order) and
    pseudo-counts; the logarithm of the parameters' prior density. Leaves the sum in partial[0].
    """
    density = 0.0
    own = len(pseudo) > size  # one block of pseudo-counts per assessor, or one for all
    for row in range(lo * size, hi * size):
        for block in range(1, partial.shape[0]):
            for true in range(size):
                partial[0, row, true] += partial[block, row, true]
    for assessor in range(lo, hi):
        base = assessor * size
        shift = 0 if own else base
        for true in range(size):
            total = 0.0
            for said in range(base, base + size):
                total += partial[0, said, true] + pseudo[said - shift, true]
            for said in range(base, base + size):
                extra = pseudo[said - shift, true]
                part = partial[0, said, true] + extra
                log_said[said, true] = np.log(part / total if total > 0.0 else 1.0 / size)
                if extra > 0.0:
                    density += extra * log_said[said, true]
    return density


RULES = {"": 0, "split": 1, "nonrelevant": 2, "relevant": 3, "coin": 4}
"""How scores become a posterior: by their exponentials (soft), or all to the best grade, ties being
split between the tied ones, or given to the lowest, to the highest, or by a coin."""
SOFT, SPLIT, LOWEST, COIN = 0, 1, 2, 4


@inner
def _settle(score: Floats, rule: int, coin: int, out: Floats) -> float:
    """The posterior of one pair from its scores; returns the log of their sum, or the best."""
    size, scale = len(score), 0.0
    best: float = score[0]
    for k in range(size):
        best = max(best, score[k])
        scale = max(scale, abs(score[k]))
    if rule == SOFT:
        total = 0.0
        for k in range(size):
            out[k] = math.exp(score[k] - best)
            total += out[k]
        for k in range(size):
            out[k] /= total
        return best + math.log(total)
    tied = 0
    for k in range(size):
        out[k] = 1.0 if score[k] >= best - 1e-9 * scale else 0.0
        tied += int(out[k])
    chosen = 0 if rule == LOWEST else coin % tied if rule == COIN else tied - 1
    seen = 0
    for k in range(size):
        if out[k] > 0:
            out[k] = 1.0 / tied if rule == SPLIT else 1.0 * (seen == chosen)
            seen += 1
    return best


@kernel
def by_vote(
    starts: Offsets,
    cell: Codes,
    grade: Grades,
    weight: Floats,
    table: Floats,
    prior: Floats,
    gold: Grades,
    rule: int,
    coins: Array,
    posterior: Floats,
    counts: Floats,
    lo: int,
    hi: int,
) -> float:
    """Posteriors of the pairs lo..hi; counts[cell] += the posterior of the voted grade.

    Pairs without votes are left as they are.
    """
    score = np.empty(len(prior))
    weighted = len(weight) > 0
    likelihood = 0.0
    for i in range(lo, hi):
        first, last = starts[i], starts[i + 1]
        if first == last:
            continue
        for k in range(len(prior)):
            score[k] = prior[k]
        for v in range(first, last):
            w = weight[v] if weighted else 1.0
            score[grade[v]] += w * table[cell[v]]
        out = posterior[i]
        if gold[i] >= 0:
            likelihood += score[gold[i]]
            out[:] = 0.0
            out[gold[i]] = 1.0
        else:
            coin = coins[i] if rule == COIN else 0
            likelihood += _settle(score, rule, coin, out)
        for v in range(first, last):
            w = weight[v] if weighted else 1.0
            counts[cell[v]] += w * out[grade[v]]
    return likelihood


@kernel
def by_table(
    starts: Offsets,
    cell: Codes,
    weight: Floats,
    table: Floats,
    prior: Floats,
    bounds: Codes,
    rule: int,
    coins: Array,
    posterior: Floats,
    counts: Floats,
    lo: int,
    hi: int,
) -> float:
    """Posteriors of the pairs lo..hi; counts[cell, :] += the pair's posterior.

    `bounds[pair]` are the first and one past the last value that the pair may take: that is how
    gold is clamped. Pairs without votes are left as they are.
    """
    size = len(prior)
    score = np.empty(size)
    weighted = len(weight) > 0
    likelihood = 0.0
    for i in range(lo, hi):
        if starts[i] == starts[i + 1]:
            continue
        for k in range(size):
            score[k] = prior[k]
        for v in range(starts[i], starts[i + 1]):
            w = weight[v] if weighted else 1.0
            row = table[cell[v]]
            for k in range(size):
                score[k] += w * row[k]
        a, b = bounds[i, 0], bounds[i, 1]
        out = posterior[i]
        out[:] = 0.0
        coin = coins[i] if rule == COIN else 0
        likelihood += _settle(score[a:b], rule, coin, out[a:b])
        for v in range(starts[i], starts[i + 1]):
            w = weight[v] if weighted else 1.0
            row = counts[cell[v]]
            for k in range(a, b):
                row[k] += w * out[k]
    return likelihood


@kernel
def weigh(
    starts: Offsets,
    cell: Codes,
    grade: Grades,
    weight: Floats,
    table: Floats,
    out: Floats,
    lo: int,
    hi: int,
) -> None:
    """out[pair, grade] = the sum of table[cell] over the votes, for the pairs lo..hi.

    A vote of negative weight speaks against its grade, so it is given to all other grades: the same
    order of grades, and nothing below zero.
    """
    weighted = len(weight) > 0
    for i in range(lo, hi):
        out[i, :] = 0.0
        against = 0.0
        for v in range(starts[i], starts[i + 1]):
            w = table[cell[v]] * (weight[v] if weighted else 1.0)
            out[i, grade[v]] += w
            against -= min(w, 0.0)
        for k in range(out.shape[1]):
            out[i, k] = max(out[i, k] + against, 0.0)
