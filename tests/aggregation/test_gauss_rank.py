"""Grades and places in one model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_ndtr

import qrowd as q
from qrowd.aggregation.judgements.em_gauss import deviations, quadrature
from qrowd.aggregation.orders.gauss_rank import seen_places
from qrowd.cli.main import main


def test_without_ranks_it_is_em_gauss() -> None:
    crowd = q.simulate(topics=4, documents=30, assessors=12, votes=4, seed=2, runs=0).judgements
    expected = q.GaussianEM().fit(crowd)
    for pool in (crowd.pairs, q.Pairs.of([], [])):
        found = q.GaussRank().fit(q.Orders.none(pool), q.Given(judgements=crowd))
        assert np.abs(found.worth - expected.relevant).max() < 1e-6
        assert np.allclose(found.assessors["deviation"], expected.assessors["deviation"])


def test_ranks_that_say_something_help_and_others_do_no_harm() -> None:
    gains = {0.8: [], 0.0: []}  # type: dict[float, list[float]]
    for insight, seed in ((i, s) for i in gains for s in range(4)):
        made = q.simulate(
            topics=8,
            documents=30,
            votes=3,
            runs=0,
            orders=True,
            consistent=False,
            insight=insight,
            seed=seed,
        )
        assert made.orders is not None
        given = q.Given(judgements=made.judgements)
        scores = [
            q.evaluate(q.GaussRank().fit(orders, given).runs(), made.truth, [q.nDCG]).means()
            for orders in (q.Orders.none(made.truth.pairs), made.orders)
        ]
        gains[insight].append(float(scores[1].item() - scores[0].item()))
    assert np.mean(gains[0.8]) > 0.005
    assert np.mean(gains[0.0]) > -0.002


def test_what_grades_imply_counts_once() -> None:
    crowd = q.Judgements.of(["t"] * 3, list("abc"), ["x"] * 3, [1, 0, 0])
    nodes, deviation = quadrature()[0], deviations()
    agreeing = q.Orders.of(["t"] * 3, list("abc"), ["x"] * 3, [1, 2, 3])
    seen = seen_places(agreeing, crowd, nodes, deviation)
    assert list(zip(seen.first, seen.second, strict=True)) == [(1, 2)]
    assert seen.weight.tolist() == [2 / 3]
    against = q.Orders.of(["t"] * 3, list("abc"), ["x"] * 3, [2, 1, 3])
    assert len(seen_places(against, crowd, nodes, deviation).first) == 3


def test_messages_by_loops() -> None:
    made = q.simulate(topics=1, documents=6, assessors=3, votes=3, runs=0, orders=True, seed=1)
    assert made.orders is not None
    nodes, deviation = quadrature()[0], deviations()
    seen = seen_places(made.orders, made.judgements, nodes, deviation)
    random = np.random.default_rng(0)
    q_of = random.dirichlet(np.ones(len(nodes)), len(made.truth.pairs))
    at = random.integers(0, len(deviation), 3).astype(np.int32)
    expected, counted = np.zeros_like(q_of), 0.0
    who = np.repeat(np.arange(3), np.diff(seen.starts))
    for i, k, w, j in zip(seen.first, seen.second, seen.weight, who, strict=True):
        sigma = deviation[at[j]] * np.exp(0.0175 * 20) * np.sqrt(2)
        for b, x in enumerate(nodes):
            for c, y in enumerate(nodes):
                value = w * log_ndtr((x - y) / sigma)
                expected[i, b] += q_of[k, c] * value
                expected[k, c] += q_of[i, b] * value
                counted += q_of[i, b] * q_of[k, c] * value
    assert np.allclose(seen._messages(q_of, at, 2), expected, atol=1e-9)
    counts = seen.counts(q_of)
    assert seen.value(counts, at, 2) == pytest.approx(counted, abs=1e-8)
    table = seen.values(counts, 2)
    assert table[np.arange(3), at].sum() == pytest.approx(counted, abs=1e-8)


def test_grades_join_what_no_ballot_joins() -> None:
    orders = q.Orders.of(["t"] * 4, list("abcd"), ["x"] * 4, [1, 2, 1, 2], ["1", "1", "2", "2"])
    crowd = q.Judgements.of(["t"] * 4, list("abcd"), ["x"] * 4, [1, 1, 0, 0])
    assert q.GaussRank().fit(orders).component.tolist() == [1, 1, 2, 2]
    joined = q.GaussRank().fit(orders, q.Given(judgements=crowd))
    assert joined.component.tolist() == [1, 1, 1, 1]
    assert not any("component" in note for note in joined.fit.notes)
    assert joined.ranks().tolist() == [1, 2, 3, 4]


def test_gold_restricts_degrees(tmp_path: Path) -> None:
    (tmp_path / "crowd.tsv").write_text(
        "topic\tdoc\tassessor\tgrade\trank\nt\ta\tx\t1\t1\nt\tb\tx\t0\t2\nt\ta\ty\t1\t1\nt\tb\ty\t0\t2\n"
    )
    (tmp_path / "gold.qrels").write_text("t 0 a 0\n")
    files = [str(tmp_path / name) for name in ("crowd.tsv", "gold.qrels", "worths.tsv")]
    main(["rank", "gauss-rank", files[0], "--gold", files[1], "--worths", files[2], "-q"])
    rows = [line.split("\t") for line in Path(files[2]).read_text().splitlines()]
    assert float(rows[1][3]) < 0.5
