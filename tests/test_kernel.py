from __future__ import annotations

import io
import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import qrowd as q
from qrowd.aggregation.fit import Fitting
from qrowd.data.given import Given
from qrowd.kernel import COMPILING, Compiling, in_blocks, ranges


def test_ranges_cover_once() -> None:
    assert ranges(5, 2) == [(0, 2), (2, 5)]
    assert ranges(0) == [(0, 0)]


def test_blocks_may_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QROWD_THREADS", "2")
    inner = in_blocks(lambda lo, hi: sum(in_blocks(lambda a, b: b - a, hi - lo)), 100)
    assert sum(inner) == 100


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def compiling() -> Compiling:
    """A count of its own, on a clock that moves by one second at each look."""
    result = Compiling()
    result.clock = itertools.count().__next__
    return result


def test_what_is_compiled_on_the_way_is_part_of_its_caller(compiling: Compiling) -> None:
    compiling.begin()  # the clock shows 0
    compiling.begin()
    compiling.end("inner")
    compiling.end("outer")  # shows 3
    assert dict(compiling.by_kernel) == {"outer": 3}
    assert compiling.seconds == 3


def test_compiling_is_said_once_and_only_on_a_terminal(
    compiling: Compiling, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    for _ in range(2):
        compiling.begin()
        compiling.end("twice")
    assert terminal.getvalue() == "compiling, once per machine ...\n"
    quiet, elsewhere = Compiling(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", elsewhere)
    quiet.begin()
    assert elsewhere.getvalue() == ""


def test_numba_tells_what_it_compiles_but_not_what_it_loads(tmp_path: Path) -> None:
    made = tmp_path / "made.py"
    made.write_text(
        "from qrowd.kernel import COMPILING, kernel\n"
        "@kernel\ndef twice(x: int) -> int:\n    return 2 * x\n"
        "twice(3)\nprint(*COMPILING.by_kernel, COMPILING.seconds > 0)\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = [
        subprocess.run(
            [sys.executable, str(made)], env=environment, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert said == [["__main__.twice", "True"], ["False"]]


def test_compiling_is_not_counted_as_seconds_of_a_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = q.Judgements.of(["t"] * 2, ["a", "b"], ["ann", "ann"], [0, 1])
    fitting = Fitting.of(q.MajorityVote(), crowd, Given())
    monkeypatch.setattr(time, "perf_counter", lambda: fitting.started + 10.0)
    assert fitting.seconds == 10.0
    monkeypatch.setitem(COMPILING.by_kernel, "made up", 7.5)
    assert fitting.seconds == 2.5


def test_without_a_cache_folder_compiling_is_not_said_to_be_once_per_machine(
    compiling: Compiling, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    compiling.kept = False
    compiling.begin()
    assert "no writable cache folder" in terminal.getvalue()
    assert "once per machine" not in terminal.getvalue()
