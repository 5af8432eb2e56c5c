"""Files that come into a draft: each is looked at, kept, and named by the plan.

take(draft, "topics", [("topics.jsonl", file)]) -> "files/1f2e3d4c/topics.jsonl"

An error says which file it is about, and what is wanted.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from qrowd.collection.drafts import contents
from qrowd.collection.drafts.draft import Draft
from qrowd.errors import FormatError, InputError
from qrowd.io.anything import kind_of
from qrowd.io.documents import are_files
from qrowd.io.source import BROKEN_ZIP, opened_zip, refuse_bomb, sources

Upload = tuple[str, BinaryIO]  # the file's name where it comes from, and the file

WANTED = {
    "topics": "topics: TREC topics, JSON lines or TSV with topic and query",
    "documents": "documents: JSON lines or TSV with doc and text, TREC's <DOC>, or a folder as zip",
    "pool": "pairs to judge: qrels, or TSV with the columns topic and doc",
    "runs": "runs: TREC's six columns (topic Q0 doc rank score run)",
    "gold": "gold: TSV with the columns topic, doc, grade (and reason, passage, set), or qrels",
    "qualification": "a qualification: TSV with the columns topic, doc, grade",
    "questions": 'questions: JSON lines such as {"topic": "1", "question": "...", "choices": '
    '["a", "b"], "right": 0}',
    "priorities": "priorities: TSV with the columns topic, doc, priority",
}
KINDS = tuple(WANTED)
SEVERAL = ("runs", "documents")
MOST_FILES = 200_000  # of a folder that was zipped
LARGEST = 4 * 2**30


def take(draft: Draft, kind: str, files: Sequence[Upload]) -> str | tuple[str, ...]:
    """Keep uploaded files and check what they are; what the plan's key of that kind becomes."""
    if not files:
        raise InputError(f"choose a file. Wanted: {WANTED[kind]}")
    if len(files) > 1 and kind not in SEVERAL:
        raise InputError(f"choose one file only. Wanted: {WANTED[kind]}")
    folder = draft.fresh_folder()
    try:
        paths = [_kept(folder, name, file) for name, file in files]
        if kind == "documents":
            paths = [_documents(folder, paths)]
        _refuse_other(kind, paths)
    except InputError as error:
        shutil.rmtree(folder, ignore_errors=True)
        # the same complaint, about the file as its owner knows it, and what is wanted instead
        sent, name = [name for name, _ in files], Path(error.file or "").name
        message = f"{error.message.rstrip('.')}. Wanted: {WANTED[kind]}"
        file = name if name in sent else sent[0]
        raise InputError(message, file=file, line=error.line) from None
    names = tuple(draft.relative(path) for path in paths)
    return names if kind == "runs" else names[0]


def _kept(folder: Path, name: str, file: BinaryIO) -> Path:
    plain = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in name)
    path = folder / (plain.strip(".").encode()[-100:].decode("utf-8", "ignore") or "file")
    if path.exists():
        raise InputError(f"two files are called {name}; rename one", file=name)
    with path.open("wb") as target:
        shutil.copyfileobj(file, target)
    refuse_bomb(path)
    return path


def _refuse_other(kind: str, paths: Sequence[Path]) -> None:
    """An error unless these files are of the kind, and hold something."""
    first = str(paths[0])
    if kind == "documents":
        _refuse_no_documents(paths[0])
        if not any(contents.texts(first)):
            raise FormatError("there is no document in it", file=paths[0].name)
        return
    runs = tuple(map(str, paths))
    size = len(contents.runs(runs) if kind == "runs" else contents.file_rows(kind, first))
    if not size:
        raise FormatError("it is empty", file=paths[0].name)


# --- documents ------------------------------------------------------------------------------------


def _documents(folder: Path, paths: list[Path]) -> Path:
    """One file of documents, or a folder: of a zip, or of several files."""
    if len(paths) == 1:
        path = paths[0]
        return _unzipped(path, folder) if zipfile.is_zipfile(path) else path
    together = folder / "documents"
    while together.exists():  # a file of that name
        together = together.with_name(f"{together.name}-folder")
    together.mkdir()
    for path in paths:
        path.rename(together / path.name)
    return together


def _unzipped(path: Path, folder: Path) -> Path:
    """The files of a zip, none outside of the folder, none that would fill the disk."""
    target = folder / f"{path.stem}-folder"
    with opened_zip(path, "this zip cannot be unpacked", file=path.name) as archive:
        members = [
            member
            for member in archive.infolist()
            if not member.is_dir() and _is_owners(member.filename)
        ]
        if not members:
            raise FormatError("there is no file in this zip", file=path.name)
        size = sum(member.file_size for member in members)
        if len(members) > MOST_FILES or size > LARGEST:
            raise FormatError("this zip has too many files, or too large ones", file=path.name)
        for member in members:
            _unpack(archive, member, target, path.name)
    path.unlink()
    inside = list(target.iterdir())
    return inside[0] if len(inside) == 1 else target


def _is_owners(name: str) -> bool:
    """Whether a file of a zip is one of its owner's, not of the system that packed it."""
    parts = name.split("/")
    return "__MACOSX" not in parts and not parts[-1].startswith(".")


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, shown: str) -> None:
    path = (folder / member.filename).resolve()
    encrypted = member.flag_bits & 1
    if not path.is_relative_to(folder.resolve()) or encrypted:
        raise FormatError(f"{member.filename} cannot be unpacked", file=shown)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with archive.open(member) as source, path.open("wb") as file:
            shutil.copyfileobj(source, file)
    except BROKEN_ZIP as error:
        raise FormatError(f"{member.filename} cannot be unpacked: {error}", file=shown) from None
    refuse_bomb(path)


def _refuse_no_documents(path: Path) -> None:
    """A single file that is no table of documents would be taken for one document."""
    files = sources(path)
    if path.is_dir():
        return
    if are_files(files):
        raise FormatError("this is no list of documents", file=path.name)
    kind = kind_of(files[0])
    if kind not in ("documents", "topics"):  # name and text without a header may be either
        raise FormatError(f"this looks like {kind}", file=path.name)
