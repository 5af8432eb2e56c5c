"""Which sets are judged next, and which have judgements enough: one act writes it all.

What a vote is worth is worked out above this room (`web.next_sets`): the rules here, and those of
the database, say what may become of it. A set's target is never below what is held.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from operator import sub
from typing import Any

from sqlalchemy import Select, select

from qrowd.collection.database.schema import (
    Audit,
    JudgingSet,
    audit,
    judging_set,
    member,
    pair,
    topic,
)
from qrowd.collection.database.store import Work
from qrowd.collection.judging.hierarchy import Findings, training_sets
from qrowd.collection.material.campaign_rows import store_priorities
from qrowd.collection.record.act import Act, Details, Stored
from qrowd.collection.record.audit import details_of
from qrowd.collection.record.details import Inside, Number, detail
from qrowd.rendering import spaced_percent
from qrowd.texts import Text

FIRST = 2.0  # the priority of sets with fewer judgements than each gets; others have 0 to 1


@dataclass(frozen=True, eq=False)
class NextSets:
    """Of each set, by its number, its priority, or None where all its documents are decided.

    `decided` of so many `documents` are. `text`: what the classifier of mode hierarchy found;
    priorities then are as they are given.
    """

    priorities: Mapping[int, float | None]
    documents: int
    decided: int
    text: Findings | None = None


class ChooseNext(Act):
    """Judge first what a vote may still change; give back the open places of what is decided."""

    name = "choose next"
    command = "qrowd campaign next DATABASE"
    results = (("decided", Number()), ("given_back", Number()))
    unread = ("before", "hierarchy")
    repeated = True
    chosen: NextSets = detail(Inside(of=NextSets), recorded=False)

    def do(self, work: Work) -> Details:
        least, most = work.plan.next.least, most_votes(work)
        # training waits for so many judgements, whatever is decided before
        training = set(training_sets(work)) if work.plan.in_phases else set()
        targets: dict[int, int] = {}
        priorities: dict[int, float] = {}  # of sets
        before: dict[int, int] = {}
        planned = given_back = 0
        for row in work.rows(_open_sets(work), JudgingSet):
            if row.id not in self.chosen.priorities:  # added meanwhile
                continue
            worth = self.chosen.priorities[row.id]
            highest = max(row.held, most[row.topic_id])
            wanted = max(least, work.plan.hierarchy.votes) if row.id in training else least
            enough = max(row.held, min(wanted, highest))
            target = enough if worth is None else highest
            is_first = row.held < least and self.chosen.text is None
            priorities[row.id] = FIRST if is_first else worth or 0.0
            planned += highest * row.size
            given_back += (highest - target) * row.size
            if target != row.target:
                targets[row.id], before[row.id] = target, row.target
        joined = member.join(pair, pair.c.id == member.c.pair_id)
        query = select(pair.c.id, pair.c.priority, member.c.set_id).select_from(joined)
        in_sets = query.where(work.own(pair), pair.c.role == "pool")
        pairs = {
            number: (priority, priorities[set_id])
            for number, priority, set_id in work.db.execute(in_sets)
            if priority != priorities.get(set_id, priority)
        }
        work.update_all(judging_set, "target", targets)
        store_priorities(work, {number: new for number, (_, new) in pairs.items()})
        former = {number: old for number, (old, _) in pairs.items()}
        return {
            "documents": self.chosen.documents,
            "decided": self.chosen.decided,
            "risk": work.plan.next.risk,
            "planned": planned,
            "given_back": given_back,
            "before": _packed({"targets": before, "priorities": former}),
            **({"hierarchy": self.chosen.text.stored()} if self.chosen.text else {}),
        }

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        before = _unpacked(stored["before"])
        held = {row.id: row.held for row in work.rows(_open_sets(work), JudgingSet)}
        targets = {
            number: max(int(target), held[number])
            for number, target in before["targets"].items()
            if number in held
        }
        work.update_all(judging_set, "target", targets)
        store_priorities(work, before["priorities"])


def _open_sets(work: Work) -> Select[Any]:
    offered = work.pool_sets() & (judging_set.c.open == 1)
    return select(judging_set).where(offered).order_by(judging_set.c.id)


def most_votes(work: Work) -> dict[int, int]:
    """How many judgements a document of each topic gets at most: as the plan says, or the last act
    that raised the target since.
    """
    own = work.standing_acts("raise target")
    topics = dict(work.db.execute(select(topic.c.id, topic.c.name).where(work.own(topic))).all())
    most = dict.fromkeys(topics.values(), work.plan.most_votes)
    for row in work.rows(select(audit).where(own).order_by(audit.c.id), Audit):
        raised = details_of(row)
        named = [raised["topic"]] if raised.get("topic") else list(most)
        most.update(dict.fromkeys(named, int(raised["target"])))
    return {number: most[name] for number, name in topics.items()}


# --- how far it is --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decided:
    """How many documents are decided at a risk, and of all votes planned those given back."""

    documents: int
    decided: int
    risk: float
    planned: int
    given_back: int

    @property
    def saved(self) -> float:
        """The share of votes that are not needed."""
        return self.given_back / self.planned if self.planned else 0.0

    @property
    def sentence(self) -> Text:
        """All of it in one sentence."""
        return Text(
            "office.next.decided",
            decided=self.decided,
            n=self.documents,
            risk=spaced_percent(self.risk),
            saved=spaced_percent(self.saved),
        )


def decided_now(work: Work) -> Decided | None:
    """What the last act said that was not undone; None where there is none."""
    if work.plan.next.pick == "even":
        return None
    acts = select(audit).where(work.standing_acts(ChooseNext.name))
    row = work.row(acts.order_by(audit.c.id.desc()).limit(1), Audit)
    if row is None:
        return None
    stored = details_of(row)
    return Decided(**{name: stored[name] for name in Decided.__dataclass_fields__})


def is_stopped(work: Work) -> bool:
    """Whether somebody has undone the last choice: it is not made again by itself."""
    own = work.own(audit) & (audit.c.act == ChooseNext.name)
    last = work.number(select(audit.c.id).where(own).order_by(audit.c.id.desc()).limit(1))
    return bool(last and work.count(audit, audit.c.undoes == last))


# --- the state before, in a record that is written again and again --------------------------------


def _packed(values: Mapping[str, Mapping[int, float]]) -> str:
    """Numbers of rows and what each had, as short text: the rows of each value, each number as its
    distance from the one before. Of 100,000 sets it has thousands of characters, not millions.
    """
    plain: dict[str, list[tuple[float, list[int]]]] = {}
    for name, each in values.items():
        alike: dict[float, list[int]] = defaultdict(list)
        for number, value in sorted(each.items()):
            alike[value].append(number)
        plain[name] = [
            (value, list(map(sub, numbers, [0, *numbers]))) for value, numbers in alike.items()
        ]
    text = json.dumps(plain, separators=(",", ":")).encode()
    return base64.b85encode(zlib.compress(text, 9)).decode()


def _unpacked(text: str) -> dict[str, dict[int, float]]:
    plain = json.loads(zlib.decompress(base64.b85decode(text)))
    return {
        name: {number: value for value, apart in each for number in accumulate(apart)}
        for name, each in plain.items()
    }
