"""What the texts tell of a campaign in mode hierarchy: the order, and what to look at once more.

    Campaign.of(work)     what people and experts said so far, and the documents' words
    campaign.find()       how well a classifier tells, the best in training, contradicted answers

The classifier is `skierarchy`'s: in each topic a logistic regression on tf-idf vectors learns the
labels of a majority vote, experts' decisions being given; what it says of a document comes from
other documents. It is used in a topic only where it surely tells relevant documents from others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, sqrt
from statistics import NormalDist

import numpy as np
from sqlalchemy import select

import qrowd as q
from qrowd.collection.database.schema import (
    NAMED_PAIRS,
    PAIR_NAMES,
    PLACED_ANSWERS,
    TypedRow,
    content,
    document,
    event,
    has_grade,
    member,
    pair,
    place,
    with_contents,
    worker,
)
from qrowd.collection.database.store import Work
from qrowd.collection.judging.hierarchy import (
    TOP,
    Findings,
    Standing,
    TopicText,
)
from qrowd.collection.plan.sections import Plan
from qrowd.collection.publishing.export import given_names
from qrowd.comparison.label_measures import auc
from qrowd.content.vectors import tfidf
from qrowd.data.arrays import Array, Floats
from qrowd.data.collected import qrels_of
from qrowd.data.documents import Documents
from qrowd.data.index import Pairs, encode_columns
from qrowd.web.neighbours import TopicDocument, words_of

BUCKETS = 4
BEST = 0.5  # of the people who were in training
FEWEST = 5  # answers in training that tell how good somebody is
LEVEL = 0.99  # of the interval that must be above a half
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


class Given(TypedRow):
    """A grade that counts, and where it stands."""

    place_id: int
    position: int
    set_id: int
    worker_id: int
    topic: str
    doc: str
    grade: int


@dataclass(frozen=True, eq=False)
class Campaign:
    """What the classifier learns from."""

    plan: Plan
    now: int
    answers: list[Given]
    experts: Mapping[tuple[str, str], int]
    words: Mapping[str, str]
    training: frozenset[int]  # sets
    past_training: frozenset[str]  # topics
    before: Findings

    @classmethod
    def of(cls, work: Work) -> Campaign:
        """All that is stored of it."""
        people = PLACED_ANSWERS.join(worker, worker.c.id == place.c.worker_id)
        named = NAMED_PAIRS.join(people, member.c.pair_id == pair.c.id)
        columns = (place.c.id.label("place_id"), member.c.position, place.c.set_id)
        query = (
            select(*columns, place.c.worker_id, *PAIR_NAMES, event.c.grade)
            .select_from(named)
            .where(work.valid_batches(), place.c.kind == "count", place.c.held == 1, has_grade())
            .where(worker.c.kind == "human")
        )
        texts = (
            select(document, pair.c.id.label("pair_id"), content.c.body)
            .select_from(with_contents(NAMED_PAIRS))
            .where(work.own(pair), pair.c.in_pool == 1)
        )
        now = Standing.of(work)
        return cls(
            plan=work.plan,
            now=work.now,
            answers=work.rows(query.order_by(event.c.id), Given),
            experts=given_names(work),
            words={row.name: words_of(row) for row in work.rows(texts, TopicDocument)},
            training=frozenset(now.training),
            past_training=frozenset(each.name for each in now.topics if each.phase != "training"),
            before=now.texts,
        )

    def find(self, pool: Pairs) -> tuple[Findings, Floats]:
        """What the classifier found, and how probably each pair of the pool is relevant by its
        text; not a number where that is not known or not used.
        """
        rel, scale = self.plan.scale.relevant_from, q.Scale((0, 1), 1)
        topics, docs = [row.topic for row in self.answers], [row.doc for row in self.answers]
        people = [str(row.worker_id) for row in self.answers]
        grades = [int(row.grade >= rel) for row in self.answers]
        crowd = q.Judgements.of(topics, docs, people, grades, scale=scale).with_pool(pool)
        gold = None
        if self.experts:
            gold = qrels_of({pair: int(grade >= rel) for pair, grade in self.experts.items()})
        vectors = tfidf(Documents.of(dict(self.words)))
        given = q.Given(gold=gold, documents=vectors)
        merged = q.Skierarchy(rule="keep").fit(crowd, given)
        pairs, label = merged.pairs, np.asarray(merged.posterior[:, 1], np.float64)
        text = np.array(merged.details["text"], np.float64)
        indexes, codes = encode_columns(topics, docs)
        distinct, of_answer = Pairs.from_codes(*indexes, *codes)
        at = pairs.locate(distinct)[of_answer]
        known = np.bincount(at, minlength=len(pairs)) > 0
        if gold is not None:
            known |= gold.pairs.locate(pairs) >= 0
        tells: dict[str, TopicText] = {}
        for code, name in enumerate(pairs.topics):
            mine = pairs.topic == code
            line = _how_well(text[mine], label[mine] > 0.5, known[mine])
            is_used = line.tells and name in self.past_training
            earlier = self.before.topics.get(name, TopicText())
            tells[name] = replace(line, since=(earlier.since or self.now) if is_used else None)
            if not is_used:
                text[mine] = np.nan
        asked, best = self._contradicted(at, text), self._best(at, label)
        blank = int(vectors.empty.sum())
        return Findings(self.now, tells, best, asked, blank), text[pairs.locate(pool)]

    def _contradicted(self, at: Array, text: Floats) -> dict[int, list[tuple[int, int]]]:
        """Answers (to the pairs `at`) that the text contradicts and that others have not outvoted,
        by worker.
        """
        rel, surely = self.plan.scale.relevant_from, self.plan.hierarchy.contradiction
        yes = np.array([row.grade >= rel for row in self.answers], bool)
        agree = np.bincount(at, np.where(yes, 1, -1), len(text))
        against = np.where(yes, 1 - text[at], text[at]) >= surely  # nothing is, of what is nan
        lead = np.where(yes, agree[at], -agree[at])
        asked: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number in np.flatnonzero(against & (lead >= 0)):
            row = self.answers[number]
            if (row.topic, row.doc) not in self.experts:
                asked[row.worker_id].append((row.place_id, row.position))
        return dict(asked)

    def _best(self, at: Array, label: Floats) -> frozenset[int]:
        """Those who were right most often in training: as experts, else as most others said."""
        rel = self.plan.scale.relevant_from
        right, asked = Counter[int](), Counter[int]()
        for row, number in zip(self.answers, at, strict=True):
            if row.set_id in self.training and label[number] != 0.5:
                asked[row.worker_id] += 1
                right[row.worker_id] += (row.grade >= rel) == (label[number] > 0.5)
        tried = [number for number, n in asked.items() if n >= FEWEST]
        tried.sort(key=lambda number: (-right[number] / asked[number], -asked[number], number))
        return frozenset(tried[: ceil(BEST * len(tried))])


def _how_well(text: Floats, label: Array, known: Array) -> TopicText:
    """The area under the curve of a topic, and its interval.

    It has the standard error of a classifier that knows nothing (Mann and Whitney), which is wide
    for one that knows much.
    """
    mine = known & ~np.isnan(text)
    yes, no = int((mine & label).sum()), int((mine & ~label).sum())
    if not yes or not no:
        return TopicText()
    group = np.zeros(yes + no, np.int64)
    area = float(auc(text[mine], label[mine].astype(np.float64), group, 1)[0])
    reach = Z * sqrt((yes + no + 1) / (12 * yes * no))
    low, high = max(0.0, area - reach), min(1.0, area + reach)
    return TopicText(area, low, high, low > 0.5)


def priorities(text: Floats, of_set: Array, topic: Array, few: Array) -> Floats:
    """The priority of each set: by its bucket, those with too `few` judgements before all others.

    `text` of each member, `of_set` its set; `topic` and `few` of each set. The first bucket has
    the priorities `TOP`; where the text is not used, a set stands in the middle.
    """
    known = ~np.isnan(text)
    n = np.bincount(of_set, known, len(topic))
    score = np.bincount(of_set, np.where(known, text, 0.0), len(topic)) / np.maximum(n, 1)
    bucket = np.full(len(topic), (BUCKETS - 1) / 2)
    for code in np.unique(topic[n > 0]):
        mine = np.flatnonzero((topic == code) & (n > 0))
        order = np.argsort(np.argsort(-score[mine], kind="stable"), kind="stable")
        bucket[mine] = order * BUCKETS // len(mine)
    return np.where(few, TOP[0], TOP[1]) - bucket / BUCKETS
