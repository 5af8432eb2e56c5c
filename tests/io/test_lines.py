"""Runs straight from bytes are the runs that the general reader makes, or none."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import InputError
from qrowd.io import lines, runs
from qrowd.io.source import sources

PLAIN = "".join(
    f"{topic} Q0 {document} {rank} {9 - rank / 8} tag\n"
    for topic in (401, 402)
    for rank, document in enumerate(("FT-1", "FBIS3-22", "FT-11", "日本", "ü-1"))
)
SCORES = (
    *(
        "0.1",
        "-0",
        "0",
        "1e-3",
        "1E5",
        "inf",
        "-inf",
        "5.",
        ".5",
        "007",
        "0.3000000000000000000000",
    ),
    *("120.84287882178492000000000000000000", "9007199254740993", "123456789012345678901234567890"),
    *("0.00000000000000000000000000001", "2.2250738585072014e-308", "1.7976931348623157e308"),
    *("8.98846567431158e307", "-1234.5678", "0.1234567890123456789", "4.35", "16777217", "-7.0"),
)
ODD = {
    "tabs and many blanks": b"401\tQ0  FT-1 1\t 2.5   tag\n401 Q0 FT-2 2 1.5 tag\n",
    "line ends of Windows": b"401 Q0 FT-1 1 2.5 tag\r\n401 Q0 FT-2 2 1.5 tag\r\n",
    "blanks at both ends": b"  401 Q0 FT-1 1 2.5 tag \n 401 Q0 FT-2 2 1.5 tag\t\n",
    "no last line end": b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-2 2 1.5 tag",
    "blank lines": b"\n401 Q0 FT-1 1 2.5 tag\n\n  \n401 Q0 FT-2 2 1.5 tag\n\n",
    "a mark of the byte order": b"\xef\xbb\xbf401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-2 2 1.5 tag\n",
    "several runs": b"".join(b"401 Q0 FT-%d 1 2.5 t%d\n" % (n, n % 3) for n in range(99)),
    "unicode": PLAIN.encode(),
    "scores": "".join(
        f"401 Q0 d{at} {at} {score} tag\n" for at, score in enumerate(SCORES)
    ).encode(),
    "names that start alike": b"".join(b"1 Q0 %s 1 1 t\n" % (b"a" * n) for n in range(1, 70)),
}
BAD = {
    "a short line": b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-2 2 tag\n",
    "a long line": b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-2 2 1.5 tag more\n",
    "no number": b"401 Q0 FT-1 1 2.5 tag\n\n401 Q0 FT-2 2 high tag\n",
    "grouped digits": b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-2 2 1_000 tag\n",
    "nan": b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-2 2 nan tag\n",
    "a document twice": b"401 Q0 FT-1 1 2.5 tag\n\n401 Q0 FT-1 2 1.5 tag\n",
    "not UTF-8": b"401 Q0 FT-1 1 2.5 tag\n401 Q0 FT-\xfc 2 1.5 tag\n",
    "empty": b"  \n",
}


def both(source: object, monkeypatch: pytest.MonkeyPatch, **options: str) -> list[q.RunSet]:
    """What the general reader makes, and what is made straight from the bytes."""
    general = q.read_runs(source, **options)
    monkeypatch.setattr(runs, "LARGE", 0)
    monkeypatch.setattr(runs, "tables", None)  # the general reader, from here on, cannot read
    return [general, q.read_runs(source, **options)]


def check_equal(one: q.RunSet, other: q.RunSet) -> None:
    assert [one.runs, one.topics, one.documents] == [other.runs, other.topics, other.documents]
    np.testing.assert_array_equal(one.starts, other.starts)
    np.testing.assert_array_equal(one.document, other.document)
    np.testing.assert_array_equal(one.score.view(np.int64), other.score.view(np.int64))  # bits


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("piece", [lines.PIECE, 50])
def test_the_same_runs(
    name: str, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "PIECE", piece)
    (tmp_path / "a.run").write_bytes(ODD[name])
    check_equal(*both(tmp_path / "a.run", monkeypatch, format="trec"))


@pytest.mark.parametrize("name", BAD)
def test_the_same_errors(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.run").write_bytes(BAD[name])
    said = []
    for large in (1 << 30, 0):
        monkeypatch.setattr(runs, "LARGE", large)
        with pytest.raises(InputError) as caught:
            q.read_runs(tmp_path / "a.run")
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("names", ["auto", "tag", "file"])
def test_names_of_several_files(
    names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at, tag in enumerate(("one", "two", "two" if names != "tag" else "three")):
        text = PLAIN.replace("tag", tag).replace("FT-1", f"FT-{at}").encode()
        (tmp_path / f"{at}.run.gz").write_bytes(gzip.compress(text))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check_equal(*both(tmp_path, monkeypatch, names=names))
    assert len({str(each.message) for each in said}) == (names == "auto")
    assert {each.filename for each in said} <= {__file__}


def test_many_random_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    values = np.concatenate([random.normal(size=2000) * 10.0 ** random.integers(-9, 9, 2000)])
    written = [
        f"{x:.{digits}f}" for x, digits in zip(values, random.integers(0, 22, 2000), strict=True)
    ]
    text = "".join(f"1 Q0 d{at} 1 {score} t\n" for at, score in enumerate(written))
    (tmp_path / "a.run").write_text(text)
    general, straight = both(tmp_path / "a.run", monkeypatch)
    check_equal(general, straight)
    assert sorted(straight.score) == sorted(map(float, written))


def test_mixed_rows_go_the_general_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"{at % 2} Q0 d{at} 1 {at / 4} t{at % 3}\n" for at in range(3000))
    (tmp_path / "a.run").write_text(text)
    general = q.read_runs(tmp_path / "a.run")
    monkeypatch.setattr(runs, "LARGE", 0)
    assert lines.lines_of_files(sources(tmp_path / "a.run"), runs.WANTED, None) is None
    check_equal(general, q.read_runs(tmp_path / "a.run"))
