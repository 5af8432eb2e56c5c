from __future__ import annotations

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import UnknownNameError
from qrowd.quality.doubt import Rule


@pytest.fixture(scope="module")
def made() -> q.Collection:
    return q.simulate(topics=6, documents=30, assessors=12, votes=4, runs=5, seed=2)


def test_stations_agree_with_the_verbs_one_by_one(made: q.Collection) -> None:
    done = q.study(made.judgements, made.runs, made.gold, methods=["mv", "ds"], draws=40, seed=3)
    merged = q.DawidSkene().fit(made.judgements)
    assert np.array_equal(done.merged["ds"].posterior, merged.posterior)
    assert done.labels["ds"]["accuracy"] == q.score_labels(merged, made.gold)["accuracy"]
    by_gold = q.evaluate(made.runs, made.gold, ["AP", "nDCG@20"])
    assert done.by_gold is not None
    assert np.array_equal(done.by_gold.values, by_gold.values)
    assert done.intervals is not None
    by_draw = q.evaluate(made.runs, merged.draws(40, seed=3), ["AP", "nDCG@20"])
    assert np.array_equal(done.intervals.low, q.intervals(by_draw, over="draws", seed=3).low)
    assert done.wide is not None
    assert done.wide.over == "both"
    assert done.chosen == "ds"


def test_topics_that_were_given_are_not_compared(made: q.Collection) -> None:
    train, test = made.gold.topics.split(0.5, seed=1)
    given = q.Given(gold=made.gold[train])
    done = q.study(made.judgements, made.runs, made.gold, given=given, draws=10)
    assert done.comparison is not None
    assert done.comparison.topics == test
    assert len(done.labels["ds"]) == len(made.gold[test])
    everything = q.study(
        made.judgements, made.runs, made.gold, given=q.Given(gold=made.gold), draws=5
    )
    assert everything.comparison is None


def test_choosing(made: q.Collection) -> None:
    chosen = q.study(made.judgements, methods=["mv", "ds(max_iter=30)"], chosen="mv").chosen
    assert chosen == "mv"
    with pytest.raises(UnknownNameError, match="method in this study"):
        q.study(made.judgements, methods=["mv"], chosen="ds")
    assert list(q.study(made.judgements).merged) == ["mv", "ds", "auto"]
    assert q.study(made.judgements).chosen == "auto"


def test_told_of_the_rankings_or_not(made: q.Collection) -> None:
    def means(informed: bool) -> float:
        done = q.study(made.judgements, made.runs, methods=["ds"], draws=40, informed=informed)
        assert done.intervals is not None
        return float(done.intervals.mean[0].mean())

    assert means(True) > means(False)


def test_unsettled_fits_are_noted(made: q.Collection) -> None:
    with pytest.warns(q.errors.NotConvergedWarning):
        done = q.study(made.judgements, methods=["ds(max_iter=2)"])
    assert any("did not settle within 2 iterations" in note for note in done.notes)


def test_assessors_against_gold_by_plain_loops(made: q.Collection) -> None:
    crowd, gold = made.judgements, made.gold
    found = q.study(crowd, gold=gold, methods=["mv"]).assessors
    grade = dict(
        zip(
            zip(gold.pairs.topic_names, gold.pairs.document_names, strict=True),
            gold.grade,
            strict=True,
        )
    )
    for assessor in range(len(crowd.assessors)):
        hits = [0, 0]
        of = [0, 0]
        for row in np.flatnonzero(crowd.assessor == assessor):
            pair = crowd.pair[row]
            true = grade[crowd.pairs.topic_names[pair], crowd.pairs.document_names[pair]]
            of[true] += 1
            hits[true] += int(crowd.grade[row] == true)
        assert found["sensitivity"][assessor] == pytest.approx(hits[1] / of[1], nan_ok=True)
        assert found["specificity"][assessor] == pytest.approx(hits[0] / of[0], nan_ok=True)


def test_one_table_of_assessors(made: q.Collection) -> None:
    done = q.study(made.judgements, gold=made.gold, methods=["mv", "ds"])
    table = q.assessors(made.judgements, q.Given(gold=made.gold))
    for name, column in table.columns.items():
        np.testing.assert_array_equal(done.assessors[name], column)
    assert {"est_sensitivity", "est_specificity"} <= set(done.assessors.columns)


def test_screening_comes_before_merging(made: q.Collection) -> None:
    rules: list[Rule | str] = [q.RandomSpam(), "uniform-spam"]
    done = q.study(made.judgements, rules=rules, methods=["mv"])
    screened = q.screen(made.judgements, rules)
    assert done.screened is not None
    assert [one.assessor for one in done.screened.left_out]
    alone = q.MajorityVote().fit(screened.kept)
    assert np.array_equal(done.merged["mv"].posterior, alone.posterior)
    assert len(done.judgements) == len(made.judgements)


def test_the_check_of_independence_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = q.simulate(topics=4, documents=30, assessors=8, votes=4, seed=3)
    monkeypatch.setattr(
        "qrowd.reporting.quality.independence", None
    )  # would fail if it were called
    done = q.study(made.judgements, methods=["mv", "auto"])
    check = done.merged["auto"].details["independence"]
    assert done.independence is not None
    assert done.independence.rho == check.rho
    assert check.detection is None
    assert done.independence.detection is not None  # the bound is the report's
