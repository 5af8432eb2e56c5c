"""kill -9 a running experiment at ten random moments, then resume it.

    python -m benchmarks.experiment_kills

Says whether the cells are those of a run that was never stopped, and whether any finished part was
computed again.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from qrowd.experiments import run
from qrowd.experiments.plan import read_plan

KILLS = 10
PLAN = """[experiment]
name = "kills"
[data]
pools = "trec21"
made = true
documents = 200
systems = 10
[grid]
approaches = ["mv", "ds(per_topic=true)", "aware-uni", "sup_apc"]
measures = ["AP", "nDCG@20"]
[panels]
sizes = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
each = 20
[topics]
half = [["411", "416"], ["417", "420"]]
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plan.toml").write_text(PLAN)
        whole = run.run(read_plan(folder / "plan.toml"), folder / "whole")
        out, moment, again, kills = folder / "out", random.Random(1), 0, []
        for _ in range(KILLS):
            before = _parts(out)
            _start_and_kill(folder, out, moment.uniform(0.0, 1.0), len(before))
            again += sum(_parts(out)[part] != when for part, when in before.items())
            kills.append(len(_parts(out)))
        before = _parts(out)
        resumed = run.run(run.Book.read(out).plan, out)
        again += sum(_parts(out)[part] != when for part, when in before.items())
        same = run.cells(resumed).equals(run.cells(whole))
        print(f"finished tasks of {len(whole.keys)} after each kill: {kills}")
        print(f"the same cells: {same}; finished parts computed again: {again}")


def _start_and_kill(folder: Path, out: Path, wait: float, had: int) -> None:
    """Kill a run some time after it has begun to compute (or is done)."""
    command = [sys.executable, "-m", "qrowd", "experiment", "run", str(folder / "plan.toml")]
    child = subprocess.Popen([*command, "-o", str(out), "-q"])
    while child.poll() is None and len(_parts(out)) <= had:
        time.sleep(0.02)
    time.sleep(wait)
    child.kill()
    child.wait()


def _parts(out: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in (out / "parts").glob("[!.]*.parquet")}


if __name__ == "__main__":
    main()
