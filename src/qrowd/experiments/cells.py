"""The cells of a grid, and the tasks that compute them apart from each other.

A task is one approach and the panel sizes that are cheapest to do together: every size by itself
for approaches that merge judgements, all sizes at once for those that merge scores. In a plan of
labels it is one approach and one part of the gold that is held out.

A merge of judgements is made once for a panel, and scored on all topic sets, measures and run sets.
Where scores are merged, accuracies are learned once for a topic set (once for all sets, where those
of a topic do not depend on the other topics); then all panels are one weighted product.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np

import qrowd
from qrowd.aggregation.gaps import judged_topics, varies_by_topic
from qrowd.aggregation.panels import panel_scores, panel_weights
from qrowd.budget.loop import Loop, vote_by_vote
from qrowd.comparison.correlation import rmse, tau_ap, tau_b
from qrowd.comparison.significance import means_of
from qrowd.data.arrays import Array, Codes, Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.index import Index
from qrowd.data.qrels import NOT_JUDGED, Qrels, QrelsSet, SoftQrels
from qrowd.data.runs import RunSet
from qrowd.data.scores import Scores
from qrowd.evaluation.engine import evaluate
from qrowd.experiments.inputs import Inputs
from qrowd.experiments.plan import Plan, TopicSet

Columns = dict[str, Any]
STATISTIC = {"tau_ap": tau_ap, "tau": tau_b, "rmse": rmse}


@dataclass(frozen=True)
class Task:
    """One approach on panels of these sizes; or with this part of the gold held out.

    Part 0 is all of it, for approaches that are given no gold.
    """

    approach: str
    sizes: tuple[int, ...] = ()
    fold: int = 0

    def __str__(self) -> str:
        if not self.sizes:
            return f"{self.approach} ({self.fold or 'no gold'})"
        sizes = f"{self.sizes[0]}" if len(self.sizes) == 1 else f"{len(self.sizes)} sizes"
        return f"{self.approach} ({sizes})"


def tasks_of(plan: Plan) -> list[Task]:
    """All tasks of a plan, in the order of its approaches and sizes."""
    tasks: list[Task] = []
    for name in plan.grid.approaches:
        method = plan.method(name)
        if plan.loop.votes:
            tasks.append(Task(name))
        elif plan.labels.folds:
            folds = range(1, plan.labels.folds + 1) if method.clamp else [0]
            tasks += [Task(name, fold=fold) for fold in folds]
        elif method.card.level == "scores":
            tasks.append(Task(name, plan.panels.sizes))
        else:
            tasks += [Task(name, (size,)) for size in plan.panels.sizes]
    return tasks


def key_of(task: Task, inputs: Inputs) -> str:
    """A hash of all that a task's figures depend on: parameters, plan, data, version."""
    plan = inputs.plan
    method = plan.method(task.approach)
    _, *grid_without_approaches = astuple(plan.grid)
    parts = [
        task.approach,
        method.card.id,
        {param.name: repr(getattr(method, param.name)) for param in method.card.params},
        task.sizes,
        task.fold,
        {k: v for k, v in asdict(plan.labels).items() if k != "gold"},  # that is for reading cells
        plan.panels.each,
        plan.panels.seed,
        *grid_without_approaches,  # of which the task has one
        *(plan.measures if plan.measures != plan.grid.measures else ()),
        *([asdict(plan.loop)] if plan.loop.votes else []),
        inputs.groups,
        inputs.fingerprint,
        qrowd.__version__,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]


def panels_of(plan: Plan, assessors: int, size: int) -> Array:
    """The members[panel, size] of a plan's panels of one size; the same for all approaches."""
    random = np.random.default_rng([plan.panels.seed, size])
    drawn = [random.choice(assessors, size, replace=False) for _ in range(plan.panels.each)]
    return np.sort(np.array(drawn), axis=1)


def compute(inputs: Inputs, task: Task) -> Columns:
    """The cells of a task: a row for every run set, topic set, measure, gold, size and panel."""
    if inputs.plan.loop.votes:
        return loop_cells(inputs, task)
    if inputs.plan.labels.folds:
        return label_cells(inputs, task)
    method = inputs.plan.method(task.approach)
    means = _from_scores if method.card.level == "scores" else _from_judgements
    cells = [
        cell for of_set in means(inputs, method, task) for cell in _cells(inputs, task, *of_set)
    ]
    return {name: np.concatenate([cell[name] for cell in cells]) for name in cells[0]}


SetMeans = tuple[str, str, int, Floats]  # run set, group, topic set, means[measure, panel, run]


