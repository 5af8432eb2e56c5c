"""Files that the tools themselves have written: each gives the truth beside it, by the command
that `qrowd check` suggests.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pytest

import qrowd as q
from qrowd.cli.main import main

LABEL_STUDIO = "label-studio/truth_with_groundtruth.tsv"  # its tables do not flag ground truth
POTATO = ["--documents", "potato/items.jsonl"]
# the file, the truth, options of its own, who is a machine, what grades are higher by
FILES: dict[str, tuple[str, list[str], str, int]] = {
    "label-studio/choices.json": ("label-studio/truth.tsv", [], "gpt-x-v1", 0),
    "label-studio/choices.csv": (LABEL_STUDIO, [], "", 0),
    "label-studio/rating.csv": (LABEL_STUDIO, [], "", 1),
    "label-studio/rating.min.json": (LABEL_STUDIO, [], "", 1),
    "doccano/individual.jsonl.zip": ("doccano/truth.tsv", [], "", 0),
    "doccano/individual-confirmed.csv": ("doccano/truth.tsv", [], "", 0),
    "potato/export_csv": ("potato/truth.tsv", POTATO, "", 0),
    "potato/export_csv/annotations.csv": ("potato/truth.tsv", POTATO, "", 0),
    "potato/export_parquet": ("potato/truth.tsv", POTATO, "", 0),
    "potato/export_parquet/annotations.parquet": ("potato/truth.tsv", POTATO, "", 0),
    "argilla/datasets.jsonl": ("argilla/truth.tsv", [], "gpt-x", 0),
    "argilla/datasets.parquet": ("argilla/truth.tsv", [], "gpt-x", 0),
    "toloka/assignments.tsv": ("toloka/truth.tsv", [], "", 0),
    "umbrela/judgments.jsonl": (
        "umbrela/truth.tsv",
        ["--topics", "beir/queries.jsonl", "--documents", "beir/corpus.jsonl"],
        "",
        0,
    ),
    "ranx/assessors": ("ranx/assessors_truth.tsv", [], "", 0),
    "ranx/qrels.parquet": ("ranx/truth_qrels.tsv", [], "", 0),
    # the truth counts assignments that were rejected, which are left out unless asked for
    "mturk/batch_crowd_classifier.csv": (
        "mturk/truth.tsv",
        ["--where", "AssignmentStatus=*"],
        "",
        0,
    ),
    "mturk/batch_radio_words.csv": ("mturk/truth.tsv", ["--where", "AssignmentStatus=*"], "", 0),
    "spreadsheets/frame.xlsx": ("spreadsheets/truth.tsv", [], "", 0),
    "spreadsheets/excel_de.csv": ("spreadsheets/truth.tsv", [], "", 0),
    "datasets/wide.csv": ("datasets/truth.tsv", [], "", 0),
    "datasets/nested.jsonl": ("datasets/truth.tsv", [], "", 0),
    "datasets/words.csv": ("datasets/truth.tsv", [], "", 0),
    "datasets/beir_qrels_index.csv": ("datasets/truth_qrels.tsv", [], "", 0),
    "beir/qrels.tsv": ("beir/truth_qrels.tsv", [], "", 0),
    "peerannot/answers.json": ("peerannot/truth.tsv", [], "", 0),
}


def outcome(line: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The exit code, and what was printed."""
    code = 0
    try:
        main(line)
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def suggested(line: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The command that `check` suggests, at the second try if the first file was refused."""
    code, out, err = outcome(["check", *line], capsys)
    if code:
        option = re.search(r"--(columns|grades) '[^']*'", err)
        assert option, err
        line = [*line, *shlex.split(option[0])]
        code, out, err = outcome(["check", *line], capsys)
    assert not code, err
    rows = [row.split("\t") for row in out.splitlines()]
    command = next(row[3] for row in rows if row[2] == "to go on")
    return shlex.split(command)


def stated(command: list[str]) -> list[str]:
    """The options of a command that was suggested."""
    return [word for word in command if word.startswith("--") and word not in ("--qrels", "--runs")]


@pytest.mark.filterwarnings("ignore::qrowd.errors.DataWarning")
@pytest.mark.parametrize("name", FILES)
def test_a_file_gives_its_truth_by_the_command_that_is_suggested(
    name: str,
    real_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if name.endswith(".xlsx"):
        pytest.importorskip("fastexcel", reason="needs the extra excel")
    monkeypatch.chdir(real_data / "exports")
    truth_file, options, machine, higher = FILES[name]
    command = suggested([name, *options], capsys)
    assert len(stated(command)) <= (2 if name.startswith("umbrela") else 1)
    judged = command[1] == "merge"
    end = len(command) if judged else command.index("--runs")
    words = [*command[3 if judged else 4 : end], *([] if judged else ["--as", "qrels", command[3]])]
    code, _, err = outcome(["convert", *words, "-o", str(tmp_path / "a.csv")], capsys)
    assert not code, err
    columns = ["topic", "doc", "assessor", "grade"] if judged else ["topic", "doc", "grade"]
    found = pl.read_csv(tmp_path / "a.csv", infer_schema=False).select(columns)
    truth = pl.read_csv(truth_file, separator="\t", quote_char=None, infer_schema=False)
    rows = [row for row in found.rows() if not machine or row[2] != machine]
    expected = truth.select(columns).rows()
    if name == "datasets/wide.csv":  # its columns have other names
        who = ("ann@example.org", "bob@example.org", "çem@example.org")
        named = {f"annotator_{n}": name for n, name in enumerate(who, 1)}
        rows = [(*row[:2], named[row[2]], row[3]) for row in rows]
    if name == "ranx/qrels.parquet":  # which writes no blanks
        expected = [tuple(text.replace(" ", "_") for text in row) for row in expected]
    assert sorted((*row[:-1], int(row[-1]) - higher) for row in rows) == sorted(
        (*row[:-1], int(row[-1])) for row in expected
    )


def test_merged_labels_of_nobody_are_refused(
    real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(real_data / "exports" / "doccano" / "collab.jsonl")
    code, _, err = outcome(["check", folder], capsys)
    assert code == 1
    assert "names nobody: export the project so that each member has a file of their own" in err


@pytest.mark.filterwarnings("default::qrowd.errors.DataWarning")
def test_what_is_left_out_is_said(real_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exports = real_data / "exports"
    for name, words in {
        "mturk/batch_radio_words.csv": "3 with rejected",
        "label-studio/choices.json": "1 by who only gave ground truth",
        "argilla/datasets.jsonl": "2 with discarded",
        "umbrela/judgments.jsonl": "2 answers say no grade",
    }.items():
        texts = ["--topics", str(exports / "beir/queries.jsonl")]
        texts += ["--documents", str(exports / "beir/corpus.jsonl")]
        line = ["check", str(exports / name), *(texts if "umbrela" in name else [])]
        assert words in outcome(line, capsys)[2]


@pytest.mark.filterwarnings("ignore::qrowd.errors.DataWarning")
def test_gold_of_tools(real_data: Path) -> None:
    exports = real_data / "exports"
    words = "Not relevant=0,Relevant=1,Highly relevant=2"
    found = q.read_qrels(exports / "label-studio/choices.json", grades=words)
    assert found.to_polars().rows() == [
        ("q 1", "clueweb09-en0003-66-24091", 1),
        ("zażółć/2", "doc08", 2),
    ]
    golden = q.read_qrels(exports / "toloka/assignments.tsv", grades=words)
    assert golden.to_polars()["doc"].to_list() == [
        *("clueweb09-en0019-66-24091", "clueweb09-en0003-66-24091", "clueweb09-en0011-66-24091")
    ]
