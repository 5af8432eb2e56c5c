"""Who passes a plan's checks: how often each kind of worker does, and what the rest is worth."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations_with_replacement, product
from typing import NamedTuple

import numpy as np

from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.rows import GoldRow, gold_parts
from qrowd.collection.plan.sections import SURELY, Check, Plan
from qrowd.data.arrays import Array, Floats, Mask
from qrowd.quality.against_gold import SURELY as SELDOM
from qrowd.quality.against_gold import log_ratios, p_of_ratios
from qrowd.quality.pass_chances import WORKERS, Worker, named, outcomes
from qrowd.rendering import percent, spaced_percent
from qrowd.texts import Text, listed

HITS = (1, 5, 10)
GOLD_CHECKS = ("binary", "ndcg")
ENDING = frozenset({"screen-out", SURELY, "stop"})  # actions that may end a worker's part
# who comes, as `qrowd simulate` has it by default: kinds of workers and their shares
CROWD = {
    "good": 0.5,
    "sloppy": 0.34,
    "random": 0.08,
    "always relevant": 0.04,
    "always irrelevant": 0.04,
    "fast": 0.0,  # nobody is taken to come for that
}
PREVALENCE = 0.3  # the share of relevant documents
SPAMMERS = ("random", "always relevant", "always irrelevant")
MOST, DRAWS = 10_000, 20_000  # cases that are gone through, and how many are drawn beyond
FAST = "fast"  # who guesses, in less time than the plan asks for


class Batch(NamedTuple):
    """What a batch can come to: checks that fail; documents missed of how many relevant ones, false
    alarms of how many others.
    """

    failed: frozenset[str] = frozenset()
    missed: int = 0
    relevant: int = 0
    false_alarms: int = 0
    other: int = 0

    def with_set(self, more: Batch) -> Batch:
        """The same with one more gold set."""
        sums = (a + b for a, b in zip(self[1:], more[1:], strict=True))
        return Batch(self.failed | more.failed, *sums)


@dataclass(frozen=True)
class Passing:
    """How often one kind of worker passes: a batch's gold, n batches, the qualification.

    `stays` is the share that still gets batches after 1, 2, ... of them, `survives` after `HITS`.
    """

    worker: str
    batch: float
    survives: tuple[float, ...]
    stays: tuple[float, ...]
    qualification: float

    @property
    def kind(self) -> Text:
        """What that kind of worker is called."""
        return Text(f"office.crowd.{self.worker.replace(' ', '-')}")


def level_of(plan: Plan, grade: int) -> int:
    """A grade of gold counted from the first relevant one; 0: not relevant."""
    return max(0, grade - plan.scale.gold_relevant_from + 1)


def gold_words(plan: Plan) -> Text | None:
    """Which grades of gold count as which answer; None where they are the same."""
    scale = plan.scale
    if not scale.gold_grades:
        return None
    by_answer: dict[int, list[int]] = defaultdict(list)
    for grade in scale.gold_grades:
        by_answer[scale.counts_as(grade)].append(grade)
    parts = [
        Text("office.gold.counts", n=len(grades), grades=listed(grades), answer=scale.names[answer])
        for answer, grades in by_answer.items()
    ]
    together = reduce(
        lambda rest, first: Text("office.gold.then", first=first, rest=rest), parts[::-1]
    )
    return Text("office.gold.counts-as", parts=together)


_outcomes = lru_cache(maxsize=1024)(outcomes)


def passes(
    plan: Plan, grades: tuple[int, ...], worker: Worker, checks: Iterable[str] = ()
) -> float:
    """How often a worker passes the gold checks of a set with these grades; all, or some."""
    bounds = {
        name: check.at_least
        for name, check in gold_checks(plan).items()
        if check.action != "none" and name in (checks or GOLD_CHECKS)
    }
    return _outcomes(grades, worker, ideal=plan.checks.ideal).passing(**bounds)


def gold_checks(plan: Plan) -> dict[str, Check]:
    """The checks on gold that batches go through."""
    return {name: check for name, check in plan.used_checks.items() if name in GOLD_CHECKS}


def passing(
    plan: Plan, gold: Sequence[tuple[int, ...]], tests: Sequence[GoldRow] = ()
) -> tuple[Passing, ...]:
    """How often each kind of worker passes a batch, outlives several, and qualifies."""
    kinds, rows = Counter(gold), []

    def in_batch(worker: Worker, *checks: str) -> float:
        total = sum(passes(plan, grades, worker, checks) * n for grades, n in kinds.items())
        return float(total / len(gold)) ** plan.gold_per_hit

    for worker in WORKERS:
        chances = batches(plan, gold, worker)
        qualified = qualifies(plan, tests, worker)
        rows.append(_row(plan, worker.name, in_batch(worker), chances, qualified))
        if worker.name == "random" and plan.checks.seconds.at_least > 0:
            too_fast = Batch(frozenset({"seconds"}))
            fast = {batch.with_set(too_fast): p for batch, p in chances.items()}
            if plan.checks.seconds.action != "none":
                rows.append(_row(plan, FAST, 0.0, fast, qualified))
    return tuple(rows)


def _row(
    plan: Plan, name: str, batch: float, chances: Mapping[Batch, float], qualified: float
) -> Passing:
    stays = survival(plan, chances, HITS[-1])
    return Passing(name, batch, tuple(stays[hits - 1] for hits in HITS), stays, qualified)


def batches(plan: Plan, gold: Sequence[tuple[int, ...]], worker: Worker) -> dict[Batch, float]:
    """What a batch with gold sets of these grades can come to for a worker, and how often."""
    bounds = {name: check.at_least for name, check in gold_checks(plan).items()}
    one: dict[Batch, float] = defaultdict(float)
    for grades, n in Counter(gold).items():
        relevant = sum(grade > 0 for grade in grades)
        chances = _outcomes(grades, worker, ideal=plan.checks.ideal).joint(**bounds)
        for (failed, missed, alarms), p in chances.items():
            batch = Batch(failed, missed, relevant, alarms, len(grades) - relevant)
            one[batch] += p * n / len(gold)
    several = {Batch(): 1.0}
    for _ in range(plan.gold_per_hit):
        longer: dict[Batch, float] = defaultdict(float)
        for (batch, share), (more, p) in product(several.items(), one.items()):
            longer[batch.with_set(more)] += share * p
        several = dict(longer)
    return several


def screens(plan: Plan) -> bool:
    """Whether a check can end a worker's part in the campaign."""
    return any(plan.acts(action) for action in ENDING)


