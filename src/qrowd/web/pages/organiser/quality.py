"""Quality: agreement, what merging gains, merged qrels by any method, gold sets, disputed pairs."""

from __future__ import annotations

from typing import Any

from fastapi import Response, UploadFile

from qrowd.collection.adjudication import expert_sample
from qrowd.collection.database.schema import topic
from qrowd.collection.database.store import Work
from qrowd.collection.judging import gold
from qrowd.collection.office.todo import weak_gold
from qrowd.web.api import results
from qrowd.web.pages.organiser.findings import drawn, finding, methods
from qrowd.web.pages.organiser.frame import Visiting, campaign_address, page_router
from qrowd.web.pages.organiser.live import place_of, shown

router = page_router()
PAGE = 100


@router.get("/campaigns/{name}/quality")
def quality(name: str, visit: Visiting) -> Response:
    """How far the judgements can be trusted."""
    member = visit.organiser(name)
    with member.store.read(member.campaign) as work:
        found, merged = finding(work, "quality"), finding(work, "merge")
        sample = expert_sample.error_rate(work)
        weak = len({row.id for row in weak_gold(gold.pass_rates(work))})
        data = {
            "found": found,
            "merged": merged,
            "sample": sample,
            "weak": weak,
            "gold_sets": gold.supply(work),
            **shown(member, name, "/quality", work),
        }
    pictures = drawn(place_of(visit, member), found, "assessors", "speed")
    table = (found.result or {}).get("agreement")
    rows = list(zip(*table.values(), strict=True)) if table else []
    return visit.show(
        "organiser/quality.html.j2", pictures=pictures, agreement=rows, methods=methods(), **data
    )


@router.get("/campaigns/{name}/disputed")
def disputed(name: str, visit: Visiting, page: int = 1) -> Response:
    """The documents that judges disagree on most."""
    member = visit.organiser(name)
    with member.store.read(member.campaign) as work:
        found = finding(work, "quality")
        data = shown(member, name, "/quality", work)
    rows = (found.result or {}).get("disputed", [])
    pages = max(1, -(-len(rows) // PAGE))
    at = max(1, min(page, pages))
    part = rows[(at - 1) * PAGE : at * PAGE]
    return visit.show(
        "organiser/disputed.html.j2",
        rows=part,
        total=len(rows),
        found=found,
        page=at,
        pages=pages,
        **data,
    )


@router.get("/campaigns/{name}/gold")
def gold_sets(name: str, visit: Visiting) -> Response:
    """How many pass each gold set; retire one."""
    member = visit.organiser(name)
    with member.store.read(member.campaign) as work:
        rows, names = gold.pass_rates(work), _topics(work)
        data = {
            "rows": rows,
            "topics": names,
            "supply": gold.supply(work),
            "weak": {row.id for row in weak_gold(rows)},
            **shown(member, name, "/quality", work),
        }
    return visit.show("organiser/gold.html.j2", **data)


def _topics(work: Work) -> dict[int, str]:
    from sqlalchemy import select

    rows = work.db.execute(
        select(topic.c.id, topic.c.name).where(topic.c.campaign_id == work.campaign)
    )
    return {row.id: row.name for row in rows}


@router.get("/campaigns/{name}/systems")
def systems(name: str, visit: Visiting) -> Response:
    """Scores and places of systems."""
    member = visit.organiser(name)
    place = place_of(visit, member)
    with member.store.read(member.campaign) as work:
        found, data = finding(work, "systems"), shown(member, name, "/systems", work)
    runs = sorted(path.name for path in place.runs.iterdir() if path.is_file())
    measures: dict[str, list[dict[str, Any]]] = {}
    for row in (found.result or {}).get("systems", ()):
        measures.setdefault(row["measure"], []).append(row)
    return visit.show(
        "organiser/systems.html.j2",
        found=found,
        runs=runs,
        measures=measures,
        methods=methods(),
        pictures=drawn(place, found, "ranking"),
        **data,
    )


@router.post("/campaigns/{name}/runs")
def add_runs(name: str, visit: Visiting) -> Response:
    """Take in runs."""
    member = visit.organiser(name, "manage")
    sent = [UploadFile(file.file, filename=file.filename) for file in visit.files("runs")]
    taken = [results.add_run(file, member, visit.settings) for file in sent]
    told = f"{len(taken)} runs were taken in." if taken else "No file was chosen."
    return visit.go(campaign_address(name, "/systems"), told=told)
