"""A folder in which each file is one document, and back."""

from __future__ import annotations

import html
import mimetypes
import re
from collections.abc import Sequence
from pathlib import Path

from qrowd.data.documents import Document, Documents
from qrowd.errors import FormatError, InputError
from qrowd.io.source import Source

_COLLECTIONS = (".jsonl", ".ndjson", ".json", ".tsv", ".csv", ".parquet", ".pq", ".sgml", ".trec")
_COMPRESSED = (".gz", ".xz", ".bz2", ".zst")
_TYPES = mimetypes.MimeTypes()


def are_files(files: Sequence[Source]) -> bool:
    """Whether each of these is a document, and none holds many of them."""
    return not any(_holds_many(file) for file in files)


def _holds_many(file: Source) -> bool:
    if file.path is None:
        return True
    suffixes = [suffix.lower() for suffix in file.path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        return True
    if suffixes and suffixes[-1] in _COLLECTIONS:
        return True
    start = file.start.lstrip()
    return bool(
        re.match(rb"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?<(docs?|collection)\b", start, re.I | re.S)
    )


def of_files(files: Sequence[Source]) -> dict[str, tuple[dict[str, str], Source]]:
    """The texts of each document; its name is the file's without its suffix."""
    found: dict[str, tuple[dict[str, str], Source]] = {}
    for file in files:
        assert file.path is not None
        media = _media(file.path)
        name = file.path.stem if media else file.path.name
        if name in found:
            message = f"document {name} is also {found[name][1].name}; rename one of them"
            raise FormatError(message, file=file.name)
        found[name] = (_texts(file, media or "text/plain"), file)
    return found


def _media(path: Path) -> str:
    return _TYPES.guess_type(path.name)[0] or ""


def _texts(file: Source, media: str) -> dict[str, str]:
    if media == "text/plain":
        return {"text": _decoded(file)}
    about = {"media": media, "file": file.name}
    if media not in ("text/html", "application/xhtml+xml"):
        return {"text": _decoded(file), **about} if media.startswith("text/") else about
    page = _decoded(file)
    return {"text": text_of_html(page), "title": title_of_html(page), **about}


def _decoded(file: Source) -> str:
    try:
        return file.read().decode("utf-8")
    except UnicodeDecodeError:
        message = "not UTF-8; convert the file, e.g. with: iconv -f latin1 -t utf8"
        raise FormatError(message, file=file.name) from None


def title_of_html(page: str) -> str:
    """The title of an HTML page."""
    found = re.search(r"<title[^<>]*>(.*?)</title\s*>", page, re.IGNORECASE | re.DOTALL)
    return html.unescape(" ".join(found[1].split())) if found else ""


def text_of_html(page: str) -> str:
    """What an HTML page says, without tags, scripts and styles."""
    page = re.sub(r"<!--.*?-->", " ", page, flags=re.S)
    page = re.sub(r"<(script|style|head)\b.*?</\1\s*>", " ", page, flags=re.I | re.S)
    lines = html.unescape(re.sub(r"<[^<>]*>", "\n", page)).split("\n")
    return "\n".join(line for line in (" ".join(each.split()) for each in lines) if line)


def file_bytes(file: str) -> bytes:
    """The bytes of a document, which lie in a file."""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        message = f"the document's bytes cannot be read: {error.strerror}"
        raise InputError(message, file=file) from None


# --- writing --------------------------------------------------------------------------------------


def save_files(documents: Documents, folder: str | Path) -> None:
    """A file for each document: its bytes where it has a file, else its text."""
    target = Path(folder)
    every = [documents[name] for name in documents.index]
    for document in every:
        _refuse(document, folder)
    target.mkdir(parents=True, exist_ok=True)
    for document in every:
        suffix = Path(document.file).suffix if document.file else ".txt"
        (target / f"{document.name}{suffix}").write_bytes(documents.read_bytes(document.name))


def _refuse(document: Document, folder: str | Path) -> None:
    if re.search(r"[/\\\0]|^\.", document.name):
        message = f"{document.name!r} cannot be the name of a file; use the suffix .jsonl"
        raise InputError(message, file=str(folder))
    lost = {"title": document.title, "url": document.url, "media": document.media}
    names = [name for name, text in {**lost, **document.others}.items() if text]
    if names and not document.file:
        message = f"a folder of files cannot hold {' and '.join(names)} of {document.name}"
        raise InputError(f"{message}; use the suffix .jsonl", file=str(folder))
