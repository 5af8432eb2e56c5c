"""Reading: files with millions of string ids to nouns, beside Polars alone and the peers.

    python -m benchmarks.reading                  10 million judgements, 6 million run lines
    python -m benchmarks.reading --rows 1000000   smaller
    python -m benchmarks.reading --rounds 1       quicker

Every measurement is a process of its own: the time of one reading after a warm-up on a small file
of the same kind, the processor time, and the peak of resident memory, libraries included; the best
of a few rounds, in which the readers take turns. `Polars` reads the same file, all columns of text
files as strings. `crowd-kit` is pandas' reader and crowd-kit's own `factorize` for task, worker and
label; `ir_measures` is its reader of runs, made into a list. They are run once, by the interpreter
named in QROWD_PEERS (default: this one), and left out where they are not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SMALL = 600_000
ROUNDS = 5


def make_judgements(folder: Path, rows: int, name: str, seed: int = 1) -> None:
    """Five votes for each pair, in random order; ids as those of ClueWeb and of a platform. In
    `NAME-random.parquet`, documents have ids of 29 random digits.
    """
    import numpy as np
    import polars as pl

    random = np.random.default_rng(seed)
    pairs = max(rows // 5, 1)
    pair = np.arange(rows) % pairs
    random.shuffle(pair)
    number = random.integers(0, 50_000_000, pairs)[pair]
    frame = pl.DataFrame(
        {
            "topic": (20000 + random.integers(0, 1000, pairs))[pair],
            "part": number // 500_000,
            "file": number // 10_000 % 50,
            "at": number % 10_000,
            "who": (random.pareto(1.2, rows) * 50).astype(np.int64) % 5000,
            "grade": random.integers(0, 2, rows, np.int8),
        }
    )
    text = {"part": 4, "file": 2, "at": 5}
    digits = [pl.col(c).cast(pl.String).str.zfill(width) for c, width in text.items()]
    frame = frame.select(
        pl.col("topic").cast(pl.String),
        pl.format("clueweb09-en{}-{}-{}", *digits).alias("doc"),
        pl.format("w{}", "who").alias("assessor"),
        "grade",
    )
    frame.write_parquet(folder / f"{name}.parquet")
    frame.write_csv(folder / f"{name}.tsv", separator="\t")
    high, low = (pl.Series(random.integers(10**13, 10**14, pairs)[pair]) for _ in range(2))
    odd = frame.with_columns(doc=pl.format("{}-{}", high, low))
    odd.write_parquet(folder / f"{name}-random.parquet")


def make_runs(folder: Path, lines: int, name: str, seed: int = 2) -> None:
    """50 topics, 1000 documents each, as many runs as it takes."""
    import numpy as np
    import polars as pl

    random = np.random.default_rng(seed)
    topics, depth = 50, 1000
    runs = max(lines // (topics * depth), 1)
    document = random.permuted(np.tile(np.arange(5000), (runs * topics, 1)), axis=1)[:, :depth]
    topic = np.arange(runs * topics) % topics
    score = -np.sort(-random.random((runs * topics, depth)) * 20, axis=1)
    frame = pl.DataFrame(
        {
            "topic": np.repeat(401 + topic, depth),
            "document": (document + 5000 * topic[:, None]).ravel(),
            "rank": np.tile(np.arange(1, depth + 1), runs * topics),
            "score": score.ravel().round(4),
            "run": np.repeat(np.arange(runs * topics) // topics, depth),
        }
    ).select(
        "topic",
        pl.lit("Q0").alias("q0"),
        pl.format("FBIS3-{}", "document").alias("document"),
        "rank",
        "score",
        pl.format("run{}", "run").alias("run"),
    )
    frame.write_csv(folder / f"{name}.run", separator=" ", include_header=False)


def by_polars(path: str) -> Any:
    import polars as pl

    if path.endswith(".parquet"):
        return pl.read_parquet(path)
    run = path.endswith(".run")
    return pl.read_csv(
        path,
        separator=" " if run else "\t",
        has_header=not run,
        infer_schema=False,
        quote_char=None,
    )


def by_qrowd(path: str) -> Any:
    import qrowd

    return qrowd.read_runs(path) if path.endswith(".run") else qrowd.read_judgements(path)


def by_crowdkit(path: str) -> Any:
    import pandas as pd
    from crowdkit.aggregation.utils import factorize

    frame = (
        pd.read_parquet(path)
        if path.endswith(".parquet")
        else pd.read_csv(path, sep="\t", dtype=str)
    )
    task = frame["topic"] + " " + frame["doc"]
    return [factorize(column.to_numpy()) for column in (task, frame["assessor"], frame["grade"])]


def by_ir_measures(path: str) -> Any:
    import ir_measures

    return list(ir_measures.read_trec_run(path))


READERS: dict[str, Callable[[str], Any]] = {
    "Polars": by_polars,
    "qrowd": by_qrowd,
    "crowd-kit": by_crowdkit,
    "ir_measures": by_ir_measures,
}


def peak_memory() -> int:
    """In KiB. Linux counts the parent's memory in ru_maxrss, but not in VmHWM."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(reader: str, path: str, warm: str) -> None:
    """Read once, and print the time, the processor time and the peak memory as JSON."""
    READERS[reader](warm)
    start, cpu = time.perf_counter(), time.process_time()
    kept = READERS[reader](path)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = peak_memory() / 2**20
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak, "kept": len(kept)}))


