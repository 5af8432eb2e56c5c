"""What jobs found: agreement, merged qrels, gold sets, disputed pairs, systems; their pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Response
from markupsafe import Markup
from sqlalchemy import select

from qrowd import registry
from qrowd.collection.adjudication import expert_sample
from qrowd.collection.database.schema import topic
from qrowd.collection.database.store import Work
from qrowd.collection.judging import gold
from qrowd.collection.office import documents
from qrowd.collection.office.acts.sets import contested_sets
from qrowd.collection.office.todo import weak_gold
from qrowd.collection.plan.pass_rates import gold_words
from qrowd.errors import RuleError
from qrowd.evaluation.measure import measures_of
from qrowd.quality.suspicion import TYPES
from qrowd.texts import Text, listed
from qrowd.web import jobs
from qrowd.web.api.results import keep_run, keep_sample
from qrowd.web.files import CampaignFiles, only_file
from qrowd.web.findings import DISPUTED
from qrowd.web.judgements import merger_of
from qrowd.web.pages.frame import ManagerVisit, Part, ReaderVisit, own_address, page_router

router = page_router()
ASKED = ("quality", "merge", "systems", "next")
PAGE = 100  # lines
_STYLE = re.compile(r' style="([^"]*)"')
_FONT = re.compile(r"(?:(?P<weight>bold|\d+) )?(?P<size>[\d.]+px)")


@dataclass(frozen=True)
class LastJob:
    """The last result of a kind, `age` in milliseconds; and the job under way, or why it failed."""

    kind: str
    result: Mapping[str, Any] | None
    parameters: Mapping[str, Any]
    age: int
    running: int | None
    problem: str | None

    @property
    def method(self) -> str:
        """The method that was asked for last."""
        return str(self.parameters.get("method", "auto"))

    @property
    def choice(self) -> str:
        """What it took, if it is one that chooses; results of earlier versions do not say."""
        return str((self.result or {}).get("choice", ""))


# Where the reason for a verdict is looked into, by its name and by its level.
_LOOK = {
    "right": "/gold",
    "agreement": "/disputed",
    "judges": "/workers?order=suspicion",
    "errors": "/disputed",
    "sample": "/decisions",
}
_AGREEMENT = ("coefficient", "value", "low", "high")
_LOOK_WHERE_UNKNOWN = {"right": "/experts", "agreement": "/coverage", "judges": "/coverage"}


@dataclass(frozen=True)
class Verdict:
    """Whether judgements can be trusted: a level, its words, the reasons, and where to look."""

    level: str
    answer: Text
    reasons: list[Text]
    look: Text
    page: str

    @classmethod
    def of(cls, result: Mapping[str, Any] | None) -> Verdict | None:
        """The verdict of a result; None where there is none, or it is of an earlier version."""
        if result is None or "findings" not in result:
            return None
        findings = result["findings"]
        first, level = findings[0], result["level"]
        name = first["name"]
        look = Text(f"office.verdict.look.{name}")
        page = _LOOK[name]
        if first["level"] == "good":
            look, page = Text("office.verdict.look.systems"), "/systems"
        elif first["level"] == "unknown" and name in _LOOK_WHERE_UNKNOWN:
            page = _LOOK_WHERE_UNKNOWN[name]
            look = Text(f"office.verdict.look{page.replace('/', '.')}")
        reasons = [Text(each["id"], **each["values"]) for each in findings]
        return cls(level, Text(f"office.verdict.{level}"), reasons, look, page)


def last_job(work: Work, kind: str) -> LastJob:
    """What there is of a kind."""
    last, newest = jobs.latest(work, kind), jobs.newest(work, kind)
    state = newest.state if newest is not None else ""
    return LastJob(
        kind=kind,
        result=last.result if last else None,
        parameters=last.parameters if last else {},
        age=last.age if last else 0,
        running=newest.id if newest is not None and state in ("waiting", "running") else None,
        problem=str(newest.problem) if newest is not None and state == "failed" else None,
    )


# --- pictures of reports --------------------------------------------------------------------------


def drawn(files: CampaignFiles, last: LastJob, *names: str) -> list[dict[str, Any]]:
    """The pictures of a result: svg, alt, caption; not those whose file is not there, where the
    database came alone to another folder.
    """
    told = (last.result or {}).get("pictures", ())
    pictures = {each["file"]: each for each in told if (files.results / each["file"]).is_file()}
    return [
        {**pictures[file], "svg": _named(files, pictures[file])}
        for file in (f"{name}.svg" for name in names)
        if file in pictures
    ]


def _named(files: CampaignFiles, picture: Mapping[str, str]) -> Markup:
    """The picture with its words, for those who do not see it."""
    svg = embedded(files.result(picture["file"]).read_text(encoding="utf-8"))
    head, _, body = str(svg).partition(">")
    named = Markup('{} role="img" aria-label="{}">{}')
    return named.format(Markup(head), picture["alt"], Markup(body))


def embedded(svg: str) -> Markup:
    """A picture made by `reporting`, whose words are English, to be put into a page.

    The pages' policy forbids `style` attributes: it gets others instead.
    """
    unstyled = _STYLE.sub(lambda style: _attributes(style[1]), svg)
    return Markup(unstyled.replace("<svg", '<svg lang="en"', 1))


def _attributes(style: str) -> str:
    pairs = (part.split(":", 1) for part in style.split(";") if ":" in part)
    return "".join(_attribute(name.strip(), value.strip()) for name, value in pairs)


def _attribute(name: str, value: str) -> str:
    if name != "font":
        return f' {name}="{value}"'
    font = _FONT.search(value)  # the one that has no attribute of its own
    if font is None:
        return ""
    weight = f' font-weight="{font["weight"]}"' if font["weight"] else ""
    return f' font-size="{font["size"]}"{weight}'


# --- asking for results ---------------------------------------------------------------------------


@router.post("/campaigns/{name}/find")
def find(visit: ManagerVisit) -> Response:
    """Ask for a result; an error now where the job would fail at once."""
    kind = visit.text("kind")
    if kind not in ASKED:
        raise RuleError("bad-value", f"there is no result {kind!r}")
    method, options = visit.text("method", "auto"), visit.text("more")
    if options and "(" not in method:
        method = f"{method}({options})"
    parameters: dict[str, Any] = {"method": method}
    if kind == "systems":
        parameters["measures"] = visit.text("measures").split()
    merger_of(method)
    measures_of(parameters.get("measures") or ["AP"])
    with visit.write() as work:
        jobs.ask(work, kind, parameters)
    back = own_address(visit.text("back"))
    return visit.go(back, Text("office.quality.asked"))


def _methods() -> list[tuple[str, str]]:
    """The methods that can merge a campaign's judgements as they are: name, words; `auto` first."""
    cards = registry.cards("method").values()
    able = [card for card in cards if card.level == "judgements" and not card.needs]
    named = ((card.id, f"{card.id}: {card.summary}") for card in able)
    return sorted(named, key=lambda method: (method[0] != "auto", method))


