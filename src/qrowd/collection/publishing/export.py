"""A campaign's results as files, at any time: one snapshot, the same bytes from either engine.

judgements.tsv     grades that count, machines' too, with the kind of each assessor
surplus.tsv        grades beyond a target
controls.tsv       grades of check questions, repeats, reviews and experts
other.tsv          "cannot tell" and "broken" instead of a grade
ratings.tsv        numbers that count, as they were given, where the way of judging asks for them
buckets.tsv        topics that sentences were put to, where they are; check questions too
known.qrels        experts' grades of these, which tell who is reliable
orders.tsv         rankings that count; of numbers, one order of each assessor and topic
gold.qrels         experts' grades of the pool
manifest.json      what was written, with checksums
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from sqlalchemy import ColumnElement, FromClause, Result, Select, and_, case, func, not_, select

from qrowd import __version__
from qrowd.collection.books import ledger
from qrowd.collection.books.progress import events
from qrowd.collection.database.schema import (
    CURRENT_ANSWERS,
    NAMED_PAIRS,
    PAIR_NAMES,
    PLACED_ANSWERS,
    STANDING,
    answer,
    assignment,
    bucket,
    decision,
    event,
    gold,
    has_grade,
    member,
    pair,
    place,
    topic,
    worker,
)
from qrowd.collection.database.states import VALID
from qrowd.collection.database.store import Work
from qrowd.collection.judging.gold import named_grades
from qrowd.collection.plan.sections import Plan
from qrowd.data.given import NOTHING, Given, Merger
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.sample import Choice
from qrowd.io.atomic import write, written
from qrowd.io.judgements import read_judgements
from qrowd.io.qrels import read_qrels
from qrowd.io.save import save
from qrowd.io.source import PROVENANCE, sha256_of

if TYPE_CHECKING:
    import polars as pl

    from qrowd.data.arrays import Floats, Offsets

CHUNK = 50_000  # rows in memory at a time
CONTROLS = ("gold", "qualification", "repeat", "second", "review", "expert")
SAID = ("cannot-tell", "broken")
NO_BUCKET = "none of these"  # an empty cell would be no answer
_KINDS = {"human": "person", "expert": "expert", "machine": "machine"}  # of assessors
_NAMES = ("topic", "doc", "assessor")
_ANSWERS = {
    "judgements.tsv": (*_NAMES, "grade", "seconds", "time", "kind"),
    "surplus.tsv": (*_NAMES, "grade", "seconds", "time"),
    "controls.tsv": (*_NAMES, "grade", "seconds", "time", "kind"),
    "other.tsv": (*_NAMES, "said", "seconds", "time"),
}
_RATINGS = {"ratings.tsv": (*_NAMES, "value", "seconds", "time")}
_BUCKETS: Mapping[str, tuple[str, ...]] = {
    "buckets.tsv": (*_NAMES, "bucket", "seconds", "time"),
    "known.qrels": (),
}
_OTHERS: Mapping[str, tuple[str, ...]] = {
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
    headers = {
        **_ANSWERS,
        **(_RATINGS if work.plan.way.rated else {}),
        **(_BUCKETS if work.plan.way.buckets else {}),
        **_OTHERS,
    }
    rows = dict.fromkeys(headers, 0)
    with contextlib.ExitStack() as stack:
        files = {
            name: stack.enter_context(_opened(target / name, header))
            for name, header in headers.items()
        }
        for name, part in chain(_answer_frames(work), _buckets(work), _ballots(work)):
            text = part.write_csv(separator="\t", include_header=False, quote_style="never")
            files[name].write(text)
            rows[name] += len(part)
        key = {"gold.qrels": given_names(work)}
        if work.plan.way.buckets:
            key["known.qrels"] = named_grades(work)
        for file, grades in key.items():
            lines = (f"{name}\t0\t{doc}\t{n}\n" for (name, doc), n in sorted(grades.items()))
            files[file].writelines(lines)
            rows[file] = len(grades)
    about = None
    if merge is not None and rows["judgements.tsv"]:
        merged = _merged(target, merge, work.plan)
        about = {"method": merged.fit.method, "choice": merged.fit.choice}
        names = dict.fromkeys(("merged.qrels", "probabilities.tsv"), len(merged.pairs))
        told = [f"{name}{PROVENANCE}" for name in names if merged.provenance is not None]
        rows |= names | dict.fromkeys(told, 1)
    if parquet:
        tables = [name for name in rows if name.endswith("tsv")]
        rows |= {_as_parquet(target / name): rows[name] for name in tables}
    exported = [Exported(name, count, sha256_of(target / name)) for name, count in rows.items()]
    _write_manifest(work, target, exported, about)
    return exported


def given_names(work: Work, *, decided: bool = True) -> dict[tuple[str, str], int]:
    """The experts' grades of pairs of the pool, by topic and document.

    Gold's, then the last decision; without `decided`, gold's alone.
    """
    grades = named_grades(work, gold, pair.c.in_pool == 1)
    if not decided:
        return grades
    standing = decision.c.id.in_(STANDING)
    return grades | named_grades(work, decision, pair.c.in_pool == 1, standing)


# --- files ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _opened(path: Path, header: Sequence[str]) -> Iterator[TextIO]:
    """A file that is written part by part: memory does not grow with it."""
    with written(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        file.write("\t".join(header) + "\n" if header else "")
        yield file


def read_exported(folder: Path, plan: Plan) -> Judgements:
    """The judgements of an export, which know how documents were chosen."""
    crowd = read_judgements(folder / "judgements.tsv", scale=plan.scale.scale)
    if plan.next.pick == "even":
        return crowd
    return replace(crowd, choice=Choice.of_votes(crowd, plan.next.least))


def _merged(folder: Path, merge: Merger, plan: Plan) -> Merged:
    crowd = read_exported(folder, plan)
    has_gold = (folder / "gold.qrels").stat().st_size > 0
    given = Given(gold=read_qrels(folder / "gold.qrels")) if has_gold else NOTHING
    merged = merge.fit(crowd, given)
    save(merged.qrels(), folder / "merged.qrels")
    save(merged, folder / "probabilities.tsv")
    return merged


def _as_parquet(path: Path) -> str:
    """Write a table in that form too; the name of its file."""
    import polars as pl

    target = path.with_suffix(".parquet")
    # the first rows do not tell: many whole numbers may come before one that is not
    types = dict.fromkeys(_NAMES, pl.String) | dict.fromkeys(("value", "seconds"), pl.Float64)
    scanned = pl.scan_csv(path, separator="\t", schema_overrides=types, quote_char=None)
    with written(target) as beside:
        scanned.sink_parquet(beside)
    return target.name


def _write_manifest(
    work: Work, folder: Path, exported: Sequence[Exported], merged: Mapping[str, str] | None
) -> None:
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
        **({} if merged is None else {"merged": merged}),  # by which method, and what it chose
        **chosen_in(work.plan),
    }
    write(folder / "manifest.json", json.dumps(about, indent=2, sort_keys=True) + "\n")


def chosen_in(plan: Plan) -> dict[str, Any]:
    """How documents were chosen, for a manifest; nothing where all got as many judgements."""
    if plan.next.pick == "even":
        return {}
    chosen = {name: getattr(plan.next, name) for name in ("pick", "risk", "least")}
    chosen |= {"most": plan.most_votes, "random_sample": False}
    return {"chosen": chosen}


# --- answers --------------------------------------------------------------------------------------


def _streamed(work: Work, query: Select[Any]) -> Result[Any]:
    return work.db.execution_options(yield_per=CHUNK).execute(query)


def _answer_frames(work: Work) -> Iterator[tuple[str, pl.DataFrame]]:
    """Parts of files (name, rows) in the order of the events.

    Rows come as numbers, and get their names from columns here: names that are joined by the
    database make millions of rows slow.
    """
    import numpy as np

    names = _names(work)
    queries = [_answers(work), *([_answers(work, revised=True)] if work.plan.in_phases else [])]
    parts = (_streamed(work, query).partitions(CHUNK) for query in queries)
    for part in chain.from_iterable(parts):
        # in this type, whole numbers (of times, too) are exact up to 2**53
        numbers = np.fromiter(chain.from_iterable(part), np.float64).reshape(len(part), -1)
        files = {file: numbers[:, 0] == code for code, file in enumerate(_ANSWERS)}
        if work.plan.way.rated:  # what was imported counts without a value
            files["ratings.tsv"] = files["judgements.tsv"] & (numbers[:, 2] >= 0)
        for file, mine in files.items():
            if mine.any():
                yield file, _frame(file, numbers[mine], names)


def _answers(work: Work, *, revised: bool = False) -> Select[Any]:
    """Rows of numbers: file, grade, value, said, time taken, time, worker, position, set, kind.

    `revised`: what people said of own answers once more, in the place of what they said first.
    """
    e, p, a = event.c, place.c, assignment.c
    source: FromClause = event
    own = e.place_id
    if revised:
        revision = place.alias()
        source = event.join(revision, revision.c.id == e.place_id)
        own = revision.c.reviews_id
    last = (answer.c.place_id == own) & (answer.c.position == e.position)
    joined = (
        source.join(answer, last & (answer.c.event_id == e.id))
        .join(place, p.id == answer.c.place_id)
        .join(assignment, a.id == p.assignment_id)
    )
    control, graded = p.kind.in_(CONTROLS), has_grade()
    columns = (
        case((control, 2), (not_(graded), 3), (p.surplus == 1, 1), else_=0),
        func.coalesce(e.grade, 0),
        func.coalesce(e.value, -1),
        _code(e.kind, SAID),
        e.milliseconds,
        e.at,
        e.worker_id,
        e.position,
        p.set_id,
        _code(p.kind, CONTROLS),
    )
    counts = and_(not_(control), a.state.in_(VALID), graded | e.kind.in_(SAID))
    wanted = counts | and_(control, graded, a.finished_at.is_not(None))
    here = (a.campaign_id + 0) == work.campaign  # + 0: walk along the events, which are in order
    return select(*columns).select_from(joined).where(here, wanted).order_by(e.id)


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
    kind: pl.Series


def _names(work: Work) -> _Names:
    import numpy as np
    import polars as pl

    m = member.c
    query = (
        select(m.set_id * _SPAN + m.position, *PAIR_NAMES)
        .select_from(NAMED_PAIRS.join(member, m.pair_id == pair.c.id))
        .where(work.own(pair))
    )
    rows = work.db.execute(query.order_by(m.set_id, m.position)).all()
    keys, topics, documents = zip(*rows, strict=True) if rows else ((), (), ())
    assessors = sorted(assessor_names(work).items())
    return _Names(
        key=np.array(keys, np.int64),
        topic=pl.Series(topics, dtype=pl.String),
        doc=pl.Series(documents, dtype=pl.String),
        worker=np.array([number for number, _ in assessors], np.int64),
        assessor=pl.Series([name for _, (name, _) in assessors], dtype=pl.String),
        kind=pl.Series([kind for _, (_, kind) in assessors], dtype=pl.String),
    )


def assessor_names(work: Work) -> dict[int, tuple[str, str]]:
    """What exports call each worker, and the kind of it."""
    w = worker.c
    workers = work.db.execute(select(w.id, w.name, w.number, w.kind).where(work.own(worker))).all()
    taken = {row.name for row in workers}
    assessors = {}
    for row in workers:
        name = row.name or f"w{row.number}"
        while not row.name and name in taken:  # a machine may be called w1
            name = f"w{name}"
        assessors[row.id] = name, _KINDS[row.kind]
    return assessors


def _frame(file: str, rows: Floats, names: _Names) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    _, grade, _, said, milliseconds, time, worker_id, position, set_id, kind = rows.T.astype(
        np.int64
    )
    at = np.searchsorted(names.key, set_id * _SPAN + position)
    who = np.searchsorted(names.worker, worker_id)
    answers: Any = grade
    if file == "other.tsv":
        answers = [SAID[code] for code in said.tolist()]
    elif file == "ratings.tsv":
        answers = _plain(pl.Series(rows[:, 2]))
    columns = {
        "topic": names.topic[at],
        "doc": names.doc[at],
        "assessor": names.assessor[who],
        "said": answers,
        "seconds": _plain(pl.Series(milliseconds / 1000)),
        "time": time,
    }
    if file == "judgements.tsv":
        columns["kind"] = names.kind[who]
    elif file == "controls.tsv":
        columns["kind"] = [CONTROLS[code] for code in kind.tolist()]
    return pl.DataFrame(columns)


def _plain(numbers: pl.Series) -> pl.Series:
    """As text, without a needless ".0"."""
    import polars as pl

    whole = numbers.cast(pl.Int64).cast(pl.String)
    return whole.zip_with(numbers % 1 == 0, numbers.cast(pl.String))


# --- buckets --------------------------------------------------------------------------------------


def _buckets(work: Work) -> Iterator[tuple[str, pl.DataFrame]]:
    """Parts of the file of the topics that documents were put to."""
    import polars as pl

    if not work.plan.way.buckets:
        return
    a, p, e = assignment.c, place.c, event.c
    chosen = topic.alias()
    counts = work.valid_batches() & (p.kind == "count") & (p.surplus == 0)
    asked = work.own(assignment) & (p.kind == "gold") & a.finished_at.is_not(None)
    query = (
        select(*PAIR_NAMES, e.worker_id, chosen.c.name.label("put"), e.milliseconds, e.at)
        .select_from(
            PLACED_ANSWERS.join(NAMED_PAIRS, pair.c.id == member.c.pair_id)
            .join(bucket, bucket.c.event_id == e.id)
            .outerjoin(chosen, chosen.c.id == bucket.c.topic_id)
        )
        .where(counts | asked)
        .order_by(e.id)
    )
    assessors = assessor_names(work)
    for part in _streamed(work, query).partitions(CHUNK):
        rows = [
            (
                row.topic,
                row.doc,
                assessors[row.worker_id][0],
                row.put or NO_BUCKET,
                f"{row.milliseconds / 1000:g}",
                str(row.at),
            )
            for row in part
        ]
        yield "buckets.tsv", pl.DataFrame(rows, list(_BUCKETS["buckets.tsv"]), orient="row")


# --- orders ---------------------------------------------------------------------------------------


def _ballots(work: Work) -> Iterator[tuple[str, pl.DataFrame]]:
    """Parts of the file of the orders that count."""
    import polars as pl

    rankings, ratings = work.plan.way.ballots == "set", work.plan.way.ballots == "topic"
    if not (rankings or ratings):
        return
    assessors = assessor_names(work)
    counts = work.valid_batches() & (place.c.kind == "count") & (place.c.surplus == 0)
    query = (_RANKINGS if rankings else _RATED).where(counts)
    for part in _streamed(work, query).partitions(CHUNK):
        rows = [
            (
                f"b{row.ballot}",
                row.topic,
                row.doc,
                assessors[row.worker_id][0],
                row.ranking.split()[row.position - 1] if rankings else row.place,
            )
            for row in part
        ]
        yield "orders.tsv", pl.DataFrame(rows, list(_OTHERS["orders.tsv"]), orient="row")


# A ballot is a set's ranking; its name is the number of the event.
_RANKINGS = (
    select(event.c.id.label("ballot"), event.c.worker_id, *PAIR_NAMES)
    .add_columns(event.c.ranking, member.c.position)
    .select_from(
        CURRENT_ANSWERS.join(place, place.c.id == answer.c.place_id)
        .join(assignment, assignment.c.id == place.c.assignment_id)
        .join(member, member.c.set_id == place.c.set_id)
        .join(NAMED_PAIRS, pair.c.id == member.c.pair_id)
    )
    .where(answer.c.position == 0, event.c.kind == "ranking")
    .order_by(event.c.id, member.c.position)
)
# A ballot is all that an assessor rated of a topic: values are on one scale, whatever the set. Its
# name is the number of the first event.
_SAME = (event.c.worker_id, pair.c.topic_id)
_FIRST = func.min(event.c.id).over(partition_by=_SAME)
_PLACE = func.dense_rank().over(partition_by=_SAME, order_by=event.c.value.desc())
_RATED = (
    select(_FIRST.label("ballot"), event.c.worker_id, *PAIR_NAMES, _PLACE.label("place"))
    .select_from(PLACED_ANSWERS.join(NAMED_PAIRS, pair.c.id == member.c.pair_id))
    .where(event.c.kind == "rating")
    .order_by(_FIRST, _PLACE, event.c.id)
)
