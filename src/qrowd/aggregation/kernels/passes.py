"""One pass over the votes, for methods that go over them again and again: glad, kos and m3v."""

from __future__ import annotations

import math

import numpy as np

from qrowd.data.arrays import Codes, Floats, Grades, Offsets
from qrowd.kernel import inner, kernel

_NEWTON_STEPS = 2


# --- glad: beliefs, difficulties, and what abilities need -----------------------------------------


@inner
def _curvature(decay: float, x: float) -> float:
    """Of the quadratic bound of log sigmoid at x: tanh(x / 2) / (2 x); decay = exp(-|x|)."""
    size = abs(x)
    return (1.0 - decay) / (1.0 + decay) / (2.0 * size) if size > 1e-6 else 0.25


@inner
def _ease(b: float, slope: float, bend: float, mean: float, precision: float) -> float:
    """The log b that climbs slope e^b - bend e^2b / 2 - precision (b - mean)^2 / 2, from b on."""
    beta = math.exp(b)
    value = slope * beta - 0.5 * bend * beta * beta - 0.5 * precision * (b - mean) ** 2
    for _ in range(_NEWTON_STEPS):
        gradient = slope * beta - bend * beta * beta - precision * (b - mean)
        curve = 2.0 * bend * beta * beta + precision + max(-slope * beta, 0.0)
        newton = 2.0 * bend * beta * beta + precision - slope * beta
        if newton > 0.25 * curve:
            curve = newton
        step = min(max(gradient / curve, -2.0), 2.0)
        for _ in range(30):
            beta = math.exp(b + step)
            tried = slope * beta - 0.5 * bend * beta * beta
            tried -= 0.5 * precision * (b + step - mean) ** 2
            if tried >= value:
                break
            step *= 0.5
        else:
            return b
        b += step
        value = tried
        if abs(step) < 1e-9:
            return b
    return b


@kernel
def iterate(
    starts: Offsets,
    assessor: Codes,
    grade: Grades,
    weight: Floats,
    ability: Floats,
    prior: Floats,
    gold: Grades,
    mean: float,
    precision: float,
    ease: Floats,
    posterior: Floats,
    sums: Floats,
    lo: int,
    hi: int,
) -> float:
    """Pairs lo..hi: the E step, then log beta (`ease`) given it, then sums[assessor] += the slope
    and the bend of the bound on the ability's part. Returns the log-likelihood and the density
    of the difficulties, both before they moved.
    """
    size = len(prior)
    score = np.empty(size)
    weighted = len(weight) > 0
    spread = math.log(size - 1.0)
    total = 0.0
    for i in range(lo, hi):
        first, last = starts[i], starts[i + 1]
        if first == last:
            continue
        beta = math.exp(ease[i])
        for k in range(size):
            score[k] = prior[k]
        bend, product = 0.0, 1.0
        for v in range(first, last):
            w = weight[v] if weighted else 1.0
            alpha = ability[assessor[v]]
            x = alpha * beta
            decay = math.exp(-abs(x))
            score[grade[v]] += w * (x + spread)
            total -= w * (max(x, 0.0) + spread)
            if weighted:
                total -= w * math.log1p(decay)
            else:  # one logarithm for many factors between 1 and 2
                product *= 1.0 + decay
                if product > 1e300:
                    total -= math.log(product)
                    product = 1.0
            bend += w * _curvature(decay, x) * alpha * alpha
        total -= math.log(product)
        out = posterior[i]
        if gold[i] >= 0:
            total += score[gold[i]]
            out[:] = 0.0
            out[gold[i]] = 1.0
        else:
            best = score[0]
            for k in range(1, size):
                best = max(best, score[k])
            sum_ = 0.0
            for k in range(size):
                out[k] = math.exp(score[k] - best)
                sum_ += out[k]
            for k in range(size):
                out[k] /= sum_
            total += best + math.log(sum_)
        total -= 0.5 * precision * (ease[i] - mean) ** 2
        slope = 0.0
        for v in range(first, last):
            w = weight[v] if weighted else 1.0
            slope += w * ability[assessor[v]] * (out[grade[v]] - 0.5)
        ease[i] = _ease(ease[i], slope, bend, mean, precision)
        beta = math.exp(ease[i])
        for v in range(first, last):
            w = weight[v] if weighted else 1.0
            x = ability[assessor[v]] * beta
            curve = _curvature(math.exp(-abs(x)), x)
            sums[assessor[v], 0] += w * beta * (out[grade[v]] - 0.5)
            sums[assessor[v], 1] += w * beta * beta * curve
    return total


