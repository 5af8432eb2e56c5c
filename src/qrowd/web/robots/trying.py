"""A plan tried out before it is launched: several dry runs on some of its topics, with intervals.

Each dry run makes the campaign anew in a folder of its own and lets another crowd of robots do it.
Large plans are tried on some topics only, and cost and time are those of the whole by proportion.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scipy.special import stdtrit

from qrowd.collection.books.progress import coverage
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.forecast import counted, forecast
from qrowd.collection.plan.rows import Material
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import plan_text
from qrowd.errors import RuleError
from qrowd.simulation.setting import Setting
from qrowd.web.robots.driving import Clock
from qrowd.web.robots.rehearsal import Crowd, Rehearsal, judge

MOST_JUDGEMENTS = 600  # of one dry run
TIMES = 4
LEAST_ROBOTS = 24
TOLD_EVERY = 50  # requests
CROWDS = {
    "careful": Setting(
        good=0.8, sloppy=0.12, biased=0.08, random=0, yes=0, no=0, pattern=0, adversarial=0
    ),
    "mixed": Setting(),
    "rough": Setting(
        good=0.3,
        sloppy=0.25,
        biased=0.12,
        random=0.13,
        yes=0.08,
        no=0.06,
        pattern=0.04,
        adversarial=0.02,
    ),
}


@dataclass(frozen=True)
class Span:
    """An estimate and a 95 % interval."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class Outlook:
    """What dry runs found. Money in minor units; `done` is the share of wanted judgements.

    The interval of `accuracy` is over topics and crowds, those of cost and time over crowds.
    """

    times: int
    cost: Span
    hours: Span
    accuracy: Span
    done: float
    robots: dict[str, int]
    batches: dict[str, int]
    topics: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def try_out(
    plan: Plan,
    material: Material,
    *,
    crowd: str = "mixed",
    per_hour: float = 12.0,
    seed: int = 0,
    told: Callable[[float], None] | None = None,
) -> Outlook:
    """Let robots do a plan a few times; `told` hears which share is done."""
    part, share = _part(plan, material, seed)
    found = forecast(plan, part)
    number = min(400, max(LEAST_ROBOTS, 4 * plan.sets.target, found.batches))
    plan = _with_money(plan, found.cost)
    results: list[tuple[Rehearsal, float]] = []
    for at in range(TIMES):
        who = Crowd(robots=number, per_hour=per_hour, setting=CROWDS[crowd], seed=seed + at)
        hear = _hearing(told, at / TIMES)
        results.append(_once(plan, part, who, hear))
    return _outlook(results, part, share)


def _with_money(plan: Plan, cost: int) -> Plan:
    """The plan with a budget that does not end: what it would cost is the question."""
    enough = max(plan.pay.budget, 20 * cost / 10**plan.pay.digits)
    return replace(plan, pay=replace(plan.pay, budget=enough), text="")


def _hearing(told: Callable[[float], None] | None, before: float) -> Callable[[float], None]:
    def hear(share: float) -> None:
        if told:
            told(before + share / TIMES)

    return hear


def _part(plan: Plan, material: Material, seed: int) -> tuple[Material, float]:
    """Whole topics of the pool, as many as fit into a dry run; and their share of the pool."""
    pool, by_topic = counted(material), defaultdict(list)
    for pair in pool:
        by_topic[pair[0]].append(pair)
    most = max(1, MOST_JUDGEMENTS // plan.sets.target)
    names = random.Random(seed).sample(sorted(by_topic), len(by_topic))
    chosen: list[tuple[str, str]] = []
    for name in names:
        if not chosen or len(chosen) + len(by_topic[name]) <= most:
            chosen += by_topic[name][:most]
    kept = {pair[1] for pair in chosen}
    kept |= {row.document for row in (*material.gold, *material.qualification)}
    documents = [one for one in material.documents if one.name in kept]
    part = replace(material, pool=sorted(chosen), documents=documents)
    return part, len(chosen) / max(1, len(pool))


def _once(
    plan: Plan, material: Material, crowd: Crowd, told: Callable[[float], None]
) -> tuple[Rehearsal, float]:
    """One dry run, and the share of wanted judgements that it got."""
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        clock = Clock(1_700_000_000_000)
        store = open_store(folder / "try.db", new=True, clock=clock, seed=crowd.seed)
        try:
            create_campaign(store, replace(plan, text=plan_text(plan)), material)
            found = judge(
                store, clock, folder, plan.campaign.name, crowd, told=_telling(store, plan, told)
            )
            return found, _share(store, plan)
        finally:
            store.engine.dispose()


def _telling(store: Store, plan: Plan, told: Callable[[float], None]) -> Callable[[int], None]:
    def tell(requests: int) -> None:
        if requests % TOLD_EVERY == 0:
            told(_share(store, plan))

    return tell


def _share(store: Store, plan: Plan) -> float:
    with store.read(plan.campaign.name) as work:
        wanted, held = coverage(work)
    return held / wanted if wanted else 1.0


# --- what was found -------------------------------------------------------------------------------


def _outlook(results: Sequence[tuple[Rehearsal, float]], part: Material, share: float) -> Outlook:
    runs = [found for found, _ in results]
    done = [min(1.0, max(got, 0.01)) for _, got in results]
    if not any(found.judgements for found in runs):
        raise RuleError("no-judgements", "no robot's work was accepted; look at the checks")
    cost = [found.spent / share / got for found, got in zip(runs, done, strict=True)]
    hours = [found.hours / share / got for found, got in zip(runs, done, strict=True)]
    states: defaultdict[str, int] = defaultdict(int)
    kinds: defaultdict[str, int] = defaultdict(int)
    for found in runs:
        for state, n in found.batches.items():
            states[state] += n
        for kind, n in found.robots.items():
            kinds[kind] += n
    return Outlook(
        times=len(runs),
        cost=_span(cost),
        hours=_span(hours),
        accuracy=_accuracy(runs),
        done=sum(done) / len(done),
        robots=dict(kinds),
        batches=dict(states),
        topics=len({topic for topic, _ in part.pool}),
        share=share,
    )


def _span(values: Sequence[float]) -> Span:
    """The typical value, and where another crowd's would be, 95 of 100 times.

    Cost and time are positive and may be several times as large: logarithms have the interval.
    """
    if min(values) <= 0:
        return Span(sum(values) / len(values), min(values), max(values))
    n, logs = len(values), [math.log(value) for value in values]
    mean = sum(logs) / n
    spread = math.sqrt(sum((one - mean) ** 2 for one in logs) / max(1, n - 1) * (1 + 1 / n))
    reach = float(stdtrit(n - 1, 0.975)) * spread if n > 1 else 0.0
    return Span(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach))


def _accuracy(runs: Sequence[Rehearsal]) -> Span:
    """The mean accuracy; its interval has the variance over topics and that over crowds."""
    values = [found.labels["accuracy"] for found in runs]
    limits = [found.accuracy_interval() for found in runs]
    mean = sum(values) / len(values)
    topics = sum(((high - low) / 3.92) ** 2 for low, high in limits) / len(limits)
    crowds = sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
    reach = 1.96 * math.sqrt(topics + crowds)
    return Span(mean, max(0.0, mean - reach), min(1.0, mean + reach))
