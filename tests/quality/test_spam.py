"""Behaviour, spam statistics and trust against plain loops."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest

import qrowd as q
from qrowd.quality import behaviour
from qrowd.quality.evidence import Evidence
from qrowd.quality.spam import distances, pattern_disagreement
from qrowd.quality.trust import turkrank


@pytest.fixture(scope="module")
def crowd() -> q.Judgements:
    return q.simulate("graded", topics=4, documents=15, assessors=9, votes=4, seed=8).judgements


def said(judgements: q.Judgements) -> dict[int, list[tuple[int, int]]]:
    """Per assessor (pair, grade code) in the order of time."""
    assert judgements.time is not None
    rows = sorted(
        zip(
            judgements.assessor.tolist(),
            judgements.time.tolist(),
            judgements.pair.tolist(),
            judgements.grade.tolist(),
            strict=True,
        )
    )
    return {
        who: [(pair, grade) for _, _, pair, grade in mine]
        for who, mine in itertools.groupby(rows, key=lambda row: row[0])
    }


def test_sequences_runs_entropy_and_topics(crowd: q.Judgements) -> None:
    ordered = behaviour.sequences(crowd)
    assert ordered.timed
    runs, topics = behaviour.longest_runs(ordered), behaviour.topics_judged(crowd)
    entropy = behaviour.entropies(behaviour.answer_counts(crowd))
    repeats = behaviour.repeats(ordered, longest=3)
    for who, mine in said(crowd).items():
        grades = [grade for _, grade in mine]
        assert ordered.grade[ordered.starts[who] : ordered.starts[who + 1]].tolist() == grades
        assert runs[who] == max(len(list(same)) for _, same in itertools.groupby(grades))
        assert topics[who] == len({crowd.pairs.topic[pair] for pair, _ in mine})
        shares = np.array(list(Counter(grades).values())) / len(grades)
        assert entropy[who] == pytest.approx(-(shares * np.log2(shares)).sum())
        equal = [
            np.mean([a == b for a, b in zip(grades, grades[n:], strict=False)]) for n in (1, 2, 3)
        ]
        assert repeats[who] == pytest.approx(max(equal))


def test_order_is_that_of_pairs_without_time() -> None:
    made = q.Judgements.of(["t"] * 4, ["d", "c", "b", "a"], ["x"] * 4, [1, 1, 0, 0])
    ordered = behaviour.sequences(made)
    assert not ordered.timed
    assert ordered.grade.tolist() == [0, 0, 1, 1]


def test_median_seconds_skips_what_is_not_known() -> None:
    seconds = np.array([3.0, np.nan, 5.0, 10.0, np.nan])
    made = q.Judgements.of(
        ["t"] * 5, ["a", "b", "c", "d", "a"], ["x"] * 4 + ["y"], [0] * 5, seconds=seconds
    )
    assert behaviour.median_seconds(made)[0] == 5
    assert np.isnan(behaviour.median_seconds(made)[1])


def test_distances_equal_a_loop_over_comparisons(crowd: q.Judgements) -> None:
    found = distances(crowd)
    by_pair: dict[int, dict[int, float]] = defaultdict(dict)
    for who, mine in said(crowd).items():
        for pair, grade in mine:
            by_pair[pair][who] = grade / 3
    for who, mine in said(crowd).items():
        answers = [grade / 3 for _, grade in mine]
        gaps, chance = [], []
        for pair, grade in mine:
            for other, theirs in by_pair[pair].items():
                if other != who:
                    gaps.append((grade / 3 - theirs) ** 2)
                    chance.append(np.mean([(mine_too - theirs) ** 2 for mine_too in answers]))
        assert found.comparisons[who] == len(gaps)
        assert found.mean[who] == pytest.approx(np.mean(gaps))
        assert found.chance[who] == pytest.approx(np.mean(chance))


def test_error_is_that_of_random_orders_of_the_answers(crowd: q.Judgements) -> None:
    found, random = distances(crowd), np.random.default_rng(0)
    shuffled = []
    for _ in range(1500):
        grade = crowd.grade.copy()
        who = 2
        mine = np.flatnonzero(crowd.assessor == who)
        grade[mine] = random.permutation(grade[mine])
        other = q.Judgements(
            crowd.pairs, crowd.assessors, crowd.scale, crowd.pair, crowd.assessor, grade
        )
        shuffled.append(distances(other).mean[who])
    assert found.chance[2] == pytest.approx(np.mean(shuffled), abs=4 * np.std(shuffled) / 1500**0.5)
    assert found.error[2] == pytest.approx(np.std(shuffled) / found.chance[2], rel=0.08)


def test_error_of_who_always_says_the_same_is_none() -> None:
    made = q.Judgements.of(["t"] * 6, list("abcabc"), ["x"] * 3 + ["y"] * 3, [1, 1, 1, 0, 1, 0])
    assert distances(made).error[0] == 0


@pytest.mark.parametrize("per_comparison", [True, False])
def test_pattern_disagreement_equals_a_loop_over_windows(
    crowd: q.Judgements, per_comparison: bool
) -> None:
    found = pattern_disagreement(crowd, behaviour.sequences(crowd), per_comparison=per_comparison)
    votes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for who, mine in said(crowd).items():
        for pair, grade in mine:
            votes[pair].append((who, grade))
    for who, mine in said(crowd).items():
        parts = []
        for length in (1, 2, 3):
            differ: Counter[tuple[int, ...]] = Counter()
            compared = 0
            for start in range(len(mine) - length + 1):
                window = mine[start : start + length]
                pattern = tuple(grade for _, grade in window)
                for pair, grade in window:
                    others = [g for w, g in votes[pair] if w != who]
                    compared += len(others)
                    differ[pattern] += sum(g != grade for g in others)
            below = compared**2 if per_comparison else compared
            parts.append(sum(n**2 for n in differ.values()) / below)
        assert found[who] == pytest.approx(np.mean(parts))


def test_who_always_says_the_same_has_the_distance_of_chance(crowd: q.Judgements) -> None:
    c = q.simulate(
        yes=0.3, no=0.3, good=0.4, sloppy=0, biased=0, random=0, pattern=0, adversarial=0, seed=2
    )
    evidence = Evidence(c.judgements)
    lazy = np.isin(c.assessors["kind"].astype(str), ["yes", "no"])
    assert evidence.distances.ratio[lazy] == pytest.approx(1.0)
    assert (evidence.distances.ratio[~lazy] < 0.9).all()


@pytest.mark.parametrize("gold", [False, True])
def test_trust_equals_a_dense_power_iteration(crowd: q.Judgements, gold: bool) -> None:
    n = len(crowd.assessors)
    grades = {who: dict(mine) for who, mine in said(crowd).items()}
    agree = np.zeros((n + 1, n + 1))
    for one, two in itertools.permutations(range(n), 2):
        shared = grades[one].keys() & grades[two].keys()
        agree[one, two] = sum(grades[one][pair] == grades[two][pair] for pair in shared)
    codes = np.where(np.arange(len(crowd.pairs)) % 3 == 0, 1, -1).astype(np.int8)
    if gold:
        for who, mine in grades.items():
            agree[n, who] = agree[who, n] = sum(codes[pair] == g for pair, g in mine.items())
    prior = np.append(np.zeros(n), 1.0) if gold else np.append(np.full(n, 1 / n), 0.0)
    rows = agree.sum(axis=1, keepdims=True)
    step = np.divide(agree, rows, out=np.tile(prior, (n + 1, 1)), where=rows > 0)
    trust = prior
    for _ in range(300):
        trust = 0.7 * trust @ step + 0.3 * prior
    found = turkrank(crowd, codes if gold else None)
    assert found.converged
    assert found.assessors == pytest.approx(trust[:n], abs=1e-9)
    assert found.gold == pytest.approx(trust[n], abs=1e-9)
    assert found.assessors.sum() + found.gold == pytest.approx(1)


def test_trust_of_who_agrees_with_nobody_is_the_prior_only() -> None:
    made = q.Judgements.of(["t"] * 3, ["a", "a", "a"], ["x", "y", "z"], [1, 1, 0])
    found = turkrank(made).assessors
    assert found.sum() == pytest.approx(1)
    assert found[2] < found[0] == pytest.approx(found[1])


def test_relative_trust_is_one_where_all_agree() -> None:
    c = q.simulate(topics=3, documents=20, assessors=8, votes=4, seed=1)
    same = q.Judgements(
        c.judgements.pairs,
        c.judgements.assessors,
        c.judgements.scale,
        c.judgements.pair,
        c.judgements.assessor,
        (c.judgements.pair % 2).astype(np.int8),
    )
    assert Evidence(same).relative_trust == pytest.approx(1.0)
    assert Evidence(c.judgements).relative_trust.std() > 0.02


def test_statistics_know_names_only_by_their_codes(crowd: q.Judgements) -> None:
    names = np.array([f"w{9 - code}" for code in range(9)], dtype=object)
    other = q.Judgements.of(
        crowd.pairs.topic_names[crowd.pair],
        crowd.pairs.document_names[crowd.pair],
        names[crowd.assessor],
        np.array(crowd.scale.grades)[crowd.grade],
        scale=crowd.scale,
        time=crowd.time,
    )
    one, two = Evidence(crowd), Evidence(other)
    back = other.assessors.codes(names)
    for name in ("agreement", "pattern_disagreement", "relative_trust", "repeats", "commonest"):
        assert getattr(two, name)[back] == pytest.approx(getattr(one, name)), name
    assert two.distances.ratio[back] == pytest.approx(one.distances.ratio)


@pytest.mark.parametrize(
    ("statistic", "kinds", "least"),
    [
        ("ratio", ["random"], 0.95),
        ("ratio", ["yes", "no"], 0.97),
        ("ratio", ["pattern"], 0.93),
        ("uniform", ["yes", "no"], 0.97),
        ("uniform", ["pattern"], 0.93),
    ],
)
def test_spammers_are_told_from_honest_assessors(
    statistic: str, kinds: list[str], least: float
) -> None:
    """The area under the ROC curve at about 50 judgements per assessor."""
    spam: list[float] = []
    honest: list[float] = []
    for seed in range(12):
        c = q.simulate(
            topics=10,
            documents=100,
            assessors=100,
            votes=5,
            skew=0,
            runs=0,
            seed=seed,
            good=0.5,
            sloppy=0.2,
            biased=0.1,
            random=0.08,
            yes=0.04,
            no=0.04,
            pattern=0.04,
            adversarial=0,
        )
        evidence = Evidence(c.judgements)
        values = evidence.distances.ratio if statistic == "ratio" else evidence.pattern_disagreement
        kind = c.assessors["kind"].astype(str)
        spam += values[np.isin(kind, kinds)].tolist()
        honest += values[np.isin(kind, ["good", "sloppy", "biased"])].tolist()
    one, two = np.array(spam)[:, None], np.array(honest)[None, :]
    area = float(((one > two) + 0.5 * (one == two)).mean())
    assert area > least
