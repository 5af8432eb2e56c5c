"""Faults that other libraries have, one test each: ours must not have them.

crowd-kit's MACE answers differently for another row order (it mixes up assessors' habits), its
restarts are all the same, and it underflows at 1,500 labels on a task; its Dawid-Skene counts the
prior once per label and stops early; ties of its majority vote depend on the version of pandas; its
KOS reseeds the global generator and fails on a score of zero; its M-MSR needs 60 GB for 100,000
sparse labels; its Wawa and ZeroBasedSkill fail with current scikit-learn. peerannot's Dawid-Skene
takes the log of the sum over pairs.
"""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import qrowd as q


def crowd(pairs: int = 60, assessors: int = 10, votes: int = 5, seed: int = 0) -> q.Judgements:
    random = np.random.default_rng(seed)
    truth = random.integers(2, size=pairs)
    skill = random.uniform(0.5, 0.95, assessors)
    pair = np.repeat(np.arange(pairs), votes)
    who = np.concatenate([random.permutation(assessors)[:votes] for _ in range(pairs)])
    said = np.where(random.random(len(pair)) < skill[who], truth[pair], 1 - truth[pair])
    return q.Judgements.of(
        ["t"] * len(pair), [f"d{i:04d}" for i in pair], [f"a{j:03d}" for j in who], said
    )


def test_mace_gives_the_same_for_any_row_order() -> None:
    rows = crowd()
    names = rows.pairs.document_names[rows.pair], rows.assessors.names[rows.assessor]
    order = np.random.default_rng(1).permutation(len(rows))
    docs, who = (column[order] for column in names)
    other = q.Judgements.of(["t"] * len(rows), docs, who, rows.grade[order])
    one = q.MACE().fit(rows)
    assert np.array_equal(one.posterior, q.MACE().fit(other).posterior)


def test_mace_restarts_differ() -> None:
    starts = q.MACE(restarts=6).fit(crowd(seed=3)).details["starts"]
    assert len(starts) == 7
    assert len(set(starts)) == 7


def test_mace_keeps_each_habit_with_its_assessor() -> None:
    """Habits that are sorted by name, for assessors in the order in which they appear, are mixed up
    unless names happen to appear in order: here the last name and the last grade come first.
    """
    docs = [f"d{i:02d}" for i in range(24)]
    truth = np.array([1, 0, 1] * 8)
    said = {"zoe": np.ones(24, int), "yan": truth, "bob": truth, "amy": np.zeros(24, int)}
    rows = [(d, who, int(given[i])) for i, d in enumerate(docs) for who, given in said.items()]
    on, who, grade = zip(*rows, strict=True)
    merged = q.MACE().fit(q.Judgements.of(["t"] * len(rows), on, who, grade))
    found = dict(zip(merged.assessors.assessors.names, merged.assessors["habit(1)"], strict=True))
    known = dict(zip(merged.assessors.assessors.names, merged.assessors["competence"], strict=True))
    assert found["zoe"] > 0.95
    assert found["amy"] < 0.05
    assert min(known["yan"], known["bob"]) > 0.8 > 0.4 > max(known["zoe"], known["amy"])
    assert merged.grades().tolist() == truth.tolist()


@pytest.mark.parametrize(
    "spec",
    [
        "mace",
        "mace(inference='em')",
        "mace(prior='learned')",
        "one-coin",
        "two-coin",
        "glad(tol=1e-5)",
        "kos",
    ],
)
def test_1500_judgements_on_one_pair_do_not_underflow(spec: str) -> None:
    said = (np.arange(2500) % 5 < 3).astype(int)
    rows = q.Judgements.of(["t"] * 2500, ["d"] * 2500, [f"a{k:04d}" for k in range(2500)], said)
    merged = q.get(spec).fit(rows)
    assert np.isfinite(merged.posterior).all()
    assert np.isfinite(merged.fit.trace).all()
    assert merged.relevant[0] > 0.5 or spec == "kos"  # kos hears nobody who judged one pair


@pytest.mark.parametrize("spec", ["wmv-iter", "one-coin", "turkrank"])
def test_skills_from_agreement_need_no_other_library(spec: str) -> None:
    merged = q.get(spec).fit(crowd(pairs=300, votes=6, seed=5))
    assert merged.fit.converged
    assert np.corrcoef(merged.assessors["weight"], merged.assessors["accuracy"])[0, 1] > 0.7


VOTES = [
    (0, 0, 1),
    (0, 1, 1),
    (0, 2, 0),
    (1, 0, 0),
    (1, 1, 0),
    (1, 2, 0),
    (2, 0, 1),
    (2, 1, 1),
    (2, 2, 1),
    (3, 0, 1),
    (3, 1, 0),
]


def by_hand() -> tuple[list[float], dict[tuple[int, int, int], float]]:
    """The prior, and p[assessor, true, said], counted from the shares of VOTES."""
    share = {i: [0.0, 0.0] for i in range(4)}
    for i, _, g in VOTES:
        share[i][g] += 1 / sum(k == i for k, _, _ in VOTES)
    counts: dict[tuple[int, int, int], float] = defaultdict(float)
    for i, j, g in VOTES:
        for true in (0, 1):
            counts[j, true, g] += share[i][true]
    said = {
        (j, true, g): counts[j, true, g] / (counts[j, true, 0] + counts[j, true, 1])
        for j, true, g in itertools.product(range(3), (0, 1), (0, 1))
    }
    return [sum(share[i][true] for i in range(4)) / 4 for true in (0, 1)], said


