"""Files that people have are read right."""

from __future__ import annotations

import datetime
import os
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import qrowd as q
from qrowd.errors import DataWarning, FormatError, UsageError
from qrowd.io.anything import read_any

HEADER = "topic\tdoc\tassessor\tgrade\n"
TWO = [("t1", "dé", "a", 1), ("t1", "dé", "b", 0)]
PLAIN = f"{HEADER}t1\tdé\ta\t1\nt1\tdé\tb\t0\n"
NOON = 1714566600.0  # 2024-05-01T12:30:00Z

SAME = {
    "byte-order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "UTF-16, as Excel saves it": PLAIN.encode("utf-16"),
    "UTF-16, the other way round": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
    "semicolons": PLAIN.replace("\t", ";").encode(),
    "semicolons and commas": 'topic;doc;"who, then";assessor;grade\nt1;dé;x,y;a;1\n'
    "t1;dé;;b;0\n".encode(),
    "empty last columns": "topic,doc,assessor,grade,,\nt1,dé,a,1,,\nt1,dé,b,0,,\n".encode(),
    "empty cells at the ends of some lines": "topic,doc,assessor,grade\nt1,dé,a,1,,\n"
    "t1,dé,b,0\n".encode(),
    "tabs at the ends of lines": f"{HEADER}t1\tdé\ta\t1\t\nt1\tdé\tb\t0\t\t\n".encode(),
    "lines that end in CR LF": PLAIN.replace("\n", "\r\n").encode(),
    "tabs and blanks": "t1\ta  dé 1\nt1 b\tdé\t0\n".encode(),
}


def rows(found: q.Judgements) -> list[tuple[object, ...]]:
    return found.to_polars().rows()


@pytest.mark.parametrize("name", SAME)
def test_the_same_judgements(name: str, tmp_path: Path) -> None:
    (tmp_path / "crowd").write_bytes(SAME[name])
    assert rows(q.read_judgements(tmp_path / "crowd")) == TWO


