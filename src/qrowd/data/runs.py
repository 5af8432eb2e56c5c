"""The ranked lists of many systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from qrowd.data import arrays
from qrowd.data.arrays import Array, Codes, Floats, Names, Offsets
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index, Pairs, encode_columns
from qrowd.errors import InputError, UsageError


@dataclass(frozen=True, eq=False)
class RunSet(Framed):
    """Documents of every (topic, run) cell in rank order; cell = topic * number of runs + run.

    Ranked by score, compared as float32, ties by document name, both descending, as trec_eval does;
    a rank column in the file is ignored.
    """

    runs: Index
    topics: Index
    documents: Index
    starts: Offsets
    document: Codes
    score: Floats

    def __post_init__(self) -> None:
        arrays.freeze_fields(self, starts=np.int64, document=np.int32, score=np.float64)

    @classmethod
    def of(
        cls,
        runs: Sequence[str] | Names,
        topics: Sequence[str] | Names,
        documents: Sequence[str] | Names,
        scores: Sequence[float] | Array,
    ) -> Self:
        """Runs from columns, in any row order."""
        indexes, codes = encode_columns(runs, topics, documents)
        return cls.from_codes(indexes, codes, np.asarray(scores, np.float64))

    @classmethod
    def from_codes(
        cls, indexes: tuple[Index, Index, Index], codes: tuple[Codes, Codes, Codes], scores: Floats
    ) -> Self:
        """Runs from coded rows in any order: (runs, topics, documents) and their codes."""
        (runs, topics, documents), (run, topic, document) = indexes, codes
        for name, index, column in zip(("run", "topic", "document"), indexes, codes, strict=True):
            arrays.check_codes(name, column, len(index), len(scores))
        arrays.refuse_rows(np.isnan(scores), lambda row: "a score is not a number")
        cell = topic.astype(np.int64) * len(runs) + run
        starts = arrays.starts_of(cell, len(runs) * len(topics))
        if _repeats(cell, document, len(documents)):
            raise _twice(cell, document, indexes)
        order = rank_order(cell, document, scores)
        return cls(runs, topics, documents, starts, document[order], scores[order])

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        return (
            f"RunSet({len(self.runs)} runs, {len(self.topics)} topics, "
            f"{len(self.document)} ranked documents)"
        )

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`run topic doc rank score`, topics and runs in order, ranks from 1."""
        lengths = np.diff(self.starts)
        cell = np.repeat(np.arange(len(lengths)), lengths)
        topic, run = np.divmod(cell, max(len(self.runs), 1))
        return {
            "run": Coded(self.runs, run.astype(np.int32)),
            "topic": Coded(self.topics, topic.astype(np.int32)),
            "doc": Coded(self.documents, self.document),
            "rank": np.arange(1, len(cell) + 1) - self.starts[cell],
            "score": self.score,
        }

    @cached_property
    def depth(self) -> int:
        """The length of the longest list."""
        return int(np.diff(self.starts).max(initial=0))

    def of_runs(self, runs: Index) -> RunSet:
        """These runs only, in the order of their names."""
        kept = self.runs.intersection(runs)
        lengths = np.diff(self.starts).reshape(len(self.topics), len(self.runs))
        chosen = kept.find(self.runs) >= 0
        rows = np.repeat(np.tile(chosen, len(self.topics)), lengths.ravel())
        starts = np.concatenate([[0], np.cumsum(lengths[:, chosen])])
        indexes = (kept, self.topics, self.documents)
        return RunSet(*indexes, starts, self.document[rows], self.score[rows])

    def head(self, n: int) -> RunSet:
        """The first `n` documents of every list."""
        if n < 1:
            raise UsageError(f"head: the first n documents, n at least 1, got {n}")
        lengths = np.diff(self.starts)
        kept = np.arange(len(self.document)) - np.repeat(self.starts[:-1], lengths) < n
        starts = np.concatenate([[0], np.cumsum(np.minimum(lengths, n))])
        return replace(self, starts=starts, document=self.document[kept], score=self.score[kept])

    def pool(self, depth: int) -> Pairs:
        """The documents that any run has among its first `depth`."""
        cell = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        first = np.arange(len(cell)) - self.starts[cell] < depth
        topic = cell[first] // max(len(self.runs), 1)
        code = np.unique(topic * len(self.documents) + self.document[first])
        topic, document = np.divmod(code, max(len(self.documents), 1))
        return Pairs.of(self.topics.names[topic], self.documents.names[document])

    def lists(self, topic: int) -> tuple[Codes, Codes]:
        """One topic's lists: documents[runs, depth], filled up with -1, and their lengths[runs]."""
        at = self.starts[topic * len(self.runs) : (topic + 1) * len(self.runs) + 1]
        lengths = np.diff(at).astype(np.int32)
        inside = np.arange(lengths.max(initial=0))[None, :] < lengths[:, None]
        result = np.full(inside.shape, -1, np.int32)
        result[inside] = self.document[at[0] : at[-1]]
        return result, lengths