@pytest.mark.filterwarnings("ignore:.*has not settled")
def test_the_log_likelihood_of_ds_is_the_sum_of_logs_with_one_prior_per_pair() -> None:
    """By brute force: the log of the sum over all 16 ways to label four pairs. Others take the log
    of a sum over pairs, or count the prior once per judgement.
    """
    pair, who, said = zip(*VOTES, strict=True)
    rows = q.Judgements.of(["t"] * 11, [f"d{i}" for i in pair], [f"a{j}" for j in who], said)
    found = q.DawidSkene(max_iter=1).fit(rows).fit.trace[0]
    prior, chance = by_hand()

    def joint(labels: tuple[int, ...], every: bool = False) -> float:
        votes = math.prod(chance[j, labels[i], g] for i, j, g in VOTES)
        owners = [i for i, _, _ in VOTES] if every else range(4)
        return votes * math.prod(prior[labels[i]] for i in owners)

    ways = list(itertools.product((0, 1), repeat=4))
    assert found == pytest.approx(math.log(sum(joint(way) for way in ways)), rel=1e-12)
    assert found != pytest.approx(math.log(sum(joint(way, every=True) for way in ways)), rel=0.1)
    alone = [
        prior[true] * math.prod(chance[j, true, g] for k, j, g in VOTES if k == i)
        for i in range(4)
        for true in (0, 1)
    ]
    assert found != pytest.approx(math.log(sum(alone)), rel=0.1)


def test_ds_does_not_stop_early_on_the_data_of_1979(real_data: Path) -> None:
    """An objective that counts the prior once per label stands still at iteration 4 there."""
    rows = q.read_judgements(real_data / "dawid_skene_1979" / "judgements.tsv.gz")
    fit = q.DawidSkene().fit(rows).fit
    assert fit.converged
    assert fit.iterations > 6
    assert fit.trace[-1] - fit.trace[3] > 0.01


def test_tied_votes_are_decided_by_the_stated_rule_for_any_row_order() -> None:
    docs = [f"d{i:03d}" for i in range(200)] * 2
    said = [0] * 200 + [1] * 200
    who = ["ann"] * 200 + ["bob"] * 200
    found = []
    for order in (np.arange(400), np.arange(400)[::-1], np.random.default_rng(2).permutation(400)):
        columns = ([column[k] for k in order] for column in (docs, who, said))
        merged = q.MajorityVote().fit(q.Judgements.of(["t"] * 400, *columns))
        assert set(merged.relevant) == {0.5}
        assert set(merged.grades(ties="relevant")) == {1}
        assert set(merged.grades(ties="nonrelevant")) == {0}
        found.append(merged.grades(ties="coin").tolist())
    assert found[0] == found[1] == found[2]
    assert 70 < sum(found[0]) < 130


def test_kos_leaves_the_global_generator_alone() -> None:
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    q.KOS().fit(crowd())
    assert np.array_equal(before, np.random.get_state()[1])  # type: ignore[index]  # noqa: NPY002


def test_kos_takes_a_zero_score_as_a_tie() -> None:
    rows = q.Judgements.of(["t"] * 2, ["d", "e"], ["u", "v"], [1, 0])
    merged = q.KOS().fit(rows)
    assert merged.relevant.tolist() == [0.5, 0.5]
    assert merged.grades(ties="relevant").tolist() == [1, 1]
    assert merged.grades(ties="nonrelevant").tolist() == [0, 0]


def test_kos_signs_hold_in_every_part_of_the_crowd() -> None:
    """A huge part and a tiny one that share nobody: neither drowns the other."""
    large, small = crowd(pairs=200, assessors=12, votes=10), crowd(pairs=30, assessors=9, seed=2)
    rows = [
        (f"t{part}", d, f"{part}{a}", g)
        for part, r in (("x", large), ("y", small))
        for d, a, g in zip(
            r.pairs.document_names[r.pair], r.assessors.names[r.assessor], r.grade, strict=True
        )
    ]
    topics, docs, who, said = zip(*rows, strict=True)
    merged = q.KOS().fit(q.Judgements.of(topics, docs, who, said))
    alone = q.KOS().fit(small)
    tiny = merged.pairs.topic_names == "ty"
    np.testing.assert_allclose(merged.relevant[tiny], alone.relevant, atol=1e-5)


@pytest.mark.parametrize(
    "spec",
    [
        *(
            "mv",
            "binmv",
            "qbinmv",
            "wbinmv(by=trust)",
            "wmv-iter(max_iter=3)",
            "turkrank(max_iter=3)",
            "stack",
        ),
        *("ds(max_iter=3)", "one-coin(max_iter=3)", "two-coin(max_iter=3)", "glad(max_iter=3)"),
        *("mace(max_iter=3, restarts=1)", "kos", "em-gauss(max_iter=3)", "m3v(max_iter=3)"),
        *("hier-vb(max_iter=3)",),
    ],
)
@pytest.mark.filterwarnings("ignore:.*has not settled")
def test_sparse_judgements_need_no_dense_matrix(spec: str) -> None:
    """100,000 judgements, 50,000 pairs, 20,000 assessors: either square would take gigabytes."""
    random = np.random.default_rng(0)
    docs, said = np.arange(100_000) % 50_000, random.integers(0, 2, 100_000)
    rows = q.Judgements.of(
        np.repeat("t", 100_000),
        docs.astype(str),
        random.integers(0, 20_000, 100_000).astype(str),
        said,
    )
    tracemalloc.start()
    try:
        q.get(spec).fit(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300e6
