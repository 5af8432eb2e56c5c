"""Relevance: certain (`Qrels`), random (`SoftQrels`), and many at once (`QrelsSet`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from qrowd.data import arrays
from qrowd.data.arrays import Array, Codes, Floats, Grades, Mask, Names, Offsets
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index, Pairs, Pooled, encode_columns
from qrowd.data.provenance import Provenance
from qrowd.data.scale import BINARY, HIGHEST, LOWEST, Scale
from qrowd.errors import InputError, ParameterError

if TYPE_CHECKING:
    from qrowd.data.judgements import Judgements

NOT_JUDGED = -128


@dataclass(frozen=True, eq=False)
class Qrels(Pooled, Framed):
    """One grade per pair. `grade` holds grades as files have them, not codes.

    `provenance` says where merged labels come from, where that is known. Labels without an order
    have `words`, one for each grade from 0 on.
    """

    pairs: Pairs
    grade: Grades
    provenance: Provenance | None = None
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        grade = np.asarray(self.grade)
        if len(grade) != len(self.pairs):
            raise InputError(f"{len(grade)} grades for {len(self.pairs)} pairs")
        arrays.refuse_rows(
            (grade < LOWEST) | (grade > HIGHEST),
            lambda row: f"grade {grade[row]} does not lie between {LOWEST} and {HIGHEST}",
        )
        object.__setattr__(self, "grade", arrays.freeze(grade, np.int8))

    @classmethod
    def of(
        cls,
        topics: Sequence[str] | Names,
        documents: Sequence[str] | Names,
        grades: Sequence[int] | Array,
    ) -> Self:
        """Qrels from columns, in any row order; a pair may repeat only with the same grade."""
        indexes, codes = encode_columns(topics, documents)
        return cls.from_codes(indexes, codes, np.asarray(grades))

    @classmethod
    def from_codes(
        cls, indexes: tuple[Index, Index], codes: tuple[Codes, Codes], grades: Array
    ) -> Self:
        """Qrels from coded rows; the row that contradicts an earlier one is named in the error."""
        pairs, pair = Pairs.from_codes(*indexes, *codes)
        order = np.argsort(pair, kind="stable")
        first = np.ones(len(order), np.bool_)
        first[1:] = pair[order][1:] != pair[order][:-1]
        kept = grades[order[first]]
        clash = kept[pair] != grades if len(grades) else np.zeros(0, np.bool_)
        arrays.refuse_rows(
            clash,
            lambda row: (
                f"{pairs.called(pair[row])} has grade {grades[row]} here and "
                f"{kept[pair[row]]} earlier; keep one of them"
            ),
        )
        return cls(pairs, kept)

    def __len__(self) -> int:
        return len(self.grade)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Qrels)
            and self.pairs == other.pairs
            and np.array_equal(self.grade, other.grade)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Qrels({len(self)} pairs of {len(self.topics)} topics; grades {self.scale})"

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`topic doc grade`, which is a word where labels are."""
        grade: Array = np.array(self.words, object)[self.grade] if self.words else self.grade
        return {**self.pairs.frame_columns(), "grade": grade}

    @property
    def scale(self) -> Scale:
        """The scale of the grades that occur, or of all words."""
        return Scale.of_words(self.words) if self.words else Scale.of(self.grade)

    def __getitem__(self, topics: Index | str) -> Qrels:
        """The qrels of these topics, or of one."""
        return self.select(self.pairs.of_topics(self.topics.chosen(topics)))

    def select(self, mask: Mask) -> Qrels:
        """The pairs where the mask is true."""
        return replace(self, pairs=self.pairs.select(mask), grade=self.grade[mask])

    def binary(self, at_least: int) -> Qrels:
        """The same pairs with two grades: 1 from `at_least` on, else 0."""
        provenance = self.provenance and self.provenance.binary(at_least)
        return Qrels(self.pairs, (self.grade >= at_least).astype(np.int8), provenance)

    def soft(
        self,
        p_rel: float = 1.0,
        p_nonrel: float = 0.0,
        at_least: int = 1,
        chances: Mapping[int, float] | None = None,
    ) -> SoftQrels:
        """Random relevance: p_rel for grades from `at_least` on, p_nonrel for lower ones.

        Ferrante, Ferro & Losiouk (2019) map hard labels by soft(0.95, 0.05). With `chances` every
        grade has its own, as in soft(chances={0: 0.05, 1: 0.5, 2: 0.95}): graded relevance is one
        probability then.
        """
        if chances is not None:
            _check_chances(*chances.values())
            occurring = np.unique(self.grade).tolist()
            without = [grade for grade in occurring if grade not in chances]
            if without:
                raise ParameterError(f"grade {without[0]} occurs, but has no chance of its own")
            known = np.array([chances[grade] for grade in occurring])
            p = known[np.searchsorted(occurring, self.grade)] if occurring else np.zeros(0)
        else:
            _check_chances(p_rel, p_nonrel)
            p = np.where(self.grade >= at_least, p_rel, p_nonrel)
        return SoftQrels(self.pairs, BINARY, np.stack([1 - p, p], axis=1), self.provenance)


