"""Stacking: a logistic regression of gold on what the assessors said."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.aggregation.fit import Fitting, topic_folds
from qrowd.data.arrays import Array, Floats, Mask
from qrowd.data.details import Details
from qrowd.data.given import NOTHING, UNKNOWN, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.errors import NotConvergedWarning
from qrowd.registry import method, param

RIDGES = (1.0, 10.0, 100.0, 1000.0)
_SLACK = 1e-3  # on the intercept and the common weight: finite even if all of gold is one grade


@method("stack", paper="qrowd, after Wolpert 1992", uses=("gold",), grades="binary")
class Stacking:
    r"""Logistic regression of gold on the votes: weights that allow for assessors who err together.

    `ds` and its kin take assessors to err independently; machine judges that share a model or a
    prompt do not, and are then counted many times over. Where there is gold for some pairs, their
    weights can be learned together. With $x_{ij} = \pm 1$ what assessor $j$ said of pair $i$ (0: no
    judgement),

    $$\operatorname{logit} p_i = b + c \sum_j x_{ij} + \sum_j d_j x_{ij}$$

    maximising the likelihood of gold less $\frac{\lambda}{2} \sum_j d_j^2$: the weight $c + d_j$ of
    an assessor is shrunk towards a common one, and somebody without gold has just that. $\lambda$
    (`ridge`) is chosen among 1, 10, 100, 1000 by the likelihood of gold in five folds of topics (of
    pairs, where gold is of one topic), drawn by a hash of their names: what is learned on some
    topics has to hold on others. Gold pairs keep their gold, and those that nobody judged teach
    nothing; without gold at all the probability is the share of votes. A vote with weight 2 counts
    twice; repeated judgements add up.

    It learns the grade of *gold*, also where assessors have another notion of relevance: with
    labels 0/1 and gold from grade 2 on (`--gold-rel 2`), it finds who is strict enough.

    >>> import qrowd as q
    >>> votes = [1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0]
    >>> crowd = q.Judgements.of(["t"] * 12, list("aabbccddeeff"), ["ann", "eve"] * 6, votes)
    >>> gold = q.Qrels.of(["t"] * 4, list("abcd"), [1, 1, 1, 0])
    >>> merged = q.Stacking(ridge=1).fit(crowd, q.Given(gold=gold))
    >>> bool(merged.assessors["weight"][0] > merged.assessors["weight"][1])
    True

    References: Wolpert 1992 (stacked generalization); ours in this form.
    """

    ridge: float | None = param(None, "pull of weights towards a common one", above=0)
    clamp: bool = param(True, "gold fixes its pairs")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The probability of each grade, for every pair of the pool."""
        from scipy.sparse import csr_array
        from scipy.special import expit

        fitting = Fitting.of(self, judgements, given)
        labelled = fitting.labelled
        rows = fitting.judgements
        assessors = len(rows.assessors)
        if not len(labelled):
            fitting.notes.append("no gold on judged pairs: every assessor has the same weight")
            return fitting.merged(fitting.shares(), {"weight": np.ones(assessors)})
        vote = np.where(rows.grade == 1, 1.0, -1.0)
        vote = vote if rows.weight is None else vote * rows.weight
        votes = csr_array((vote, (rows.pair, rows.assessor)), shape=(len(rows.pairs), assessors))
        sample = _Sample(votes[labelled], fitting.gold[labelled])
        ridge = self.ridge
        if ridge is None:  # that at which the folds predict each other's gold best
            fold = topic_folds(rows.pairs, labelled)
            parts = [part for part in np.unique(fold) if 0 < (fold == part).sum() < len(fold)]
            losses = [sum(sample.loss(r, fold == part) for part in parts) for r in RIDGES]
            ridge = RIDGES[int(np.argmin(losses))]
        fitting.notes.append(f"ridge {ridge:g} ({'given' if self.ridge else 'chosen on gold'})")
        best = sample.optimum(ridge)
        fitting.trace, fitting.steps = [-float(best.fun)], max(int(best.nit), 1)
        fitting.settled = bool(best.success)
        if not fitting.settled:
            warnings.warn(
                f"{self!r} has not settled: {best.message}", NotConvergedWarning, stacklevel=2
            )
        odds = _odds(votes, best.x)
        weight = best.x[1] + best.x[2:]
        seen = fitting.gold != UNKNOWN  # it has taught the weights, also where it fixes nothing
        if not self.clamp:
            fitting.gold = np.full_like(fitting.gold, UNKNOWN)
        posterior, details = expit(np.column_stack([-odds, odds])), Details(own={"ridge": ridge})
        return fitting.merged(posterior, {"weight": weight}, given_pairs=seen, details=details)


@dataclass(frozen=True, eq=False)
class _Sample:
    """Votes[pair, assessor] (sparse, +1 or -1 times weights) on pairs with gold, and the gold."""

    votes: Any
    gold: Array

    def optimum(self, ridge: float) -> Any:
        """The best (intercept, common weight, deviations), as scipy's result."""
        from scipy.optimize import minimize
        from scipy.special import expit

        total = np.asarray(self.votes.sum(axis=1)).ravel()
        sign = np.where(self.gold == 1, 1.0, -1.0)
        penalty = np.concatenate([[_SLACK, _SLACK], np.full(self.votes.shape[1], ridge)])

        def objective(x: Floats) -> tuple[float, Floats]:
            margin = sign * _odds(self.votes, x)
            loss = np.logaddexp(0, -margin).sum() + (penalty * x * x).sum() / 2
            pull = -sign * expit(-margin)
            slope = np.concatenate([[pull.sum(), total @ pull], self.votes.T @ pull])
            return float(loss), slope + penalty * x

        options = {"maxiter": 10_000, "maxfun": 100_000, "ftol": 1e-13, "gtol": 1e-8}
        start = np.zeros(self.votes.shape[1] + 2)
        return minimize(objective, start, jac=True, method="L-BFGS-B", options=options)

    def loss(self, ridge: float, left_out: Mask) -> float:
        """The log loss on gold that is left out, of weights learned from the rest."""
        best = _Sample(self.votes[~left_out], self.gold[~left_out]).optimum(ridge)
        sign = np.where(self.gold[left_out] == 1, 1.0, -1.0)
        return float(np.logaddexp(0, -sign * _odds(self.votes[left_out], best.x)).sum())


def _odds(votes: Any, x: Floats) -> Floats:
    return np.asarray(x[0] + votes @ (x[1] + x[2:]))
