"""Files as people have them: what used to be misread, refused without a remedy, or a traceback."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import qrowd as q
from qrowd.data.frames import Framed
from qrowd.errors import DataWarning, FormatError, UsageError
from qrowd.io.anything import kind_of_path, read_any

HEAD = "topic\tdoc\tassessor\tgrade\n"


def rows(noun: Framed) -> list[tuple[object, ...]]:
    return noun.to_polars().rows()


@pytest.fixture
def file(tmp_path: Path) -> Any:
    """Writes a text to a file of this name."""

    def write(text: str | bytes, name: str = "a.tsv") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def read(path: Any, **options: Any) -> tuple[list[tuple[object, ...]], str]:
    """The judgements of a file, and what was said of it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = q.read_judgements(path, **options)
    table = found.to_polars().select("topic", "doc", "assessor", "grade")
    return table.rows(), "\n".join(str(each.message) for each in said)


# --- no grade -------------------------------------------------------------------------------------

UNGRADED = {
    "a.tsv": f"{HEAD}t\td\ta\t1\nt\td\tb\t\nt\td\tc\tNaN\n",
    "a.csv": 'topic,doc,assessor,grade\nt,d,a,1\nt,d,b,""\nt,d,c,\n',
    "a.jsonl": '{"topic":"t","doc":"d","assessor":"a","grade":1}\n'
    '{"topic":"t","doc":"d","assessor":"b","grade":null}\n'
    '{"topic":"t","doc":"d","assessor":"c"}\n',
    "a.json": '[{"topic":"t","doc":"d","assessor":"a","grade":1},'
    '{"topic":"t","doc":"d","assessor":"b","grade":null},{"topic":"t","doc":"d","assessor":"c"}]',
}


@pytest.mark.parametrize("name", UNGRADED)
def test_rows_without_a_grade_are_left_out_and_counted(name: str, file: Any) -> None:
    path = file(UNGRADED[name], name)
    found, said = read(path)
    assert found == [("t", "d", "a", 1)]
    assert f"{name}: 2 rows have no grade" in said
    with pytest.raises(FormatError, match="no grade"):
        q.read_judgements(path, missing="error")


def test_of_frames_and_qrels_too(file: Any) -> None:
    frame = pl.DataFrame({"topic": "t", "doc": ["d", "e"], "assessor": "a", "grade": [1.0, None]})
    assert read(frame)[0] == [("t", "d", "a", 1)]
    assert read(frame.with_columns(pl.col("grade").fill_null(float("nan"))))[0] == read(frame)[0]
    with pytest.warns(DataWarning, match="1 row has no grade"):
        found = q.read_qrels(file("query,docid,rating\nq,d,3.0\nq,e,1\nz,,", "quepid.csv"))
    assert rows(found) == [("q", "d", 3), ("q", "e", 1)]
    with pytest.raises(FormatError, match="no row has a grade"):
        q.read_judgements(file(f"{HEAD}t\td\ta\t\n"))


# --- TREC's form with tabs ------------------------------------------------------------------------

TREC = {
    "a blank before a tab": ("q1\t0\tA \t1\nq1\t0\tB\t0\n", [("q1", "A", 1), ("q1", "B", 0)]),
    "a blank in a name": ("q 1\t0\tdoc a\t1\n", [("q 1", "doc a", 1)]),
    "a number after a blank": ("q 1\t0\tdoc 5\t1\n", [("q 1", "doc 5", 1)]),
    "two tabs": ("q1\t\t0\tA\t1\nq1\t0\tB\t0\n", [("q1", "A", 1), ("q1", "B", 0)]),
    "tabs, then blanks": ("q1\t0\tA\t1\nq1 0 B 0\n", [("q1", "A", 1), ("q1", "B", 0)]),
    "blanks, then tabs": ("q1 0 A 1\nq1\t0\tB \t0\n", [("q1", "A", 1), ("q1", "B", 0)]),
    "comments": ("# made by hand\nq1 0 A 1\n# depth = 10\n#no row\n", [("q1", "A", 1)]),
}


@pytest.mark.filterwarnings("ignore:.*are comments:qrowd.errors.DataWarning")
@pytest.mark.parametrize("name", TREC)
def test_tabs_and_blanks_in_trecs_form(name: str, file: Any) -> None:
    text, expected = TREC[name]
    assert rows(q.read_qrels(file(text, "a.qrels"))) == expected


def test_a_topic_may_begin_like_a_comment(file: Any) -> None:
    with pytest.warns(DataWarning, match=r"a\.qrels:2: #a is taken for a topic, not for a comment"):
        found = q.read_qrels(file("q1 0 A 1\n#a 0 A 0\n", "a.qrels"))
    assert rows(found) == [("#a", "A", 0), ("q1", "A", 1)]


