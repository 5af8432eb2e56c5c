"""Where bytes come from: files, folders, globs, stdin, zips, compressed or not."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import importlib
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from glob import has_magic, iglob
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from qrowd.errors import FormatError, InputError, MissingExtraError

STDIN = "-"
PROVENANCE = ".provenance.json"  # after the name of labels: the file that says where they come from
START = 1 << 16
MOST_UNPACKED = 2**29  # bytes of a file that a stranger has sent
MOST_ROWS = 20_000_000
MOST_IN_ZIP = 2**31
_ZIP = b"PK\x03\x04"
_WORKBOOK = "[Content_Types].xml"
_HIDDEN = re.compile(r"(^|/)(\.|__MACOSX/)")
_PART = re.compile(r"(?i)(train|training|dev|val|validation|test)|.*-\d+-of-\d+")
_HEAD = 6
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# RuntimeError: a password; NotImplementedError (one of them): a way of packing that we do not know
_DAMAGE = (EOFError, OSError, ValueError, RuntimeError, lzma.LZMAError, zlib.error)
BROKEN_ZIP = (zipfile.BadZipFile, *_DAMAGE)
COMPRESSED = (".gz", ".xz", ".zst", ".bz2")
_PLAIN_SUFFIXES = (
    *(".tsv", ".csv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".pq"),
    *(".qrels", ".qrel", ".run", ".res", ".trec"),
)
_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "lzma", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True)
class Source:
    """One file, or stdin (path None); `name` is what messages call it.

    What can be read once only (stdin, a pipe, `<(zcat runs.gz)`) is opened once, and kept.
    """

    name: str
    path: Path | None
    content: bytes | None = None  # of a file in a zip

    @property
    def named(self) -> bool:
        """Whether it is a file, whose name may say something; stdin has none."""
        return self.path is not None or self.content is not None

    @cached_property
    def _kept(self) -> bytes | None:
        """All bytes of what can be read once only; nothing of a file, which can be read again."""
        if self.content is not None:
            return self.content
        if self.path is None:
            return _all_of_stdin(sys.stdin)
        return None if self.path.is_file() else self._opened(lambda path: path.read_bytes())

    @cached_property
    def head(self) -> bytes:
        """The first bytes as they are."""
        if self._kept is not None:
            return self._kept[:_HEAD]
        return self._opened(_head_of)

    def _opened(self, reading: Callable[[Path], bytes]) -> bytes:
        assert self.path is not None
        try:
            return reading(self.path)
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror}") from None

    def error(self, message: str, line: int = 0) -> FormatError:
        """An error in this file, on this line."""
        return FormatError(message, file=self.name, line=line)

    @property
    def compression(self) -> str:
        """How the bytes are compressed, by the first of them; "" if they are not."""
        head = self.head
        return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")

    @cached_property
    def start(self) -> bytes:
        """The first bytes, decompressed, as UTF-8."""
        if self._kept is None and self.path is not None and not self.compression:
            start = self._opened(lambda path: _head_of(path, START))
            if not start.startswith(_UTF16):
                return start.removeprefix(codecs.BOM_UTF8)
        whole = self.read()
        vars(self)["_unpacked"] = whole  # all of it is likely to be read next
        return whole[:START]

    def read(self) -> bytes:
        """All bytes, decompressed, as UTF-8. Those of a file are not kept: ask once."""
        unpacked: bytes | None = vars(self).pop("_unpacked", None)
        if unpacked is not None:
            return unpacked
        kept = self._kept
        raw = self._opened(lambda path: path.read_bytes()) if kept is None else kept
        data = self._unpack(raw)
        if not data.startswith(_UTF16):
            return data.removeprefix(codecs.BOM_UTF8)
        try:
            return data.decode("utf-16").encode()
        except UnicodeError:
            raise self.error("this starts as UTF-16 but is not; save it as UTF-8") from None

    def _unpack(self, raw: bytes) -> bytes:
        if not self.compression:
            return raw
        decompress, damage = _decompressor(self.compression)
        try:
            return decompress(raw)
        except damage:
            raise self.damaged() from None

    def damaged(self) -> FormatError:
        """The error about a compressed file that cannot be unpacked."""
        shown = {"lzma": "xz", "zstd": "zst"}.get(self.compression, self.compression)
        return self.error(f"the {shown} file is damaged or cut short; fetch or make it again")

    @property
    def plain_path(self) -> Path | None:
        """The path, if the file can be read from it as it is."""
        as_it_is = self._kept is None and not self.compression
        return self.path if as_it_is and not self.head.startswith(_UTF16) else None


def _head_of(path: Path, size: int = _HEAD) -> bytes:
    with path.open("rb") as file:
        return file.read(size)


@lru_cache(maxsize=1)
def _all_of_stdin(stream: TextIO | None) -> bytes:
    """What stdin holds, which can be read once only."""
    if stream is None or stream.closed:
        raise FormatError("there is nothing to read from; name a file instead of -", file="stdin")
    try:
        return stream.buffer.read()
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", file="stdin") from None


def stem(name: str) -> str:
    """A file's name without folders and without the suffixes of compression and format."""
    result = Path(name).name
    for suffixes in (COMPRESSED, _PLAIN_SUFFIXES):
        for suffix in suffixes:
            if result.lower().endswith(suffix) and len(result) > len(suffix):
                result = result[: -len(suffix)]
                break
    return result


def is_part(name: str) -> bool:
    """Whether a file is called as a split or a part of a dataset is, and after nobody."""
    return bool(_PART.fullmatch(stem(name)))


def provenance_path(labels: Path) -> Path:
    """The file that says where the labels of a file come from, if it is there."""
    real = labels.resolve() if labels.is_symlink() else labels
    return real.with_name(f"{real.name}{PROVENANCE}")