def _from_judgements(inputs: Inputs, method: Any, task: Task) -> Iterator[SetMeans]:
    """Means over the topics of each set, of panels merged one by one."""
    (size,) = task.sizes
    merged = [
        _relevance(inputs, method, members, at)
        for at, members in enumerate(panels_of(inputs.plan, len(inputs.crowd.assessors), size))
    ]
    for name, runs in inputs.runs.items():
        scores = _scores_of(inputs, merged, runs)
        for group, at, topic_set in _sets(inputs):
            yield name, group, at, scores[Index.of(topic_set.test)].means()


def _relevance(inputs: Inputs, method: Any, members: Array, at: int) -> Qrels | SoftQrels:
    """What a panel's merge says; pairs that none of the panel judged are left out of soft ones."""
    crowd = inputs.crowd
    own = crowd.of_assessors(Index(crowd.assessors.names[members]))
    merged = method.fit(own)
    relevance: Qrels | SoftQrels = merged.relevance(seed=inputs.plan.panels.seed + at)
    judged = np.diff(own.pair_starts) > 0
    if judged.all():
        return relevance
    pairs = relevance.pairs.select(judged)
    if isinstance(relevance, SoftQrels):
        return SoftQrels(pairs, relevance.scale, relevance.p[judged])
    return Qrels(pairs, relevance.grade[judged])


def _scores_of(inputs: Inputs, merged: list[Qrels | SoftQrels], runs: RunSet) -> Scores:
    """The scores under each merge, along an axis of draws; certain ones all at once."""
    if all(isinstance(qrels, Qrels) for qrels in merged):
        pool = inputs.crowd.pairs
        grades = np.full((len(pool), len(merged)), NOT_JUDGED, np.int8)
        for at, qrels in enumerate(merged):
            rows = slice(None) if len(qrels) == len(pool) else pool.locate(qrels.pairs)
            grades[rows, at] = qrels.grade  # type: ignore[union-attr]
        return evaluate(runs, QrelsSet.of_draws(pool, grades), inputs.measures)
    each = [evaluate(runs, qrels, inputs.measures) for qrels in merged]
    names = Index.of(f"{at:06d}" for at in range(len(each)))
    values = np.concatenate([scores.values for scores in each], axis=1)
    return Scores(each[0].measures, "draw", names, each[0].topics, each[0].runs, values)


def _from_scores(inputs: Inputs, method: Any, task: Task) -> Iterator[SetMeans]:
    """Means over the topics of each set, of all panels by one product."""
    count = len(inputs.crowd.assessors)
    members = [panels_of(inputs.plan, count, size) for size in task.sizes]
    panels = np.zeros((sum(map(len, members)), count))
    rows = np.arange(len(panels)).reshape(len(members), -1)
    for row, of_size in zip(rows, members, strict=True):
        panels[row[:, None], of_size] = 1.0
    for name in inputs.runs:
        shared = _topic_accuracies(inputs, method, name)
        for group, at, topic_set in _sets(inputs):
            test = Index.of(topic_set.test)
            scores = inputs.assessor_scores[name][test]
            accuracies = (
                _accuracies(inputs, method, name, topic_set)
                if shared is None
                else shared[:, :, inputs.assessor_scores[name].topics.find(test)]
            )
            means = []
            for values, accuracy in zip(scores.values, accuracies, strict=True):
                weights = panel_weights(accuracy, judged_topics(values), panels)
                means.append(means_of(panel_scores(values, weights), axis=1))
            yield name, group, at, np.stack(means)


def _topic_accuracies(inputs: Inputs, method: Any, name: str) -> Floats | None:
    """Accuracies on all topics at once, where a topic's do not depend on the others scored."""
    if getattr(method, "per", "") != "tpc":
        return None
    scores, random = inputs.assessor_scores[name], inputs.random_assessor_scores[name]
    if max(np.nanmax(scores.values), np.nanmax(random.values)) > 1 or not _ranked(random):
        return None  # divided by the largest, or judged by fewer kinds, on the topics of a set
    return np.asarray(method.accuracies(scores, Given(random=random)))


def _ranked(random: Scores) -> bool:
    """Whether some random assessor of every kind tells the runs apart on every topic."""
    kinds = np.array([column.partition(":")[0] for column in random.columns])
    each = [varies_by_topic(values) for values in random.values]  # [assessor, topic]
    return all(ranks[kinds == kind].any(axis=0).all() for ranks in each for kind in set(kinds))


