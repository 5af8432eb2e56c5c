from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import qrowd as q
from qrowd.aggregation import confusion
from qrowd.aggregation.confusion import ConfusionEM, counts_of_table
from qrowd.aggregation.judgements import ds
from qrowd.errors import InputError, ScaleError, UsageError


def crowd(
    *,
    topics: int = 3,
    grades: int = 2,
    seed: int = 0,
    pairs: int = 40,
    skill: float | None = None,
) -> tuple[q.Judgements, q.Qrels]:
    random = np.random.default_rng(seed)
    rows, truth = [], []
    skills = random.uniform(0.5, 0.95, 9) if skill is None else np.full(9, skill)
    for topic in range(topics):
        for doc in range(pairs):
            true = int(random.integers(grades))
            truth.append((f"t{topic}", f"d{doc:03d}", true))
            for who in random.choice(9, 5, replace=False):
                right = random.random() < skills[who]
                said = true if right else (true + 1 + random.integers(grades - 1)) % grades
                rows.append((f"t{topic}", f"d{doc:03d}", f"a{who}", int(said)))
    scale = q.Scale(tuple(range(grades)))
    columns = [list(column) for column in zip(*rows, strict=True)]
    gold = [list(column) for column in zip(*truth, strict=True)]
    return q.Judgements.of(*columns, scale=scale), q.Qrels.of(*gold)


@pytest.mark.parametrize("grades", [2, 4])
@pytest.mark.parametrize(
    "spec", ["ds", "ds(smoothing=0.5)", "ds(prior=topic)", "ds(per_topic=true)"]
)
@pytest.mark.parametrize("init", ["mv", "honest", "random", "gold"])
def test_the_objective_never_falls(spec: str, grades: int, init: str) -> None:
    rows, gold = crowd(grades=grades)
    method = q.get(spec)
    method = type(method)(**{**vars(method), "init": init, "tol": 1e-9})
    merged = method.fit(rows, q.Given(gold=gold[q.Index.of(["t0"])]))
    gains = np.diff(merged.fit.trace)
    assert (gains > -1e-9 * abs(merged.fit.trace[-1])).all()
    assert merged.fit.converged


def test_an_assessor_who_says_anything_changes_nothing() -> None:
    """sensitivity = 1 - specificity: with given parameters, the E step does not see it."""
    rows, _ = crowd()
    named = [rows.pairs.topic_names[rows.pair], rows.pairs.document_names[rows.pair]]
    noise = rows.pairs
    random = np.random.default_rng(1)
    more = q.Judgements.of(
        np.concatenate([named[0], noise.topic_names]),
        np.concatenate([named[1], noise.document_names]),
        np.concatenate([rows.assessors.names[rows.assessor], np.full(len(noise), "noise", object)]),
        np.concatenate([rows.grade, random.integers(0, 2, len(noise)).astype(np.int8)]),
    )
    found = []
    for judgements in (rows, more):
        em = ConfusionEM(judgements, np.full(len(judgements.pairs), -1, np.int8))
        right = 0.6 + 0.03 * np.arange(len(judgements.assessors))
        matrices = np.stack([[right, 1 - right], [1 - right, right]])  # [said, true, assessor]
        if "noise" in judgements.assessors:
            at = judgements.assessors.code("noise")
            matrices[:, :, at] = np.array([[0.8, 0.8], [0.2, 0.2]])
        em.log_said[:] = np.log(matrices.transpose(2, 0, 1).reshape(-1, 2))
        em.log_prior[:] = np.log([0.7, 0.3])
        em.e_step()
        found.append(em.posterior)
    np.testing.assert_allclose(found[0], found[1], atol=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by_topic", [False, True])
def test_log_odds_give_what_logarithms_give(weighted: bool, by_topic: bool) -> None:
    """The fast kernel of two grades against the one for all grades, with impossible answers."""
    rows, gold = crowd(pairs=20)
    if weighted:
        weight = np.random.default_rng(0).integers(0, 3, len(rows)).astype(np.float64)
        rows = replace(rows, weight=weight)
    codes = np.where(np.arange(len(rows.pairs)) % 5 == 0, gold.grade, -1).astype(np.int8)
    found = []
    for hard in (False, True):  # hard counts go through the general kernel
        em = ConfusionEM(rows, codes, group=rows.pairs.topic if by_topic else None, hard=hard)
        certain = np.where(codes >= 0, codes, rows.votes.argmax(axis=1))
        certain[(rows.pairs.topic == 1) & (codes < 0)] = 1  # a topic that is nearly all relevant
        em.count(np.eye(2)[certain])
        em.m_step()
        assert np.isneginf(em.log_said).any()
        likelihood = em.e_step()
        found.append((likelihood, em.posterior, em.moved))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9)
    assert found[0][2] == pytest.approx(found[1][2])


