"""Nouns as data frames: Polars and pandas, imported only when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qrowd.data.arrays import Array, Codes
from qrowd.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from qrowd.data.index import Index


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of names, as codes of an index."""

    index: Index
    codes: Codes


class Framed:
    """A noun that can be laid out as a table with named columns."""

    def frame_columns(self) -> dict[str, Coded | Array]:
        """The columns, in order."""
        raise NotImplementedError

    def to_polars(self) -> pl.DataFrame:
        """As a Polars data frame; names are strings."""
        import polars as pl

        return pl.DataFrame(
            [_series(name, column) for name, column in self.frame_columns().items()]
        )

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas data frame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError.needed("a pandas data frame", "pandas") from None
        return pd.DataFrame(
            {
                name: column.index.names[column.codes] if isinstance(column, Coded) else column
                for name, column in self.frame_columns().items()
            }
        )


def _series(name: str, column: Coded | Array) -> pl.Series:
    import polars as pl

    if not isinstance(column, Coded):
        return pl.Series(name, column, dtype=pl.String if column.dtype == object else None)
    held = column.index.held
    names = held if isinstance(held, pl.Series) else pl.Series(column.index.names, dtype=pl.String)
    return names.gather(column.codes).alias(name)
