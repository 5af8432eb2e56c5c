"""How right is each judgement-level method on real crowds, beside crowd-kit?

    QROWD_DATA=... QROWD_PEERS=... python -m benchmarks.merging_accuracy
        [--sets a b] [--cap 300] [--jobs 1] [--store]

Each set is merged without gold, and with the gold of a random half of its topics given (seed 7; of
its pairs, where there is one topic only); what was given is never scored. Every registered method
that needs no text and no runs takes part with its defaults, some with one option, and nothing is
tuned. Log loss is that of `score`, in which one certain and wrong pair costs 34.5. Seconds are CPU
seconds of the fit. The last table has standard errors over topics (of one topic, over its pairs)
of the accuracy of our best method, and of its lead over the majority vote.

`QROWD_DATA` names the folder of the sets, `QROWD_PEERS` an interpreter that has crowd-kit 1.4.2. A
fit of crowd-kit is a process of its own that ends after `--cap` seconds of CPU, `--jobs` of them at
a time beside ours; what it fails with stands in its row. Rows are told on stderr as they come, a
table is printed as soon as it is complete, and then the sets side by side.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, run
from benchmarks._data import CROWDS, binary_crowd, present
from benchmarks._measure import PEERS, FailedError, alone, peers_have, timed
from benchmarks._peers import probabilities
from qrowd import registry
from qrowd.comparison.labels import LabelScores, score_labels
from qrowd.comparison.significance import jackknife_error
from qrowd.data.arrays import Floats

MEASURES = ("accuracy", "auc", "log_loss", "precision", "recall", "specificity")
TITLES = {
    "accuracy": "Accuracy",
    "auc": "Area under the ROC curve",
    "log_loss": "Log loss",
}
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
class Options:
    sets: tuple[str, ...] = tuple(CROWDS)
    cap: int = 300  # CPU seconds of a fit of crowd-kit
    jobs: int = 1  # fits of crowd-kit at a time
    methods: tuple[str, ...] = ()  # ours; all of them, if none is named
    peers: tuple[str, ...] = PEER_METHODS


SHORT = Options(
    sets=("trec11_crowd_task1", "spectral_bluebird"),
    methods=("mv", "ds", "one-coin(labels='soft')"),
    peers=("DawidSkene", "MACE:renumbered", "Wawa"),
)


@dataclass(frozen=True)
class Row:
    """One line of a table; without scores, why there are none."""

    method: str
    scores: LabelScores | None
    seconds: float = 0.0
    note: str = ""

    @property
    def cells(self) -> list[str]:
        """Of its table."""
        if self.scores is None:
            return [self.method, *["–"] * len(MEASURES), self.note]
        figures = [f"{self.scores[name]:.3f}" for name in MEASURES]
        return [self.method, *figures, f"{self.seconds:.2f}{self.note.rstrip()}"]


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


def main(options: Options) -> None:
    """Print what the sets are, two tables for each, then all sets side by side."""
    names = present(options.sets)
    crowds(names)
    rows: dict[tuple[str, str], list[Row]] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = [
            (name, task, [pool.submit(_theirs, peer, task) for peer in _peers(task, options)])
            for name in names
            for task in _tasks(name, options.cap)
        ]
        for name, task, theirs in waiting:
            rows[name, task.title] = _rows(task, theirs, options)
            _printed(name, task, rows[name, task.title])
    _side_by_side(rows)
    _errors(rows)


def _tasks(name: str, cap: int) -> Iterator[Task]:
    judgements, gold = binary_crowd(name)
    gold = gold.select(judgements.pairs.locate(gold.pairs) >= 0)
    yield Task(judgements, gold, None, cap)
    yield Task(judgements, gold, half(gold), cap)


def crowds(names: list[str]) -> None:
    """What the sets are."""
    columns = ("crowd", "topics", "pairs", "judgements", "assessors", "gold pairs", "relevant")
    table = Table(*columns, "relevant from grade, judgements", "gold", title="The crowds")
    for name in names:
        judgements, gold = binary_crowd(name)
        gold = gold.select(judgements.pairs.locate(gold.pairs) >= 0)
        topics, pairs = len(judgements.topics), len(judgements.pairs)
        sizes = (topics, pairs, len(judgements), len(judgements.assessors), len(gold))
        share = float((gold.grade == 1).mean())
        table.row(name, *(f"{size:,}" for size in sizes), f"{share:.0%}", *CROWDS[name])


def half(gold: q.Qrels) -> q.Qrels:
    """The gold of a random half of the topics (of one topic, half of its pairs): always the same.

    Pairs of a topic are alike: gold on half of each would tell too much about the other half.
    """
    unit = gold.pairs.topic if len(gold.topics) > 1 else np.arange(len(gold))
    units = np.unique(unit)
    return gold.select(
        np.isin(unit, np.random.default_rng(7).permutation(units)[: len(units) // 2])
    )


def error_of_lead(best: LabelScores, vote: LabelScores) -> float:
    """The standard error, over topics, of how much more accurate one is."""
    used = vote.pairs_by_topic > 0
    size = vote.pairs_by_topic[used]
    more = (best.by_topic["accuracy"][used] - vote.by_topic["accuracy"][used]) * size
    return jackknife_error((more.sum() - more) / (size.sum() - size))


# --- tables ---------------------------------------------------------------------------------------


def _rows(task: Task, theirs: list[Future[Row]], options: Options) -> list[Row]:
    ours = [_told(_ours(spec, task)) for spec in options.methods or _specs()]
    return _best_first(ours) + _best_first([_told(future.result()) for future in theirs])


def _printed(name: str, task: Task, rows: list[Row]) -> None:
    """The table of a set."""
    columns = [measure.replace("_", " ") for measure in MEASURES]
    table = Table("method", *columns, "seconds", title=f"{name}, {task.title}")
    for row in rows:
        table.row(*row.cells, complete=row.scores is not None)


def _told(row: Row) -> Row:
    print(*row.cells, sep="  ", file=sys.stderr, flush=True)
    return row


def _best_first(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -row.scores["accuracy"] if row.scores else 1.0)


def _side_by_side(rows: dict[tuple[str, str], list[Row]]) -> None:
    """One table for each measure that compares methods: a column for each set."""
    for title in (NO_GOLD, HALF):
        by_set = {name: own for (name, when), own in rows.items() if when == title}
        for measure, heading in TITLES.items():
            table = Table("method", *by_set, title=f"{heading}, {title}")
            _compare(table, measure, list(by_set.values()))


def _compare(table: Table, measure: str, sets: list[list[Row]]) -> None:
    """A row for each method, the best mean first, crowd-kit's last; the best of a set is bold."""
    figures = [{r.method: round(r.scores[measure], 3) for r in rows if r.scores} for rows in sets]
    sign = 1 if measure == "log_loss" else -1
    best = [min(column.values(), key=lambda value: sign * value) for column in figures]
    methods = dict.fromkeys(method for column in figures for method in column)

    def order(method: str) -> tuple[bool, float]:
        own = [column[method] for column in figures if method in column]
        return method.startswith("crowd-kit"), sign * float(np.mean(own))

    for method in sorted(methods, key=order):
        cells = []
        for column, least in zip(figures, best, strict=True):
            text = f"{column[method]:.3f}" if method in column else "–"
            cells.append(f"**{text}**" if column.get(method) == least else text)
        table.row(method, *cells, complete=not method.startswith("crowd-kit"))


