"""A classifier of the texts against the labels: scikit-learn's, contradictions, and the gate."""

from __future__ import annotations

import numpy as np
import pytest

import qrowd as q
from qrowd.aggregation.judgements.skierarchy import _folds, _out_of_fold
from qrowd.data.arrays import Mask


def test_the_classifier_is_a_logistic_regression_on_the_vectors() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(4)
    rows = random.random((40, 60)) * (random.random((40, 60)) < 0.2)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    label = rows[:, 0] + 0.2 * random.random(40) > 0.1
    known = np.arange(40) < 35  # the others teach nobody, and have a probability all the same
    fold = _folds(label, known, random.integers(0, 2**62, 40).astype(np.uint64))
    text = _out_of_fold(rows @ rows.T, label, known, fold, 0.1)
    for part in np.unique(fold):
        teaches = known & (fold != part)
        model = linear_model.LogisticRegression(C=10, tol=1e-9, max_iter=10_000)
        model.fit(rows[teaches], label[teaches])
        expected = model.predict_proba(rows[fold == part])[:, 1]
        assert text[fold == part] == pytest.approx(expected, abs=2e-3)


def told(rule: str, wrong: int = 2) -> tuple[q.Merged, Mask]:
    """Twenty documents about one thing, twenty about another; of the first some are misjudged."""
    names = [f"d{at:02}" for at in range(40)]
    relevant = np.arange(40) < 20
    said = relevant.copy()
    said[:wrong] = False
    vectors = np.zeros((40, 42))
    vectors[:, 40] = relevant
    vectors[:, 41] = ~relevant
    vectors[np.arange(40), np.arange(40)] = 0.3
    crowd = q.Judgements.of(["t"] * 40, names, ["ann"] * 40, said.astype(np.int8))
    documents = q.Vectors.of(names, vectors)
    return q.Skierarchy(rule=rule).fit(crowd, q.Given(documents=documents)), said


def test_what_the_text_contradicts_is_kept_taken_or_mixed() -> None:
    for rule in ("keep", "take", "mix"):
        merged, said = told(rule)
        assert np.flatnonzero(merged.details["contradicted"]).tolist() == [0, 1]
        text = merged.details["text"]
        assert (text[:2] > 0.5).all()
        base = said.astype(float)
        expected = {"keep": base, "take": text, "mix": (base + text) / 2}[rule]
        assert merged.relevant[:2].tolist() == expected[:2].tolist()
        assert merged.relevant[2:].tolist() == base[2:].tolist()
        assert merged.provenance is not None
        assert merged.provenance.text == (rule != "keep")


def test_gold_overrides_the_text() -> None:
    names = [f"d{at:02}" for at in range(40)]
    relevant = np.arange(40) < 20
    crowd = q.Judgements.of(["t"] * 40, names, ["ann"] * 40, relevant.astype(np.int8))
    vectors = np.column_stack([relevant, ~relevant, np.eye(40) * 0.3]).astype(float)
    gold = q.Qrels.of(["t"], ["d00"], [0])
    given = q.Given(documents=q.Vectors.of(names, vectors), gold=gold)
    merged = q.Skierarchy(rule="take").fit(crowd, given)
    assert merged.relevant[0] == 0
    assert not merged.details["contradicted"][0]


def test_texts_that_do_not_tell_are_not_used() -> None:
    made = q.simulate(topics=6, documents=60, assessors=9, votes=3, text=0.0, seed=2)
    assert made.documents is not None
    merged = q.Skierarchy(rule="take").fit(made.judgements, q.Given(documents=made.documents))
    alone = q.MajorityVote().fit(made.judgements)
    assert not merged.details["tells"]
    assert "does not tell" in merged.fit.notes[-1]
    assert merged.relevant.tolist() == alone.relevant.tolist()


def test_too_few_of_a_label_teach_nothing() -> None:
    merged, said = told("take", wrong=18)  # two are called relevant
    assert np.isnan(merged.details["auc"])
    assert "enough documents of either label" in merged.fit.notes[-1]
    assert merged.relevant.tolist() == said.astype(float).tolist()
