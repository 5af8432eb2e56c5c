"""What a plan would cost and who would pass its checks, before anybody is asked.

refuse_unmeetable(plan, rows, file)    an error at the line of what cannot be met
forecast(plan, rows) -> Forecast       cost, wage, time, gold supply, passes, survivors
essentials(plan) -> Plan               what of a plan its cost depends on

The cost is the dry run's where there was one (`Forecast.rehearsed`); before, that of many campaigns
in numbers (`turnout`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import NormalDist
from typing import Any

from qrowd.collection.plan import pass_rates
from qrowd.collection.plan.gold_sets import Sizes, cut_gold, pool_sizes
from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.rows import CampaignRows, GoldRow, Pair, gold_parts
from qrowd.collection.plan.sections import About, People, Plan, Platform, Prolific, Releasing
from qrowd.collection.plan.turnout import (
    BATCHES_MEDIAN,
    ITEMS,
    MOST_STEPS,
    PER_HOUR,
    Outlay,
    Workload,
    campaigns,
)
from qrowd.quality.against_gold import best_ndcg_score
from qrowd.quality.pass_chances import named
from qrowd.simulation.setting import CROWDS
from qrowd.texts import Text

Z90 = NormalDist().inv_cdf(0.95)  # a 90 % interval is so many standard errors to each side


@dataclass(frozen=True)
class Spend:
    """What a campaign is expected to cost, in minor units: by item, and where the sum will be.

    The interval holds 90 of 100 campaigns of this plan, each with other people of the same crowd.
    """

    items: Outlay
    low: float
    high: float
    crowd: str = "mixed"
    robots: bool = False  # a dry run says so, not the numbers alone

    @classmethod
    def of(cls, items: Outlay, varies: float, crowd: str, robots: bool) -> Spend:
        """The interval from how much the logarithm of the sum varies."""
        reach = math.exp(Z90 * varies)
        return cls(items, items.total / reach, items.total * reach, crowd, robots)

    @property
    def total(self) -> int:
        """The sum of its items."""
        return round(self.items.total)


def spend_of(result: Mapping[str, Any]) -> Spend | None:
    """What a stored dry run found; None where an earlier version ran it, which had no items."""
    stored = dict(result.get("spend", {}))
    return Spend(**stored | {"items": Outlay(**stored["items"])}) if stored else None


@dataclass(frozen=True)
class Forecast:
    """What a plan comes to. Money in minor units; `hourly` per hour of work, tests included.

    `cost` is what the batches cost if none fails a check; `spend` is what to expect; `accuracy` is
    that of a majority over all documents, relevant or not, or the dry run's.
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
    spend: Spend
    accuracy: float
    gold_sets: int
    batches_per_worker: int | None
    workers_needed: int
    passing: tuple[pass_rates.Passing, ...]
    better_gold: str
    warnings: tuple[Complaint, ...]

    def rehearsed(self, plan: Plan, spend: Spend, accuracy: float) -> Forecast:
        """The same as a dry run of the plan found it."""
        others = [complaint for complaint in self.warnings if complaint.key != "budget"]
        warnings = (*others, *_short_of_money(plan, spend))
        return replace(self, spend=spend, accuracy=accuracy, warnings=warnings)


def _short_of_money(plan: Plan, spend: Spend) -> Iterator[Complaint]:
    """A budget that will not suffice, or may not."""
    budget, low, high = plan.pay.minor(plan.pay.budget), round(spend.low), round(spend.high)
    if budget < high:
        amounts = {"budget": budget, "likely": spend.total, "low": low, "high": high}
        shown = {name: plan.pay.shown(amount) for name, amount in amounts.items()}
        name = "below" if budget < low else "inside"
        yield Complaint.of("pay.budget", f"office.plan.budget.{name}", **shown)


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
    yield from plan.way.unmeetable(rows)
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
    if plan.next.pick != "even" and plan.pay.hit:
        yield from _below_least(plan, rows)
    if plan.techniques.expertise_share > 0 and not rows.questions:
        yield unmet("techniques.expertise_share", "office.plan.questions")


def _below_least(plan: Plan, rows: CampaignRows) -> Iterator[Complaint]:
    """A budget that does not even pay for the judgements that every document gets."""
    sets, pay = len(set_sizes(plan, counted(rows))), plan.pay
    batches = math.ceil(sets * plan.next.least / max(1, plan.counted_per_hit))
    needed = batches * plan.pay_of("judge")
    if pay.minor(pay.budget) < needed:
        shown = {"needed": pay.shown(needed), "least": plan.next.least}
        yield Complaint.of("pay.budget", "office.plan.next.budget", because="next.pick", **shown)


