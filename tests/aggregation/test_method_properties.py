"""What particular methods promise beyond the contract."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import qrowd as q
from qrowd.aggregation.ballot import Ballot
from qrowd.aggregation.judgements.coins import table_of
from qrowd.errors import NotConvergedWarning

WEIGHTED = [
    "wmv-iter",
    "one-coin",
    "two-coin",
    "turkrank",
    "binmv",
    "qbinmv",
    "wbinmv",
    "mace",
    "kos",
    "glad",
]


def crowd(pairs: int = 40, assessors: int = 8, votes: int = 4, seed: int = 0) -> q.Judgements:
    random = np.random.default_rng(seed)
    truth = random.integers(2, size=pairs)
    skill = random.uniform(0.5, 0.95, assessors)
    pair = np.repeat(np.arange(pairs), votes)
    who = np.concatenate([random.permutation(assessors)[:votes] for _ in range(pairs)])
    said = np.where(random.random(len(pair)) < skill[who], truth[pair], 1 - truth[pair])
    return q.Judgements.of(
        ["t"] * len(pair), [f"d{i:04d}" for i in pair], [f"a{j:03d}" for j in who], said
    )


def columns(rows: q.Judgements) -> tuple[list[str], list[str], list[str], list[int]]:
    docs, who = rows.pairs.document_names[rows.pair], rows.assessors.names[rows.assessor]
    return ["t"] * len(rows), docs.tolist(), who.tolist(), rows.grade.tolist()


def test_a_coin_that_knows_nothing_changes_no_posterior() -> None:
    """Sensitivity = 1 - specificity, parameters held fixed: the E step does not see the votes."""
    rows = crowd()
    accuracy = np.random.default_rng(1).uniform(0.5, 0.9, (len(rows.assessors), 2))
    accuracy[3] = [0.3, 0.7]
    ballot = Ballot(rows, np.full(len(rows.pairs), -1, np.int8))
    with_all = ballot.expect_table(table_of(accuracy), ballot.uniform).posterior
    fewer = rows.select(rows.assessor != 3)
    without = Ballot(fewer, ballot.gold).expect_table(table_of(accuracy), ballot.uniform).posterior
    np.testing.assert_allclose(with_all, without, atol=1e-12)


@pytest.mark.parametrize("id", WEIGHTED)
def test_weight_two_is_the_judgement_twice(id: str) -> None:
    rows = crowd()
    topics, docs, who, said = columns(rows)
    twice = q.Judgements.of(topics * 2, docs * 2, who * 2, said * 2)
    weighted = q.Judgements.of(topics, docs, who, said, weight=np.full(len(rows), 2.0))
    one, other = q.get(id).fit(weighted), q.get(id).fit(twice)
    np.testing.assert_allclose(one.posterior, other.posterior, atol=1e-4)


@pytest.mark.parametrize("id", WEIGHTED)
def test_weight_nought_is_no_judgement(id: str) -> None:
    rows = crowd()
    topics, docs, who, said = columns(rows)
    noise = [1 - g for g in said]
    weight = np.r_[np.ones(len(rows)), np.zeros(len(rows))]
    both = q.Judgements.of(topics * 2, docs * 2, who * 2, said + noise, weight=weight)
    if id == "turkrank":
        pytest.skip("agreement counts judgements, weights count in the vote")
    atol = 1e-5 if id == "wbinmv" else 1e-6  # `ds`, which weighs there, settles by row
    np.testing.assert_allclose(
        q.get(id).fit(both).posterior, q.get(id).fit(rows).posterior, atol=atol
    )


@pytest.mark.parametrize("id", ["ds", "one-coin", "two-coin", "mace", "glad"])
def test_history_teaches(id: str) -> None:
    """Two assessors who always contradict each other: only history can tell who is right."""
    topics, docs = ["t"] * 20, [f"d{i:02d}" for i in range(10)] * 2
    said = [i % 2 for i in range(10)] + [1 - i % 2 for i in range(10)]
    rows = q.Judgements.of(topics, docs, ["good"] * 10 + ["new"] * 10, said)
    history = q.AssessorTable(
        q.Index.of(["good", "stranger"]),
        {"judgements": np.array([200, 50]), "accuracy": np.array([0.95, 0.5])},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        merged = q.get(id).fit(rows, q.Given(priors=history))
    assert merged.grades().tolist() == said[:10]


@pytest.mark.parametrize("id", ["one-coin", "two-coin", "mace", "glad"])
def test_a_table_that_a_fit_wrote_serves_as_history(id: str) -> None:
    rows = crowd(pairs=200, votes=5)
    before = q.get(id).fit(rows)
    again = q.get(id).fit(crowd(pairs=20, seed=9), q.Given(priors=before.assessors))
    assert again.fit.converged


def test_binmv_tells_evaluate_that_it_is_random() -> None:
    assert q.BinomialVote().fit(crowd()).details.soft
    assert q.QuantisedBinomialVote().fit(crowd()).details.soft


def test_binmv_missing_counts_the_panel_of_each_topic() -> None:
    rows = q.Judgements.of(
        ["s", "s", "s", "t", "t"], list("aabcd"), ["u", "v", "w", "u", "u"], [1, 1, 1, 1, 0]
    ).with_pool(q.Pairs.of(["s"], ["z"]))
    found = q.BinomialVote(missing="nonrelevant").fit(rows)
    assert found.relevant.round(6).tolist() == [0.666667, 0.333333, 0.0, 1.0, 0.0]


def test_turkrank_without_a_way_to_gold_falls_back_to_the_vote() -> None:
    rows = q.Judgements.of(["t"] * 5, list("aabbb"), ["u", "v", "x", "y", "z"], [1, 0, 1, 1, 0])
    merged = q.TurkRank().fit(rows, q.Given(gold=q.Qrels.of(["t"], ["a"], [1])))
    assert merged.relevant.round(6).tolist() == [1.0, 0.666667]
    assert merged.assessors["trust"][rows.assessors.code("z")] == 0


@pytest.mark.parametrize("ties", ["relevant", "nonrelevant", "coin"])
def test_ties_inside_follow_the_rule(ties: str) -> None:
    rows = q.Judgements.of(["t"] * 2, ["d"] * 2, ["u", "v"], [0, 1])
    ballot = Ballot(rows, np.full(1, -1, np.int8))
    found = ballot.expect(np.ones((2, 2)), np.zeros(2), ties).posterior[0]
    wanted = {"relevant": [0, 1], "nonrelevant": [1, 0]}.get(ties)
    assert sorted(found.tolist()) == [0.0, 1.0] if wanted is None else found.tolist() == wanted


def test_em_gauss_takes_a_history_of_deviations() -> None:
    rows = crowd()
    known = q.AssessorTable(rows.assessors, {"deviation": np.full(len(rows.assessors), 3.0)})
    without, with_it = q.GaussianEM().fit(rows), q.GaussianEM().fit(rows, q.Given(priors=known))
    assert (with_it.assessors["deviation"] > without.assessors["deviation"]).all()


def test_m3v_says_which_price_it_chose() -> None:
    assert q.MaxMarginVote().fit(crowd()).details["c"] in [2.0**-k for k in range(9)]
    assert q.MaxMarginVote(c=0.3).fit(crowd()).details["c"] == 0.3


@pytest.mark.parametrize("weighted", [False, True])
def test_m3v_two_grades_take_a_shorter_way_to_the_same_bits(weighted: bool) -> None:
    from qrowd.aggregation.kernels.passes import exchange, exchange_two, lengths

    random = np.random.default_rng(4)
    starts = np.arange(0, 301, 6)
    who = np.sort(random.integers(0, 9, (50, 6)), axis=1).astype(np.int32).reshape(-1)
    votes = (starts, who, random.integers(0, 2, 300).astype(np.int8))
    weight = random.uniform(0, 2, 300) if weighted else np.zeros(0)
    label = random.integers(-1, 2, 50).astype(np.int32)
    norm, found = np.empty(50), []
    lengths(*votes, weight, norm)
    ways: list[Callable[..., float]] = [exchange, exchange_two]
    for one in ways:
        dual, eta, idle = np.zeros((50, 2)), np.zeros(9), np.zeros(50, np.int32)
        dual[np.arange(50), np.maximum(label, 0)] = 0.5
        more = [norm] if one is ways[1] else []
        gaps = [
            one(*votes, weight, label, *more, dual, eta, 1e-4, idle, turn % 3 == 0)
            for turn in range(30)
        ]
        found.append((gaps, dual.tolist(), eta.tolist(), idle.tolist()))
    assert found[0] == found[1]
    assert found[0][0][-1] < found[0][0][0]


UNJUDGED = ["one-coin(prior='learned')", "one-coin(prior='learned', labels='soft')"]
UNJUDGED += ["two-coin(prior='learned')", "two-coin(prior='learned', labels='soft')"]
UNJUDGED += ["glad(prior='learned')", "mace(prior='learned')", "mace", "two-coin", "stack", "ds"]


@pytest.mark.parametrize("spec", UNJUDGED)
def test_pairs_that_nobody_judged_move_no_other(spec: str) -> None:
    rows = crowd(pairs=60, seed=3)
    half = q.Qrels.of(["t"] * 20, [f"d{i:04d}" for i in range(20)], np.arange(20) % 2)
    names = [f"e{i:04d}" for i in range(200)]
    more = q.Qrels.of(
        ["t"] * 220,
        [*half.pairs.document_names, *names],
        np.concatenate([half.grade, np.ones(200, np.int8)]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        plain, shifted = (q.get(spec).fit(rows, q.Given(gold=gold)) for gold in (half, more))
        at = shifted.pairs.locate(rows.pairs)
        assert np.allclose(plain.posterior, shifted.posterior[at], atol=1e-12)
        wide = q.Pairs.of(["t"] * 260, [*rows.pairs.document_names, *names])
        place = wide.locate(rows.pairs)[rows.pair]
        padded = q.Judgements(
            wide, rows.assessors, rows.scale, place.astype(np.int32), rows.assessor, rows.grade
        )
        alone, beside = q.get(spec).fit(rows), q.get(spec).fit(padded)
    assert np.allclose(alone.posterior, beside.posterior[wide.locate(rows.pairs)], atol=1e-12)


def test_stack_chooses_its_ridge_by_topics() -> None:
    """Folds are whole topics: the strength does not depend on how documents are named."""
    from qrowd.aggregation.fit import topic_folds

    pairs = q.Pairs.of([f"t{at % 7}" for at in range(70)], [f"d{at}" for at in range(70)])
    folds = topic_folds(pairs, np.arange(70))
    assert all(len(set(folds[pairs.topic == topic].tolist())) == 1 for topic in range(7))
    assert sorted(set(folds.tolist())) == [0, 1, 2, 3, 4]
    one = q.Pairs.of(["t"] * 70, [f"d{at}" for at in range(70)])
    assert len(set(topic_folds(one, np.arange(70)).tolist())) == 5
