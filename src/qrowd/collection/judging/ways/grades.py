"""A grade for each document."""

from __future__ import annotations

from qrowd.collection.plan.way import Way


class Grades(Way):
    """A grade for each document, and nothing else."""

    name = "grades"
    script = "grades"
    order = 1
    kinds = frozenset({"grade"})
