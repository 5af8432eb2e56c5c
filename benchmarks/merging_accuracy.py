"""How right is each judgement-level method on real crowds, beside crowd-kit?

    QROWD_DATA=... QROWD_PEERS=... python -m benchmarks.merging_accuracy
        [--sets a b] [--cap 300] [--jobs 1] [--write docs/choosing-tables.md]

Each set is merged without gold, and with the gold of a random half of its topics given (seed 7; of
its pairs, where there is one topic only); what was given is never scored. Every registered method
that needs no text and no runs takes part with its defaults, some with one option, and nothing is
tuned. Log loss is that of `score`, in which one certain and wrong pair costs 34.5. Seconds are CPU
seconds of the fit. Below each table stand the standard errors, over topics, of the best method's
figures, and of its lead over the majority vote.

`QROWD_DATA` names the folder of the sets, `QROWD_PEERS` an interpreter that has crowd-kit 1.4.2. A
fit of crowd-kit is a process of its own that ends after `--cap` seconds of CPU, `--jobs` of them at
a time beside ours; what it fails with stands in its row. Rows are told on stderr as they come, a
table is printed as soon as it is complete, and at the end the sets side by side. `--write` makes
the page of the documentation that holds all of these tables.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import qrowd as q
from qrowd import registry
from qrowd.comparison.label_measures import CLIP
from qrowd.comparison.labels import LabelScores, score_labels
from qrowd.comparison.significance import jackknife_error
from qrowd.data.arrays import Floats

FOLDER = Path(os.environ.get("QROWD_DATA") or "../shared/data")
PEERS = os.environ.get("QROWD_PEERS", "")
WORKER = Path(__file__).parent / "_accuracy_worker.py"
MEASURES = ("accuracy", "auc", "log_loss", "precision", "recall", "specificity")
TITLES = {
    "accuracy": "Accuracy",
    "auc": "Area under the ROC curve",
    "log_loss": f"Log loss (clipped at {CLIP:g})",
}
PAGE = """# Which method: all figures

