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
from dataclasses import dataclass
from pathlib import Path

from benchmarks import _results
from benchmarks._benchmark import Table, run
from qrowd.experiments import run as experiment
from qrowd.experiments.plan import read_plan

PLAN = """[experiment]
name = "kills"
[data]
pools = "trec21"
made = true
documents = {documents}
systems = 10
[grid]
approaches = ["mv", "ds(per_topic=true)", "aware-uni", "sup_apc"]
measures = ["AP", "nDCG@20"]
[panels]
sizes = {sizes}
each = {each}
[topics]
half = [["411", "416"], ["417", "420"]]
"""


@dataclass(frozen=True)
class Options:
    kills: int = 10
    documents: int = 200
    largest: int = 20  # panel
    each: int = 20  # panels of a size


SHORT = Options(kills=1, documents=20, largest=4, each=2)


def main(options: Options) -> None:
    _results.also_all("experiments", "cli")
    sizes = list(range(2, options.largest + 1))
    text = PLAN.format(documents=options.documents, sizes=sizes, each=options.each)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plan.toml").write_text(text)
        whole = experiment.run(read_plan(folder / "plan.toml"), folder / "whole")
        out, moment = folder / "out", random.Random(1)
        table = Table("after", "finished tasks", f"of {len(whole.keys)}, computed again")
        for kill in range(1, options.kills + 1):
            before = _parts(out)
            _start_and_kill(folder, out, moment.uniform(0.0, 1.0), len(before))
            table.row(f"kill {kill}", len(_parts(out)), _computed_again(before, out))
        before = _parts(out)
        resumed = experiment.run(experiment.Book.read(out).plan, out)
        table.row("the end", len(_parts(out)), _computed_again(before, out))
        same = experiment.cells(resumed).equals(experiment.cells(whole))
        print(f"\nthe same cells as without: {same}")


def _start_and_kill(folder: Path, out: Path, wait: float, had: int) -> None:
    """Kill a run some time after it has begun to compute (or is done)."""
    command = [sys.executable, "-m", "qrowd", "experiment", "run", str(folder / "plan.toml")]
    child = subprocess.Popen([*command, "-o", str(out), "-q"])
    while child.poll() is None and len(_parts(out)) <= had:
        time.sleep(0.02)
    time.sleep(wait)
    child.kill()
    child.wait()


def _computed_again(before: dict[str, int], out: Path) -> int:
    """Of the parts that were finished, how many have been written since."""
    now = _parts(out)
    return sum(now[part] != written for part, written in before.items())


def _parts(out: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in (out / "parts").glob("[!.]*.parquet")}


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
