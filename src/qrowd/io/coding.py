"""Columns of names to an `Index` and codes. A code is a name's place in sorted order, always."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.arrays import Array, Codes
from qrowd.data.index import Index
from qrowd.io.letters import Letters, ascending
from qrowd.io.numerals import by_numerals
from qrowd.io.views import Numbered, Views, unknown
from qrowd.kernel import in_blocks, inside, ranges, threads

if TYPE_CHECKING:
    import polars as pl

MANY = 500_000
_SAMPLE, _SPREAD_BITS = 65_536, 7


def encoded(column: pl.Series) -> tuple[Index, Codes]:
    """The index of a column's names (none of them null) and the code of each row."""
    import polars as pl

    column = column if column.dtype == pl.String else column.cast(pl.String)
    if len(column) < MANY:
        return by_categories(column)
    if _changes(column.slice(len(column) // 2, _SAMPLE)).sum() < _SAMPLE // 2:
        return by_runs(column)
    return by_views(column) or by_categories(column)


Three = tuple[tuple[Index, Index, Index], tuple[Codes, Codes, Codes]]


def side_by_side(*works: Callable[[], tuple[Index, Codes]]) -> Three:
    """Three columns encoded, two at a time; not where their kernels would wait for this thread."""
    with ThreadPoolExecutor(min(threads(), 2)) as pool:
        each = (map if inside() else pool.map)(lambda work: work(), works)
        (a, x), (b, y), (c, z) = each
    return (a, b, c), (x, y, z)


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


def by_views(column: pl.Series) -> tuple[Index, Codes] | None:
    """From the names where they lie, several times faster than by categories, and in parallel: as
    numbers where that can be, else by two hashes of each (96 bits). Nothing if names share the
    first hash.
    """
    views = Views(column)
    if len(views) != len(column):
        return None
    return by_numerals(views) or _by_hashes_of(views)


def _by_hashes_of(views: Views) -> tuple[Index, Codes] | None:
    if _repeat(views.hashes(max(len(views) // _SAMPLE, 1))[0]):
        return _by_name(*views.numbered(), views.letters)
    return _spread_out(*views.hashes(), views.letters)


def by_hashes(
    hashes: Array, checks: Array, names_at: Callable[[Array], Letters]
) -> tuple[Index, Codes] | None:
    """The same from the hashes, of the second one its upper half; names at ascending rows."""
    if not _repeat(hashes[:: max(len(hashes) // _SAMPLE, 1)]):
        return _spread_out(hashes, checks, names_at)
    parts = ranges(len(hashes))
    return _by_name(*_numbered(hashes, checks, parts), names_at)


def _repeat(sample: Array) -> bool:
    """Whether few of these hashes are distinct."""
    return bool((np.diff(np.sort(sample)) > 0).sum() <= len(sample) // 8)


def _spread_out(
    hashes: Array, checks: Array, names_at: Callable[[Array], Letters]
) -> tuple[Index, Codes] | None:
    """By hashes, of which most occur once or a few times."""
    rows, parts, starts = _spread(hashes, checks)
    del checks  # it takes as much as the names
    numbered, firsts = _numbered(*rows, parts)
    for first in firsts:
        first[:] = rows[1][first] & np.uint64(0xFFFFFFFF)
    del rows
    found = _by_name(numbered, firsts, names_at, apart=True)
    return None if found is None else (found[0], _put_back(hashes, found[1], starts))


def _spread(
    hashes: Array, checks: Array
) -> tuple[tuple[Array, Array], list[tuple[int, int]], Array]:
    """Rows in the order of the top bits of their hash, the parts with equal top bits, and where
    each block's rows of a part went: [block, part].
    """
    from qrowd.io.grouping import count, spread

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

    n, out = len(hashes), np.empty(len(hashes), np.int32)

    def work(lo: int, hi: int) -> None:
        block = (lo * len(starts) + n - 1) // n
        put_back(hashes, codes, lo, hi, _SPREAD_BITS, starts[block].copy(), out)

    in_blocks(work, n)
    return out


def _numbered(keys: Array, checks: Array, parts: list[tuple[int, int]]) -> Numbered:
    """Number the names of each part by themselves."""
    from qrowd.io.viewing import number

    codes = np.empty(len(keys), np.int32)

    def work(part: int, _: int) -> Array:
        lo, hi = parts[part]
        known = number(keys[lo:hi], checks[lo:hi], lo, codes[lo:hi], unknown())
        return known[1][: max(known[2], 0)]

    return (codes, parts), in_blocks(work, len(parts), len(parts))


def _by_name(
    numbered: tuple[Codes, list[tuple[int, int]]],
    firsts: list[Array],
    names_at: Callable[[Array], Letters],
    apart: bool = False,
) -> tuple[Index, Codes] | None:
    """Sort the names, and give each row its name's place; nothing if names share a hash.

    `firsts` have a row of each name of each part; `apart`: no name is in two parts.
    """
    from qrowd.io.grouping import renumber

    codes, parts = numbered
    if any(not len(first) and hi > lo for first, (lo, hi) in zip(firsts, parts, strict=True)):
        return None
    edges = np.cumsum([0, *map(len, firsts)])
    where = np.concatenate(firsts)
    as_read = ascending(where)  # names that lie one after another are quicker to fetch
    names = names_at(where[as_read])
    order = names.sorting()
    new = np.ones(len(order), np.bool_) if apart else names.new(order)
    final = np.empty(len(order), np.int32)
    final[as_read[order]] = np.cumsum(new, dtype=np.int32) - 1

    def work(part: int, _: int) -> None:
        renumber(codes, *parts[part], final[edges[part] : edges[part + 1]])

    in_blocks(work, len(parts), len(parts))
    chosen = order[new]
    return Index.of_later(len(chosen), lambda: names.ordered(chosen).series()), codes