Written by `python -m benchmarks.merging_accuracy --write docs/choosing-tables.md`, from one run.
[Which method, when](choosing.md) says what to make of it. The best figure of a set is in bold.
"""
NO_GOLD, HALF = "without gold", "half of the gold given"
OPTIONS = (
    "ds(prior='topic')",
    "one-coin(labels='soft')",
    "one-coin(labels='soft', prior='learned')",
    "two-coin(labels='soft')",
    "two-coin(prior='learned')",
    "turkrank(per='judgement')",
    "mace(inference='em')",
    "mace(prior='learned')",
    "glad(prior='learned')",
)
PEER_METHODS = (
    "MajorityVote",
    "DawidSkene",
    "OneCoinDawidSkene",
    "GLAD",
    "MACE",
    "MACE:renumbered",
    "KOS",
    "MMSR",
    "Wawa",
    "ZeroBasedSkill",
)
PEERS_WITH_GOLD = ("DawidSkene", "GoldMajorityVote")


@dataclass(frozen=True)
class Collection:
    """A real set: from which grade on judgements, and gold, are relevant."""

    name: str
    relevant: int = 1
    gold_relevant: int = 1

    def read(self) -> tuple[q.Judgements, q.Qrels]:
        """Binary judgements, and binary gold of judged pairs."""
        folder = FOLDER / self.name
        judgements = q.read_judgements(folder / "judgements.tsv.gz").binary(self.relevant)
        gold = q.read_qrels(folder / "gold.qrels.gz").binary(self.gold_relevant)
        return judgements, gold.select(judgements.pairs.locate(gold.pairs) >= 0)


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
    seconds: float = 0.0
    note: str = ""

    def __str__(self) -> str:
        if self.scores is None:
            return f"| {self.method} |" + " – |" * len(MEASURES) + f" {self.note} |"
        figures = " ".join(f"{self.scores[name]:.3f} |" for name in MEASURES)
        return f"| {self.method} | {figures} {self.seconds:.2f}{self.note.rstrip()} |"


@dataclass(frozen=True)
class Task:
    """A set, with or without half of its gold."""

    judgements: q.Judgements
    gold: q.Qrels
    known: q.Qrels | None
    cap: int

    @property
    def title(self) -> str:
        """What of the gold was given."""
        return NO_GOLD if self.known is None else HALF

    def scored(self, merged: q.Merged | q.SoftQrels) -> LabelScores:
        """On the gold that was not given."""
        return score_labels(merged, self.gold, given=self.known)


def main(arguments: list[str] | None = None) -> None:
    """Print two tables for each set, then all sets side by side."""
    asked = _asked(arguments or [])
    found: dict[tuple[str, str], list[Row]] = {}
    sets: list[str] = []
    with ThreadPoolExecutor(asked.jobs) as pool:
        waiting = [
            (collection, task, [pool.submit(_theirs, name, task) for name in _peers(task.known)])
            for collection in _present(asked.sets)
            for task in _tasks(collection, asked.cap)
        ]
        for collection, task, theirs in waiting:
            if task.known is None:
                sets.append(_say(_head(collection, task.judgements, task.gold)))
            rows = found[collection.name, task.title] = _rows(task, theirs)
            sets.append(_say(_table(task, rows)))
    side_by_side = _say(_side_by_side(found))
    if asked.write:
        page = [PAGE, side_by_side, "## Set by set\n", *sets]
        asked.write.write_text("\n".join(page), encoding="utf-8")
    if not PEERS:
        print("crowd-kit was left out: QROWD_PEERS names no interpreter that has it")


def _asked(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.merging_accuracy")
    parser.add_argument("--sets", nargs="*", default=[], choices=[c.name for c in COLLECTIONS])
    parser.add_argument("--cap", type=int, default=300, help="CPU seconds of a fit of crowd-kit")
    parser.add_argument("--jobs", type=int, default=1, help="fits of crowd-kit at a time")
    parser.add_argument("--write", type=Path, help="the page to write")
    return parser.parse_args(arguments)


def _present(wanted: list[str]) -> Iterator[Collection]:
    for collection in COLLECTIONS:
        if wanted and collection.name not in wanted:
            continue
        if (FOLDER / collection.name).is_dir():
            yield collection
        else:
            print(f"{collection.name}: not in {FOLDER}, left out; QROWD_DATA names another folder")


def _tasks(collection: Collection, cap: int) -> Iterator[Task]:
    judgements, gold = collection.read()
    yield Task(judgements, gold, None, cap)
    yield Task(judgements, gold, half(gold), cap)


def _head(collection: Collection, judgements: q.Judgements, gold: q.Qrels) -> str:
    levels = f"judgements from {collection.relevant} on, gold from {collection.gold_relevant} on"
    share = float((gold.grade == 1).mean())
    return (
        f"### {collection.name}\n\n{judgements}; gold for {len(gold):,} of the pairs, {share:.0%} "
        f"relevant ({levels})\n"
    )


def half(gold: q.Qrels) -> q.Qrels:
    """The gold of a random half of the topics (of one topic, half of its pairs): always the same.

    Pairs of a topic are alike: gold on half of each would tell too much about the other half.
    """
    unit = gold.pairs.topic if len(gold.topics) > 1 else np.arange(len(gold))
    units = np.unique(unit)
    return gold.select(
        np.isin(unit, np.random.default_rng(7).permutation(units)[: len(units) // 2])
    )


def errors(rows: list[Row]) -> str:
    """Standard errors over topics: of the best method's accuracy, and of its lead over the vote."""
    found = {row.method: row.scores for row in rows if row.scores}
    best, vote = next(iter(found)), found["`mv`"]
    if len(vote.topics) < 2:
        return "one topic: no standard errors over topics\n"
    used = vote.pairs_by_topic > 0
    right = [
        scores.by_topic["accuracy"][used] * scores.pairs_by_topic[used]
        for scores in (found[best], vote)
    ]
    size = vote.pairs_by_topic[used]
    lead = right[0] - right[1]
    without = (lead.sum() - lead) / (size.sum() - size)
    return (
        f"s.e. over {used.sum()} topics: accuracy of {best} {found[best].errors['accuracy']:.4f}; "
        f"its lead over `mv` {lead.sum() / size.sum():+.4f} (s.e. {jackknife_error(without):.4f})\n"
    )


# --- tables ---------------------------------------------------------------------------------------


def _rows(task: Task, theirs: list[Future[Row]]) -> list[Row]:
    ours = [_told(_ours(spec, task)) for spec in _specs()]
    return _best_first(ours) + _best_first([_told(one.result()) for one in theirs])


def _table(task: Task, rows: list[Row]) -> str:
    header = "| method | " + " | ".join(MEASURES).replace("_", " ") + " | seconds |"
    rule = "|---" * (len(MEASURES) + 2) + "|"
    return "\n".join([f"#### {task.title}\n", header, rule, *map(str, rows), "", errors(rows)])


def _say(text: str) -> str:
    print(text, flush=True)
    return text


def _told(row: Row) -> Row:
    print(row, file=sys.stderr, flush=True)
    return row


def _best_first(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -row.scores["accuracy"] if row.scores else 1.0)


def _side_by_side(found: dict[tuple[str, str], list[Row]]) -> str:
    """One table for each measure that compares methods: a column for each set."""
    parts: list[str] = []
    for title in (NO_GOLD, HALF):
        tables = {name: rows for (name, when), rows in found.items() if when == title}
        for measure in TITLES if tables else ():
            header = "| method | " + " | ".join(tables) + " |"
            lines = _lines(measure, list(tables.values()))
            rule = "|---" * (len(tables) + 1) + "|"
            parts += [f"## {TITLES[measure]}, {title}\n", header, rule, *lines, ""]
    return "\n".join(parts)


