"""The weight of gold in EM."""

from __future__ import annotations

import numpy as np

import qrowd as q


def made() -> tuple[q.Judgements, q.Qrels, q.Qrels]:
    """Assessors who find the same pairs hard; gold for some topics."""
    world = q.simulate(topics=8, documents=50, assessors=8, votes=5, difficulty=0.8, seed=3)
    return world.judgements, world.truth[q.Index(world.truth.topics.names[:5])], world.truth


def test_a_weight_is_as_many_judgements() -> None:
    rows, gold, _ = made()
    known = np.zeros(len(rows.pairs), np.bool_)
    known[rows.pairs.locate(gold.pairs)] = True
    times = np.where(known[rows.pair], 3, 1)
    at = np.repeat(np.arange(len(rows)), times)
    pair, who, grade = rows.pair[at], rows.assessor[at], rows.grade[at]
    thrice = q.Judgements(rows.pairs, rows.assessors, rows.scale, pair, who, grade)
    weighed = q.DawidSkene(gold_weight=3, tol=1e-12).fit(rows, q.Given(gold=gold))
    repeated = q.DawidSkene(tol=1e-12).fit(thrice, q.Given(gold=gold))
    np.testing.assert_allclose(weighed.posterior, repeated.posterior, atol=1e-6)
    assert (weighed.assessors["judgements"] == rows.per_assessor).all()


def test_a_large_weight_is_gold_alone() -> None:
    """With gold counting without end the matrices are those of the gold pairs."""
    rows, gold, _ = made()
    merged = q.DawidSkene(gold_weight=1e9).fit(rows, q.Given(gold=gold))
    code = np.full(len(rows.pairs), -1)
    code[rows.pairs.locate(gold.pairs)] = gold.grade
    true = code[rows.pair]
    for who in range(len(rows.assessors)):
        own = (rows.assessor == who) & (true == 1)
        assert np.isclose(merged.assessors["sensitivity"][who], rows.grade[own].mean(), atol=1e-6)


def test_learned_on_held_out_topics_and_said() -> None:
    rows, gold, truth = made()
    merged = q.DawidSkene(gold_weight=None).fit(rows, q.Given(gold=gold))
    assert merged.fit.method == "ds(gold_weight=None)"
    assert "by the log loss on gold of held-out topics" in merged.fit.notes[0]
    loss = q.score_labels(merged, truth)["log_loss"]
    assert (
        loss <= q.score_labels(q.get("ds").fit(rows, q.Given(gold=gold)), truth)["log_loss"] + 0.02
    )
    for given in (q.NOTHING, q.Given(gold=gold[q.Index(gold.topics.names[:1])])):
        assert "two topics" in q.DawidSkene(gold_weight=None).fit(rows, given).fit.notes[0]