# --- kos: messages between pairs and assessors ----------------------------------------------------


@kernel
def pass_messages(
    starts: Offsets,
    assessor: Codes,
    vote: Floats,
    total: Floats,
    scale: Floats,
    first: bool,
    to_assessor: Floats,
    to_pair: Floats,
    share: Floats,
    sums: Floats,
    lo: int,
    hi: int,
) -> float:
    """Messages of the pairs lo..hi; the largest move of a share.

    `to_pair` come from the assessors' totals without the edge's own part (they are as given in the
    first round), then `to_assessor` from the pair's. sums[assessor] += (vote * message, message^2).
    """
    moved = 0.0
    for i in range(lo, hi):
        score, weight = 0.0, 0.0
        for e in range(starts[i], starts[i + 1]):
            j = assessor[e]
            if not first:
                to_pair[e] = (total[j] - vote[e] * to_assessor[e]) / scale[j]
            score += vote[e] * to_pair[e]
            weight += abs(vote[e] * to_pair[e])
        now = 0.5 + 0.5 * score / weight if weight > 0.0 else 0.5
        moved = max(moved, abs(now - share[i]))
        share[i] = now
        for e in range(starts[i], starts[i + 1]):
            message = score - vote[e] * to_pair[e]
            to_assessor[e] = message
            sums[assessor[e], 0] += vote[e] * message
            sums[assessor[e], 1] += message * message
    return moved


# --- m3v: weights by exchanges between dual variables ---------------------------------------------


@inner
def _part(grade: int, label: int, other: int) -> float:
    """What one vote adds to the margin of the label over the other grade; 0 over the slack."""
    if other == label:
        return 0.0
    return 1.0 * (grade == label) - 1.0 * (grade == other)


@kernel
def gather(
    starts: Offsets,
    assessor: Codes,
    grade: Grades,
    weight: Floats,
    label: Codes,
    dual: Floats,
    eta: Floats,
) -> None:
    """eta[assessor] from the dual variables: the sum of dual * (votes' part of the margin)."""
    weighted = len(weight) > 0
    eta[:] = 0.0
    for i in range(len(label)):
        if label[i] < 0:
            continue
        for v in range(starts[i], starts[i + 1]):
            w = weight[v] if weighted else 1.0
            for d in range(dual.shape[1]):
                eta[assessor[v]] += w * dual[i, d] * _part(grade[v], label[i], d)


@inner
def _rests(idle: Codes, pair: int) -> bool:
    """Whether a pair rests in this pass; then it has one pass less to rest."""
    if idle[pair] % 64 > 0:
        idle[pair] -= 1
        return True
    return False


