"""What jobs find in a campaign's judgements: numbers for pages, and the report's own pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import qrowd as q
from qrowd.collection.adjudication import cases
from qrowd.comparison.systems import mean_interval
from qrowd.data.collected import Collected, grades_of, qrels_of
from qrowd.data.index import Index
from qrowd.errors import MissingExtraError
from qrowd.evaluation.measure import measures_of
from qrowd.rendering import thousands
from qrowd.reporting import figures
from qrowd.reporting.parts import Figure
from qrowd.reporting.quality import disputed, quality_of
from qrowd.reporting.sections.judgements import assessor_section
from qrowd.reporting.study import places_of

DISPUTED, SUSPECTS = 500, 50
MARKS = 1000  # assessors in a picture: a page must stay light
LEVEL = 0.9  # of intervals around what decisions move
MOST_DECISIONS = 200  # that are looked at one by one


@dataclass(frozen=True)
class Findings:
    """What pages show, and pictures by name."""

    summary: dict[str, Any]
    pictures: Mapping[str, Figure]


# --- assessors ------------------------------------------------------------------------------------


def quality(crowd: Collected, method: q.Merger) -> tuple[Findings, q.AssessorTable]:
    """How far the judgements can be trusted, as reports have it; and the table of assessors."""
    judgements = crowd.judgements
    done = quality_of(crowd, method.fit(judgements, crowd.given), method)
    table = done.assessors
    summary = done.plain() | {
        "suspects": [
            [
                str(table.assessors.names[at]),
                str(table["type"][at]),
                float(table["informedness"][at]),
                int(table["judgements"][at]),
            ]
            for at in done.suspects[:SUSPECTS]
        ],
        "disputed": disputed(judgements, done.merged, crowd.gold, DISPUTED),
    }
    pictures = _pictures(
        {
            "votes": lambda: figures.votes_per_pair(np.diff(judgements.pair_starts)),
            "workload": lambda: figures.workload(judgements.per_assessor),
            "assessors": lambda: _of_busiest(
                table, lambda few: _scatter(few, done.merged.fit.method)
            ),
            "speed": lambda: _of_busiest(table, figures.speed_of),
        }
    )
    return Findings(summary, pictures), table


def _of_busiest(
    table: q.AssessorTable, draw: Callable[[q.AssessorTable], Figure | None]
) -> Figure | None:
    """A picture with a mark for each assessor, of the busiest ones where there are too many."""
    if len(table) <= MARKS:
        return draw(table)
    chosen = np.sort(np.argsort(-table["judgements"], kind="stable")[:MARKS])
    columns = {name: column[chosen] for name, column in table.columns.items()}
    figure = draw(q.AssessorTable(Index(table.assessors.names[chosen]), columns))
    note = f" The {thousands(MARKS)} busiest of {thousands(len(table))} are shown."
    return figure and replace(figure, caption=figure.caption + note)


def _scatter(table: q.AssessorTable, method: str) -> Figure | None:
    section = assessor_section(table, method)
    return next((part for part in section.parts if isinstance(part, Figure)), None)


def _pictures(drawn: Mapping[str, Callable[[], Figure | None]]) -> dict[str, Figure]:
    """Those that can be drawn; none without matplotlib."""
    try:
        made = {name: draw() for name, draw in drawn.items()}
    except MissingExtraError:
        return {}
    return {name: figure for name, figure in made.items() if figure is not None}


# --- systems --------------------------------------------------------------------------------------


def systems(merged: q.Merged, runs: q.RunSet, measures: Sequence[str], draws: int) -> Findings:
    """Scores and places under draws of relevance, and over topics too, as reports have them."""
    narrow, wide = places_of(runs, merged.draws(draws), measures)
    shown = wide or narrow
    summary = {
        "systems": shown.to_polars().to_dicts(),
        "measures": list(shown.measures),
        "source": shown.source,
        "level": shown.level,
        "contenders": list(shown.contenders()),
        "notes": list(shown.notes),
    }
    return Findings(summary, _pictures({"ranking": lambda: figures.ranking(narrow, wide, None)}))


def corrected(
    people: q.Merged,
    sample: q.Sample,
    machine: q.Judgements,
    runs: q.RunSet,
    measures: Sequence[str],
) -> dict[str, Any]:
    """Scores under machine labels of a whole pool, corrected by what people say of a sample of it.

    As long as people have not judged all of it, nothing but how much they have: what is judged
    first was not drawn at random.
    """
    judged = int((people.pairs.locate(sample.pairs) >= 0).sum())
    progress = {"judged": judged, "sampled": len(sample)}
    if judged < len(sample):
        return progress
    labelled, rel = sample.labelled(people.qrels()), people.scale.relevant_from
    chosen = measures_of(measures, rel=rel if rel > 1 else None)
    found = q.correct(runs, q.get("mv").fit(machine), labelled, chosen)
    return {**progress, "measures": found.measures, **found.to_dict()}


# --- what the experts' decisions move -------------------------------------------------------------


def moved(
    runs: q.RunSet,
    before: q.Qrels,
    after: q.Qrels,
    decisions: Sequence[cases.Decided],
    measure: str,
) -> dict[str, Any]:
    """Which systems' scores the decisions move: together, and each by itself.

    `before` are the judgements merged without any decision, `after` with all of them given. Each
    decision by itself: the score of its topic before, and with the one grade replaced, all other
    grades being left as they were.
    """
    return {
        "topics": len(before.topics),
        "level": LEVEL,
        "systems": _moved_together(runs, before, after, measure),
        "each": [
            _moved_by(decision, runs, before, measure) for decision in decisions[:MOST_DECISIONS]
        ],
    }


def _moved_together(
    runs: q.RunSet, before: q.Qrels, after: q.Qrels, measure: str
) -> list[dict[str, Any]]:
    """Every system before and after all decisions, with an interval of the difference."""
    old, new = (q.evaluate(runs, qrels, [measure]) for qrels in (before, after))
    old_means, new_means = old.means()[0, 0], new.means()[0, 0]
    shared = [name for name in old.topics if name in new.topics]
    by_topic = (
        new.values[0, 0][new.topics.codes(shared)] - old.values[0, 0][old.topics.codes(shared)]
    )
    mean, half = mean_interval(by_topic.T, LEVEL)
    old_places, new_places = q.places(old_means), q.places(new_means)
    order = np.argsort(-np.abs(mean), kind="stable")
    return [
        {
            "run": str(old.runs.names[at]),
            "before": old_means[at],
            "after": new_means[at],
            "moved": mean[at],
            "low": mean[at] - half[at],
            "high": mean[at] + half[at],
            "place_before": old_places[at],
            "place_after": new_places[at],
        }
        for at in order.tolist()
    ]


def _moved_by(
    decision: cases.Decided, runs: q.RunSet, before: q.Qrels, measure: str
) -> dict[str, Any]:
    """A decision, and how far it moves systems' means by itself."""
    topic, pair = decision.topic, (decision.topic, decision.doc)
    grades = grades_of(before[q.Index.of([topic])]) if topic in before.topics else {}
    line = {
        "topic": topic,
        "doc": decision.doc,
        "merged": grades.get(pair),
        "grade": decision.grade,
    }
    if not grades or grades.get(pair) == decision.grade or topic not in runs.topics:
        return {**line, "systems": 0, "most": "", "moved": 0.0}
    old = q.evaluate(runs, qrels_of(grades), [measure])
    new = q.evaluate(runs, qrels_of(grades | {pair: decision.grade}), [measure])
    difference = np.nan_to_num(new.values[0, 0, 0] - old.values[0, 0, 0])
    most = int(np.argmax(np.abs(difference)))
    changed = int((np.abs(difference) > 1e-12).sum())
    return {
        **line,
        "systems": changed,
        "most": str(old.runs.names[most]) if changed else "",
        "moved": difference[most] / len(before.topics),
    }
