"""What to look at next, and why: a `Worklist` of pairs or of single answers, the best first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from qrowd.budget.decisions import FinalVote, counts_of
from qrowd.data.arrays import Array, Floats, Names
from qrowd.data.documents import Documents, Likeness
from qrowd.data.frames import Coded, Framed
from qrowd.data.given import Given, Merger
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.sample import CONTROL, UNIFORM
from qrowd.errors import ParameterError, require_choice
from qrowd.rendering import counted

BY = ("pair", "assessor")
LEAST = 1e-9  # that a vote must be worth


@dataclass(frozen=True, eq=False)
class Worklist(Framed):
    """Rows to look at, the most worthwhile first.

    `worth` is what looking at one is expected to give, in the unit of its goal (errors: how many
    are found; labels: how many are set right, as the crowd would see it in the end); `p_wrong` the
    probability that what is said now is wrong, NaN where nothing tells it. `probability` is the
    chance with which a row was drawn; NaN where it was not drawn at random. `goal` is what each row
    was chosen for; only those of the goal `uniform` are a sample of the pool, and no scores can be
    estimated from the others. In a file NaN is empty.
    """

    topic: Names
    document: Names
    assessor: Names | None
    reason: Names
    worth: Floats
    p_wrong: Floats
    probability: Floats
    goal: Names
    notes: tuple[str, ...] = ()
    gold_hash: str = ""  # of the gold that the rows contradict, and whose labels do so
    nominated_by: str = ""

    @classmethod
    def of(
        cls,
        goal: str,
        pairs: Pairs,
        at: Array,
        reason: list[str],
        worth: Floats,
        *,
        assessor: Names | None = None,
        p_wrong: Floats | None = None,
        probability: Floats | None = None,
        notes: tuple[str, ...] = (),
    ) -> Worklist:
        """These pairs, all of one goal; figures that are left out are not known."""
        unknown = np.full(len(at), np.nan)
        return cls(
            pairs.topic_names[at],
            pairs.document_names[at],
            assessor,
            np.array(reason, object),
            worth,
            unknown if p_wrong is None else p_wrong,
            unknown if probability is None else probability,
            np.full(len(at), goal, object),
            notes,
        )

    def __len__(self) -> int:
        return len(self.topic)

    def __repr__(self) -> str:
        kind = "pairs" if self.assessor is None else "answers"
        wrong = self.p_wrong[self.goal != CONTROL].sum()
        told = "" if np.isnan(wrong) else f"; about {wrong:.0f} of them wrong"
        return f"Worklist({len(self)} {kind}{told})"

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`topic doc [assessor] reason worth p_wrong probability goal`."""
        who = {} if self.assessor is None else {"assessor": self.assessor}
        return {
            "topic": self.topic,
            "doc": self.document,
            **who,
            "reason": self.reason,
            "worth": self.worth,
            "p_wrong": _or_empty(self.p_wrong),
            "probability": _or_empty(self.probability),
            "goal": self.goal,
        } | (self._about_gold if self.gold_hash else {})

    @property
    def _about_gold(self) -> dict[str, Coded | Array]:
        names = {"gold_hash": self.gold_hash, "nominated_by": self.nominated_by}
        return {name: np.full(len(self), text, object) for name, text in names.items()}

    def blind(self, seed: int = 0) -> dict[str, list[str]]:
        """The pairs in random order, to be graded by somebody who must not know why: columns."""
        order = np.random.default_rng([seed, 7]).permutation(len(self))
        return {
            "topic": self.topic[order].tolist(),
            "doc": self.document[order].tolist(),
            "grade": [""] * len(self),
            "gold_hash": [self.gold_hash] * len(self),
            "nominated_by": [self.nominated_by] * len(self),
        }

    def with_uniform(
        self, judgements: Judgements, number: int, share: float, seed: int = 0
    ) -> Worklist:
        """The list after so many pairs that are drawn from the whole pool of the judgements,
        whatever was said so far.

        They are the next ones of a permutation of the pool that the seed fixes, from the place that
        a `share` of the judgements so far has reached: how many these are matters, not what they
        say. So those of all lists together are a simple random sample of the pool. Pairs that are
        judged already have their chance, too, and are listed with that reason. What is drawn leaves
        the rest of the list.
        """
        pool = judgements.pairs
        order = np.random.default_rng([seed, 5]).permutation(len(pool))
        start = round(share * len(judgements))
        drawn = order[(start + np.arange(min(number, len(pool)))) % len(pool)]
        votes = np.bincount(judgements.pair, minlength=len(pool))[drawn]
        names = zip(self.topic, self.document, strict=True)
        place = {name: at for at, name in enumerate(names)}
        topics, documents = pool.topic_names[drawn], pool.document_names[drawn]
        twice = [place.get(name, -1) for name in zip(topics, documents, strict=True)]
        rest = np.setdiff1d(np.arange(len(self)), twice)
        reason = [
            f"drawn uniformly; {counted(n, 'judgement')} so far" if n else "drawn uniformly"
            for n in votes.tolist()
        ]
        unknown = np.full(len(drawn), np.nan)
        listed = np.array(twice) >= 0
        worth = np.zeros(len(drawn))
        worth[listed] = self.worth[np.array(twice)[listed]]
        return replace(
            self,
            topic=np.concatenate([topics, self.topic[rest]]),
            document=np.concatenate([documents, self.document[rest]]),
            reason=np.concatenate([np.array(reason, object), self.reason[rest]]),
            worth=np.concatenate([worth, self.worth[rest]]),
            p_wrong=np.concatenate([unknown, self.p_wrong[rest]]),
            probability=np.concatenate(
                [np.full(len(drawn), len(drawn) / len(pool)), self.probability[rest]]
            ),
            goal=np.concatenate([np.full(len(drawn), UNIFORM, object), self.goal[rest]]),
        )


