"""Documents from files, and back: tables, TREC's SGML, XML, a folder with a file for each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from qrowd.data.documents import DOCUMENT_TEXTS, Documents
from qrowd.data.index import Index
from qrowd.errors import FormatError, InputError
from qrowd.io.document_files import are_files, file_bytes, of_files, title_of_html
from qrowd.io.markup import Element, children, elements, escaped, plain, unclosed
from qrowd.io.records import (
    MARKUP,
    Record,
    columns_if_any,
    columns_of,
    distinct,
    encoded_texts,
    folder_of,
    form_of,
    header_of,
    records,
    renamed,
    text_of,
)
from qrowd.io.source import Source, sources

SYNONYMS = {
    "doc": "doc doc_id docid docno doc_no document document_id passage_id pid id",
    "text": "text body contents content abstract passage",
    "title": "title headline",
    "url": "url uri",
    "media": "media media_type mime_type content_type",
    "file": "file path",
}
_PLAIN = {2: ("doc", "text"), 3: ("doc", "title", "text"), 4: ("doc", "url", "title", "text")}
_NAMES = ("docno", "docid", "id")
_OWN = {
    "text": "text",
    "title": "title",
    "headline": "title",
    "url": "url",
    "media": "media",
    "file": "file",
}
_APART = ("dochdr", "dochead", *_NAMES)
_START = re.compile(rb"<doc(\s[^<>]*)?>", re.IGNORECASE)
_NO_DOCUMENTS = {
    *("grade", "label", "assessor", "worker", "score", "rank", "place", "better", "measure"),
    *("topic", "topic_id", "qid", "query_id"),
}


def matches(source: Source) -> bool:
    """Whether a file looks like documents."""
    if form_of(source) == MARKUP:
        return bool(_START.search(source.start))
    found, names = columns_if_any(source, SYNONYMS)
    texts = {"text", "file", "title", "url"} & found
    return "doc" in found and bool(texts) and not _NO_DOCUMENTS & names


def read_documents(source: str | Path | Sequence[str | Path]) -> Documents:
    """Documents from a file, a folder, a glob, `-` (stdin), or several of these.

    JSON lines, a JSON array, TSV, CSV or Parquet with a column for the document's name and any of
    `text title url media file`, all other columns being further texts; without a header a line has
    name and text, or name, title and text, or name, address, title and text, separated by tabs;
    TREC's SGML or XML (`<DOC>`). In a folder of other files each file is a document: text is read,
    of all else (`documents.read_bytes(name)`) nothing until somebody asks. `file` names a file
    relative to the one that names it.
    """
    files = sources(source)
    found = of_files(files) if are_files(files) else distinct(_all(files), "document")
    index = Index.of(found)
    names = dict.fromkeys(name for texts, _ in found.values() for name in texts)
    columns = {
        name: np.array([found[doc][0].get(name, "") for doc in index], dtype=object)
        for name in ("text", *names)
    }
    own = {name: columns.pop(name) for name in DOCUMENT_TEXTS if name in columns}
    return Documents(index, **own, others=columns, fetch=file_bytes)


def _all(files: Sequence[Source]) -> Iterator[tuple[str, Record, Source]]:
    for file in files:
        for record in _of_markup(file) if form_of(file) == MARKUP else _of_table(file):
            if record.texts.get("file"):
                record.texts["file"] = str(folder_of(file) / record.texts["file"])
            yield record.texts.pop("doc", ""), record, file


def _of_table(source: Source) -> Iterator[Record]:
    names = header_of(source)
    columns = columns_of(names, SYNONYMS)
    if "doc" in columns and len(names) > 1:
        columns |= {name: name for name in names if name not in columns.values()}
        for record in records(source):
            rest = {name: name for name in record.texts if name not in columns.values()}
            yield renamed(record, columns | rest)
    elif len(names) in _PLAIN and form_of(source) == "tsv":
        yield from records(source, _PLAIN[len(names)])
    else:
        raise FormatError(
            f"these are no documents: {' '.join(names)[:60]}; expected a header with doc and text, "
            "a name and a text on each line separated by a tab, or <DOC>",
            file=source.name,
            line=1,
        )


def _of_markup(source: Source) -> Iterator[Record]:
    none = True
    for element in elements(text_of(source), "doc", source.name):
        none = False
        broken = unclosed(element, (*_NAMES, *_OWN), source.name)
        if broken:
            raise broken
        texts = _fields(element)
        if not texts.get("doc"):
            message = "this document has no <DOCNO>; add one"
            raise FormatError(message, file=source.name, line=element.line)
        yield Record(element.line, texts)
    if none:
        raise FormatError("no <DOC> in it; is it the right file?", file=source.name)


def _fields(element: Element) -> dict[str, str]:
    """The texts of one <DOC>: without <TEXT>, all that is left after names and headers."""
    inside = list(children(element))
    has_text = any(tag == "text" for tag, _ in inside)
    texts = {"doc": next((plain(x) for tag, x in inside if tag in _NAMES), "")}
    texts["doc"] = texts["doc"] or next(
        (element.attributes[name] for name in _NAMES if name in element.attributes), ""
    )
    for tag, part in inside:
        name = _OWN.get(tag) or (tag if has_text and tag not in _APART else "")
        if name:
            texts[name] = f"{texts[name]}\n{plain(part)}" if name in texts else plain(part)
    if not has_text:
        title = texts.get("title") or title_of_html(element.inside)
        return texts | {"title": title, "text": _rest(element)}
    return texts


def _rest(element: Element) -> str:
    apart = "|".join([*_APART, *_OWN])
    rest = re.sub(rf"<({apart})(\s[^<>]*)?>.*?</\1\s*>", " ", element.inside, flags=re.I | re.S)
    return plain(re.sub(r"<(script|style)\b.*?</\1\s*>", " ", rest, flags=re.I | re.S))


# --- writing --------------------------------------------------------------------------------------


def encoded_documents(documents: Documents, form: str, name: str) -> bytes:
    """The bytes of a file: tsv, csv, json, jsonl, parquet, xml, or TREC's SGML (trec).

    Names of files are written relative to the folder of the file that is written.
    """
    documents = _relative(documents, name)
    _refuse_synonyms(documents, name)
    if form not in ("xml", "trec"):
        return encoded_texts(documents, form, name)
    rows = documents.to_polars().iter_rows(named=True)
    _refuse_tags(documents, name)
    body = "".join(_as_markup(row) for row in rows)
    return (f"<docs>\n{body}</docs>\n" if form == "xml" else body).encode()


def _relative(documents: Documents, name: str) -> Documents:
    if not any(documents.file):
        return documents
    folder = Path(name).resolve().parent
    files = [
        os.path.relpath(Path(file).resolve(), folder) if file else "" for file in documents.file
    ]
    return replace(documents, file=np.array(files, object))


def _refuse_synonyms(documents: Documents, name: str) -> None:
    known = {word: ours for ours, words in SYNONYMS.items() for word in words.split()}
    for other in documents.others:
        ours = known.get(other.lower())
        if ours and ours not in ("doc", "text", *documents.known):
            message = f"{other!r} would be read back as {ours}; give that text another name"
            raise InputError(message, file=name)


def _refuse_tags(documents: Documents, name: str) -> None:
    for other in documents.others:
        known = {*_APART, *_OWN}
        if other in known or not re.fullmatch(r"[a-z][a-z0-9_.-]*", other):
            message = f"{other!r} cannot be the name of an element; use the suffix .jsonl"
            raise InputError(message, file=name)


def _as_markup(row: dict[str, str]) -> str:
    fields = "".join(
        f"<{tag}>{escaped(text)}</{tag}>\n"
        for tag, text in (("docno" if name == "doc" else name, text) for name, text in row.items())
        if text or tag == "text"
    )
    return f"<DOC>\n{fields}</DOC>\n".replace("docno>", "DOCNO>")
