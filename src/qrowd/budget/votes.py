"""Which document is asked about next, and what an assessor answers: drawn once, for all methods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from qrowd.aggregation.judgements.mv import MajorityVote
from qrowd.budget.couples import EVEN, couples
from qrowd.budget.decisions import FinalVote, refuse_more_grades
from qrowd.budget.sampling_design import probabilities, systematic
from qrowd.content.similarity import distinct
from qrowd.data.arrays import Array, Codes, Floats, Grades, Mask
from qrowd.data.documents import Documents, Likeness
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.errors import InputError
from qrowd.evaluation.measure import Measure

REQUESTS = ("resample", "once", "simulated")
PICKS = ("even", "margin", "systems")
PARTS = 10  # of a vote a document: after each, what tells systems apart is worked out anew
_ALMOST = 1e-9
A = TypeVar("A", Codes, Grades)


@dataclass(frozen=True, eq=False)
class Pool:
    """The crowd that votes are drawn from, and the truth: 1, 0, or -1 where gold is silent."""

    judgements: Judgements
    truth: Grades
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, judgements: Judgements, gold: Qrels, request: str = "resample", at_least: int = 1
    ) -> Pool:
        """The judged pairs of the topics that have gold.

        Topics where a document has fewer than `at_least` votes are left out; `simulated` assessors
        judge documents with gold only, for there is no telling what they would say of others.
        """
        refuse_more_grades(judgements)
        pairs = judgements.pairs
        truth = np.full(len(pairs), -1, np.int8)
        at, codes = pairs.locate(gold.pairs), judgements.scale.codes_of_gold(gold.grade)
        truth[at[at >= 0]] = codes[at >= 0]
        counts = np.diff(judgements.pair_starts)
        kept = counts > 0
        few = _topics_of(pairs, kept & (counts < at_least))
        if request == "simulated":
            kept &= truth >= 0
        silent = ~_topics_of(pairs, kept & (truth >= 0))
        kept &= ~(few | silent)[pairs.topic]
        if not kept.any():
            raise InputError("no topic has both votes and gold; do topic names match?")
        reasons = {
            f"a document has fewer than {at_least} votes": int((few & ~silent).sum()),
            "no judged document has gold": int(silent.sum()),
        }
        notes = tuple(f"{n} topics left out: {reason}" for reason, n in reasons.items() if n)
        return cls(judgements.of_pairs(kept), truth[kept], notes)

    def voted(self, pair: Codes, assessor: Codes, grade: Grades) -> Judgements:
        """These votes, over the pairs of the pool."""
        return replace(
            self.judgements,
            pair=pair,
            assessor=assessor,
            grade=grade,
            weight=None,
            seconds=None,
            time=None,
        )

    def topic_means(self, values: Floats) -> Floats:
        """The mean of each topic's documents with gold."""
        pairs, has_gold = self.judgements.pairs, self.truth >= 0
        topic, n = pairs.topic[has_gold], len(pairs.topics)
        return np.asarray(np.bincount(topic, values[has_gold], n) / np.bincount(topic, minlength=n))


def without_duplicates(
    judgements: Judgements, gold: Qrels, documents: Documents | Likeness, near: float
) -> tuple[Judgements, tuple[str, ...]]:
    """The judgements without near-duplicates, and what to say of it; gold is kept, if possible."""
    has_gold = gold.pairs.locate(judgements.pairs) >= 0
    kept = distinct(judgements.pairs, documents, near, has_gold)
    note = f"{int((~kept).sum())} near-duplicates left out (cosine {near:g} and more)"
    return judgements.of_pairs(kept), (note,)


def _topics_of(pairs: Pairs, chosen: Mask) -> Mask:
    """Which topics have a pair among these."""
    return np.bincount(pairs.topic[chosen], minlength=len(pairs.topics)) > 0


@dataclass(frozen=True, eq=False)
class Draws:
    """One topic's votes in the order in which they come: [randomisation, vote].

    `document` is its number among the topic's pairs, `gold` the numbers of those that have gold.
    `asked` is when a vote comes: after so many votes a document, of all topics together.
    """

    rows: slice
    pairs: Pairs
    gold: Codes
    truth: Grades
    document: Codes
    assessor: Codes
    grade: Grades
    asked: Floats
    seed: tuple[int, ...]

    def taken(self, votes: float) -> Codes:
        """How many votes of each randomisation there are after so many votes a document."""
        return np.asarray((self.asked <= votes + _ALMOST).sum(axis=1), np.int32)

    def coins(self, vote: int) -> Floats:
        """A number in [0, 1) for each randomisation and document with gold, after so many votes."""
        random = np.random.default_rng([*self.seed, 1, vote])
        return random.random((len(self.document), len(self.gold)))


