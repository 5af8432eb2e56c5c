"""Compile every kernel once, into numba's cache, before several test processes want them."""

from __future__ import annotations

import warnings

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
    if "ds" in registry.cards("method"):
        registry.get("ds").fit(graded.judgements)
    if hasattr(q, "evaluate"):
        measures = [
            card.cls(**({"cutoff": 5} if "cutoff" in {p.name for p in card.params} else {}))
            for card in registry.cards("measure").values()
        ]
        q.evaluate(tiny.runs, tiny.gold, measures)
        q.evaluate(tiny.runs, tiny.judgements.by_assessor(), measures)
        q.evaluate(tiny.runs, tiny.gold.soft(0.9, 0.1), [q.AP, q.R @ 5])


if __name__ == "__main__":
    main()
