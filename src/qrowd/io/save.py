"""Nouns to files, in the form that the file's suffix names."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from qrowd.data.documents import Documents
from qrowd.data.frames import Framed, polars_frame
from qrowd.data.merged import Merged
from qrowd.data.orders import Orders
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.scores import Scores
from qrowd.data.topics import Topics
from qrowd.errors import InputError, UsageError
from qrowd.io.atomic import write
from qrowd.io.documents import encoded_documents, save_files
from qrowd.io.formats import FORMATS, format_to_write
from qrowd.io.formats.format import Format
from qrowd.io.orders import frame_of
from qrowd.io.origin import say
from qrowd.io.provenance import encoded_provenance
from qrowd.io.source import COMPRESSED, provenance_path, zstd
from qrowd.io.topics import encoded_topics

TEXT_LIMIT = 5_000_000
_TREC = (Qrels, RunSet)
_MARKUP = {".xml": "xml", ".sgml": "trec"}  # of topics and documents
_SILENT_SUFFIXES = ("", ".txt")  # suffixes that say nothing


def save(
    noun: Any, path: str | Path, *, ties: str | None = None, seed: int = 0, format: str = ""
) -> None:
    """Write a noun to a file: all of it, or nothing.

    The suffix says how: `.tsv .csv .json .jsonl .parquet` are tables with a header, `.qrels .run
    .trec` TREC's form; without one it is TREC's form for qrels and runs, else TSV. `.gz .xz .bz2
    .zst` after it compress. `ties` and `seed` decide equal grades of a `Merged`. Topics and
    documents have `.xml` and TREC's SGML too (`.sgml`, `.trec`); a folder (`documents/`) gets a
    file for each document. Beside labels whose provenance is known goes a file that says it,
    `merged.qrels.provenance.json`; one that was there before goes away with what it was about.
    """
    if isinstance(noun, Documents) and (str(path).endswith("/") or Path(path).is_dir()):
        save_files(noun, path)
        return
    content = encoded_noun(noun, str(path), ties=ties, seed=seed, format=format)
    write(path, content)
    if isinstance(noun, Merged):
        provenance = noun.label_provenance(ties, seed)
    else:
        provenance = getattr(noun, "provenance", None)
    if provenance is not None and Path(path).is_file():  # not /dev/null, nor a pipe
        write(provenance_path(Path(path)), encoded_provenance(provenance, content))


def encoded_noun(
    noun: Any, name: str, *, ties: str | None = None, seed: int = 0, format: str = ""
) -> bytes:
    """The bytes that `save` writes to a file of this name."""
    plain_name, squeeze = _compression(name)
    if hasattr(noun, "to_html") and not isinstance(noun, Framed):  # a report is always a page
        return squeeze(noun.to_html().encode())
    if isinstance(noun, Topics | Documents):
        return squeeze(_encoded_texts(noun, plain_name, name, format))
    if isinstance(noun, Orders):
        return squeeze(_table_format(plain_name, format, "tsv").write(frame_of(noun, name), name))
    if isinstance(noun, Merged):
        noun = replace(noun, decided=noun.grades(ties, seed))
    if not isinstance(noun, Framed):
        raise UsageError(f"cannot save a {type(noun).__name__}")
    form = _table_format(plain_name, format, "trec" if isinstance(noun, _TREC) else "tsv")
    if isinstance(noun, Scores) and form.name != "parquet" and noun.values.size > TEXT_LIMIT:
        message = f"{noun.values.size} values are too many for text; use the suffix .parquet"
        raise InputError(message, file=name)
    return squeeze(form.write(polars_frame(noun.file_columns()), name))


def _encoded_texts(noun: Topics | Documents, plain_name: str, name: str, stated: str) -> bytes:
    form = format_to_write(plain_name)
    kind = (
        stated or _MARKUP.get(Path(plain_name).suffix.lower()) or (form.name if form else "jsonl")
    )
    if isinstance(noun, Topics):
        return encoded_topics(noun, kind, name)
    return encoded_documents(noun, kind, name)


def _table_format(name: str, stated: str, usual: str) -> Format:
    """The format that is stated, or that the suffix names, or the usual one."""
    if stated and (stated not in FORMATS or not FORMATS[stated].suffixes):
        raise UsageError(f"format must be one of {', '.join(FORMATS)}, got {stated!r}")
    form = FORMATS[stated] if stated else format_to_write(name)
    suffix = Path(name).suffix.lower()
    if form is None and suffix not in _SILENT_SUFFIXES:
        suffixes = " ".join(chain.from_iterable(known.suffixes for known in FORMATS.values()))
        kind = "TREC's form" if usual == "trec" else usual.upper()
        say(f"{name}: the suffix {suffix} is unknown; written as {kind} (known: {suffixes})")
    return form or FORMATS[usual]


def _compression(name: str) -> tuple[str, Callable[[bytes], bytes]]:
    """The name without the suffix of a compression, and what compresses."""
    modules = {".gz": "gzip", ".xz": "lzma", ".bz2": "bz2"}
    suffix = Path(name).suffix.lower()
    if suffix not in COMPRESSED:
        return name, bytes
    module: Any = zstd() if suffix == ".zst" else importlib.import_module(modules[suffix])
    plain_name = name[: -len(suffix)]
    if suffix == ".gz":
        # without the time, so that the same data give the same bytes
        return plain_name, lambda data: bytes(module.compress(data, mtime=0))
    return plain_name, module.compress


def format_of_table(name: str) -> Format:
    """The format that a file's suffix names, compressed or not; else TSV."""
    return _table_format(_compression(name)[0], "", "tsv")


def encoded_table(columns: Mapping[str, Sequence[Any]], name: str) -> bytes:
    """The bytes that `save_table` writes to a file of this name."""
    import polars as pl

    frame = pl.DataFrame({name: list(column) for name, column in columns.items()}, strict=False)
    text = pl.col(pl.String)
    frame = frame.with_columns(pl.when(text != "").then(text))  # an empty cell is no value
    return _compression(name)[1](format_of_table(name).write(frame, name))


def save_table(columns: Mapping[str, Sequence[Any]], path: str | Path) -> None:
    """Write a table of named columns: all of it, or nothing; the suffix says how (else TSV)."""
    write(path, encoded_table(columns, str(path)))
