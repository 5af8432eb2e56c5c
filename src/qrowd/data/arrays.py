"""The array types of the nouns: int32 codes, int8 grades, float64 numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from qrowd.errors import InputError

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
Grades = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Names = npt.NDArray[np.object_]
Hashes = npt.NDArray[np.uint64]

PIECE = 1 << 20


def freeze(array: Array, dtype: Any) -> Array:
    """The array with this dtype, contiguous and read-only; copied only where it must be."""
    fixed = np.ascontiguousarray(array, dtype=dtype)
    if fixed is array and fixed.flags.writeable:
        fixed = fixed.view()
    fixed.flags.writeable = False
    return fixed


def freeze_fields(noun: object, **dtypes: Any) -> None:
    """Freeze these fields of a frozen dataclass, each as its dtype; None stays."""
    for name, dtype in dtypes.items():
        value = getattr(noun, name)
        if value is not None:
            object.__setattr__(noun, name, freeze(value, dtype))


def check_codes(name: str, codes: Array, limit: int, rows: int) -> None:
    """An error unless there is a code below the limit for each row."""
    if len(codes) != rows:
        raise InputError(f"{name} has {len(codes)} rows, not {rows}")
    if rows and not (codes.min() >= 0 and codes.max() < limit):
        raise InputError(f"{name} codes must lie in 0..{limit - 1}")


def refuse_rows(bad: Array, message: Callable[[int], str]) -> None:
    """An error about the first row that is bad; `message(row)` says what is wrong with it."""
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(message(row), row=row)


def starts_of(sorted_codes: Array, n: int) -> Offsets:
    """Where each of the codes 0..n-1 starts in a sorted array; n + 1 offsets."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(occurrences(sorted_codes, n))])


def occurrences(codes: Array, n: int) -> Offsets:
    """How often each of the codes 0..n-1 occurs."""
    counts = np.zeros(n, np.int64)
    for rows in pieces(len(codes)):
        counts += np.bincount(codes[rows], minlength=n)
    return counts


def pieces(n: int) -> Iterator[slice]:
    """All of n rows, so many at a time that what is made of them is small."""
    return (slice(at, min(at + PIECE, n)) for at in range(0, n, PIECE))


def over(above: Array, below: Array, otherwise: float = np.nan) -> Floats:
    """Above / below; NaN, or another number, where there is nothing below."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(below > 0, above / below, otherwise), np.float64)


def no_texts() -> Names:
    """A column of texts of which nothing is known."""
    return np.zeros(0, object)


def texts(name: str, column: Array, n: int) -> Names:
    """A column of n texts, "" where there is none; an error if there are others than n, or none."""
    if not len(column):
        return freeze(np.full(n, "", object), object)
    if len(column) != n:
        raise InputError(f"{name} has {len(column)} texts, not {n}")
    return freeze(np.array(["" if text is None else text for text in column], object), object)
