"""Documents from files, and back: tables, TREC's SGML, XML, folders; and their vectors."""

from __future__ import annotations

import html
import mimetypes
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from qrowd.content.vectors import Vectors
from qrowd.data.documents import DOCUMENT_TEXTS, Document, Documents
from qrowd.errors import FormatError, InputError
from qrowd.io import records, topics
from qrowd.io.formats.text import NOT_UTF8, text_of
from qrowd.io.markup import (
    Element,
    children,
    elements,
    escaped,
    first_inside,
    plain,
    refuse_unclosed,
    without,
    without_comments,
)
from qrowd.io.records import Record
from qrowd.io.roles import recognised
from qrowd.io.source import COMPRESSED, Source, sources
from qrowd.io.table import say_what_is_odd

SYNONYMS = {
    "doc": "doc doc_id docid docno doc_no document document_id passage_id pid id",
    "text": "text body contents content abstract passage",
    "title": "title headline",
    "url": "url uri",
    "media": "media media_type mime_type content_type",
    "file": "file path",
}
_OURS = {word: ours for ours, words in SYNONYMS.items() for word in words.split()}
_NO_DOCUMENTS = {
    *("grade", "label", "assessor", "worker", "score", "rank", "place", "better", "measure"),
    *("topic", "topic_id", "qid", "query_id"),
}
_PLAIN = {2: ("doc", "text"), 3: ("doc", "title", "text"), 4: ("doc", "url", "title", "text")}
_FURTHER = ("doc", "title", "text", "further")  # four columns without an address
_ADDRESS = re.compile(r"(\S+[.:]\S+)?")  # or none

_DOC = re.compile(rb"<doc(\s[^<>]*)?>", re.IGNORECASE)
_NAMES = ("docno", "docid", "id")
_APART = ("dochdr", "dochead", *_NAMES)
_TAGS = {name: name for name in DOCUMENT_TEXTS} | {"headline": "title"}

_TYPES = mimetypes.MimeTypes()
_COLLECTIONS = (".jsonl", ".ndjson", ".json", ".tsv", ".csv", ".parquet", ".pq", ".sgml", ".trec")
_COLLECTION = re.compile(
    rb"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?<(docs?|collection)\b", re.IGNORECASE | re.DOTALL
)


def matches(source: Source) -> bool:
    """Whether a file looks like documents."""
    if records.form_of(source) == records.MARKUP:
        return bool(_DOC.search(source.start))
    columns, names = records.columns_if_any(source, SYNONYMS)
    texts = {"text", "file", "title", "url"} & columns
    judged = len(recognised(list(names), ("assessor", "grade"))) == 2
    return "doc" in columns and bool(texts) and not _NO_DOCUMENTS & names and not judged


def read_documents(source: str | Path | Sequence[str | Path]) -> Documents:
    """Documents from a file, a folder, a glob, `-` (stdin), or several of these.

    JSON lines, a JSON array, TSV, CSV or Parquet with a column for the document's name and any of
    `text title url media file`, all other columns being further texts; without a header a line has
    name and text, or name, title and text, or name, address, title and text (without an address:
    name, title, text and a further one), separated by tabs;
    TREC's SGML or XML (`<DOC>`). In a folder of other files each file is a document: text is read,
    of all else (`documents.read_bytes(name)`) nothing until somebody asks. `file` names a file
    relative to the one that names it.
    """
    files = sources(source)
    if are_files(files):
        texts = _of_files(files)
    else:
        held = records.of_kind(files, lambda file: matches(file) and not topics.matches(file))
        texts = records.distinct(_all(held), "document")
    names = dict.fromkeys(name for document in texts.values() for name in document)
    index, columns = records.columns(texts, ("text", *names))
    say_what_is_odd(files[0].name, documents=index)
    named = {name: columns.pop(name) for name in DOCUMENT_TEXTS if name in columns}
    return Documents(index, **named, others=columns, fetch=_file_bytes)


