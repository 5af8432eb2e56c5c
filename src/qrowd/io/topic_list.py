"""A list of topics from a file: one on each line, or the first column of qrels."""

from __future__ import annotations

from pathlib import Path

from qrowd.data.index import Index
from qrowd.errors import FormatError
from qrowd.io.source import sources


def read_topic_list(file: str | Path) -> Index:
    """The topics of a file: the first word of each line; lines that begin with # are comments."""
    (source,) = sources(str(file))
    lines = source.read().decode("utf-8", errors="replace").splitlines()
    names = [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
    if not names:
        raise FormatError("no topics; write one on each line", file=source.name)
    return Index.of(names)
