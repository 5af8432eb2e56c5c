"""Crowdsourcing vote by vote."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.budget.loop import specs_of, swept
from qrowd.budget.votes import Pool, drawn, error_rates
from qrowd.errors import InputError, ParameterError, ScaleError, UsageError


@pytest.fixture(scope="module")
def made() -> q.Collection:
    return q.simulate(topics=3, documents=12, assessors=6, votes=4, runs=0, seed=4)


def content(made: q.Collection) -> q.Vectors:
    names = list(made.truth.pairs.documents)
    random = np.random.default_rng(0)
    features = random.random((len(names), 20)) + 0.5 * made.truth.grade[:, None]
    return q.Vectors.of(names, features)


def test_the_least_voted_document_is_picked_and_its_own_votes_are_drawn(made: q.Collection) -> None:
    pool = Pool.of(made.judgements, made.truth)
    draws = drawn(pool, votes=3, copies=4, request="resample", seed=1)[1]
    assert draws.document.shape == (4, 36)
    for order in draws.document.reshape(4, 3, 12):
        assert (np.sort(order, axis=1) == np.arange(12)).all()
    rows = made.judgements
    real = set(zip(rows.pair.tolist(), rows.assessor.tolist(), rows.grade.tolist(), strict=True))
    pair = draws.document + draws.rows.start
    asked = zip(
        *(part.ravel().tolist() for part in (pair, draws.assessor, draws.grade)), strict=True
    )
    assert set(asked) <= real


def test_every_vote_of_a_document_is_as_likely(made: q.Collection) -> None:
    pool = Pool.of(made.judgements, made.truth)
    draws = drawn(pool, votes=40, copies=50, request="resample", seed=2)[0]
    first = draws.document.ravel() == 0
    said = Counter(draws.assessor.ravel()[first].tolist())
    assert len(said) == 4
    assert min(said.values()) > 0.8 * max(said.values())


def test_draws_of_a_topic_do_not_depend_on_the_others(made: q.Collection) -> None:
    whole = Pool.of(made.judgements, made.truth)
    one = q.Index.of(["t02"])
    part = Pool.of(made.judgements[one], made.truth[one])
    left, right = (drawn(pool, 2, 3, "resample", 0)[at] for pool, at in ((whole, 1), (part, 0)))
    assert np.array_equal(left.document, right.document)
    assert np.array_equal(left.grade, right.grade)


def test_refitting_and_stepping_are_the_same(made: q.Collection) -> None:
    """`mv` by its steps, and a stranger's `mv` that has none."""

    class Plain:
        def fit(self, judgements: q.Judgements, given: q.Given = q.NOTHING) -> q.Merged:
            return q.MajorityVote().fit(judgements, given)

    for ties in ("expected", "coin", "prevalence"):
        how = q.Loop(votes=2, randomisations=3, every=5, ties=ties)
        both: dict[str, q.Merger] = {"steps": q.MajorityVote(), "fits": Plain()}
        curves = q.vote_by_vote(made.judgements, made.truth, both, loop=how)
        assert np.array_equal(curves.accuracy[0], curves.accuracy[1])


def test_curves_tend_to_the_exact_expectation(made: q.Collection) -> None:
    loop = q.Loop(votes=3, randomisations=1500, every=12)
    curves = q.vote_by_vote(made.judgements, made.truth, ["mv"], loop=loop)
    for votes in (1, 2, 3):
        exact = q.expected_majority(made.judgements, made.truth, votes)
        found = curves.accuracy[0, :, :, curves.at(votes)].mean(axis=1)
        np.testing.assert_allclose(found, exact, atol=0.012)
    coin = q.Loop(votes=3, randomisations=1500, every=12, ties="coin")
    tossed = q.vote_by_vote(made.judgements, made.truth, ["mv"], loop=coin)
    assert tossed.mean("mv") == pytest.approx(curves.mean("mv"), abs=0.012)


