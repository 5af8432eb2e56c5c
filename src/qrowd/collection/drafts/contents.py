"""What the files of a draft hold so far, and what judging that comes to.

What was read is kept in memory: files of a draft never change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from qrowd.collection.drafts.draft import Draft
from qrowd.collection.plan import files as plan_files
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.forecast import Forecast, batches_of, forecast
from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.rows import CampaignRows, Pair
from qrowd.collection.plan.sections import About, Hit, Plan
from qrowd.data.runs import RunSet
from qrowd.errors import InputError
from qrowd.io.runs import read_runs
from qrowd.texts import Text

DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100)
SHOWN = 3  # names in a message


def campaign_rows(draft: Draft) -> CampaignRows:
    """What the files of a draft hold so far, except the documents themselves.

    As the way of judging takes it, where it can.
    """
    try:
        return _prepared(_bare(draft))
    except InputError:
        return _rows(draft)


def unprepared(draft: Draft) -> Iterator[Complaint]:
    """Why the way of judging cannot take what the files of a draft hold."""
    try:
        _prepared(_bare(draft))
    except InputError as error:
        problem = error.message
        yield Complaint.of("files.documents", "office.plan.uploaded.unprepared", problem=problem)


def _rows(draft: Draft) -> CampaignRows:
    rows = {kind: rows_of(draft, kind) for kind in ("topics", *plan_files.OPTIONAL)}
    priorities = dict(rows.pop("priorities"))
    return CampaignRows(pool=pool_of(draft), priorities=priorities, **rows)


def _bare(draft: Draft) -> Draft:
    """What of a draft its rows depend on."""
    plan = draft.plan
    hit, campaign = Hit(gold=plan.gold_per_hit), About(way=plan.way.name)
    return Draft(
        draft.folder, 0, Plan(campaign=campaign, files=plan.files, scale=plan.scale, hit=hit)
    )


@lru_cache(maxsize=4)  # to cut many documents into sentences takes seconds
def _prepared(draft: Draft) -> CampaignRows:
    name, plan = draft.plan.files.documents, draft.plan
    there = [path_in(draft, name)] if name and not lost_files(draft, "documents") else []
    # read by those ways only that look at them
    documents = (row for path in there for row in plan_files.document_rows(path))
    if plan.files.blank == "title":
        documents = (plan_files.by_title(row) for row in documents)
    rows = plan.way.prepare(plan, replace(_rows(draft), documents=documents))
    return replace(rows, documents=())


def pool_of(draft: Draft) -> tuple[Pair, ...]:
    """The pairs to judge: those of a file, or of runs to a depth."""
    files = draft.plan.files
    if files.runs and not files.pool:
        whole = not any(lost_files(draft, "runs"))
        pairs = _pool_at(run_paths(draft), files.depth) if whole else ()
    else:
        pairs = rows_of(draft, "pool")
    left_out = _left_out(draft)
    return tuple(pair for pair in pairs if pair[1] not in left_out) if left_out else pairs


def rows_of(draft: Draft, kind: str) -> tuple[Any, ...]:
    """What the draft's file of a kind holds; nothing where there is none."""
    name = getattr(draft.plan.files, kind)
    if not name or lost_files(draft, kind):
        return ()
    rows = file_rows(kind, path_in(draft, name))
    left_out = _left_out(draft) if kind in ("gold", "qualification") else frozenset()
    return tuple(row for row in rows if row.document not in left_out) if left_out else rows


def _left_out(draft: Draft) -> frozenset[str]:
    """The documents that are not judged, since they have no text."""
    if draft.plan.files.blank != "leave out":
        return frozenset()
    _, titled, empty = documents_of(draft)
    return titled | empty


def documents_of(draft: Draft) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The draft's documents: those with a text, with a title only, and with neither."""
    path = draft.plan.files.documents
    if not path or lost_files(draft, "documents"):
        return frozenset(), frozenset(), frozenset()
    return texts(path_in(draft, path))


def names_of(plan: Plan, kind: str) -> list[str]:
    """The files of a kind that a plan names."""
    value = getattr(plan.files, kind)
    names = value if isinstance(value, tuple) else (value,)
    return [name for name in names if name]


def lost_files(draft: Draft, kind: str) -> list[str]:
    """The files of a kind that the plan names and that are not there."""
    return [name for name in names_of(draft.plan, kind) if not (draft.folder / name).exists()]


