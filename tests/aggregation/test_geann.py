"""Sentences merged into documents: by hand, by a slow loop, and with gold of either."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import QrowdError

MADE = q.simulate(
    topics=3, documents=8, assessors=6, votes=3, sentences=5, gold=0.2, runs=0, random=0.3, seed=4
)


def _odds(p: float) -> float:
    p = min(max(p, 1e-6), 1 - 1e-6)
    return math.log(p / (1 - p))


def _slowly(rule: str, weighted: bool, threshold: float, buckets: int) -> dict[str, float]:
    """The probability of each document, sentence by sentence, vote by vote."""
    gold = dict(zip(MADE.gold.pairs.document_names, MADE.gold.grade.tolist(), strict=True))
    rows = list(MADE.judgements.to_polars().select("doc", "assessor", "grade").iter_rows())
    weight = {}
    for one in {who for _, who, _ in rows}:
        seen = right = 0
        for doc, who, grade in rows:
            if who == one and doc in gold:
                seen += 1
                right += 1
                if grade != gold[doc]:
                    right -= 1 if gold[doc] else buckets - 1
        r = max((right + 1) / (seen + 2), 0)
        weight[one] = (buckets * r - 1) / (buckets - 1) if weighted else 1.0
    parts: dict[str, list[float]] = {}
    for name in sorted({doc for doc, _, _ in rows} | set(gold)):
        votes = [0.0, 0.0]
        for doc, who, grade in rows:
            if doc == name:  # a negative weight counts for the other grade
                votes[grade if weight[who] > 0 else 1 - grade] += abs(weight[who])
        p = votes[1] / sum(votes) if sum(votes) else 0.5
        parts.setdefault(name.split("#")[0], []).append(float(gold.get(name, p)))
    done = {}
    for document, ps in parts.items():
        if rule == "mean":
            score = sum(ps) / len(ps)
        elif rule == "any":
            score = 1 - math.prod(1 - p for p in ps)
        else:
            score = sum(1.0 if p > 0.5 else 0.5 if p == 0.5 else 0.0 for p in ps) / len(ps)
        done[document] = 1 / (1 + math.exp(_odds(threshold) - _odds(score)))
    return done


@pytest.mark.parametrize("rule", ["mean", "any", "majority"])
@pytest.mark.parametrize("weighted", [True, False])
def test_as_a_slow_loop_has_it(rule: str, weighted: bool) -> None:
    method = q.Geann(rule=rule, weighted=weighted, threshold=0.3, buckets=3)
    merged = method.fit(MADE.judgements, q.Given(gold=MADE.gold))
    slowly = _slowly(rule, weighted, 0.3, 3)
    assert merged.pairs == MADE.truth.pairs
    mine = dict(zip(merged.pairs.document_names, merged.relevant.tolist(), strict=True))
    assert mine == pytest.approx(slowly, abs=2e-6)


def test_as_many_documents_are_relevant_as_gold_has() -> None:
    made = q.simulate(topics=4, documents=50, votes=5, sentences=10, runs=0, gold=0.2, seed=2)
    documents = made.truth.select(np.arange(len(made.truth)) % 4 == 0)
    merged = q.Geann().fit(made.judgements, q.Given(gold=documents))
    assert merged.given.sum() == len(documents)
    assert merged.relevant[merged.given].tolist() == documents.grade.tolist()  # and it overrides
    assert merged.share_relevant == pytest.approx((documents.grade == 1).mean(), abs=0.1)


def test_without_gold_of_documents_scores_are_split_where_two_groups_differ_most() -> None:
    said = {"a": (1, 1, 0), "b": (1, 0, 1), "c": (0, 0, 0), "d": (0, 1, 0), "e": (0, 0, 0)}
    rows = [
        (f"{doc}#{at}", grade) for doc, grades in said.items() for at, grade in enumerate(grades)
    ]
    names, grades = zip(*rows, strict=True)
    crowd = q.Judgements.of(["t"] * len(rows), list(names), ["ann"] * len(rows), list(grades))
    merged = q.Geann().fit(crowd)
    assert merged.qrels().grade.tolist() == [1, 1, 0, 0, 0]
    score = np.array([2, 2, 0, 1, 0]) / 3
    spread = {
        threshold: sum(len(side) * (side.mean() - score.mean()) ** 2 for side in sides)
        for threshold in (1 / 6, 1 / 2)
        for sides in [(score[score < threshold], score[score > threshold])]
    }
    assert max(spread, key=lambda threshold: spread[threshold]) == 1 / 2
    assert any("a score of 0.50 on" in note for note in merged.fit.notes)


def test_another_method_may_merge_sentences() -> None:
    merged = q.get("geann(base=ds, threshold=.2)").fit(MADE.judgements)
    below = q.DawidSkene().fit(MADE.judgements)
    of_one = below.pairs.document_names == "t01-d01#3"
    assert of_one.sum() == 1
    means = [below.relevant[5 * at : 5 * at + 5].mean() for at in range(len(merged.pairs))]
    assert merged.details["score"] == pytest.approx(means)


def test_documents_judged_as_a_whole_stay_what_they_are() -> None:
    made = q.simulate(topics=2, documents=9, assessors=5, votes=3, runs=0, seed=1)
    merged, plain = q.Geann().fit(made.judgements), q.MajorityVote().fit(made.judgements)
    assert merged.pairs == plain.pairs
    assert merged.relevant == pytest.approx(plain.relevant)


def test_players_who_throw_dice_weigh_nothing() -> None:
    """Of a player at random, three in four sentences off the topic are right all the same."""
    random = np.random.default_rng(3)
    n = 4000
    truth = (random.random(n) < 0.2).astype(int)
    said = (random.integers(0, 4, n) == 0).astype(int)
    names = [f"d#{at}" for at in range(n)]
    crowd = q.Judgements.of(["t"] * n, names, ["dice"] * n, said.tolist())
    gold = q.Qrels.of(["t"] * n, names, truth.tolist())
    weight = q.Geann().fit(crowd, q.Given(gold=gold)).assessors["weight"]
    assert abs(weight[0]) < 0.05


def test_a_file_of_buckets(tmp_path: Path) -> None:
    path = tmp_path / "answers.tsv"
    head = "topic\tdoc\tsentence\tassessor\tbucket\tseconds\n"
    path.write_text(head + "t1\ta\t1\tann\tt1\t3\nt1\ta\t2\tann\tnone\t2\nt1\ta\t1\tbob\tt2\t9\n")
    crowd = q.read_judgements(path)
    assert crowd.pairs.document_names.tolist() == ["a#1", "a#2"]
    assert crowd.grade.tolist() == [1, 0, 0]
    assert crowd.seconds is not None
    assert crowd.seconds.tolist() == [3, 9, 2]
    path.write_text("doc\tsentence\tassessor\tbucket\na\t1\tann\tt1\n")
    with pytest.raises(QrowdError, match="no column for topics"):
        q.read_judgements(path)
    # a sentence that is a text says nothing about which one it is
    path.write_text("topic\tdoc\tsentence\tassessor\tgrade\nt\ta\tIt rains.\tann\t1\n")
    assert q.read_judgements(path).pairs.document_names.tolist() == ["a"]


def test_made_sentences_have_the_shares_that_were_asked_for() -> None:
    made = q.simulate(topics=5, documents=200, sentences=12, on_topic=0.4, off_topic=0.05, seed=3)
    assert len(made.gold) == 12 * len(made.truth)
    share = made.gold.grade.reshape(-1, 12).mean(axis=1)
    relevant = made.truth.grade == 1
    assert share[relevant].mean() == pytest.approx(0.4, abs=0.02)
    assert share[~relevant].mean() == pytest.approx(0.05, abs=0.01)
    with pytest.raises(QrowdError, match="neither orders nor text"):
        q.simulate(sentences=3, orders=True)
