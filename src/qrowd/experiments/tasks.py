"""The tasks of a plan, which are computed apart, and the key of each.

A task is one approach and the panel sizes that are cheapest to do together: every size by itself
for approaches that merge judgements, all sizes at once for those that merge scores. In a plan of
labels it is one approach and one part of the gold that is held out.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

import qrowd
from qrowd.experiments.inputs import Inputs
from qrowd.experiments.plan import Plan

Columns = dict[str, Any]


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
        if plan.labels.folds:
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
    grid, method = plan.grid, plan.method(task.approach)
    parts = [
        task.approach,
        method.card.id,
        {param.name: repr(getattr(method, param.name)) for param in method.card.params},
        task.sizes,
        task.fold,
        asdict(plan.labels),
        plan.panels.each,
        plan.panels.seed,
        grid.measures,
        grid.statistics,
        grid.gold,
        grid.p_rel,
        grid.p_nonrel,
        grid.replicates,
        inputs.groups,
        inputs.fingerprint,
        qrowd.__version__,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]
