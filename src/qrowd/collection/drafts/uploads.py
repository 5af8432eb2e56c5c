"""Files that come into a draft: what each must be, and what it holds.

take(draft, "topics", [("topics.jsonl", file)]) -> Plan   the plan with the new file; or an error
                                                          that says which file, and what is wanted

What was read is kept in memory: files of a draft never change.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from qrowd.collection.drafts.draft import Draft
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.files import (
    document_rows,
    gold_rows,
    pool_of_runs,
    pool_rows,
    priority_rows,
    question_rows,
    topic_rows,
)
from qrowd.collection.plan.rows import GoldRow, QuestionRow, TopicRow
from qrowd.collection.plan.sections import Plan
from qrowd.data.runs import RunSet
from qrowd.errors import FormatError, InputError
from qrowd.io.anything import kind_of
from qrowd.io.documents import are_files
from qrowd.io.runs import read_runs
from qrowd.io.source import refuse_bomb, sources
from qrowd.io.zips import BROKEN

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
SEVERAL = ("runs", "documents")
MOST_FILES, LARGEST = 200_000, 4 * 2**30  # of a folder that was zipped


def take(draft: Draft, kind: str, files: Sequence[tuple[str, BinaryIO]]) -> Plan:
    """Keep uploaded files and check what they are; the plan that names them."""
    if not files:
        raise InputError(f"choose a file. Wanted: {WANTED[kind]}")
    if len(files) > 1 and kind not in SEVERAL:
        raise InputError(f"choose one file only. Wanted: {WANTED[kind]}")
    place = draft.fresh_folder()
    try:
        paths = [_kept(place, name, file) for name, file in files]
        if kind == "documents":
            paths = [_documents(place, paths)]
        check(kind, paths)
    except InputError as error:
        shutil.rmtree(place, ignore_errors=True)
        raise _refused(error, kind, files) from None
    names = tuple(draft.relative(path) for path in paths)
    return set_key(draft.plan, "files", kind, names if kind == "runs" else names[0])


def _kept(place: Path, name: str, file: BinaryIO) -> Path:
    plain = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in name)
    path = place / (plain.strip(".").encode()[-100:].decode("utf-8", "ignore") or "file")
    if path.exists():
        raise InputError(f"two files are called {name}; rename one", file=name)
    with path.open("wb") as target:
        shutil.copyfileobj(file, target)
    refuse_bomb(path)
    return path


def _refused(error: InputError, kind: str, files: Sequence[tuple[str, BinaryIO]]) -> InputError:
    """The same complaint, about the file as its owner knows it, and what is wanted instead."""
    name = Path(error.file).name if error.file else ""
    name = name if any(name == given for given, _ in files) else files[0][0]
    message = error.message.rstrip(".")
    return InputError(f"{message}. Wanted: {WANTED[kind]}", file=name, line=error.line)


# --- documents ------------------------------------------------------------------------------------


def _documents(place: Path, paths: list[Path]) -> Path:
    """One file of documents, or a folder: of a zip, or of several files."""
    if len(paths) == 1 and zipfile.is_zipfile(paths[0]):
        try:
            return _unzipped(paths[0], place / f"{paths[0].stem}-folder")
        except BROKEN as error:
            raise FormatError(f"this zip cannot be unpacked: {error}") from None
    if len(paths) == 1:
        return paths[0]
    folder = place / "documents"
    while folder.exists():  # a file of that name
        folder = folder.with_name(f"{folder.name}-folder")
    folder.mkdir()
    for path in paths:
        path.rename(folder / path.name)
    return folder


def _unzipped(path: Path, folder: Path) -> Path:
    """The files of a zip, none outside of the folder, none that would fill the disk."""
    with zipfile.ZipFile(path) as packed:
        inside = [one for one in packed.infolist() if not one.is_dir() and _shown(one.filename)]
        if not inside:
            raise FormatError("there is no file in this zip", file=path.name)
        if len(inside) > MOST_FILES or sum(one.file_size for one in inside) > LARGEST:
            raise FormatError("this zip has too many files, or too large ones", file=path.name)
        for one in inside:
            target = (folder / one.filename).resolve()
            if not target.is_relative_to(folder.resolve()) or one.flag_bits & 1:
                raise FormatError(f"{one.filename} cannot be unpacked", file=path.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            _unpack(packed, one, target)
    path.unlink()
    only = list(folder.iterdir())
    return only[0] if len(only) == 1 else folder


def _unpack(packed: zipfile.ZipFile, one: zipfile.ZipInfo, target: Path) -> None:
    try:
        with packed.open(one) as source, target.open("wb") as file:
            shutil.copyfileobj(source, file)
    except BROKEN as error:
        raise FormatError(f"{one.filename} cannot be unpacked: {error}") from None
    refuse_bomb(target)


def _shown(name: str) -> bool:
    """Whether a file of a zip is one of its owner's, not of the system that packed it."""
    parts = name.split("/")
    return "__MACOSX" not in parts and not parts[-1].startswith(".")


def _refuse_no_documents(path: Path) -> None:
    """A single file that is no table of documents would be taken for one document."""
    found = sources(path)
    if path.is_dir():
        return
    if are_files(found):
        raise FormatError("this is no list of documents", file=path.name)
    kind = kind_of(found[0])
    if kind not in ("documents", "topics"):  # name and text without a header may be either
        raise FormatError(f"this looks like {kind}", file=path.name)


# --- what a file holds ----------------------------------------------------------------------------


def check(kind: str, paths: Sequence[Path]) -> None:
    """An error unless these files are of the kind."""
    first = str(paths[0])
    if kind == "documents":
        _refuse_no_documents(paths[0])
        if not any(texts(first)):
            raise FormatError("there is no document in it", file=paths[0].name)
        return
    readers: dict[str, Callable[[str], Sequence[object]]] = {
        "topics": topics,
        "pool": pool,
        "gold": gold,
        "qualification": gold,
        "questions": questions,
        "priorities": priority_rows,
    }
    size = len(runs(tuple(map(str, paths)))) if kind == "runs" else len(readers[kind](first))
    if not size:
        raise FormatError("it is empty", file=paths[0].name)


@lru_cache(maxsize=32)
def topics(path: str) -> tuple[TopicRow, ...]:
    """The topics of a file."""
    return tuple(topic_rows(path))


@lru_cache(maxsize=8)
def texts(path: str) -> tuple[frozenset[str], frozenset[str]]:
    """The documents of a file: those with a text, and those without one."""
    full: set[str] = set()
    empty: set[str] = set()
    for one in document_rows(path, within=Path(path).parent):
        (full if one.body.strip() else empty).add(one.name)
    return frozenset(full), frozenset(empty)


@lru_cache(maxsize=16)
def pool(path: str) -> tuple[tuple[str, str], ...]:
    """The pairs of a file."""
    return tuple(pool_rows(path))


@lru_cache(maxsize=8)
def runs(paths: tuple[str, ...]) -> RunSet:
    """Runs."""
    return read_runs(list(paths))


@lru_cache(maxsize=32)
def pool_at(paths: tuple[str, ...], depth: int) -> tuple[tuple[str, str], ...]:
    """The pairs of runs to a depth."""
    return tuple(pool_of_runs(runs(paths), depth))


@lru_cache(maxsize=32)
def gold(path: str) -> tuple[GoldRow, ...]:
    """Graded pairs."""
    return tuple(gold_rows(path))


@lru_cache(maxsize=32)
def questions(path: str) -> tuple[QuestionRow, ...]:
    """Questions on topics."""
    return tuple(question_rows(path))
