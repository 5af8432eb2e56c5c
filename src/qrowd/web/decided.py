"""Which systems' scores the experts' decisions move: a job, for organisers only.

Before: the judgements merged without any decision. After: merged with all of them given, as the
live page has it. Each decision by itself: the score of its topic before, and with the one grade
replaced, all other grades being left as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import qrowd as q
from qrowd.collection.adjudication import cases
from qrowd.collection.publishing import export
from qrowd.comparison.systems import mean_interval
from qrowd.errors import RuleError
from qrowd.rendering import plain
from qrowd.web.folders import Place

LEVEL = 0.95
MOST = 200  # decisions that are looked at one by one
_Grades = dict[tuple[str, str], int]


def moved(place: Place, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """All decisions together by system, and each by itself with the system that it moves most."""
    from qrowd.web.tasks import MEASURES, exported, merger

    with place.store.read(place.campaign) as work:
        found = cases.decisions(work)
        before = export.given_names(work, decided=False)
    if not found:
        raise RuleError("no-decisions", "experts have decided nothing yet")
    if not any(place.runs.iterdir()):
        raise RuleError("no-runs", "there are no runs yet; add some")
    runs, measure = q.read_runs(place.runs), str((parameters.get("measures") or MEASURES)[0])
    method = merger(str(parameters.get("method", "mv")))
    with exported(place) as material:
        after = method.fit(material.judgements, material.given())
        given = q.Given(gold=_qrels(before)) if before else q.NOTHING
        base = method.fit(material.judgements, given)
    old, new = base.qrels(), after.qrels()
    together = _together(runs, old, new, measure)
    single = [_single(runs, old, one, measure) for one in found[:MOST]]
    about = {"method": after.fit.method, "measure": measure, "topics": len(old.topics)}
    result: dict[str, Any] = plain({**about, "level": LEVEL, "systems": together, "each": single})
    return result


def _qrels(grades: _Grades) -> q.Qrels:
    topics, documents = zip(*grades, strict=True)
    return q.Qrels.of(topics, documents, list(grades.values()))


def _together(runs: q.RunSet, old: q.Qrels, new: q.Qrels, measure: str) -> list[dict[str, Any]]:
    """Every system before and after all decisions, with an interval of the difference."""
    one, two = (q.evaluate(runs, qrels, [measure]) for qrels in (old, new))
    before, after = one.means()[0, 0], two.means()[0, 0]
    shared = [name for name in one.topics if name in two.topics]
    rows = [scores.topics.codes(shared) for scores in (one, two)]
    by_topic = two.values[0, 0][rows[1]] - one.values[0, 0][rows[0]]
    mean, half = mean_interval(by_topic.T, LEVEL)
    places = [q.places(values) for values in (before, after)]
    order = np.argsort(-np.abs(mean), kind="stable")
    return [
        {
            "run": str(one.runs.names[at]),
            "before": before[at],
            "after": after[at],
            "moved": mean[at],
            "low": mean[at] - half[at],
            "high": mean[at] + half[at],
            "place_before": places[0][at],
            "place_after": places[1][at],
        }
        for at in order.tolist()
    ]


def _single(runs: q.RunSet, old: q.Qrels, one: cases.Decided, measure: str) -> dict[str, Any]:
    """A decision, and how far it moves systems' means by itself."""
    here = _grades_of(old, one.topic)
    key = (one.topic, one.doc)
    line = {"topic": one.topic, "doc": one.doc, "merged": here.get(key), "grade": one.grade}
    if not here or here.get(key) == one.grade or one.topic not in runs.topics:
        return {**line, "systems": 0, "most": "", "moved": 0.0}
    pair = [
        q.evaluate(runs, _qrels(grades), [measure]) for grades in (here, here | {key: one.grade})
    ]
    difference = np.nan_to_num(pair[1].values[0, 0, 0] - pair[0].values[0, 0, 0])
    most = int(np.argmax(np.abs(difference)))
    changed = int((np.abs(difference) > 1e-12).sum())
    name = str(pair[0].runs.names[most]) if changed else ""
    return {**line, "systems": changed, "most": name, "moved": difference[most] / len(old.topics)}


def _grades_of(qrels: q.Qrels, topic: str) -> _Grades:
    if topic not in qrels.topics:
        return {}
    here = qrels[q.Index.of([topic])]
    names = zip(here.pairs.topic_names, here.pairs.document_names, strict=True)
    return dict(zip(names, here.grade.tolist(), strict=True))
