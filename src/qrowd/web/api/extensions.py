"""More of a campaign while it runs: topics, documents, pairs, runs, gold; the cost comes first."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, File, Form, Query, UploadFile
from pydantic import BaseModel

from qrowd.collection.material.campaign_rows import Added
from qrowd.collection.office import extension as extending
from qrowd.collection.office.extension import Cost
from qrowd.collection.plan.files import extension
from qrowd.io.source import refuse_bomb
from qrowd.web.access import Manager, Reader
from qrowd.web.folders import file_name
from qrowd.web.problems import RESPONSES

router = APIRouter(prefix="/api/campaigns/{name}", tags=["extensions"], responses=RESPONSES)

Upload = Annotated[UploadFile | None, File()]


class Extended(BaseModel):
    """What was added; with `sure` left out, only what it would cost."""

    cost: Cost
    added: Added | None


@router.get("/cost-of-target")
def cost_of_target(target: Annotated[int, Query(ge=1, le=1000)], member: Reader) -> Cost:
    """What more judgements of every document would cost."""
    with member.store.read(member.campaign) as work:
        return extending.cost_of_target(work, target)


@router.post("/extensions")
def extend(
    member: Manager,
    topics: Upload = None,
    documents: Upload = None,
    pool: Upload = None,
    runs: Upload = None,
    gold: Upload = None,
    depth: Annotated[int, Form(ge=1, le=10_000)] = 20,
    sure: Annotated[bool, Form()] = False,
) -> Extended:
    """Add files to a campaign. Without `sure` nothing is changed, and the cost is told."""
    with tempfile.TemporaryDirectory() as name:
        sent = {"topics": topics, "documents": documents, "pool": pool, "runs": runs, "gold": gold}
        paths = {
            key: _kept(Path(name) / key, file) for key, file in sent.items() if file is not None
        }
        material = extension(
            topics=paths.get("topics"),
            documents=paths.get("documents"),
            pool=paths.get("pool"),
            runs=[paths["runs"]] if "runs" in paths else (),
            depth=depth,
            gold=paths.get("gold"),
            within=Path(name),
        )
    with member.store.write(member.campaign) as work:
        cost = extending.cost_of_pool(work, material)
        added = extending.extend(work, member.who.name, material) if sure else None
    return Extended(cost=cost, added=added)


def _kept(folder: Path, file: UploadFile) -> Path:
    folder.mkdir()
    path = folder / file_name(file.filename or "file")
    path.write_bytes(file.file.read())
    refuse_bomb(path)
    return path
