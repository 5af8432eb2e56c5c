"""A storm of random acts on both engines; after each, every rule is recomputed from the rows."""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from benchmarks._campaign import passed_over
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import select
from tests.collection.making import PLAN, Clock, Site, material

from qrowd.collection.adjudication import cases, expert_sample
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import answer, assignment, judging_set, place
from qrowd.collection.database.schema import audit as audit_table
from qrowd.collection.database.states import STATES
from qrowd.collection.database.store import Store
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import events, hierarchy, queue, submission
from qrowd.collection.judging.hierarchy import Findings
from qrowd.collection.judging.offer import Offer
from qrowd.collection.judging.submission import sweep
from qrowd.collection.material.campaign_rows import add, create_campaign
from qrowd.collection.office import erasure
from qrowd.collection.office.acts.next_sets import ChooseNext, NextSets
from qrowd.collection.people import workers
from qrowd.collection.plan.rows import CampaignRows, DocumentRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.publishing.imports import import_judgements
from qrowd.collection.record import audit
from qrowd.errors import InputError, RuleError
from qrowd.web.next_sets import choose

LONG = int(os.environ.get("QROWD_SOAK", "1"))
WORKERS = st.integers(0, 3)

PLANS = (
    PLAN,
    PLAN.replace("[sets]", 'accept = "by hand"\n[sets]'),
    PLAN.replace("[sets]", 'way = "ranked"\n[qualification]\nsets = 1\n[sets]'),
    PLAN.replace("[sets]", 'mode = "owner"\n[sets]').replace("target = 2", "target = 1"),
    PLAN.replace("[sets]", '[next]\npick = "margin"\nleast = 1\n[sets]'),
    PLAN.replace("[sets]", 'mode = "hierarchy"\n[hierarchy]\ntraining = 1\nhours = 1\n[sets]'),
    PLAN.replace("budget = 100.00", "budget = 4.00")
    + '[checks.binary]\naction = "screen-out"\n[techniques]\nreview_share = 0.3\n'
    + "[checks]\nscreen_out_after = 1\n",
)
SMALL = material(topics=2, pool=5, gold_sets=4, qualification=3)