@pytest.mark.filterwarnings("ignore:.*are comments:qrowd.errors.DataWarning")
def test_runs_with_tabs_comments_and_more_columns(file: Any) -> None:
    expected = [("r", "q1", "A", 1, 2.5), ("r", "q1", "B", 2, 1.5)]
    for text in (
        "q1 \tQ0\tA\t1 \t2.5\tr\nq1 \tQ0\tB\t2 \t1.5\tr\n",
        "q1\tQ0\t\tA\t1\t2.5\tr\nq1\tQ0\tB\t2\t1.5\tr\n",
        "# bm25, k1 = 1.2\nq1 Q0 A 1 2.5 r\nq1 Q0 B 2 1.5 r\n",
        "q1 Q0 A 1 2.5 r and more\nq1 Q0 B 2 1.5 r\n",
        "q1 Q0 A 1 2.5 r\nq1 Q0 B 2 1.5 r # second\n",
    ):
        assert rows(q.read_runs(file(text, "a.run"))) == expected
    with pytest.raises(FormatError, match=r"a\.run:1: 7 columns where 6"):
        q.read_runs(file("q1 Q0 doc A 1 2.5 r\n", "a.run"))


def test_advice_about_columns_only_where_it_works(file: Any) -> None:
    with pytest.raises(FormatError) as error:
        q.read_runs(file("topic\tdocument name\tpoints\nt\td\t1\n"))
    assert "--columns" not in str(error.value)
    with pytest.raises(FormatError, match="--columns doc=doc,grade=NAME"):
        q.read_judgements(file("topic\tdoc\tworker\tcolour\nt\td\tw\tred\n"))


# --- misread in silence ---------------------------------------------------------------------------


def test_tasks_and_workers_are_no_topics_and_documents(file: Any) -> None:
    answers = {str(task): {str(who): (task + who) % 3 for who in range(3)} for task in range(8)}
    found, _ = read(file(json.dumps(answers), "answers.json"))
    assert found[:3] == [("tasks", "0", "0", 0), ("tasks", "0", "1", 1), ("tasks", "0", "2", 2)]
    qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 0, "d3": 1}}
    assert rows(q.read_qrels(file(json.dumps(qrels), "qrels.json")))[0] == ("q1", "d1", 1)


def test_scores_by_measure_are_no_runs(file: Any) -> None:
    scores = {"q1": {"map": 0.5, "ndcg_cut_10": 0.7}, "q2": {"map": 0.25, "ndcg_cut_10": 0.5}}
    path = file(json.dumps(scores), "scores.json")
    for action in (q.read_runs, kind_of_path):
        with pytest.raises(FormatError, match="scores of one run by topic and measure"):
            action(path)
    with pytest.raises(UsageError, match="scores of one run"):
        q.read_runs(scores)


def test_an_index_without_a_name_changes_nothing(file: Any) -> None:
    path = file(",query-id,corpus-id,score\n0,q,d,1\n1,q,e,0\n", "a.csv")
    assert kind_of_path(path) == "qrels"
    assert rows(q.read_qrels(path)) == [("q", "d", 1), ("q", "e", 0)]


def test_another_order_of_four_columns_is_refused(file: Any) -> None:
    path = file("".join(f"q1 d{n} {n % 3} 0\n" for n in range(9)), "a.qrels")
    for action in (q.read_judgements, q.read_qrels):
        with pytest.raises(FormatError, match="--columns topic,doc,grade,_"):
            action(path)
    assert rows(q.read_qrels(path, columns="topic,doc,grade,_"))[2] == ("q1", "d2", 2)
    assert len(q.read_qrels(file("q1 0 d1 0\nq1 0 d2 0\n", "b.qrels"))) == 2


def test_two_columns_of_one_name_are_refused(file: Any) -> None:
    for name, mark in (("a.tsv", "\t"), ("a.csv", ",")):
        lines = ("topic doc worker grade grade", "t d a 1 0")
        with pytest.raises(FormatError, match="two columns are called 'grade'"):
            q.read_judgements(file("\n".join(line.replace(" ", mark) for line in lines), name))


def test_doc_beside_docid_is_the_text(file: Any) -> None:
    path = file("qid\tdoc\tdocid\tworker\tgrade\nq\tA long text\td7\tw\t1\n")
    assert read(path) == ([("q", "d7", "w", 1)], "")


def test_one_assessor_in_a_header_makes_no_qrels(file: Any) -> None:
    found = read_any(file(f"{HEAD}t\td\tann\t1\nt\te\tann\t0\n"))
    assert isinstance(found, q.Judgements)
    assert isinstance(read_any(file("t 0 d 1\nt 0 e 0\n", "a.qrels")), q.Qrels)


def test_one_word_has_one_meaning() -> None:
    with pytest.raises(UsageError, match="two meanings to 'a'"):
        q.read_judgements([], grades="a=1,a=2")


# --- tracebacks, and what stopped without a reason ------------------------------------------------


def test_the_line_by_which_excel_states_its_separator(file: Any) -> None:
    path = file("sep=;\ntopic;doc;who;stars\nt;d,1;a;1\nt;d,1;b;x\n", "a.csv")
    columns = "topic=topic,doc=doc,assessor=who,grade=stars"
    with pytest.raises(FormatError, match=r"a\.csv:4: grade must be a whole number"):
        q.read_judgements(path, columns=columns)
    assert read(path, columns=columns, grades="x=0")[0][1] == ("t", "d,1", "b", 0)