@dataclass(frozen=True, eq=False)
class Stream:
    """One topic's documents in the order of `even`, and the answers on each of them.

    order[randomisation, round, place] is a document; assessor and grade[randomisation, round,
    document] are its first, second, ... answer, whoever asks for it, and `available` of them exist.
    """

    rows: slice
    order: Codes
    assessor: Codes
    grade: Grades
    available: Codes
    key: tuple[int, ...]

    @classmethod
    def of(
        cls, pool: Pool, topic: int, votes: int, rounds: int, copies: int, request: str, seed: int
    ) -> Stream:
        """Of one topic: `votes` rounds in the order of `even`, and answers for `rounds` of them."""
        pairs = pool.judgements.pairs
        rows = slice(*(int(at) for at in pairs.topic_starts[topic : topic + 2]))
        n = rows.stop - rows.start
        name = int(pairs.topics.hashes(np.array([topic], np.int32))[0])
        key = (seed, name % 2**32, name >> 32)
        random, more = (np.random.default_rng([*key, part]) for part in (0, 2))
        order = np.argsort(random.random((copies, votes, n)), axis=2).astype(np.int32)
        available = np.full(n, rounds)
        if request == "once":
            available = np.diff(pool.judgements.pair_starts)[rows]
            row = _shuffled(pool, rows, rounds, copies, more)
            assessor, grade = pool.judgements.assessor[row], pool.judgements.grade[row]
        else:
            answer = _resampled if request == "resample" else _simulated
            each = np.broadcast_to(np.arange(n, dtype=np.int32), (copies, rounds - votes, n))
            documents = np.concatenate([order, each], axis=1)
            first, further = (
                answer(pool, rows.start + part, chance)
                for part, chance in ((order, random), (each, more))
            )
            assessor = _by_document(documents, first[0], further[0])
            grade = _by_document(documents, first[1], further[1])
        return cls(rows, order, assessor, grade, available, key)

    def draws(self, pool: Pool, topic: int, document: Codes, asked: Floats | None = None) -> Draws:
        """The answers, if documents are asked about in this order: [randomisation, vote]; `asked`
        where topics do not take turns.
        """
        copies, total = document.shape
        which, copy = np.stack([_earlier(row) for row in document]), np.arange(copies)
        if asked is None:
            each = np.arange(1, total + 1) / len(self.available)
            asked = np.broadcast_to(each, document.shape)
        which = np.minimum(which, self.grade.shape[1] - 1)  # what is never asked has no answer
        truth, pairs = pool.truth[self.rows], pool.judgements.pairs
        gold = np.flatnonzero(truth >= 0).astype(np.int32)
        return Draws(
            self.rows,
            pairs.select(pairs.topic == topic),
            gold,
            truth[gold],
            document,
            self.assessor[copy[:, None], which, document],
            self.grade[copy[:, None], which, document],
            asked,
            self.key,
        )


@dataclass(frozen=True, eq=False)
class Systems:
    """The runs that votes should tell apart, and the measure that scores them."""

    runs: RunSet
    measure: Measure | str = "AP"


def drawn(
    pool: Pool,
    votes: int,
    copies: int,
    request: str,
    seed: int,
    pick: str = "even",
    most: int = 9,
    systems: Systems | None = None,
) -> list[Draws]:
    """Votes on each topic, on average so many for each of its documents.

    Which document is next: `even`, one of those with the fewest votes, at random; `margin`, after
    a first vote on each, the one where a vote is worth most (`FinalVote`, learned from all topics'
    votes so far, anew for each vote a document), at most `most` each; `systems`, drawn by what it
    tells of undecided couples of runs, whatever its topic (`couples`, anew for each tenth of a vote
    a document, the first tenth that of `even`), at most `most` each. An answer: `resample`, one of
    the document's real votes, with replacement; `once`, each of them at most once; `simulated`, an
    assessor of the crowd, by how much they judge, who errs as often as on gold. The first, second,
    ... answer on a document is the same whatever is picked, and what other topics there are does
    not matter to it.
    """
    rounds = votes if pick == "even" else max(votes, most)
    topics = range(len(pool.judgements.pairs.topics))
    streams = [Stream.of(pool, at, votes, rounds, copies, request, seed) for at in topics]
    if pick == "systems":
        assert systems is not None
        return _by_influence(pool, streams, votes, most, systems)
    if pick == "even":
        orders = [stream.order.reshape(copies, -1) for stream in streams]
    else:
        orders = _by_worth(streams, votes, most)
    return [
        stream.draws(pool, topic, order)
        for topic, (stream, order) in enumerate(zip(streams, orders, strict=True))
    ]


