"""One fit under way: what every judgement-level method does before, between and after its steps.

A method's `fit` reads

    fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
    for _ in fitting.iterations(self.max_iter):
        ...                                         # one step, on fitting.judgements, fitting.gold
        fitting.settled = fitting.gain(objective) < self.tol
    return fitting.merged(posterior, {"ability": ability})

and gets the checks, gold clamped, the trace, progress, the warning and the result's form in return.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from qrowd import __version__
from qrowd.content.similarity import Alike
from qrowd.data.arrays import Array, Floats, Grades, Mask, Offsets, over, pieces
from qrowd.data.details import NONE, Caution, Details
from qrowd.data.given import UNKNOWN, Given
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Copula, Fit, Merged
from qrowd.data.provenance import Input, Provenance
from qrowd.errors import NotConvergedWarning, ScaleError, UsageError
from qrowd.kernel import COMPILING
from qrowd.registry import spec_of

SHARED = 5.0  # judgements beside others, for each number to be learned, that make it half known


@dataclass
class Fitting:
    """What a fit works on (`judgements` over the whole pool, the `gold` code of each pair or -1),
    and how it goes.
    """

    method: Any
    given: Given
    judgements: Judgements
    gold: Grades
    started: float
    compiled: float
    trace: list[float] = field(default_factory=list)
    steps: int = 0
    settled: bool = True
    notes: list[str] = field(default_factory=list)
    choice: str = ""

    @classmethod
    def of(
        cls, method: Any, judgements: Judgements, given: Given, *, clamp: bool = True
    ) -> Fitting:
        """Start: check that the method can merge this, and bring gold into the pool."""
        started, compiled = time.perf_counter(), COMPILING.seconds
        _check(method, judgements, given)
        judgements, gold = given.with_gold(judgements, clamp)
        return cls(method, given, judgements, gold, started, compiled)

    @cached_property
    def vote_totals(self) -> Floats:
        """The (weighted) number of votes of each pair."""
        return _totals(self.judgements.votes)[:, 0]

    @property
    def voted(self) -> Mask:
        """Which pairs have any (weighted) vote."""
        return self.vote_totals > 0

    @property
    def labelled(self) -> Offsets:
        """The pairs that have both a gold label and a vote."""
        return np.flatnonzero((self.gold != UNKNOWN) & self.voted)

    def iterations(self, at_most: int) -> Iterator[int]:
        """1, 2, ... until the method sets `settled`; says so where it did not in time."""
        self.settled = False
        for step in range(1, at_most + 1):
            self.steps = step
            yield step
            if self.given.progress:
                objective = self.trace[-1] if self.trace else math.nan
                self.given.progress(self.steps, at_most, objective)
            if self.settled:
                return
        message = f"{spec_of(self.method)} has not settled after {at_most} iterations"
        remedy = f"allow more of them: max_iter={4 * at_most}"
        warnings.warn(f"{message}; {remedy}", NotConvergedWarning, stacklevel=3)

    def gain(self, objective: float) -> float:
        """Note the objective (a log-likelihood, say) in the trace; what it gained."""
        before = self.trace[-1] if self.trace else -math.inf
        self.trace.append(float(objective))
        return float(objective) - before

    @cached_property
    def learned(self) -> Floats:
        """How far those who judged each pair can be told from one another: 0 to 1.

        An assessor with s judgements on pairs that others judged too, or that have gold, is known
        by s^2 / (s^2 + h^2), h being 5 for each number of a confusion matrix; a pair has the mean.
        """
        rows, size = self.judgements, len(self.judgements.scale)
        again = np.zeros(len(rows), np.bool_)  # an assessor's further judgements of one pair
        again[1:] = (np.diff(rows.pair) == 0) & (np.diff(rows.assessor) == 0)
        witnesses = np.bincount(rows.pair[~again], minlength=len(rows.pairs))
        beside_others = (witnesses + (self.gold != UNKNOWN) > 1)[rows.pair]
        shared = np.bincount(rows.assessor, beside_others, len(rows.assessors))
        half = SHARED * size * (size - 1)
        known = (shared**2 / (shared**2 + half**2))[rows.assessor]
        votes = np.bincount(rows.pair, minlength=len(rows.pairs))
        return over(np.bincount(rows.pair, known, len(rows.pairs)), votes)

    def clamped(self, posterior: Floats) -> Floats:
        """A copy of the posterior with certainty where there is gold."""
        result = np.array(posterior, np.float64)
        fixed = np.flatnonzero(self.gold != UNKNOWN)
        result[fixed] = 0.0
        result[fixed, self.gold[fixed]] = 1.0
        return result

    def shares(self) -> Floats:
        """Each pair's share of (weighted) votes per grade; uniform without votes; gold clamped."""
        return self.clamped(shares_of(self.judgements.votes))

    def votes_with_gold(self) -> Floats:
        """Votes[pairs, grades]; a pair that has gold has one vote, the gold."""
        return self.clamped(self.judgements.votes)

    def alike(self) -> Iterator[tuple[slice, Floats]]:
        """Each topic's pairs, and the cosine of every two of their documents."""
        assert self.given.documents is not None
        alike = Alike.of(self.judgements.pairs, self.given.documents)
        self.notes += alike.notes
        return alike.topics()

    def merged(
        self,
        posterior: Floats,
        columns: Mapping[str, Array] | None = None,
        *,
        given_pairs: Mask | None = None,
        keep_unvoted: bool = False,
        details: Details = NONE,
        samples: Grades | None = None,
        copula: Copula | None = None,
    ) -> Merged:
        """The result: gold clamped, pairs without votes uniform (unless `keep_unvoted`: the method
        knows of them otherwise), the assessors' table begun with the number of judgements and the
        expected share of right ones (`accuracy`).
        """
        if not keep_unvoted and not self.voted.all():
            posterior = np.where(self.voted[:, None], posterior, 1.0 / posterior.shape[1])
        posterior = self.clamped(posterior)
        if columns and self.given.priors is None:
            self._caution_of_strangers()
        table = {
            "judgements": self.judgements.per_assessor,
            "accuracy": self._accuracy(posterior),
            **(columns or {}),
        }
        return Merged(
            self.judgements.pairs,
            self.judgements.scale,
            posterior,
            AssessorTable(self.judgements.assessors, table),
            self.summary(),
            (self.gold != UNKNOWN) if given_pairs is None else given_pairs,
            samples,
            details,
            copula=copula,
            provenance=self._provenance(),
        )

    def _caution_of_strangers(self) -> None:
        """Say it where the judgements hardly tell anything of those who gave them."""
        voted = self.voted
        strange = int((self.learned[voted] < 0.5).sum())
        if strange > 0.1 * voted.sum():
            self.notes.append(
                Caution(
                    f"too little can be learned of those who judged {strange} of "
                    f"{int(voted.sum())} pairs: few of their judgements are on pairs that others "
                    "judged too, or that have gold. What a model makes of them is a guess; `mv` "
                    "and `auto` keep the votes there"
                )
            )

    def _provenance(self) -> Provenance:
        card, inputs = self.method.card, {"judgements": Input(len(self.judgements))}
        for name in (*card.needs, *card.uses):
            value = getattr(self.given, name)
            if value is not None:
                inputs[name] = Input(len(value) if hasattr(value, "__len__") else None)
        spec, text = spec_of(self.method), "documents" in inputs
        choice = self.judgements.choice
        return Provenance(
            spec,
            __version__,
            inputs,
            text=text,
            shares=card.shares,
            chosen=choice.goals if choice else (),
        )

    def summary(self) -> Fit:
        """How the fit went."""
        notes, fixed = [*self.notes], self.gold != UNKNOWN
        if fixed.any():
            doubt = ", none of them judged: do the names of topics and documents match?"
            judged = (fixed & self.voted).any()
            notes.append(f"gold fixes {int(fixed.sum())} pairs{'' if judged else doubt}")
        if self.given.gold is not None and self.given.gold.provenance is not None:
            notes += [f"gold: {note}" for note in self.given.gold.provenance.notes]
        return Fit(
            method=spec_of(self.method),
            converged=self.settled,
            iterations=self.steps,
            trace=tuple(self.trace),
            seconds=self.seconds,
            notes=tuple(notes),
            choice=self.choice,
        )

    @property
    def seconds(self) -> float:
        """How long this fit has taken; compiling, which happens once per machine, is not its."""
        compiling = COMPILING.seconds - self.compiled
        return max(time.perf_counter() - self.started - compiling, 0.0)

    def _accuracy(self, posterior: Floats) -> Floats:
        """The expected share of each assessor's (weighted) judgements that are right."""
        rows, size = self.judgements, len(self.judgements.assessors)
        right, total = np.zeros(size), np.zeros(size)
        for part in pieces(len(rows)):
            assessor, chance = rows.assessor[part], posterior[rows.pair[part], rows.grade[part]]
            weight = np.ones(len(assessor)) if rows.weight is None else rows.weight[part]
            right += np.bincount(assessor, chance * weight, size)
            total += np.bincount(assessor, weight, size)
        return over(right, total)


