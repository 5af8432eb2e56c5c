"""What the files of a draft hold so far, and what judging that comes to.

What was read is kept in memory: files of a draft never change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from qrowd.collection.drafts.draft import Draft
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.files import (
    document_rows,
    gold_rows,
    pool_of_runs,
    pool_rows,
    pool_sizes,
    priority_rows,
    question_rows,
    topic_rows,
)
from qrowd.collection.plan.forecast import Forecast, forecast
from qrowd.collection.plan.rows import CampaignRows, GoldRow, QuestionRow, TopicRow
from qrowd.data.runs import RunSet
from qrowd.io.runs import read_runs

DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100)


def material_of(draft: Draft) -> CampaignRows:
    """What the files of a draft hold so far, except the documents themselves."""
    files = draft.plan.files

    def content(name: str, read: Callable[[str], Any]) -> Any:
        return read(path_in(draft, name)) if name else ()

    return CampaignRows(
        topics=content(files.topics, topics),
        pool=pool_of(draft),
        gold=content(files.gold, gold),
        qualification=content(files.qualification, gold),
        questions=content(files.questions, questions),
        priorities=dict(content(files.priorities, priority_rows)),
    )


def pool_of(draft: Draft) -> tuple[tuple[str, str], ...]:
    """The pairs to judge: those of a file, or of runs to a depth."""
    files = draft.plan.files
    if files.pool:
        return pool(path_in(draft, files.pool))
    return _pool_at(run_paths(draft), files.depth) if files.runs else ()


def forecast_of(draft: Draft) -> Forecast | None:
    """What the draft comes to; none before there is a pool."""
    material = material_of(draft)
    return forecast(draft.plan, material) if material.pool else None


def depth_costs(draft: Draft) -> list[tuple[int, int, int]]:
    """Of each depth of the runs: pairs, and what judging them costs in minor units."""
    if not draft.plan.files.runs:
        return []
    sizes = pool_sizes(runs(run_paths(draft)), sorted({*DEPTHS, draft.plan.files.depth}))
    costs = []
    for depth, pairs in sizes.items():
        plan = set_key(set_key(draft.plan, "files", "depth", depth), "files", "pool", "")
        expected = forecast_of(replace(draft, plan=plan))
        costs.append((depth, pairs, expected.cost if expected else 0))
        if pairs == max(sizes.values()):  # deeper, the runs have no more documents
            break
    return costs


def path_in(draft: Draft, name: str) -> str:
    """The path of a file that the draft's plan names."""
    return str(draft.folder / name)


def run_paths(draft: Draft) -> tuple[str, ...]:
    """The files of the runs."""
    return tuple(path_in(draft, name) for name in draft.plan.files.runs)


# --- what a file holds ----------------------------------------------------------------------------


@lru_cache(maxsize=32)
def topics(path: str) -> tuple[TopicRow, ...]:
    """The topics of a file."""
    return tuple(topic_rows(path))


@lru_cache(maxsize=8)
def texts(path: str) -> tuple[frozenset[str], frozenset[str]]:
    """The documents of a file: those with a text, and those without one."""
    full: set[str] = set()
    empty: set[str] = set()
    for row in document_rows(path, within=Path(path).parent):
        (full if row.body.strip() else empty).add(row.name)
    return frozenset(full), frozenset(empty)


@lru_cache(maxsize=16)
def pool(path: str) -> tuple[tuple[str, str], ...]:
    """The pairs of a file."""
    return tuple(pool_rows(path))


@lru_cache(maxsize=8)
def runs(paths: tuple[str, ...]) -> RunSet:
    """The runs of these files."""
    return read_runs(list(paths))


@lru_cache(maxsize=32)
def _pool_at(paths: tuple[str, ...], depth: int) -> tuple[tuple[str, str], ...]:
    return tuple(pool_of_runs(runs(paths), depth))


@lru_cache(maxsize=32)
def gold(path: str) -> tuple[GoldRow, ...]:
    """Graded pairs."""
    return tuple(gold_rows(path))


@lru_cache(maxsize=32)
def questions(path: str) -> tuple[QuestionRow, ...]:
    """Questions on topics."""
    return tuple(question_rows(path))
