"""What subtypes are for: assessors who err together."""

from __future__ import annotations

import numpy as np

import qrowd as q


def hard_kinds(
    pairs: int = 1500, assessors: int = 20, seed: int = 0
) -> tuple[q.Judgements, q.Qrels]:
    """A quarter of the pairs fool eight of twenty assessors, nearly always."""
    random = np.random.default_rng(seed)
    truth = (random.random(pairs) < 0.4).astype(np.int8)
    tricky = (random.random(pairs) < 0.25)[:, None]
    fooled = np.arange(assessors)[None, :] < 2 * assessors // 5
    right = np.where(tricky & fooled, 0.05, 0.75)
    said = np.where(random.random((pairs, assessors)) < right, truth[:, None], 1 - truth[:, None])
    pair, who = (part.ravel() for part in np.indices(said.shape))
    docs = np.array([f"d{at:04d}" for at in range(pairs)], object)
    names = np.array([f"a{at:02d}" for at in range(assessors)], object)
    topics = [f"t{at % 5}" for at in range(pairs)]
    rows = q.Judgements.of(np.array(topics, object)[pair], docs[pair], names[who], said.ravel())
    return rows, q.Qrels.of(topics, docs, truth)


def accuracy(merged: q.Merged, truth: q.Qrels) -> float:
    return q.score_labels(merged, truth)["accuracy"]


def test_subtypes_help_where_errors_correlate() -> None:
    rows, truth = hard_kinds()
    ebcc = q.EBCC().fit(rows)
    assert any("subtypes of each grade: 10, by evidence" in note for note in ebcc.fit.notes)
    assert accuracy(ebcc, truth) > accuracy(q.get("ds").fit(rows), truth) + 0.05


def test_evidence_keeps_one_subtype_where_errors_are_independent() -> None:
    made = q.simulate(topics=4, documents=100, assessors=12, votes=6, seed=4)
    merged = q.EBCC().fit(made.judgements)
    assert any("subtypes of each grade: 1, by evidence" in note for note in merged.fit.notes)
    assert merged.details["subtypes"].shape == (2, 1)


def test_subtypes_do_not_swallow_a_grade() -> None:
    """Errors are independent, two of eight answer at random or always yes: the bound of ten
    subtypes is larger by 8, and nine of ten of its grades are wrong.
    """
    random = np.random.default_rng(4)
    truth = random.random(500) < 0.1
    said = truth[:, None] ^ (random.random((500, 8)) > random.normal(0.75, 0.06, 8))
    said |= random.random((500, 8)) < 0.2
    said[:, 0], said[:, 1] = random.random(500) < 0.5, True
    docs, names = ([f"{kind}{at:03d}" for at in range(500)] for kind in "da")
    pair, who = (part.ravel() for part in np.indices(said.shape))
    rows = q.Judgements.of(
        ["t"] * 4000, np.array(docs)[pair], np.array(names)[who], said.ravel().astype(int)
    )
    gold = q.Qrels.of(["t"] * 500, docs, truth.astype(int))
    one, ten = (q.EBCC(subtypes=number).fit(rows) for number in (1, 10))
    assert ten.fit.trace[-1] > one.fit.trace[-1]
    assert accuracy(ten, gold) < 0.5 < 0.85 < accuracy(one, gold)
    assert accuracy(q.EBCC().fit(rows), gold) == accuracy(one, gold)


def test_gold_that_nobody_judged_moves_nothing() -> None:
    rows, _ = hard_kinds(200, 6)
    gold = q.Qrels.of(["new"] * 30, [f"x{at}" for at in range(30)], [1] * 30)
    alone, beside = q.EBCC().fit(rows), q.EBCC().fit(rows, q.Given(gold=gold))
    at = beside.pairs.locate(alone.pairs)
    np.testing.assert_allclose(beside.posterior[at], alone.posterior, atol=1e-6)
