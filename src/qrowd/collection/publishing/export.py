"""A campaign's results as files, at any time: one snapshot, the same bytes from either engine.

judgements.tsv     grades that count
surplus.tsv        grades beyond a target
controls.tsv       grades of check questions, repeats, reviews, experts and machines
other.tsv          "cannot tell" and "broken" instead of a grade
orders.tsv         rankings that count
gold.qrels         experts' grades of the pool
manifest.json      what was written, with checksums
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from sqlalchemy import ColumnElement, Result, Select, and_, case, func, not_, select

from qrowd import __version__
from qrowd.collection.books import ledger
from qrowd.collection.books.progress import events
from qrowd.collection.database.schema import (
    CURRENT_ANSWERS,
    NAMED_PAIRS,
    PAIR_NAMES,
    answer,
    assignment,
    decision,
    document,
    event,
    gold,
    member,
    pair,
    place,
    topic,
    worker,
)
from qrowd.collection.database.states import VALID
from qrowd.collection.database.store import Work
from qrowd.data.given import NOTHING, Given, Merger
from qrowd.data.scale import Scale
from qrowd.io.atomic import write, written
from qrowd.io.judgements import read_judgements
from qrowd.io.qrels import read_qrels
from qrowd.io.release import sha256_of
from qrowd.io.save import save

if TYPE_CHECKING:
    import polars as pl

    from qrowd.data.arrays import Offsets

CHUNK = 50_000  # rows in memory at a time
CONTROLS = ("gold", "qualification", "repeat", "second", "review", "expert")
SAID = ("cannot-tell", "broken")
_NAMES = ("topic", "doc", "assessor")
_ANSWERS = {
    "judgements.tsv": (*_NAMES, "grade", "seconds", "time"),
    "surplus.tsv": (*_NAMES, "grade", "seconds", "time"),
    "controls.tsv": (*_NAMES, "grade", "seconds", "time", "kind"),
    "other.tsv": (*_NAMES, "said", "seconds", "time"),
}
_HEADERS: Mapping[str, tuple[str, ...]] = {
    **_ANSWERS,
    "orders.tsv": ("ballot", *_NAMES, "place"),
    "gold.qrels": (),
}
_SPAN = 2**20  # more than any set has documents


@dataclass(frozen=True)
class Exported:
    """A file that was written."""

    name: str
    rows: int
    sha256: str


def export(
    work: Work, folder: str | Path, *, parquet: bool = False, merge: Merger | None = None
) -> list[Exported]:
    """All files into a folder; `parquet` writes the tables in that form too, `merge` makes qrels
    and probabilities of the judgements, gold being given.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        files = {
            name: stack.enter_context(_opened(target / name, header))
            for name, header in _HEADERS.items()
        }
        for name, frame in _answer_frames(work):
            text = frame.write_csv(separator="\t", include_header=False, quote_style="never")
            files[name].put(text, len(frame))
        for rows in _ballots(work):
            files["orders.tsv"].write(rows)
        grades = given_names(work).items()
        files["gold.qrels"].write(sorted((name, 0, doc, grade) for (name, doc), grade in grades))
    exported = [file.exported() for file in files.values()]
    if merge is not None and exported[0].rows:
        exported += _merged(target, merge, work.plan.scale.scale)
    if parquet:
        tables = [file for file in exported if file.name.endswith("tsv")]
        exported += [_as_parquet(target / file.name, file.rows) for file in tables]
    _write_manifest(work, target, exported)
    return exported


def given_names(work: Work, *, decided: bool = True) -> dict[tuple[str, str], int]:
    """The experts' grades of pairs of the pool, by topic and document.

    Gold's, then the last decision; without `decided`, gold's alone.
    """
    grades: dict[tuple[str, str], int] = {}
    for table in (gold, decision) if decided else (gold,):
        query = (
            select(*PAIR_NAMES, table.c.grade)
            .select_from(NAMED_PAIRS.join(table, table.c.pair_id == pair.c.id))
            .where(work.own(pair), pair.c.in_pool == 1)
            .order_by(*table.primary_key.columns)
        )
        grades |= {(row.topic, row.doc): row.grade for row in work.rows(query)}
    return grades


