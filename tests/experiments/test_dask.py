"""An existing Dask cluster, and a worker that is killed in the middle."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from qrowd.errors import InputError
from qrowd.experiments import run
from qrowd.experiments.plan import parse_plan

distributed = pytest.importorskip("distributed", reason="Dask is an extra")

PLAN = """[experiment]
name = "tiny"
[data]
pools = "trec21"
made = true
documents = 40
systems = 6
[grid]
approaches = ["mv", "aware-uni", "binmv"]
[panels]
sizes = [2, 3, 4, 5]
each = 2
"""


def test_a_worker_of_a_cluster_is_killed_and_nothing_is_lost(tmp_path: Path) -> None:
    """Its worker dies by kill -9 after the first finished task; the cluster starts another."""
    plan = parse_plan(PLAN)
    whole = run.run(plan, tmp_path / "whole", workers=1)
    client_of: Any = distributed.Client
    cluster_of: Any = distributed.LocalCluster
    killed: list[int] = []
    kept: dict[str, int] = {}

    with cluster_of(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tcp://")

        def told(_: str) -> None:
            if killed:
                return
            parts = (tmp_path / "out" / "parts").glob("[!.]*.parquet")
            kept.update({part.name: part.stat().st_mtime_ns for part in parts})
            with client_of(address) as client:
                killed.extend(client.run(os.getpid).values())
            for number in killed:
                os.kill(number, signal.SIGKILL)

        book = run.run(plan, tmp_path / "out", on=address, report=told)

    assert len(killed) == 1
    assert 0 < len(kept) < len(book.keys)
    assert run.cells(book).equals(run.cells(whole))
    for name, when in kept.items():
        assert (tmp_path / "out" / "parts" / name).stat().st_mtime_ns == when


def test_no_scheduler_at_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, not a traceback; refused at once, so that the test does not wait."""

    def refused(*_: Any, **__: Any) -> None:
        raise OSError("Timed out trying to connect")

    monkeypatch.setattr(distributed, "Client", refused)
    with pytest.raises(InputError, match="no Dask scheduler answers at tcp://127"):
        run.run(parse_plan(PLAN), tmp_path / "out", on="tcp://127.0.0.1:1")
