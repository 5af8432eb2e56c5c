"""Who is screened out by the checks, and whom they leave alone; appeals; two organisers at once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, text
from tests.collection.making import PLAN, Choice, Site, make_site, material, wrong

from qrowd.collection.adjudication import appeals
from qrowd.collection.books import ledger
from qrowd.collection.database.schema import assignment, outcome, place
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import events, queue, submission
from qrowd.collection.judging.checks import gold_record
from qrowd.collection.judging.offer import Offer
from qrowd.collection.people import workers
from qrowd.collection.plan.limits import complaints, without_effect
from qrowd.collection.plan.pass_rates import found_out, passing
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.plan.sections import Pay
from qrowd.collection.plan.toml import parse_plan, stored_plan
from qrowd.collection.record import audit
from qrowd.collection.record.act import act_named
from qrowd.data.topics import Topic
from qrowd.errors import InputError, RuleError
from qrowd.quality.against_gold import GOOD, SURELY, good_p
from qrowd.quality.pass_chances import WORKERS

PAY = Pay()
HEAD = '[campaign]\nname = "x"\n'
FAST = PLAN.replace("[checks.seconds]\nat_least = 0", "[checks.seconds]\nat_least = 2")


@pytest.fixture
def site(url: str) -> Iterator[Site]:
    """A campaign with the default checks, in which nobody is too fast."""
    made = make_site(url, PLAN, material(pool=30, gold_sets=12))
    yield made
    made.store.engine.dispose()


def batch(site: Site, person: int, choose: Choice | None = None) -> Any:
    """A whole batch, some time after the one before."""
    site.clock.forward(1)
    return site.whole(person, choose)


def state_of(site: Site, person: int) -> str:
    with site.store.read("tiny") as work:
        assert broken(work) == []
        return str(workers.worker_of(work, person).state)


# --- the test itself ------------------------------------------------------------------------------


def slow_p(answers: list[tuple[bool, bool]]) -> float:
    """`good_p` of answers (is it relevant, was it right), one by one."""
    total = 0.0
    for right_on in ({True: 0.5, False: 0.5}, {True: 0.9, False: 0.1}, {True: 0.1, False: 0.9}):
        ratio = 1.0
        for relevant, right in answers:
            b = right_on[relevant]
            ratio *= b / 0.9 if right else (1 - b) / 0.1
        total += ratio / 3
    return min(1.0, 1 / total)


def test_the_test_is_walds() -> None:
    chance = random.Random(1)
    for n in (0, 1, 3, 12, 40):
        answers = [(chance.random() < 0.6, chance.random() < 0.6) for _ in range(n)]
        counts = Counter(answers)
        relevant = counts[True, True] + counts[True, False]
        p = good_p(counts[True, False], relevant, counts[False, False], n - relevant)
        assert p == pytest.approx(slow_p(answers))
    assert good_p(0, 10_000, 0, 10_000) == 1  # nothing overflows
    assert good_p(10_000, 10_000, 0, 0) == 0


@pytest.mark.parametrize("right", [GOOD, 0.95, 1.0])
def test_good_workers_are_hardly_ever_called_worse_however_long_they_work(right: float) -> None:
    """Ville's bound, for 200 batches; also of those who are better than good."""
    draw = np.random.default_rng(5)
    for relevant, other in ((4, 1), (1, 1), (5, 0), (0, 5)):
        missed = np.cumsum(draw.binomial(relevant, 1 - right, (4000, 200)), axis=1)
        alarms = np.cumsum(draw.binomial(other, 1 - right, (4000, 200)), axis=1)
        n = np.arange(1, 201)
        ever = (good_p(missed, relevant * n, alarms, other * n) <= SURELY).any(axis=1)
        assert ever.mean() <= SURELY


# --- by default -----------------------------------------------------------------------------------


def test_the_second_batch_that_is_too_fast_screens_out(url: str) -> None:
    site = make_site(url, FAST, material(pool=30, gold_sets=12))
    ann = site.worker("ann")
    first = batch(site, ann)
    assert (first.state, first.failed, first.warned, first.earned) == (
        "excluded",
        ("seconds",),
        True,
        100,
    )
    second = batch(site, ann)
    assert (second.state, second.failed, second.warned) == ("screened-out", ("seconds",), False)
    assert second.earned == 20  # as the plan says
    assert state_of(site, ann) == "screened-out"
    assert site.next(ann).code == "screened-out"
    site.store.engine.dispose()


