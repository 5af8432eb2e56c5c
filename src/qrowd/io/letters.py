"""Many names in one text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from qrowd.data.arrays import Array, Mask, Offsets
from qrowd.kernel import in_blocks

if TYPE_CHECKING:
    import polars as pl

_END = 10
WIDEST = 100


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
        if data.count(_END) == len(self) and len(self):
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
        """The order that sorts the names; by one number each, where 64 bits can tell them apart."""
        from qrowd.io.grouping import numerals

        if np.diff(self.starts).max(initial=0) > WIDEST:
            return self.series().arg_sort().to_numpy()
        given, seen = (self.text, self.starts), self.symbols()
        telling = np.flatnonzero(seen.sum(axis=1) > 1)
        bases = seen.sum(axis=1).astype(np.uint64)[telling]
        if np.log2(bases.astype(np.float64)).sum() > 63.9:
            return self.series().arg_sort().to_numpy()
        digits = (np.cumsum(seen, axis=1) - 1).astype(np.uint64)[telling]
        numbers, how = np.empty(len(self), np.uint64), (telling, digits, bases)
        in_blocks(lambda lo, hi: numerals(*given, lo, hi, how, numbers), len(self))
        return ascending(numbers)


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
