"""Suspected types on crowds whose assessors are known."""

from __future__ import annotations

import numpy as np
import pytest

import qrowd as q
from qrowd.quality.evidence import Evidence, Reference
from qrowd.quality.suspicion import SUSPICIOUS, TYPES, UNTOLD, suspect
from qrowd.simulation.collection import Collection

MIX = {
    "good": 0.4,
    "sloppy": 0.15,
    "biased": 0.1,
    "random": 0.1,
    "yes": 0.07,
    "no": 0.07,
    "pattern": 0.06,
    "adversarial": 0.05,
}
ALIKE = {"yes": "uniform", "no": "uniform", "pattern": "uniform"}


@pytest.fixture(scope="module")
def collection() -> Collection:
    return q.simulate(
        topics=40, documents=100, assessors=100, votes=8, skew=0.3, runs=0, seed=4, **MIX
    )


def shares(c: Collection, evidence: Evidence) -> dict[str, float]:
    """For each kind, the share of its assessors that was recognised."""
    found = suspect(evidence).type
    kind = c.assessors["kind"]
    return {
        one: float((found[kind == one] == ALIKE.get(one, one)).mean()) for one in np.unique(kind)
    }


@pytest.mark.parametrize("by", ["gold", "others"])
def test_kinds_are_recognised(by: str, collection: Collection) -> None:
    c = collection
    found = shares(c, Evidence(c.judgements, q.Given(gold=c.gold if by == "gold" else None)))
    assert found["yes"] == found["no"] == 1
    assert found["good"] > 0.85
    for kind in ("adversarial", "random", "pattern"):
        assert found[kind] >= 0.7, (kind, found)
    assert found["sloppy"] >= 0.6
    assert found["biased"] >= 0.6


def test_no_method_s_belief_decides_types() -> None:
    """Shrunken probabilities made nearly everybody look careless in the report."""
    c = q.simulate(topics=10, documents=60, assessors=19, votes=3, seed=2, skew=0, difficulty=0.2)
    types = [
        q.assessors(c.judgements)["type"].tolist(),
        q.assessors(c.judgements, merge=q.MajorityVote())["type"].tolist(),
        q.study(c.judgements, methods=["mv", "auto"]).assessors["type"].tolist(),
    ]
    assert types[0] == types[1] == types[2]
    assert types[0].count("good") >= 8


@pytest.mark.parametrize("prevalence", [0.2, 0.5])
def test_random_and_uniform_ones_are_found_from_fifty_answers(prevalence: float) -> None:
    kinds, types = [], []
    for seed in range(6):
        c = q.simulate(
            topics=10, documents=62, assessors=50, votes=4, skew=0, runs=0,
            prevalence=prevalence, difficulty=0.2, seed=seed, **MIX,
        )  # fmt: skip
        kinds += c.assessors["kind"].tolist()
        types += suspect(Evidence(c.judgements)).type.tolist()
    kind, found = np.array(kinds), np.array(types)
    spam = np.isin(kind, ["random", "yes", "no", "pattern"])
    assert np.isin(found[spam], ["random", "uniform"]).mean() >= 0.8
    assert np.isin(found[kind == "good"], SUSPICIOUS).mean() <= 0.02


def test_of_two_assessors_nobody_can_tell_which_one_errs() -> None:
    random = np.random.default_rng(1)
    truth = random.integers(0, 2, 200)
    said = np.concatenate([truth, random.integers(0, 2, 200)])
    documents, who = [f"d{at:03}" for at in range(200)], ["a"] * 200 + ["b"] * 200
    crowd = q.Judgements.of(["t"] * 400, documents * 2, who, said)
    assert set(suspect(Evidence(crowd)).type) == {UNTOLD}
    gold = q.Qrels.of(["t"] * 200, documents, truth)
    assert suspect(Evidence(crowd, q.Given(gold=gold))).type.tolist() == ["good", "random"]


