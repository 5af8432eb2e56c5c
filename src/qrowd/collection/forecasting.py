"""What a plan would cost and who would pass its checks, before anybody is asked.

refuse_unmeetable(plan, material, file)    an error at the line of what cannot be met
forecast(plan, material) -> Forecast       cost, wage, time, gold supply, passes, survivors
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path

from qrowd.collection.building import GoldRow, Material, gold_parts
from qrowd.collection.plan import Plan
from qrowd.collection.plan_reading import wrong
from qrowd.collection.sets import couples, cut
from qrowd.quality.against_gold import best_ndcg_score
from qrowd.quality.operating import WORKERS, Worker, named, outcomes

HITS = (1, 5, 10)


@dataclass(frozen=True)
class Passing:
    """How often one kind of worker passes: a batch's gold, n batches, the qualification."""

    worker: str
    batch: float
    survives: tuple[float, ...]
    qualification: float


@dataclass(frozen=True)
class Forecast:
    """What a plan comes to. Money in minor units; `hourly` per hour of work."""

    pairs: int
    topics: int
    sets: int
    judgements: int
    batches: int
    cost: int
    budget: int
    hours: float
    minutes_per_batch: float
    hourly: int
    gold_sets: int
    batches_per_worker: int | None
    workers_needed: int
    passing: tuple[Passing, ...]
    better_gold: str
    warnings: tuple[str, ...]


def set_sizes(plan: Plan, pool: Sequence[tuple[str, str]]) -> list[int]:
    """The sizes of the sets that a pool is cut into."""
    chance, topics = random.Random(0), Counter(name for name, _ in pool)
    if plan.preferences:
        parts = (couples(range(n), plan.sets.couples, chance) for n in topics.values())
    else:
        parts = (cut(range(n), plan.sets.size, chance) for n in topics.values())
    return [len(part) for each in parts for part in each]


def gold_levels(plan: Plan, rows: Sequence[GoldRow]) -> list[tuple[int, ...]]:
    """The grades of each gold set, counted from the first relevant one."""
    chance = random.Random(f"{plan.campaign.seed} gold {len(rows)}")
    return [
        tuple(sorted(_level(plan, row.grade) for row in part if row.grade is not None))
        for part in gold_parts(rows, plan.sets.size, chance)
    ]


def _level(plan: Plan, grade: int) -> int:
    return max(0, grade - plan.scale.relevant_from + 1)


# --- what cannot be met ---------------------------------------------------------------------------


def refuse_unmeetable(plan: Plan, material: Material, file: str | Path = "plan") -> None:
    """An error, at its line of the plan, for the first thing that cannot work."""
    _refuse_bad_gold(plan, "gold", material.gold, str(file))
    _refuse_bad_gold(plan, "qualification", material.qualification, str(file))
    _refuse_too_little_gold(plan, material, str(file))
    tries = plan.qualification.sets * plan.qualification.tries
    tests = gold_parts(material.qualification, plan.sets.size, random.Random(0))
    workers = plan.people.workers
    broken = (
        (not material.pool, "files", "pool", "the pool is empty"),
        (0 < workers < plan.sets.target, "sets", "target",
         f"is above the number of workers, {workers}"),
        (plan.owner and plan.hit.second_share > 0 and workers == 1, "hit", "second_share",
         "needs a second assessor"),
        (len(tests) < tries, "qualification", "sets",
         f"{plan.qualification.tries} tries of {plan.qualification.sets} sets need {tries}, "
         f"the file has {len(tests)}"),
        (plan.checks.binary.at_least > 1, "checks.binary", "at_least", "nobody can pass above 1"),
        (plan.ranked and plan.checks.ndcg.at_least > 1, "checks.ndcg", "at_least",
         "nobody can pass above 1"),
        (plan.techniques.expertise_share > 0 and not material.questions, "techniques",
         "expertise_share", "needs [files] questions"),
    )  # fmt: skip
    for found, section, key, message in broken:
        if found:
            raise wrong(plan, section, key, message, str(file), "people.workers")


