"""The weights of the max-margin majority vote, by exchanges between dual variables."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Codes, Floats, Grades, Offsets
from qrowd.kernel import inner, kernel


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
def rests(idle: Codes, pair: int) -> bool:
    """Whether a pair rests in this pass; then it has one pass less to rest."""
    if idle[pair] % 64 > 0:
        idle[pair] -= 1
        return True
    return False


@inner
def may_rest(idle: Codes, pair: int, fine: bool) -> None:
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
        if not everybody and rests(idle, i):
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
        may_rest(idle, i, worst <= close)
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
        if not everybody and rests(idle, i):
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
        may_rest(idle, i, gap <= close)
    return largest
