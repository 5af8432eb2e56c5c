"""hier-bayes against exact enumeration, against NUTS, and against its own prior."""

from __future__ import annotations

import itertools
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, roots_legendre
from scipy.stats import chi2

import qrowd as q
from qrowd.data.arrays import Floats
from qrowd.errors import NotConvergedWarning

KAPPA_MIN = 0.1


def fitted(rows: q.Judgements, given: q.Given = q.NOTHING, **parameters: Any) -> q.Merged:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        merged: q.Merged = q.HierBayes(**parameters).fit(rows, given)
    return merged


# --- enumeration ----------------------------------------------------------------------------------


def legendre(n: int, lo: float, hi: float) -> tuple[Floats, Floats]:
    nodes, weights = roots_legendre(n)
    return lo + (hi - lo) * (nodes + 1) / 2, weights * (hi - lo) / 2


def population_evidence(counts: Floats, phi: Floats) -> Floats:
    """The evidence of counts[member, (no, yes)] at each phi, kappa ~ Pareto(1.5) integrated out."""
    u, weight = legendre(40, 0.0, 1.0)
    kappa = KAPPA_MIN * u ** (-1 / 1.5)
    a, b = kappa * phi[..., None], kappa * (1 - phi[..., None])
    log = np.zeros_like(a)
    for no, yes in counts:
        log += gammaln(a + yes) - gammaln(a) + gammaln(b + no) - gammaln(b)
        log -= gammaln(kappa + no + yes) - gammaln(kappa)
    return np.asarray((np.exp(log) * weight).sum(axis=-1))


def joint(z: tuple[int, ...], rows: list[tuple[int, int, int]], topic: list[int]) -> float:
    """P(z, y) with everything else integrated out, up to a constant; phi_0 + phi_1 > 1."""
    topics, assessors = max(topic) + 1, max(j for _, j, _ in rows) + 1
    prevalence, right = np.zeros((topics, 2)), np.zeros((2, assessors, 2))
    for i, true in enumerate(z):
        prevalence[topic[i], true] += 1
    for i, j, said in rows:
        right[z[i], j, int(said == z[i])] += 1
    phi, weight = legendre(32, 0.0, 1.0)
    total = float((population_evidence(prevalence, phi) * weight).sum())
    inner = np.stack([legendre(20, 1 - first, 1.0)[0] for first in phi])
    inner_weight = np.stack([legendre(20, 1 - first, 1.0)[1] for first in phi])
    second = (population_evidence(right[1], inner) * inner_weight).sum(axis=1)
    return total * float((population_evidence(right[0], phi) * second * weight).sum())


@pytest.mark.parametrize("gold", [None, {0: 0, 3: 1}])
def test_exact_enumeration(gold: dict[int, int] | None) -> None:
    topic = [0, 0, 0, 1, 1, 1]
    said: list[list[int | None]] = [
        [1, 1, 0],
        [0, 0, 1],
        [1, 1, 1],
        [0, 0, None],
        [1, 1, 0],
        [0, 1, 0],
    ]
    rows = [(i, j, s) for i, row in enumerate(said) for j, s in enumerate(row) if s is not None]
    rows.append((2, 0, 1))  # somebody says it twice
    weight = np.zeros((6, 2))
    for z in itertools.product((0, 1), repeat=6):
        if all(z[i] == true for i, true in (gold or {}).items()):
            weight[np.arange(6), z] += joint(z, rows, topic)
    exact = weight[:, 1] / weight.sum(axis=1)
    names = [f"t{topic[i]}" for i, _, _ in rows], [f"d{i}" for i, _, _ in rows]
    crowd = q.Judgements.of(*names, [f"a{j}" for _, j, _ in rows], [s for _, _, s in rows])
    known = q.Given(
        gold=q.Qrels.of([f"t{topic[i]}" for i in gold], [f"d{i}" for i in gold], [*gold.values()])
        if gold
        else None
    )
    merged = fitted(crowd, known, sweeps=40_000, warmup=2000, scans=1)
    np.testing.assert_allclose(merged.relevant, exact, atol=0.012)


# --- NUTS -----------------------------------------------------------------------------------------