def sha256_of(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


Sources = str | Path | Source | Sequence[str | Path | Source]


def sources(paths: Sources) -> list[Source]:
    """The files meant by a path, a folder, a glob, `-`, or a sequence of these; sorted by name."""
    several = [paths] if isinstance(paths, str | Path | Source) else list(paths)
    files = [source for path in several for source in _meant(path)]
    # beside data, those that say where labels come from are none
    files = [source for source in files if not source.name.endswith(PROVENANCE)] or files
    if not files:
        raise InputError("no file was named; give at least one")
    if sum(not source.named for source in files) > 1:
        raise InputError("stdin (-) can be read only once")
    return list({source.name: source for source in files}.values())


def opened(path: Any) -> Any:
    """A path as a source, which keeps what can be read once only; all else as it is."""
    if not isinstance(path, str | Path) or is_folder(path):
        return path
    files = sources(path)
    return files[0] if len(files) == 1 else path


def is_folder(path: object) -> bool:
    """Whether this names a folder."""
    if not isinstance(path, str | Path) or str(path) == STDIN:
        return False
    try:
        return Path(path).is_dir()
    except OSError:
        return False  # whatever reads it says what is wrong


def _meant(path: str | Path | Source) -> list[Source]:
    if isinstance(path, Source):
        return [path]
    name = str(path)
    try:
        return _expanded(name)
    except OSError as error:
        short = name if len(name) < 200 else f"{name[:80]}...{name[-20:]}"
        raise FormatError(f"cannot be read: {error.strerror}", file=short) from None


def _expanded(name: str) -> list[Source]:
    if name == STDIN:
        return [Source("stdin", None)]
    path = Path(name)
    if path.is_dir():
        shown = (each for each in path.iterdir() if not each.name.startswith("."))
        names = [str(each) for each in sorted(shown) if each.is_file()]
        if not names:
            inside = ", ".join(each.name for each in sorted(path.iterdir()) if each.is_dir())
            rather = f"; name one of the folders in it: {inside}" if inside else ""
            raise FormatError(f"the folder holds no files{rather}", file=str(path))
    elif path.exists():
        names = [name]
    elif has_magic(name):
        # Path.glob takes no absolute pattern
        matches = iglob(name, recursive=True)  # noqa: PTH207
        names = sorted(match for match in matches if Path(match).is_file())
        if not names:
            raise FormatError("no file matches this pattern", file=name)
    else:
        raise FormatError("no such file; check the path", file=name)
    return [file for each in names for file in _unzipped(Source(each, Path(each)))]


def _unzipped(source: Source) -> list[Source]:
    """The files in a zip, without hidden ones; any other file is itself."""
    if source.path is None or not source.path.is_file() or not source.head.startswith(_ZIP):
        return [source]
    with opened_zip(source.path, "the zip cannot be unpacked", file=source.name) as archive:
        inside = [each for each in archive.infolist() if not each.is_dir()]
        if any(each.filename == _WORKBOOK for each in inside):
            return [source]  # what spreadsheets save is a zip, too
        if sum(each.file_size for each in inside) > MOST_IN_ZIP:
            most = MOST_IN_ZIP // 2**30
            raise source.error(f"unpacked, this is larger than {most} GB; unpack it yourself")
        shown = [each for each in inside if not _HIDDEN.search(each.filename)]
        files = [
            Source(f"{source.name}/{each.filename}", None, archive.read(each)) for each in shown
        ]
    if not files:
        raise source.error("the zip holds no files")
    return files


@contextlib.contextmanager
def opened_zip(source: Path | BinaryIO, problem: str, *, file: str) -> Iterator[zipfile.ZipFile]:
    """A zip that somebody sent; an error says the `problem`, its reason and the file."""
    try:
        with zipfile.ZipFile(source) as archive:
            yield archive
    except BROKEN_ZIP as error:
        raise FormatError(f"{problem}: {error}", file=file) from None


def refuse_bomb(path: Path) -> None:
    """An error if a compressed file is too large once unpacked; it is read in parts, none kept.

    Of Parquet, which packs any number of equal rows into nothing, the rows are counted.
    """
    source = Source(path.name, path)
    if source.start.startswith(b"PAR1"):
        import polars as pl

        with contextlib.suppress(pl.exceptions.PolarsError):  # whatever reads it says what is wrong
            if pl.scan_parquet(path, glob=False).select(pl.len()).collect().item() > MOST_ROWS:
                raise source.error(f"this has more than {MOST_ROWS // 10**6} million rows")
    kind = source.compression
    if not kind:
        return
    module: Any = zstd() if kind == "zstd" else importlib.import_module(kind)
    size = 0
    try:
        with module.open(path) as file:
            while part := file.read(2**20):
                size += len(part)
                if size > MOST_UNPACKED:
                    most = MOST_UNPACKED // 2**20
                    raise source.error(f"unpacked, this is larger than {most} MB")
    except _decompressor(kind)[1]:
        raise source.damaged() from None


def _decompressor(kind: str) -> tuple[Callable[[bytes], bytes], tuple[type[Exception], ...]]:
    """The function that decompresses this kind, and the errors that it raises at damaged bytes."""
    if kind == "zstd":
        module: Any = zstd()
        return module.decompress, (*_DAMAGE, module.ZstdError)
    if kind == "gzip":
        with contextlib.suppress(ImportError):  # the extra "fast" brings it
            module = importlib.import_module("isal.igzip")
            return module.decompress, (*_DAMAGE, importlib.import_module("isal.isal_zlib").error)
    return importlib.import_module(kind).decompress, _DAMAGE


def zstd() -> object:
    """Python's zstd module: its own from 3.14 on, else the one that the extra brings."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise MissingExtraError.needed("reading or writing .zst files", "zstd")
