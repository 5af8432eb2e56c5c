"""What screening does to merged labels on real crowds.

python -m benchmarks.screening

Looks for the data in the folder named by QROWD_DATA. Rules see no gold; `gold-accuracy` sees the
gold of half of the topics (pairs, where there is one topic). Accuracy is on the other half only,
over the pairs that anybody judged: one that loses all its votes gets a coin.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

import qrowd as q

SETS = {"trec_rf10": 1, "trec11_crowd_task1": 1, "dl21": 2, "product_er_text": 1}
RULES = ("random-spam", "uniform-spam", "trust", "suspected", "gold-accuracy(surely=true)")


def main() -> None:
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("QROWD_DATA") or beside)
    print("| data | rule | left out | their judgements | mv before | after | ds before | after |")
    print("|---|---|---|---|---|---|---|---|")
    for name, cut in SETS.items():
        if not (folder / name).is_dir():
            print(f"| {name} | not in QROWD_DATA | | | | | | |")
            continue
        crowd = q.read_judgements(folder / name / "judgements.tsv.gz")
        gold = q.read_qrels(folder / name / "gold.qrels.gz").binary(cut)
        known, test = halves(gold)
        before = [accuracy(method, crowd, test, crowd) for method in ("mv", "ds")]
        for rule in RULES:
            given = q.Given(gold=known) if rule.startswith("gold") else q.Given()
            kept = q.screen(crowd, [rule], given)
            after = [accuracy(method, kept.kept, test, crowd) for method in ("mv", "ds")]
            lost = sum(one.judgements for one in kept.left_out)
            cells = " | ".join(f"{a:.4f} | {b:.4f}" for a, b in zip(before, after, strict=True))
            print(f"| {name} | {rule} | {len(kept.left_out)} | {lost} | {cells} |", flush=True)


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
    main()