def _check(method: Any, judgements: Judgements, given: Given) -> None:
    card = method.card
    if not card.nominal:
        judgements.scale.require_order(card.id)
    if card.grades == "binary" and len(judgements.scale) != 2:
        if judgements.scale.words:
            raise ScaleError(
                f"{card.id} merges two labels, got {', '.join(judgements.scale.words)}"
            )
        raise ScaleError(
            f"{card.id} merges two grades, got {' '.join(map(str, judgements.scale.grades))}; say "
            f"from which grade on a pair is relevant: judgements.binary(at_least=...), on the "
            f"command line --rel"
        )
    for need in card.needs:
        if getattr(given, need) is None:
            raise UsageError(
                f"{card.id} needs {need}: pass Given({need}=...), on the command line --{need}"
            )


def shares_of(votes: Floats) -> Floats:
    """Votes[..., grades] as shares; equal ones where there are no votes."""
    total = _totals(votes)
    equal = np.full_like(votes, 1.0 / votes.shape[-1])
    return np.asarray(np.divide(votes, total, out=equal, where=total > 0))


def _totals(votes: Floats) -> Floats:
    """Sums over the last axis, kept; numpy's own sum takes longer where there are few columns."""
    return np.asarray(votes @ np.ones((votes.shape[-1], 1)))


FOLDS = 5


def topic_folds(pairs: Pairs, chosen: Array) -> Array:
    """The fold of each chosen pair: whole topics, dealt out in the order of their hashes.

    Pairs themselves, by their hashes, where there is one topic.
    """
    topic = pairs.topic[chosen]
    distinct, which = np.unique(topic, return_inverse=True)
    if len(distinct) < 2:
        coins = pairs.hashes(chosen.astype(np.int32), 0)
        return (coins % np.uint64(FOLDS)).astype(np.int64)
    turn = np.argsort(np.argsort(pairs.topics.hashes(distinct.astype(np.int32))))
    return np.asarray(turn[which] % FOLDS)
