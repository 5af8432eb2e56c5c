"""Gold that is judged again where a crowd contradicts it: Table 4.2 of Piazzon 2019, and flips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import InputError

# topic, documents, NIST relevant, % REL, contested, % contested, to non, to relevant, total
PRINTED = """411 2056 27 1 15 1 1 1 27
416 1235 42 4 17 1 0 3 45
417 2992 75 3 60 2 3 3 75
420 1136 33 3 23 2 1 5 37
427 1528 50 3 42 3 14 1 37
432 2503 28 1 34 1 7 1 22
438 1798 173 11 118 7 16 5 162
445 1404 62 5 29 2 3 1 60
446 2020 162 9 119 6 15 9 156
447 1588 16 1 2 0 0 0 16"""
HEADINGS = ["Topic ID", "# Docs", "NIST Rel", "% REL", "# Disag", "% Disag"]
HEADINGS += ["Rel to Non", "Non to Rel", "Total Rel"]
ROWS = [[int(word) for word in line.split()] for line in PRINTED.splitlines()]


def printed_gold() -> tuple[q.Qrels, q.Pairs, q.Qrels]:
    """Gold, contested pairs and decisions made to the printed counts."""
    topics, documents, grades = [], [], []
    contested: list[tuple[str, str]] = []
    decided: list[tuple[str, str, int]] = []
    for topic, size, relevant, _, disputed, _, to_non, to_rel, _ in ROWS:
        names = [f"d{topic}-{n:04d}" for n in range(size)]
        topics += [str(topic)] * size
        documents += names
        grades += [1] * relevant + [0] * (size - relevant)
        lost, won = names[:to_non], names[relevant : relevant + to_rel]
        kept = names[relevant + to_rel : relevant + disputed - to_non]
        contested += [(str(topic), name) for name in (*lost, *won, *kept)]
        decided += [(str(topic), name, 0) for name in (*lost, *kept)]
        decided += [(str(topic), name, 1) for name in won]
    pairs = q.Pairs.of(*zip(*contested, strict=True))
    decisions = q.Qrels.of(*zip(*decided, strict=True))
    return q.Qrels.of(topics, documents, grades), pairs, decisions


def test_the_printed_table() -> None:
    gold, contested, decisions = printed_gold()
    after = q.adjudicated(gold, decisions)
    assert (len(gold), int(gold.grade.sum()), len(contested)) == (18_260, 668, 459)
    assert int(after.grade.sum()) == 637
    table = q.adjudication_table(gold, after, contested, as_printed=True)
    assert [list(row) for row in table] == [HEADINGS] * 10
    assert [[int(value) for value in row.values()] for row in table] == ROWS
    own = q.adjudication_table(gold, after, contested)
    assert own[-1] == {
        "topic": "all",
        "documents": 18_260,
        "relevant": 668,
        "share relevant": 668 / 18_260,
        "contested": 459,
        "share contested": 459 / 18_260,
        "to non-relevant": 60,
        "to relevant": 29,
        "relevant after": 637,
    }
    by_documents = {row["topic"]: round(100 * row["share relevant"]) for row in own[:-1]}
    differ = [row[0] for row in ROWS if by_documents[str(row[0])] != row[3]]
    assert differ == [416, 438, 445, 446]


def test_what_does_not_fit_is_named() -> None:
    gold, contested, decisions = printed_gold()
    with pytest.raises(
        InputError, match=r"d411-0000.* was given grade 3, which is none of .*: 0 1"
    ):
        q.adjudicated(gold, q.Qrels.of(["411"], ["d411-0000"], [3]))
    with pytest.raises(InputError, match=r"other.* was decided, but this gold does not have it"):
        q.adjudicated(gold, q.Qrels.of(["411"], ["other"], [1]))
    with pytest.raises(InputError, match="different pairs"):
        q.adjudication_table(gold, decisions, contested)


def flipped(share: float, seed: int) -> tuple[q.Judgements, q.Qrels, np.ndarray]:
    made = q.simulate(topics=10, documents=100, assessors=20, votes=5, seed=seed)
    wrong = np.random.default_rng(seed).random(len(made.truth)) < share
    grade = np.where(wrong, 1 - made.truth.grade, made.truth.grade)
    return made.judgements, q.Qrels(made.truth.pairs, grade), wrong


def test_wrong_gold_comes_first_and_as_often_as_expected() -> None:
    crowd, gold, wrong = flipped(0.05, 2)
    todo = q.contested(crowd, gold, q.DawidSkene(), control=30, seed=1)
    contested = todo.goal == "gold"
    at = gold.pairs.locate(q.Pairs.of(todo.topic, todo.document))
    order = {name: n for n, name in enumerate(zip(todo.topic, todo.document, strict=True))}
    found = q.Pairs.of(todo.topic, todo.document)
    hits = np.zeros(len(todo))
    for row, name in zip(
        at, zip(found.topic_names, found.document_names, strict=True), strict=True
    ):
        hits[order[name]] = wrong[row]
    first = min(40, int(contested.sum()))
    assert hits[:first].mean() > 5 * wrong.mean()
    assert hits[:first].mean() > hits[contested].mean()
    expected = todo.p_wrong[contested].sum()
    assert abs(expected - hits[contested].sum()) < 0.35 * hits[contested].sum()
    assert (np.diff(todo.p_wrong[contested]) <= 1e-9).all()
    assert hits[~contested].mean() <= 0.1  # controls: gold that the crowd confirms
    assert np.isnan(todo.p_wrong[~contested]).all()


def test_real_gold_with_flips(real_data: Path) -> None:
    """DL 2021: of the first 200 contested pairs many are those that were flipped."""
    crowd = q.read_judgements(real_data / "dl21" / "judgements.tsv.gz")
    truth = q.read_qrels(real_data / "dl21" / "gold.qrels.gz").binary(2)
    wrong = np.random.default_rng(1).random(len(truth)) < 0.05
    gold = q.Qrels(truth.pairs, np.where(wrong, 1 - truth.grade, truth.grade))
    todo = q.contested(crowd, gold, q.MajorityVote(), number=200)
    at = gold.pairs.locate(q.Pairs.of(todo.topic, todo.document))
    share, base = wrong[at].mean(), wrong.mean()
    assert share > 10 * base
    assert abs(todo.p_wrong.mean() - share) < 0.1


def test_the_whole_way_by_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crowd, gold, wrong = flipped(0.1, 3)
    truth = np.where(wrong, 1 - gold.grade, gold.grade)
    q.save(crowd, tmp_path / "crowd.tsv")
    q.save(gold, tmp_path / "nist.qrels")
    merged = q.DawidSkene().fit(crowd)
    q.save(merged.qrels(), tmp_path / "ds.qrels")
    q.save(q.MajorityVote().fit(crowd).qrels(), tmp_path / "mv.qrels")

    def run(line: str) -> str:
        words = [
            str(tmp_path / word) if "." in word and word[0] != "0" else word
            for word in line.split()
        ]
        main(words)
        said = capsys.readouterr()
        return said.out + said.err

    said = run(
        "next crowd.tsv --goal gold --gold nist.qrels --method ds --control 10 "
        "--blind todo.tsv -o list.tsv"
    )
    assert "contradict each other on" in said
    assert "are wrong, if 0.05 of all gold is" in said
    listed = pl.read_csv(tmp_path / "list.tsv", separator="\t", infer_schema=False)
    assert set(listed["gold_hash"]) == {q.gold_hash(gold)}
    assert set(listed["nominated_by"]) == {"ds"}
    assert (listed["goal"] == "control").sum() == 10
    blind = pl.read_csv(tmp_path / "todo.tsv", separator="\t", infer_schema=False)
    assert blind.columns == ["topic", "doc", "grade", "gold_hash", "nominated_by"]
    assert set(blind.select("topic", "doc").rows()) == set(listed.select("topic", "doc").rows())
    assert blind.rows() != blind.sort("topic", "doc").rows()
    names = zip(gold.pairs.topic_names, gold.pairs.document_names, strict=True)
    know = dict(zip(names, truth.tolist(), strict=True))
    grades = [str(know[row]) for row in blind.select("topic", "doc").rows()]
    blind.with_columns(grade=pl.Series([None, *grades[1:]])).write_csv(
        tmp_path / "done.tsv", separator="\t"
    )
    said = run("adjudicate apply done.tsv nist.qrels -o new.qrels")
    assert "1 row undecided" in said
    after = q.read_qrels(tmp_path / "new.qrels")
    changed = set(np.flatnonzero(after.grade != gold.grade))
    assert changed <= set(np.flatnonzero(wrong))
    assert len(changed) > 0.5 * wrong.sum()
    table = run("adjudicate table nist.qrels new.qrels list.tsv --json")
    assert '"to relevant"' in table
    assert "of 10 control pairs" in table
    # under the new gold, what nominated the pairs is scored in its own favour: that is said
    assert "figures are in its own favour" in run("score ds.qrels new.qrels")
    assert "favour" not in run("score mv.qrels new.qrels")
    with pytest.raises(SystemExit) as stop:
        run("adjudicate apply done.tsv new.qrels -o newer.qrels")
    assert stop.value.code == 1
    assert "decisions on other gold" in capsys.readouterr().err