def test_methods_that_read_documents_take_part(made: q.Collection) -> None:
    loop = q.Loop(votes=1, randomisations=4, every=3)
    names = ["mv", "mvnn", "mev", "gp", "wmv-da"]
    curves = q.vote_by_vote(made.judgements, made.truth, names, documents=content(made), loop=loop)
    assert curves.methods == tuple(names)
    assert np.isfinite(curves.accuracy).all()
    with pytest.raises(UsageError, match="gp needs documents"):
        q.vote_by_vote(made.judgements, made.truth, ["gp"], loop=loop)


def test_topics_are_left_out_and_named(made: q.Collection) -> None:
    some = made.truth[q.Index.of(["t01", "t02"])]
    rows = made.judgements
    first = int(rows.pairs.topic_starts[1])
    rows = rows.select(
        ~((rows.pair == first) & (rows.assessor != rows.assessor[rows.pair == first][0]))
    )
    loop = q.Loop(votes=1, randomisations=2, at_least=2)
    curves = q.vote_by_vote(rows, some, ["mv"], loop=loop)
    assert list(curves.topics) == ["t01"]
    assert len(curves.notes) == 2
    with pytest.raises(InputError, match="no topic has both"):
        q.vote_by_vote(rows, q.Qrels.of(["x"], ["y"], [1]), ["mv"], loop=loop)


def test_simulated_assessors_err_as_they_do_on_gold(made: q.Collection) -> None:
    pool = Pool.of(made.judgements, made.truth, "simulated")
    rates = error_rates(pool.judgements, pool.truth)
    draws = drawn(pool, votes=300, copies=20, request="simulated", seed=3)[0]
    truth = draws.truth[draws.document]
    for who in range(2):
        mine = (draws.assessor == who) & (truth == 1)
        assert (draws.grade[mine] == 1).mean() == pytest.approx(rates[who, 1], abs=0.05)


def test_topics_of_unlike_sizes_meet_at_votes_per_document() -> None:
    rows = q.Judgements.of(
        ["a"] * 8 + ["b"] * 4,
        [f"d{i % 4}" for i in range(8)] + ["x", "y", "x", "y"],
        ["u"] * 4 + ["v"] * 4 + ["u", "u", "v", "v"],
        [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0],
    )
    gold = q.Qrels.of(["a", "a", "b"], ["d0", "d1", "x"], [1, 0, 1])
    curves = q.vote_by_vote(rows, gold, ["mv"], loop=q.Loop(votes=2, randomisations=2))
    assert curves.votes.tolist() == [0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2]
    assert curves.accuracy[0, :, :, curves.at(1)].tolist() == [[1, 1], [1, 1]]
    assert (curves.accuracy[0, 1, :, 0] == 0.5).all()  # no vote yet on the small topic


