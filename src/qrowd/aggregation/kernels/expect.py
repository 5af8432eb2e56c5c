"""E steps: from assessors' tables to posteriors of pairs, expected counts and the likelihood.

`by_vote`: a vote speaks for its own grade only; the score of grade k of a pair is prior[k] plus
the sum of table[assessor, k] over its votes for k (one-coin, MACE, weighted votes).
`by_table`: a vote speaks for every value of what is hidden, by table[assessor, grade, value]
(two-coin: the grades; em-gauss: the nodes of a quadrature).
"""

from __future__ import annotations

import math

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Grades, Offsets
from qrowd.kernel import inner, kernel

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