def _errors(rows: dict[tuple[str, str], list[Row]]) -> None:
    """Standard errors of the best method's accuracy, and of its lead over the vote."""
    columns = ("crowd", "gold", "pairs scored", "topics", "our best method", "accuracy", "s.e.")
    more = ("lead over `mv`", "s.e. of the lead")
    table = Table(*columns, *more, title="Standard errors", optional=("s.e. of the lead",))
    for (name, when), own in rows.items():
        scored = {row.method: row.scores for row in own if row.scores}
        method, best = next(iter(scored.items()))
        ahead, error = best["accuracy"] - scored["`mv`"]["accuracy"], "-"
        topics, own_error = int((best.pairs_by_topic > 0).sum()), best.errors["accuracy"]
        if topics > 1:
            error = f"{error_of_lead(best, scored['`mv`']):.3f}"
        else:
            own_error = float(np.sqrt(best["accuracy"] * (1 - best["accuracy"]) / len(best)))
        figures = f"{best['accuracy']:.3f}", f"{own_error:.3f}", f"{ahead:+.3f}", error
        table.row(name, when, f"{len(best):,}", topics, method, *figures)


# --- ours -----------------------------------------------------------------------------------------


def _specs() -> list[str]:
    cards = registry.cards().values()
    fitting = [card.id for card in cards if card.level == "judgements" and not card.needs]
    return [*fitting, *OPTIONS]


def _ours(spec: str, task: Task) -> Row:
    method = q.get(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method.fit(_few())
        merged, spent = timed(lambda: method.fit(task.judgements, q.Given(gold=task.known)))
    note = "" if merged.fit.converged else " (not settled)"
    return Row(f"`{spec}`", task.scored(merged), spent.cpu, note)


def _few() -> q.Judgements:
    """A handful of judgements, to load the kernels."""
    documents, assessors = [f"d{i // 3}" for i in range(12)], [f"a{i % 3}" for i in range(12)]
    return q.Judgements.of(["t"] * 12, documents, assessors, [1, 1, 0, 0, 0, 0] * 2)


# --- theirs ---------------------------------------------------------------------------------------


def _peers(task: Task, options: Options) -> tuple[str, ...]:
    if not peers_have("crowdkit"):
        return ()
    return options.peers if task.known is None else PEERS_WITH_GOLD


def _theirs(name: str, task: Task) -> Row:
    title = "crowd-kit " + name.replace(":", ", ")
    with tempfile.TemporaryDirectory() as folder:
        _hand_over(Path(folder), task)
        try:
            seconds, note = alone(
                probabilities, name, folder, task.cap, python=PEERS, timeout=10 * task.cap
            )
        except subprocess.TimeoutExpired:
            return Row(title, None, note=f"over {10 * task.cap} s by the clock")
        except FailedError as error:
            if error.code in (-signal.SIGXCPU, -signal.SIGKILL):
                return Row(title, None, note=f"over {task.cap} s")
            return Row(title, None, note="failed: " + str(error)[:100].replace("|", "/"))
        code, p = np.load(Path(folder) / "p.npy")
    return Row(title, task.scored(_soft(task.judgements, code, p)), seconds, f" {note}")


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
    run(main, Options(), SHORT, __doc__)
