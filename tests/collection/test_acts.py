"""Every act of an organiser, then its undo: the state before, and two lines in the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select
from tests.collection.making import PLAN, Site, make_site, material, wrong

from qrowd.collection.adjudication import appeals, expert_sample
from qrowd.collection.books import ledger
from qrowd.collection.database.schema import (
    DECIDED,
    appeal,
    assignment,
    campaign,
    digest,
    document,
    gold,
    judging_set,
    letter,
    link,
    listed_person,
    member,
    pair,
    place,
    platform_call,
    sampled,
    study,
    topic,
    worker,
)
from qrowd.collection.database.schema import audit as audit_table
from qrowd.collection.database.schema import submission as submission_table
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import submission
from qrowd.collection.office.acts.next_sets import NextSets
from qrowd.collection.office.acts.people import Passed
from qrowd.collection.office.acts.prolific import Made
from qrowd.collection.people import entry, letters, workers
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.plan.toml import rewritten
from qrowd.collection.record import audit
from qrowd.collection.record.act import all_acts
from qrowd.data.topics import Topic
from qrowd.errors import RuleError

TABLES = (
    campaign,
    topic,
    document,
    pair,
    gold,
    judging_set,
    member,
    worker,
    assignment,
    place,
    appeal,
    sampled,
    listed_person,
    link,
    letter,
    study,
    submission_table,
    platform_call,
)
BY_HAND = PLAN.replace("seed = 1", 'seed = 1\naccept = "by hand"')


@pytest.fixture
def site(url: str) -> Any:
    """A campaign in which two batches wait for the organiser, and a third is being judged."""
    made = make_site(url, BY_HAND, material(pool=9))
    for name in ("ann", "bob"):
        made.whole(made.worker(name))
    made.next(made.worker("cat"))
    yield made
    made.store.engine.dispose()


def state_of(site: Site) -> dict[str, list[Any]]:
    """All rows that an act may change."""
    with site.store.read("tiny") as work:
        assert broken(work) == []
        return {
            table.name: [
                tuple(row)
                for row in work.db.execute(select(table).order_by(*table.primary_key.columns))
            ]
            for table in TABLES
        } | {
            "digest": list(work.db.scalars(select(digest.c.address))),
            "decided": list(work.db.scalars(DECIDED)),
        }


def submitted(site: Site) -> int:
    """A batch that waits for the organiser."""
    with site.store.read("tiny") as work:
        query = select(assignment.c.id).where(assignment.c.state == "submitted")
        return int(work.db.scalar(query.order_by(assignment.c.id)) or 0)


def gold_set(site: Site) -> int:
    """A gold set."""
    with site.store.read("tiny") as work:
        return int(
            work.db.scalar(select(judging_set.c.id).where(judging_set.c.role == "gold")) or 0
        )


def decided_against(site: Site) -> int:
    """The gold set that worker 3 has missed; an expert finds the same as the worker."""
    with site.store.read("tiny") as work:
        missed = select(place.c.set_id).where(place.c.worker_id == 3, place.c.kind == "gold")
        number = int(work.db.scalars(missed).one())
        graded = select(gold.c.pair_id, gold.c.grade).join_from(
            gold, member, member.c.pair_id == gold.c.pair_id
        )
        rows = work.db.execute(graded.where(member.c.set_id == number)).all()
    for pair_id, grade in rows:
        site.work(expert_sample.decide, "eve", pair_id, wrong("", grade))
    site.clock.forward(1)
    return number


def performed(site: Site, act: str, details: dict[str, Any]) -> int:
    """An act by its name."""
    return int(site.work(audit.perform, "o", act, details))


def extended(site: Site) -> int:
    """A new topic, its pool and gold."""
    names = [f"n{at}" for at in range(6)]
    more = CampaignRows(
        topics=[Topic("new", "a query")],
        documents=[DocumentRow(name, name.encode(), "page 1") for name in names],
        pool=[("new", name) for name in names[:3]],
        gold=[GoldRow("new", name, at, "", "", "g") for at, name in enumerate(names[3:])],
    )
    return performed(site, "extend", {"rows": more})


def refused_and_appealed(site: Site) -> int:
    """An appeal against a refusal."""
    number = submitted(site)
    performed(site, "refuse", {"assignment": number})
    with site.store.read("tiny") as work:
        row = work.db.execute(select(assignment).where(assignment.c.id == number)).one()
    return int(site.work(appeals.appeal_refusal, row.worker_id, row.key, "I worked well"))


def prepared(act: str, site: Site) -> Callable[[], int]:
    """What must be there before the act, done; and the act itself."""
    details: dict[str, Any] = {}
    if act in ("accept", "exclude", "refuse"):
        details = {"assignment": submitted(site)}
    elif act == "retire gold":
        details = {"set": gold_set(site)}
    elif act == "check again":
        site.whole(site.worker("cat"), wrong)
        details = {"set": decided_against(site)}
    elif act == "raise target":
        performed(site, act, {"target": 3, "topic": "t1"})
        details = {"target": 4}
    elif act == "prioritise":
        details = {"priorities": [["t0", "d0-1", 3.0], ["t1", "d1-1", 2.0]]}
    elif act == "choose next":
        with site.store.read("tiny") as work:
            pool = list(work.db.scalars(select(judging_set.c.id).where(work.pool_sets())))
        worth = {number: None if number % 2 else 0.5 for number in pool}
        details = {"chosen": NextSets(worth, documents=27, decided=13)}
    elif act in ("fund", "bonus"):
        details = {"amount": 500} | ({"worker": 1} if act == "bonus" else {})
    elif act in ("screen out", "stop"):
        details = {"worker": 3}
    elif act == "readmit":
        site.whole(site.worker("cat"), wrong)  # all gold wrong: surely worse
        site.clock.forward(1)
        details = {"worker": 3}
    elif act == "void answers":
        details = {"worker": 1}
    elif act == "draw sample":
        details = {"size": 2}
    elif act == "take back decision":
        with site.store.read("tiny") as work:
            pair_id = expert_sample.pair_named(work, "t0", "d0-1")
        site.work(expert_sample.decide, "eve", pair_id, 1)
        details = {"topic": "t0", "doc": "d0-1"}
    elif act == "clarify topic":
        details = {"topic": "t0", "text": "only recipes"}
    elif act == "resume":
        performed(site, "pause", {})
    elif act == "answer appeal":
        details = {"appeal": refused_and_appealed(site), "won": True, "reply": "yes"}
    elif act == "change entry":
        details = {"entry": "listed"}
    elif act == "change mail":
        details = {"contact": "ann@example.org", "per_minute": 5}
    elif act == "invite people":
        details = {"people": "dora;Dora;dora@example.org"}
    elif act in ("remind", "mark refused", "settle doubt"):
        written_to(site, "doubt" if act == "settle doubt" else "sent")
        if act == "mark refused":
            details = {"addresses": "dora@example.org"}
        elif act == "settle doubt":
            details = {"sent": False}
    elif act in ("send digests", "stop digests"):
        if act == "stop digests":
            performed(site, "send digests", {"addresses": "ann@example.org"})
        details = {"addresses": "ann@example.org"}
    elif act in ("make study", "take study", "raise places", "tell decisions", "send bonuses"):
        details = at_prolific(site, act)
    elif act == "qualify people":
        details = {"passed": Passed({"ann": 0.8, "dan": 1.0})}
    elif act in ("list people", "make links"):
        details = {"people": ["ann", "bob"]}
    elif act in ("take off list", "revoke links"):
        site.work(entry.make_link, "bob")
        details = {"person": site.work(entry.listed_as, "bob").id}
    elif act == "extend":
        return lambda: extended(site)
    return lambda: performed(site, act, details)


def at_prolific(site: Site, act: str) -> dict[str, Any]:
    """The campaign's people come from Prolific, which has its study but where that is made."""
    with site.store.write("tiny") as work:
        keys = {"preset": "prolific", "places": 20}
        work.store_plan(rewritten(work.plan.text, "platform", keys))
    if act == "make study":
        return {"address": "https://judge.example.org"}
    address = "https://judge.example.org/judge/tiny"
    if act == "take study":
        code = {"code": "C0DE", "code_type": "COMPLETED"}
        body = {"id": "5f", "status": "UNPUBLISHED", "external_study_url": address, "reward": 100}
        return {"made": Made({**body, "total_available_places": 30, "completion_codes": [code]})}
    with site.store.write("tiny") as work:
        made = {"address": address, "reward": 100, "screen_out": 20, "places": 20}
        work.insert(study, platform_id="5f", state="ACTIVE", made_at=work.now, **made)
        state = "AWAITING REVIEW" if act == "tell decisions" else "RETURNED"
        row = {"platform_id": "1", "state": state, "made_at": work.now, "heard_at": work.now}
        came = None if act == "tell decisions" else workers.worker_by_number(work, 1).id
        work.insert(submission_table, worker_id=came, **row)
    if act == "send bonuses":
        performed(site, "bonus", {"worker": 1, "amount": 500})
    return {"places": 25} if act == "raise places" else {}


