"""One round of Karger, Oh & Shah's messages between pairs and assessors."""

from __future__ import annotations

from qrowd.data.arrays import Codes, Floats, Offsets
from qrowd.kernel import kernel


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
