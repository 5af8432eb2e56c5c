"""Releases: what a campaign publishes. Asked for twice, made by a job, kept as a zip."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from qrowd.collection.publishing import release
from qrowd.errors import RuleError
from qrowd.web import jobs
from qrowd.web.access import Exporter, Member, TheSettings
from qrowd.web.api.results import JobState, state_line
from qrowd.web.api.work import HARMLESS
from qrowd.web.folders import Place
from qrowd.web.problems import RESPONSES
from qrowd.web.settings import Settings
from qrowd.web.tasks import figures_of

router = APIRouter(prefix="/api/campaigns/{name}/releases", tags=["results"], responses=RESPONSES)


class ReleaseWanted(BaseModel):
    """The method that makes the qrels; `sure` confirms what cannot be taken back."""

    method: str = Field("mv", max_length=300)
    measures: list[str] = Field(default=[], max_length=20)
    sure: bool = False


class ReleaseMade(BaseModel):
    """A release; `here` if its zip can be had from this server."""

    number: int
    at: int
    who: str
    method: str
    judgements: int
    sha256: str
    here: bool


@router.post("", status_code=202)
def ask(wanted: ReleaseWanted, member: Exporter) -> JobState:
    """Make a release: topics, pool, qrels, anonymous judgements, orders, runs, datasheet."""
    if not wanted.sure:
        raise RuleError("ask-twice", "a release cannot be taken back; confirm it")
    refuse_unusable(wanted)
    asked = {"method": wanted.method, "measures": wanted.measures, "who": member.who.name}
    with member.store.write(member.campaign) as work:
        return state_line(jobs.state_of(work, jobs.ask(work, "release", asked)))


def refuse_unusable(wanted: ReleaseWanted) -> None:
    """Say what is wrong with the method or a measure."""
    figures_of(wanted.method, wanted.measures)


@router.get("")
def listed(member: Exporter, settings: TheSettings) -> list[ReleaseMade]:
    """The releases so far."""
    return made_so_far(member, settings)


def made_so_far(member: Member, settings: Settings) -> list[ReleaseMade]:
    """The releases so far, the oldest first, numbered from 1."""
    place = Place(member.store, settings.folder, member.campaign)
    with member.store.read(member.campaign) as work:
        rows = [(row, json.loads(row.details)) for row in release.releases(work)]
    return [
        ReleaseMade(
            number=at,
            at=row.at,
            who=row.who,
            method=details["method"],
            sha256=details["sha256"],
            judgements=details["judgements"],
            here=(place.releases / details["file"]).is_file(),
        )
        for at, (row, details) in enumerate(rows, 1)
    ]


@router.get("/{number}/zip", response_class=FileResponse)
def download(
    number: Annotated[int, Path(ge=1, lt=2**31)], member: Exporter, settings: TheSettings
) -> FileResponse:
    """A release as one zip."""
    with member.store.read(member.campaign) as work:
        rows, name = release.releases(work), work.name
    if number > len(rows):
        raise RuleError("not-found", f"there is no release {number}")
    file = json.loads(rows[number - 1].details)["file"]
    path = Place(member.store, settings.folder, member.campaign).releases / file
    if not path.is_file():
        raise RuleError("not-found", f"release {number} was not made by this server")
    return FileResponse(path, filename=f"{name}-release-{number}.zip", headers=HARMLESS)