def test_missed_gold_does_not_count_for_the_second_fast_batch(url: str) -> None:
    site = make_site(url, FAST, material(pool=30, gold_sets=12))
    ann = site.worker("ann")

    def some_wrong(title: str, right: int) -> int:
        return 0 if right == 2 else right

    for seconds in (3.0, 3.0, 1.0):
        offer = site.next(ann)
        site.clock.forward(1)
        for shown in offer.sets:
            for document in shown.documents:
                grade = some_wrong(document.title, int(document.title.split()[-1]))
                site.say(ann, shown.key, document.position, grade, seconds=seconds)
        site.work(submission.finish, ann, offer.key)
        ended = site.work(submission.submit, ann, offer.key)
        assert ended.state == "excluded"
        assert ("seconds" in ended.failed) == (seconds == 1.0) == ended.warned
    assert state_of(site, ann) == "qualified"
    site.store.engine.dispose()


def test_who_is_surely_worse_is_out_told_why_and_paid_as_stated(site: Site) -> None:
    ann, bob = site.worker("ann"), site.worker("bob")
    out = batch(site, ann, wrong)
    assert (out.state, out.failed, out.earned) == ("screened-out", ("binary", "surely"), 20)
    for _ in range(6):
        assert batch(site, bob).state == "accepted"
    assert (state_of(site, ann), state_of(site, bob)) == ("screened-out", "qualified")
    with site.store.read("tiny") as work:
        tests = work.db.execute(select(outcome).where(outcome.c["check"] == "surely")).all()
    assert [row.passed for row in tests] == [0, *[1] * 6]
    assert tests[0].value == pytest.approx(good_p(2, 2, 1, 1))


def test_somebody_who_passes_every_batch_is_found_out_over_several(site: Site) -> None:
    """On gold 0 1 2, "relevant" of everything passes the binary check."""
    ann = site.worker("ann")
    ended = [batch(site, ann, lambda title, right: 2) for _ in range(3)]
    assert [one.state for one in ended] == ["accepted", "accepted", "screened-out"]
    assert ended[-1].failed == ("surely",)
    assert state_of(site, ann) == "screened-out"


def test_cannot_tell_is_wrong_broken_is_neutral_and_retired_gold_does_not_count(
    site: Site,
) -> None:
    ann = site.worker("ann")
    offer = site.next(ann)
    with site.store.read("tiny") as work:
        own = select(place.c.key).where(place.c.worker_id == ann, place.c.kind == "gold")
        gold_key = work.db.scalar(own)
        gold_set = work.db.scalar(select(place.c.set_id).where(place.c.key == gold_key))
    for shown in offer.sets:
        for document in shown.documents:
            right = int(document.title.split()[-1])
            said = {0: "broken", 1: "cannot-tell"}.get(right) if shown.key == gold_key else None
            grade = None if said else right
            kind = {"kind": said} if said else {}
            site.say(ann, shown.key, document.position, grade, seconds=1.0, **kind)
    site.work(submission.finish, ann, offer.key)
    with site.store.read("tiny") as work:
        record = gold_record(work, ann)
        assert (record.missed, record.relevant, record.false_alarms, record.other) == (1, 2, 0, 0)
    site.work(submission.submit, ann, offer.key)
    assert state_of(site, ann) == "qualified"
    site.work(audit.perform, "o", "retire gold", {"set": gold_set})
    with site.store.read("tiny") as work:
        assert gold_record(work, ann).asked == 0
        assert broken(work) == []


def test_fixed_numbers_of_failures_keep_their_meaning(url: str) -> None:
    more = '[checks.binary]\naction = "screen-out"\n[checks]\nscreen_out_after = 3\n'
    site = make_site(url, PLAN + more, material(pool=30, gold_sets=12))
    ann = site.worker("ann")
    ended = [batch(site, ann, wrong) for _ in range(3)]
    assert [one.state for one in ended] == ["excluded", "excluded", "screened-out"]
    assert [one.warned for one in ended] == [False, True, False]
    assert ended[-1].failed == ("binary",)
    site.store.engine.dispose()


