"""Where bytes come from: files, folders, globs, stdin, compressed or not."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from glob import has_magic, iglob
from pathlib import Path
from typing import Any, BinaryIO

from qrowd.errors import FormatError, InputError, MissingExtraError

STDIN = "-"
START = 1 << 16
_COMPRESSED = (".gz", ".xz", ".zst", ".bz2")
_PLAIN_SUFFIXES = (
    *(".tsv", ".csv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".pq"),
    *(".qrels", ".qrel", ".run", ".res", ".trec"),
)
_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "lzma", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True)
class Source:
    """One file, or stdin (path None); `name` is what messages call it."""

    name: str
    path: Path | None

    @cached_property
    def stem(self) -> str:
        """The file's name without the suffixes of compression and format."""
        return stem(self.name)

    @property
    def _stdin(self) -> bytes:
        return _all_of(sys.stdin.buffer)

    @cached_property
    def compression(self) -> str:
        """How the bytes are compressed, by the first of them; "" if they are not."""
        if self.path is None:
            return _compression(self._stdin[:6])
        try:
            with self.path.open("rb") as file:
                return _compression(file.read(6))
        except OSError as error:
            raise FormatError(f"cannot be opened: {error.strerror}", file=self.name) from None

    @cached_property
    def start(self) -> bytes:
        """The first bytes, decompressed."""
        if self.path is None:
            return self.read()[:START]
        try:
            with opener(self.compression)(self.path, "rb") as file:
                return bytes(file.read(START))
        except Exception:
            return self.read()[:START]  # which says what is wrong

    def read(self) -> bytes:
        """All bytes, decompressed. Not kept: ask once, unless something is wrong."""
        raw = self._stdin if self.path is None else self.path.read_bytes()
        kind = _compression(raw[:6])
        return _decompressed(raw, kind, self.name) if kind else raw

    @property
    def plain_path(self) -> Path | None:
        """The path, if the file can be read from it as it is."""
        return None if self.path is None or self.compression else self.path


@lru_cache(maxsize=1)
def _all_of(stream: BinaryIO) -> bytes:
    """What a stream holds, which can be read once only."""
    return stream.read()


def stem(name: str) -> str:
    """A file's name without folders and without the suffixes of compression and format."""
    result = Path(name).name
    for suffixes in (_COMPRESSED, _PLAIN_SUFFIXES):
        for suffix in suffixes:
            if result.lower().endswith(suffix) and len(result) > len(suffix):
                result = result[: -len(suffix)]
                break
    return result


def sources(given: str | Path | Sequence[str | Path]) -> list[Source]:
    """The files meant by a path, a folder, a glob, `-`, or a sequence of these; sorted by name."""
    many = [given] if isinstance(given, str | Path) else list(given)
    found = [source for one in many for source in _expand(str(one))]
    if not found:
        raise InputError("no file was named; give at least one")
    if sum(source.path is None for source in found) > 1:
        raise InputError("stdin (-) can be read only once")
    return list({source.name: source for source in found}.values())


def is_folder(given: object) -> bool:
    """Whether this names a folder."""
    return isinstance(given, str | Path) and str(given) != STDIN and Path(given).is_dir()


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


def _decompressed(raw: bytes, kind: str, name: str) -> bytes:
    try:
        return decompressor(kind)(raw)
    except (EOFError, OSError, ValueError, RuntimeError) as error:
        raise _broken(name, kind) from error
    except Exception as error:  # lzma and zstd have error classes of their own
        if type(error).__name__ in ("LZMAError", "ZstdError", "IsalError", "error"):
            raise _broken(name, kind) from error
        raise


def _broken(name: str, kind: str) -> FormatError:
    what = {"lzma": "xz", "zstd": "zst"}.get(kind, kind)
    return FormatError(
        f"the {what} file is damaged or cut short; fetch or make it again", file=name
    )


def decompressor(kind: str) -> Callable[[bytes], bytes]:
    """The function that decompresses this kind."""
    if kind == "zstd":
        return zstd().decompress  # type: ignore[no-any-return, attr-defined]
    if kind == "gzip":
        with contextlib.suppress(ImportError):  # the extra "fast" brings it
            return importlib.import_module("isal.igzip").decompress  # type: ignore[no-any-return]
    return importlib.import_module(kind).decompress  # type: ignore[no-any-return]


def opener(kind: str) -> Callable[..., Any]:
    """The function that opens a file of this kind of compression; "" for none."""
    if kind != "zstd":
        return importlib.import_module(kind or "io").open  # type: ignore[no-any-return]
    return zstd().open  # type: ignore[no-any-return, attr-defined]


def zstd() -> object:
    """Python's zstd module: its own from 3.14 on, else the one that the extra brings."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise MissingExtraError.needed("reading or writing .zst files", "zstd")
