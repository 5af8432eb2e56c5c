"""The crowd of Carpenter 2011, simulated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import ParameterError


@pytest.fixture(scope="module")
def made() -> q.Collection:
    return q.simulate("carpenter")


def test_the_printed_sizes(made: q.Collection) -> None:
    rows = made.judgements
    assert (len(rows.pairs), len(rows.topics), len(rows.assessors)) == (19_033, 100, 762)
    assert len(rows) == 89_624
    assert len(made.gold) == 2_275
    assert rows.per_assessor.min() >= 1
    assert np.diff(rows.pair_starts).min() >= 1


def test_skewed_with_two_busy_spammers(made: q.Collection) -> None:
    rows = made.judgements
    busiest = np.argsort(-rows.per_assessor)[:2]
    assert sorted(made.assessors["kind"][busiest]) == ["no", "yes"]
    for who in busiest:
        assert len(np.unique(rows.grade[rows.assessor == who])) == 1
    assert rows.per_assessor[busiest].min() > 2000
    assert np.median(rows.per_assessor) < 50


def test_truth_comes_from_the_populations(made: q.Collection) -> None:
    assert abs(made.assessors["sensitivity"].mean() - 0.81) < 0.03
    assert abs(made.assessors["specificity"].mean() - 0.63) < 0.04
    assert abs(made.truth.grade.mean() - 0.59) < 0.06
    voted = (made.judgements.votes[:, 1] > made.judgements.votes[:, 0]) == made.truth.grade
    merged = q.HierVB().fit(made.judgements)
    right = (merged.relevant > 0.5) == made.truth.grade
    assert right.mean() > voted.mean() + 0.05


def test_smaller_and_reproducible() -> None:
    one, other = (q.simulate("carpenter", topics=5, documents=20, assessors=12) for _ in range(2))
    assert np.array_equal(one.judgements.grade, other.judgements.grade)
    assert len(one.judgements) == round(len(one.truth) * 89_624 / 19_033)


def test_what_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(ParameterError, match="two grades and no runs"):
        q.simulate("carpenter", grades=3)


def test_in_the_command(tmp_path: Path) -> None:
    main(["simulate", "--preset", "carpenter", "--topics", "4", "-o", str(tmp_path / "made"), "-q"])
    assert q.read_judgements(tmp_path / "made" / "crowd.tsv.gz").topics.names.tolist() == [
        "t01",
        "t02",
        "t03",
        "t04",
    ]