def test_retiring_gold_names_whom_it_screened_out_and_offers_to_let_them_in(site: Site) -> None:
    ann, bob, cyn = (site.worker(name) for name in ("ann", "bob", "cyn"))
    assert batch(site, ann, wrong).state == "screened-out"  # by one set alone
    assert batch(site, bob, lambda title, right: 2).state == "accepted"
    assert batch(site, bob, wrong).state == "screened-out"  # the last one suffices
    batch(site, cyn, lambda title, right: 2)
    site.work(audit.perform, "o", "screen out", {"worker": 3})  # by hand

    with site.store.read("tiny") as work:
        gold_sets = select(place.c.worker_id, place.c.set_id).where(place.c.kind == "gold")
        met = work.db.execute(gold_sets.order_by(place.c.id)).all()
        asked = {
            number: act_named("retire gold").of({"set": number}).foretell(work) for _, number in met
        }
    readmits = {
        number: [act.form(PAY)["worker"] for act in each.offers] for number, each in asked.items()
    }
    [(_, of_ann)] = [row for row in met if row[0] == ann]
    [(_, first), (_, last)] = [row for row in met if row[0] == bob]
    assert "w1" in readmits[of_ann]
    assert "It screened out w1" in str(asked[of_ann].follows[2])
    assert {act.name for each in asked.values() for act in each.offers} == {"readmit"}
    assert "w2" in readmits[last]
    assert "w2" not in readmits[first]
    assert not any("w3" in numbers for numbers in readmits.values())


# --- appeals --------------------------------------------------------------------------------------


def test_a_won_appeal_undoes_it_and_its_undo_brings_it_back(site: Site) -> None:
    ann = site.worker("ann")
    with pytest.raises(RuleError, match="you can go on"):
        site.work(appeals.appeal_screen_out, ann, "why?")
    batch(site, ann, wrong)
    number = site.work(appeals.appeal_screen_out, ann, "I read every page")
    assert site.work(appeals.appeal_screen_out, ann, "again") == number  # it waits already
    site.clock.forward(1)
    answer = {"appeal": number, "won": True, "reply": "you are right"}
    act = site.work(audit.perform, "o", "answer appeal", answer)
    with site.store.read("tiny") as work:
        (row,) = work.db.execute(select(assignment)).all()
        assert (row.state, row.earned, row.promised) == ("accepted", 100, 0)
        assert gold_record(work, ann).asked == 0
    assert state_of(site, ann) == "qualified"

    site.work(audit.undo, "o", act)
    with site.store.read("tiny") as work:
        (row,) = work.db.execute(select(assignment)).all()
        assert (row.state, row.earned) == ("screened-out", 20)
        assert ledger.balance(work).owed == 20
        assert gold_record(work, ann).asked == 3
    assert state_of(site, ann) == "screened-out"

    site.work(audit.perform, "o", "answer appeal", answer)
    assert batch(site, ann).state == "accepted"  # what was before is not held against ann
    assert batch(site, ann, wrong).state == "excluded"
    assert state_of(site, ann) == "qualified"


def test_a_lost_appeal_is_the_last(site: Site) -> None:
    ann = site.worker("ann")
    batch(site, ann, wrong)
    number = site.work(appeals.appeal_screen_out, ann, "why?")
    lost = {"appeal": number, "won": False, "reply": "see the reasons"}
    site.work(audit.perform, "o", "answer appeal", lost)
    assert state_of(site, ann) == "screened-out"
    with site.store.read("tiny") as work:
        assert not appeals.can_appeal_screen_out(work, ann)
    with pytest.raises(RuleError, match="answered already; write a message instead"):
        site.work(appeals.appeal_screen_out, ann, "once more")


def test_who_was_screened_out_by_hand_can_appeal_too(site: Site) -> None:
    ann = site.worker("ann")
    site.next(ann)
    site.work(audit.perform, "o", "screen out", {"worker": 1})
    number = site.work(appeals.appeal_screen_out, ann, "why?")
    site.work(audit.perform, "o", "answer appeal", {"appeal": number, "won": True, "reply": "ok"})
    with site.store.read("tiny") as work:  # a batch that was never finished is not accepted
        assert list(work.db.scalars(select(assignment.c.state))) == ["screened-out"]
    assert batch(site, ann).state == "accepted"
    assert state_of(site, ann) == "qualified"


# --- two organisers -------------------------------------------------------------------------------


