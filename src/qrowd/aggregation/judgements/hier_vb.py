"""Carpenter's hierarchical Bayesian model of crowdsourced relevance, by variational inference."""

from __future__ import annotations

import warnings

import numpy as np

from qrowd.aggregation.confusion import ConfusionEM
from qrowd.aggregation.fit import Fitting
from qrowd.aggregation.hierarchy import (
    CONTRARY,
    Populations,
    assessor_columns,
    beta_parameters,
    contrary,
    expected_logs,
)
from qrowd.data.arrays import Floats
from qrowd.data.details import Caution, Details
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.errors import DataWarning
from qrowd.registry import method, param, spec_of

PARETO = 1.5


@method(
    "hier-vb",
    paper="Carpenter 2011",
    uses=("gold",),
    assumes_independence=True,
    parameter_table=True,
    draws_rank=2,
)
class HierVB:
    r"""Hierarchical Bayes: the model of `hier-bayes`, by variational inference.

    The posterior is sought among the products

    $$q(z) \, q(\pi) \, q(\theta) = \prod_i q(z_i) \prod_t \mathrm{Dir}(\pi_t | \hat\alpha_t)
      \prod_{j,c} \mathrm{Dir}(\theta_{cj} | \hat\alpha_{cj})$$

    nearest to it, and $(\phi, \kappa)$ are set to their likeliest values. One iteration updates
    $q(z_i = c) \propto \exp(E \log \pi_{tc} + \sum_k E \log \theta_{c j(k) y_k})$, then, with the
    expected counts $n$ of that, each population's $\alpha = \kappa \phi$ by a Newton step up

    $$\sum_j \log \frac{\Gamma(\kappa) \prod_g \Gamma(\alpha_g + n_{jg})}
      {\Gamma(\kappa + n_j) \prod_g \Gamma(\alpha_g)} - 1.5 \log \kappa$$

    which is what the lower bound becomes with $q(\theta)$, $q(\pi)$ at their best,
    $\hat\alpha_{jg} = \alpha_g + n_{jg}$. The bound (the `trace`) never falls. As in `hier-bayes`,
    fits start from the vote and stay where $\phi_0 + \phi_1 > 1$; gold is clamped; pairs without
    votes stay at $1/K$.

    Decisions are nearly those of `hier-bayes`, in a thousandth of the time; probabilities are
    somewhat too sure, and the intervals of sensitivity and specificity too narrow, since q takes
    pairs and assessors for independent. The populations' $\phi$ and $\kappa$ are single values, the
    likeliest, and have no intervals (NaN in `parameters`): sample, by `hier-bayes`, where these
    matter. `details` holds `parameters` and `phi`, `kappa`.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 9, list("aaabbbccc"), ["ann", "bob", "eve"] * 3, [1, 1, 0, 0, 0, 0, 1, 1, 0]
    ... )
    >>> q.HierVB().fit(crowd).qrels().grade.tolist()
    [1, 0, 1]

    References: Carpenter 2011 for the model.
    """

    tol: float = param(1e-8, "stop when the bound gains less per judgement", above=0)
    max_iter: int = param(500, "maximum number of iterations", at_least=1)
    kappa_min: float = param(0.1, "the smallest size of a population", above=0)
    clamp: bool = param(True, "treat gold as certain, and learn from it")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """Posterior of every pair of the pool, and what was learned of the assessors."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        rows = fitting.judgements
        em = ConfusionEM(rows, fitting.gold, group=rows.pairs.topic)
        em.count(fitting.shares())
        populations = self._start(em)
        enough = self.tol * max(len(rows), 1)
        for _ in fitting.iterations(self.max_iter):
            bound = _update(em, populations)
            fitting.settled = abs(fitting.gain(bound + em.e_step())) < enough
        return self._merged(em, populations, fitting)

    def _start(self, em: ConfusionEM) -> Populations:
        """Half of each row's mean from everybody's counts, half honest; sizes 2 or the smallest."""
        phi = [_shares(em.group_counts.sum(axis=0))]
        pooled = em.cell_counts.sum(axis=0)
        phi += [(_shares(pooled[:, c]) + np.eye(em.size)[c]) / 2 for c in range(em.size)]
        return Populations(max(2.0, self.kappa_min) * np.array(phi), PARETO, self.kappa_min)

    def _merged(self, em: ConfusionEM, populations: Populations, fitting: Fitting) -> Merged:
        rows, counts = fitting.judgements, em.cell_counts
        posterior = counts.transpose(0, 2, 1) + populations.alpha[1:]
        topics = em.group_counts + populations.alpha[0]
        confusion = posterior / posterior.sum(axis=2, keepdims=True)
        parameters = beta_parameters(rows, populations, topics, posterior)
        columns = assessor_columns(rows, em.posterior, confusion, parameters)
        if (fitting.gold < 0).all() and contrary(rows, confusion):
            fitting.notes.append(Caution(CONTRARY))
            warnings.warn(f"{spec_of(self)}: {fitting.notes[-1]}", DataWarning, stacklevel=3)
        own = {"phi": populations.phi, "kappa": populations.kappa}
        details = Details(parameters=parameters, own=own)
        return fitting.merged(em.posterior, columns, details=details)


def _update(em: ConfusionEM, populations: Populations) -> float:
    """Populations and members from the counts; the bound but for the pairs' part."""
    counts, topics = em.cell_counts, em.group_counts
    bound = 0.0
    for population in range(em.size + 1):
        seen = topics if population == 0 else np.ascontiguousarray(counts[:, :, population - 1])
        populations.climb(population, seen)
        logs = expected_logs(populations.alpha[population], seen)
        bound += populations.evidence[population] - float((seen * logs).sum())
        if population == 0:
            em.log_prior = logs
        else:
            em.log_said[:, population - 1] = logs.ravel()
    return bound


def _shares(counts: Floats) -> Floats:
    """Shares of the counts, none of them 0."""
    return np.asarray((counts + 1.0) / (counts + 1.0).sum())
