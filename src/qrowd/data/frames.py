"""Nouns as data frames: Polars and pandas, imported only when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Array, Codes, Names
from qrowd.errors import MissingExtraError
from qrowd.rendering import html_table, table_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from qrowd.data.index import Index


_SHOWN = 10  # rows in a notebook


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of names, as codes of an index."""

    index: Index
    codes: Codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice) -> Names:
        return self.index.names[self.codes[rows]]


class Framed:
    """A noun that can be laid out as a table with named columns."""

    def frame_columns(self) -> dict[str, Coded | Array]:
        """The columns, in order."""
        raise NotImplementedError

    def file_columns(self) -> dict[str, Coded | Array]:
        """The columns of a file, which may hold more rows than a frame (the means of scores)."""
        return self.frame_columns()

    def to_polars(self) -> pl.DataFrame:
        """As a Polars data frame; names are strings."""
        return polars_frame(self.frame_columns())

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas data frame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError.needed("a pandas data frame", "pandas") from None
        return pd.DataFrame({name: column[:] for name, column in self.frame_columns().items()})

    def _repr_html_(self) -> str:
        """The first rows, for a notebook."""
        columns = self.frame_columns()
        size = max(map(len, columns.values()), default=0)
        note = f"{_SHOWN} of {size} rows" if size > _SHOWN else ""
        shown = {name: column[:_SHOWN].tolist() for name, column in columns.items()}
        return html_table(shown, repr(self), note)


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Coded | Array]:
    """Columns of rows that have the same keys: words, or numbers; counts are whole ones."""
    kinds = {str: object, int: np.int64}
    return {
        name: np.array(values, kinds.get(type(values[0]), np.float64))
        for name, values in table_of(rows).items()
    }


def polars_frame(columns: Mapping[str, Coded | Array]) -> pl.DataFrame:
    """Columns as a Polars data frame."""
    import polars as pl

    return pl.DataFrame([_series(name, column) for name, column in columns.items()])


def _series(name: str, column: Coded | Array) -> pl.Series:
    import polars as pl

    if not isinstance(column, Coded) and column.dtype != object:
        return pl.Series(name, column)
    if not isinstance(column, Coded):  # words, or numbers of which some are missing
        first = next((each for each in column if each is not None), "")
        if isinstance(first, str):
            return pl.Series(name, column, dtype=pl.String)
        return pl.Series(name, column.tolist(), dtype=pl.Float64)
    held = column.index.held
    names = held if isinstance(held, pl.Series) else pl.Series(column.index.names, dtype=pl.String)
    return names.gather(column.codes).alias(name)