def test_acts_on_what_somebody_else_has_just_changed_say_what_to_do(site: Site) -> None:
    ann = site.worker("ann")
    batch(site, ann, wrong)  # the checks have screened ann out meanwhile
    for act in ("screen out", "stop"):
        with pytest.raises(RuleError, match=r"w1 is screened-out already; .*: look again"):
            site.work(audit.perform, "o", act, {"worker": 1})
    number = site.work(appeals.appeal_screen_out, ann, "why?")
    site.clock.forward(1)
    let_in = site.work(audit.perform, "o", "readmit", {"worker": 1})
    with pytest.raises(RuleError, match=r"w1 is qualified already; .*: look again"):
        site.work(audit.perform, "p", "readmit", {"worker": 1})
    # the other organiser answers the appeal: the worker is in already, and gets the reply
    won = {"appeal": number, "won": True, "reply": "yes"}
    answered = site.work(audit.perform, "p", "answer appeal", won)
    with pytest.raises(RuleError, match="was answered already"):
        site.work(audit.perform, "o", "answer appeal", won)
    site.work(audit.undo, "p", answered)
    with pytest.raises(RuleError, match=f"act {answered} was undone already"):
        site.work(audit.undo, "o", answered)
    site.next(ann)
    with pytest.raises(RuleError, match="w1 has worked since; screen the worker out instead"):
        site.work(audit.undo, "o", let_in)
    assert state_of(site, ann) == "qualified"


def test_a_screening_out_by_hand_is_not_undone_after_it_was_won_on_appeal(site: Site) -> None:
    ann = site.worker("ann")
    act = site.work(audit.perform, "o", "screen out", {"worker": 1})
    number = site.work(appeals.appeal_screen_out, ann, "why?")
    site.work(audit.perform, "o", "answer appeal", {"appeal": number, "won": True, "reply": "ok"})
    with pytest.raises(RuleError, match="qualified since, not screened-out: nothing is left"):
        site.work(audit.undo, "o", act)


# --- recomputed -----------------------------------------------------------------------------------


def test_verification_finds_a_worker_who_should_be_out(site: Site) -> None:
    ann = site.worker("ann")
    batch(site, ann, wrong)
    with site.store.transaction() as db:
        db.execute(text("UPDATE worker SET state = 'qualified'"))
    with site.store.read("tiny") as work:
        assert ["is qualified" in one and "failed" in one for one in broken(work)] == [True]


def test_verification_recomputes_the_test(site: Site) -> None:
    ann = site.worker("ann")
    batch(site, ann)
    with site.store.transaction() as db:
        columns = 'assignment_id, set_id, "check", value, at_least, passed, action'
        values = 'assignment_id, set_id, "check", 0.5, at_least, passed, action'
        copied = f"SELECT {values} FROM outcome WHERE set_id IS NULL"
        db.execute(text(f"INSERT INTO outcome ({columns}) {copied}"))
    with site.store.read("tiny") as work:
        assert any("says 0.5, the answers 1.0" in one for one in broken(work))


# --- before anybody is asked ----------------------------------------------------------------------


def stays(more: str, gold: tuple[int, ...]) -> dict[str, tuple[float, ...]]:
    return {row.worker: row.stays for row in passing(parse_plan(HEAD + more), [gold])}


@pytest.mark.parametrize("way", ["grades", "ranked"])
@pytest.mark.parametrize("gold", [(0, 1, 1, 2, 2), (0, 0, 1, 1, 2), (0, 0, 0, 1, 2)])
def test_defaults_act_and_spare_good_people(way: str, gold: tuple[int, ...]) -> None:
    left = stays(f'way = "{way}"\n', gold)
    assert 1 - left["good"][9] <= 0.02
    assert 1 - left["fast"][4] >= 0.9
    assert 1 - left["random"][7] >= 0.8


def test_a_fixed_number_of_failures_would_throw_good_people_out() -> None:
    three = '[checks.binary]\naction = "screen-out"\n[checks]\nscreen_out_after = 3\n'
    assert 1 - stays(three, (0, 1, 2))["good"][9] > 0.25


def test_what_is_reached_is_said() -> None:
    plan = parse_plan(HEAD)
    said = str(found_out(plan, passing(plan, [(0, 1)])))
    assert "0.8\u00a0% are out after ten" in said
    assert "83.7\u00a0% after eight" in said
    assert "100.0\u00a0% after five" in said
    assert found_out(parse_plan(HEAD + '[checks.binary]\naction = "stop"\n'), ()) is None


SIMULATED = """
[campaign]
name = "tiny"
[sets]
size = 5
target = 1000
[hit]
sets = 2
gold = 1
lease_minutes = 600
longest_minutes = 600
[checks.seconds]
at_least = {seconds}
"""


