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
from pathlib import Path

from qrowd.collection.plan.pass_rates import (
    Passing,
    accepted_share,
    better_gold,
    level_of,
    majority_accuracy,
    passing,
    tests_per_worker,
    useless,
)
from qrowd.collection.plan.rows import GoldRow, Material, couples, cut, gold_parts
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import wrong
from qrowd.quality.against_gold import best_ndcg_score
from qrowd.quality.pass_chances import named


@dataclass(frozen=True)
class Forecast:
    """What a plan comes to. Money in minor units; `hourly` per hour of work.

    `likely_cost` also has the qualifications, and the batches that fail a check, are paid and are
    done again; `accuracy` is that of a majority over all documents, relevant or not. Both assume
    the crowd of `CROWD`.
    """

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
    likely_cost: int
    accuracy: float
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
        tuple(sorted(level_of(plan, row.grade) for row in part if row.grade is not None))
        for part in gold_parts(rows, plan.sets.size, chance)
    ]


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
        (
            0 < workers < plan.sets.target,
            "sets",
            "target",
            f"is above the number of workers, {workers}",
        ),
        (
            plan.owner and plan.hit.second_share > 0 and workers == 1,
            "hit",
            "second_share",
            "needs a second assessor",
        ),
        (
            len(tests) < tries,
            "qualification",
            "sets",
            f"{plan.qualification.tries} tries of {plan.qualification.sets} sets need {tries}, "
            f"the file has {len(tests)}",
        ),
        (plan.checks.binary.at_least > 1, "checks.binary", "at_least", "nobody can pass above 1"),
        (
            plan.ranked and plan.checks.ndcg.at_least > 1,
            "checks.ndcg",
            "at_least",
            "nobody can pass above 1",
        ),
        (
            plan.techniques.expertise_share > 0 and not material.questions,
            "techniques",
            "expertise_share",
            "needs [files] questions",
        ),
    )
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
    wanted = len(set_sizes(plan, counted(material))) * plan.sets.target
    return math.ceil(wanted / max(1, plan.hit.sets - plan.gold_per_hit))


def forecast(plan: Plan, material: Material) -> Forecast:
    """What a plan comes to."""
    sizes, gold = set_sizes(plan, counted(material)), gold_levels(plan, material.gold)
    batches, hidden = _batches(plan, material), plan.gold_per_hit
    judgements = sum(sizes) * plan.sets.target
    gold_size = sum(map(len, gold)) / len(gold) if gold else 0.0
    documents = (judgements + batches * hidden * gold_size) / max(1, batches)
    minutes = plan.seconds_of(1) * documents / 60
    pay = plan.pay.minor(plan.pay.hit)
    each = len(gold) // hidden if hidden else None
    rows = passing(plan, gold, material.qualification) if hidden and gold else ()
    workers = max(plan.sets.target, math.ceil(batches / each) if each else 1)
    tests = workers * tests_per_worker(plan, material.qualification)
    done_again = batches * pay / accepted_share(plan, rows)
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
        likely_cost=round(done_again + tests * plan.pay_of("qualification")),
        accuracy=majority_accuracy(plan, rows),
        gold_sets=len(gold),
        batches_per_worker=each,
        workers_needed=workers,
        passing=rows,
        better_gold=better_gold(plan, gold) if hidden and gold else "",
        warnings=(*_warnings(plan, material, sizes, gold, batches * pay), *useless(rows)),
    )


def counted(material: Material) -> list[tuple[str, str]]:
    """The pool without gold: gold pairs are in no counted set."""
    used = {(row.topic, row.document) for row in (*material.gold, *material.qualification)}
    return [pair for pair in material.pool if pair not in used]


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
        found.append(
            f"gold sets of {odd[0]} documents can be told by their size; pool sets have "
            + " or ".join(map(str, sorted(set(sizes))))
        )
    return found
