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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import plan_text, stored_plan
from qrowd.errors import RuleError

_KEY = re.compile(r"[a-z0-9]{12}")


@dataclass(frozen=True)
class Draft:
    """A draft at one version; `answered` are the questions that somebody has answered."""

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
        """A new place for an uploaded file."""
        place = self.folder / "files" / secrets.token_hex(4)
        place.mkdir(parents=True)
        return place

    def relative(self, path: Path) -> str:
        """A file of this draft, as its plan names it."""
        return path.relative_to(self.folder).as_posix()


def new_draft(folder: Path, who: str, now: int, plan: Plan | None = None) -> Draft:
    """A new draft in the server's folder of drafts."""
    place = folder / secrets.token_hex(6)
    (place / "versions").mkdir(parents=True)
    return _write(place, 1, plan or Plan(), (), who, now)


def open_draft(folder: Path, key: str, version: int | None = None) -> Draft:
    """A draft as it is now, or as it was at a version."""
    place = folder / key
    if not _KEY.fullmatch(key) or not place.is_dir():
        raise RuleError("not-found", "there is no such draft; perhaps it was launched or deleted")
    return _read(place, version or _newest(place))


def all_drafts(folder: Path) -> list[Draft]:
    """The drafts of a server, the one that was changed last first."""
    places = (
        [one for one in folder.iterdir() if _KEY.fullmatch(one.name)] if folder.is_dir() else []
    )
    found = [_read(place, number) for place in places if (number := _newest(place))]
    return sorted(found, key=lambda draft: (-draft.at, draft.key))


def save(draft: Draft, plan: Plan, who: str, now: int, answered: str = "") -> Draft:
    """The next version; an error (conflict) where somebody else has made it meanwhile."""
    known = tuple(dict.fromkeys([*draft.answered, *([answered] if answered else [])]))
    return _write(draft.folder, draft.version + 1, plan, known, who, now)


def reopen(draft: Draft, steps: Sequence[str], who: str, now: int) -> Draft:
    """The next version, in which these questions are to be answered again."""
    left = tuple(step for step in draft.answered if step not in steps)
    return _write(draft.folder, draft.version + 1, draft.plan, left, who, now)


def discard(draft: Draft) -> None:
    """Delete a draft and its files."""
    shutil.rmtree(draft.folder, ignore_errors=True)


def _write(
    place: Path, version: int, plan: Plan, answered: tuple[str, ...], who: str, now: int
) -> Draft:
    held = {"plan": plan_text(plan), "answered": list(answered), "who": who, "at": now}
    part = place / f".{secrets.token_hex(6)}"
    try:
        part.write_text(json.dumps(held), encoding="utf-8")
        os.link(part, _path(place, version))  # fails where it is there already
    except FileExistsError:
        raise RuleError("conflict", "somebody else has changed this draft meanwhile") from None
    except FileNotFoundError:
        raise RuleError("not-found", "this draft was launched or deleted meanwhile") from None
    finally:
        part.unlink(missing_ok=True)
    return _read(place, version)


def _path(place: Path, version: int) -> Path:
    return place / "versions" / f"{version:06}.json"


def _newest(place: Path) -> int:
    return max((int(one.stem) for one in (place / "versions").glob("*.json")), default=0)


def _read(place: Path, version: int) -> Draft:
    try:
        held = json.loads(_path(place, version).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RuleError("not-found", "there is no such version of this draft") from None
    plan = stored_plan(held["plan"])
    return Draft(place, version, plan, tuple(held["answered"]), held["who"], held["at"])
