"""What background jobs find, the last result with its age; runs; releases, asked for twice."""

from __future__ import annotations

import io
import json
import pathlib
from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Path, UploadFile
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

import qrowd as q
from qrowd.collection.database.schema import Job
from qrowd.collection.publishing import release
from qrowd.errors import RuleError
from qrowd.web import jobs
from qrowd.web.access import Exporter, Manager, Member, Reader, TheSettings
from qrowd.web.api.work import HARMLESS
from qrowd.web.files import CampaignFiles, keep_upload, only_file
from qrowd.web.judgements import figures_of, sampled
from qrowd.web.problems import RESPONSES

router = APIRouter(prefix="/api/campaigns/{name}", tags=["results"], responses=RESPONSES)

Kind = Annotated[str, Path(pattern="^[a-z-]{1,20}$")]
LARGEST_RUN = 32 * 2**20


class JobWanted(BaseModel):
    """What a job should know: `method` (a spec string), `measures`, `parquet`."""

    method: str = Field("mv", max_length=300)
    measures: list[str] = Field(default=[], max_length=20)
    parquet: bool = False


class JobState(BaseModel):
    """How far a job is; times are milliseconds since 1970."""

    number: int = Field(validation_alias="id")
    kind: str
    state: str
    made_at: int
    finished_at: int | None
    problem: str | None


class Stored(BaseModel):
    """A file that was taken in."""

    name: str
    runs: int
    topics: int


class ReleaseWanted(BaseModel):
    """The method that makes the qrels; `sure` confirms what cannot be taken back."""

    method: str = Field("auto", max_length=300)
    measures: list[str] = Field(default=[], max_length=20)
    sure: bool = False


class ReleaseMade(BaseModel):
    """A release; `here` if its zip can be had from this server."""

    number: int
    at: int
    who: str
    method: str
    choice: str = ""  # what a method that chooses has taken; earlier versions do not say
    judgements: int
    sha256: str
    here: bool


@router.post("/results/{kind}", status_code=202, response_model=JobState)
def ask(kind: Kind, wanted: JobWanted, member: Manager) -> Job:
    """Ask for a result: merge, quality, systems, export."""
    if kind == "release":
        raise RuleError("no-access", "a release has an address of its own: /releases")
    with member.write() as work:
        return jobs.state_of(work, jobs.ask(work, kind, wanted.model_dump()))


@router.get("/jobs/{number}", response_model=JobState)
def job(number: Annotated[int, Path(ge=1, lt=2**62)], member: Reader) -> Job:
    """How far a job is."""
    with member.read() as work:
        return jobs.state_of(work, number)


@router.get("/results/{kind}")
def latest(kind: Kind, member: Reader) -> jobs.Finding:
    """The last finished result, and its age."""
    with member.read() as work:
        result = jobs.latest(work, kind)
    if result is None:
        raise RuleError("not-found", f"there is no result of {kind!r} yet; ask for one")
    return result


@router.get("/files/{file}", response_class=FileResponse)
def download(
    file: Annotated[str, Path(pattern=r"^[a-z]+\.[a-z]+$")], member: Exporter, settings: TheSettings
) -> FileResponse:
    """A file that a job has made: judgements.tsv, merged.qrels, manifest.json, ..."""
    path = CampaignFiles.of(member, settings).result(file)
    return FileResponse(path, filename=file, headers=HARMLESS)


@router.post("/runs", status_code=201)
def add_run(file: UploadFile, member: Manager, settings: TheSettings) -> Stored:
    """Take in a run (TREC's six columns); a run of the same name is replaced."""
    return keep_run(CampaignFiles.of(member, settings), file.filename, file.file)


def keep_run(files: CampaignFiles, name: str | None, content: BinaryIO) -> Stored:
    """Keep a run, once it can be read."""
    body = content.read(LARGEST_RUN + 1)
    if len(body) > LARGEST_RUN:
        raise RuleError("too-large", f"a run has at most {LARGEST_RUN // 2**20} MB")
    folder = files.runs
    with TemporaryDirectory(dir=folder.parent) as beside:  # jobs list what is in the folder
        path = keep_upload(pathlib.Path(beside), name or "run", io.BytesIO(body))
        runs = q.read_runs(path)
        path.replace(folder / path.name)
    return Stored(name=path.name, runs=len(runs.runs), topics=len(runs.topics))


def keep_sample(files: CampaignFiles, sent: Mapping[str, tuple[str, BinaryIO]]) -> None:
    """Keep a `sample` for people to judge, what a `machine` says of all of it, or both, once they
    can be read and fit together.
    """
    with TemporaryDirectory(dir=files.runs.parent) as beside:
        new = {
            kind: keep_upload(pathlib.Path(beside) / kind, name, content)
            for kind, (name, content) in sent.items()
        }
        folders = {"sample": files.sample, "machine": files.machine}
        sampled(*(new.get(kind) or only_file(folder) for kind, folder in folders.items()))
        for kind, path in new.items():
            for old in folders[kind].iterdir():
                old.unlink()
            path.replace(folders[kind] / path.name)


# --- releases -------------------------------------------------------------------------------------


@router.post("/releases", status_code=202, response_model=JobState, name="ask")
def ask_for_release(wanted: ReleaseWanted, member: Exporter) -> Job:
    """Make a release: topics, pool, qrels, anonymous judgements, orders, runs, datasheet."""
    if not wanted.sure:
        raise RuleError("ask-twice", "a release cannot be taken back; confirm it")
    return make_release(member, wanted.method, wanted.measures)


def make_release(member: Member, method: str, measures: Sequence[str] = ()) -> Job:
    """Put a release on the list of jobs; what is wrong with method or measures is told now."""
    figures_of(method, measures)
    parameters = {"method": method, "measures": list(measures), "who": member.name}
    with member.write() as work:
        return jobs.state_of(work, jobs.ask(work, "release", parameters))


@router.get("/releases", name="listed")
def releases(member: Exporter, settings: TheSettings) -> list[ReleaseMade]:
    """The releases so far."""  # the oldest first
    files = CampaignFiles.of(member, settings)
    with files.read() as work:
        rows = [(row, json.loads(row.details)) for row in release.releases(work)]
    return [
        ReleaseMade(
            **details,
            number=number,
            at=row.at,
            who=row.who,
            here=(files.releases / details["file"]).is_file(),
        )
        for number, (row, details) in enumerate(rows, 1)
    ]


@router.get("/releases/{number}/zip", response_class=FileResponse, name="download")
def download_release(
    number: Annotated[int, Path(ge=1, lt=2**31)], member: Exporter, settings: TheSettings
) -> FileResponse:
    """A release as one zip."""
    files = CampaignFiles.of(member, settings)
    with files.read() as work:
        rows, name = release.releases(work), work.name
    if not 1 <= number <= len(rows):
        raise RuleError("not-found", f"there is no release {number}")
    path = files.releases / json.loads(rows[number - 1].details)["file"]
    if not path.is_file():
        raise RuleError("not-found", f"release {number} was not made by this server")
    return FileResponse(path, filename=f"{name}-release-{number}.zip", headers=HARMLESS)
