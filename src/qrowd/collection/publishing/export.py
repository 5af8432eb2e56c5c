"""A campaign's results as files, at any time: one snapshot, the same bytes from either engine."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from sqlalchemy import ColumnElement, Select, and_, case, func, not_, select

from qrowd import __version__
from qrowd.collection.books import ledger
from qrowd.collection.books.progress import events
from qrowd.collection.database.schema import (
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
from qrowd.collection.database.store import Found, Work
from qrowd.data.given import NOTHING, Given, Merger
from qrowd.data.scale import Scale
from qrowd.io.atomic import written
from qrowd.io.judgements import read_judgements
from qrowd.io.qrels import read_qrels
from qrowd.io.save import save

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


EXPORT_CHUNK = 20_000
_Row = tuple[str, Sequence[Any]]  # the file's name, the row
_NAMES = ("topic", "doc", "assessor")
_HEADERS: dict[str, tuple[str, ...]] = {
    "judgements.tsv": (*_NAMES, "grade", "seconds", "time"),
    "surplus.tsv": (*_NAMES, "grade", "seconds", "time"),
    "controls.tsv": (*_NAMES, "grade", "seconds", "time", "kind"),
    "other.tsv": (*_NAMES, "said", "seconds", "time"),
    "orders.tsv": ("ballot", *_NAMES, "place"),
    "gold.qrels": (),
}


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
        for name, rows in answer_frames(work):
            files[name].write_frame(rows)
        for name, row in itertools.chain(_ballots(work), _gold(work)):
            files[name].write(row)
    done = [one.done() for one in files.values()]
    if merge is not None and done[0].rows:
        done += _merged(target, merge, work.plan.scale.scale)
    if parquet:
        done += [
            _as_parquet(target / one.name, one.rows) for one in done if one.name.endswith("tsv")
        ]
    _write_manifest(work, target, done)
    return done


class _File:
    """A file that is written row by row: memory does not grow with it."""

    def __init__(self, name: str, file: BinaryIO, header: Sequence[str]) -> None:
        self.name, self._file, self._hash = name, file, hashlib.sha256()
        self._waiting = ["\t".join(header) + "\n"] if header else []
        self._rows = -len(self._waiting)

    def write(self, row: Sequence[Any]) -> None:
        """One row."""
        self._waiting.append("\t".join(map(str, row)) + "\n")
        if len(self._waiting) >= EXPORT_CHUNK:
            self.flush()

    def write_frame(self, rows: pl.DataFrame) -> None:
        """Many rows."""
        self.flush()
        text = rows.write_csv(separator="\t", include_header=False, quote_style="never")
        self._rows += len(rows)
        self._put(text.encode())

    def flush(self) -> None:
        """Put down what waits."""
        data = "".join(self._waiting).encode()
        self._rows += len(self._waiting)
        self._waiting = []
        self._put(data)

    def _put(self, data: bytes) -> None:
        self._hash.update(data)
        self._file.write(data)

    def done(self) -> Exported:
        """What was written."""
        return Exported(self.name, self._rows, self._hash.hexdigest())


@contextlib.contextmanager
def _opened(path: Path, header: Sequence[str]) -> Iterator[_File]:
    with written(path) as beside, beside.open("wb") as file:
        found = _File(path.name, file, header)
        yield found
        found.flush()


def _merged(folder: Path, merge: Merger, scale: Scale) -> list[Exported]:
    crowd = read_judgements(folder / "judgements.tsv", scale=scale)
    has_gold = (folder / "gold.qrels").stat().st_size > 0
    given = Given(gold=read_qrels(folder / "gold.qrels")) if has_gold else NOTHING
    merged = merge.fit(crowd, given)
    save(merged.qrels(), folder / "merged.qrels")
    save(merged, folder / "probabilities.tsv")
    return [
        _seen(folder / name, len(merged.pairs)) for name in ("merged.qrels", "probabilities.tsv")
    ]


def _seen(path: Path, rows: int) -> Exported:
    return Exported(path.name, rows, hashlib.sha256(path.read_bytes()).hexdigest())


def _as_parquet(path: Path, rows: int) -> Exported:
    import polars as pl

    target = path.with_suffix(".parquet")
    names = dict.fromkeys(("topic", "doc", "assessor"), pl.String)
    scanned = pl.scan_csv(path, separator="\t", schema_overrides=names, quote_char=None)
    with written(target) as beside:
        scanned.sink_parquet(beside)
    return _seen(target, rows)


def _write_manifest(work: Work, folder: Path, done: Sequence[Exported]) -> None:
    money = ledger.balance(work)
    about = {
        "campaign": work.name,
        "qrowd": __version__,
        "plan_sha256": hashlib.sha256(work.plan.text.encode()).hexdigest(),
        "scale": list(work.plan.scale.grades),
        "relevant_from": work.plan.scale.relevant_from,
        "events": events(work),
        "spent": {"owed": money.owed, "settled": money.settled, "currency": work.plan.pay.currency},
        "files": {one.name: {"rows": one.rows, "sha256": one.sha256} for one in done},
    }
    with written(folder / "manifest.json") as beside:
        beside.write_text(json.dumps(about, indent=2, sort_keys=True) + "\n", encoding="utf-8")


# --- the tables -----------------------------------------------------------------------------------


def _streamed(work: Work, query: Select[Any]) -> Iterator[Found]:
    return iter(work.db.execution_options(yield_per=EXPORT_CHUNK).execute(query))


def _ballots(work: Work) -> Iterator[_Row]:
    """Rankings that count; a ballot's name is the number of its event."""
    assessors = assessor_names(work)
    e, p, a = event.c, place.c, assignment.c
    joined = (
        answer.join(event, e.id == answer.c.event_id)
        .join(place, p.id == answer.c.place_id)
        .join(assignment, a.id == p.assignment_id)
        .join(member, member.c.set_id == p.set_id)
        .join(pair, pair.c.id == member.c.pair_id)
        .join(topic, topic.c.id == pair.c.topic_id)
        .join(document, document.c.id == pair.c.document_id)
    )
    names = (topic.c.name.label("topic"), document.c.name.label("doc"))
    columns = (e.id, e.ranking, e.worker_id, member.c.position, *names)
    of_sets = (answer.c.position == 0, e.kind == "ranking")
    valid = (p.kind == "count", p.surplus == 0, a.state.in_(VALID))
    query = select(*columns).select_from(joined).where(a.campaign_id == work.campaign, *of_sets)
    for row in _streamed(work, query.where(*valid).order_by(e.id, member.c.position)):
        rank, who = row.ranking.split()[row.position - 1], assessors[row.worker_id]
        yield "orders.tsv", (f"b{row.id}", row.topic, row.doc, who, rank)