# --- pages ----------------------------------------------------------------------------------------


@router.get("/campaigns/{name}/quality")
def quality(visit: ReaderVisit) -> Response:
    """How far the judgements can be trusted."""
    with visit.read() as work:
        last, merged = last_job(work, "quality"), last_job(work, "merge")
        data = {
            "found": last,
            "merged": merged,
            "sample": expert_sample.error_rate(work),
            "weak": len({row.id for row in weak_gold(gold.pass_rates(work))}),
            "gold_sets": gold.supply(work),
            **visit.top(work, "/quality"),
        }
    verdict = Verdict.of(last.result)
    table = (last.result or {}).get("agreement")
    kinds = (last.result or {}).get("kinds", {})
    grades = (merged.result or {}).get("grades", {})
    return visit.show(
        "organiser/quality.html.j2",
        verdict=verdict,
        picture=drawn(visit.storage, last, "assessors"),
        pictures=drawn(visit.storage, last, "speed"),
        kinds=[(kind, kinds[kind]) for kind in TYPES if kinds.get(kind)],
        # by name: what was stored before may lack columns, or have others
        agreement=list(zip(*(table[name] for name in _AGREEMENT), strict=True)) if table else [],
        grades=listed([Text("office.quality.grade", n=n, grade=g) for g, n in grades.items()]),
        most_disputed=DISPUTED,
        methods=_methods(),
        **data,
    )