def found_out(plan: Plan, rows: Sequence[Passing]) -> Text | None:
    """What `screen-out-surely` comes to with this gold; None where no check does it."""
    if not plan.acts(SURELY) or not rows:
        return None
    out = {row.worker: [spaced_percent(1 - share, 1) for share in row.stays] for row in rows}
    shares = {"good": out["good"][9], "random": out["random"][7]}
    if FAST not in out:
        return Text("office.passing.surely", **shares)
    return Text("office.passing.surely.fast", **shares, fast=out[FAST][4])


def nobody_leaves(plan: Plan) -> Text | None:
    """What to say where a worker stays, however many batches fail by their gold."""
    actions = {check.action for check in gold_checks(plan).values()}
    if not actions or actions & ENDING:
        return None
    return Text(f"office.passing.stay.{actions.pop() if len(actions) == 1 else 'mixed'}")


def consequences(
    plan: Plan, failed: Mapping[str, Mask], failures: Array, surely_worse: Mask
) -> tuple[Mask, Mask, Mask, Array]:
    """What the end of a batch does, as `judging.submission` has it, of many batches at once.

    Whether it is sent back, whether it is paid and does not count, whether the worker is screened
    out (or stopped) with it, and how many batches have failed by now. `surely_worse` are those
    whose answers to gold so far are surely worse than a good worker's.
    """

    def acted(action: str) -> Mask:
        masks = [failed[name] for name in failed if getattr(plan.checks, name).action == action]
        return np.logical_or.reduce(masks) if masks else np.zeros(len(failures), bool)

    sent_back = acted("return")
    screening = acted("screen-out") & ~sent_back
    void = (acted("exclude") | screening) & ~sent_back
    failures = failures + (sent_back | void)
    screened = screening & (failures >= plan.checks.screen_out_after)
    screened |= surely_worse & ~sent_back & plan.acts(SURELY)
    void |= screened | (acted(SURELY) & ~sent_back)
    stopped = acted("stop") & ~void & ~sent_back
    return sent_back, void, screened | stopped, failures


