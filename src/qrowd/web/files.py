"""The files that a server keeps beside its database: uploaded runs and results, by campaign."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from qrowd.collection.database.store import Store, Work
from qrowd.errors import RuleError
from qrowd.io.source import refuse_bomb
from qrowd.web.settings import Settings

if TYPE_CHECKING:
    from qrowd.web.access import Member


@dataclass(frozen=True)
class CampaignFiles:
    """A campaign in its database, and its folder beside it; a job says how far it is."""

    store: Store
    folder: Path
    campaign: int
    progress: Callable[[float], None] = lambda _: None

    @classmethod
    def of(cls, member: Member, settings: Settings) -> CampaignFiles:
        """Those of the campaign that somebody is in."""
        return cls(member.store, settings.folder, member.campaign)

    @property
    def runs(self) -> Path:
        """The uploaded runs."""
        return self._folder("runs")

    @property
    def sample(self) -> Path:
        """A folder with one file, if any: what `qrowd sample` drew for people to judge."""
        return self._folder("sample")

    @property
    def machine(self) -> Path:
        """A folder with one file, if any: what machines say of all that was drawn from."""
        return self._folder("machine")

    @property
    def results(self) -> Path:
        """What jobs have made."""
        return self._folder("results")

    @property
    def releases(self) -> Path:
        """The releases as zips, by number."""
        return self._folder("releases")

    @property
    def staged(self) -> Path:
        """Files that were sent, until a question about them is answered."""
        return self._folder("staged")

    def result(self, name: str) -> Path:
        """A file that a job has made."""
        paths = {path.name: path for path in self.results.iterdir() if path.is_file()}
        if name not in paths:
            raise RuleError("not-found", f"there is no result {name!r} yet")
        return paths[name]

    def read(self) -> AbstractContextManager[Work]:
        """A snapshot of the campaign."""
        return self.store.read(self.campaign)

    def _folder(self, kind: str) -> Path:
        path = self.folder / "files" / str(self.campaign) / kind
        path.mkdir(parents=True, exist_ok=True)
        return path


def only_file(folder: Path) -> Path | None:
    """The file of a folder that holds one at most."""
    return next((path for path in folder.iterdir() if path.is_file()), None)


def drafts_in(folder: Path) -> Path:
    """Where the drafts of a server are."""
    return folder / "drafts"


def file_name(stated: str) -> str:
    """A name for an uploaded file that is harmless as part of a path."""
    plain = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in stated)
    return plain.strip(".").encode()[:100].decode("utf-8", "ignore") or "file"


def keep_upload(folder: Path, stated: str | None, content: BinaryIO) -> Path:
    """Keep an uploaded file in a folder, which is made; refused if it unpacks to too much."""
    path = folder / file_name(stated or "file")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as target:
        shutil.copyfileobj(content, target)
    refuse_bomb(path)
    return path