def _too_little_gold(plan: Plan, rows: CampaignRows) -> Iterator[Complaint]:
    sets = len(gold_levels(plan, rows.gold, sizes_of(plan, rows)))
    first = plan.gold_per_hit + plan.hit.first_gold
    if sets < first:
        key = "files.gold" if plan.files.gold else "hit.gold"
        yield Complaint.of(key, "office.plan.gold.few", needed=first, there=sets)
    if problem := unpassable(plan, rows.gold, sizes_of(plan, rows)):
        yield Complaint("files", "gold", problem)
    workers, needed = plan.people.workers, batches_of(plan, rows)
    possible = _gold_batches(plan, sets) * workers
    if workers and needed > possible:
        figures = {"sets": sets, "workers": workers, "possible": possible, "needed": needed}
        yield Complaint("files", "gold", Text("office.plan.gold.workers", **figures))


def _gold_batches(plan: Plan, sets: int) -> int:
    """How many batches one worker can do with so many gold sets: nobody meets one twice."""
    return max(0, sets - plan.hit.first_gold) // plan.gold_per_hit


def gold_problem(plan: Plan, rows: Sequence[GoldRow]) -> Text | None:
    """Why these rows cannot be gold (or the qualification) of a campaign; None if they can."""
    for row in rows:
        if row.grade is not None and row.grade not in plan.scale.of_gold:
            scale, pair = " ".join(map(str, plan.scale.of_gold)), " ".join(row.pair)
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


def batches_of(plan: Plan, rows: CampaignRows) -> int:
    """How many batches there are if none fails a check."""
    if plan.owner:
        return len({name for name, _ in rows.pool})
    return math.ceil(_full_batches(plan, rows))


def _full_batches(plan: Plan, rows: CampaignRows) -> float:
    wanted = len(set_sizes(plan, counted(rows))) * plan.sets.target
    return wanted / max(1, plan.counted_per_hit)


def documents_in_batch(plan: Plan, pool: float, gold: float) -> float:
    """The documents of a full batch; `pool` and `gold` are how many a set has on average.

    Where topics have owners, a batch is a topic, and `pool` is how many documents one has.
    """
    return pool if plan.owner else plan.counted_per_hit * pool + plan.gold_per_hit * gold


def hourly_wage(plan: Plan, documents: float) -> int:
    """What an hour of work pays, in minor units: to organisers and to workers the same figure.

    It is that of a typical person, who takes the test (once) and then does five batches with so
    many documents: a test that pays badly is not hidden, nor is the gold before the first batch.
    """
    test = plan.qualification.sets * plan.sets.size if plan.way.gold and not plan.owner else 0
    first = plan.hit.first_gold * plan.sets.size if plan.gold_per_hit else 0
    pay = BATCHES_MEDIAN * plan.pay_of("judge")
    pay += plan.pay_of("qualification") if test else 0
    seconds = BATCHES_MEDIAN * documents * plan.seconds_of(1) + plan.seconds_of(test + first)
    return round(pay / seconds * 3600) if seconds else 0


def essentials(plan: Plan) -> Plan:
    """A plan as far as its cost depends on it: two that are equal here have one forecast."""
    about, pay, files = plan.campaign, plan.pay, plan.files
    return replace(
        plan,
        campaign=About(mode=about.mode, way=about.way),
        scale=replace(plan.scale, labels=(), cuts=()),
        files=replace(files, topics="", documents="", priorities="", runs=tuple(files.runs)),
        pay=replace(pay, currency="", budget=0, appeal_days=0, seconds_per_document=1),
        people=People(),
        platform=Platform(),
        prolific=Prolific(),
        release=Releasing(),
        text="",
    )


def workload(plan: Plan, rows: CampaignRows) -> Workload:
    """What is to be judged, in numbers."""
    sets = len(set_sizes(plan, counted(rows)))
    batches = float(batches_of(plan, rows)) if plan.owner else _full_batches(plan, rows)
    gold = cut_gold(plan, rows.gold, sizes_of(plan, rows))[0] if plan.gold_per_hit else []
    tests = gold_parts(rows.qualification, plan.sets.size, random.Random(0))
    return workload_of(plan, batches, sets, *(tuple(map(_grades, each)) for each in (gold, tests)))


def workload_of(
    plan: Plan,
    batches: float,
    sets: int,
    gold: tuple[tuple[int, ...], ...],
    tests: tuple[tuple[int, ...], ...],
) -> Workload:
    """So many full batches, of so many sets, with gold and tests of these grades."""
    hidden = plan.gold_per_hit
    # nobody judges a set twice, nor meets the same gold twice
    supply = math.ceil(sets / max(1, plan.counted_per_hit))
    if plan.owner:
        supply = MOST_STEPS
    elif hidden:
        supply = min(supply, _gold_batches(plan, len(gold)))
    return Workload(
        batches=batches,
        gold=tuple(filter(None, gold)) if hidden else (),
        tests=tuple(filter(None, tests)),
        supply=min(MOST_STEPS, supply),
    )


