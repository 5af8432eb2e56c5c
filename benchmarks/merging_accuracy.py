"""How right is each judgement-level method on real crowds, beside crowd-kit?

    QROWD_DATA=... QROWD_PEERS=... python -m benchmarks.merging_accuracy [set ...]

Each set is merged without gold, and with a random half of its gold given (seed 7); what was given
is never scored. Every registered method that needs no text runs with its defaults, some with one
option, and nothing is tuned. Log loss is clipped at 0.001, so that one certain and wrong pair costs
6.9. `QROWD_DATA` names the folder of the sets, `QROWD_PEERS` an interpreter that has crowd-kit
1.4.2; a fit of it that takes longer than `QROWD_PEER_SECONDS` (100) is given up.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import qrowd as q
from qrowd import registry
from qrowd.comparison.labels import LabelScores, score_labels
from qrowd.data.arrays import Floats

FOLDER = Path(os.environ.get("QROWD_DATA") or "../shared/data")
PEERS = os.environ.get("QROWD_PEERS", "")
LIMIT = float(os.environ.get("QROWD_PEER_SECONDS", "100"))
CLIP = 0.001
MEASURES = ("accuracy", "auc", "log_loss", "precision", "recall", "specificity")
OPTIONS = (
    "ds(prior='topic')",
    "one-coin(labels='soft')",
    "two-coin(labels='soft')",
    "two-coin(prior='learned')",
    "turkrank(per='judgement')",
    "mace(inference='em')",
)
TAKE_GOLD = ("DawidSkene",)
FIT_PEER = """
import sys, warnings
import numpy as np, pandas as pd
warnings.simplefilter("ignore")
from crowdkit.aggregation import *
name, folder = sys.argv[1:]
rows = np.load(folder + "/rows.npy")
frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
gold = np.load(folder + "/gold.npy")
known = pd.Series(gold[:, 1], index=gold[:, 0]) if len(gold) else None
model = globals()[name]()
model = model.fit(frame, true_labels=known) if known is not None else model.fit(frame)
tasks = np.unique(rows[:, 0])
if getattr(model, "probas_", None) is not None:
    p = model.probas_.reindex(columns=[0, 1], fill_value=0.0)[1].reindex(tasks).to_numpy()
else:
    labels = getattr(model, "labels_", None)
    labels = model.predict(frame) if labels is None else labels
    p = labels.reindex(tasks).to_numpy().astype(float)
