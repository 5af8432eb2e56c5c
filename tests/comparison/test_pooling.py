"""Runs without their own contribution to the pool, against a slow loop; and unjudged documents."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import qrowd as q
from qrowd.cli.main import command
from qrowd.errors import FormatError, InputError, ParameterError


@pytest.fixture(scope="module")
def made() -> q.Collection:
    return q.simulate(topics=6, documents=60, assessors=4, votes=3, runs=7, seed=1)


GROUPS = {"run01": "a", "run02": "a", "run03": "b", "run05": "c", "run06": "c"}


def _first(runs: q.RunSet, depth: int) -> dict[str, set[tuple[str, str]]]:
    """Each run's first pairs, by plain loops."""
    result: dict[str, set[tuple[str, str]]] = {name: set() for name in runs.runs}
    for t, topic in enumerate(runs.topics):
        lists, _ = runs.lists(t)
        for run, documents in zip(runs.runs, lists, strict=True):
            shown = [str(runs.documents.names[d]) for d in documents[:depth] if d >= 0]
            result[run] |= {(topic, document) for document in shown}
    return result


@pytest.mark.parametrize("depth", [3, 10])
def test_leaving_out_agrees_with_a_slow_loop(made: q.Collection, depth: int) -> None:
    assert made.runs is not None
    found = q.leave_out_runs(made.runs, made.truth, GROUPS, ["AP", "P@10"], depth=depth)
    first = _first(made.runs, depth)
    full = q.evaluate(made.runs, made.truth, ["AP", "P@10"]).means()[:, 0]
    names = list(zip(made.truth.pairs.topic_names, made.truth.pairs.document_names, strict=True))
    for g, group in enumerate("abc"):
        own = [run for run in first if GROUPS.get(run) == group]
        others = set().union(*(first[run] for run in first if run not in own))
        lost = set().union(*(first[run] for run in own)) - others
        kept = np.array([name not in lost for name in names])
        assert found.removed[g] == (~kept).sum()
        left = q.evaluate(made.runs, made.truth.select(kept), ["AP", "P@10"]).means()[:, 0]
        at = [list(made.runs.runs).index(run) for run in own]
        np.testing.assert_allclose(found.without[:, at], left[:, at])
        np.testing.assert_allclose(found.place_without[:, at], q.places(left)[:, at])
        assert found.tau[0, g] == pytest.approx(float(q.tau_b(left[0], full[0])))
    assert found.removed.sum() > 0
    assert (found.without[:, [3, 6]] == full[:, [3, 6]]).all()  # they are in no group


def test_bad_groups_are_one_line(made: q.Collection, tmp_path: Path) -> None:
    assert made.runs is not None
    with pytest.raises(InputError, match="'run99' is no run; there are run01"):
        q.leave_out_runs(made.runs, made.truth, {"run99": "a"})
    with pytest.raises(ParameterError, match="at least 1"):
        q.leave_out_runs(made.runs, made.truth, GROUPS, depth=0)
    file = tmp_path / "groups.tsv"
    file.write_text("run\tteam\nrun01\ta\n", encoding="utf-8")
    with pytest.raises(FormatError, match="must name the columns run, group"):
        q.read_groups(file)
    file.write_text("run\tgroup\nrun01\ta\nrun01\tb\n", encoding="utf-8")
    with pytest.raises(FormatError, match="run run01 is in group b here and in a before"):
        q.read_groups(file)
    file.write_text("run\tgroup\n", encoding="utf-8")
    with pytest.raises(FormatError, match="no run is in a group"):
        q.read_groups(file)


def test_reusability_by_command(made: q.Collection, tmp_path: Path) -> None:
    q.save(made.runs, tmp_path / "all.run")
    q.save(made.truth, tmp_path / "truth.qrels")
    lines = ["run\tgroup", *(f"{run}\t{group}" for run, group in GROUPS.items())]
    (tmp_path / "groups.tsv").write_text("\n".join(lines), encoding="utf-8")
    asked = ["evaluate", "--runs", f"{tmp_path}/all.run", "--qrels", f"{tmp_path}/truth.qrels"]
    asked += ["--leave-out-runs", f"{tmp_path}/groups.tsv", "--pool-depth", "5", "-m", "AP"]
    done = CliRunner().invoke(command, asked)
    assert done.exit_code == 0, done.output
    assert [line.split()[1] for line in done.stdout.splitlines()[1:4]] == ["a", "b", "c"]
    (tmp_path / "groups.tsv").write_text("run\tgroup\nnobody\ta\n", encoding="utf-8")
    wrong = CliRunner().invoke(command, asked)
    assert str(wrong.exception).startswith(f"{tmp_path}/groups.tsv: 'nobody' is no run")


