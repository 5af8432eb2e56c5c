"""Many names in one text."""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from qrowd.data.arrays import Array, Mask, Offsets
from qrowd.kernel import in_blocks

if TYPE_CHECKING:
    import polars as pl

_END = 10
LONGEST = 1000  # bytes of a name that is looked at place by place


@dataclass(frozen=True)
class Letters:
    """Names one after the other, each with a line end after it: name i is from starts[i] to
    starts[i + 1] - 1.
    """

    text: Array
    starts: Offsets

    @classmethod
    def room(cls, lengths: Array) -> Self:
        """Room for names of these lengths, to be filled in."""
        starts = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        starts += np.arange(len(starts))
        text = np.empty(starts[-1], np.uint8)
        text[starts[1:] - 1] = _END
        return cls(text, starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def series(self) -> pl.Series:
        """The names as a Polars column."""
        import polars as pl

        data = self.text.tobytes()
        if len(self) and data.count(_END) == len(self) and b"\r\n" not in data:
            return pl.read_lines(data).to_series()
        edges = zip(self.starts[:-1].tolist(), (self.starts[1:] - 1).tolist(), strict=True)
        return pl.Series([data[lo:hi].decode() for lo, hi in edges], dtype=pl.String)

    def ordered(self, order: Array) -> Self:
        """The same names in another order."""
        from qrowd.io.grouping import copy_names

        made = self.room((np.diff(self.starts) - 1)[order])
        from_, to = (self.text, self.starts), (made.text, made.starts)
        in_blocks(lambda lo, hi: copy_names(from_, order, lo, hi, to), len(order))
        return made

    def new(self, order: Array) -> Mask:
        """Which names differ from the one before them in a sorted order."""
        from qrowd.io.grouping import differs

        return differs(self.text, self.starts, order)

    def symbols(self) -> Mask:
        """Which symbols occur at which place: [place, symbol]; 0 = the name has ended, else byte
        + 1.
        """
        from qrowd.io.grouping import symbols

        given, width = (self.text, self.starts), int(np.diff(self.starts).max(initial=1)) - 1
        found = in_blocks(lambda lo, hi: symbols(*given, lo, hi, width), len(self))
        return np.asarray(np.logical_or.reduce(found), np.bool_)

    def sorting(self) -> Array:
        """The order that sorts the names: by numbers made of as many places as they have room for,
        then those that are still equal by the next places, and so on.
        """
        if np.diff(self.starts).max(initial=0) > LONGEST:
            return self.series().arg_sort().to_numpy()
        seen = self.symbols()
        telling = np.flatnonzero(seen.sum(axis=1) > 1)
        order, tied = np.arange(len(self)), np.arange(len(self))
        group = np.zeros(len(self), np.uint64)
        while len(tied) > 1 and len(telling):
            room = (1 << 64 - len(tied).bit_length()) // (int(group[-1]) + 1)
            sizes = itertools.accumulate(seen[telling].sum(axis=1).tolist(), operator.mul)
            used = max(sum(size <= room for size in sizes), 1)
            rows = order[tied]
            numbers, size = self._numbers(rows, telling[:used], seen)
            numbers += group * np.uint64(size)
            by = ascending(numbers)
            order[tied] = rows[by]
            new = np.diff(numbers[by], prepend=numbers[by[:1]] + np.uint64(1)) != 0
            again = ~(new & np.append(new[1:], True))
            tied, group = tied[again], np.cumsum(new[again], dtype=np.uint64)
            telling = telling[used:]
        return order

    def _numbers(self, rows: Array, places: Array, seen: Mask) -> tuple[Array, int]:
        """Names in these rows as numbers below a size, by their symbols at some places."""
        from qrowd.io.grouping import numerals

        digits = (np.cumsum(seen, axis=1) - 1).astype(np.uint64)[places]
        how = places, digits, seen.sum(axis=1).astype(np.uint64)[places]
        numbers = np.empty(len(rows), np.uint64)
        given = self.text, self.starts
        in_blocks(lambda lo, hi: numerals(*given, rows[lo:hi], how, numbers[lo:hi]), len(rows))
        return numbers, math.prod(how[2].tolist())


def ascending(numbers: Array) -> Array:
    """The order that sorts numbers: where there is room, by sorting them with their places."""
    width = len(numbers).bit_length()
    if len(numbers) == 0 or int(numbers.max()) >> (64 - width):
        return np.argsort(numbers)
    placed = (numbers.astype(np.uint64) << np.uint64(width)) | np.arange(
        len(numbers), dtype=np.uint64
    )
    placed.sort()
    return (placed & np.uint64((1 << width) - 1)).astype(np.int64)
