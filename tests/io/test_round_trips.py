"""What is written is read back identically, whatever the names look like."""

from __future__ import annotations

import string
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import qrowd
from qrowd import Judgements, Qrels, RunSet
from qrowd.errors import InputError, MissingExtraError
from qrowd.io.source import zstd

pytestmark = [  # the names below are odd
    pytest.mark.filterwarnings("ignore:.*write them alike:qrowd.errors.DataWarning"),
    pytest.mark.filterwarnings("ignore:.*not for a comment:qrowd.errors.DataWarning"),
]
ODD = ["01", "1", "1.0", "1e5", "NA", "null", "None", "nan", "#a", '"', "a\"b'", "ü", "日本", "-"]
ANY = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1)
PLAIN = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=8
)
names = st.one_of(st.sampled_from(ODD), PLAIN).filter(lambda name: name != "#")
free = st.one_of(st.sampled_from([*ODD, " ", "a b", " a", "a,b", ""]), ANY).filter(bool)
quick = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
grades = st.integers(-3, 5)


def judgements(name: st.SearchStrategy[str]) -> st.SearchStrategy[Judgements]:
    row = st.tuples(name, name, name, grades)
    return st.lists(row, min_size=1, max_size=12).map(
        lambda rows: Judgements.of(*zip(*rows, strict=True))
    )


def rows(noun: Judgements | RunSet | Qrels) -> list[tuple[object, ...]]:
    return noun.to_polars().rows()


@pytest.mark.filterwarnings("ignore:.*TREC's order")  # which is the order
@pytest.mark.parametrize("suffix", [".tsv", ".qrels", ".tsv.gz"])
@quick
@given(data=st.data())
def test_judgements_in_plain_text(suffix: str, tmp_path: Path, data: st.DataObject) -> None:
    crowd = data.draw(judgements(names))
    path = tmp_path / f"crowd{suffix}"
    qrowd.save(crowd, path)
    found = qrowd.read_judgements(path)
    assert rows(found) == rows(crowd)
    assert found.scale == crowd.scale


@pytest.mark.filterwarnings("ignore::qrowd.errors.DataWarning")  # names may differ by blanks
@pytest.mark.parametrize("suffix", [".csv", ".json", ".jsonl", ".parquet"])
@quick
@given(data=st.data())
def test_judgements_where_names_may_hold_blanks(
    suffix: str, tmp_path: Path, data: st.DataObject
) -> None:
    crowd = data.draw(judgements(free))
    path = tmp_path / f"crowd{suffix}"
    qrowd.save(crowd, path)
    assert rows(qrowd.read_judgements(path)) == rows(crowd)


@quick
@given(crowd=judgements(names))
def test_judgements_through_frames(crowd: Judgements) -> None:
    assert rows(qrowd.read_judgements(crowd.to_polars())) == rows(crowd)


@quick
@given(crowd=judgements(names))
def test_judgements_through_pandas(crowd: Judgements) -> None:
    pytest.importorskip("pandas")
    assert rows(qrowd.read_judgements(crowd.to_pandas())) == rows(crowd)


score = st.floats(-1e30, 1e30)


@pytest.mark.parametrize("suffix", ["", ".tsv", ".csv", ".jsonl", ".parquet"])
@quick
@given(
    lines=st.dictionaries(st.tuples(names, names, names), score, min_size=1, max_size=12),
)
@example(lines={("a", "t", "d1"): 0.1 + 0.2, ("a", "t", "d2"): 1e-40, ("a", "t", "d3"): -0.0})
def test_runs(suffix: str, tmp_path: Path, lines: dict[tuple[str, str, str], float]) -> None:
    runs, topics, documents = zip(*lines, strict=True)
    made = RunSet.of(runs, topics, documents, list(lines.values()))
    qrowd.save(made, tmp_path / f"runs{suffix}")
    found = qrowd.read_runs(tmp_path / f"runs{suffix}")
    assert rows(found) == rows(made)