def _check_chances(*chances: float) -> None:
    if not all(0 <= chance <= 1 for chance in chances):
        listed = " and ".join(map(str, chances))
        raise ParameterError(f"probabilities must lie in 0..1, got {listed}")


@dataclass(frozen=True, eq=False)
class SoftQrels(Pooled, Framed):
    """A distribution over the grades of a scale for each pair: p[pairs, grades]."""

    pairs: Pairs
    scale: Scale
    p: Floats
    provenance: Provenance | None = None

    def __post_init__(self) -> None:
        arrays.freeze_fields(self, p=np.float64)
        if self.p.shape != (len(self.pairs), len(self.scale)):
            raise InputError(f"p has shape {self.p.shape}, not (pairs, grades)")
        bad = ~((self.p >= 0).all(1) & (np.abs(self.p.sum(1) - 1) < 1e-6))
        arrays.refuse_rows(bad, lambda row: f"not a distribution: {self.p[row].tolist()}")

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"SoftQrels({len(self)} pairs of {len(self.topics)} topics; grades {self.scale})"

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`topic doc p(0) p(1) ...`."""
        chances = {f"p({grade})": self.p[:, k] for k, grade in enumerate(self.scale.grades)}
        return {**self.pairs.frame_columns(), **chances}

    @property
    def relevant(self) -> Floats:
        """The probability that each pair is relevant."""
        return np.asarray(self.p[:, self.scale.relevant].sum(axis=1))

    def __getitem__(self, topics: Index | str) -> SoftQrels:
        """The soft qrels of these topics."""
        topics = self.topics.chosen(topics)
        mask = self.pairs.of_topics(topics)
        return replace(self, pairs=self.pairs.select(mask), p=self.p[mask])


@dataclass(frozen=True, eq=False)
class QrelsSet(Pooled):
    """Many qrels over one pool, along a named axis: one per assessor, or one per draw.

    Sparse (`starts`, `column`, `grade` row-compressed by pair) or dense (`dense[pairs, columns]`).
    Grades are as files have them; NOT_JUDGED marks what a column does not have. Rows of the sparse
    form are sorted by (pair, column) and distinct. `notes` say what scores under them should tell.
    """

    pairs: Pairs
    axis: str
    columns: Index
    starts: Offsets | None = None
    column: Codes | None = None
    grade: Grades | None = None
    dense: Grades | None = None
    notes: tuple[str, ...] = ()
    provenance: Provenance | None = None

    @classmethod
    def of_judgements(cls, judgements: Judgements) -> Self:
        """One column per assessor; of repeated judgements the latest, else the commonest, lower."""
        last = last_of_each(judgements)
        grade = np.array(judgements.scale.grades, np.int8)[one_grade_each(judgements, last)]
        starts = arrays.starts_of(judgements.pair[last], len(judgements.pairs))
        column = judgements.assessor[last]
        told = None
        if judgements.choice is not None:
            told = Provenance("each assessor", "", chosen=judgements.choice.goals)
        return cls(
            judgements.pairs,
            "assessor",
            judgements.assessors,
            starts,
            column,
            grade,
            provenance=told,
        )

    @classmethod
    def of_draws(cls, pairs: Pairs, grades: Grades, notes: tuple[str, ...] = ()) -> Self:
        """One column per draw, from grades[pairs, draws]."""
        digits = len(str(max(grades.shape[1] - 1, 0)))
        names = [f"{draw:0{digits}d}" for draw in range(grades.shape[1])]
        return cls(
            pairs, "draw", Index.of(names), dense=arrays.freeze(grades, np.int8), notes=notes
        )

    @classmethod
    def of_qrels(cls, qrels: Qrels) -> Self:
        """A set of one."""
        return cls(
            qrels.pairs, "", Index.of(["-"]), dense=arrays.freeze(qrels.grade[:, None], np.int8)
        )

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return f"QrelsSet({len(self)} {self.axis}s over {len(self.pairs)} pairs)"

    def block(self, topic: int, lo: int, hi: int) -> Grades:
        """Dense grades[pool of the topic, columns lo..hi)."""
        first, last = self.pairs.topic_starts[topic : topic + 2]
        if self.dense is not None:
            return self.dense[first:last, lo:hi]
        assert self.starts is not None
        assert self.column is not None
        assert self.grade is not None
        rows = slice(self.starts[first], self.starts[last])
        pair = np.repeat(np.arange(last - first), np.diff(self.starts[first : last + 1]))
        column, grade = self.column[rows], self.grade[rows]
        inside = (column >= lo) & (column < hi)
        result = np.full((last - first, hi - lo), NOT_JUDGED, np.int8)
        result[pair[inside], column[inside] - lo] = grade[inside]
        return result

    def soft(self, p_rel: float = 1.0, p_nonrel: float = 0.0, at_least: int = 1) -> SoftQrelsSet:
        """Random relevance in every column, as `Qrels.soft` maps one."""
        _check_chances(p_rel, p_nonrel)
        return SoftQrelsSet(self, p_rel, p_nonrel, at_least)

    def qrels(self, name: str) -> Qrels:
        """One column as qrels."""
        at = self.columns.code(name, self.axis)
        parts = [self.block(topic, at, at + 1)[:, 0] for topic in range(len(self.topics))]
        grades = np.concatenate(parts) if parts else np.zeros(0, np.int8)
        judged = grades != NOT_JUDGED
        return Qrels(self.pairs.select(judged), grades[judged])


@dataclass(frozen=True, eq=False)
class TeamLabels:
    """What one of several teams said: a chance of relevance for each pair and, where it ranked
    documents, the rank of each in its ranking. A ranking has a name and is of one topic; rank 1 is
    best.
    """

    labels: SoftQrels
    ranking: Array | None = None
    rank: Floats | None = None


@dataclass(frozen=True, eq=False)
class SoftQrelsSet:
    """Many random qrels over one pool: the hard grades of each column, mapped to probabilities."""

    hard: QrelsSet
    p_rel: float
    p_nonrel: float
    at_least: int = 1

    def __len__(self) -> int:
        return len(self.hard)

    def __repr__(self) -> str:
        return f"{self.hard!r}.soft({self.p_rel}, {self.p_nonrel}, at_least={self.at_least})"

    @property
    def pairs(self) -> Pairs:
        """The pool."""
        return self.hard.pairs

    def soft_qrels(self, name: str) -> SoftQrels:
        """One column as soft qrels."""
        return self.hard.qrels(name).soft(self.p_rel, self.p_nonrel, self.at_least)

    def block(self, topic: int, column: int) -> tuple[Mask, Floats]:
        """Which of the topic's pairs a column has judged, and p[those pairs, 2 grades]."""
        grades = self.hard.block(topic, column, column + 1)[:, 0]
        judged = grades != NOT_JUDGED
        p = np.where(grades[judged] >= self.at_least, self.p_rel, self.p_nonrel)
        return judged, np.stack([1 - p, p], axis=1)


def last_of_each(judgements: Judgements) -> Mask:
    """Which rows are the last of their (pair, assessor)."""
    key = judgements.pair.astype(np.int64) * max(len(judgements.assessors), 1) + judgements.assessor
    last = np.ones(len(key), np.bool_)
    last[:-1] = key[1:] != key[:-1]
    return last


def one_grade_each(judgements: Judgements, last: Mask) -> Grades:
    """One grade code per (pair, assessor): the latest, else the commonest, the lower of equals."""
    if last.all() or judgements.time is not None:  # sorted by time: the last one is the latest
        return judgements.grade[last]
    group: Offsets = np.cumsum(last) - last
    size = len(judgements.scale)
    cells = np.bincount(group * size + judgements.grade, minlength=int(last.sum()) * size)
    return np.asarray(cells.reshape(-1, size).argmax(axis=1), dtype=np.int8)
