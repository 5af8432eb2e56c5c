"""The noun that holds Markov chains."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from qrowd.data.chains import Chains
from qrowd.errors import InputError


def made() -> Chains:
    random = np.random.default_rng(0)
    labels = {"assessor": np.array(["a", "b"], object), "grade": np.array(["0", "1", "2"], object)}
    values = {"kappa": random.random((3, 10)), "accuracy": random.random((3, 10, 2, 3))}
    return Chains(values, {"accuracy": ("assessor", "grade")}, labels)


def test_entries_are_named_by_all_their_axes() -> None:
    assert made().entries("accuracy").tolist() == ["a:0", "a:1", "a:2", "b:0", "b:1", "b:2"]
    assert made().entries("kappa").tolist() == [""]
    assert [draws.shape for _, _, draws in made().flat()] == [(3, 10, 1), (3, 10, 6)]
    assert made().pooled("accuracy").shape == (30, 2, 3)


def test_shapes_must_fit_the_labels() -> None:
    with pytest.raises(InputError, match="accuracy has the shape"):
        Chains({"accuracy": np.zeros((3, 10, 4))}, {"accuracy": ("grade",)}, made().labels)


def test_arviz_gets_the_names() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("arviz")
        data = made().to_arviz()
    accuracy = data["posterior"]["accuracy"]
    assert accuracy.dims == ("chain", "draw", "assessor", "grade")
    assert accuracy.sel(assessor="b", grade="1").shape == (3, 10)