def _by_influence(
    pool: Pool, streams: list[Stream], votes: int, most: int, systems: Systems
) -> list[Draws]:
    """The documents of all topics in the order in which `couples` draws them.

    What is judged so far has the label that most votes give it, as in `qrowd next`. Where fewer
    documents can still change a score than are wanted, those with the fewest votes follow.
    """
    pairs = pool.judgements.pairs
    size, total = len(pairs), votes * len(pairs)
    full = np.minimum(np.concatenate([stream.available for stream in streams]), most)
    assessor, grade = (
        np.concatenate([getattr(stream, name) for stream in streams], axis=2)
        for name in ("assessor", "grade")
    )
    copies = len(grade)
    order = np.empty((copies, total), np.int32)
    # the first tenth is that of `even`: topics take turns, each by its share
    turn = np.concatenate([np.linspace(0, 1, s.order.shape[2]) for s in streams])
    first = np.concatenate([s.rows.start + s.order[:, 0] for s in streams], axis=1)
    ends = np.linspace(0, total, PARTS * votes + 1).round().astype(int)
    order[:, : ends[1]] = first[:, np.argsort(turn, kind="stable")][:, : ends[1]]
    for copy in range(copies):
        random = np.random.default_rng([*streams[0].key, 4, copy])
        for begin, end in pairwise(ends[1:].tolist()):
            pair = order[copy, :begin]
            answer = copy, _earlier(pair), pair
            rows = pool.voted(pair, assessor[answer], grade[answer])
            told = couples(rows, systems.runs, MajorityVote().fit(rows), systems.measure)
            count = np.bincount(pair, minlength=size)
            order[copy, begin:end] = _drawn_by(told.worth, count, full, end - begin, random)
    asked = (np.arange(total) + 1) / size
    result = []
    for topic, stream in enumerate(streams):
        own = (order >= stream.rows.start) & (order < stream.rows.stop)
        longest = int(own.sum(axis=1).max())
        document = np.zeros((copies, longest), np.int32)
        when = np.full((copies, longest), np.inf)
        for copy, mine in enumerate(own):
            n = int(mine.sum())
            document[copy, :n] = order[copy, mine] - stream.rows.start
            when[copy, :n] = asked[mine]
        result.append(stream.draws(pool, topic, document, when))
    return result


def _drawn_by(
    worth: Floats, count: Array, full: Codes, number: int, random: np.random.Generator
) -> Codes:
    """So many documents, by the root of what they are worth; then those with the fewest votes."""
    drawn = np.flatnonzero((worth > 0) & (count < full))
    if len(drawn) > number:
        drawn = drawn[systematic(probabilities(np.sqrt(worth[drawn]), number, EVEN), random)]
    while len(drawn) < number:
        so_far = count + np.bincount(drawn, minlength=len(count))
        left = np.flatnonzero(so_far < full)
        fewest = left[np.lexsort((random.random(len(left)), so_far[left]))]
        drawn = np.concatenate([drawn, fewest[: number - len(drawn)]])
    return drawn.astype(np.int32)


def _earlier(documents: Codes) -> Codes:
    """How often each of these documents is there before."""
    order = np.argsort(documents, kind="stable")
    place = np.arange(len(order))
    starts = np.flatnonzero(np.diff(documents[order], prepend=-1))
    result = np.empty(len(order), np.int32)
    result[order] = place - np.repeat(starts, np.diff(starts, append=len(order)))
    return result


def _by_worth(streams: list[Stream], votes: int, most: int) -> list[Codes]:
    """The documents of each topic in the order of what a vote on them is worth."""
    orders = [stream.order[:, 0] for stream in streams]
    yes = [stream.grade[:, 0].astype(np.int64) for stream in streams]
    count = [np.ones_like(each) for each in yes]
    copy = np.arange(len(yes[0]))
    for again in range(1, votes):
        said, asked = np.concatenate(yes, axis=1), np.concatenate(count, axis=1)
        worth = np.stack(
            [FinalVote.of(*each, most).worth for each in zip(said, asked, strict=True)]
        )
        for at, (stream, y, n) in enumerate(zip(streams, yes, count, strict=True)):
            coin = np.random.default_rng([*stream.key, 3, again]).random(y.shape)
            full = np.minimum(stream.available, most)
            picks = []
            for _ in range(y.shape[1]):
                value = worth[copy[:, None], y, n] - 1e-9 * (n + coin)  # else the fewest votes
                document = np.where(n < full, value, -np.inf).argmax(axis=1)
                y[copy, document] += stream.grade[copy, n[copy, document], document]
                n[copy, document] += 1
                picks.append(document)
            orders[at] = np.concatenate([orders[at], np.stack(picks, axis=1)], axis=1)
    return [order.astype(np.int32) for order in orders]


