"""Dawid & Skene's EM over assessors' confusion matrices."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from qrowd.aggregation.confusion import ConfusionEM, confusion_columns, earlier_counts
from qrowd.aggregation.fit import Fitting, topic_folds
from qrowd.data.arrays import Codes, Floats, Mask
from qrowd.data.details import Details
from qrowd.data.given import NOTHING, UNKNOWN, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.errors import NotConvergedWarning, UsageError
from qrowd.registry import method, param, spec_of

HONEST_DIAGONAL = 0.9
GOLD_WEIGHTS = (1.0, 10.0, 100.0, 1000.0)


@method(
    "ds",
    paper="Dawid & Skene 1979",
    uses=("gold", "priors"),
    assumes_independence=True,
    draws_rank=1,
)
class DawidSkene:
    r"""Dawid-Skene: EM with a full confusion matrix per assessor.

    The true grade $z_i$ of pair $i$ is drawn from the prior $p$, and assessor $k$ says $h$ where
    $g$ is true with probability $\pi^k_{gh}$. EM alternates between the posterior (E step)

    $$T_{ig} = P(z_i = g) \propto p_g \prod_{k} \prod_{h} (\pi^k_{gh})^{n^k_{ih}}$$

    with $n^k_{ih}$ the (weighted) number of times that $k$ said $h$ on $i$, and the parameters from
    soft counts (M step)

    $$\pi^k_{gh} = \frac{\sum_i T_{ig} n^k_{ih} + a}{\sum_{h'} (\sum_i T_{ig} n^k_{ih'} + a)},
      \qquad p_g = \frac{\sum_i T_{ig} + a}{\sum_{g'} (\sum_i T_{ig'} + a)}$$

    where $a$ is `smoothing` (0: maximum likelihood). The log-likelihood, the sum over pairs of
    $\log \sum_g p_g \prod_k \prod_h (\pi^k_{gh})^{n^k_{ih}}$, never falls; the fit stops when it
    gains less than `tol` per judgement, or, with `stop=posterior`, when no posterior moves by more
    than `move`. Only pairs with votes take part; the others stay at $1/K$. An assessor for whom
    $\pi^k_{gh}$ is the same for all $g$ (for two grades: sensitivity = 1 - specificity) changes no
    posterior.

    Matrices and prior are shared over topics. `prior=topic` gives each topic its own prior,
    `per_topic` its own matrices too, as if topics were merged one by one.

    EM finds a local maximum, so that the start matters: `init=mv` starts from the shares of votes,
    `honest` from matrices with 0.9 on the diagonal, `random` from random posteriors (it may end
    with the grades' names exchanged), `gold` from matrices counted on gold pairs only, each
    assessor's leaning with the weight of one judgement per grade towards everybody's.

    Gold pairs are certain: they are never overturned, and teach the matrices and the prior
    (`clamp=false` turns that off). Where there are many more pairs without gold, these drown what
    gold teaches (Nigam et al. 2000): with `gold_weight` $w$ each judgement of a gold pair counts
    $w$ times in the matrices. `gold_weight=none` chooses 1, 10, 100 or 1000 by the log loss on gold
    of held-out topics (five folds). `Given(priors=...)` adds an earlier fit's assessors' table as
    pseudo-counts, each of its judgements counting `trust`. `counts=hard` counts only each pair's
    likeliest grade in the M step, as Piazzon 2019 writes it.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 9, list("aaabbbccc"), ["ann", "bob", "eve"] * 3, [1, 1, 0, 0, 0, 0, 1, 1, 0]
    ... )
    >>> merged = q.DawidSkene().fit(crowd)
    >>> merged.relevant.round(2).tolist()
    [1.0, 0.0, 1.0]
    >>> merged.assessors["accuracy"].round(2).tolist()
    [1.0, 1.0, 0.33]

    References: Dawid & Skene 1979; Piazzon 2019, section 2.5.2; Nigam, McCallum, Thrun &
    Mitchell 2000.
    """

    init: str = param("mv", "how EM starts", choices=("mv", "random", "honest", "gold"))
    prior: str = param("shared", "one prior, or one per topic", choices=("shared", "topic"))
    per_topic: bool = param(False, "separate matrices and prior for each topic")
    counts: str = param(
        "soft", "whether the M step counts probabilities or labels", choices=("soft", "hard")
    )
    smoothing: float = param(0.0, "added to every count of matrices and prior", at_least=0)
    trust: float = param(1.0, "how much each judgement behind `priors` counts", at_least=0)
    stop: str = param(
        "likelihood", "which quantity must converge", choices=("likelihood", "posterior")
    )
    tol: float = param(1e-7, "stop when the log-likelihood gains less per judgement", above=0)
    move: float = param(
        1e-3, "with stop=posterior: the largest change of a posterior at convergence", above=0
    )
    max_iter: int = param(1000, "maximum number of EM iterations", at_least=1)
    clamp: bool = param(True, "treat gold as certain, and learn from it")
    gold_weight: float | None = param(
        1.0, "how often a gold pair's judgements count; none: learned on gold", above=0
    )
    seed: int = param(0, "of the random start", at_least=0)

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """Posterior of every pair of the pool, and the assessors' confusion matrices."""
        if self.gold_weight is None:  # the one that predicts gold of held-out topics best
            weight, note = _best_gold_weight(self, judgements, given)
            merged = replace(self, gold_weight=weight).fit(judgements, given)
            fit = replace(merged.fit, method=spec_of(self), notes=(note, *merged.fit.notes))
            made = merged.provenance and replace(merged.provenance, method=spec_of(self))
            return replace(merged, fit=fit, provenance=made)
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        earlier = earlier_counts(fitting, self.trust)
        em = self._em(fitting, earlier)
        self._start(em, fitting)
        enough = self.tol * max(len(judgements), 1)
        for _ in fitting.iterations(self.max_iter):
            gain = fitting.gain(em.m_step() + em.e_step())
            close = em.moved <= self.move if self.stop == "posterior" else abs(gain) < enough
            fitting.settled = close
        columns = confusion_columns(em.counts + earlier, fitting.judgements.scale)
        seen = None
        if self.init == "gold":  # the start has seen all gold, also where none of it is clamped
            seen = fitting.given.with_gold(fitting.judgements)[1] != UNKNOWN
        details = Details(prior=em.prior)
        return fitting.merged(em.posterior, columns, given_pairs=seen, details=details)

    def _em(self, fitting: Fitting, earlier: Floats) -> ConfusionEM:
        """The algorithm on these judgements. A cell has a confusion matrix of its own: an assessor,
        or an assessor (`owner`) on one topic; `pseudo` is added to the counts of its matrix.
        """
        rows = self._weighted(fitting)
        cell, owner = _topic_cells(rows) if self.per_topic else (None, None)
        by_topic = self.per_topic or self.prior == "topic"
        pseudo = np.full((len(rows.scale), len(rows.scale)), self.smoothing)
        if earlier.any():
            earlier_by_cell = earlier if owner is None else earlier[owner]  # [cell, said, true]
            pseudo = (earlier_by_cell + self.smoothing).reshape(-1, len(rows.scale))
        return ConfusionEM(
            rows,
            fitting.gold,
            cell=cell,
            owner=owner,
            group=rows.pairs.topic if by_topic else None,
            pseudo=pseudo,
            smoothing=self.smoothing,
            hard=self.counts == "hard",
        )

    def _weighted(self, fitting: Fitting) -> Judgements:
        """The judgements, those of gold pairs with their weight: clamped, they only teach."""
        rows, gold = fitting.judgements, fitting.gold != UNKNOWN
        if self.gold_weight in (None, 1.0) or not gold.any():
            return rows
        times = np.where(gold[rows.pair], self.gold_weight, 1.0)
        return replace(rows, weight=times if rows.weight is None else times * rows.weight)

    def _start(self, em: ConfusionEM, fitting: Fitting) -> None:
        if self.init == "mv":
            em.count(fitting.shares())
        elif self.init == "random":
            em.count(fitting.clamped(_random_posterior(fitting.judgements, self.seed)))
        else:
            em.log_said[:] = np.log(self._first_matrices(em, fitting))
            em.e_step()

    def _first_matrices(self, em: ConfusionEM, fitting: Fitting) -> Floats:
        size = em.size
        if self.init == "honest":
            matrix = np.full((size, size), (1 - HONEST_DIAGONAL) / (size - 1))
            np.fill_diagonal(matrix, HONEST_DIAGONAL)
            return np.tile(matrix, (em.cells, 1))
        if fitting.given.gold is None:
            raise UsageError(
                "ds(init='gold') needs gold: Given(gold=...), on the command line --gold"
            )
        codes = fitting.given.with_gold(fitting.judgements)[1]
        em.count((codes[:, None] == np.arange(size)).astype(np.float64))  # nothing elsewhere
        everybody = em.cell_counts.sum(axis=0) + 1.0
        prior = everybody / everybody.sum(axis=0)  # one judgement per true grade, as everybody's
        counts = em.cell_counts + prior
        return np.asarray((counts / counts.sum(axis=1, keepdims=True)).reshape(-1, size))


