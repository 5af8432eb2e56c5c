"""Simulated rankings and made text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import ParameterError
from qrowd.quality.against_gold import problems_of


def made(**changes: object) -> q.Collection:
    return q.simulate(topics=6, documents=30, votes=3, runs=0, orders=True, seed=4, **changes)


def test_assessors_rank_the_sets_that_they_judge() -> None:
    found = made()
    assert found.orders is not None
    assert set(found.orders.sizes.tolist()) == {5}
    rows = found.orders.to_polars().join(
        found.judgements.to_polars(), on=["topic", "doc", "assessor"], how="inner"
    )
    assert rows.height == len(found.judgements) == len(found.orders.pair)


@pytest.mark.parametrize("consistent", [True, False])
def test_ranks_go_with_grades_or_not(consistent: bool) -> None:
    found = made(consistent=consistent)
    assert found.orders is not None
    joined = found.orders.to_polars().join(
        found.judgements.to_polars(), on=["topic", "doc", "assessor"]
    )
    problems = [
        problems_of(part["grade"].to_numpy(), part["place"].to_numpy())
        for _, part in joined.group_by("assessor", "set")
    ]
    assert any(problems) != consistent


def test_insight_is_how_far_ranks_follow_the_truth() -> None:
    def score(insight: float) -> float:
        found = made(consistent=False, insight=insight)
        assert found.orders is not None
        run = q.Borda().fit(found.orders).runs()
        return float(q.evaluate(run, found.truth, [q.AP]).means().item())

    assert score(0.0) < score(0.5) < score(1.0)


def test_without_orders_nothing_changes() -> None:
    plain = q.simulate(topics=3, documents=10, seed=5)
    with_text = q.simulate(topics=3, documents=10, seed=5, text=0.5)
    assert plain.orders is None
    assert plain.documents is None
    assert plain.judgements.to_polars().rows() == with_text.judgements.to_polars().rows()


def test_text_says_as_much_as_it_should() -> None:
    def gap(text: float) -> float:
        found = q.simulate(topics=4, documents=60, runs=0, text=text, seed=6)
        assert found.documents is not None
        assert found.topics is not None
        shares = []
        for topic, name in enumerate(found.topics.index):
            words = set(found.topics[name].description.rstrip(".").split()[2:])
            inside = found.truth.pairs.topic == topic
            documents = found.truth.pairs.document_names[inside]
            hits = np.array(
                [sum(w in words for w in found.documents[d].text.split()) for d in documents]
            )
            relevant = found.truth.grade[inside] > 0
            shares.append(hits[relevant].mean() - hits[~relevant].mean())
        return float(np.mean(shares))

    assert abs(gap(0.0)) < 0.7
    assert gap(0.3) > 1
    assert gap(1.0) > gap(0.3) + 1


def test_the_model_of_carpenter_has_neither() -> None:
    with pytest.raises(ParameterError, match="neither orders, text nor sentences"):
        q.simulate("carpenter", text=0.1)


def test_the_command_writes_what_the_readers_read(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    main(
        [
            "simulate",
            "-o",
            str(folder),
            "--topics",
            "2",
            "--documents",
            "10",
            "--orders",
            "--text",
            "0.6",
            "-q",
        ]
    )
    assert len(q.read_orders(folder / "orders.tsv")) > 0
    assert len(q.read_topics(folder / "topics.jsonl")) == 2
    assert len(q.read_documents(folder / "docs.jsonl")) == 20
