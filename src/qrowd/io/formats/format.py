"""What a format is."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from qrowd.io.origin import Origin
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

Read = tuple[Origin, "pl.DataFrame | pl.LazyFrame"]
Row = tuple[int, dict[str, Any]]


class Format:
    """One way in which tables are kept in files."""

    name: str
    suffixes: tuple[str, ...] = ()
    """The suffixes of files that are written so. A format without any is only read."""
    before = "csv"
    """The format that is asked only after this one; "" for the last."""
    headed = True
    """Whether columns always have names; else the first line may be a header, or the first row."""

    classes: ClassVar[list[type[Format]]] = []
    """All that there are: those with a name."""

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            Format.classes.append(cls)

    def matches(self, source: Source) -> bool:
        """Whether a file is of this format, by its content."""
        raise NotImplementedError

    def fields(self, source: Source) -> list[str]:
        """The names of the columns; of a format that is not `headed`, the first line's fields."""
        return list(self.read(source)[1].collect_schema())

    def read(self, source: Source, names: Sequence[str] = ()) -> Read:
        """All rows, column by column, and where they are in the file.

        `names` are those of the columns of a text without a header.
        """
        raise NotImplementedError

    def rows(self, source: Source, names: Sequence[str] = ()) -> Iterator[Row]:
        """The same row by row, values as they are, with the line of each (0: it has none).

        Slower than `read`, and stricter: a text keeps its quotes, and no line may be too short.
        """
        origin, frame = self.read(source, names)
        for at, row in enumerate(frame.lazy().collect().iter_rows(named=True)):
            yield origin.line(at), row  # lists and objects are Python's

    def write(self, frame: pl.DataFrame, name: str) -> bytes:
        """The bytes of a file of this name."""
        raise NotImplementedError


def bytes_by(write: Callable[..., Any], **options: Any) -> bytes:
    """What one of a frame's own functions (`frame.write_csv`) writes."""
    content = io.BytesIO()
    write(content, **options)
    return content.getvalue()
