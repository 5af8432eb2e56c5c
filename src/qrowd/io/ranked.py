"""Files that hold orders, judgements, or both: what a consensus ranking is made of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from qrowd.data.judgements import Judgements
from qrowd.data.orders import Orders
from qrowd.errors import DataWarning, FormatError
from qrowd.io.anything import kind_of_path
from qrowd.io.formats import format_of
from qrowd.io.judgements import read_judgements
from qrowd.io.orders import read_orders
from qrowd.io.roles import recognised
from qrowd.io.source import Source, opened, sources
from qrowd.io.words import Words


def read_ranked(
    files: Sequence[str | Path], grades: Words = None
) -> tuple[Orders, Judgements | None]:
    """The orders and the judgements of these files; one with grades and ranks holds both.

    Without any order, there are none over the pool of the judgements.
    """
    kinds = {file: kind_of_path(file) for file in map(opened, files)}
    for file, kind in kinds.items():
        if kind not in ("orders", "judgements", "qrels"):
            message = f"these are {kind}; expected orders, or judgements with a column rank"
            raise FormatError(message, file=getattr(file, "name", str(file)))
    graded = [file for file, kind in kinds.items() if kind != "orders"]
    ranked = [file for file, kind in kinds.items() if kind == "orders" or has_ranks(file)]
    with ranks_are_read():
        judgements = _judgements(graded, grades) if graded else None
    if ranked:
        return read_orders(ranked[0] if len(ranked) == 1 else ranked), judgements
    assert judgements is not None
    return Orders.none(judgements.pairs, judgements.assessors), judgements


def _judgements(files: Sequence[str | Path | Source], grades: Words) -> Judgements:
    return read_judgements(files[0] if len(files) == 1 else files, grades=grades)


def has_ranks(file: str | Path | Source) -> bool:
    """Whether a file of judgements has ranks, too."""
    return any(recognised(format_of(each).fields(each), ("rank",)) for each in sources(file))


@contextmanager
def ranks_are_read() -> Iterator[None]:
    """Inside, nobody warns that judgements leave ranks out: they are read, too."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*ranks are no part", category=DataWarning)
        yield