def _all(files: Sequence[Source]) -> Iterator[tuple[str, Record, Source]]:
    for file in files:
        folder = file.path.parent if file.path else Path()
        read = _of_markup if records.form_of(file) == records.MARKUP else _of_table
        for record in read(file):
            if record.texts.get("file"):
                record.texts["file"] = str(folder / record.texts["file"])
            yield record.texts.pop("doc", ""), record, file


def _of_table(source: Source) -> Iterator[Record]:
    names = records.header_of(source)
    columns = records.columns_of(names, SYNONYMS)
    if "doc" in columns and len(names) > 1:
        columns |= {name: name for name in names if name not in columns.values()}
        for record in records.read(source):
            rest = {name: name for name in record.texts if name not in columns.values()}
            yield record.renamed(columns | rest)
    elif records.has_no_header(source, names, _PLAIN, SYNONYMS["doc"]):
        plain = _PLAIN[len(names)]
        if "url" in plain and not _ADDRESS.fullmatch(names[plain.index("url")].strip()):
            plain = _FURTHER
        yield from records.read(source, plain)
    else:
        raise source.error(
            f"these are no documents: {' '.join(names)[:60]}; expected a header with doc and text, "
            "a name and a text on each line separated by a tab, or <DOC>",
            line=1,
        )


def _of_markup(source: Source) -> Iterator[Record]:
    element = None
    for element in elements(text_of(source), "doc", source):
        refuse_unclosed(element, (*_NAMES, *_TAGS), source)
        texts = _fields(element)
        if not texts.get("doc"):
            raise source.error("this document has no <DOCNO>; add one", element.line)
        yield Record(element.line, texts)
    if element is None:
        raise source.error("no <DOC> in it; is it the right file?")


def _fields(element: Element) -> dict[str, str]:
    """The texts of one <DOC>: without <TEXT>, all that is left after names and headers."""
    inside = list(children(element))
    has_text = any(tag == "text" for tag, _ in inside)
    texts = {"doc": next((plain(x) for tag, x in inside if tag in _NAMES), "")}
    texts["doc"] = texts["doc"] or next(
        (element.attributes[name] for name in _NAMES if name in element.attributes), ""
    )
    for tag, part in inside:
        name = _TAGS.get(tag) or (tag if has_text and tag not in _APART else "")
        if name:
            texts[name] = f"{texts[name]}\n{plain(part)}" if name in texts else plain(part)
    if not has_text:
        title = texts.get("title") or _title_of_html(element.inside)
        rest = without(without(element.inside, *_APART, *_TAGS), "script", "style")
        return texts | {"title": title, "text": plain(rest)}
    return texts


# --- a folder of files, each of them a document ---------------------------------------------------


def are_files(files: Sequence[Source]) -> bool:
    """Whether each of these is a document, and none holds many of them."""
    return not any(_holds_many(file) for file in files)


def _holds_many(file: Source) -> bool:
    if file.path is None or file.path.suffix.lower() in (*COMPRESSED, *_COLLECTIONS):
        return True
    return bool(_COLLECTION.match(file.start.lstrip()))


def _of_files(files: Sequence[Source]) -> dict[str, dict[str, str]]:
    """The texts of each document; its name is the file's without its suffix."""
    texts: dict[str, dict[str, str]] = {}
    holders: dict[str, Source] = {}
    for file in files:
        assert file.path is not None
        media = _TYPES.guess_type(file.path.name)[0]
        name = file.path.stem if media else file.path.name
        if name in holders:
            raise file.error(f"document {name} is also {holders[name].name}; rename one of them")
        holders[name] = file
        texts[name] = _texts(file, media or "text/plain")
    return texts


def _texts(file: Source, media: str) -> dict[str, str]:
    if media == "text/plain":
        return {"text": _decoded(file)}
    about = {"media": media, "file": file.name}
    if media not in ("text/html", "application/xhtml+xml"):
        return {"text": _decoded(file), **about} if media.startswith("text/") else about
    page = _decoded(file)
    return {"text": text_of_html(page), "title": _title_of_html(page), **about}


def _decoded(file: Source) -> str:
    try:
        return file.read().decode("utf-8")
    except UnicodeDecodeError:
        raise file.error(NOT_UTF8) from None


