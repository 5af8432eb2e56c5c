"""Which choices matter: the analysis of variance of a balanced grid of figures.

Every combination of a subject (for example the panel's size) and of the factors has the same number
of figures, so sums of squares are plain sums over means and do not depend on an order of terms:

$$SS_A = \\frac{N}{|A|} \\sum_a (\\bar y_a - \\bar y)^2, \\qquad
  SS_{AB} = \\frac{N}{|A||B|} \\sum_{ab} (\\bar y_{ab} - \\bar y_a - \\bar y_b + \\bar y)^2$$

The model has the subject, every factor and every pair of factors; all that is left is the error.
The strength of association is $\\hat\\omega^2 = DF(F - 1) / (DF(F - 1) + N)$, as Piazzon (2019)
has it from Rutherford (2011): below .06 small, up to .14 medium, above that large. Terms with a
single level vanish.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from qrowd.data.arrays import Array, Floats, Names
from qrowd.data.frames import Coded, Framed
from qrowd.errors import InputError, ParameterError, require_choice

SMALL, LARGE = 0.06, 0.14


@dataclass(frozen=True)
class Term:
    """One line of the table. Error and total have no F; the subject has no strength."""

    name: str
    ss: float
    df: int
    ms: float = math.nan
    f: float = math.nan
    p: float = math.nan
    strength: float = math.nan

    @property
    def size(self) -> str:
        """The strength of association in a word."""
        if math.isnan(self.strength):
            return ""
        return "small" if self.strength < SMALL else "medium" if self.strength < LARGE else "large"


@dataclass(frozen=True, eq=False)
class Anova(Framed):
    """The table of an analysis of variance: subject, factors, pairs of factors, error, total."""

    terms: tuple[Term, ...]
    n: int

    def __getitem__(self, name: str) -> Term:
        """The line with this name, for example `approach*measure`."""
        for term in self.terms:
            if term.name == name:
                return term
        raise ParameterError(f"no term {name!r}; there are {', '.join(t.name for t in self.terms)}")

    def __repr__(self) -> str:
        return f"Anova({', '.join(term.name for term in self.terms)}; N {self.n})"

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`term ss df ms f p strength size`."""
        columns: dict[str, Coded | Array] = {}
        columns["term"] = np.array([term.name for term in self.terms], object)
        for name in ("ss", "df", "ms", "f", "p", "strength"):
            columns[name] = np.array([getattr(term, name) for term in self.terms])
        columns["size"] = np.array([term.size for term in self.terms], object)
        return columns


def anova(
    values: npt.ArrayLike,
    factors: Mapping[str, Sequence[str] | Names | Array],
    *,
    subject: str = "",
) -> Anova:
    """The analysis of variance of `values`, one column of levels per factor, as long as they are.

    The grid must be balanced: every combination of levels occurs equally often. `subject` names the
    factor that is repeated over (it enters no interaction and gets no strength of association).

    >>> table = anova([1, 2, 3, 5, 2, 2, 4, 6], {"size": [2, 2, 2, 2, 3, 3, 3, 3],
    ...               "method": ["a", "a", "b", "b", "a", "a", "b", "b"],
    ...               "measure": ["AP", "P", "AP", "P", "AP", "P", "AP", "P"]}, subject="size")
    >>> table["method"].df, round(table["method"].ss, 3), table["error"].df
    (1, 15.125, 3)
    """
    y = np.asarray(values, np.float64).ravel()
    codes = {}
    for name, levels in factors.items():
        if len(levels) != len(y):
            raise InputError(f"factor {name} has {len(levels)} levels for {len(y)} values")
        codes[name] = np.unique(np.asarray(levels), return_inverse=True)[1]
    grid = _Grid(y, codes)
    if subject:
        require_choice("subject", subject, factors)
    grid.check()
    crossed = [name for name in grid.codes if name != subject]
    alone = [(name,) for name in ([subject] if subject else []) + crossed]
    terms = {"*".join(names): grid.term(names) for names in [*alone, *combinations(crossed, 2)]}
    terms = {name: (ss, df) for name, (ss, df) in terms.items() if df}
    total = float(((y - y.mean()) ** 2).sum())
    error = max(0.0, total - sum(ss for ss, _ in terms.values()))
    left = len(y) - 1 - sum(df for _, df in terms.values())
    return from_terms({**terms, "error": (error, left)}, len(y), subject)


def from_terms(terms: Mapping[str, tuple[float, int]], n: int, subject: str = "") -> Anova:
    """The whole table from the sums of squares and degrees of freedom of its terms and `error`."""
    from scipy.special import fdtrc

    error_ss, error_df = terms["error"]
    scale = error_ss / error_df if error_df else math.nan
    lines = []
    for name, (ss, df) in terms.items():
        if name == "error":
            continue
        f = ss / df / scale if scale > 0 else math.nan if math.isnan(scale) or not ss else math.inf
        p = float(fdtrc(df, error_df, f)) if error_df and not math.isnan(f) else math.nan
        has_strength = n and name != subject and math.isfinite(f)
        association = strength(f, df, n) if has_strength else math.nan
        lines.append(Term(name, ss, df, ss / df, f, p, association))
    total = Term("total", sum(ss for ss, _ in terms.values()), sum(df for _, df in terms.values()))
    return Anova((*lines, Term("error", error_ss, error_df, scale), total), n)


def strength(f: float, df: int, n: int) -> float:
    """Omega squared from F, its degrees of freedom and the number of figures.

    >>> round(strength(370.28459, 17, 2088), 5)
    0.75041
    """
    return df * (f - 1) / (df * (f - 1) + n)


@dataclass(frozen=True, eq=False)
class _Grid:
    """Figures and the level of each factor that each of them belongs to, as codes."""

    y: Floats
    codes: dict[str, Array]

    def check(self) -> None:
        """Refuse an empty grid, undefined figures, and combinations that occur unequally often."""
        if not len(self.y) or not self.codes:
            raise InputError("an analysis of variance needs figures and at least one factor")
        if np.isnan(self.y).any():
            missing = int(np.isnan(self.y).sum())
            raise InputError(f"{missing} of {len(self.y)} figures are undefined; leave them out")
        cell = np.ravel_multi_index(tuple(self.codes.values()), self._sizes(tuple(self.codes)))
        counts = np.bincount(cell, minlength=math.prod(self._sizes(tuple(self.codes))))
        if counts.min() != counts.max():
            raise InputError(
                f"the grid is not balanced: combinations of {', '.join(self.codes)} occur "
                f"{counts.min()} to {counts.max()} times; all must occur equally often"
            )

    def _sizes(self, names: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(int(self.codes[name].max(initial=-1)) + 1 for name in names)

    def _means(self, names: tuple[str, ...]) -> Floats:
        """The mean of every combination of levels, as deviations from the grand mean."""
        sizes = self._sizes(names)
        cell = np.ravel_multi_index(tuple(self.codes[name] for name in names), sizes)
        total = np.bincount(cell, self.y - self.y.mean(), math.prod(sizes))
        return np.asarray(total / np.bincount(cell, minlength=math.prod(sizes))).reshape(sizes)

    def term(self, names: tuple[str, ...]) -> tuple[float, int]:
        """Sum of squares and degrees of freedom of a factor, or of two factors' interaction."""
        effect = self._means(names)
        if len(names) == 2:
            effect = effect - effect.mean(axis=1, keepdims=True) - effect.mean(axis=0)
        ss = float((effect**2).sum()) * len(self.y) / effect.size
        return ss, math.prod(size - 1 for size in self._sizes(names))