def rank_order(cell: Offsets, document: Codes, scores: Floats) -> Offsets:
    """The order of rows by cell, then score, as float32, then document, both descending."""
    with np.errstate(over="ignore"):  # what is too large for float32 is infinite, as for trec_eval
        single = scores.astype(np.float32) + np.float32(0)  # -0 is 0
    bits = single.view(np.uint32)
    falling = np.where(single < 0, bits, ~bits & np.uint32(0x7FFFFFFF))
    key = (cell << 32) | falling
    order = np.argsort(key, kind="stable")  # linear where a file has the lists in order
    key = key[order]
    tied = np.zeros(len(key) + 1, np.bool_)
    np.equal(key[1:], key[:-1], out=tied[1:-1])
    again = np.flatnonzero(tied[1:] | tied[:-1])
    order[again] = order[again][np.lexsort((-document[order[again]], key[again]))]
    return order


def _repeats(cell: Offsets, document: Codes, documents: int) -> bool:
    """Whether a document is twice in a cell."""
    keys = np.sort(cell * max(documents, 1) + document)
    return bool((keys[1:] == keys[:-1]).any())


def _twice(cell: Offsets, document: Codes, indexes: tuple[Index, Index, Index]) -> InputError:
    """Which document is there twice, and in which row for the second time."""
    runs, topics, documents = indexes
    key = cell * max(len(documents), 1) + document
    _, first = np.unique(key, return_index=True)
    row = int(np.setdiff1d(np.arange(len(key)), first)[0])
    topic, run = divmod(int(cell[row]), len(runs))
    return InputError(
        f"document {documents.names[document[row]]} appears twice in run {runs.names[run]} "
        f"for topic {topics.names[topic]}; keep one of them",
        row=row,
    )


def ranks_of(pairs: Pairs, value: Floats, seed: int = 0) -> Offsets:
    """Ranks within each topic, the largest value first; equal ones by a coin that depends on the
    seed, the topic's and the document's name alone.
    """
    coin = pairs.hashes(np.arange(len(pairs), dtype=np.int32), seed)
    order = np.lexsort((coin, -value, pairs.topic))
    rank = np.empty(len(pairs), np.int64)
    rank[order] = np.arange(len(pairs)) - pairs.topic_starts[pairs.topic[order]] + 1
    return rank


def run_of(pairs: Pairs, value: Floats, name: str, seed: int = 0) -> RunSet:
    """A run that ranks each topic's documents by a value, in the order of `ranks_of`.

    Scores are the values, lowered by no more than it takes to be different as 32-bit numbers, which
    is how runs are compared.
    """
    rank = ranks_of(pairs, value, seed)
    order = np.lexsort((rank, pairs.topic))
    score = np.empty(len(pairs))
    score[order] = _descending(value[order].astype(np.float32), rank[order] == 1)
    run = np.zeros(len(pairs), np.int32)
    indexes = (Index.of([name]), pairs.topics, pairs.documents)
    return RunSet.from_codes(indexes, (run, pairs.topic, pairs.document), score)


def _descending(value: Array, first: Array) -> Floats:
    """Values that fall strictly within each list, as 32-bit numbers; lists start at `first`."""
    bits = (value + np.float32(0.0)).view(np.int32).astype(np.int64)
    level = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)  # neighbours differ by one
    position = np.arange(len(level))
    group = np.cumsum(first) * np.int64(1 << 40)  # lower than any level of the list before
    lowered = np.minimum.accumulate(level + position - group) + group - position
    back = np.where(lowered < 0, np.int64(1 << 31) | -lowered, lowered).astype(np.uint32)
    return np.asarray(back.view(np.float32), np.float64)
