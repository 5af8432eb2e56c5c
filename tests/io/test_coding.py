"""The ways to number names give the same codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import qrowd as q
from qrowd.data.arrays import Codes
from qrowd.data.index import Index
from qrowd.io import coding
from qrowd.io import judgements as judgements_module
from qrowd.io import views as views_module
from qrowd.io.numerals import by_numerals
from qrowd.io.views import Views
from qrowd.kernel import in_blocks


def columns() -> dict[str, pl.Series]:
    random = np.random.default_rng(3)
    few, many = random.integers(0, 50, 20_000), random.integers(0, 1 << 50, 20_000)
    return {
        "few": pl.Series([f"w{i}" for i in few]),
        "many": pl.Series([f"clueweb09-en{i % 15_000:05d}" for i in many]),
        "wide": pl.Series([f"http://a.b/{i:x}/{i * 7 % 1009:d}" for i in many]),
        "long": pl.Series([f"{'x' * 150}{i % 9000}" for i in many]),
        "runs": pl.Series([f"t{i}" for i in np.repeat(random.permutation(2_000), 10)]),
        "sparse": pl.Series([f"msmarco_passage_{i % 90:02d}_{i % 10**9:09d}" for i in many]),
        "lines": pl.Series([f"a\n{i % 9_000}" for i in many]),
        "returns": pl.Series([f"a{i % 9_000}\r" for i in many]),
        "odd": pl.Series(
            [["ü", "日本", "a", "a\0", "", "aa", "Ä", "~", "a\n", "a\nb"][i % 10] for i in many]
        ),
    }


@pytest.mark.parametrize("name", columns())
def test_codes_depend_on_names_only(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    column = columns()[name]
    index, codes = coding.by_categories(column)
    assert index.names.tolist() == sorted(set(column.to_list()))
    monkeypatch.setattr(coding, "MANY", 1000)
    monkeypatch.setattr(coding, "_SAMPLE", 1000)
    for way in (coding.encoded, coding.by_views):
        for chunks in (column, pl.concat([column[:333], column[333:]], rechunk=False)):
            found = way(chunks)
            assert found is not None
            assert found[0] == index
            np.testing.assert_array_equal(found[1], codes)


@pytest.mark.parametrize("name", ["few", "many"])
def test_names_that_share_a_hash_are_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    column = columns()[name]
    views = Views(column)
    hashes, checks = views.hashes()
    monkeypatch.setattr(coding, "_SAMPLE", 1000)
    assert coding.by_hashes(hashes, checks, views.letters) is not None
    assert coding.by_hashes(hashes % np.uint64(40), checks, views.letters) is None


def test_a_slice_of_a_column_has_the_views_of_its_rows() -> None:
    column = columns()["wide"][777:12_345]
    rows = np.array([0, 1, 500, 11_567])
    assert Views(column).letters(rows).series().to_list() == column.gather(rows).to_list()


def test_numbers_are_numerals_even_where_a_sample_lacks_the_short_ones() -> None:
    random = np.random.default_rng(1)
    numbers = np.append(random.integers(100_000, 900_000, 300_000), [7, 42, 123, 999_999])
    column = pl.Series([f"d{i}" for i in numbers])
    found = by_numerals(Views(column))
    assert found is not None
    assert found[0].names.tolist() == sorted(set(column.to_list()))
    assert found[0].names[found[1]].tolist() == column.to_list()


def test_names_of_another_kind_than_the_sample_are_no_numerals() -> None:
    names = [f"d{i % 1000:03d}" for i in range(300_000)]
    names[12_345] = "D007"
    assert by_numerals(Views(pl.Series(names))) is None
    index, codes = coding.encoded(pl.Series(names))
    assert index.names[codes].tolist() == names


@pytest.mark.parametrize("alphabet", ["ab", "0123456789", "a\n\0", "aü日~"])
def test_letters_sort_as_their_bytes_do(alphabet: str) -> None:
    random = np.random.default_rng(5)
    for longest in (1, 3, 40, 1200):
        lengths = random.integers(0, longest + 1, 200)
        names = ["".join(random.choice(list(alphabet), n)) for n in lengths]
        letters = Views(pl.Series(names)).letters(np.arange(len(names)))
        order = letters.sorting()
        ordered = [names[at] for at in order]
        assert ordered == sorted(names, key=str.encode)
        differs = [at == 0 or ordered[at] != ordered[at - 1] for at in range(len(names))]
        assert letters.new(order).tolist() == differs
        assert letters.ordered(order).series().to_list() == ordered


def test_columns_side_by_side_do_not_wait_for_the_pool_inside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QROWD_THREADS", "2")

    def work() -> tuple[Index, Codes]:
        return Index.of("ab"), np.array(in_blocks(lambda lo, _: lo, 2), np.int32)

    made = in_blocks(lambda *_: coding.side_by_side(work, work, work)[1], 4)
    assert [[codes.tolist() for codes in three] for three in made] == [[[0, 1]] * 3] * 4


def test_strings_that_polars_hands_over_otherwise_are_coded_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pl.DataFrame({"doc": ["b", "a", "b"], "grade": [1, 0, 1]}).with_columns(
        worker=pl.lit("w"), topic=pl.lit("t")
    ).write_parquet(tmp_path / "crowd.parquet")
    monkeypatch.setattr(judgements_module, "MANY", 1)
    monkeypatch.setattr(coding, "MANY", 1)
    monkeypatch.setattr(coding, "_SAMPLE", 1)
    expected = q.read_judgements(tmp_path / "crowd.parquet")
    monkeypatch.setattr(views_module, "_VIEWS", b"other")
    found = q.read_judgements(tmp_path / "crowd.parquet")
    assert found.to_polars().equals(expected.to_polars())
