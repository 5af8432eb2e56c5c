"""The method to begin with: it looks at the crowd, and at gold if there is any, and chooses."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qrowd.aggregation.fit import Fitting, topic_folds
from qrowd.aggregation.judgements.ds import DawidSkene
from qrowd.aggregation.judgements.stack import Stacking
from qrowd.aggregation.revision import Regression, recalibrate, with_log_odds
from qrowd.data.arrays import Array, Codes, Floats
from qrowd.data.details import Details
from qrowd.data.given import NOTHING, UNKNOWN, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.errors import NotConvergedWarning
from qrowd.quality.independence import independence
from qrowd.registry import method, param

ENOUGH = 20  # judged gold pairs, of two topics or more, from which on gold chooses
TEMPER = 0.1  # correlation of errors that the probabilities of ds allow for
CHECKED = 200_000  # judgements at most whose independence is checked
REPLICATES = 5
MODEL = DawidSkene(smoothing=1.0)


@method("auto", paper="qrowd", uses=("gold",), draws_rank=4, shares=True)
class Automatic:
    r"""The method to begin with: chosen by gold where there is enough, else by a check.

    **Without gold** no method can know which is better, the vote or `ds`: where assessors err
    independently `ds` is, often by far; where they err together the vote is, and `ds` is much too
    sure. `qrowd quality --independence` tells which. Two beliefs are made. One is `ds` (with
    `smoothing=1`), its odds brought down as if each two assessors' errors correlated by $r = 0.1$:

    $$t_{ig} \propto \mathrm{ds}_{ig}^{\,1 / (1 + r (n_i - 1))}$$

    with $n_i$ the votes of pair $i$. The other is the vote, in which assessor $j$ counts by the
    cube root of $J_j$, how far `ds` finds them to tell the grades apart (for two grades:
    sensitivity + specificity - 1); who misleads ($J_j < 0$) is counted the other way round. The
    root lies between counting all alike, which leaves ties and lets those decide who say yes to
    everything, and counting by $J_j$, which trusts a clique that agrees with itself. With $x_{ig}$
    these votes for grade $g$ and $K$ the number of grades,

    $$v_{ig} = \frac{x_{ig} + 1}{\sum_h x_{ih} + K}, \qquad m_{ig} = \frac{v_{ig} + t_{ig}}{2}$$

    Where the check finds that assessors err together it is $v$; where it does not, or cannot tell,
    the mean $m$.

    **With gold** for 20 judged pairs or more, in at least two topics, the vote, `ds` and, for two
    grades, `stack` are each recalibrated (see `recalibrate`), and the one whose log loss is the
    smallest on gold of topics held out (five folds of topics) is kept. What `stack` says of a gold
    pair is learned without the pair's fold. Gold pairs keep their gold. The draws that are kept
    for intervals each come from a recalibration of their own, on topics drawn with replacement.

    What was chosen and why is among the notes of the fit, and `merge` prints it; the check's result
    is `details["independence"]`.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 9, list("aaabbbccc"), ["ann", "bob", "eve"] * 3, [1, 1, 0, 0, 0, 0, 1, 1, 0]
    ... )
    >>> merged = q.Automatic().fit(crowd)
    >>> merged.qrels().grade.tolist()
    [1, 0, 1]
    >>> merged.fit.notes[0]
    'chosen: the mean of the vote and of ds'

    References: ours; how it fares is on the page "Which method, when".
    """

    draws: int = param(200, "draws kept for intervals, where gold chose", at_least=1)
    seed: int = param(0, "of the check's made-up crowds", at_least=0)

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The probability of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given)
        labelled = np.flatnonzero((fitting.gold != UNKNOWN) & fitting.voted).astype(np.int32)
        rows = fitting.judgements
        by_gold = len(labelled) >= ENOUGH and len(np.unique(rows.pairs.topic[labelled])) > 1
        beliefs = _Beliefs(fitting, NOTHING if by_gold else replace(given, progress=None))
        columns = {"informedness": beliefs.informedness}
        if by_gold:
            made = _by_gold(fitting, beliefs, labelled, self.draws)
            return fitting.merged(made.posterior, columns, samples=made.samples)
        check = independence(
            rows, MODEL, beliefs.given, replicates=REPLICATES, most=CHECKED, seed=self.seed
        )
        kept = "the vote" if check.together else "the mean of the vote and of ds"
        fitting.notes += [f"chosen: {kept}", f"because {check.verdict}"]
        posterior = beliefs.vote if check.together else beliefs.mean
        return fitting.merged(posterior, columns, details=Details(own={"independence": check}))


@dataclass(frozen=True, eq=False)
class _Beliefs:
    """What `ds` and the vote believe, each made when it is first asked for."""

    fitting: Fitting
    given: Given

    @cached_property
    def ds(self) -> Merged:
        """The fit of Dawid and Skene's model."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            return MODEL.fit(self.fitting.judgements, self.given)

    @cached_property
    def informedness(self) -> Floats:
        """How far each assessor tells grades apart: 0 at chance, below 0 who misleads."""
        grades = self.ds.scale.grades
        right = sum(np.nan_to_num(self.ds.assessors[f"p({g}|{g})"], nan=0.5) for g in grades)
        return np.asarray((right - 1) / (len(grades) - 1))

    @cached_property
    def votes(self) -> Floats:
        """Votes[pair, grade], each by its assessor's informedness; below 0, for other grades."""
        rows, size = self.fitting.judgements, len(self.fitting.judgements.scale)
        weight = np.cbrt(np.abs(self.informedness))[rows.assessor]
        weight = weight if rows.weight is None else weight * rows.weight
        misleads = self.informedness[rows.assessor] < 0
        result = np.zeros((len(rows.pairs), size))
        for code in range(size):
            own = rows.grade == code
            share = np.where(misleads, ~own / (size - 1), own)
            result[:, code] = np.bincount(rows.pair, weight * share, len(rows.pairs))
        return result

    @cached_property
    def tempered(self) -> Floats:
        """The posterior of ds with errors that correlate allowed for."""
        total = self.fitting.vote_totals[:, None]
        log = np.log(np.maximum(self.ds.posterior, 1e-300))
        log = log / (1 + TEMPER * np.maximum(total - 1, 0))
        odds = np.exp(log - log.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    @property
    def vote(self) -> Floats:
        """The smoothed vote."""
        smoothed = self.votes + 1
        return np.asarray(smoothed / smoothed.sum(axis=1, keepdims=True))

    @property
    def mean(self) -> Floats:
        """The mean of the smoothed vote and ds."""
        return np.asarray((self.vote + self.tempered) / 2)


# --- with gold ------------------------------------------------------------------------------------


def _by_gold(fitting: Fitting, beliefs: _Beliefs, labelled: Codes, draws: int) -> Merged:
    """The belief that predicts gold of held-out topics best, recalibrated on all of it."""
    rows = fitting.judgements
    truth = rows.scale.relevant[fitting.gold[labelled]].astype(np.float64)
    topic = rows.pairs.topic
    fold = topic_folds(rows.pairs, labelled)
    candidates = {"vote": rows.scale.log_odds(beliefs.vote), "ds": beliefs.ds.log_odds}
    if rows.scale.binary:  # on gold pairs as learned from gold of other folds
        candidates["stack"] = _stack(fitting, labelled)
        for out in (fold == part for part in np.unique(fold)):
            others = _stack(fitting, labelled[~out])
            candidates["stack"][labelled[out]] = others[labelled[out]]
    losses = {name: _loss(odds, topic, labelled, truth, fold) for name, odds in candidates.items()}
    best = min(losses, key=lambda name: losses[name])
    topics = len(np.unique(topic[labelled]))
    listed = ", ".join(f"{name} {loss:.3f}" for name, loss in losses.items())
    fitting.notes += [
        f"chosen: {best}, recalibrated on {len(labelled)} gold pairs of {topics} topics",
        f"because its log loss is the smallest on gold of topics held out: {listed}",
    ]
    if len(set(truth)) == 1:
        fitting.notes.append("all of this gold is of one kind: it cannot tell the grades apart")
    base = beliefs.ds if best == "ds" else replace(beliefs.ds, posterior=beliefs.vote)
    return recalibrate(with_log_odds(base, candidates[best]), _gold(fitting, labelled), draws=draws)


def _gold(fitting: Fitting, labelled: Array) -> Qrels:
    """The gold of these pairs."""
    rows = fitting.judgements
    inside = np.zeros(len(rows.pairs), np.bool_)
    inside[labelled] = True
    grades = np.array(rows.scale.grades, np.int8)[fitting.gold[inside]]
    return Qrels(rows.pairs.select(inside), grades)


def _loss(odds: Floats, topic: Codes, labelled: Codes, truth: Floats, fold: Array) -> float:
    """The log loss on held-out gold after recalibration on the rest."""
    total = 0.0
    for out in (fold == part for part in np.unique(fold)):
        after = Regression(odds, topic, labelled[~out], truth[~out]).corrected()[labelled[out]]
        total += float(np.logaddexp(0.0, np.where(truth[out] > 0, -after, after)).sum())
    return total / len(labelled)


def _stack(fitting: Fitting, labelled: Codes) -> Floats:
    """Log odds by a stack that has seen the gold of these pairs."""
    given = Given(gold=_gold(fitting, labelled))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        return Stacking(clamp=False).fit(fitting.judgements, given).log_odds
