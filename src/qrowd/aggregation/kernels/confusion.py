"""Dawid-Skene's E step and M step over ranges of pairs and of assessors.

`packed` = assessor * K + grade said, one number per judgement, sorted by pair; tables of
parameters and of counts have one row per such number and one column per true grade. What never
happened has probability 0 and logarithm -inf. That is safe: the likeliest grade of a pair was
counted with all of its votes, so that no pair finds all of its grades impossible.
"""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Codes, Floats, Grades, Offsets
from qrowd.kernel import kernel


@kernel
def e_step(
    lo: int,
    hi: int,
    starts: Offsets,
    packed: Codes,
    weight: Floats,
    group: Codes,
    gold: Grades,
    log_prior: Floats,
    log_said: Floats,
    fixed: bool,
    hard: bool,
    posterior: Floats,
    counts: Floats,
    prior_counts: Floats,
) -> tuple[float, float]:
    """The posterior of pairs lo..hi, the expected counts that they add, their log-likelihood, and
    the largest move of a posterior. `weight` and `group` may be empty: all 1, all 0. `fixed`
    counts the posterior as it is; `hard` counts only each pair's likeliest grade.
    """
    size = log_prior.shape[1]
    score, share = np.empty(size), np.empty(size)
    total, product, pending, moved = 0.0, 1.0, 0, 0.0
    for pair in range(lo, hi):
        first, last = starts[pair], starts[pair + 1]
        if first == last:
            continue
        where = group[pair] if len(group) else 0
        for true in range(size):
            score[true] = log_prior[where, true]
        for row in range(first, last):
            times = weight[row] if len(weight) else 1.0
            if times == 0.0:
                continue
            for true in range(size):
                score[true] += times * log_said[packed[row], true]
        if fixed:
            for true in range(size):
                share[true] = posterior[pair, true]
        elif gold[pair] >= 0:
            total += score[gold[pair]]
            for true in range(size):
                share[true] = 1.0 if true == gold[pair] else 0.0
        else:
            best = score[0]
            for true in range(1, size):
                best = max(best, score[true])
            sum_ = 0.0
            for true in range(size):
                share[true] = np.exp(score[true] - best)
                sum_ += share[true]
            total += best
            product *= sum_
            pending += 1
            if pending == 64:  # one log for many pairs: each factor lies in [1, K], K <= 255
                total += np.log(product)
                product, pending = 1.0, 0
            for true in range(size):
                share[true] /= sum_
        for true in range(size):
            moved = max(moved, abs(share[true] - posterior[pair, true]))
            posterior[pair, true] = share[true]
        if hard and not fixed:
            top = share.max()
            ties = (share == top).sum()
            for true in range(size):
                share[true] = 1.0 / ties if share[true] == top else 0.0
        for true in range(size):
            prior_counts[where, true] += share[true]
        for row in range(first, last):
            times = weight[row] if len(weight) else 1.0
            for true in range(size):
                counts[packed[row], true] += times * share[true]
    return total + np.log(product), moved


@kernel
def m_step(lo: int, hi: int, partial: Floats, pseudo: Floats, log_said: Floats) -> float:
    """Parameters of assessors lo..hi from the blocks' expected counts (added in block order) and
    pseudo-counts; the logarithm of the parameters' prior density. Leaves the sum in partial[0].
    """
    blocks, size = partial.shape[0], partial.shape[2]
    density = 0.0
    for assessor in range(lo, hi):
        base = assessor * size
        for true in range(size):
            total = 0.0
            for said in range(base, base + size):
                for block in range(1, blocks):
                    partial[0, said, true] += partial[block, said, true]
                total += partial[0, said, true] + pseudo[said % len(pseudo), true]
            for said in range(base, base + size):
                extra = pseudo[said % len(pseudo), true]
                part = partial[0, said, true] + extra
                p = part / total if total > 0.0 else 1.0 / size
                log_said[said, true] = np.log(p)
                if extra > 0.0:
                    density += extra * log_said[said, true]
    return density
