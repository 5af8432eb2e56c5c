"""Zips that somebody has sent: whatever is wrong with one becomes a sentence."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from qrowd.errors import FormatError

# RuntimeError: a password; NotImplementedError (one of them): a way of packing that we do not know
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)


@contextmanager
def opened_zip(source: Path | BinaryIO, problem: str, *, file: str) -> Iterator[zipfile.ZipFile]:
    """A zip to read from; an error says the `problem`, its reason and the file."""
    try:
        with zipfile.ZipFile(source) as archive:
            yield archive
    except BROKEN as error:
        raise FormatError(f"{problem}: {error}", file=file) from None
