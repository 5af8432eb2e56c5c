"""Measures of labels against gold: rates, rankings, calibration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from qrowd.comparison.significance import wilson
from qrowd.data.arrays import Array, Floats, Mask, over
from qrowd.data.scale import Scale
from qrowd.errors import ParameterError
from qrowd.evaluation.expectation import Quadrature, worth_over_ideal

CLIP = 1e-15  # of probabilities, before their logarithm is taken
_Z90 = 1.6448536269514722


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
    low, high = wilson(observed * count, count, _Z90)
    empty = count == 0
    predicted[empty] = observed[empty] = np.nan
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


class Counts(NamedTuple):
    """Expected true and false positives and negatives, per group."""

    tp: Floats
    fp: Floats
    fn: Floats
    tn: Floats


def counts_of(answer: Floats, truth: Floats, group: Array, groups: int) -> Counts:
    """Fractional answers count fractionally: 0.72 for a pair relevant with 0.72 is 0.5184 TP.

    >>> counts_of(np.array([0.72]), np.array([0.72]), np.array([0]), 1).tp.round(4).tolist()
    [0.5184]
    """
    cells = (answer * truth, answer * (1 - truth), (1 - answer) * truth, (1 - answer) * (1 - truth))
    return Counts(*(totals(cell, group, groups) for cell in cells))


def totals(values: Floats, group: Array, groups: int) -> Floats:
    """Sums per group."""
    return np.asarray(np.bincount(group, weights=values, minlength=groups), np.float64)


def rates(counts: Counts) -> dict[str, Floats]:
    """Everything that the four counts say about relevance."""
    tp, fp, fn, tn = counts
    recall, specificity = over(tp, tp + fn), over(tn, tn + fp)
    return {
        "precision": over(tp, tp + fp),
        "recall": recall,
        "specificity": specificity,
        "f1": over(2 * tp, 2 * tp + fp + fn),
        "balanced_accuracy": (recall + specificity) / 2,
        "lam": lam(counts),
    }


def lam(counts: Counts) -> Floats:
    """Logistic average misclassification: logit^-1((logit FPR + logit FNR) / 2).

    A rate of 0 or 1 has no logit: there, half an error is added to the errors and to what was right
    ((FP + 1/2) / (N + 1) for N non-relevant pairs).
    """
    logits = []
    for errors, right in ((counts.fp, counts.tn), (counts.fn, counts.tp)):
        cases = errors + right
        extreme = (errors <= 0) | (errors >= cases)
        rate = over(errors + 0.5 * extreme, np.where(cases > 0, cases + 1.0 * extreme, 0.0))
        logits.append(np.log(rate) - np.log1p(-rate))
    return np.asarray(1 / (1 + np.exp(-(logits[0] + logits[1]) / 2)))


def squared_errors(answer: Floats, truth: Floats) -> Floats:
    """E[(answer - Y)^2], Y being 1 with probability `truth`: the Brier score of each pair."""
    return np.asarray((answer - truth) ** 2 + truth * (1 - truth))


class Runs(NamedTuple):
    """Pairs sorted by group and descending score; runs are the tied ones of a group."""

    order: Array
    run: Array
    place: Array  # within the group, from 0
    first: Array  # the place at which each sorted pair's run starts
    size: Array  # of each sorted pair's run


def runs_of(score: Floats, group: Array) -> Runs:
    """Sort by group and descending score and find the ties."""
    order = np.lexsort((-score, group))
    g, s = group[order], score[order]
    new_group = np.concatenate([np.ones(min(1, len(g)), np.bool_), g[1:] != g[:-1]])
    new_run = new_group.copy()
    new_run[1:] |= s[1:] != s[:-1]
    at = np.arange(len(g))
    place = at - np.maximum.accumulate(np.where(new_group, at, 0))
    run = np.cumsum(new_run) - 1
    first = np.maximum.accumulate(np.where(new_run, at, 0)) - (at - place)
    size = np.bincount(run)[run] if len(run) else run
    return Runs(order, run, place, first, size)


def auc(score: Floats, truth: Floats, group: Array, groups: int) -> Floats:
    """P(a relevant pair scores above a non-relevant one), ties counting half."""
    order, run, place, _, _ = runs_of(score, group)
    good, bad, g = truth[order], 1 - truth[order], group[order]
    above = _before(good, place)
    in_run = np.bincount(run, weights=good)[run] if len(run) else good
    run_above = _first_of(above, run)
    wins = totals(bad * (run_above + (in_run - good) / 2), g, groups)
    self_pairs = totals(good * bad, g, groups)
    relevant, others = totals(good, g, groups), totals(bad, g, groups)
    return over(wins, relevant * others - self_pairs)


def auc_without_each(score: Floats, truth: Floats, group: Array, groups: int) -> Floats:
    """The AUC of all pairs but those of one group, for each group."""
    order, run, place, _, _ = runs_of(score, np.zeros_like(group))
    good, bad, g = truth[order], 1 - truth[order], group[order]
    relevant, others = good.sum(), bad.sum()
    goods, bads = (
        (_first_of(_before(x, place), run), np.bincount(run, weights=x)[run] if len(run) else x)
        for x in (good, bad)
    )
    lost = bad * (goods[0] + (goods[1] - good) / 2)  # relevant pairs above each other one
    won = good * (others - bads[0] - bads[1] + (bads[1] - bad) / 2)
    r, n, own = (totals(x, g, groups) for x in (good, bad, good * bad))
    inside = np.nan_to_num(auc(score, truth, group, groups)) * (r * n - own)
    wins = lost.sum() - (totals(lost, g, groups) + totals(won, g, groups) - inside)
    chances = relevant * others - own.sum() - (r * others + n * relevant - r * n - own)
    return over(wins, chances)


def _before(values: Floats, place: Array) -> Floats:
    """The sum of the values before each one, within its group (groups start at place 0)."""
    running = np.cumsum(values) - values
    starts = np.flatnonzero(place == 0)
    return np.asarray(running - np.repeat(running[starts], np.diff([*starts, len(values)])))


def _first_of(values: Floats, run: Array) -> Floats:
    """The value at the first pair of each pair's run."""
    starts = np.flatnonzero(np.diff(run, prepend=-1))
    return np.asarray(values[starts][run]) if len(run) else values


