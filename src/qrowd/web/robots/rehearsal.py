"""The dry run: robots judge a copy of a campaign; what it would cost, how long, how accurate.

`dry_run` copies a campaign that is made; `try_out` makes a plan's campaign anew in a folder of its
own, several times, each time with another crowd. Large plans are tried on some topics only, and
cost and time are those of the whole by proportion.
"""

from __future__ import annotations

import contextlib
import math
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import stdtrit
from sqlalchemy import func, select

import qrowd as q
from qrowd.collection.adjudication import expert_sample
from qrowd.collection.books import ledger
from qrowd.collection.books.progress import coverage, last_answer
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import assignment
from qrowd.collection.database.store import Store, Work
from qrowd.collection.database.transfer import backup
from qrowd.collection.judging import hierarchy
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.forecast import (
    Z90,
    Spend,
    batches_of,
    counted,
    essentials,
    spread_of,
    workload,
)
from qrowd.collection.plan.rows import CampaignRows
from qrowd.collection.plan.sections import MINUTE, Plan
from qrowd.collection.plan.toml import plan_text
from qrowd.collection.plan.turnout import ITEMS, PER_HOUR, Outlay
from qrowd.collection.record import audit
from qrowd.data.collected import grades_of
from qrowd.errors import RuleError
from qrowd.simulation.setting import CROWDS
from qrowd.web.app import make_app
from qrowd.web.files import CampaignFiles
from qrowd.web.judgements import taken_from
from qrowd.web.next_sets import choose
from qrowd.web.robots.crowd import Crowd, by_content, make_robots, truth_of
from qrowd.web.robots.traffic import Clock, in_process, rehearse
from qrowd.web.settings import Settings

MOST_JUDGEMENTS = 1200  # of one dry run of a plan
ALL_JUDGEMENTS = 2400  # of all its dry runs together
TIMES = 4  # dry runs at most; two at least
LEAST_ROBOTS = 48
PROGRESS_EVERY = 50  # requests


@dataclass(frozen=True)
class Rehearsal:
    """What a dry run found. Money is in minor units; accuracy's interval is over topics.

    `hours` pass until the last answer. Who would have come when all was judged is not in it.
    """

    robots: dict[str, int]
    requests: int
    hours: float
    spent: int
    outlay: Outlay
    judgements: int
    batches: dict[str, int]
    left: dict[str, int]
    labels: q.LabelScores

    def accuracy_interval(self) -> tuple[float, float]:
        """Where the accuracy would be with other topics, 90 of 100 times."""
        return self.labels.interval("accuracy")


def dry_run(
    store: Store,
    name: str,
    crowd: Crowd,
    *,
    method: str = "mv",
    progress: Callable[[int], None] = lambda _: None,
) -> Rehearsal:
    """Let robots do a copy of the campaign, on a clock that jumps; the campaign is not touched.

    `progress` hears how many requests were sent.
    """
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        backup(store, folder / "copy.db")
        clock = Clock(store.clock())
        with open_store(folder / "copy.db", clock=clock, seed=crowd.seed) as copy:
            return judge(copy, clock, folder, name, crowd, method, progress)


def judge(
    store: Store,
    clock: Clock,
    folder: Path,
    name: str,
    crowd: Crowd,
    method: str = "mv",
    progress: Callable[[int], None] = lambda _: None,
) -> Rehearsal:
    """Let robots do a campaign itself (a draft is launched first); its clock must be `clock`."""
    with store.write(name) as work:
        if work.state == "draft":
            audit.perform(work, "robots", "launch")
        truth = truth_of(work, crowd.truth)
        grades, began, plan = by_content(work, truth), work.now, work.plan
        files = CampaignFiles(store, folder, work.campaign)
    robots = make_robots(store, name, crowd, grades)
    chance = np.random.default_rng(crowd.seed + 1)
    arrivals = np.cumsum(chance.exponential(3600 / crowd.per_hour, crowd.robots))
    settings = Settings.of_folder(folder, store.url)

    due = began

    def next_request(requests: int) -> None:
        """What the process for jobs would do meanwhile."""
        nonlocal due
        progress(requests)
        if not plan.is_reordered or clock.now < due:
            return
        due = clock.now + round(plan.next.refresh_minutes * MINUTE)
        if plan.in_phases:
            _experts_decide(store, files.campaign, truth, crowd.expert, chance)
        with contextlib.suppress(RuleError):  # nobody has judged anything yet
            # who wins under random grades means nothing: runs are left out
            pick = "margin" if plan.next.pick == "systems" else ""
            choose(store, files.campaign, "robots", pick=pick)

    def all_held() -> bool:
        with files.read() as work:
            wanted, held, _ = coverage(work)
        return held >= wanted

    with in_process(make_app(settings, store)) as send:
        requests = rehearse(send, clock, robots, arrivals.tolist(), next_request, all_held)
    with files.read() as work:
        money, last, outlay = ledger.balance(work), last_answer(work), outlay_of(work)
    taken = taken_from(files)
    merged = q.get(method).fit(taken.judgements, taken.given)
    return Rehearsal(
        robots=dict(Counter(robot.kind for robot in robots if robot.token)),
        requests=requests,
        hours=max(0, (last or began) - began) / 3_600_000,
        spent=money.owed + money.settled,
        outlay=outlay,
        judgements=len(taken.judgements),
        batches=_together(robot.tally.ended for robot in robots),
        left=dict(Counter(robot.tally.why or "had enough" for robot in robots if robot.token)),
        labels=q.score_labels(merged, truth),
    )