@inner
def _may_rest(idle: Codes, pair: int, fine: bool) -> None:
    """A pair that is fine rests about twice as long as the last time: idle = 64 * long + left."""
    longer = min(2 * (idle[pair] // 64) + 1, 31)
    idle[pair] = 65 * longer if fine else 0


@kernel
def exchange(
    starts: Offsets,
    assessor: Codes,
    grade: Grades,
    weight: Floats,
    label: Codes,
    dual: Floats,
    eta: Floats,
    close: float,
    idle: Codes,
    everybody: bool,
) -> float:
    """One pass: each pair moves dual mass from its least to its most violated constraint.

    dual[i, label] is the slack's; the row sums to c. Returns the largest violation found. A pair
    that is fine (up to `close`) rests for some passes, longer each time, unless `everybody`.
    """
    size = dual.shape[1]
    weighted = len(weight) > 0
    violation = np.empty(size)
    largest = 0.0
    for i in range(len(label)):
        own, first, last = label[i], starts[i], starts[i + 1]
        if own < 0 or first == last:
            continue
        if not everybody and _rests(idle, i):
            continue
        worst = 0.0
        for _ in range(size - 1):
            for d in range(size):
                violation[d] = 0.0 if d == own else 1.0
            for v in range(first, last):
                w = (weight[v] if weighted else 1.0) * eta[assessor[v]]
                for d in range(size):
                    violation[d] -= w * _part(grade[v], own, d)
            up, down = -1, -1
            for d in range(size):
                if up < 0 or violation[d] > violation[up]:
                    up = d
                if dual[i, d] > 0.0 and (down < 0 or violation[d] < violation[down]):
                    down = d
            gap = violation[up] - violation[down]
            worst = max(worst, gap)
            if gap <= 1e-12:
                break
            norm, run = 0.0, 0.0
            for v in range(first, last):
                w = weight[v] if weighted else 1.0
                run += w * (_part(grade[v], own, up) - _part(grade[v], own, down))
                if v + 1 == last or assessor[v + 1] != assessor[v]:
                    norm += run * run
                    run = 0.0
            moved = dual[i, down]
            if norm > 0.0:
                moved = min(moved, gap / norm)
            dual[i, up] += moved
            dual[i, down] -= moved
            for v in range(first, last):
                w = moved * (weight[v] if weighted else 1.0)
                eta[assessor[v]] += w * (_part(grade[v], own, up) - _part(grade[v], own, down))
        largest = max(largest, worst)
        _may_rest(idle, i, worst <= close)
    return largest


@kernel
def lengths(starts: Offsets, assessor: Codes, grade: Grades, weight: Floats, norm: Floats) -> None:
    """norm[pair]: the squared length of its margin's gradient, two grades, whatever the label."""
    weighted = len(weight) > 0
    for i in range(len(norm)):
        norm[i], run = 0.0, 0.0
        for v in range(starts[i], starts[i + 1]):
            w = weight[v] if weighted else 1.0
            run += w if grade[v] == 1 else -w
            if v + 1 == starts[i + 1] or assessor[v + 1] != assessor[v]:
                norm[i] += run * run
                run = 0.0


@kernel
def exchange_two(
    starts: Offsets,
    assessor: Codes,
    grade: Grades,
    weight: Floats,
    label: Codes,
    norm: Floats,
    dual: Floats,
    eta: Floats,
    close: float,
    idle: Codes,
    everybody: bool,
) -> float:
    """`exchange` for two grades, to the same bits: one constraint per pair, lengths known."""
    weighted = len(weight) > 0
    largest = 0.0
    for i in range(len(label)):
        own, first, last = label[i], starts[i], starts[i + 1]
        if own < 0 or first == last:
            continue
        if not everybody and _rests(idle, i):
            continue
        short = 1.0
        for v in range(first, last):
            w = (weight[v] if weighted else 1.0) * eta[assessor[v]]
            short -= w if grade[v] == own else -w
        up, sign = (1 - own, 1.0) if short > 0.0 else (own, -1.0)
        gap = abs(short) if dual[i, 1 - up] > 0.0 else 0.0
        if gap > 1e-12:
            moved = dual[i, 1 - up]
            if norm[i] > 0.0:
                moved = min(moved, gap / norm[i])
            dual[i, up] += moved
            dual[i, 1 - up] -= moved
            for v in range(first, last):
                w = sign * moved * (weight[v] if weighted else 1.0)
                eta[assessor[v]] += w if grade[v] == own else -w
        largest = max(largest, gap)
        _may_rest(idle, i, gap <= close)
    return largest
