"""The verdict on judgements: its level, its reasons, and what cannot be known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qrowd as q
from qrowd.data.collected import Collected, ErrorRate
from qrowd.quality.suspicion import SUSPICIOUS
from qrowd.reporting.quality import Quality, disputed, quality_of

ONLY_GOOD = dict.fromkeys(["sloppy", "biased", "random", "yes", "no", "pattern", "adversarial"], 0)


def _collected(votes: float = 4, **shares: Any) -> Collected:
    """A crowd a quarter of whose documents are check questions."""
    made = q.simulate(topics=5, documents=40, assessors=10, votes=votes, seed=2, **shares)
    names = made.judgements.pairs.document_names
    asked = q.Index.of(sorted(set(names))[::4])
    is_check = asked.codes(names) >= 0
    checks = made.judgements.of_pairs(is_check)
    key = q.Qrels(*_kept(made.gold, asked))
    return Collected(made.judgements.of_pairs(~is_check), answers=checks, key=key)


def _kept(gold: q.Qrels, asked: q.Index) -> tuple[q.Pairs, Any]:
    rows = asked.codes(gold.pairs.document_names) >= 0
    return gold.pairs.select(rows), gold.grade[rows]


def _quality(crowd: Collected, method: str = "ds") -> Quality:
    merger = q.get(method)
    return quality_of(crowd, merger.fit(crowd.judgements, crowd.given), merger)


def _levels(quality: Quality) -> dict[str, str]:
    return {finding.name: finding.level for finding in quality.findings}


def test_good_people_are_trusted() -> None:
    quality = _quality(_collected(**ONLY_GOOD))
    assert quality.level == "good"
    assert set(_levels(quality).values()) == {"good"}
    assert str(quality.findings[0].text).startswith("On check questions")
    assert quality.gain is not None
    assert quality.gain.known
    assert quality.good == quality.told > 5


def test_spammers_are_not() -> None:
    quality = _quality(_collected(**{**ONLY_GOOD, "good": 0, "random": 1.0}))
    assert quality.level == "bad"
    assert _levels(quality)["judges"] == "bad"
    assert quality.suspected_share >= 0.5
    assert {str(quality.assessors["type"][at]) for at in quality.suspects} <= set(SUSPICIOUS)
    # the reason comes first
    assert quality.findings[0].level == "bad"


def test_one_answer_to_each_check_question() -> None:
    crowd = _collected(**ONLY_GOOD)
    assert crowd.answers is not None
    first = crowd.answers.pair_starts[:-1]
    one = crowd.answers.select(np.isin(np.arange(len(crowd.answers)), first))
    quality = _quality(Collected(crowd.judgements, answers=one, key=crowd.key))
    assert quality.gain is not None
    assert not quality.gain.known
    right = next(finding for finding in quality.findings if finding.name == "right")
    assert "cannot be known" in str(right.text)
    assert "-" not in str(right.text)


def test_nothing_is_known_of_lone_answers() -> None:
    crowd = q.Judgements.of(["t"] * 3, list("abc"), ["x", "x", "y"], [1, 0, 1])
    quality = _quality(Collected(crowd), "mv")
    assert quality.level == "unknown"
    assert str(quality.answer) == "That cannot be told yet"


def test_grades_that_were_given_prove_nothing() -> None:
    made = q.simulate(topics=4, documents=20, assessors=8, votes=3, seed=1)
    few = made.gold[q.Index.of(list(made.gold.topics)[:1])]
    quality = _quality(Collected(made.judgements, gold=few))
    right = next(finding for finding in quality.findings if finding.name == "right")
    assert right.text.id == "office.verdict.right.given"
    assert quality.level == "caution"


@pytest.mark.parametrize(
    ("rate", "level"),
    [
        (ErrorRate(50, 40, 4, 0.1, 0.04, 0.2), "good"),
        (ErrorRate(50, 40, 16, 0.4, 0.3, 0.5), "caution"),
        (ErrorRate(50, 40, 32, 0.8, 0.7, 0.9), "bad"),
        (ErrorRate(50, 5, 4, 0.8, 0.4, 0.9), None),
    ],
)
def test_what_experts_found(rate: ErrorRate, level: str | None) -> None:
    crowd = _collected(**ONLY_GOOD)
    whole = Collected(crowd.judgements, answers=crowd.answers, key=crowd.key, sample=rate)
    assert _levels(_quality(whole)).get("sample") == level


def test_disputed_pairs_where_gold_adds_pairs() -> None:
    """The belief is that of the pair, also if the method was given pairs that nobody judged."""
    crowd = q.Judgements.of(["t"] * 4, list("bbcc"), list("xyxy"), [1, 0, 1, 1])
    gold = q.Qrels.of(["t"], ["a"], [0])
    merged = q.MajorityVote().fit(crowd, q.Given(gold=gold))
    assert disputed(crowd, merged, gold, 9) == [["t", "b", 2, 1, 0.5]]
