"""A draft as a plan file with all that it names, and a draft from such files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from qrowd.collection.drafts import uploads
from qrowd.collection.drafts.contents import names_of
from qrowd.collection.drafts.draft import Draft, discard, new_draft, save
from qrowd.collection.drafts.steps import all_steps, step_of
from qrowd.collection.drafts.uploads import KINDS, Upload
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.sections import Files, Plan
from qrowd.collection.plan.toml import plan_text, stored_plan
from qrowd.errors import FormatError, InputError
from qrowd.io.source import MOST_UNPACKED, opened_zip

LARGEST_PLAN = 2**20


# --- out ------------------------------------------------------------------------------------------


def plan_of(draft: Draft) -> str:
    """The draft's plan file."""
    return plan_text(_packed(draft)[0])


def write_bundle(draft: Draft, file: BinaryIO) -> None:
    """The plan and all its files as a zip, which `qrowd campaign check` reads when unpacked."""
    plan, files = _packed(draft)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("plan.toml", plan_text(plan))
        for name, path in files.items():
            for inside in (path, *sorted(path.rglob("*"))):
                if inside.is_file():
                    archive.write(inside, name / inside.relative_to(path))


def _packed(draft: Draft) -> tuple[Plan, dict[str, Path]]:
    """The plan as others read it, its files by the names that it gives them."""
    plan = draft.plan
    files: dict[str, Path] = {}
    for kind in KINDS:
        names = []
        for stored in names_of(plan, kind):
            path = draft.folder / stored
            name = path.name if path.name not in files else f"{kind}-{path.name}"
            files[name] = path
            names.append(name)
        plan = set_key(plan, "files", kind, tuple(names) if kind == "runs" else "".join(names))
    return plan, files


# --- in -------------------------------------------------------------------------------------------


def draft_of_files(
    folder: Path, who: str, now: int, files: Sequence[Upload]
) -> tuple[Draft, list[str]]:
    """A draft from a plan file with its files, or a zip of them; and the files still wanted."""
    sent = _unpacked(files)
    name, text = _plan_text(sent)
    plan = stored_plan(text, name)
    without_files = Files(depth=plan.files.depth)
    draft = new_draft(folder, who, now, replace(plan, files=without_files, text=""))
    by_name = {PurePosixPath(name).name: file for name, file in sent}
    kept, missing, open_steps = draft.plan, list[str](), set()
    try:
        for kind in KINDS:
            names = [PurePosixPath(name).name for name in names_of(plan, kind)]
            lost = [name for name in names if name not in by_name]
            missing += lost
            if lost:
                open_steps.add(step_of("files", kind))
            elif names:
                stored = uploads.take(draft, kind, [(name, by_name[name]) for name in names])
                kept = set_key(kept, "files", kind, stored)
    except InputError:
        discard(draft)
        raise
    for step in all_steps():
        if step not in open_steps:
            draft = save(draft, kept, who, now, step)
    return draft, missing


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
    """The files of a zip, or the files themselves."""
    if len(files) != 1 or not zipfile.is_zipfile(files[0][1]):
        for _, file in files:
            file.seek(0)
        return list(files)
    name, file = files[0]
    with opened_zip(file, "this zip cannot be unpacked", file=name) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        if sum(member.file_size for member in members) > MOST_UNPACKED:
            raise FormatError(
                f"unpacked, this is larger than {MOST_UNPACKED // 2**20} MB; send the plan file "
                "alone, then its files",
                file=name,
            )
        return _files_beside_plan(archive, members)


def _files_beside_plan(
    archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo]
) -> list[Upload]:
    """The files in the plan's folder; folders in it become zips again, as one would send them."""
    plans = [member.filename for member in members if member.filename.lower().endswith(".toml")]
    top = PurePosixPath(plans[0]).parent if plans else PurePosixPath()
    files: dict[str, BinaryIO] = {}
    folders: dict[str, list[zipfile.ZipInfo]] = {}
    for member in members:
        path = PurePosixPath(member.filename)
        path = path.relative_to(top) if path.is_relative_to(top) else path
        if len(path.parts) == 1:
            files[path.name] = io.BytesIO(archive.read(member))
        else:
            folders.setdefault(path.parts[0], []).append(member)
    for name, inside in folders.items():
        files[name] = io.BytesIO()
        with zipfile.ZipFile(files[name], "w") as zipped:
            for member in inside:
                zipped.writestr(member.filename, archive.read(member))
        files[name].seek(0)
    return list(files.items())