def _refuse_bad_gold(plan: Plan, key: str, rows: Sequence[GoldRow], file: str) -> None:
    problem = gold_problem(plan, rows)
    if problem:
        raise wrong(plan, "files", key, problem, file)


def gold_problem(plan: Plan, rows: Sequence[GoldRow]) -> str:
    """Why these rows cannot be gold (or the qualification) of a campaign; "" if they can."""
    for row in rows:
        if row.grade is not None and row.grade not in plan.scale.grades:
            listed = " ".join(map(str, plan.scale.grades))
            return f"grade {row.grade} of {row.topic} {row.document} is not on the scale {listed}"
    return ""


def unpassable(plan: Plan, rows: Sequence[GoldRow]) -> str:
    """Why nobody could pass one of the gold sets made of these rows; "" if all can be passed."""
    if any(row.grade is None for row in rows):
        return "every gold pair needs a grade"
    for grades in gold_levels(plan, rows) if plan.ranked else ():
        best = best_ndcg_score(grades, plan.checks.ideal)
        if not best >= plan.checks.ndcg.at_least:
            reason = (
                "has no relevant document" if math.isnan(best) else f"reaches {best:.3f} at best"
            )
            return f"nobody can pass the NDCG check: gold set {named(grades)} {reason}"
    return ""


def _refuse_too_little_gold(plan: Plan, material: Material, file: str) -> None:
    if not plan.gold_per_hit:
        return
    found = gold_levels(plan, material.gold)
    first = plan.gold_per_hit + plan.hit.first_gold
    if len(found) < first:
        message = f"a batch needs {first} gold sets, the gold has {len(found)}"
        raise wrong(plan, "files" if plan.files.gold else "hit", "gold", message, file)
    problem = unpassable(plan, material.gold)
    if problem:
        raise wrong(plan, "files", "gold", problem, file)
    needed, each = _batches(plan, material), len(found) // plan.gold_per_hit
    if plan.people.workers and needed > each * plan.people.workers:
        message = f"{len(found)} gold sets let {plan.people.workers} workers do "
        message += f"{each * plan.people.workers:,} batches, {needed:,} are needed"
        raise wrong(plan, "files", "gold", message, file)


# --- cost, time, supply ---------------------------------------------------------------------------


def _batches(plan: Plan, material: Material) -> int:
    if plan.owner:
        return len({name for name, _ in material.pool})
    counted = len(set_sizes(plan, material.pool)) * plan.sets.target
    return math.ceil(counted / (plan.hit.sets - plan.gold_per_hit))


def forecast(plan: Plan, material: Material) -> Forecast:
    """What a plan comes to."""
    sizes, gold = set_sizes(plan, material.pool), gold_levels(plan, material.gold)
    batches, hidden = _batches(plan, material), plan.gold_per_hit
    judgements = sum(sizes) * plan.sets.target
    gold_size = sum(map(len, gold)) / len(gold) if gold else 0.0
    documents = (judgements + batches * hidden * gold_size) / max(1, batches)
    minutes = plan.seconds_of(1) * documents / 60
    pay = plan.pay.minor(plan.pay.hit)
    each = len(gold) // hidden if hidden else None
    return Forecast(
        pairs=len(set(material.pool)),
        topics=len({name for name, _ in material.pool}),
        sets=len(sizes),
        judgements=judgements,
        batches=batches,
        cost=batches * pay,
        budget=plan.pay.minor(plan.pay.budget),
        hours=minutes * batches / 60,
        minutes_per_batch=minutes,
        hourly=round(pay / minutes * 60) if minutes else 0,
        gold_sets=len(gold),
        batches_per_worker=each,
        workers_needed=max(plan.sets.target, math.ceil(batches / each) if each else 1),
        passing=passing(plan, gold, material.qualification) if hidden and gold else (),
        better_gold=better_gold(plan, gold) if hidden and gold else "",
        warnings=tuple(_warnings(plan, material, sizes, gold, batches * pay)),
    )


