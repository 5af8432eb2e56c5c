"""Documents' vectors from a NumPy file, with the documents' names in a file beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from qrowd.content.vectors import Vectors
from qrowd.errors import FormatError, InputError

BESIDE = (".ids", ".txt", ".ids.txt")


def read_vectors(path: str | Path) -> Vectors:
    """Vectors of documents: `x.npy`, one row each, and `x.ids` (or `x.txt`), a name on each line.

    Embeddings of any model will do; rows are scaled to length 1.
    """
    source = Path(path)
    rows = _rows(source)
    beside = _beside(source)
    names = beside.read_text(encoding="utf-8").split("\n")
    names = [name.strip() for name in (names[:-1] if names and not names[-1] else names)]
    if len(names) != len(rows):
        raise FormatError(
            f"{len(names)} names for {len(rows)} vectors in {source.name}; one name per row",
            file=str(beside),
        )
    try:
        return Vectors.of(names, rows)
    except InputError as error:
        at = (str(beside), error.row + 1) if error.row >= 0 else (str(source), 0)
        raise error.at(*at) from None


def _rows(source: Path) -> Any:
    try:
        rows = np.load(source, allow_pickle=False)
    except OSError as error:
        raise FormatError(f"cannot be opened: {error.strerror}", file=str(source)) from None
    except ValueError:
        message = "not an array of numbers as numpy.save writes it (.npy)"
        raise FormatError(message, file=str(source)) from None
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "fiu":
        raise FormatError(
            "expected a table of numbers in a .npy file, one row per document", file=str(source)
        )
    return rows


def _beside(source: Path) -> Path:
    for suffix in BESIDE:
        path = source.with_suffix(suffix)
        if path.is_file():
            return path
    raise FormatError(
        f"whose vectors are these? Put the documents' names, one per line, into "
        f"{source.with_suffix('.ids').name} beside it",
        file=str(source),
    )
