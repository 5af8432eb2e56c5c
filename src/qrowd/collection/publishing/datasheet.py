"""The datasheet of a release: what the data are, how they came about, what they are good for.

The questions are those of Gebru et al. (2021), as far as the plan and the figures answer them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qrowd.collection.adjudication import expert_sample
from qrowd.collection.books.progress import status
from qrowd.collection.database.store import Work
from qrowd.collection.judging import hierarchy
from qrowd.collection.material import clarification
from qrowd.collection.plan.pass_rates import gold_words
from qrowd.collection.plan.sections import Plan
from qrowd.data.given import Merger
from qrowd.io.judgements import read_judgements
from qrowd.quality.agreement import agreement
from qrowd.rendering import percent, thousands

NOT_SAID = "The organisers have not said."
_USES = (
    "To score retrieval systems on these topics and documents, and to study how judgements are "
    "merged. Documents outside of the pool were not judged."
)
_CHECKS = {
    "binary": "share of check questions that were right",
    "ndcg": "NDCG on check questions",
    "seconds": "active seconds per document",
}


@dataclass(frozen=True, kw_only=True)
class Figures:
    """How the campaign's figures are made, so that a reader of the release gets the same."""

    merge: Merger
    method: str
    measures: tuple[str, ...] = ("AP", "nDCG@10")
    draws: int = 300
    level: float = 0.9
    informed: bool = False

    def plain(self) -> dict[str, Any]:
        """As the manifest has it."""
        return {name: value for name, value in vars(self).items() if name != "merge"}


def datasheet(
    work: Work, folder: Path, rows: Mapping[str, int], figures: Figures, choice: str = ""
) -> str:
    """The datasheet as Markdown; `folder` holds the release's judgements, `choice` is what a
    method that chooses among others has taken.
    """
    about = work.plan.release
    limits = f"Not for: {about.limits}" if about.limits else f"Limits: {NOT_SAID}"
    licence, contact = about.licence or NOT_SAID, about.contact or NOT_SAID
    sections = {
        "Why the data were made": [about.purpose or NOT_SAID],
        "What they are": _composition(work, folder, rows),
        "How they were collected": _collection(work),
        "How grades were merged": _merging(work, figures, choice),
        "How good they are": _quality(work, folder, rows),
        "What they are for": [_USES, limits],
        "Licence and contact": [f"Licence: {licence}", f"Contact: {contact}"],
    }
    parts = [f"# Datasheet: {work.plan.campaign.title or work.name}"]
    for title, paragraphs in sections.items():
        parts += [f"## {title}", *paragraphs]
    return "\n\n".join(parts) + "\n"


def _table(name: str, value: str, cells: Mapping[str, str]) -> str:
    rows = [f"| {name} | {value} |", "|---|---|", *(f"| {k} | {v} |" for k, v in cells.items())]
    return "\n".join(rows)


def _composition(work: Work, folder: Path, rows: Mapping[str, int]) -> list[str]:
    plan, scale = work.plan, work.plan.scale
    names = ", ".join(f"{g} = {n}" for g, n in scale.names.items())
    documents = rows.get("documents.tsv", rows.get("documents.jsonl", 0))
    counts = {
        "topics": rows["topics.jsonl"],
        "documents": documents,
        "pairs to judge": rows["pool.tsv"],
        "judgements": rows["judgements.tsv"],
        **({"numbers from 0 to 100": rows["ratings.tsv"]} if "ratings.tsv" in rows else {}),
        "rows of orders": rows["orders.tsv"],
        "grades by experts": rows["gold.qrels"],
        "answers to check questions": rows["checks.tsv"],
        "runs of systems": sum(name.startswith("runs/") for name in rows),
    }
    if rows["judgements.tsv"]:
        crowd = read_judgements(folder / "judgements.tsv", scale=scale.scale)
        counts["assessors"] = len(crowd.assessors)
        for code, grade in enumerate(scale.grades):
            counts[f"judgements that say {grade}"] = int((crowd.grade == code).sum())
    cells = {name: thousands(count) for name, count in counts.items()}
    texts = "with their texts" if plan.release.text else "as ids only"
    words = gold_words(plan)
    about = (
        f"Grades: {names}; {scale.relevant_from} and higher count as relevant. "
        f"{f'{words} ' if words else ''}"
        f"Documents are included {texts}. Assessors are numbers drawn at random for this release; "
        "there are no times, reasons or personal data; assessors.tsv has the median seconds of "
        "each and how far answers follow a pattern. checks.tsv has answers to check questions, "
        "also of people whose judgements do not count, and checks.qrels the experts' grades of "
        "these."
    )
    return [_table("what", "count", cells), about]