def test_weights_count_as_repetitions() -> None:
    rows, _ = crowd()
    weight = (1.0 + np.arange(len(rows)) % 3).astype(np.float64)
    weighted = q.Judgements(
        rows.pairs, rows.assessors, rows.scale, rows.pair, rows.assessor, rows.grade, weight
    )
    times = np.repeat(np.arange(len(rows)), weight.astype(int))
    repeated = q.Judgements(
        rows.pairs,
        rows.assessors,
        rows.scale,
        rows.pair[times],
        rows.assessor[times],
        rows.grade[times],
    )
    for method in (q.MajorityVote(), q.DawidSkene(max_iter=20, tol=1e-6)):
        one, other = method.fit(weighted), method.fit(repeated)
        np.testing.assert_allclose(one.posterior, other.posterior, atol=1e-6)
        np.testing.assert_allclose(
            one.assessors["accuracy"], other.assessors["accuracy"], atol=1e-6
        )


def test_per_topic_is_each_topic_alone() -> None:
    rows, _ = crowd(topics=3)
    together = q.DawidSkene(per_topic=True, tol=1e-13).fit(rows)
    for name in rows.topics:
        alone = q.DawidSkene(tol=1e-13).fit(rows[q.Index.of([name])])
        inside = together.pairs.topic_names == name
        np.testing.assert_allclose(together.posterior[inside], alone.posterior, atol=1e-4)


def test_prior_of_each_topic() -> None:
    rows, gold = crowd(topics=2)
    share = {"t0": 0.9, "t1": 0.1}
    random = np.random.default_rng(3)
    grade = np.array([random.random() < share[t] for t in gold.pairs.topic_names], np.int8)
    said = np.where(random.random(len(rows)) < 0.8, grade[rows.pair], 1 - grade[rows.pair])
    biased = q.Judgements(
        rows.pairs, rows.assessors, rows.scale, rows.pair, rows.assessor, said.astype(np.int8)
    )
    merged = q.DawidSkene(prior="topic").fit(biased)
    assert merged.details["prior"].shape == (2, 2)
    assert merged.details["prior"][0, 1] > 0.75 > 0.25 > merged.details["prior"][1, 1]


def test_gold_turns_a_crowd_of_liars_round() -> None:
    """Where most are wrong, matrices counted on gold begin on the right side."""
    rows, gold = crowd(topics=2, skill=0.2)
    known = gold[q.Index.of(["t0"])]
    hidden = gold[q.Index.of(["t1"])]
    accuracies = {}
    for init in ("mv", "gold"):
        merged = q.DawidSkene(init=init, clamp=init == "gold").fit(rows, q.Given(gold=known))
        at = merged.pairs.locate(hidden.pairs)
        accuracies[init] = np.mean(merged.grades()[at] == hidden.grade)
    assert accuracies["mv"] < 0.2 < 0.8 < accuracies["gold"]


def test_gold_that_only_starts_is_still_given() -> None:
    rows, gold = crowd()
    merged = q.DawidSkene(init="gold", clamp=False).fit(rows, q.Given(gold=gold))
    assert merged.given.all()
    assert not q.DawidSkene(clamp=False).fit(rows, q.Given(gold=gold)).given.any()


def test_start_from_gold_needs_gold() -> None:
    with pytest.raises(UsageError, match="--gold"):
        q.DawidSkene(init="gold").fit(crowd()[0])


def test_gold_on_another_scale() -> None:
    with pytest.raises(ScaleError, match="--gold-rel"):
        q.DawidSkene().fit(crowd()[0], q.Given(gold=q.Qrels.of(["t0"], ["d000"], [3])))


def test_assessors_table() -> None:
    rows, gold = crowd()
    table = q.DawidSkene().fit(rows, q.Given(gold=gold)).assessors
    true = gold.grade[rows.pair]
    for code in range(len(rows.assessors)):
        mine = rows.assessor == code
        on_relevant = rows.grade[mine & (true == 1)]
        assert table["sensitivity"][code] == pytest.approx(on_relevant.mean())
        assert table["p(0|1)"][code] == pytest.approx(1 - on_relevant.mean())
        assert table["n(1)"][code] == pytest.approx(len(on_relevant))
        assert table["accuracy"][code] == pytest.approx(np.mean((rows.grade == true)[mine]))