def _experts_decide(
    store: Store, campaign: int, truth: q.Qrels, right: float, chance: np.random.Generator
) -> None:
    """What mode hierarchy waits for, by an expert who is right so often."""
    grades = grades_of(truth)
    with store.write(campaign) as work:
        scale = work.plan.scale
        low, high = scale.grades[0], scale.grades[-1]
        split = {*hierarchy.disputed_pairs(work), *hierarchy.kept_pairs(work)}
        for row in expert_sample.named(work, split):
            grade = grades[row.topic, row.doc]
            if chance.random() >= right:
                grade = low if grade >= scale.relevant_from else high
            expert_sample.decide(work, "robot", row.id, grade, "it says so")


def outlay_of(work: Work) -> Outlay:
    """What a campaign has cost so far, by item."""
    a = assignment.c
    earned = func.sum(a.earned + a.paid)
    query = select(a.kind, a.state, earned).where(work.own(assignment)).group_by(a.kind, a.state)
    spent = dict.fromkeys(ITEMS, 0.0)
    gold = work.plan.gold_per_hit / max(1, work.plan.hit.sets)
    named = {"qualification": "tests", "review": "reviews"}
    for kind, state, amount in work.db.execute(query):
        item = named.get(kind) or {"excluded": "failed", "screened-out": "screened_out"}.get(state)
        if item:
            spent[item] += float(amount)
        else:
            spent["judging"] += float(amount) * (1 - gold)
            spent["gold"] += float(amount) * gold
    return Outlay(**spent)


