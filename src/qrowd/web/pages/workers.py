"""Workers: a table of them with what is known of each, all evidence on one; forgetting."""

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
from qrowd.errors import RuleError
from qrowd.quality.assessors import ABOUT, MAIN
from qrowd.texts import Text
from qrowd.web.api.workers import erase
from qrowd.web.pages.frame import Confirmation, KeeperVisit, Part, ReaderVisit, page_router
from qrowd.web.pages.quality import last_job
from qrowd.web.pages.templates import english, interval

if TYPE_CHECKING:
    import polars as pl

router = page_router()
PAGE = 100
# how the table can be ordered, and the column of the assessors' table
ORDERS = {
    "number": "",
    "suspicion": "informedness",
    "judgements": "judgements",
    "accuracy": "accuracy",
    "seconds": "seconds",
}


@router.get("/campaigns/{name}/workers")
def workers(visit: ReaderVisit, page: int = 1, order: str = "number", state: str = "") -> Response:
    """A page of the table."""
    order = order if order in ORDERS else "number"
    state = state if state in WORKER_STATES else ""
    file = visit.storage.results / "assessors.tsv"
    with visit.read() as work:
        states = counts(work, worker)
        total = states.get(state, 0) if state else sum(states.values())
        part = Part.of(total, page, PAGE)
        numbers = _ranked(file, ORDERS[order], part.start) if order != "number" else []
        if numbers:
            state = ""
        else:
            numbers = worker_record.numbers(work, part.start, PAGE, state)
        evidence = _evidence(file, numbers)
        last = last_job(work, "quality")
        data = visit.top(work, "/workers")
        lines = worker_record.lines(work, numbers)
    return visit.show(
        "organiser/workers.html.j2",
        lines=[(line, evidence.get(line.number, {})) for line in lines],
        states=states,
        chosen=state,
        order=order,
        orders=ORDERS,
        page=part.page,
        pages=part.pages,
        total=total,
        found=last,
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


def _evidence(file: Path, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What the last job says of these workers."""
    table = _table(file)
    if table is None:
        return {}
    import polars as pl

    rows = table.filter(pl.col("number").is_in(list(numbers))).collect().to_dicts()
    return {int(row["number"]): row for row in rows}


def _ranked(file: Path, column: str, start: int) -> list[int]:
    """A page of workers' numbers in the order of a column; those without a value last."""
    table = _table(file)
    if table is None or column not in table.collect_schema():
        return []
    down = column == "judgements"
    ordered = table.sort([column, "number"], descending=[down, False], nulls_last=True)
    return ordered.slice(start, PAGE).collect()["number"].to_list()


def _fact(evidence: Mapping[str, Any], name: str) -> tuple[str, Text | str, Any]:
    """A line of the evidence: what, what it means, the value (with its interval)."""
    ends = {end: evidence.get(f"{name}_{end}") for end in ("low", "high")}
    if any(end is None for end in ends.values()):
        return name, ABOUT[name], evidence[name]
    means = Text("office.worker.interval", meaning=english(ABOUT[name].partition(" (")[0]))
    return name, means, interval({"value": evidence[name], **ends})


@router.get("/campaigns/{name}/workers/{number}")
def one_worker(number: int, visit: ReaderVisit) -> Response:
    """All evidence on one worker."""
    with visit.read() as work:
        record = worker_record.standing(work, number)
        row = people.worker_by_number(work, number)
        job, scale = last_job(work, "quality"), work.plan.scale
        data = visit.top(work, "/workers")
    evidence = _evidence(visit.storage.results / "assessors.tsv", [number]).get(number, {})
    first = (*MAIN, "informedness", "reference")
    facts = [_fact(evidence, name) for name in ABOUT if evidence.get(name) is not None]
    answers = [*map(str, scale.grades), "cannot tell", "broken"]
    return visit.show(
        "organiser/worker.html.j2",
        found=record,
        line=record.line,
        row=row,
        job=job,
        facts=[fact for fact in facts if fact[0] in first],
        more=[fact for fact in facts if fact[0] not in first],
        evidence=evidence,
        labels=dict(zip(scale.grades, scale.labels, strict=False)),
        said=[answer for answer in answers if any(key[1] == answer for key in record.confusion)],
        **data,
    )


@router.post("/campaigns/{name}/workers/{number}/forget")
def forget(number: int, visit: KeeperVisit) -> Response:
    """Erase the person behind a worker, after two questions where a release would be broken."""
    page = visit.address(f"/workers/{number}")
    void = visit.text("void") == "yes"
    if not visit.sure:
        follows = ("forget-erased", "forget-voids" if void else "forget-keeps", "forget-backups")
        question = Confirmation(
            Text("office.worker.forget-question", worker=f"w{number}"),
            [Text(f"office.worker.{part}") for part in follows],
            Text("office.price.nothing"),
            Text("office.worker.forget-button"),
            page,
            final=True,
        )
        return visit.confirm(question)
    try:
        erase(visit.member, number, void=void, despite=visit.text("despite") == "yes")
    except RuleError as error:
        if error.code != "released":
            raise
        once_more = Confirmation(
            Text("office.worker.forget-released"),
            [f"{error}."],
            button=Text("office.worker.forget-despite"),
            back=page,
            final=True,
        )
        return visit.confirm(once_more, [("void", "yes"), ("despite", "yes")])
    return visit.go(page, message=Text("office.worker.forgotten"))
