"""Excel's workbooks (.xlsx, .xlsm, .xls, .xlsb, .ods), by fastexcel: the extra `excel`."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrowd.errors import MissingExtraError
from qrowd.io.formats.format import Format, Read
from qrowd.io.origin import Origin
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

_ZIP, _OLD = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


class Excel(Format):
    """The sheet of a workbook that has one; of several, the one that has rows."""

    name = "excel"
    before = "parquet"

    def matches(self, source: Source) -> bool:
        """A zip with sheets in it, or what Excel wrote before that."""
        if source.start.startswith(_OLD):
            return True
        return source.start.startswith(_ZIP) and _has_sheets(source)

    def read(self, source: Source, names: Sequence[str] = ()) -> Read:
        """All columns; dates are times, numbers are numbers."""
        frame = self._sheet(source)
        return Origin(source.name, frame.height, source=source), frame

    def _sheet(self, source: Source) -> pl.DataFrame:
        try:
            import fastexcel
        except ImportError:
            raise MissingExtraError.needed(f"{source.name}: reading Excel files", "excel") from None
        import polars as pl

        try:
            book = fastexcel.read_excel(source.read())
            sheets = {name: book.load_sheet(name).to_polars() for name in book.sheet_names}
        except (fastexcel.FastExcelError, pl.exceptions.PolarsError) as error:
            reason = str(error).splitlines()[0]
            raise source.error(f"the workbook cannot be read: {reason}") from None
        full: dict[str, pl.DataFrame] = {
            name: frame for name, frame in sheets.items() if frame.height
        }
        if not full:
            raise source.error("no sheet of the workbook has rows")
        if len(full) > 1:
            raise source.error(
                f"several sheets have rows ({', '.join(full)}): save the one that is meant as CSV, "
                "or as a workbook of its own"
            )
        return next(iter(full.values()))


def _has_sheets(source: Source) -> bool:
    with contextlib.suppress(zipfile.BadZipFile, ValueError, OSError):
        with zipfile.ZipFile(io.BytesIO(source.read())) as archive:
            names = archive.namelist()
        return any(name.startswith("xl/") for name in names) or "content.xml" in names
    return False
