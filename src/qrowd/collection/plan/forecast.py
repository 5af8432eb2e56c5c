"""What a plan would cost and who would pass its checks, before anybody is asked.

refuse_unmeetable(plan, rows, file)    an error at the line of what cannot be met
forecast(plan, rows) -> Forecast       cost, wage, time, gold supply, passes, survivors
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from qrowd.collection.plan import pass_rates
from qrowd.collection.plan.gold_sets import Sizes, cut_gold, pool_sizes
from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.rows import CampaignRows, GoldRow, Pair, gold_parts
from qrowd.collection.plan.sections import Plan
from qrowd.quality.against_gold import best_ndcg_score
from qrowd.quality.pass_chances import named
from qrowd.texts import Text


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
    passing: tuple[pass_rates.Passing, ...]
    better_gold: str
    warnings: tuple[Complaint, ...]


def set_sizes(plan: Plan, pool: Sequence[Pair]) -> list[int]:
    """The sizes of the sets that a pool is cut into."""
    return [size for sizes in pool_sizes(plan, pool).values() for size in sizes.elements()]


def gold_levels(plan: Plan, rows: Sequence[GoldRow], sizes: Sizes) -> list[tuple[int, ...]]:
    """The grades of each gold set, counted from the first relevant one."""
    return [
        tuple(sorted(pass_rates.level_of(plan, row.grade) for row in part if row.grade is not None))
        for part in cut_gold(plan, rows, sizes)[0]
    ]


def sizes_of(plan: Plan, rows: CampaignRows) -> Sizes:
    """The sizes of the pool's sets that gold is hidden among; none where no gold is hidden."""
    return pool_sizes(plan, counted(rows)) if plan.gold_per_hit else {}


def counted(rows: CampaignRows) -> list[Pair]:
    """The pool without gold: gold pairs are in no counted set."""
    used = {row.pair for row in (*rows.gold, *rows.qualification)}
    return [pair for pair in rows.pool if pair not in used]


# --- what cannot be met ---------------------------------------------------------------------------


def refuse_unmeetable(plan: Plan, rows: CampaignRows, file: str | Path = "plan") -> None:
    """An error, at its line of the plan, for the first thing that cannot work."""
    for complaint in unmeetable(plan, rows):
        raise complaint.error(plan, file)


def unmeetable(plan: Plan, rows: CampaignRows) -> Iterator[Complaint]:
    """What a plan asks for that its files, or nobody, can give."""
    for key, graded in (("gold", rows.gold), ("qualification", rows.qualification)):
        if problem := gold_problem(plan, graded):
            yield Complaint("files", key, problem)
    if plan.gold_per_hit:
        yield from _too_little_gold(plan, rows)
    unmet = partial(Complaint.of, because="people.workers")
    if not rows.pool:
        yield unmet("files.pool", "office.plan.pool.empty")
    workers = plan.people.workers
    if 0 < workers < plan.sets.target:
        yield unmet("sets.target", "office.plan.target.workers", workers=workers)
    if plan.owner and plan.hit.second_share > 0 and workers == 1:
        yield unmet("hit.second_share", "office.plan.second-share")
    test = plan.qualification
    sets = len(gold_parts(rows.qualification, plan.sets.size, random.Random(0)))
    if sets < test.sets * test.tries:
        asked = {"tries": test.tries, "sets": test.sets, "needed": test.sets * test.tries}
        message = Text("office.plan.qualification.sets", **asked, there=sets)
        yield Complaint("qualification", "sets", message, because="people.workers")
    if plan.checks.binary.at_least > 1:
        yield unmet("checks.binary.at_least", "office.plan.above-one")
    if "ndcg" in plan.way.checks and plan.checks.ndcg.at_least > 1:
        yield unmet("checks.ndcg.at_least", "office.plan.above-one")
    if plan.techniques.expertise_share > 0 and not rows.questions:
        yield unmet("techniques.expertise_share", "office.plan.questions")


def _too_little_gold(plan: Plan, rows: CampaignRows) -> Iterator[Complaint]:
    sets = len(gold_levels(plan, rows.gold, sizes_of(plan, rows)))
    first = plan.gold_per_hit + plan.hit.first_gold
    if sets < first:
        key = "files.gold" if plan.files.gold else "hit.gold"
        yield Complaint.of(key, "office.plan.gold.few", needed=first, there=sets)
    if problem := unpassable(plan, rows.gold, sizes_of(plan, rows)):
        yield Complaint("files", "gold", problem)
    workers, needed = plan.people.workers, _batches(plan, rows)
    possible = sets // plan.gold_per_hit * workers
    if workers and needed > possible:
        figures = {"sets": sets, "workers": workers, "possible": possible, "needed": needed}
        yield Complaint("files", "gold", Text("office.plan.gold.workers", **figures))