def survival(plan: Plan, batch: Mapping[Batch, float], hits: int) -> tuple[float, ...]:
    """Who still gets batches after 1, 2, ... of them, under what the plan does to failed checks."""
    chance = np.array(list(batch.values()))
    fails = {name: np.array([name in each.failed for each in batch]) for name in plan.used_checks}
    ratios = np.array([log_ratios(*each[1:]) for each in batch]) * float(plan.acts(SURELY))
    # those still there: their share, how many of their batches failed, what speaks against them
    share: Floats = np.ones(1)
    failed, against = np.zeros(1), np.zeros((1, ratios.shape[1]))
    stays, gone, draws = [], 0.0, np.random.default_rng(0)
    for _ in range(hits):
        if len(share) * len(chance) <= MOST:
            state, result = np.indices((len(share), len(chance))).reshape(2, -1)
            p = share[state] * chance[result]
        else:  # too many cases, with gold sets of many kinds: a sample of them
            state = draws.choice(len(share), DRAWS, p=share / share.sum())
            result = draws.choice(len(chance), DRAWS, p=chance / chance.sum())
            p = np.full(DRAWS, share.sum() / DRAWS)
        against = against[state] + ratios[result]
        now = {name: mask[result] for name, mask in fails.items()}
        worse = p_of_ratios(against) <= SELDOM
        _, _, out, failed = consequences(plan, now, failed[state], worse)
        failed = np.minimum(failed, plan.checks.screen_out_after)  # more of them say no more
        gone += p[out].sum()
        stays.append(float(1 - gone))
        share, rows = p[~out], np.column_stack([failed, against])[~out]
        if len(p) != DRAWS:  # alike are those whom the same batches would send away
            rows, row = np.unique(rows.round(6), axis=0, return_inverse=True)
            share = np.bincount(row.ravel(), share, len(rows)).astype(np.float64)
        failed, against = rows[:, 0], rows[:, 1:]
    return tuple(stays)


def qualifies(plan: Plan, tests: Sequence[GoldRow], worker: Worker) -> float:
    """The chance to pass the qualification within its tries; 1 without one."""
    counted = [row for row in tests if row.grade is not None]
    if not plan.qualification.sets or not counted:
        return 1.0
    if plan.test_ranks():
        return _qualifies_ranked(plan, counted, worker)
    relevant = sum(level_of(plan, row.grade or 0) > 0 for row in counted) / len(counted)
    right = relevant * worker.hit + (1 - relevant) * (1 - worker.false_alarm)
    per_set = 1 if plan.qualification.gold == "one" else plan.sets.size
    first_try = _enough(plan, [right] * plan.qualification.sets * per_set)
    return 1 - (1 - first_try) ** plan.qualification.tries


def _qualifies_ranked(plan: Plan, tests: Sequence[GoldRow], worker: Worker) -> float:
    """The same where the ranks of its sets count: each try has the next sets of the file."""
    sets, fails = plan.qualification.sets, 1.0
    parts = gold_parts(tests, plan.sets.size, random.Random(0))
    levels = [tuple(sorted(level_of(plan, row.grade or 0) for row in part)) for part in parts]
    for start in range(0, sets * plan.qualification.tries, sets):
        test = levels[start : start + sets] or levels[:sets]
        fails *= 1 - passes_test(plan, test, worker, ranked=any(map(any, test)))
    return 1 - fails


