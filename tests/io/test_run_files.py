"""Runs in TREC's form, however blanks, line ends and numbers are written."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import InputError
from qrowd.io.anything import read_any

TWO = [("tag", "401", "FT-1", 1, 2.5), ("tag", "401", "FT-2", 2, 1.5)]
SAME = {
    "plain": b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-2 2 1.5 tag\n",
    "tabs and many blanks": b"401\tQ0  FT-1 1\t 2.5   tag\n401 Q0 FT-2 2 1.5 tag\n",
    "only tabs": b"401\tQ0\tFT-1\t1\t2.5\ttag\n401\tQ0\tFT-2\t2\t1.5\ttag\n",
    "line ends of Windows": b"401 Q0 FT-1 1 2.5 tag\r\n401 Q0 FT-2 2 1.5 tag\r\n",
    "blanks at both ends": b"  401 Q0 FT-1 1 2.5 tag \n 401 Q0 FT-2 2 1.5 tag\t\n",
    "no last line end": b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-2 2 1.5 tag",
    "blank lines": b"\n401 Q0 FT-1 1 2.5 tag\n\n  \n401 Q0 FT-2 2 1.5 tag\n\n",
    "a byte-order mark": b"\xef\xbb\xbf401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-2 2 1.5 tag\n",
    "ranks and order that are wrong": b"401 Q0 FT-2 1 1.5 tag\n401 Q0 FT-1 7 2.5 tag\n",
}
SCORES = (
    *("0.1", "-0", "0", "1e-3", "1E5", "inf", "-inf", "5.", ".5", "007", "-7.0", "16777217"),
    *("120.84287882178492000000000000000000", "9007199254740993", "123456789012345678901234567890"),
    *("0.00000000000000000000000000001", "2.2250738585072014e-308", "1.7976931348623157e308"),
    *("8.98846567431158e307", "-1234.5678", "0.1234567890123456789", "4.35"),
)
BAD = {
    "a short line": (b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-2 2 tag\n", 2),
    "a name of two words": (b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT 2 B 2 1.5 tag\n", 2),
    "a long line and a short one": (b"401 Q0 A B 1 2.5 tag\n401 Q0 FT-2 2 1.5\n", 1),
    "no number": (b"401 Q0 FT-1 1 2.5 tag\n\n401 Q0 FT-2 2 high tag\n", 3),
    "grouped digits": (b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-2 2 1_000 tag\n", 2),
    "nan": (b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-2 2 nan tag\n", 2),
    "a document twice": (b"401 Q0 FT-1 1 2.5 tag\n\n401 Q0 FT-1 2 1.5 tag\n", 3),
    "not UTF-8": (b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-\xfc 2 1.5 tag\n", 2),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_run(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.run").write_bytes(SAME[name])
    found = q.read_runs(tmp_path / "a.run", format="trec")
    assert found.to_polars().rows() == TWO


@pytest.mark.parametrize("name", BAD)
def test_the_line_of_an_error(name: str, tmp_path: Path) -> None:
    content, line = BAD[name]
    (tmp_path / "a.run").write_bytes(content)
    with pytest.raises(InputError) as caught:
        q.read_runs(tmp_path / "a.run")
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "a.run"), line)


def test_scores_are_the_nearest_numbers(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    values = random.normal(size=500) * 10.0 ** random.integers(-9, 9, 500)
    digits = random.integers(0, 22, 500)
    written = [*SCORES, *(f"{x:.{n}f}" for x, n in zip(values, digits, strict=True))]
    text = "".join(f"1 Q0 d{at} 1 {score} t\n" for at, score in enumerate(written))
    (tmp_path / "a.run").write_text(text)
    assert sorted(q.read_runs(tmp_path / "a.run").score) == sorted(map(float, written))


@pytest.mark.parametrize("names", ["auto", "tag", "file"])
def test_names_of_several_files(names: str, tmp_path: Path) -> None:
    for at, tag in enumerate(("one", "two", "two" if names != "tag" else "three")):
        text = SAME["plain"].replace(b"tag", tag.encode())
        (tmp_path / f"{at}.run.gz").write_bytes(gzip.compress(text))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = q.read_runs(tmp_path, names=names)
    named = {"auto": ["1", "2", "one"], "tag": ["one", "three", "two"], "file": ["0", "1", "2"]}
    assert found.runs.names.tolist() == named[names]
    assert len(said) == (names == "auto")
    assert {each.filename for each in said} <= {__file__}


def test_three_columns_of_ms_marco(tmp_path: Path) -> None:
    path = tmp_path / "bm25.tsv"
    path.write_text("7\td9\t1\n7\td1\t2\n8\td5\t1\n")
    runs = q.read_runs(path)
    assert list(runs.runs) == ["bm25"]
    assert runs.to_polars()["doc"].to_list() == ["d9", "d1", "d5"]
    again = read_any(path)
    assert isinstance(again, q.RunSet)
    assert again.to_polars().equals(runs.to_polars())
    path.write_text("7\td9\t1\n7\td1\t1\n")
    with pytest.raises(InputError, match=r"bm25.tsv:2: rank 1 is twice in one list"):
        q.read_runs(path)
