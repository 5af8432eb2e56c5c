"""Who put which documents of a topic in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, Self

import numpy as np

from qrowd.data import arrays
from qrowd.data.arrays import Array, Codes, Floats, Mask, Names, Offsets
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index, Pairs, Pooled, encode_columns, mixed
from qrowd.errors import InputError

_Names = Sequence[str] | Names
NO_EXTRAS: Mapping[str, Array | None] = MappingProxyType({})
EXTRAS = ("time", "seconds", "weight", "rest", "left")  # numbers that a ballot may have


class Comparisons(NamedTuple):
    """Two documents of a ballot each: the first has the better place, or both are tied."""

    ballot: Codes
    first: Codes
    second: Codes
    tied: Mask


@dataclass(frozen=True, eq=False)
class Orders(Pooled, Framed):
    """Ballots: an assessor's order of some documents of one topic.

    Row r says that `pair[r]` has `place[r]` in its ballot: 1 is best, equal places are tied, and
    places are dense (1, 2, 2, 3). The rows of ballot b start at `starts[b]`; of each ballot the
    `assessor` is known and, where somebody said so, the name of the `set` of documents, the `time`
    and the `seconds`. A ranking of five documents is a ballot of five, a preference one of two.
    A ballot with the `weight` 2 counts as two. Where `rest` is 1, those at the last place are what
    was left when the others had been chosen: below these, in no known order. `left` is 1 where the
    document of the ballot's first row stood left of the other one, 0 where it stood right.
    `pairs` is the pool: it may hold pairs that nobody ranked.
    """

    pairs: Pairs
    assessors: Index
    assessor: Codes
    starts: Offsets
    pair: Codes
    place: Codes
    set: Names = field(default_factory=arrays.no_texts)
    time: Floats | None = None
    seconds: Floats | None = None
    weight: Floats | None = None
    rest: Floats | None = None
    left: Floats | None = None

    def __post_init__(self) -> None:
        arrays.freeze_fields(
            self, assessor=np.int32, starts=np.int64, pair=np.int32, place=np.int32
        )
        arrays.freeze_fields(self, **dict.fromkeys(EXTRAS, np.float64))
        object.__setattr__(self, "set", arrays.texts("set", self.set, len(self.assessor)))
        arrays.check_codes("pair", self.pair, len(self.pairs), len(self.place))
        arrays.check_codes("assessor", self.assessor, len(self.assessors), len(self.starts) - 1)

    # --- making -----------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        topics: _Names,
        documents: _Names,
        assessors: _Names,
        places: Sequence[int] | Array,
        sets: _Names | None = None,
        *,
        time: Array | None = None,
        seconds: Array | None = None,
        weight: Array | None = None,
        rest: Array | None = None,
    ) -> Self:
        """Orders from columns, in any row order.

        The rows of one assessor and set are a ballot; without a set, those of one assessor and
        topic. `time`, `seconds`, `weight` and `rest` are those of the ballot, the largest of its
        rows.

        >>> import qrowd as q
        >>> q.Orders.of(["t"] * 3, ["a", "b", "c"], ["ann"] * 3, [1, 2, 2])
        Orders(1 ballots of 3 pairs in 1 topics by 1 assessors)
        """
        indexes, codes = encode_columns(topics, documents, assessors)
        coded_sets = Index.encode(sets if sets is not None else [""] * len(codes[0]))
        extras = {"time": time, "seconds": seconds, "weight": weight, "rest": rest}
        return cls.from_codes(indexes, codes, np.asarray(places), coded_sets, extras)

    @classmethod
    def from_codes(
        cls,
        indexes: tuple[Index, Index, Index],
        codes: tuple[Codes, Codes, Codes],
        places: Array,
        sets: tuple[Index, Codes],
        extras: Mapping[str, Array | None] = NO_EXTRAS,
    ) -> Self:
        """Orders from coded rows in any order: (topics, documents, assessors) and their codes."""
        (topics, documents, assessors), (topic, document, assessor) = indexes, codes
        named, of_set = sets
        unnamed = (named.names == "")[of_set] if len(named) else np.ones(len(topic), np.bool_)
        key = assessor.astype(np.int64) * max(len(named), 1) + of_set
        key = key * max(len(topics), 1) + np.where(unnamed, topic, 0)
        _, first, ballot = np.unique(key, return_index=True, return_inverse=True)
        arrays.refuse_rows(
            ~((places >= 1) & (places == np.floor(places))),
            lambda row: f"place must be a whole number from 1 (the best) up, got {places[row]:g}",
        )
        arrays.refuse_rows(
            topic != topic[first][ballot],
            lambda row: (
                f"a ballot over two topics, {topics.names[topic[first[ballot[row]]]]} and "
                f"{topics.names[topic[row]]}; give their sets different names"
            ),
        )
        pairs, pair = Pairs.from_codes(topics, documents, topic, document)
        about = (assessor[first], named.names[of_set[first]] if len(named) else arrays.no_texts())
        largest = {name: _largest(each, ballot) for name, each in extras.items()}
        return cls._sorted(pairs, assessors, (ballot, pair, places), about, largest)

    @classmethod
    def of_values(
        cls,
        topics: _Names,
        documents: _Names,
        assessors: _Names,
        values: Sequence[float] | Array,
        sets: _Names | None = None,
    ) -> Self:
        """Orders from numbers that say how good a document is: the largest comes first."""
        distinct = np.unique(-np.asarray(values, np.float64), return_inverse=True)[1]
        return cls.of(topics, documents, assessors, distinct + 1, sets)

    @classmethod
    def of_preferences(
        cls,
        topics: _Names,
        better: _Names,
        worse: _Names,
        assessors: _Names,
        *,
        tied: Mask | None = None,
        time: Array | None = None,
        seconds: Array | None = None,
        weight: Array | None = None,
        left: Array | None = None,
    ) -> Self:
        """Orders from preferences, a ballot of two each; `tied` ones prefer neither. `left` says
        whether the better one stood left.
        """
        n = len(topics)
        indexes, codes = encode_columns(topics, [*better, *worse], assessors)
        topic, document, assessor = codes
        coded = (topic, document[:n], document[n:], assessor)
        extras = {"time": time, "seconds": seconds, "weight": weight, "left": left}
        return cls.from_couples(indexes, coded, tied, extras)

    @classmethod
    def from_couples(
        cls,
        indexes: tuple[Index, Index, Index],
        codes: tuple[Codes, Codes, Codes, Codes],
        tied: Mask | None = None,
        extras: Mapping[str, Array | None] = NO_EXTRAS,
    ) -> Self:
        """Orders from coded preferences: (topics, documents, assessors), and the codes of topic,
        better document, worse document and assessor.
        """
        (topics, documents, assessors), (topic, better, worse, assessor) = indexes, codes
        arrays.refuse_rows(
            better == worse,
            lambda row: (
                f"document {documents.names[better[row]]} against itself; name two documents"
            ),
        )
        n, document = len(topic), np.concatenate([better, worse])
        pairs, pair = Pairs.from_codes(topics, documents, np.tile(topic, 2), document)
        second = np.full(n, 2) if tied is None else np.where(tied, 1, 2)
        left = extras.get("left")
        if left is not None:  # of tied ones the first row has the lower code
            turned = (second == 1) & (better > worse)
            extras = {**extras, "left": np.where(turned, 1 - np.asarray(left), left)}
        rows = (np.tile(np.arange(n), 2), pair, np.concatenate([np.ones(n, np.int64), second]))
        return cls._sorted(pairs, assessors, rows, (assessor, arrays.no_texts()), extras)

    @classmethod
    def none(cls, pairs: Pairs, assessors: Index | None = None) -> Self:
        """No ballot at all, over a pool."""
        nothing = np.zeros(0, np.int32)
        assessors = Index.of([]) if assessors is None else assessors
        return cls(pairs, assessors, nothing, np.zeros(1, np.int64), nothing, nothing)

    @classmethod
    def _sorted(
        cls,
        pairs: Pairs,
        assessors: Index,
        rows: tuple[Array, Codes, Array],
        about: tuple[Codes, Names],
        extras: Mapping[str, Array | None],
    ) -> Self:
        """Ballots in an order that depends on what they say only; rows by place, then pair."""
        ballot, pair, place = rows
        assessor, named = about
        order = np.lexsort((pair, place, ballot))
        ballot, pair, place = ballot[order], pair[order], _dense(ballot[order], place[order])
        starts = arrays.starts_of(ballot, len(assessor))
        weight = extras.get("weight")
        if weight is not None:
            given = np.asarray(weight, np.float64)
            arrays.refuse_rows(
                ~(np.isfinite(given) & (given > 0))[ballot[np.argsort(order)]],
                lambda _: "the weight of a ballot must be a number above 0",
            )
        names = assessors.names[assessor] if len(assessor) else named
        _refuse_twice(ballot, pair, order, pairs, names)
        ranked = _ballot_order(pairs, assessor, named, extras, (ballot, pair, place), starts)
        sizes = np.diff(starts)[ranked]
        take = np.repeat(starts[ranked] - (np.cumsum(sizes) - sizes), sizes) + np.arange(len(pair))
        kept = {
            name: None if each is None else np.asarray(each, np.float64)[ranked]
            for name, each in extras.items()
        }
        begin = np.concatenate([[0], np.cumsum(sizes)])
        named = named[ranked] if len(named) else named
        return cls(
            pairs, assessors, assessor[ranked], begin, pair[take], place[take], named, **kept
        )

    # --- looking ----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.assessor)

    def __repr__(self) -> str:
        return (
            f"Orders({len(self)} ballots of {len(self.pairs)} pairs in {len(self.topics)} topics "
            f"by {len(self.assessors)} assessors)"
        )

    @cached_property
    def ballot(self) -> Codes:
        """The ballot of each row."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.sizes)

    @property
    def sizes(self) -> Offsets:
        """How many documents each ballot has."""
        return np.diff(self.starts)

    @cached_property
    def topic(self) -> Codes:
        """The topic of each ballot."""
        return self.pairs.topic[self.pair[self.starts[:-1]]]

    @property
    def preferences(self) -> bool:
        """Whether every ballot has two documents and no set."""
        return bool((self.sizes == 2).all()) and not any(self.set)

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`topic doc assessor place`, then `set` and what else is known of a ballot."""
        columns: dict[str, Coded | Array] = {
            **self.pairs.frame_columns(self.pair),
            "assessor": Coded(self.assessors, self.assessor[self.ballot]),
            "place": self.place,
        }
        columns |= {"set": self.set[self.ballot]} if any(self.set) else {}
        extras = {name: getattr(self, name) for name in EXTRAS}
        return columns | {n: each[self.ballot] for n, each in extras.items() if each is not None}

    @cached_property
    def weights(self) -> Floats:
        """How much each ballot counts."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def unordered(self) -> Mask:
        """Which rows are the rest of their ballot, in no known order."""
        if self.rest is None:
            return np.zeros(len(self.pair), np.bool_)
        last = self.place[self.starts[1:] - 1]
        return np.asarray((self.rest == 1)[self.ballot] & (self.place == last[self.ballot]))

    def comparisons(self) -> Comparisons:
        """Any two documents of each ballot, except of its rest; rows are in the order of places."""
        parts = [np.zeros((3, 0), np.int64)]
        sizes = self.sizes
        for size in np.unique(sizes):
            chosen = np.flatnonzero(sizes == size)
            better, worse = np.triu_indices(size, 1)
            rows = self.starts[chosen][:, None]
            ballot = np.repeat(chosen, len(better))
            parts.append(np.stack([ballot, (rows + better).ravel(), (rows + worse).ravel()]))
        ballot, first, second = np.concatenate(parts, axis=1)
        order = np.argsort(ballot, kind="stable")
        order = order[~self.unordered[first[order]]]
        ballot, first, second = ballot[order].astype(np.int32), first[order], second[order]
        tied = self.place[first] == self.place[second]
        return Comparisons(ballot, self.pair[first], self.pair[second], tied)

    # --- other orders -----------------------------------------------------------------------------

    def with_pool(self, pairs: Pairs) -> Orders:
        """The same orders over a pool that holds these pairs too."""
        pool = self.pairs.union(pairs)
        if pool is self.pairs:
            return self
        return replace(self, pairs=pool, pair=pool.locate(self.pairs)[self.pair])

    def select(self, ballots: Mask) -> Orders:
        """The ballots where the mask is true, over the same pool and assessors."""
        rows = ballots[self.ballot]
        begin = np.concatenate([[0], np.cumsum(self.sizes[ballots])])
        return replace(
            self,
            assessor=self.assessor[ballots],
            starts=begin,
            pair=self.pair[rows],
            place=self.place[rows],
            set=self.set[ballots],
            **{name: each[ballots] for name in EXTRAS if (each := getattr(self, name)) is not None},
        )

    def __getitem__(self, topics: Index | str) -> Orders:
        """The ballots on these topics; the pool shrinks to them, the assessors stay."""
        topics = self.topics.chosen(topics)
        inside = self.pairs.of_topics(topics)
        chosen = self.select((topics.find(self.topics) >= 0)[self.topic])
        recode = np.cumsum(inside, dtype=np.int32) - np.int32(1)
        return replace(chosen, pairs=self.pairs.select(inside), pair=recode[chosen.pair])


