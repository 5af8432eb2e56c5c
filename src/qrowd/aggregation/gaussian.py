"""What both Gaussian models of Xia et al. (2011) stand on: degrees, noise, and their tables."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.fitting import Fitting
from qrowd.data.arrays import Codes, Floats, Grades
from qrowd.errors import InputError

NODES, THRESHOLD = 32, 0.5
LEAST, START, MOST = 0.01, 0.3, 10.0
STEP = 0.0175


def prior_density(fitting: Fitting, deviation: Floats, spread: float | None) -> Floats:
    """The log density of each A of the grid, for each assessor."""
    rows, priors = fitting.judgements, fitting.given.priors
    if spread is None:
        return np.zeros((len(rows.assessors), len(deviation)))
    mean = np.full(len(rows.assessors), 2 * np.log(START))
    if priors is not None:
        if "deviation" not in priors.columns:
            raise InputError("an assessors' table needs a column deviation to serve as a prior")
        found = priors.assessors.find(rows.assessors)
        known = np.where(found >= 0, np.asarray(priors["deviation"], np.float64)[found], np.nan)
        mean = np.where(known > 0, 2 * np.log(known), mean)
    return np.asarray(-0.5 * ((2 * np.log(deviation) - mean[:, None]) / spread) ** 2)


def quadrature() -> tuple[Floats, Floats]:
    """Nodes in (0, 1), symmetric about the threshold, and the logs of their shares."""
    nodes, shares = np.polynomial.legendre.leggauss(NODES)
    return 0.5 + 0.5 * nodes, np.log(0.5 * shares)


def deviations() -> Floats:
    """Deviations from LEAST to MOST, START among them, each STEP above the last (in logs)."""
    below = np.arange(0.0, np.log(START / LEAST), STEP)[::-1]
    above = np.arange(STEP, np.log(MOST / START), STEP)
    return np.asarray(np.exp(np.log(START) + np.concatenate([-below, above])))


def proper(nodes: Floats, deviation: Floats) -> Floats:
    """Log P(y = 1 | node)[deviation, node]."""
    from scipy.special import log_ndtr

    return np.asarray(log_ndtr((nodes - THRESHOLD) / deviation[:, None]))


def literal(nodes: Floats, deviation: Floats) -> Floats:
    """The same as the paper prints it: the perceived value lies between the threshold and 1."""
    from scipy.special import ndtr

    to_end = ndtr((1.0 - nodes) / deviation[:, None])
    to_threshold = ndtr((THRESHOLD - nodes) / deviation[:, None])
    return np.asarray(np.log(np.maximum(to_end - to_threshold, 1e-300)))


def halves(gold: Grades) -> Codes:
    """First and one past the last node that each pair may have."""
    first = np.where(gold == 1, NODES // 2, 0)
    last = np.where(gold == 0, NODES // 2, NODES)
    return np.stack([first, last], axis=1).astype(np.int32)
