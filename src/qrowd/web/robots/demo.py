"""A small campaign on made text, judged by robots, for the demo; and what a report says of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import qrowd as q
from qrowd.collection.database.opening import open_store
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.publishing.export import export
from qrowd.data.collected import grades_of
from qrowd.rendering import percent
from qrowd.reporting.parts import Part, Prose, Section, Table
from qrowd.web.robots.crowd import Crowd
from qrowd.web.robots.rehearsal import Rehearsal, judge
from qrowd.web.robots.traffic import Clock

TOPICS, POOL, GOLD_SETS, TEST_SETS, SIZE = 4, 15, 10, 4, 5
START = 1_800_000_000_000  # the demo's clock, so that it gives the same result every time
PLAN = """
[campaign]
name = "demo"
seed = 1
[scale]
grades = [0, 1]
[sets]
target = 3
[hit]
sets = 4
[qualification]
sets = 2
[pay]
hit = 1.20
qualification = 0.30
budget = 200.00
[checks.binary]
action = "screen-out"
"""


def demo_campaign(folder: Path, seed: int = 0) -> Section:
    """From qualification to qrels in `folder`; the section that tells of it."""
    collection = q.simulate(
        topics=TOPICS, documents=POOL + (GOLD_SETS + TEST_SETS) * SIZE, runs=0, text=0.6, seed=seed
    )
    plan, clock = parse_plan(PLAN), Clock(START)
    path = folder / "campaign.db"
    path.unlink(missing_ok=True)
    with open_store(path, clock=clock, seed=seed, new=True) as store:
        create_campaign(store, plan, campaign_rows(collection))
        crowd = Crowd(robots=14, truth=collection.truth, seed=seed)
        rehearsal = judge(store, clock, folder, plan.campaign.name, crowd, method="ds")
        with store.read(plan.campaign.name) as work:
            export(work, folder / "campaign")
    return section_of(plan, rehearsal)


Pair = tuple[str, str]


def campaign_rows(collection: q.Collection) -> CampaignRows:
    """A made collection as a campaign: some pairs of each topic are the pool, others are gold."""
    assert collection.topics is not None
    assert collection.documents is not None
    grades = grades_of(collection.truth)
    pairs = list(grades)
    pool: list[Pair] = []
    gold: list[GoldRow] = []
    tests: list[GoldRow] = []
    for at, topic in enumerate(collection.truth.topics.names):
        mine = [pair for pair in pairs if pair[0] == topic]
        pool += mine[:POOL]
        for number, chosen in enumerate(_mixed(mine[POOL:], grades, at)):
            name = f"{at}-{number}"
            rows = [GoldRow(*pair, grades[pair], "as made", "", name) for pair in chosen]
            (tests if number % 4 == 0 else gold).extend(rows)
    texts = zip(collection.documents.index, collection.documents.text, strict=True)
    documents = [DocumentRow(name, text.encode(), name) for name, text in texts]
    topics = [collection.topics[name] for name in collection.topics.index]
    return CampaignRows(topics, documents, pool, gold, tests)


def _mixed(pairs: list[Pair], grades: dict[Pair, int], seed: int) -> list[list[Pair]]:
    """Sets of two relevant and three other documents: always saying the same fails them."""
    random = np.random.default_rng(seed)
    parts = {
        grade: [pairs[at] for at in random.permutation(len(pairs)) if grades[pairs[at]] == grade]
        for grade in (0, 1)
    }
    number = min(len(parts[1]) // 2, len(parts[0]) // 3)
    return [parts[1][2 * at : 2 * at + 2] + parts[0][3 * at : 3 * at + 3] for at in range(number)]


def section_of(plan: Plan, rehearsal: Rehearsal) -> Section:
    """What a report says of a campaign that robots did."""
    accuracy, (low, high) = rehearsal.labels["accuracy"], rehearsal.accuracy_interval()
    summary = Prose(
        f"Robots did a small campaign over the web application's interface: "
        f"{sum(rehearsal.robots.values())} came, {sum(rehearsal.batches.values())} batches ended, "
        f"{rehearsal.judgements} judgements count; {plan.pay.shown(rehearsal.spent)} were spent in "
        f"{rehearsal.hours:.1f} hours. Merged by `ds`, {percent(accuracy, 1)} of the grades are "
        f"right (90 % over topics: {percent(low, 1)} to {percent(high, 1)})."
    )
    parts: list[Part] = [summary]
    for caption, column, counts in (
        ("How batches ended", "state", rehearsal.batches),
        ("Why robots stopped", "reason", rehearsal.left),
    ):
        parts.append(Table(caption, {column: [*counts], "number": [*counts.values()]}))
    return Section("A campaign", tuple(parts))
