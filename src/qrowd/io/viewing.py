"""The kernels over views of strings: hash them, number them (or their hashes), copy them.

Each part of the rows is numbered by itself in a small open-addressing table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.io.memory import byte_at, loaded
from qrowd.kernel import kernel

Array = np.ndarray[Any, np.dtype[Any]]
Table = tuple[Array, Array, int]

INSIDE = 12  # bytes that a view can hold itself
_LOW, _HIGH = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFF00000000)
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HALF, _ONE = np.uint64(32), np.uint64(1)


@kernel
def mixed(first: np.uint64, second: np.uint64, part: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Two hashes with eight more bytes in them."""
    first = (first ^ part) * _FIRST
    second = (second + part) * _SECOND
    return first ^ (first >> _HALF), second ^ (second >> _HALF)


@kernel
def hashed(view: int, buffers: Array) -> tuple[np.uint64, np.uint64]:
    """Two hashes of the string of a view, of the second the upper half."""
    head, tail = loaded(view), loaded(view + 8)
    length = np.int64(head & _LOW)
    first, second = mixed(_FIRST, _SECOND, head)
    if length <= INSIDE:
        first, second = mixed(first, second, tail)
    else:
        at = buffers[np.int64(tail & _LOW)] + np.int64(tail >> _HALF)
        last = at + length - 8
        while at < last:
            first, second = mixed(first, second, loaded(at))
            at += 8
        first, second = mixed(first, second, loaded(last))
    first *= _SECOND
    return first ^ (first >> _HALF), second * _FIRST & _HIGH


@kernel
def hash_views(view: int, buffers: Array, step: int, hashes: Array, checks: Array) -> None:
    """The hashes of every `step`-th row from a view on, as many as there is room for."""
    for row in range(len(hashes)):
        hashes[row], checks[row] = hashed(view + 16 * step * row, buffers)


@kernel
def grown(table: Array) -> Array:
    """A table of twice the size with the same entries."""
    new = np.zeros((2 * table.shape[0], 2), np.uint64)
    mask = np.uint64(new.shape[0] - 1)
    for old in range(table.shape[0]):
        if table[old, 1]:
            at = table[old, 0] & mask
            while new[at, 1]:
                at = (at + _ONE) & mask
            new[at, 0], new[at, 1] = table[old, 0], table[old, 1]
    return new


@kernel
def number(keys: Array, checks: Array, row: int, codes: Array, known: Table) -> Table:
    """Number keys by first appearance, as far as they are not `known`; the first is in this row.

    `known` are the table, the row where each key appeared first, and how many there are; -1, if two
    rows have the same key but different checks: then names share a hash.
    """
    table, first, used = known
    mask = np.uint64(table.shape[0] - 1)
    for here in range(len(keys)):
        key, check = keys[here], checks[here] & _HIGH
        at = key & mask
        while table[at, 1] and table[at, 0] != key:
            at = (at + _ONE) & mask
        found = table[at, 1]
        if found:
            if found & _HIGH != check:
                return table, first, -1
            codes[here] = np.int32(found & _LOW) - np.int32(1)
            continue
        codes[here] = used
        first[used] = row + here
        used += 1
        table[at, 0], table[at, 1] = key, check | np.uint64(used)
        if used == len(first):
            table = grown(table)
            mask = np.uint64(table.shape[0] - 1)
            first = np.concatenate((first, np.empty(used, np.int64)))
    return table, first, used


@kernel
def numerals_of_views(
    view: int, buffers: Array, how: tuple[Array, Array, Array, Array], out: Array
) -> bool:
    """The strings from a view on as numbers; whether all of them are of the kind that `how` says.

    `how` is the shortest and the longest length, and how many places the shortest has; place, mask
    and value of words that all have; the places; what each symbol adds there (much below 0: it is
    not of this kind).
    """
    edges, words, places, values = how
    shortest, longest, sure = edges[0], edges[1], edges[2]
    for row in range(len(out)):
        here = view + 16 * row
        length = np.int64(loaded(here) & _LOW)
        if length < shortest or length > longest:
            return False
        at = here + 4
        if length > INSIDE:
            tail = loaded(here + 8)
            at = buffers[tail & _LOW] + np.int64(tail >> _HALF)
        unlike = np.uint64(0)
        for word in range(words.shape[0]):
            unlike |= loaded(at + int(words[word, 0])) & words[word, 1] ^ words[word, 2]
        number = np.int64(0)
        for k in range(sure):
            number += values[np.uint64(k), byte_at(at + places[np.uint64(k)]) + _ONE]
        for k in range(sure, len(places)):
            inside = np.int64(places[np.uint64(k)] < length)
            symbol = (byte_at(at + places[np.uint64(k)] * inside) + _ONE) * np.uint64(inside)
            number += values[np.uint64(k), symbol]
        if unlike or number < 0:
            return False
        out[row] = number
    return True


@kernel
def view_lengths(view: int, rows: Array, lengths: Array) -> None:
    """How many bytes the strings in these rows have."""
    for at in range(len(rows)):
        lengths[at] = np.int64(loaded(view + 16 * rows[at]) & _LOW)


@kernel
def copy_views(view: int, buffers: Array, rows: Array, text: Array, starts: Array) -> None:
    """The bytes of the strings in these rows, each to where it starts in the text."""
    for name in range(len(rows)):
        here, to = view + 16 * rows[name], starts[name]
        length = np.int64(loaded(here) & _LOW)
        if length <= INSIDE:
            at, last = here + 4, here + 8
        else:
            tail = loaded(here + 8)
            at = buffers[np.int64(tail & _LOW)] + np.int64(tail >> _HALF)
            last = at + length - 8
        done = 0
        while done < length:
            place = min(at + done, last)
            part = loaded(place) >> np.uint64(8 * (at + done - place))
            for _ in range(min(length - done, place + 8 - at - done)):
                text[to + done] = np.uint8(part & np.uint64(255))
                part >>= np.uint64(8)
                done += 1
