"""The strings of a Polars column where they lie in memory, through Arrow's C interface.

A string is a view of sixteen bytes: its length, and either itself (up to twelve bytes) or its
first four bytes, the number of a buffer, and a place in it.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Array, Codes
from qrowd.io.letters import Letters
from qrowd.kernel import in_blocks, ranges

if TYPE_CHECKING:
    import polars as pl

BLOCK = 1 << 17
Numbered = tuple[tuple[Codes, list[tuple[int, int]]], list[Array]]
"""Codes that count the names of each part of the rows by themselves, these parts, and a row of
each name of each part; none for a part whose names share a hash.
"""

_VIEWS = b"vu"


def unknown() -> tuple[Array, Array, int]:
    """What is known of names before the first one: a table, their rows, how many there are."""
    return np.zeros((1024, 2), np.uint64), np.empty(512, np.int64), 0


_Address = ctypes.c_void_p
_Call = ctypes.CFUNCTYPE(ctypes.c_int, _Address, _Address)
_Release = ctypes.CFUNCTYPE(None, _Address)


class _Schema(ctypes.Structure):
    _fields_ = (
        *(("format", ctypes.c_char_p), ("name", _Address), ("metadata", _Address)),
        *(("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", _Address)),
        *(("dictionary", _Address), ("release", _Address), ("private_data", _Address)),
    )


class _Array(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers")),
        *(("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(_Address))),
        *(("children", _Address), ("dictionary", _Address), ("release", _Address)),
        ("private_data", _Address),
    )


class _Stream(ctypes.Structure):
    _fields_ = tuple(
        (name, _Address)
        for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")
    )


@dataclass(frozen=True)
class Block:
    """Some neighbouring rows: the number of the first one, how many there are, where their views
    are, and where each buffer is.
    """

    first: int
    size: int
    views: int
    buffers: Array


class Views:
    """The views of a column of strings without nulls, cut into blocks; valid while this lives."""

    def __init__(self, column: pl.Series) -> None:
        self._arrays: list[_Array] = []
        self._capsule = column.__arrow_c_stream__()
        self.blocks: list[Block] = []
        self.size = 0
        for array in self._received():
            self._arrays.append(array)
            self._cut(array)

    def __len__(self) -> int:
        return self.size

    def __del__(self, address: Any = ctypes.addressof, release: Any = _Release) -> None:
        for array in self._arrays:
            release(array.release)(address(array))

    def hashes(self, step: int = 1) -> tuple[Array, Array]:
        """Two hashes of every `step`-th string; counted in each block from its start."""
        from qrowd.io.viewing import hash_views

        sizes = [-(-block.size // step) for block in self.blocks]
        edges = np.cumsum([0, *sizes])
        hashes, checks = (np.empty(edges[-1], np.uint64) for _ in range(2))

        def work(at: int, _: int) -> None:
            block, rows = self.blocks[at], slice(edges[at], edges[at + 1])
            hash_views(block.views, block.buffers, step, hashes[rows], checks[rows])

        in_blocks(work, len(sizes), len(sizes))
        return hashes, checks

    def numbered(self) -> Numbered:
        """The strings numbered, for columns with few distinct ones."""
        from qrowd.io.viewing import hash_views, number

        codes, parts = np.empty(len(self), np.int32), ranges(len(self.blocks))

        def work(lo: int, hi: int) -> Array:
            known, hashes = unknown(), np.empty((2, BLOCK), np.uint64)
            for block in self.blocks[lo:hi]:
                keys, checks = hashes[:, : block.size]
                hash_views(block.views, block.buffers, 1, keys, checks)
                into = codes[block.first : block.first + block.size]
                known = number(keys, checks, block.first, into, known)
                if known[2] < 0:
                    break
            return known[1][: max(known[2], 0)]

        firsts = in_blocks(work, len(self.blocks))
        edges = [*(self.blocks[lo].first for lo, _ in parts), len(self)]
        return (codes, list(itertools.pairwise(edges))), firsts

    def numerals(self, how: tuple[Array, Array, Array, Array], out: Array) -> bool:
        """Write the strings as numbers; whether all of them can be."""
        from qrowd.io.viewing import numerals_of_views

        def work(at: int, _: int) -> bool:
            block = self.blocks[at]
            into = out[block.first : block.first + block.size]
            return numerals_of_views(block.views, block.buffers, how, into)

        return all(in_blocks(work, len(self.blocks), len(self.blocks)))

    def sample(self, size: int) -> Letters:
        """About so many strings from all over the column."""
        return self.letters(np.arange(0, len(self), max(len(self) // size, 1)))

    def letters(self, rows: Array) -> Letters:
        """The strings in these rows, which must be ascending."""
        from qrowd.io.viewing import copy_views, view_lengths

        if not self.blocks:
            return Letters.room(np.zeros(0, np.int64))
        edges = np.searchsorted(rows, [*(block.first for block in self.blocks), len(self)])
        lengths = np.empty(len(rows), np.int64)

        def parts(at: int) -> tuple[Block, Array, slice]:
            block, here = self.blocks[at], slice(edges[at], edges[at + 1])
            return block, rows[here] - block.first, here

        def measure(at: int, _: int) -> None:
            block, local, here = parts(at)
            view_lengths(block.views, local, lengths[here])

        def copy(at: int, _: int) -> None:
            block, local, here = parts(at)
            copy_views(block.views, block.buffers, local, made.text, made.starts[here])

        in_blocks(measure, len(self.blocks), len(self.blocks))
        made = Letters.room(lengths)
        in_blocks(copy, len(self.blocks), len(self.blocks))
        return made

    def _received(self) -> Iterator[_Array]:
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = _Address, [ctypes.py_object, ctypes.c_char_p]
        stream = _Stream.from_address(pointer(self._capsule, b"arrow_array_stream"))
        schema = _Schema()
        _done(_Call(stream.get_schema)(ctypes.addressof(stream), ctypes.addressof(schema)))
        known = schema.format == _VIEWS
        _Release(schema.release)(ctypes.addressof(schema))
        while known:
            array = _Array()
            _done(_Call(stream.get_next)(ctypes.addressof(stream), ctypes.addressof(array)))
            if not array.release:  # the end
                break
            yield array

    def _cut(self, array: _Array) -> None:
        given = array.buffers[1 : array.n_buffers - 1]  # not the nulls, nor the buffers' sizes
        buffers = np.array([address or 0 for address in given], np.int64)
        for at in range(0, array.length, BLOCK):
            size = min(BLOCK, array.length - at)
            views = int(buffers[0]) + 16 * (array.offset + at)
            self.blocks.append(Block(self.size + at, size, views, buffers[1:]))
        self.size += array.length


def _done(code: Any) -> None:
    if code:
        raise OSError(code, "Polars could not hand over a column")
