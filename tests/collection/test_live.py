"""What the live page rests on: the pace, decisions, costs, evidence; on both engines."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import insert, select, update
from tests.collection.making import MINUTE, PLAN, Site, make_site, material, wrong

from qrowd.collection.books import ledger, notices
from qrowd.collection.books.progress import by_topic_and_votes, counts, status
from qrowd.collection.books.prospect import foreseen_cost
from qrowd.collection.database.schema import judging_set, note, worker
from qrowd.collection.judging import gold, submission
from qrowd.collection.office import worker_record
from qrowd.collection.office.acts.workers import ScreenOut
from qrowd.collection.office.pace import day_of, pace_of, spent_of
from qrowd.collection.office.todo import needs
from qrowd.collection.plan.sections import DAY, Pay
from qrowd.collection.record import audit
from qrowd.collection.record.act import act_named
from qrowd.errors import RuleError

PAY = Pay()


def texts(site: Site) -> list[str]:
    """What needs a decision."""
    with site.store.read("tiny") as work:
        return [str(one.text) for one in needs(work, pace_of(work))]


def ahead(site: Site) -> Any:
    """Where the campaign goes."""
    with site.store.read("tiny") as work:
        return pace_of(work)


def foreseen(site: Site) -> float:
    """What the whole campaign was expected to cost."""
    with site.store.read("tiny") as work:
        return foreseen_cost(work)


def test_pace_and_forecast(site: Site) -> None:
    assert (ahead(site).per_day, ahead(site).ready_at) == (0, None)
    assert ahead(site).verdict == "nobody yet"
    for name in ("ann", "bob"):
        site.whole(site.worker(name))
    site.clock.forward(12 * 60)
    found = ahead(site)
    assert (found.wanted, found.per_day) == (42, pytest.approx(2 * found.held))
    left = (42 - found.held) / found.per_day * DAY
    assert found.ready_at == pytest.approx(site.clock.now + left, abs=MINUTE)
    # until 20 batches are done the rest costs its share of what was forecast, failures included
    rest = round(foreseen(site) * (42 - found.held) / 42)
    assert found.expected == 200 + rest
    assert rest > 700  # 14 sets are left, 2 in a batch: if none failed
    assert found.verdict == "on track"
    assert f"{found.held / 42 * 100:.0f}\u00a0% done" in str(found.sentence(PAY))
    assert "2 of 100 EUR spent" in str(found.sentence(PAY))
    site.clock.forward(8 * 24 * 60)
    assert ahead(site).verdict == "nobody works"


def test_the_budget_and_the_end(site: Site) -> None:
    for name in ("ann", "bob"):
        site.whole(site.worker(name))
    site.work(lambda work: ledger.fund(work, -9_400))
    found = ahead(site)
    share = found.held / 42
    rest = round(foreseen(site) * (1 - share))
    assert (found.verdict, found.missing) == ("budget", 200 + rest - 600)
    assert found.affordable == pytest.approx(share + (1 - share) * 400 / rest)
    missing = f"{found.missing / 100:.2f} EUR are missing"
    assert missing in str(found.sentence(PAY))
    assert any(missing in text for text in texts(site))
    site.work(audit.perform, "o", "raise target", {"target": 0})
    assert ahead(site).verdict == "done"
    assert texts(site) == ["Every judgement that was wanted is there."]
    site.work(audit.perform, "o", "pause")
    assert texts(site)[0] == "The campaign is paused: nobody gets work."


def test_days_in_words() -> None:
    now = 1_800_000_000_000  # a Friday
    words = [str(day_of(now + days * DAY, now)) for days in (0, 1, 3, 20, 400)]
    assert words == ["today", "tomorrow", "on Monday", "on 4 February", "on 19 February 2028"]
    assert str(spent_of(PAY, 21_200, 30_000)) == "212 of 300 EUR spent"
    assert str(spent_of(PAY, 123_456, 9_900_000)) == "1,234.56 of 99,000.00 EUR spent"


def test_coverage_is_what_the_status_says(site: Site) -> None:
    for name in ("ann", "bob", "cat"):
        site.whole(site.worker(name))
    with site.store.read("tiny") as work:
        found, whole = by_topic_and_votes(work), status(work)
        assert [(one.topic, one.held, one.wanted) for one in found] == [
            (one.topic, one.held, one.wanted) for one in whole.topics
        ]
        votes: dict[int, int] = {}
        for one in found:
            for n, documents in one.by_votes.items():
                votes[n] = votes.get(n, 0) + documents
        assert votes == whole.by_votes
        assert counts(work, worker) == whole.workers


def test_what_needs_a_decision(url: str) -> None:
    site = make_site(url, PLAN.replace("seed = 1", 'seed = 1\naccept = "by hand"'))
    ann = site.worker("ann")
    site.whole(ann)
    assert "A batch waits to be accepted." in texts(site)
    with site.store.write("tiny") as work:
        for number in range(3):
            notices.tell(work, "gold-used-up", f"w{number}", worker=f"w{number}")
        notices.tell(work, "no-budget")
        work.db.execute(update(worker).values(forget_asked=work.now))
    found = texts(site)
    assert "3 workers have met every gold set and get no more batches." in found
    assert "The budget does not allow another batch; add to it." in found
    assert "To be forgotten, as they asked: w1." in found
    site.store.engine.dispose()


def test_a_notice_that_was_dismissed_and_is_told_again_is_shown_again(url: str) -> None:
    site = make_site(url)
    with site.store.write("tiny") as work:
        for kind in ("no-budget", "qualification-used-up"):
            notices.tell(work, kind)
        first = notices.notices(work)[-1]
        notices.dealt_with(work, first.id)
        assert [row.kind for row in notices.notices(work)] == ["qualification-used-up"]
        notices.tell(work, "no-budget")
        notices.tell(work, "no-budget")  # it is on the list: once is enough
        shown = [row.kind for row in notices.notices(work)]
    assert shown == ["no-budget", "qualification-used-up"]  # the newest first
    assert "The budget does not allow another batch; add to it." in texts(site)
    site.store.engine.dispose()


def test_nobody_can_be_asked_to_stop_who_is_not_there(site: Site) -> None:
    with site.store.read("tiny") as work:
        for name in ("stop", "screen out"):
            with pytest.raises(RuleError, match="there is no worker 99"):
                act_named(name).of({"worker": 99}).foretell(work)
        with pytest.raises(RuleError, match="no open set of that topic"):
            act_named("raise target").of({"target": 3, "topic": ""}).do(work)


def test_gold_that_most_miss_is_named(url: str) -> None:
    site = make_site(url, made=material(gold_sets=1, pool=40))
    for number in range(10):
        site.whole(site.worker(f"p{number}"), wrong)
    with site.store.read("tiny") as work:
        gold_id = work.db.scalar(select(judging_set.c.id).where(judging_set.c.role == "gold"))
        told = [one for one in needs(work, pace_of(work)) if one.act == "retire gold"]
        assert [one.details for one in told] == [{"set": gold_id}]
        assert len(gold.named_grades(work)) == 3
    site.work(audit.perform, "o", "retire gold", {"set": gold_id})
    assert not [text for text in texts(site) if "Gold set" in text]
    site.store.engine.dispose()


def test_evidence_on_a_worker(site: Site) -> None:
    ann, bob = site.worker("ann"), site.worker("bob")
    for who, choose in ((ann, None), (bob, wrong)):
        offer = site.next(who)
        site.clock.forward(1)
        site.judge(who, offer, choose)
        site.work(submission.finish, who, offer.key)
        site.work(submission.submit, who, offer.key)
    with site.store.write("tiny") as work:
        number = work.db.exec_driver_sql(
            f"SELECT max(id) FROM event WHERE worker_id = {bob} AND kind = 'grade'"
        ).scalar()
        work.db.execute(insert(note).values(event_id=number, kind="reason", text="I think so"))
    with site.store.read("tiny") as work:
        good, bad = worker_record.standing(work, 1), worker_record.standing(work, 2)
        lines = worker_record.lines(work, [2, 1, 9])
        assert worker_record.numbers(work, 0, 10) == [1, 2]
        # with a gold set of three, all wrong, bob is out at once
        left = [1] if bad.line.state == "screened-out" else [1, 2]
        assert worker_record.numbers(work, 0, 10, "qualified") == left
    # gold sets have as many documents as those of the pool: two or three
    assert good.right in ((2, 2), (3, 3))
    assert good.confusion.items() <= {(0, "0"): 1, (1, "1"): 1, (2, "2"): 1}.items()
    assert bad.right in ((0, 2), (0, 3))
    assert bad.confusion.items() <= {(0, "2"): 1, (1, "0"): 1, (2, "0"): 1}.items()
    assert (len(good.confusion), len(bad.confusion)) == (good.right[1], bad.right[1])
    assert (good.seconds, good.unsettled) == (1.0, 100)
    assert good.answers in range(6, 10)
    assert [one.text for one in bad.reasons] == ["I think so"]
    assert [(one.number, one.batches, one.failed_hits) for one in lines] == [(2, 1, 1), (1, 1, 0)]
    checks = bad.checks[bad.batches[0].id]
    assert [bool(row.passed) for row in checks if row.check == "binary"] == [False]


COSTS = [
    ("pause", {}, 0),
    ("resume", {}, 0),
    ("close", {}, 0),
    ("fund", {"amount": 500}, 0),
    ("raise target", {"target": 3}, 500),
    ("raise target", {"target": 3, "topic": "t0"}, 200),
    ("bonus", {"worker": 1, "amount": 70}, 70),
    ("stop", {"worker": 1}, 0),
    ("screen out", {"worker": 1}, -80),
    ("message", {"worker": 1, "text": "hello"}, 0),
    ("settle", {"workers": [1]}, 0),
]


def test_launching_tells_the_forecast(site: Site) -> None:
    with site.store.read("tiny") as work:
        told = act_named("launch").of({}).foretell(work)
        assert told.cost == round(foreseen_cost(work)) > 900  # nine batches, if none failed
        assert str(told.price).startswith("This costs")


@pytest.mark.parametrize(("act", "details", "cost"), COSTS)
def test_costs_are_told_first(site: Site, act: str, details: dict[str, Any], cost: int) -> None:
    site.next(site.worker("ann"))
    with site.store.read("tiny") as work:
        told = act_named(act).of(details).foretell(work)
        assert told.cost == cost
        assert str(told.question).endswith("?")
        words = str(told.price)
    usual = "This costs" if cost >= 0 else "This gives back 0.80 EUR"
    assert words.startswith("Up to 105.00 EUR" if act == "fund" else usual)


def test_what_screening_out_is_told_to_give_back_it_gives_back(site: Site) -> None:
    site.next(site.worker("ann"))
    before = site.work(ledger.balance)
    with site.store.read("tiny") as work:
        cost = ScreenOut(worker=1).foretell(work).cost
    site.work(audit.perform, "o", "screen out", {"worker": 1})
    after = site.work(ledger.balance)
    assert before.free - after.free == cost
    with pytest.raises(RuleError, match="raise target needs target"):
        act_named("raise target").of({})
