"""Shared fixtures: the real data, where they are there, and tiny collections."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.example_files import save_example_files

from qrowd import Judgements, Qrels, RunSet


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets; the test is skipped where it is absent."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("QROWD_DATA") or beside)
    if not (folder / "trec_rf10").is_dir():
        pytest.skip(f"no real data in {folder}; QROWD_DATA names another folder")
    return folder


@pytest.fixture
def presets_with_data(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Presets of experiments name their files by QROWD_DATA, which need not be set."""
    monkeypatch.setenv("QROWD_DATA", str(real_data.resolve()))


@pytest.fixture(scope="session")
def example_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all the files that examples of commands name; tests work in copies of it."""
    folder = tmp_path_factory.mktemp("files")
    save_example_files(folder)
    return folder


@pytest.fixture
def quick_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """`qrowd demo` without its campaign, which tests/cli/test_demo_campaign.py runs."""
    monkeypatch.setattr("qrowd.cli.simulation._campaign", lambda folder, seed: [])


@pytest.fixture
def tiny_crowd() -> Judgements:
    """Three assessors, two topics, five pairs, binary; w3 is contrary; t2/d1 has a tie."""
    rows = [
        ("t1", "d1", "w1", 1),
        ("t1", "d1", "w2", 1),
        ("t1", "d1", "w3", 0),
        ("t1", "d2", "w1", 0),
        ("t1", "d2", "w2", 0),
        ("t1", "d2", "w3", 1),
        ("t1", "d3", "w1", 1),
        ("t2", "d1", "w1", 1),
        ("t2", "d1", "w2", 0),
        ("t2", "d4", "w2", 0),
        ("t2", "d4", "w3", 0),
    ]
    topics, documents, assessors, grades = zip(*rows, strict=True)
    return Judgements.of(topics, documents, assessors, grades)


@pytest.fixture
def tiny_gold() -> Qrels:
    """Gold for three of the pairs of `tiny_crowd`, and one more."""
    return Qrels.of(["t1", "t1", "t2", "t2"], ["d1", "d2", "d4", "d5"], [1, 0, 0, 1])


@pytest.fixture
def tiny_runs() -> RunSet:
    """Two runs over the documents of `tiny_crowd`; run `b` has no list for t2."""
    return RunSet.of(
        ["a", "a", "a", "a", "a", "b", "b", "b"],
        ["t1", "t1", "t1", "t2", "t2", "t1", "t1", "t1"],
        ["d1", "d2", "d9", "d4", "d5", "d2", "d3", "d1"],
        [3.0, 2.0, 1.0, 2.0, 1.0, 9.0, 8.5, 0.25],
    )
