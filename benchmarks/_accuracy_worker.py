"""One fit of crowd-kit, in crowd-kit's interpreter: `python _accuracy_worker.py NAME FOLDER CAP`.

Reads `rows.npy` (task, worker, label) and `gold.npy` (task, label) of the folder, and writes
`p.npy`: tasks, and the probability of label 1 (0 or 1 where the method gives labels only). The last
line of stdout is the CPU seconds of the fit and, if there is one, a note. `CAP` seconds of CPU, or
16 GB, end it. Methods that fail in scikit-learn's check of what is fitted run without that check.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from typing import Any

CHECKED = {
    "Wawa": "wawa",
    "ZeroBasedSkill": "zero_based_skill",
    "GoldMajorityVote": "gold_majority_vote",
    "MMSR": "m_msr",
}
TAKE_GOLD = ("DawidSkene", "GoldMajorityVote")


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
    import importlib

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
    for found in (getattr(model, "probas_", None), getattr(model, "scores_", None)):
        if found is not None:
            return found.reindex(columns=[0, 1], fill_value=0.0)[1].reindex(tasks).to_numpy()
    return model.labels_.reindex(tasks).to_numpy().astype(float)


def main(name: str, folder: str, cap: int) -> None:
    """Fit, save, and tell the CPU seconds."""
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
    print(seconds, note)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
