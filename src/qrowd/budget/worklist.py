"""What to look at next, and why: a `Worklist` of pairs or of single answers, the best first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qrowd.data.arrays import Array, Floats, Names
from qrowd.data.documents import Documents, Likeness
from qrowd.data.frames import Coded, Framed
from qrowd.data.given import Given, Merger
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.errors import ParameterError, require_choice

BY = ("pair", "assessor")


@dataclass(frozen=True, eq=False)
class Worklist(Framed):
    """Rows to look at, the most worthwhile first.

    `worth` is what looking at one is expected to give, in the unit of its goal (errors: how many
    are found); `p_wrong` the probability that what is said now is wrong. `probability` is the
    chance with which a row was drawn; NaN, and empty in a file, where it was not drawn at random:
    such rows are no sample, and no scores can be estimated from them.
    """

    topic: Names
    document: Names
    assessor: Names | None
    reason: Names
    worth: Floats
    p_wrong: Floats
    probability: Floats
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.topic)

    def __repr__(self) -> str:
        kind = "pairs" if self.assessor is None else "answers"
        return f"Worklist({len(self)} {kind}; about {self.p_wrong.sum():.0f} of them wrong)"

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`topic doc [assessor] reason worth p_wrong probability`."""
        drawn = np.array(
            [None if np.isnan(each) else each for each in self.probability.tolist()], object
        )
        who = {} if self.assessor is None else {"assessor": self.assessor}
        return {
            "topic": self.topic,
            "doc": self.document,
            **who,
            "reason": self.reason,
            "worth": self.worth,
            "p_wrong": self.p_wrong,
            "probability": drawn if np.isnan(self.probability).any() else self.probability,
        }


def contradictions(
    judgements: Judgements,
    documents: Documents | Likeness,
    model: Merger,
    *,
    by: str = "pair",
    gold: Qrels | None = None,
    number: int | None = None,
) -> Worklist:
    """What is likely wrong, by the votes and the text together, most suspicious first.

    `model` is `joint`: its text score of a document comes from the others of its topic, so that a
    text contradicts what was said of it only where similar documents were judged otherwise. `by`:
    labels of pairs (the majority's), or each assessor's answers. Pairs with gold teach, and are
    left out.

    >>> import qrowd as q
    >>> made = q.simulate(topics=12, documents=40, assessors=9, votes=2, text=0.6, seed=3)
    >>> todo = q.contradictions(made.judgements, made.documents, q.Joint(), number=20)
    >>> todo
    Worklist(20 pairs; about 18 of them wrong)
    """
    require_choice("by", by, BY)
    if number is not None and number < 1:
        raise ParameterError(f"number must be at least 1, got {number}")
    merged = model.fit(judgements, Given(documents=documents, gold=gold))
    rows = judgements if gold is None else judgements.with_pool(gold.pairs)
    suspects = _labels(rows, merged) if by == "pair" else _answers(rows, merged)
    pair, p_wrong, assessor, reason = suspects
    kept = np.flatnonzero(~merged.given[pair])
    order = kept[np.argsort(-p_wrong[kept], kind="stable")][:number]
    notes = list(merged.fit.notes)
    if not merged.details["text"]:
        notes.append("the text does not tell: what follows is suspected by its votes alone")
    chosen = pair[order]
    return Worklist(
        merged.pairs.topics.names[merged.pairs.topic[chosen]],
        merged.pairs.document_names[chosen],
        None if assessor is None else rows.assessors.names[assessor[order]],
        reason[order],
        p_wrong[order],
        p_wrong[order],
        np.full(len(order), np.nan),
        tuple(notes),
    )


def _labels(rows: Judgements, merged: Merged) -> tuple[Array, Floats, None, Names]:
    """Judged pairs, how likely what most say of them is wrong (half, if they are tied), and why."""
    no, yes = rows.votes.T
    pair, p = np.flatnonzero(yes + no > 0), merged.relevant
    p_wrong = np.where(yes == no, 0.5, np.where(yes > no, 1 - p, p))[pair]
    text = _by_text(merged)
    reason = [f"{yes[at]:g} of {yes[at] + no[at]:g} say relevant{text(at)}" for at in pair.tolist()]
    return pair, p_wrong, None, np.array(reason, object)


def _answers(rows: Judgements, merged: Merged) -> tuple[Array, Floats, Array, Names]:
    """The pair of every answer, how likely it is wrong, who gave it, and why it may be wrong."""
    no, yes = rows.votes.T
    p = merged.relevant[rows.pair]
    text = _by_text(merged)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    reason = []
    for at, said, own in zip(rows.pair.tolist(), rows.grade.tolist(), weight, strict=True):
        others = yes[at] + no[at] - own
        among = f"; {yes[at] - own * said:g} of {others:g} others say relevant" if others else ""
        reason.append(f"said {'relevant' if said else 'not relevant'}{among}{text(at)}")
    return rows.pair, np.where(rows.grade == 1, 1 - p, p), rows.assessor, np.array(reason, object)


def _by_text(merged: Merged) -> Callable[[int], str]:
    if not merged.details["text"]:
        return lambda at: ""
    before = merged.details["before_votes"]
    return lambda at: f"; by the text relevant with {before[at]:.2f}"
