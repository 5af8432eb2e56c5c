"""Do probabilities mean what they say? The table, the diagram's data, the Brier score's parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.comparison.label_measures import squared_errors
from qrowd.data.arrays import Floats
from qrowd.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Calibration:
    """Pairs by their probability of relevance, in bins of equal width.

    For each bin: `count` pairs, their mean probability `predicted`, the share `observed` of them
    that is relevant in gold, and `low`, `high`, its 90 % Wilson interval. The Brier score (Murphy
    1973) is `reliability - resolution + uncertainty + within`: how far the bins are from the
    diagonal (less is better), how far they are from one another (more is better), what gold alone
    determines, and what is left because probabilities differ within a bin.
    """

    edges: Floats
    count: Floats
    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float

    @property
    def expected_error(self) -> float:
        """The mean distance of predicted and observed, weighted by the bins' pairs (ECE)."""
        used = self.count > 0
        gap = np.abs(self.predicted - self.observed)[used]
        return float(np.average(gap, weights=self.count[used])) if used.any() else float("nan")

    def rows(self) -> list[dict[str, Any]]:
        """One row per bin that has pairs."""
        columns = ("count", "predicted", "observed", "low", "high")
        return [
            {"from": float(self.edges[at]), "to": float(self.edges[at + 1])}
            | {name: float(getattr(self, name)[at]) for name in columns}
            for at in np.flatnonzero(self.count)
        ]

    def parts(self) -> dict[str, float]:
        """The Brier score, what it is made of, and the expected calibration error."""
        names = ("brier", "reliability", "resolution", "uncertainty", "within")
        return {name: getattr(self, name) for name in names} | {"ece": self.expected_error}


def calibration_of(answer: Floats, truth: Floats, bins: int = 10) -> Calibration:
    """The calibration of probabilities against gold (0 and 1, or probabilities themselves)."""
    if bins < 1:
        raise ParameterError(f"bins must be a whole number at least 1, got {bins}")
    at = np.minimum((answer * bins).astype(np.int64), bins - 1)
    count = np.bincount(at, minlength=bins).astype(np.float64)
    safe = np.maximum(count, 1)
    predicted = np.bincount(at, weights=answer, minlength=bins) / safe
    observed = np.bincount(at, weights=truth, minlength=bins) / safe
    n, base = max(len(answer), 1), float(truth.mean()) if len(truth) else float("nan")
    brier = float(squared_errors(answer, truth).mean()) if len(answer) else float("nan")
    reliability = float((count * (predicted - observed) ** 2).sum() / n)
    resolution = float((count * (observed - base) ** 2).sum() / n)
    uncertainty = base * (1 - base)
    low, high = wilson(observed * count, count)
    empty = count == 0
    predicted[empty] = observed[empty] = low[empty] = high[empty] = np.nan
    return Calibration(
        np.linspace(0, 1, bins + 1),
        count,
        predicted,
        observed,
        low,
        high,
        brier,
        reliability,
        resolution,
        uncertainty,
        within=brier - (reliability - resolution + uncertainty),
    )


def wilson(
    successes: Floats, trials: Floats, z: float = 1.6448536269514722
) -> tuple[Floats, Floats]:
    """Wilson's interval of a share; 90 % by default."""
    n = np.maximum(trials, 1)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