def _grades(rows: Sequence[GoldRow]) -> tuple[int, ...]:
    return tuple(row.grade for row in rows if row.grade is not None)


@lru_cache(maxsize=64)  # pages ask for the same again and again
def spread_of(plan: Plan, load: Workload, crowd: str, per_hour: float) -> tuple[Outlay, float]:
    """What campaigns of the `essentials` of a plan cost, and how much the log of that varies."""
    costs, varies = campaigns(plan, load, CROWDS[crowd], per_hour)
    return Outlay(**dict(zip(ITEMS, costs.mean(axis=0).tolist(), strict=True))), varies


def _spend(plan: Plan, rows: CampaignRows, crowd: str) -> Spend:
    load = workload(plan, rows)
    strange = {grade for grades in (*load.gold, *load.tests) for grade in grades}
    if not plan.paid or not load.batches or strange - set(plan.scale.of_gold):
        return Spend(Outlay(), 0.0, 0.0, crowd)
    items, varies = spread_of(essentials(plan), load, crowd, PER_HOUR)
    return Spend.of(items, varies, crowd, robots=False)


def forecast(plan: Plan, rows: CampaignRows, *, crowd: str = "mixed") -> Forecast:
    """What a plan comes to, if people like those of a crowd come."""
    sizes = set_sizes(plan, counted(rows))
    gold = gold_levels(plan, rows.gold, sizes_of(plan, rows))
    batches, hidden = batches_of(plan, rows), plan.gold_per_hit
    topics = len({name for name, _ in rows.pool})
    judgements = sum(sizes) * plan.sets.target
    of_set = sum(sizes) / max(1, topics if plan.owner else len(sizes))
    gold_size = sum(map(len, gold)) / len(gold) if gold else 0.0
    documents = documents_in_batch(plan, of_set, gold_size)
    per_worker = _gold_batches(plan, len(gold)) if hidden else None
    passes = pass_rates.passing(plan, gold, rows.qualification) if hidden and gold else ()
    workers = max(plan.sets.target, math.ceil(batches / per_worker) if per_worker else 1)
    gold_shown = batches * hidden + (workers * plan.hit.first_gold if hidden else 0)
    spend = _spend(plan, rows, crowd)
    return Forecast(
        pairs=len(set(rows.pool)),
        topics=topics,
        sets=len(sizes),
        judgements=judgements,
        batches=batches,
        cost=batches * plan.pay_of("judge"),
        budget=plan.pay.minor(plan.pay.budget),
        hours=plan.seconds_of(1) * (judgements + gold_shown * gold_size) / 3600,
        minutes_per_batch=plan.seconds_of(1) * documents / 60,
        hourly=hourly_wage(plan, documents),
        spend=spend,
        accuracy=pass_rates.majority_accuracy(plan, passes),
        gold_sets=len(gold),
        batches_per_worker=per_worker,
        workers_needed=workers,
        passing=passes,
        better_gold=pass_rates.better_gold(plan, gold) if hidden and gold else "",
        warnings=(
            *_warnings(plan, rows, sizes, gold),
            *_short_of_money(plan, spend),
            *pass_rates.useless(passes),
        ),
    )


def _warnings(
    plan: Plan, rows: CampaignRows, sizes: list[int], gold: list[tuple[int, ...]]
) -> Iterator[Complaint]:
    yield from plan.way.warnings(plan, rows)
    if plan.in_phases:
        pool = {name for _, name in rows.pool}
        blank = sum(row.name in pool and not row.body.strip() for row in rows.documents)
        if blank:
            yield Complaint.of("files.documents", "office.plan.hierarchy.blank", n=blank)
        if plan.pay.hit and not plan.pay.review and plan.hierarchy.revisions:
            yield Complaint.of("pay.review", "office.plan.hierarchy.unpaid", because="pay.hit")
    if not plan.gold_per_hit:
        return
    strange = {row.topic for row in rows.gold} - {name for name, _ in rows.pool}
    if strange:
        yield Complaint.of("files.gold", "office.plan.gold.topic", topic=min(strange))
    odd = {len(grades) for grades in gold} - set(sizes)
    if odd:
        usual = " or ".join(map(str, sorted(set(sizes))))
        yield Complaint.of("files.gold", "office.plan.gold.size", documents=min(odd), usual=usual)
