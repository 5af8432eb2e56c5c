"""Faults that other libraries have, one test each: ours must not have them."""

from __future__ import annotations

import tracemalloc

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


@pytest.mark.parametrize(
    "spec", ["mace", "mace(inference='em')", "one-coin", "two-coin", "glad(tol=1e-5)", "kos"]
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
        *("mv", "binmv", "qbinmv", "wmv-iter(max_iter=3)", "turkrank(max_iter=3)", "stack"),
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
        np.repeat("t", 100_000), docs.astype(str), random.integers(0, 20_000, 100_000).astype(str),
        said,
    )  # fmt: skip
    tracemalloc.start()
    try:
        q.get(spec).fit(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300e6