def _collection(work: Work) -> list[str]:
    plan, progress = work.plan, status(work)
    times = (progress.first_at, progress.last_at)
    days = dict.fromkeys(clarification.day(time) for time in times if time is not None)
    pay = f"{plan.pay.hit:.{plan.pay.digits}f} {plan.pay.currency}"
    documents = plan.hit.sets * plan.sets.size
    number = f"{plan.sets.target}" if plan.next.pick == "even" else f"Up to {plan.most_votes}"
    lines = [
        f"Collected {' to '.join(days) or 'on unknown days'} with qrowd. "
        f"{plan.way.says('datasheet')} {number} judgements were wanted of every "
        f"document; people gave {thousands(progress.valid)} of {thousands(progress.wanted)}.",
        f"People got batches of up to {documents} documents ({plan.gold_per_hit} of "
        f"{plan.hit.sets} sets were check questions) and {pay} for a batch, for work of about "
        f"{plan.seconds_of(documents) / 60:.0f} minutes.",
        *([] if plan.next.pick == "even" else [_chosen(plan)]),
        *([_in_phases(work)] if plan.in_phases else []),
        "Checks: " + "; ".join(_checks(plan)) + ".",
        "The consent text is in consent.txt.",
    ]
    if plan.campaign.instructions.strip():
        quoted = plan.campaign.instructions.strip().replace("\n", "\n> ")
        lines += ["Instructions that they read:", f"> {quoted}"]
    clarified = []
    for row in clarification.clarifications(work):
        details, day = clarification.words_of(row), clarification.day(row.at)
        clarified.append(f"- {day}, topic {details['topic']}: {details['text']}")
    if clarified:
        lines += [
            "Topics that were clarified on the way (judgements before that day did not know):",
            "\n".join(clarified),
        ]
    return lines


def _chosen(plan: Plan) -> str:
    """That documents were not voted on alike, and what must not be made of it."""
    aim = {"margin": "whose label a vote might still change", "systems": "that tell runs apart"}
    return (
        "Which documents were judged next was chosen by what had been said of them "
        f"({plan.next.pick}): each got {plan.next.least} judgements, then those came first "
        f"{aim[plan.next.pick]}, up to {plan.most_votes} judgements; a document got no more once "
        f"its label would change with a probability of at most {plan.next.risk:g} until then. "
        "Documents with many judgements are the divided ones. So these judgements are no random "
        "sample: agreement, shares of grades and assessors' accuracies that are computed from them "
        "are about what was chosen, and scores of systems that need a random sample cannot be "
        "estimated from them."
    )


def _in_phases(work: Work) -> str:
    """That people saw some answers twice, and what came of it."""
    rows, rel = hierarchy.revised(work), work.plan.scale.relevant_from
    changed = sum(not hierarchy.is_kept(row, rel) for row in rows)
    return (
        "They were collected in the mode hierarchy: experts settled what people disagreed on in "
        f"the first {work.plan.hierarchy.training} sets of each topic; a classifier of the texts "
        "then said which came first and, at the end, which answers it contradicts. "
        f"{thousands(len(rows))} answers were looked at again by those who gave them, who were not "
        f"told what it says, and {thousands(changed)} of them were changed; the last answer is "
        "the one in this release."
    )


def _checks(plan: Plan) -> list[str]:
    checks = [(_CHECKS[name], getattr(plan.checks, name)) for name in plan.way.checks]
    of = "on average over a set" if plan.checks.seconds_for == "set" else "for every document"
    return [
        f"{words} at least {check.at_least:g}"
        f"{f' {of}' if check is plan.checks.seconds else ''} (else: {check.action})"
        for words, check in checks
        if check.action != "none" and check.at_least > 0
    ] or ["none"]


def _merging(work: Work, figures: Figures, choice: str) -> list[str]:
    if not work.plan.way.graded:
        return ["There are no grades to merge; orders.tsv has what was preferred."]
    chosen = f" It chose: {choice}." if choice else ""
    return [
        f"merged.qrels and probabilities.tsv were made by the method `{figures.method}`, which was "
        f"given the experts' grades in gold.qrels.{chosen} `qrowd report` on this release shows "
        f"the systems under {figures.draws} draws of these probabilities."
    ]


def _quality(work: Work, folder: Path, rows: Mapping[str, int]) -> list[str]:
    lines = []
    if rows["judgements.tsv"]:
        crowd = read_judgements(folder / "judgements.tsv", scale=work.plan.scale.scale)
        overall = agreement(crowd, resample="topics").overall
        cells = {name: str(cell) for name, cell in overall.items() if not math.isnan(cell.value)}
        if cells:
            lines = [
                "Agreement of assessors, with 90 % intervals over topics:",
                _table("coefficient", "value", cells),
            ]
            if work.plan.next.pick != "even":
                lines.append(
                    "It is not that of a random sample: divided documents got more judgements."
                )
    rate = expert_sample.error_rate(work)
    if rate.judged and not math.isnan(rate.rate):
        lines.append(
            f"Experts judged {thousands(rate.judged)} randomly drawn judgements again: "
            f"{thousands(rate.wrong)} were wrong about relevance, {percent(rate.rate, 1)} (90 %: "
            f"{percent(rate.low, 1)} to {percent(rate.high, 1)})."
        )
    return lines or ["Nothing was measured."]