def test_nuts() -> None:
    """Means within a tenth of a posterior standard deviation of a long NUTS run's."""
    fixture = json.loads(Path(__file__).with_name("nuts_hier_bayes.json").read_text())
    data, posterior = fixture["data"], fixture["posterior"]
    topics = [f"t{data['topic'][i]}" for i in data["pair"]]
    documents = [f"d{i:03d}" for i in data["pair"]]
    who = [f"a{j:02d}" for j in data["assessor"]]
    crowd = q.Judgements.of(topics, documents, who, data["grade"])
    merged = fitted(crowd, sweeps=20_000)
    chains = merged.details["chains"]
    for name, expected in posterior.items():
        if name == "relevant":
            order = [int(d[1:]) for d in merged.pairs.document_names]
            found, wanted = merged.relevant, np.array(expected["mean"])[order]
            tolerance = np.full(len(found), 0.01)
        else:
            drawn = chains.pooled(name).astype(np.float64)
            found = (np.log(drawn) if name.startswith("kappa") else drawn).mean(axis=0)
            wanted, tolerance = np.array(expected["mean"]), 0.1 * np.array(expected["sd"])
        assert (np.abs(found - wanted) < tolerance).all(), name


# --- simulation-based calibration -----------------------------------------------------------------


def from_prior(random: np.random.Generator, topics: int, documents: int, assessors: int) -> Any:
    """Parameters and judgements drawn from the prior, constrained as the sampler is."""
    phi = random.random(3)
    while phi[1] + phi[2] <= 1:
        phi = random.random(3)
    kappa = 1.0 * random.random(3) ** (-1 / 1.5)
    sizes = (topics, assessors, assessors)
    members = [
        random.beta(k * p, k * (1 - p), n) for p, k, n in zip(phi, kappa, sizes, strict=True)
    ]
    prevalence, specificity, sensitivity = members
    topic = np.repeat(np.arange(topics), documents)
    z = (random.random(len(topic)) < prevalence[topic]).astype(int)
    pair = np.repeat(np.arange(len(topic)), 3)
    who = np.concatenate([random.choice(assessors, 3, replace=False) for _ in topic])
    says_one = np.where(z[pair] == 1, sensitivity[who], 1 - specificity[who])
    grade = (random.random(len(pair)) < says_one).astype(int)
    crowd = q.Judgements.of(
        [f"t{topic[i]}" for i in pair],
        [f"d{i:03d}" for i in pair],
        [f"a{j}" for j in [*who]],
        grade,
    )
    truth = {
        **dict(zip(("phi_prevalence", "phi_specificity", "phi_sensitivity"), phi, strict=True)),
        **dict(
            zip(("kappa_prevalence", "kappa_specificity", "kappa_sensitivity"), kappa, strict=True)
        ),
        "prevalence": prevalence,
        "specificity": specificity,
        "sensitivity": sensitivity,
    }
    return crowd, truth, z


def ranks_of(replicates: int, bins: int = 8, thin: int = 20) -> dict[str, list[int]]:
    """The rank bin of the truth among thinned draws, per parameter, over replicates."""
    found: dict[str, list[int]] = {}
    for replicate in range(replicates):
        random = np.random.default_rng([11, replicate])
        crowd, truth, z = from_prior(random, 3, 6, 5)
        merged = fitted(
            crowd,
            sweeps=500,
            warmup=100,
            scans=2,
            draws=10_000,
            chains=2,
            kappa_min=1.0,
            seed=replicate,
        )
        chains = merged.details["chains"]
        drawn = {name: chains.pooled(name)[::thin] for name in truth}
        assert merged.samples is not None
        z_true = [z[int(d[1:])] for d in merged.pairs.document_names]
        drawn["relevant pairs"] = merged.samples.sum(axis=0)[::thin]
        for name, true in {**truth, "relevant pairs": sum(z_true)}.items():
            values = drawn[name].astype(np.float64)
            first = values if values.ndim == 1 else values[:, 0]
            mark = float(np.atleast_1d(true)[0])
            ties = random.integers((first == mark).sum() + 1)
            rank = int((first < mark).sum() + ties)
            found.setdefault(name, []).append(rank * bins // (len(first) + 1))
    return found


def test_simulation_based_calibration() -> None:
    """Ranks are uniform for every parameter; a right sampler fails once in 10,000 test suites."""
    replicates, bins = 160, 8
    found = ranks_of(replicates, bins)
    limit = chi2.isf(1e-4 / len(found), bins - 1)
    for name, ranks in found.items():
        seen = np.bincount(ranks, minlength=bins)
        statistic = ((seen - replicates / bins) ** 2 / (replicates / bins)).sum()
        assert statistic < limit, (name, seen.tolist())
