"""What every measure-level method promises, whichever it is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import qrowd as q
from qrowd import registry
from qrowd.data.arrays import Floats
from qrowd.errors import DataWarning, InputError

IDS = [id for id, card in registry.cards("method").items() if card.level == "scores"]
RUNS, TOPICS, ASSESSORS = 8, 6, 5


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Assessors at random do rank runs against the others now and then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        yield


def scores_of(values: Floats, names: list[str] | None = None, axis: str = "assessor") -> q.Scores:
    names = names or [f"k{i}" for i in range(values.shape[1])]
    return q.Scores(
        ("AP", "P@5"),
        axis,
        q.Index.of(names),
        q.Index.of([f"t{i}" for i in range(values.shape[2])]),
        q.Index.of([f"r{i}" for i in range(values.shape[3])]),
        values,
    )


def made() -> tuple[Floats, q.Given]:
    random = np.random.default_rng(3)
    gold = random.random((2, 1, TOPICS, RUNS))
    values = np.clip(gold + random.normal(size=(2, ASSESSORS, TOPICS, RUNS)) * 0.2, 0, 1)
    chance = random.random((2, 9, TOPICS, RUNS))
    names = [f"{p}:{i:04d}" for p in (0.05, 0.5, 0.95) for i in range(3)]
    train = q.Index.of(["t0", "t1", "t2", "t3"])
    reference = scores_of(gold, ["-"], "")[train]
    return values, q.Given(reference=reference, random=scores_of(chance, names, "random"))


@pytest.mark.parametrize("id", IDS)
def test_one_score_for_every_topic_and_run(id: str) -> None:
    values, given = made()
    merged = registry.get(id).fit(scores_of(values), given)
    assert merged.axis == ""
    assert merged.values.shape == (2, 1, TOPICS, RUNS)
    assert (merged.values[:, 0] >= values.min(axis=1) - 1e-12).all()
    assert (merged.values[:, 0] <= values.max(axis=1) + 1e-12).all()
    assert any(id in note for note in merged.notes)


@pytest.mark.parametrize("id", IDS)
def test_renaming_assessors_changes_nothing(id: str) -> None:
    values, given = made()
    order = [3, 0, 4, 1, 2]
    plain = registry.get(id).fit(scores_of(values), given)
    renamed = registry.get(id).fit(scores_of(values[:, order]), given)
    assert renamed.values == pytest.approx(plain.values, abs=1e-9)


@pytest.mark.parametrize("id", IDS)
def test_a_lone_assessor_and_unanimous_ones_are_repeated(id: str) -> None:
    values, given = made()
    lone = registry.get(id).fit(scores_of(values[:, :1]), given)
    assert lone.values == pytest.approx(values[:, :1])
    same = np.repeat(values[:, :1], 3, axis=1)
    assert registry.get(id).fit(scores_of(same), given).values == pytest.approx(values[:, :1])


@pytest.mark.parametrize("id", IDS)
def test_who_judged_nothing_on_a_topic_is_left_out_there(id: str) -> None:
    values, given = made()
    values[:, 0, 5] = np.nan  # outside of the training topics
    others = registry.get(id).fit(scores_of(values), given).values[:, :, 5]
    assert not np.isnan(others).any()
    values[:, :, 5] = np.nan
    nobody = registry.get(id).fit(scores_of(values), given).values
    assert np.isnan(nobody[:, :, 5]).all()
    assert not np.isnan(nobody[:, :, :5]).any()


@pytest.mark.parametrize("id", IDS)
def test_the_same_again_and_nothing_is_written_into(id: str) -> None:
    values, given = made()
    scores = scores_of(values)
    before = scores.values.copy()
    first, second = (registry.get(id).fit(scores, given).values for _ in range(2))
    assert np.array_equal(first, second)
    assert np.array_equal(scores.values, before)


@pytest.mark.parametrize("id", IDS)
def test_scores_without_assessors_are_refused(id: str) -> None:
    values, given = made()
    with pytest.raises(InputError, match="not per assessor"):
        registry.get(id).fit(scores_of(values[:, :1], ["-"], ""), given)
