"""Judgements made elsewhere into a campaign: machine judges, or experts. They never count.

Rows go through a table of the database's own, so that memory does not grow with the file: a worker
per assessor, one assignment each, a place per set, an event per row. All of it, or nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from sqlalchemy import select, text

from qrowd.collection.database.schema import assignment, worker
from qrowd.collection.database.states import IMPORTED
from qrowd.collection.database.store import Work, analyze
from qrowd.collection.people.workers import new_worker
from qrowd.data.judgements import UNKNOWN
from qrowd.errors import FormatError, InputError, RuleError

CHUNK = 20_000
_COLUMNS = ["topic", "doc", "assessor", "grade"]  # seconds, time and kind may follow
_SAY = "say what they are: --as machine, or --as expert"


@dataclass(frozen=True)
class Imported:
    """What came in; `unknown` rows were of pairs that this campaign does not have."""

    judgements: int
    assessors: int
    unknown: int


def import_judgements(work: Work, path: str | Path, kind: str | None = None) -> Imported:
    """Judgements of a TSV file with a header (topic, doc, assessor, grade, seconds, time, kind).

    `kind` is what all assessors are, machine or expert; without it, what the file says of each of
    them, and a machine where it says nothing.
    """
    if kind not in (None, *IMPORTED):
        raise RuleError("malformed", "judgements are a machine's or an expert's")
    db = work.db
    db.exec_driver_sql(
        "CREATE TEMPORARY TABLE incoming (line BIGINT, topic TEXT, doc TEXT, assessor TEXT, "
        "grade SMALLINT, ms BIGINT, said_at BIGINT)"
    )
    stage = text(
        "INSERT INTO incoming VALUES (:line, :topic, :doc, :assessor, :grade, :milliseconds, :at)"
    )
    kinds: dict[str, str] = {}  # as the file says them
    total, rows = 0, _rows(work, Path(path), None if kind else kinds)
    while chunk := list(islice(rows, CHUNK)):
        db.execute(stage, chunk)
        total += len(chunk)
    twice = "assessor {assessor} judges {topic} {doc} twice; keep one line"
    _refuse(work, _TWICE, path, twice)
    names = list(db.scalars(text("SELECT DISTINCT assessor FROM incoming ORDER BY assessor")))
    _add_judges(work, {name: kind or kinds.get(name, "machine") for name in names})
    analyze(db, "incoming", "judge", "worker", "assignment")
    imported = (  # what came in before is not changed by another file
        "{assessor} judged {topic} {doc} in an earlier import; leave this line out, or give the "
        "assessor another name"
    )
    _refuse(work, _IMPORTED, path, imported)
    stored = _store(work)
    _close(work)
    for table in ("incoming", "judge"):  # an error takes them back with everything else
        db.exec_driver_sql(f"DROP TABLE {table}")
    return Imported(stored, len(names), total - stored)


def _rows(work: Work, path: Path, kinds: dict[str, str] | None) -> Iterator[dict[str, Any]]:
    """The rows of a file; `kinds` gets what it says of assessors, if that matters."""
    try:
        file = path.open(encoding="utf-8", newline="")
    except OSError as error:
        raise FormatError(f"cannot be opened: {error.strerror}", file=str(path)) from None
    with file:
        lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        header = next(lines, [])
        if header[:4] != _COLUMNS:
            message = f"the first line must name the columns: {', '.join(_COLUMNS)}"
            raise FormatError(
                f"{message}; seconds, time and kind may follow", file=str(path), line=1
            )
        for line, row in enumerate(lines, 2):
            if len(row) != len(header):
                message = f"has {len(row)} columns, the header {len(header)}; fix this line"
                raise FormatError(message, file=str(path), line=line)
            values: dict[str, Any] = dict(zip(header, row, strict=True))
            try:
                grade = int(values["grade"])
                milliseconds = round(float(values.get("seconds") or 0) * 1000)
                at = int(float(values.get("time") or work.now))
            except (ValueError, OverflowError):
                message = "grade, seconds and time must be numbers; fix this line"
                raise FormatError(message, file=str(path), line=line) from None
            if grade not in work.plan.scale.grades:
                listed = " ".join(map(str, work.plan.scale.grades))
                message = f"grade {grade} is not on the scale {listed}"
                raise InputError(message, file=str(path), line=line)
            numbers = {"grade": grade, "milliseconds": max(0, milliseconds), "at": at}
            kind = values.get("kind", "").strip().lower()
            if kinds is not None and kind not in ("", UNKNOWN):
                problem = _problem(values["assessor"], kind, kinds)
                if problem:
                    raise InputError(problem, file=str(path), line=line)
                kinds[values["assessor"]] = kind
            yield {**values, **numbers, "line": line}


def _problem(assessor: str, kind: str, kinds: Mapping[str, str]) -> str:
    """What is wrong with a kind, by what earlier rows say of the assessor; "" if nothing is."""
    if kind == "person":
        return f"{assessor} is a person, and people judge in the campaign itself; else {_SAY}"
    if kind not in IMPORTED:
        return f"kind must be machine or expert, got {kind!r}; or {_SAY}"
    before = kinds.get(assessor, kind)
    if before == kind:
        return ""
    return f"the kind of assessor {assessor} is {kind} here and {before} before; keep one of them"


_TWICE = """
    SELECT max(line) AS line, topic, doc, assessor FROM incoming GROUP BY topic, doc, assessor
    HAVING count(*) > 1 ORDER BY 1 LIMIT 1
