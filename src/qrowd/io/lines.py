"""Runs in TREC's six columns straight from bytes to codes, without a table of strings between.

What is not plain text of six columns is not read here: `lines_of_files` then gives nothing, and the
general reader takes it, or says what is wrong with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Offsets
from qrowd.data.index import Index
from qrowd.io.coding import by_hashes
from qrowd.io.columns import Wanted, plain_order
from qrowd.io.letters import Letters
from qrowd.io.scanning import copy_spans, scan, score_spans, spans_text
from qrowd.io.source import Source
from qrowd.io.table import first_line, sniff
from qrowd.kernel import in_blocks

PIECE = 1 << 24
_SHORTEST = 12  # six fields of one byte each
_APART = 32  # rows of a topic, and of a run, must follow each other; else it is no gain
_LOW = np.uint64(0xFFFFFFFF)

Repeated = tuple[list[str], Array]
Coded = tuple[tuple[Index, Index, Index], tuple[Codes, Codes, Codes], Floats]


@dataclass(frozen=True)
class Lines:
    """The lines of a file, or of a piece of it: hashes of documents, scores, topics and tags.

    A topic or tag is named once for all neighbouring lines that have it: the names, and the first
    line of each.
    """

    file: int
    text: Array
    documents: tuple[Array, Array, Array]  # two hashes (the second with the length), the start
    scores: Floats
    topics: Repeated
    tags: Repeated


def lines_of_files(
    files: Sequence[Source], wanted: Wanted, format: str | None
) -> list[Lines] | None:
    """All lines of plain runs, or nothing."""

    def work(lo: int, _: int) -> list[Lines | None]:
        return _lines_of(files[lo], lo, wanted, format)

    found = [each for part in in_blocks(work, len(files), len(files)) for each in part]
    plain = [each for each in found if each is not None]
    return plain if len(plain) == len(found) else None


def _lines_of(
    source: Source, number: int, wanted: Wanted, format: str | None
) -> list[Lines | None]:
    data = source.whole() if source.compression else b""
    if sniff(source, format) != "trec" or not plain_order(first_line(source).split(), wanted):
        return [None]
    data = (data or source.read()).removeprefix(b"\xef\xbb\xbf")
    if not _is_utf8(data):
        return [None]
    text, cuts = np.frombuffer(data, np.uint8), _pieces(data)
    return in_blocks(lambda at, _: _scanned(number, text, cuts[at]), len(cuts), len(cuts))


def _is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def _pieces(data: bytes) -> list[tuple[int, int]]:
    """Ranges of whole lines, none much longer than a piece should be."""
    ends = [data.find(b"\n", at) + 1 or len(data) for at in range(PIECE, len(data), PIECE)]
    return list(itertools.pairwise(dict.fromkeys([0, *ends, len(data)])))


def _scanned(file: int, text: Array, piece: tuple[int, int]) -> Lines | None:
    """The lines of a piece."""
    most = (piece[1] - piece[0]) // _SHORTEST + 1  # memory that is not used costs nothing
    documents = np.empty(most, np.uint64), np.empty(most, np.uint64), np.empty(most, np.int64)
    scores, heads = np.empty(most), most // _APART + 1024
    topics, tags = np.empty((heads, 3), np.int64), np.empty((heads, 3), np.int64)
    rows, *used = scan(text, *piece, documents, scores, (topics, tags))
    if rows < 0:
        return None
    hashes, checks, starts = (column[:rows] for column in documents)
    if not _read_the_rest(text, starts, checks, scores[:rows]):
        return None
    named = (
        (_strings(text, each[:n, 1:]), each[:n, 0])
        for each, n in zip((topics, tags), used, strict=True)
    )
    return Lines(file, text, (hashes, checks, starts), scores[:rows], *named)


def _read_the_rest(text: Array, starts: Array, checks: Array, scores: Floats) -> bool:
    """Fill in the scores that are not short decimals; whether all of them are numbers."""
    import polars as pl

    rest = np.flatnonzero(np.isnan(scores))
    if not len(rest):
        return True
    spans = np.empty((len(rest), 2), np.int64)
    score_spans(text, starts[rest] + (checks[rest] & _LOW).astype(np.int64), spans)
    values = pl.Series(_strings(text, spans), dtype=pl.String).cast(pl.Float64, strict=False)
    scores[rest] = values.to_numpy()
    return not values.null_count()


def _strings(text: Array, spans: Array) -> list[str]:
    """The names in these spans."""
    return spans_text(text, spans[:, 0], spans[:, 1]).tobytes().decode().split("\n")[:-1]


# --- all files together ---------------------------------------------------------------------------


def tags_of(found: list[Lines], files: int) -> list[list[str]]:
    """The distinct tags of each file."""
    tags: list[dict[str, None]] = [{} for _ in range(files)]
    for each in found:
        tags[each.file] |= dict.fromkeys(each.tags[0])
    return [list(each) for each in tags]


def codes_of(found: list[Lines], names: Sequence[str]) -> Coded | None:
    """Indexes (runs, topics, documents), codes and scores; a file's runs have its name or tags."""
    lines = np.cumsum([0, *(len(each.scores) for each in found)])
    tags = [
        ([names[each.file]], np.zeros(1, np.int64)) if names[each.file] else each.tags
        for each in found
    ]
    runs, run = _common(tags, lines)
    topics, topic = _common([each.topics for each in found], lines)
    hashes, checks = (np.concatenate([each.documents[k] for each in found]) for k in (0, 1))
    coded = by_hashes(hashes, checks, lambda rows: _documents(found, lines, rows))
    if coded is None:
        return None
    scores = np.concatenate([each.scores for each in found])
    return (runs, topics, coded[0]), (run, topic, coded[1]), scores


def _common(parts: list[Repeated], lines: Offsets) -> tuple[Index, Codes]:
    """One index for the names of all parts, and the code of each line; parts start at `lines`."""
    index, codes = Index.encode([name for names, _ in parts for name in names])
    firsts = [first + line for (_, first), line in zip(parts, lines, strict=False)]
    return index, np.repeat(codes, np.diff(np.concatenate([*firsts, lines[-1:]])))


def _documents(found: list[Lines], lines: Offsets, rows: Array) -> Letters:
    """The documents in these rows, which must be ascending; parts start at `lines`."""
    edges = list(itertools.pairwise(np.searchsorted(rows, lines).tolist()))
    local = [rows[lo:hi] - line for (lo, hi), line in zip(edges, lines, strict=False)]
    lengths = [each.documents[1][at] & _LOW for each, at in zip(found, local, strict=True)]
    made = Letters.room(np.concatenate(lengths).astype(np.int64))

    def work(at: int, _: int) -> None:
        here = slice(edges[at][0], edges[at][1] + 1)
        starts = found[at].documents[2][local[at]]
        copy_spans(found[at].text, starts, made.text, made.starts[here])

    in_blocks(work, len(found), len(found))
    return made
