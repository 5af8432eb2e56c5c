"""Running a plan: the figures, one merge per panel, resuming, parts, executors."""

from __future__ import annotations

import errno
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import InputError, UsageError
from qrowd.experiments import cells, run
from qrowd.experiments.inputs import Inputs, load
from qrowd.experiments.plan import Plan, parse_plan

PLAN = """[experiment]
name = "tiny"
[data]
pools = "trec21"
made = true
documents = 40
systems = 6
seed = 1
[grid]
approaches = ["mv", "binmv", "aware-uni", "sup_fro", "sgl_fro_msd"]
measures = ["AP", "P@5"]
statistics = ["tau_ap", "tau", "rmse"]
gold = ["certain", "random"]
replicates = 3
[panels]
sizes = [2, 5]
each = 3
seed = 4
[topics]
one = [["411", "416"], ["417", "420"]]
two = [["411"], {test = ["417", "420"], train = ["416"]}]
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return parse_plan(PLAN)


@pytest.fixture(scope="module")
def inputs(plan: Plan) -> Inputs:
    return load(plan)


@pytest.fixture(scope="module")
def whole(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> run.Book:
    return run.run(plan, tmp_path_factory.mktemp("whole") / "out", workers=1)


def _value(frame: Any, statistic: str, **where: Any) -> float:
    for name, value in where.items():
        frame = frame.filter(frame[name] == value)
    assert len(frame) == 1
    return float(frame[statistic][0])


def test_any_method_can_be_random_relevance(plan: Plan, inputs: Inputs) -> None:
    """The vote's belief is `binmv`, cell by cell; that of `ds` is what its probabilities say."""
    names = ("mv", "soft(mv)", "binmv", "ds", "soft(ds)")
    own = replace(inputs, plan=replace(plan, grid=replace(plan.grid, approaches=names)))
    cell = {name: cells.compute(own, cells.Task(name, (2,))) for name in names}
    for statistic in plan.grid.statistics:
        np.testing.assert_array_equal(cell["soft(mv)"][statistic], cell["binmv"][statistic])
    assert not np.array_equal(cell["soft(ds)"]["rmse"], cell["ds"]["rmse"])
    assert set(cell["soft(ds)"]["approach"]) == {"soft(ds)"}
    (runs,), crowd = inputs.runs.values(), inputs.crowd
    members = cells.panels_of(own.plan, 31, 2)[0]
    merged = q.DawidSkene().fit(crowd.of_assessors(q.Index(crowd.assessors.names[members])))
    test = q.Index.of(["411", "416"])
    means = q.evaluate(runs, merged.soft(), ["AP"])[test].means()[0, 0]
    truth = q.evaluate(runs, inputs.gold, ["AP"])[test].means()[0, 0]
    assert cell["soft(ds)"]["rmse"][0] == pytest.approx(float(q.rmse(means, truth)), abs=1e-12)
    keys = {
        cells.key_of(cells.Task("x", (2,)), replace(own, plan=replace(own.plan, names={"x": n})))
        for n in names
    }
    assert len(keys) == len(names)


def test_cells_by_the_long_way(whole: run.Book, inputs: Inputs) -> None:
    """One panel, merged and scored with the library alone."""
    frame = run.cells(whole)
    (runs,), crowd = inputs.runs.values(), inputs.crowd
    members = cells.panels_of(inputs.plan, 31, 5)[1]
    own = crowd.of_assessors(q.Index(crowd.assessors.names[members]))
    test, train = q.Index.of(["417", "420"]), q.Index.of(["416"])
    truth = q.evaluate(runs, inputs.gold, ["AP"])
    blurred = q.evaluate(runs, inputs.gold.soft(0.95, 0.05), ["AP"])[test].means()[0, 0]
    each = q.evaluate(runs, own.by_assessor(), ["AP"])
    soft = q.evaluate(runs, q.get("binmv").fit(own), ["AP"])
    learned = q.get("sup_fro").fit(each, q.Given(reference=truth[train]))
    expected = {
        "mv": q.evaluate(runs, q.get("mv").fit(own).qrels(seed=5), ["AP"]),
        "binmv": soft,
        "aware-uni": q.get("aware-uni").fit(each),
        "sup_fro": learned,
    }
    for approach, scores in expected.items():
        place = {
            "approach": approach,
            "size": 5,
            "panel": 2,
            "topics": "two",
            "set": 2,
            "measure": "AP",
        }
        means, gold = scores[test].means()[0, 0], truth[test].means()[0, 0]
        for kind, reference in (("certain", gold), ("random", blurred)):
            assert _value(frame, "tau_ap", gold=kind, **place) == pytest.approx(
                float(q.tau_ap(means, reference)), abs=1e-12
            )
            assert _value(frame, "rmse", gold=kind, **place) == pytest.approx(
                float(q.rmse(means, reference)), abs=1e-12
            )