def measured(reader: str, path: Path, warm: Path) -> dict[str, float] | None:
    """One process; nothing where the peer is not installed."""
    ours = reader in ("Polars", "qrowd")
    python = sys.executable if ours else os.environ.get("QROWD_PEERS", sys.executable)
    command = [python, "-P", __file__, "--measure", reader, str(path), str(warm)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{reader} left out: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def rounds(path: Path, warm: Path, readers: list[str], times: int) -> dict[str, dict[str, float]]:
    """The best of a few rounds; in each, all readers have their turn, peers only once."""
    found: dict[str, list[dict[str, float]]] = {reader: [] for reader in readers}
    for turn in range(times):
        for reader in readers:
            if turn == 0 or reader in ("Polars", "qrowd"):
                one = measured(reader, path, warm)
                found[reader] += [one] if one else []
    keys = ("seconds", "cpu", "peak")
    return {
        reader: {key: min(one[key] for one in each) for key in keys}
        for reader, each in found.items()
        if each
    }


def table(title: str, path: Path, warm: Path, readers: list[str], times: int) -> None:
    """One markdown table; ratios against the first reader."""
    print(f"\n{title}\n\n| | seconds | ratio | CPU seconds | ratio | peak GB |")
    print("|---|---|---|---|---|---|")
    best = rounds(path, warm, readers, times)
    base = next(iter(best.values()))
    for reader, found in best.items():
        wall, cpu = (found[key] / base[key] for key in ("seconds", "cpu"))
        print(
            f"| {reader} | {found['seconds']:.2f} | {wall:.1f} | {found['cpu']:.2f} | {cpu:.1f} "
            f"| {found['peak']:.2f} |",
            flush=True,
        )


def main(arguments: list[str] | None = None) -> None:
    """Make the files, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--lines", type=int, default=6_000_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args(arguments or [])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows, file in ((given.rows, "all"), (SMALL, "warm")):
            make_judgements(folder, rows, file)
        for lines, file in ((given.lines, "all"), (SMALL, "warm")):
            make_runs(folder, lines, file)
        for form in (".tsv", ".parquet", "-random.parquet"):
            title = f"{given.rows:,} judgements from {form.strip('.-').replace('.', ' ids, ')}"
            files = folder / f"all{form}", folder / f"warm{form}"
            table(title, *files, ["Polars", "qrowd", "crowd-kit"], given.rounds)
        readers = ["Polars", "qrowd", "ir_measures"]
        title = f"{given.lines:,} lines of runs"
        table(title, folder / "all.run", folder / "warm.run", readers, given.rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:5])
    else:
        main(sys.argv[1:])
