"""Faults that other libraries have, one test each: ours must not have them."""

from __future__ import annotations

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


@pytest.mark.parametrize("spec", ["mace", "mace(inference='em')", "one-coin", "two-coin"])
def test_1500_judgements_on_one_pair_do_not_underflow(spec: str) -> None:
    said = (np.arange(2500) % 5 < 3).astype(int)
    rows = q.Judgements.of(["t"] * 2500, ["d"] * 2500, [f"a{k:04d}" for k in range(2500)], said)
    merged = q.get(spec).fit(rows)
    assert np.isfinite(merged.posterior).all()
    assert np.isfinite(merged.fit.trace).all()
    assert merged.relevant[0] > 0.5


@pytest.mark.parametrize("spec", ["wmv-iter", "one-coin", "turkrank"])
def test_skills_from_agreement_need_no_other_library(spec: str) -> None:
    merged = q.get(spec).fit(crowd(pairs=300, votes=6, seed=5))
    assert merged.fit.converged
    assert np.corrcoef(merged.assessors["weight"], merged.assessors["accuracy"])[0, 1] > 0.7
