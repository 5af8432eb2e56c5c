r"""Gold that is judged again where a crowd contradicts it, and what came of that (Piazzon 2019).

How likely gold is wrong there is not how sure the crowd is, for gold is evidence, too. With $q$ the
probability that gold says *relevant*, given what the crowd says (recalibrated on gold of other
topics), and gold wrong with probability $e$ whatever is true,

$$p = \frac{q - e}{1 - 2e}, \qquad P(\text{wrong} \mid \text{gold} = 0) = \frac{p\,e}{1 - q},
  \qquad P(\text{wrong} \mid \text{gold} = 1) = \frac{(1 - p)\,e}{q}$$
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from qrowd import __version__
from qrowd.aggregation.fit import topic_folds
from qrowd.aggregation.revision import recalibrate
from qrowd.budget.worklist import Worklist, require_number
from qrowd.data.arrays import Array, Floats
from qrowd.data.given import Merger
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.provenance import ADJUDICATED, Input, Provenance
from qrowd.data.qrels import Qrels
from qrowd.data.sample import CONTROL, GOLD
from qrowd.errors import InputError, ParameterError
from qrowd.registry import spec_of


def gold_hash(gold: Qrels) -> str:
    """A hash of pairs and grades, whatever the form of their file."""
    digest = hashlib.sha256()
    for names in (gold.pairs.topic_names, gold.pairs.document_names):
        digest.update("\n".join(names).encode() + b"\0")
    digest.update(gold.grade.tobytes())
    return digest.hexdigest()[:16]


def contested(
    judgements: Judgements,
    gold: Qrels,
    model: Merger,
    *,
    number: int | None = None,
    control: int = 0,
    gold_error: float = 0.05,
    seed: int = 0,
) -> Worklist:
    """The pairs whose gold the merged labels contradict, those that are likeliest wrong first.

    `model` is not given the gold. `p_wrong` and `worth` are the probability that gold is wrong,
    where it is so in `gold_error` of all pairs. After these come `control` pairs on which both
    agree, drawn at random: who judges them shows how often gold would be changed anyway.

    >>> import qrowd as q
    >>> made = q.simulate(topics=6, documents=60, assessors=9, votes=5, seed=3)
    >>> wrong = np.random.default_rng(1).random(len(made.truth)) < 0.1
    >>> gold = q.Qrels(made.truth.pairs, np.where(wrong, 1 - made.truth.grade, made.truth.grade))
    >>> todo = q.contested(made.judgements, gold, q.DawidSkene(), number=20, gold_error=0.1)
    >>> todo
    Worklist(20 pairs; about 19 of them wrong)
    """
    require_number(number)
    if not 0 < gold_error < 0.5:
        raise ParameterError(f"gold_error must lie between 0 and 0.5, got {gold_error}")
    merged = model.fit(judgements)
    at = merged.pairs.locate(gold.pairs)
    voted = np.diff(judgements.pair_starts) > 0
    known = np.flatnonzero((at >= 0) & voted[np.maximum(at, 0)])
    if not len(known):
        raise InputError("no pair has both gold and judgements: do the names of both match?")
    relevant = gold.grade[known] > 0
    said = merged.relevant[at[known]]
    against = known[(said != 0.5) & ((said > 0.5) != relevant)]
    agreed = known[(said != 0.5) & ((said > 0.5) == relevant)]
    p_wrong = _chance_of_error(merged, gold, at, known, gold_error)[against]
    surely = np.abs(merged.log_odds[at[against]])
    order = np.lexsort((-surely, -np.round(p_wrong, 12)))[:number]
    drawn = np.random.default_rng(seed).permutation(len(agreed))[: min(control, len(agreed))]
    chosen = np.concatenate([against[order], agreed[np.sort(drawn)]])
    nominated = len(order)
    unknown = np.full(len(drawn), np.nan)
    reason = []
    for place, row in enumerate(chosen.tolist()):
        p = merged.relevant[at[row]]
        merge = f"merged labels relevant with probability {p:.2f}"
        note = merge if place < nominated else f"{merge}: a control"
        reason.append(f"gold says {gold.grade[row]}; {note}")
    pairs = gold.pairs
    return Worklist(
        pairs.topic_names[chosen],
        pairs.document_names[chosen],
        None,
        np.array(reason, object),
        np.concatenate([p_wrong[order], np.zeros(len(drawn))]),
        np.concatenate([p_wrong[order], unknown]),
        np.concatenate(
            [np.full(nominated, np.nan), np.full(len(drawn), len(drawn) / max(len(agreed), 1))]
        ),
        np.array([GOLD] * nominated + [CONTROL] * len(drawn), object),
        (
            f"gold and {spec_of(model)} contradict each other on {len(against)} of {len(known)} "
            "pairs that both have",
        ),
        gold_hash(gold),
        spec_of(model),
    )


def _chance_of_error(
    merged: Merged, gold: Qrels, at: Array, known: Array, gold_error: float
) -> Floats:
    """How likely the gold of each pair is wrong; NaN where it is not known."""
    q = np.full(len(gold), np.nan)
    fold = topic_folds(gold.pairs, known)
    for part in np.unique(fold):
        taught = np.zeros(len(gold), np.bool_)
        taught[known[fold != part]] = True
        if len(np.unique(gold.grade[taught] > 0)) < 2:  # nothing to learn from: as it is
            belief = merged.relevant
        else:
            belief = recalibrate(merged, gold.select(taught)).relevant
        own = known[fold == part]
        q[own] = belief[at[own]]
    q = np.clip(q, gold_error, 1 - gold_error)  # what can be, if gold errs so often
    p = (q - gold_error) / (1 - 2 * gold_error)
    wrong = np.where(gold.grade > 0, (1 - p) * gold_error / q, p * gold_error / (1 - q))
    return np.asarray(wrong)


def adjudicated(gold: Qrels, decisions: Qrels, by: str = "") -> Qrels:
    """The gold with the grades of those who judged some of its pairs again.

    `by` is the method that nominated the pairs: scores of it under this gold are in its favour.
    """
    at = gold.pairs.locate(decisions.pairs)
    if (at < 0).any():
        pair = decisions.pairs.called(int(np.argmax(at < 0)))
        raise InputError(f"{pair} was decided, but this gold does not have it")
    outside = ~np.isin(decisions.grade, gold.scale.grades)
    if outside.any():
        row = int(np.argmax(outside))
        grades = " ".join(map(str, gold.scale.grades))
        raise InputError(
            f"{decisions.pairs.called(row)} was given grade {decisions.grade[row]}, which is none "
            f"of this gold's: {grades}"
        )
    grade = gold.grade.copy()
    grade[at] = decisions.grade
    inputs = {"gold": Input(len(gold)), "decisions": Input(len(decisions))}
    made = Provenance(f"{ADJUDICATED}{by or 'somebody'}", __version__, inputs, chosen=(GOLD,))
    return replace(gold, grade=grade, provenance=made)


def adjudication_table(
    before: Qrels, after: Qrels, contested: Pairs, *, as_printed: bool = False
) -> list[dict[str, Any]]:
    """What became of the gold by topic, and in all: Table 4.2 of Piazzon (2019).

    Shares are of all documents of a topic. `as_printed` has the printed headings and whole per
    cents, that of relevant documents by non-relevant ones, and no line for all topics.
    """
    if before.pairs != after.pairs:
        raise InputError("the gold before and after have different pairs")
    at = before.pairs.locate(contested)
    if (at < 0).any():
        pair = contested.called(int(np.argmax(at < 0)))
        raise InputError(f"{pair} was contested, but this gold does not have it")
    old, new = before.grade > 0, after.grade > 0
    doubted = np.zeros(len(before), np.bool_)
    doubted[at] = True
    masks = [np.ones(len(before)), old, doubted, old & ~new, ~old & new, new]
    topics = before.pairs.topic
    counts = [np.bincount(topics, mask, len(before.topics)).astype(int) for mask in masks]
    lines = [*zip(before.topics, *counts, strict=True)]
    if not as_printed:
        lines.append(("all", *(int(count.sum()) for count in counts)))
    rows: list[dict[str, Any]] = []
    for topic, documents, relevant, disputed, to_non, to_rel, total in lines:
        if as_printed:
            rows.append(
                {
                    "Topic ID": topic,
                    "# Docs": documents,
                    "NIST Rel": relevant,
                    "% REL": round(100 * relevant / (documents - relevant))
                    if documents > relevant
                    else "",
                    "# Disag": disputed,
                    "% Disag": round(100 * disputed / documents),
                    "Rel to Non": to_non,
                    "Non to Rel": to_rel,
                    "Total Rel": total,
                }
            )
            continue
        rows.append(
            {
                "topic": topic,
                "documents": documents,
                "relevant": relevant,
                "share relevant": relevant / documents,
                "contested": disputed,
                "share contested": disputed / documents,
                "to non-relevant": to_non,
                "to relevant": to_rel,
                "relevant after": total,
            }
        )
    return rows