def expected_ap(score: Floats, relevant: Floats, group: Array, groups: int) -> Floats:
    """Average precision of each group ranked by score; the expectation over orders of the tied.

    McSherry & Najork 2008: of a run of m tied pairs, r of them relevant, with R relevant above, the
    i-th holds a relevant one with r/m, and then R + 1 + (i-1)(r-1)/(m-1) are at or above it.
    """
    order, run, place, first, size = runs_of(score, group)
    good, g = relevant[order], group[order]
    r = np.bincount(run, weights=good)[run] if len(run) else good
    above = _first_of(_before(good, place), run)
    inside = (place - first) * (r - 1) / np.maximum(size - 1, 1)
    precision = r / np.maximum(size, 1) * (above + 1 + inside) / (place + 1)
    return over(totals(np.where(r > 0, precision, 0.0), g, groups), totals(good, g, groups))


def ap_integrand(score: Floats, ratio: Floats, node: Floats) -> Floats:
    """The integrand of the expected AP of one topic at each node, for random relevance.

    As `AP` has it under random relevance, ratio[pair, node] being a_d(u); of a run of m tied pairs,
    each is equally likely to be at each of the run's ranks.
    """
    order, run, place, first, size = runs_of(score, np.zeros(len(score), np.int64))
    a = ratio[order]
    starts = np.flatnonzero(np.diff(run, prepend=-1))
    mean = np.add.reduceat(a, starts, axis=0) / size[starts, None]
    squares = np.add.reduceat(a * a, starts, axis=0) / size[starts, None]
    above = np.cumsum(a, axis=0)[starts] - a[starts]
    m = np.maximum(size[starts], 2)[:, None]
    both = (m * mean * mean - squares) / (m - 1)  # the mean of a_d a_s over two tied pairs
    inside = (place - first)[:, None] * both[run]
    precision = mean[run] + node * (above[run] * mean[run] + inside)
    return np.asarray((precision / (place + 1.0)[:, None]).sum(axis=0))


def expected_ndcg(score: Floats, gain: Floats, group: Array, groups: int) -> Floats:
    """NDCG (discount log2(1 + rank), full depth); the expectation over orders of the tied."""
    gains = np.maximum(gain, 0.0)
    ideal = runs_of(gains, group)
    best = gains[ideal.order] / np.log2(ideal.place + 2.0)
    dcg = discounted(score, gains, group, groups)
    return over(dcg, totals(best, group[ideal.order], groups))


def discounted(score: Floats, gain: Floats, group: Array, groups: int) -> Floats:
    """The sum of gains over log2(1 + rank); the expectation over orders of the tied."""
    order, run, place, _, size = runs_of(score, group)
    mean = np.bincount(run, weights=gain[order])[run] / size if len(run) else gain
    return totals(mean / np.log2(place + 2.0), group[order], groups)


