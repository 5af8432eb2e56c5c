"""All that is known of each assessor, computed once and only when somebody asks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qrowd.data.arrays import Array, Floats, Grades, Mask, Offsets, over
from qrowd.data.given import NOTHING, UNKNOWN, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Merged
from qrowd.errors import UsageError
from qrowd.quality import against_gold, behaviour, spam
from qrowd.quality.trust import TurkRanked, trust_if_all_agreed, turkrank

_Five = tuple[Array, Array, Array, Array, Array]


@dataclass(frozen=True, eq=False)
class Reference:
    """A belief about the pairs that an assessor is held against: soft counts per assessor.

    `right` of `n` judgements agree; of `relevant_n` relevant ones `relevant_right` were said to
    be relevant, of `other_n` others `other_right` not.
    """

    n: Floats
    right: Floats
    relevant_n: Floats
    relevant_right: Floats
    other_n: Floats
    other_right: Floats

    @property
    def accuracy(self) -> Floats:
        """The share that agrees."""
        return over(self.right, self.n)

    @property
    def sensitivity(self) -> Floats:
        """The share of relevant pairs said to be relevant."""
        return over(self.relevant_right, self.relevant_n)

    @property
    def specificity(self) -> Floats:
        """The share of non-relevant pairs said to be non-relevant."""
        return over(self.other_right, self.other_n)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The judgements, what was given beside them, and everything about assessors they show.

    Rows that count are those of `single`: one judgement per pair and assessor. Gold is relevant
    from `gold_rel` on. `merged` is what a method believes, for the estimated columns. Where the
    judgements have no times, `habits` may say what these would tell.
    """

    judgements: Judgements
    given: Given = NOTHING
    gold_rel: int = 1
    merged: Merged | None = None
    beta: float = 0.3
    habits: AssessorTable | None = None

    @cached_property
    def single(self) -> Judgements:
        """One judgement per pair and assessor."""
        return self.judgements.one_each()

    @property
    def size(self) -> int:
        """How many assessors there are."""
        return len(self.judgements.assessors)

    @cached_property
    def said_relevant(self) -> Mask:
        """For each row, whether the assessor said relevant."""
        return np.asarray(self.single.scale.relevant[self.single.grade], np.bool_)

    @property
    def two_sided(self) -> bool:
        """Whether the scale has relevant and non-relevant grades."""
        relevant = self.single.scale.relevant
        return bool(relevant.any() and not relevant.all())

    # --- gold -------------------------------------------------------------------------------------

    @cached_property
    def gold_rows(self) -> tuple[Offsets, Array]:
        """The rows on pairs with gold, and the gold grade of each."""
        if self.given.gold is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int8)
        at = self.given.gold.pairs.locate(self.single.pairs)[self.single.pair]
        rows = np.flatnonzero(at >= 0)
        return rows, self.given.gold.grade[at[rows]]

    @cached_property
    def same_scale(self) -> bool:
        """Whether gold and judgements can be compared grade by grade."""
        if self.given.gold is None or self.single.scale.binary:
            return False
        return set(self.given.gold.scale.grades) <= set(self.single.scale.grades)

    @cached_property
    def gold_codes(self) -> Grades:
        """The gold code of each pair, -1 without gold or where the scales do not fit."""
        codes = np.full(len(self.single.pairs), UNKNOWN, np.int8)
        gold = given_on_scale(self.single, self.given, self.gold_rel).gold
        if gold is not None:
            at = self.single.pairs.locate(gold.pairs)
            codes[at[at >= 0]] = self.single.scale.codes(gold.grade)[at >= 0]
        return codes

    @cached_property
    def by_gold(self) -> Reference:
        """Answers against gold: by grades where the scales fit, else relevant or not."""
        rows, grade = self.gold_rows
        assessor, relevant = self.single.assessor[rows], grade >= self.gold_rel
        yes = self.said_relevant[rows]
        answers, truth = yes.astype(np.int8), relevant.astype(np.int8)
        if self.same_scale:
            answers, truth = self.single.grade[rows], self.single.scale.codes(grade)
        right = answers == truth
        n = np.bincount(assessor, minlength=self.size).astype(np.float64)
        sums = (right, relevant, relevant & yes, ~relevant, ~relevant & ~yes)
        return Reference(n, *_sums(assessor, sums, self.size))

    @cached_property
    def gold_topics(self) -> Array:
        """The topic of each row with gold."""
        return self.single.pairs.topic[self.single.pair[self.gold_rows[0]]]

    @cached_property
    def binary_score(self) -> Floats:
        """The binary score of Xia et al. over all of the assessor's gold pairs."""
        rows, grade = self.gold_rows
        assessor = self.single.assessor[rows]
        return against_gold.binary_scores(assessor, grade, self.said_relevant[rows], self.size)

    @cached_property
    def ndcg(self) -> tuple[Floats, Floats]:
        """The NDCG score of Xia et al., and the best reachable: means over topics."""
        rows, grade = self.gold_rows
        assessor, answer = self.single.assessor[rows], self.single.grade[rows]
        return against_gold.ndcg_scores(assessor, self.gold_topics, grade, answer, self.size)

    # --- the others -------------------------------------------------------------------------------

    @cached_property
    def others(self) -> Floats:
        """For each row, the share of the others' votes for each grade; NaN without others."""
        votes = spam.others_votes(self.single)
        return over(votes, votes.sum(axis=1, keepdims=True))

    @cached_property
    def agreement(self) -> Floats:
        """The mean over judgements of the share of others who said the same."""
        same = self.others[np.arange(len(self.others)), self.single.grade]
        shared = ~np.isnan(same)
        assessor = self.single.assessor[shared]
        total = np.bincount(assessor, same[shared], self.size)
        return over(total, np.bincount(assessor, minlength=self.size))

    @cached_property
    def by_merged(self) -> Reference | None:
        """Answers against the belief of the merging method, its probabilities as they are.

        Pairs that were not merged, such as check questions, are left out.
        """
        if self.merged is None:
            return None
        if self.merged.scale.grades != self.single.scale.grades:
            raise UsageError("the merged result has other grades than the judgements")
        at = self.merged.pairs.locate(self.single.pairs)[self.single.pair]
        known = at >= 0
        assessor, grade = self.single.assessor[known], self.single.grade[known]
        belief, yes = self.merged.posterior[at[known]], self.said_relevant[known]
        relevant = belief[:, self.single.scale.relevant].sum(axis=1)
        right = belief[np.arange(len(belief)), grade]
        n = np.bincount(assessor, minlength=self.size).astype(np.float64)
        sums = (right, relevant, relevant * yes, 1 - relevant, (1 - relevant) * ~yes)
        return Reference(n, *_sums(assessor, sums, self.size))

    @cached_property
    def distances(self) -> spam.Distances:
        """Squared distances to the others."""
        return spam.distances(self.single)

    @cached_property
    def trust(self) -> TurkRanked:
        """Trust by TurkRank, with gold as a node where it is given."""
        return turkrank(self.single, self.gold_codes, beta=self.beta)

    @cached_property
    def relative_trust(self) -> Floats:
        """Trust over what it would be if all agreed, on the crowd's average: 1 is usual."""
        full = trust_if_all_agreed(self.single, self.gold_codes, beta=self.beta)
        own, most = self.trust.assessors, full.assessors
        return over(own * most.sum(), most * max(float(own.sum()), 1e-300))

    # --- behaviour --------------------------------------------------------------------------------

    @cached_property
    def ordered(self) -> behaviour.Sequences:
        """Each assessor's answers in order."""
        return behaviour.sequences(self.single)

    @cached_property
    def answers(self) -> Offsets:
        """How often each assessor gave each grade."""
        return behaviour.answer_counts(self.single)

    @cached_property
    def says_relevant(self) -> Floats:
        """The share of each assessor's answers that say relevant."""
        relevant = self.answers[:, self.single.scale.relevant].sum(axis=1)
        return over(relevant, self.answers.sum(axis=1))

    @cached_property
    def commonest(self) -> Floats:
        """The share of each assessor's commonest answer."""
        return over(self.answers.max(axis=1), self.answers.sum(axis=1))

    def _habit(self, name: str) -> Floats | None:
        """A column of the habits; None where that is not known."""
        if self.habits is None or name not in self.habits.columns:
            return None
        at = self.habits.assessors.find(self.judgements.assessors)
        values = np.append(self.habits[name].astype(np.float64), np.nan)  # at -1: a stranger
        return np.asarray(values[at])

    @property
    def timed(self) -> bool:
        """Whether it is known how long judgements took."""
        return self.judgements.seconds is not None or self._habit("seconds") is not None

    @cached_property
    def longest_run(self) -> Offsets:
        """The longest run of the same answer."""
        known = self._habit("longest_run")
        if known is None:
            return behaviour.longest_runs(self.ordered)
        return np.nan_to_num(known).astype(np.int64)

    @cached_property
    def repeats(self) -> Floats:
        """The share of answers that repeat a pattern of 1 to 6 answers."""
        known = self._habit("repeats")
        return behaviour.repeats(self.ordered) if known is None else known

    @cached_property
    def pattern_disagreement(self) -> Floats:
        """The uniform-spam statistic."""
        known = self._habit("uniform_spam")
        return spam.pattern_disagreement(self.single, self.ordered) if known is None else known

    @cached_property
    def seconds(self) -> Floats:
        """The median seconds per document."""
        known = self._habit("seconds")
        return behaviour.median_seconds(self.judgements) if known is None else known


def given_on_scale(judgements: Judgements, given: Given, gold_rel: int) -> Given:
    """What is given, its gold made binary where the judgements are and it is not."""
    if given.gold is not None:
        judgements.scale.require_words(given.gold.words)
    if given.gold is None or set(given.gold.grade.tolist()) <= set(judgements.scale.grades):
        return given
    if not judgements.scale.binary:
        return given  # methods say what to do about it
    low, high = judgements.scale.grades
    binary = given.gold.binary(gold_rel)
    return replace(given, gold=replace(binary, grade=np.where(binary.grade > 0, high, low)))


def _sums(assessor: Array, parts: _Five, assessors: int) -> _Five:
    a, b, c, d, e = (np.bincount(assessor, part, assessors).astype(np.float64) for part in parts)
    return a, b, c, d, e