def test_unjudged_documents_and_what_they_could_change(made: q.Collection) -> None:
    assert made.runs is not None
    kept = np.arange(len(made.truth)) % 3 > 0
    found = q.unjudged(made.runs, made.truth.select(kept), ["P@10", "nDCG@10"])
    judged = {
        name
        for name, there in zip(
            zip(made.truth.pairs.topic_names, made.truth.pairs.document_names, strict=True),
            kept,
            strict=True,
        )
        if there
    }
    for run, first in _first(made.runs, 10).items():
        at = list(made.runs.runs).index(run)
        assert found.number[at] == len(first - judged)
        assert found.gain[0, at] == pytest.approx(len(first - judged) / 10 / 6)
    assert (found.gain[1] > 0).all()
    assert "are judged" in str(q.unjudged(made.runs, made.truth))


@pytest.mark.parametrize("name", ["AP", "nDCG@5", "nDCG@10", "P(rel=2)@10"])
def test_what_unjudged_documents_could_change_is_the_most_of_all_ways(name: str) -> None:
    ranked = [f"d{n}" for n in range(10)]
    runs = q.RunSet.of(["a"] * 20, ["t"] * 10 + ["u"] * 10, ranked * 2, [*range(10, 0, -1)] * 2)
    judged = {("t", "d0"): 2, ("t", "d8"): 1, ("u", "d5"): 0, ("u", "else"): 2}
    judged |= {(topic, f"d{n}"): 0 for topic in "tu" for n in (2, 3, 6)}
    most = 0.0
    for topic in "tu":
        own = {document: grade for (t, document), grade in judged.items() if t == topic}
        unknown = [document for document in ranked if document not in own]
        scores = []
        for size in range(len(unknown) + 1):
            for chosen in itertools.combinations(unknown, size):
                grades = {**own, **dict.fromkeys(chosen, 2)}
                qrels = q.Qrels.of([topic] * len(grades), [*grades], [*grades.values()])
                scores.append(float(q.evaluate(runs, qrels, name).means()[0, 0, 0]))
        most += (max(scores) - scores[0]) / 2
    qrels = q.Qrels.of([t for t, _ in judged], [d for _, d in judged], [*judged.values()])
    assert q.unjudged(runs, qrels, name).gain[0, 0] == pytest.approx(most)


def test_unjudged_documents_may_only_cost_and_may_have_higher_grades() -> None:
    ranked = [f"d{n}" for n in range(10)]
    runs = q.RunSet.of(["a"] * 10, ["t"] * 10, ranked, range(10, 0, -1))
    qrels = q.Qrels.of(["t"] * 9, ranked[:9], [1] + [0] * 8)
    found = q.unjudged(runs, qrels, ["nDCG@10", "P(rel=2)@10"], highest=2)
    assert found.gain[0, 0] == 0  # what is relevant below is worth less than it takes
    assert found.gain[1, 0] == pytest.approx(0.1)
    assert "at most if some of its own had the highest grade (2)" in str(found)


def test_options_that_leaving_out_has_no_use_for(tmp_path: Path) -> None:
    for name in ("a.run", "a.qrels", "groups.tsv"):
        (tmp_path / name).write_text("", encoding="utf-8")
    asked = ["evaluate", "--runs", f"{tmp_path}/a.run", "--qrels", f"{tmp_path}/a.qrels"]
    lonely = CliRunner().invoke(command, [*asked, "--pool-depth", "10"])
    assert str(lonely.exception) == "--pool-depth needs --leave-out-runs; leave it out"
    asked += ["--leave-out-runs", f"{tmp_path}/groups.tsv"]
    for option in ("--intervals", "--per-topic"):
        refused = CliRunner().invoke(command, [*asked, option])
        assert str(refused.exception) == (
            f"{option} does not go with --leave-out-runs; leave it out"
        )
