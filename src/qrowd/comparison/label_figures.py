"""Every figure of labels against gold: of each topic, of all pairs, and its error over topics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qrowd.comparison import label_measures as lm
from qrowd.data.arrays import Array, Floats
from qrowd.data.scale import Scale
from qrowd.evaluation.expectation import Quadrature, worth_over_ideal


@dataclass(frozen=True, eq=False)
class Scored:
    """Pairs with an answer and gold: p[pair, grade] and g[pair, grade] are their distributions,
    `label` is the answer as one grade's code, `group` the topic.
    """

    scale: Scale
    p: Floats
    g: Floats
    label: Array
    group: Array
    groups: int

    @property
    def answer(self) -> Floats:
        """The probability of relevance that was answered."""
        return np.asarray(self.p[:, self.scale.relevant].sum(axis=1))

    @cached_property
    def truth(self) -> Floats:
        """The probability of relevance by gold."""
        return np.asarray(self.g[:, self.scale.relevant].sum(axis=1))

    @cached_property
    def odds(self) -> Floats:
        """The answers' log odds: they order pairs whose probability is exactly 1 too."""
        return self.scale.log_odds(self.p)

    @cached_property
    def rank(self) -> Floats:
        """What ranks pairs: log odds; of three and more grades, the expected grade first."""
        if len(self.scale) == 2:
            return self.odds
        keys = np.stack([self.p @ np.array(self.scale.grades, np.float64), self.odds], axis=1)
        return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.float64)

    @cached_property
    def confusions(self) -> Floats:
        """Expected counts [topic, gold grade, merged grade]."""
        size = len(self.scale)
        cell = self.group.astype(np.int64) * size + self.label
        cells = [np.bincount(cell, g, self.groups * size) for g in self.g.T]
        counts: Floats = np.stack(cells).reshape(size, self.groups, size).astype(np.float64)
        return counts.transpose(1, 0, 2)

    def figures(self, clip: float) -> tuple[dict[str, Floats], dict[str, float], dict[str, Floats]]:
        """Every measure by topic, overall, and with each topic left out in turn."""
        sums = self._sums(clip)
        whole = {name: part.sum(axis=0, keepdims=True) for name, part in sums.items()}
        rest = {name: np.maximum(whole[name] - part, 0.0) for name, part in sums.items()}
        by_topic, pooled, without = (_measures(part, self.scale) for part in (sums, whole, rest))
        one = np.zeros_like(self.group)
        by_topic["auc"] = lm.auc(self.odds, self.truth, self.group, self.groups)
        pooled["auc"] = lm.auc(self.odds, self.truth, one, 1)
        without["auc"] = lm.auc_without_each(self.odds, self.truth, self.group, self.groups)
        overall = {name: float(value[0]) for name, value in pooled.items()}
        ranked = {"map": self._map(), "ndcg": self._ndcg()}
        overall |= {name: mean_of_topics(values) for name, values in ranked.items()}
        without |= {name: _means_without(values) for name, values in ranked.items()}
        return by_topic | ranked, overall, without

    def _sums(self, clip: float) -> dict[str, Floats]:
        """What adds up over pairs, by topic: [topic, ...]."""
        answer, truth = self.answer, self.truth
        counts = lm.counts_of(answer, truth, self.group, self.groups)

        def total(values: Floats) -> Floats:
            return lm.totals(values, self.group, self.groups)

        return {
            "confusion": self.confusions,
            "fractional": np.stack(counts, axis=1),
            "right": total((self.p * self.g).sum(axis=1)),
            "loss": total(lm.log_losses(answer, truth, clip)),
            "square": total(lm.squared_errors(answer, truth)),
        }

    def _map(self) -> Floats:
        """Average precision; against random gold, its expectation."""
        if ((self.truth == 0) | (self.truth == 1)).all():
            return lm.expected_ap(self.rank, self.truth, self.group, self.groups)
        result = np.full(self.groups, np.nan)
        for topic in np.unique(self.group):
            rows = self.group == topic
            by = Quadrature.of(self.truth[rows])
            result[topic] = by.integral(lm.ap_integrand(self.rank[rows], by.ratio, by.node))
        return result

    def _ndcg(self) -> Floats:
        """NDCG; against random gold of two grades, its expectation."""
        gain = self.g @ np.array(self.scale.grades, np.float64)
        if len(self.scale) > 2 or ((self.truth == 0) | (self.truth == 1)).all():
            return lm.expected_ndcg(self.rank, gain, self.group, self.groups)
        worth = np.zeros(len(gain))
        for topic in np.unique(self.group):
            rows = np.flatnonzero(self.group == topic)
            worth[rows] = worth_over_ideal(self.truth[rows], np.log2(np.arange(len(rows)) + 2.0))
        found = lm.discounted(self.rank, worth, self.group, self.groups)
        return np.where(lm.totals(self.truth, self.group, self.groups) > 0, found, np.nan)


def _measures(sums: dict[str, Floats], scale: Scale) -> dict[str, Floats]:
    """Every measure that is a function of sums over pairs, one figure per row of these."""
    confusion, relevant = sums["confusion"], scale.relevant
    size, gold = confusion.sum(axis=(1, 2)), confusion.sum(axis=2)
    right = np.trace(confusion, axis1=1, axis2=2)
    hard = lm.Counts(
        *(
            confusion[:, of_gold][:, :, said].sum(axis=(1, 2))
            for of_gold, said in (
                (relevant, relevant),
                (~relevant, relevant),
                (relevant, ~relevant),
                (~relevant, ~relevant),
            )
        )
    )
    fractional = {"accuracy": lm.ratio(sums["right"], size)}
    fractional |= lm.rates(lm.Counts(*sums["fractional"].T))
    mse = lm.ratio(sums["square"], size)
    return {
        "kappa": lm.kappa(confusion, np.array(scale.grades, np.float64)),
        "accuracy": lm.ratio(right, size),
        "constant_accuracy": lm.ratio(gold.max(axis=1), size),
        **lm.rates(hard),
        **{f"fractional_{name}": value for name, value in fractional.items()},
        "log_loss": lm.ratio(sums["loss"], size),
        "mse": mse,
        "rmse": np.sqrt(mse),
    }


def mean_of_topics(values: Floats) -> float:
    """The mean of the topics where it is defined."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def _means_without(values: Floats) -> Floats:
    """The mean of the other topics where it is defined, for each topic."""
    known, defined = np.nan_to_num(values), ~np.isnan(values)
    return lm.ratio(known.sum() - known, defined.sum() - defined.astype(np.float64))
