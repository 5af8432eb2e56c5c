"""What to look at next: errors that votes and texts tell of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="reading documents needs the extra `text`")

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import ParameterError


def made(strength: float, votes: int = 3) -> q.Collection:
    return q.simulate(
        topics=30, documents=40, runs=0, assessors=20, votes=votes, text=strength, seed=8
    )


def wrong_labels(collection: q.Collection) -> set[tuple[str, str]]:
    """Pairs of which most say something else than the truth; ties are none."""
    no, yes = collection.judgements.votes.T
    wrong = np.where(yes == no, False, (yes > no) != (collection.truth.grade > 0))
    pairs = collection.truth.pairs
    names = zip(pairs.topics.names[pairs.topic], pairs.document_names, strict=True)
    return {name for name, each in zip(names, wrong, strict=True) if each}


def test_the_first_fifth_holds_half_of_the_errors_where_text_tells() -> None:
    collection = made(0.6)
    assert collection.documents is not None
    todo = q.contradictions(collection.judgements, collection.documents, q.Joint())
    errors = wrong_labels(collection)
    listed = list(zip(todo.topic, todo.document, strict=True))
    first = listed[: len(listed) // 5]
    assert len(errors & set(first)) >= 0.5 * len(errors)
    assert (np.diff(todo.p_wrong) <= 0).all()
    realised = np.mean([name in errors for name in first])
    assert abs(todo.p_wrong[: len(first)].mean() - realised) < 0.15


def test_text_that_does_not_tell_is_said() -> None:
    collection = made(0.0)
    assert collection.documents is not None
    todo = q.contradictions(collection.judgements, collection.documents, q.Joint())
    assert any("text does not tell" in note for note in todo.notes)
    assert not any("by the text" in reason for reason in todo.reason)


def test_answers_by_assessor_and_gold_left_out() -> None:
    collection = made(0.6)
    assert collection.documents is not None
    gold = collection.truth.select(np.arange(len(collection.truth)) % 10 == 0)
    rows = collection.judgements
    todo = q.contradictions(rows, collection.documents, q.Joint(), by="assessor", gold=gold)
    assert todo.assessor is not None
    assert len(todo) == len(rows) - int(np.isin(rows.pair, rows.pairs.locate(gold.pairs)).sum())
    assert set(todo.to_polars().columns) == {
        *("topic", "doc", "assessor", "reason", "worth", "p_wrong", "probability", "goal")
    }
    assert todo.to_polars()["probability"].null_count() == len(todo)
    with pytest.raises(ParameterError, match="number"):
        q.contradictions(rows, collection.documents, q.Joint(), number=0)


def test_the_command_and_that_its_rows_are_no_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    collection = made(0.6)
    q.save(collection.judgements, "crowd.tsv")
    assert collection.documents is not None
    q.save(collection.documents, "docs.jsonl")
    errors = ["--goal", "errors", "--documents", "docs.jsonl"]
    main(["next", "crowd.tsv", *errors, "-n", "7", "-o", "todo.tsv"])
    assert "of the first 7 about" in capsys.readouterr().err
    lines = Path("todo.tsv").read_text().splitlines()
    assert lines[0] == "topic\tdoc\treason\tworth\tp_wrong\tprobability\tgoal"
    assert len(lines) == 8
    graded = ["\t".join([line, "grade" if not at else "1"]) for at, line in enumerate(lines)]
    Path("human.tsv").write_text("\n".join(graded) + "\n")
    with pytest.raises(SystemExit) as stop:
        main(["judges", "crowd.tsv", "--human", "human.tsv"])
    assert stop.value.code == 1
    assert "and not drawn at random" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["next", "crowd.tsv", "--goal", "errors"])
    assert stop.value.code == 2