def _shuffled(
    pool: Pool, rows: slice, rounds: int, copies: int, random: np.random.Generator
) -> Codes:
    """[copy, round, document]: the row of each document's votes in an order of their own; where
    there are no more, the last one.
    """
    starts = pool.judgements.pair_starts[rows.start : rows.stop + 1]
    pair = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.argsort(pair + random.random((copies, len(pair))), axis=1)
    place = np.minimum(starts[:-1] + np.arange(rounds)[:, None], starts[1:] - 1) - starts[0]
    return np.asarray(starts[0] + order[:, place])


def _by_document(documents: Codes, *rounds: A) -> A:
    """The answers of these rounds, each at its document: [copy, round, document]."""
    answers = np.concatenate(rounds, axis=1)
    result = np.empty_like(answers)
    np.put_along_axis(result, documents, answers, axis=2)
    return result


def _resampled(pool: Pool, pair: Codes, random: np.random.Generator) -> tuple[Codes, Grades]:
    starts = pool.judgements.pair_starts
    count = (starts[1:] - starts[:-1])[pair]
    row = starts[pair] + (random.random(pair.shape) * count).astype(np.int64)
    return pool.judgements.assessor[row], pool.judgements.grade[row]


def _simulated(pool: Pool, pair: Codes, random: np.random.Generator) -> tuple[Codes, Grades]:
    judgements = pool.judgements
    right = error_rates(judgements, pool.truth)
    share = judgements.per_assessor / judgements.per_assessor.sum()
    assessor = random.choice(len(share), pair.shape, p=share).astype(np.int32)
    truth = pool.truth[pair]
    correct = random.random(pair.shape) < right[assessor, truth]
    return assessor, np.where(correct, truth, 1 - truth).astype(np.int8)


def error_rates(judgements: Judgements, truth: Grades) -> Floats:
    """right[assessor, truth]: how often an assessor is right, one more of each on either side."""
    of_row = truth[judgements.pair]
    judged = of_row >= 0
    cell = judgements.assessor[judged].astype(np.int64) * 2 + of_row[judged]
    size = 2 * len(judgements.assessors)
    agreed = np.bincount(cell, judgements.grade[judged] == of_row[judged], size)
    return np.asarray(((agreed + 1) / (np.bincount(cell, minlength=size) + 2)).reshape(-1, 2))


def expected_majority(
    judgements: Judgements, gold: Qrels, votes: int, *, at_least: int = 1
) -> Floats:
    """The expected accuracy of each topic's majority votes at so many resampled votes per document.

    A document's votes are drawn from its real ones with replacement, so that the relevant ones
    among them are binomial; a tie is half right. The mean over topics is where `vote_by_vote`'s
    curve of `mv` tends to.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 4, ["d"] * 4, list("abcd"), [1, 1, 1, 0])
    >>> q.expected_majority(crowd, q.Qrels.of(["t"], ["d"], [1]), 3).round(6).tolist()
    [0.84375]
    """
    from scipy.special import bdtr, bdtrc

    pool = Pool.of(judgements, gold, at_least=at_least)
    count = pool.judgements.votes
    share = count[:, 1] / count.sum(axis=1)
    chance = np.where(pool.truth == 1, share, 1 - share)
    right = bdtrc(votes // 2, votes, chance)
    if votes % 2 == 0:
        half = votes // 2
        right += (bdtr(half, votes, chance) - (bdtr(half - 1, votes, chance) if half else 0)) / 2
    return pool.topic_means(right)


def gold_minus_majority(judgements: Judgements, gold: Qrels) -> dict[str, float]:
    """Gold less the majority vote, from -1 to 1: the mean over each topic's documents with gold.

    All real votes count; a tie is a half. Above 0 the crowd misses relevant documents, below 0 it
    calls too many relevant; far from 0, no way of merging will be right.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 4, list("ddde"), list("abca"), [1, 1, 0, 0])
    >>> q.gold_minus_majority(crowd, q.Qrels.of(["t", "t"], ["d", "e"], [1, 1]))
    {'t': 0.5}
    """
    pool = Pool.of(judgements, gold)
    votes = pool.judgements.votes
    label = 0.5 * (1 + np.sign(votes[:, 1] - votes[:, 0]))
    means = pool.topic_means(pool.truth - label)
    return dict(zip(map(str, pool.judgements.pairs.topics), means.tolist(), strict=True))
