"""Who judged, and how well: against gold where there is some, else as a method believes."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.data.arrays import Codes
from qrowd.data.merged import AssessorTable
from qrowd.quality.assessing import ABOUT
from qrowd.quality.independence import Independence
from qrowd.reporting import figures
from qrowd.reporting.parts import Note, Part, Prose, Section, Table

_SKILLS = ("sensitivity", "specificity")
_COLUMNS = (
    "type",
    "judgements",
    "gold",
    *_SKILLS,
    *(f"est_{name}" for name in _SKILLS),
    "agreement",
    "says_relevant",
    "seconds",
)
_MOST = 500  # rows of the table
_MARKS = 2000  # in the picture
_COUPLES = 10


def assessor_section(
    table: AssessorTable,
    method: str = "",
    known: AssessorTable | None = None,
    independence: Independence | None = None,
) -> Section:
    """Sensitivity against specificity, whether they err together, and a table.

    `method` is whose belief the table rests on.
    """
    skills, how = _skills(table, method)
    kinds = table["type"] if known is None else known["kind"]
    parts: list[Part] = [_words(how)]
    if skills:
        parts.append(_picture(table, skills, [str(kind) for kind in kinds], how))
    if independence is not None:
        parts += _together(independence)
    parts.append(_table(table, known))
    return Section("Assessors", tuple(parts))


def _skills(table: AssessorTable, method: str) -> tuple[tuple[str, str] | None, str]:
    """The columns of sensitivity and specificity, and where they come from."""
    if "sensitivity" in table.columns:
        return ("sensitivity", "specificity"), "counted against gold"
    if "est_sensitivity" in table.columns:
        return ("est_sensitivity", "est_specificity"), f"as `{method}` estimates them"
    return None, ""


def _words(how: str) -> Prose:
    if not how:
        return Prose("Without gold and without a merging method, skills are unknown.")
    return Prose(
        f"How often each assessor recognises relevant pairs (sensitivity) and non-relevant pairs "
        f"(specificity), {how}. Assessors who answer without looking lie near the dashed line of "
        "chance: their answers cost money and carry no information, however many of them happen "
        "to be right."
    )


def _together(found: Independence) -> list[Part]:
    """The verdict, and the couples who agree most beyond what independence allows."""
    verdict = f"{found.verdict[0].upper()}{found.verdict[1:]}."
    if not found.together:
        return [Prose(verdict)]
    names = ("one", "other", "shared", "agreement", "expected")
    couples = found.couples[:_COUPLES]
    columns = {name: [getattr(each, name) for each in couples] for name in names}
    title = "Assessors who agree more than independent errors would let them, the clearest first"
    return [Note(verdict), *([Table(title, columns, digits=2)] if couples else [])]


def _busiest(table: AssessorTable, most: int) -> Codes:
    order = np.argsort(-table["judgements"], kind="stable")[:most]
    return np.asarray(order, np.int32)


def _picture(table: AssessorTable, skills: tuple[str, str], kinds: list[str], how: str) -> Part:
    sensitivity, specificity = (table[name] for name in skills)
    order = _busiest(table, len(table))
    seen = order[~np.isnan(sensitivity + specificity)[order]]
    if not len(seen):
        return Prose("No assessor judged both relevant and non-relevant pairs with gold.")
    marked = seen[:_MARKS]
    more = f"; the {len(marked)} busiest of {len(seen)}" if len(seen) > len(marked) else ""
    return figures.assessors(
        sensitivity[marked],
        specificity[marked],
        table["judgements"][marked],
        [kinds[at] for at in marked],
        how.replace("`", "") + more,
    )


def _table(table: AssessorTable, known: AssessorTable | None) -> Table:
    order = _busiest(table, _MOST)
    columns: dict[str, list[Any]] = {"assessor": table.assessors.names[order].tolist()}
    if known is not None:
        columns["true kind"] = known["kind"][order].tolist()
    estimated = "sensitivity" not in table.columns
    for name in _COLUMNS:
        if name in table.columns and (estimated or not name.startswith("est_")):
            columns[name] = table[name][order].tolist()
    left = len(table) - len(order)
    rest = f" These are the {len(order)} busiest; {left} more are not shown." if left else ""
    caption = f"Assessors, the busiest first; suspected types as in `qrowd quality`.{rest}"
    return Table(caption, columns, words=ABOUT)