def _random_posterior(rows: Judgements, seed: int) -> Floats:
    """Uniform over distributions, keyed by (seed, topic, document): Dirichlet(1, ..., 1)."""
    every = np.arange(len(rows.pairs), dtype=np.int32)
    size = len(rows.scale)
    hashed = [rows.pairs.hashes(every, seed * size + code) for code in range(size)]
    uniform = (np.stack(hashed, axis=1) >> np.uint64(11)) * 2.0**-53  # 53 bits fill a float
    weights = -np.log1p(-uniform) + 1e-300  # no row of zeros
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _topic_cells(rows: Judgements) -> tuple[Codes, Codes]:
    """A code for each (topic, assessor) with judgements, per judgement; and whose code it is."""
    topic = rows.pairs.topic[rows.pair].astype(np.int64)
    key = topic * len(rows.assessors) + rows.assessor
    whole = len(rows.topics) * len(rows.assessors)
    if whole <= 8 * len(rows):  # counting is many times faster than sorting
        occurs = np.bincount(key, minlength=whole) > 0
        distinct, cell = np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[key]
    else:
        distinct, cell = np.unique(key, return_inverse=True)
    owner = distinct % max(len(rows.assessors), 1)
    return cell.astype(np.int32), owner.astype(np.int32)


# --- the weight of gold ---------------------------------------------------------------------------