def _lines(measure: str, tables: list[list[Row]]) -> list[str]:
    """A line for each method, the best mean first, crowd-kit's last; the best of a set is bold."""
    cells = [{r.method: round(r.scores[measure], 3) for r in rows if r.scores} for rows in tables]
    sign = 1 if measure == "log_loss" else -1
    best = [min(cell.values(), key=lambda value: sign * value) for cell in cells]
    methods = list(dict.fromkeys(r.method for rows in tables for r in rows))

    def order(method: str) -> tuple[bool, float]:
        figures = [cell[method] for cell in cells if method in cell]
        return method.startswith("crowd-kit"), sign * float(np.mean(figures or [sign * 99]))

    return [
        f"| {method} | " + " | ".join(map(_cell, cells, best, [method] * len(cells))) + " |"
        for method in sorted(methods, key=order)
        if any(method in cell for cell in cells)
    ]


def _cell(cell: dict[str, float], best: float, method: str) -> str:
    if method not in cell:
        return "–"
    return f"**{cell[method]:.3f}**" if cell[method] == best else f"{cell[method]:.3f}"


# --- ours -----------------------------------------------------------------------------------------


def _specs() -> list[str]:
    cards = registry.cards().values()
    fitting = [c.id for c in cards if c.level == "judgements" and not c.needs]
    return [*fitting, *OPTIONS]


def _ours(spec: str, task: Task) -> Row:
    method = q.get(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method.fit(_few())
        started = time.process_time()
        merged = method.fit(task.judgements, q.Given(gold=task.known))
        seconds = time.process_time() - started
    note = "" if merged.fit.converged else " (not settled)"
    return Row(f"`{spec}`", task.scored(merged), seconds, note)


def _few() -> q.Judgements:
    """A handful of judgements, to load the kernels."""
    docs, who = [f"d{i // 3}" for i in range(12)], [f"a{i % 3}" for i in range(12)]
    return q.Judgements.of(["t"] * 12, docs, who, [1, 1, 0, 0, 0, 0] * 2)


# --- theirs ---------------------------------------------------------------------------------------


def _peers(known: q.Qrels | None) -> tuple[str, ...]:
    if not PEERS:
        return ()
    return PEER_METHODS if known is None else tuple(dict.fromkeys(PEERS_WITH_GOLD + PEER_METHODS))


def _theirs(name: str, task: Task) -> Row:
    title = "crowd-kit " + name.replace(":", ", ")
    if task.known is not None and name not in PEERS_WITH_GOLD:
        return Row(title, None, note="takes no gold")
    with tempfile.TemporaryDirectory() as folder:
        _hand_over(Path(folder), task)
        command = [PEERS, str(WORKER), name, folder, str(task.cap)]
        environment = {**os.environ, "PYTHONPATH": ""}
        try:
            done = subprocess.run(
                command, timeout=10 * task.cap, capture_output=True, text=True, env=environment
            )
        except subprocess.TimeoutExpired:
            return Row(title, None, note=f"over {10 * task.cap} s by the clock")
        if done.returncode:
            return Row(title, None, note=_reason(done, task.cap))
        code, p = np.load(Path(folder) / "p.npy")
    seconds, _, note = done.stdout.strip().splitlines()[-1].partition(" ")
    return Row(title, task.scored(_soft(task.judgements, code, p)), float(seconds), f" {note}")


def _reason(done: subprocess.CompletedProcess[str], cap: int) -> str:
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        return f"over {cap} s"
    said = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
    return "failed: " + said[-1][:100].replace("|", "/")


def _hand_over(folder: Path, task: Task) -> None:
    rows = task.judgements
    columns = (rows.pair, rows.assessor, rows.grade)
    np.save(folder / "rows.npy", np.stack(columns, axis=1).astype(np.int64))
    gold = np.zeros((0, 2), np.int64)
    if task.known is not None:
        at = rows.pairs.locate(task.known.pairs)
        gold = np.stack([at, task.known.grade], axis=1).astype(np.int64)
    np.save(folder / "gold.npy", gold)


def _soft(judgements: q.Judgements, code: Floats, p: Floats) -> q.SoftQrels:
    relevant = np.full(len(judgements.pairs), 0.5)
    relevant[code.astype(np.int64)] = np.where(np.isnan(p), 0.5, np.clip(p, 0.0, 1.0))
    both = np.stack([1 - relevant, relevant], axis=1)
    return q.SoftQrels(judgements.pairs, judgements.scale, both)


if __name__ == "__main__":
    main(sys.argv[1:])
