"""Does a campaign cost what was forecast? `python -m benchmarks.forecast [--seed 1000]`.

Three crowds (mixed, careful, rough) do a plan with check questions and a paid test. The forecast
knows the crowd, and not who will come: once it is made of numbers (what `campaign check` and the
wizard say at first), once by dry runs with robots. Then campaigns are done, each by other robots of
that crowd, from the first visit to the last answer over the application's own interface. The stated
interval should hold 90 of 100 of them; wanted are 85 to 97, and an upper bound of at most twice the
lower.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks._benchmark import Table, option, run
from qrowd.collection.plan.forecast import Spend, forecast
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.data.topics import Topic
from qrowd.simulation.setting import CROWDS
from qrowd.web.api import work
from qrowd.web.robots.crowd import Crowd
from qrowd.web.robots.rehearsal import campaign_cost, try_out

PLAN = """
[campaign]
name = "forecast"
[qualification]
sets = 1
[pay]
hit = 1.50
screen_out = 0.30
qualification = 0.30
budget = 1000
"""
GRADES = (0, 0, 1, 1, 2)  # of a gold set


@dataclass(frozen=True)
class Options:
    topics: int = 8
    documents: int = 25  # of each topic
    campaigns: int = 17  # of each crowd
    seed: int = 1000  # of the first campaign; dry runs have small ones
    crowds: tuple[str, ...] = option(tuple(CROWDS), positional=True)


SHORT = Options(topics=2, documents=10, campaigns=2)


def material(options: Options) -> CampaignRows:
    """Topics, pairs to judge, gold and tests."""
    topics = [f"t{at}" for at in range(options.topics)]
    pool = [(topic, f"{topic}-{at}") for topic in topics for at in range(options.documents)]

    def graded(name: str, sets: int) -> list[GoldRow]:
        return [
            GoldRow(topics[at % len(topics)], f"{name}{at}-{n}", grade, "why", "", f"{name}{at}")
            for at in range(sets)
            for n, grade in enumerate(GRADES)
        ]

    gold, tests = graded("g", 20), graded("q", 8)
    names = [name for _, name in pool] + [row.document for row in (*gold, *tests)]
    documents = [DocumentRow(name, f"The text of {name}.".encode(), name) for name in names]
    queries = [Topic(name, query=f"query of {name}") for name in topics]
    return CampaignRows(queries, documents, pool, gold, tests)


def main(options: Options) -> None:
    logging.disable(logging.INFO)
    work.STEP = 1e-9  # robots do not guess at gold by the time that documents take
    plan, rows = parse_plan(PLAN), material(options)
    columns = ("crowd", "forecast by", "EUR", "interval", "upper / lower", "campaigns", "inside")
    money = Table(*columns, optional=columns[2:5])
    costs: dict[str, list[float]] = {}
    spends: dict[tuple[str, str], Spend] = {}
    for crowd in options.crowds:
        spends[crowd, "numbers"] = forecast(plan, rows, crowd=crowd).spend
        spends[crowd, "robots"] = try_out(plan, rows, crowd=crowd).spend
        costs[crowd] = [
            campaign_cost(
                replace(plan, text=""),
                rows,
                Crowd(robots=60, setting=CROWDS[crowd], seed=options.seed + at),
            )
            for at in range(options.campaigns)
        ]
        for (name, by), spend in spends.items():
            if name == crowd:
                money.row(
                    crowd,
                    by,
                    f"{spend.total / 100:.2f}",
                    f"{spend.low / 100:.2f} to {spend.high / 100:.2f}",
                    f"{spend.high / spend.low:.2f}",
                    len(costs[crowd]),
                    inside(spend, costs[crowd]),
                )
    for by in ("numbers", "robots"):
        number = sum(inside(spends[crowd, by], each) for crowd, each in costs.items())
        total = sum(map(len, costs.values()))
        money.row("all", by, "", "", "", total, f"{number} ({number / total:.0%})")
    print("\nWhat the campaigns cost, EUR, from the cheapest on:\n")
    for crowd, each in costs.items():
        print(f"- {crowd}: {', '.join(f'{cost / 100:.2f}' for cost in sorted(each))}")


def inside(spend: Spend, costs: Sequence[float]) -> int:
    """How many of these costs the interval holds."""
    return sum(spend.low <= cost <= spend.high for cost in costs)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