# --- files ----------------------------------------------------------------------------------------


class _File:
    """A file that is written part by part: memory does not grow with it."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name, self.rows = name, 0
        self._file, self._hash = file, hashlib.sha256()

    def write(self, rows: Sequence[Sequence[Any]]) -> None:
        self.put("".join("\t".join(map(str, row)) + "\n" for row in rows), len(rows))

    def put(self, text: str, rows: int) -> None:
        data = text.encode()
        self._hash.update(data)
        self._file.write(data)
        self.rows += rows

    def exported(self) -> Exported:
        return Exported(self.name, self.rows, self._hash.hexdigest())


@contextlib.contextmanager
def _opened(path: Path, header: Sequence[str]) -> Iterator[_File]:
    with written(path) as beside, beside.open("wb") as target:
        file = _File(path.name, target)
        file.put("\t".join(header) + "\n" if header else "", 0)
        yield file


def _merged(folder: Path, merge: Merger, scale: Scale) -> list[Exported]:
    crowd = read_judgements(folder / "judgements.tsv", scale=scale)
    has_gold = (folder / "gold.qrels").stat().st_size > 0
    given = Given(gold=read_qrels(folder / "gold.qrels")) if has_gold else NOTHING
    merged = merge.fit(crowd, given)
    qrels, probabilities = folder / "merged.qrels", folder / "probabilities.tsv"
    save(merged.qrels(), qrels)
    save(merged, probabilities)
    return [
        Exported(path.name, len(merged.pairs), sha256_of(path)) for path in (qrels, probabilities)
    ]


def _as_parquet(path: Path, rows: int) -> Exported:
    import polars as pl

    target = path.with_suffix(".parquet")
    names = dict.fromkeys(_NAMES, pl.String)
    scanned = pl.scan_csv(path, separator="\t", schema_overrides=names, quote_char=None)
    with written(target) as beside:
        scanned.sink_parquet(beside)
    return Exported(target.name, rows, sha256_of(target))


def _write_manifest(work: Work, folder: Path, exported: Sequence[Exported]) -> None:
    money = ledger.balance(work)
    about = {
        "campaign": work.name,
        "qrowd": __version__,
        "plan_sha256": hashlib.sha256(work.plan.text.encode()).hexdigest(),
        "scale": list(work.plan.scale.grades),
        "relevant_from": work.plan.scale.relevant_from,
        "events": events(work),
        "spent": {"owed": money.owed, "settled": money.settled, "currency": work.plan.pay.currency},
        "files": {file.name: {"rows": file.rows, "sha256": file.sha256} for file in exported},
    }
    write(folder / "manifest.json", json.dumps(about, indent=2, sort_keys=True) + "\n")


# --- answers --------------------------------------------------------------------------------------


def _streamed(work: Work, query: Select[Any]) -> Result[Any]:
    return work.db.execution_options(yield_per=CHUNK).execute(query)


def _answer_frames(work: Work) -> Iterator[tuple[str, pl.DataFrame]]:
    """Parts of files (name, rows) in the order of the events.

    Rows come as whole numbers, and get their names from columns here: names that are joined by the
    database make millions of rows slow.
    """
    import numpy as np

    names = _names(work)
    for part in _streamed(work, _answers(work)).partitions(CHUNK):
        numbers = np.fromiter(chain.from_iterable(part), np.int64).reshape(len(part), -1)
        for code, file in enumerate(_ANSWERS):
            rows = numbers[numbers[:, 0] == code]
            if len(rows):
                yield file, _frame(file, rows, names)


def _answers(work: Work) -> Select[Any]:
    """Rows of whole numbers: file, grade, said, time taken, time, worker, position, set, kind."""
    e, p, a = event.c, place.c, assignment.c
    last = (answer.c.place_id == e.place_id) & (answer.c.position == e.position)
    joined = (
        event.join(answer, last & (answer.c.event_id == e.id))
        .join(place, p.id == e.place_id)
        .join(assignment, a.id == p.assignment_id)
    )
    control, graded = p.kind.in_(CONTROLS), e.kind == "grade"
    columns = (
        case((control, 2), (not_(graded), 3), (p.surplus == 1, 1), else_=0),
        func.coalesce(e.grade, 0),
        _code(e.kind, SAID),
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


def _code(column: ColumnElement[Any], words: tuple[str, ...]) -> ColumnElement[int]:
    """The position of a word in a list, 0 where it is not in it."""
    return case(*((column == word, code) for code, word in enumerate(words)), else_=0)


@dataclass(frozen=True)
class _Names:
    """Sorted numbers, and the names that stand for them."""

    key: Offsets  # of a set and a position in it
    topic: pl.Series
    doc: pl.Series
    worker: Offsets
    assessor: pl.Series


def _names(work: Work) -> _Names:
    import numpy as np
    import polars as pl

    m = member.c
    query = (
        select(m.set_id * _SPAN + m.position, *PAIR_NAMES)
        .select_from(NAMED_PAIRS.join(member, m.pair_id == pair.c.id))
        .where(work.own(pair))
    )
    rows = work.rows(query.order_by(m.set_id, m.position))
    keys, topics, documents = zip(*rows, strict=True) if rows else ((), (), ())
    people = sorted(_assessors(work).items())
    return _Names(
        key=np.array(keys, np.int64),
        topic=pl.Series(topics, dtype=pl.String),
        doc=pl.Series(documents, dtype=pl.String),
        worker=np.array([number for number, _ in people], np.int64),
        assessor=pl.Series([name for _, name in people], dtype=pl.String),
    )


def _assessors(work: Work) -> dict[int, str]:
    """What exports call each worker."""
    query = select(worker.c.id, worker.c.number, worker.c.name).where(work.own(worker))
    return {row.id: row.name or f"w{row.number}" for row in work.rows(query)}


def _frame(file: str, rows: Offsets, names: _Names) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    _, grade, said, milliseconds, time, worker_id, position, set_id, kind = rows.T
    at = np.searchsorted(names.key, set_id * _SPAN + position)
    took = pl.Series(milliseconds)
    whole_seconds = (took // 1000).cast(pl.String)  # as text, without a needless ".0"
    columns = {
        "topic": names.topic[at],
        "doc": names.doc[at],
        "assessor": names.assessor[np.searchsorted(names.worker, worker_id)],
        "said": grade if file != "other.tsv" else [SAID[code] for code in said.tolist()],
        "seconds": whole_seconds.zip_with(took % 1000 == 0, (took / 1000).cast(pl.String)),
        "time": time,
    }
    if file == "controls.tsv":
        columns["kind"] = [CONTROLS[code] for code in kind.tolist()]
    return pl.DataFrame(columns)


def _ballots(work: Work) -> Iterator[list[tuple[str, ...]]]:
    """Parts of the rankings that count; a ballot's name is the number of its event."""
    assessors = _assessors(work)
    e, p, a = event.c, place.c, assignment.c
    joined = (
        CURRENT_ANSWERS.join(place, p.id == answer.c.place_id)
        .join(assignment, a.id == p.assignment_id)
        .join(member, member.c.set_id == p.set_id)
        .join(pair, pair.c.id == member.c.pair_id)
        .join(topic, topic.c.id == pair.c.topic_id)
        .join(document, document.c.id == pair.c.document_id)
    )
    query = (
        select(e.id, e.ranking, e.worker_id, member.c.position, *PAIR_NAMES)
        .select_from(joined)
        .where(
            work.own(assignment),
            answer.c.position == 0,
            e.kind == "ranking",
            p.kind == "count",
            p.surplus == 0,
            a.state.in_(VALID),
        )
        .order_by(e.id, member.c.position)
    )
    for part in _streamed(work, query).partitions(CHUNK):
        yield [
            (
                f"b{row.id}",
                row.topic,
                row.doc,
                assessors[row.worker_id],
                row.ranking.split()[row.position - 1],
            )
            for row in part
        ]