@router.get("/campaigns/{name}/disputed")
def disputed(visit: ReaderVisit, page: int = 1) -> Response:
    """The documents that judges disagree on most."""
    with visit.read() as work:
        last = last_job(work, "quality")
        data = visit.top(work, "/quality")
        rows = (last.result or {}).get("disputed", [])
        part = Part.of(len(rows), page, PAGE)
        shown = rows[part.start : part.end]
        data["titles"] = documents.titles(work, (row[1] for row in shown))
    return visit.show(
        "organiser/disputed.html.j2",
        rows=shown,
        found=last,
        page=part.page,
        pages=part.pages,
        **data,
    )


@router.get("/campaigns/{name}/gold")
def gold_sets(visit: ReaderVisit) -> Response:
    """How many pass each gold set; retire one."""
    with visit.read() as work:
        rows = gold.pass_rates(work)
        topics = select(topic.c.id, topic.c.name).where(work.own(topic))
        data = {
            "rows": rows,
            "topics": dict(work.db.execute(topics).all()),
            "supply": gold.supply(work),
            "questions": documents.check_questions(work),
            "labels": work.plan.scale.names,
            "weak": {row.id for row in weak_gold(rows)},
            "gold_words": gold_words(work.plan),
            "contested": contested_sets(work),
            **visit.top(work, "/quality"),
        }
    return visit.show("organiser/gold.html.j2", **data)


@router.get("/campaigns/{name}/systems")
def systems(visit: ReaderVisit) -> Response:
    """Scores and places of systems."""
    with visit.read() as work:
        last, data = last_job(work, "systems"), visit.top(work, "/systems")
    result = last.result or {}
    corrected = result.get("corrected")
    measures: dict[str, list[dict[str, Any]]] = {}
    for row in corrected.get("rows", ()) if corrected else result.get("systems", ()):
        measures.setdefault(row["measure"], []).append(row)
    files = visit.storage
    return visit.show(
        "organiser/systems.html.j2",
        found=last,
        runs=sorted(path.name for path in files.runs.iterdir() if path.is_file()),
        sample=[path.name for path in map(only_file, (files.sample, files.machine)) if path],
        corrected=corrected,
        measures=measures,
        methods=_methods(),
        pictures=drawn(visit.storage, last, "ranking"),
        **data,
    )


@router.post("/campaigns/{name}/sample")
def add_sample(visit: ManagerVisit) -> Response:
    """Take in what was drawn for people to judge, and what machines say of all of it."""
    sent = {kind: files[0] for kind in ("sample", "machine") if (files := visit.files(kind))}
    keep_sample(visit.storage, sent)
    said = Text("office.systems.sample-taken", n=len(sent))
    return visit.go(visit.address("/systems"), said if sent else Text("office.systems.no-file"))


@router.post("/campaigns/{name}/runs")
def add_runs(visit: ManagerVisit) -> Response:
    """Take in runs."""
    sent = visit.files("runs")
    for name, file in sent:
        keep_run(visit.storage, name, file)
    said = Text("office.systems.taken-in", n=len(sent)) if sent else Text("office.systems.no-file")
    return visit.go(visit.address("/systems"), said)
