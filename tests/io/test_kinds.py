"""The column `kind`: of assessors, read and written; a column that is about something else."""

from __future__ import annotations

from pathlib import Path

import pytest

import qrowd as q
from qrowd.errors import DataWarning, FormatError, InputError

HEADER = "topic\tdoc\tassessor\tgrade\tkind\n"
NAMED = "topic=topic,doc=doc,assessor=assessor,grade=grade,kind=kind"


def read(tmp_path: Path, rows: str) -> q.Judgements:
    """Judgements of a TSV file with a column `kind`; rows by blanks, - for nothing."""
    lines = [row.replace(" ", "\t").replace("-", "") for row in rows.split("; ")]
    (tmp_path / "crowd.tsv").write_text(HEADER + "\n".join(lines) + "\n")
    return q.read_judgements(tmp_path / "crowd.tsv")


def kinds(crowd: q.Judgements) -> list[str]:
    """The kinds of the assessors, in the order of their names."""
    assert crowd.kinds is not None
    return list(crowd.kinds)


@pytest.fixture
def crowd() -> q.Judgements:
    """A machine, a person, and somebody of whom nothing is known."""
    made = q.Judgements.of(["t"] * 3, ["d"] * 3, ["ann", "bob", "gpt 4"], [0, 1, 1])
    return made.with_kind("machine", "gpt*").with_kind("person", "ann")


@pytest.mark.parametrize("suffix", [".csv", ".json", ".jsonl", ".parquet", ".csv.gz"])
def test_kinds_come_back(suffix: str, crowd: q.Judgements, tmp_path: Path) -> None:
    q.save(crowd, tmp_path / f"crowd{suffix}")
    assert kinds(q.read_judgements(tmp_path / f"crowd{suffix}")) == ["person", "unknown", "machine"]


@pytest.mark.parametrize("known", [True, False])
def test_tsv_has_the_column_where_it_is_known(known: bool, tmp_path: Path) -> None:
    crowd = q.Judgements.of(["t"] * 2, ["d"] * 2, ["ann", "gpt"], [0, 1])
    q.save(crowd.with_kind("machine", "gpt") if known else crowd, tmp_path / "crowd.tsv")
    end = ["\tkind", "\tunknown", "\tmachine"] if known else [""] * 3
    rows = ["topic\tdoc\tassessor\tgrade", "t\td\tann\t0", "t\td\tgpt\t1"]
    written = (tmp_path / "crowd.tsv").read_text().splitlines()
    assert written == [row + last for row, last in zip(rows, end, strict=True)]
    assert (q.read_judgements(tmp_path / "crowd.tsv").kinds is not None) == known


def test_trec_form_cannot_hold_them(crowd: q.Judgements, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="four columns cannot hold kind; use the suffix"):
        q.save(crowd, tmp_path / "crowd.qrels")


def test_kinds_through_frames(crowd: q.Judgements) -> None:
    pytest.importorskip("pandas", reason="pandas is optional")
    for frame in (crowd.to_polars(), crowd.to_pandas()):
        assert kinds(q.read_judgements(frame)) == ["person", "unknown", "machine"]


def test_one_row_is_enough_and_unknown_stays_unknown(tmp_path: Path) -> None:
    crowd = read(tmp_path, "t a ann 1 -; t b ann 1 Expert; t a bob 0 -; t a m 1 machine")
    assert kinds(crowd) == ["expert", "unknown", "machine"]
    assert read(tmp_path, "t a ann 1 -; t b bob 1 unknown").kinds is None


def test_an_assessor_is_of_one_kind(tmp_path: Path) -> None:
    said = r"crowd\.tsv:4: the kind of assessor ann is machine here and person before"
    with pytest.raises(InputError, match=said):
        read(tmp_path, "t a ann 1 person; t b ann 1 -; t c ann 1 machine; t d bob 1 machine")


def test_files_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "one.tsv").write_text(HEADER + "t\ta\tann\t1\tperson\nt\ta\tm\t1\tmachine\n")
    (tmp_path / "two.tsv").write_text("topic\tdoc\tassessor\tgrade\nt\tb\tm\t1\nt\tb\tzoe\t1\n")
    crowd = q.read_judgements([tmp_path / "two.tsv", tmp_path / "one.tsv"])
    assert kinds(crowd) == ["person", "machine", "unknown"]
    (tmp_path / "six.tsv").write_text(HEADER + "t\tc\tann\t1\t\nt\tc\tm\t1\texpert\n")
    with pytest.raises(InputError, match=r"six\.tsv:3: the kind of assessor m is expert here"):
        q.read_judgements([tmp_path / "one.tsv", tmp_path / "six.tsv"])


def test_another_column_of_that_name_is_left_alone_and_that_is_said(tmp_path: Path) -> None:
    with pytest.warns(DataWarning, match=r"crowd\.tsv: the column kind is left alone.*'gold'"):
        crowd = read(tmp_path, "t a ann 1 expert; t b ann 1 gold; t a bob 0 repeat")
    assert crowd.kinds is None
    assert len(crowd) == 3


@pytest.mark.parametrize("columns", [NAMED, "topic,doc,assessor,grade,kind"])
def test_a_named_column_with_another_value_is_refused(columns: str, tmp_path: Path) -> None:
    rows = "t\ta\tann\t1\tmachine\nt\tb\tann\t1\tgold\n"
    (tmp_path / "crowd.tsv").write_text((HEADER if "=" in columns else "") + rows)
    line = 3 if "=" in columns else 2
    said = rf"crowd\.tsv:{line}: kind must be person, expert or machine, got 'gold'"
    with pytest.raises(FormatError, match=said):
        q.read_judgements(tmp_path / "crowd.tsv", columns=columns)


def test_a_column_of_another_name_is_a_kind_once_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "crowd.csv").write_text("doc,who,stars,what\na,ann,1,person\na,gpt,0,machine\n")
    crowd = q.read_judgements(
        tmp_path / "crowd.csv", columns="doc=doc,assessor=who,grade=stars,kind=what"
    )
    assert kinds(crowd) == ["person", "machine"]
