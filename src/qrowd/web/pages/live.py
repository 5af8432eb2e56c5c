"""The live page: on track or not, what needs a decision, four tiles; coverage; money."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from fastapi import Response

from qrowd.collection.books import ledger, notices
from qrowd.collection.books.progress import by_topic_and_votes, counts
from qrowd.collection.database.schema import worker
from qrowd.collection.database.store import Work
from qrowd.collection.office.acts import consequence
from qrowd.collection.office.pace import pace_of
from qrowd.collection.office.todo import Need, needs
from qrowd.collection.record import audit
from qrowd.quality.suspicion import SUSPICIOUS
from qrowd.rendering import records, thousands
from qrowd.texts import Text
from qrowd.web.pages.frame import ManagerVisit, Part, ReaderVisit, own_address, page_router
from qrowd.web.pages.quality import LastJob, drawn, last_job
from qrowd.web.pages.templates import interval, number, percent

router = page_router()
TOPICS = 200  # lines of a page


@dataclass(frozen=True)
class Tile:
    """A tile of the live page: where it leads, its figure, what that is, and how old."""

    page: str
    title: str
    figure: str
    words: str
    age: int | None = None


@router.get("/campaigns/{name}")
def live(visit: ReaderVisit) -> Response:
    """How it goes."""
    with visit.read() as work:
        ahead = pace_of(work)
        findings = {kind: last_job(work, kind) for kind in ("quality", "systems")}
        todo = [
            (need, consequence(work, need.act, need.details).price(work) if need.act else "")
            for need in needs(work, ahead)
        ]
        data = {
            "ahead": ahead,
            "needs": todo + [(need, "") for need in _from_jobs(findings)],
            "tiles": _tiles(work, findings),
            "target": work.plan.sets.target,
            "acts": audit.acts(work, 5),
            **visit.top(work, ""),
        }
    return visit.show("organiser/live.html.j2", **data)


def _from_jobs(findings: dict[str, LastJob]) -> list[Need]:
    """What the last results tell."""
    todo = []
    quality = findings["quality"].result
    doubted = sum((quality or {}).get("kinds", {}).get(kind, 0) for kind in SUSPICIOUS)
    if doubted:
        text = Text("office.need.doubted", n=doubted)
        todo.append(Need(text, page="/workers?order=suspicion"))
    for kind, last in findings.items():
        if last.problem and "no judgements" not in last.problem:
            text = Text(f"office.need.failed.{kind}", problem=last.problem)
            todo.append(Need(text, page=f"/{kind}"))
    return todo


def _tiles(work: Work, findings: dict[str, LastJob]) -> list[Tile]:
    workers = counts(work, worker)
    states = ", ".join(f"{thousands(n)} {state}" for state, n in workers.items())
    return [
        _coverage_tile(work),
        _quality_tile(findings["quality"]),
        _systems_tile(findings["systems"]),
        Tile("/workers", "Workers", number(sum(workers.values())), states or "none yet"),
    ]


def _coverage_tile(work: Work) -> Tile:
    topics = by_topic_and_votes(work)
    done = sum(topic.held >= topic.wanted for topic in topics)
    documents = sum(sum(topic.by_votes.values()) for topic in topics) or 1
    held = sum(topic.held for topic in topics)
    wanted = sum(topic.wanted for topic in topics)
    figure = f"{held / documents:.1f} of {round(wanted / documents, 1):g}"
    part = f"{thousands(done)} of {thousands(len(topics))}"
    words = f"judgements of a document; {part} topics have all of theirs"
    return Tile("/coverage", "Coverage", figure, words)


def _quality_tile(last: LastJob) -> Tile:
    if last.result is None:
        return Tile("/quality", "Quality", "–", "not worked out yet")
    rows = {row["coefficient"]: row for row in records(last.result["agreement"])}
    alpha = rows.get("alpha-ordinal") or rows.get("alpha-nominal")
    if alpha is None:
        return Tile("/quality", "Quality", "–", "agreement cannot be told", last.age)
    ends = str(interval(alpha)).partition(" ")[2]
    words = f"Krippendorff's alpha {ends}: agreement, 1 is perfect"
    return Tile("/quality", "Quality", number(alpha["value"], 2), words, last.age)


def _systems_tile(last: LastJob) -> Tile:
    if last.result is None:
        return Tile("/systems", "Systems", "–", "no scores yet: add runs")
    first = last.result["measures"][0]
    best = next(row for row in last.result["systems"] if row["measure"] == first)
    words = f"leads by {first}; the best one with {percent(best['best'])}"
    return Tile("/systems", "Systems", str(best["run"]), words, last.age)


@router.get("/campaigns/{name}/coverage")
def coverage(visit: ReaderVisit, page: int = 1) -> Response:
    """Coverage by topic and votes; the pace."""
    with visit.read() as work:
        topics, ahead = by_topic_and_votes(work), pace_of(work)
        quality, data = last_job(work, "quality"), visit.top(work, "/coverage")
        target = work.plan.sets.target
    total = sum((Counter(topic.by_votes) for topic in topics), Counter[int]())
    part = Part.of(len(topics), page, TOPICS)
    return visit.show(
        "organiser/coverage.html.j2",
        topics=topics[part.start : part.end],
        total=dict(sorted(total.items())),
        number_of_topics=len(topics),
        page=part.page,
        pages=part.pages,
        ahead=ahead,
        target=target,
        pictures=drawn(visit.storage, quality, "votes", "workload"),
        **data,
    )


@router.get("/campaigns/{name}/money")
def money(visit: ReaderVisit) -> Response:
    """Spend and forecast; who is owed what."""
    with visit.read() as work:
        owed = ledger.owed(work) if "pay" in visit.member.scopes else []
        data = {
            "ahead": pace_of(work),
            "balance": ledger.balance(work),
            "owed": list(owed[:TOPICS]),
            "owed_workers": len(owed),
            **visit.top(work, "/money"),
        }
    return visit.show("organiser/money.html.j2", **data)


@router.post("/campaigns/{name}/notices/{number}/done")
def dealt_with(number: int, visit: ManagerVisit) -> Response:
    """Take a notice off the list."""
    with visit.write() as work:
        notices.dealt_with(work, number)
    return visit.go(own_address(visit.text("back")), message="Taken off the list.")
