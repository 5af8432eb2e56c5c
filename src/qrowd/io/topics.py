"""Topics from files, and back: tables, TREC's SGML, XML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from qrowd.data.index import Index
from qrowd.data.topics import TOPIC_TEXTS, Topics
from qrowd.io import records
from qrowd.io.formats.text import text_of
from qrowd.io.markup import (
    Element,
    children,
    elements,
    escaped,
    open_fields,
    plain,
    refuse_unclosed,
)
from qrowd.io.origin import say
from qrowd.io.records import Record
from qrowd.io.source import Source, sources
from qrowd.io.table import say_what_is_odd

SYNONYMS = {
    "topic": "topic topic_id topicid qid query_id queryid number num id",
    "query": "query title text question",
    "description": "description desc",
    "narrative": "narrative narr instructions",
    "category": "category domain",
    "language": "language lang",
}
_OURS = {word: ours for ours, words in SYNONYMS.items() for word in words.split()}
_SGML = {
    "num": "topic",
    "title": "query",
    "desc": "description",
    "narr": "narrative",
    "dom": "category",
    "category": "category",
    "language": "language",
}
_TAG_OF = {ours: tag for tag, ours in _SGML.items() if tag != "dom"}
_LABELS = ("Number", "Topic", "Description", "Narrative", "Domain")
_LABEL = re.compile(rf"\s*({'|'.join(_LABELS)})\s*:\s*", re.IGNORECASE)
_NO_TOPICS = {
    *("doc", "docid", "doc_id", "docno", "document", "assessor", "worker", "grade", "label"),
    *("score", "measure", "task"),
}
_CORPUS = {"title", "text"}  # both are of documents, as in BEIR's corpus
_START = re.compile(rb"<(top|topics?)(\s[^<>]*)?>", re.IGNORECASE)


def matches(source: Source) -> bool:
    """Whether a file looks like topics."""
    if records.form_of(source) == records.MARKUP:
        return bool(_START.search(source.start))
    columns, names = records.columns_if_any(source, SYNONYMS)
    return (
        "topic" in columns and len(columns) > 1 and not _NO_TOPICS & names and not names >= _CORPUS
    )


def read_topics(source: str | Path | Sequence[str | Path]) -> Topics:
    """Topics from a file, a folder, a glob, `-` (stdin), or several of these.

    JSON lines, a JSON array, TSV, CSV or Parquet with a column for the topic's name and any of
    `query description narrative category language`; a name and a query on each line, separated by
    a tab; TREC's SGML (`<top>`) or XML (`<topic>`).
    """
    files = records.of_kind(sources(source), matches)
    texts = records.distinct(_all(files), "topic")
    index, columns = records.columns(texts, TOPIC_TEXTS)
    say_what_is_odd(files[0].name, topics=index)
    return Topics(index, **columns)


def read_topic_list(file: str | Path) -> Index:
    """The names of topics: of a file of topics, else the first word of each line.

    Lines that begin with # are comments; qrels will do.
    """
    (source,) = sources(str(file))
    if matches(source):
        return read_topics(file).index
    lines = source.read().decode("utf-8", errors="replace").splitlines()
    names = [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
    if not names:
        raise source.error("no topics; write one on each line")
    return Index.of(names)


def _all(files: Sequence[Source]) -> Iterator[tuple[str, Record, Source]]:
    for file in files:
        read = _of_markup if records.form_of(file) == records.MARKUP else _of_table
        for record in read(file):
            yield record.texts.pop("topic", ""), record, file


def _of_table(source: Source) -> Iterator[Record]:
    names = records.header_of(source)
    columns = records.columns_of(names, SYNONYMS)
    if "topic" in columns and len(columns) > 1:
        rest = [name for name in names if name not in columns.values()]
        if rest:
            say(f"{source.name}: topics have no place for {', '.join(rest)}: not read")
        yield from (record.renamed(columns) for record in records.read(source))
    elif records.has_no_header(source, names, (2,), SYNONYMS["topic"]):
        yield from records.read(source, ("topic", "query"))
    else:
        raise source.error(
            f"these are no topics: {' '.join(names[:6])}; expected a header with topic and query "
            "(or description, narrative, category, language), a name and a query on each line "
            "separated by a tab, <top> or <topic>",
            line=1,
        )


def _of_markup(source: Source) -> Iterator[Record]:
    text = text_of(source)
    sgml = list(elements(text, "top", source))
    topics = sgml or list(elements(text, "topic", source))
    if not topics:
        raise source.error("no <top> and no <topic> in it; is it the right file?")
    for element in topics:
        texts = _sgml(element) if sgml else _xml(element, source)
        if not texts.get("topic"):
            lost = "<num> in it" if sgml else "number; expected <topic number=...>"
            raise source.error(f"this topic has no {lost}; add one", element.line)
        yield Record(element.line, texts)


def _sgml(element: Element) -> dict[str, str]:
    return {
        _SGML[tag]: plain(_LABEL.sub("", inside, count=1) if _LABEL.match(inside) else inside)
        for tag, inside in open_fields(element)
        if tag in _SGML
    }


def _xml(element: Element, source: Source) -> dict[str, str]:
    refuse_unclosed(element, tuple(_OURS), source)
    stated = [*element.attributes.items(), *((n, plain(x)) for n, x in children(element))]
    texts: dict[str, str] = {}
    for name, text in stated:
        ours = _OURS.get(name.removeprefix("xml:"))
        if ours:
            texts.setdefault(ours, text)
    return texts


# --- writing --------------------------------------------------------------------------------------


def encoded_topics(topics: Topics, form: str, name: str) -> bytes:
    """The bytes of a file: tsv, csv, json, jsonl, parquet, xml, or TREC's SGML (trec)."""
    if form not in ("xml", "trec"):
        return records.encoded_texts(topics, form, name)
    rows = topics.to_polars().iter_rows(named=True)
    if form == "trec":
        return "".join(_as_sgml(row) for row in rows).encode()
    return f"<topics>\n{''.join(_as_xml(row) for row in rows)}</topics>\n".encode()


def _as_sgml(row: dict[str, str]) -> str:
    fields = (f"<{_TAG_OF[name]}>{_no_label(text)}</{_TAG_OF[name]}>" for name, text in row.items())
    return "<top>\n" + "\n".join(fields) + "\n</top>\n\n"


def _no_label(text: str) -> str:
    """A text that starts with what TREC puts before one is written so that it is kept."""
    inside = escaped(text)
    return f"&#{ord(inside[0])};{inside[1:]}" if _LABEL.match(inside) else inside


def _as_xml(row: dict[str, str]) -> str:
    number = html.escape(row.pop("topic"))
    fields = "".join(f"  <{name}>{escaped(text)}</{name}>\n" for name, text in row.items() if text)
    return f'<topic number="{number}">\n{fields}</topic>\n'
