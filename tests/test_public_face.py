"""`import qrowd`: lazy, seen whole by editors and type checkers, helpful where it is misused."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import qrowd as q
from qrowd import registry
from qrowd.cli.main import main
from qrowd.errors import DataWarning, FormatError, ScaleError, UnknownNameError, UsageError

ROOT = Path(__file__).parents[1]
HEAVY = ("numpy", "polars", "numba", "scipy", "click", "pandas")


@pytest.fixture(scope="module")
def made() -> q.Collection:
    return q.simulate(topics=4, documents=20, assessors=8, votes=3, runs=3, seed=1)


def _stub() -> str:
    spec = importlib.util.spec_from_file_location("stub", ROOT / "docs" / "stub.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text: str = module.stub()
    return text


def test_the_stub_is_up_to_date() -> None:
    held = (ROOT / "src" / "qrowd" / "__init__.pyi").read_text(encoding="utf-8")
    assert held == _stub(), "run: python docs/stub.py"


def test_the_stub_names_everything_and_nothing_else() -> None:
    names = {card.cls.__name__ for kind in ("method", "rule") for card in _cards(kind)}
    names |= {card.id for card in _cards("measure")} | set(q.__all__)
    listed = {line.split(" as ")[-1] for line in _stub().splitlines() if line.startswith("from ")}
    listed |= {line.split(":")[0] for line in _stub().splitlines() if ": _" in line}
    assert {name for name in listed if not name.startswith("_")} == names | {"errors"}
    assert "__getattr__" not in _stub()  # or a typo would pass a type checker


def _cards(kind: str) -> list[registry.Card]:
    return [c for c in registry.cards(kind).values() if c.cls.__module__.startswith("qrowd.")]


def test_dir_lists_methods_measures_and_rules() -> None:
    assert {"AP", "nDCG", "DawidSkene", "RandomSpam", "read_runs", "Scores"} <= set(dir(q))
    assert not {name for name in dir(q) if not hasattr(q, name)}


def test_import_is_lazy() -> None:
    code = f"import json, sys, qrowd; print(json.dumps([n for n in {HEAVY} if n in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_python_m_qrowd() -> None:
    command = [sys.executable, "-m", "qrowd", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == q.__version__


def test_misuse_says_what_to_do(made: q.Collection) -> None:
    crowd: Any = made.judgements
    wrong: Any = made.gold
    scores: Any = q.evaluate(made.runs, made.gold, ["AP"])
    with pytest.raises(UsageError, match=r"ds: fit takes Judgements, got DataFrame; .*read_judg"):
        q.DawidSkene().fit(crowd.to_polars())
    with pytest.raises(UsageError, match=r"got Qrels; write Given\(gold=\.\.\.\)"):
        q.DawidSkene().fit(crowd, wrong)
    with pytest.raises(UsageError, match=r"got Qrels; write Given\(gold=\.\.\.\)"):
        q.DawidSkene().fit(crowd, given=wrong)
    with pytest.raises(UsageError, match=r"got Judgements; make them with qrowd\.evaluate"):
        q.UniformAware().fit(crowd)
    with pytest.raises(UsageError, match=r"got Judgements; make them with qrowd\.read_orders"):
        q.PlackettLuce().fit(crowd)
    with pytest.raises(UsageError, match=r"takes runs first, got Qrels; qrowd\.read_runs"):
        q.evaluate(wrong, made.runs, ["AP"])
    with pytest.raises(UsageError, match=r"got Judgements; .*judgements\.by_assessor\(\)"):
        q.evaluate(made.runs, crowd, ["AP"])
    two: Any = q.evaluate(made.runs, made.gold, ["AP", "RR"])
    with pytest.raises(UsageError, match=r"name the measure first: scores\['AP'\]\['run"):
        two[made.runs.runs.names[0]]
    with pytest.raises(UsageError, match=r"write scores\[qrowd\.Index\.of\(\['"):
        scores[made.gold.topics.names[0]]
    with pytest.raises(UsageError, match=r"there are the measures AP, as in scores\['AP'\]"):
        scores["t01x"]
    for call in (q.screen, q.assessors):
        with pytest.raises(UsageError, match="expected Given, got Qrels"):
            call(*((crowd, ["random-spam"], wrong) if call is q.screen else (crowd, wrong)))


def test_notebooks_show_tables_and_escape_names(made: q.Collection) -> None:
    crowd = made.judgements
    merged = q.MajorityVote().fit(crowd)
    scores = q.evaluate(made.runs, made.gold, ["AP"])
    shown = q.Qrels.of(["<b>"], ["d"], [1])._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert "10 of 240 rows" in crowd._repr_html_()
    assert crowd._repr_html_().count("<tr>") == 11
    for noun in (merged, merged.assessors, merged.qrels(), merged.soft(), made.runs, scores):
        assert noun._repr_html_().startswith("<div>")
    for result in (q.score_labels(merged, made.gold), q.agreement(crowd, bootstrap=0)):
        assert result._repr_html_().startswith("<pre>")
        assert str(result).splitlines()[0] in result._repr_html_()


def test_frames_of_scores_have_topics_only_files_their_mean(
    made: q.Collection, tmp_path: Path
) -> None:
    scores = q.evaluate(made.runs, made.gold, ["AP"])
    assert sorted(set(scores.to_polars()["topic"])) == list(scores.topics)
    q.save(scores, tmp_path / "scores.tsv")
    rows = [line.split("\t") for line in (tmp_path / "scores.tsv").read_text().splitlines()]
    means = {row[0]: float(row[3]) for row in rows if row[1] == "all"}
    assert means == pytest.approx(dict(zip(scores.runs, scores.means()[0, 0], strict=True)))
    again = q.read_scores(tmp_path / "scores.tsv")
    assert list(again.topics) == list(scores.topics)


def test_one_line_each(made: q.Collection, tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="frames of pandas need the extra `pandas`")
    q.save(made.judgements, tmp_path / "crowd.tsv")
    q.save(made.gold, tmp_path / "gold.qrels")
    q.save(made.runs, tmp_path / "all.run")
    by_noun = q.DawidSkene().fit(made.judgements, q.Given(gold=made.gold))
    for crowd in (tmp_path / "crowd.tsv", made.judgements, made.judgements.to_pandas()):
        merged = q.merge(crowd, "DawidSkene", gold=tmp_path / "gold.qrels")
        np.testing.assert_allclose(merged.posterior, by_noun.posterior)
    expected = q.evaluate(made.runs, made.gold, [q.AP(rel=2), q.nDCG @ 10])
    ranked = made.runs.to_pandas().rename(columns={"topic": "query_id", "doc": "doc_id"})
    theirs = {"topic": "qid", "doc": "docno", "grade": "label"}
    judged = made.gold.to_pandas().rename(columns=theirs)
    for runs in (str(tmp_path / "all.run"), ranked, made.runs):
        for gold in (tmp_path / "gold.qrels", judged, made.gold):
            found = q.evaluate(runs, gold, ["map", "ndcg_cut_10"], rel=2)
            np.testing.assert_allclose(found.values, expected.values)
    with pytest.raises(UsageError, match="grades says how files are read"):
        q.merge(made.judgements, "mv", grades="nominal")
    with pytest.raises(UsageError, match="merges orders, not judgements"):
        q.merge(made.judgements, "plackett-luce")


@pytest.mark.filterwarnings("default::qrowd.errors.DataWarning")
def test_labels_without_an_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("t1", "w1", "Cat"), ("t1", "w2", "Cat"), ("t2", "w1", "dog"), ("t2", "w3", "ant")]
    frame = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    said = "labels without an order, as numbers: Cat = 0, ant = 1, dog = 2; if they have one"
    with pytest.warns(DataWarning, match=said):
        crowd = q.read_judgements(frame)
    assert crowd.scale == q.Scale((0, 1, 2), words=("Cat", "ant", "dog"))
    assert crowd.to_polars()["grade"].to_list() == ["Cat", "Cat", "dog", "ant"]
    merged = q.merge(crowd, "mv", gold={"t2": "dog"})  # numbered as the crowd's are
    assert merged.qrels().to_polars()["grade"].to_list() == ["Cat", "dog"]
    assert merged.given.tolist() == [False, True]
    with pytest.warns(DataWarning), pytest.raises(ScaleError, match="labels that judgements do no"):
        q.merge(crowd, "mv", gold={"t2": "bird"})
    with pytest.raises(ScaleError, match="gold has the labels of numbers but judgements have Cat"):
        q.merge(crowd, "mv", gold=q.Qrels.of(["tasks"], ["t2"], [1]))
    assert "alpha-ordinal" not in q.agreement(crowd).overall
    runs = q.RunSet.of(["r"], ["tasks"], ["t1"], [1])
    for refused in (
        lambda: q.evaluate(runs, merged, "AP"),
        lambda: q.evaluate(runs, merged.soft(), "AP"),
        lambda: crowd.by_assessor(),
        lambda: merged.ranking(),
        lambda: crowd.binary(1),
        lambda: q.agreement(crowd, weights="linear"),
        lambda: q.study(crowd),
    ):
        with pytest.raises(ScaleError, match="labels without one; say what they mean: grades='Cat"):
            refused()
    q.save(merged.qrels(), tmp_path / "merged.qrels")
    with pytest.warns(DataWarning, match="Cat = 0, dog = 1"):
        again = q.read_qrels(tmp_path / "merged.qrels")
    assert again.to_polars().rows() == merged.qrels().to_polars().rows()
    with pytest.raises(ScaleError, match="read gold with the same meaning"):
        q.score_labels(merged, again)
    same = q.read_qrels(tmp_path / "merged.qrels", grades=crowd.scale.words)
    assert q.score_labels(merged, same).given is not None
    # one command reads all of its files by one numbering
    q.save(crowd, tmp_path / "crowd.tsv")
    gold = ["--gold", str(tmp_path / "merged.qrels")]
    main(["merge", "mv", str(tmp_path / "crowd.tsv"), *gold])
    assert capsys.readouterr().out == "tasks 0 t1 Cat\ntasks 0 t2 dog\n"


@pytest.mark.parametrize(
    "words",
    [
        ("yes", "no"),
        ("Excellent", "Bad"),
        ("Relevant", "Cat"),
        ("1", "Cat"),
        ("2a", "Cat"),
        ("skip", "Cat"),
        tuple("abcdef"),
    ],
)
def test_words_that_may_have_an_order_are_asked_for(words: tuple[str, ...]) -> None:
    rows = [("t", f"d{at}", "w", word) for at, word in enumerate(words)]
    frame = pl.DataFrame(rows, schema=["topic", "doc", "assessor", "grade"], orient="row")
    with pytest.raises(FormatError, match="--grades nominal if they have no order"):
        q.read_judgements(frame)


def test_scores_by_name(made: q.Collection) -> None:
    scores = q.evaluate(made.runs, made.gold, ["nDCG@10", "AP"])
    run = made.runs.runs.names[1]
    by_topic = scores["nDCG@10"][run]
    assert by_topic == dict(zip(scores.topics, scores.values[0, 0, :, 1].tolist(), strict=True))
    each = q.evaluate(made.runs, made.judgements.by_assessor(), "AP")
    with pytest.raises(UsageError, match="one for each assessor"):
        each["AP"][run]
    shown = scores._repr_html_()
    best = made.runs.runs.names[int(np.argmax(scores.means()[0, 0]))]
    assert shown.index("means") < shown.index(best) < shown.index(made.gold.topics.names[0])


def test_the_first_of_runs(made: q.Collection) -> None:
    few = made.runs.head(3)
    assert few.depth == 3
    assert few.to_polars().equals(made.runs.to_polars().filter(pl.col("rank") <= 3))
    np.testing.assert_array_equal(
        q.evaluate(few, made.gold, "P@3").values, q.evaluate(made.runs, made.gold, "P@3").values
    )
    with pytest.raises(UsageError, match="n at least 1"):
        made.runs.head(0)


def test_judgements_by_name_and_number(made: q.Collection) -> None:
    crowd = made.judgements
    topic = crowd.topics.names[0]
    assert list(crowd[topic].topics) == [topic]
    assert list(made.gold[topic].topics) == [topic]
    belief = q.merge(crowd, "mv")
    assert list(belief[topic].topics) == list(belief.soft()[topic].topics) == [topic]
    rows = list(crowd)
    assert len(rows) == len(crowd)
    assert rows[0] == crowd[0] == tuple(crowd.to_polars().row(0)[:4])
    assert crowd[-1] == rows[-1]
    with pytest.raises(UnknownNameError, match="topic"):
        crowd["nowhere"]
    with pytest.raises(UsageError, match="takes a topic or an Index of topics"):
        crowd[1.5]  # type: ignore[call-overload]
    with pytest.raises(IndexError):
        crowd[len(crowd)]


@pytest.mark.parametrize("name", ["DawidSkene", "MajorityVote", "Wawa", "ZeroBasedSkill", "MMSR"])
def test_names_of_classes(name: str) -> None:
    assert q.get(name) == getattr(q, name)()


def test_names_that_are_like_others() -> None:
    with pytest.raises(UnknownNameError, match="did you mean DawidSkene"):
        q.get("DavidSkene")
