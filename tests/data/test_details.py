from __future__ import annotations

import numpy as np
import pytest

import qrowd as q
from qrowd.data.details import Caution, Details
from qrowd.errors import UnknownNameError


def test_details_can_be_had_by_name() -> None:
    details = Details(prior=np.ones((1, 2)), own={"easiness": 3.0})
    assert "easiness" in details
    assert "chains" not in details
    assert details["prior"].shape == (1, 2)
    assert details["easiness"] == 3.0
    assert list(details.named) == ["prior", "easiness"]
    with pytest.raises(UnknownNameError, match="easiness"):
        details["easyness"]


def test_what_is_said_of_gold_is_no_caution() -> None:
    crowd = q.Judgements.of(
        ["t"] * 12,
        [f"d{i % 4}" for i in range(12)],
        ["ann"] * 4 + ["bob"] * 4 + ["eve"] * 4,
        [0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1],
    )
    plain = q.MajorityVote().fit(crowd, q.Given(gold=q.Qrels.of(["t"], ["d1"], [1])))
    assert plain.fit.notes
    assert not any(isinstance(note, Caution) for note in plain.fit.notes)
