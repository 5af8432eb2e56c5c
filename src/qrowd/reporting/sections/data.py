"""What there is: counts, scale, who judged how much."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.data.judgements import Judgements
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.reporting import figures
from qrowd.reporting.parts import Group, Note, Part, Prose, Section, Shown, Table


def data_section(
    judgements: Judgements, runs: RunSet | None = None, gold: Qrels | None = None
) -> Section:
    """Counts and the spread of the work."""
    votes = np.diff(judgements.pair_starts)
    counts = _counts(judgements)
    if gold is not None:
        counts |= {"pairs with gold": len(gold), "share relevant in gold": _share(gold)}
    if runs is not None:
        counts |= {"runs": len(runs), "documents ranked": len(runs.document)}
    table = Table("What the data hold", {"": list(counts), "count": list(counts.values())})
    charts = Group((figures.votes_per_pair(votes), figures.workload(judgements.per_assessor)))
    return Section("Data", (_words(judgements), *_warnings(votes), table, charts))


def _counts(judgements: Judgements) -> dict[str, Any]:
    votes = np.diff(judgements.pair_starts)
    relevant = judgements.scale.relevant[judgements.grade]
    return {
        "topics": len(judgements.topics),
        "pairs of a topic and a document": len(judgements.pairs),
        "assessors": len(judgements.assessors),
        "judgements": len(judgements),
        "judgements per pair, on average": Shown(f"{votes.mean():.1f}", float(votes.mean())),
        "share of judgements that say relevant": float(relevant.mean()) if len(relevant) else 0.0,
    }


def _share(gold: Qrels) -> float:
    return float((gold.grade >= 1).mean()) if len(gold) else float("nan")


def _words(judgements: Judgements) -> Prose:
    scale = judgements.scale
    grades = ", ".join(map(str, scale.grades))
    seconds = judgements.seconds
    pace = (
        ""
        if seconds is None or np.isnan(seconds).all()
        else f" The median time per judgement is {np.nanmedian(seconds):.0f} seconds."
    )
    return Prose(
        f"Judgements use the grades {grades}; {scale.relevant_from} and higher count as "
        f"relevant.{pace}"
    )


def _warnings(votes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[Part]:
    bare = int((votes == 0).sum())
    text = f"{bare} pairs of the pool have no judgement, so no method can say anything about them."
    return [Note(text)] if bare else []
