"""The table of assessors."""

from __future__ import annotations

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import UnknownNameError
from qrowd.quality.assessors import ABOUT


def test_columns_against_plain_loops(tiny_crowd: q.Judgements, tiny_gold: q.Qrels) -> None:
    table = q.assessors(tiny_crowd, q.Given(gold=tiny_gold), enough=1)
    assert table["judgements"].tolist() == [4, 4, 3]
    assert table["topics"].tolist() == [2, 2, 2]
    assert table["gold"].tolist() == [2, 3, 3]
    assert table["accuracy"] == pytest.approx([1, 1, 1 / 3])
    assert table["sensitivity"] == pytest.approx([1, 1, 0])
    assert table["specificity"] == pytest.approx([1, 1, 1 / 2])
    # w1: d1 1/2, d2 1/2, d3 alone, t2/d1 0; w2: 1/2, 1/2, 0, 1; w3: 0, 0, 1
    assert table["agreement"] == pytest.approx([1 / 3, 1 / 2, 1 / 3])
    assert table["binary_score"] == pytest.approx([1, 1, (5 + 10 + 15) / 42])


def test_estimates_follow_the_belief_of_any_method(tiny_crowd: q.Judgements) -> None:
    table = q.assessors(tiny_crowd, merge=q.MajorityVote())
    p = q.MajorityVote().fit(tiny_crowd).posterior
    for k in range(3):
        mine = tiny_crowd.assessor == k
        pair, said = tiny_crowd.pair[mine], tiny_crowd.grade[mine]
        assert table["est_accuracy"][k] == pytest.approx(np.mean(p[pair, said]))
        assert table["est_sensitivity"][k] == pytest.approx(
            (p[pair, 1] * said).sum() / p[pair, 1].sum()
        )
        assert table["est_specificity"][k] == pytest.approx(
            (p[pair, 0] * (1 - said)).sum() / p[pair, 0].sum()
        )


def test_every_column_is_explained_and_only_what_is_known_is_there() -> None:
    c = q.simulate(seed=1, topics=3, documents=20)
    crowd = c.judgements.with_kind("machine", "*1")
    full = q.assessors(crowd, q.Given(gold=c.gold), merge=q.MajorityVote())
    explained = set(ABOUT)
    for name in full.columns:
        assert name.removesuffix("_low").removesuffix("_high") in explained
    assert explained <= set(full.columns)
    bare = q.assessors(q.simulate(seed=1, timed=False).judgements)
    assert not {"gold", "accuracy", "est_accuracy", "seconds", "kind"} & set(bare.columns)


def test_intervals_hold_the_value_and_the_truth() -> None:
    c = q.simulate(seed=1, assessors=40, topics=20, documents=100)
    table = q.assessors(c.judgements, q.Given(gold=c.gold))
    for name in ("accuracy", "sensitivity", "specificity"):
        low, value, high = table[f"{name}_low"], table[name], table[f"{name}_high"]
        assert ((low <= value + 1e-12) & (value <= high + 1e-12)).all()
        truth = c.assessors[name]
        assert ((low <= truth) & (truth <= high)).mean() > 0.85


def test_gold_on_the_same_scale_is_compared_grade_by_grade() -> None:
    c = q.simulate("graded", topics=5, documents=20, seed=3)
    table = q.assessors(c.judgements, q.Given(gold=c.gold))
    made = c.judgements
    right = np.array(made.scale.grades)[made.grade] == c.truth.grade[made.pair]
    expected = np.bincount(made.assessor, right) / made.per_assessor
    assert table["accuracy"] == pytest.approx(expected)
    assert (table["sensitivity"] >= table["accuracy"] - 1).all()


def test_listing_by_any_column_puts_the_unknown_last() -> None:
    table = q.AssessorTable(
        q.Index.of(["a", "b", "c"]),
        {"x": np.array([2.0, np.nan, 1.0]), "type": np.array(["v", "u", "w"], dtype=object)},
    )
    assert table.listed("x")["assessor"].tolist() == ["c", "a", "b"]
    assert table.listed("x", descending=True)["assessor"].tolist() == ["a", "c", "b"]
    assert table.listed("type")["assessor"].tolist() == ["b", "a", "c"]
    assert table.listed(descending=True)["assessor"].tolist() == ["c", "b", "a"]
    with pytest.raises(UnknownNameError):
        table.listed("y")


def test_assessors_without_judgements_are_not_known() -> None:
    c = q.simulate(seed=1, topics=2, documents=10, assessors=6)
    few = c.judgements.select(c.judgements.assessor != 2)
    table = q.assessors(few, q.Given(gold=c.gold))
    assert table["judgements"][2] == 0
    assert table["type"][2] == "cannot be told"
    assert np.isnan(table["agreement"][2])


def test_repeated_judgements_count_once_in_statistics() -> None:
    c = q.simulate(seed=6, topics=3, documents=30, again=0.3)
    table = q.assessors(c.judgements)
    once = q.assessors(c.judgements.one_each())
    assert table["judgements"].sum() > once["judgements"].sum()
    for name in ("agreement", "random_spam", "uniform_spam", "trust"):
        assert table[name] == pytest.approx(once[name])


def test_real_crowd_of_trec_2011(real_data) -> None:  # type: ignore[no-untyped-def]
    crowd = q.read_judgements(real_data / "trec_rf10" / "judgements.tsv.gz")
    table = q.assessors(crowd)
    assert len(table) == 762
    busiest = np.argsort(-table["judgements"])[:3]
    assert {"uniform"} & set(table["type"][busiest])  # two heavy spammers, all 0 and all 1


@pytest.mark.parametrize("n", [0, 1, 3])
def test_crowds_that_show_nothing_are_no_trouble(n: int) -> None:
    made = q.Judgements.of(["t"] * n, list("abc")[:n], ["x"] * n, np.array([1, 0, 1][:n], int))
    table = q.assessors(made, q.Given(gold=q.Qrels.of(["t"], ["z"], [1])), merge=q.MajorityVote())
    assert len(table) == min(n, 1)
    assert set(table["type"]) <= {"cannot be told"}
    assert q.screen(made, ["random-spam", "uniform-spam", "trust", "suspected"]).left_out == ()
    assert np.isnan(q.agreement(made)["raw"].value)
