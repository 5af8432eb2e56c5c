"""The method to begin with: it looks at the crowd, and at gold if there is any, and chooses."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qrowd.aggregation.fit import Fitting, topic_folds
from qrowd.aggregation.judgements.ds import DawidSkene
from qrowd.aggregation.judgements.joint import Joint, without_text
from qrowd.aggregation.judgements.stack import Stacking
from qrowd.aggregation.revision import Regression, recalibrate
from qrowd.data.arrays import Array, Codes, Floats
from qrowd.data.details import NONE, Details
from qrowd.data.given import NOTHING, Given
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
LEVEL = 4.0  # precision of the common shift: the share of relevant pairs differs between topics
UNSEEN = (
    "without gold nobody can see whether this crowd says yes too often, or too seldom: gold for "
    "some topics would show it"
)
DILIGENT = 0.95  # share of the pairs that who may stand alone has judged


@method("auto", paper="qrowd", uses=("gold", "documents"), draws_rank=4, shares=True)
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

    Of an assessor whose judgements stand alone nothing can be learned. Whoever has $s_j$ judgements
    on pairs that others judged too, or that have gold, is known by $k_j = s_j^2 / (s_j^2 + h^2)$
    with $h = 5 K (K - 1)$; with $k_i$ the mean over the votes of pair $i$, $a$ the assumed
    `accuracy` of a vote that stands alone, and $n_{ig}$ the plain votes, the belief is

    $$k_i \, m_{ig} + (1 - k_i) \frac{n_{ig} + c}{n_i + K c}, \qquad c = \frac{1 - a}{K a - 1}$$

    (or $v_{ig}$ for $m_{ig}$), and how many pairs follow from the assumption is said.

    **With gold** for 20 judged pairs or more, in at least two topics, the vote, `ds`, their mean
    and, for two grades, the vote with the weights of `stack` and (where documents are given)
    `joint` without the gold are each recalibrated (see `recalibrate`; the shift that all topics
    share is held to 0 with precision 4, since a handful of topics may have an unusual share of
    relevant documents), and the one whose log loss is the smallest on gold of topics held out (five
    folds of topics) is kept. What a judge says alone, of those who judged at least 95 % of the
    pairs, is kept instead where its loss is smaller still, by Student's t over topics at the level
    $1 - 1/(m + 1)$ for the best of $m$ judges. What `stack` says of a gold pair is learned without
    the pair's fold. Gold pairs keep their gold. The draws that are kept for intervals each come
    from a recalibration of their own, on topics drawn with replacement. Where what was chosen is
    right on no more of the held-out gold than the vote without gold, that is said. Without enough
    gold documents are not read.

    What was chosen is the `choice` of the fit, and why is among its notes; `merge` prints both. The
    check's result is `details["independence"]`.

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

    accuracy: float = param(
        0.8, "how often a vote is right, assumed where that cannot be learned", above=0.5, below=1
    )
    draws: int = param(200, "draws kept for intervals, where gold chose", at_least=1)
    seed: int = param(0, "of the check's made-up crowds", at_least=0)

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The probability of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given)
        labelled = fitting.labelled.astype(np.int32)
        rows = fitting.judgements
        by_gold = len(labelled) >= ENOUGH and len(np.unique(rows.pairs.topic[labelled])) > 1
        given = NOTHING if by_gold else replace(given, progress=None)
        beliefs = _Beliefs(fitting, given, self.accuracy)
        samples, details, read = None, NONE, False
        if by_gold:
            best, made = _by_gold(fitting, beliefs, labelled, self.draws)
            posterior, samples, read = made.posterior, made.samples, best == "joint"
        else:
            check = independence(
                rows, MODEL, given, replicates=REPLICATES, most=CHECKED, seed=self.seed
            )
            kept = "the vote" if check.together else "the mean of the vote and of ds"
            posterior = beliefs.vote if check.together else beliefs.mean
            details = Details(own={"independence": check})
            fitting.choice = kept
            fitting.notes += [f"chosen: {kept}", f"because {check.verdict}", UNSEEN]
        if fitting.given.documents is not None and not read:
            why = "something else predicts gold better" if by_gold else "too little gold to tell"
            fitting.notes.append(f"the documents were not used: {why}")
        strange = int((fitting.learned[fitting.voted] < 0.5).sum())
        if strange:
            fitting.notes.append(
                f"{strange} pairs keep their votes: a vote alone is taken to be right with "
                f"probability {self.accuracy:g} there, an assumption (accuracy)"
            )
        columns = {"informedness": beliefs.informedness}
        merged = fitting.merged(posterior, columns, samples=samples, details=details)
        return merged if read or fitting.given.documents is None else without_text(merged)


@dataclass(frozen=True, eq=False)
class _Beliefs:
    """What `ds` and the vote believe, each made when it is first asked for."""

    fitting: Fitting
    given: Given
    accuracy: float

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

    @cached_property
    def assumed(self) -> Floats:
        """The vote of assessors of whom nothing is known, but how often one vote is right."""
        return self._assumed(self.fitting.judgements.votes)

    def alone(self, assessor: int) -> Floats:
        """What one assessor says."""
        rows = self.fitting.judgements
        return self._assumed(rows.select(rows.assessor == assessor).votes)

    def _assumed(self, votes: Floats) -> Floats:
        smoothed = votes + (1 - self.accuracy) / (votes.shape[1] * self.accuracy - 1)
        return np.asarray(smoothed / smoothed.sum(axis=1, keepdims=True))

    @cached_property
    def vote(self) -> Floats:
        """The smoothed vote."""
        smoothed = self.votes + 1
        return self._as_known(smoothed / smoothed.sum(axis=1, keepdims=True))

    @property
    def mean(self) -> Floats:
        """The mean of the smoothed vote and ds."""
        return (self.vote + self._as_known(self.tempered)) / 2

    def _as_known(self, belief: Floats) -> Floats:
        """A belief as far as assessors are known, and what is assumed for the rest."""
        learned = self.fitting.learned[:, None]
        return np.asarray(learned * belief + (1 - learned) * self.assumed)


# --- with gold ------------------------------------------------------------------------------------


def _by_gold(
    fitting: Fitting, beliefs: _Beliefs, labelled: Codes, draws: int
) -> tuple[str, Merged]:
    """The name of what predicts gold of held-out topics best; it, recalibrated on all gold."""
    rows = fitting.judgements
    topic = rows.pairs.topic[labelled]
    truth = rows.scale.relevant[fitting.gold[labelled]].astype(np.float64)
    fold = topic_folds(rows.pairs, labelled)
    candidates = {"vote": beliefs.vote, "ds": beliefs.ds.posterior, "mean": beliefs.mean}
    if rows.scale.binary:
        candidates["stack"] = _stack(fitting, labelled, fold)
        if fitting.given.documents is not None:
            read = Joint().fit(rows, Given(documents=fitting.given.documents))
            if read.details["text"]:
                candidates["joint"] = read.posterior

    def predicted(belief: Floats) -> Floats:
        """The log odds of each gold pair, recalibrated on gold of other folds."""
        odds, after = rows.scale.log_odds(belief), np.zeros(len(labelled))
        for out in (fold == part for part in np.unique(fold)):
            learned = Regression(odds, rows.pairs.topic, labelled[~out], truth[~out], LEVEL)
            after[out] = learned.corrected()[labelled[out]]
        return after

    def losses(odds: Floats) -> Floats:
        return np.logaddexp(0.0, np.where(truth > 0, -odds, odds))

    held_out = {name: predicted(belief) for name, belief in candidates.items()}
    loss = {name: losses(odds) for name, odds in held_out.items()}
    best = min(loss, key=lambda name: loss[name].mean())
    # the best of m judges looks better than it is: at this level less than one would by chance
    alone = {code: predicted(beliefs.alone(code)) for code in _diligent(rows)}
    if alone:
        judge = min(alone, key=lambda code: losses(alone[code]).mean())
        name = f"{rows.assessors.names[judge]} alone"
        held_out[name], loss[name] = alone[judge], losses(alone[judge])
        if _above(loss[best] - loss[name], topic, 1 - 1 / (len(alone) + 1)):
            best, candidates[name] = name, beliefs.alone(judge)
    listed = ", ".join(f"{name} {each.mean():.3f}" for name, each in loss.items())
    rule = f" (of {len(alone)} judges alone the best must be better beyond chance)" * bool(alone)
    count = len(np.unique(topic))
    fitting.choice = f"{best}, recalibrated on {len(labelled)} gold pairs of {count} topics"
    fitting.notes += [
        f"chosen: {fitting.choice}",
        f"because its log loss is the smallest on gold of topics held out: {listed}{rule}",
    ]
    without = rows.scale.log_odds(beliefs.vote)[labelled]
    right = [float(np.mean((odds > 0) == (truth > 0))) for odds in (without, held_out[best])]
    if right[1] <= right[0]:
        fitting.notes.append(
            f"gold did not help labels: {right[0]:.3f} of the gold are right by the vote without "
            f"it, {right[1]:.3f} by what was chosen, topics held out"
        )
    if len(set(truth)) == 1:
        fitting.notes.append("all of this gold is of one kind: it cannot tell the grades apart")
    base = replace(beliefs.ds, posterior=candidates[best])
    return best, recalibrate(base, _gold(fitting, labelled), draws=draws, level=LEVEL)


def _diligent(rows: Judgements) -> Codes:
    """Those who judged nearly all of the judged pairs."""
    single = rows.one_each()
    judged = len(np.unique(single.pair))
    return np.flatnonzero(single.per_assessor >= DILIGENT * judged).astype(np.int32)


def _above(values: Floats, topic: Codes, level: float) -> bool:
    """Whether the mean is above 0 at this level, by Student's t, topics being a sample."""
    from scipy.special import stdtrit

    sums = np.bincount(topic, values - values.mean())
    used = len(np.unique(topic))
    error = np.sqrt(used / (used - 1) * (sums**2).sum()) / len(values)
    return bool(values.mean() > stdtrit(used - 1, level) * error)