def given_grades(work: Work, *, decided: bool = True) -> dict[int, int]:
    """The experts' grades of pairs of the pool, by pair: gold, then the last decision."""
    own = (pair.c.campaign_id == work.campaign) & (pair.c.in_pool == 1)
    joined = gold.join(pair, pair.c.id == gold.c.pair_id)
    rows = work.db.execute(select(gold.c.pair_id, gold.c.grade).select_from(joined).where(own))
    found = {row.pair_id: row.grade for row in rows}
    if not decided:
        return found
    by_experts = decision.join(pair, pair.c.id == decision.c.pair_id)
    query = select(decision.c.pair_id, decision.c.grade).select_from(by_experts).where(own)
    return found | {
        row.pair_id: row.grade for row in work.db.execute(query.order_by(decision.c.id))
    }


def given_names(work: Work, *, decided: bool = True) -> dict[tuple[str, str], int]:
    """The same by topic and document; without decisions, gold's alone."""
    given = given_grades(work, decided=decided)
    joined = pair.join(topic, topic.c.id == pair.c.topic_id)
    joined = joined.join(document, document.c.id == pair.c.document_id)
    names = select(pair.c.id, topic.c.name, document.c.name.label("doc")).select_from(joined)
    own = names.where(pair.c.campaign_id == work.campaign, pair.c.in_pool == 1)
    rows = _streamed(work, own) if given else iter(())
    return {(row.name, row.doc): given[row.id] for row in rows if row.id in given}


def _gold(work: Work) -> Iterator[_Row]:
    rows = sorted((*names, grade) for names, grade in given_names(work).items())
    return (("gold.qrels", (name, 0, doc, grade)) for name, doc, grade in rows)
