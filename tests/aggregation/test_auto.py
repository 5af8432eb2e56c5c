"""`auto`: by the check without gold, by held-out topics with gold, and it says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.data.arrays import Floats
from qrowd.data.details import Caution


def crowd(
    hard: float = 0.0, assessors: int = 8, pairs: int = 900, liars: int = 0, seed: int = 0
) -> tuple[q.Judgements, q.Qrels]:
    """Assessors of various skill; pairs that are hard for all; the last ones turn answers round."""
    random = np.random.default_rng(seed)
    truth = (random.random(pairs) < 0.4).astype(np.int8)
    skill = random.uniform(0.5, 2.0, assessors)
    odds = skill[None, :] - hard * random.normal(size=(pairs, 1))
    right = random.random((pairs, assessors)) < 1 / (1 + np.exp(-odds))
    right[:, assessors - liars :] = ~right[:, assessors - liars :]
    said = np.where(right, truth[:, None], 1 - truth[:, None])
    pair, who = (part.ravel() for part in np.indices(said.shape))
    topics = np.array([f"t{at % 9}" for at in range(pairs)], object)
    docs = np.array([f"d{at:04d}" for at in range(pairs)], object)
    names = np.array([f"a{at:02d}" for at in range(assessors)], object)
    rows = q.Judgements.of(topics[pair], docs[pair], names[who], said.ravel())
    return rows, q.Qrels.of(topics, docs, truth)


def some(gold: q.Qrels, topics: int) -> q.Qrels:
    return gold[q.Index(gold.topics.names[:topics])]


def score(
    method: str, rows: q.Judgements, gold: q.Qrels, given: q.Qrels | None = None
) -> q.LabelScores:
    return q.score_labels(q.get(method).fit(rows, q.Given(gold=given)), gold)


def weighted(rows: q.Judgements) -> Floats:
    """P(relevant) by the smoothed vote, each assessor by the cube root of their informedness."""
    table = q.DawidSkene(smoothing=1).fit(rows).assessors
    informed = table["p(0|0)"] + table["p(1|1)"] - 1
    votes = np.ones((len(rows.pairs), 2))
    for pair, who, said in zip(rows.pair, rows.assessor, rows.grade, strict=True):
        counted = said if informed[who] > 0 else 1 - said
        votes[pair, counted] += abs(informed[who]) ** (1 / 3)
    return np.asarray(votes[:, 1] / votes.sum(axis=1))


def as_known(rows: q.Judgements, belief: Floats) -> Floats:
    """A belief of assessors who all judged each pair, with a little of what is assumed."""
    shared = len(rows.pairs)
    known = shared**2 / (shared**2 + 10**2)
    assumed = (rows.votes[:, 1] + 1 / 3) / (rows.votes.sum(axis=1) + 2 / 3)
    return np.asarray(known * belief + (1 - known) * assumed)


def test_the_vote_where_assessors_err_together() -> None:
    rows, _ = crowd(hard=2.5)
    merged = q.Automatic().fit(rows)
    assert merged.fit.notes[0] == "chosen: the vote"
    assert "err together" in merged.fit.notes[1]
    np.testing.assert_allclose(merged.relevant, as_known(rows, weighted(rows)))


def test_the_mean_where_they_do_not() -> None:
    rows, gold = crowd()
    merged = q.Automatic().fit(rows)
    assert merged.fit.notes[0] == "chosen: the mean of the vote and of ds"
    ds = q.DawidSkene(smoothing=1).fit(rows)
    odds = ds.log_odds / (1 + 0.1 * 7)
    expected = as_known(rows, (weighted(rows) + 1 / (1 + np.exp(-odds))) / 2)
    np.testing.assert_allclose(merged.relevant, expected, atol=1e-9)
    found = q.score_labels(merged, gold)
    assert found["log_loss"] < score("mv", rows, gold)["log_loss"]
    assert found["accuracy"] > q.score_labels(ds, gold)["accuracy"] - 0.01


def test_who_misleads_is_counted_the_other_way_round() -> None:
    rows, gold = crowd(liars=3, assessors=9)
    merged = q.Automatic().fit(rows)
    assert (merged.assessors["informedness"][-3:] < 0).all()
    assert q.score_labels(merged, gold)["accuracy"] > score("mv", rows, gold)["accuracy"] + 0.03


def test_three_assessors_and_graded_ones() -> None:
    rows, _ = crowd(assessors=3)
    assert "cannot be told" in q.Automatic().fit(rows).fit.notes[1]
    made = q.simulate("graded", grades=4, topics=4, documents=60, assessors=9, votes=5, seed=2)
    merged = q.Automatic().fit(made.judgements)
    assert merged.posterior.shape[1] == 4
    right = (merged.grades() == made.truth.grade).mean()
    assert right > (q.MajorityVote().fit(made.judgements).grades() == made.truth.grade).mean()


def sparse(overlap: float, grades: int, assessors: int) -> tuple[q.Judgements, q.Qrels]:
    """300 pairs with one vote, a share of them with a second one; a vote is right in .88."""
    random = np.random.default_rng([int(100 * overlap), grades, assessors])
    truth = random.choice(grades, 300, p=[0.6, *[0.4 / (grades - 1)] * (grades - 1)])
    pair = np.repeat(np.arange(300), 1 + (random.random(300) < overlap))
    second = np.append(False, pair[1:] == pair[:-1])
    who = (7 * pair + second * random.integers(1, assessors, len(pair))) % assessors
    wrong = (random.random(len(pair)) > 0.88) * random.integers(1, grades, len(pair))
    said = (truth[pair] + wrong) % grades
    topics, docs, names = (
        np.array([f"{kind}{at % most:03d}" for at in range(300)], object)
        for kind, most in (("t", 6), ("d", 300), ("a", assessors))
    )
    return q.Judgements.of(topics[pair], docs[pair], names[who], said), q.Qrels.of(
        topics, docs, truth
    )


def share_right(merged: q.Merged, truth: q.Qrels) -> float:
    """The share of pairs whose likeliest grade is true; a tie counts in equal parts."""
    belief = merged.posterior[merged.pairs.locate(truth.pairs)]
    top = belief > belief.max(axis=1, keepdims=True) - 1e-9
    true = np.array(merged.scale.grades) == truth.grade[:, None]
    return float(((top & true).sum(axis=1) / top.sum(axis=1)).mean())


@pytest.mark.parametrize("grades", [2, 3, 4])
@pytest.mark.parametrize("assessors", [2, 5, 10, 30])
def test_single_votes_are_kept(grades: int, assessors: int) -> None:
    for overlap in (0.0, 0.05, 0.1, 0.2):
        rows, truth = sparse(overlap, grades, assessors)
        merged = q.Automatic().fit(rows)
        vote = share_right(q.MajorityVote().fit(rows), truth)
        assert share_right(merged, truth) >= vote - 0.01
        assert merged.posterior.max(axis=1).mean() > 0.6


def test_what_is_assumed_of_single_votes_is_an_option_and_said() -> None:
    rows, _ = sparse(0.0, 3, 5)
    merged = q.Automatic(accuracy=0.9).fit(rows)
    np.testing.assert_allclose(merged.posterior.max(axis=1), 0.9)
    (said,) = (note for note in merged.fit.notes if "300 pairs keep their votes" in note)
    assert "probability 0.9" in said
    full, _ = crowd()
    assert not any("keep their votes" in note for note in q.Automatic().fit(full).fit.notes)


@pytest.mark.parametrize("method", ["ds", "hier-vb", "glad", "ebcc", "auto"])
def test_it_is_said_where_nothing_can_be_learned_of_assessors(method: str) -> None:
    rows, truth = sparse(0.02, 2, 5)
    said = "too little can be learned of those who judged 300 of 300 pairs"
    notes = q.get(method).fit(rows).fit.notes
    assert any(isinstance(note, Caution) and said in note for note in notes)
    enough, _ = crowd()
    assert not any("too little" in note for note in q.get(method).fit(enough).fit.notes)
    known = q.get(method).fit(rows, q.Given(gold=truth)).fit.notes
    assert not any("too little" in note for note in known)


@pytest.mark.parametrize("hard", [0.0, 2.5])
def test_gold_chooses_and_corrects(hard: float) -> None:
    rows, gold = crowd(hard=hard)
    merged = q.Automatic().fit(rows, q.Given(gold=some(gold, 4)))
    assert "recalibrated on 400 gold pairs of 4 topics" in merged.fit.notes[0]
    assert "topics held out" in merged.fit.notes[1]
    assert merged.given.sum() == 400
    found = q.score_labels(merged, gold)
    for other in ("ds", "mv"):
        assert found["log_loss"] < score(other, rows, gold, some(gold, 4))["log_loss"] + 0.01


def shared_errors(seed: int, alone: bool) -> tuple[q.Judgements, q.Qrels]:
    """40 topics, 8 judges of all pairs who err together, too kind to some topics; `alone`: the
    last one is better than the others and errs on its own.
    """
    random = np.random.default_rng(seed)
    topic = np.repeat(np.arange(40), 30)
    share = 1 / (1 + np.exp(-random.normal(-0.8, 0.8, 40)))
    truth = random.random(1200) < share[topic]
    skill, common = np.full(8, 0.6), 1.5 * random.normal(size=(1200, 1)) * np.ones(8)
    if alone:
        skill[-1], common[:, -1] = 1.6, 0.0
    seen = skill * (2 * truth[:, None] - 1) + common + random.normal(size=(1200, 8))
    said = seen + random.normal(0, 0.4, 40)[topic][:, None] > 0
    topics, docs, names = (
        np.array([f"{kind}{at:04d}" for at in range(1200)], object) for kind in "tda"
    )
    pair, who = (part.ravel() for part in np.indices(said.shape))
    rows = q.Judgements.of(topics[topic][pair], docs[pair], names[who], said.ravel().astype(int))
    return rows, q.Qrels.of(topics[topic], docs, truth.astype(int))


def test_gold_finds_the_judge_who_is_better_than_all_together() -> None:
    for seed in range(3):
        rows, gold = shared_errors(seed, alone=True)
        given = some(gold, 8)
        merged = q.Automatic(draws=1).fit(rows, q.Given(gold=given))
        best = rows.of_assessors(q.Index(rows.assessors.names[-1:]))
        found, held = q.score_labels(merged, gold), gold[gold.topics.without(given.topics)]
        assert "a0007 alone" in merged.fit.notes[1]
        assert found["accuracy"] >= score("mv", best, held)["accuracy"] - 0.01


def test_who_judged_little_does_not_stand_alone() -> None:
    rows, gold = shared_errors(0, alone=True)
    few = rows.select((rows.assessor != 7) | (rows.pair % 10 > 0))
    merged = q.Automatic(draws=1).fit(few, q.Given(gold=some(gold, 8)))
    assert "a0007 alone" not in merged.fit.notes[1]
    assert " alone" in merged.fit.notes[1]


def test_a_few_unusual_topics_do_not_move_all_labels() -> None:
    """The gold topics have hardly anything relevant: labels of others must not become strict."""
    rows, gold = shared_errors(1, alone=False)
    share = np.bincount(gold.pairs.topic, gold.grade)
    given = gold[q.Index(gold.topics.names[np.sort(np.argsort(share)[:4])])]
    held = gold[gold.topics.without(given.topics)]
    merged = q.Automatic(draws=1).fit(rows, q.Given(gold=given))
    assert q.score_labels(merged, held)["accuracy"] > score("mv", rows, held)["accuracy"] - 0.02


def test_it_is_said_when_gold_did_not_help_and_what_only_gold_can_show() -> None:
    rows, gold = crowd()
    notes = q.Automatic(draws=1).fit(rows, q.Given(gold=some(gold, 2))).fit.notes
    assert any("gold did not help labels" in note for note in notes)
    assert not any("says yes too often" in note for note in notes)
    assert any("says yes too often" in note for note in q.Automatic().fit(rows).fit.notes)
    rows, gold = shared_errors(0, alone=True)
    notes = q.Automatic(draws=1).fit(rows, q.Given(gold=some(gold, 8))).fit.notes
    assert not any("gold did not help" in note for note in notes)


def test_too_little_gold_is_kept_and_does_not_choose() -> None:
    rows, gold = crowd()
    for few in (some(gold, 1), gold.select(np.arange(len(gold)) % 90 == 0)):
        merged = q.Automatic().fit(rows, q.Given(gold=few))
        assert "the mean of the vote and of ds" in merged.fit.notes[0]
        assert merged.given.sum() == len(few)


def test_gold_of_one_kind_is_said() -> None:
    rows, gold = crowd()
    only = some(gold, 4).select(some(gold, 4).grade == 1)
    merged = q.Automatic().fit(rows, q.Given(gold=only))
    assert any("of one kind" in note for note in merged.fit.notes)
    assert np.isfinite(merged.posterior).all()


def test_graded_with_gold_has_no_stack() -> None:
    made = q.simulate("graded", grades=3, topics=6, documents=60, assessors=9, votes=5, seed=2)
    given = made.truth[q.Index(made.truth.topics.names[:3])]
    merged = q.Automatic().fit(made.judgements, q.Given(gold=given))
    assert "stack" not in merged.fit.notes[1]
    np.testing.assert_allclose(merged.posterior.sum(axis=1), 1.0)


def test_real_crowds(real_data: Path) -> None:
    """A short form of benchmarks/auto.py: as good as the better of mv and ds, neither of which is
    safe by itself; and with gold for five topics better than the assessor who is best on these.
    """
    lost: dict[str, list[float]] = {"auto": [], "mv": [], "ds": []}
    for name, rel, cut in (("dl21", 1, 2), ("snow2008_rte", 1, 1), ("spectral_bluebird", 2, 2)):
        folder = real_data / name
        rows = q.read_judgements(folder / "judgements.tsv.gz").binary(rel)
        gold = q.read_qrels(folder / "gold.qrels.gz").binary(cut)
        if name == "dl21":
            busy = np.flatnonzero(rows.per_assessor > 0.9 * len(rows.pairs))[::5]
            rows = rows.of_assessors(q.Index(rows.assessors.names[busy]))
        found = {method: score(method, rows, gold)["accuracy"] for method in lost}
        for method, accuracy in found.items():
            lost[method].append(max(found["mv"], found["ds"]) - accuracy)
    assert max(lost["auto"]) <= 0.01
    assert min(max(lost["mv"]), max(lost["ds"])) > 0.01


def test_five_topics_of_gold(real_data: Path) -> None:
    rows = q.read_judgements(real_data / "dl21" / "judgements.tsv.gz")
    busy = np.flatnonzero(rows.per_assessor > 0.9 * len(rows.pairs))[::4]
    rows = rows.of_assessors(q.Index(rows.assessors.names[busy]))
    gold = q.read_qrels(real_data / "dl21" / "gold.qrels.gz").binary(2)
    given = gold[q.Index(gold.topics.names[::11])]
    held = gold[gold.topics.without(given.topics)]
    code = np.full(len(rows.pairs), -1)
    accuracy = []
    for part in (given, held):
        code[:] = -1
        code[rows.pairs.locate(part.pairs)] = part.grade
        inside = code[rows.pair] >= 0
        same = rows.grade[inside] == code[rows.pair[inside]]
        count = np.bincount(rows.assessor[inside], minlength=len(rows.assessors))
        accuracy.append(np.bincount(rows.assessor[inside], same, len(count)) / count)
    best = accuracy[1][accuracy[0].argmax()]
    merged = q.Automatic().fit(rows, q.Given(gold=given))
    assert q.score_labels(merged, held)["accuracy"] > best
