"""Who judges, what, and how: assessors, their workloads, what they say and how they rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qrowd.data.arrays import Codes, Floats, Grades, Mask, Offsets
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.orders import Orders
from qrowd.kernel import ranges
from qrowd.simulation.setting import KINDS, SPAM, Setting

# mean sensitivity and specificity of those who look at the document
_SKILL = {"good": (0.88, 0.92), "sloppy": (0.70, 0.74), "adversarial": (0.15, 0.15)}
_LENIENT, _STRICT = (0.95, 0.55), (0.50, 0.96)
_FIRMNESS = 40.0  # of the Beta distributions around these means
_NEARER = 0.35  # a wrong grade one step further away is this much rarer
_LEAN = 3.0  # a biased assessor's wrong grades lie this much oftener on the preferred side
SECONDS = {"good": 20.0, "sloppy": 9.0, "biased": 16.0, "adversarial": 15.0}
_SPAM_SECONDS = 2.5
_CELLS = 4_000_000  # of the largest dense block


class Crowd(NamedTuple):
    """What is true of the assessors."""

    kind: Codes  # of KINDS
    confusion: Floats  # [assessors, true, said]
    workload: Floats  # share of all work that each would take
    pace: Floats  # typical seconds per judgement
    sequence: Codes  # grades that a pattern spammer repeats, so many of them as `length` says
    length: Codes

    @classmethod
    def of(cls, setting: Setting, random: np.random.Generator) -> Crowd:
        """The assessors, in an order that does not tell their kinds."""
        kind = random.permutation(kinds_of(setting))
        confusion = confusions(kind, setting.grades, random)
        sequence, length = patterns(len(kind), setting.grades, random)
        inside = np.arange(sequence.shape[1])[None, :] < length[:, None]
        shares = (np.eye(setting.grades)[sequence] * inside[:, :, None]).sum(1) / length[:, None]
        repeating = kind == KINDS.index("pattern")
        confusion[repeating] = shares[repeating][:, None, :]
        load = np.exp(setting.skew * random.standard_normal(len(kind)))  # log-normal
        pace = paces(kind, random)
        return cls(kind, confusion, np.asarray(load / load.sum()), pace, sequence, length)


def judged_rows(
    setting: Setting, crowd: Crowd, pairs: Pairs, sets: Codes | None, random: np.random.Generator
) -> tuple[Offsets, Codes]:
    """Rows of (pair, assessor); whoever judges one document of a topic or set judges all of it."""
    if setting.whole:
        unit_of = pairs.topic
    else:
        unit_of = np.arange(len(pairs), dtype=np.int32) if sets is None else sets
    sizes = np.bincount(unit_of)
    order, starts = np.argsort(unit_of, kind="stable"), np.cumsum(sizes) - sizes
    # `votes` on average, at most one per assessor
    whole, rest = divmod(min(setting.votes, float(setting.assessors)), 1)
    counts = (int(whole) + (random.random(len(sizes)) < rest)).astype(np.int64)
    unit, assessor = assigned(counts, crowd.workload, random)
    wide = sizes[unit]
    inside = np.arange(int(wide.sum())) - np.repeat(np.cumsum(wide) - wide, wide)
    return order[np.repeat(starts[unit], wide) + inside], np.repeat(assessor, wide)


def answers(
    crowd: Crowd,
    rows: tuple[Offsets, Codes],
    truth: Grades,
    difficulty: Floats,
    correlation: float,
    random: np.random.Generator,
) -> tuple[Grades, Floats, Floats]:
    """Grade, seconds and time of rows of (pair, assessor), in the random order in which all judge.

    `difficulty` is that of each pair, `correlation` what it causes among errors.
    """
    from scipy.special import ndtri

    order = np.lexsort((random.random(len(rows[0])), rows[1]))
    pair, assessor = (column[order] for column in rows)
    starts = np.flatnonzero(np.diff(assessor, prepend=-1))
    runs = np.diff(np.append(starts, len(assessor)))
    position = np.arange(len(assessor)) - np.repeat(starts, runs)  # among the assessor's rows
    chances, each = crowd.confusion[assessor, truth[pair]], np.arange(len(pair))
    right = chances[each, truth[pair]]
    shared = np.where(attentive(crowd.kind)[assessor], correlation, 0.0)
    # who errs: a latent normal with a part shared by all who judge the document; the chance of an
    # error stays what it is on average, only errors on one document come together
    own = random.standard_normal(len(pair))
    wrong = np.sqrt(shared) * difficulty[pair] + np.sqrt(1 - shared) * own < ndtri(1 - right)
    chances[each, truth[pair]] = 0.0
    edges = np.cumsum(chances, axis=1)
    other = (random.random(len(pair))[:, None] * edges[:, -1:] >= edges).sum(axis=1)
    answer = np.where(wrong, np.minimum(other, chances.shape[1] - 1), truth[pair])
    repeated = crowd.sequence[assessor, position % crowd.length[assessor]]
    answer = np.where(crowd.kind[assessor] == KINDS.index("pattern"), repeated, answer)
    pace = crowd.pace[assessor] * np.exp(0.5 * random.standard_normal(len(pair)))
    grade = np.empty(len(pair), np.int8)
    seconds, time = np.empty(len(pair)), np.empty(len(pair))
    grade[order], seconds[order] = answer, np.round(pace, 1)
    # the time at the end of each judgement, from the assessor's first one on
    total = np.cumsum(seconds[order])
    before = np.where(starts > 0, total[starts - 1], 0.0)
    time[order] = np.round(total - np.repeat(before, runs), 1)
    return grade, seconds, time


def sets_of(pairs: Pairs, size: int, random: np.random.Generator) -> Codes:
    """The set of each pair: a topic's documents at random, so many in each, fewer in the last."""
    order = np.lexsort((random.random(len(pairs)), pairs.topic))
    position = np.arange(len(pairs)) - pairs.topic_starts[pairs.topic[order]]
    sets = np.empty(len(pairs), np.int32)
    sets[order] = np.cumsum(position % size == 0) - 1
    return sets


