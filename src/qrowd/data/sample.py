"""Pairs that were chosen for human judging: a `Sample` with probabilities, or a `Choice`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.arrays import Array, Floats, Grades, Mask, Names, freeze_fields, refuse_rows
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Pairs
from qrowd.data.qrels import Qrels
from qrowd.errors import InputError, ParameterError, UsageError, require_choice

if TYPE_CHECKING:
    from qrowd.data.judgements import Judgements

BY = ("random", "weight", "uncertainty", "topic")
UNIFORM = "uniform"
GOLD, CONTROL = "gold", "control"  # gold that is judged again: contested, and agreed on
GOALS = ("labels", "systems", "relevant", "errors", UNIFORM, GOLD, CONTROL)
ASKED = ("systems", "relevant")  # goals that decide whether a pair is judged at all


@dataclass(frozen=True, eq=False)
class Decisions:
    """A list of gold to judge again, as it came back: `grades` of the pairs that were decided.

    `goal` is why each of the `pairs` is there, contested (`gold`) or agreed on (`control`); empty
    where the list was blind. `gold_hash` and `nominated_by` are empty where it does not say them.
    """

    pairs: Pairs
    goal: Names
    grades: Qrels
    undecided: int
    gold_hash: str = ""
    nominated_by: str = ""


@dataclass(frozen=True, eq=False)
class Sample(Framed):
    """Pairs of a pool, the `probability` of each being chosen, and what they were chosen `by`.

    `grade` is what a human said, where that is known already: then it is a sample with labels, as
    `correct` needs it. With by='topic' whole topics were chosen.
    """

    pairs: Pairs
    probability: Floats
    by: str
    grade: Grades | None = None

    def __post_init__(self) -> None:
        freeze_fields(self, probability=np.float64)
        require_choice("by", self.by, BY)
        if len(self.probability) != len(self.pairs):
            raise InputError(f"{len(self.probability)} probabilities for {len(self.pairs)} pairs")
        refuse_rows(
            ~((self.probability > 0) & (self.probability <= 1)),
            lambda row: f"probability must be above 0 and at most 1, got {self.probability[row]:g}",
        )

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        labels = "not judged yet" if self.grade is None else f"grades {self.qrels.scale}"
        return (
            f"Sample({len(self)} pairs of {len(self.pairs.topics)} topics by {self.by}; {labels})"
        )

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`topic doc probability by`, and `grade` where it is known."""
        columns: dict[str, Coded | Array] = {
            **self.pairs.frame_columns(),
            "probability": self.probability,
            "by": np.full(len(self), self.by, object),
        }
        return columns if self.grade is None else columns | {"grade": self.grade}

    @property
    def qrels(self) -> Qrels:
        """The human labels as qrels."""
        if self.grade is None:
            raise InputError("this sample has no grades yet; add them: sample.labelled(qrels)")
        return Qrels(self.pairs, self.grade)

    def labelled(self, qrels: Qrels) -> Sample:
        """The same sample with the grades that humans gave; all of its pairs must have one."""
        at = qrels.pairs.locate(self.pairs)
        if (at < 0).any():
            row = int(np.argmax(at < 0))
            raise InputError(
                f"{int((at < 0).sum())} of {len(self)} sampled pairs have no human grade, first "
                f"{self.pairs.called(row)}; judge them, or sample fewer pairs"
            )
        return replace(self, grade=qrels.grade[at])

    def binary(self, at_least: int) -> Sample:
        """The same sample with two grades: 1 from `at_least` on, else 0."""
        return replace(self, grade=self.qrels.binary(at_least).grade)


@dataclass(frozen=True, eq=False)
class Choice:
    """How pairs came to be judged, as the lists of `qrowd next` say it.

    `adaptive`: chosen by what had been said before; nothing about a pool follows from them.
    `uniform`: drawn from all `size` pairs of the pool, whatever had been said, so that these are a
    simple random sample. A pair may be both, and pairs that no list has are neither. `goals` are
    those of the lists.
    """

    pairs: Pairs
    adaptive: Mask
    uniform: Mask
    goals: tuple[str, ...]
    size: int = 0

    @classmethod
    def of_votes(cls, judgements: Judgements, least: int) -> Choice:
        """That of pairs which all get `least` votes, and more by what these say."""
        pairs = judgements.pairs
        more = np.bincount(judgements.pair, minlength=len(pairs)) > least
        return cls(pairs, more, np.zeros(len(pairs), np.bool_), ("labels",))

    def __repr__(self) -> str:
        return f"Choice({self})"

    def __str__(self) -> str:
        drawn = f"; {self.uniform.sum()} drawn uniformly from {self.size}" if self.size else ""
        listed = f" ({', '.join(self.goals)})" if self.goals else ""
        return f"{self.adaptive.sum()} pairs chosen by what had been said before{listed}{drawn}"

    @property
    def decides(self) -> bool:
        """Whether a goal decided which pairs were judged at all."""
        return bool(set(self.goals) & set(ASKED))

    def caution(self, figures: str) -> tuple[str, ...]:
        """What to say of figures about the pool; nothing where no pair was chosen so."""
        if not self.adaptive.any():
            return ()
        return (
            f"{figures}: {self.adaptive.sum()} pairs were chosen by what had been said before "
            f"({', '.join(self.goals)}), so that this is about them, not about the pool",
        )

    def sample(self, labels: Qrels, pool: Pairs) -> Sample:
        """The pairs that were drawn uniformly, with these labels."""
        if not self.uniform.any():
            raise UsageError(
                f"scores cannot be estimated from pairs that were chosen by what had been said "
                f"before ({', '.join(self.goals)}): they would be biased, and no pair of these "
                "lists was drawn uniformly; draw some along the way, `qrowd next --uniform 0.1`, "
                "or a sample, `qrowd sample`"
            )
        if self.size != len(pool):
            raise UsageError(
                f"these lists were drawn from a pool of {self.size} pairs, but the pool here has "
                f"{len(pool)}; name the same pool (--pairs, --depth) and all rows of the lists"
            )
        chance = np.full(int(self.uniform.sum()), self.uniform.sum() / self.size)
        return Sample(self.pairs.select(self.uniform), chance, "random").labelled(labels)


def refuse_scores(goals: tuple[str, ...]) -> None:
    """Scores under labels of pairs that were chosen so would be biased."""
    chosen = [goal for goal in goals if goal in ASKED]
    if chosen:
        raise UsageError(
            f"which pairs were judged depends on what was said before ({', '.join(chosen)}): "
            "scores under these labels would be biased. `qrowd evaluate --worklist` estimates them "
            "from the pairs that were drawn uniformly, `qrowd progress --runs` says which runs are "
            "told apart"
        )


def sample_of(qrels: Qrels, pool: Pairs, by: str) -> Sample:
    """Labels that were chosen at random from a pool: pairs, or whole topics (by='topic').

    Every pair, or every topic, was as likely as every other one.
    """
    inside = pool.locate(qrels.pairs) >= 0
    topics = qrels.pairs.topics.intersection(pool.topics)
    share = len(topics) / len(pool.topics) if by == "topic" else inside.sum() / max(len(pool), 1)
    if by not in ("random", "topic"):
        raise ParameterError(f"labels without probabilities are by random or by topic, not by {by}")
    chance = np.full(len(qrels), min(max(float(share), 1e-12), 1.0))
    return Sample(qrels.pairs, chance, by, qrels.grade)
