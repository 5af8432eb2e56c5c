"""Names and their codes: `Index` (sorted, so that codes depend on the names only) and `Pairs`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from qrowd.data import arrays
from qrowd.data.arrays import Array, Codes, Hashes, Mask, Names, Offsets
from qrowd.data.frames import Coded, Framed
from qrowd.errors import InputError, ParameterError, UnknownNameError, UsageError

_PRIME = np.uint64(0x100000001B3)


class Column(Protocol):
    """A column of names that becomes an array of them when asked: a Polars series does."""

    def __len__(self) -> int: ...

    def to_numpy(self) -> Any:
        """The names as an array."""
        ...

    def search_sorted(self, element: Any) -> Any:
        """Where to insert each name of another column."""
        ...

    def gather(self, indices: Any) -> Any:
        """The names at these positions."""
        ...


class Index:
    """Sorted, distinct names; a name's code is its position. Never changed once made.

    Millions of names from a file stay in the file's own form until somebody asks for them.
    """

    held: Names | Column

    def __init__(self, names: Names) -> None:
        self.held = arrays.freeze(names, object)

    @classmethod
    def of_sorted(cls, column: Column) -> Self:
        """An index of names that are sorted and distinct already; held as they are."""
        index = cls.__new__(cls)
        index.held = column
        return index

    def __getstate__(self) -> dict[str, Any]:
        return {"held": self.held}

    @cached_property
    def names(self) -> Names:
        """The names, as Python's strings."""
        held = self.held
        return arrays.freeze(held if isinstance(held, np.ndarray) else held.to_numpy(), object)

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """An index of the distinct names among these."""
        return cls(np.array(sorted(set(names)), dtype=object))

    @classmethod
    def encode(cls, names: Sequence[str] | Names) -> tuple[Self, Codes]:
        """An index of these names, and the code of each."""
        index = cls.of(names)
        return index, index.codes(names)

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and (
            self is other or np.array_equal(self.names, other.names)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:3]) + (", ..." if len(self) > 3 else "")
        return f"Index({len(self)}: {shown})"

    @cached_property
    def _code(self) -> dict[str, int]:
        return dict(zip(self.names, range(len(self)), strict=True))

    def codes(self, names: Iterable[str]) -> Codes:
        """The code of each name; -1 for names that are not here."""
        find = self._code.get
        return np.fromiter((find(name, -1) for name in names), dtype=np.int32)

    def find(self, other: Index) -> Codes:
        """The code here of each of the other's names; -1 for names that are not here."""
        mine, theirs = self.held, other.held
        if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray) or not len(self):
            return self.codes(other.names)
        at = np.minimum(mine.search_sorted(theirs).to_numpy(), len(self) - 1).astype(np.int32)
        return np.where((mine.gather(at) == theirs).to_numpy(), at, np.int32(-1))

    def code(self, name: str, what: str = "name") -> int:
        """The code of one name; an error with a suggestion if it is not here."""
        if name not in self._code:
            raise UnknownNameError.among(what, name, self.names.tolist())
        return self._code[name]

    def chosen(self, wanted: Index | str) -> Index:
        """An index as it is; a name, which has to be here, as an index of one."""
        if isinstance(wanted, Index):
            return wanted
        if not isinstance(wanted, str):
            raise UsageError(f"[...] takes a topic or an Index of topics, got {wanted!r}")
        return Index(self.names[[self.code(wanted, "topic")]])

    def union(self, other: Index) -> Index:
        """All names of both."""
        return self if self == other else Index.of([*self.names, *other.names])

    def intersection(self, other: Index) -> Index:
        """The names that both have."""
        return self if self == other else Index(self.names[other.find(self) >= 0])

    def without(self, other: Index) -> Index:
        """The names that the other does not have."""
        return Index(self.names[other.find(self) < 0])

    def split(self, share: float, seed: int) -> tuple[Index, Index]:
        """Two disjoint parts at random, the first with this share of the names (at least one)."""
        if not 0 < share < 1 or len(self) < 2:
            raise ParameterError(
                f"a split needs a share between 0 and 1 and two names, got {share} of {len(self)}"
            )
        size = min(max(round(share * len(self)), 1), len(self) - 1)
        order = np.random.default_rng(seed).permutation(len(self))
        return Index(self.names[np.sort(order[:size])]), Index(self.names[np.sort(order[size:])])

    def hashes(self, codes: Codes) -> Hashes:
        """A 64-bit hash of each coded name that depends on the name's UTF-8 bytes alone."""
        used, back = np.unique(codes, return_inverse=True)
        coded = [name.encode() for name in self.names[used]]
        lengths = np.array([len(name) for name in coded], np.int64)
        order = np.argsort(-lengths, kind="stable")  # the longest first
        starts = (np.cumsum(lengths) - lengths)[order]
        letters = np.frombuffer(b"".join(coded), np.uint8)
        longer = len(lengths) - np.cumsum(np.bincount(lengths))  # names longer than so much
        result = np.full(len(used), 0xCBF29CE484222325, np.uint64)
        for at in range(int(lengths.max(initial=0))):
            here = slice(longer[at])
            letter = letters[starts[here] + at]
            result[here] = np.where(letter > 0, (result[here] ^ letter) * _PRIME, result[here])
        unsorted = np.empty_like(result)
        unsorted[order] = result
        return unsorted[back]


