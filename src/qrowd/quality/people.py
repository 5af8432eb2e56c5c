"""People as units: whether those who do more do worse (Carpenter 2011), and groups of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.comparison.correlation import spearman
from qrowd.data.arrays import Floats
from qrowd.data.merged import AssessorTable
from qrowd.errors import InputError

_COLUMNS = ("accuracy", "est_accuracy", "agreement")  # what quality is, the first that is known
_SAMPLES = 2000
OTHERS = "others"


def quality_column(table: AssessorTable) -> str:
    """What tells how good people are: accuracy on gold, else as estimated, else agreement."""
    for name in _COLUMNS:
        if name in table.columns and np.isfinite(table[name]).any():
            return name
    raise InputError("nothing tells how good anybody is: no gold, and nobody judged with others")


@dataclass(frozen=True)
class Quantity:
    """Spearman's rho of how much people do and how good they are, with its interval."""

    column: str
    people: int
    rho: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return (
            f"number of judgements and {self.column} of {self.people} people: Spearman's rho "
            f"{self.rho:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"
        )


def quantity(table: AssessorTable, level: float = 0.9, seed: int = 0) -> Quantity:
    """Whether those who judge more are better or worse; the interval is a bootstrap of people.

    >>> import qrowd as q
    >>> made = q.simulate(topics=6, documents=60, assessors=30, votes=5, skew=0.8, seed=3)
    >>> found = q.quantity(q.assessors(made.judgements, q.Given(gold=made.truth)))
    >>> found.column, found.people
    ('accuracy', 30)
    """
    column = quality_column(table)
    good = np.asarray(table[column], np.float64)
    known = np.flatnonzero(np.isfinite(good))
    if len(known) < 4:
        raise InputError(f"{column} is known of {len(known)} people: too few to say anything")
    number, good = np.asarray(table["judgements"], np.float64)[known], good[known]
    drawn = np.random.default_rng(seed).integers(0, len(known), (_SAMPLES, len(known)))
    each = np.array([float(spearman(good[rows], number[rows])) for rows in drawn])
    low, high = np.nanquantile(each, [(1 - level) / 2, (1 + level) / 2])
    rho = float(spearman(good, number))
    return Quantity(column, len(known), rho, float(low), float(high), level)


def groups(
    table: AssessorTable,
    about: Mapping[str, Mapping[str, str]],
    by: Sequence[str],
    *,
    least: int = 5,
    level: float = 0.9,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """The mean quality of groups of people, each person counting once, whatever they did.

    `about` has the values of each person by column. Groups of fewer than `least` people are merged
    to `others`. Intervals are Student's t over people; `p` is that of a permutation test of whether
    the groups of a column differ at all.
    """
    from scipy.special import stdtrit

    column = quality_column(table)
    good = np.asarray(table[column], np.float64)
    rows: list[dict[str, Any]] = []
    for name in by:
        listed = [
            (about[who][name], value)
            for who, value in zip(table.assessors, good.tolist(), strict=True)
            if np.isfinite(value) and about.get(who, {}).get(name)
        ]
        if not listed:
            raise InputError(f"of nobody who judged both {name} and {column} are known")
        labels = np.array([label for label, _ in listed], object)
        names, counts = np.unique(labels.astype(str), return_counts=True)
        small = set(names[counts < least].tolist())
        labels = np.array([OTHERS if label in small else label for label in labels], object)
        values = np.array([value for _, value in listed])
        chance = _permuted(labels, values, seed)
        for label in sorted(set(labels), key=lambda each: (each == OTHERS, each)):
            own = values[labels == label]
            half = np.nan
            if len(own) > 1:
                error = own.std(ddof=1) / np.sqrt(len(own))
                half = float(stdtrit(len(own) - 1, (1 + level) / 2)) * error
            mean = float(own.mean())
            row = {"column": name, "group": label, "people": len(own), column: mean}
            rows.append(row | {"low": mean - half, "high": mean + half, "p": chance})
    return rows


def _permuted(labels: Any, values: Floats, seed: int) -> float:
    """The share of random orders in which groups differ at least as much as they do."""
    codes = np.unique(labels.astype(str), return_inverse=True)[1]
    sizes = np.bincount(codes)
    if len(sizes) < 2:
        return float("nan")

    def between(ordered: Floats) -> float:
        return float((np.bincount(codes, ordered) ** 2 / sizes).sum())

    random = np.random.default_rng(seed)
    observed = between(values) - 1e-12
    hits = sum(between(random.permutation(values)) >= observed for _ in range(_SAMPLES))
    return (hits + 1) / (_SAMPLES + 1)
