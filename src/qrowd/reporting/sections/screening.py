"""Who was left out before merging: by which rule, on what evidence, and what it changed."""

from __future__ import annotations

from typing import Any

from qrowd.quality.screening import Screened
from qrowd.reporting.parts import Part, Prose, Section, Table

_MOST = 500  # rows of the table


def screening_section(screened: Screened) -> Section:
    """The account that screening gives of itself."""
    verb = "weighed down" if screened.weighed else "left out"
    rules = ", ".join(f"`{rule}`" for rule in screened.rules)
    told = Prose(
        f"{len(screened.left_out)} assessors were {verb} by {rules}. Together that changes the "
        f"merged result ({screened.method}) as follows: {screened.change}. Whoever honestly "
        "disagrees with a majority can look like a spammer, so check the evidence."
    )
    parts: list[Part] = [told]
    if screened.left_out:
        parts.append(_table(screened, verb))
    return Section("Screening", tuple(parts))


def _table(screened: Screened, verb: str) -> Table:
    out = sorted(screened.left_out, key=lambda one: -one.judgements)[:_MOST]
    columns: dict[str, list[Any]] = {
        "assessor": [one.assessor for one in out],
        "judgements": [one.judgements for one in out],
        "grades changed": [one.change.grades if one.change else float("nan") for one in out],
        "evidence": ["; ".join(one.evidence) for one in out],
    }
    if screened.weighed:
        columns["weight"] = [one.weight for one in out]
    words = {"grades changed": "pairs whose merged grade changes without this assessor alone"}
    left = len(screened.left_out) - len(out)
    rest = f"; the {len(out)} busiest, {left} more are not shown" if left else ""
    return Table(f"Assessors who were {verb}{rest}", columns, words=words)