def ranked(
    setting: Setting,
    judgements: Judgements,
    kind: Codes,
    sets: Codes,
    strength: Floats,
    random: np.random.Generator,
) -> Orders:
    """A ballot for each set that an assessor judged.

    `kind` is that of each assessor, `sets` and `strength` are the set of each pair and how relevant
    it is. Spammers rank at random, adversarial assessors the other way round.
    """
    rows = judgements.one_each()
    insight = np.where(attentive(kind), setting.insight, 0.0)
    insight = np.where(kind == KINDS.index("adversarial"), -insight, insight)[rows.assessor]
    noise = random.standard_normal(len(rows.pair))
    seen = insight * strength[rows.pair] + np.sqrt(1 - insight**2) * noise
    ballot = sets[rows.pair].astype(np.int64) * len(rows.assessors) + rows.assessor
    first = -rows.grade.astype(np.int64) if setting.consistent else np.zeros(len(ballot))
    order = np.lexsort((-seen, first, ballot))
    new = np.concatenate([[True], np.diff(ballot[order]) != 0])
    place = np.empty(len(ballot), np.int64)
    at = np.arange(len(ballot))
    place[order] = at - np.maximum.accumulate(np.where(new, at, 0)) + 1
    names = Index(np.array([f"s{number:05}" for number in range(1, int(sets.max()) + 2)], object))
    pairs = judgements.pairs
    indexes = (pairs.topics, pairs.documents, rows.assessors)
    codes = (pairs.topic[rows.pair], pairs.document[rows.pair], rows.assessor)
    return Orders.from_codes(indexes, codes, place, (names, sets[rows.pair]))


def kinds_of(setting: Setting) -> Codes:
    """The kind of each assessor, as a code of KINDS; shares by largest remainder, no chance."""
    weights = np.array(setting.weights)
    ideal = weights / weights.sum() * setting.assessors
    counts = np.floor(ideal).astype(np.int64)
    left = setting.assessors - int(counts.sum())
    counts[np.argsort(counts - ideal, kind="stable")[:left]] += 1
    return np.repeat(np.arange(len(KINDS), dtype=np.int32), counts)


def attentive(kind: Codes) -> Mask:
    """Who looks at the document at all, and so is misled by a difficult one."""
    return np.array([name not in SPAM for name in KINDS])[kind]


