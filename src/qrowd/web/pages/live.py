"""The live page: on track or not, what needs a decision, four tiles; coverage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Response

from qrowd.collection.books import notices
from qrowd.collection.books.progress import by_topic_and_votes, counts, documents_by_votes
from qrowd.collection.database.schema import worker
from qrowd.collection.database.store import Work
from qrowd.collection.judging import hierarchy
from qrowd.collection.office.causes import Cause
from qrowd.collection.office.pace import pace_of
from qrowd.collection.office.todo import Need, overview
from qrowd.collection.record import audit
from qrowd.collection.record.act import Consequence, act_named
from qrowd.quality.suspicion import SUSPICIOUS
from qrowd.rendering import records
from qrowd.texts import Text, listed
from qrowd.web.pages.acts import folded, name_of
from qrowd.web.pages.frame import ManagerVisit, Part, ReaderVisit, own_address, page_router
from qrowd.web.pages.quality import LastJob, drawn, last_job
from qrowd.web.pages.templates import UNKNOWN, english, number, percent

router = page_router()
TOPICS = 200  # lines of a page


@dataclass(frozen=True)
class Tile:
    """A tile of the live page: the page where it leads, a figure, what that is, and how old."""

    page: str
    figure: Text | str
    words: Text
    age: int | None = None


@router.get("/campaigns/{name}")
def live(visit: ReaderVisit) -> Response:
    """How it goes."""
    with visit.read() as work:
        seen = overview(work)
        findings = {kind: last_job(work, kind) for kind in ("quality", "systems")}
        todo = [(need, _answer(work, need)) for need in seen.needs]
        data = {
            "ahead": seen.pace,
            "causes": [(cause, _answer(work, cause)) for cause in seen.causes],
            "needs": todo + [(need, None) for need in _from_jobs(findings)],
            "tiles": _tiles(work, findings),
            "acts": [(row, name_of(row.act)) for row, _ in folded(audit.acts(work, 50))[:5]],
            **visit.top(work, ""),
        }
    return visit.show("organiser/live.html.j2", **data)


def _answer(work: Work, need: Need | Cause) -> Consequence | None:
    return act_named(need.act).of(dict(need.details)).foretell(work) if need.act else None


def _from_jobs(findings: dict[str, LastJob]) -> list[Need]:
    """What the last results tell."""
    todo = []
    quality = findings["quality"].result
    doubted = sum((quality or {}).get("kinds", {}).get(kind, 0) for kind in SUSPICIOUS)
    if doubted:
        text = Text("office.live.careless", n=doubted)
        todo.append(Need(text, page="/workers?order=suspicion"))
    for kind, last in findings.items():
        if last.problem and "no judgements" not in last.problem:
            text = Text(f"office.live.failed.{kind}", problem=english(last.problem))
            todo.append(Need(text, page=f"/{kind}"))
    return todo


def _tiles(work: Work, findings: dict[str, LastJob]) -> list[Tile]:
    workers = counts(work, worker)
    states = [
        Text("office.worker.count", n=n, state=Text(f"office.worker.state.{state}"))
        for state, n in workers.items()
    ]
    figure = number(sum(workers.values()))
    words = listed(states) if states else Text("office.tile.workers.none")
    return [
        _coverage_tile(work),
        _quality_tile(findings["quality"]),
        _systems_tile(findings["systems"]),
        Tile("workers", figure, words),
    ]


def _coverage_tile(work: Work) -> Tile:
    topics = by_topic_and_votes(work)
    documents = sum(sum(topic.by_votes.values()) for topic in topics) or 1
    held = f"{sum(topic.valid for topic in topics) / documents:.1f}"
    wanted = f"{round(sum(topic.wanted for topic in topics) / documents, 1):g}"
    done = sum(topic.valid >= topic.wanted for topic in topics)
    figure = Text("office.tile.coverage.figure", held=held, wanted=wanted)
    words = Text("office.tile.coverage.words", done=done, topics=len(topics))
    return Tile("coverage", figure, words)


def _quality_tile(last: LastJob) -> Tile:
    if last.result is None:
        return Tile("quality", UNKNOWN, Text("office.tile.quality.none"))
    rows = {row["coefficient"]: row for row in records(last.result["agreement"])}
    alpha = rows.get("alpha-ordinal") or rows.get("alpha-nominal")
    if alpha is None or alpha["value"] is None:
        return Tile("quality", UNKNOWN, Text("office.tile.quality.unknown"), last.age)
    low, high = number(alpha["low"], 2), number(alpha["high"], 2)
    words = Text("office.tile.quality.words", low=low, high=high)
    return Tile("quality", number(alpha["value"], 2), words, last.age)


def _systems_tile(last: LastJob) -> Tile:
    if last.result is None:
        return Tile("systems", UNKNOWN, Text("office.tile.systems.none"))
    if "corrected" in last.result:
        return _corrected_tile(last.result["corrected"], last.age)
    first = last.result["measures"][0]
    best = next(row for row in last.result["systems"] if row["measure"] == first)
    words = Text("office.tile.systems.words", measure=first, share=percent(best["best"]))
    return Tile("systems", str(best["run"]), words, last.age)


def _corrected_tile(corrected: Mapping[str, Any], age: int) -> Tile:
    if "rows" not in corrected:
        words = Text("office.tile.systems.sample", **corrected)
        return Tile("systems", UNKNOWN, words, age)
    first = corrected["measures"][0]
    best = next(row for row in corrected["rows"] if row["measure"] == first)
    shown = {name: number(best[name], 2) for name in ("value", "low", "high")}
    known = "corrected" if best["low"] is not None else "corrected-alone"
    words = Text(f"office.tile.systems.{known}", measure=first, **shown)
    return Tile("systems", str(best["run"]), words, age)


@router.get("/campaigns/{name}/coverage")
def coverage(visit: ReaderVisit, page: int = 1) -> Response:
    """Coverage by topic and votes; the pace."""
    with visit.read() as work:
        topics, ahead = by_topic_and_votes(work), pace_of(work)
        quality, data = last_job(work, "quality"), visit.top(work, "/coverage")
    part = Part.of(len(topics), page, TOPICS)
    return visit.show(
        "organiser/coverage.html.j2",
        topics=topics[part.start : part.end],
        total=documents_by_votes(topics),
        number_of_topics=len(topics),
        page=part.page,
        pages=part.pages,
        ahead=ahead,
        pictures=drawn(visit.storage, quality, "votes", "workload"),
        **data,
    )


@router.get("/campaigns/{name}/hierarchy")
def phases(visit: ReaderVisit) -> Response:
    """Mode hierarchy: the phase of each topic, what the texts tell, what experts have to do."""
    with visit.read() as work:
        found, last = hierarchy.hierarchy(work), last_job(work, "next")
        data = visit.top(work, "/hierarchy")
    return visit.show("organiser/hierarchy.html.j2", found=found, last=last, now=work.now, **data)


@router.post("/campaigns/{name}/notices/{number}/done")
def dealt_with(number: int, visit: ManagerVisit) -> Response:
    """Take a notice off the list."""
    with visit.write() as work:
        notices.dealt_with(work, number)
    return visit.go(own_address(visit.text("back")), message=Text("office.live.off-the-list"))
