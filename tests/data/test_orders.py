"""Orders and what they come to."""

from __future__ import annotations

import numpy as np
import pytest

import qrowd as q
from qrowd.data.runs import run_of
from qrowd.errors import InputError

ROWS = [
    ("t", "a", "ann", 1),
    ("t", "b", "ann", 4),
    ("t", "c", "ann", 4),
    ("t", "a", "bob", 3),
    ("t", "b", "bob", 2),
    ("u", "a", "bob", 1),
    ("u", "z", "bob", 7),
]


def orders(rows: list[tuple[str, str, str, int]]) -> q.Orders:
    return q.Orders.of(*map(list, zip(*rows, strict=True)))


def test_places_are_dense_and_tied_ones_equal() -> None:
    found = orders(ROWS)
    assert found.sizes.tolist() == [3, 2, 2]
    assert found.place.tolist() == [1, 2, 2, 1, 2, 1, 2]
    assert found.assessors.names[found.assessor].tolist() == ["ann", "bob", "bob"]


def test_the_order_of_rows_does_not_matter() -> None:
    random = np.random.default_rng(1)
    expected = orders(ROWS).to_polars().rows()
    for _ in range(5):
        assert (
            orders([ROWS[at] for at in random.permutation(len(ROWS))]).to_polars().rows()
            == expected
        )


def test_preferences_are_ballots_of_two() -> None:
    made = q.Orders.of_preferences(["t"] * 3, list("aab"), list("bcc"), list("xyx"))
    assert made.sizes.tolist() == [2, 2, 2]
    assert made.preferences
    found = made.comparisons()
    names = made.pairs.document_names
    assert sorted(zip(names[found.first], names[found.second], strict=True)) == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]


def test_comparisons_of_a_ballot() -> None:
    found = orders(ROWS[:3]).comparisons()
    assert found.first.tolist() == [0, 0, 1]
    assert found.second.tolist() == [1, 2, 2]
    assert found.tied.tolist() == [False, False, True]


def test_values_become_places() -> None:
    made = q.Orders.of_values(["t"] * 3, list("abc"), ["x"] * 3, [10.5, 90, 10.5])
    assert dict(zip(made.pairs.document_names[made.pair], made.place.tolist(), strict=True)) == {
        "b": 1,
        "a": 2,
        "c": 2,
    }


def test_topics_and_pools() -> None:
    made = orders(ROWS)
    of_u = made[q.Index.of(["u"])]
    assert made["u"].to_polars().rows() == of_u.to_polars().rows()
    assert len(of_u) == 1
    assert of_u.pairs.document_names.tolist() == ["a", "z"]
    wider = made.with_pool(q.Pairs.of(["v"], ["q"]))
    assert len(wider.pairs) == len(made.pairs) + 1
    assert wider.to_polars().rows() == made.to_polars().rows()


@pytest.mark.parametrize(
    ("rows", "sets", "said", "row"),
    [
        (
            [("t", "a", "x", 1), ("u", "b", "x", 2)],
            ["s", "s"],
            "a ballot over two topics, t and u",
            1,
        ),
        ([("t", "a", "x", 1), ("t", "a", "x", 2)], None, "document a twice in one ballot", 1),
        ([("t", "a", "x", 1), ("t", "b", "x", 0)], None, "place must be a whole number from 1", 1),
    ],
)
def test_what_is_refused(
    rows: list[tuple[str, str, str, int]], sets: list[str] | None, said: str, row: int
) -> None:
    topics, documents, who, places = (list(column) for column in zip(*rows, strict=True))
    with pytest.raises(InputError, match=said) as caught:
        q.Orders.of(topics, documents, who, np.array(places), sets)
    assert caught.value.row == row


def test_a_document_against_itself() -> None:
    with pytest.raises(InputError, match="document a against itself") as caught:
        q.Orders.of_preferences(["t", "t"], ["b", "a"], ["a", "a"], ["x", "x"])
    assert caught.value.row == 1


def test_a_run_keeps_the_order_of_equal_values() -> None:
    pairs = q.Pairs.of(["t"] * 5 + ["u"] * 2, list("abcdexy"))
    value = np.array([1.0, 1.0, 1.0 + 1e-12, -2.0, -2.0, 0.0, 0.0])
    orders_of = {tuple(run_of(pairs, value, "r", seed).document.tolist()) for seed in range(20)}
    assert len(orders_of) > 3  # a coin, not the names
    for found in orders_of:
        assert found[0] == 2
        assert set(found[3:5]) == {3, 4}
    run = run_of(pairs, value, "r")
    single = run.score.astype(np.float32)
    assert (np.diff(single[:5]) < 0).all()
    assert np.allclose(run.score[:5], [1, 1, 1, -2, -2], atol=1e-6)


def test_every_merged_result_is_a_ranking() -> None:
    crowd = q.simulate(topics=3, documents=20, seed=1, runs=0)
    merged = q.MajorityVote().fit(crowd.judgements)
    run = merged.ranking("mv")
    assert run.runs.names.tolist() == ["mv"]
    scores = q.evaluate(run, crowd.truth, [q.AP])
    assert 0.7 < float(scores.means()[0, 0, 0]) <= 1
    best = merged.relevant[: merged.pairs.topic_starts[1]].max()
    first = merged.pairs.documents.names[run.document[0]]
    assert merged.relevant[merged.pairs.document_names.tolist().index(first)] == best


def test_draws_of_a_consensus_go_together_where_they_should() -> None:
    pairs = q.Pairs.of(["t"] * 3, list("abc"))
    table = q.AssessorTable(q.Index.of([]))
    covariance = np.array([[1.0, -1.0], [-1.0, 1.0]])
    blocks = ((np.array([0, 1]), covariance),)
    made = q.Consensus(
        pairs, np.zeros(3), np.ones(3), np.ones(3, np.int32), table, q.Fit("x"), blocks
    )
    runs = made.draws(50, seed=3)
    assert len(runs) == 50
    assert runs.to_polars().rows() == made.draws(50, seed=3).to_polars().rows()
    by_run = runs.to_polars().pivot("doc", index="run", values="score")
    assert np.allclose(by_run["a"] + by_run["b"], 0, atol=1e-6)
    assert abs(float(np.corrcoef(by_run["a"], by_run["c"])[0, 1])) < 0.5
