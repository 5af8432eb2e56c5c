"""Bytes from a place in memory, for the kernels that read strings where they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _load(bits: int) -> Any:
    def typed(_: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            pointer = builder.inttoptr(given[0], ir.IntType(bits).as_pointer())
            value = builder.load(pointer)
            value.align = 1
            return builder.zext(value, ir.IntType(64)) if bits < 64 else value

        return types.uint64(types.intp), generate

    return intrinsic(typed)


loaded = cast("Callable[[int], np.uint64]", _load(64))
"""The eight bytes from an address on, wherever it is, as one number, the first byte lowest."""

byte_at = cast("Callable[[int], np.uint64]", _load(8))
"""The byte at an address."""
