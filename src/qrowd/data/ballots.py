"""Rows of ballots: checked, made dense, and put into an order that the input cannot change."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Names, Offsets
from qrowd.data.index import Index, Pairs, mixed
from qrowd.errors import InputError


def largest_of(column: Array | None, ballot: Array) -> Floats | None:
    """The largest value of each ballot's rows."""
    if column is None:
        return None
    found = np.full(int(ballot.max(initial=-1)) + 1, np.nan)
    np.fmax.at(found, ballot, np.asarray(column, np.float64))
    return found


def dense_places(ballot: Array, place: Array) -> Codes:
    """Places 1, 2, ... without gaps; rows sorted by ballot and place."""
    if not len(ballot):
        return np.zeros(0, np.int32)
    new = np.concatenate([[True], ballot[1:] != ballot[:-1]])
    step = np.cumsum(new | np.concatenate([[True], place[1:] != place[:-1]]))
    return np.asarray(step - step[new][np.cumsum(new) - 1] + 1, np.int32)


def ballot_order(
    pairs: Pairs,
    assessor: Codes,
    named: Names,
    extras: Mapping[str, Array | None],
    rows: tuple[Array, Codes, Codes],
    starts: Offsets,
) -> Offsets:
    """Ballots by topic, assessor, set, time and what they say."""
    _, pair, place = rows
    said = mixed(pair.astype(np.uint64) * np.uint64(1 << 20) + place.astype(np.uint64), 0)
    total = np.add.reduceat(said, starts[:-1]) if len(pair) else np.zeros(0, np.uint64)
    first = pair[starts[:-1]]
    sets = [Index.encode(named)[1]] if len(named) else []
    known = [each for each in extras.values() if each is not None]
    return np.lexsort((total, first, *known, *sets, assessor, pairs.topic[first]))


def refuse_places(place: Array) -> None:
    """An error unless all places are whole numbers from 1 up."""
    bad = ~((place >= 1) & (place == np.floor(place)))
    if bad.any():
        row = int(np.argmax(bad))
        message = f"place must be a whole number from 1 (the best) up, got {place[row]:g}"
        raise InputError(message, row=row)


def refuse_two_topics(topic: Codes, first: Offsets, ballot: Array, topics: Index) -> None:
    """An error if a ballot has rows of two topics; `first` is a row of each ballot."""
    other = topic != topic[first][ballot]
    if other.any():
        row = int(np.argmax(other))
        one, two = topics.names[topic[first][ballot[row]]], topics.names[topic[row]]
        message = f"a ballot over two topics, {one} and {two}; give their sets different names"
        raise InputError(message, row=row)


def refuse_twice(ballot: Array, pair: Codes, order: Array, pairs: Pairs, who: Names) -> None:
    """An error if a document is twice in a ballot; `order` says which row each was in the input."""
    key = ballot.astype(np.int64) * max(len(pairs), 1) + pair
    by = np.lexsort((order, key))
    again = by[1:][key[by][1:] == key[by][:-1]]
    if len(again):
        at = again[np.argmin(order[again])]
        document = pairs.documents.names[pairs.document[pair[at]]]
        raise InputError(
            f"document {document} twice in one ballot of assessor {who[ballot[at]]}; if one set "
            "was ranked twice, keep one ranking or name the sets apart",
            row=int(order[at]),
        )
