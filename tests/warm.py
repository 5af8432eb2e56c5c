"""Compile every kernel once, into numba's cache, before several test processes want them."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

import qrowd as q
from qrowd import registry


def main() -> None:
    """Run each method and each measure once on a tiny collection."""
    warnings.simplefilter("ignore")
    tiny = q.simulate(topics=2, documents=6, assessors=3, votes=2, runs=2)
    graded = q.simulate("graded", topics=2, documents=6, assessors=3, votes=2, runs=2)
    for card in registry.cards("method").values():
        if card.level == "judgements" and not card.needs:
            card.cls().fit(tiny.judgements)
    for spec in ("ds", "ds(per_topic=true)", "ds(counts=hard)"):
        for rows in (tiny.judgements, graded.judgements):
            q.get(spec).fit(rows)
            q.get(spec).fit(replace(rows, weight=np.ones(len(rows))))
    if hasattr(q, "evaluate"):
        measures = [
            card.cls(**({"cutoff": 5} if "cutoff" in {p.name for p in card.params} else {}))
            for card in registry.cards("measure").values()
        ]
        scores = q.evaluate(tiny.runs, tiny.gold, measures)
        q.evaluate(tiny.runs, tiny.judgements.by_assessor(), measures)
        q.compare({"same": scores}, scores, bootstrap=2)
        q.evaluate(tiny.runs, tiny.gold.soft(0.9, 0.1), [q.AP, q.R @ 5])


if __name__ == "__main__":
    main()
