"""hier-vb: what it promises beside the contract."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import digamma, gammaln

import qrowd as q
from qrowd.aggregation.judgements.hier_vb import Populations, log_evidence
from qrowd.errors import NotConvergedWarning


@pytest.fixture(scope="module")
def crowd() -> q.Judgements:
    return q.simulate(topics=6, documents=60, assessors=25, votes=5, seed=4).judgements


def bound_by_loops(rows: q.Judgements, merged: q.Merged) -> float:
    """E_q log p(y, z, pi, theta, kappa) - E_q log q, term by term."""
    phi, kappa, p = merged.details["phi"], merged.details["kappa"], merged.posterior
    total = -1.5 * float(np.log(kappa).sum()) - float((p * np.log(np.maximum(p, 1e-300))).sum())
    members = [(0, p[rows.pairs.topic == t].sum(axis=0)) for t in range(len(rows.topics))]
    for assessor in range(len(rows.assessors)):
        for true in (0, 1):
            counts = np.zeros(2)
            for k in np.flatnonzero(rows.assessor == assessor):
                counts[rows.grade[k]] += p[rows.pair[k], true]
            members.append((1 + true, counts))
    for population, counts in members:
        prior = kappa[population] * phi[population]
        own = prior + counts
        logs = digamma(own) - digamma(own.sum())
        total += float((counts * logs).sum())
        for a, sign in ((prior, 1), (own, -1)):
            normaliser = gammaln(a.sum()) - gammaln(a).sum()
            total += sign * float(normaliser + ((a - 1) * logs).sum())
    return total


def test_the_bound_is_what_it_says_and_never_falls(crowd: q.Judgements) -> None:
    merged = q.HierVB(tol=1e-12).fit(crowd)
    assert np.diff(merged.fit.trace).min() > -1e-7
    assert merged.fit.trace[-1] == pytest.approx(bound_by_loops(crowd, merged), abs=1e-4)


def test_evidence_by_loops() -> None:
    alpha, counts = np.array([0.7, 1.9]), np.array([[3.0, 1.0], [0.0, 2.0]])
    expected = 0.0
    for row in counts:
        drawn = np.zeros(2)
        for grade, times in enumerate(row):
            for _ in range(int(times)):  # Polya's urn
                expected += np.log((alpha[grade] + drawn[grade]) / (alpha.sum() + drawn.sum()))
                drawn[grade] += 1
    assert log_evidence(alpha, counts) == pytest.approx(expected)


def test_newton_finds_the_top() -> None:
    random = np.random.default_rng(0)
    counts = np.stack([random.binomial(20, random.beta(3, 1, 200)) * 1.0 for _ in range(2)], axis=1)
    counts[:, 1] = 20 - counts[:, 0]
    made = Populations(np.array([[2.0, 2.0], [3.0, 1.0], [1.0, 3.0]]), 0.1)
    for _ in range(30):
        made.climb(0, counts)
    best, top = made.alpha[0].copy(), made.evidence[0]
    for shift in ((0.99, 1.0), (1.01, 1.0), (1.0, 0.99), (1.0, 1.01)):
        other = best * shift
        assert log_evidence(other, counts) - 1.5 * np.log(other.sum()) < top


def test_near_to_the_sampled_posterior(crowd: q.Judgements) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        sampled = q.HierBayes(sweeps=1000).fit(crowd)
    merged = q.HierVB().fit(crowd)
    differ = (merged.relevant > 0.5) != (sampled.relevant > 0.5)
    assert differ.mean() < 0.02
    close = np.abs(merged.assessors["sensitivity"] - sampled.assessors["sensitivity"])
    assert close.mean() < 0.03


def test_parameters_are_named_as_the_sampled_ones(crowd: q.Judgements) -> None:
    table = q.HierVB().fit(crowd).details["parameters"]
    assert table.parameter[0] == "phi_prevalence"
    assert (table.of("sensitivity", "low") < table.of("sensitivity", "mean")).all()
    assert np.isnan(table.of("kappa_sensitivity", "low")).all()
    assert (table.of("kappa_sensitivity", "mean") > 0.1).all()


def test_trec_rf10(real_data: Any) -> None:
    crowd = q.read_judgements(real_data / "trec_rf10" / "judgements.tsv.gz")
    gold = q.read_qrels(real_data / "trec_rf10" / "gold.qrels.gz")
    merged = q.HierVB().fit(crowd)
    at = merged.pairs.locate(gold.pairs)
    right = merged.grades()[at[at >= 0]] == gold.grade[at >= 0]
    assert right.mean() > 0.69
    chosen = np.arange(len(gold)) % 2 == 0
    taught = q.HierVB().fit(crowd, q.Given(gold=gold.select(chosen)))
    held_out = ~chosen & (at >= 0)
    after = taught.grades()[taught.pairs.locate(gold.pairs)][held_out] == gold.grade[held_out]
    before = merged.grades()[at[held_out]] == gold.grade[held_out]
    assert after.mean() > before.mean()