def test_quotes_in_tsv(file: Any) -> None:
    path = file('"topic"\t"doc"\t"assessor"\t"grade"\n"t"\t"d\n\t1"\t"a"\t"1"\n')
    assert read(path)[0] == [("t", "d\n\t1", "a", 1)]
    assert read(file(f'{HEAD}5" pipe\td\ta\t1\n'))[0] == [('5" pipe', "d", "a", 1)]


def test_a_date_that_nobody_asked_for_stops_nothing(file: Any) -> None:
    head = "topic;doc;assessor;grade;timestamp;seconds\n"
    found = q.read_judgements(file(f"{head}t;d;a;1;01.05.2026 12:30;3,5\n", "a.csv"))
    assert found.to_polars().select("time", "seconds").rows() == [(1777638600.0, 3.5)]
    found_rows, said = read(file(f"{head}t;d;a;1;last week;3\n", "a.csv"))
    assert found_rows == [("t", "d", "a", 1)]
    assert "the column timestamp is left out" in said


def test_messages_about_json_speak_of_no_header(file: Any) -> None:
    with pytest.raises(FormatError) as error:
        q.read_judgements(file("[]", "a.json"))
    assert "header" not in str(error.value)


def test_whole_floats_of_numbers_are_integers_as_ids(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"topic": [1.0, 2.0], "doc": [7, 8], "assessor": [3.0, 3.0], "grade": [1, 0]}
    )
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.parquet"):
        assert read(source)[0] == [("1", "7", "3", 1), ("2", "8", "3", 0)]


def test_texts_stay_texts_and_twins_are_said(file: Any) -> None:
    found, said = read(file(f"{HEAD}1\td\ta\t1\n1.0\td\ta\t0\n"))
    assert [row[0] for row in found] == ["1", "1.0"]
    assert "'1.0' and '1'" in said


def test_check_and_merge_agree_about_a_folder_of_json(file: Any) -> None:
    for name, grade in (("ann", 1), ("bob", 0)):
        path = file(json.dumps({"q": {"d": grade, "e": 1}}), f"who/{name}.json")
    found = read_any(path.parent)
    assert isinstance(found, q.Judgements)
    assert rows(found) == rows(q.read_judgements(path.parent))


# --- identical rows -------------------------------------------------------------------------------


def test_identical_rows_are_counted_and_dropped_if_asked_for(file: Any) -> None:
    path = file(f"{HEAD}t\td\ta\t1\nt\td\ta\t1\nt\td\ta\t0\nt\td\tb\t1\n")
    found, said = read(path)
    assert (len(found), "1 row is identical to another" in said) == (4, True)
    assert "--repeated once" in said
    assert len(read(path, repeated="once")[0]) == 3
    timed = file(f"{HEAD[:-1]}\ttime\nt\td\ta\t1\t1\nt\td\ta\t1\t2\n")
    assert "identical" not in read(timed)[1]


@pytest.mark.parametrize("mark", [" ", "\t"])
@pytest.mark.parametrize(
    ("docs", "who", "words"),
    [
        (("t1 a", "t1 b", "t2 c", "t2 d"), "wxyz", "each assessor judged for one topic"),
        (("t1 a", "t1 b", "t1 c"), "wx", "more assessors than documents"),
    ],
)
def test_another_order_without_a_header_is_said(
    docs: tuple[str, ...], who: str, words: str, mark: str, tmp_path: Path
) -> None:
    lines = [f"{doc} {name} {len(docs) % 2}\n".replace(" ", mark) for doc in docs for name in who]
    (tmp_path / "a.txt").write_text("".join(lines))
    with pytest.warns(DataWarning, match=f"{words}.*--columns topic,doc,assessor,grade"):
        q.read_judgements(tmp_path / "a.txt")
    found = q.read_judgements(tmp_path / "a.txt", columns="topic,doc,assessor,grade")
    assert list(found.assessors) == list(who)


def test_trecs_order_is_taken_without_a_word(tmp_path: Path) -> None:
    lines = [f"t{t} {who} d{t}{n} 1" for t in (1, 2) for who in ("a", "b") for n in range(3)]
    (tmp_path / "a.qrels").write_text("\n".join(lines) + "\n")
    assert list(q.read_judgements(tmp_path / "a.qrels").assessors) == ["a", "b"]


def test_a_header_in_the_middle_of_texts(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("qid\tquery\nt\tx\nqid\tquery\nu\ty\n")
    with pytest.raises(FormatError, match=r"a\.tsv:3: this line is the header again; remove it"):
        q.read_topics(tmp_path / "a.tsv")


def test_a_tag_that_was_cut(tmp_path: Path) -> None:
    lines = [f"t Q0 d{n} {n} {20 - n} sys\n" for n in range(10)]
    (tmp_path / "a.run").write_text("".join(lines) + "u Q0 d 1 2 s")
    with pytest.warns(DataWarning, match="only one line has the tag 's', which is like 'sys'"):
        q.read_runs(tmp_path / "a.run")
