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
from dataclasses import dataclass, replace
from pathlib import Path
from tomllib import TOMLDecodeError

from qrowd.collection.plan.forecast import Spend, essentials
from qrowd.collection.plan.former import NEWEST, with_former_defaults
from qrowd.collection.plan.sections import About, Plan
from qrowd.collection.plan.toml import plan_text, stored_plan
from qrowd.errors import InputError, QrowdError, RuleError
from qrowd.io.plan_files import parsed_toml
from qrowd.texts import Text

ATTEMPTS = 5
BEFORE = "0003"  # the newest version of the schema under which drafts did not say which it was
_KEY = re.compile(r"[a-z0-9]{12}")


@dataclass(frozen=True)
class DryRun:
    """What robots found of a draft as it was then."""

    plan: Plan
    spend: Spend
    accuracy: float

    def holds_for(self, plan: Plan) -> bool:
        """Whether nothing that it depends on was changed since."""
        return essentials(self.plan) == essentials(plan)


@dataclass(frozen=True)
class Draft:
    """A draft at one version; `answered` are the steps whose form somebody has filled in.

    Names of steps that this version does not have stay in `answered`.
    """

    folder: Path
    version: int
    plan: Plan
    answered: tuple[str, ...] = ()
    who: str = ""
    at: int = 0
    problem: Text | None = None  # why this version cannot read its plan
    #: the version of the schema under which it was begun: its rules are those of that time
    since: str = NEWEST
    #: the newest dry run that ended well; whoever opens the draft for a page adds it
    dry_run: DryRun | None = None

    @property
    def key(self) -> str:
        """Its name in addresses."""
        return self.folder.name

    @property
    def title(self) -> Text | str:
        """What it is called."""
        name = self.plan.campaign.title or self.plan.campaign.name
        return name or Text("office.draft.untitled")

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
    return _write(Draft(own, 1, plan or Plan(), (), who, now))


def open_draft(folder: Path, key: str, version: int | None = None) -> Draft:
    """A draft as it is now, or as it was at a version; an error where it cannot be read."""
    draft = find_draft(folder, key, version)
    if draft.problem:
        raise InputError(str(draft.problem))
    return draft


def find_draft(folder: Path, key: str, version: int | None = None) -> Draft:
    """As `open_draft`, also where this version cannot read its plan."""
    own = folder / key
    if not _KEY.fullmatch(key) or not own.is_dir():
        raise RuleError("not-found", "there is no such draft; perhaps it was launched or deleted")
    return _read(own, version or _newest(own))


def all_drafts(folder: Path) -> list[Draft]:
    """The drafts of a server, the one that was changed last first; also what cannot be read."""
    if not folder.is_dir():
        return []
    folders = [path for path in folder.iterdir() if _KEY.fullmatch(path.name)]
    drafts = [_read(own, version) for own in folders if (version := _newest(own))]
    return sorted(drafts, key=lambda draft: (-draft.at, draft.key))


def save(draft: Draft, plan: Plan, who: str, now: int, answered: str = "") -> Draft:
    """The next version; an error (conflict) where somebody else has made it meanwhile."""
    steps = dict.fromkeys([*draft.answered, answered] if answered else draft.answered)
    version = draft.version + 1
    changed = replace(draft, version=version, plan=plan, answered=tuple(steps), who=who, at=now)
    return _write(changed)


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


def _write(draft: Draft) -> Draft:
    stored = {
        "plan": plan_text(draft.plan),
        "answered": list(draft.answered),
        "who": draft.who,
        "at": draft.at,
        "since": draft.since,
        "defaults": NEWEST,  # those that the plan leaves out
    }
    part = draft.folder / f".{secrets.token_hex(6)}"
    try:
        part.write_text(json.dumps(stored), encoding="utf-8")
        os.link(part, _path(draft.folder, draft.version))  # fails where it is there already
    except FileExistsError:
        raise RuleError("conflict", "somebody else has changed this draft meanwhile") from None
    except FileNotFoundError:
        raise RuleError("not-found", "this draft was launched or deleted meanwhile") from None
    finally:
        part.unlink(missing_ok=True)
    return _read(draft.folder, draft.version)


def _read(folder: Path, version: int) -> Draft:
    try:
        stored = json.loads(_path(folder, version).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RuleError("not-found", "there is no such version of this draft") from None
    answered, who, at = tuple(stored["answered"]), stored["who"], stored["at"]
    since = stored.get("since", BEFORE)
    draft = Draft(folder, version, Plan(), answered, who, at, since=since)
    try:
        plan = stored_plan(with_former_defaults(stored["plan"], stored.get("defaults", since)))
        return replace(draft, plan=plan)
    except (QrowdError, TOMLDecodeError) as error:
        # a key or a choice of another version: the draft stays as it is, under its own title
        problem = Text("office.draft.unreadable", why=str(error))
        return replace(draft, plan=_named_only(stored["plan"]), problem=problem)


def _named_only(text: str) -> Plan:
    """Of a plan that cannot be read, what it is called."""
    try:
        about = dict(parsed_toml(text, "plan").get("campaign", {}))
    except (InputError, TypeError):
        about = {}
    name, title = (str(about.get(key, "")) for key in ("name", "title"))
    return Plan(campaign=About(name=name, title=title))


def _path(folder: Path, version: int) -> Path:
    return folder / "versions" / f"{version:06}.json"


def _newest(folder: Path) -> int:
    return max((int(path.stem) for path in (folder / "versions").glob("*.json")), default=0)
