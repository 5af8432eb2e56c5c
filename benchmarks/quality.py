"""Assessor quality at size, and Krippendorff's alpha beside crowd-kit's and nltk's.

python -m benchmarks.quality

One million judgements of 200,000 pairs by 10,000 assessors, simulated. crowd-kit 1.4.2 and nltk run
in the interpreter named by CROWDKIT_PYTHON (default: this one).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

import qrowd as q

PEERS = """
import json, sys, time
import numpy as np, pandas as pd
rows = np.load(sys.argv[1])
frame = pd.DataFrame({
    "task": np.char.add("d", rows[0].astype(str)), "worker": np.char.add("w", rows[1].astype(str)),
    "label": rows[2],
})
found = {}
from crowdkit.metrics.data import alpha_krippendorff
start = time.perf_counter(); value = alpha_krippendorff(frame)
found["crowd-kit"] = [time.perf_counter() - start, value]
from nltk.metrics.agreement import AnnotationTask
triples = list(zip(frame["worker"], frame["task"], frame["label"]))
start = time.perf_counter(); value = AnnotationTask(triples).alpha()
found["nltk"] = [time.perf_counter() - start, value]
print(json.dumps(found))
"""


def timed(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The least seconds of some runs, after one that is not counted, and the result."""
    result, best = work(), float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def main() -> None:
    c = q.simulate(topics=100, documents=2000, assessors=10_000, votes=5, gold=0.1, runs=0, seed=1)
    crowd, gold = c.judgements, q.Given(gold=c.gold)
    frame = crowd.to_polars()
    before = psutil.Process().memory_info().rss
    rules = [q.RandomSpam(), q.UniformSpam(), q.GoldAccuracy()]
    work: dict[str, Callable[[], Any]] = {
        "alpha": lambda: q.krippendorff_alpha(crowd),
        "alpha, from a frame of names": lambda: q.krippendorff_alpha(q.read_judgements(frame)),
        "all seven coefficients, 1000 bootstrap draws": lambda: q.agreement(crowd),
        "the whole table, with gold": lambda: q.assessors(crowd, gold),
        "the same with estimates by ds": lambda: q.assessors(crowd, gold, merge=q.DawidSkene()),
        "three rules, without each of those left out": lambda: q.screen(crowd, rules, gold),
    }
    print(f"{crowd!r}\n\n| what | seconds | beside it |\n|---|---|---|")
    seconds: dict[str, float] = {}
    for name, one in work.items():
        seconds[name], result = timed(one)
        note = f"{len(result.left_out)} left out" if name.startswith("three") else ""
        print(f"| {name} | {seconds[name]:.3f} | {note} |", flush=True)
    grown = (psutil.Process().memory_info().rss - before) / 2**20
    for peer, (spent, value) in peers(crowd).items():
        times = spent / seconds["alpha, from a frame of names"]
        inside = spent / seconds["alpha"]
        same = abs(value - work["alpha"]()) < 1e-9
        note = f"{inside:.0f} times ours, {times:.0f} times with reading names; same value: {same}"
        print(f"| alpha by {peer} | {spent:.1f} | {note} |")
    print(f"\nMemory grew by {grown:.0f} MB over the judgements.")


def peers(crowd: q.Judgements) -> dict[str, tuple[float, float]]:
    """Seconds and value of each peer's alpha; nothing where they are not installed."""
    import numpy as np

    python = os.environ.get("CROWDKIT_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npy"
        np.save(file, np.stack([crowd.pair, crowd.assessor, crowd.grade]))
        surroundings = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            [python, "-c", PEERS, str(file)], capture_output=True, text=True, env=surroundings
        )
    if done.returncode:
        print(f"no peers: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return {}
    return {name: tuple(pair) for name, pair in json.loads(done.stdout).items()}


if __name__ == "__main__":
    main()
