"""A crowd of robots for a campaign: kinds as `simulate` has them, a truth, links to come in by."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np
from sqlalchemy import select

from qrowd.collection.database.schema import NAMED_PAIRS, PAIR_NAMES, document, gold, pair, topic
from qrowd.collection.database.store import Store, Work
from qrowd.collection.judging.gold import right_answer
from qrowd.collection.people import entry
from qrowd.collection.plan.turnout import MEDIAN_SECONDS, PER_HOUR
from qrowd.data.collected import grades_of
from qrowd.data.qrels import Qrels
from qrowd.errors import InputError
from qrowd.simulation.crowd import SECONDS, confusions, kinds_of, paces, patterns
from qrowd.simulation.setting import KINDS, Setting
from qrowd.web.robots.robot import CALM, Habits, Robot, Truth, pace_of

PREVALENCE = 0.3  # of documents that nothing is known of
_LINK_DAYS = 3650
_EMPTY = hashlib.sha256(b"").hexdigest()  # of a document without content


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Who comes to judge."""

    robots: int = 40
    per_hour: float = PER_HOUR
    setting: Setting = field(default_factory=Setting)
    habits: Habits = CALM
    truth: Qrels | None = None
    seed: int = 0
    most_batches: int | None = None  # of one robot
    expert: float = 0.95  # how often the expert of mode hierarchy is right


def truth_of(work: Work, truth: Qrels | None = None) -> Qrels:
    """The true grade of every pair: gold's own, else that of `truth`, else by chance.

    By chance: by a hash of the names, so the same in every run.
    """
    true_grades, scale = grades_of(truth), work.plan.scale
    low = [grade for grade in scale.grades if grade < scale.relevant_from] or [scale.grades[0]]
    high = [grade for grade in scale.grades if grade >= scale.relevant_from] or [scale.grades[-1]]

    def drawn(topic: str, doc: str) -> int:
        names = f"{work.plan.campaign.seed} {topic} {doc}"
        chance = int.from_bytes(hashlib.sha256(names.encode()).digest()[:7]) / 2**56
        side = high if chance < PREVALENCE else low
        return side[int(chance * 1e6) % len(side)]

    joined = NAMED_PAIRS.outerjoin(gold, gold.c.pair_id == pair.c.id)
    query = (
        select(*PAIR_NAMES, right_answer(work.plan), gold.c.grade)
        .select_from(joined)
        .where(work.own(pair))
    )
    grades = {
        (topic, doc): true_grades.get((topic, doc), drawn(topic, doc)) if grade is None else right
        for topic, doc, right, grade in work.db.execute(query)
    }
    if true_grades and not grades.keys() & true_grades.keys():
        message = "no true grade is of a pair of this campaign; do names match?"
        raise InputError(f"{message} Sentences are called doc#1, doc#2, ...")
    topics, docs = [topic for topic, _ in grades], [doc for _, doc in grades]
    return Qrels.of(topics, docs, list(grades.values()))


def by_content(work: Work, truth: Qrels) -> Truth:
    """The truth as a robot can look it up: by the topic's query and the document's hash."""
    columns = (*PAIR_NAMES, topic.c.query, document.c.content)
    query = select(*columns).select_from(NAMED_PAIRS).where(work.own(pair))
    grades = grades_of(truth)
    return {
        (words, digest or _EMPTY): grades[topic, doc]
        for topic, doc, words, digest in work.db.execute(query)
    }


def make_robots(store: Store, name: str, crowd: Crowd, truth: Truth) -> list[Robot]:
    """Robots of the setting's kinds, each with a link of its own."""
    number, random = crowd.robots, np.random.default_rng(crowd.seed)
    with store.write(name) as work:
        plan, grades = work.plan, work.plan.scale.grades
        entries = [
            {"link": entry.make_link(work, f"robot {at}", _LINK_DAYS)} for at in range(number)
        ]
    shape = replace(crowd.setting, assessors=number, grades=max(2, len(grades)))
    kind = random.permutation(kinds_of(shape))
    confusion, pace = confusions(kind, len(grades), random), paces(kind, random)
    sequence, length = patterns(number, len(grades), random)
    children = random.spawn(number)
    return [
        Robot(
            f"robot {at}",
            plan,
            entries[at],
            confusion[at],
            truth,
            children[at],
            kind=KINDS[kind[at]],
            pattern=tuple(sequence[at, : length[at]].tolist())
            if KINDS[kind[at]] == "pattern"
            else (),
            habits=crowd.habits,
            pace=pace_of(children[at], MEDIAN_SECONDS * float(pace[at]) / SECONDS["good"]),
            most_batches=crowd.most_batches,
        )
        for at in range(number)
    ]
