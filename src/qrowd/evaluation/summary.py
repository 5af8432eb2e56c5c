"""Scores as a table of means, the best run first."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.data.scores import Scores


def score_table(scores: Scores) -> dict[str, list[Any]]:
    """Means of the runs, the best by the first measure first; of draws, their mean and spread."""
    means = scores.means()
    if scores.axis == "draw":
        return _of_draws(scores)
    column, run = np.divmod(np.arange(means[0].size), len(scores.runs))
    order = np.lexsort((-np.nan_to_num(means[0].ravel(), nan=-1.0), column))
    axis = {scores.axis: scores.columns.names[column[order]].tolist()} if scores.axis else {}
    figures = {
        name: values.ravel()[order].tolist()
        for name, values in zip(scores.measures, means, strict=True)
    }
    return {**axis, "run": scores.runs.names[run[order]].tolist(), **figures}


def _of_draws(scores: Scores) -> dict[str, list[Any]]:
    means = scores.means()
    spread = means.std(axis=1)
    order = np.argsort(-means[0].mean(axis=0), kind="stable")
    columns: dict[str, list[Any]] = {"run": scores.runs.names[order].tolist()}
    for name, values, sd in zip(scores.measures, means, spread, strict=True):
        columns |= {name: values.mean(axis=0)[order].tolist(), f"sd {name}": sd[order].tolist()}
    return columns