def test_every_cell_is_there_once(whole: run.Book) -> None:
    frame = run.cells(whole)
    assert len(frame) == 5 * 2 * 2 * 2 * 3 * 4  # approaches, measures, gold, sizes, each, sets
    keys = ["runs", "topics", "set", "approach", "size", "panel", "measure", "gold"]
    assert frame.select(keys).n_unique() == len(frame)
    assert not frame["rmse"].is_nan().any()


def test_a_merge_is_made_once_per_panel(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits: dict[str, int] = {"mv": 0, "accuracies": 0}
    lock, fit, learn = threading.Lock(), q.get("mv").__class__.fit, q.get("sup_fro").accuracies

    def counted(self: Any, *data: Any, **named: Any) -> Any:
        with lock:
            fits["mv"] += 1
        return fit(self, *data, **named)

    def learned(self: Any, *data: Any, **named: Any) -> Any:
        fits["accuracies"] += 1
        return learn(*data, **named)

    monkeypatch.setattr(q.get("mv").__class__, "fit", counted)
    monkeypatch.setattr(q.get("sup_fro").__class__, "accuracies", learned)
    chosen = replace(plan, grid=replace(plan.grid, approaches=("mv", "sup_fro")))
    run.run(chosen, tmp_path / "out", workers=1)
    assert fits == {"mv": 2 * 3, "accuracies": 4}  # sizes x each; topic sets


@pytest.fixture(scope="module")
def replicated(plan: Plan) -> Inputs:
    return load(replace(plan, grid=replace(plan.grid, measures=("AP",), replicates=20)))


@pytest.mark.parametrize("gap", ["fro", "kld", "tau", "apc"])
def test_accuracies_by_topic_are_learned_once_for_all_sets(replicated: Inputs, gap: str) -> None:
    method = q.get(f"tpc_{gap}_msd")
    shared = cells._topic_accuracies(replicated, method, "made")
    assert shared is not None
    topics = replicated.assessor_scores["made"].topics
    for one in replicated.groups["two"]:
        alone = cells._accuracies(replicated, method, "made", one)
        at = topics.find(q.Index.of(one.test))
        np.testing.assert_allclose(shared[:, :, at], alone, atol=1e-12)


def test_accuracies_by_topic_that_depend_on_other_topics_are_learned_for_each_set(
    plan: Plan, inputs: Inputs
) -> None:
    """Scores above 1 are divided by the largest of a set; a kind of random assessors that never
    tells runs apart on the topics of a set does not count there."""
    large = load(replace(plan, grid=replace(plan.grid, measures=("DCG@10",), replicates=20)))
    assert cells._topic_accuracies(large, q.get("tpc_fro_msd"), "made") is None
    assert cells._topic_accuracies(inputs, q.get("tpc_fro_msd"), "made") is None  # P@5, three
    assert cells._topic_accuracies(large, q.get("sgl_fro_msd"), "made") is None


def test_finished_tasks_are_kept(
    plan: Plan, whole: run.Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the middle, then resumed: the same cells, and nothing is computed twice."""
    done: list[cells.Task] = []
    compute = cells.compute

    def stopping(inputs: Inputs, task: cells.Task) -> cells.Columns:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(task)
        return compute(inputs, task)

    monkeypatch.setattr("qrowd.experiments.executors.compute", stopping)
    with pytest.raises(KeyboardInterrupt):
        run.run(plan, tmp_path / "out", workers=1)
    kept = run.Book.read(tmp_path / "out")
    assert len(kept.keys) - len(kept.missing) == 3
    (tmp_path / "out" / "parts" / ".half.parquet.1.part").write_bytes(b"not whole")

    def recording(inputs: Inputs, task: cells.Task) -> cells.Columns:
        done.append(task)
        return compute(inputs, task)

    monkeypatch.setattr("qrowd.experiments.executors.compute", recording)
    told: list[str] = []
    book = run.run(kept.plan, tmp_path / "out", workers=1, report=told.append)
    assert told[0] == "3 of 7 tasks were finished before"
    assert sorted(done, key=str) == sorted(cells.tasks_of(plan), key=str)
    assert run.cells(book).equals(run.cells(whole))


def test_parts_of_a_cluster_join_to_the_same(plan: Plan, whole: run.Book, tmp_path: Path) -> None:
    for k in (1, 2, 3):
        book = run.run(plan, tmp_path / f"node{k}", workers=1, part=(k, 3))
    assert not (tmp_path / "node3" / "cells.parquet").exists()
    with pytest.raises(InputError, match="of 7 tasks are not finished"):
        run.join(book)
    run.join(book, [tmp_path / "node1", tmp_path / "node2"])
    assert run.cells(book).equals(run.cells(whole))


def test_threads_give_the_same(plan: Plan, whole: run.Book, tmp_path: Path) -> None:
    book = run.run(plan, tmp_path / "out", on="threads", workers=3)
    assert run.cells(book).equals(run.cells(whole))


def test_processes_give_the_same(plan: Plan, whole: run.Book, tmp_path: Path) -> None:
    book = run.run(plan, tmp_path / "out", on="processes", workers=1)
    assert run.cells(book).equals(run.cells(whole))


def test_dask_gives_the_same(plan: Plan, whole: run.Book, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="Dask is an extra")
    book = run.run(plan, tmp_path / "out", on="dask", workers=1)
    assert run.cells(book).equals(run.cells(whole))


def test_the_folder_of_another_plan_is_refused(plan: Plan, whole: run.Book) -> None:
    other = replace(plan, panels=replace(plan.panels, seed=5))
    with pytest.raises(UsageError, match="holds the results of another plan"):
        run.run(other, whole.folder)
    data = replace(plan, data=replace(plan.data, seed=2))
    with pytest.raises(UsageError, match="other data"):
        run.run(data, whole.folder)


def test_files_of_another_version_are_refused(plan: Plan, whole: run.Book, tmp_path: Path) -> None:
    file = tmp_path / "experiment.json"
    found = json.loads((whole.folder / "experiment.json").read_text())
    file.write_text(json.dumps(found | {"version": "0.0.1", "keys": ["x"]}))
    with pytest.raises(UsageError, match=r"qrowd 0\.0\.1, this is"):
        run.run(plan, tmp_path)
    (tmp_path / "cells.parquet").write_bytes((whole.folder / "cells.parquet").read_bytes())
    with pytest.raises(InputError, match="belongs to another plan or version"):
        run.cells(run.Book.read(tmp_path))
    file.write_text("{}")
    with pytest.raises(InputError, match="is not the book"):
        run.Book.read(tmp_path)


def test_a_full_disk_is_told_and_what_is_finished_stays(
    plan: Plan, tmp_path: Path, whole: run.Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_bytes
    written: list[Path] = []

    def filling(self: Path, data: Any) -> int:
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(self))
        written.append(self)
        return write(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", filling)
        with pytest.raises(InputError, match=r"\.parquet: cannot be written: No space left"):
            run.run(plan, tmp_path / "out", workers=1)
    book = run.Book.read(tmp_path / "out")
    assert len(book.keys) - len(book.missing) == 2
    assert run.cells(run.run(plan, tmp_path / "out", workers=1)).equals(run.cells(whole))


def test_a_damaged_part_is_told(plan: Plan, tmp_path: Path) -> None:
    book = run.run(plan, tmp_path / "out", workers=1)
    book.part(book.keys[0]).write_bytes(b"PAR1")
    with pytest.raises(InputError, match="is damaged; remove it and resume"):
        run.join(book)


def test_keys_depend_on_parameters_data_and_version(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = cells.Task("mv", (2,))
    key = cells.key_of(task, inputs)
    seeded = replace(inputs.plan.panels, seed=9)
    assert cells.key_of(task, replace(inputs, plan=replace(inputs.plan, panels=seeded))) != key
    flipped = replace(inputs.gold, grade=1 - inputs.gold.grade)
    assert cells.key_of(task, replace(inputs, gold=flipped)) != key
    assert cells.key_of(cells.Task("binmv", (2,)), inputs) != key
    monkeypatch.setattr(q, "__version__", "9")
    assert cells.key_of(task, inputs) != key


def test_pairs_that_a_panel_did_not_judge_are_not_judged(tmp_path: Path, plan: Plan) -> None:
    """A crowd where each judges a few pairs only: what nobody judged is not relevant by a coin."""
    made = q.simulate(topics=3, documents=30, assessors=12, votes=2, runs=4, seed=3)
    q.save(made.judgements, tmp_path / "crowd.tsv")
    q.save(made.gold, tmp_path / "gold.qrels")
    q.save(made.runs, tmp_path / "all.run")
    data = replace(plan.data, judgements="crowd.tsv", gold="gold.qrels", made=False)
    grid = replace(plan.grid, approaches=("mv", "binmv"), gold=("certain",))
    own = replace(
        plan, data=data, grid=grid, topics={}, runs={"A": "all.run"}, folder=str(tmp_path)
    )
    frame = run.cells(run.run(own, tmp_path / "out", workers=1))
    members = cells.panels_of(own, 12, 2)[0]
    crowd = made.judgements.of_assessors(q.Index(made.judgements.assessors.names[members]))
    judged = np.diff(crowd.pair_starts) > 0
    merged = q.get("mv").fit(crowd).qrels(seed=own.panels.seed)
    scores = q.evaluate(made.runs, merged.select(judged), ["AP"])
    assert len(scores.topics) == 3
    truth = q.evaluate(made.runs, made.gold, ["AP"]).means()[0, 0]
    found = frame.filter((frame["approach"] == "mv") & (frame["measure"] == "AP"))
    assert found["rmse"][0] == pytest.approx(float(q.rmse(scores.means()[0, 0], truth)))