def _best_gold_weight(
    method: DawidSkene, judgements: Judgements, given: Given
) -> tuple[float, str]:
    """The `gold_weight` whose fits predict gold of held-out topics best, and why."""
    gold = given.gold
    judged = None if gold is None else gold.select(judgements.pairs.locate(gold.pairs) >= 0)
    if judged is None or len(judged.topics) < 2:
        return 1.0, "gold weight 1: gold of two topics or more would be needed to learn it"
    fold = topic_folds(judged.pairs, np.arange(len(judged)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        losses = {}
        for weight in GOLD_WEIGHTS:
            weighted = replace(method, gold_weight=weight)
            parts = [
                _loss(weighted, judgements, given, judged, fold == part) for part in np.unique(fold)
            ]
            losses[weight] = sum(parts) / len(judged)
    best = min(losses, key=lambda weight: losses[weight])
    listed = ", ".join(f"{weight:g}: {loss:.3f}" for weight, loss in losses.items())
    return best, f"gold weight {best:g}, by the log loss on gold of held-out topics ({listed})"


def _loss(
    method: DawidSkene, judgements: Judgements, given: Given, gold: Qrels, held_out: Mask
) -> float:
    """The log loss on this part of the gold, of a fit that sees the rest."""
    merged = method.fit(judgements, replace(given, gold=gold.select(~held_out), progress=None))
    held = gold.select(held_out)
    codes = merged.scale.codes_of_gold(held.grade)
    odds = merged.log_odds[merged.pairs.locate(held.pairs)]
    return float(np.logaddexp(0.0, np.where(merged.scale.relevant[codes], -odds, odds)).sum())
