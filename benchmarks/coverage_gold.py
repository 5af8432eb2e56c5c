"""A little gold, many machine judges: are places and P(A beats B) honest? DL 2021.

    QROWD_DATA=folder python -m benchmarks.coverage_gold [draws of gold]

Gold (grades 2 and 3) for 5 % of the pairs, at random; panels of 5, 20 and all 82 assessors; 63
runs on 53 topics. The official places and wins on all gold are what intervals should hold: 90 % of
the places, and of what is said with .95 or more at least that. The width of places is beside that
of all gold over topics, which is what topics alone leave open.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import qrowd as q
from benchmarks.coverage_real import data, sampled
from qrowd.data.arrays import Floats
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels

DRAWS, SIZES, OVER = 200, (5, 20, 82), ("draws", "both")
MEASURES = ("AP", "nDCG@10")
METHODS = ("auto", "ebcc", "ds")
KEYS = (
    "places held",
    "place width",
    "times all gold's",
    "scores held",
    "bias",
    ">= .95 true",
    ">= .95 said",
)


def panel(crowd: Judgements, size: int, seed: int) -> Judgements:
    """Some of those who judged nearly everything, or everybody."""
    count = crowd.per_assessor
    if size >= len(count):
        return crowd
    pool = np.flatnonzero(count > 0.9 * len(crowd.pairs))
    chosen = np.sort(np.random.default_rng(seed).choice(pool, size, replace=False))
    return crowd.of_assessors(Index(crowd.assessors.names[chosen]))


def belief(method: str, crowd: Judgements, gold: Qrels, seed: int) -> Merged:
    """`auto` takes gold itself; the others are recalibrated by it."""
    if method == "auto":
        return q.Automatic(draws=DRAWS).fit(crowd, q.Given(gold=gold))
    return q.recalibrate(q.get(method).fit(crowd), gold, seed, DRAWS)


def figures(found: q.Intervals, m: int, truth: Floats, width: float) -> list[float]:
    """How often intervals and P(A beats B) are right, for one measure."""
    place = q.places(truth)
    a, b = np.triu_indices(len(truth), 1)
    p, won = found.beats[m, a, b], truth[a] > truth[b]
    right, sure = np.where(p >= 0.5, won, ~won), np.maximum(p, 1 - p) >= 0.95
    wide = float((found.place_high[m] - found.place_low[m]).mean())
    return [
        float(((found.place_low[m] <= place) & (place <= found.place_high[m])).mean()),
        wide,
        wide / width,
        float(((found.low[m] <= truth) & (truth <= found.high[m])).mean()),
        float((found.mean[m] - truth).mean()),
        float(right[sure].mean()) if sure.any() else float("nan"),
        float(sure.mean()),
    ]


def main(times: int = 10) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    if not (data() / "dl21").is_dir():
        print(f"no real data in {data()}; QROWD_DATA names another folder")
        return
    gold = q.read_qrels(data() / "dl21" / "gold.qrels.gz").binary(2)
    runs = q.read_runs(str(data() / "dl21" / "runs" / "*"))
    crowd = q.read_judgements(data() / "dl21" / "judgements.tsv.gz")
    official = q.evaluate(runs, gold, list(MEASURES))
    truth = official.means()[:, 0]
    by_topics = q.intervals(official, over="topics")
    widths = (by_topics.place_high - by_topics.place_low).mean(axis=1)
    print(f"all gold over topics: place width {dict(zip(MEASURES, widths.round(2), strict=True))}")
    print("| assessors | belief | measure | over | " + " | ".join(KEYS) + " |")
    print("|---:|---|---|---|" + "---:|" * len(KEYS))
    for size in SIZES:
        for method in METHODS:
            rows: dict[tuple[int, str], list[list[float]]] = {}
            for seed in range(times):
                some = sampled(gold, seed)
                merged = belief(method, panel(crowd, size, seed), some, seed)
                scores = q.evaluate(runs, merged.draws(DRAWS, seed), list(MEASURES))
                for over in OVER:
                    found = q.intervals(scores, over=over, seed=seed)
                    for m in range(len(MEASURES)):
                        row = figures(found, m, truth[m], float(widths[m]))
                        rows.setdefault((m, over), []).append(row)
            for (m, over), several in sorted(rows.items()):
                cells = " | ".join(f"{x:.3f}" for x in np.mean(several, axis=0))
                print(f"| {size} | {method} | {MEASURES[m]} | {over} | {cells} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
