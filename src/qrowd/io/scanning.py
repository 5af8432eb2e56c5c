"""Lines of runs from bytes: the kernels that find the fields, hash the names, read the scores.

Only what is plain is read: six fields a line, blanks and tabs between them, no control characters.
At anything else `scan` gives up, and the general reader says what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.kernel import kernel

Array = np.ndarray[Any, np.dtype[Any]]

FIELDS = 6
TOPIC, DOCUMENT, SCORE, TAG = 0, 2, 4, 5
_TENS = np.array([float(f"1e{power}") for power in range(23)])  # exact up to here
_EXACT = 2**53 // 10 - 1
_HIGH = np.uint64(0xFFFFFFFF00000000)
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


@kernel
def split(text: Array, at: int, end: int, spans: Array) -> tuple[int, int]:
    """Where the fields of a line start and end; the next line, and how many there are (or -1)."""
    found = 0
    while at < end:
        byte = text[at]
        if byte > 32:
            if found == FIELDS:
                return at, -1
            spans[found, 0] = at
            while at < end and text[at] > 32:
                at += 1
            spans[found, 1] = at
            found += 1
        elif byte == 10:
            return at + 1, found
        elif byte == 32 or byte == 9 or (byte == 13 and at + 1 < end and text[at + 1] == 10):
            at += 1
        else:
            return at, -1
    return at, found


@kernel
def hashed(text: Array, start: int, end: int) -> tuple[np.uint64, np.uint64]:
    """Two hashes of a name; the low half of the second is the name's length."""
    first, second = _FIRST, _SECOND
    for at in range(start, end):
        byte = np.uint64(text[at])
        first = (first ^ byte) * _FIRST
        second = (second + byte) * _SECOND
    first = (first ^ (first >> np.uint64(32))) * _SECOND
    return first ^ (first >> np.uint64(32)), (second & _HIGH) | np.uint64(end - start)


@kernel
def decimal(text: Array, start: int, end: int) -> float:
    """A plain number, rounded as it must be; NaN for what one division does not give exactly."""
    negative = text[start] == 45
    at = start + 1 if negative else start
    whole, digits, places, zeros, point = np.int64(0), 0, 0, 0, False
    while at < end:
        digit = np.int64(text[at]) - 48
        at += 1
        if digit == -2 and not point and digits:
            point, digits = True, 0
            continue
        if digit < 0 or digit > 9:
            return np.nan
        digits += 1
        if point and digit == 0:
            zeros += 1  # counts only if another digit follows
            continue
        for _ in range(zeros + 1):
            if whole > _EXACT:
                return np.nan
            whole *= 10
        whole += digit
        places += zeros + 1 if point else 0
        zeros = 0
    if not digits or places >= len(_TENS):
        return np.nan
    value = whole / _TENS[places]
    return float(-value if negative else value)


@kernel
def same(text: Array, one: Array, other: Array) -> bool:
    """Whether two spans hold the same bytes."""
    length = one[1] - one[0]
    at = 0
    while at < length and text[one[0] + at] == text[other[0] + at]:
        at += 1
    return bool(length == other[1] - other[0] and at == length)


@kernel
def scan(
    text: Array,
    at: int,
    end: int,
    names: tuple[Array, Array, Array],
    scores: Array,
    groups: Array,
    heads: Array,
) -> tuple[int, int, int]:
    """The lines [at, end) of the text; how many there are (-1: not plain), and heads of each kind.

    `names` get the two hashes of each document and where it starts. `groups[0]` gets the number of
    the head that has the line's topic, `groups[1]` that of its tag: a head is the first of
    neighbouring lines with the same one, and `heads[kind, number]` its span.
    """
    hashes, checks, starts = names
    spans = np.zeros((FIELDS, 2), np.int64)
    fields = np.array([TOPIC, TAG])
    used = np.zeros(2, np.int64)
    row = 0
    while at < end:
        at, found = split(text, at, end, spans)
        if found == 0:
            continue
        if found != FIELDS:
            return -1, 0, 0
        starts[row] = spans[DOCUMENT, 0]
        hashes[row], checks[row] = hashed(text, spans[DOCUMENT, 0], spans[DOCUMENT, 1])
        scores[row] = decimal(text, spans[SCORE, 0], spans[SCORE, 1])
        for kind in range(2):
            span, head = spans[fields[kind]], used[kind]
            if head == 0 or not same(text, span, heads[kind, head - 1]):
                if head == heads.shape[1]:
                    return -1, 0, 0
                heads[kind, head] = span
                used[kind] = head + 1
            groups[kind, row] = used[kind] - 1
        row += 1
    return row, used[0], used[1]


@kernel
def score_spans(text: Array, document_ends: Array, out: Array) -> None:
    """Where the scores of lines are, given where their documents end."""
    for row in range(len(document_ends)):
        at = document_ends[row]
        for _ in range(2):
            while text[at] <= 32:
                at += 1
            start = at
            while at < len(text) and text[at] > 32:
                at += 1
        out[row, 0], out[row, 1] = start, at


@kernel
def spans_text(text: Array, starts: Array, ends: Array) -> Array:
    """The bytes of spans, each followed by a line end."""
    out = np.empty((ends - starts).sum() + len(starts), np.uint8)
    to = 0
    for name in range(len(starts)):
        for at in range(starts[name], ends[name]):
            out[to] = text[at]
            to += 1
        out[to] = 10
        to += 1
    return out
