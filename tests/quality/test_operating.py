"""Operating characteristics against brute force over answers and permutations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import InputError
from qrowd.quality import pass_chances
from qrowd.quality.against_gold import binary_score, ndcg_score, problems_of
from qrowd.quality.pass_chances import (
    WORKERS,
    Worker,
    gold_sets,
    named,
    outcomes,
    passing_curves,
    simulate_checks,
)

GOLD = [0, 1, 1, 2, 2]


def by_brute_force(gold: list[int], worker: Worker) -> tuple[float, float, float]:
    """P(binary), P(ndcg), P(both) by all answers and all compatible permutations."""
    passed = [0.0, 0.0, 0.0]
    for said in itertools.product((0, 1), repeat=len(gold)):
        p = math.prod(
            (worker.hit if z else worker.false_alarm)
            if s
            else 1 - (worker.hit if z else worker.false_alarm)
            for s, z in zip(said, gold, strict=True)
        )
        ranks = [
            r
            for r in itertools.permutations(range(1, len(gold) + 1))
            if not problems_of(said, r) and (not worker.knows or _by_gold(gold, said, r))
        ]
        binary = binary_score(gold, said) >= 0.85
        good = [ndcg_score(gold, r) >= 0.62 for r in ranks]
        passed[0] += p * binary
        passed[1] += p * float(np.mean(good))
        passed[2] += p * binary * float(np.mean(good))
    return passed[0], passed[1], passed[2]


def _by_gold(gold: list[int], said: tuple[int, ...], ranks: tuple[int, ...]) -> bool:
    order = sorted(range(len(gold)), key=lambda i: ranks[i])
    return all(gold[a] >= gold[b] for a, b in itertools.pairwise(order) if said[a] == said[b])


@pytest.mark.parametrize("worker", WORKERS, ids=lambda worker: worker.name)
@pytest.mark.parametrize("gold", [GOLD, [0, 0, 1, 2], [0, 1, 1, 1, 2]])
def test_enumeration_equals_brute_force(gold: list[int], worker: Worker) -> None:
    found = outcomes(gold, worker)
    assert found.exact
    assert found.p.sum() == pytest.approx(1)
    expected = by_brute_force(gold, worker)
    shares = (
        found.passing(binary=0.85),
        found.passing(ndcg=0.62),
        found.passing(binary=0.85, ndcg=0.62),
    )
    assert shares == pytest.approx(expected, abs=1e-12)


def test_the_known_weakness_of_the_papers_checks() -> None:
    both = {row.worker: row.both for row in simulate_checks(GOLD)}
    assert both["always relevant"] == pytest.approx(0.57, abs=0.005)
    assert both["random"] == pytest.approx(0.106, abs=0.0005)
    assert both["always irrelevant"] == 0
    assert both["good"] == pytest.approx(0.787, abs=0.0005)


@pytest.mark.parametrize("worker", WORKERS, ids=lambda worker: worker.name)
def test_samples_tend_to_the_enumeration(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = outcomes(GOLD, worker)
    monkeypatch.setattr(pass_chances, "MOST", 0)
    drawn = outcomes(GOLD, worker, seed=3)
    assert not drawn.exact
    for bounds in ({"binary": 0.85}, {"ndcg": 0.62}, {"accuracy": 0.6}, {"ndcg": 0.7}):
        assert drawn.passing(**bounds) == pytest.approx(exact.passing(**bounds), abs=0.015)


def test_large_sets_are_sampled_and_say_so() -> None:
    rows = simulate_checks([0, 0, 1, 1, 2, 2] * 5, ideal="standard")
    assert [row.exact for row in rows] == [True, False, False, False, False]
    assert rows[0].both > rows[1].both


def test_unusable_sets_are_named() -> None:
    rows = simulate_checks([1, 1, 1, 1, 1])
    assert all("nobody can pass" in row.problem and row.both == 0 for row in rows)
    rows = simulate_checks([0, 0])
    assert all("0/0" in row.problem and row.ndcg == 0 for row in rows)
    assert rows[4].binary == 1
    with pytest.raises(InputError):
        outcomes([], WORKERS[0])


def test_equal_sets_of_qrels_are_counted_together() -> None:
    gold = q.Qrels.of(
        ["a", "a", "b", "b", "c", "c"], ["1", "2", "1", "2", "1", "2"], [0, 2, 2, 0, 1, 1]
    )
    assert gold_sets(gold) == {(0, 2): 2, (1, 1): 1}
    rows = simulate_checks(gold)
    assert [(row.gold, row.topics) for row in rows[:: len(WORKERS)]] == [((0, 2), 2), ((1, 1), 1)]


def test_curves_fall_from_one_and_meet_the_table() -> None:
    curves = passing_curves(GOLD, thresholds=[0.0, 0.62, 0.85, 1.01])
    rows = {row.worker: row for row in simulate_checks(GOLD)}
    for check in ("binary", "ndcg", "accuracy"):
        for name, values in curves[check].items():
            assert values[0] == pytest.approx(1), (check, name)
            assert (np.diff(values) <= 1e-12).all()
            assert values.max() <= 1
            assert values[-1] == 0
    assert curves["binary"]["sloppy"][2] == pytest.approx(rows["sloppy"].binary)
    assert curves["ndcg"]["random"][1] == pytest.approx(rows["random"].ndcg)


def test_names_of_gold_sets() -> None:
    assert named(GOLD) == "0 1 1 2 2"
    assert named([0] * 10 + [1] * 3) == "10 of grade 0, 3 of grade 1"
