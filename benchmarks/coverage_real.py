"""Do intervals hold the official scores? Real runs; assessors simulated on TREC-8, real on DL 2021.

    QROWD_DATA=folder python -m benchmarks.coverage_real [seeds] [--seed FIRST]

TREC-8: 129 runs, 10 topics, NIST's qrels taken as the truth, assessors of known error rates who err
independently, or find the same pairs hard. DL 2021: 63 runs, 53 topics, panels of 5 and 55 of 82
machine assessors, grades 2 and 3 relevant. Gold for 5 % of the pairs recalibrates, or is given to
`auto`. Means over the seeds: of simulated assessors, or of panels and of gold.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

import qrowd as q
from benchmarks._benchmark import Table, option, run
from benchmarks._data import diligent, dl21, folder, of_assessors
from benchmarks.coverage import held
from qrowd.data.arrays import Floats
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.scale import BINARY

OVER = ("draws", "both")
KEYS = (
    "scores",
    "places",
    "width",
    "places' width",
    "bias",
    "P(A>B) said",
    "P(A>B) true",
    ">= .95 true",
    ">= .95 said",
    "best in set",
    "set",
)


@dataclass(frozen=True)
class Options:
    seeds: int = option(5, positional=True)
    topics: int = 53  # of DL 2021
    crowds: int = 2  # of TREC-8
    draws: int = 300
    methods: tuple[str, ...] = ("ds", "ebcc", "auto")
    sizes: tuple[int, ...] = (5, 55)
    seed: int = 0  # the first one


SHORT = Options(seeds=1, topics=5, crowds=1, draws=20, methods=("ds", "auto"), sizes=(5,))


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
    """The judgements of a few of those who judged nearly everything."""
    random = np.random.default_rng(seed)
    return of_assessors(crowd, random.choice(diligent(crowd), size, replace=False))


def sampled(gold: Qrels, seed: int, share: float = 0.05) -> Qrels:
    """Gold for a random sample of the pairs."""
    return gold.select(np.random.default_rng(seed).random(len(gold)) < share)


def corrected(method: str, crowd: Judgements, gold: Qrels, seed: int, draws: int) -> Merged:
    """A belief with some gold: `auto` takes it itself, the others are recalibrated by it."""
    if method == "auto":
        return q.Automatic(draws=draws).fit(crowd, q.Given(gold=gold))
    return q.recalibrate(q.get(method).fit(crowd), gold, seed, draws)


class Collection:
    """Real runs and gold, and crowds of their documents: what beliefs say of the systems."""

    def __init__(
        self, label: str, runs: RunSet, gold: Qrels, crowds: dict[int, Judgements]
    ) -> None:  # crowds by their seeds
        self.label, self.runs, self.gold, self.crowds = label, runs, gold, crowds
        self.truth: Floats = q.evaluate(runs, gold, ["AP"]).means()[0, 0]

    def add_rows(self, table: Table, method: str, draws: int) -> None:
        """A method, and what rankings, or gold for 5 % of the pairs, make of it."""
        merged = [q.get(method).fit(crowd) for crowd in self.crowds.values()]
        with_gold = [
            corrected(method, crowd, sampled(self.gold, seed), seed, draws)
            for seed, crowd in self.crowds.items()
        ]
        gold = "with the gold" if method == "auto" else "recalibrated"
        beliefs = {
            method: merged,
            f"{method} + rankings": [q.inform(each, self.runs) for each in merged],
            f"{method}, {gold}": with_gold,
        }
        for name, several in beliefs.items():
            by_seed = zip(several, self.crowds, strict=True)
            figures = [self.figures(belief, draws, seed) for belief, seed in by_seed]
            for over, means in zip(OVER, np.mean(figures, axis=0), strict=True):
                table.row(self.label, name, over, *(f"{mean:.3f}" for mean in means))

    def figures(self, belief: Merged, draws: int, seed: int) -> list[list[float]]:
        """What the intervals of AP say, beside the official scores: [over, figure]."""
        scores = q.evaluate(self.runs, belief.draws(draws, seed), ["AP"])
        tallies = (held(q.intervals(scores, over=over), self.truth) for over in OVER)
        return [[tally[key] for key in KEYS] for tally in tallies]


def main(options: Options) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    trec8 = folder("trec8_t21")
    crowd, graded, dl21_runs = dl21(options.topics)
    table = Table("collection", "belief", "over", *KEYS, optional=(">= .95 true",))
    seeds = range(options.seed, options.seed + options.seeds)
    gold = q.read_qrels(trec8 / "nist.qrels.gz").binary(1)
    trec8_runs = q.read_runs(str(trec8 / "runs" / "*"))
    for votes, hard in ((5, 0.0), (5, 2.0))[: options.crowds]:
        label = f"TREC-8, {votes} votes" + (", pairs hard for all (2 logits)" if hard else "")
        crowds = {seed: voted(gold, votes, hard, seed) for seed in seeds}
        for method in ("ds", "auto"):
            Collection(label, trec8_runs, gold, crowds).add_rows(table, method, options.draws)
    gold = graded.binary(2)
    for size in options.sizes:
        label = f"DL 2021, {size} machine assessors"
        panels = {seed: panel(crowd, size, seed) for seed in seeds}
        for method in options.methods:
            Collection(label, dl21_runs, gold, panels).add_rows(table, method, options.draws)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
