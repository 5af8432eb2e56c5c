"""One measurement in a process of its own: `python _merging_worker.py TASK FILE`, JSON on stdout.

Runs in our interpreter and in crowd-kit's; imports nothing of either before it knows which.
CPU seconds are those of all threads, peak memory that of the whole process.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")
sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).parent]


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it returns, CPU seconds, seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def peak() -> float:
    """The peak of this process's memory, in GB. Linux counts the parent's in ru_maxrss too."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def slope(run: Callable[[int], Any], few: int, many: int, labels: int) -> dict[str, float]:
    """Nanoseconds of CPU per label and iteration, from two lengths of the same fit."""
    short, long = (min(_cpu(run, length) for _ in range(2)) for length in (few, many))
    return {"ns": (long - short) / (many - few) / labels * 1e9}


def _cpu(run: Callable[[int], Any], length: int) -> float:
    return timed(lambda: run(length))[1]


# --- crowd-kit ------------------------------------------------------------------------------------


def crowdkit_slope(name: str, path: str, few: int, many: int) -> dict[str, float]:
    import crowdkit.aggregation as peer
    import pandas as pd

    frame = pd.read_parquet(path)
    never = {"tol": 0.0} if name in ("DawidSkene", "OneCoinDawidSkene", "GLAD") else {}
    more = {"n_restarts": 1} if name == "MACE" else {}
    if name == "GLAD":
        more["silent"] = True

    def run(iterations: int) -> Any:
        return getattr(peer, name)(n_iter=iterations, **never, **more).fit(frame)

    return {"ns": (_cpu(run, many) - _cpu(run, few)) / (many - few) / len(frame) * 1e9}


def crowdkit_whole(name: str, path: str, options: dict[str, float]) -> dict[str, float]:
    import crowdkit.aggregation as peer
    import pandas as pd

    frame = pd.read_parquet(path)
    before = peak()
    model = getattr(peer, name)(**options)
    labels, cpu, wall = timed(lambda: model.fit_predict(frame))
    named = {str(task): int(label) for task, label in labels.items()}
    return {
        "cpu": cpu,
        "wall": wall,
        "peak": peak(),
        "beyond": peak() - before,
        "iterations": len(getattr(model, "loss_history_", [])),
        "right": right(named, path),
    }


# --- ours -----------------------------------------------------------------------------------------


def qrowd_slope(spec: str, path: str, few: int, many: int) -> dict[str, float]:
    import qrowd as q

    rows = q.read_judgements(path)
    warm(spec)

    def run(iterations: int) -> Any:
        name, arguments = spec.rstrip(")").partition("(")[::2]
        return q.get(f"{name}({arguments}{', ' * bool(arguments)}max_iter={iterations})").fit(rows)

    return slope(run, few, many, len(rows))


def qrowd_whole(spec: str, path: str) -> dict[str, float]:
    import polars as pl

    import qrowd as q

    frame = pl.read_parquet(path)
    warm(spec)
    before = peak()

    def run() -> Any:
        merged = q.get(spec).fit(q.read_judgements(frame))
        return merged, merged.qrels()

    (merged, qrels), cpu, wall = timed(run)
    after = peak()
    named = dict(zip(qrels.pairs.document_names, qrels.grade.tolist(), strict=True))
    return {
        "cpu": cpu,
        "wall": wall,
        "peak": after,
        "beyond": after - before,
        "iterations": merged.fit.iterations,
        "right": right(named, path),
    }


def qrowd_command(*arguments: str) -> dict[str, float]:
    """A whole command, with the start of the interpreter and all."""
    from qrowd.cli.main import main

    clock = time.perf_counter()
    main(list(arguments))
    return {"cpu": time.process_time(), "wall": time.perf_counter() - clock, "peak": peak()}


def warm(spec: str) -> None:
    """Load the kernels on a handful of rows."""
    import qrowd as q

    docs = [f"d{i // 4}" for i in range(40)]
    who = [f"w{i % 4}" for i in range(40)]
    grades = 5 if spec.startswith("ds") else 2
    for scale in {2, grades}:
        said = [(i // 4) % scale for i in range(40)]
        q.get(spec).fit(q.Judgements.of(["t"] * 40, docs, who, said))


# --- both -----------------------------------------------------------------------------------------


def right(labels: dict[str, int], path: str) -> float:
    """The share of tasks with the true label."""
    truth: list[int] = json.loads(Path(path).with_suffix(".json").read_text())
    return sum(labels[f"d{task}"] == true for task, true in enumerate(truth)) / len(truth)


if __name__ == "__main__":
    task, *arguments = json.loads(sys.argv[1])
    print(json.dumps(globals()[task](*arguments)))