def small(gold: tuple[int, ...]) -> CampaignRows:
    """Ten sets, and ten gold sets of the same size."""
    topics = [Topic(f"t{at}", query="q") for at in range(10)]
    pool = [(f"t{at}", f"d{at}-{n}") for at in range(10) for n in range(len(gold))]
    rows = [
        GoldRow(f"t{at}", f"g{at}-{n}", grade, "", "", f"s{at}")
        for at in range(10)
        for n, grade in enumerate(gold)
    ]
    names = [doc for _, doc in [*pool, *(row.pair for row in rows)]]
    titles = [0] * len(pool) + [row.grade or 0 for row in rows]
    documents = [
        DocumentRow(name, name.encode(), f"page {grade}")
        for name, grade in zip(names, titles, strict=True)
    ]
    return CampaignRows(topics, documents, pool, rows)


@pytest.mark.parametrize(
    ("kind", "gold", "people"),
    [
        ("good", (0, 1, 1, 2, 2), 20),
        ("sloppy", (0, 1, 2), 40),
        ("random", (0, 1), 40),
        ("fast", (0, 1, 2), 5),
        ("always relevant", (0, 1, 2), 3),
    ],
)
def test_campaigns_do_what_was_foretold(
    kind: str, gold: tuple[int, ...], people: int, tmp_path: Any
) -> None:
    """Simulated workers through the rules themselves, against who would pass."""
    # all in one moment: whoever is not to be too fast must not be asked for time
    plan = SIMULATED.format(seconds=2 if kind == "fast" else 0)
    site = make_site(f"sqlite:///{tmp_path / 'c.db'}", plan, small(gold))
    model = next(one for one in WORKERS if one.name == ("random" if kind == "fast" else kind))
    chance, left = random.Random(11), Counter[int]()
    with site.store.write("tiny") as work:
        for number in range(people):
            person = workers.enter(work, "own", f"p{number}").id
            for at in range(1, 11):
                offer = queue.next_batch(work, person)
                if not isinstance(offer, Offer):
                    break
                for shown in offer.sets:
                    for document in shown.documents:
                        relevant = document.title != "page 0"
                        yes = chance.random() < (model.hit if relevant else model.false_alarm)
                        said = events.Said(
                            key=f"k{next(site.keys)}",
                            place=shown.key,
                            kind="grade",
                            position=document.position,
                            grade=int(yes),
                        )
                        events.save(work, person, said)
                submission.finish(work, person, offer.key)
                submission.submit(work, person, offer.key)
                left[at] += workers.worker_of(work, person).state == "qualified"
        assert broken(work) == []
    foretold = next(row.stays for row in passing(parse_plan(plan), [gold]) if row.worker == kind)
    for at, share in enumerate(foretold, 1):
        spread = (share * (1 - share) / people) ** 0.5
        assert left[at] / people == pytest.approx(share, abs=4 * spread + 0.5 / people)
    site.store.engine.dispose()


# --- plans ----------------------------------------------------------------------------------------


def test_keys_without_effect_are_cautioned_where_they_are_given() -> None:
    def said(more: str) -> list[str]:
        return [f"{one.section}.{one.key}" for one in without_effect(parse_plan(HEAD + more))]

    assert said("") == []
    assert said("[checks]\nscreen_out_after = 3\n") == []  # by default, seconds screen out
    other = '[checks.seconds]\naction = "exclude"\n'
    assert said("[checks]\nscreen_out_after = 3\n" + other) == ["checks.screen_out_after"]
    assert said('[checks.binary]\naction = "none"\nat_least = 0.9\n') == ["checks.binary.at_least"]
    assert said("[checks.ndcg]\nat_least = 0.7\n") == ["checks.ndcg.at_least"]  # nothing is ranked
    assert said("[hit]\ngold = 0\n[checks.binary]\nat_least = 0.9\n") == ["checks.binary.at_least"]


def test_time_is_no_answer_to_gold() -> None:
    with pytest.raises(InputError, match=r"\[checks.seconds\] action: screen-out-surely is about"):
        parse_plan(HEAD + '[checks.seconds]\naction = "screen-out-surely"\n')
    kept = stored_plan(HEAD + '[checks.seconds]\naction = "screen-out-surely"\n')
    assert len(list(complaints(kept))) == 1