def confusions(kind: Codes, grades: int, random: np.random.Generator) -> Floats:
    """P(says h | true grade g) of each assessor: [assessors, g, h]."""
    # 1 for lenient, -1 for strict assessors, taking turns; 0 for the unbiased
    biased = kind == KINDS.index("biased")
    lean = np.where(biased, np.where(np.cumsum(biased) % 2 == 1, 1.0, -1.0), 0.0)
    # P(right | true grade): the specificity for grade 0, the sensitivity for the others
    means = np.full((len(kind), 2), 0.5)
    for name, skill in _SKILL.items():
        means[kind == KINDS.index(name)] = skill
    means[lean > 0], means[lean < 0] = _LENIENT, _STRICT
    drawn = random.beta(_FIRMNESS * means, _FIRMNESS * (1 - means))
    right = drawn[:, np.where(np.arange(grades) == 0, 1, 0)]
    # wrong grades: near ones first, on the side that one leans to
    step = np.arange(grades)[None, :] - np.arange(grades)[:, None]
    nearness = np.where((kind == KINDS.index("adversarial"))[:, None, None], 1 / _NEARER, _NEARER)
    weight = nearness ** np.abs(step) * _LEAN ** (lean[:, None, None] * np.sign(step))
    weight = weight * (step != 0)
    wrong = weight / weight.sum(axis=2, keepdims=True)
    result: Floats = right[:, :, None] * np.eye(grades) + (1 - right)[:, :, None] * wrong
    coins = random.dirichlet(np.full(grades, 2.0), len(kind))
    for name, row in (("random", coins), ("yes", np.eye(grades)[-1]), ("no", np.eye(grades)[0])):
        chosen = kind == KINDS.index(name)
        result[chosen] = np.broadcast_to(row, (len(kind), grades))[chosen][:, None, :]
    return result


def paces(kind: Codes, random: np.random.Generator) -> Floats:
    """The typical seconds per judgement of each assessor."""
    typical = np.array([SECONDS.get(name, _SPAM_SECONDS) for name in KINDS])[kind]
    return np.asarray(typical * np.exp(0.25 * random.standard_normal(len(kind))))


def patterns(n: int, grades: int, random: np.random.Generator) -> tuple[Codes, Codes]:
    """A sequence of two to six grades for each of n assessors: [n, 6] and their lengths."""
    length = random.integers(2, 7, n).astype(np.int32)
    sequence = random.integers(0, grades, (n, 6)).astype(np.int32)
    sequence[:, 1] = (sequence[:, 0] + 1) % grades  # not the same grade over and over
    return sequence, length


def assigned(
    counts: Offsets, workload: Floats, random: np.random.Generator
) -> tuple[Offsets, Codes]:
    """Rows of (pair, assessor): `counts` distinct assessors for each pair."""
    most = int(counts.max(initial=0))
    crowded = 2 * most > len(workload)
    slots = (_by_keys if crowded else _by_slots)(len(counts), most, workload, random)
    taken = np.arange(most)[None, :] < counts[:, None]
    return np.repeat(np.arange(len(counts)), counts), slots[taken]


def _by_slots(n: int, most: int, workload: Floats, random: np.random.Generator) -> Codes:
    """Slot by slot, drawn again where the pair has that assessor already."""
    edges = np.cumsum(workload)
    edges /= edges[-1]
    slots = np.full((n, most), -1, np.int32)
    for slot in range(most):
        rows = np.arange(n)
        for _ in range(50):
            slots[rows, slot] = np.searchsorted(edges, random.random(len(rows)), side="right")
            rows = rows[(slots[rows, :slot] == slots[rows, slot, None]).any(axis=1)]
            if not len(rows):
                break
        else:  # a few assessors do nearly everything: choose by keys for these pairs
            slots[rows] = _by_keys(len(rows), most, workload, random)
    return slots


def _by_keys(n: int, most: int, workload: Floats, random: np.random.Generator) -> Codes:
    """The `most` smallest of exponential keys with the workloads as rates, block by block."""
    parts = [np.zeros((0, most), np.int32)]
    for lo, hi in ranges(n, -(-n * len(workload) // _CELLS)) if n else []:
        keys = random.exponential(size=(hi - lo, len(workload))) / workload
        parts.append(np.argsort(keys, axis=1)[:, :most].astype(np.int32))
    return np.concatenate(parts)