def written_to(site: Site, outcome: str) -> None:
    """Somebody whose invitation went out a day ago, or may have."""
    performed(site, "invite people", {"people": "dora;Dora;dora@example.org"})
    (waiting,) = site.work(letters.waiting)
    site.work(letters.begin, waiting.letter)
    site.work(letters.done, waiting.letter, letters.Outcome(outcome))
    site.clock.forward(25 * 60)


UNDONE = [name for name, one in all_acts().items() if not one.final and name != "launch"]


@pytest.mark.parametrize("act", UNDONE)
def test_an_act_and_its_undo(site: Site, act: str) -> None:
    do = prepared(act, site)
    before, first = state_of(site), site.work(audit.last_act)
    number = do()
    assert state_of(site) != before
    site.work(audit.undo, "p", number)
    after = state_of(site)
    if act == "refuse":  # the one exception: a refusal is undone by accepting and paying
        before["campaign"], before["assignment"] = after["campaign"], after["assignment"]
        with site.store.read("tiny") as work:
            states = list(work.db.scalars(select(assignment.c.state).order_by(assignment.c.id)))
        assert sorted(states) == ["accepted", "active", "submitted"]
    assert after == before
    with site.store.read("tiny") as work:
        own = select(audit_table).where(audit_table.c.id > first).order_by(audit_table.c.id)
        lines = [(row.act, row.who, row.undoes) for row in work.db.execute(own)]
    assert lines == [(act, "o", None), (f"undo {act}", "p", number)]


