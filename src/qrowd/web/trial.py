"""A small campaign with short texts to read, so that anybody can try the judging page."""

from __future__ import annotations

import json
from pathlib import Path

from qrowd.collection.database.opening import open_store
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.people.entry import make_link
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.plan.way import Way
from qrowd.collection.record.audit import perform
from qrowd.data.topics import Topic
from qrowd.web.api.workers import judging_page
from qrowd.web.settings import Settings

GOLD_TOPIC = "tomatoes"
INSTRUCTIONS = r'''
instructions = """
Somebody typed a request into a search engine and found some pages. Read the request first, \
then each page, and say how well the page answers the request. Judge the page as it is, not \
whether you like it."""
examples = ["""
Request: boil an egg. Page: “Six minutes for a soft yolk, ten for a hard one, from when the \
water boils.”

Highly relevant: one can do it with this page alone.""", """
Request: boil an egg. Page: “Our farm sells eggs every Friday.”

Not relevant: it is about eggs, but it does not help to boil one."""]'''
PLAN = r'''
[campaign]
name = "try"
title = "Which pages help?"
way = "{way}"
language = "{language}"
{instructions}
[scale]
grades = [{grades}]
[sets]
size = {size}
target = 1000
[hit]
sets = {sets}
gold = {gold}
[pay]
hit = 1.00
budget = 1000.00
seconds_per_document = {seconds}
[checks.seconds]
at_least = 2
[people]
consent = """
This is a trial on your own computer: nothing leaves it. Your answers are kept in a folder that \
is thrown away in the end."""
'''


def trial_rows(way: str = "grades") -> CampaignRows:
    """Three topics with four documents each; where these are graded, one topic's are gold."""
    trial = json.loads(Path(__file__).with_name("trial.json").read_text(encoding="utf-8"))
    rows = trial["documents"]
    gold = [
        GoldRow(row["topic"], row["name"], row["grade"], row["reason"], row["passage"], "first")
        for row in rows
        if row["topic"] == GOLD_TOPIC and Way.named(way).gold
    ]
    documents = [
        DocumentRow(row["name"], row["text"].encode(), row["title"], "", row["media_type"])
        for row in rows
    ]
    checks = {(row.topic, row.document) for row in gold}
    pairs = [(row["topic"], row["name"]) for row in rows]
    pool = [pair for pair in pairs if pair not in checks]
    topics = [Topic(**row) for row in trial["topics"]]
    plan = parse_plan(plan_text(way))
    return plan.way.prepare(plan, CampaignRows(topics, documents, pool, gold))


def make_trial(settings: Settings, way: str = "grades", language: str = "en") -> str:
    """Make the trial in the server's database and start it; a worker's link to it."""
    plan = parse_plan(plan_text(way, language))
    return launch_campaign(settings, plan, trial_rows(way))


def plan_text(way: str = "grades", language: str = "en") -> str:
    """The trial's plan."""
    trial = Way.named(way).trial
    own = f"instructions = {json.dumps(trial.instructions)}" if trial.instructions else INSTRUCTIONS
    texts = {"grades": ", ".join(map(str, trial.grades)), "instructions": own}
    return PLAN.format(way=way, language=language, **{**vars(trial), **texts})


def launch_campaign(settings: Settings, plan: Plan, rows: CampaignRows) -> str:
    """Make a campaign in the server's database and start it; a worker's link, good for a day."""
    with open_store(settings.database, new=True) as store:
        create_campaign(store, plan, rows)
        with store.write(plan.campaign.name) as work:
            perform(work, "trial", "launch")
            return judging_page(work, settings, make_link(work, "you", 1))
