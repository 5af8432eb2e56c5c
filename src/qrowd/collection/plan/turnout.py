"""Who comes, how long they stay, and what their work costs: campaigns in numbers, without a server.

    campaigns(plan, Workload(90.0, gold, tests), CROWDS["mixed"])      what many campaigns cost

People are those of the dry run's robots, kind by kind: how often they are right, how fast they are,
how often they give a batch back, leave it lying, and how many they do. What a failed check does is
what `pass_rates.consequences` says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from qrowd.collection.plan.pass_rates import consequences, level_of
from qrowd.collection.plan.sections import Plan
from qrowd.data.arrays import Array, Floats, Mask
from qrowd.quality.against_gold import POINTS, binary_points, gains, good_p, ideal_dcg
from qrowd.quality.against_gold import SURELY as SELDOM
from qrowd.simulation.crowd import SECONDS, Crowd
from qrowd.simulation.setting import Setting

PER_HOUR = 12.0  # people who come

# Counted in the logs of one team of TREC 2011 (Urbano et al. 2011; 3,599 visits of 122 workers)
MEDIAN_SECONDS = 19.3  # of a document, over all answers
BETWEEN, WITHIN = 0.54, 0.76  # standard deviations of log seconds: between workers, within one
FIRST_OF_SET = 1.86  # how much longer the first document of a set takes
BATCHES_MEDIAN, BATCHES_SPREAD = 5.0, 1.4  # log-normal number of batches a worker does
GIVE_BACK, ABANDON = 0.12, 0.05  # shares of batches that are returned, and left lying
CANNOT_TELL = 0.01  # share of documents

MOST_WORKERS = 12_000  # of all campaigns together
MOST_TIMES = 300
LARGEST = 120  # batches of a campaign; of larger ones, a part is done, as slowly as the whole
MOST_STEPS = 60  # tests and batches of one worker
# At the end few sets are open, and most people have had them: batches are short, and paid in full.
# Ten campaigns of 24 batches, which robots of the careful crowd did, took 0 to 4 more, on average
# this many; 37 later ones of all three crowds took 0.8 more. Other sizes were not counted.
SHORT_AT_END = 1.2
_DRAWS = 2000


@dataclass(frozen=True)
class Outlay:
    """Money in minor units, by what it is spent on; the sum is the forecast of a campaign's cost.

    `judging` and `gold` are the two parts of batches that count: check questions take places in
    them. `failed` batches are paid, do not count, and are done again.
    """

    judging: float = 0.0
    gold: float = 0.0
    failed: float = 0.0
    screened_out: float = 0.0
    tests: float = 0.0
    reviews: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return float(sum(getattr(self, item) for item in ITEMS))


ITEMS = tuple(item.name for item in fields(Outlay))


@dataclass(frozen=True)
class Workload:
    """What is to be judged: full batches' worth of it, and the gold and tests among it.

    `gold` and `tests` are sets of grades; `supply` is how many batches one worker can do at most.
    """

    batches: float
    gold: Sequence[Sequence[int]] = ()
    tests: Sequence[Sequence[int]] = ()
    supply: int = MOST_STEPS


def campaigns(
    plan: Plan, load: Workload, setting: Setting, per_hour: float = PER_HOUR
) -> tuple[Floats, float]:
    """What many campaigns cost: [campaigns, items], and how much the logarithm of the sum varies.

    Campaigns that are too large to be done many times are done in part; then the costs are those
    of the whole by proportion, and vary less than those of the part.
    """
    short = 0.0 if plan.owner else SHORT_AT_END
    share = min(1.0, LARGEST / (load.batches + short))
    workers = max(24, 4 * plan.sets.target, math.ceil(share * (load.batches + short)))
    times = max(40, min(MOST_TIMES, MOST_WORKERS // workers))
    random = np.random.default_rng(0)
    wanted = share * (load.batches + random.poisson(short, times))
    people = _People(plan, load, setting, times * workers, random)
    # they come one after another, at the pace of the whole campaign
    gaps = random.exponential(1 / (per_hour * share), (times, workers))
    who, starts, spent, counts = people.work(np.cumsum(gaps, axis=1).ravel())
    costs, covered = np.zeros((times, len(ITEMS))), np.zeros(times)
    # in the order in which they are given out: what is reserved is not given to others
    order = np.lexsort((starts, who // workers))
    edges = np.searchsorted(who[order] // workers, np.arange(times + 1))
    for campaign in range(times):
        steps = order[edges[campaign] : edges[campaign + 1]]
        reached = np.cumsum(counts[steps])
        enough = int(np.searchsorted(reached, wanted[campaign] - 1e-9)) + 1
        costs[campaign] = spent[steps[:enough]].sum(axis=0)
        done = reached[-1] if len(reached) else 0.0
        covered[campaign] = min(1.0, done / max(wanted[campaign], 1e-9))
    # where too few came, the rest costs what was paid so far
    costs = costs / np.maximum(covered, 0.01)[:, None] / share
    total = costs.sum(axis=1)
    varies = float(np.log(total).std(ddof=1)) if np.all(total > 0) else 0.0
    return costs, varies * math.sqrt(share)


class _People:
    """People who work, all campaigns' together: an array has a row for each."""

    def __init__(
        self,
        plan: Plan,
        load: Workload,
        setting: Setting,
        number: int,
        random: np.random.Generator,
    ) -> None:
        self.plan, self.load, self.random, self.number = plan, load, random, number
        grades = len(plan.scale.grades)
        crowd = Crowd.of(replace(setting, assessors=number, grades=max(2, grades)), random)
        self.edges = np.cumsum(crowd.confusion[:, :grades, :grades], axis=2)
        typical = MEDIAN_SECONDS * crowd.pace / SECONDS["good"]
        self.pace = typical * np.exp(BETWEEN * random.standard_normal(number))
        drawn = BATCHES_MEDIAN * np.exp(BATCHES_SPREAD * random.standard_normal(number))
        self.willing = np.maximum(1, np.round(drawn))
        # how long documents take on average in a set, at a pace of 1: for the check of seconds
        seconds = np.exp(WITHIN * random.standard_normal((_DRAWS, plan.sets.size)))
        seconds[:, 0] *= FIRST_OF_SET
        self.unit = np.sort(seconds.mean(axis=1))
        each = plan.checks.seconds_for == "document"
        self.checked = np.sort(seconds.min(axis=1)) if each else self.unit
        self.gold, self.tests = (_padded(plan, sets) for sets in (load.gold, load.tests))
        self.relevant_from = plan.scale.grades.index(plan.scale.relevant_from)
        # of each grade of gold: the code of the right answer, and the level
        scale = plan.scale
        answers = [scale.grades.index(scale.counts_as(grade)) for grade in scale.of_gold]
        self.answer = np.array(answers)
        self.level = np.array([level_of(plan, grade) for grade in scale.of_gold])

    def work(self, arrivals: Floats) -> tuple[Array, Floats, Floats, Floats]:
        """Their tests and batches: whose, since when, costs by item, whether it counts."""
        plan, random = self.plan, self.random
        pay, test_pay, review_pay = map(plan.pay_of, ("judge", "qualification", "review"))
        screen_pay = plan.pay.minor(plan.pay.screen_out)
        gold_share = plan.gold_per_hit / max(1, plan.hit.sets)
        asked = plan.qualification.sets if len(self.tests) else 0
        clock = arrivals.copy()
        qualified = np.full(self.number, asked == 0)
        tries, batches, failures = (np.zeros(self.number, np.int64) for _ in range(3))
        # to gold so far: missed, of so many relevant documents; false alarms, of so many others
        answers = np.zeros((self.number, 4), np.int64)
        who = np.arange(self.number)  # those who are still there
        steps: list[tuple[Array, Floats, Floats, Floats]] = []
        for step in range(MOST_STEPS):
            who = who[(step < self.willing[who]) & (batches[who] < self.load.supply)]
            if not len(who):
                break
            n, judging = len(who), qualified[who]
            leaving = random.random(n)
            leaves = (leaving >= GIVE_BACK) & (leaving < GIVE_BACK + ABANDON)
            finishes = leaving >= GIVE_BACK + ABANDON
            tested, judged = finishes & ~judging, finishes & judging
            passed = tested & self._pass_test(who, asked)
            tries[who] += tested
            qualified[who] |= passed
            fails = tested & ~passed & (tries[who] >= plan.qualification.tries)
            batches[who] += judging
            # a new worker's first batch begins with more gold
            more_gold = (plan.hit.first_gold if len(self.gold) else 0) * (batches[who] == 1)
            misses, answered = self._failed(who, more_gold)
            failed = {name: mask & judged for name, mask in misses.items()}
            answers[who] += answered * judged[:, None]
            surely_worse = judged & (good_p(*answers[who].T) <= SELDOM)
            sent_back, void, out, failures[who] = consequences(
                plan, failed, failures[who], surely_worse
            )
            valid, screened = judged & ~sent_back & ~void, out & void
            reviews = judged & (random.random(n) < plan.techniques.review_share)
            spent = {
                "judging": valid * (pay * (1 - gold_share)),
                "gold": valid * (pay * gold_share),
                "failed": (void & ~screened) * pay,
                "screened_out": screened * screen_pay,
                "tests": tested * test_pay,
                "reviews": reviews * review_pay,
            }
            amounts = np.stack([spent[item] for item in ITEMS], axis=1).astype(np.float64)
            steps.append((who, clock[who], amounts, valid.astype(np.float64)))
            sets = np.where(judging, plan.hit.sets + more_gold, asked)
            hours = sets * plan.sets.size * self.pace[who] * self.unit.mean() / 3600
            clock[who] += np.where(finishes, hours, hours * random.random(n))
            who = who[~(leaves | fails | out)]
        columns = [np.concatenate(column) for column in zip(*steps, strict=True)]
        return columns[0], columns[1], columns[2], columns[3]

    def _failed(self, who: Array, more_gold: Array) -> tuple[dict[str, Mask], Array]:
        """The checks that each would fail in a batch now, and the answers to its gold."""
        plan, random = self.plan, self.random
        at_least = plan.checks.seconds.at_least
        too_fast = np.searchsorted(self.checked, at_least / self.pace[who]) / _DRAWS
        slow_enough = (1 - too_fast) ** (plan.hit.sets + more_gold)
        failed = {"seconds": random.random(len(who)) > slow_enough}
        answers = np.zeros((len(who), 4), np.int64)
        hidden = plan.gold_per_hit + more_gold if len(self.gold) else 0 * who
        for at in range(int(hidden.max(initial=0))):
            true = self.gold[random.integers(0, len(self.gold), len(who))]
            misses, answered = self._miss(who, true)
            has = at < hidden
            answers += answered * has[:, None]
            for name, mask in misses.items():
                failed[name] = failed.get(name, False) | (mask & has)
        return failed, answers

    def _say(self, who: Array, true: Array) -> tuple[Array, Mask]:
        """What each says of gold of these grades: the grades, and whether it is relevant."""
        answer = self.answer[true]
        rows = np.take_along_axis(self.edges[who], answer[:, :, None], axis=1)
        said = (self.random.random(true.shape)[:, :, None] >= rows[:, :, :-1]).sum(axis=2)
        # "cannot tell" says the opposite of what is true
        unsure = self.random.random(said.shape) < CANNOT_TELL
        rel = self.relevant_from
        return np.asarray(said), np.where(unsure, answer < rel, said >= rel)

    def _miss(self, who: Array, true: Array) -> tuple[dict[str, Mask], Array]:
        """The checks that fail on gold sets of these grades, and the answers to them."""
        checks, there = self.plan.checks, true >= 0
        said, relevant = self._say(who, true)
        level = np.where(there, self.level[true], 0)
        row = binary_points(level)
        points = (POINTS[row, relevant.astype(np.int64)] * there).sum(axis=1)
        most = (POINTS[row, (row > 0).astype(np.int64)] * there).sum(axis=1)
        failed = {"binary": points < (checks.binary.at_least - 1e-12) * most}
        if "ndcg" in self.plan.way.checks:
            dcg, best = self._rank(said, true)
            failed["ndcg"] = (best > 0) & (dcg < (checks.ndcg.at_least - 1e-12) * best)
        good, other = there & (level > 0), there & (level == 0)
        counts = (good & ~relevant, good, other & relevant, other)
        return failed, np.stack([count.sum(axis=1) for count in counts], axis=1)

    def _rank(self, said: Array, true: Array) -> tuple[Floats, Floats]:
        """What ranks by the grades that were said gain, and what they could, of each set."""
        there = true >= 0
        level = np.where(there, self.level[true], 0)
        # equal grades by chance; what is no document comes last
        key = np.where(there, said + self.random.random(said.shape), -1.0)
        gain = np.take_along_axis(gains(level) * there, np.argsort(-key, axis=1), axis=1)
        dcg = (gain / np.log2(2.0 + np.arange(true.shape[1]))).sum(axis=1)
        kinds, kind = np.unique(np.where(there, level, -1), axis=0, return_inverse=True)
        ideal = np.array([ideal_dcg(each[each >= 0], self.plan.checks.ideal) for each in kinds])
        return dcg, ideal[kind.ravel()]

    def _pass_test(self, who: Array, asked: int) -> Mask:
        """Who would pass a test of so many sets now."""
        right, counted = np.zeros(len(who), np.int64), np.zeros(len(who), np.int64)
        score, ranked = np.zeros(len(who)), np.zeros(len(who), np.int64)
        for _ in range(asked):
            true = self.tests[self.random.integers(0, len(self.tests), len(who))]
            if self.plan.qualification.gold == "one":
                true = true[:, :1]
            said, relevant = self._say(who, true)
            agrees = relevant == (self.level[true] > 0)
            if self.plan.test_ranks():
                dcg, best = self._rank(said, true)
                score += np.divide(dcg, best, out=np.zeros(len(who)), where=best > 0)
                ranked += best > 0
            right += (agrees & (true >= 0)).sum(axis=1)
            counted += (true >= 0).sum(axis=1)
        enough = right >= (self.plan.qualification.pass_share - 1e-12) * counted
        return np.asarray(enough & (score >= (self.plan.checks.ndcg.at_least - 1e-12) * ranked))


def _padded(plan: Plan, sets: Sequence[Sequence[int]]) -> Array:
    """Sets of grades as codes of gold's scale, a row each, -1 behind the last."""
    width = max(map(len, sets), default=0)
    rows = np.full((len(sets), width), -1)
    for row, grades in zip(rows, sets, strict=True):
        row[: len(grades)] = [plan.scale.of_gold.index(grade) for grade in grades]
    return rows
