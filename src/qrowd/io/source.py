"""Where bytes come from: files, folders, globs, stdin, compressed or not."""

from __future__ import annotations

import codecs
import contextlib
import importlib
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from glob import has_magic, iglob
from pathlib import Path
from typing import Any, TextIO

from qrowd.errors import FormatError, InputError, MissingExtraError

STDIN = "-"
START = 1 << 16
MOST_UNPACKED = 2**29  # bytes of a file that a stranger has sent
_HEAD = 6
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BROKEN = (
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    lzma.LZMAError,
    zlib.error,
)
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

    @cached_property
    def stem(self) -> str:
        """The file's name without the suffixes of compression and format."""
        return stem(self.name)

    @cached_property
    def _kept(self) -> bytes | None:
        """All bytes of what can be read once only; nothing of a file, which can be read again."""
        if self.path is None:
            return _all_of_stdin(sys.stdin)
        return None if self.path.is_file() else self._opened(lambda path: path.read_bytes())

    @cached_property
    def _head(self) -> bytes:
        """The first bytes as they are."""
        if self._kept is not None:
            return self._kept[:_HEAD]
        return self._opened(_head_of)

    def _opened(self, reading: Callable[[Path], bytes]) -> bytes:
        assert self.path is not None
        try:
            return reading(self.path)
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror}", file=self.name) from None

    @property
    def compression(self) -> str:
        """How the bytes are compressed, by the first of them; "" if they are not."""
        return _compression(self._head)

    @cached_property
    def start(self) -> bytes:
        """The first bytes, decompressed, as UTF-8."""
        if self._kept is None and self.path is not None and not self.compression:
            found = self._opened(lambda path: _head_of(path, START))
            if not found.startswith(_UTF16):
                return found.removeprefix(codecs.BOM_UTF8)
        whole = self.read()
        vars(self)["_unpacked"] = whole  # for who reads all of it next
        return whole[:START]

    def read(self) -> bytes:
        """All bytes, decompressed, as UTF-8. Those of a file are not kept: ask once."""
        unpacked: bytes | None = vars(self).pop("_unpacked", None)
        if unpacked is not None:
            return unpacked
        kept = self._kept
        raw = self._opened(lambda path: path.read_bytes()) if kept is None else kept
        kind = _compression(raw[:_HEAD])
        return self._in_utf8(_decompressed(raw, kind, self.name) if kind else raw)

    def _in_utf8(self, data: bytes) -> bytes:
        """The bytes without a byte-order mark, and converted if that is UTF-16's."""
        if not data.startswith(_UTF16):
            return data.removeprefix(codecs.BOM_UTF8)
        try:
            return data.decode("utf-16").encode()
        except UnicodeError:
            message = "this starts as UTF-16 but is not; save it as UTF-8"
            raise FormatError(message, file=self.name) from None

    @property
    def plain_path(self) -> Path | None:
        """The path, if the file can be read from it as it is."""
        as_it_is = self._kept is None and not self.compression
        return self.path if as_it_is and not self._head.startswith(_UTF16) else None


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


Sources = str | Path | Source | Sequence[str | Path | Source]


def sources(given: Sources) -> list[Source]:
    """The files meant by a path, a folder, a glob, `-`, or a sequence of these; sorted by name."""
    many = [given] if isinstance(given, str | Path | Source) else list(given)
    found = [source for one in many for source in _meant(one)]
    if not found:
        raise InputError("no file was named; give at least one")
    if sum(source.path is None for source in found) > 1:
        raise InputError("stdin (-) can be read only once")
    return list({source.name: source for source in found}.values())


def opened(given: Any) -> Any:
    """A path as a source, which keeps what can be read once only; all else as it is."""
    if not isinstance(given, str | Path) or is_folder(given):
        return given
    one, *others = sources(given)
    return given if others else one


def is_folder(given: object) -> bool:
    """Whether this names a folder."""
    if not isinstance(given, str | Path) or str(given) == STDIN:
        return False
    try:
        return Path(given).is_dir()
    except OSError:
        return False  # who reads it says what is wrong


def _meant(given: str | Path | Source) -> list[Source]:
    if isinstance(given, Source):
        return [given]
    name = str(given)
    try:
        return list(_expand(name))
    except OSError as error:
        short = name if len(name) < 200 else f"{name[:80]}...{name[-20:]}"
        raise FormatError(f"cannot be read: {error.strerror}", file=short) from None


def _expand(name: str) -> Iterator[Source]:
    if name == STDIN:
        yield Source("stdin", None)
    elif Path(name).is_dir():
        yield from _of_folder(Path(name))
    elif Path(name).exists():
        yield Source(name, Path(name))
    elif has_magic(name):
        yield from _of_glob(name)
    else:
        raise FormatError("no such file; check the path", file=name)


def _of_folder(folder: Path) -> list[Source]:
    files = sorted(
        path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")
    )
    if not files:
        raise FormatError("the folder holds no files", file=str(folder))
    return [Source(str(path), path) for path in files]


def _of_glob(pattern: str) -> list[Source]:
    matches = iglob(pattern, recursive=True)  # noqa: PTH207 (Path.glob takes no absolute pattern)
    names = sorted(name for name in matches if Path(name).is_file())
    if not names:
        raise FormatError("no file matches this pattern", file=pattern)
    return [Source(name, Path(name)) for name in names]


def _compression(head: bytes) -> str:
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")


def refuse_bomb(path: Path) -> None:
    """An error if a compressed file is too large once unpacked; it is read in parts, none kept."""
    kind, size = Source(path.name, path).compression, 0
    if not kind:
        return
    module: Any = zstd() if kind == "zstd" else importlib.import_module(kind)
    try:
        with module.open(path) as file:
            while part := file.read(2**20):
                size += len(part)
                if size > MOST_UNPACKED:
                    told = f"unpacked, this is larger than {MOST_UNPACKED // 2**20} MB"
                    raise FormatError(told, file=path.name)
    except _decompressor(kind)[1]:
        raise _broken(path.name, kind) from None


def _decompressed(raw: bytes, kind: str, name: str) -> bytes:
    decompress, broken = _decompressor(kind)
    try:
        return decompress(raw)
    except broken:
        raise _broken(name, kind) from None


def _broken(name: str, kind: str) -> FormatError:
    what = {"lzma": "xz", "zstd": "zst"}.get(kind, kind)
    return FormatError(
        f"the {what} file is damaged or cut short; fetch or make it again", file=name
    )


def _decompressor(kind: str) -> tuple[Callable[[bytes], bytes], tuple[type[Exception], ...]]:
    """The function that decompresses this kind, and the errors that it raises at damaged bytes."""
    if kind == "zstd":
        module: Any = zstd()
        return module.decompress, (*_BROKEN, module.ZstdError)
    if kind == "gzip":
        with contextlib.suppress(ImportError):  # the extra "fast" brings it
            module = importlib.import_module("isal.igzip")
            return module.decompress, (*_BROKEN, importlib.import_module("isal.isal_zlib").error)
    return importlib.import_module(kind).decompress, _BROKEN


def zstd() -> object:
    """Python's zstd module: its own from 3.14 on, else the one that the extra brings."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise MissingExtraError.needed("reading or writing .zst files", "zstd")