def passes_test(
    plan: Plan, test: Sequence[tuple[int, ...]], worker: Worker, *, ranked: bool
) -> float:
    """The chance to pass one certain test: the levels of what counts in each of its sets.

    Where it is `ranked`, the mean of the sets' NDCG scores must reach the plan's bound, too.
    """
    if not ranked:
        says = [
            worker.hit if level > 0 else 1 - worker.false_alarm for each in test for level in each
        ]
        return _enough(plan, says)
    draws = np.random.default_rng(0)
    right, scores = np.zeros(DRAWS), []
    for levels in test:
        cases = _outcomes(levels, worker, ideal=plan.checks.ideal)
        drawn = draws.choice(len(cases.p), DRAWS, p=cases.p / cases.p.sum())
        right += cases.accuracy[drawn] * len(levels)
        if any(levels):  # without a positive grade there is no score
            scores.append(cases.ndcg[drawn])
    enough = right >= plan.qualification.pass_share * sum(map(len, test)) - 1e-9
    return float((enough & (np.mean(scores, axis=0) >= plan.checks.ndcg.at_least - 1e-12)).mean())


def _enough(plan: Plan, chances: Sequence[float]) -> float:
    """The chance that so many pairs are right as the qualification asks for."""
    number: Floats = np.ones(1)  # of right ones so far: how likely each number is
    for chance in chances:
        number = np.convolve(number, [1 - chance, chance])
    least = math.ceil(plan.qualification.pass_share * len(chances) - 1e-9)
    return float(number[least:].sum())


def better_gold(plan: Plan, gold: Sequence[tuple[int, ...]]) -> str:
    """The grades of a gold set that parts good workers from the others best, if not in use."""
    size = max(map(len, gold))
    levels = range(min(3, len(plan.scale.of_gold)))
    if size > 8:
        return ""
    best = max(combinations_with_replacement(levels, size), key=lambda each: margin(plan, each))
    worst = min(margin(plan, grades) for grades in set(gold))
    # where no check has a consequence, everybody passes every gold set, and none is any better
    return "" if max(worst, 0.0) >= margin(plan, best) - 1e-9 else named(best)


def margin(plan: Plan, grades: tuple[int, ...]) -> float:
    """How much oftener a good worker passes a gold set than the luckiest spammer."""
    good, *others = (passes(plan, grades, worker) for worker in WORKERS)
    return good - max(others[1:])  # the sloppy are not spammers


# --- what that means for a plan -------------------------------------------------------------------


def useless(rows: Sequence[Passing]) -> Iterator[Complaint]:
    """What to say where gold tells nobody apart."""
    good = next((row.batch for row in rows if row.worker == "good"), 0.0)
    spammers = [row for row in rows if row.worker in SPAMMERS]
    # who passes batch by batch may be found out over several, and be out
    stay = [row for row in spammers if row.survives[-1] > 0.5]
    worst = max(stay, key=lambda row: row.batch, default=None)
    if worst is not None and worst.batch >= min(0.9, good):
        shares = {"share": percent(worst.batch), "good": percent(good)}
        yield Complaint.of("files.gold", "office.plan.gold.useless", worker=worst.kind, **shares)


def majority_accuracy(plan: Plan, rows: Sequence[Passing]) -> float:
    """How many documents the majority of the target's judgements gets right, of `CROWD`.

    Workers' answers count as often as they pass: what fails a check is void. A tie is half right.
    """
    # how much of what counts comes from each kind of worker
    void = plan.checks.binary.action not in ("none", "stop")
    passed = {row.worker: row.batch * row.qualification for row in rows} if void else {}
    weight = {name: each * passed.get(name, 1.0) for name, each in CROWD.items()}
    total = sum(weight.values()) or 1.0
    share = {name: each / total for name, each in weight.items()}
    hit = sum(share[worker.name] * worker.hit for worker in WORKERS)
    reject = sum(share[worker.name] * (1 - worker.false_alarm) for worker in WORKERS)
    relevant, not_relevant = (_majority(plan.sets.target, right) for right in (hit, reject))
    return PREVALENCE * relevant + (1 - PREVALENCE) * not_relevant


def _majority(n: int, right: float) -> float:
    """How often more than half of n votes are right; half of a tie."""
    if right in (0.0, 1.0):
        return right
    chance = [  # by logarithms: a target may be a thousand
        math.exp(
            math.lgamma(n + 1)
            - math.lgamma(k + 1)
            - math.lgamma(n - k + 1)
            + k * math.log(right)
            + (n - k) * math.log1p(-right)
        )
        for k in range(n // 2, n + 1)
    ]
    return min(1.0, sum(chance[1:]) + (0.0 if n % 2 else chance[0] / 2))