def gold_problem(plan: Plan, rows: Sequence[GoldRow]) -> Text | None:
    """Why these rows cannot be gold (or the qualification) of a campaign; None if they can."""
    for row in rows:
        if row.grade is not None and row.grade not in plan.scale.grades:
            scale, pair = " ".join(map(str, plan.scale.grades)), " ".join(row.pair)
            return Text("office.plan.gold.scale", grade=row.grade, pair=pair, scale=scale)
    return None


def unpassable(plan: Plan, rows: Sequence[GoldRow], sizes: Sizes) -> Text | None:
    """Why nobody could pass one of the gold sets made of these rows; None if all can be passed."""
    if any(row.grade is None for row in rows):
        return Text("office.plan.gold.ungraded")
    for grades in gold_levels(plan, rows, sizes) if "ndcg" in plan.way.checks else ():
        best = best_ndcg_score(grades, plan.checks.ideal)
        if not best >= plan.checks.ndcg.at_least:
            if math.isnan(best):
                return Text("office.plan.ndcg.irrelevant", grades=named(grades))
            return Text("office.plan.ndcg.best", grades=named(grades), best=f"{best:.3f}")
    return None


# --- cost, time, supply ---------------------------------------------------------------------------


def _batches(plan: Plan, rows: CampaignRows) -> int:
    if plan.owner:
        return len({name for name, _ in rows.pool})
    wanted = len(set_sizes(plan, counted(rows))) * plan.sets.target
    return math.ceil(wanted / max(1, plan.counted_per_hit))


def forecast(plan: Plan, rows: CampaignRows) -> Forecast:
    """What a plan comes to."""
    sizes = set_sizes(plan, counted(rows))
    gold = gold_levels(plan, rows.gold, sizes_of(plan, rows))
    batches, hidden = _batches(plan, rows), plan.gold_per_hit
    judgements = sum(sizes) * plan.sets.target
    gold_size = sum(map(len, gold)) / len(gold) if gold else 0.0
    documents = (judgements + batches * hidden * gold_size) / max(1, batches)
    minutes = plan.seconds_of(1) * documents / 60
    pay = plan.pay.minor(plan.pay.hit)
    per_worker = len(gold) // hidden if hidden else None
    passes = pass_rates.passing(plan, gold, rows.qualification) if hidden and gold else ()
    workers = max(plan.sets.target, math.ceil(batches / per_worker) if per_worker else 1)
    tests = workers * pass_rates.tests_per_worker(plan, rows.qualification)
    done_again = batches * pay / pass_rates.accepted_share(plan, passes)
    return Forecast(
        pairs=len(set(rows.pool)),
        topics=len({name for name, _ in rows.pool}),
        sets=len(sizes),
        judgements=judgements,
        batches=batches,
        cost=batches * pay,
        budget=plan.pay.minor(plan.pay.budget),
        hours=minutes * batches / 60,
        minutes_per_batch=minutes,
        hourly=round(pay / minutes * 60) if minutes else 0,
        likely_cost=round(done_again + tests * plan.pay_of("qualification")),
        accuracy=pass_rates.majority_accuracy(plan, passes),
        gold_sets=len(gold),
        batches_per_worker=per_worker,
        workers_needed=workers,
        passing=passes,
        better_gold=pass_rates.better_gold(plan, gold) if hidden and gold else "",
        warnings=(*_warnings(plan, rows, sizes, gold, batches * pay), *pass_rates.useless(passes)),
    )


def _warnings(
    plan: Plan, rows: CampaignRows, sizes: list[int], gold: list[tuple[int, ...]], cost: int
) -> Iterator[Complaint]:
    yield from plan.way.warnings(rows)
    if cost > plan.pay.minor(plan.pay.budget):
        yield Complaint.of("pay.budget", "office.plan.budget.target", cost=plan.pay.shown(cost))
    if not plan.gold_per_hit:
        return
    strange = {row.topic for row in rows.gold} - {name for name, _ in rows.pool}
    if strange:
        yield Complaint.of("files.gold", "office.plan.gold.topic", topic=min(strange))
    odd = {len(grades) for grades in gold} - set(sizes)
    if odd:
        usual = " or ".join(map(str, sorted(set(sizes))))
        yield Complaint.of("files.gold", "office.plan.gold.size", documents=min(odd), usual=usual)
