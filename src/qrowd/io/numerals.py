"""Names that are alike but for a few places, as numbers in the same order: identifiers often are.

The symbol at every place where names differ is a digit, with as many values as symbols occur there.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from qrowd.data.arrays import Array, Codes, Mask
from qrowd.data.index import Index
from qrowd.io.letters import Letters
from qrowd.io.table import Table, as_names
from qrowd.io.views import Views
from qrowd.kernel import in_blocks, ranges, threads

_SAMPLE = 20_000
_PLACES, _PIECE = 8, 1_250_000
_BITS, _MOST = 32, 2**31 - 1  # that may be kept per row, and in all
_BUCKET_BITS, _WIDEST = 8, 100
_DIGITS = slice(ord("0") + 1, ord("9") + 2)
_OTHER = -(2**55)  # and a hundred times this is a number yet


@dataclass(frozen=True)
class Numerals:
    """How names of one kind are written as numbers below `size`.

    `seen` says which symbols occur at which place: 0 = the name has ended, else byte + 1. Numbers
    are made of the `places` where names differ.
    """

    seen: Array
    places: Array
    words: Array  # place, mask and value of eight bytes that all names have in common
    shortest: int

    @classmethod
    def of(cls, names: Letters) -> Self | None:
        """The kind of these names, and of others that are likely, if there is one."""
        lengths = np.diff(names.starts) - 1
        if not len(names) or lengths.max() > _WIDEST:
            return None
        seen = _rounded(names.symbols())
        alike = seen.sum(axis=1) == 1
        shortest = int(np.append(np.flatnonzero(seen[:, 0]), len(seen))[0])
        return cls(seen, np.flatnonzero(~alike), _words(seen, alike, shortest), shortest)

    @property
    def bases(self) -> Array:
        """How many symbols occur at each place."""
        return np.asarray(self.seen.sum(axis=1)[self.places])

    @property
    def size(self) -> int:
        """How many names of this kind there could be."""
        return math.prod(self.bases.tolist())

    @property
    def how(self) -> tuple[Array, Array, Array, Array]:
        """What the kernel needs to write names as numbers."""
        digits = (np.cumsum(self.seen, axis=1) - 1)[self.places]
        weights = np.append(np.cumprod(self.bases[:0:-1])[::-1], 1)
        values = np.where(self.seen[self.places], digits * weights[:, None], _OTHER)
        sure = int((self.places < self.shortest).sum())
        return np.array([self.shortest, len(self.seen), sure]), self.words, self.places, values

    def letters(self, numbers: Array) -> Letters:
        """The names that have these numbers."""
        from qrowd.io.grouping import name_lengths, name_letters

        ranks = np.argsort(~self.seen, axis=1, kind="stable")  # symbols that occur come first
        how = self.places, self.bases, ranks
        lengths = np.empty(len(numbers), np.int64)
        in_blocks(lambda lo, hi: name_lengths(numbers[lo:hi], how, lengths[lo:hi]), len(numbers))
        made = Letters.room(lengths)
        in_blocks(
            lambda lo, hi: name_letters(numbers[lo:hi], how, made.text, made.starts[lo : hi + 1]),
            len(numbers),
        )
        return made


def _rounded(seen: Mask) -> Mask:
    """With what a sample may have missed: the other digits where there are several, and shorter
    names where lengths differ.
    """
    seen = seen.copy()
    seen[np.ix_(seen[:, _DIGITS].sum(axis=1) >= 4, np.arange(257)[_DIGITS])] = True
    if seen[:, 0].any():
        first = np.flatnonzero(seen.sum(axis=1) > 1)[0]
        seen[first + 1 :, 0] = True
    return seen


def _words(seen: Array, alike: Array, shortest: int) -> Array:
    """Eight bytes each, that together cover the places where all names are alike. They may reach
    beyond the end of a short name: its view is longer.
    """
    fixed = np.zeros((2, max(shortest, 8)), np.uint8)
    inside = np.flatnonzero(alike[:shortest])
    fixed[0, inside], fixed[1, inside] = 255, seen[inside].argmax(axis=1) - 1
    starts = [min(at, max(shortest - 8, 0)) for at in range(0, shortest, 8)]
    words = np.zeros((len(starts), 3), np.uint64)
    for row, at in enumerate(starts):
        words[row] = at, *(part[at : at + 8].view("<u8")[0] for part in fixed)
    return words[words[:, 1] > 0]


class Column(Protocol):
    """A column of names."""

    def __len__(self) -> int: ...

    def sample(self, size: int) -> Letters:
        """About so many names from all over it."""
        ...

    def numerals(self, how: tuple[Array, Array, Array, Array], out: Array) -> bool:
        """Write the names as numbers; whether all of them can be."""
        ...


@dataclass(frozen=True)
class Stored:
    """A column of a file that is read piece by piece; no more than a piece is in memory."""

    table: Table
    name: str

    def __len__(self) -> int:
        return len(self.table)

    def _part(self, first: int, size: int) -> Views:
        return Views(as_names(self.table.part(self.name, first, size)))

    def sample(self, size: int) -> Letters:
        """Neighbours from a few places; "" where there is no value, which `numerals` refuses."""
        import polars as pl

        firsts = range(0, len(self), -(-len(self) // _PLACES))
        parts = (self.table.part(self.name, at, size // _PLACES, filled=False) for at in firsts)
        views = Views(as_names(pl.concat(parts)).fill_null(""))
        return views.letters(np.arange(len(views)))

    def numerals(self, how: tuple[Array, Array, Array, Array], out: Array) -> bool:
        """Write the names as numbers; whether all of them can be."""
        pieces = ((first, out[first : first + _PIECE]) for first in range(0, len(self), _PIECE))
        return all(self._part(first, len(into)).numerals(how, into) for first, into in pieces)


def by_numerals(column: Column) -> tuple[Index, Codes] | None:
    """The index of a column's names and the code of each row; nothing if names are too many-sided,
    or if there are others than a sample shows.
    """
    kind = Numerals.of(column.sample(_SAMPLE))
    if kind is None:
        return None
    if kind.size <= min(_BITS * len(column), _MOST):
        return _by_bits(column, kind)
    fits = kind.size.bit_length() + len(column).bit_length() <= 64 and kind.size < -_OTHER
    return _by_sorting(column, kind) if fits else None


def _by_bits(column: Column, kind: Numerals) -> tuple[Index, Codes] | None:
    """Which numbers occur is kept in a bit each."""
    from qrowd.io.grouping import counted, marked, ranked

    n, codes = len(column), np.empty(len(column), np.int32)
    if not column.numerals(kind.how, codes):
        return None
    words = kind.size // 64 + 1
    maps = in_blocks(lambda lo, hi: marked(codes, lo, hi, words), n, threads())
    table = counted(np.bitwise_or.reduce(maps))
    in_blocks(lambda lo, hi: ranked(codes, lo, hi, table), n)
    size = int(table[-1, 1]) + int(table[-1, 0]).bit_count()
    bits = table[:, 0].copy()

    def numbers() -> Array:
        return np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little"))

    return Index.of_later(size, lambda: kind.letters(numbers()).series()), codes


def _by_sorting(column: Column, kind: Numerals) -> tuple[Index, Codes] | None:
    """Each number with its row below it is sorted in a bucket of numbers with equal top bits."""
    from qrowd.io.grouping import assign, distinct

    numbers = np.empty(len(column), np.int64)
    if not column.numerals(kind.how, numbers):
        return None
    width = len(column).bit_length()
    keys, buckets = _bucketed(numbers, max((kind.size - 1).bit_length() - _BUCKET_BITS, 0), width)
    del numbers  # they take as much as the keys

    def sort(bucket: int, _: int) -> int:
        part = keys[slice(*buckets[bucket])]
        part.sort()
        return distinct(part, width)

    found = np.cumsum([0, *in_blocks(sort, len(buckets), len(buckets))])
    codes, names = np.empty(len(column), np.int32), np.empty(found[-1], np.int64)

    def give(bucket: int, _: int) -> None:
        here = names[found[bucket] : found[bucket + 1]]
        assign(keys[slice(*buckets[bucket])], width, found[bucket], codes, here)

    in_blocks(give, len(buckets), len(buckets))
    return Index.of_later(len(names), lambda: kind.letters(names).series()), codes


def _bucketed(numbers: Array, shift: int, width: int) -> tuple[Array, list[tuple[int, int]]]:
    """Numbers with their rows below them, and the buckets that they are in."""
    from qrowd.io.grouping import bucket_counts, to_buckets

    n, keys = len(numbers), np.empty(len(numbers), np.uint64)
    counts = np.array(in_blocks(lambda lo, hi: bucket_counts(numbers[lo:hi], shift), n))
    ends = np.cumsum(counts.T.ravel()).reshape(counts.T.shape)
    at = dict(zip(ranges(n), (ends - counts.T).T.copy(), strict=True))
    in_blocks(lambda lo, hi: to_buckets(numbers, lo, hi, shift, width, at[lo, hi], keys), n)
    return keys, list(itertools.pairwise([0, *ends[:, -1].tolist()]))
