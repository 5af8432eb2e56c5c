"""Compile every kernel once, into numba's cache, before several test processes want them."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np

import qrowd as q
from qrowd import registry
from qrowd.errors import QrowdError


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
        for card in registry.cards("measure").values():
            cut = {"cutoff": 1} if "cutoff" in {p.name for p in card.params} else {}
            with suppress(QrowdError):  # some want subtopics, or the highest grade
                q.evaluate(tiny.runs, tiny.gold, [card.cls(**cut)])
        scores = q.evaluate(tiny.runs, tiny.gold, [q.AP])
        q.evaluate(tiny.runs, tiny.judgements.by_assessor(), [q.AP])
        q.compare({"same": scores}, scores, bootstrap=2)
        q.evaluate(tiny.runs, tiny.gold.soft(0.9, 0.1), [q.AP, q.R @ 5])


if __name__ == "__main__":
    main()
