from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path

import pytest

from qrowd.cli.main import main

HEADER = "topic\tdoc\tassessor\tgrade\n"
RUN = "t1 Q0 d1 1 2.5 a\nt1 Q0 d2 2 1.5 a\n"

# what is in the file, where the error is, and what it says
BAD: dict[str, tuple[bytes, str, str]] = {
    "empty.tsv": (b"", "", "the file is empty"),
    "blank.tsv": (b"\n \n\n", "", "the file is empty"),
    "header-only.tsv": (HEADER.encode(), "", "a header but no row"),
    "no-grade.tsv": (
        (HEADER + "t1\td1\tw1\t1\nt1\td2\tw1\tgood\n").encode(),
        ":3",
        "grade must be a whole number from -127 to 127, got 'good'",
    ),
    "half-grade.csv": (b"doc,worker,label\nd1,w1,0.5\n", ":2", "grade must be a whole number"),
    "high-grade.qrels": (b"t1 w1 d1 1\nt1 w2 d1 300\n", ":2", "from -127 to 127, got '300'"),
    "hole.tsv": ((HEADER + "t1\td1\tw1\t1\n\nt1\t\tw1\t1\n").encode(), ":4", "no value for doc"),
    "hole.csv": (b'doc,worker,label\n"d\n1",w1,1\nd2,,0\n', ":4", "no value for assessor"),
    "long-line.tsv": (
        (HEADER + "t1\td1\tw1\t1\nt1\td2\tw1\t1\t7\n").encode(),
        ":3",
        "5 columns where 4 were expected",
    ),
    "long-line.qrels": (b"t1 a d1 1\nt1 b d1 1 x\n", ":2", "5 columns where 4 were expected"),
    "short-line.qrels": (b"t1 a d1 1\nt1 d1 1\n", ":2", "3 columns where 4 were expected"),
    "short-line.run": (RUN.encode() + b"t1 Q0 d3 3 a\n", ":3", "5 columns where 6 were expected"),
    "three.txt": (b"t1 d1 1\nt1 d2 1\n", ":1", "3 columns and no header that is known"),
    "missing-column.tsv": (
        b"topic\tdoc\tcolour\n1\t2\t3\n",
        "",
        "no column for grade among: topic doc colour; grade may be called grade, label",
    ),
    "header.csv": (b"query,url,who,stars\nq,u,a,1\n", "", "cannot tell what this is"),
    "unknown.tsv": (b"run\tcolour\n1\tred\n", "", "cannot tell what this is"),
    "two-grades.qrels": (
        b"t1 0 d1 1\nt1 0 d2 1\nt1 0 d1 0\n",
        ":3",
        "topic t1 document d1 has grade 0 here and 1 earlier; keep one of them",
    ),
    "twice.run": (
        RUN.encode() + b"t1 Q0 d1 3 0.5 a\n",
        ":3",
        "document d1 appears twice in run a for topic t1; keep one of them",
    ),
    "no-score.run": (b"t1 Q0 d1 1 high a\n", ":1", "score must be a number, got 'high'"),
    "nan-score.run": (RUN.encode() + b"t1 Q0 d3 3 nan a\n", ":3", "score is not a number"),
    "latin1.tsv": ((HEADER + "t1\tdé\tw1\t1\n").encode("latin1"), ":2", "not UTF-8"),
    "binary": (b"\x7fELF\0\0\1\2" * 20, "", "neither text nor Parquet"),
    "cut.tsv.gz": (gzip.compress(HEADER.encode() * 99)[:-20], "", "damaged or cut short"),
    "cut.xz": (b"\xfd7zXZ\x00\0\0", "", "damaged or cut short"),
    "cut.parquet": (b"PAR1 and then nothing", "", "damaged or cut short"),
    "bad.jsonl": (b'{"doc":"a","user":"b","rel":1}\n{"doc":\n', ":2", "not a JSON object"),
    "bad.json": (b'[{"doc":"a"},\n{"doc"]', ":2", "not JSON"),
    "flat.json": (b'[{"doc": 1}, 2]', "", "must be a JSON array of objects"),
    "p.tsv": (
        b"topic\tdoc\tgrade\tgiven\tp(0)\tp(1)\nt\td\t1\t0\t0.5\t0.6\n",
        ":2",
        "sum to 1, got 0.5 0.6",
    ),
    "two-rows.tsv": (
        b"topic\tdoc\tgrade\tgiven\tp(0)\tp(1)\nt\td\t1\t0\t0.5\t0.5\nt\td\t1\t0\t0.5\t0.5\n",
        "",
        "a pair appears twice",
    ),
    "two-values.tsv": (
        b"run\ttopic\tmeasure\tvalue\nr\tt\tAP\t0.5\nr\tt\tAP\t0.6\n",
        "",
        "two values for one topic and measure",
    ),
    "only-all.tsv": (b"run\ttopic\tmeasure\tvalue\nr\tall\tAP\t0.5\n", "", "no topics, only 'all'"),
    "assessors.tsv": (b"assessor\taccuracy\nw1\t1\nw1\t0\n", "", "an assessor appears twice"),
    "weights.tsv": (
        b"topic\tdoc\tassessor\tgrade\tweight\nt\td\ta\t1\t1\nt\td\tb\t1\t-2\n",
        ":3",
        "weight must be a finite number of at least 0, got -2.0",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_named_with_their_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, line, message = BAD[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SystemExit) as stop:
        main(["check", str(path)])
    printed = capsys.readouterr()
    assert stop.value.code == 1
    assert printed.out == ""
    assert printed.err.startswith(f"qrowd: {path}{line}: ")
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1


def test_no_such_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("none.tsv", "*.gz"):
        with pytest.raises(SystemExit) as stop:
            main(["check", str(tmp_path / name)])
        assert stop.value.code == 1
        assert re.search("no such file|no file matches", capsys.readouterr().err)


def test_good_files_are_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crowd, gold, run = (tmp_path / name for name in ("c.tsv", "g.qrels", "r.run"))
    crowd.write_text(HEADER + "t1\td1\tw1\t1\nt1\td1\tw2\t0\nt2\td1\tw1\t1\n")
    gold.write_text("t1 0 d1 3\nt1 0 d9 0\n")
    run.write_text(RUN)
    main(["check", str(crowd), str(gold), str(run), "--json"])
    found = {each["kind"]: each for each in json.loads(capsys.readouterr().out)}
    assert list(found) == ["judgements", "qrels", "runs", "overlap"]
    assert found["judgements"]["facts"]["grades"] == {"0": 1, "1": 2}
    assert found["judgements"]["facts"]["pairs judged once"] == 1
    assert found["overlap"]["facts"]["judged pairs with gold"] == 1
    assert found["overlap"]["facts"]["gold pairs that nobody judged"] == 1
    assert found["overlap"]["facts"]["share of the top 10 with gold"] == 0.5
    assert any("--gold-rel" in each for each in found["overlap"]["warnings"])
    assert any("1 topic (t2)" in each for each in found["overlap"]["warnings"])


def test_a_scale_where_all_is_relevant_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.tsv").write_text(HEADER + "t1\td1\tw1\t1\nt1\td1\tw2\t2\n")
    main(["check", str(tmp_path / "c.tsv")])
    printed = capsys.readouterr()
    assert "every grade counts as relevant (the lowest is 1)" in printed.err
    assert "\tjudgements per pair\tmin: 2, median: 2, mean: 2, max: 2\n" in printed.out


def test_one_grade_is_called_by_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.tsv").write_text(HEADER + "t1\td1\tw1\t2\nt1\td1\tw2\t2\n")
    main(["check", str(tmp_path / "c.tsv")])
    assert "every grade is 2, which counts as relevant" in capsys.readouterr().err


def test_what_has_no_header_says_how_it_was_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.qrels").write_text("t1 w1 d1 2\nt1 w2 d1 0\n")
    main(["check", str(tmp_path / "c.qrels")])
    assert "\tread as\ttopic assessor doc grade, without a header\n" in capsys.readouterr().out


def test_runs_have_a_format_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.qrels").write_text("t 0 a,b,c,d,e 1\n")
    (tmp_path / "a.run").write_text("t Q0 a,b,c,d,e 1 2.5 x,y\n")
    line = ["evaluate", "--qrels", str(tmp_path / "a.qrels"), "--runs", str(tmp_path / "a.run")]
    main([*line, "--run-format", "trec", "-m", "AP"])
    assert "x,y\t1.0\n" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*line, "--run-format", "csv", "-m", "AP"])


