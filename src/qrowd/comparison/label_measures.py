"""Merged labels against gold, as array functions: answers, truths and the group (topic) of each.

`answer` and `truth` are probabilities of relevance; certain ones are 0 and 1. All give one number
per group, NaN where it is undefined (no relevant pair, no answer, ...).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qrowd.data.arrays import Array, Floats

CLIP = 1e-15


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


def ratio(above: Floats, below: Floats) -> Floats:
    """Above / below; NaN where nothing is below."""
    return np.asarray(np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0))


def rates(counts: Counts) -> dict[str, Floats]:
    """Everything that the four counts say about relevance."""
    tp, fp, fn, tn = counts
    recall, specificity = ratio(tp, tp + fn), ratio(tn, tn + fp)
    return {
        "precision": ratio(tp, tp + fp),
        "recall": recall,
        "specificity": specificity,
        "f1": ratio(2 * tp, 2 * tp + fp + fn),
        "balanced_accuracy": (recall + specificity) / 2,
        "lam": lam(counts),
    }


def lam(counts: Counts) -> Floats:
    """Logistic average misclassification: logit^-1((logit FPR + logit FNR) / 2).

    A rate of 0 or 1 has no logit: there, half an error is added to the errors and to what was right
    ((FP + 1/2) / (N + 1) for N non-relevant pairs).
    """
    logits = [
        _logit(_smoothed(errors, errors + right))
        for errors, right in ((counts.fp, counts.tn), (counts.fn, counts.tp))
    ]
    return np.asarray(1 / (1 + np.exp(-(logits[0] + logits[1]) / 2)))


def _smoothed(errors: Floats, cases: Floats) -> Floats:
    extreme = (errors <= 0) | (errors >= cases)
    return ratio(errors + 0.5 * extreme, np.where(cases > 0, cases + 1.0 * extreme, 0.0))


def _logit(rate: Floats) -> Floats:
    return np.asarray(np.log(rate) - np.log1p(-rate))


def log_losses(answer: Floats, truth: Floats, clip: float = CLIP) -> Floats:
    """-log of the probability given to what is true, in nats; answers clipped to [clip, 1-clip]."""
    p = np.clip(answer, clip, 1 - clip)
    return np.asarray(-(truth * np.log(p) + (1 - truth) * np.log1p(-p)))


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
    return ratio(wins, relevant * others - self_pairs)


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
    return ratio(wins, chances)


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
    return ratio(totals(np.where(r > 0, precision, 0.0), g, groups), totals(good, g, groups))


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
    return ratio(dcg, totals(best, group[ideal.order], groups))


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
    return 1 - ratio(np.atleast_1d(seen * total), np.atleast_1d(chance))