def _largest(column: Array | None, ballot: Array) -> Floats | None:
    """The largest value of each ballot's rows."""
    if column is None:
        return None
    largest = np.full(int(ballot.max(initial=-1)) + 1, np.nan)
    np.fmax.at(largest, ballot, np.asarray(column, np.float64))
    return largest


def _dense(ballot: Array, place: Array) -> Codes:
    """Places 1, 2, ... without gaps; rows sorted by ballot and place."""
    if not len(ballot):
        return np.zeros(0, np.int32)
    new = np.concatenate([[True], ballot[1:] != ballot[:-1]])
    step = np.cumsum(new | np.concatenate([[True], place[1:] != place[:-1]]))
    return np.asarray(step - step[new][np.cumsum(new) - 1] + 1, np.int32)


def _ballot_order(
    pairs: Pairs,
    assessor: Codes,
    named: Names,
    extras: Mapping[str, Array | None],
    rows: tuple[Array, Codes, Codes],
    starts: Offsets,
) -> Offsets:
    """Ballots by topic, assessor, set, time and what they say."""
    _, pair, place = rows
    content = mixed(pair.astype(np.uint64) * np.uint64(1 << 20) + place.astype(np.uint64), 0)
    total = np.add.reduceat(content, starts[:-1]) if len(pair) else np.zeros(0, np.uint64)
    first = pair[starts[:-1]]
    sets = [Index.encode(named)[1]] if len(named) else []
    numbers = [each for each in extras.values() if each is not None]
    return np.lexsort((total, first, *numbers, *sets, assessor, pairs.topic[first]))


def _refuse_twice(ballot: Array, pair: Codes, order: Array, pairs: Pairs, assessors: Names) -> None:
    """An error if a document is twice in a ballot; `order` says which row each was in the input."""
    key = ballot.astype(np.int64) * max(len(pairs), 1) + pair
    by = np.lexsort((order, key))
    again = by[1:][key[by][1:] == key[by][:-1]]
    if len(again):
        at = again[np.argmin(order[again])]
        document = pairs.documents.names[pairs.document[pair[at]]]
        raise InputError(
            f"document {document} twice in one ballot of assessor {assessors[ballot[at]]}; if one "
            "set was ranked twice, keep one ranking or name the sets apart",
            row=int(order[at]),
        )
