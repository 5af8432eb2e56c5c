"""Carpenter's hierarchical Bayesian model of crowdsourced relevance, by Gibbs sampling."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from qrowd.aggregation import hierarchy
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Grades
from qrowd.data.chains import ParameterTable
from qrowd.data.details import Caution, Details
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.errors import NotConvergedWarning, ParameterError
from qrowd.registry import method, param, spec_of

if TYPE_CHECKING:
    from qrowd.aggregation.kernels.gibbs import Record

BLOCK = 20  # sweeps between two looks at the keyboard
LOOKS = 50  # at R-hat on the way, however many sweeps: a look takes time that grows with them


@method(
    "hier-bayes",
    paper="Carpenter 2011",
    uses=("gold",),
    sampled=True,
    assumes_independence=True,
    parameter_table=True,
    draws_rank=3,
)
class HierBayes:
    r"""Hierarchical Bayes: sensitivity, specificity and prevalence with learned priors, by Gibbs.

    Topic $t$ has prevalence $\pi_t$, assessor $j$ specificity $\theta_{0j}$ and sensitivity
    $\theta_{1j}$; each kind has a population with mean $\phi$ and size $\kappa$:

    $$\phi_\pi, \phi_0, \phi_1 \sim \mathrm{Beta}(1, 1), \qquad
      \kappa_\pi, \kappa_0, \kappa_1 \sim \mathrm{Pareto}(1.5)$$

    $$\pi_t \sim \mathrm{Beta}(\kappa_\pi \phi_\pi, \kappa_\pi (1 - \phi_\pi)), \qquad
      \theta_{cj} \sim \mathrm{Beta}(\kappa_c \phi_c, \kappa_c (1 - \phi_c))$$

    $$z_i \sim \mathrm{Bern}(\pi_{t(i)}), \qquad
      y_k \sim \mathrm{Bern}(z_{i(k)} \theta_{1 j(k)} + (1 - z_{i(k)}) (1 - \theta_{0 j(k)}))$$

    With more than two grades Beta becomes Dirichlet: each assessor has a confusion matrix, row $c$
    from $\mathrm{Dir}(\kappa_c \phi_c)$. The printed joint density lacks the priors of $\theta$;
    the statements above are what is sampled. The Pareto's minimum, not printed either, is
    `kappa_min`.

    Exchanging the grades' names is an exact symmetry of the model. Chains start from the vote (ties
    by coins, hyperparameters from wide distributions) and are kept where $\phi_0 + \phi_1 > 1$
    (with more grades: no two grades would do better with their names swapped); a `DataWarning`
    says so where the judgements, by weight, speak against what was found.

    A sweep proposes to swap two grades' names in $z$ (unless gold tells them apart): the way out
    where a misleading vote started a chain in the mirror. It updates $(\phi, \kappa)$ of each
    population by slice sampling with $\pi$ and $\theta$ integrated out, then, `scans` times,
    $\theta$ given $z$, and each $z_i$ given $\theta$ and the other $z$ with $\pi$ integrated out.
    During the warm-up there is one scan. The posterior is the average of $P(z_i | \text{rest})$,
    not of draws. Gold is clamped. Pairs without votes stay at $1/K$.

    `details` holds `chains` (draws of all parameters, `.to_arviz()`), `parameters` (mean, standard
    deviation, 95 % interval, R-hat, effective sample sizes) and `warmup` (hyperparameters before);
    `.draws()` are draws from the posterior of z. The fit has converged when every R-hat is at most
    1.01; a warning names what did not mix.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 9, list("aaabbbccc"), ["ann", "bob", "eve"] * 3, [1, 1, 0, 0, 0, 0, 1, 1, 0]
    ... )
    >>> merged = q.HierBayes(sweeps=6000).fit(crowd)
    >>> merged.qrels().grade.tolist()
    [1, 0, 1]
    >>> merged.details["chains"]["sensitivity"].shape
    (3, 3000, 3)

    References: Carpenter 2011. Diagnostics: Vehtari et al. 2021.
    """

    chains: int = param(3, "chains, run side by side", at_least=2)
    sweeps: int = param(2000, "sweeps of each chain", at_least=20)
    warmup: int | None = param(None, "sweeps that are dropped; none: half of them", at_least=0)
    scans: int = param(4, "updates of assessors and relevance per kept sweep", at_least=1)
    draws: int = param(1000, "draws of the relevance of all pairs to keep", at_least=1)
    kappa_min: float = param(0.1, "the smallest size of a population", above=0)
    clamp: bool = param(True, "treat gold as certain, and learn from it")
    seed: int = param(0, "of the random numbers", at_least=0)

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """Posterior of every pair of the pool, draws, and what was learned of the assessors."""
        from qrowd.comparison.diagnostics import summarise

        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        layout = hierarchy.lay_out(fitting.judgements, fitting.gold, self.kappa_min)
        each = -(-self.draws // self.chains)
        record = hierarchy.blank(layout, self.chains, self.sweeps, self._dropped, each)
        done = self._run(layout, record, fitting)
        finished, kept = min(done) == self.sweeps, sum(done) - self.chains * self._dropped
        samples = self._samples(layout, record, done)
        likelihood = hierarchy.likelihood_of(record, layout) if finished else None
        record = record._replace(z=record.z[:, :0].copy())  # its memory is free for what follows
        chains = hierarchy.chains_of(record, layout.judgements, self._dropped, min(done))
        chains = replace(chains, likelihood=likelihood)
        parameters = summarise(chains)
        # the average of P(z | rest) over all scans of all chains
        posterior = np.full((len(layout.judgements.pairs), layout.grades), 1.0 / layout.grades)
        posterior[layout.order] = record.p.sum(axis=0) / (self.scans * kept)
        posterior = fitting.clamped(posterior)
        confusion = hierarchy.confusion_of(record, kept)
        complaint = hierarchy.unmixed(parameters, min(done) - self._dropped)
        fitting.settled = finished and not complaint
        if complaint:
            fitting.notes.append(Caution(complaint))
        if complaint and finished:
            message = f"{spec_of(self)}: {complaint}; {self._remedy(parameters)}"
            warnings.warn(message, NotConvergedWarning, stacklevel=2)
        columns = hierarchy.assessor_columns(layout.judgements, posterior, confusion, parameters)
        hierarchy.warn_of_contrary(fitting, confusion)
        warmup = record.hyper[:, : self._dropped]
        details = Details(chains=chains, parameters=parameters, warmup=warmup)
        return fitting.merged(posterior, columns, details=details, samples=samples)

    @property
    def _dropped(self) -> int:
        dropped = self.sweeps // 2 if self.warmup is None else self.warmup
        if dropped > self.sweeps - 8:
            raise ParameterError(
                f"hier-bayes: warmup must leave 8 of {self.sweeps} sweeps, got {dropped}"
            )
        return dropped

    def _run(self, layout: hierarchy.Layout, record: Record, fitting: Fitting) -> list[int]:
        from qrowd.aggregation.kernels.gibbs import sweeps
        from qrowd.comparison.diagnostics import rhat

        states = [hierarchy.start(layout, self.seed, chain) for chain in range(self.chains)]

        def work(chain: int, first: int, last: int) -> None:
            own = type(record)(*(part[chain] for part in record))
            sweeps(first, last, self._dropped, self.scans, layout.crowd, states[chain], own)

        due, worst = 0, math.nan

        def report(done: int) -> None:
            nonlocal due, worst
            if fitting.given.progress is not None and done >= due:
                # the worst R-hat of the hyperparameters over what counts of the sweeps so far
                dropped = self._dropped if done >= self._dropped + 8 else done // 2
                drawn = record.hyper[:, dropped:done]
                worst = float(rhat(drawn.reshape(*drawn.shape[:2], -1)).max())
                due = done + self.sweeps // LOOKS
            for sweep in range(fitting.steps + 1, done + 1):
                if fitting.given.progress is not None:
                    fitting.given.progress(sweep, self.sweeps, worst)
            fitting.steps = done

        done, interrupted = hierarchy.side_by_side(self.chains, self.sweeps, BLOCK, work, report)
        fitting.steps = min(done)
        if interrupted and fitting.steps < self._dropped + 8:
            raise KeyboardInterrupt("interrupted before any draw was to be kept")
        if interrupted:
            fitting.notes.append(f"interrupted after {fitting.steps} of {self.sweeps} sweeps")
            message = f"{spec_of(self)} was {fitting.notes[-1]}; what was drawn is kept"
            warnings.warn(message, NotConvergedWarning, stacklevel=4)
        return done

    def _remedy(self, parameters: ParameterTable) -> str:
        """What helps: a size of a population that wanders near 0 needs more than patience."""
        patience = f"sweeps={4 * self.sweeps}"
        sizes = np.array([str(name).startswith("kappa") for name in parameters.parameter])
        if self.kappa_min < 1 and (parameters["rhat"][sizes] > hierarchy.MOST_RHAT).any():
            return (
                "few assessors or topics leave the sizes of populations (kappa) open: "
                f"set kappa_min=1 and {patience}"
            )
        return f"allow more sweeps: {patience}"

    def _samples(self, layout: hierarchy.Layout, record: Record, done: list[int]) -> Grades:
        """Draws of z[pairs, draws], chain after chain; coins where a pair takes no part."""
        random = np.random.default_rng(self.seed)
        whole = self.sweeps - self._dropped
        drawn = [
            part[: (sweeps - self._dropped) * len(part) // whole]
            for part, sweeps in zip(record.z, done, strict=True)
        ]
        samples = np.empty((len(layout.judgements.pairs), sum(map(len, drawn))), np.int8)
        silent = np.ones(len(samples), np.bool_)
        silent[layout.order] = False
        coins = (int(silent.sum()), samples.shape[1])
        samples[silent] = random.integers(layout.grades, size=coins, dtype=np.int8)
        at = 0
        for part in drawn:
            samples[layout.order, at : at + len(part)] = part.T
            at += len(part)
        return samples