@pytest.mark.parametrize("suffix", ["", ".csv", ".parquet"])
@quick
@given(lines=st.dictionaries(st.tuples(names, names), grades, min_size=1, max_size=12))
def test_qrels(suffix: str, tmp_path: Path, lines: dict[tuple[str, str], int]) -> None:
    topics, documents = zip(*lines, strict=True)
    made = Qrels.of(topics, documents, list(lines.values()))
    qrowd.save(made, tmp_path / f"gold{suffix}")
    assert qrowd.read_qrels(tmp_path / f"gold{suffix}") == made


@pytest.mark.parametrize("blank", [*string.whitespace.replace("\x0b", "").replace("\x0c", "")])
def test_blanks_are_refused_where_they_would_split_a_name(blank: str, tmp_path: Path) -> None:
    gold = Qrels.of(["t1"], [f"a{blank}b"], [1])
    with pytest.raises(InputError, match=r"use the suffix \.csv"):
        qrowd.save(gold, tmp_path / "gold.qrels")
    assert list(tmp_path.iterdir()) == []
    qrowd.save(gold, tmp_path / "gold.parquet")
    assert qrowd.read_qrels(tmp_path / "gold.parquet") == gold


def test_extras_come_back_and_trec_cannot_hold_them(tmp_path: Path) -> None:
    crowd = Judgements.of(
        ["t", "t"],
        ["d", "d"],
        ["b", "a"],
        [0, 1],
        seconds=np.array([1.5, np.nan]),
        time=np.array([1e9 + 0.125, 1e9]),
        weight=np.array([0.1, 2]),
    )
    for suffix in (".tsv", ".csv", ".jsonl", ".parquet"):
        qrowd.save(crowd, tmp_path / f"crowd{suffix}")
        found = qrowd.read_judgements(tmp_path / f"crowd{suffix}")
        for name in ("seconds", "time", "weight"):
            np.testing.assert_array_equal(getattr(found, name), getattr(crowd, name))
    with pytest.raises(InputError, match="cannot hold weight and seconds and time"):
        qrowd.save(crowd, tmp_path / "crowd.qrels")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "gold.qrels"
    qrowd.save(Qrels.of(["t1"], ["d1"], [1]), path)
    with pytest.raises(InputError):
        qrowd.save(Qrels.of(["t1"], ["d 1"], [1]), path)
    assert path.read_text() == "t1 0 d1 1\n"
    assert [each.name for each in tmp_path.iterdir()] == ["gold.qrels"]
    with pytest.raises(InputError, match="there is no folder"):
        qrowd.save(Qrels.of(["t1"], ["d1"], [1]), tmp_path / "none" / "gold.qrels")


@pytest.mark.parametrize("squeezed", [".gz", ".xz", ".bz2", ".zst"])
def test_every_compression_comes_back_and_a_cut_file_is_named(
    squeezed: str, tmp_path: Path
) -> None:
    if squeezed == ".zst":
        zstd_or_skip()
    runs = RunSet.of(["a"] * 4, ["t1", "t1", "t2", "t2"], list("abab"), [2.0, 1.0, 0.5, 4.0])
    crowd = Judgements.of(
        ["t"] * 40, [f"d{i}" for i in range(40)], ["ann", "bob"] * 20, [0, 1] * 20
    )
    qrowd.save(runs, tmp_path / f"a.run{squeezed}")
    qrowd.save(crowd, tmp_path / f"crowd.csv{squeezed}")
    assert rows(qrowd.read_runs(tmp_path / f"a.run{squeezed}")) == rows(runs)
    assert rows(qrowd.read_judgements(tmp_path / f"crowd.csv{squeezed}")) == rows(crowd)
    whole = (tmp_path / f"crowd.csv{squeezed}").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cut: the .* file is damaged or cut short"):
        qrowd.read_judgements(tmp_path / "cut")


def zstd_or_skip() -> None:
    try:
        zstd()
    except MissingExtraError:
        pytest.skip("no module for zstd here")