def test_marks() -> None:
    """b beats a in every randomisation; c is as good as b."""
    random = np.random.default_rng(0)
    base = random.random((1, 2, 20, 1)) * 0.1
    wave = np.where(np.arange(20) % 2, 0.01, -0.01)[:, None] * (1 + np.arange(20) // 2)[:, None] / 9
    accuracy = np.concatenate([0.5 + base, 0.7 + base, 0.7 + base + wave])
    topics = q.Index.of(["t1", "t2"])
    curves = q.Curves(("a", "b", "c"), topics, np.array([1.0]), accuracy)
    table = curves.table(1.0)
    assert table["topic"] == ["t1", "t2", "overall"]
    assert all(cell[-1].isdigit() for cell in table["a"])
    assert all(cell.endswith("*") for cell in (*table["b"][:2], *table["c"][:2]))
    two = q.Curves(("a", "b"), topics, np.array([1.0]), accuracy[:2]).table()
    assert all(cell.endswith("#") for cell in two["b"][:2])
    with pytest.raises(ParameterError, match="nearest point is 1"):
        curves.table(2.0)


def test_intervals_of_all_are_over_topics() -> None:
    accuracy = np.zeros((1, 10, 3, 1))
    accuracy[0, :5] = 1.0
    topics = q.Index.of([f"t{i}" for i in range(10)])
    curves = q.Curves(("a",), topics, np.array([1.0]), accuracy)
    low, high = curves.bounds()
    assert low[0, 1, 0] == high[0, 1, 0] == 1.0
    assert low[0, 0, 0] == pytest.approx(0.2, abs=0.11)
    assert high[0, 0, 0] == pytest.approx(0.8, abs=0.11)
    frame = curves.to_polars()
    assert frame.columns == ["method", "topic", "votes", "accuracy", "low", "high"]
    assert frame["topic"][0] == "all"


def test_sweeps_and_lists() -> None:
    assert specs_of("mv,mev(votes=2,own_counts=false)") == ["mv", "mev(votes=2,own_counts=false)"]
    assert swept("mvnn.similarity=0.1,0.5") == {"mvnn.similarity": ["mvnn(similarity=0.1)", "mvnn"]}
    for bad in ("mvnn", "mvnn.similarity", "=3"):
        with pytest.raises(UsageError, match=r"expected method\.parameter=value"):
            swept(bad)


def test_misuse(made: q.Collection) -> None:
    with pytest.raises(ParameterError, match="ties must be one of"):
        q.Loop(ties="never")
    with pytest.raises(ParameterError, match="votes must be at least 1"):
        q.Loop(votes=0)
    graded = q.simulate("graded", topics=2, documents=5, assessors=3, votes=2, runs=0)
    with pytest.raises(ScaleError, match="two grades"):
        q.vote_by_vote(graded.judgements, graded.truth, ["mv"])


def test_the_curve_of_the_real_votes(real_data: Path) -> None:
    """Exact expectations on the paper's 28 topics; its .664 at one vote is of another sample."""
    folder = real_data / "trec11_crowd_task1"
    crowd = q.read_judgements(folder / "judgements.tsv.gz")
    gold = q.read_qrels(folder / "gold.qrels.gz").binary(1)
    kept = crowd.topics.without(q.Index.of(["20644", "20922"]))
    found = [q.expected_majority(crowd[kept], gold, votes) for votes in (1, 3, 5)]
    assert [len(each) for each in found] == [28, 28, 28]
    assert [round(float(each.mean()), 4) for each in found] == [0.6890, 0.7300, 0.7495]


def test_near_duplicates_are_left_out_and_gold_is_kept() -> None:
    vectors = q.Vectors.of("abcd", [[1, 0], [1, 0.01], [0, 1], [0.02, 1]])
    crowd = q.Judgements.of(["t"] * 8, list("aabbccdd"), list("xyxyxyxy"), [1, 1, 1, 0, 0, 0, 0, 1])
    gold = q.Qrels.of(["t"] * 3, ["b", "c", "d"], [1, 0, 1])
    how = q.Loop(votes=2, randomisations=3, every=1, near=0.95)
    curves = q.vote_by_vote(crowd, gold, ["mv", "gp"], documents=vectors, loop=how)
    assert curves.votes.tolist() == [0.5, 1.0, 1.5, 2.0]  # two documents, b and c, are left
    assert curves.notes == ("2 near-duplicates left out (cosine 0.95 and more)",)
    with pytest.raises(UsageError, match="near-duplicates are found by their text"):
        q.vote_by_vote(crowd, gold, ["mv"], loop=how)
    with pytest.raises(ParameterError, match="near must be above 0"):
        q.Loop(near=1.5)


def test_documents_without_text_are_counted_before_the_work(made: q.Collection) -> None:
    lacking = q.Vectors.of(
        made.judgements.pairs.documents.names[:-2].tolist(),
        np.eye(len(made.judgements.pairs.documents) - 2),
    )
    many = len(made.judgements.pairs.documents)
    with pytest.raises(InputError, match=f"2 of {many} judged documents have no text"):
        q.vote_by_vote(made.judgements, made.truth, ["mv"], documents=lacking)


def test_gold_less_the_majority_vote() -> None:
    crowd = q.Judgements.of([*"tttttu"], list("aaabba"), list("xyzxyx"), [1, 1, 0, 0, 1, 1])
    gold = q.Qrels.of(["t", "t", "u"], ["a", "b", "a"], [1, 0, 0])
    assert q.gold_minus_majority(crowd, gold) == {"t": -0.25, "u": -1.0}
