"""What is odd about names: blanks at their ends, and texts where ids are expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qrowd.data.index import Index
from qrowd.io.said import say

if TYPE_CHECKING:
    import polars as pl

_SAMPLE = 1000
_BLANKS = 3  # a text has more words than an id


def say_what_is_odd(where: str, **indexes: Index) -> None:
    """Warn of names that differ by blanks at their ends only, and of texts used as names."""
    import polars as pl

    for what, index in indexes.items():
        held = index.held
        names = held if isinstance(held, pl.Series) else pl.Series(index.names, dtype=pl.String)
        _say_of_blanks(where, what, names)
        _say_of_texts(where, what, names)


def _say_of_blanks(where: str, what: str, names: pl.Series) -> None:
    stripped = names.str.strip_chars()
    padded = names.filter(stripped != names)
    if not len(padded):
        return
    twins = padded.filter(padded.str.strip_chars().is_in(names.filter(stripped == names).implode()))
    again = padded.str.strip_chars().is_duplicated()
    if len(twins) or again.any():
        shown = twins[0] if len(twins) else padded.filter(again)[0]
        say(
            f"{where}: names of {what} differ by blanks at their ends only ({shown!r}); they are "
            "taken as different: if they are not, remove the blanks"
        )


def _say_of_texts(where: str, what: str, names: pl.Series) -> None:
    some = names.head(_SAMPLE)
    texts = some.filter(some.str.count_matches(" ", literal=True) >= _BLANKS)
    if len(texts) > len(some) / 2:
        shown = texts[0] if len(texts[0]) < 60 else f"{texts[0][:57]}..."
        say(
            f"{where}: the names of {what} look like texts ({shown!r}); they are used as names as "
            "they are: if there is a column of ids, say so by --columns"
        )