"""


def _refuse(work: Work, query: str, path: str | Path, message: str) -> None:
    """An error at the line of the file that a query gives, if it gives one."""
    row = work.db.execute(text(query), {"campaign": work.campaign}).one_or_none()
    if row is not None:
        raise InputError(message.format_map(row._mapping), file=str(path), line=row.line)


def _add_judges(work: Work, kinds: Mapping[str, str]) -> None:
    """A table of assessors by name, each with a worker and an open assignment of its kind."""
    work.db.exec_driver_sql(
        "CREATE TEMPORARY TABLE judge (assessor TEXT PRIMARY KEY, kind TEXT, worker_id BIGINT, "
        "assignment_id BIGINT)"
    )
    w, a = worker.c, assignment.c
    query = select(w.name, w.kind, w.id).where(work.own(worker), w.kind.in_(IMPORTED))
    ids = {(name, kind): number for name, kind, number in work.db.execute(query)}
    add = text("INSERT INTO judge VALUES (:assessor, :kind, :worker, :assignment)")
    for name, kind in kinds.items():
        number = ids.get((name, kind)) or new_worker(work, kind, name)
        mine = (a.worker_id == number) & (a.kind == kind) & (a.state == "active")
        assigned = work.db.scalar(select(a.id).where(mine)) or work.insert(
            assignment,
            worker_id=number,
            key=work.key(),
            kind=kind,
            leased_at=work.now,
            expires_at=work.now,
            latest_end=work.now,
        )
        row = {"assessor": name, "kind": kind, "worker": number, "assignment": assigned}
        work.db.execute(add, row)


# SQLite takes CROSS JOINs in the order in which they stand here. It does not count a table that was
# just filled, and in another order goes through all rows of a topic for each of its pairs.
_PAIRS = """
    incoming i CROSS JOIN judge j CROSS JOIN topic t CROSS JOIN document d CROSS JOIN pair x
    CROSS JOIN member m
"""
_FIT = """
    j.assessor = i.assessor AND t.campaign_id = :campaign AND t.name = i.topic
    AND d.campaign_id = :campaign AND d.name = i.doc
    AND x.topic_id = t.id AND x.document_id = d.id AND m.pair_id = x.id
"""
_PLACE = "p.worker_id = j.worker_id AND p.set_id = m.set_id AND p.kind = j.kind"


_IMPORTED = f"""
    SELECT i.line, i.topic, i.doc, i.assessor FROM {_PAIRS} CROSS JOIN place p CROSS JOIN answer s
    WHERE {_FIT} AND {_PLACE} AND s.place_id = p.id AND s.position = m.position
    ORDER BY i.line LIMIT 1
"""


def _store(work: Work) -> int:
    """Places and events of all rows whose pair is known; how many events."""
    names = {"campaign": work.campaign}
    places = f"""
        INSERT INTO place
            (assignment_id, worker_id, set_id, kind, ordinal, key, shown, held, surplus)
        SELECT q.assignment_id, q.worker_id, q.set_id, q.kind,
            coalesce(z.last, 0)
                + row_number() OVER (PARTITION BY q.assignment_id ORDER BY q.set_id),
            'm' || q.worker_id || '-' || q.set_id, '', 0, 0
        FROM (SELECT DISTINCT j.assignment_id, j.worker_id, m.set_id, j.kind
              FROM {_PAIRS}
              WHERE {_FIT} AND NOT EXISTS (SELECT 1 FROM place p WHERE {_PLACE})) q
        LEFT JOIN (SELECT assignment_id, max(ordinal) AS last FROM place GROUP BY assignment_id) z
            ON z.assignment_id = q.assignment_id
    """
    work.db.execute(text(places), names)
    analyze(work.db, "place")
    done = text(f"""
        INSERT INTO event (worker_id, place_id, position, kind, grade, milliseconds, at, key, stale)
        SELECT j.worker_id, p.id, m.position, 'grade', i.grade, i.ms, i.said_at,
            'import ' || p.id || ' ' || m.position, 0
        FROM {_PAIRS} CROSS JOIN place p WHERE {_FIT} AND {_PLACE}
        ORDER BY i.line, m.set_id
    """)
    return work.db.execute(done, names).rowcount


def _close(work: Work) -> None:
    """Imported assignments end as accepted: nothing more is said in them."""
    for source, target in pairwise(("active", "finished", "submitted", "accepted")):
        finished = ", finished_at = :now" if target == "finished" else ""
        work.db.execute(
            text(
                f"UPDATE assignment SET state = '{target}'{finished} WHERE campaign_id = :campaign "
                f"AND kind IN {IMPORTED} AND state = '{source}' AND latest_end = leased_at"
            ),
            {"campaign": work.campaign, "now": work.now},
        )
