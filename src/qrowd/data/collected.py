"""What a campaign has collected, as pages and reports read it: live, or from a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable
from qrowd.data.qrels import Qrels


@dataclass(frozen=True)
class ErrorRate:
    """How often workers' grades differ from the experts' on a random sample, with an interval."""

    sampled: int
    judged: int
    wrong: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Collected:
    """Judgements that count, and all that tells how good they are; None where there is nothing.

    People whose judgements do not count may have answered check questions, too. A release has no
    times: `habits` says how fast, and in what patterns, each assessor answered.
    """

    judgements: Judgements
    #: the experts' grades of pairs that were to be judged: methods are given these
    gold: Qrels | None = None
    #: the first answer of each assessor to each check question
    answers: Judgements | None = None
    #: the experts' grades of check questions
    key: Qrels | None = None
    habits: AssessorTable | None = None
    #: what experts found who judged a random sample again
    sample: ErrorRate | None = None

    @property
    def given(self) -> Given:
        """What methods may know beside the judgements."""
        return NOTHING if self.gold is None else Given(gold=self.gold)

    @cached_property
    def together(self) -> Judgements:
        """Judgements and answers to check questions."""
        return self.judgements if self.answers is None else self.judgements.joined(self.answers)

    @cached_property
    def truth(self) -> Qrels | None:
        """All grades by experts."""
        grades = grades_of(self.key) | grades_of(self.gold)
        return qrels_of(grades) if grades else None


def qrels_of(grades: Mapping[tuple[str, str], int]) -> Qrels:
    """Qrels of (topic, document) -> grade; at least one."""
    topics, documents = zip(*grades, strict=True)
    return Qrels.of(topics, documents, list(grades.values()))


def grades_of(qrels: Qrels | None) -> dict[tuple[str, str], int]:
    """(topic, document) -> grade."""
    if qrels is None:
        return {}
    names = zip(qrels.pairs.topic_names, qrels.pairs.document_names, strict=True)
    return dict(zip(names, qrels.grade.tolist(), strict=True))
