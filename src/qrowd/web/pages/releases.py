"""Releases: what would be published, asked twice; those that were made."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any

from fastapi import Response
from fastapi.responses import FileResponse

from qrowd.collection.books.progress import status
from qrowd.collection.publishing import release
from qrowd.errors import QrowdError
from qrowd.texts import Text
from qrowd.web import jobs
from qrowd.web.api.results import download_release, make_release, releases
from qrowd.web.judgements import figures_of
from qrowd.web.pages.frame import CampaignVisit, Confirmation, ExporterVisit, page_router

router = page_router()
PAGE = "/releases"
METHODS = ("auto", "mv", "ds")
LONGEST_METHOD = 300


@router.get("/campaigns/{name}/releases")
def listed(visit: ExporterVisit) -> Response:
    """What a release holds, and the releases so far."""
    with visit.read() as work:
        last = jobs.newest(work, "release")
        data = {
            "found": status(work),
            "says": work.plan.release,
            "consent": bool(work.plan.people.consent),
            "job": None if last is None or last.state == "done" else last,
            **visit.top(work, PAGE),
        }
    return visit.show(
        "organiser/releases.html.j2",
        runs=sum(1 for _ in visit.storage.runs.iterdir()),
        made=releases(visit.member, visit.settings)[::-1],
        methods=[(method, Text(f"office.releases.method.{method}")) for method in METHODS],
        method=visit.text("method", "auto"),
        **data,
    )


@router.post("/campaigns/{name}/releases")
def make(visit: ExporterVisit) -> Response:
    """Make one, once it is asked twice."""
    method = visit.text("method", "auto")[:LONGEST_METHOD]
    try:
        figures_of(method)  # what is wrong with it is told before the question
        if not visit.sure:
            return visit.confirm(_confirmation(visit))
        make_release(visit.member, method)
    except QrowdError as error:
        return listed(visit.with_problem(error, 409))
    return visit.go(visit.address(PAGE), Text("office.releases.begun"))


def _confirmation(visit: CampaignVisit) -> Confirmation:
    with visit.read() as work:
        progress, plan, earlier = status(work), work.plan, len(release.releases(work))
        state = work.state
    follows = [
        Text("office.releases.ask-judgements", held=progress.valid, wanted=progress.wanted),
        Text("office.releases.ask-texts" if plan.release.text else "office.releases.ask-ids"),
        Text("office.releases.ask-people"),
        *([Text("office.releases.ask-checks")] if state != "closed" and plan.gold_per_hit else []),
        Text("office.releases.ask-final"),
    ]
    if earlier:
        follows.append(Text("office.releases.ask-earlier", n=earlier))
    return Confirmation(
        Text("office.releases.ask"),
        follows,
        button=Text("office.releases.ask-yes"),
        back=visit.address(PAGE),
        final=True,
    )


@router.get("/campaigns/{name}/releases/{number}/zip")
def download(number: int, visit: ExporterVisit) -> FileResponse:
    """The zip."""
    return download_release(number, visit.member, visit.settings)


@router.get("/campaigns/{name}/releases/{number}/datasheet")
def datasheet(number: int, visit: ExporterVisit) -> Response:
    """The datasheet of a release, to be read or printed."""
    archive = download_release(number, visit.member, visit.settings).path
    with zipfile.ZipFile(archive) as files:
        inside = next(name for name in files.namelist() if name.endswith("datasheet.md"))
        text = files.read(inside).decode()
    with visit.read() as work:
        data = visit.top(work, PAGE)
    return visit.show("organiser/datasheet.html.j2", blocks=list(_blocks(text)), **data)


def _blocks(markdown: str) -> Iterator[tuple[str, Any]]:
    """The parts of a datasheet: of Markdown it has headings, paragraphs, quotes, lists, tables."""
    kinds = {"# ": "title", "## ": "heading", "> ": "quote", "- ": "list", "| ": "table"}
    for block in filter(None, markdown.strip().split("\n\n")):
        start = next((mark for mark in kinds if block.startswith(mark)), "")
        lines = [line.removeprefix(start) for line in block.splitlines()]
        kind = kinds.get(start, "words")
        if kind == "table":
            rows = [line.strip(" |").split(" | ") for line in lines]
            yield kind, (rows[0], rows[2:])
        else:
            yield kind, lines if kind == "list" else "\n".join(lines)
