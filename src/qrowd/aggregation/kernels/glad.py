"""One iteration of GLAD over a range of pairs: beliefs, difficulties, and what abilities need."""

from __future__ import annotations

import math

import numpy as np

from qrowd.data.arrays import Codes, Floats, Grades, Offsets
from qrowd.kernel import inner, kernel

STEPS = 2


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
    for _ in range(STEPS):
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