@pytest.mark.parametrize("name", ["model", "judge", "annotator", "Labeler", "worker-id", "LLM"])
def test_who_judged_has_many_names(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(PLAIN.replace("assessor", name))
    assert rows(q.read_judgements(tmp_path / "a.tsv")) == TWO


@pytest.mark.parametrize(
    "time",
    [
        *("1714566600", "2024-05-01T12:30:00Z", "2024-05-01 12:30", "2024-05-01T12:30:00.000"),
        *("2024-05-01 14:30:00+02:00", "2024-05-01T14:30+0200", "2024-05-01 12:30:00 UTC"),
        *("Wed May 01 05:30:00 PDT 2024", " 2024-05-01T12:30:00Z "),
    ],
)
def test_times_of_any_form_are_seconds(time: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(
        f"topic\tdoc\tassessor\tgrade\ttime\nt\td\ta\t1\t{time}\nt\td\tb\t1\t\n"
    )
    np.testing.assert_array_equal(q.read_judgements(tmp_path / "a.tsv").time, [NOON, np.nan])


def test_a_date_is_its_first_second_and_what_is_no_time_is_named(tmp_path: Path) -> None:
    head = "topic\tdoc\tassessor\tgrade\ttime\n"
    (tmp_path / "a.tsv").write_text(f"{head}t\td\ta\t1\t2024-05-01\n")
    assert q.read_judgements(tmp_path / "a.tsv").time == [NOON - 12.5 * 3600]
    (tmp_path / "a.tsv").write_text(f"{head}t\td\ta\t1\t2024-05-01\nt\td\tb\t1\tat noon\n")
    columns = "topic=topic,doc=doc,assessor=assessor,grade=grade,time=time"
    with pytest.raises(FormatError, match=r"a\.tsv:3: time must be .* got 'at noon'"):
        q.read_judgements(tmp_path / "a.tsv", columns=columns)
    with pytest.warns(DataWarning, match=r"a\.tsv:3: time must be .* the column time is left out"):
        assert q.read_judgements(tmp_path / "a.tsv").time is None  # which nobody asked for


def test_columns_of_datetimes_are_seconds(tmp_path: Path) -> None:
    at = datetime.datetime(2024, 5, 1, 12, 30)
    frame = pl.DataFrame(
        {"doc": ["d"], "worker": ["w"], "label": [1], "time": [at], "seconds": [at - at]}
    )
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.parquet"):
        assert q.read_judgements(source).time == [NOON]
        assert q.read_judgements(source).seconds == [0.0]
    pandas = pytest.importorskip("pandas")
    for stamp in (at, pandas.Timestamp(at, tz="UTC").tz_convert("Europe/Rome")):
        found = pandas.DataFrame({"doc": ["d"], "worker": "w", "label": 1, "time": [stamp]})
        assert q.read_judgements(found).time == [NOON]


def test_ids_come_before_texts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "query,query_id,passage,passage_id,model,label\nhow old,q1,A long text,p1,gpt,1\n"
    )
    assert rows(q.read_judgements(tmp_path / "a.csv")) == [("q1", "p1", "gpt", 1)]


def test_beir_qrels(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n")
    expected = q.Qrels.of(["q1", "q1"], ["d1", "d2"], [2, 0])
    assert q.read_qrels(tmp_path / "test.tsv") == expected
    assert read_any(tmp_path / "test.tsv") == expected


MTURK = {
    "named": (
        '"HITId","Title","WorkerId","SubmitTime","WorkTimeInSeconds","Input.topic","Input.docno",'
        '"Answer.relevance"\n"H","Judge, please","w1","Wed May 01 05:30:00 PDT 2024","60","t","d",'
        '"1"\n"H","Judge","w2","Wed May 01 05:30:00 PDT 2024","9","t","d","0"\n'
    ),
    "numbered": (
        "HITId,WorkerId,Input.topic,Input.docno1,Input.docno2,Answer.Q1,Answer.Q2\n"
        "H,w1,t,d,e,1,0\nH,w2,t,d,e,0,1\n"
    ),
    "buttons": (
        "HITId,WorkerId,Input.topic,Input.docno,Answer.rel.0,Answer.rel.1\nH,w1,t,d,false,true\n"
        "H,w2,t,d,true,false\n"
    ),
}


@pytest.mark.parametrize("name", MTURK)
def test_batch_files_of_mturk(name: str, tmp_path: Path) -> None:
    (tmp_path / "batch.csv").write_text(MTURK[name])
    found = q.read_judgements(tmp_path / "batch.csv")
    one = [row[:4] for row in rows(found) if row[1] == "d"]
    assert one == [("t", "d", "w1", 1), ("t", "d", "w2", 0)]
    assert (found.seconds is not None and found.time is not None) == (name == "named")
    if name == "numbered":
        assert rows(found)[2:] == [("t", "e", "w1", 0), ("t", "e", "w2", 1)]


def test_columns_of_mturk_have_their_own_names_too_and_errors_their_line(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    path.write_text(MTURK["numbered"].replace("H,w2,t,d,e,0,1", "H,w2,t,d,e,0,maybe"))
    with pytest.raises(FormatError, match=r"batch\.csv:3: grade must be .* got 'maybe'"):
        q.read_judgements(path)
    path.write_text(MTURK["named"])
    stated = "topic=Input.topic,doc=HITId,assessor=WorkerId,grade=Answer.relevance"
    assert rows(q.read_judgements(path, columns=stated)) == [
        ("t", "H", "w1", 1),
        ("t", "H", "w2", 0),
    ]


def test_words_are_grades_once_somebody_says_so(tmp_path: Path) -> None:
    text = f"{HEADER}t\td\ta\tPerfect\nt\td\tb\trelated \nt\td\tc\tunrateable\nt\te\ta\t0\n"
    (tmp_path / "a.tsv").write_text(text)
    expected = [("t", "d", "a", 3), ("t", "d", "b", 1), ("t", "e", "a", 0)]
    for grades in (
        "Perfect=3, Related=1,unrateable=_",
        {"perfect": 3, "Related": 1, "Unrateable": None},
    ):
        assert rows(q.read_judgements(tmp_path / "a.tsv", grades=grades)) == expected
    with pytest.raises(FormatError, match=r"a\.tsv:4: grade must be .*'unrateable'.*--grades"):
        q.read_judgements(tmp_path / "a.tsv", grades="Perfect=3,related=1")
    (tmp_path / "gold.qrels").write_text("t 0 d relevant\nt 0 e not\n")
    gold = q.read_qrels(tmp_path / "gold.qrels", grades="relevant=1,not=0")
    assert gold == q.Qrels.of(["t", "t"], ["d", "e"], [1, 0])


@pytest.mark.parametrize("grades", ["good", "good=x", "good=1,Good=0", "good=300"])
def test_words_that_make_no_sense_are_refused(grades: str) -> None:
    with pytest.raises(UsageError, match="grades"):
        q.read_qrels({"t": {"d": 1}}, grades=grades)


def test_a_column_that_was_not_named_is_not_interpreted(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("topic\tdoc\twho\tstars\tweight\ttime\nt\td\ta\t1\t-7\tlate\n")
    stated = "topic=topic,doc=doc,assessor=who,grade=stars"
    found = q.read_judgements(tmp_path / "a.tsv", columns=stated)
    assert rows(found) == [("t", "d", "a", 1)]
    with pytest.raises(
        FormatError, match=r"--columns names no doc; .*--columns doc=doc,grade=stars"
    ):
        q.read_judgements(tmp_path / "a.tsv", columns={"grade": "stars"})


def test_an_empty_last_cell_of_a_column_that_is_not_needed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,d,a,1,5\nt,d,b,0,\n")
    found = q.read_judgements(tmp_path / "a.csv", columns="topic,doc,assessor,grade,seconds")
    np.testing.assert_array_equal(found.seconds, [5, np.nan])


@pytest.mark.parametrize("read", [q.read_judgements, read_any])
def test_a_pipe_is_opened_once(read: object, tmp_path: Path) -> None:
    assert callable(read)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(PLAIN))
    writer.start()
    found = read(pipe)
    writer.join()
    assert rows(found) == TWO


def test_one_line_of_a_hundred_thousand_letters(tmp_path: Path) -> None:
    name = "x" * 100_000
    (tmp_path / "a.qrels").write_text(f"t a {name} 1\nt b {name} 0\nt a d 1\n")
    found = q.read_judgements(tmp_path / "a.qrels")
    assert found.pairs.documents.names.tolist() == ["d", name]
    assert len(q.MajorityVote().fit(found).qrels()) == 2  # whose coins are hashes of names


SAID = {
    "two columns for one role": (
        "topic,doc,worker,annotator,label\nt,d,a,b,1\n",
        "worker and annotator may all be the assessor; worker is used",
    ),
    "no header": ("t,d,a,1\nt,d,b,0\n", r"read as topic, assessor, doc, grade .* --columns topic"),
    "blanks at ends": ("topic,doc,worker,label\nt,d,a,1\nt,d ,a,1\n", r"blanks at their ends"),
    "two grades": (
        "topic,doc,label\nt,d,1\nt,d,0\n",
        r"1 pair has two grades \(topic t document d\).* no column for the assessor",
    ),
    "texts": (
        "query,doc,worker,label\nhow old is the moon,d,a,1\nwhy is the sky blue,d,a,1\n",
        r"names of topics look like texts \('how old is the moon'\)",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_may_be_wrong_is_said(name: str, tmp_path: Path) -> None:
    content, message = SAID[name]
    (tmp_path / "a.csv").write_text(content)
    with pytest.warns(DataWarning, match=message) as said:
        q.read_judgements(tmp_path / "a.csv")
    assert [each.filename for each in said] == [__file__]


def test_four_columns_of_csv_that_are_qrels_need_no_word(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,0,d,1\nt,0,e,0\n")
    assert len(q.read_qrels(tmp_path / "a.csv")) == 2


def test_an_unknown_suffix_is_said(tmp_path: Path) -> None:
    gold = q.Qrels.of(["t"], ["d"], [1])
    with pytest.warns(DataWarning, match=r"the suffix \.xlsx is unknown; written as TREC's form"):
        q.save(gold, tmp_path / "gold.xlsx")
    for name in ("gold", "gold.txt", "gold.txt.gz"):
        q.save(gold, tmp_path / name)
        assert q.read_qrels(tmp_path / name) == gold
