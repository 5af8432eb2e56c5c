"""A draft as a plan file with all that it names, and as a campaign."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import BinaryIO

from qrowd.collection.database.store import Store
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.drafts.problems import problems
from qrowd.collection.drafts.steps import FILES
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.files import gather
from qrowd.collection.plan.forecast import refuse_unmeetable
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import parse_plan, plan_text
from qrowd.collection.record import audit
from qrowd.errors import InputError


def packed(draft: Draft) -> tuple[Plan, dict[str, Path]]:
    """The plan as others read it, its files by the names that it gives them."""
    plan = draft.plan
    files: dict[str, Path] = {}
    for kind in FILES:
        given = getattr(plan.files, kind)
        names = [
            _packed_name(kind, draft.folder / one, files)
            for one in (given if isinstance(given, tuple) else (given,))
            if one
        ]
        value = tuple(names) if isinstance(given, tuple) else "".join(names)
        plan = set_key(plan, "files", kind, value)
    return plan, files


def _packed_name(kind: str, path: Path, files: dict[str, Path]) -> str:
    name = path.name if path.name not in files else f"{kind}-{path.name}"
    files[name] = path
    return name


def plan_of(draft: Draft) -> str:
    """The draft's plan file."""
    return plan_text(packed(draft)[0])


def bundle(draft: Draft, file: BinaryIO) -> None:
    """The plan and all its files as a zip, which `qrowd campaign check` reads when unpacked."""
    plan, files = packed(draft)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("plan.toml", plan_text(plan))
        for name, path in files.items():
            inside = [path] if path.is_file() else sorted(path.rglob("*"))
            for one in (each for each in inside if each.is_file()):
                target.write(one, name if one == path else f"{name}/{one.relative_to(path)}")


def make(store: Store, draft: Draft) -> int:
    """The draft as a campaign, not yet started; its number."""
    lacks = problems(draft)
    if lacks:
        raise InputError(lacks[0].message)
    plan = parse_plan(plan_of(draft))
    material = gather(draft.plan, draft.plan_path)
    refuse_unmeetable(plan, material)
    return create_campaign(store, plan, material)


def launch(store: Store, draft: Draft, who: str) -> int:
    """Make the campaign and start it; the number of the act, for undo."""
    number = make(store, draft)
    with store.write(number) as work:
        return audit.launch(work, who)
