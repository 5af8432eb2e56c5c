"""Scores made comparable before gaps are taken: into [0, 1], and which of them vary at all."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Array, Floats, Mask


def in_unit_range(
    scores: Floats, references: Floats, *, by_topic: bool = False
) -> tuple[Floats, Floats]:
    """Both divided by the largest score that occurs, if it exceeds 1 (DCG); else as they are.

    `by_topic`: on each topic by the largest one there, which stands for the topic's ideal.
    """
    both = np.nan_to_num(np.concatenate([scores, references]))
    top = both.max(axis=(0, 2), initial=0.0)[:, None]
    if top.max(initial=0.0) <= 1:
        return scores, references
    scale = np.where(top > 0, top, 1.0) if by_topic else top.max()
    return scores / scale, references / scale


def varies(scores: Floats) -> Mask:
    """Which columns of scores[column, topic, run] rank the runs at all, by their means."""
    known = ~np.isnan(scores)
    means = np.where(known, scores, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return _spread(means) > 0


def varies_by_topic(scores: Floats) -> Mask:
    """Which rows of scores[column, topic, run] rank the runs at all."""
    return _spread(np.nan_to_num(scores)) > 0


def _spread(values: Floats) -> Array:
    return np.asarray(values.max(axis=-1) - values.min(axis=-1))