def _or_empty(values: Floats) -> Array:
    if not np.isnan(values).any():
        return values
    return np.array([None if np.isnan(each) else each for each in values.tolist()], object)


def undecided(
    judgements: Judgements, *, most: int = 9, number: int | None = None, seed: int = 0
) -> Worklist:
    """The pairs where a vote is worth most: whose label it likely changes for good.

    `worth` is by how much a vote lowers the chance that the label at `most` votes of this crowd is
    another one than is thought now, one or three votes ahead; pairs where that is nothing, and
    those with `most` votes, are left out. Pairs that are worth the same come by fewest votes, then
    in random order, so that a short list does not end with its first topic.

    >>> import qrowd as q
    >>> made = q.simulate(topics=5, documents=40, assessors=20, votes=3, seed=1)
    >>> q.undecided(made.judgements, number=20)
    Worklist(20 pairs)
    """
    require_number(number)
    yes, votes = counts_of(judgements)
    final = FinalVote.of(yes, votes, most)
    worth = np.where(votes < most, final.at(final.worth, yes, votes), 0.0)
    change = final.at(final.p_change, yes, votes)
    coin = np.random.default_rng(seed).random(len(worth))
    order = np.lexsort((coin, votes, -np.round(worth, 12)))
    order = order[worth[order] > LEAST][:number]
    reason = [
        f"{yes[at]} of {votes[at]} say relevant; by {most} votes the label changes with "
        f"probability {change[at]:.2f}"
        for at in order.tolist()
    ]
    return Worklist.of("labels", judgements.pairs, order, reason, worth[order])


def require_number(number: int | None) -> None:
    """An error unless a list of so many can be made."""
    if number is not None and number < 1:
        raise ParameterError(f"number must be at least 1, got {number}")


def contradictions(
    judgements: Judgements,
    documents: Documents | Likeness,
    model: Merger,
    *,
    by: str = "pair",
    gold: Qrels | None = None,
    runs: RunSet | None = None,
    number: int | None = None,
) -> Worklist:
    """What is likely wrong, by the votes and the text together, most suspicious first.

    `model` is `joint`: its text score of a document comes from the others of its topic, so that a
    text contradicts what was said of it only where similar documents were judged otherwise. `by`:
    labels of pairs (the majority's), or each assessor's answers. Pairs with gold teach, and are
    left out. `runs` tell, too: a document that many of them have at the top is likelier relevant.

    >>> import qrowd as q
    >>> made = q.simulate(topics=12, documents=40, assessors=9, votes=2, text=0.6, seed=3)
    >>> todo = q.contradictions(made.judgements, made.documents, q.Joint(), number=20)
    >>> todo
    Worklist(20 pairs; about 18 of them wrong)
    """
    require_choice("by", by, BY)
    require_number(number)
    merged = model.fit(judgements, Given(documents=documents, gold=gold, runs=runs))
    rows = judgements if gold is None else judgements.with_pool(gold.pairs)
    suspects = _labels(rows, merged) if by == "pair" else _answers(rows, merged)
    pair, p_wrong, assessor, reason = suspects
    kept = np.flatnonzero(~merged.given[pair])
    order = kept[np.argsort(-p_wrong[kept], kind="stable")][:number]
    notes = list(merged.fit.notes)
    if not merged.details["text"]:
        notes.append("the text does not tell: what follows is suspected by its votes alone")
    return Worklist.of(
        "errors",
        merged.pairs,
        pair[order],
        [reason[at] for at in order.tolist()],
        p_wrong[order],
        assessor=None if assessor is None else rows.assessors.names[assessor[order]],
        p_wrong=p_wrong[order],
        notes=tuple(notes),
    )


def _labels(rows: Judgements, merged: Merged) -> tuple[Array, Floats, None, list[str]]:
    """Judged pairs, how likely what most say of them is wrong (half, if they are tied), and why."""
    no, yes = rows.votes.T
    pair, p = np.flatnonzero(yes + no > 0), merged.relevant
    p_wrong = np.where(yes == no, 0.5, np.where(yes > no, 1 - p, p))[pair]
    text = _by_text(merged)
    reason = [f"{yes[at]:g} of {yes[at] + no[at]:g} say relevant{text(at)}" for at in pair.tolist()]
    return pair, p_wrong, None, reason


def _answers(rows: Judgements, merged: Merged) -> tuple[Array, Floats, Array, list[str]]:
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
    return rows.pair, np.where(rows.grade == 1, 1 - p, p), rows.assessor, reason


def _by_text(merged: Merged) -> Callable[[int], str]:
    if not merged.details["text"]:
        return lambda at: ""
    before = merged.details["before_votes"]
    return lambda at: f"; by the text relevant with {before[at]:.2f}"