def _gold(fitting: Fitting, labelled: Array) -> Qrels:
    """The gold of these pairs."""
    rows = fitting.judgements
    inside = np.zeros(len(rows.pairs), np.bool_)
    inside[labelled] = True
    grades = np.array(rows.scale.grades, np.int8)[fitting.gold[inside]]
    return Qrels(rows.pairs.select(inside), grades)


def _stack(fitting: Fitting, labelled: Codes, fold: Array) -> Floats:
    """The vote with the weights of a stack; on gold pairs, of one that saw gold of other folds.

    The intercept is left to the recalibration, which knows that topics differ.
    """
    from scipy.special import expit

    rows = fitting.judgements
    vote = np.where(rows.grade == 1, 1.0, -1.0)
    vote = vote if rows.weight is None else vote * rows.weight

    def odds(known: Codes, ridge: float | None) -> tuple[Floats, float]:
        stack = Stacking(ridge=ridge).fit(rows, Given(gold=_gold(fitting, known)))
        weight = vote * stack.assessors["weight"][rows.assessor]
        total = np.asarray(np.bincount(rows.pair, weight, len(rows.pairs)), np.float64)
        return total, stack.details["ridge"]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        result, ridge = odds(labelled, None)
        for out in (fold == part for part in np.unique(fold)):
            result[labelled[out]] = odds(labelled[~out], ridge)[0][labelled[out]]
    return np.asarray(expit(np.column_stack([-result, result])))
