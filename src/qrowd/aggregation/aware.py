"""Merging scores (AWARE) as a whole: runs and judgements in, merged scores and weights out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
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
from qrowd.data.scores import MEAN, Scores
from qrowd.errors import DataWarning, UsageError
from qrowd.evaluation.engine import evaluate, random_scores
from qrowd.evaluation.measure import Measure
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

    def resampled(self, n: int = 200, seed: int = 0) -> Scores:
        """Means of merged scores over `n` samples of topics and panels, for intervals over draws.

        In each, topics and assessors are drawn with replacement and the weights learned again, on
        training topics drawn among themselves. Topics' part in the spread is Student's, as in
        `intervals`.
        """
        random, means = np.random.default_rng(seed), []
        for _ in range(n):
            drawn, given = _replicate(self.by_each, self.given, random)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # said once, of the whole sample
                accuracies = self.method.accuracies(drawn, given)
            panel = int(random.integers(2**31))
            means.append(resampled_scores(drawn, accuracies, 1, panel).means()[:, 0])
        values = np.stack(means, axis=1)  # [measure, replicate, run]
        topics = len(self.by_each.topics)
        spread = topics / random.chisquare(max(topics - 1, 1), n)  # n / (n - 1) unbiased, times t
        centre = self.merged.means()
        values = centre + (values - centre) * np.sqrt(spread)[None, :, None]
        draws = Index.of(f"{draw:0{len(str(n))}d}" for draw in range(n))
        notes = (
            *self.merged.notes,
            "each draw: topics and assessors drawn anew, weights relearned",
        )
        return Scores(
            self.by_each.measures,
            "draw",
            draws,
            Index.of([MEAN]),
            self.by_each.runs,
            values[:, :, None],
            notes,
        )


def _replicate(by_each: Scores, given: Given, random: np.random.Generator) -> tuple[Scores, Given]:
    """What a method sees when topics are drawn with replacement: copies have names of their own.

    Training topics and the others are drawn apart, as many as there are.
    """
    training = np.zeros(len(by_each.topics), np.bool_)
    if given.reference is not None:
        training = given.reference.topics.find(by_each.topics) >= 0
    groups = [np.flatnonzero(mask) for mask in (training, ~training) if mask.any()]
    drawn = np.concatenate([random.choice(group, len(group)) for group in groups])
    trained = training[drawn]
    names = Index.of(f"{at:05d}" for at in range(len(drawn)))
    reference = given.reference
    if reference is not None:
        kept = Index(names.names[trained])
        at = reference.topics.find(by_each.topics)[drawn[trained]]
        reference = replace(reference, topics=kept, values=reference.values[:, :, at])
    chance = given.random
    if chance is not None:
        at = chance.topics.find(by_each.topics)[drawn]
        chance = replace(chance, topics=names, values=chance.values[:, :, at])
    scores = replace(by_each, topics=names, values=by_each.values[:, :, drawn])
    return scores, replace(given, reference=reference, random=chance)


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


def check_gold(card: Card, has_gold: bool) -> None:
    """An error if a method lacks the gold that it needs, or has gold that it cannot use."""
    needed = "reference" in card.needs
    if needed and not has_gold:
        raise UsageError(f"{card.id} learns from gold; name it with --gold (gold=...)")
    if has_gold and not needed:
        raise UsageError(f"{card.id} uses no gold; leave it out, or choose aware-s")
