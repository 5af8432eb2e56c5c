"""Single assessors against gold: Table 1 of Ferrante et al. 2019, Figures 5.1-5.6 of Piazzon 2019.

Three kinds of scores are held against each other: as judged, against gold as it is; as random
relevance, against gold as it is; as random relevance, against gold as random relevance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.data.index import Index
from qrowd.data.scores import Scores
from qrowd.evaluation.engine import evaluate
from qrowd.experiments.cells import STATISTIC
from qrowd.experiments.inputs import Inputs
from qrowd.experiments.plan import TopicSet
from qrowd.experiments.results import (
    LEVEL,
    SINGLE,
    Estimate,
    Results,
    Table,
    columns_of,
    jackknifed,
)

KINDS = (("certain", "certain"), ("random", "certain"), ("random", "random"))
Kind = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Singles:
    """The scores of one run set under each assessor and under gold, by kind of relevance.

    Those of random relevance take long, and are made when they are asked for.
    """

    inputs: Inputs
    name: str

    @cached_property
    def _random(self) -> tuple[Scores, Scores]:
        """The scores under each assessor and under gold, both as random relevance."""
        inputs, grid = self.inputs, self.inputs.plan.grid
        assessors, gold = (
            evaluate(inputs.runs[self.name], hard.soft(grid.p_rel, grid.p_nonrel), inputs.measures)
            for hard in (inputs.crowd.by_assessor(), inputs.gold)
        )
        return assessors, gold

    def assessors(self, kind: str) -> Scores:
        """The scores under each assessor, as judged (`certain`) or as random relevance."""
        if kind == "random":
            return self._random[0]
        return self.inputs.assessor_scores[self.name]

    def gold(self, kind: str) -> Scores:
        """The scores under gold, as it is (`certain`) or as random relevance."""
        return self._random[1] if kind == "random" else self.inputs.gold_scores[self.name, kind]

    @property
    def topics(self) -> Index:
        """The topics that are scored."""
        return self.gold("certain").topics

    def figures(self, statistic: str, kind: Kind, topics: Sequence[str] = ()) -> Floats:
        """The statistic[measure, assessor] of means over these topics (all, if none is named)."""
        chosen = Index.of(topics or self.topics)
        values = self.assessors(kind[0])[chosen].means()
        truth = self.gold(kind[1])[chosen].means()[:, 0]
        pairs = zip(values, truth, strict=True)
        return np.stack([STATISTIC[statistic](own, reference) for own, reference in pairs])


def single_assessors(inputs: Inputs, level: float = LEVEL) -> Table:
    """Means of tau and tau_AP over assessors, and half their intervals over assessors."""
    columns = ("runs", "measure", "assessors", "gold", "tau", "tau +-", "tau_ap", "tau_ap +-")
    rows = []
    for name, singles in _all(inputs):
        for at, measure in enumerate(inputs.plan.grid.measures):
            for kind in KINDS:
                tau, tau_ap = (
                    _mean_and_half(singles.figures(statistic, kind)[at], level)
                    for statistic in ("tau", "tau_ap")
                )
                rows.append((name, measure, *kind, *tau, *tau_ap))
    return columns_of(columns, rows)


def single_differences(inputs: Inputs, level: float = LEVEL) -> Table:
    """Random relevance less relevance as judged, of tau_AP and tau; intervals are over topics."""
    columns = ("runs", "measure", "assessors", "gold", "statistic", "less certain", "low", "high")
    rows = []
    for name, singles in _all(inputs):
        for at, measure in enumerate(inputs.plan.grid.measures):
            for kind in KINDS[1:]:
                for statistic in ("tau_ap", "tau"):
                    difference = _difference(singles, statistic, kind, at, level)
                    rows.append((name, measure, *kind, statistic, *difference))
    return columns_of(columns, rows)


def _difference(
    singles: Singles, statistic: str, kind: Kind, measure: int, level: float
) -> Estimate:
    def value(topics: Sequence[str] = ()) -> float:
        own, certain = (singles.figures(statistic, k, topics)[measure] for k in (kind, KINDS[0]))
        return float(own.mean() - certain.mean())

    every = list(singles.topics)
    left = [value([name for name in every if name != out]) for out in every]
    return jackknifed(value(), np.array(left), level)


def with_singles(results: Results, inputs: Inputs) -> Results:
    """The results with single assessors as one more approach, of no panel size; certain gold."""
    import polars as pl

    rows: list[dict[str, Any]] = []
    for name, singles in _all(inputs):
        for at, topic_set in enumerate(results.sets or [TopicSet(())], 1):
            figures = singles.figures(results.statistic, KINDS[0], topic_set.test)
            rows += [
                {
                    "runs": name,
                    "topics": results.group,
                    "approach": SINGLE,
                    "measure": measure,
                    "gold": "certain",
                    "set": at,
                    "panel": number,
                    results.statistic: value,
                }
                for measure, values in zip(inputs.plan.grid.measures, figures, strict=True)
                for number, value in enumerate(values.tolist(), 1)
            ]
    certain = results.frame.filter(pl.col("gold") == "certain")
    mine = pl.DataFrame(rows, schema_overrides={"set": pl.Int16, "panel": pl.Int16})
    frame = pl.concat([certain, mine], how="diagonal")
    return replace(results, frame=frame, extra=(SINGLE,))


def _all(inputs: Inputs) -> Iterator[tuple[str, Singles]]:
    for name in inputs.runs:
        yield name, Singles(inputs, name)


def _mean_and_half(each: Floats, level: float) -> tuple[float, float]:
    """A mean over assessors, and half its interval."""
    from scipy.stats import t

    half = t.ppf((1 + level) / 2, len(each) - 1) * each.std(ddof=1) / np.sqrt(len(each))
    return float(each.mean()), float(half)
