"""`import qrowd`: lazy, seen whole by editors and type checkers, helpful where it is misused."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import qrowd as q
from qrowd import registry
from qrowd.errors import UsageError

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
        q.evaluate(wrong, made.runs, ["AP"])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"got Judgements; .*judgements\.by_assessor\(\)"):
        q.evaluate(made.runs, crowd, ["AP"])
    with pytest.raises(UsageError, match=r"scores\.measure\('AP'\)"):
        scores["AP"]
    with pytest.raises(UsageError, match=r"write scores\[qrowd\.Index\.of\(\['t01'\]\)\]"):
        scores["t01"]
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
