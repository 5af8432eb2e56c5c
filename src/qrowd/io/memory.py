"""What numba has no words for: bytes from a place in memory, and how many bits are set.

Kernels of other files use them, and numba's cache does not see an edit here: delete it after one.
"""

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


@intrinsic
def _bits_set(_: Any, __: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.ctpop(given[0])

    return types.uint64(types.uint64), generate


bits_set = cast("Callable[[np.uint64], np.uint64]", _bits_set)
"""How many bits of a number are set."""
