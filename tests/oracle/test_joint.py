"""The joint model against plain loops: scores by leaving documents out, EM where it rests."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="reading documents needs the extra `text`")

import qrowd as q
from qrowd.aggregation.fit import Fitting
from qrowd.aggregation.judgements import joint
from qrowd.data.arrays import Floats


def made(strength: float = 0.6, votes: int = 3, topics: int = 6, seed: int = 4) -> q.Collection:
    return q.simulate(
        topics=topics,
        documents=30,
        runs=3,
        assessors=8,
        votes=votes,
        text=strength,
        seed=seed,
    )


def given(collection: q.Collection) -> q.Given:
    assert collection.documents is not None
    return q.Given(documents=q.tfidf(collection.documents))


def left_out(cosines: Floats, relevant: list[float], ridge: float) -> list[float]:
    """Kernel ridge regression on all documents but one, for each of them in turn."""
    n = len(relevant)
    mean = sum(relevant) / n
    scores = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        kernel = cosines[np.ix_(others, others)] + ridge * np.eye(n - 1)
        weights = np.linalg.solve(kernel, np.array([relevant[j] - mean for j in others]))
        scores.append(float(cosines[i, others] @ weights))
    return scores


def test_a_score_comes_from_the_other_documents() -> None:
    random = np.random.default_rng(1)
    vectors = q.Vectors.of([f"d{i}" for i in range(7)], random.random((7, 4)))
    crowd = q.Judgements.of(["t"] * 7, [f"d{i}" for i in range(7)], ["ann"] * 7, [1, 0] * 3 + [1])
    method = q.Joint(ridge=0.7)
    fitting = Fitting.of(method, crowd, q.Given(documents=vectors))
    model = joint._Model.of(method, fitting)
    relevant = random.random(7)
    wanted = left_out(vectors.cosines(range(7)), relevant.tolist(), 0.7)
    assert model.score(relevant) == pytest.approx(wanted)
    other = relevant.copy()
    other[3] = 1 - other[3]  # its own votes never enter its own score, but for the topic's mean
    assert left_out(vectors.cosines(range(7)), other.tolist(), 0.7)[3] == pytest.approx(
        wanted[3], abs=0.2
    )


def test_coins_and_probabilities_where_it_rests() -> None:
    collection = made()
    rows = collection.judgements
    merged = q.Joint(tol=1e-10, max_iter=5000, power=1.0).fit(rows, given(collection))
    p = merged.relevant
    sensitivity: dict[int, float] = {}
    specificity: dict[int, float] = {}
    for truth, table in ((1, sensitivity), (0, specificity)):
        right = dict.fromkeys(range(len(rows.assessors)), 0.0)
        total = dict(right)
        for pair, who, said in zip(rows.pair, rows.assessor, rows.grade, strict=True):
            share = p[pair] if truth else 1 - p[pair]
            right[who] += share * (said == truth)
            total[who] += share
        usual = (sum(right.values()) + 1) / (sum(total.values()) + 2)
        for who in right:
            table[who] = (right[who] + 4 * usual) / (total[who] + 4)
    assert merged.assessors["sensitivity"] == pytest.approx(list(sensitivity.values()), abs=1e-6)
    assert merged.assessors["specificity"] == pytest.approx(list(specificity.values()), abs=1e-6)
    before = merged.details["before_votes"]
    for pair in range(len(rows.pairs)):
        odds = math.log(before[pair] / (1 - before[pair]))
        for who, said in zip(
            rows.assessor[rows.pair == pair], rows.grade[rows.pair == pair], strict=True
        ):
            yes, no = sensitivity[who], specificity[who]
            odds += math.log(yes / (1 - no)) if said else math.log((1 - yes) / no)
        assert p[pair] == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-6)


def test_text_that_tells_is_used_and_text_that_does_not_is_left_out() -> None:
    for strength, used in ((0.6, True), (0.0, False)):
        collection = made(strength, topics=12)
        merged = q.Joint().fit(collection.judgements, given(collection))
        assert merged.details["text"] is used
        assert ("used" if used else "left out") in merged.fit.notes[0]
        assert (merged.details["text_share"] > 0).all() == used


def test_it_is_better_than_votes_and_than_text() -> None:
    collection = made(votes=2, topics=20, seed=11)
    fits = [
        q.Joint(text=text).fit(collection.judgements, given(collection))
        for text in ("never", "gate")
    ]
    by_votes, by_both = (q.score_labels(each, collection.truth)["accuracy"] for each in fits)
    before = (fits[1].details["before_votes"] > 0.5) == (collection.truth.grade > 0)
    assert by_both > by_votes + 0.03
    assert by_both > before.mean()


@pytest.mark.parametrize("seed", [3, 5])
def test_weak_text_and_single_votes_do_not_convince_each_other(seed: int) -> None:
    """Nothing but an assumed accuracy keeps such votes from being taken for anything."""
    thin = q.simulate(
        topics=15,
        documents=40,
        runs=0,
        assessors=60,
        votes=1,
        text=0.25,
        prevalence=0.45,
        random=0.3,
        seed=seed,
    )
    merged = q.Joint().fit(thin.judgements, given(thin))
    assert merged.details["text"]
    plain = q.MajorityVote().fit(thin.judgements)
    truth = thin.truth.grade > 0
    right, usual = (float(((one.relevant > 0.5) == truth).mean()) for one in (merged, plain))
    assert right > usual - 0.06


def test_errors_that_are_shared_weaken_the_votes() -> None:
    collection = made(topics=30)
    truth = collection.truth
    random = np.random.default_rng(5)
    ease = random.normal(0, 2, len(truth))
    sign = np.where(truth.grade > 0, 1, -1)
    names = truth.pairs.document_names, truth.pairs.topics.names[truth.pairs.topic]
    powers = []
    for hard in (np.zeros(len(truth)), ease):
        yes = random.random((8, len(truth))) < 1 / (1 + np.exp(-(1.5 + hard) * sign))
        crowd = q.Judgements.of(
            np.tile(names[1], 8),
            np.tile(names[0], 8),
            np.repeat([f"a{i}" for i in range(8)], len(truth)),
            yes.astype(np.int8).ravel(),
        )
        powers.append(q.Joint().fit(crowd, given(collection)).details["power"])
    assert powers[0] > 0.7
    assert powers[1] < 0.4


def test_gold_chooses_and_says_so() -> None:
    collection = made(topics=10)
    random = np.random.default_rng(2)
    gold = collection.truth.select(random.random(len(collection.truth)) < 0.2)
    told = given(collection)
    merged = q.Joint().fit(collection.judgements, q.Given(documents=told.documents, gold=gold))
    assert any("held-out topics" in note for note in merged.fit.notes)
    assert merged.given.sum() == len(gold)


def test_runs_features_and_people_predict() -> None:
    collection = made(0.0, votes=1, topics=20)
    truth = collection.truth
    names = truth.pairs.documents
    known = np.zeros(len(names))
    np.maximum.at(known, truth.pairs.document, truth.grade)
    told = given(collection)
    base = q.score_labels(q.Joint().fit(collection.judgements, told), truth)["accuracy"]
    features = q.Features(names, {"known": known})
    with_features = q.Given(documents=told.documents, features=features)
    better = q.score_labels(q.Joint().fit(collection.judgements, with_features), truth)["accuracy"]
    assert better > base + 0.1
    with_runs = q.Given(documents=told.documents, runs=collection.runs)
    merged = q.Joint().fit(collection.judgements, with_runs)
    assert q.score_labels(merged, truth)["auc"] > 0.5


def test_people_are_drawn_to_people_like_them() -> None:
    random = np.random.default_rng(3)
    truth = random.integers(0, 2, 400)
    skilled = np.arange(40) % 2 == 0
    judged = random.random((40, 400)) < 0.1
    right = random.random((40, 400)) < np.where(skilled, 0.95, 0.6)[:, None]
    who, pair = np.nonzero(judged)
    said = np.where(right, truth, 1 - truth)[judged]
    crowd = q.Judgements.of(
        ["t"] * len(who), [f"d{at}" for at in pair], [f"a{at:02}" for at in who], said
    )
    vectors = q.Vectors.of([f"d{i}" for i in range(400)], np.eye(400))
    school = ["yes" if each else "no" for each in skilled]
    people = q.Features.of([f"a{i:02}" for i in range(40)], {"school": school})
    apart = []
    for known in (None, people):
        merged = q.Joint(text="never").fit(crowd, q.Given(documents=vectors, people=known))
        sensitivity = merged.assessors["sensitivity"]
        apart.append(float(sensitivity[skilled].mean() - sensitivity[~skilled].mean()))
    assert apart[1] > apart[0] > 0


def test_documents_that_are_alike_share_their_fate() -> None:
    collection = made()
    merged = q.Joint().fit(collection.judgements, given(collection))
    assert merged.copula is not None
    draws = merged.draws(400, seed=1)
    assert len(merged.copula) == len(merged.pairs)
    assert draws.notes == ()


def test_auto_reads_documents_only_where_gold_says_so() -> None:
    collection = made(votes=2, topics=20, seed=11)
    documents = given(collection).documents
    gold = collection.truth.select(np.random.default_rng(2).random(len(collection.truth)) < 0.2)
    chosen = {}
    for name, trusted in (("without gold", None), ("with", gold)):
        merged = q.Automatic().fit(
            collection.judgements, q.Given(documents=documents, gold=trusted)
        )
        assert merged.provenance is not None
        chosen[name] = (merged.provenance.text, merged.fit.notes[0])
        assert any("documents were not used" in note for note in merged.fit.notes) != (
            merged.provenance.text
        )
    assert chosen["without gold"][0] is False
    assert chosen["with"][0] is True
    assert chosen["with"][1].startswith("chosen: joint")
