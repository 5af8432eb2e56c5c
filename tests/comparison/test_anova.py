"""The analysis of variance: against statsmodels, and against six printed tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from qrowd.comparison.anova import anova, from_terms, strength
from qrowd.errors import InputError, ParameterError

# Piazzon 2019, Tables 5.1, 5.2, A.1-A.4: per term SS, F and SOA as printed; then SS of the error.
DF = {
    "size": 28,
    "approach": 17,
    "measure": 1,
    "systems": 1,
    "approach*measure": 17,
    "approach*systems": 17,
    "measure*systems": 1,
}
PRINTED = {
    "5.1": (
        (1.37679, 232.49984),
        (1.33129, 370.28459, 0.75041),
        (0.41956, 1983.84163, 0.48708),
        (0.37419, 1769.2957, 0.45855),
        (0.34205, 95.13682, 0.43389),
        (0.13625, 37.89693, 0.23101),
        (0.59299, 2803.86943, 0.57308),
        (0.42404,),
    ),
    "5.2": (
        (0.07822, 41.24387),
        (0.47972, 416.6397, 0.7719),
        (0.65403, 9656.47963, 0.8222),
        (0.03584, 529.10047, 0.20187),
        (0.5503, 477.94009, 0.79521),
        (0.01574, 13.6733, 0.09353),
        (0.00443, 65.4798, 0.02996),
        (0.1358,),
    ),
    "A.1": (
        (1.53301, 289.05128),
        (1.2979, 403.06873, 0.766),
        (0.37522, 1980.96093, 0.48672),
        (0.29149, 1538.90365, 0.42414),
        (0.41113, 127.67679, 0.50772),
        (0.081336, 25.25937, 0.16493),
        (0.41538, 2192.97619, 0.51215),
        (0.37978,),
    ),
    "A.2": (
        (0.09226, 53.67149),
        (0.47308, 453.28833, 0.78644),
        (0.76346, 12435.79244, 0.85623),
        (0.02778, 452.50846, 0.17779),
        (0.4957, 474.96009, 0.79419),
        (0.01206, 11.55128, 0.07911),
        (0.00173, 28.12493, 0.01282),
        (0.12309,),
    ),
    "A.3": (
        (1.05321, 151.00729),
        (1.45821, 344.3586, 0.73653),
        (0.66655, 2675.94252, 0.56162),
        (0.07361, 295.50691, 0.12361),
        (0.26757, 63.18643, 0.33612),
        (0.20151, 47.58593, 0.27499),
        (0.94652, 3799.90612, 0.64531),
        (0.49943,),
    ),
    "A.4": (
        (0.06799, 32.06742),
        (0.51858, 402.82432, 0.76589),
        (0.68148, 8999.2397, 0.81166),
        (0.03675, 485.29366, 0.18827),
        (0.58751, 456.37173, 0.78757),
        (0.01922, 14.92999, 0.10186),
        (0.00566, 74.75456, 0.03412),
        (0.15183,),
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_printed_tables_follow_from_their_sums_of_squares(name: str) -> None:
    rows = PRINTED[name]
    terms = {term: (row[0], DF[term]) for term, row in zip(DF, rows[:-1], strict=True)}
    table = from_terms({**terms, "error": (rows[-1][0], 2005)}, 2088, subject="size")
    assert table["total"].df == 2087
    assert np.isnan(table["size"].strength)
    for term, row in zip(DF, rows[:-1], strict=True):
        assert table[term].f == pytest.approx(row[1], rel=0.003)
        if term != "size":
            assert table[term].strength == pytest.approx(row[2], abs=5e-5)
            assert strength(row[1], DF[term], 2088) == pytest.approx(row[2], abs=1e-5)


def made_grid(
    sizes: dict[str, int], seed: int, repeats: int = 1
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rows = np.array(list(itertools.product(*map(range, sizes.values()))) * repeats)
    factors = {
        name: np.array([f"{name}{level}" for level in rows[:, at]]) for at, name in enumerate(sizes)
    }
    rng = np.random.default_rng(seed)
    effects = [rng.normal(size=size) for size in sizes.values()]
    y = sum(effect[rows[:, at]] for at, effect in enumerate(effects)) + rng.normal(size=len(rows))
    return np.asarray(y), factors


@pytest.mark.parametrize("repeats", [1, 3])
def test_equals_statsmodels(repeats: int) -> None:
    formula = pytest.importorskip("statsmodels.formula.api", reason="statsmodels is the oracle")
    stats = pytest.importorskip("statsmodels.api")
    pd = pytest.importorskip("pandas")
    y, factors = made_grid({"size": 5, "a": 4, "b": 2, "c": 3}, 7, repeats)
    ours = anova(y, factors, subject="size")
    model = formula.ols(
        "y ~ C(size) + (C(a) + C(b) + C(c)) ** 2", pd.DataFrame({"y": y, **factors})
    )
    theirs = stats.stats.anova_lm(model.fit())
    names = {"C(size)": "size", "Residual": "error"}
    for line, row in theirs.iterrows():
        name = names.get(line, line.replace("C(", "").replace(")", "").replace(":", "*"))
        assert ours[name].df == row["df"]
        assert ours[name].ss == pytest.approx(row["sum_sq"], rel=1e-9)
        if name != "error":
            assert ours[name].f == pytest.approx(row["F"], rel=1e-9)
            assert ours[name].p == pytest.approx(row["PR(>F)"], rel=1e-9)


def test_order_of_rows_does_not_matter_and_the_total_is_the_sum() -> None:
    y, factors = made_grid({"size": 3, "a": 4, "b": 2}, 1)
    order = np.random.default_rng(0).permutation(len(y))
    plain = anova(y, factors, subject="size")
    mixed = anova(y[order], {k: v[order] for k, v in factors.items()}, subject="size")
    for one, other in zip(plain.terms, mixed.terms, strict=True):
        assert one.ss == pytest.approx(other.ss, rel=1e-12)
    assert sum(t.ss for t in plain.terms[:-1]) == pytest.approx(plain["total"].ss)
    assert plain["total"].ss == pytest.approx(((y - y.mean()) ** 2).sum())


def test_terms_with_one_level_vanish() -> None:
    y, factors = made_grid({"size": 29, "approach": 18, "measure": 2, "systems": 1}, 2)
    table = anova(y, factors, subject="size")
    assert [t.name for t in table.terms] == [
        "size",
        "approach",
        "measure",
        "approach*measure",
        "error",
        "total",
    ]
    assert (table.n, table["error"].df) == (1044, 980)


def test_one_factor_without_a_subject() -> None:
    table = anova([1.0, 2.0, 4.0, 6.0], {"a": ["x", "x", "y", "y"]})
    assert table["a"].ss == pytest.approx(12.25)
    assert table["error"].ss == pytest.approx(2.5)
    assert table["a"].size == "large"
    assert table.to_polars()["term"].to_list() == ["a", "error", "total"]


def test_what_cannot_be_analysed_says_why() -> None:
    with pytest.raises(InputError, match=r"not balanced: .* 0 to 1 times"):
        anova([1.0, 2.0, 3.0], {"a": ["x", "x", "y"], "b": ["u", "v", "u"]})
    with pytest.raises(InputError, match="1 of 2 figures are undefined"):
        anova([1.0, np.nan], {"a": ["x", "y"]})
    with pytest.raises(InputError, match="has 1 levels for 2 values"):
        anova([1.0, 2.0], {"a": ["x"]})
    with pytest.raises(ParameterError, match="subject must be one of a"):
        anova([1.0, 2.0], {"a": ["x", "y"]}, subject="b")
    with pytest.raises(InputError, match="needs figures"):
        anova([], {"a": []})
    with pytest.raises(ParameterError, match="no term 'b'"):
        anova([1.0, 2.0], {"a": ["x", "y"]})["b"]
