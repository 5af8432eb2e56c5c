"""Drafts of campaigns: plans that are being made, with their files, before anything is launched.

A draft is a folder. Every save is a new file of `versions/`, which is made only if it is not there
yet: of two people who save at once, one is told. Uploaded files are never changed, only replaced by
others, so what was read from one stays true.

    draft = new_draft(folder, "ann", now)
    draft = save(draft, change(draft.plan, {"sets.target": "5"}), "ann", now, answered="target")
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import plan_text, stored_plan
from qrowd.errors import RuleError

ATTEMPTS = 5
_KEY = re.compile(r"[a-z0-9]{12}")


@dataclass(frozen=True)
class Draft:
    """A draft at one version; `answered` are the steps whose form somebody has filled in."""

    folder: Path
    version: int
    plan: Plan
    answered: tuple[str, ...] = ()
    who: str = ""
    at: int = 0

    @property
    def key(self) -> str:
        """Its name in addresses."""
        return self.folder.name

    @property
    def title(self) -> str:
        """What it is called."""
        return self.plan.campaign.title or self.plan.campaign.name or "Untitled"

    @property
    def plan_path(self) -> Path:
        """Where its plan would be: files are relative to it."""
        return self.folder / "plan.toml"

    def fresh_folder(self) -> Path:
        """A new folder for an uploaded file."""
        folder = self.folder / "files" / secrets.token_hex(4)
        folder.mkdir(parents=True)
        return folder

    def relative(self, path: Path) -> str:
        """A file of this draft, as its plan names it."""
        return path.relative_to(self.folder).as_posix()


def new_draft(folder: Path, who: str, now: int, plan: Plan | None = None) -> Draft:
    """A new draft in the server's folder of drafts."""
    own = folder / secrets.token_hex(6)
    (own / "versions").mkdir(parents=True)
    return _write(own, 1, plan or Plan(), (), who, now)


def open_draft(folder: Path, key: str, version: int | None = None) -> Draft:
    """A draft as it is now, or as it was at a version."""
    own = folder / key
    if not _KEY.fullmatch(key) or not own.is_dir():
        raise RuleError("not-found", "there is no such draft; perhaps it was launched or deleted")
    return _read(own, version or _newest(own))


def all_drafts(folder: Path) -> list[Draft]:
    """The drafts of a server, the one that was changed last first."""
    if not folder.is_dir():
        return []
    folders = [path for path in folder.iterdir() if _KEY.fullmatch(path.name)]
    drafts = [_read(own, version) for own in folders if (version := _newest(own))]
    return sorted(drafts, key=lambda draft: (-draft.at, draft.key))


def save(draft: Draft, plan: Plan, who: str, now: int, answered: str = "") -> Draft:
    """The next version; an error (conflict) where somebody else has made it meanwhile."""
    steps = dict.fromkeys([*draft.answered, answered] if answered else draft.answered)
    return _write(draft.folder, draft.version + 1, plan, tuple(steps), who, now)


def save_newest(
    draft: Draft, change: Callable[[Draft], Plan], who: str, now: int, answered: str
) -> Draft:
    """The plan that a change makes of the newest version, whoever saves at the same time."""
    for _ in range(ATTEMPTS):
        newest = open_draft(draft.folder.parent, draft.key)
        plan = change(newest)
        try:
            return save(newest, plan, who, now, answered)
        except RuleError as error:
            if error.code != "conflict":
                raise
    raise RuleError("conflict", "others change this draft all the time; try again")


def discard(draft: Draft) -> None:
    """Delete a draft and its files."""
    shutil.rmtree(draft.folder, ignore_errors=True)


def _write(
    folder: Path, version: int, plan: Plan, answered: tuple[str, ...], who: str, now: int
) -> Draft:
    stored = {"plan": plan_text(plan), "answered": list(answered), "who": who, "at": now}
    part = folder / f".{secrets.token_hex(6)}"
    try:
        part.write_text(json.dumps(stored), encoding="utf-8")
        os.link(part, _path(folder, version))  # fails where it is there already
    except FileExistsError:
        raise RuleError("conflict", "somebody else has changed this draft meanwhile") from None
    except FileNotFoundError:
        raise RuleError("not-found", "this draft was launched or deleted meanwhile") from None
    finally:
        part.unlink(missing_ok=True)
    return _read(folder, version)


def _read(folder: Path, version: int) -> Draft:
    try:
        stored = json.loads(_path(folder, version).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RuleError("not-found", "there is no such version of this draft") from None
    return Draft(
        folder=folder,
        version=version,
        plan=stored_plan(stored["plan"]),
        answered=tuple(stored["answered"]),
        who=stored["who"],
        at=stored["at"],
    )


def _path(folder: Path, version: int) -> Path:
    return folder / "versions" / f"{version:06}.json"


def _newest(folder: Path) -> int:
    return max((int(path.stem) for path in (folder / "versions").glob("*.json")), default=0)