def test_columns_can_be_stated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.csv").write_text("url,who,stars\nx,ann,1\nx,bob,0\n")
    main(["check", str(tmp_path / "c.csv"), "--columns", "doc=url,assessor=who,grade=stars"])
    assert "\tassessors\t2\n" in capsys.readouterr().out
    (tmp_path / "c.txt").write_text("x 99 ann 1\nx 98 bob 0\n")
    main(["check", str(tmp_path / "c.txt"), "--columns", "doc,_,assessor,grade"])
    assert "\tassessors\t2\n" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["check", str(tmp_path / "c.txt"), "--columns", "doc,assessor,mark"])
    assert stop.value.code == 2
    assert "columns must be among" in capsys.readouterr().err


def test_stdin_is_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = gzip.compress(b"topic doc assessor grade\nt1 d1 w1 1\nt1 d1 w2 0\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    main(["check", "-"])
    assert "-\tjudgements\tassessors\t2\n" in capsys.readouterr().out


def test_an_unknown_header_is_suspected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.txt").write_text("a b c d\nt1 d1 w1 1\n")
    with pytest.raises(SystemExit):
        main(["check", str(tmp_path / "c.txt")])
    assert "c.txt:1: grade must be" in (said := capsys.readouterr().err)
    assert "if this line is a header" in said


def test_kinds_of_assessors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crowd, kinds = tmp_path / "crowd.tsv", tmp_path / "kinds.tsv"
    crowd.write_text(HEADER + "t1\td1\tann\t1\nt1\td1\tgpt-4\t0\nt1\td1\tgpt-5\t0\n")
    rows = "t1\td1\tann\t1\tperson\nt1\td1\tgpt-4\t0\tmachine\nt1\td1\tzoe\t1\t\n"
    kinds.write_text(HEADER[:-1] + "\tkind\n" + rows)
    main(["check", str(crowd)])
    assert "kinds of assessors" not in capsys.readouterr().out
    main(["check", str(kinds)])
    fact = "\tkinds of assessors\t"
    assert f"{fact}person: 1, machine: 1, unknown: 1\n" in capsys.readouterr().out
    main(["check", str(crowd), "--machines", "gpt*"])
    assert f"{fact}machine: 2, unknown: 1\n" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["check", str(crowd), "--machines", "llama*"])
    assert stop.value.code == 1
    said = f"{crowd}: no assessor fits 'llama*'; there are 3 assessors (ann, gpt-4, gpt-5)\n"
    assert capsys.readouterr().err == f"qrowd: {said}"