def _warnings(
    plan: Plan, material: Material, sizes: list[int], gold: list[tuple[int, ...]], cost: int
) -> list[str]:
    topics = {name for name, _ in material.pool}
    strange = sorted({row.topic for row in material.gold} - topics)
    odd = sorted({len(one) for one in gold} - set(sizes))
    alone = [name for name, n in Counter(name for name, _ in material.pool).items() if n < 2]
    found = []
    if plan.preferences and alone:
        found.append(f"topic {min(alone)} has one document: there is nothing to compare it with")
    if cost > plan.pay.minor(plan.pay.budget):
        found.append(f"the budget ends before the target is reached: {plan.pay.shown(cost)} needed")
    if strange and plan.gold_per_hit:
        found.append(f"topic {strange[0]} has gold and no pool: workers can tell its sets as gold")
    if odd and plan.gold_per_hit:
        found.append(f"gold sets of {odd[0]} documents can be told by their size; pool sets have "
                     + " or ".join(map(str, sorted(set(sizes)))))  # fmt: skip
    return found


# --- who passes -----------------------------------------------------------------------------------


def passes(plan: Plan, grades: tuple[int, ...], worker: Worker) -> float:
    """How often a worker passes the gold checks of a set with these grades."""
    found = outcomes(grades, worker, ideal=plan.checks.ideal)
    ndcg = plan.checks.ndcg.at_least if plan.ranked else -math.inf
    bounds = {
        "binary": -math.inf if plan.checks.binary.action == "none" else plan.checks.binary.at_least,
        "ndcg": -math.inf if plan.checks.ndcg.action == "none" else ndcg,
    }
    return found.passing(**bounds)


def passing(
    plan: Plan, gold: Sequence[tuple[int, ...]], tests: Sequence[GoldRow] = ()
) -> tuple[Passing, ...]:
    """How often each kind of worker passes a batch, outlives several, and qualifies."""
    kinds, rows = Counter(gold), []
    for worker in WORKERS:
        one = sum(passes(plan, grades, worker) * n for grades, n in kinds.items()) / len(gold)
        batch = one**plan.gold_per_hit
        survives = tuple(_survives(plan, batch, hits) for hits in HITS)
        rows.append(Passing(worker.name, batch, survives, qualifies(plan, tests, worker)))
    return tuple(rows)


def _survives(plan: Plan, batch: float, hits: int) -> float:
    """The chance to fail fewer of so many batches than screen a worker out."""
    most = min(plan.checks.screen_out_after - 1, hits)
    return sum(math.comb(hits, n) * (1 - batch) ** n * batch ** (hits - n) for n in range(most + 1))


def qualifies(plan: Plan, tests: Sequence[GoldRow], worker: Worker) -> float:
    """The chance to pass the qualification within its tries; 1 without one."""
    counted = [row for row in tests if row.grade is not None]
    if not plan.qualification.sets or not counted:
        return 1.0
    relevant = sum(_level(plan, row.grade or 0) > 0 for row in counted) / len(counted)
    right = relevant * worker.hit + (1 - relevant) * (1 - worker.false_alarm)
    per_set = 1 if plan.qualification.gold == "one" else plan.sets.size
    asked = plan.qualification.sets * per_set
    least = math.ceil(plan.qualification.pass_share * asked - 1e-9)
    one = sum(math.comb(asked, n) * right**n * (1 - right) ** (asked - n)
              for n in range(least, asked + 1))  # fmt: skip
    return 1 - (1 - one) ** plan.qualification.tries


def better_gold(plan: Plan, gold: Sequence[tuple[int, ...]]) -> str:
    """The grades of a gold set that parts good workers from the others best, if not in use."""
    size = max(map(len, gold))
    levels = range(min(3, len(plan.scale.grades)))
    if size > 8:
        return ""

    def margin(grades: tuple[int, ...]) -> float:
        good, *others = (passes(plan, grades, worker) for worker in WORKERS)
        return good - max(others[1:])  # the sloppy are not spammers

    found = max(combinations_with_replacement(levels, size), key=margin)
    worst = min(margin(grades) for grades in set(gold))
    return "" if worst >= margin(found) - 1e-9 else named(found)
