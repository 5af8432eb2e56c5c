"""What choosing the next set saves in a campaign: `python -m benchmarks.campaign_votes`.

Robots of three crowds do campaigns from the first visit to the last answer, over the application's
own interface: once every document gets as many votes, once by margin, with stopping (`[next]`).
There are no check questions, so that who errs stays. Accuracy is that of majority votes, a tie
being half right. The first votes that each document got in the even campaigns tell how many of
them are as accurate; intervals of 90 % are over campaigns, each of which has other robots.
"""

from __future__ import annotations

import logging
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks._benchmark import Table, option, run
from benchmarks._campaign import made_material
from qrowd.collection.database.opening import open_store
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.publishing.collected import collected
from qrowd.data.arrays import Array, Floats
from qrowd.simulation.setting import CROWDS
from qrowd.web.robots.crowd import Crowd, truth_of
from qrowd.web.robots.rehearsal import judge
from qrowd.web.robots.traffic import Clock

PLAN = """
[campaign]
name = "votes"
[scale]
grades = [0, 1]
[sets]
size = {size}
target = {most}
[hit]
sets = {batch}
gold = 0
[checks.seconds]
action = "none"
[pay]
hit = 1.00
budget = 100000
[next]
pick = "{pick}"
risk = {risk}
refresh_minutes = {refresh}
"""


@dataclass(frozen=True)
class Options:
    documents: int = 100
    topics: int = 5
    most: int = 9
    risk: float = 0.1
    refresh: float = (
        5.0  # minutes: so few documents have two votes each within a quarter of an hour
    )
    size: int = 1  # of a set
    campaigns: int = 8  # of each crowd
    robots: int = 80
    seed: int = 1000
    crowds: tuple[str, ...] = option(tuple(CROWDS), positional=True)


SHORT = Options(documents=20, topics=2, most=5, campaigns=1, crowds=("mixed",))


@dataclass(frozen=True)
class Done:
    """A campaign: the accuracy of the first 1, 2, ... votes on each document, and of all."""

    first: Floats
    accuracy: float
    votes: float  # of a document
    spent: float


def campaign(options: Options, crowd: str, pick: str, seed: int) -> Done:
    batch = max(1, 10 // options.size)
    plan = parse_plan(PLAN.format(pick=pick, batch=batch, **vars(options)))
    rows = replace(made_material(options.documents, options.topics), gold=[])
    comers = Crowd(robots=options.robots, setting=CROWDS[crowd], seed=seed)
    with tempfile.TemporaryDirectory() as path:
        clock = Clock(1_700_000_000_000)
        with open_store(f"{path}/votes.db", new=True, clock=clock, seed=seed) as store:
            create_campaign(store, plan, rows)
            done = judge(store, clock, Path(path), "votes", comers)
            with store.read("votes") as work:
                votes, truth = collected(work).judgements, truth_of(work)
    assert votes.time is not None
    grade = truth.grade[truth.pairs.locate(votes.pairs)] == 1
    order = np.lexsort((votes.time, votes.pair))
    place = np.arange(len(votes)) - votes.pair_starts[votes.pair[order]]
    first = [
        right(votes.grade[order][place < n], votes.pair[order][place < n], grade)
        for n in range(1, options.most + 1)
    ]
    return Done(
        np.array(first),
        right(votes.grade, votes.pair, grade),
        len(votes) / len(votes.pairs),
        done.spent / 100,
    )


def right(grade: Array, pair: Array, truth: Array) -> float:
    lead = np.bincount(pair, 2.0 * grade - 1, len(truth))
    return float(np.where(lead == 0, 0.5, (lead > 0) == truth).mean())


def saved(even: list[Done], margin: list[Done]) -> tuple[float, float]:
    """How many votes of the even campaigns are as accurate, and the share of them that is saved."""
    curve = np.maximum.accumulate(np.mean([each.first for each in even], axis=0))
    accuracy = float(np.mean([each.accuracy for each in margin]))
    number = float(np.interp(accuracy, curve, np.arange(1.0, len(curve) + 1)))
    return number, 1 - float(np.mean([each.votes for each in margin])) / number


def main(options: Options) -> None:
    logging.disable(logging.INFO)
    table = Table(
        "crowd",
        "by margin: votes a document",
        "accuracy",
        "EUR",
        f"{options.most} votes each: accuracy",
        "EUR of these",
        "as accurate: votes each",
        "votes saved",
        title=f"{options.campaigns} campaigns of {options.documents} documents, sets of "
        f"{options.size}, risk {options.risk:g}, at most {options.most} votes",
    )
    random = np.random.default_rng(options.seed)
    for crowd in options.crowds:
        even, margin = (
            [campaign(options, crowd, pick, options.seed + at) for at in range(options.campaigns)]
            for pick in ("even", "margin")
        )
        number, share = saved(even, margin)
        drawn = random.integers(options.campaigns, size=(1000, options.campaigns))
        again = [saved([even[at] for at in ats], [margin[at] for at in ats])[1] for ats in drawn]
        low, high = np.quantile(again, (0.05, 0.95))
        means = {
            name: [np.mean([getattr(each, name) for each in done]) for done in (even, margin)]
            for name in ("accuracy", "votes", "spent")
        }
        table.row(
            crowd,
            f"{means['votes'][1]:.2f}",
            f"{means['accuracy'][1]:.3f}",
            f"{means['spent'][1]:.2f}",
            f"{means['accuracy'][0]:.3f}",
            f"{means['spent'][0]:.2f}",
            f"{number:.1f}",
            f"{share:.0%} [{low:.0%}, {high:.0%}]",
        )


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
