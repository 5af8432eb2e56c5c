"""Lines of runs from bytes: the kernels that find the fields, hash the names, read the scores.

Only what is plain is read: six fields a line, blanks and tabs between them, no control characters.
At anything else `scan` gives up, and the general reader says what is wrong.

Eight bytes are looked at together. The edges of fields are found first, without a branch that
depends on the text; twelve edges then are a line.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.io.memory import loaded
from qrowd.kernel import kernel

Array = np.ndarray[Any, np.dtype[Any]]

EDGES = 12  # where each of six fields starts and ends
DOCUMENT, SCORE, TAG = 4, 8, 10  # the topic is at 0
_HELD = 4096
_TENS = np.array([float(f"1e{power}") for power in range(23)])  # exact up to here
_EXACT, _EXACT_DIGITS = 2**53 // 10 - 1, 15
_HIGH, _HALF = np.uint64(0xFFFFFFFF00000000), np.uint64(32)
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_LOW_BITS, _TOP_BITS = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8080808080808080)
_UP_TO_BLANK, _PACK = np.uint64(0x5F5F5F5F5F5F5F5F), np.uint64(0x0102040810204080)
_PLACES = np.array([([k for k in range(8) if b >> k & 1] + [0] * 8)[:8] for b in range(256)])
_COUNT = np.array([b.bit_count() for b in range(256)])
_place = np.uint64  # an index that is not negative needs no look at its sign


@kernel
def few(text: Array, at: int, end: int) -> np.uint64:
    """As `loaded`, for fewer than eight bytes where there are no more; what lacks is 0."""
    value = np.uint64(0)
    for place in range(at, end):
        value |= np.uint64(text[place]) << np.uint64(8 * (place - at))
    return value


@kernel
def edges_of(
    text: Array, at: int, end: int, outside: int, edges: Array, used: int
) -> tuple[int, int, int]:
    """Edges of fields from `at` on, as many as `edges` has room for; a byte up to 32 is blank.

    Returns where it stopped, whether a blank is before that place, and how many edges there are.
    """
    while at < end and used + 8 <= len(edges):
        eight = loaded(text.ctypes.data + at) if at + 8 <= end else few(text, at, end)
        solid = (((eight & _LOW_BITS) + _UP_TO_BLANK) | eight) & _TOP_BITS
        blank = np.int64(((solid ^ _TOP_BITS) >> np.uint64(7)) * _PACK >> np.uint64(56))
        turns = (blank ^ (blank << 1 | outside)) & 255
        for k in range(8):
            edges[_place(used + k)] = at + _PLACES[_place(turns), _place(k)]
        used += _COUNT[_place(turns)]
        outside = int(blank >> 7)
        at += 8
    if at >= end and not outside and used < len(edges):
        edges[used] = end
        return at, 1, used + 1
    return at, outside, used


@kernel
def plain_gap(text: Array, at: int, to: int) -> bool:
    """Whether there are blanks and tabs only."""
    while at < to and (text[at] == 32 or text[at] == 9):
        at += 1
    return at == to


@kernel
def next_line(text: Array, at: int, end: int) -> int:
    """Where the line after this place starts, if nothing but blanks is before it; else -1."""
    while at < end:
        byte = text[at]
        at += 1
        if byte == 10:
            return at
        if not (byte == 32 or byte == 9 or (byte == 13 and at < end and text[at] == 10)):
            return -1
    return at


@kernel
def hashed(text: Array, start: int, end: int) -> tuple[np.uint64, np.uint64]:
    """Two hashes of a name; the low half of the second is the name's length."""
    length = np.uint64(end - start)
    first, second = _FIRST ^ length, _SECOND
    at = start
    while at < end:
        if at + 8 <= end:
            part = loaded(text.ctypes.data + at)
        elif end >= 8:  # the last eight, or what is the name's of them
            part = loaded(text.ctypes.data + end - 8) >> np.uint64(8 * max(start + 8 - end, 0))
        else:
            part = few(text, at, end)
        first = (first ^ part) * _FIRST
        first ^= first >> _HALF
        second = (second + part) * _SECOND
        second ^= second >> _HALF
        at += 8
    first *= _SECOND
    return first ^ (first >> _HALF), (second * _FIRST & _HIGH) | length


