"""The prior over grades of the models that may have one."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats

CLASS_PRIORS = ("none", "learned")


def class_prior(kind: str, posterior: Floats) -> tuple[Floats, float]:
    """The log of each grade's chance, and the log density of its smoothing.

    `none`: all grades alike. `learned`: their expected shares, one pair of each grade added; the
    posterior is of pairs with votes, for the others say nothing of how common a grade is.
    """
    size = posterior.shape[1]
    if kind == "none":
        return np.full(size, -np.log(size)), 0.0
    log_share = np.log((posterior.sum(axis=0) + 1) / (len(posterior) + size))
    return log_share, float(log_share.sum())
