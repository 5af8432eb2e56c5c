"""Convergence diagnostics against arviz, which defines them too."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from qrowd.comparison.diagnostics import ess_bulk, ess_tail, rhat, summarise
from qrowd.data.chains import Chains


def chains(kind: str, shape: tuple[int, int], seed: int = 0) -> np.ndarray[Any, Any]:
    """Three parameters whose chains are independent, sticky, antithetic, discrete, apart ..."""
    random = np.random.default_rng(seed)
    noise = random.normal(size=(*shape, 3))
    keep = {"sticky": 0.95, "antithetic": -0.6}.get(kind, 0.0)
    result = noise.copy()
    for t in range(1, shape[1]):
        result[:, t] = keep * result[:, t - 1] + noise[:, t]
    if kind == "apart":
        result += np.arange(shape[0])[:, None, None]
    if kind == "trend":
        result += np.linspace(0, 3, shape[1])[None, :, None]
    if kind == "wide":
        result *= (1 + np.arange(shape[0]))[:, None, None]
    if kind == "discrete":
        result = result.round()
    if kind == "cauchy":
        result = np.tan(np.pi * (random.random((*shape, 3)) - 0.5))
    return result


@pytest.fixture(scope="module")
def arviz() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("arviz")


KINDS = ("independent", "sticky", "antithetic", "apart", "trend", "wide", "discrete", "cauchy")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 1000), (2, 101), (4, 12), (1, 60)])
def test_equal_to_arviz(arviz: Any, kind: str, shape: tuple[int, int]) -> None:
    draws = chains(kind, shape)
    for ours, method in ((ess_bulk, "bulk"), (ess_tail, "tail")):
        expected = [float(arviz.ess(draws[:, :, at], method=method)) for at in range(3)]
        np.testing.assert_allclose(ours(draws), expected, rtol=1e-9)
    if shape[0] > 1:  # arviz has none for a single chain
        expected = [float(arviz.rhat(draws[:, :, at], method="rank")) for at in range(3)]
        np.testing.assert_allclose(rhat(draws), expected, rtol=1e-9)


def test_chains_that_differ_are_told_from_chains_that_do_not() -> None:
    assert rhat(chains("independent", (3, 1000))).max() < 1.01
    for kind in ("apart", "trend", "wide"):
        assert rhat(chains(kind, (3, 1000))).min() > 1.05


def test_a_constant_parameter() -> None:
    still = np.ones((3, 50, 1))
    assert ess_bulk(still)[0] == 150
    assert np.isnan(rhat(still)[0])


def test_summary_has_a_row_for_every_entry() -> None:
    draws = chains("independent", (3, 500))
    labels = {"assessor": np.array(["a", "b", "c"], object)}
    made = Chains({"x": draws, "y": draws[:, :, 0]}, {"x": ("assessor",)}, labels)
    table = summarise(made)
    assert table.name.tolist() == ["a", "b", "c", ""]
    np.testing.assert_allclose(table["mean"][:3], draws.mean(axis=(0, 1)))
    np.testing.assert_allclose(table["rhat"][:3], rhat(draws))
    np.testing.assert_allclose(table["ess_tail"][:3], ess_tail(draws))
    np.testing.assert_allclose(table.of("y", "low"), np.quantile(draws[:, :, 0], 0.025))
    assert table.to_polars().columns[:3] == ["parameter", "name", "mean"]
