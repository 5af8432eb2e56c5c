"""A draft from a plan file, and from the files that it names if they come along."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from qrowd.collection.drafts import uploads
from qrowd.collection.drafts.draft import Draft, discard, new_draft, save
from qrowd.collection.drafts.steps import FILES, STEPS, step_of
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.sections import Files, Plan
from qrowd.collection.plan.toml import stored_plan
from qrowd.errors import FormatError, InputError
from qrowd.io.source import MOST_UNPACKED
from qrowd.io.zips import BROKEN

Upload = tuple[str, BinaryIO]
LARGEST_PLAN = 2**20


def draft_of_files(
    folder: Path, who: str, now: int, files: Sequence[Upload]
) -> tuple[Draft, list[str]]:
    """A draft from a plan file with its files, or a zip of them; and the files still wanted."""
    try:
        given = _unpacked(files)
    except BROKEN as error:
        message = f"this zip cannot be unpacked: {error}"
        raise FormatError(message, file=files[0][0]) from None
    name, text = _plan_text(given)
    plan = stored_plan(text, name)
    by_name = {PurePosixPath(one).name: file for one, file in given}
    draft = new_draft(folder, who, now, _without_files(plan))
    try:
        return _with_files(draft, plan, by_name, who, now)
    except InputError:
        discard(draft)
        raise


def _with_files(
    draft: Draft, plan: Plan, by_name: dict[str, BinaryIO], who: str, now: int
) -> tuple[Draft, list[str]]:
    missing, made = [], draft.plan
    for kind in FILES:
        value = getattr(plan.files, kind)
        names = [PurePosixPath(one).name for one in (value if kind == "runs" else [value]) if one]
        lost = [name for name in names if name not in by_name]
        missing += lost
        if names and not lost:
            taken = uploads.take(draft, kind, [(name, by_name[name]) for name in names])
            made = set_key(made, "files", kind, getattr(taken.files, kind))
    open_steps = {step_of("files", kind) for kind in FILES if _lost(plan, made, kind)}
    for step in STEPS:
        if step not in open_steps:
            draft = save(draft, made, who, now, step)
    return draft, missing


def _lost(plan: Plan, made: Plan, kind: str) -> bool:
    return bool(getattr(plan.files, kind)) and not getattr(made.files, kind)


def _without_files(plan: Plan) -> Plan:
    for kind in FILES:
        plan = set_key(plan, "files", kind, getattr(Files(), kind))
    return plan


def _plan_text(files: Sequence[Upload]) -> tuple[str, str]:
    plans = [(name, file) for name, file in files if name.lower().endswith(".toml")]
    if len(plans) != 1:
        listed = ", ".join(name for name, _ in files) or "nothing"
        message = "send one plan file (plan.toml), alone, with its files, or all in a zip"
        raise FormatError(f"{message}; got {listed[:200]}")
    name, file = plans[0]
    try:
        return name, file.read(LARGEST_PLAN).decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError("is not text in UTF-8; send a plan file (TOML)", file=name) from None


def _unpacked(files: Sequence[Upload]) -> list[Upload]:
    """The files of a zip, or the files themselves; folders in it become zips again."""
    if len(files) != 1 or not zipfile.is_zipfile(files[0][1]):
        for _, file in files:
            file.seek(0)
        return list(files)
    with zipfile.ZipFile(files[0][1]) as packed:
        inside = [one for one in packed.infolist() if not one.is_dir()]
        if sum(one.file_size for one in inside) > MOST_UNPACKED:
            message = f"unpacked, this is larger than {MOST_UNPACKED // 2**20} MB"
            told = f"{message}; send the plan file alone, then its files"
            raise FormatError(told, file=files[0][0])
        plan = [one.filename for one in inside if one.filename.lower().endswith(".toml")]
        top = PurePosixPath(plan[0]).parent if plan else PurePosixPath()
        return _members(packed, inside, top)


def _members(
    packed: zipfile.ZipFile, inside: Sequence[zipfile.ZipInfo], top: PurePosixPath
) -> list[Upload]:
    found: dict[str, BinaryIO] = {}
    folders: dict[str, list[zipfile.ZipInfo]] = {}
    for one in inside:
        parts = PurePosixPath(one.filename)
        parts = parts.relative_to(top) if parts.is_relative_to(top) else parts
        if len(parts.parts) == 1:
            found[parts.name] = io.BytesIO(packed.read(one))
        else:
            folders.setdefault(parts.parts[0], []).append(one)
    for name, members in folders.items():
        found[name] = _zipped(packed, members)
    return list(found.items())


def _zipped(packed: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo]) -> BinaryIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for one in members:
            target.writestr(one.filename, packed.read(one))
    file.seek(0)
    return file
