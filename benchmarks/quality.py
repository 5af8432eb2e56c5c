"""Assessor quality at size, alpha beside crowd-kit's and nltk's; checks on gold, how often passed.

    python -m benchmarks.quality [speed] [checks]

`speed`: one million judgements of 200,000 pairs by 10,000 assessors, simulated. crowd-kit 1.4.2 and
nltk run in the interpreter named by QROWD_PEERS (default: this one). `checks`: how often workers of
five kinds pass `qrowd quality --simulate-checks` on a gold set with the grades 0 1 1 2 2.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import qrowd as q
from benchmarks._benchmark import Table, option, run
from benchmarks._measure import PEERS, alone, least, peers_have
from benchmarks._peers import alpha

NAMES = ("speed", "checks")


@dataclass(frozen=True)
class Options:
    parts: tuple[str, ...] = option(NAMES, positional=True, choices=NAMES)
    topics: int = 100
    documents: int = 2000
    assessors: int = 10_000
    times: int = 3


SHORT = Options(topics=2, documents=20, assessors=10, times=1)


def main(options: Options) -> None:
    """Print both tables."""
    if "speed" in options.parts:
        speed(options)
    if "checks" in options.parts:
        checks()


def speed(options: Options) -> None:
    """Seconds of what is done with a million judgements."""
    made = q.simulate(
        topics=options.topics,
        documents=options.documents,
        assessors=options.assessors,
        votes=5,
        gold=0.1,
        runs=0,
        seed=1,
    )
    crowd, gold = made.judgements, q.Given(gold=made.gold)
    frame = crowd.to_polars()
    before = psutil.Process().memory_info().rss
    rules = [q.RandomSpam(), q.UniformSpam(), q.GoldAccuracy()]
    works: dict[str, Callable[[], Any]] = {
        "alpha": lambda: q.krippendorff_alpha(crowd),
        "alpha, from a frame of names": lambda: q.krippendorff_alpha(q.read_judgements(frame)),
        "all seven coefficients, 1000 bootstrap draws": lambda: q.agreement(crowd),
        "the whole table, with gold": lambda: q.assessors(crowd, gold),
        "the same with estimates by ds": lambda: q.assessors(crowd, gold, merge=q.DawidSkene()),
        "three rules, without each of those left out": lambda: q.screen(crowd, rules, gold),
    }
    print(repr(crowd))
    table = Table("what", "seconds", "beside it", title="Seconds", optional=("beside it",))
    seconds: dict[str, float] = {}
    for name, work in works.items():
        result = work()  # not counted
        seconds[name] = least(work, options.times).seconds
        grown = (psutil.Process().memory_info().rss - before) / 2**20
        more = f"; memory grew by {grown:.0f} MB in all of this"
        note = f"{len(result.left_out):,} left out{more}" if name.startswith("three") else ""
        table.row(name, f"{seconds[name]:.3f}", note)
    for peer, (spent, value) in by_peers(crowd).items():
        times = spent / seconds["alpha, from a frame of names"]
        inside = spent / seconds["alpha"]
        same = "the same" if abs(value - works["alpha"]()) < 1e-9 else "another"
        note = f"{inside:.0f} times ours, {times:.0f} times with reading names; {same} value"
        table.row(f"alpha by {peer}", f"{spent:.3f}", note)


def checks() -> None:
    """How often workers pass the checks on one gold set; exact."""
    names = ("binary >= 0.85", "NDCG >= 0.62", "both", "accuracy >= 0.6")
    table = Table("worker", *names, title="Checks on gold")
    for each in q.simulate_checks([0, 1, 1, 2, 2]):
        shares = (each.binary, each.ndcg, each.both, each.accuracy)
        table.row(each.worker, *(f"{share:.3f}" for share in shares))


def by_peers(crowd: q.Judgements) -> dict[str, list[float]]:
    """Seconds and value of each peer's alpha; nothing where they are not installed."""
    if not (peers_have("crowdkit") and peers_have("nltk")):
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npy"
        np.save(file, np.stack([crowd.pair, crowd.assessor, crowd.grade]))
        return alone(alpha, str(file), python=PEERS)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