def _together(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    return dict(sum(map(Counter, counts), Counter[str]()))


# --- a plan, before it is launched ----------------------------------------------------------------


@dataclass(frozen=True)
class Span:
    """An estimate and a 90 % interval."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """What dry runs found. Money in minor units; `done` is the share of wanted judgements.

    The interval of `accuracy` is over topics and crowds, that of time over crowds; that of what is
    spent has 90 of 100 campaigns.
    """

    times: int
    spend: Spend
    hours: Span
    accuracy: Span
    done: float
    robots: dict[str, int]
    batches: dict[str, int]
    topics: int
    share: float


def try_out(
    plan: Plan,
    rows: CampaignRows,
    *,
    crowd: str = "mixed",
    per_hour: float = PER_HOUR,
    progress: Callable[[float], None] = lambda _: None,
) -> Estimate:
    """Let robots do a plan a few times; `progress` hears which share is done."""
    part, share = _part(plan, rows)
    batches = batches_of(plan, part)
    # the budget does not end: what it would cost is the question
    most = 20 * max(1, batches) * (plan.pay.hit + plan.pay.qualification + plan.pay.review)
    plan = replace(plan, pay=replace(plan.pay, budget=max(plan.pay.budget, most)), text="")
    # so many that there is always somebody to come: where they run out, fewer take the paid test
    number = min(400, max(LEAST_ROBOTS, 4 * plan.sets.target, 2 * batches))
    judgements = max(1, len(part.pool) * plan.sets.target)
    times = max(min(2, TIMES), min(TIMES, ALL_JUDGEMENTS // judgements))
    runs: list[Rehearsal] = []
    coverages: list[float] = []
    for at in range(times):

        def tell(covered: float, before: int = at) -> None:
            progress((before + covered) / times)

        comers = Crowd(robots=number, per_hour=per_hour, setting=CROWDS[crowd], seed=at)
        run, covered = _once(plan, part, comers, tell)
        runs.append(run)
        coverages.append(min(1.0, max(covered, 0.01)))
    if not any(run.judgements for run in runs):
        raise RuleError("no-judgements", "no robot's work was accepted; look at the checks")
    scales = [1 / share / covered for covered in coverages]
    spent = [
        Outlay(**{item: getattr(run.outlay, item) * scale for item in ITEMS})
        for run, scale in zip(runs, scales, strict=True)
    ]
    items = Outlay(**{item: sum(getattr(one, item) for one in spent) / times for item in ITEMS})
    return Estimate(
        times=times,
        spend=Spend.of(items, _varies(plan, rows, part, crowd, per_hour, times), crowd, True),
        hours=_span([run.hours * scale for run, scale in zip(runs, scales, strict=True)]),
        accuracy=_accuracy(runs),
        done=sum(coverages) / len(coverages),
        robots=_together(run.robots for run in runs),
        batches=_together(run.batches for run in runs),
        topics=len({topic for topic, _ in part.pool}),
        share=share,
    )


def campaign_cost(plan: Plan, rows: CampaignRows, crowd: Crowd) -> float:
    """What one campaign of a plan costs, done by these robots; the rest by proportion."""
    done, covered = _once(plan, rows, crowd, lambda _: None)
    return done.spent / max(covered, 0.01)


def _varies(
    plan: Plan, rows: CampaignRows, part: CampaignRows, crowd: str, per_hour: float, times: int
) -> float:
    """How much the logarithm of the cost varies around the mean of so many dry runs.

    A few dry runs cannot tell how much campaigns differ from each other, many campaigns in numbers
    can. The mean itself is as uncertain as dry runs are few; a part varies more than the whole.
    """
    if not plan.paid:
        return 0.0
    whole, of_part = (
        spread_of(essentials(plan), workload(plan, each), crowd, per_hour)[1]
        for each in (rows, part)
    )
    return math.sqrt(whole**2 + of_part**2 / times)


def _part(plan: Plan, rows: CampaignRows) -> tuple[CampaignRows, float]:
    """Whole topics of the pool, as many as fit into a dry run; and their share of the pool."""
    pool, by_topic = counted(rows), defaultdict(list)
    for pair in pool:
        by_topic[pair[0]].append(pair)
    most = max(1, MOST_JUDGEMENTS // plan.sets.target)
    names = random.Random(0).sample(sorted(by_topic), len(by_topic))
    chosen: list[tuple[str, str]] = []
    for name in names:
        if not chosen or len(chosen) + len(by_topic[name]) <= most:
            chosen += by_topic[name][:most]
    kept = {document for _, document in chosen}
    kept |= {row.document for row in (*rows.gold, *rows.qualification)}
    documents = [document for document in rows.documents if document.name in kept]
    part = replace(rows, pool=sorted(chosen), documents=documents)
    return part, len(chosen) / max(1, len(pool))


def _once(
    plan: Plan, rows: CampaignRows, crowd: Crowd, tell: Callable[[float], None]
) -> tuple[Rehearsal, float]:
    """One dry run, and the share of wanted judgements that it got."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        clock = Clock(1_700_000_000_000)
        store = open_store(folder / "try.db", new=True, clock=clock, seed=crowd.seed)

        def covered() -> float:
            with store.read(plan.campaign.name) as work:
                wanted, held, _ = coverage(work)
            return held / wanted if wanted else 1.0

        def count(requests: int) -> None:
            if requests % PROGRESS_EVERY == 0:
                tell(covered())

        with store:
            create_campaign(store, replace(plan, text=plan_text(plan)), rows)
            run = judge(store, clock, folder, plan.campaign.name, crowd, progress=count)
            return run, covered()


def _span(values: Sequence[float]) -> Span:
    """The typical value, and where another crowd's would be, 90 of 100 times.

    Cost and time are positive and may be several times as large: logarithms have the interval.
    """
    if min(values) <= 0:
        return Span(sum(values) / len(values), min(values), max(values))
    n, logs = len(values), [math.log(value) for value in values]
    mean = sum(logs) / n
    spread = math.sqrt(sum((log - mean) ** 2 for log in logs) / max(1, n - 1) * (1 + 1 / n))
    reach = float(stdtrit(n - 1, 0.95)) * spread if n > 1 else 0.0
    return Span(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach))


def _accuracy(runs: Sequence[Rehearsal]) -> Span:
    """The mean accuracy; its interval has the variance over topics and that over crowds."""
    values = [run.labels["accuracy"] for run in runs]
    limits = [run.accuracy_interval() for run in runs]
    mean = sum(values) / len(values)
    topics = sum(((high - low) / (2 * Z90)) ** 2 for low, high in limits) / len(limits)
    crowds = sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
    reach = Z90 * math.sqrt(topics + crowds)
    return Span(mean, max(0.0, mean - reach), min(1.0, mean + reach))
