"""Write beside, then rename: a reader sees the old file or the whole new one, never a part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from qrowd.errors import InputError
from qrowd.io.source import PROVENANCE, provenance_path


@contextmanager
def written(path: str | Path, *, private: bool = False) -> Iterator[Path]:
    """A path to write to; what was written there becomes `path` at the end, if nothing failed.

    What is `private` only its owner can read, from the first byte on.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            yield target  # /dev/null, a pipe
            return
        part = _part_of(target)
        try:
            if private:
                part.unlink(missing_ok=True)
                os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            yield part
            with suppress(OSError):  # what it says is about labels that are no more
                provenance_path(target).unlink()
            part.replace(target.resolve() if target.is_symlink() else target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:  # the disk is full, the folder is read-only, ...
        raise InputError(f"cannot be written: {error.strerror}", file=str(target)) from None


def write(path: str | Path, content: bytes | str, *, private: bool = False) -> None:
    """All of a file, or nothing of it; text in UTF-8."""
    with written(path, private=private) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


def made_folder(path: str | Path) -> Path:
    """A folder to write files to, made if it is not there."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", file=str(folder)) from None
    return folder


def refuse_unwritable(path: str | Path) -> None:
    """An error if `written` could not write there: worth knowing before the work is done."""
    target = Path(path)
    if target.name.endswith(PROVENANCE):
        message = f"names that end in {PROVENANCE} are for files that say where labels come from"
        raise InputError(f"{message}; name another", file=str(target))
    try:
        if target.is_dir() or not target.exists():
            _part_of(target)
    except OSError as error:
        shown = str(target) if len(str(target)) < 200 else f"{str(target)[:80]}..."
        raise InputError(f"cannot be written: {error.strerror}", file=shown) from None


def _part_of(target: Path) -> Path:
    folder = (target.resolve() if target.is_symlink() else target).parent
    if target.is_dir():
        raise InputError("this is a folder; give the name of a file in it", file=str(target))
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; make it first", file=str(target))
    if not os.access(folder, os.W_OK):
        raise InputError(f"the folder {folder} cannot be written to", file=str(target))
    return folder / f".{target.name}.{os.getpid()}.part"
