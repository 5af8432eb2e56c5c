"""Leave out, or weigh down, the assessors that rules doubt, and tell what that changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Mask
from qrowd.data.given import NOTHING, Given, Merger, as_given
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.merged import tied_argmax
from qrowd.errors import InputError, ParameterError
from qrowd.quality.doubt import Rule, check_needs, rule_of
from qrowd.quality.evidence import Evidence, given_on_scale
from qrowd.rendering import Readable, plain


@dataclass(frozen=True)
class Change:
    """What leaving somebody out does to the merged result.

    `grades` pairs get another grade, `shift` is the mean distance (total variation) between the
    probabilities before and after, over pairs that were judged. Gold is not given to the method
    here, so that every pair can move and its accuracy on gold, before and after, is honest; NaN
    without gold.
    """

    grades: int
    shift: float
    pairs: int
    accuracy_before: float = np.nan
    accuracy_after: float = np.nan

    def __str__(self) -> str:
        text = f"{self.grades} of {self.pairs} grades change, shift {self.shift:.4f}"
        if not np.isnan(self.accuracy_after):
            text += f", accuracy {self.accuracy_before:.4f} -> {self.accuracy_after:.4f}"
        return text


@dataclass(frozen=True)
class LeftOut:
    """One doubted assessor: by which rules, on what evidence, and what it changes."""

    assessor: str
    judgements: int
    rules: tuple[str, ...]
    values: tuple[float, ...]
    evidence: tuple[str, ...]
    weight: float
    change: Change | None


@dataclass(frozen=True, eq=False)
class Screened(Readable):
    """Who was kept, who was left out or weighed down, and what changed.

    `per_rule` has what each rule by itself would change. `method` made the merged results that
    are compared: a merging method, or `votes`, the plain share of votes.
    """

    kept: Judgements
    left_out: tuple[LeftOut, ...]
    rules: tuple[str, ...]
    change: Change
    per_rule: dict[str, Change]
    method: str
    weighed: bool
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The account as JSON has it, without the judgements."""
        account = {
            "rules": self.rules,
            "method": self.method,
            "down_weight": self.weighed,
            "change": asdict(self.change),
            "per_rule": {rule: asdict(change) for rule, change in self.per_rule.items()},
            "left_out": [asdict(row) for row in self.left_out],
            "notes": self.notes,
        }
        return dict(plain(account))

    def __str__(self) -> str:
        verb = "weighed down" if self.weighed else "left out"
        lines = [f"{len(self.left_out)} assessors {verb} by {', '.join(self.rules) or 'no rule'}"]
        lines += [f"all of them ({self.method}): {self.change}"]
        lines += [f"by {rule} alone: {change}" for rule, change in self.per_rule.items()]
        for row in self.left_out:
            weight = f", weight {row.weight:.3f}" if self.weighed else ""
            change = f"; without: {row.change}" if row.change else ""
            why = "; ".join(row.evidence)
            lines.append(f"  {row.assessor} ({row.judgements} judgements{weight}): {why}{change}")
        return "\n".join([*lines, *self.notes])


def screen(
    judgements: Judgements,
    rules: Sequence[Rule | str],
    given: Given = NOTHING,
    *,
    merge: Merger | None = None,
    down_weight: bool = False,
    gold_rel: int = 1,
    each: int = 25,
) -> Screened:
    """The judgements without those of doubted assessors, and a full account of it.

    Who is doubted by any of the rules is left out (rules joined by `&` must agree). With
    `down_weight` nobody is: doubted votes weigh less instead, by the product of the rules' weights,
    which methods that count votes honour. `merge` is the method whose result is compared with and
    without: all doubted, each rule's, and each assessor's (only the `each` busiest, since every
    one takes a fit). Without it, that is done for everybody with the plain share of votes.

    >>> import qrowd as q
    >>> c = q.simulate(seed=3)
    >>> screened = q.screen(c.judgements, [q.RandomSpam(), q.UniformSpam()])
    >>> screened.kept.assessors, len(screened.left_out)
    (Index(25: a01, a02, a03, ...), 5)
    """
    if each < 0:
        raise ParameterError(f"each must be at least 0, got {each}")
    doubting = [rule_of(rule) for rule in rules]
    evidence = Evidence(judgements, as_given(given), gold_rel)
    for rule in doubting:
        check_needs(rule, evidence)
    doubts = [rule.doubts(evidence) for rule in doubting]
    nobody = np.zeros(evidence.size, np.bool_)
    doubted = np.any([nobody, *(doubt.doubted for doubt in doubts)], axis=0)
    weight = np.prod([np.ones(evidence.size), *(doubt.weight for doubt in doubts)], axis=0)
    if not down_weight:
        if doubted.all() and len(doubted):
            listed = ", ".join(rule.spec for rule in doubting)
            raise InputError(f"the rules {listed} leave no assessor; use weaker rules")
        weight = np.where(doubted, 0.0, 1.0)
    kept = _weighted(judgements, weight) if down_weight else _without(judgements, doubted)
    effect = _Effect(evidence, merge)
    per_rule = {}
    if len(doubting) > 1:
        for rule, doubt in zip(doubting, doubts, strict=True):
            alone = doubt.weight if down_weight else np.where(doubt.doubted, 0.0, 1.0)
            per_rule[rule.spec] = effect.change_with(alone)
    changes = effect.change_without_each(doubted, each)
    rows = []
    for k in np.flatnonzero(doubted).tolist():
        against = [(r, d) for r, d in zip(doubting, doubts, strict=True) if d.doubted[k]]
        rows.append(
            LeftOut(
                str(judgements.assessors.names[k]),
                int(judgements.per_assessor[k]),
                tuple(rule.spec for rule, _ in against),
                tuple(float(doubt.value[k]) for _, doubt in against),
                tuple(doubt.say(k) for _, doubt in against),
                float(weight[k]),
                changes.get(k),
            )
        )
    specs = tuple(rule.spec for rule in doubting)
    method = repr(merge) if merge is not None else "votes"
    notes = []
    if len(changes) < len(rows):
        n = len(changes)
        notes.append(f"the change without each is told for {n} of {len(rows)}: raise `each`")
    if given.gold is not None:
        notes.append(f"gold is relevant from grade {gold_rel} on")
    change = effect.change_with(weight)
    return Screened(kept, tuple(rows), specs, change, per_rule, method, down_weight, tuple(notes))