def kappa(confusion: Floats, grades: Floats) -> Floats:
    """Quadratically weighted kappa of confusions [..., gold grade, merged grade] of counts.

    With two grades it is Cohen's kappa.
    """
    weight = (grades[:, None] - grades[None, :]) ** 2
    total = confusion.sum(axis=(-2, -1))
    rows, columns = confusion.sum(axis=-1), confusion.sum(axis=-2)
    seen = (weight * confusion).sum(axis=(-2, -1))
    chance = np.einsum("...i,...j,ij->...", rows, columns, weight)
    return 1 - over(np.atleast_1d(seen * total), np.atleast_1d(chance))


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
        by_topic["auc"] = auc(self.odds, self.truth, self.group, self.groups)
        pooled["auc"] = auc(self.odds, self.truth, np.zeros_like(self.group), 1)
        without["auc"] = auc_without_each(self.odds, self.truth, self.group, self.groups)
        overall = {name: float(value[0]) for name, value in pooled.items()}
        ranked = {"map": self._map(), "ndcg": self._ndcg()}
        overall |= {name: mean_of_topics(values) for name, values in ranked.items()}
        without |= {name: _means_without(values) for name, values in ranked.items()}
        return by_topic | ranked, overall, without

    def _sums(self, clip: float) -> dict[str, Floats]:
        """What adds up over pairs, by topic: [topic, ...]."""
        answer, truth = self.answer, self.truth
        counts = counts_of(answer, truth, self.group, self.groups)
        p = np.clip(answer, clip, 1 - clip)  # before its logarithm is taken

        def total(values: Floats) -> Floats:
            return totals(values, self.group, self.groups)

        return {
            "confusion": self.confusions,
            "fractional": np.stack(counts, axis=1),
            "right": total((self.p * self.g).sum(axis=1)),
            "loss": total(-(truth * np.log(p) + (1 - truth) * np.log1p(-p))),
            "square": total(squared_errors(answer, truth)),
        }

    def _map(self) -> Floats:
        """Average precision; against random gold, its expectation."""
        if ((self.truth == 0) | (self.truth == 1)).all():
            return expected_ap(self.rank, self.truth, self.group, self.groups)
        result = np.full(self.groups, np.nan)
        for topic in np.unique(self.group):
            rows = self.group == topic
            by = Quadrature.of(self.truth[rows])
            result[topic] = by.integral(ap_integrand(self.rank[rows], by.ratio, by.node))
        return result

    def _ndcg(self) -> Floats:
        """NDCG; against random gold of two grades, its expectation."""
        gain = self.g @ np.array(self.scale.grades, np.float64)
        if len(self.scale) > 2 or ((self.truth == 0) | (self.truth == 1)).all():
            return expected_ndcg(self.rank, gain, self.group, self.groups)
        worth = np.zeros(len(gain))
        for topic in np.unique(self.group):
            rows = np.flatnonzero(self.group == topic)
            worth[rows] = worth_over_ideal(self.truth[rows], np.log2(np.arange(len(rows)) + 2.0))
        expected = discounted(self.rank, worth, self.group, self.groups)
        return np.where(totals(self.truth, self.group, self.groups) > 0, expected, np.nan)


def _measures(sums: dict[str, Floats], scale: Scale) -> dict[str, Floats]:
    """Every measure that is a function of sums over pairs, one figure per row of these."""
    confusion, relevant = sums["confusion"], scale.relevant
    size, gold = confusion.sum(axis=(1, 2)), confusion.sum(axis=2)
    right = np.trace(confusion, axis1=1, axis2=2)

    def count(of_gold: Mask, merged: Mask) -> Floats:
        return np.asarray(confusion[:, of_gold][:, :, merged].sum(axis=(1, 2)))

    hard = Counts(
        tp=count(relevant, relevant),
        fp=count(~relevant, relevant),
        fn=count(relevant, ~relevant),
        tn=count(~relevant, ~relevant),
    )
    fractional = {"accuracy": over(sums["right"], size)}
    fractional |= rates(Counts(*sums["fractional"].T))
    mse = over(sums["square"], size)
    return {
        "kappa": kappa(confusion, np.array(scale.grades, np.float64)),
        "accuracy": over(right, size),
        "constant_accuracy": over(gold.max(axis=1), size),
        **rates(hard),
        **{f"fractional_{name}": value for name, value in fractional.items()},
        "log_loss": over(sums["loss"], size),
        "mse": mse,
        "rmse": np.sqrt(mse),
    }


def mean_of_topics(values: Floats) -> float:
    """The mean of the topics where it is defined."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def _means_without(values: Floats) -> Floats:
    """The mean of the other topics where it is defined, for each topic."""
    filled, defined = np.nan_to_num(values), ~np.isnan(values)
    return over(filled.sum() - filled, defined.sum() - defined.astype(np.float64))