@kernel
def long_decimal(text: Array, start: int, end: int) -> float:
    """The same for more digits: zeros at the end do not count."""
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
def decimal(text: Array, start: int, end: int) -> float:
    """A plain number, rounded as it must be; NaN for what one division does not give exactly."""
    negative = text[_place(start)] == 45
    first = start + 1 if negative else start
    if end - first > _EXACT_DIGITS:
        return long_decimal(text, start, end)
    whole, places, at = np.int64(0), 0, first
    while at < end and 48 <= text[_place(at)] <= 57:
        whole = whole * 10 + (np.int64(text[_place(at)]) - 48)
        at += 1
    if at < end:
        places = end - at - 1
        if at == first or places == 0 or text[_place(at)] != 46:
            return np.nan
        for digit in range(at + 1, end):
            if not 48 <= text[_place(digit)] <= 57:
                return np.nan
            whole = whole * 10 + (np.int64(text[_place(digit)]) - 48)
    value = whole / _TENS[_place(places)] if end > first else np.nan
    return float(-value if negative else value)


@kernel
def same(text: Array, start: int, end: int, other: int, other_end: int) -> bool:
    """Whether two spans hold the same bytes."""
    if end - start != other_end - other:
        return False
    at = 0
    while at < end - start and text[_place(start + at)] == text[_place(other + at)]:
        at += 1
    return at == end - start


@kernel
def scan(
    text: Array,
    at: int,
    end: int,
    names: tuple[Array, Array, Array],
    scores: Array,
    heads: tuple[Array, Array],
) -> tuple[int, int, int]:
    """The lines [at, end) of the text; how many there are (-1: not plain), topics and tags.

    `names` get the two hashes of each document and where it starts. Neighbouring lines with the
    same topic, or the same tag, share a head: `heads` get its line, start and end, one row each.
    """
    hashes, checks, starts = names
    topics, tags = heads
    edges = np.empty(_HELD, np.int64)
    row, found, line, outside = 0, 0, at, 1
    topic, topic_end, tag, tag_end = 0, -1, 0, -1  # unlike any
    of_topics, of_tags, most = 0, 0, len(topics)
    while at < end or found:
        at, outside, found = edges_of(text, at, end, outside, edges, found)
        done = 0
        while found - done >= EDGES:
            while 0 <= line < edges[done]:  # empty lines
                line = next_line(text, line, edges[done])
            plain = line >= 0
            for gap in range(done + 1, done + EDGES - 1, 2):
                plain &= plain_gap(text, edges[gap], edges[gap + 1])
            line = next_line(text, edges[done + EDGES - 1], end)
            if not plain or line < 0:
                return -1, 0, 0
            start, stop = edges[done], edges[done + 1]
            if not same(text, start, stop, topic, topic_end):
                if of_topics == most:
                    return -1, 0, 0
                topics[of_topics] = row, start, stop
                topic, topic_end, of_topics = start, stop, of_topics + 1
            start, stop = edges[done + TAG], edges[done + TAG + 1]
            if not same(text, start, stop, tag, tag_end):
                if of_tags == most:
                    return -1, 0, 0
                tags[of_tags] = row, start, stop
                tag, tag_end, of_tags = start, stop, of_tags + 1
            starts[row], stop = edges[done + DOCUMENT], edges[done + DOCUMENT + 1]
            hashes[row], checks[row] = hashed(text, starts[row], stop)
            scores[row] = decimal(text, edges[done + SCORE], edges[done + SCORE + 1])
            row += 1
            done += EDGES
        if at >= end and outside and found - done:
            return -1, 0, 0
        edges[: found - done] = edges[done:found].copy()
        found -= done
    while 0 <= line < end:
        line = next_line(text, line, end)
    return (row, of_topics, of_tags) if line >= 0 else (-1, 0, 0)


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


@kernel
def copy_spans(text: Array, starts: Array, out: Array, to: Array) -> None:
    """Copy names that start here to places [to[i], to[i + 1] - 1) of another text."""
    for name in range(len(starts)):
        away = starts[name] - to[name]
        for at in range(to[name], to[name + 1] - 1):
            out[at] = text[at + away]