def test_an_earlier_fit_as_prior() -> None:
    """Two good assessors known from before win against three who copy each other."""
    rows, gold = crowd(seed=4)
    table = q.DawidSkene().fit(rows, q.Given(gold=gold)).assessors
    counts = counts_of_table(table, rows.assessors, rows.scale)
    np.testing.assert_allclose(counts.sum(axis=(1, 2)), rows.per_assessor)
    good = rows.assessors.names[np.argsort(-table["accuracy"])[:2]].tolist()
    new = [("n", f"x{i}", a, i % 2) for i in range(8) for a in good]
    new += [("n", f"x{i}", f"copy{k}", int(i < 4)) for i in range(8) for k in range(3)]
    fresh = q.Judgements.of(*[list(c) for c in zip(*new, strict=True)])
    plain = q.DawidSkene().fit(fresh)
    informed = q.DawidSkene().fit(fresh, q.Given(priors=table))
    assert informed.grades().tolist() == [i % 2 for i in range(8)]
    assert plain.grades().tolist() != informed.grades().tolist()
    ignored = q.DawidSkene(trust=0).fit(fresh, q.Given(priors=table))
    assert np.array_equal(ignored.posterior, plain.posterior)


def test_prior_tables_of_other_makes() -> None:
    who = q.Index.of(["ann", "bob"])
    scale = q.Scale((0, 1))
    seen = {"judgements": np.array([10, 20])}
    coins = {"sensitivity": np.array([0.9, 0.5]), "specificity": np.array([0.8, 0.6])}
    counts = counts_of_table(q.AssessorTable(who, {**seen, **coins}), q.Index.of(["bob"]), scale)
    np.testing.assert_allclose(counts[0], [[6, 5], [4, 5]])
    accuracy = {"accuracy": np.array([0.9, 0.6])}
    counts = counts_of_table(q.AssessorTable(who, {**seen, **accuracy}), who, scale)
    np.testing.assert_allclose(counts[0], [[4.5, 0.5], [0.5, 4.5]])
    unknown = counts_of_table(q.AssessorTable(who, {**seen, **accuracy}), q.Index.of(["z"]), scale)
    assert not unknown.any()
    with pytest.raises(InputError, match="accuracy"):
        counts_of_table(q.AssessorTable(who, seen), who, scale)
    with pytest.raises(InputError, match="judgements"):
        counts_of_table(q.AssessorTable(who, accuracy), who, scale)


def test_stop_when_no_posterior_moves() -> None:
    rows, _ = crowd()
    loose = q.DawidSkene(stop="posterior", move=0.05).fit(rows)
    tight = q.DawidSkene(stop="posterior", move=1e-5).fit(rows)
    assert loose.fit.iterations < tight.fit.iterations
    exact = q.DawidSkene(tol=1e-14).fit(rows)
    assert np.abs(tight.posterior - exact.posterior).max() < 1e-3


def test_seed_of_the_random_start() -> None:
    rows, _ = crowd()
    early = [
        q.DawidSkene(init="random", seed=seed, move=0.9, stop="posterior").fit(rows).posterior
        for seed in (0, 1)
    ]
    assert not np.allclose(early[0], early[1])


def test_no_judgements_at_all() -> None:
    rows, _ = crowd()
    nothing = rows.select(np.zeros(len(rows), np.bool_))
    for method in (q.MajorityVote(), q.DawidSkene()):
        assert (method.fit(nothing).posterior == 0.5).all()


def test_blocks_of_pairs_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks on one thread and on two: the same bits; in one block: the same figures."""
    rows = q.simulate(topics=5, documents=60, assessors=12, votes=4, seed=3).judgements
    whole = q.DawidSkene(per_topic=True).fit(rows)
    monkeypatch.setattr(confusion, "LEAST_ROWS", 50)
    assert len(confusion._cuts(rows, 48)) > 3
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("QROWD_THREADS", threads)
        found.append(q.DawidSkene(per_topic=True).fit(rows))
    assert np.array_equal(found[0].posterior, found[1].posterior)
    assert found[0].posterior == pytest.approx(whole.posterior, abs=1e-9)


def test_cells_of_topics_by_counting_and_by_sorting() -> None:
    """Few topics and assessors are counted, many are sorted: the same codes."""
    rows = q.simulate(topics=6, documents=10, assessors=9, votes=2, seed=1).judgements
    cell, owner = ds._topic_cells(rows)
    few = rows.select(np.arange(len(rows)) % 40 == 0)
    assert len(few.topics) * len(few.assessors) > 8 * len(few)
    for judged, codes, of in ((rows, cell, owner), (few, *ds._topic_cells(few))):
        key = judged.pairs.topic[judged.pair].astype(np.int64) * 9 + judged.assessor
        distinct, expected = np.unique(key, return_inverse=True)
        assert codes.tolist() == expected.tolist()
        assert of.tolist() == (distinct % 9).tolist()
