"""Nouns to files, in the form that the file's suffix names."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.documents import Documents
from qrowd.data.frames import Framed, polars_frame
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.orders import Orders
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.scores import Scores
from qrowd.data.topics import Topics
from qrowd.errors import InputError, UsageError
from qrowd.io.atomic import written
from qrowd.io.document_files import save_files
from qrowd.io.documents import encoded_documents
from qrowd.io.orders import frame_of
from qrowd.io.source import zstd
from qrowd.io.topics import encoded_topics

if TYPE_CHECKING:
    import polars as pl

TEXT_LIMIT = 5_000_000
_SUFFIXES = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xml": "xml",
    **dict.fromkeys((".qrels", ".qrel", ".trec", ".run", ".res", ".sgml"), "trec"),
}
_TREC = (Qrels, RunSet)


def save(
    noun: Any, path: str | Path, *, ties: str | None = None, seed: int = 0, format: str = ""
) -> None:
    """Write a noun to a file: all of it, or nothing.

    The suffix says how: `.tsv .csv .json .jsonl .parquet` are tables with a header, `.qrels .run
    .trec` TREC's form; any other is TREC's form for qrels and runs, else TSV. `.gz .xz .bz2 .zst`
    after it compress. `ties` and `seed` decide equal grades of a `Merged`. Topics and documents
    have `.xml` and TREC's SGML too (`.sgml`, `.trec`); a folder (`documents/`) gets a file for each
    document.
    """
    if isinstance(noun, Documents) and (str(path).endswith("/") or Path(path).is_dir()):
        save_files(noun, path)
        return
    with written(path) as beside:
        beside.write_bytes(encoded_noun(noun, str(path), ties=ties, seed=seed, format=format))


def encoded_noun(
    noun: Any, name: str, *, ties: str | None = None, seed: int = 0, format: str = ""
) -> bytes:
    """The bytes that `save` writes to a file of this name."""
    inner, squeeze = _compression(name)
    kind = format or _SUFFIXES.get(Path(inner).suffix.lower(), "")
    if hasattr(noun, "to_html") and not isinstance(noun, Framed):
        return squeeze(noun.to_html().encode())
    if isinstance(noun, Topics):
        return squeeze(encoded_topics(noun, kind or "jsonl", name))
    if isinstance(noun, Orders):
        return squeeze(encoded_frame(frame_of(noun, name), kind or "tsv", name))
    if isinstance(noun, Documents):
        return squeeze(encoded_documents(noun, kind or "jsonl", name))
    if isinstance(noun, Merged):
        noun = replace(noun, decided=noun.grades(ties, seed))
    if not isinstance(noun, Framed):
        raise UsageError(f"cannot save a {type(noun).__name__}")
    kind = kind or ("trec" if isinstance(noun, _TREC) else "tsv")
    _refuse_too_many(noun, kind, name)
    return squeeze(_encode(noun, kind, name))


def _encode(noun: Framed, kind: str, name: str) -> bytes:
    if kind == "trec":
        return _trec(noun, name)
    return encoded_frame(polars_frame(noun.file_columns()), kind, name)


def _refuse_too_many(noun: Framed, kind: str, name: str) -> None:
    if isinstance(noun, Scores) and kind != "parquet" and noun.values.size > TEXT_LIMIT:
        message = f"{noun.values.size} values are too many for text; use the suffix .parquet"
        raise InputError(message, file=name)


def encoded_frame(frame: pl.DataFrame, kind: str, name: str) -> bytes:
    """A data frame as the bytes of a file."""
    import io

    into = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(into)
    elif kind == "jsonl":
        frame.write_ndjson(into)
    elif kind == "json":
        frame.write_json(into)
    elif kind == "csv":
        frame.write_csv(into)
    else:
        _refuse_blanks(frame, "\t\n\r", name)
        frame.write_csv(into, separator="\t", quote_style="never")
    return into.getvalue()


def _trec(noun: Framed, name: str) -> bytes:
    import io

    import polars as pl

    frame = noun.to_polars()
    if isinstance(noun, Qrels):
        frame = frame.select("topic", pl.lit("0").alias("zero"), "doc", "grade")
    elif isinstance(noun, RunSet):
        frame = frame.select("topic", pl.lit("Q0").alias("Q0"), "doc", "rank", "score", "run")
    elif isinstance(noun, Judgements):
        frame = _four_columns(frame, name)
    else:
        what = type(noun).__name__
        raise UsageError(f"{name}: {what} has no TREC form; use .tsv, .csv, .jsonl, .parquet")
    _refuse_blanks(frame, " \t\n\r", name)
    into = io.BytesIO()
    frame.write_csv(into, separator=" ", quote_style="never", include_header=False)
    return into.getvalue()


def _four_columns(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    lost = frame.columns[4:]
    if lost:
        message = f"TREC's four columns cannot hold {' and '.join(lost)}; use the suffix .tsv"
        raise InputError(message, file=name)
    return frame.select("topic", "assessor", "doc", "grade")


def _refuse_blanks(frame: pl.DataFrame, bad: str, name: str) -> None:
    """Names that would be read back as two fields, or two lines."""
    import polars as pl

    for column in frame.select(pl.col(pl.String)):
        held = column.str.contains(f"[{bad}]|^$")
        if held.any():
            value = column[int(np.argmax(held.to_numpy()))]
            raise InputError(
                f"{column.name} {value!r} holds a blank, tab or line end (or nothing), which this "
                f"form cannot hold; use the suffix .csv, .jsonl or .parquet",
                file=name,
            )


def _compression(name: str) -> tuple[str, Callable[[bytes], bytes]]:
    """The name without the suffix of a compression, and what compresses."""
    modules = {".gz": "gzip", ".xz": "lzma", ".bz2": "bz2", ".zst": "zstd"}
    suffix = Path(name).suffix.lower()
    if suffix not in modules:
        return name, bytes
    module: Any = zstd() if suffix == ".zst" else importlib.import_module(modules[suffix])
    inner = name[: -len(suffix)]
    if suffix == ".gz":
        return inner, lambda data: bytes(module.compress(data, mtime=0))
    return inner, module.compress


def save_table(columns: Mapping[str, Sequence[Any]], path: str | Path) -> None:
    """Write a table of named columns: all of it, or nothing; the suffix says how (else TSV)."""
    import polars as pl

    inner, squeeze = _compression(str(path))
    kind = _SUFFIXES.get(Path(inner).suffix.lower(), "tsv")
    frame = pl.DataFrame({name: list(column) for name, column in columns.items()}, strict=False)
    with written(path) as beside:
        beside.write_bytes(squeeze(encoded_frame(frame, kind, str(path))))
