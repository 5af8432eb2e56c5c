"""Workers: a table of them with what is known of each, and all evidence on one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import Response

from qrowd.collection import people, standing
from qrowd.collection.schema import worker
from qrowd.collection.states import WORKER_STATES
from qrowd.collection.status import counts
from qrowd.web.pages.organiser.findings import drawn, finding
from qrowd.web.pages.organiser.frame import Visiting, page_router
from qrowd.web.pages.organiser.live import place_of, shown

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
EVIDENCE = ("judgements", "type", "accuracy", "agreement", "seconds", "relative_trust",
            "random_spam_ratio")  # fmt: skip


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
        known = evidence(file)
        if order != "number" and known:
            numbers = _ordered(known, ORDERS[order][0])[(at - 1) * PAGE : at * PAGE]
            state = ""
        else:
            numbers = standing.numbers(work, (at - 1) * PAGE, PAGE, state)
        found = finding(work, "quality")
        data = shown(member, name, "/workers", work)
        lines = standing.lines(work, numbers)
    return visit.show(
        "organiser/workers.html.j2", lines=[(one, known.get(one.number, {})) for one in lines],
        states=states, chosen=state, order=order, orders=ORDERS, page=at, pages=pages, total=total,
        found=found, pictures=drawn(place_of(visit, member), found, "assessors"), **data,
    )  # fmt: skip


def evidence(file: Path) -> dict[int, dict[str, Any]]:
    """The assessors' table of the last job, by workers' numbers; empty where there is none."""
    if not file.is_file():
        return {}
    import polars as pl

    frame = pl.read_csv(file, separator="\t", schema_overrides={"assessor": pl.String},
                        quote_char=None, infer_schema_length=None)  # fmt: skip
    mine = frame.filter(pl.col("assessor").str.contains(r"^w\d+$"))
    rows = mine.to_dicts()
    return {int(row["assessor"][1:]): row for row in rows}


def _ordered(known: dict[int, dict[str, Any]], column: str) -> list[int]:
    """Workers by a column of the table, those without a value last."""

    def key(number: int) -> tuple[bool, float, int]:
        value = known[number].get(column)
        sign = -1.0 if column == "judgements" else 1.0
        return (value is None, sign * float(value or 0), number)

    return sorted(known, key=key)


@router.get("/campaigns/{name}/workers/{number}")
def one_worker(name: str, number: int, visit: Visiting) -> Response:
    """All evidence on one worker."""
    from qrowd.quality.assessing import ABOUT

    member = visit.organiser(name)
    file = place_of(visit, member).results / "assessors.tsv"
    with member.store.read(member.campaign) as work:
        found = standing.standing(work, number)
        row = people.worker_by_number(work, number)
        job = finding(work, "quality")
        data = shown(member, name, "/workers", work)
        labels = dict(zip(work.plan.scale.grades, work.plan.scale.labels, strict=False))
        grades = work.plan.scale.grades
    known = evidence(file).get(number, {})
    facts = [
        (column, ABOUT[column], known[column]) for column in ABOUT if known.get(column) is not None
    ]
    said = [str(grade) for grade in grades] + ["cannot tell", "broken"]
    columns = [one for one in said if any(key[1] == one for key in found.confusion)]
    return visit.show(
        "organiser/worker.html.j2", found=found, line=found.line, row=row, job=job, facts=facts,
        known=known, labels=labels, grades=grades, said=columns,
        people="people" in member.who.scopes, **data,
    )  # fmt: skip