def _title_of_html(page: str) -> str:
    return html.unescape(" ".join(first_inside(page, "title").split()))


def text_of_html(page: str) -> str:
    """What an HTML page says, without tags, scripts and styles."""
    page = without(without_comments(page, blank=True), "script", "style", "head")
    lines = html.unescape(re.sub(r"<[^<>]*>", "\n", page)).split("\n")
    return "\n".join(" ".join(line.split()) for line in lines if line.strip())


def _file_bytes(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        message = f"the document's bytes cannot be read: {error.strerror}"
        raise InputError(message, file=file) from None


# --- writing --------------------------------------------------------------------------------------


def encoded_documents(documents: Documents, form: str, name: str) -> bytes:
    """The bytes of a file: tsv, csv, json, jsonl, parquet, xml, or TREC's SGML (trec).

    Names of files are written relative to the folder of the file that is written.
    """
    if any(documents.file):
        folder = Path(name).resolve().parent
        files = [file and os.path.relpath(Path(file).resolve(), folder) for file in documents.file]
        documents = replace(documents, file=np.array(files, object))
    for other in documents.others:
        ours = _OURS.get(other.lower())
        if ours and ours not in ("doc", "text", *documents.known):
            message = f"{other!r} would be read back as {ours}; give that text another name"
            raise InputError(message, file=name)
    if form not in ("xml", "trec"):
        return records.encoded_texts(documents, form, name)
    for other in documents.others:
        if other in (*_APART, *_TAGS) or not re.fullmatch(r"[a-z][a-z0-9_.-]*", other):
            message = f"{other!r} cannot be the name of an element; use the suffix .jsonl"
            raise InputError(message, file=name)
    body = "".join(_as_markup(row) for row in documents.to_polars().iter_rows(named=True))
    return (f"<docs>\n{body}</docs>\n" if form == "xml" else body).encode()


def _as_markup(row: dict[str, str]) -> str:
    row = {"DOCNO": row.pop("doc"), **row}
    fields = "".join(
        f"<{tag}>{escaped(text)}</{tag}>\n" for tag, text in row.items() if text or tag == "text"
    )
    return f"<DOC>\n{fields}</DOC>\n"


def save_files(documents: Documents, folder: str | Path) -> None:
    """A file for each document: its bytes where it has a file, else its text."""
    target = Path(folder)
    contents = [documents[name] for name in documents.index]
    for document in contents:
        _refuse(document, folder)
    target.mkdir(parents=True, exist_ok=True)
    for document in contents:
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


# --- vectors --------------------------------------------------------------------------------------


_BESIDE = (".ids", ".txt", ".ids.txt")


def read_vectors(path: str | Path) -> Vectors:
    """Vectors of documents: `x.npy`, one row each, and `x.ids` (or `x.txt`), a name on each line.

    Embeddings of any model will do; rows are scaled to length 1.
    """
    source = Source(str(Path(path)), Path(path))
    rows = _rows(source)
    files = [Path(path).with_suffix(suffix) for suffix in _BESIDE]
    beside = next((file for file in files if file.is_file()), None)
    if beside is None:
        message = "whose vectors are these? Put the documents' names, one per line, into"
        raise source.error(f"{message} {files[0].name} beside it")
    names = beside.read_text(encoding="utf-8").split("\n")
    names = [name.strip() for name in (names[:-1] if names and not names[-1] else names)]
    if len(names) != len(rows):
        message = f"{len(names)} names for {len(rows)} vectors in {Path(path).name}"
        raise FormatError(f"{message}; one name per row", file=str(beside))
    try:
        return Vectors.of(names, rows)
    except InputError as error:
        at = (str(beside), error.row + 1) if error.row >= 0 else (source.name, 0)
        raise error.at(*at) from None


def _rows(source: Source) -> Any:
    try:
        rows = np.load(source.name, allow_pickle=False)
    except OSError as error:
        raise source.error(f"cannot be opened: {error.strerror}") from None
    except ValueError:
        raise source.error("not an array of numbers as numpy.save writes it (.npy)") from None
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "fiu":
        raise source.error("expected a table of numbers in a .npy file, one row per document")
    return rows
