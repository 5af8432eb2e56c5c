"""The dry run: robots judge a copy of a campaign; what it would cost, how long, how accurate.

`dry_run` copies a campaign that is made; `try_out` makes a plan's campaign anew in a folder of its
own, several times, each time with another crowd. Large plans are tried on some topics only, and
cost and time are those of the whole by proportion.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
from scipy.special import stdtrit

import qrowd as q
from qrowd.collection.books import ledger
from qrowd.collection.books.progress import coverage, last_answer
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store
from qrowd.collection.database.transfer import backup
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.forecast import counted, forecast
from qrowd.collection.plan.rows import CampaignRows
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import plan_text
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.simulation.setting import Setting
from qrowd.web.app import make_app
from qrowd.web.files import CampaignFiles
from qrowd.web.judgements import snapshot
from qrowd.web.robots.crowd import Crowd, by_content, make_robots, truth_of
from qrowd.web.robots.traffic import Clock, in_process, rehearse
from qrowd.web.settings import Settings

_Z90 = NormalDist().inv_cdf(0.95)  # a 90 % interval is so many standard errors to each side

MOST_JUDGEMENTS = 600  # of one dry run of a plan
TIMES = 4
LEAST_ROBOTS = 24
PROGRESS_EVERY = 50  # requests
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
class Rehearsal:
    """What a dry run found. Money is in minor units; accuracy's interval is over topics.

    `hours` pass until the last answer.
    """

    robots: dict[str, int]
    requests: int
    hours: float
    spent: int
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
        grades, began = by_content(work, truth), work.now
        files = CampaignFiles(store, folder, work.campaign)
    robots = make_robots(store, name, crowd, grades)
    chance = np.random.default_rng(crowd.seed + 1)
    arrivals = np.cumsum(chance.exponential(3600 / crowd.per_hour, crowd.robots))
    settings = Settings.of_folder(folder, store.url)
    with in_process(make_app(settings, store)) as send:
        requests = rehearse(send, clock, robots, arrivals.tolist(), progress)
    with files.read() as work:
        money, last = ledger.balance(work), last_answer(work)
    taken = snapshot(files)
    merged = q.get(method).fit(taken.judgements, taken.given())
    return Rehearsal(
        robots=dict(Counter(robot.kind for robot in robots)),
        requests=requests,
        hours=max(0, (last or began) - began) / 3_600_000,
        spent=money.owed + money.settled,
        judgements=len(taken.judgements),
        batches=_together(robot.tally.ended for robot in robots),
        left=dict(Counter(robot.tally.why or "had enough" for robot in robots)),
        labels=q.score_labels(merged, truth),
    )


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


def try_out(
    plan: Plan,
    rows: CampaignRows,
    *,
    crowd: str = "mixed",
    per_hour: float = 12.0,
    seed: int = 0,
    progress: Callable[[float], None] = lambda _: None,
) -> Estimate:
    """Let robots do a plan a few times; `progress` hears which share is done."""
    part, share = _part(plan, rows, seed)
    expected = forecast(plan, part)
    # the budget does not end: what it would cost is the question
    enough = max(plan.pay.budget, 20 * expected.cost / 10**plan.pay.digits)
    plan = replace(plan, pay=replace(plan.pay, budget=enough), text="")
    number = min(400, max(LEAST_ROBOTS, 4 * plan.sets.target, expected.batches))
    runs: list[Rehearsal] = []
    coverages: list[float] = []
    for at in range(TIMES):

        def tell(covered: float, before: int = at) -> None:
            progress((before + covered) / TIMES)

        comers = Crowd(robots=number, per_hour=per_hour, setting=CROWDS[crowd], seed=seed + at)
        run, covered = _once(plan, part, comers, tell)
        runs.append(run)
        coverages.append(min(1.0, max(covered, 0.01)))
    if not any(run.judgements for run in runs):
        raise RuleError("no-judgements", "no robot's work was accepted; look at the checks")
    cost = [run.spent / share / covered for run, covered in zip(runs, coverages, strict=True)]
    hours = [run.hours / share / covered for run, covered in zip(runs, coverages, strict=True)]
    return Estimate(
        times=len(runs),
        cost=_span(cost),
        hours=_span(hours),
        accuracy=_accuracy(runs),
        done=sum(coverages) / len(coverages),
        robots=_together(run.robots for run in runs),
        batches=_together(run.batches for run in runs),
        topics=len({topic for topic, _ in part.pool}),
        share=share,
    )


def _part(plan: Plan, rows: CampaignRows, seed: int) -> tuple[CampaignRows, float]:
    """Whole topics of the pool, as many as fit into a dry run; and their share of the pool."""
    pool, by_topic = counted(rows), defaultdict(list)
    for pair in pool:
        by_topic[pair[0]].append(pair)
    most = max(1, MOST_JUDGEMENTS // plan.sets.target)
    names = random.Random(seed).sample(sorted(by_topic), len(by_topic))
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
    topics = sum(((high - low) / (2 * _Z90)) ** 2 for low, high in limits) / len(limits)
    crowds = sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
    reach = _Z90 * math.sqrt(topics + crowds)
    return Span(mean, max(0.0, mean - reach), min(1.0, mean + reach))
