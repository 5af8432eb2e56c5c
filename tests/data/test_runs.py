from __future__ import annotations

import numpy as np

from qrowd import Index, RunSet


def test_some_of_the_runs(tiny_runs: RunSet) -> None:
    only = tiny_runs.of_runs(Index.of(["b", "not there"]))
    assert only.runs.names.tolist() == ["b"]
    assert only.starts.tolist() == [0, 3, 3]
    alone = tiny_runs.lists(0)[0][1]
    assert np.array_equal(only.lists(0)[0][0], alone)
