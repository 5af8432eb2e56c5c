"""Reading: files with millions of string ids to nouns, beside Polars alone and the peers.

    python -m benchmarks.reading                  10 million judgements, 6 million run lines
    python -m benchmarks.reading --rows 1000000   smaller
    python -m benchmarks.reading --rounds 1       quicker

Every measurement is a process of its own: the processor time of one reading, all threads together,
after a warm-up on a small file of the same kind, and the peak of resident memory, libraries
included; the best of a few rounds, in which the readers take turns. `Polars` reads the same file,
all columns of text files as strings. `crowd-kit` is pandas' reader and crowd-kit's own `factorize`
for task, worker and label; `ir_measures` is its reader of runs, made into a list. They are run
once, by the interpreter named in QROWD_PEERS (default: this one), and left out where they are not
installed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import qrowd as q
from benchmarks._benchmark import Table, run
from benchmarks._measure import PEERS, alone, peers_have
from benchmarks._peers import crowdkit_read, ir_measures_read, reading


@dataclass(frozen=True)
class Options:
    rows: int = 10_000_000
    lines: int = 6_000_000
    rounds: int = 5
    warm: int = 600_000  # rows of the file to warm up on


SHORT = Options(rows=5_000, lines=50_000, rounds=1, warm=1_000)


def make_judgements(folder: Path, rows: int, name: str, seed: int = 1) -> None:
    """Five votes for each pair, in random order; ids as those of ClueWeb and of a platform. In
    `NAME-random.parquet`, documents have ids of 29 random digits.
    """
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


# --- readers --------------------------------------------------------------------------------------


def by_polars(path: str) -> Any:
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
    return q.read_runs(path) if path.endswith(".run") else q.read_judgements(path)


READERS: dict[str, Callable[[str], Any]] = {"Polars": by_polars, "qrowd": by_qrowd}
PEER_READERS = {
    "crowd-kit": ("crowdkit", crowdkit_read),
    "ir_measures": ("ir_measures", ir_measures_read),
}


def read(reader: str, path: str, warm: str) -> dict[str, float]:
    """One reading, for a process of its own."""
    return reading(READERS[reader], path, warm)


def measured(reader: str, path: Path, warm: Path) -> dict[str, float] | None:
    """One process; nothing where the peer is not installed."""
    if reader in READERS:
        return alone(read, reader, str(path), str(warm))
    module, peer_read = PEER_READERS[reader]
    if not peers_have(module):
        return None
    return alone(peer_read, str(path), str(warm), python=PEERS)


def rounds(path: Path, warm: Path, readers: list[str], times: int) -> dict[str, dict[str, float]]:
    """The best of a few rounds; in each, all readers have their turn, peers only once."""
    figures: dict[str, list[dict[str, float]]] = {reader: [] for reader in readers}
    for turn in range(times):
        for reader in readers:
            if turn == 0 or reader in READERS:
                result = measured(reader, path, warm)
                figures[reader] += [result] if result else []
    return {
        reader: {key: min(result[key] for result in several) for key in several[0]}
        for reader, several in figures.items()
        if several
    }


def compare(table: Table, title: str, files: tuple[Path, Path], times: int) -> None:
    """Rows of one kind of file; ratios against qrowd."""
    peer = "ir_measures" if files[0].suffix == ".run" else "crowd-kit"
    best = rounds(*files, ["Polars", "qrowd", peer], times)
    for reader, figures in best.items():
        table.row(
            title,
            reader,
            f"{figures['cpu']:.2f}",
            f"{figures['cpu'] / best['qrowd']['cpu']:.1f}",
            f"{figures['peak'] / 2**30:.2f}",
        )


def main(options: Options) -> None:
    """Make the files, measure, print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows, file in ((options.rows, "all"), (options.warm, "warm")):
            make_judgements(folder, rows, file)
        for lines, file in ((options.lines, "all"), (options.warm, "warm")):
            make_runs(folder, lines, file)
        kinds = {
            ".tsv": f"{options.rows:,} judgements, TSV",
            ".parquet": f"{options.rows:,} judgements, Parquet",
            "-random.parquet": f"{options.rows:,} judgements, Parquet, random ids",
            ".run": f"{options.lines:,} lines of runs",
        }
        table = Table("file", "reader", "CPU seconds", "times qrowd's", "peak GB")
        for ending, title in kinds.items():
            files = folder / f"all{ending}", folder / f"warm{ending}"
            compare(table, title, files, options.rounds)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
