"""Suspected types on crowds whose assessors are known."""

from __future__ import annotations

import numpy as np
import pytest

import qrowd as q
from qrowd.quality.evidence import Evidence
from qrowd.quality.suspicion import TYPES, suspect
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


@pytest.mark.parametrize("by", ["gold", "merged", "others"])
def test_kinds_are_recognised(by: str, collection: Collection) -> None:
    c = collection
    merged = q.DawidSkene().fit(c.judgements) if by == "merged" else None
    given = q.Given(gold=c.gold) if by == "gold" else q.Given()
    found = shares(c, Evidence(c.judgements, given, merged=merged))
    assert found["yes"] == found["no"] == 1
    assert found["good"] > 0.85
    for kind in ("adversarial", "random", "pattern"):
        assert found[kind] >= 0.7, (kind, found)
    if by != "others":  # shares of votes cannot tell sloppy from good as well
        assert found["sloppy"] >= 0.6
        assert found["biased"] >= 0.6


def test_good_assessors_are_hardly_ever_called_spammers() -> None:
    wrong = 0
    for seed in range(5):
        c = q.simulate(assessors=60, votes=5, runs=0, seed=seed, difficulty=0.2)
        found = suspect(Evidence(c.judgements))
        honest = np.isin(c.assessors["kind"].astype(str), ["good", "biased"])
        wrong += int(np.isin(found.type[honest], ["uniform", "adversarial"]).sum())
    assert wrong <= 2


def test_few_judgements_are_too_little_data() -> None:
    c = q.simulate(topics=2, documents=20, assessors=20, votes=3, seed=1)
    found = suspect(Evidence(c.judgements), enough=1000)
    assert set(found.type) == {"too little data"}
    assert set(suspect(Evidence(c.judgements)).type) <= set(TYPES)


def test_gold_counts_only_where_there_is_enough() -> None:
    c = q.simulate(seed=1, gold=0.05)
    evidence = Evidence(c.judgements, q.Given(gold=c.gold))
    found = suspect(evidence, enough=10)
    assert ((found.reference == "gold") == (evidence.by_gold.n >= 10)).all()


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
