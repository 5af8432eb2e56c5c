"""Columns of names to an `Index` and codes. A code is a name's place in sorted order, always."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Codes
from qrowd.data.index import Index

if TYPE_CHECKING:
    import polars as pl

MANY = 500_000
_SAMPLE, _SPREAD_BITS, _WIDEST = 65_536, 7, 100

Array = np.ndarray[Any, np.dtype[Any]]


def encoded(column: pl.Series) -> tuple[Index, Codes]:
    """The index of a column's names (none of them null) and the code of each row."""
    import polars as pl

    column = column if column.dtype == pl.String else column.cast(pl.String)
    if len(column) < MANY:
        return by_categories(column)
    if _changes(column.slice(len(column) // 2, _SAMPLE)).sum() < _SAMPLE // 2:
        return by_runs(column)
    return by_hashing(column) or by_categories(column)


def _changes(column: pl.Series) -> pl.Series:
    """Where a row differs from the row before it."""
    return column.ne_missing(column.shift(1))


def by_runs(column: pl.Series) -> tuple[Index, Codes]:
    """Of equal rows that follow each other only the first is encoded."""
    heads = _changes(column).arg_true().to_numpy()
    index, codes = encoded(column.gather(heads).rechunk())
    return index, np.repeat(codes, np.diff(heads, append=len(column)))


def by_categories(column: pl.Series) -> tuple[Index, Codes]:
    """By Polars' categories; their codes differ between reads, ours do not."""
    import polars as pl

    coded = column.cast(pl.Categorical(pl.Categories.random()))
    found = coded.unique()
    names, own = found.cast(pl.String), found.to_physical().to_numpy()
    order = names.arg_sort().to_numpy()
    rank = np.zeros(int(own.max(initial=0)) + 1, np.int32)
    rank[own[order]] = np.arange(len(order), dtype=np.int32)
    return Index.of_sorted(names.gather(order)), rank[coded.to_physical().to_numpy()]


def by_hashing(column: pl.Series) -> tuple[Index, Codes] | None:
    """By two hashes of each name (96 bits); nothing if names share the first one.

    Several times faster than categories, and mostly in parallel.
    """
    return by_hashes(column.hash(1).to_numpy(), column.hash(2).to_numpy(), column.gather)


def by_hashes(
    hashes: Array, checks: Array, names_at: Callable[[Array], pl.Series]
) -> tuple[Index, Codes] | None:
    """The same from the hashes, of the second one its upper half; names at ascending rows."""
    sample = hashes[: len(hashes) - len(hashes) % _SAMPLE : max(len(hashes) // _SAMPLE, 1)]
    if (np.diff(np.sort(sample)) > 0).sum() <= len(sample) // 8:
        from qrowd.kernel import ranges

        found = _numbered((hashes, checks), ranges(len(hashes)), _repeating)
        return None if found is None else _by_name(found, names_at)
    rows, parts, starts = _spread(hashes, checks)
    found = _numbered(rows, parts, _in_one_part)
    del checks, rows  # they take as much as the names
    if found is None:
        return None
    index, codes = _by_name(found, names_at)
    return index, _put_back(hashes, codes, starts)


@dataclass(frozen=True)
class _Numbered:
    """Codes that count the names of each part by themselves, and which names these are."""

    codes: Codes
    parts: list[tuple[int, int]]
    edges: Array  # where the names of each part start among those of all parts
    where: Array  # a row of each distinct name
    back: Array  # which distinct name each name of a part is


def _spread(
    hashes: Array, checks: Array
) -> tuple[tuple[Array, Array], list[tuple[int, int]], Array]:
    """Rows in the order of the top bits of their hash, the parts with equal top bits, and where
    each block's rows of a part went: [block, part].
    """
    from qrowd.io.grouping import count, spread
    from qrowd.kernel import in_blocks

    n, bits = len(hashes), _SPREAD_BITS
    counts = np.array(in_blocks(lambda lo, hi: count(hashes, lo, hi, bits), n))
    ends = np.cumsum(counts.T.ravel()).reshape(counts.T.shape)
    starts = (ends - counts.T).T.copy()
    out = np.empty(n, np.uint64), np.empty(n, np.uint64)

    def work(lo: int, hi: int) -> None:
        block = (lo * len(counts) + n - 1) // n
        spread(hashes, checks, lo, hi, bits, starts[block].copy(), out)

    in_blocks(work, n)
    edges = [0, *ends[:, -1].tolist()]
    return out, list(itertools.pairwise(edges)), starts


def _put_back(hashes: Array, codes: Codes, starts: Array) -> Codes:
    """Codes of spread rows in the order in which the rows were before."""
    from qrowd.io.grouping import put_back
    from qrowd.kernel import in_blocks

    n, out = len(hashes), np.empty(len(hashes), np.int32)

    def work(lo: int, hi: int) -> None:
        block = (lo * len(starts) + n - 1) // n
        put_back(hashes, codes, lo, hi, _SPREAD_BITS, starts[block].copy(), out)

    in_blocks(work, n)
    return out


def _numbered(
    rows: tuple[Array, Array],
    parts: list[tuple[int, int]],
    distinct: Callable[[Array, Array, Array], tuple[Array, Array]],
) -> _Numbered | None:
    """Number the names part by part; nothing if two of them share a hash."""
    from qrowd.io.grouping import number
    from qrowd.kernel import in_blocks

    codes = np.empty(len(rows[0]), np.int32)
    firsts = in_blocks(lambda p, _: number(*rows, *parts[p], codes), len(parts), len(parts))
    if any(len(first) == 0 and hi > lo for first, (lo, hi) in zip(firsts, parts, strict=True)):
        return None
    edges = np.cumsum([0, *map(len, firsts)])
    return _Numbered(codes, parts, edges, *distinct(*rows, np.concatenate(firsts)))


def _by_name(found: _Numbered, names_at: Callable[[Array], pl.Series]) -> tuple[Index, Codes]:
    """Sort the names, and give each row its name's place."""
    from qrowd.io.grouping import renumber
    from qrowd.kernel import in_blocks

    as_read = _order(found.where)  # names that lie one after another are quicker to fetch
    names = names_at(found.where[as_read])
    order = sorted_order(names)
    place = np.empty(len(order), np.int32)
    place[as_read[order]] = np.arange(len(order), dtype=np.int32)
    final = place[found.back]

    def work(part: int, _: int) -> None:
        here = final[found.edges[part] : found.edges[part + 1]]
        renumber(found.codes, *found.parts[part], here)

    in_blocks(work, len(found.parts), len(found.parts))
    return Index.of_sorted(names.gather(order)), found.codes


def _in_one_part(_: Array, tails: Array, firsts: Array) -> tuple[Array, Array]:
    """A row of each name, and the name of each first row, where no name is in two parts."""
    return tails[firsts] & np.uint64(0xFFFFFFFF), np.arange(len(firsts))


def _repeating(keys: Array, _: Array, firsts: Array) -> tuple[Array, Array]:
    """The same, where names may be in all parts."""
    _, at, back = np.unique(keys[firsts], return_index=True, return_inverse=True)
    return firsts[at].astype(np.uint64), back


def sorted_order(names: pl.Series) -> Array:
    """The order that sorts names; by one number each, where 64 bits can tell them apart."""
    import polars as pl

    from qrowd.io.grouping import numerals, symbols
    from qrowd.kernel import in_blocks

    lengths = names.str.len_bytes().to_numpy()
    width = int(lengths.max(initial=0))
    if width > _WIDEST:
        return names.arg_sort().to_numpy()
    text = np.frombuffer(names.str.join("").cast(pl.Binary).item(), np.uint8)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    seen = np.logical_or.reduce(
        in_blocks(lambda lo, hi: symbols(text, starts, lo, hi, width), len(names))
    )
    bases = seen.sum(axis=1).astype(np.uint64)
    if np.log2(bases.astype(np.float64)).sum() > 63.9:
        return names.arg_sort().to_numpy()
    digits = (np.cumsum(seen, axis=1) - 1).astype(np.uint64)
    numbers = np.empty(len(names), np.uint64)
    in_blocks(lambda lo, hi: numerals(text, starts, lo, hi, digits, bases, numbers), len(names))
    return _order(numbers)


def _order(numbers: Array) -> Array:
    """The order that sorts numbers: where there is room, by sorting them with their places."""
    width = len(numbers).bit_length()
    if len(numbers) == 0 or int(numbers.max()) >> (64 - width):
        return np.argsort(numbers)
    placed = (numbers << np.uint64(width)) | np.arange(len(numbers), dtype=np.uint64)
    placed.sort()
    return (placed & np.uint64((1 << width) - 1)).astype(np.int64)
