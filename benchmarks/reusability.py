"""Old qrels and new systems: what do a team's runs lose without the pairs that only they brought?

    QROWD_DATA=folder python -m benchmarks.reusability [--depth K]

TREC-8 on ten topics (129 runs) and DL 2021 (63 runs); groups are runs whose names begin with the
same three characters, upper and lower case alike, and have at least two runs. The groups that lose
most, and all of them together; the last column says how many of the first agree with plain loops.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, attempt, run
from benchmarks._data import folder
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet


@dataclass(frozen=True)
class Options:
    depth: int = 100
    shown: int = 5
    loops: int = 3  # groups that are checked by plain loops


SHORT = Options(shown=2, loops=1)
COLLECTIONS = {"trec8_t21": ("nist.qrels.gz", 1), "dl21": ("gold.qrels.gz", 2)}


def groups_of(runs: RunSet) -> dict[str, str]:
    """Runs by the first three letters of their names, where two runs share them."""
    first = {name: name[:3].lower() for name in runs.runs}
    sizes = Counter(first.values())
    return {name: group for name, group in first.items() if sizes[group] > 1}


def by_loops(runs: RunSet, qrels: Qrels, own: list[str], depth: int) -> tuple[int, np.ndarray]:
    """Judged pairs that only these runs have so far up, and the runs' AP without them."""
    mine: set[tuple[str, int]] = set()
    others: set[tuple[str, int]] = set()
    for t, topic in enumerate(runs.topics):
        lists, _ = runs.lists(t)
        for name, documents in zip(runs.runs, lists, strict=True):
            for document in documents[:depth]:
                if document >= 0:
                    (mine if name in own else others).add((topic, document))
    names = {document: code for code, document in enumerate(runs.documents)}
    pairs = zip(qrels.pairs.topic_names, qrels.pairs.document_names, strict=True)
    lost = np.array(
        [(t, names.get(d)) in mine and (t, names.get(d)) not in others for t, d in pairs]
    )
    return int(lost.sum()), q.evaluate(runs, qrels.select(~lost), "AP").means()[0, 0]


def one(name: str, options: Options, table: Table) -> None:
    """The rows of a collection."""
    file, relevant = COLLECTIONS[name]
    qrels = q.read_qrels(folder(name) / file).binary(relevant)
    runs = q.read_runs(str(folder(name) / "runs" / "*"))
    groups = groups_of(runs)
    found = q.leave_out_runs(runs, qrels, groups, ["AP", "P@10"], depth=options.depth)
    rows = [row for row in found.by_group() if row["measure"] == "AP"]
    worst = sorted(rows, key=lambda row: row["most"])
    agree = 0
    for row in worst[: options.loops]:
        own = [run for run, group in groups.items() if group == row["group"]]
        removed, scores = by_loops(runs, qrels, own, options.depth)
        at = [list(runs.runs).index(run) for run in own]
        agree += removed == row["removed"] and bool(np.allclose(scores[at], found.without[0, at]))
    for row in worst[: options.shown]:
        figures = [f"{row['change']:+.4f}", f"{row['most']:+.4f}", row["run"]]
        moved = [f"{row['places']:g}", f"{row['tau']:.4f}"]
        table.row(name, row["group"], row["runs"], row["removed"], *figures, *moved, "of these")
    change = found.without[0] - found.full[0]
    grouped = found.group >= 0
    least = int(np.argmin(change))
    moved = np.abs(found.place_without[0] - found.place[0])
    table.row(
        name,
        f"all {len(rows)}",
        int(grouped.sum()),
        int(found.removed.sum()),
        f"{change[grouped].mean():+.4f}",
        f"{change[least]:+.4f}",
        runs.runs.names[least],
        f"{moved.max():g}",
        f"{found.tau[0].min():.4f}",
        f"{agree} of {min(options.loops, len(rows))}",
    )


def main(options: Options) -> None:
    """Both collections."""
    table = Table(
        *("collection", "group", "runs", "pairs lost", "mean change of AP", "largest", "of run"),
        *("places moved", "least tau", "agrees with loops"),
        title=f"Each group left out, depth {options.depth}",
    )
    for name in COLLECTIONS:
        attempt(lambda name=name: one(name, options, table))  # type: ignore[misc]


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
