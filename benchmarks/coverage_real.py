"""Do intervals hold the official scores? Real runs; assessors simulated on TREC-8, real on DL 2021.

    QROWD_DATA=folder python -m benchmarks.coverage_real [seeds]

TREC-8: 129 runs, 10 topics, NIST's qrels taken as the truth, assessors of known error rates who err
independently, or find the same pairs hard. DL 2021: 63 runs, 53 topics, panels of 5 and 55 of 82
machine assessors, grades 2 and 3 relevant. Gold for 5 % of the pairs recalibrates.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

import qrowd as q
from qrowd.data.arrays import Floats
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.scale import BINARY

KEYS: tuple[str, ...] = (
    "scores",
    "places",
    "width",
    "places' width",
    "bias",
    "P(A>B) said",
    "P(A>B) true",
)
KEYS += ("of .95 and more: true", "share of pairs", "best in set", "set")
OVER = ("draws", "both")
DRAWS = 300


def data() -> Path:
    """The folder of real collections."""
    return Path(os.environ.get("QROWD_DATA") or Path(__file__).parents[2] / "shared" / "data")


def voted(gold: Qrels, votes: int, difficulty: float, seed: int) -> Judgements:
    """Judgements of 30 assessors of various sensitivity and specificity."""
    random = np.random.default_rng(seed)
    n, right = len(gold), np.stack([random.beta(30, 3, 30), random.beta(12, 5, 30)], axis=1)
    assessor = random.random((n, 30)).argsort(axis=1)[:, :votes].ravel().astype(np.int32)
    pair = np.repeat(np.arange(n), votes).astype(np.int32)
    hard = difficulty * random.normal(size=n)[pair]
    truth = gold.grade[pair]
    correct = random.random(len(pair)) < expit(logit(right[assessor, truth]) - hard)
    names = Index.of(f"a{at:02d}" for at in range(30))
    grade = np.where(correct, truth, 1 - truth).astype(np.int8)
    return Judgements(gold.pairs, names, BINARY, pair, assessor, grade)


def panel(crowd: Judgements, size: int, seed: int) -> Judgements:
    """The judgements of a few assessors, those who judged nearly everything."""
    count = np.bincount(crowd.assessor, minlength=len(crowd.assessors))
    diligent = np.flatnonzero(count > 0.9 * len(crowd.pairs))
    chosen = np.random.default_rng(seed).choice(diligent, size, replace=False)
    return crowd.select(np.isin(crowd.assessor, chosen))


def sampled(gold: Qrels, seed: int, share: float = 0.05) -> Qrels:
    """Gold for a random sample of the pairs."""
    return gold.select(np.random.default_rng(seed).random(len(gold)) < share)


def tally(runs: RunSet, truth: Floats, merged: Merged, seed: int) -> list[list[float]]:
    """What the intervals of AP say, beside the official scores: [over, figure]."""
    scores = q.evaluate(runs, merged.draws(DRAWS, seed), ["AP"])
    return [figures(q.intervals(scores, over=over), truth) for over in OVER]


def figures(found: q.Intervals, truth: Floats) -> list[float]:
    """How often intervals and P(A beats B) are right."""
    place = q.places(truth)
    a, b = np.triu_indices(len(truth), 1)
    p, won = found.beats[0, a, b], truth[a] > truth[b]
    right, sure = np.where(p >= 0.5, won, ~won), np.maximum(p, 1 - p) >= 0.95
    return [
        float(((found.low[0] <= truth) & (truth <= found.high[0])).mean()),
        float(((found.place_low[0] <= place) & (place <= found.place_high[0])).mean()),
        float((found.high - found.low).mean()),
        float((found.place_high - found.place_low).mean()),
        float((found.mean[0] - truth).mean()),
        float(np.maximum(p, 1 - p).mean()),
        float(right.mean()),
        float(right[sure].mean()) if sure.any() else float("nan"),
        float(sure.mean()),
        float(found.contender[0, truth.argmax()]),
        float(found.contender.sum()),
    ]


def rows(label: str, runs: RunSet, gold: Qrels, crowds: list[Judgements], method: str) -> None:
    """Print the row of a method, and of what rankings, or gold for 5 % of the pairs, make of it."""
    truth = q.evaluate(runs, gold, ["AP"]).means()[0, 0]
    merged = [q.get(method).fit(crowd) for crowd in crowds]
    corrected = [
        q.Automatic(draws=DRAWS).fit(crowds[at], q.Given(gold=sampled(gold, at)))
        if method == "auto"  # takes the gold itself
        else q.recalibrate(one, sampled(gold, at), at, DRAWS)
        for at, one in enumerate(merged)
    ]
    for name, beliefs in {
        method: merged,
        f"{method} + rankings": [q.inform(one, runs) for one in merged],
        f"{method}, recalibrated": corrected,
        f"{method}, recalibrated + rankings": [q.inform(one, runs) for one in corrected],
    }.items():
        means = np.mean([tally(runs, truth, one, at) for at, one in enumerate(beliefs)], axis=0)
        for over, row in zip(OVER, means, strict=True):
            cells = " | ".join(f"{x:.3f}" for x in row)
            print(f"| {label} | {name} | {over} | {cells} |", flush=True)


def main(seeds: int = 5) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    if not (data() / "trec8_t21").is_dir():
        print(f"no real data in {data()}; QROWD_DATA names another folder")
        return
    print("| collection | belief | over | " + " | ".join(KEYS) + " |")
    print("|---|---|---|" + "---:|" * len(KEYS))
    gold = q.read_qrels(data() / "trec8_t21" / "nist.qrels.gz").binary(1)
    runs = q.read_runs(str(data() / "trec8_t21" / "runs" / "*"))
    for votes, hard in ((3, 0.0), (5, 0.0), (5, 2.0)):
        label = f"TREC-8, {votes} votes" + (", pairs hard for all (2 logits)" if hard else "")
        crowds = [voted(gold, votes, hard, seed) for seed in range(seeds)]
        for method in ("ds", "auto"):
            rows(label, runs, gold, crowds, method)
    gold = q.read_qrels(data() / "dl21" / "gold.qrels.gz").binary(2)
    runs = q.read_runs(str(data() / "dl21" / "runs" / "*"))
    crowd = q.read_judgements(data() / "dl21" / "judgements.tsv.gz")
    for size in (5, 55):
        panels = [panel(crowd, size, seed) for seed in range(seeds)]
        for method in ("ds", "binmv", "ebcc", "auto"):
            rows(f"DL 2021, {size} machine assessors", runs, gold, panels, method)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:2]))
