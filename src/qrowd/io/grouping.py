"""Long columns of hashes, numbers and names: the kernels that spread, count, rank and sort them.

Rows are spread by the top bits of their hash, so that every part's table of names fits the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.io.memory import bits_set
from qrowd.kernel import kernel

Array = np.ndarray[Any, np.dtype[Any]]

HIGH = np.uint64(0xFFFFFFFF00000000)
ONE, SIX, WORD = np.uint64(1), np.uint64(6), np.uint64(63)


@kernel
def count(hashes: Array, lo: int, hi: int, bits: int) -> Array:
    """How many of the rows [lo, hi) have each value of their hash's top bits."""
    counts = np.zeros(1 << bits, np.int64)
    shift = np.uint64(64 - bits)
    for row in range(lo, hi):
        counts[np.int64(hashes[row] >> shift)] += 1
    return counts


@kernel
def spread(
    hashes: Array, checks: Array, lo: int, hi: int, bits: int, at: Array, out: tuple[Array, Array]
) -> None:
    """Copy rows to where `at` says for their top bits: the hash, and 32 bits of check with row."""
    shift = np.uint64(64 - bits)
    keys, tails = out
    for row in range(lo, hi):
        part = np.int64(hashes[row] >> shift)
        keys[at[part]] = hashes[row]
        tails[at[part]] = (checks[row] & HIGH) | np.uint64(row)
        at[part] += 1


@kernel
def renumber(codes: Array, lo: int, hi: int, final: Array) -> None:
    """The final codes of rows [lo, hi), in place."""
    for row in range(lo, hi):
        codes[row] = final[codes[row]]


@kernel
def put_back(
    hashes: Array, codes: Array, lo: int, hi: int, bits: int, at: Array, out: Array
) -> None:
    """What `spread` undone gives: the codes of rows [lo, hi), from where `at` says."""
    shift = np.uint64(64 - bits)
    for row in range(lo, hi):
        part = np.int64(hashes[row] >> shift)
        out[row] = codes[at[part]]
        at[part] += 1


@kernel
def copy_names(
    given: tuple[Array, Array], order: Array, lo: int, hi: int, to: tuple[Array, Array]
) -> None:
    """Copy the names order[lo:hi] of one text to their places in another."""
    text, starts = given
    for name in range(lo, hi):
        away = starts[order[name]] - to[1][name]
        for at in range(to[1][name], to[1][name + 1] - 1):
            to[0][at] = text[at + away]


@kernel
def differs(text: Array, starts: Array, order: Array) -> Array:
    """Which of the ordered names differ from the one before."""
    new = np.ones(len(order), np.bool_)
    for place in range(1, len(order)):
        this, last = order[place], order[place - 1]
        at, end, away = starts[this], starts[this + 1] - 1, starts[last] - starts[this]
        if end + away == starts[last + 1] - 1:
            while at < end and text[at] == text[at + away]:
                at += 1
            new[place] = at < end
    return new


@kernel
def symbols(text: Array, starts: Array, lo: int, hi: int, width: int) -> Array:
    """Which symbols occur at each position of the names [lo, hi): 0 = ended, else byte + 1."""
    seen = np.zeros((width, 257), np.bool_)
    for name in range(lo, hi):
        length = starts[name + 1] - starts[name] - 1
        for at in range(length):
            seen[at, np.int64(text[starts[name] + at]) + 1] = True
        for at in range(length, width):
            seen[at, 0] = True
    return seen


@kernel
def numerals(
    text: Array, starts: Array, rows: Array, how: tuple[Array, Array, Array], out: Array
) -> None:
    """Names as numbers whose digits are the ranks of the symbols at some places: order stays."""
    places, digits, bases = how
    for row in range(len(rows)):
        number = np.uint64(0)
        start, length = starts[rows[row]], starts[rows[row] + 1] - starts[rows[row]] - 1
        for k in range(len(places)):
            symbol = np.int64(text[start + places[k]]) + 1 if places[k] < length else 0
            number = number * bases[k] + digits[k, symbol]
        out[row] = number


@kernel
def symbols_of(number: np.int64, how: tuple[Array, Array, Array], symbols: Array) -> int:
    """The symbols of the name that has this number; how long it is."""
    places, bases, ranks = how
    for k in range(len(places) - 1, -1, -1):
        symbols[places[k]] = ranks[places[k], number % bases[k]]
        number //= bases[k]
    length = 0
    while length < len(symbols) and symbols[length]:
        length += 1
    return length


@kernel
def name_lengths(numbers: Array, how: tuple[Array, Array, Array], lengths: Array) -> None:
    """How long the names are that have these numbers."""
    symbols = how[2][:, 0].copy()
    for name in range(len(numbers)):
        lengths[name] = symbols_of(numbers[name], how, symbols)


@kernel
def name_letters(
    numbers: Array, how: tuple[Array, Array, Array], text: Array, starts: Array
) -> None:
    """Write the names that have these numbers into a text."""
    symbols = how[2][:, 0].copy()
    for name in range(len(numbers)):
        for at in range(symbols_of(numbers[name], how, symbols)):
            text[starts[name] + at] = symbols[at] - 1


@kernel
def marked(numbers: Array, lo: int, hi: int, words: int) -> Array:
    """Which numbers the rows [lo, hi) have, a bit each."""
    bits = np.zeros(words, np.uint64)
    for row in range(lo, hi):
        number = np.uint64(numbers[row])
        bits[number >> SIX] |= ONE << (number & WORD)
    return bits


@kernel
def counted(bits: Array) -> Array:
    """The bits again, 64 at a time, and how many are set before them."""
    table = np.empty((len(bits), 2), np.uint64)
    before = np.uint64(0)
    for word in range(len(bits)):
        table[word, 0], table[word, 1] = bits[word], before
        before += bits_set(bits[word])
    return table


@kernel
def ranked(numbers: Array, lo: int, hi: int, table: Array) -> None:
    """Replace numbers by how many smaller ones there are."""
    for row in range(lo, hi):
        number = np.uint64(numbers[row])
        word = number >> SIX
        below = table[word, 0] & ((ONE << (number & WORD)) - ONE)
        numbers[row] = table[word, 1] + bits_set(below)


@kernel
def bucket_counts(numbers: Array, shift: int) -> Array:
    """How many numbers have each value of their top bits."""
    counts = np.zeros(257, np.int64)
    for row in range(len(numbers)):
        counts[numbers[row] >> shift] += 1
    return counts


@kernel
def to_buckets(
    numbers: Array, lo: int, hi: int, shift: int, width: int, at: Array, keys: Array
) -> None:
    """The numbers of rows [lo, hi), each with its row below it, to where `at` says."""
    for row in range(lo, hi):
        bucket = numbers[row] >> shift
        keys[at[bucket]] = np.uint64(numbers[row]) << np.uint64(width) | np.uint64(row)
        at[bucket] += 1


@kernel
def distinct(keys: Array, width: int) -> int:
    """How many numbers there are among sorted keys."""
    found = 0
    for at in range(len(keys)):
        found += at == 0 or keys[at] >> np.uint64(width) != keys[at - 1] >> np.uint64(width)
    return found


@kernel
def assign(keys: Array, width: int, first: int, codes: Array, names: Array) -> None:
    """Give rows the place of their number, counted from `first`; the numbers in that order."""
    row_bits = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    found = -1
    for at in range(len(keys)):
        number = np.int64(keys[at] >> np.uint64(width))
        if found < 0 or names[found] != number:
            found += 1
            names[found] = number
        codes[np.int64(keys[at] & row_bits)] = first + found
