"""How much gold should count in EM (Nigam et al. 2000), learned on gold that is held out."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from qrowd.aggregation.folds import topic_folds
from qrowd.data.given import Given
from qrowd.data.judgements import Judgements
from qrowd.data.qrels import Qrels
from qrowd.errors import NotConvergedWarning

WEIGHTS = (1.0, 10.0, 100.0, 1000.0)


def best_gold_weight(method: Any, judgements: Judgements, given: Given) -> tuple[float, str]:
    """The `gold_weight` whose fits predict gold of held-out topics best, and why."""
    gold = given.gold
    judged = None if gold is None else gold.select(judgements.pairs.locate(gold.pairs) >= 0)
    if judged is None or len(judged.topics) < 2:
        return 1.0, "gold weight 1: gold of two topics or more would be needed to learn it"
    fold = topic_folds(judged.pairs, np.arange(len(judged)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        losses = {
            weight: sum(
                _loss(replace(method, gold_weight=weight), judgements, given, judged, fold == part)
                for part in np.unique(fold)
            )
            / len(judged)
            for weight in WEIGHTS
        }
    best = min(losses, key=lambda weight: losses[weight])
    listed = ", ".join(f"{weight:g}: {loss:.3f}" for weight, loss in losses.items())
    return best, f"gold weight {best:g}, by the log loss on gold of held-out topics ({listed})"


def _loss(method: Any, judgements: Judgements, given: Given, gold: Qrels, out: Any) -> float:
    """The log loss on this part of the gold, of a fit that sees the rest."""
    merged = method.fit(judgements, replace(given, gold=gold.select(~out), progress=None))
    held = gold.select(out)
    codes = merged.scale.codes_of_gold(held.grade)
    odds = merged.log_odds[merged.pairs.locate(held.pairs)]
    return float(np.logaddexp(0.0, np.where(merged.scale.relevant[codes], -odds, odds)).sum())
