"""What jobs find in a campaign's judgements: numbers for pages, and the report's own pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import qrowd as q
from qrowd.data.index import Index
from qrowd.errors import MissingExtraError
from qrowd.quality.consensus import consensus_gain
from qrowd.reporting import figures
from qrowd.reporting.parts import Figure
from qrowd.reporting.sections.judgements import assessor_section

if TYPE_CHECKING:
    from qrowd.web.tasks import Material

CELLS = 50_000_000  # scores that are kept topic by topic
DISPUTED, SUSPECTS = 500, 50
MARKS = 1000  # assessors in a picture: a page must stay light
SUSPICIOUS = ("adversarial", "random", "uniform")


@dataclass(frozen=True)
class Quality:
    """The table of assessors, what pages show first, and pictures by name."""

    assessors: q.AssessorTable
    summary: dict[str, Any]
    pictures: Mapping[str, Figure]


@dataclass(frozen=True)
class Systems:
    """What pages show of systems, and pictures by name."""

    summary: dict[str, Any]
    pictures: Mapping[str, Figure]


def quality(material: Material, method: Any) -> Quality:
    """Assessors on their judgements and check questions; agreement on what counts only."""
    judgements, together = material.judgements, material.together or material.judgements
    given = q.NOTHING if material.truth is None else q.Given(gold=material.truth)
    table = q.assessors(together, given, merge=method, gold_rel=material.relevant_from)
    topics = len(judgements.topics) > 1
    agreed = q.agreement(judgements, resample="topics" if topics else "pairs")
    merged = method.fit(judgements, material.given())
    summary = {
        "judgements": len(judgements),
        "pairs": len(judgements.pairs),
        "assessors": len(judgements.assessors),
        "agreement": agreed.table(),
        "over": "topics" if topics else "pairs",
        "gain": _gain(material, method),
        "kinds": dict(Counter(str(kind) for kind in table["type"])),
        "suspects": _suspects(table),
        "disputed": disputed(judgements, merged, material.gold),
    }
    drawn = {
        "votes": lambda: figures.votes_per_pair(np.diff(judgements.pair_starts)),
        "workload": lambda: figures.workload(judgements.per_assessor),
        "assessors": lambda: _of_busiest(table, lambda few: _scatter(few, repr(method))),
        "speed": lambda: _of_busiest(table, figures.speed_of),
    }
    return Quality(table, summary, _pictures(drawn))


def _gain(material: Material, method: Any) -> dict[str, Any] | None:
    """Single answers against merged ones on check questions, of which the method knows nothing."""
    if material.checks is None or material.truth is None:
        return None
    merged = method.fit(material.checks)
    found = consensus_gain(material.checks, merged, material.truth, gold_rel=material.relevant_from)
    return None if found is None else asdict(found)


def _suspects(table: q.AssessorTable) -> list[list[Any]]:
    """Whose answers tell nothing or mislead: name, kind, informedness, judgements."""
    kinds = table["type"]
    worst = np.argsort(table["informedness"], kind="stable")
    chosen = [at for at in worst if kinds[at] in SUSPICIOUS][:SUSPECTS]
    names = table.assessors.names
    return [
        [
            str(names[at]),
            str(kinds[at]),
            float(table["informedness"][at]),
            int(table["judgements"][at]),
        ]
        for at in chosen
    ]


def disputed(
    judgements: q.Judgements, merged: q.Merged, decided: q.Qrels | None, most: int = DISPUTED
) -> list[list[Any]]:
    """Pairs whose judges disagree most, the most votes first: topic, doc, votes, relevant, belief.

    Belief is the method's probability of relevance. What an expert decided is left out.
    """
    relevant = judgements.scale.relevant
    votes = np.diff(judgements.pair_starts)
    sums = np.concatenate([[0], np.cumsum(relevant[judgements.grade])])
    yes = sums[judgements.pair_starts[1:]] - sums[judgements.pair_starts[:-1]]
    open_still = (yes > 0) & (yes < votes)
    if decided is not None:
        at = judgements.pairs.locate(decided.pairs)
        open_still[at[at >= 0]] = False
    order = np.lexsort((-votes, np.abs(2 * yes - votes) / np.maximum(votes, 1)))
    chosen = order[open_still[order]][:most]
    belief = merged.posterior[:, relevant].sum(axis=1)
    names = (judgements.pairs.topic_names, judgements.pairs.document_names)
    return [
        [str(names[0][at]), str(names[1][at]), int(votes[at]), int(yes[at]), float(belief[at])]
        for at in chosen
    ]


def _of_busiest(
    table: q.AssessorTable, draw: Callable[[q.AssessorTable], Figure | None]
) -> Figure | None:
    """A picture with a mark for each assessor, of the busiest ones where there are too many."""
    if len(table) <= MARKS:
        return draw(table)
    chosen = np.sort(np.argsort(-table["judgements"], kind="stable")[:MARKS])
    columns = {name: column[chosen] for name, column in table.columns.items()}
    figure = draw(q.AssessorTable(Index(table.assessors.names[chosen]), columns))
    more = f" The {MARKS:,} busiest of {len(table):,} are shown."
    return figure and replace(figure, caption=figure.caption + more)


def _scatter(table: q.AssessorTable, method: str) -> Figure | None:
    section = assessor_section(table, method)
    return next((part for part in section.parts if isinstance(part, Figure)), None)


def systems(merged: q.Merged, runs: q.RunSet, measures: Sequence[str], draws: int) -> Systems:
    """Scores and places under draws of relevance, and over topics too, as reports have them."""
    drawn = merged.draws(draws)
    cells = len(drawn) * len(drawn.topics) * len(runs) * len(measures)
    keep = "topics" if cells <= CELLS and len(drawn.topics) > 1 else "means"
    scores = q.evaluate(runs, drawn, measures, keep=keep)
    narrow = q.intervals(scores, over="draws")
    wide = q.intervals(scores) if keep == "topics" else None
    shown = wide or narrow
    summary = {
        "systems": shown.to_polars().to_dicts(),
        "measures": list(shown.measures),
        "source": shown.source,
        "level": shown.level,
        "contenders": list(shown.contenders()),
        "notes": list(shown.notes),
    }
    return Systems(summary, _pictures({"ranking": lambda: figures.ranking(narrow, wide, None)}))


def _pictures(drawn: Mapping[str, Callable[[], Figure | None]]) -> dict[str, Figure]:
    """Those that can be drawn; none without matplotlib."""
    try:
        made = {name: draw() for name, draw in drawn.items()}
    except MissingExtraError:
        return {}
    return {name: figure for name, figure in made.items() if figure is not None}
