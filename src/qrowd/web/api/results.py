"""What background jobs find: asked for here, done elsewhere, the last result with its age."""

from __future__ import annotations

import json
import pathlib
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from fastapi import APIRouter, Path, UploadFile
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from qrowd.errors import RuleError
from qrowd.io.source import refuse_bomb
from qrowd.web import jobs
from qrowd.web.access import Exporter, Manager, Member, Reader, TheSettings
from qrowd.web.api.work import HARMLESS
from qrowd.web.folders import Place, file_name
from qrowd.web.problems import RESPONSES
from qrowd.web.settings import Settings

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

    number: int
    kind: str
    state: str
    made_at: int
    finished_at: int | None
    problem: str | None


class Finding(BaseModel):
    """The last finished result of a kind, and how old it is in milliseconds."""

    number: int
    kind: str
    parameters: dict[str, Any]
    finished_at: int
    age: int
    result: dict[str, Any]


class Stored(BaseModel):
    """A file that was taken in."""

    name: str
    runs: int
    topics: int


def _place(member: Member, settings: Settings) -> Place:
    return Place(member.store, settings.folder, member.campaign)


@router.post("/results/{kind}", status_code=202)
def ask(kind: Kind, wanted: JobWanted, member: Manager) -> JobState:
    """Ask for a result: merge, quality, systems, export."""
    if kind == "release":
        raise RuleError("no-access", "a release has an address of its own: /releases")
    with member.store.write(member.campaign) as work:
        number = jobs.ask(work, kind, wanted.model_dump())
        return state_line(jobs.state_of(work, number))


@router.get("/jobs/{number}")
def job(number: Annotated[int, Path(ge=1, lt=2**62)], member: Reader) -> JobState:
    """How far a job is."""
    with member.store.read(member.campaign) as work:
        return state_line(jobs.state_of(work, number))


def state_line(row: Any) -> JobState:
    """A job as the interface shows it."""
    return JobState(
        number=row.id,
        kind=row.kind,
        state=row.state,
        made_at=row.made_at,
        finished_at=row.finished_at,
        problem=row.problem,
    )


@router.get("/results/{kind}")
def latest(kind: Kind, member: Reader) -> Finding:
    """The last finished result, and its age."""
    with member.store.read(member.campaign) as work:
        found = jobs.latest(work, kind)
    if found is None:
        raise RuleError("not-found", f"there is no result of {kind!r} yet; ask for one")
    return Finding(**json.loads(json.dumps(vars(found))))


@router.get("/files/{file}", response_class=FileResponse)
def download(
    file: Annotated[str, Path(pattern=r"^[a-z]+\.[a-z]+$")], member: Exporter, settings: TheSettings
) -> FileResponse:
    """A file that a job has made: judgements.tsv, merged.qrels, manifest.json, ..."""
    path = _place(member, settings).result(file)
    return FileResponse(path, filename=file, headers=HARMLESS)


@router.post("/runs", status_code=201)
def add_run(file: UploadFile, member: Manager, settings: TheSettings) -> Stored:
    """Take in a run (TREC's six columns); a run of the same name is replaced."""
    import qrowd as q

    content = file.file.read(LARGEST_RUN + 1)
    if len(content) > LARGEST_RUN:
        raise RuleError("too-large", f"a run has at most {LARGEST_RUN // 2**20} MB")
    folder = _place(member, settings).runs
    with TemporaryDirectory(dir=folder.parent) as beside:  # jobs list what is in the folder
        path = pathlib.Path(beside) / file_name(file.filename or "run")
        path.write_bytes(content)
        refuse_bomb(path)
        runs = q.read_runs(path)
        path.replace(folder / path.name)
    return Stored(name=path.name, runs=len(runs.runs), topics=len(runs.topics))