def test_a_launch_is_undone_before_anybody_works(url: str) -> None:
    site = make_site(url, start=False)
    before = state_of(site)
    number = site.work(audit.perform, "o", "launch")
    site.work(audit.undo, "o", number)
    assert state_of(site) == before
    site.store.engine.dispose()


def test_a_finished_batch_comes_back_finished(site: Site) -> None:
    cat = site.worker("cat")
    offer = site.next(cat)
    site.judge(cat, offer, wrong)
    site.work(submission.finish, cat, offer.key)
    before = state_of(site)
    number = performed(site, "screen out", {"worker": 3})
    assert site.work(ledger.balance).owed == 20
    site.work(audit.undo, "o", number)
    assert state_of(site) == before
    site.work(submission.submit, cat, offer.key)


def test_an_extension_that_was_undone_can_be_made_again(site: Site) -> None:
    number = extended(site)
    made = state_of(site)
    site.work(audit.undo, "o", number)
    extended(site)
    again = state_of(site)
    names = [[row[2] for row in rows["document"]] for rows in (made, again)]
    assert names[0] == names[1]


def test_what_was_paid_is_not_taken_back(site: Site) -> None:
    number = submitted(site)
    act = performed(site, "accept", {"assignment": number})
    site.work(audit.perform, "o", "settle", {"workers": [1, 2]}, sure=True)
    with pytest.raises(RuleError, match="was paid since"):
        site.work(audit.undo, "o", act)


def test_an_act_is_not_undone_below_a_later_one(site: Site) -> None:
    pause = performed(site, "pause", {})
    close = performed(site, "close", {})
    with pytest.raises(RuleError, match=rf"act {close} \(close, by o\) came after it"):
        site.work(audit.undo, "p", pause)
    with site.store.read("tiny") as work:
        assert audit.reversible(work, audit.acts(work)) == {close}
    site.work(audit.undo, "p", close)
    with site.store.read("tiny") as work:
        assert audit.reversible(work, audit.acts(work)) == {pause}
    site.work(audit.undo, "p", pause)


def test_two_people_at_once(site: Site) -> None:
    """Each acts on what the page showed; the second is told, and nothing is done twice."""
    seen = site.work(audit.last_act)
    bonus = {"worker": 1, "amount": 500}
    first = site.work(audit.perform, "ann", "bonus", bonus, seen=seen)
    with pytest.raises(RuleError, match=rf"meanwhile ann did this: bonus \(act {first}\)"):
        site.work(audit.perform, "bob", "bonus", bonus, seen=seen)
    assert site.work(ledger.balance).owed == 500
    site.work(audit.perform, "bob", "bonus", {"worker": 2, "amount": 5}, seen=seen)
    site.work(audit.undo, "ann", first)
    with pytest.raises(RuleError, match="undo bonus"):
        site.work(audit.perform, "bob", "bonus", bonus, seen=first)


def test_doing_twice_what_can_be_done_once(site: Site) -> None:
    for act, details in (("stop", {"worker": 1}), ("retire gold", {"set": gold_set(site)})):
        performed(site, act, details)
        with pytest.raises(RuleError, match="already"):
            performed(site, act, details)
