"""Rules and screening."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import qrowd as q
from qrowd import registry
from qrowd.errors import InputError, ParameterError, UnknownNameError, UsageError
from qrowd.quality.doubt import rule_of
from qrowd.quality.evidence import Evidence
from qrowd.simulation.collection import Collection


@pytest.fixture(scope="module")
def c() -> Collection:
    return q.simulate(topics=10, documents=60, assessors=30, votes=6, skew=0.5, runs=0, seed=3)


def kinds(c: Collection, screened: q.Screened) -> set[str]:
    names = [one.assessor for one in screened.left_out]
    return set(c.assessors["kind"][c.judgements.assessors.codes(names)].tolist())


def test_all_rules_are_there_with_the_papers_thresholds() -> None:
    rules = registry.cards("rule")
    assert list(rules) == [
        "binary-score",
        "few-judgements",
        "gold-accuracy",
        "learned",
        "ndcg-score",
        "nothing-relevant",
        "random-spam",
        "surely-worse",
        "suspected",
        "too-fast",
        "trust",
        "uniform-spam",
    ]
    assert q.BinaryScore().at_least == 0.85
    assert q.NdcgScore().at_least == 0.62
    assert q.TooFast().seconds == 6


@pytest.mark.parametrize("id", sorted(registry.cards("rule")))
def test_contract_of_every_rule(id: str, c: Collection) -> None:
    rule = registry.cards("rule")[id].cls()
    assert repr(registry.get(repr(rule), "rule")) == repr(rule)
    marked = np.isin(c.assessors["kind"], ["random", "yes", "no"]).astype(np.float64)
    given = q.Given(gold=c.gold, known=q.AssessorTable(c.judgements.assessors, {"bad": marked}))
    evidence = Evidence(c.judgements, given)
    found = rule.doubts(evidence)
    assert found.doubted.dtype == np.bool_
    assert len(found.doubted) == len(found.value) == len(found.weight) == 30
    assert ((found.weight >= 0) & (found.weight <= 1)).all()
    assert (found.weight[~found.doubted] == 1).all()
    assert (found.weight[found.doubted] < 1).all()
    for k in np.flatnonzero(found.doubted):
        assert "{" not in found.say(k)
        assert any(letter.isdigit() for letter in found.say(k))
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.extra = 1
    screened = q.screen(c.judgements, [rule], given)
    assert len(screened.left_out) == found.doubted.sum()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (q.RandomSpam(), {"random", "yes", "no", "pattern", "adversarial"}),
        (q.UniformSpam(), {"yes", "no", "adversarial", "pattern", "random"}),
        (q.TooFast(seconds=4), {"random", "yes", "no", "pattern"}),
        (q.Suspected(), {"random", "yes", "no", "pattern", "adversarial"}),
    ],
)
def test_rules_catch_whom_they_are_made_for(
    rule: q.quality.doubt.Rule, expected: set[str], c: Collection
) -> None:
    found = kinds(c, q.screen(c.judgements, [rule]))
    assert found
    assert found <= expected


def test_kept_has_no_judgement_of_who_was_left_out(c: Collection) -> None:
    screened = q.screen(c.judgements, [q.RandomSpam(), q.FewJudgements(40)])
    names = {one.assessor for one in screened.left_out}
    assert names
    assert not names & set(screened.kept.assessors)
    lost = sum(one.judgements for one in screened.left_out)
    assert len(screened.kept) + lost == len(c.judgements)
    assert screened.kept.pairs is c.judgements.pairs
    for one in screened.left_out:
        assert len(one.rules) == len(one.evidence) == len(one.values) > 0


def test_the_change_without_each_equals_a_vote_without_them(c: Collection) -> None:
    made = c.judgements
    screened = q.screen(made, [q.RandomSpam()])
    before = q.MajorityVote().fit(made)
    for one in screened.left_out[:4]:
        rest = q.Index.of(name for name in made.assessors if name != one.assessor)
        after = q.MajorityVote().fit(made.of_assessors(rest))
        assert one.change is not None
        assert one.change.grades == int((before.grades() != after.grades()).sum())
        shift = np.abs(before.posterior - after.posterior).sum() / 2 / len(made.pairs)
        assert one.change.shift == pytest.approx(shift)


def test_votes_are_the_default_and_equal_the_majority_vote(c: Collection) -> None:
    plain = q.screen(c.judgements, ["random-spam"], q.Given(gold=c.gold))
    fitted = q.screen(c.judgements, ["random-spam"], q.Given(gold=c.gold), merge=q.MajorityVote())
    assert plain.method == "votes"
    assert fitted.method == "mv"
    assert dataclasses.astuple(plain.change) == pytest.approx(dataclasses.astuple(fitted.change))
    first, second = plain.left_out[0].change, fitted.left_out[0].change
    assert first is not None
    assert second is not None
    assert first.grades == second.grades


def test_accuracy_before_and_after_is_told(c: Collection) -> None:
    screened = q.screen(c.judgements, [q.RandomSpam()], q.Given(gold=c.gold))
    vote = q.MajorityVote().fit(c.judgements).grades()
    assert screened.change.accuracy_before == pytest.approx((vote == c.truth.grade).mean())
    assert screened.change.accuracy_after > screened.change.accuracy_before


def test_each_limits_the_fits_and_that_is_said(c: Collection) -> None:
    screened = q.screen(c.judgements, [q.RandomSpam()], merge=q.MajorityVote(), each=1)
    told = [one for one in screened.left_out if one.change]
    assert len(told) == 1
    assert told[0].judgements == max(one.judgements for one in screened.left_out)
    assert "raise `each`" in str(screened)


def test_weighing_down_keeps_everybody_and_votes_honour_it(c: Collection) -> None:
    screened = q.screen(c.judgements, [q.RandomSpam()], down_weight=True)
    assert len(screened.kept) == len(c.judgements)
    assert screened.kept.weight is not None
    weights = {one.assessor: one.weight for one in screened.left_out}
    for k, name in enumerate(c.judgements.assessors):
        mine = screened.kept.weight[screened.kept.assessor == k]
        assert mine == pytest.approx(weights.get(name, 1.0))
    for method in ("mv", "binmv"):
        if method in registry.cards():
            one, two = (registry.get(method).fit(j) for j in (c.judgements, screened.kept))
            assert np.abs(one.posterior - two.posterior).max() > 0.01
    again = q.screen(screened.kept, [q.FewJudgements(10**6)], down_weight=True)
    assert again.kept.weight is not None
    assert again.kept.weight.max() < 1


def test_both_rules_must_doubt_and_lists_doubt_by_any(c: Collection) -> None:
    one, two = q.RandomSpam(), q.TooFast()
    names = [
        {left.assessor for left in q.screen(c.judgements, rules).left_out}
        for rules in ([one], [two], [one, two], [one & two], ["random-spam & too-fast"])
    ]
    assert names[2] == names[0] | names[1]
    assert names[3] == names[4] == names[0] & names[1]
    assert repr(one & two) == "random-spam & too-fast"
    assert (one & q.GoldAccuracy()).needs == ("gold",)


def test_per_rule_is_what_the_rule_does_alone(c: Collection) -> None:
    both = q.screen(c.judgements, [q.RandomSpam(), q.FewJudgements(60)])
    alone = q.screen(c.judgements, [q.FewJudgements(60)])
    found = both.per_rule["few-judgements(at_least=60)"]
    assert alone.change.grades > 0
    assert (found.grades, found.pairs) == (alone.change.grades, alone.change.pairs)
    assert found.shift == pytest.approx(alone.change.shift, abs=1e-12)


def test_nobody_doubted_changes_nothing(c: Collection) -> None:
    screened = q.screen(c.judgements, [q.RandomSpam(at_least=5)])
    assert screened.left_out == ()
    assert screened.kept is c.judgements
    assert (screened.change.grades, screened.change.shift) == (0, 0)


def test_the_account_can_be_read(c: Collection) -> None:
    text = str(q.screen(c.judgements, [q.RandomSpam()], q.Given(gold=c.gold)))
    assert "left out by random-spam" in text
    assert "of that by chance" in text
    assert "gold is relevant from grade 1 on" in text


def test_misuse_is_told(c: Collection, tiny_crowd: q.Judgements) -> None:
    with pytest.raises(UsageError, match="needs gold; pass Given"):
        q.screen(c.judgements, [q.GoldAccuracy()])
    with pytest.raises(UsageError, match="column `seconds`"):
        q.screen(tiny_crowd, [q.TooFast()])
    with pytest.raises(InputError, match="leave no assessor"):
        q.screen(c.judgements, [q.FewJudgements(10**6)])
    with pytest.raises(UnknownNameError, match="did you mean random-spam"):
        rule_of("random-spamm")
    with pytest.raises(ParameterError, match="at_least must be"):
        q.GoldAccuracy(at_least=1.5)
    with pytest.raises(ParameterError, match="types must be among"):
        q.Suspected("lazy")
    with pytest.raises(ParameterError):
        q.screen(c.judgements, [], each=-1)


def test_graded_gold_with_binary_answers_needs_no_cut() -> None:
    c = q.simulate("graded", topics=5, documents=30, grades=3, seed=2)
    answers = c.judgements.binary(1)
    screened = q.screen(
        answers, [q.BinaryScore(), q.GoldAccuracy()], q.Given(gold=c.gold), merge=q.MajorityVote()
    )
    assert screened.left_out
    strict = q.screen(answers, [q.GoldAccuracy()], q.Given(gold=c.gold), gold_rel=2)
    assert "gold is relevant from grade 2 on" in str(strict)


def test_an_ndcg_score_out_of_reach_condemns_nobody() -> None:
    rows = [("t", f"d{d}", "a", 0) for d in range(5)] + [("t", f"d{d}", "b", 1) for d in range(5)]
    made = q.Judgements.of(*map(list, zip(*rows, strict=True)))
    gold = q.Qrels.of(["t"] * 5, [f"d{d}" for d in range(5)], [1] * 5)
    assert q.screen(made, [q.NdcgScore()], q.Given(gold=gold)).left_out == ()
