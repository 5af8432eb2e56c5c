"""What is measured of crowd-kit 1.4.2, nltk and ir_measures, by the interpreter that has them.

They may want other versions of numpy and pandas than ours, so nothing of qrowd is imported here,
and nothing of theirs before it is called.
"""

from __future__ import annotations

import importlib
import json
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._measure import peak_memory, timed

CHECKED = {
    "Wawa": "wawa",
    "ZeroBasedSkill": "zero_based_skill",
    "GoldMajorityVote": "gold_majority_vote",
    "MMSR": "m_msr",
}
TAKE_GOLD = ("DawidSkene", "GoldMajorityVote")


def alpha(rows_file: str) -> dict[str, list[float]]:
    """Seconds and value of Krippendorff's alpha by each; rows of pair, assessor, grade."""
    import numpy as np
    import pandas as pd
    from crowdkit.metrics.data import alpha_krippendorff
    from nltk.metrics.agreement import AnnotationTask

    pair, assessor, grade = np.load(rows_file)
    frame = pd.DataFrame(
        {
            "task": np.char.add("d", pair.astype(str)),
            "worker": np.char.add("w", assessor.astype(str)),
            "label": grade,
        }
    )
    triples = list(zip(frame["worker"], frame["task"], frame["label"], strict=True))
    by_peer: dict[str, Callable[[], float]] = {
        "crowd-kit": lambda: float(alpha_krippendorff(frame)),
        "nltk": lambda: float(AnnotationTask(triples).alpha()),
    }
    figures = {}
    for name, work in by_peer.items():
        value, spent = timed(work)
        figures[name] = [spent.seconds, value]
    return figures


def crowdkit_read(path: str, warm: str) -> dict[str, float]:
    """Pandas' reader and crowd-kit's own `factorize` for task, worker and label."""
    import pandas as pd
    from crowdkit.aggregation.utils import factorize

    def read(file: str) -> Any:
        parquet = file.endswith(".parquet")
        frame = pd.read_parquet(file) if parquet else pd.read_csv(file, sep="\t", dtype=str)
        task = frame["topic"] + " " + frame["doc"]
        columns = (task, frame["assessor"], frame["grade"])
        return [factorize(column.to_numpy()) for column in columns]

    return reading(read, path, warm)


def ir_measures_read(path: str, warm: str) -> dict[str, float]:
    """Its reader of runs, made into a list."""
    import ir_measures

    return reading(lambda file: list(ir_measures.read_trec_run(file)), path, warm)


def reading(read: Callable[[str], Any], path: str, warm: str) -> dict[str, float]:
    """The time, the processor time and the peak memory of a reading, after one of a small file."""
    read(warm)
    kept, spent = timed(lambda: read(path))
    assert len(kept)
    return {"seconds": spent.seconds, "cpu": spent.cpu, "peak": peak_memory()}


# --- speed ----------------------------------------------------------------------------------------


def slope(name: str, path: str, few: int, many: int) -> float:
    """Nanoseconds of CPU per label and iteration, from two lengths of the same fit."""
    import crowdkit.aggregation as peer
    import pandas as pd

    warnings.simplefilter("ignore")
    frame = pd.read_parquet(path)
    options: dict[str, Any] = {}
    if name in ("DawidSkene", "OneCoinDawidSkene", "GLAD"):
        options["tol"] = 0.0
    if name == "MACE":
        options["n_restarts"] = 1
    if name == "GLAD":
        options["silent"] = True

    def cpu(iterations: int) -> float:
        model = getattr(peer, name)(n_iter=iterations, **options)
        return timed(lambda: model.fit(frame))[1].cpu

    return (cpu(many) - cpu(few)) / (many - few) / len(frame) * 1e9


def whole(name: str, path: str, options: dict[str, float]) -> dict[str, float]:
    """From a frame to labels."""
    import crowdkit.aggregation as peer
    import pandas as pd

    warnings.simplefilter("ignore")
    frame = pd.read_parquet(path)
    before = peak_memory()
    model = getattr(peer, name)(**options)
    labels, spent = timed(lambda: model.fit_predict(frame))
    named = {str(task): int(label) for task, label in labels.items()}
    return {
        "cpu": spent.cpu,
        "wall": spent.seconds,
        "peak": peak_memory() / 1e9,
        "beyond": (peak_memory() - before) / 1e9,
        "iterations": len(getattr(model, "loss_history_", [])),
        "right": right(named, path),
    }


def right(labels: dict[str, int], path: str) -> float:
    """The share of tasks with the true label, which stands beside the frame."""
    truth: list[int] = json.loads(Path(path).with_suffix(".json").read_text())
    return sum(labels[f"d{task}"] == true for task, true in enumerate(truth)) / len(truth)


# --- accuracy -------------------------------------------------------------------------------------


def probabilities(name: str, folder: str, cap: int) -> tuple[float, str]:
    """CPU seconds of a fit, and a note.

    Reads `rows.npy` (task, worker, label) and `gold.npy` (task, label) of the folder, and writes
    `p.npy`: tasks, and the probability of label 1 (0 or 1 where the method gives labels only).
    `cap` seconds of CPU, or 16 GB, end it.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (cap, cap + 10))
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    warnings.simplefilter("ignore")
    import crowdkit.aggregation  # noqa: F401
    import numpy as np
    import pandas as pd

    rows, gold = np.load(folder + "/rows.npy"), np.load(folder + "/gold.npy")
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    known = pd.Series(gold[:, 1], index=pd.Index(gold[:, 0], name="task")) if len(gold) else None
    started = time.process_time()
    base, _, variant = name.partition(":")
    model, note = fitted_anyhow(base, renumbered(frame) if variant else frame, known)
    seconds = time.process_time() - started
    tasks = np.unique(rows[:, 0])
    np.save(folder + "/p.npy", np.stack([tasks, relevant(model, tasks)]))
    return seconds, note


def fitted(name: str, frame: Any, known: Any) -> Any:
    """The model, with labels and, where it has them, probabilities or scores."""
    import crowdkit.aggregation as peer

    model = getattr(peer, name)(**({"silent": True} if name == "GLAD" else {}))
    model = model.fit(frame, true_labels=known) if name in TAKE_GOLD else model.fit(frame)
    if getattr(model, "labels_", None) is None:
        model.predict(frame)
    return model


def fitted_anyhow(name: str, frame: Any, known: Any) -> tuple[Any, str]:
    """The model, and what had to be switched off for it."""
    try:
        return fitted(name, frame, known), ""
    except AttributeError as error:
        if "__sklearn_tags__" not in str(error) or name not in CHECKED:
            raise
    home = importlib.import_module(f"crowdkit.aggregation.classification.{CHECKED[name]}")
    home.check_is_fitted = lambda *_, **__: None  # type: ignore[attr-defined]
    return fitted(name, frame, known), "(as it comes: no attribute `__sklearn_tags__`)"


def renumbered(frame: Any) -> Any:
    """The same rows with label 0 first and workers numbered by first appearance."""
    import pandas as pd

    first = frame.index[frame.label == 0][:1]
    moved = pd.concat([frame.loc[first], frame.drop(first)], ignore_index=True)
    return moved.assign(worker=pd.factorize(moved.worker)[0])


def relevant(model: Any, tasks: Any) -> Any:
    """The probability of label 1 of each task."""
    for figures in (getattr(model, "probas_", None), getattr(model, "scores_", None)):
        if figures is not None:
            return figures.reindex(columns=[0, 1], fill_value=0.0)[1].reindex(tasks).to_numpy()
    return model.labels_.reindex(tasks).to_numpy().astype(float)