def _without(judgements: Judgements, doubted: Mask) -> Judgements:
    if not doubted.any():
        return judgements
    return judgements.of_assessors(Index(judgements.assessors.names[~doubted]))


def _weighted(judgements: Judgements, weight: Floats) -> Judgements:
    own = np.ones(len(judgements)) if judgements.weight is None else judgements.weight
    return replace(judgements, weight=own * weight[judgements.assessor])


class _Effect:
    """The merged result with some assessors' votes weighed, compared with all of them."""

    def __init__(self, evidence: Evidence, merge: Merger | None) -> None:
        self.evidence, self.merge, self.judgements = evidence, merge, evidence.judgements
        given = given_on_scale(self.judgements, evidence.given, evidence.gold_rel)
        self.gold, self.given = given.gold, replace(given, gold=None)
        self.judged = np.diff(self.judgements.pair_starts) > 0
        self.before = self.posterior(np.ones(evidence.size))

    def posterior(self, weight: Floats) -> Floats:
        """The merged probabilities of the pairs of the pool."""
        if (weight == 1).all():
            some = self.judgements
        elif ((weight == 0) | (weight == 1)).all():
            some = _without(self.judgements, weight == 0)
        else:
            some = _weighted(self.judgements, weight)
        if self.merge is None:
            return _normal(some.votes)
        merged = self.merge.fit(some, self.given)
        return merged.posterior[merged.pairs.locate(self.judgements.pairs)]

    def change_with(self, weight: Floats) -> Change:
        """The change if these weights were applied."""
        return self._change_to(self.before if (weight == 1).all() else self.posterior(weight))

    def change_without_each(self, doubted: Mask, most_fits: int) -> dict[int, Change]:
        """The change if one doubted assessor alone were left out."""
        if self.merge is None:
            return self._vote_changes(doubted)
        assessors = np.flatnonzero(doubted)
        judged = self.judgements.per_assessor[assessors]
        busiest = assessors[np.argsort(-judged, kind="stable")[:most_fits]]
        result = {}
        for k in np.sort(busiest):
            weight = np.ones(self.evidence.size)
            weight[k] = 0.0
            result[int(k)] = self._change_to(self.posterior(weight))
        return result

    def _vote_changes(self, doubted: Mask) -> dict[int, Change]:
        """The same for the share of votes, which changes on the assessor's own pairs only: no fit.

        A case is an assessor's pair, however often the assessor judged it.
        """
        judgements = self.judgements
        n_pairs = len(judgements.pairs)
        rows = np.flatnonzero(doubted[judgements.assessor])
        key = judgements.assessor[rows].astype(np.int64) * n_pairs + judgements.pair[rows]
        case, case_of_row = np.unique(key, return_inverse=True)
        assessor, pair = np.divmod(case, n_pairs)
        taken = np.ones(len(rows)) if judgements.weight is None else judgements.weight[rows]
        votes = judgements.votes[pair]
        np.subtract.at(votes, (case_of_row, judgements.grade[rows]), taken)
        after = _normal(votes)
        shift = np.abs(after - self.before[pair]).sum(axis=1) / 2
        changed = self._grades(after, pair) != self._grades(self.before[pair], pair)
        n, size = int(self.judged.sum()), self.evidence.size
        moved = np.bincount(assessor, shift, size)
        turned = np.bincount(assessor, changed, size)
        return {
            int(k): Change(int(turned[k]), float(moved[k]) / max(n, 1), n)
            for k in np.flatnonzero(doubted)
        }

    def _grades(self, posterior: Floats, pair: Array | None = None) -> Codes:
        return tied_argmax(posterior, self.judgements.pairs, at=pair)

    def _change_to(self, after: Floats) -> Change:
        changed = self._grades(after) != self._grades(self.before)
        shift = np.abs(after - self.before).sum(axis=1) / 2
        n = int(self.judged.sum())
        accuracies = (self._accuracy(self.before), self._accuracy(after))
        grades = int(changed[self.judged].sum())
        return Change(grades, float(shift[self.judged].sum()) / max(n, 1), n, *accuracies)

    def _accuracy(self, posterior: Floats) -> float:
        if self.gold is None:
            return np.nan
        at = self.judgements.pairs.locate(self.gold.pairs)
        here = at >= 0
        here[here] &= self.judged[at[here]]
        grades = np.array(self.judgements.scale.grades)[self._grades(posterior)]
        return float((grades[at[here]] == self.gold.grade[here]).mean()) if here.any() else np.nan


def _normal(votes: Floats) -> Floats:
    """Votes as shares; equal ones where taking votes away left nothing but rounding."""
    total = votes.sum(axis=1, keepdims=True)
    even = np.full(votes.shape, 1 / votes.shape[1])
    return np.asarray(np.divide(votes, total, out=even, where=total > 1e-12))
