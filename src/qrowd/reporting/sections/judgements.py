"""What there is, who judged and how well, and who was left out before merging."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.data.arrays import Codes
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.quality.assessors import ABOUT
from qrowd.quality.independence import Independence
from qrowd.quality.screening import Screened
from qrowd.reporting import figures
from qrowd.reporting.parts import Group, Note, Part, Prose, Section, Shown, Table


def data_section(
    judgements: Judgements, runs: RunSet | None = None, gold: Qrels | None = None
) -> Section:
    """Counts and the spread of the work."""
    votes = np.diff(judgements.pair_starts)
    counts = _counts(judgements)
    if gold is not None:
        counts |= {"pairs with gold": len(gold), "share relevant in gold": _share(gold)}
    if runs is not None:
        counts |= {"runs": len(runs), "documents ranked": len(runs.document)}
    table = Table("What the data hold", {"": list(counts), "count": list(counts.values())})
    charts = Group((figures.votes_per_pair(votes), figures.workload(judgements.per_assessor)))
    return Section("Data", (_words(judgements), *_warnings(votes), table, charts))


def _counts(judgements: Judgements) -> dict[str, Any]:
    votes = np.diff(judgements.pair_starts)
    relevant = judgements.scale.relevant[judgements.grade]
    return {
        "topics": len(judgements.topics),
        "pairs of a topic and a document": len(judgements.pairs),
        "assessors": len(judgements.assessors),
        "judgements": len(judgements),
        "judgements per pair, on average": Shown(f"{votes.mean():.1f}", float(votes.mean())),
        "share of judgements that say relevant": float(relevant.mean()) if len(relevant) else 0.0,
    }


def _share(gold: Qrels) -> float:
    return float((gold.grade >= 1).mean()) if len(gold) else float("nan")


def _words(judgements: Judgements) -> Prose:
    scale = judgements.scale
    grades = ", ".join(map(str, scale.grades))
    seconds = judgements.seconds
    pace = (
        ""
        if seconds is None or np.isnan(seconds).all()
        else f" The median time per judgement is {np.nanmedian(seconds):.0f} seconds."
    )
    return Prose(
        f"Judgements use the grades {grades}; {scale.relevant_from} and higher count as "
        f"relevant.{pace}"
    )


def _warnings(votes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[Part]:
    bare = int((votes == 0).sum())
    text = f"{bare} pairs of the pool have no judgement, so no method can say anything about them."
    return [Note(text)] if bare else []


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
    parts: list[Part] = [_assessors_words(how)]
    if skills:
        parts.append(_picture(table, skills, [str(kind) for kind in kinds], how))
    if independence is not None:
        parts += _together(independence)
    parts.append(_assessors_table(table, known))
    return Section("Assessors", tuple(parts))


def _skills(table: AssessorTable, method: str) -> tuple[tuple[str, str] | None, str]:
    """The columns of sensitivity and specificity, and where they come from."""
    if "sensitivity" in table.columns:
        return ("sensitivity", "specificity"), "counted against gold"
    if "est_sensitivity" in table.columns:
        return ("est_sensitivity", "est_specificity"), f"as `{method}` estimates them"
    return None, ""


def _assessors_words(how: str) -> Prose:
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


def _assessors_table(table: AssessorTable, known: AssessorTable | None) -> Table:
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
