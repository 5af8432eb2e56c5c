"""What jobs find in a campaign's judgements: numbers for pages, and the report's own pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

import qrowd as q
from qrowd.collection.adjudication import cases
from qrowd.comparison.systems import mean_interval
from qrowd.data.index import Index
from qrowd.errors import MissingExtraError
from qrowd.quality.consensus import consensus_gain
from qrowd.quality.suspicion import SUSPICIOUS
from qrowd.rendering import thousands
from qrowd.reporting import figures
from qrowd.reporting.parts import Figure
from qrowd.reporting.sections.judgements import assessor_section
from qrowd.web.judgements import Snapshot, chosen_by, grades_of, qrels_of

CELLS = 50_000_000  # scores that are kept topic by topic
DISPUTED, SUSPECTS = 500, 50
MARKS = 1000  # assessors in a picture: a page must stay light
LEVEL = 0.9  # of intervals around what decisions move
MOST_DECISIONS = 200  # that are looked at one by one


@dataclass(frozen=True)
class Findings:
    """What pages show, and pictures by name."""

    summary: dict[str, Any]
    pictures: Mapping[str, Figure]


@dataclass(frozen=True)
class Quality(Findings):
    """What pages show of the judgements, and the table of assessors."""

    assessors: q.AssessorTable


# --- assessors ------------------------------------------------------------------------------------


def quality(snapshot: Snapshot, method: q.Merger) -> Quality:
    """Assessors on their judgements and check questions; agreement on what counts only."""
    judgements = snapshot.judgements
    given = q.NOTHING if snapshot.truth is None else q.Given(gold=snapshot.truth)
    table = q.assessors(snapshot.together, given, merge=method, gold_rel=snapshot.relevant_from)
    over = "topics" if len(judgements.topics) > 1 else "pairs"
    merged = method.fit(judgements, snapshot.given())
    summary = {
        "judgements": len(judgements),
        "pairs": len(judgements.pairs),
        "assessors": len(judgements.assessors),
        "agreement": q.agreement(judgements, resample=over).table(),
        "over": over,
        "gain": _gain(snapshot, method),
        "kinds": dict(Counter(str(kind) for kind in table["type"])),
        "suspects": _suspects(table),
        "chosen": chosen_by(merged),
        "disputed": disputed(judgements, merged, snapshot.gold),
    }
    pictures = _pictures(
        {
            "votes": lambda: figures.votes_per_pair(np.diff(judgements.pair_starts)),
            "workload": lambda: figures.workload(judgements.per_assessor),
            "assessors": lambda: _of_busiest(table, lambda few: _scatter(few, repr(method))),
            "speed": lambda: _of_busiest(table, figures.speed_of),
        }
    )
    return Quality(summary, pictures, table)


def _gain(snapshot: Snapshot, method: q.Merger) -> dict[str, Any] | None:
    """Single answers against merged ones on check questions, of which the method knows nothing."""
    if snapshot.checks is None or snapshot.truth is None:
        return None
    checks, bound = snapshot.checks, snapshot.relevant_from
    gain = consensus_gain(checks, method.fit(checks), snapshot.truth, gold_rel=bound)
    return None if gain is None else asdict(gain)


def _suspects(table: q.AssessorTable) -> list[list[Any]]:
    """Whose answers tell nothing or mislead: name, kind, informedness, judgements."""
    worst = np.argsort(table["informedness"], kind="stable")
    return [
        [
            str(table.assessors.names[at]),
            str(table["type"][at]),
            float(table["informedness"][at]),
            int(table["judgements"][at]),
        ]
        for at in [at for at in worst if table["type"][at] in SUSPICIOUS][:SUSPECTS]
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
    topics, documents = judgements.pairs.topic_names, judgements.pairs.document_names
    return [
        [str(topics[at]), str(documents[at]), int(votes[at]), int(yes[at]), float(belief[at])]
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
    return Findings(summary, _pictures({"ranking": lambda: figures.ranking(narrow, wide, None)}))


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