def without_text(draft: Draft, kind: str, pairs: Collection[Pair]) -> Iterator[Complaint]:
    """Pairs of a file of a kind whose topic or document is not there, or has no text."""
    topics = rows_of(draft, "topics")
    full, titled, empty = documents_of(draft)
    if not topics or not (full or titled or empty):
        return
    full, empty = (full | titled, empty) if draft.plan.files.blank else (full, titled | empty)
    documents = {
        name if name in full | empty else draft.plan.way.document_of(name) for _, name in pairs
    }
    strange = {
        "topics": {topic for topic, _ in pairs} - {row.name for row in topics},
        "documents": documents - full - empty,
        "blank": documents & empty,
    }
    for what, names in strange.items():
        if names:
            first = ", ".join(sorted(names)[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
            file, text = Text(f"office.file.{kind}"), f"office.plan.uploaded.{what}"
            yield Complaint.of(f"files.{kind}", text, n=len(names), names=first, file=file)


def read_line(draft: Draft, kind: str) -> Text | None:
    """What was read of the draft's files of a kind, and what of it is not used; None: no file."""
    names = [PurePosixPath(name).name for name in names_of(draft.plan, kind)]
    if not names or lost_files(draft, kind):
        return None
    pool = pool_of(draft)
    judged = {topic for topic, _ in pool}
    figures = {"n": 0, "topics": 0, "sets": 0}
    unused: Collection[Any] = ()
    if kind in ("pool", "runs"):
        figures |= {"n": len(pool), "topics": len(judged)}
    elif kind == "documents":
        documents = frozenset[str]().union(*documents_of(draft))
        graded = (row.pair for key in ("gold", "qualification") for row in rows_of(draft, key))
        figures["n"] = len(documents)
        unused = documents - {document for _, document in (*pool, *graded)}
    else:
        rows = rows_of(draft, kind)
        topic_of = {"topics": "name", "priorities": 0}.get(kind, "topic")
        topics = [row[0][0] if topic_of == 0 else getattr(row, str(topic_of)) for row in rows]
        figures |= {"n": len(rows), "topics": len(set(topics))}
        if kind in ("gold", "qualification"):
            figures["sets"] = len({(row.topic, row.set) for row in rows})
        unused = [topic for topic in topics if topic not in judged]
    name = names[0] if len(names) == 1 else Text("office.read.files", n=len(names))
    what = Text(f"office.read.{kind}", **figures)
    if not unused or not pool:
        return Text("office.read.line", file=name, what=what)
    left = Text(f"office.read.unused.{kind}", n=len(unused))
    return Text("office.read.unused", file=name, what=what, unused=left)


def forecast_of(draft: Draft) -> Forecast | None:
    """What the draft comes to, as its dry run found it; none before there is a pool."""
    rows, run = campaign_rows(draft), draft.dry_run
    if not rows.pool:
        return None
    expected = forecast(draft.plan, rows)
    if run is None or not run.holds_for(draft.plan):
        return expected
    return expected.rehearsed(draft.plan, run.spend, run.accuracy)


def depth_costs(draft: Draft) -> list[tuple[int, int, int]]:
    """Of each depth of the runs: pairs, and what judging them costs in minor units."""
    if not draft.plan.files.runs or lost_files(draft, "runs"):
        return []
    depths, costs = sorted({*DEPTHS, draft.plan.files.depth}), []
    whole, now = _pool_at(run_paths(draft), depths[-1]), forecast_of(draft)
    each = now.spend.total / now.batches if now and now.batches else 0.0
    for depth in depths:
        plan = set_key(set_key(draft.plan, "files", "depth", depth), "files", "pool", "")
        at_depth = replace(draft, plan=plan)
        pairs = len(pool_of(at_depth))
        costs.append((depth, pairs, round(each * batches_of(plan, campaign_rows(at_depth)))))
        if pairs == len(whole):  # deeper, the runs have no more documents
            break
    return costs


def path_in(draft: Draft, name: str) -> str:
    """The path of a file that the draft's plan names."""
    return str(draft.folder / name)


def run_paths(draft: Draft) -> tuple[str, ...]:
    """The files of the runs."""
    return tuple(path_in(draft, name) for name in draft.plan.files.runs)


# --- what a file holds ----------------------------------------------------------------------------


@lru_cache(maxsize=32)  # a pool may be large
def file_rows(kind: str, path: str) -> tuple[Any, ...]:
    """The rows of a file of a kind."""
    return tuple(plan_files.READERS[kind](path))


@lru_cache(maxsize=8)
def texts(path: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The documents of a file: those with a text, with a title only, and with neither."""
    full: set[str] = set()
    titled: set[str] = set()
    empty: set[str] = set()
    for row in plan_files.document_rows(path):
        (full if row.body.strip() else titled if row.title.strip() else empty).add(row.name)
    return frozenset(full), frozenset(titled), frozenset(empty)


@lru_cache(maxsize=8)
def runs(paths: tuple[str, ...]) -> RunSet:
    """The runs of these files."""
    return read_runs(list(paths))


@lru_cache(maxsize=32)
def _pool_at(paths: tuple[str, ...], depth: int) -> tuple[tuple[str, str], ...]:
    return tuple(plan_files.pool_of_runs(runs(paths), depth))
