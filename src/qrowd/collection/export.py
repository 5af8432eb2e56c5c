"""A campaign's results as files, at any time: one snapshot, the same bytes from either engine.

| file | what is in it |
|---|---|
| judgements.tsv | answers that count: topic, doc, assessor, grade, seconds, time |
| surplus.tsv | answers that came when their place was filled |
| controls.tsv | answers on gold, qualification, repeats, reviews and the like, with their kind |
| other.tsv | "cannot tell" and "broken" |
| orders.tsv | rankings and preferences: ballot, topic, doc, assessor, place |
| gold.qrels | the experts' grades of pairs of the pool: gold and decisions |
| merged.qrels, probabilities.tsv | what a merging method makes of the judgements, if asked |
| manifest.json | what there is, with checksums |

Assessors are numbers (`w7`); machines and experts have their names. Free text is not exported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Select, and_, case, literal, select

from qrowd import __version__
from qrowd.collection import ledger
from qrowd.collection.schema import (
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
from qrowd.collection.states import VALID
from qrowd.collection.status import events
from qrowd.collection.store import Found, Work
from qrowd.data.given import NOTHING, Given, Merger
from qrowd.io.atomic import written
from qrowd.io.judgements import read_judgements
from qrowd.io.qrels import read_qrels
from qrowd.io.save import save

CHUNK = 20_000
_CONTROLS = ("gold", "qualification", "repeat", "second", "review", "expert")


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
    done = [_write(work, target / name, *table(work)) for name, table in _TABLES.items()]
    if merge is not None and done[0].rows:
        done += _merged(target, merge)
    if parquet:
        done += [
            _as_parquet(target / one.name, one.rows) for one in done if one.name.endswith("tsv")
        ]
    _write_manifest(work, target, done)
    return done


def _write(
    work: Work, path: Path, header: Sequence[str], rows: Iterator[Sequence[Any]]
) -> Exported:
    """One file, row by row: memory does not grow with it."""
    hashed, number = hashlib.sha256(), 0
    with written(path) as beside, beside.open("wb") as file:
        for chunk in _chunks(header, rows):
            number += len(chunk)
            data = "".join(chunk).encode()
            hashed.update(data)
            file.write(data)
    return Exported(path.name, number - bool(header), hashed.hexdigest())


def _chunks(header: Sequence[str], rows: Iterator[Sequence[Any]]) -> Iterator[list[str]]:
    chunk = ["\t".join(header) + "\n"] if header else []
    for row in rows:
        chunk.append("\t".join(map(str, row)) + "\n")
        if len(chunk) >= CHUNK:
            yield chunk
            chunk = []
    yield chunk


def _merged(folder: Path, merge: Merger) -> list[Exported]:
    crowd = read_judgements(folder / "judgements.tsv")
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
    return iter(work.db.execution_options(yield_per=CHUNK).execute(query))


def _names(work: Work) -> tuple[dict[int, str], dict[int, tuple[str, str]]]:
    """Names of assessors by worker, and of topic and document by pair."""
    w = worker.c
    people = work.db.execute(select(w.id, w.number, w.name).where(w.campaign_id == work.campaign))
    assessors = {row.id: row.name or f"w{row.number}" for row in people}
    joined = pair.join(topic, topic.c.id == pair.c.topic_id)
    joined = joined.join(document, document.c.id == pair.c.document_id)
    names = select(pair.c.id, topic.c.name, document.c.name.label("doc")).select_from(joined)
    rows = work.db.execute(names.where(pair.c.campaign_id == work.campaign))
    return assessors, {row.id: (row.name, row.doc) for row in rows}


def answers_query(work: Work, *conditions: Any) -> Select[Any]:
    """The answers that count now, with their place's and assignment's rows, in a fixed order."""
    e, p, a = event.c, place.c, assignment.c
    joined = (
        answer.join(event, e.id == answer.c.event_id)
        .join(place, p.id == answer.c.place_id)
        .join(assignment, a.id == p.assignment_id)
        .join(member, and_(member.c.set_id == p.set_id, member.c.position == e.position))
    )
    columns = (e.id, e.kind, e.grade, e.milliseconds, e.at, e.worker_id, p.kind.label("place_kind"))
    query = select(*columns, member.c.pair_id, p.surplus, p.held).select_from(joined)
    return query.where(a.campaign_id == work.campaign, *conditions).order_by(e.id)


def _valid(surplus: int) -> tuple[Any, ...]:
    machine = and_(place.c.kind == "machine", literal(surplus) == 0)
    counted = case((place.c.kind == "count", place.c.surplus == surplus), else_=machine)
    return (event.c.kind == "grade", assignment.c.state.in_(VALID), counted)


def _grades(work: Work, surplus: int) -> Iterator[Sequence[Any]]:
    assessors, pairs = _names(work)
    for row in _streamed(work, answers_query(work, *_valid(surplus))):
        yield (*pairs[row.pair_id], assessors[row.worker_id], row.grade, *_times(row))


def _times(row: Found) -> tuple[str, int]:
    return f"{row.milliseconds / 1000:g}", row.at


_HEADER = ("topic", "doc", "assessor", "grade", "seconds", "time")
_Table = tuple[Sequence[str], Iterator[Sequence[Any]]]


def _judgements(work: Work) -> _Table:
    return _HEADER, _grades(work, 0)


def _surplus(work: Work) -> _Table:
    return _HEADER, _grades(work, 1)


def _controls(work: Work) -> _Table:
    def rows() -> Iterator[Sequence[Any]]:
        assessors, pairs = _names(work)
        wanted = (place.c.kind.in_(_CONTROLS), event.c.kind == "grade")
        ended = assignment.c.finished_at.is_not(None)
        for row in _streamed(work, answers_query(work, *wanted, ended)):
            names = (*pairs[row.pair_id], assessors[row.worker_id])
            yield (*names, row.grade, *_times(row), row.place_kind)

    return (*_HEADER, "kind"), rows()


def _other(work: Work) -> _Table:
    def rows() -> Iterator[Sequence[Any]]:
        assessors, pairs = _names(work)
        wanted = event.c.kind.in_(("cannot-tell", "broken"))
        valid = (place.c.kind == "count", assignment.c.state.in_(VALID))
        for row in _streamed(work, answers_query(work, wanted, *valid)):
            yield (*pairs[row.pair_id], assessors[row.worker_id], row.kind, *_times(row))

    return ("topic", "doc", "assessor", "said", "seconds", "time"), rows()


def _orders(work: Work) -> _Table:
    return ("ballot", "topic", "doc", "assessor", "place"), _ballots(work)


def _ballots(work: Work) -> Iterator[Sequence[Any]]:
    """Rankings that count; a ballot's name is the number of its event."""
    assessors, pairs = _names(work)
    e, p, a = event.c, place.c, assignment.c
    joined = (
        answer.join(event, e.id == answer.c.event_id)
        .join(place, p.id == answer.c.place_id)
        .join(assignment, a.id == p.assignment_id)
        .join(member, member.c.set_id == p.set_id)
    )
    columns = (e.id, e.ranking, e.worker_id, member.c.position, member.c.pair_id)
    valid = (p.kind == "count", p.surplus == 0, a.state.in_(VALID), e.kind == "ranking")
    query = select(*columns).select_from(joined).where(a.campaign_id == work.campaign, *valid)
    for row in _streamed(work, query.order_by(e.id, member.c.position)):
        ranks = row.ranking.split()
        who = assessors[row.worker_id]
        yield (f"b{row.id}", *pairs[row.pair_id], who, ranks[row.position - 1])


def given_grades(work: Work) -> dict[int, int]:
    """The experts' grades of pairs of the pool, by pair: gold, then the last decision."""
    own = (pair.c.campaign_id == work.campaign) & (pair.c.in_pool == 1)
    joined = gold.join(pair, pair.c.id == gold.c.pair_id)
    rows = work.db.execute(select(gold.c.pair_id, gold.c.grade).select_from(joined).where(own))
    found = {row.pair_id: row.grade for row in rows}
    decided = decision.join(pair, pair.c.id == decision.c.pair_id)
    query = select(decision.c.pair_id, decision.c.grade).select_from(decided).where(own)
    return found | {
        row.pair_id: row.grade for row in work.db.execute(query.order_by(decision.c.id))
    }


def _gold(work: Work) -> _Table:
    _, pairs = _names(work)
    rows = sorted((*pairs[number], grade) for number, grade in given_grades(work).items())
    return (), iter([(name, 0, doc, grade) for name, doc, grade in rows])


_TABLES: dict[str, Callable[[Work], _Table]] = {
    "judgements.tsv": _judgements,
    "surplus.tsv": _surplus,
    "controls.tsv": _controls,
    "other.tsv": _other,
    "orders.tsv": _orders,
    "gold.qrels": _gold,
}