np.save(folder + "/p.npy", np.stack([tasks, p]))
"""
PEER_METHODS = (
    "MajorityVote",
    "DawidSkene",
    "OneCoinDawidSkene",
    "GLAD",
    "MACE",
    "KOS",
    "MMSR",
    "Wawa",
    "ZeroBasedSkill",
)


@dataclass(frozen=True)
class Collection:
    """A real set: from which grade on judgements, and gold, are relevant."""

    name: str
    relevant: int = 1
    gold_relevant: int = 1

    def read(self) -> tuple[q.Judgements, q.Qrels]:
        """Binary judgements and binary gold."""
        folder = FOLDER / self.name
        judgements = q.read_judgements(folder / "judgements.tsv.gz").binary(self.relevant)
        return judgements, q.read_qrels(folder / "gold.qrels.gz").binary(self.gold_relevant)


COLLECTIONS = (
    Collection("trec_rf10"),
    Collection("trec11_crowd_task1", gold_relevant=1),
    Collection("dl21", gold_relevant=2),
    Collection("product_er_text"),
    Collection("snow2008_rte"),
    Collection("spectral_bluebird", relevant=2, gold_relevant=2),
)


@dataclass(frozen=True)
class Row:
    """One line of a table; without scores, why there are none."""

    method: str
    scores: LabelScores | None
    seconds: float
    note: str = ""

    def __str__(self) -> str:
        if self.scores is None:
            return f"| {self.method} |" + " – |" * len(MEASURES) + f" {self.note} |"
        figures = " ".join(f"{self.scores[name]:.3f} |" for name in MEASURES)
        return f"| {self.method} | {figures} {self.seconds:.2f}{self.note} |"


def main(wanted: list[str] | None = None) -> None:
    """Print two tables for each set."""
    names = wanted if wanted is not None else sys.argv[1:]
    for collection in COLLECTIONS:
        if names and collection.name not in names:
            continue
        if not (FOLDER / collection.name).is_dir():
            print(f"{collection.name}: not in {FOLDER}, left out; QROWD_DATA names another folder")
            continue
        judgements, gold = collection.read()
        both = gold.select(judgements.pairs.locate(gold.pairs) >= 0)
        print(f"### {collection.name}\n\n{judgements}; gold for {len(both)} of the pairs\n")
        _table("without gold", judgements, both, None)
        _table("half of the gold given", judgements, both, _half(both))
    if not PEERS:
        print("crowd-kit was left out: QROWD_PEERS names no interpreter that has it")


def _half(gold: q.Qrels) -> q.Qrels:
    chosen = np.zeros(len(gold), np.bool_)
    chosen[np.random.default_rng(7).permutation(len(gold))[: len(gold) // 2]] = True
    return gold.select(chosen)


def _table(title: str, judgements: q.Judgements, gold: q.Qrels, known: q.Qrels | None) -> None:
    print(f"#### {title}\n")
    print("| method | " + " | ".join(MEASURES).replace("_", " ") + " | seconds |")
    print("|---" * (len(MEASURES) + 2) + "|")
    ours = [_ours(spec, judgements, gold, known) for spec in _specs()]
    theirs = [_theirs(name, judgements, gold, known) for name in _peers(known)]
    for row in _best_first(ours) + _best_first(theirs):
        print(row, flush=True)
    print(flush=True)


def _best_first(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -row.scores["accuracy"] if row.scores else 1.0)


def _specs() -> list[str]:
    cards = registry.cards().values()
    fitting = [c.id for c in cards if c.level == "judgements" and not c.needs]
    return [*fitting, *OPTIONS]


def _peers(known: q.Qrels | None) -> tuple[str, ...]:
    if not PEERS:
        return ()
    return PEER_METHODS if known is None else TAKE_GOLD


def _ours(spec: str, judgements: q.Judgements, gold: q.Qrels, known: q.Qrels | None) -> Row:
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        merged = q.get(spec).fit(judgements, q.Given(gold=known))
        scores = score_labels(merged, gold, given=known, clip=CLIP)
    note = "" if merged.fit.converged else " (not settled)"
    return Row(f"`{spec}`", scores, time.perf_counter() - started, note)


def _theirs(name: str, judgements: q.Judgements, gold: q.Qrels, known: q.Qrels | None) -> Row:
    started = time.perf_counter()
    try:
        soft = _fit_peer(name, judgements, known)
    except subprocess.TimeoutExpired:
        return Row(f"crowd-kit {name}", None, 0.0, f"over {LIMIT:.0f}")
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().splitlines()[-1][:60]
        return Row(f"crowd-kit {name}", None, 0.0, f"failed: {last}")
    seconds = time.perf_counter() - started
    scores = score_labels(soft, gold, given=known, clip=CLIP)
    return Row(f"crowd-kit {name}", scores, seconds)


def _fit_peer(name: str, judgements: q.Judgements, known: q.Qrels | None) -> q.SoftQrels:
    with tempfile.TemporaryDirectory() as folder:
        columns = (judgements.pair, judgements.assessor, judgements.grade)
        np.save(Path(folder) / "rows.npy", np.stack(columns, axis=1).astype(np.int64))
        np.save(Path(folder) / "gold.npy", _coded(judgements, known))
        environment = {**os.environ, "PYTHONPATH": ""}
        command = [PEERS, "-c", FIT_PEER, name, folder]
        subprocess.run(command, check=True, timeout=LIMIT, capture_output=True, env=environment)
        task, p = np.load(Path(folder) / "p.npy")
    relevant = np.full(len(judgements.pairs), 0.5)
    relevant[task.astype(np.int64)] = np.where(np.isnan(p), 0.5, p)
    return _soft(judgements, relevant)


def _soft(judgements: q.Judgements, relevant: Floats) -> q.SoftQrels:
    p = np.stack([1 - relevant, relevant], axis=1)
    return q.SoftQrels(judgements.pairs, judgements.scale, np.clip(p, 0.0, 1.0))


def _coded(judgements: q.Judgements, known: q.Qrels | None) -> np.ndarray:
    if known is None:
        return np.zeros((0, 2), np.int64)
    return np.stack([judgements.pairs.locate(known.pairs), known.grade], axis=1).astype(np.int64)


if __name__ == "__main__":
    main()
