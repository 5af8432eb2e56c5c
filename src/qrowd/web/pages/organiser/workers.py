"""Workers: a table of them with what is known of each, and all evidence on one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Response

from qrowd.collection.books.progress import counts
from qrowd.collection.database.schema import worker
from qrowd.collection.database.states import WORKER_STATES
from qrowd.collection.office import worker_record
from qrowd.collection.people import workers as people
from qrowd.web.pages.organiser.findings import finding
from qrowd.web.pages.organiser.frame import Visiting, page_router
from qrowd.web.pages.organiser.live import place_of, shown
from qrowd.web.pages.saying import interval

if TYPE_CHECKING:
    import polars as pl

router = page_router()
PAGE = 100
# how the table can be ordered: the column of the assessors' table, and its words
ORDERS = {
    "number": ("", "number"),
    "suspicion": ("informedness", "most suspicious first"),
    "judgements": ("judgements", "busiest first"),
    "accuracy": ("accuracy", "worst on check questions first"),
    "seconds": ("seconds", "fastest first"),
}


@router.get("/campaigns/{name}/workers")
def workers(
    name: str, visit: Visiting, page: int = 1, order: str = "number", state: str = ""
) -> Response:
    """A page of the table."""
    member = visit.organiser(name)
    order = order if order in ORDERS else "number"
    state = state if state in WORKER_STATES else ""
    file = place_of(visit, member).results / "assessors.tsv"
    with member.store.read(member.campaign) as work:
        states = counts(work, worker)
        total = states.get(state, 0) if state else sum(states.values())
        pages = max(1, -(-total // PAGE))
        at = max(1, min(page, pages))
        numbers = ranked(file, ORDERS[order][0], (at - 1) * PAGE) if order != "number" else []
        if numbers:
            state = ""
        else:
            numbers = worker_record.numbers(work, (at - 1) * PAGE, PAGE, state)
        known = evidence(file, numbers)
        found = finding(work, "quality")
        data = shown(member, name, "/workers", work)
        lines = worker_record.lines(work, numbers)
    return visit.show(
        "organiser/workers.html.j2",
        lines=[(one, known.get(one.number, {})) for one in lines],
        states=states,
        chosen=state,
        order=order,
        orders=ORDERS,
        page=at,
        pages=pages,
        total=total,
        found=found,
        **data,
    )


def _table(file: Path) -> pl.LazyFrame | None:
    """The assessors' table of the last job, with workers' numbers; None where there is none."""
    if not file.is_file():
        return None
    import polars as pl

    names = {"assessor": pl.String, "type": pl.String, "reference": pl.String}
    frame = pl.scan_csv(
        file, separator="\t", schema_overrides=names, quote_char=None, infer_schema_length=None
    )
    mine = frame.filter(pl.col("assessor").str.contains(r"^w\d+$"))
    return mine.with_columns(pl.col("assessor").str.slice(1).cast(pl.Int64).alias("number"))


def evidence(file: Path, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What the last job says of these workers."""
    table = _table(file)
    if table is None:
        return {}
    import polars as pl

    rows = table.filter(pl.col("number").is_in(list(numbers))).collect().to_dicts()
    return {int(row["number"]): row for row in rows}


def ranked(file: Path, column: str, start: int) -> list[int]:
    """A page of workers' numbers in the order of a column; those without a value last."""
    table = _table(file)
    if table is None or column not in table.collect_schema():
        return []
    down = column == "judgements"
    ordered = table.sort([column, "number"], descending=[down, False], nulls_last=True)
    return [int(one) for one in ordered.slice(start, PAGE).collect()["number"]]


def _fact(known: Mapping[str, Any], name: str) -> tuple[str, str, Any]:
    """A line of the evidence: what, what it means, the value (with its interval)."""
    from qrowd.quality.assessors import ABOUT

    ends = {end: known.get(f"{name}_{end}") for end in ("low", "high")}
    if any(end is None for end in ends.values()):
        return name, ABOUT[name], known[name]
    means = ABOUT[name].partition(" (")[0] + "; 95 % interval"
    return name, means, interval({"value": known[name], **ends})


@router.get("/campaigns/{name}/workers/{number}")
def one_worker(name: str, number: int, visit: Visiting) -> Response:
    """All evidence on one worker."""
    from qrowd.quality.assessors import ABOUT, MAIN

    member = visit.organiser(name)
    file = place_of(visit, member).results / "assessors.tsv"
    with member.store.read(member.campaign) as work:
        found = worker_record.standing(work, number)
        row = people.worker_by_number(work, number)
        job = finding(work, "quality")
        data = shown(member, name, "/workers", work)
        labels = dict(zip(work.plan.scale.grades, work.plan.scale.labels, strict=False))
        grades = work.plan.scale.grades
    known = evidence(file, [number]).get(number, {})
    first = (*MAIN, "informedness", "reference")
    rows = [_fact(known, name) for name in ABOUT if known.get(name) is not None]
    facts, more = ([row for row in rows if (row[0] in first) is now] for now in (True, False))
    said = [str(grade) for grade in grades] + ["cannot tell", "broken"]
    columns = [one for one in said if any(key[1] == one for key in found.confusion)]
    return visit.show(
        "organiser/worker.html.j2",
        found=found,
        line=found.line,
        row=row,
        job=job,
        facts=facts,
        more=more,
        known=known,
        labels=labels,
        grades=grades,
        said=columns,
        people="people" in member.who.scopes,
        **data,
    )
