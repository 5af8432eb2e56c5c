"""The noun that holds Markov chains."""

from __future__ import annotations

import sys
import warnings
from types import SimpleNamespace
from typing import Any

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


def test_arviz_since_1_wants_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """The form of arviz 1.x, which needs Python 3.12: from_dict({group: {name: draws}}, ...)."""

    def from_dict(data: dict[str, Any], *, coords: Any, dims: Any) -> tuple[Any, Any, Any]:
        return data, coords, dims

    future = SimpleNamespace(__version__="1.3.0", from_dict=from_dict)
    monkeypatch.setitem(sys.modules, "arviz", future)
    chains = made()
    data, coords, dims = chains.to_arviz()
    assert [*data] == ["posterior"]
    assert data["posterior"]["accuracy"] is chains["accuracy"]
    assert coords == {"assessor": ["a", "b"], "grade": ["0", "1", "2"]}
    assert dims == {"accuracy": ["assessor", "grade"]}
