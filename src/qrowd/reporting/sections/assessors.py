"""Who judged, and how well: against gold where there is some, else as a method believes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qrowd.data.arrays import Floats, Mask, Offsets
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Merged
from qrowd.data.qrels import Qrels
from qrowd.reporting import figures
from qrowd.reporting.parts import Part, Prose, Section, Shown, Table

_WORDS = {
    "sensitivity": "share of relevant pairs that the assessor calls relevant",
    "specificity": "share of non-relevant pairs that the assessor calls non-relevant",
    "says relevant": "share of all judgements that say relevant",
    "seconds": "the middle of the seconds that a judgement took",
}
_MOST = 500  # rows


def assessor_section(
    judgements: Judgements,
    gold: Qrels | None = None,
    merged: Merged | None = None,
    known: AssessorTable | None = None,
) -> Section:
    """Sensitivity against specificity, and a table."""
    skill, how = _skill(judgements, gold, merged)
    kinds = [str(kind) for kind in known["kind"]] if known is not None else []
    parts: list[Part] = [_words(how)]
    if skill is not None:
        seen = ~np.isnan(skill["sensitivity"] + skill["specificity"])
        parts.append(_picture(skill, seen, judgements.per_assessor, kinds, how))
    parts.append(_table(judgements, skill, kinds))
    return Section("Assessors", tuple(parts))


def against_gold(judgements: Judgements, gold: Qrels) -> dict[str, Floats]:
    """Sensitivity, specificity and the number of judgements on pairs with gold."""
    at = gold.pairs.locate(judgements.pairs)[judgements.pair]
    rows = at >= 0
    true = gold.grade[at[rows]] >= 1
    said = judgements.scale.relevant[judgements.grade[rows]]
    who = judgements.assessor[rows]

    def count(mask: Mask) -> Offsets:
        return np.bincount(who[mask], minlength=len(judgements.assessors))

    with np.errstate(invalid="ignore"):
        return {
            "sensitivity": count(true & said) / count(true),
            "specificity": count(~true & ~said) / count(~true),
            "with gold": count(np.ones_like(true)).astype(np.float64),
        }


def _skill(
    judgements: Judgements, gold: Qrels | None, merged: Merged | None
) -> tuple[Mapping[str, Floats] | None, str]:
    if gold is not None:
        return against_gold(judgements, gold), "counted against gold"
    if merged is None or not {"sensitivity", "specificity"} <= set(merged.assessors.columns):
        return None, ""
    at = merged.assessors.assessors.find(judgements.assessors)
    columns = {name: merged.assessors[name][at] for name in ("sensitivity", "specificity")}
    return columns, f"as `{merged.fit.method}` estimates them"


def _words(how: str) -> Prose:
    if not how:
        return Prose("Without gold, and without a method that estimates them, skills are unknown.")
    return Prose(
        f"How often each assessor finds what is relevant (sensitivity) and leaves what is not "
        f"(specificity), {how}. Somebody who answers without looking lies on the line of chance: "
        "the answers cost money and tell nothing, whatever the share of them that happens to be "
        "right."
    )


def _picture(
    skill: Mapping[str, Floats], seen: Mask, judgements: Offsets, kinds: list[str], how: str
) -> Part:
    if not seen.any():
        return Prose("No assessor judged both relevant and non-relevant pairs with gold.")
    names = [kind for kind, there in zip(kinds, seen, strict=True) if there] if kinds else []
    return figures.assessors(
        skill["sensitivity"][seen],
        skill["specificity"][seen],
        judgements[seen],
        names or ["assessor"] * int(seen.sum()),
        how.replace("`", ""),
    )


def _table(judgements: Judgements, skill: Mapping[str, Floats] | None, kinds: list[str]) -> Table:
    order = np.argsort(-judgements.per_assessor, kind="stable")[:_MOST]
    columns: dict[str, list[Any]] = {"assessor": judgements.assessors.names[order].tolist()}
    if kinds:
        columns["kind"] = [kinds[at] for at in order]
    columns["judgements"] = judgements.per_assessor[order].tolist()
    for name, values in (skill or {}).items():
        shown = values[order].astype(int) if name == "with gold" else values[order]
        columns[name] = shown.tolist()
    habits = _habits(judgements)
    columns["says relevant"] = habits["says relevant"][order].tolist()
    if "seconds" in habits:
        columns["seconds"] = [Shown(f"{s:.1f}", float(s)) for s in habits["seconds"][order]]
    left = len(judgements.assessors) - len(order)
    rest = f" The {len(order)} busiest; {left} more are not shown." if left else ""
    return Table(f"All assessors, the busiest first.{rest}", columns, digits=2, words=_WORDS)


def _habits(judgements: Judgements) -> dict[str, Floats]:
    who, n = judgements.assessor, len(judgements.assessors)
    relevant = judgements.scale.relevant[judgements.grade].astype(float)
    with np.errstate(invalid="ignore"):
        share = np.bincount(who, relevant, n) / judgements.per_assessor
    habits = {"says relevant": share}
    if judgements.seconds is not None:
        habits["seconds"] = _medians(who, judgements.seconds, n)
    return habits


def _medians(group: Any, values: Floats, n: int) -> Floats:
    """The median of each group's values that are known; NaN where there are none."""
    kept = ~np.isnan(values)
    group, values = group[kept], values[kept]
    order = np.lexsort((values, group))
    count = np.bincount(group, minlength=n)
    start = np.cumsum(count) - count
    ordered = np.append(values[order], np.nan)
    low = np.where(count > 0, start + (count - 1) // 2, len(values))
    high = np.where(count > 0, start + count // 2, len(values))
    return np.asarray((ordered[low] + ordered[high]) / 2)
