r"""Weighted means of scores over assessors: $\mathrm{aware}(t, s) = \sum_k a_k(t)\, M_k[t, s]$.

Accuracies are rescaled to sum to 1 over the panel, on each topic over those who judged there; where
all of them are zero, the weights are uniform.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qrowd.aggregation.gaps import judged_topics
from qrowd.comparison.correlation import tau_b
from qrowd.data.arrays import Floats, Mask, over
from qrowd.data.index import Index
from qrowd.data.scores import Scores
from qrowd.errors import DataWarning, InputError


def panel_weights(accuracies: Floats, judged: Mask, panels: Floats) -> Floats:
    """Weights [panel, assessor, topic] of accuracies[assessor, topic] in panels[panel, assessor].

    A panel's entries are how often an assessor is in it: 0, 1, or more in a bootstrap.
    """
    member = panels[:, :, None] * judged
    weighted = member * np.where(judged, accuracies, 0.0)
    total = weighted.sum(axis=1, keepdims=True)
    weights = np.where(total > 0, weighted, member)
    total = np.where(total > 0, total, member.sum(axis=1, keepdims=True))
    return over(weights, total)


def panel_scores(values: Floats, weights: Floats) -> Floats:
    """Merged scores [panel, topic, run] of values[assessor, topic, run] under panel weights."""
    by_topic = np.ascontiguousarray(np.swapaxes(np.nan_to_num(values), 0, 1))
    merged = np.matmul(np.ascontiguousarray(np.moveaxis(weights, 2, 0)), by_topic)
    return np.swapaxes(merged, 0, 1)


def merge_scores(scores: Scores, accuracies: Floats, method: str) -> Scores:
    """One `Scores` from those under many assessors, by accuracies[measure, assessor, topic]."""
    values = _merged(scores, accuracies, np.ones((1, len(scores.columns))))
    notes = [*scores.notes, f"merged by {method}"]
    judged = judged_topics(scores.values[0]).sum(axis=0)
    if len(judged) and judged.min() < len(scores.columns):
        notes.append(
            f"assessors per topic: {judged.min()} to {judged.max()} of {len(scores.columns)}; "
            "weights are rescaled over those who judged"
        )
    return replace(scores, axis="", columns=Index.of(["-"]), values=values, notes=tuple(notes))


def resampled_scores(scores: Scores, accuracies: Floats, n: int, seed: int) -> Scores:
    """`n` merged scores, each of a panel drawn with replacement from the assessors (draw axis)."""
    size = len(scores.columns)
    random = np.random.default_rng(seed)
    panels = random.multinomial(size, np.full(size, 1 / size), size=n).astype(np.float64)
    draws = Index.of(f"{draw:0{len(str(n))}d}" for draw in range(n))
    return replace(scores, axis="draw", columns=draws, values=_merged(scores, accuracies, panels))


def _merged(scores: Scores, accuracies: Floats, panels: Floats) -> Floats:
    """[measure, panel, topic, run]."""
    return np.stack(
        [
            panel_scores(values, panel_weights(accuracy, judged_topics(values), panels))
            for values, accuracy in zip(scores.values, accuracies, strict=True)
        ]
    )


def by_assessor(scores: Scores) -> Scores:
    """The scores, if they have an assessor axis; else an error that says how to get one."""
    if scores.axis != "assessor":
        raise InputError(
            "these scores are not per assessor; make them with "
            "evaluate(runs, judgements.by_assessor(), measures)"
        )
    return scores


def warn_of_contrarians(scores: Scores, accuracies: Floats) -> None:
    """Warn where an assessor with a large weight ranks the runs against all others."""
    for measure, values, accuracy in zip(scores.measures, scores.values, accuracies, strict=True):
        names = _contrarians(values, accuracy, scores.columns.names.tolist())
        if names:
            warnings.warn(
                f"{measure}: {', '.join(names[:5])}{' and others' * (len(names) > 5)} "
                "have more than an even weight but rank the runs against the rest of the assessors",
                DataWarning,
                stacklevel=3,
            )


def _contrarians(values: Floats, accuracy: Floats, names: Sequence[str]) -> list[str]:
    if len(values) < 3:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of assessors without any topic
        own = np.nanmean(values, axis=1)
    own = np.nan_to_num(own)
    rest = (own.sum(axis=0) - own) / (len(own) - 1)
    weight = np.nan_to_num(accuracy).mean(axis=1)
    against = tau_b(own, rest) < 0
    heavy = weight > weight.mean() * (1 + 1e-9)
    return [names[k] for k in np.flatnonzero(against & heavy).tolist()]
