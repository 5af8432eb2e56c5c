"""What screening does to merged labels on real crowds.

python -m benchmarks.screening

Looks for the data in the folder named by QROWD_DATA. Rules see no gold; `gold-accuracy` sees the
gold of half of the topics (pairs, where there is one topic). Accuracy is on the other half only,
over the pairs that anybody judged: one that loses all its votes gets a coin.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, run
from benchmarks._data import CROWDS, folder, present

RULES = ("random-spam", "uniform-spam", "trust", "suspected", "gold-accuracy(surely=true)")


@dataclass(frozen=True)
class Options:
    crowds: tuple[str, ...] = ("trec_rf10", "trec11_crowd_task1", "dl21", "product_er_text")
    rules: tuple[str, ...] = RULES


SHORT = Options(crowds=("trec11_crowd_task1", "product_er_text"), rules=RULES[-2:])


def main(options: Options) -> None:
    names = present(options.crowds)
    table = Table(
        "data",
        "rule",
        "left out",
        "their judgements",
        "mv before",
        "mv after",
        "ds before",
        "ds after",
    )
    for name in names:
        crowd = q.read_judgements(folder(name) / "judgements.tsv.gz")
        gold = q.read_qrels(folder(name) / "gold.qrels.gz").binary(CROWDS[name][1])
        known, test = halves(gold)
        before = {method: accuracy(method, crowd, test, crowd) for method in ("mv", "ds")}
        for rule in options.rules:
            given = q.Given(gold=known) if rule.startswith("gold") else q.Given()
            kept = q.screen(crowd, [rule], given)
            judgements = sum(assessor.judgements for assessor in kept.left_out)
            cells = []
            for method, figure in before.items():
                after = accuracy(method, kept.kept, test, crowd)
                cells += [f"{figure:.4f}", f"{after:.4f}"]
            table.row(name, rule, len(kept.left_out), judgements, *cells)


def halves(gold: q.Qrels) -> tuple[q.Qrels, q.Qrels]:
    """Gold to screen by and gold to score on: topics apart, or pairs of a single topic."""
    if len(gold.topics) > 1:
        one, two = gold.topics.split(0.5, seed=1)
        return gold[one], gold[two]
    chosen = np.random.default_rng(1).random(len(gold)) < 0.5
    return gold.select(chosen), gold.select(~chosen)


def accuracy(method: str, some: q.Judgements, gold: q.Qrels, crowd: q.Judgements) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        merged = q.get(method).fit(some)
    at = merged.pairs.locate(gold.pairs)
    voted = np.diff(crowd.pair_starts) > 0
    here = at >= 0
    here[here] &= voted[at[here]]
    return float((merged.grades()[at[here]] == gold.grade[here]).mean())


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