def _accuracies(inputs: Inputs, method: Any, name: str, topic_set: TopicSet) -> Floats:
    """Accuracies[measure, assessor, topic] on a set's topics; gold is seen on the others only."""
    scores, test = inputs.assessor_scores[name], Index.of(topic_set.test)
    if "reference" not in method.card.needs:
        random = inputs.random_assessor_scores[name] if "random" in method.card.needs else None
        return np.asarray(method.accuracies(scores[test], Given(random=random)))
    train = Index.of(inputs.training(topic_set))
    reference = inputs.gold_scores[name, "certain"][train]
    both = scores[Index.of([*test, *train])]
    accuracies = method.accuracies(both, Given(reference=reference))
    return np.asarray(accuracies[:, :, both.topics.find(test)])


def _sets(inputs: Inputs) -> Iterator[tuple[str, int, TopicSet]]:
    for group, sets in inputs.groups.items():
        for at, topic_set in enumerate(sets, 1):
            yield group, at, topic_set


def _cells(
    inputs: Inputs, task: Task, name: str, group: str, at: int, means: Floats
) -> Iterator[Columns]:
    """The cells of means[measure, panel, run]: all panels, by measure and kind of gold."""
    grid, each = inputs.plan.grid, inputs.plan.panels.each
    test = Index.of(inputs.groups[group][at - 1].test)
    size, panel = np.repeat(task.sizes, each), np.tile(np.arange(1, each + 1), len(task.sizes))
    for kind in grid.gold:
        truth = inputs.gold_scores[name, kind][test].means()[:, 0]
        for measure, values, reference in zip(grid.measures, means, truth, strict=True):
            words = {
                "runs": name,
                "topics": group,
                "approach": task.approach,
                "measure": measure,
                "gold": kind,
            }
            row: Columns = {key: np.full(len(size), word, object) for key, word in words.items()}
            row |= {
                "set": np.full(len(size), at, np.int16),
                "size": size.astype(np.int16),
                "panel": panel.astype(np.int16),
            }
            yield row | {key: STATISTIC[key](values, reference) for key in grid.statistics}


def loop_cells(inputs: Inputs, task: Task) -> Columns:
    """A row for every topic, randomisation and number of votes; the same draws for all tasks."""
    voting = inputs.plan.loop
    largest = int(np.diff(inputs.crowd.pairs.topic_starts).max())
    curves = vote_by_vote(
        inputs.crowd,
        inputs.gold,
        {task.approach: inputs.plan.method(task.approach)},
        documents=inputs.documents,
        loop=Loop(
            votes=voting.votes,
            randomisations=voting.randomisations,
            every=max(1, largest // 10),
            seed=voting.seed,
        ),
    )
    _, topics, copies, points = curves.accuracy.shape
    topic, copy, point = (part.ravel() for part in np.indices((topics, copies, points)))
    return {
        "approach": np.full(len(topic), task.approach, object),
        "topic": np.array(list(curves.topics), object)[topic],
        "randomisation": (copy + 1).astype(np.int16),
        "votes": curves.votes[point],
        "accuracy": curves.accuracy[0].ravel(),
    }


def folds_of(gold: Qrels, folds: int, seed: int) -> Codes:
    """The part 1..folds of each pair of the gold: equally large, whatever the order of rows."""
    hashes = gold.pairs.hashes(np.arange(len(gold), dtype=np.int32), seed)
    place = np.empty(len(gold), np.int32)
    place[np.argsort(hashes, kind="stable")] = np.arange(len(gold), dtype=np.int32)
    return np.asarray(place % folds + 1, np.int32)


def label_cells(inputs: Inputs, task: Task) -> Columns:
    """A row for every pair of the gold that is held out in a task."""
    gold, labels = inputs.gold, inputs.plan.labels
    crowd = inputs.crowd.with_pool(gold.pairs)
    fold = folds_of(gold, labels.folds, labels.seed)
    held = (fold == task.fold) | (task.fold == 0)
    given = Given(gold=gold.select(~held)) if task.fold else NOTHING
    merged = inputs.plan.method(task.approach).fit(crowd, given)
    rows = gold.select(held)
    p = merged.posterior[merged.pairs.locate(rows.pairs)]
    columns: Columns = {
        "approach": np.full(len(rows), task.approach, object),
        "fold": fold[held].astype(np.int16),
        "topic": rows.pairs.topic_names,
        "doc": rows.pairs.document_names,
        "gold": rows.grade,
    }
    return columns | {f"p({grade})": p[:, code] for code, grade in enumerate(merged.scale.grades)}