@pytest.mark.filterwarnings("default")
def test_a_column_kind_of_something_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    controls = tmp_path / "controls.tsv"
    rows = "t1\td1\tw1\t1\tgold\nt1\td1\tw2\t0\trepeat\n"
    controls.write_text(HEADER[:-1] + "\tkind\n" + rows)
    main(["check", str(controls)])
    shown = capsys.readouterr()
    assert shown.err.startswith(f"warning: {controls}: the column kind is left alone")
    assert "kinds of assessors" not in shown.out
    named = "topic=topic,doc=doc,assessor=assessor,grade=grade,kind=kind"
    with pytest.raises(SystemExit) as stop:
        main(["check", str(controls), "--columns", named])
    assert stop.value.code == 1
    said = f"qrowd: {controls}:2: kind must be person, expert or machine, got 'gold'\n"
    assert capsys.readouterr().err == said


def test_shares_are_of_what_counts_as_relevant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crowd.tsv").write_text(HEADER + "t1\td1\tw1\t1\nt1\td1\tw2\t2\nt1\td2\tw1\t0\n")
    (tmp_path / "gold.qrels").write_text("t1 0 d1 3\nt1 0 d2 1\n")
    named = ["check", str(tmp_path / "crowd.tsv"), "--gold", str(tmp_path / "gold.qrels")]

    def shares(*options: str) -> list[str]:
        main([*named, *options])
        rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
        return [row[-1] for row in rows if row[-2] == "share relevant"]

    assert shares() == ["0.6667", "1.0000"]
    assert shares("--rel", "2") == ["0.3333", "0.5000"]
    assert shares("--rel", "2", "--gold-rel", "1") == ["0.3333", "1.0000"]
    assert shares("--gold-rel", "3") == ["0.6667", "0.5000"]