class Storm(RuleBasedStateMachine):
    """Workers, organisers and the clock, each doing what they may or may not do."""

    store: Store
    clock: Clock
    seen: set[str]
    names: Iterator[int]
    storms: Iterator[int]

    def __init__(self) -> None:
        super().__init__()
        self.number = next(self.names)
        text = PLANS[next(self.storms) % len(PLANS)].replace('"tiny"', f'"storm {self.number}"')
        self.plan = parse_plan(text)
        create_campaign(self.store, self.plan, SMALL)
        self.site = Site(self.store, self.clock, self.plan.campaign.name)
        self.site.work(audit.perform, "organiser", "launch")
        self.workers = [self.site.worker(f"p{at}") for at in range(4)]
        self.sent: list[tuple[int, events.Said]] = []
        self.offers: dict[int, Offer] = {}
        chance = random.Random(self.number)
        for at in range(4):  # a past, so that there is something to disturb
            then = chance.choice(("submit", "submit", "return", "")) if at else "submit"
            self.work(chance.randrange(4), not at or chance.random() < 0.6, then)
            self.every_rule_holds()
        if self.plan.in_phases:  # up to the last phase
            for _ in range(2):
                for at in range(3):
                    self.work(at, at != 1, "submit")
                self.experts_decide()
            self.text_contradicts()
            for at in range(3):
                self.work(at, True, "submit")
            self.every_rule_holds()
        for act in ("refuse", "exclude", "accept"):
            self.decide(act, chance.randrange(99))
        self.take(3)
        if self.number % 2:
            self.manage("screen out", 3)
        else:
            self.wait(61)
            self.sweep()

    def tried(self, act: Any, *arguments: Any, **named: Any) -> Any:
        """What an act gives; None where a rule says no."""
        try:
            return self.site.work(act, *arguments, **named)
        except (RuleError, InputError):
            return None

    @rule(who=WORKERS)
    def take(self, who: int) -> None:
        worker = self.workers[who]
        if not self.plan.owner:
            with self.store.read(self.site.name) as work:
                batch = queue.compose(work, worker)
                assert passed_over(work, worker, batch) == []
        found = self.site.next(worker)
        if isinstance(found, Offer):
            self.offers[worker] = found

    @rule(who=WORKERS, seed=st.integers(0, 999))
    def answer_some(self, who: int, seed: int) -> None:
        worker, chance = self.workers[who], random.Random(seed)
        for shown in self.offers[worker].sets if worker in self.offers else ():
            for document in shown.documents:
                kind = chance.choices(("grade", "cannot-tell", "broken", "clear"), (9, 1, 1, 1))[0]
                said = events.Said(
                    key=f"{self.number}-{next(self.names)}",
                    place=shown.key,
                    kind=kind,
                    position=document.position,
                    grade=chance.choice((0, 1, 2)) if kind == "grade" else None,
                    follows=chance.choice((None, None, 0)),
                )
                self.tried(events.save, worker, said)
                self.sent.append((worker, said))

    @rule(who=WORKERS, good=st.booleans(), then=st.sampled_from(("submit", "return", "")))
    def work(self, who: int, good: bool, then: str) -> None:
        self.take(who)
        worker = self.workers[who]
        for shown in self.offers[worker].sets if worker in self.offers else ():
            grades = []
            for document in shown.documents:
                right = int(document.title.split()[-1])
                grade = right if good else 2 - right
                grades.append(grade)
                said = events.Said(
                    key=f"{self.number}-{next(self.names)}",
                    place=shown.key,
                    kind="grade",
                    position=document.position,
                    grade=grade,
                    seconds=3,
                )
                self.tried(events.save, worker, said)
            if "ranking" in self.plan.way.kinds:
                order = sorted(range(len(grades)), key=lambda at: -grades[at])
                ranks = tuple(order.index(at) + 1 for at in range(len(grades)))
                key = f"{self.number}-{next(self.names)}"
                said = events.Said(key=key, place=shown.key, kind="ranking", ranks=ranks)
                self.tried(events.save, worker, said)
        if worker in self.offers:
            self.tried(submission.finish, worker, self.offers[worker].key)
            if then == "submit":
                self.tried(submission.submit, worker, self.offers[worker].key)
            elif then == "return":
                self.tried(submission.give_back, worker, self.offers[worker].key)

    @rule(at=st.integers(0, 1000), changed=st.booleans())
    def send_again(self, at: int, changed: bool) -> None:
        if self.sent:
            worker, said = self.sent[at % len(self.sent)]
            self.tried(events.save, worker, replace(said, seconds=9) if changed else said)

    @rule(who=WORKERS)
    def submit(self, who: int) -> None:
        worker = self.workers[who]
        if worker in self.offers:
            self.tried(submission.submit, worker, self.offers[worker].key)

    @rule(who=WORKERS)
    def give_back(self, who: int) -> None:
        worker = self.workers[who]
        if worker in self.offers:
            self.tried(submission.give_back, worker, self.offers[worker].key)

    @rule(minutes=st.sampled_from((1, 11, 61, 60 * 25, 60 * 24 * 20)))
    def wait(self, minutes: int) -> None:
        self.clock.forward(minutes)

    @rule(minutes=st.sampled_from((-5, -61, -60 * 24 * 30)))
    def clock_is_set_back(self, minutes: int) -> None:
        self.clock.forward(minutes)

    @rule(who=WORKERS, void=st.booleans())
    def forget(self, who: int, void: bool) -> None:
        with self.store.read(self.site.name) as work:
            number = workers.worker_of(work, self.workers[who]).number
        self.tried(audit.perform, "organiser", "settle", {"workers": [number]}, sure=True)
        try:
            self.site.work(erasure.erase, number, who="organiser", void=void)
        except RuleError:
            return
        self.offers.pop(self.workers[who], None)
        self.workers[who] = self.site.worker(f"p{who}")

    @rule(judge=st.integers(0, 2), first=st.integers(0, 4))
    def machine_judges(self, judge: int, first: int) -> None:
        rows = [f"t{t}\td{t}-{d}\tm{judge}\t1" for t in range(2) for d in range(first, 5)]
        text = "\n".join(["topic\tdoc\tassessor\tgrade", *rows, ""])
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
            file.write(text)
            file.flush()
            if self.plan.way.graded:
                self.tried(import_judgements, file.name)

    @rule()
    def sweep(self) -> None:
        self.site.work(sweep)

    @rule(act=st.sampled_from(("accept", "exclude", "refuse")), at=st.integers(0, 1000))
    def decide(self, act: str, at: int) -> None:
        with self.store.read(self.site.name) as work:
            own = assignment.c.campaign_id == work.campaign
            ended = assignment.c.state.in_(("submitted", "accepted", "refused"))
            ids = list(work.db.scalars(select(assignment.c.id).where(own, ended)))
        if ids:
            self.tried(audit.perform, "organiser", act, {"assignment": ids[at % len(ids)]})

    @rule(act=st.sampled_from(("screen out", "stop", "bonus", "settle")), who=WORKERS)
    def manage(self, act: str, who: int) -> None:
        with self.store.read(self.site.name) as work:
            number = workers.worker_of(work, self.workers[who]).number
        details: dict[str, Any] = {"worker": number}
        details |= {"amount": 30} if act == "bonus" else {}
        details = {"workers": [number]} if act == "settle" else details
        self.tried(audit.perform, "organiser", act, details, sure=True)

    @rule(wanted=st.integers(0, 4))
    def raise_target(self, wanted: int) -> None:
        self.tried(audit.perform, "organiser", "raise target", {"target": wanted})

    @rule()
    def choose_next(self) -> None:
        if self.plan.is_reordered:
            with contextlib.suppress(RuleError):  # nobody's work is valid yet
                choose(self.store, self.site.name, "qrowd")
        if self.plan.in_phases:
            self.experts_decide()
            self.text_contradicts()

    def text_contradicts(self) -> None:
        """Of so few documents no text tells anything: every answer is contradicted."""
        asked: dict[int, list[tuple[int, int]]] = defaultdict(list)
        with self.store.read(self.site.name) as work:
            query = select(place.c.worker_id, place.c.id, answer.c.position)
            joined = query.join_from(place, answer, answer.c.place_id == place.c.id)
            counted = joined.where(place.c.worker_id.in_(self.workers), place.c.held == 1)
            for worker, number, position in work.db.execute(counted):
                asked[worker].append((number, position))
            sets = list(work.db.scalars(select(judging_set.c.id).where(work.pool_sets())))
            found = Findings(work.now, asked=asked, best=frozenset(self.workers[:1]))
        chosen = NextSets(dict.fromkeys(sets, 1.0), documents=10, decided=0, text=found)
        self.site.work(audit.perform, "qrowd", ChooseNext(chosen=chosen))

    def experts_decide(self) -> None:
        with self.store.read(self.site.name) as work:
            waiting = cases.queue(work)
        for row in waiting:
            self.site.work(expert_sample.decide, "Eve", row.id, int(row.title.split()[-1]))

    @rule(amount=st.sampled_from((500, -500)))
    def fund(self, amount: int) -> None:
        self.tried(audit.perform, "organiser", "fund", {"amount": amount})

    @rule(at=st.integers(0, 1000))
    def undo(self, at: int) -> None:
        with self.store.read(self.site.name) as work:
            own = audit_table.c.campaign_id == work.campaign
            ids = list(work.db.scalars(select(audit_table.c.id).where(own)))
        if len(ids) > 1:  # a launch that is undone would end the storm
            self.tried(audit.undo, "organiser", ids[1 + at % (len(ids) - 1)])

    @rule()
    def extend(self) -> None:
        name = f"new{next(self.names)}"
        more = CampaignRows(documents=[DocumentRow(name, b"x", "page 1")], pool=[("t0", name)])
        self.site.work(add, more)

    @invariant()
    def every_rule_holds(self) -> None:
        with self.store.read(self.site.name) as work:
            assert broken(work) == []
            self.seen |= set(work.db.scalars(select(assignment.c.state).distinct()))
            if self.plan.in_phases and hierarchy.revised(work):
                self.seen.add("revised")


@pytest.fixture
def storm(url: str) -> Iterator[type[Storm]]:
    clock = Clock()
    store = open_store(url, clock=clock, seed=7, new=True)
    # its own counters: the same storm whatever else this process has tested before
    own = {"store": store, "clock": clock, "seen": set(), "names": count(1), "storms": count(0)}
    yield type("Storm", (Storm,), own)
    store.engine.dispose()


def test_storm(storm: type[Storm]) -> None:
    run_state_machine_as_test(
        storm,
        settings=settings(
            max_examples=2 * len(PLANS) * LONG,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            phases=(Phase.generate,),  # a storm is not shrunk: it takes longer than reading it
            suppress_health_check=list(HealthCheck),
        ),
    )
    with storm.store.snapshot() as db:
        acts = set(db.scalars(select(audit_table.c.act).distinct()))
    assert storm.seen == {*STATES, "revised"}  # a storm that does not get there shows nothing
    assert {"bonus", "settle", "raise target", "refuse", "forget", "choose next"} <= acts
