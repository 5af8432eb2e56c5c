"""Names to codes: a code is a name's place in sorted order, whatever the rows' order."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from qrowd.io.table import encoded


def columns() -> dict[str, pl.Series]:
    random = np.random.default_rng(3)
    few, many = random.integers(0, 50, 20_000), random.integers(0, 1 << 50, 20_000)
    odd = ["ü", "日本", "a", "a\0", "", "aa", "Ä", "~", "a\n", "a\nb", " a", "a "]
    return {
        "few": pl.Series([f"w{i}" for i in few]),
        "many": pl.Series([f"clueweb09-en{i % 15_000:05d}" for i in many]),
        "long": pl.Series([f"{'x' * 150}{i % 9000}" for i in many]),
        "runs": pl.Series([f"t{i}" for i in np.repeat(random.permutation(2_000), 10)]),
        "odd": pl.Series([odd[i % len(odd)] for i in many]),
        "numbers": pl.Series(few),
        "categories": pl.Series([f"w{i}" for i in few], dtype=pl.Categorical),
        "none": pl.Series([], dtype=pl.String),
    }


@pytest.mark.parametrize("name", columns())
def test_codes_depend_on_names_only(name: str) -> None:
    column = columns()[name]
    names = [str(value) for value in column.to_list()]
    for chunks in (column, pl.concat([column[:333], column[333:]], rechunk=False)):
        index, codes = encoded(chunks)
        assert index.names.tolist() == sorted(set(names), key=str.encode)
        assert index.names[codes].tolist() == names
        assert codes.dtype == np.int32


def test_the_order_of_rows_does_not_matter() -> None:
    column = columns()["many"]
    shuffled = np.random.default_rng(1).permutation(len(column))
    (index, codes), (other, again) = encoded(column), encoded(column.gather(shuffled))
    assert index == other
    np.testing.assert_array_equal(codes[shuffled], again)