def encode_columns(*columns: Sequence[str] | Names) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The index of each of these columns of names, and the codes of its rows."""
    indexes, codes = zip(*map(Index.encode, columns), strict=True)
    return indexes, codes


def mixed(hashed: Hashes, seed: int) -> Hashes:
    """Scramble hashes with a seed (the finaliser of splitmix64)."""
    z = hashed + np.uint64((0x9E3779B97F4A7C15 * (seed + 1)) % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class Pairs(Framed):
    """Distinct (topic, document) pairs, sorted by topic, then document; position = code."""

    topics: Index
    documents: Index
    topic: Codes
    document: Codes

    def __post_init__(self) -> None:
        arrays.freeze_fields(self, topic=np.int32, document=np.int32)
        if not bool((np.diff(self.keys) > 0).all()):
            raise InputError("pairs must be sorted by topic and document, and distinct")

    @classmethod
    def of(cls, topics: Sequence[str] | Names, documents: Sequence[str] | Names) -> Self:
        """The distinct pairs among these (the i-th topic with the i-th document)."""
        indexes, codes = encode_columns(topics, documents)
        return cls.from_codes(*indexes, *codes)[0]

    @classmethod
    def from_codes(
        cls, topics: Index, documents: Index, topic: Codes, document: Codes
    ) -> tuple[Self, Codes]:
        """The distinct pairs among coded rows, and each row's pair."""
        keys = topic.astype(np.int64) * max(len(documents), 1) + document
        distinct, back = np.unique(keys, return_inverse=True)
        pairs = cls(topics, documents, *np.divmod(distinct, max(len(documents), 1)))
        return pairs, back.astype(np.int32)

    def __len__(self) -> int:
        return len(self.topic)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Pairs)
            and len(self) == len(other)
            and np.array_equal(self.topic_names, other.topic_names)
            and np.array_equal(self.document_names, other.document_names)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Pairs({len(self)} pairs of {len(self.topics)} topics)"

    def frame_columns(self, pair: Codes | slice = slice(None)) -> dict[str, Coded | Array]:
        """`topic doc`: of all pairs, or of those that rows speak of."""
        return {
            "topic": Coded(self.topics, self.topic[pair]),
            "doc": Coded(self.documents, self.document[pair]),
        }

    @cached_property
    def keys(self) -> Offsets:
        """One ascending number per pair: topic * number of documents + document."""
        return self.topic.astype(np.int64) * max(len(self.documents), 1) + self.document

    @cached_property
    def topic_starts(self) -> Offsets:
        """Where each topic's pairs start; one more offset than topics."""
        return arrays.starts_of(self.topic, len(self.topics))

    @property
    def topic_names(self) -> Names:
        """The topic of each pair, by name."""
        return self.topics.names[self.topic]

    @property
    def document_names(self) -> Names:
        """The document of each pair, by name."""
        return self.documents.names[self.document]

    def called(self, pair: int) -> str:
        """How messages name one of the pairs."""
        topic, document = self.topic[pair], self.document[pair]
        return f"topic {self.topics.names[topic]} document {self.documents.names[document]}"

    def locate(self, other: Pairs) -> Codes:
        """Where each of the other's pairs is among these; -1 where it is not."""
        if other is self:
            return np.arange(len(self), dtype=np.int32)
        topic = self.topics.find(other.topics)[other.topic]
        document = self.documents.find(other.documents)[other.document]
        wanted = topic.astype(np.int64) * max(len(self.documents), 1) + document
        at = np.searchsorted(self.keys, wanted).astype(np.int32)
        at[at == len(self)] = 0
        here = (topic >= 0) & (document >= 0) & (len(self) > 0)
        if len(self):
            here &= self.keys[at] == wanted
        return np.where(here, at, -1).astype(np.int32)

    def union(self, other: Pairs) -> Pairs:
        """All pairs of both."""
        if other is self or (len(other) and bool((self.locate(other) >= 0).all())):
            return self
        topics, documents = self.topics.union(other.topics), self.documents.union(other.documents)
        both = (self, other)
        topic = np.concatenate([topics.find(each.topics)[each.topic] for each in both])
        document = np.concatenate([documents.find(each.documents)[each.document] for each in both])
        return Pairs.from_codes(topics, documents, topic, document)[0]

    def select(self, mask: Mask) -> Pairs:
        """The pairs where the mask is true; names that are left without a pair go too."""
        topics, topic = np.unique(self.topic[mask], return_inverse=True)
        documents, document = np.unique(self.document[mask], return_inverse=True)
        return Pairs(
            Index(self.topics.names[topics]),
            Index(self.documents.names[documents]),
            topic.astype(np.int32),
            document.astype(np.int32),
        )

    def of_topics(self, topics: Index) -> Mask:
        """Which pairs belong to these topics."""
        return np.asarray((topics.find(self.topics) >= 0)[self.topic], dtype=np.bool_)

    def hashes(self, pairs: Codes, seed: int) -> Hashes:
        """A hash of (seed, topic, document) for these pairs, independent of all other pairs."""
        topic = mixed(self.topics.hashes(self.topic[pairs]), 0)
        return mixed(topic ^ self.documents.hashes(self.document[pairs]), seed)


class Pooled:
    """What speaks of the pairs of a pool."""

    pairs: Pairs

    @property
    def topics(self) -> Index:
        """The topics of the pool."""
        return self.pairs.topics
