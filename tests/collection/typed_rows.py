"""A net under `TypedRow`: rows have the columns that their class declares, with values that fit."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, cast, get_args, get_origin, get_type_hints
from unittest.mock import patch

from qrowd.collection.database.schema import TypedRow


@functools.cache
def declared(of: Any) -> dict[str, tuple[type, ...]]:
    """The columns of a class, each with the types that its values may have."""
    hints = get_type_hints(of)
    columns = {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}
    return {name: get_args(hint) or (hint,) for name, hint in columns.items()}


def refuse_lie(of: type[TypedRow], row: Any) -> None:
    """An error unless a row is what its class says."""
    columns = declared(cast(Hashable, of))
    missing = [name for name in columns if name not in row._fields]
    assert not missing, f"{of.__name__} declares {missing}; the query gives {row._fields}"
    for name, types in columns.items():
        value = getattr(row, name)
        assert type(value) in types, f"{of.__name__}.{name} is {value!r}, not one of {types}"


@contextmanager
def every_row_checked() -> Iterator[None]:
    """While it is open, every row that is asked for by its class is looked at."""
    plain_rows, plain_row = TypedRow.rows.__func__, TypedRow.row.__func__  # type: ignore[attr-defined]

    def rows(of: type[TypedRow], *query: Any) -> list[Any]:
        checked: list[Any] = plain_rows(of, *query)
        for each in checked:
            refuse_lie(of, each)
        return checked

    def row(of: type[TypedRow], *query: Any) -> Any:
        checked = plain_row(of, *query)
        if checked is not None:
            refuse_lie(of, checked)
        return checked

    with patch.multiple(TypedRow, rows=classmethod(rows), row=classmethod(row)):
        yield
