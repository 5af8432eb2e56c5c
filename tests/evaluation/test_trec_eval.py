"""trec_eval, through pytrec_eval, is the oracle of every measure that it has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qrowd as q

SAME = [
    ("AP", "map"),
    ("AP@10", "map_cut_10"),
    ("P@5", "P_5"),
    ("P@200", "P_200"),
    ("R@20", "recall_20"),
    ("R", "set_recall"),
    ("RR", "recip_rank"),
    ("Rprec", "Rprec"),
    ("Bpref", "bpref"),
    ("infAP", "infAP"),
    ("Success@1", "success_1"),
    ("Success@10", "success_10"),
    ("nDCG", "ndcg"),
    ("nDCG@20", "ndcg_cut_20"),
]
LEVELLED = [(ours, theirs) for ours, theirs in SAME if not ours.startswith("nDCG")]


@pytest.mark.parametrize(("ours", "theirs"), SAME)
def test_made_data(ours: str, theirs: str, made: Any, trec_eval: Any) -> None:
    scores = q.evaluate(made.runs, made.qrels, ours)
    expected = trec_eval(made, theirs, scores.topics)
    assert expected.max() > 0
    np.testing.assert_allclose(scores.values[0, 0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), LEVELLED)
def test_relevance_level(ours: str, theirs: str, made: Any, trec_eval: Any) -> None:
    scores = q.evaluate(made.runs, made.qrels, q.get(ours, "measure")(rel=2))
    expected = trec_eval(made, theirs, scores.topics, relevance_level=2)
    assert expected.max() > 0
    np.testing.assert_allclose(scores.values[0, 0], expected, rtol=0, atol=1e-12)


FILTERED = [(ours, theirs) for ours, theirs in SAME if ours not in ("Bpref", "infAP")]


@pytest.mark.parametrize(("ours", "theirs"), FILTERED)
def test_judged_only(ours: str, theirs: str, made: Any, trec_eval: Any) -> None:
    scores = q.evaluate(made.runs, made.qrels, q.get(ours, "measure")(judged_only=True))
    expected = trec_eval(made, theirs, scores.topics, judged_docs_only_flag=1)
    np.testing.assert_allclose(scores.values[0, 0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("beta", [0.5, 3.0])
def test_behind_set_f_stands_its_weight(beta: float, made: Any) -> None:
    theirs = pytest.importorskip("pytrec_eval")
    scores = q.evaluate(made.runs, made.qrels, f"set_F.{beta}")
    assert scores.measures == (f"SetF(beta={beta})",)
    evaluator = theirs.RelevanceEvaluator(made.qrel_dicts, {f"set_F.{beta}"})
    expected = evaluator.evaluate(made.run_dicts["r1"])
    for topic, values in expected.items():
        ours = scores[scores.measures[0]]["r1"][topic]
        assert ours == pytest.approx(values["set_F"], abs=1e-12)
