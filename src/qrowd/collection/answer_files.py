"""The answers that count, for the files of an export: large parts straight from the database.

What follows events is joined by the database, which sends whole numbers only; names are looked up
here, in columns of the campaign's pairs and assessors: that is what memory is needed for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Select, and_, case, func, not_, select

from qrowd.collection.schema import (
    answer,
    assignment,
    document,
    event,
    member,
    pair,
    place,
    topic,
    worker,
)
from qrowd.collection.states import VALID
from qrowd.collection.store import Work

if TYPE_CHECKING:
    import polars as pl

    from qrowd.data.arrays import Offsets

CHUNK = 50_000
FILES = ("judgements.tsv", "surplus.tsv", "controls.tsv", "other.tsv")
CONTROLS = ("gold", "qualification", "repeat", "second", "review", "expert")
SAID = ("cannot-tell", "broken")
_SPAN = 2**20  # more than any set has documents


def answer_frames(work: Work) -> Iterator[tuple[str, pl.DataFrame]]:
    """Parts of files (name, rows) in the server's order."""
    import numpy as np

    names = _names(work)
    query = _query(work)
    streamed = work.db.execution_options(yield_per=CHUNK).execute(query)
    for part in streamed.partitions(CHUNK):
        numbers = np.fromiter(chain.from_iterable(part), np.int64).reshape(len(part), -1)
        for at, file in enumerate(FILES):
            rows = numbers[numbers[:, 0] == at]
            if len(rows):
                yield file, _frame(file, rows, names)


def _query(work: Work) -> Select[Any]:
    """Rows of whole numbers: file, grade, said, time taken, time, worker, position, set, kind."""
    e, p, a = event.c, place.c, assignment.c
    last = (answer.c.place_id == e.place_id) & (answer.c.position == e.position)
    joined = (
        event.join(answer, last & (answer.c.event_id == e.id))
        .join(place, p.id == e.place_id)
        .join(assignment, a.id == p.assignment_id)
    )
    control, graded = p.kind.in_(CONTROLS), e.kind == "grade"
    file = case((control, 2), (not_(graded), 3), (p.surplus == 1, 1), else_=0)
    grade, said = func.coalesce(e.grade, 0), _code(e.kind, SAID)
    columns = (
        file,
        grade,
        said,
        e.milliseconds,
        e.at,
        e.worker_id,
        e.position,
        p.set_id,
        _code(p.kind, CONTROLS),
    )
    counts = and_(not_(control), a.state.in_(VALID), e.kind.in_(("grade", *SAID)))
    wanted = counts | and_(control, graded, a.finished_at.is_not(None))
    own = (a.campaign_id + 0) == work.campaign  # + 0: walk along the events, which are in order
    return select(*columns).select_from(joined).where(own, wanted).order_by(e.id)


def _code(column: ColumnElement[Any], values: tuple[str, ...]) -> ColumnElement[int]:
    """The place of a word in a list, 0 where it is not in it."""
    return case(*((column == value, at) for at, value in enumerate(values)), else_=0)


def _frame(file: str, rows: Offsets, names: _Names) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    _, grade, said, took, time, who, position, number, kind = rows.T
    at = np.searchsorted(names.key, number * _SPAN + position)
    by = np.searchsorted(names.worker, who)
    first = grade if file != "other.tsv" else [SAID[code] for code in said.tolist()]
    columns = {
        "topic": names.topic[at],
        "doc": names.doc[at],
        "assessor": names.assessor[by],
        "said": first,
        "seconds": _seconds(took),
        "time": time,
    }
    more = {"kind": [CONTROLS[code] for code in kind.tolist()]} if file == "controls.tsv" else {}
    return pl.DataFrame({**columns, **more})


def _seconds(milliseconds: Offsets) -> pl.Series:
    """Seconds as text, without a needless ".0"."""
    import polars as pl

    took = pl.Series(milliseconds)
    whole = (took // 1000).cast(pl.String)
    return whole.zip_with(took % 1000 == 0, (took / 1000).cast(pl.String))


@dataclass(frozen=True)
class _Names:
    """Sorted numbers, and the names that stand for them."""

    key: Offsets
    topic: pl.Series
    doc: pl.Series
    worker: Offsets
    assessor: pl.Series


def _names(work: Work) -> _Names:
    import numpy as np
    import polars as pl

    m = member.c
    joined = member.join(pair, pair.c.id == m.pair_id).join(topic, topic.c.id == pair.c.topic_id)
    joined = joined.join(document, document.c.id == pair.c.document_id)
    query = select(m.set_id * _SPAN + m.position, topic.c.name, document.c.name)
    own = query.select_from(joined).where(pair.c.campaign_id == work.campaign)
    rows = work.db.execute(own.order_by(m.set_id, m.position)).all()
    keys, topics, documents = zip(*rows, strict=True) if rows else ((), (), ())
    people = sorted(assessor_names(work).items())
    return _Names(
        np.array(keys, np.int64),
        pl.Series(topics, dtype=pl.String),
        pl.Series(documents, dtype=pl.String),
        np.array([number for number, _ in people], np.int64),
        pl.Series([name for _, name in people], dtype=pl.String),
    )


def assessor_names(work: Work) -> dict[int, str]:
    """What exports call each worker."""
    w = worker.c
    query = select(w.id, w.number, w.name).where(w.campaign_id == work.campaign)
    return {row.id: row.name or f"w{row.number}" for row in work.db.execute(query)}
