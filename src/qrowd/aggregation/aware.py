"""Merging scores (AWARE) as a whole: runs and judgements in, merged scores and weights out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qrowd.aggregation.gaps import judged_topics
from qrowd.aggregation.panels import panel_weights, resampled_scores
from qrowd.data.arrays import Array, Floats
from qrowd.data.given import Given
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.scores import Scores
from qrowd.errors import UsageError
from qrowd.evaluation.engine import evaluate
from qrowd.evaluation.measure import Measure
from qrowd.evaluation.random_assessors import random_scores
from qrowd.registry import Card


@dataclass(frozen=True, eq=False)
class Aware:
    """Scores under each assessor, what the method was given beside them, and the merged scores."""

    method: Any
    by_each: Scores
    given: Given
    merged: Scores

    @cached_property
    def accuracies(self) -> Floats:
        """The accuracy of every (measure, assessor, topic)."""
        return np.asarray(self.method.accuracies(self.by_each, self.given))

    @property
    def training(self) -> Index | None:
        """The topics whose gold the method learned from; None if it learns from none."""
        return None if self.given.reference is None else self.given.reference.topics

    def weights(self) -> AssessorTable:
        """The mean weight of each assessor over topics, by measure; even weights are 1 / n."""
        scores = self.by_each
        judged = judged_topics(scores.values[0])
        columns: dict[str, Array] = {"topics": judged.sum(axis=1).astype(np.int64)}
        everyone = np.ones((1, len(scores.columns)))
        rows = zip(scores.measures, scores.values, self.accuracies, strict=True)
        for name, values, accuracy in rows:
            weights = panel_weights(accuracy, judged_topics(values), everyone)[0]
            columns[f"weight({name})"] = np.nan_to_num(weights).mean(axis=1)
            columns[f"accuracy({name})"] = accuracy.mean(axis=1)
        return AssessorTable(scores.columns, columns)

    def resampled(self, n: int = 1000, seed: int = 0) -> Scores:
        """Merged scores of `n` panels drawn from the assessors, for intervals."""
        return resampled_scores(self.by_each, self.accuracies, n, seed)


def aware(
    method: Any,
    runs: RunSet,
    judgements: Judgements,
    measures: Iterable[str | Measure],
    *,
    gold: Qrels | None = None,
    replicates: int = 100,
    seed: int = 0,
) -> Aware:
    """Score runs under each assessor and merge the scores.

    `gold` has the training topics only, for methods that learn from gold; `replicates` are the
    random assessors of each kind, for methods that compare with them.
    """
    check_gold(method.card, gold is not None)
    by_each = evaluate(runs, judgements.by_assessor(), measures)
    reference = None if gold is None else evaluate(runs, gold, by_each.measures)
    random = None
    if "random" in method.card.needs:
        random = random_scores(
            runs, judgements.pairs, by_each.measures, replicates=replicates, seed=seed
        )
    given = Given(reference=reference, random=random)
    return Aware(method, by_each, given, method.fit(by_each, given))


def check_gold(card: Card, there: bool) -> None:
    """An error if a method lacks the gold that it needs, or has gold that it cannot use."""
    needed = "reference" in card.needs
    if needed and not there:
        raise UsageError(f"{card.id} learns from gold; name it with --gold (gold=...)")
    if there and not needed:
        raise UsageError(f"{card.id} uses no gold; leave it out, or choose aware-s")
