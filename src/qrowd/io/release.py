"""A campaign's release: a folder or zip of plain files with a manifest of their checksums.

| file | what is in it |
|---|---|
| topics.jsonl | the topics |
| pool.tsv | the pairs to judge: topic, doc |
| documents.tsv, or documents.jsonl | the documents' ids; with their texts where that is allowed |
| judgements.tsv | topic, doc, assessor (a number drawn at random), grade, kind: no times |
| ratings.tsv | numbers from 0 to 100, where people gave some: topic, doc, assessor, value |
| orders.tsv | rankings, preferences, and orders by numbers: ballot, topic, doc, assessor, place |
| gold.qrels | the experts' grades, given to the merging method |
| checks.tsv, checks.qrels | answers to check questions, as judgements; the experts' grades |
| assessors.tsv | what times tell of each: median seconds, how far answers follow a pattern |
| merged.qrels, probabilities.tsv | what the merging method made of the judgements |
| merged.qrels.provenance.json, ... | where these labels come from |
| runs/ | the systems' runs |
| consent.txt, datasheet.md | what people agreed to; what the data are |
| manifest.json, SHA256SUMS | what there is, with checksums |
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from qrowd.data.collected import Collected, ErrorRate
from qrowd.data.judgements import Judgements
from qrowd.data.orders import Orders
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.sample import Choice
from qrowd.data.scale import Scale
from qrowd.data.topics import Topics
from qrowd.errors import FormatError
from qrowd.io.judgements import read_assessors, read_judgements
from qrowd.io.orders import read_orders
from qrowd.io.qrels import read_qrels
from qrowd.io.runs import read_runs
from qrowd.io.source import BROKEN_ZIP, opened_zip, sha256_of
from qrowd.io.topics import read_topics

FORMAT = "qrowd release"
VERSION = 1
MANIFEST, SUMS = "manifest.json", "SHA256SUMS"
LARGEST = 2**34  # bytes of a zip's files
_KINDS = {
    "campaign": str,
    "title": str,
    "figures": dict,
    "files": dict,
    "scale": list,
    "relevant_from": int,
}
_FIGURES = {"method", "measures", "draws", "level", "informed"}
_NO_RELEASE = (
    f"this is no release: it has no {MANIFEST} of one; `qrowd campaign release` writes releases"
)
_CHANGED = "was changed after the release was made (its checksum differs); get the release again"


@dataclass(frozen=True, eq=False)
class Release:
    """What a release holds. What it has no file for, or an empty one, is None.

    `collected` has the judgements and what tells how good they are; None where there are orders
    only. `figures` says how the campaign's own figures were made: `method`, `measures`, `draws`,
    `level`, `informed`. `about` is the whole manifest.
    """

    name: str
    title: str
    figures: Mapping[str, Any]
    topics: Topics
    collected: Collected | None
    orders: Orders | None
    gold: Qrels | None
    merged: Qrels | None
    runs: RunSet | None
    about: Mapping[str, Any]

    @property
    def judgements(self) -> Judgements | None:
        """The judgements that count."""
        return None if self.collected is None else self.collected.judgements

    @property
    def lacks(self) -> str:
        """What releases of before do not have, in a sentence; empty where nothing is missing."""
        if "checks.tsv" in self.about["files"]:
            return ""
        return (
            "this release has no answers to check questions and does not tell how fast people "
            "answered, as releases of earlier versions: how right these judgements are is not "
            "known here, and what is said of assessors may differ from the campaign's own page; a "
            "new release would have both"
        )

    def __repr__(self) -> str:
        return f"Release({self.title}: {', '.join(self.about['files'])})"


def is_release(path: str | Path) -> bool:
    """Whether a folder or zip is a release, by its manifest."""
    try:
        return _manifest_of(Path(path)).get("format") == FORMAT
    except (KeyError, *BROKEN_ZIP):
        return False


def _manifest_of(path: Path) -> dict[str, Any]:
    if path.is_dir():
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    else:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read(MANIFEST))
    return manifest if isinstance(manifest, dict) else {}


def read_release(path: str | Path) -> Release:
    """Read a release (a folder or zip) after all its checksums were verified."""
    with _unpacked(Path(path)) as folder:
        about = _verified(folder, str(path))
        return _read(folder, about)


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    shown = str(path)
    if not path.exists():
        raise FormatError("there is no such file; check the path", file=shown)
    if path.is_dir():
        if not is_release(path):
            raise FormatError(_NO_RELEASE, file=shown)
        yield path
        return
    with tempfile.TemporaryDirectory() as made:
        problem = "this zip is damaged, or none; get the release again"
        with opened_zip(path, problem, file=shown) as archive:
            names = archive.namelist()
            if MANIFEST not in names or not is_release(path):
                raise FormatError(_NO_RELEASE, file=shown)
            strange = next((name for name in names if _leads_outside(name)), None)
            if strange is not None:
                message = f"holds {strange!r}, which leads outside of it: do not trust this zip"
                raise FormatError(message, file=shown)
            if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
                raise FormatError("unpacked, this is larger than 16 GB", file=shown)
            archive.extractall(made)
        yield Path(made)


def _leads_outside(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return ".." in path.parts or path.is_absolute() or ":" in path.parts[0]


def _verified(folder: Path, shown: str) -> dict[str, Any]:
    """The manifest, once every file is as it says."""
    about = _manifest_of(folder)
    if about.get("version") != VERSION:
        message = f"is a release of version {about.get('version')}; this qrowd reads {VERSION}"
        advice = f"read it with the qrowd that made it ({about.get('qrowd', 'unknown')}), or later"
        raise FormatError(f"{message}; {advice}", file=shown)
    _refuse_incomplete(about, shown)
    sums = {name: str(file["sha256"]) for name, file in about["files"].items()}
    if (folder / SUMS).is_file():
        for line in (folder / SUMS).read_text(encoding="utf-8").splitlines():
            sha, _, name = line.partition("  ")
            if name == MANIFEST:
                sums[name] = sha
    for name, sha in sums.items():
        if _leads_outside(name):
            raise FormatError(f"{MANIFEST} names {name!r}, which is outside", file=shown)
        if not (folder / name).is_file():
            raise FormatError(f"{name} is missing; get the release again", file=shown)
        if sha256_of(folder / name) != sha:
            raise FormatError(_CHANGED, file=f"{shown}/{name}")
    return about


def _refuse_incomplete(about: dict[str, Any], shown: str) -> None:
    """An error unless the manifest has all that is read here."""
    lost = [key for key, kind in _KINDS.items() if not isinstance(about.get(key), kind)]
    if not lost:
        lost = sorted(_FIGURES - about["figures"].keys())
        for file in about["files"].values():
            keys = file.keys() if isinstance(file, dict) else ()
            lost += [key for key in ("sha256", "rows") if key not in keys]
        lost += [] if all(isinstance(grade, int) for grade in about["scale"]) else ["scale"]
    if lost:
        raise FormatError(f"{MANIFEST} lacks {lost[0]}; get the release again", file=shown)


def _read(folder: Path, about: dict[str, Any]) -> Release:
    scale = Scale(tuple(about["scale"]), about["relevant_from"])
    filled = {name for name, file in about["files"].items() if file["rows"]}
    runs = [str(folder / name) for name in sorted(filled) if name.startswith("runs/")]

    def optional(name: str, read: Any, **options: Any) -> Any:
        return read(folder / name, **options) if name in filled else None

    gold = optional("gold.qrels", read_qrels)
    judgements = optional("judgements.tsv", read_judgements, scale=scale)
    if judgements is not None and isinstance(about.get("chosen"), dict):
        least = int(about["chosen"].get("least", 0))
        judgements = replace(judgements, choice=Choice.of_votes(judgements, least))
    collected = None
    if judgements is not None:
        sample = about.get("sample")
        collected = Collected(
            judgements=judgements,
            gold=gold,
            answers=optional("checks.tsv", read_judgements, scale=scale),
            key=optional("checks.qrels", read_qrels),
            habits=optional("assessors.tsv", read_assessors),
            sample=_sample(sample) if isinstance(sample, dict) else None,
        )
    return Release(
        name=about["campaign"],
        title=about["title"],
        figures=about["figures"],
        topics=read_topics(folder / "topics.jsonl"),
        collected=collected,
        orders=optional("orders.tsv", read_orders),
        gold=gold,
        merged=optional("merged.qrels", read_qrels),
        runs=read_runs(runs) if runs else None,
        about=about,
    )


def _sample(stated: Mapping[str, Any]) -> ErrorRate:
    """What experts found, as a manifest has it: null is not known."""
    counts = (int(stated.get(name) or 0) for name in ("sampled", "judged", "wrong"))
    shares = (stated.get(name) for name in ("rate", "low", "high"))
    return ErrorRate(
        *counts, *(float("nan") if share is None else float(share) for share in shares)
    )
