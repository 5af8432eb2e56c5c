"""Collections that several benchmarks use: real ones, from the folder that QROWD_DATA names, and
judgements that are made; and means over their pairs, with intervals over topics.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

import qrowd as q
from benchmarks._benchmark import need, reads, skip
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet

FOLDER = Path(os.environ.get("QROWD_DATA") or Path(__file__).parents[2] / "shared" / "data")
# six real crowds with gold: from which grade on judgements, and gold, are relevant
CROWDS = {
    "trec_rf10": (1, 1),
    "trec11_crowd_task1": (1, 1),
    "dl21": (1, 2),
    "product_er_text": (1, 1),
    "snow2008_rte": (1, 1),
    "spectral_bluebird": (2, 2),
}


def there(name: str) -> bool:
    """Whether a real collection is here."""
    return (FOLDER / name).is_dir()


def folder(name: str) -> Path:
    """The folder of a real collection; where it is absent, the part that needs it is skipped."""
    reads(name)
    need(there(name), f"no {name} in {FOLDER} (QROWD_DATA names the folder of real collections)")
    return FOLDER / name


def present(names: Sequence[str]) -> list[str]:
    """Those real collections that are here; the others are skipped."""
    missing = [name for name in names if not there(name)]
    reason = (
        f"no {', '.join(missing)} in {FOLDER} (QROWD_DATA names the folder of real collections)"
    )
    here = [name for name in names if there(name)]
    need(here, reason)
    if missing:
        skip(reason)
    return here


def binary_crowd(name: str, topics: int | None = None) -> tuple[Judgements, Qrels]:
    """Binary judgements and gold of a real crowd, on its first topics."""
    relevant, gold_relevant = CROWDS[name]
    judgements = q.read_judgements(folder(name) / "judgements.tsv.gz").binary(relevant)
    gold = q.read_qrels(folder(name) / "gold.qrels.gz").binary(gold_relevant)
    if topics is None:
        return judgements, gold
    first = Index(gold.topics.names[:topics])
    return judgements[first], gold[first]


def dl21(topics: int = 53) -> tuple[Judgements, Qrels, RunSet]:
    """Machine assessors, NIST's graded gold and the runs of DL 2021, on the first topics."""
    crowd = q.read_judgements(folder("dl21") / "judgements.tsv.gz")
    gold = q.read_qrels(folder("dl21") / "gold.qrels.gz")
    first = Index(gold.topics.names[:topics])
    return crowd[first], gold[first], q.read_runs(str(folder("dl21") / "runs" / "*"))


def diligent(judgements: Judgements, share: float = 0.9) -> np.ndarray:
    """Codes of the assessors who judged nearly everything."""
    return np.flatnonzero(judgements.per_assessor > share * len(judgements.pairs))


def of_assessors(judgements: Judgements, codes: np.ndarray) -> Judgements:
    """The judgements of some assessors."""
    return judgements.of_assessors(Index(judgements.assessors.names[np.sort(codes)]))


HALF = 0.5  # of the tasks have the higher label


def made_judgements(where: Path, labels: int, grades: int, share: float = HALF) -> Path:
    """A frame `task worker label` as Parquet, made once; the truth beside it as JSON.

    5 labels per task, 100 per worker; `share` is that of the higher of two labels.
    """
    path = where / f"{labels}-{grades}-{share}.parquet"
    if path.exists():
        return path
    random = np.random.default_rng(0)
    tasks, workers = labels // 5, labels // 100
    truth = random.integers(grades, size=tasks) if share == HALF else random.random(tasks) < share
    truth = truth.astype(np.int64)
    task = np.repeat(np.arange(tasks), 5)
    worker = random.permutation(np.repeat(np.arange(workers), 100))
    wrong = (truth[task] + random.integers(1, grades, labels)) % grades
    skill = random.uniform(0.5, 0.95, workers)
    label = np.where(random.random(labels) < skill[worker], truth[task], wrong)
    rows = random.permutation(labels)
    frame = pl.DataFrame({"task": task[rows], "worker": worker[rows], "label": label[rows]})
    frame.select(
        pl.format("d{}", "task").alias("task"),
        pl.format("w{}", "worker").alias("worker"),
        pl.col("label").cast(pl.Int8),
    ).write_parquet(path)
    path.with_suffix(".json").write_text(json.dumps(truth.tolist()))
    return path


def over_topics(values: np.ndarray, topic: np.ndarray) -> str:
    """The mean of values[pair], and its 90 % interval over topics."""
    number = int(topic.max()) + 1
    sums, size = np.bincount(topic, values, number), np.bincount(topic, minlength=number)
    mean = sums.sum() / size.sum()
    miss = sums - mean * size
    half = 1.645 * np.sqrt(number / max(number - 1, 1) * (miss**2).sum()) / size.sum()
    return f"{mean:+.3f} [{mean - half:+.3f}, {mean + half:+.3f}]"
