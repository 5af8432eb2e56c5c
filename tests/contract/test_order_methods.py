"""What every method that merges orders promises, whichever it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd import registry
from qrowd.cli.main import main

IDS = [id for id, card in registry.cards("method").items() if card.level == "orders"]
Row = tuple[str, str, str, int, str]


def rows_of(seed: int = 0, topics: int = 2, documents: int = 8, ballots: int = 12) -> list[Row]:
    """Rankings of five by assessors who mostly see that later documents are better."""
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for ballot in range(topics * ballots):
        chosen = random.permutation(documents)[:5]
        seen = chosen + random.normal(0, 1.5, 5)
        places = np.argsort(np.argsort(-seen)) + 1
        places[places == 5] = 4  # a tie
        rows += [
            (f"t{ballot % topics}", f"d{doc}", f"w{ballot % 4}", int(place), f"s{ballot}")
            for doc, place in zip(chosen, places, strict=True)
        ]
    return rows


def orders_of(rows: list[Row]) -> q.Orders:
    topics, documents, who, places, sets = (list(column) for column in zip(*rows, strict=True))
    return q.Orders.of(topics, documents, who, np.array(places), sets)


@pytest.mark.parametrize("id", IDS)
def test_a_worth_and_a_deviation_for_every_pair(id: str) -> None:
    orders = orders_of(rows_of()).with_pool(q.Pairs.of(["t0"], ["new"]))
    found = q.get(id).fit(orders)
    assert found.pairs is orders.pairs
    assert np.isfinite(found.worth).all()
    assert (found.deviation > 0).all()
    assert found.fit.method == id
    assert found.fit.converged
    assert found.runs("r").document.size == len(orders.pairs)
    assert sorted(found.ranks()[: orders.pairs.topic_starts[1]]) == list(range(1, 10))
    assert len(found.draws(3)) == 3


@pytest.mark.parametrize("id", IDS)
def test_the_order_of_rows_and_the_names_do_not_matter(id: str) -> None:
    rows = rows_of()
    expected = q.get(id).fit(orders_of(rows))
    mixed = [rows[at] for at in np.random.default_rng(1).permutation(len(rows))]
    again = q.get(id).fit(orders_of(mixed))
    assert np.array_equal(again.worth, expected.worth)
    renamed = [(t, f"z{9 - int(d[1])}", f"{w}x", p, s) for t, d, w, p, s in rows]
    other = q.get(id).fit(orders_of(renamed))
    back = {(t, f"d{9 - int(d[1])}"): x for (t, d), x in _named(other).items()}
    for name, worth in _named(expected).items():
        assert back[name] == pytest.approx(worth, abs=1e-5)


def _named(found: q.Consensus) -> dict[tuple[str, str], float]:
    names = zip(found.pairs.topic_names, found.pairs.document_names, strict=True)
    return dict(zip(names, found.worth.tolist(), strict=True))


@pytest.mark.parametrize("id", IDS)
def test_what_all_say_comes_out(id: str) -> None:
    rows = [("t", f"d{at}", f"w{who}", at + 1, "") for who in range(3) for at in range(5)]
    assert q.get(id).fit(orders_of(rows)).ranks().tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("id", IDS)
def test_one_ballot_and_a_ballot_of_one(id: str) -> None:
    found = q.get(id).fit(orders_of([("t", "a", "w", 1, ""), ("t", "b", "w", 2, "")]))
    assert found.ranks().tolist() == [1, 2]
    alone = q.get(id).fit(orders_of([("t", "a", "w", 1, "")]))
    assert np.isfinite(alone.worth).all()


@pytest.mark.parametrize("id", IDS)
def test_a_ballot_of_weight_two_counts_as_two(id: str) -> None:
    rows = rows_of(ballots=6)
    again = [(*row[:4], f"{row[4]} again") for row in rows if row[4] == "s3"]
    twice = q.get(id).fit(orders_of(rows + again))
    topics, documents, who, places, sets = (list(column) for column in zip(*rows, strict=True))
    weight = np.where(np.array(sets) == "s3", 2.0, 1.0)
    weighted = q.Orders.of(topics, documents, who, np.array(places), sets, weight=weight)
    found = q.get(id).fit(weighted)
    assert np.allclose(found.worth, twice.worth, atol=1e-6)
    assert np.allclose(found.deviation, twice.deviation, atol=1e-6)
    assert not np.allclose(found.worth, q.get(id).fit(orders_of(rows)).worth, atol=1e-4)


@pytest.mark.parametrize("id", IDS)
def test_it_beats_a_coin(id: str) -> None:
    found = q.get(id).fit(orders_of(rows_of(seed=3)))
    number = np.array([int(name[1]) for name in found.pairs.document_names])
    for topic in range(2):
        inside = found.pairs.topic == topic
        assert np.corrcoef(number[inside], found.worth[inside])[0, 1] > 0.8


@pytest.mark.parametrize("id", sorted({*IDS} - {"gauss-rank"}))
def test_sets_that_share_no_document_are_said(id: str) -> None:
    rows = [
        ("t", "a", "w", 1, "1"),
        ("t", "b", "w", 2, "1"),
        ("t", "c", "w", 1, "2"),
        ("t", "d", "w", 2, "2"),
    ]
    found = q.get(id).fit(orders_of(rows))
    assert found.component.tolist() == [1, 1, 2, 2]
    assert "t has 2" in " ".join(found.fit.notes)


@pytest.mark.parametrize("id", IDS)
def test_it_runs_through_the_command(id: str, tmp_path: Path) -> None:
    q.save(orders_of(rows_of()), tmp_path / "orders.tsv")
    main(["rank", id, str(tmp_path / "orders.tsv"), "-o", str(tmp_path / "c.run"), "-q"])
    assert q.read_runs(tmp_path / "c.run").document.size == 16
