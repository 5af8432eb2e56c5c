"""The hierarchical model's parameters by name, and its assessors, however it was fitted."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Array, Floats
from qrowd.data.chains import Chains, ParameterTable
from qrowd.data.judgements import Judgements

PARETO = 1.5
CONTRARY = "by weight, the judgements speak against the grades found"


def named_parameters(hyper: Floats, accuracy: Array, prevalence: Array, rows: Judgements) -> Chains:
    """The draws[chain, draw, ...] of all parameters, by the names that users know."""
    named = _binary if rows.scale.binary else _graded
    return named(hyper, accuracy, prevalence, rows)


def _binary(hyper: Floats, accuracy: Array, prevalence: Array, rows: Judgements) -> Chains:
    populations = (("prevalence", 1), ("specificity", 0), ("sensitivity", 1))
    values: dict[str, Array] = {}
    for at, (name, grade) in enumerate(populations):
        values |= {f"phi_{name}": hyper[:, :, at, grade], f"kappa_{name}": hyper[:, :, at, 2]}
    values |= {"prevalence": prevalence[..., 0]}
    values |= {"specificity": accuracy[..., 0], "sensitivity": accuracy[..., 1]}
    axes = {"prevalence": ("topic",), "specificity": ("assessor",), "sensitivity": ("assessor",)}
    labels = {"topic": rows.topics.names, "assessor": rows.assessors.names}
    return Chains(values, axes, labels)


def _graded(hyper: Floats, accuracy: Array, prevalence: Array, rows: Judgements) -> Chains:
    grades = np.array([str(grade) for grade in rows.scale.grades], object)
    values: dict[str, Array] = {
        "phi_prevalence": hyper[:, :, 0, 1:-1],
        "kappa_prevalence": hyper[:, :, 0, -1],
        "phi": hyper[:, :, 1:, :-1],
        "kappa": hyper[:, :, 1:, -1],
        "prevalence": prevalence,
        "accuracy": accuracy,
    }
    axes = {
        "phi_prevalence": ("grade above the lowest",),
        "phi": ("grade", "said"),
        "kappa": ("grade",),
        "prevalence": ("topic", "grade above the lowest"),
        "accuracy": ("assessor", "grade"),
    }
    labels = {
        "topic": rows.topics.names,
        "assessor": rows.assessors.names,
        "grade": grades,
        "said": grades,
        "grade above the lowest": grades[1:],
    }
    return Chains(values, axes, labels)


def assessor_columns(
    rows: Judgements, posterior: Floats, confusion: Floats, parameters: ParameterTable
) -> dict[str, Array]:
    """Columns of the assessors' table: sensitivity and specificity with intervals where there are
    two grades; the expected number of judgements `n(g)` on true grade g and `p(h|g)`.
    """
    columns: dict[str, Array] = {}
    if rows.scale.binary:
        for name, code in (("sensitivity", 1), ("specificity", 0)):
            columns[name] = confusion[:, code, code]
            for edge in ("low", "high"):
                columns[f"{name} {edge}"] = parameters.of(name, edge)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    for code, grade in enumerate(rows.scale.grades):
        share = weight * posterior[rows.pair, code]
        columns[f"n({grade})"] = np.bincount(rows.assessor, share, len(rows.assessors))
    for code, grade in enumerate(rows.scale.grades):
        for said, other in enumerate(rows.scale.grades):
            columns[f"p({other}|{grade})"] = confusion[:, code, said]
    return columns


def contrary(rows: Judgements, confusion: Floats) -> bool:
    """Whether the judgements, by weight, would fit better with two grades' names swapped."""
    weight = np.bincount(rows.assessor, rows.weight, len(rows.assessors))
    if not weight.sum():
        return False
    mean = np.average(confusion, axis=0, weights=weight)
    right = np.diag(mean)
    swapped = mean + mean.T
    return bool((right[:, None] + right[None, :] < swapped - 1e-9).any())
