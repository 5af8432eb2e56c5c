"""What there is, who judged and how well, and who was left out before merging."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qrowd.asking.probes import Probes
from qrowd.data.arrays import Array
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.quality.assessors import ABOUT
from qrowd.quality.independence import Independence
from qrowd.quality.screening import Screened
from qrowd.rendering import grouped, percent
from qrowd.reporting import figures
from qrowd.reporting.parts import Group, Note, Part, Prose, Section, Shown, Table, sentence
from qrowd.reporting.quality import Quality

_MOST = 500  # rows of a table
_MARKS = 2000  # in the picture
_COUPLES = 10
_CALLED = {"person": "people", "expert": "experts", "machine": "machines", "unknown": "unknown"}
_SKILLS = ("sensitivity", "specificity")
_COLUMNS = (
    "kind",
    "type",
    "judgements",
    "gold",
    *_SKILLS,
    *(f"est_{name}" for name in _SKILLS),
    "agreement",
    "says_relevant",
    "seconds",
)


def kinds_said(judgements: Judgements) -> str:
    """How many assessors are of which kind, in brackets: (37 people, 1 machine); "" if unknown."""
    counts = judgements.kind_counts.items()
    words = [f"{grouped(n)} {kind if n == 1 else _CALLED[kind]}" for kind, n in counts]
    return f" ({', '.join(words)})" if words else ""


def data_section(
    judgements: Judgements,
    runs: RunSet | None = None,
    gold: Qrels | None = None,
    command: str = "",
) -> Section:
    """Counts, which `command` prints, and the spread of the work."""
    votes, scale = np.diff(judgements.pair_starts), judgements.scale
    relevant = scale.relevant[judgements.grade]
    counts: dict[str, Any] = {
        "topics": len(judgements.topics),
        "pairs of a topic and a document": len(judgements.pairs),
        "assessors": len(judgements.assessors),
        **{f"of them {_CALLED[kind]}": n for kind, n in judgements.kind_counts.items()},
        "judgements": len(judgements),
        "judgements per pair, on average": Shown(f"{votes.mean():.1f}", float(votes.mean())),
        "share of judgements that say relevant": float(relevant.mean()) if len(relevant) else 0.0,
    }
    if gold is not None:
        share = float((gold.grade >= 1).mean()) if len(gold) else float("nan")
        counts |= {"pairs with gold": len(gold), "share relevant in gold": share}
    if runs is not None:
        counts |= {"runs": len(runs), "documents ranked": len(runs.document)}
    grades, seconds, pace = ", ".join(map(str, scale.grades)), judgements.seconds, ""
    if seconds is not None and not np.isnan(seconds).all():
        pace = f" The median time per judgement is {np.nanmedian(seconds):.0f} seconds."
    parts: list[Part] = [
        Prose(
            f"Judgements use the grades {grades}; {scale.relevant_from} and higher count as "
            f"relevant.{pace}"
        )
    ]
    bare = int((votes == 0).sum())
    if bare:
        parts.append(
            Note(
                f"{bare} pairs of the pool have no judgement, so no method can say anything about "
                "them."
            )
        )
    parts += [
        Table(
            "What the data hold",
            {"what": list(counts), "count": list(counts.values())},
            command=command,
        ),
        Group((figures.votes_per_pair(votes), figures.workload(judgements.per_assessor))),
    ]
    return Section("Data", tuple(parts))


def agreement_section(quality: Quality, command: str = "") -> Section:
    """Every coefficient with its interval, which `command` prints."""
    agreed, over = quality.agreement, quality.over
    about = Prose(
        f"Of {grouped(agreed.pairs)} pairs {grouped(agreed.compared)} have two judgements or more. "
        "0 is what chance gives (raw agreement apart), 1 is perfect."
    )
    caption = f"Agreement of assessors, with {percent(agreed.level)} intervals over {over}"
    columns = {name: values for name, values in agreed.table().items() if name != "se"}
    notes = map(Note, map(sentence, agreed.notes))
    return Section("Agreement", (about, Table(caption, columns, command=command), *notes))


def checks_section(quality: Quality) -> Section:
    """How often answers to check questions are right, and what merging gains."""
    gain = quality.gain
    assert gain is not None
    few = (
        ""
        if gain.known
        else " What merging gains cannot be known, because each question has one answer."
    )
    about = Prose(
        f"Relevant or not, on {grouped(gain.pairs)} check questions of {gain.topics} topics "
        f"({grouped(gain.answers)} answers), merged by `{quality.merged.fit.method}`, which saw "
        f"all judgements but not the experts' grades.{few} All answers of people whose judgements "
        "count are looked at. Somebody who always gave the experts' commonest answer would be "
        f"right on {percent(gain.usual, 1)}."
    )
    shares = {"single answers": gain.single}
    if gain.known:
        shares |= {"merged answers": gain.merged, "gained": gain.gain}
    columns: dict[str, list[Any]] = {
        "answers": list(shares),
        "right": [share.value for share in shares.values()],
        "low": [share.low for share in shares.values()],
        "high": [share.high for share in shares.values()],
    }
    table = Table("Shares that are right, with 90% intervals over topics", columns)
    return Section("Check questions", (about, table))


def probe_section(probes: Probes) -> Section:
    """What machine judges make of documents that try to talk them into a grade."""
    about = Prose(
        "Machine judges were shown made-up documents that are not relevant, and plain texts of "
        "other topics. A judge falls for a kind if it surely calls it relevant more often, by .05. "
        "The same text again, and doubled, has a mean grade instead; of two texts it is counted "
        "how often the one shown first, and the one shown last, is preferred."
    )
    columns: dict[str, list[Any]] = {
        "judge": [each.judge for each in probes.probes],
        "kind": [each.kind for each in probes.probes],
        "falls for it": [
            {True: "yes", False: "no", None: ""}[each.falls] for each in probes.probes
        ],
    }
    for title, name in {
        "made": "rate",
        "plain": "usual",
        "difference": "difference",
        "from": "low",
        "to": "high",
        "the same answer": "same",
        "probes": "probes",
        "missing": "missing",
    }.items():
        columns[title] = [getattr(each, name) for each in probes.probes]
    table = Table("What they make of it; 95 % intervals of the difference", columns)
    return Section("Machine judges and made-up documents", (about, table))


def screening_section(screened: Screened, command: str = "") -> Section:
    """The account that screening gives of itself, which `command` prints."""
    verb = "weighed down" if screened.weighed else "left out"
    rules = ", ".join(f"`{rule}`" for rule in screened.rules)
    about = Prose(
        f"{len(screened.left_out)} assessors were {verb} by {rules}. Together that changes the "
        f"merged result ({screened.method}) as follows: {screened.change}. Whoever honestly "
        "disagrees with a majority can look like a spammer, so check the evidence."
    )
    if not screened.left_out:
        return Section("Screening", (about,))
    busiest = sorted(screened.left_out, key=lambda row: -row.judgements)[:_MOST]
    columns: dict[str, list[Any]] = {
        "assessor": [row.assessor for row in busiest],
        "judgements": [row.judgements for row in busiest],
        "grades changed": [row.change.grades if row.change else float("nan") for row in busiest],
        "evidence": ["; ".join(row.evidence) for row in busiest],
    }
    if screened.weighed:
        columns["weight"] = [row.weight for row in busiest]
    words = {"grades changed": "pairs whose merged grade changes without this assessor alone"}
    left = len(screened.left_out) - len(busiest)
    rest = f"; the {len(busiest)} busiest, {left} more are not shown" if left else ""
    table = Table(f"Assessors who were {verb}{rest}", columns, words=words, command=command)
    return Section("Screening", (about, table))


def assessor_section(
    table: AssessorTable,
    method: str = "",
    truth: AssessorTable | None = None,
    independence: Independence | None = None,
    command: str = "",
    couples: str = "",
) -> Section:
    """Sensitivity against specificity, whether they err together, and a table.

    `method` is whose belief the estimates rest on, `truth` is that about a simulated crowd;
    `command` prints the table, `couples` those who agree too much.
    """
    parts: list[Part] = []
    if "sensitivity" in table.columns:
        prefix, how = "", "counted against gold"
    else:
        prefix, how = "est_", f"as `{method}` estimates them"
    if f"{prefix}sensitivity" in table.columns:
        kinds = table["type"] if truth is None else truth["kind"]
        parts += [
            Prose(
                "How often each assessor recognises relevant pairs (sensitivity) and non-relevant "
                f"pairs (specificity), {how}. Assessors who answer without looking lie near the "
                "dashed line of chance: their answers cost money and carry no information, "
                "however many of them happen to be right."
            ),
            _picture(table, prefix, kinds, how),
        ]
    else:
        parts.append(Prose("Without gold and without a merging method, skills are unknown."))
    if independence is not None:
        parts += _together(independence, couples)
    parts.append(replace(_assessors_table(table, truth), command=command))
    return Section("Assessors", tuple(parts))


def _picture(table: AssessorTable, prefix: str, kinds: Array, how: str) -> Part:
    known = figures.skilled(table, prefix)
    if not len(known):
        return Prose("No assessor judged both relevant and non-relevant pairs with gold.")
    marked = known[np.argsort(-table["judgements"][known], kind="stable")][:_MARKS]
    rest = f"; the {len(marked)} busiest of {len(known)}" if len(known) > len(marked) else ""
    return figures.assessors(table, marked, kinds, how.replace("`", "") + rest, prefix)


def _together(independence: Independence, command: str) -> list[Part]:
    """The verdict, and the couples who agree most beyond what independence allows."""
    verdict = sentence(independence.verdict)
    if not independence.together:
        return [Prose(verdict)]
    names = ("one", "other", "shared", "agreement", "expected")
    couples = independence.couples[:_COUPLES]
    columns = {name: [getattr(couple, name) for couple in couples] for name in names}
    title = "Assessors who agree more than independent errors would let them, the clearest first"
    table = Table(title, columns, digits=2, command=command)
    return [Note(verdict), *([table] if couples else [])]


def _assessors_table(table: AssessorTable, truth: AssessorTable | None) -> Table:
    order = np.argsort(-table["judgements"], kind="stable")[:_MOST]
    columns: dict[str, list[Any]] = {"assessor": table.assessors.names[order].tolist()}
    if truth is not None:
        columns["true kind"] = truth["kind"][order].tolist()
    estimated = "sensitivity" not in table.columns
    for name in _COLUMNS:
        if name in table.columns and (estimated or not name.startswith("est_")):
            columns[name] = table[name][order].tolist()
    left = len(table) - len(order)
    rest = f" These are the {len(order)} busiest; {left} more are not shown." if left else ""
    caption = f"Assessors, the busiest first; suspected types as in `qrowd quality`.{rest}"
    return Table(caption, columns, words=ABOUT)
