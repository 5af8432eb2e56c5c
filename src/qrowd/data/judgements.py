"""Who said what about which pair."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, overload

import numpy as np

from qrowd.data import arrays
from qrowd.data.arrays import Array, Codes, Floats, Grades, Mask, Names, Offsets
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index, Pairs, Pooled, encode_columns
from qrowd.data.scale import BINARY, Scale
from qrowd.errors import InputError, require_choice
from qrowd.rendering import some_of

if TYPE_CHECKING:
    from qrowd.data.qrels import QrelsSet
    from qrowd.data.sample import Choice

KINDS = ("person", "expert", "machine")
"""What an assessor may be."""
UNKNOWN = "unknown"
_EXTRAS = ("weight", "seconds", "time")
_NAMED = ("topic", "document", "assessor")


class Judgement(NamedTuple):
    """What one assessor said of one document."""

    topic: str
    doc: str
    assessor: str
    grade: int


@dataclass(frozen=True, eq=False)
class Judgements(Pooled, Framed):
    """Integer-coded columns, one row per judgement, sorted by (pair, assessor, time, grade).

    `pairs` is the pool: it may hold pairs that nobody judged. `grade` holds codes of the `scale`.
    An assessor may judge a pair zero, one or several times. `weight` is the weight of a vote (1 if
    absent), `seconds` how long it took, `time` when it was made. `kinds` says of each assessor
    whether it is a person, an expert, a machine, or "unknown"; None where all are unknown.
    `choice` says which pairs were judged because of what had been said before; None: not known.
    """

    pairs: Pairs
    assessors: Index
    scale: Scale
    pair: Codes
    assessor: Codes
    grade: Grades
    weight: Floats | None = None
    seconds: Floats | None = None
    time: Floats | None = None
    kinds: Names | None = None
    choice: Choice | None = None

    def __post_init__(self) -> None:
        arrays.freeze_fields(self, pair=np.int32, assessor=np.int32, grade=np.int8)
        arrays.freeze_fields(self, weight=np.float64, seconds=np.float64, time=np.float64)
        arrays.freeze_fields(self, kinds=object)
        self._check()
        if not self._sorted():
            self._sort()

    def _check(self) -> None:
        limits = (len(self.pairs), len(self.assessors), len(self.scale))
        for field, limit in zip(("pair", "assessor", "grade"), limits, strict=True):
            arrays.check_codes(field, getattr(self, field), limit, len(self.pair))
        for field, least in (("weight", 0.0), ("seconds", 0.0), ("time", -np.inf)):
            extra = getattr(self, field)
            if extra is None:
                continue
            bad = ~(np.isnan(extra) | ((extra >= least) & (extra < np.inf)))
            if field == "weight":
                bad |= np.isnan(extra)
            if bad.any():
                row = int(np.argmax(bad))
                message = f"{field} must be a finite number{' of at least 0' * (least == 0)}"
                raise InputError(f"{message}, got {extra[row]}", row=row)
        if self.kinds is not None:
            self._check_kinds(self.kinds)

    def _check_kinds(self, kinds: Names) -> None:
        if len(kinds) != len(self.assessors):
            raise InputError(f"kinds has {len(kinds)} rows, not {len(self.assessors)}")
        words = set(kinds)
        odd = sorted(map(str, words - {*KINDS, UNKNOWN}))
        if odd:
            raise InputError(f"a kind must be one of {', '.join(KINDS)}, {UNKNOWN}; got {odd[0]!r}")
        if words <= {UNKNOWN}:
            object.__setattr__(self, "kinds", None)

    def _sorted(self) -> bool:
        key = self.pair.astype(np.int64) * max(len(self.assessors), 1) + self.assessor
        if bool((key[1:] > key[:-1]).all()):
            return True
        if any(getattr(self, field) is not None for field in _EXTRAS):
            return False
        key *= len(self.scale)
        key += self.grade
        return bool((key[1:] >= key[:-1]).all())

    def _sort(self) -> None:
        extras = [getattr(self, f) for f in ("weight", "seconds") if getattr(self, f) is not None]
        times = [self.time] if self.time is not None else []
        order = np.lexsort([*extras, self.grade, *times, self.assessor, self.pair])
        for field, column in self._rows(order).items():
            object.__setattr__(self, field, arrays.freeze(column, column.dtype))

    # --- making -----------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        topics: Sequence[str] | Names,
        documents: Sequence[str] | Names,
        assessors: Sequence[str] | Names,
        grades: Sequence[int] | Array,
        *,
        scale: Scale | None = None,
        **extras: Any,
    ) -> Self:
        """Judgements from columns of names and grades, in any row order."""
        indexes, codes = encode_columns(topics, documents, assessors)
        return cls.from_codes(indexes, codes, np.asarray(grades), scale=scale, **extras)

    @classmethod
    def none(cls, pairs: Pairs) -> Self:
        """No judgement at all, over a pool."""
        nothing = np.zeros(0, np.int32)
        return cls(pairs, Index.of([]), BINARY, nothing, nothing, np.zeros(0, np.int8))

    @classmethod
    def from_codes(
        cls,
        indexes: tuple[Index, Index, Index],
        codes: tuple[Codes, Codes, Codes],
        grades: Array,
        *,
        scale: Scale | None = None,
        kinds: Names | None = None,
        **extras: Any,
    ) -> Self:
        """Judgements from coded rows, any order: (topics, documents, assessors) and their codes."""
        (topics, documents, assessors), (topic, document, assessor) = indexes, codes
        scale = scale or Scale.of(grades)
        grade = scale.codes_strictly(grades)
        for name, index, column in zip(_NAMED, indexes, codes, strict=True):
            arrays.check_codes(name, column, len(index), len(grade))
        bits = [max(len(index) - 1, 1).bit_length() for index in (*indexes, scale)]
        if extras or sum(bits) > 63:
            pairs, pair = Pairs.from_codes(topics, documents, topic, document)
            return cls(pairs, assessors, scale, pair, assessor, grade, kinds=kinds, **extras)
        key = _packed((topic, document, assessor, grade), bits)
        key.sort()  # several times faster than sorting by an order
        key, grade = key >> bits[3], (key & _mask(bits[3])).astype(np.int8)
        key, assessor = key >> bits[2], (key & _mask(bits[2])).astype(np.int32)
        first = np.ones(len(key), np.bool_)
        np.not_equal(key[1:], key[:-1], out=first[1:])
        pair, key = np.cumsum(first, dtype=np.int32) - np.int32(1), key[first]
        of_pairs = (key >> bits[1]).astype(np.int32), (key & _mask(bits[1])).astype(np.int32)
        pairs = Pairs(topics, documents, *of_pairs)
        return cls(pairs, assessors, scale, pair, assessor, grade, kinds=kinds)

    # --- looking ----------------------------------------------------------------------------------

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`topic doc assessor grade`, then `weight seconds time kind` where they are known."""
        columns: dict[str, Coded | Array] = {
            **self.pairs.frame_columns(self.pair),
            "assessor": Coded(self.assessors, self.assessor),
            "grade": self._shown_grades[self.grade],
        }
        extras = {name: getattr(self, name) for name in _EXTRAS}
        columns |= {name: extra for name, extra in extras.items() if extra is not None}
        if self.kinds is not None:
            words, codes = Index.encode(self.kinds)
            columns["kind"] = Coded(words, codes[self.assessor])
        return columns

    @property
    def _shown_grades(self) -> Array:
        words, grades = self.scale.words, self.scale.grades
        return np.array(words, object) if words else np.array(grades, np.int8)

    def __len__(self) -> int:
        return len(self.pair)

    def __repr__(self) -> str:
        return (
            f"Judgements({len(self)} judgements of {len(self.pairs)} pairs in {len(self.topics)} "
            f"topics by {len(self.assessors)} assessors; grades {self.scale})"
        )

    @cached_property
    def pair_starts(self) -> Offsets:
        """Where each pair's judgements start; one more offset than pairs."""
        return arrays.starts_of(self.pair, len(self.pairs))

    @cached_property
    def per_assessor(self) -> Offsets:
        """How many judgements each assessor made."""
        return arrays.occurrences(self.assessor, len(self.assessors))

    @cached_property
    def places_by_content(self) -> Offsets:
        """A place for each assessor by what was said of which pairs, whatever they are called.

        What is drawn for assessors in this order does not change when they get other names, as in
        a campaign's release.
        """
        said = (self.pair.astype(np.int64) * len(self.scale) + self.grade).astype(np.uint64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            said += np.uint64(0x9E3779B97F4A7C15)  # SplitMix64, over numbers of 64 bits
            said = (said ^ (said >> np.uint64(shift))) * np.uint64(factor)
        total = np.zeros(len(self.assessors), np.uint64)
        np.add.at(total, self.assessor, said)
        places = np.empty(len(total), np.int64)
        places[np.argsort(total, kind="stable")] = np.arange(len(total))
        return places

    @property
    def kind_counts(self) -> dict[str, int]:
        """How many assessors are of each kind that occurs; nothing where all are unknown."""
        if self.kinds is None:
            return {}
        counts = {kind: int((self.kinds == kind).sum()) for kind in (*KINDS, UNKNOWN)}
        return {kind: count for kind, count in counts.items() if count}

    @cached_property
    def votes(self) -> Floats:
        """The (weighted) votes of each pair for each grade: float64[pairs, grades]."""
        size = len(self.scale)
        votes = np.zeros(len(self.pairs) * size)
        for rows in arrays.pieces(len(self)):
            cell = self.pair[rows].astype(np.int64) * size + self.grade[rows]
            first, weight = cell.min(), None if self.weight is None else self.weight[rows]
            counts = np.bincount(cell - first, weight)
            votes[first : first + len(counts)] += counts
        return votes.reshape(len(self.pairs), size)

    # --- other judgements -------------------------------------------------------------------------

    def binary(self, at_least: int) -> Judgements:
        """The same judgements with two grades: 1 from `at_least` on, else 0."""
        self.scale.require_order("a cut")
        cut = (np.array(self.scale.grades) >= at_least).astype(np.int8)
        return replace(self, grade=cut[self.grade], scale=BINARY)

    def with_pool(self, pairs: Pairs) -> Judgements:
        """The same judgements over a pool that holds these pairs too."""
        pool = self.pairs.union(pairs)
        if pool is self.pairs:
            return self
        return replace(self, pairs=pool, pair=pool.locate(self.pairs)[self.pair])

    def select(self, rows: Mask) -> Judgements:
        """The judgements where the mask is true, over the same pool and assessors."""
        return replace(self, **self._rows(rows))

    def _rows(self, rows: Mask | Offsets) -> dict[str, Any]:
        """The columns, where the mask is true or in this order."""
        columns = {field: getattr(self, field) for field in ("pair", "assessor", "grade", *_EXTRAS)}
        return {field: column[rows] for field, column in columns.items() if column is not None}

    def of_assessors(self, assessors: Index) -> Judgements:
        """The judgements of these assessors only, over the same pool."""
        kept = self.assessors.intersection(assessors)
        recode = kept.find(self.assessors)
        columns = self._rows((recode >= 0)[self.assessor])
        columns["assessor"] = recode[columns["assessor"]]
        kinds = None if self.kinds is None else self.kinds[recode >= 0]
        return replace(self, assessors=kept, kinds=kinds, **columns)

    def joined(self, other: Judgements) -> Judgements:
        """The judgements of both, which are on one scale; kinds as either knows them."""
        pool, assessors = self.pairs.union(other.pairs), self.assessors.union(other.assessors)
        both = (self, other)
        kinds = np.full(len(assessors), UNKNOWN, object)
        for one in both:
            if one.kinds is not None:
                known = one.kinds != UNKNOWN
                kinds[assessors.find(one.assessors)[known]] = one.kinds[known]
        extras = {}
        for field in _EXTRAS:
            if any(getattr(one, field) is not None for one in both):
                missing = 1.0 if field == "weight" else np.nan
                columns = [getattr(one, field) for one in both]
                extras[field] = np.concatenate(
                    [
                        np.full(len(one), missing) if column is None else column
                        for one, column in zip(both, columns, strict=True)
                    ]
                )
        return Judgements(
            pool,
            assessors,
            self.scale,
            np.concatenate([pool.locate(one.pairs)[one.pair] for one in both]),
            np.concatenate([assessors.find(one.assessors)[one.assessor] for one in both]),
            np.concatenate([one.grade for one in both]),
            kinds=kinds,
            choice=self.choice or other.choice,
            **extras,
        )

    def of_kind(self, kind: str) -> Judgements:
        """The judgements of the assessors of this kind only, over the same pool."""
        require_choice("kind", kind, (*KINDS, UNKNOWN))
        if self.kinds is None:
            return self if kind == UNKNOWN else self.of_assessors(Index.of([]))
        return self.of_assessors(Index(self.assessors.names[self.kinds == kind]))

    def with_kind(self, kind: str, *patterns: str) -> Judgements:
        """The same judgements, their assessors whose names fit a pattern being of this kind.

        Patterns are a shell's: `*` is any text, `?` any letter. Each must fit somebody, and nobody
        who is known to be of another kind.

        >>> import qrowd as q
        >>> crowd = q.Judgements.of(["t"] * 2, ["d"] * 2, ["ann", "gpt-4"], [1, 0])
        >>> crowd.with_kind("machine", "gpt*").kinds.tolist()
        ['unknown', 'machine']
        """
        require_choice("kind", kind, KINDS)
        names = self.assessors.names
        chosen: list[str] = []
        for pattern in patterns:
            fits = re.compile(fnmatch.translate(pattern)).match
            fitting = [name for name in names if name == pattern or fits(name)]
            if not fitting:
                there = some_of(names, "assessor")
                raise InputError(f"no assessor fits {pattern!r}; there are {there}")
            chosen += fitting
        return self.with_kinds(dict.fromkeys(chosen, kind))

    def with_kinds(self, kinds: Mapping[str, str]) -> Judgements:
        """The same judgements, with the kinds of assessors by name; other names are passed over.

        Nobody may be known to be of another kind.
        """
        found = self.assessors.find(Index.of(list(kinds)))
        known = np.full(len(self.assessors), UNKNOWN, object) if self.kinds is None else self.kinds
        after = known.copy()
        for name, at in zip(sorted(kinds), found, strict=True):
            kind = kinds[name]
            require_choice(f"the kind of {name}", kind, KINDS)
            if at >= 0 and known[at] not in (UNKNOWN, kind):
                raise InputError(f"{name} would be of the kind {kind}, and is {known[at]} already")
            if at >= 0:
                after[at] = kind
        return replace(self, kinds=after)

    @overload
    def __getitem__(self, wanted: Index | str) -> Judgements: ...

    @overload
    def __getitem__(self, wanted: int) -> Judgement: ...

    def __getitem__(self, wanted: Index | str | int) -> Judgements | Judgement:
        """The judgements on these topics, or on one; or one of them by its number.

        The pool shrinks to the topics, the assessors stay.
        """
        if isinstance(wanted, int | np.integer):
            at = range(len(self))[wanted]
            pair = self.pair[at]
            return Judgement(
                self.topics.names[self.pairs.topic[pair]],
                self.pairs.documents.names[self.pairs.document[pair]],
                self.assessors.names[self.assessor[at]],
                self.scale.grades[self.grade[at]],
            )
        return self.of_pairs(self.pairs.of_topics(self.topics.chosen(wanted)))

    def __iter__(self) -> Iterator[Judgement]:
        return (self[row] for row in range(len(self)))

    def of_pairs(self, kept: Mask) -> Judgements:
        """The judgements of the pairs where the mask is true; the pool shrinks to them."""
        chosen = self.select(kept[self.pair])
        recode = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        return replace(chosen, pairs=self.pairs.select(kept), pair=recode[chosen.pair])

    def one_each(self) -> Judgements:
        """One judgement per pair and assessor: the latest, else the commonest grade, the lower."""
        from qrowd.data.qrels import last_of_each, one_grade_each

        last = last_of_each(self)
        if last.all():
            return self
        return replace(self.select(last), grade=one_grade_each(self, last))

    def by_assessor(self) -> QrelsSet:
        """One qrels per assessor; of repeated judgements the latest counts, else the commonest."""
        from qrowd.data.qrels import QrelsSet

        self.scale.require_order("relevance")
        return QrelsSet.of_judgements(self)


def _packed(columns: tuple[Codes, Codes, Codes, Grades], bits: list[int]) -> Offsets:
    """Each row as one number, the first column on top."""
    key = columns[0].astype(np.int64)
    for at in (1, 2, 3):
        key <<= bits[at]
        key |= columns[at]
    return key


def _mask(bits: int) -> int:
    return (1 << bits) - 1
