"""Where a server keeps files beside its database: uploaded runs and results, by campaign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from qrowd.collection.database.store import Store
from qrowd.errors import RuleError


def _nobody_asks(_: float) -> None:
    """Progress that nobody wants to hear of."""


@dataclass(frozen=True)
class Place:
    """A campaign in its database, and its folder beside it; a job tells `told` how far it is."""

    store: Store
    folder: Path
    campaign: int
    told: Callable[[float], None] = _nobody_asks

    @property
    def runs(self) -> Path:
        """The uploaded runs."""
        return self._made("runs")

    @property
    def results(self) -> Path:
        """What jobs have made."""
        return self._made("results")

    @property
    def releases(self) -> Path:
        """The releases as zips, by number."""
        return self._made("releases")

    @property
    def staged(self) -> Path:
        """Files that were sent, until a question about them is answered."""
        return self._made("staged")

    def result(self, name: str) -> Path:
        """A file that a job has made."""
        known = {path.name: path for path in self.results.iterdir() if path.is_file()}
        if name not in known:
            raise RuleError("not-found", f"there is no result {name!r} yet")
        return known[name]

    def _made(self, kind: str) -> Path:
        path = self.folder / "files" / str(self.campaign) / kind
        path.mkdir(parents=True, exist_ok=True)
        return path


def drafts_in(folder: Path) -> Path:
    """Where the drafts of a server are."""
    return folder / "drafts"


def file_name(given: str) -> str:
    """A name for an uploaded file that is harmless as part of a path."""
    plain = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in given)
    return plain.strip(".").encode()[:100].decode("utf-8", "ignore") or "file"
