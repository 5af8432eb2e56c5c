"""Who passes a plan's checks: how often each kind of worker does, and what the rest is worth."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.rows import GoldRow
from qrowd.collection.plan.sections import Check, Plan
from qrowd.quality.pass_chances import WORKERS, Worker, named, outcomes
from qrowd.rendering import percent
from qrowd.texts import Text

HITS = (1, 5, 10)
GOLD_CHECKS = ("binary", "ndcg")
# who comes, as `qrowd simulate` has it by default: kinds of workers and their shares
CROWD = {
    "good": 0.5,
    "sloppy": 0.34,
    "random": 0.08,
    "always relevant": 0.04,
    "always irrelevant": 0.04,
}
PREVALENCE = 0.3  # the share of relevant documents
SPAMMERS = ("random", "always relevant", "always irrelevant")


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
    """A grade counted from the first relevant one; 0: not relevant."""
    return max(0, grade - plan.scale.relevant_from + 1)


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
    """The checks on gold that apply to the way of judging."""
    return {name: getattr(plan.checks, name) for name in GOLD_CHECKS if name in plan.way.checks}


def passing(
    plan: Plan, gold: Sequence[tuple[int, ...]], tests: Sequence[GoldRow] = ()
) -> tuple[Passing, ...]:
    """How often each kind of worker passes a batch, outlives several, and qualifies."""
    kinds, rows = Counter(gold), []

    def in_batch(worker: Worker, *checks: str) -> float:
        total = sum(passes(plan, grades, worker, checks) * n for grades, n in kinds.items())
        return float(total / len(gold)) ** plan.gold_per_hit

    for worker in WORKERS:
        batch = in_batch(worker)
        each = {name: in_batch(worker, name) for name in gold_checks(plan)}
        stays = survival(plan, _failures(each, batch), HITS[-1])
        survives = tuple(stays[hits - 1] for hits in HITS)
        qualified = qualifies(plan, tests, worker)
        rows.append(Passing(worker.name, batch, survives, stays, qualified))
    return tuple(rows)


def _failures(each: Mapping[str, float], both: float) -> dict[frozenset[str], float]:
    """How often exactly these checks fail in a batch, from how often each, and all, are passed."""
    if len(each) == 1:
        return {frozenset(each): 1 - both}
    first, second = each
    return {
        frozenset({first}): each[second] - both,
        frozenset({second}): each[first] - both,
        frozenset(each): 1 - each[first] - each[second] + both,
    }


def screens(plan: Plan) -> bool:
    """Whether a worker can be screened out, or get no more batches, for missing gold."""
    return any(check.action in ("screen-out", "stop") for check in gold_checks(plan).values())


def nobody_leaves(plan: Plan) -> Text | None:
    """What to say instead of who is left where a worker stays, however many batches fail."""
    if screens(plan):
        return None
    actions = {check.action for check in gold_checks(plan).values()}
    return Text(f"office.passing.stay.{actions.pop() if len(actions) == 1 else 'mixed'}")


def survival(plan: Plan, failures: Mapping[frozenset[str], float], hits: int) -> tuple[float, ...]:
    """Who still gets batches after 1, 2, ... of them, under what the plan does to failed checks.

    As a batch's end has it: one that is sent back counts as failed, and nothing else follows; one
    that is excluded or screened out counts, too, and the worker is out if so many have failed; who
    is to be stopped is, unless that batch is void anyway.
    """
    counts = screened = stopped = 0.0
    for names, share in failures.items():
        actions = {gold_checks(plan)[name].action for name in names}
        if "screen-out" in actions and "return" not in actions:
            screened += share
        elif actions & {"return", "exclude"}:
            counts += share
        elif "stop" in actions:
            stopped += share
    after = plan.checks.screen_out_after
    failed = [1.0] + [0.0] * after  # those still there, by how many of their batches failed
    gone, stays = 0.0, []
    for _ in range(hits):
        before, rest = failed, 1 - counts - screened - stopped
        failed = [share * rest for share in before]
        for number, share in enumerate(before):
            is_out = number + 1 >= after
            failed[min(number + 1, after)] += share * (counts + (0 if is_out else screened))
            gone += share * (stopped + (screened if is_out else 0))
        stays.append(1 - gone)
    return tuple(stays)


def qualifies(plan: Plan, tests: Sequence[GoldRow], worker: Worker) -> float:
    """The chance to pass the qualification within its tries; 1 without one."""
    counted = [row for row in tests if row.grade is not None]
    if not plan.qualification.sets or not counted:
        return 1.0
    relevant = sum(level_of(plan, row.grade or 0) > 0 for row in counted) / len(counted)
    right = relevant * worker.hit + (1 - relevant) * (1 - worker.false_alarm)
    per_set = 1 if plan.qualification.gold == "one" else plan.sets.size
    asked = plan.qualification.sets * per_set
    least = math.ceil(plan.qualification.pass_share * asked - 1e-9)
    first_try = sum(
        math.comb(asked, n) * right**n * (1 - right) ** (asked - n) for n in range(least, asked + 1)
    )
    return 1 - (1 - first_try) ** plan.qualification.tries


def better_gold(plan: Plan, gold: Sequence[tuple[int, ...]]) -> str:
    """The grades of a gold set that parts good workers from the others best, if not in use."""
    size = max(map(len, gold))
    levels = range(min(3, len(plan.scale.grades)))
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
    worst = max(spammers, key=lambda row: row.batch, default=None)
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