def test_skills_against_gold_are_smoothed_shares() -> None:
    """Least squares on a belief that is sure gives the shares themselves."""
    c = q.simulate(seed=3, topics=5, documents=40)
    found, held = suspect(Evidence(c.judgements, q.Given(gold=c.gold))), _by_gold(c)
    sensitivity = (held.relevant_right + 1) / (held.relevant_n + 2)
    specificity = (held.other_right + 1) / (held.other_n + 2)
    assert found.informedness == pytest.approx(sensitivity + specificity - 1)
    variance = sensitivity * (1 - sensitivity) / (held.relevant_n + 2)
    variance += specificity * (1 - specificity) / (held.other_n + 2)
    assert found.error == pytest.approx(np.sqrt(variance))


def _by_gold(c: Collection) -> Reference:
    return Evidence(c.judgements, q.Given(gold=c.gold)).by_gold


def test_good_assessors_are_hardly_ever_called_spammers() -> None:
    wrong = 0
    for seed in range(5):
        c = q.simulate(assessors=60, votes=5, runs=0, seed=seed, difficulty=0.2)
        found = suspect(Evidence(c.judgements))
        honest = np.isin(c.assessors["kind"].astype(str), ["good", "biased"])
        wrong += int(np.isin(found.type[honest], ["uniform", "adversarial"]).sum())
    assert wrong <= 2


def test_of_few_judgements_nothing_can_be_told() -> None:
    c = q.simulate(topics=2, documents=20, assessors=20, votes=3, seed=1)
    found = suspect(Evidence(c.judgements), enough=1000)
    assert set(found.type) == {"cannot be told"}
    assert set(suspect(Evidence(c.judgements)).type) <= set(TYPES)


def test_gold_counts_where_there_is_some_and_the_others_elsewhere() -> None:
    c = q.simulate(seed=1, gold=0.05)
    evidence = Evidence(c.judgements, q.Given(gold=c.gold))
    found, n = suspect(evidence), evidence.single.per_assessor
    assert ((found.reference == "both") == (evidence.by_gold.n > 0)).all()
    assert (found.reference[evidence.by_gold.n == n] != "others").all()
    without = suspect(Evidence(c.judgements))
    assert set(without.reference) == {"others"}


def test_a_scale_without_relevant_grades_has_types_too() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(1, 5, 200)
    rows = [
        (
            "t",
            f"d{d:03}",
            f"a{a}",
            int(truth[d] if random.random() < (0.9, 0.25)[a > 6] else random.integers(1, 5)),
        )
        for d in range(200)
        for a in range(9)
    ]
    made = q.Judgements.of(*map(list, zip(*rows, strict=True)), scale=q.Scale((1, 2, 3, 4)))
    evidence = Evidence(made)
    assert not evidence.two_sided
    found = suspect(evidence)
    assert set(found.type[:7]) == {"good"}
    assert (found.informedness[7:] < 0.4).all()


def test_types_are_corrected_for_the_number_of_assessors() -> None:
    """400 who answer at random: one by one, about ten of them would surely look adversarial."""
    random = np.random.default_rng(8)
    pairs = q.Pairs.of([f"t{at % 10}" for at in range(2000)], [f"d{at:04d}" for at in range(2000)])
    gold = q.Qrels(pairs, random.integers(0, 2, 2000).astype(np.int8))
    names = q.Index.of(f"a{at:03d}" for at in range(400))
    pair = np.concatenate([random.choice(2000, 60, replace=False) for _ in range(400)])
    who = np.repeat(np.arange(400), 60).astype(np.int32)
    said = random.integers(0, 2, 24_000).astype(np.int8)
    crowd = q.Judgements(pairs, names, q.Scale((0, 1)), pair.astype(np.int32), who, said)
    found = suspect(Evidence(crowd, q.Given(gold=gold)))
    assert (found.informedness + 1.96 * found.error < 0).sum() >= 5
    assert (found.type == "adversarial").sum() <= 1
    assert (found.type == "random").mean() > 0.5
