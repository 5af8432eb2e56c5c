"""A little gold, many machine judges: are places and P(A beats B) honest? DL 2021.

    QROWD_DATA=folder python -m benchmarks.coverage_gold [draws of gold] [--seed SEED]

Gold (grades 2 and 3) for 5 % of the pairs, at random; panels of 5, 20 and all 82 assessors; 63
runs on 53 topics. The official places and wins on all gold are what intervals should hold: 90 % of
the places, and of what is said with .95 or more at least that. The first rows are what topics alone
leave open, with all gold.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, option, run
from benchmarks._data import dl21
from benchmarks.coverage import held
from benchmarks.coverage_real import corrected, panel, sampled

MEASURES = ("AP", "nDCG@10")
METHODS = ("auto", "ebcc", "ds")
OVER = ("draws", "both")


@dataclass(frozen=True)
class Options:
    times: int = option(10, positional=True)  # draws of gold
    topics: int = 53
    draws: int = 200
    methods: tuple[str, ...] = METHODS
    sizes: tuple[int, ...] = (5, 20, 82)
    seed: int = 0  # of the first draw


SHORT = Options(times=1, topics=3, draws=20, methods=("auto", "ds"), sizes=(5, 82))


def main(options: Options) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    crowd, graded, runs = dl21(options.topics)
    gold = graded.binary(2)
    official = q.evaluate(runs, gold, list(MEASURES))
    truth = official.means()[:, 0]
    by_topics = q.intervals(official, over="topics")
    widths = (by_topics.place_high - by_topics.place_low).mean(axis=1)
    table = Table(
        "assessors",
        "belief",
        "measure",
        "over",
        "places held",
        "place width",
        "times all gold's",
        "scores held",
        "bias",
        ">= .95 true",
        ">= .95 said",
        optional=(">= .95 true",),
    )

    def figures_of(intervals: q.Intervals, m: int) -> list[float]:
        tally = held(intervals, truth[m], m)
        width = tally["places' width"]
        last = (tally[key] for key in ("scores", "bias", *table.columns[-2:]))
        return [tally["places"], width, width / widths[m], *last]

    for m, measure in enumerate(MEASURES):
        cells = (f"{figure:.3f}" for figure in figures_of(by_topics, m))
        table.row("none", "all gold", measure, "topics", *cells)
    for size in options.sizes:
        for method in options.methods:
            figures: dict[tuple[int, str], list[list[float]]] = {}
            for seed in range(options.seed, options.seed + options.times):
                some = crowd if size == len(crowd.assessors) else panel(crowd, size, seed)
                belief = corrected(method, some, sampled(gold, seed), seed, options.draws)
                scores = q.evaluate(runs, belief.draws(options.draws, seed), list(MEASURES))
                for over in OVER:
                    intervals = q.intervals(scores, over=over, seed=seed)
                    for m in range(len(MEASURES)):
                        figures.setdefault((m, over), []).append(figures_of(intervals, m))
            for (m, over), several in sorted(figures.items()):
                means = np.mean(several, axis=0)
                table.row(size, method, MEASURES[m], over, *(f"{mean:.3f}" for mean in means))


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
