"""The two ways to number names give the same codes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from qrowd.io import coding


def columns() -> dict[str, pl.Series]:
    random = np.random.default_rng(3)
    few, many = random.integers(0, 50, 20_000), random.integers(0, 1 << 50, 20_000)
    return {
        "few": pl.Series([f"w{i}" for i in few]),
        "many": pl.Series([f"clueweb09-en{i % 15_000:05d}" for i in many]),
        "wide": pl.Series([f"http://a.b/{i:x}/{i * 7 % 1009:d}" for i in many]),
        "long": pl.Series([f"{'x' * 150}{i % 9000}" for i in many]),
        "runs": pl.Series([f"t{i}" for i in np.repeat(random.permutation(2_000), 10)]),
        "odd": pl.Series([["ü", "日本", "a", "a\0", "", "aa", "Ä", "~"][i % 8] for i in many]),
    }


@pytest.mark.parametrize("name", columns())
def test_codes_depend_on_names_only(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    column = columns()[name]
    index, codes = coding.by_categories(column)
    assert index.names.tolist() == sorted(set(column.to_list()))
    monkeypatch.setattr(coding, "MANY", 1000)
    monkeypatch.setattr(coding, "_SAMPLE", 1000)
    for found, found_codes in (coding.encoded(column), coding.by_hashing(column)):  # type: ignore[misc]
        assert found == index
        np.testing.assert_array_equal(found_codes, codes)


def test_names_that_share_a_hash_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    column = columns()["many"]
    true = pl.Series.hash

    def weak(self: pl.Series, seed: int = 0) -> pl.Series:
        return true(self, seed) % 5_000 if seed == 1 else true(self, seed)

    monkeypatch.setattr(pl.Series, "hash", weak)
    monkeypatch.setattr(coding, "_SAMPLE", 1000)
    assert coding.by_hashing(column) is None
