"""The rules, one by one, on both engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.collection.making import PLAN, Site, make_site, material, wrong

from qrowd.collection.adjudication import appeals, expert_sample
from qrowd.collection.books import ledger, notices
from qrowd.collection.database import transfer
from qrowd.collection.database.schema import assignment, event, judging_set, place
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import events, peer_review, queue, submission
from qrowd.collection.judging.offer import Offer, body_of
from qrowd.collection.judging.submission import sweep
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.office import erasure
from qrowd.collection.office.acts.sets import Extend, RaiseTarget
from qrowd.collection.people import topic_questions, workers
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, QuestionRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.publishing.export import export
from qrowd.collection.record import audit
from qrowd.errors import RuleError


@pytest.fixture
def made(url: str) -> Iterator[Any]:
    """A function that makes a campaign from a changed plan."""
    sites: list[Site] = []

    def make(*changes: tuple[str, str], more: str = "", what: CampaignRows | None = None) -> Site:
        plan = PLAN
        for old, new in changes:
            assert old in plan
            plan = plan.replace(old, new)
        sites.append(make_site(url, plan + more, what))
        return sites[-1]

    yield make
    for site in sites:
        with site.store.read(site.name) as work:
            assert broken(work) == []
        site.store.engine.dispose()


def state_of(site: Site, key: str) -> Any:
    """The row of an assignment."""
    with site.store.read(site.name) as work:
        return work.db.execute(select(assignment).where(assignment.c.key == key)).one()


def refused(code: str) -> Any:
    """Expects a rule to say no, by its code."""
    return pytest.raises(RuleError, check=lambda error: error.code == code)


# --- events ---------------------------------------------------------------------------------------


def test_the_same_key_gives_the_same_answer_and_another_body_is_refused(made: Any) -> None:
    site = made()
    worker = site.worker("ann")
    key = site.next(worker).sets[0].key
    first = site.say(worker, key, 1, 2, key="once")
    again = site.say(worker, key, 1, 2, key="once")
    assert again.repeated
    assert (again.event, again.at) == (first.event, first.at)
    with refused("key-reused"):
        site.say(worker, key, 1, 1, key="once")
    with site.store.read("tiny") as work:
        assert work.db.scalar(select(func.count()).select_from(event)) == 1


def test_an_answer_to_an_outdated_one_is_kept_and_replaces_nothing(made: Any) -> None:
    site = made()
    worker = site.worker("ann")
    key = site.next(worker).sets[0].key
    first = site.say(worker, key, 1, 2, follows=0)
    second = site.say(worker, key, 1, 1, follows=first.event)
    third = site.say(worker, key, 1, 0, follows=first.event)  # from a second tab
    assert (second.stale, third.stale) == (False, True)
    shown = site.next(worker).sets[0].documents[0]
    assert (shown.answer.grade, shown.answer.event) == (1, second.event)


def test_a_finished_batch_takes_no_answers_and_must_be_complete(made: Any) -> None:
    site = made()
    worker = site.worker("ann")
    offer = site.next(worker)
    with refused("incomplete"):
        site.work(submission.finish, worker, offer.key)
    site.judge(worker, offer)
    site.work(submission.finish, worker, offer.key)
    with refused("closed"):
        site.say(worker, offer.sets[0].key, 1, 1)
    with refused("not-found"):
        site.say(site.worker("bob"), offer.sets[0].key, 1, 1)


def test_seconds_are_capped_by_the_servers_own_time(made: Any) -> None:
    site = made()
    worker = site.worker("ann")
    key = site.next(worker).sets[0].key
    site.clock.forward(0.5)
    site.say(worker, key, 1, 1, seconds=20)
    site.say(worker, key, 2, 1, seconds=9999)
    with site.store.read("tiny") as work:
        spent = list(work.db.scalars(select(event.c.milliseconds).order_by(event.c.id)))
    assert spent == [20_000, 10_000]


# --- leases ---------------------------------------------------------------------------------------


def test_an_abandoned_batch_is_open_again_and_a_late_answer_is_kept(made: Any) -> None:
    site = made(("target = 2", "target = 1"))
    ann, bob = site.worker("ann"), site.worker("bob")
    offer = site.next(ann)
    site.clock.forward(11)
    site.work(sweep)
    assert state_of(site, offer.key).state == "expired"
    assert site.work(ledger.balance).promised == 100  # kept for a day
    for _ in range(5):
        site.whole(bob)
    late = site.say(ann, offer.sets[0].key, 1, 1)
    assert late.late
    surplus = [site.say(ann, one.key, 1, 1).surplus for one in offer.sets]
    assert all(surplus)  # bob has filled places; which sets are gold is not told by that
    site.judge(ann, offer)
    site.work(submission.finish, ann, offer.key)
    assert site.work(submission.submit, ann, offer.key).earned == 100
    with site.store.read("tiny") as work:
        held = work.db.scalar(select(func.sum(place.c.held)).where(place.c.worker_id == ann))
    assert held == 0


def test_after_a_day_late_answers_are_refused_and_the_promise_is_free(made: Any) -> None:
    site = made()
    ann = site.worker("ann")
    offer = site.next(ann)
    site.clock.forward(11 + 24 * 60)
    site.work(sweep)
    with refused("too-late"):
        site.say(ann, offer.sets[0].key, 1, 1)
    assert site.work(ledger.balance).promised == 0
    again = site.next(ann)
    assert again.key == offer.key  # one's own expired batch comes first
    assert site.work(ledger.balance).promised == 100


def test_answers_renew_the_lease_up_to_its_longest(made: Any) -> None:
    site = made()
    ann = site.worker("ann")
    offer = site.next(ann)
    for _ in range(6):
        site.clock.forward(9)
        saved = site.say(ann, offer.sets[0].key, 1, 1)
    assert saved.expires_at == offer.latest_end == offer.leased_at + 60 * 60_000


def test_a_finished_batch_is_submitted_when_its_lease_ends(made: Any) -> None:
    site = made()
    ann = site.worker("ann")
    offer = site.next(ann)
    site.judge(ann, offer)
    site.work(submission.finish, ann, offer.key)
    site.clock.forward(61)
    site.work(sweep)
    assert state_of(site, offer.key).state == "accepted"


# --- checks and what follows ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "state", "owed", "worker_state"),
    [
        ("return", "returned", 0, "qualified"),
        ("exclude", "excluded", 100, "qualified"),
        ("screen-out", "screened-out", 20, "screened-out"),
        ("stop", "accepted", 100, "stopped"),
        ("none", "accepted", 100, "qualified"),
    ],
)
def test_what_a_failed_check_does(
    made: Any, action: str, state: str, owed: int, worker_state: str
) -> None:
    more = f'[checks.binary]\naction = "{action}"\n[checks]\nscreen_out_after = 1\n'
    site = made(more=more)
    ann = site.worker("ann")
    offer = site.next(ann)
    site.judge(ann, offer, wrong)
    done = site.work(submission.finish, ann, offer.key)
    assert done.failed == ("binary",)
    [place] = {one.place for one in done.missed}
    [gold] = [shown for shown in offer.sets if shown.key == place]
    assert len(done.missed) == len(gold.documents)
    assert {one.reason for one in done.missed} == {"because"}
    assert done.can_submit == (action != "return")
    if done.can_submit:
        site.work(submission.submit, ann, offer.key)
    assert state_of(site, offer.key).state == state
    assert site.work(ledger.balance).owed == owed
    with site.store.read("tiny") as work:
        assert workers.worker_of(work, ann).state == worker_state


def test_cannot_tell_on_gold_is_wrong_and_broken_is_neutral(made: Any) -> None:
    for kind, failed in (("cannot-tell", ("binary",)), ("broken", ())):
        site = made(('name = "tiny"', f'name = "{kind}"'))
        ann = site.worker("ann")
        offer = site.next(ann)
        for shown in offer.sets:
            for document in shown.documents:
                site.say(ann, shown.key, document.position, None, kind=kind)
        assert site.work(submission.finish, ann, offer.key).failed == failed


def test_too_fast_fails(made: Any) -> None:
    site = made(("at_least = 0", "at_least = 6"))
    ann = site.worker("ann")
    offer = site.next(ann)
    site.judge(ann, offer)
    assert site.work(submission.finish, ann, offer.key).failed == ("seconds",)


@pytest.mark.parametrize(("each", "failed"), [("set", ()), ("document", ("seconds",))])
def test_a_bound_of_time_for_every_document_is_an_option(
    made: Any, each: str, failed: tuple[str, ...]
) -> None:
    site = made(("at_least = 0", "at_least = 6"), more=f'[checks]\nseconds_for = "{each}"\n')
    ann = site.worker("ann")
    offer = site.next(ann)
    site.clock.forward(30)  # time is capped by the server's own
    for shown in offer.sets:
        for document in shown.documents:
            grade = int(document.title.split()[-1])
            seconds = 2.0 if document.position == 1 else 20.0
            site.say(ann, shown.key, document.position, grade, seconds=seconds)
            site.clock.forward(1)
    assert site.work(submission.finish, ann, offer.key).failed == failed


def test_a_qualification_has_two_tries_with_different_sets(made: Any) -> None:
    site = made(more="[qualification]\nsets = 2\n", what=material(qualification=4))
    ann, bob = site.worker("ann"), site.worker("bob")
    first = site.next(ann)
    assert first.kind == "qualification"
    site.judge(ann, first, wrong)
    assert len(site.work(submission.finish, ann, first.key).missed) == 6
    ended = site.work(submission.submit, ann, first.key)
    assert (ended.qualified, ended.tries_left) == (False, 1)
    second = site.next(ann)
    site.judge(ann, second, wrong)
    site.work(submission.finish, ann, second.key)
    assert site.work(submission.submit, ann, second.key).tries_left == 0
    assert site.next(ann).code == "failed"
    assert site.whole(bob).qualified
    assert site.next(bob).kind == "judge"


def test_nobody_is_tested_where_nothing_is_left_to_judge(made: Any) -> None:
    what = material(topics=1, pool=3, qualification=2)
    site = made(("target = 2", "target = 1"), more="[qualification]\nsets = 1\n", what=what)
    ann, bob = site.worker("ann"), site.worker("bob")
    assert site.whole(ann).qualified
    taken = site.next(ann)
    assert taken.kind == "judge"
    assert site.next(bob).code == "no-work-left"
    site.work(submission.give_back, ann, taken.key)
    assert site.next(bob).kind == "qualification"


def test_when_the_gold_is_used_up_serving_stops_and_the_organiser_is_told(made: Any) -> None:
    site = made(what=material(topics=6, gold_sets=2))
    ann = site.worker("ann")
    assert site.whole(ann).state == "accepted"
    assert site.whole(ann).state == "accepted"
    assert site.next(ann).code == "gold-used-up"
    with site.store.read("tiny") as work:
        assert [one.kind for one in notices.notices(work)] == ["gold-used-up"]


def test_the_first_sets_of_a_new_worker_may_be_gold(made: Any) -> None:
    site = made(("gold = 1\n", "gold = 1\nfirst_gold = 2\n"))
    ann = site.worker("ann")
    offer = site.next(ann)
    with site.store.read("tiny") as work:
        keys = [one.key for one in offer.sets]
        rows = work.db.execute(select(place.c.key, place.c.kind).where(place.c.key.in_(keys)))
        kinds = {row.key: row.kind for row in rows}
    assert [kinds[key] for key in keys[:2]] == ["gold", "gold"]
    assert list(kinds.values()).count("gold") == 3


def test_as_many_batches_are_left_as_come(made: Any) -> None:
    what = material(topics=6, gold_sets=3)
    site = made(("gold = 1\n", "gold = 1\nfirst_gold = 1\n"), what=what)
    ann = site.worker("ann")
    for left in (2, 1):
        assert site.work(queue.batches_left, ann) == left
        site.whole(ann)
    assert site.work(queue.batches_left, ann) == 0
    assert site.next(ann).code == "gold-used-up"


def test_no_lease_without_money_and_volunteers_need_none(made: Any) -> None:
    site = made(("budget = 100.00", "budget = 1.50"))
    assert isinstance(site.next(site.worker("ann")), Offer)
    assert site.next(site.worker("bob")).code == "no-budget"
    free = made(
        ("hit = 1.00", "hit = 0"),
        ("screen_out = 0.20", "screen_out = 0"),
        ("budget = 100.00", "budget = 0"),
        ('"tiny"', '"free"'),
    )
    assert isinstance(free.next(free.worker("ann")), Offer)


# --- ways and modes -------------------------------------------------------------------------------


def test_ranks_must_go_with_grades(made: Any) -> None:
    site = made(("seed = 1", 'seed = 1\nway = "ranked"'), what=material(pool=9))
    ann = site.worker("ann")
    shown = site.next(ann).sets[0]
    for position, grade in ((1, 2), (2, 0), (3, 1)):
        site.say(ann, shown.key, position, grade)
    with refused("incompatible"):
        site.say(ann, shown.key, 0, None, kind="ranking", ranks=(1, 2, 3))
    with refused("malformed"):
        site.say(ann, shown.key, 0, None, kind="ranking", ranks=(1, 1, 2))
    assert not site.say(ann, shown.key, 0, None, kind="ranking", ranks=(1, 3, 2)).stale


def test_preferences_are_couples_that_connect_a_topic(made: Any) -> None:
    site = made(("seed = 1", 'seed = 1\nway = "preferences"'), ("size = 3", "size = 2"))
    ann = site.worker("ann")
    offer = site.next(ann)
    assert {len(shown.documents) for shown in offer.sets} == {2}
    with refused("not-allowed"):
        site.say(ann, offer.sets[0].key, 1, 1)
    for shown in offer.sets:
        site.say(ann, shown.key, 0, None, kind="ranking", ranks=(2, 1))
    site.work(submission.finish, ann, offer.key)
    assert site.work(submission.submit, ann, offer.key).state == "accepted"


def test_an_owner_judges_a_whole_topic_and_a_second_assessor_a_sample(made: Any) -> None:
    site = made(
        ("seed = 1", 'seed = 1\nmode = "owner"'),
        ("target = 2", "target = 1"),
        ("gold = 1\n", "gold = 1\nsecond_share = 0.5\n"),
    )
    ann, bob = site.worker("ann"), site.worker("bob")
    offer = site.next(ann)
    assert sum(len(shown.documents) for shown in offer.sets) == 7
    assert len({shown.topic.query for shown in offer.sets}) == 1
    assert offer.expires_at - offer.leased_at == 14 * 86_400_000
    for _ in range(3):
        site.whole(ann)
    second = site.next(bob)
    assert second.kind == "judge"
    assert 0 < len(second.sets) <= 5
    with site.store.read("tiny") as work:
        kinds = set(work.db.scalars(select(place.c.kind).where(place.c.worker_id == bob)))
    assert kinds == {"second"}


def test_priorities_come_first(made: Any) -> None:
    site = made()
    site.work(audit.perform, "o", "prioritise", {"priorities": [["t2", "d2-3", 5.0]]})
    ann = site.worker("ann")
    queries = {shown.topic.query for shown in site.next(ann).sets}
    assert "query 2" in queries
    with site.store.read("tiny") as work:
        first = work.db.execute(
            select(judging_set.c.held).where(judging_set.c.priority == 5.0)
        ).one()
    assert first.held == 1


# --- further controls -----------------------------------------------------------------------------


def test_justification_is_asked_for(made: Any) -> None:
    site = made(more='[techniques]\njustification = "either"\n')
    ann = site.worker("ann")
    key = site.next(ann).sets[0].key
    with refused("justify"):
        site.say(ann, key, 1, 1)
    assert not site.say(ann, key, 1, 1, passage="these words").stale


def test_questions_come_before_their_topic(made: Any) -> None:
    asked = tuple(QuestionRow(f"t{t}", "2 + 2?", ("3", "4"), 1) for t in range(3))
    what = material()
    what = CampaignRows(what.topics, what.documents, what.pool, what.gold, (), asked)
    site = made(more="[techniques]\nexpertise_share = 1.0\n", what=what)
    ann = site.worker("ann")
    shown = site.next(ann).sets[0]
    with refused("questions-first"):
        site.say(ann, shown.key, 1, 1)
    assert not site.work(topic_questions.answer_questions, ann, {shown.questions[0].number: 0})
    with refused("not-allowed"):
        site.say(ann, shown.key, 1, 1)
    with refused("conflict"):
        site.work(topic_questions.answer_questions, ann, {shown.questions[0].number: 1})


def test_workers_review_workers(made: Any) -> None:
    site = made(more="[techniques]\nreview_share = 1.0\nreview_agreement = 0.9\n")
    ann, bob = site.worker("ann"), site.worker("bob")
    with site.store.write("tiny") as work:
        assert peer_review.lease_review(work, bob) is None
    site.whole(ann)
    offer = site.next(bob)
    assert offer.kind == "review"
    reviewed = [one for shown in offer.sets for one in shown.documents]
    assert all(one.reviewed is not None for one in reviewed)
    site.judge(bob, offer, wrong)
    site.work(submission.finish, bob, offer.key)
    site.work(submission.submit, bob, offer.key)
    with site.store.read("tiny") as work:
        (row,) = peer_review.agreement(work)
        told = [one.kind for one in notices.notices(work)]
    assert row.id == ann
    assert row.agreed < row.compared
    assert told == ["reviewed"]


@pytest.mark.parametrize("reviews", [1, 2])
def test_others_review_a_set_several_times(made: Any, reviews: int) -> None:
    site = made(more=f"[techniques]\nreview_share = 1.0\nreviews = {reviews}\n")
    ann = site.worker("ann")
    site.whole(ann)
    kinds = []
    for name in ("bob", "cat", "dan"):
        person = site.worker(name)
        offer = site.next(person)
        kinds.append(offer.kind)
        if offer.kind == "review":
            site.judge(person, offer)
            site.work(submission.finish, person, offer.key)
            site.work(submission.submit, person, offer.key)
            with site.store.write("tiny") as work:  # nobody reviews the same again
                assert peer_review.lease_review(work, person) is None
    assert kinds == ["review"] * reviews + ["judge"] * (3 - reviews)
    with site.store.read("tiny") as work:
        (row,) = peer_review.agreement(work)
        assert broken(work) == []
    judged = 2 * 3  # two counted sets
    assert (row.id, row.agreed, row.compared <= judged * reviews) == (ann, row.compared, True)
    assert row.compared > judged // 2 * reviews


def test_experts_judge_a_random_sample(made: Any) -> None:
    site = made()
    site.whole(site.worker("ann"))
    assert len(site.work(expert_sample.draw_sample, 4)) == 4
    rows = site.work(expert_sample.to_judge)
    assert len(rows) == 4
    for number, row in enumerate(rows):
        said = 0 if number else 2
        site.work(expert_sample.decide, "eva", row.id, said, "looked", "borderline")
    rate = site.work(expert_sample.error_rate)
    assert (rate.sampled, rate.judged) == (4, 4)
    assert 0 <= rate.low <= rate.rate <= rate.high <= 1
    assert site.work(expert_sample.to_judge) == []


# --- organisers -----------------------------------------------------------------------------------


def test_a_refusal_is_appealed_and_won(made: Any) -> None:
    site = made(("seed = 1", 'seed = 1\naccept = "by hand"'))
    ann = site.worker("ann")
    offer = site.next(ann)
    site.judge(ann, offer)
    site.work(submission.finish, ann, offer.key)
    site.work(submission.submit, ann, offer.key)
    number = state_of(site, offer.key).id
    site.work(audit.perform, "o", "refuse", {"assignment": number})
    assert site.work(ledger.balance).promised == 100
    asked = site.work(appeals.appeal_refusal, ann, offer.key, "I worked well")
    assert asked == site.work(appeals.appeal_refusal, ann, offer.key, "I worked well")
    answered = {"appeal": asked, "won": True, "reply": "you are right"}
    site.work(audit.perform, "o", "answer appeal", answered)
    assert state_of(site, offer.key).state == "accepted"
    assert site.work(ledger.balance).owed == 100


def test_disagreeing_with_gold_gets_an_answer(made: Any) -> None:
    site = made()
    ann = site.worker("ann")
    offer = site.next(ann)
    site.judge(ann, offer, wrong)
    missed = site.work(submission.finish, ann, offer.key).missed[0]
    asked = site.work(appeals.disagree, ann, missed.place, missed.position, "look again")
    assert [row.id for row in site.work(appeals.open_appeals)] == [asked]
    answered = {"appeal": asked, "won": False, "reply": "see line 3"}
    site.work(audit.perform, "o", "answer appeal", answered)
    assert site.work(appeals.appeals_of, ann)[0].reply == "see line 3"


def test_a_raised_target_is_lowered_to_what_is_held(made: Any) -> None:
    site = made()
    act = site.work(audit.perform, "o", "raise target", {"target": 4})
    site.work(audit.undo, "o", act)
    with refused("conflict"):
        site.work(audit.undo, "o", act)
    act = site.work(audit.perform, "o", "raise target", {"target": 1})
    with site.store.read("tiny") as work:
        cost = RaiseTarget(target=3).cost(work)
    assert (cost.judgements, cost.pairs, cost.amount) == (2 * 21, 21, 900)


def test_an_extension_can_be_withdrawn(made: Any) -> None:
    site = made()
    more = CampaignRows(documents=[DocumentRow("n1", b"x", "p 1")], pool=[("t0", "n1")])
    number = site.work(audit.perform, "o", Extend(rows=more))
    with site.store.read("tiny") as work:
        stored = audit.details_of(audit.act_numbered(work, number))
        assert (stored["pairs"], stored["sets"]) == (1, 1)
        last = work.db.scalar(select(func.max(judging_set.c.id)))
    for name in ("ann", "bob", "cat", "dan", "eve", "fay"):
        site.next(site.worker(name))  # among them somebody who gets the new set
    site.work(audit.undo, "o", number)
    with site.store.read("tiny") as work:
        row = work.db.execute(select(judging_set).where(judging_set.c.id == last)).one()
        assert (row.open, row.target) == (0, row.held)
        assert row.held > 0


def test_what_cannot_be_undone_asks_twice(made: Any) -> None:
    site = made()
    ann = site.worker("ann")
    with refused("ask-twice"):
        site.work(audit.perform, "o", "message", {"worker": 1, "text": "hello"})
    site.work(audit.perform, "o", "message", {"worker": 1, "text": "hello"}, sure=True)
    assert site.work(workers.messages, ann)[0].text == "hello"
    site.next(ann)
    with refused("not-allowed"):
        site.work(audit.undo, "o", 1)  # the launch, after the first lease


def test_documents_are_shown_to_whom_they_were_given(made: Any) -> None:
    site = made()
    ann = site.worker("ann")
    shown = site.next(ann).sets[0]
    body = site.work(body_of, ann, shown.key, 1)
    assert body.content.startswith(b"text ")
    with refused("not-found"):
        site.work(body_of, site.worker("bob"), shown.key, 1)
    with refused("not-found"):
        site.work(body_of, ann, shown.key, 9)


# --- people ---------------------------------------------------------------------------------------

SECRETS = ("Zebulon Quux", "PLATFORM-ID-77", "zebulon@quux.example", "my private reason")


def bytes_of(path: Path) -> bytes:
    """A file's bytes; none where the server has taken it away meanwhile."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def everywhere(site: Site, folder: Path, secrets: Sequence[str] = SECRETS) -> dict[str, list[str]]:
    """Where the secrets are found: files of the database, a backup, an export."""
    folder.mkdir()
    transfer.backup(site.store, folder / "backup.db")
    with site.store.read("tiny") as work:
        export(work, folder / "out", parquet=True)
    files = [path for path in folder.rglob("*") if path.is_file()]
    if site.store.is_sqlite:
        place = Path(str(site.store.engine.url.database))
        files += place.parent.glob(place.name + "*")
    else:
        with site.store.engine.connect() as db:
            data = Path(str(db.exec_driver_sql("SHOW data_directory").scalar()))
        files += [one for one in (data / "base").rglob("*") if one.is_file()]
    return {
        secret: [one.name for one in files if secret.encode() in bytes_of(one)]
        for secret in secrets
    }


def test_a_forgotten_person_is_nowhere(made: Any, tmp_path: Path) -> None:
    site = made(more="[people]\nrecognise = true\n")
    name, number, address, reason = SECRETS
    ann = site.work(
        workers.enter,
        "prolific",
        number,
        name=name,
        address=address,
        parameters={"PROLIFIC_PID": number},
    ).id
    offer = site.next(ann)
    for shown in offer.sets:
        for document in shown.documents:
            right = int(document.title.split()[-1])
            site.say(ann, shown.key, document.position, right, reason=reason)
    site.work(workers.write_message, ann, f"I am {name}", from_worker=True)
    site.work(submission.finish, ann, offer.key)
    site.work(submission.submit, ann, offer.key)
    own = site.work(erasure.my_data, ann)
    assert own["person"][0]["name"] == name
    assert own["note"][0]["text"] == reason
    with refused("not-settled"):
        erasure.forget(site.store, "tiny", 1, who="o")
    assert not site.work(erasure.ask, ann)
    site.work(audit.perform, "o", "settle", {"workers": [1]}, sure=True)
    before = everywhere(site, tmp_path / "before")
    assert all(before.values())  # the search finds what is there
    erasure.forget(site.store, "tiny", 1, who="o")
    assert everywhere(site, tmp_path / "after") == {one: [] for one in SECRETS}
    again = site.work(workers.enter, "prolific", number)
    assert again.id == ann  # recognised by a keyed hash, as the plan says
    with site.store.read("tiny") as work:
        assert work.db.scalar(select(func.sum(place.c.held))) == 2


def test_forgetting_may_void_the_answers(made: Any) -> None:
    site = made()
    ann = site.worker("ann")
    site.whole(ann)
    site.work(audit.perform, "o", "settle", {"workers": [1]}, sure=True)
    erasure.forget(site.store, "tiny", 1, who="o", void=True)
    with site.store.read("tiny") as work:
        assert work.db.scalar(select(func.sum(place.c.held))) == 0
    assert site.worker("ann") != ann  # not recognised


def test_nothing_comes_of_somebody_forgotten_though_the_clock_is_set_back(made: Any) -> None:
    site = made()
    ann = site.worker("ann")
    offer = site.next(ann)
    site.clock.forward(60 * 24 * 20)
    site.work(sweep)
    erasure.forget(site.store, "tiny", 1, who="o")
    site.clock.forward(-60 * 24 * 20)
    with refused("too-late"):
        site.say(ann, offer.sets[0].key, 1, 1)


def test_consent_comes_first_and_is_kept(made: Any) -> None:
    site = made(more='[people]\nconsent = "I agree"\nconsent_version = "2"\n')
    ann = site.worker("ann")
    assert site.next(ann).code == "consent"
    with refused("conflict"):
        site.work(workers.give_consent, ann, "1")
    site.work(workers.give_consent, ann, "2")
    assert isinstance(site.next(ann), Offer)
    assert site.work(erasure.my_data, ann)["consent"][0]["text"] == "I agree"


def test_events_are_never_malformed(made: Any) -> None:
    site = made()
    ann = site.worker("ann")
    key = site.next(ann).sets[0].key
    bad: list[dict[str, Any]] = [
        {"kind": "grade", "position": 1, "grade": 9},
        {"kind": "grade", "position": 7, "grade": 1},
        {"kind": "grade", "position": 1},
        {"kind": "nothing", "position": 1},
        {"kind": "grade", "position": 1, "grade": 1, "seconds": -1},
        {"kind": "grade", "position": 1, "grade": 1, "seconds": float("nan")},
        {"kind": "grade", "position": 1, "grade": 1, "reason": "x" * 10_001},
        {"kind": "broken", "position": 1, "ranks": (1, 2, 3)},
    ]
    for at, one in enumerate(bad):
        with refused("malformed"):
            site.work(events.save, ann, events.Said(key=f"b{at}", place=key, **one))


@pytest.mark.parametrize("hours", [-10, 10, 24 * 300])
def test_a_clock_that_jumps_loses_nothing(made: Any, hours: int) -> None:
    site = made()
    ann = site.worker("ann")
    offer = site.next(ann)
    first = site.say(ann, offer.sets[0].key, 1, 1)
    site.clock.forward(60 * hours)
    site.work(sweep)
    site.clock.forward(-60 * hours)  # somebody sets it right again
    site.judge(ann, offer)
    site.work(submission.finish, ann, offer.key)
    assert site.work(submission.submit, ann, offer.key).earned == 100
    with site.store.read("tiny") as work:
        assert work.db.scalar(select(func.min(event.c.id))) == first.event


def test_two_campaigns_extended_at_once_share_no_set(site: Site) -> None:
    other = parse_plan(PLAN.replace('"tiny"', '"other"'))
    create_campaign(site.store, other, material())
    topic = material().pool[0][0]

    def extend_other() -> None:
        with site.store.write("other") as work:
            audit.perform(work, "o", Extend(rows=new_document(topic, "one")))

    with ThreadPoolExecutor() as threads:
        with site.store.write(site.name) as work:
            audit.perform(work, "o", Extend(rows=new_document(topic, "two")))
            second = threads.submit(extend_other)
            wait([second], timeout=0.3)  # it would have taken the same numbers by now
            assert not second.done()
        second.result()


def new_document(topic: str, name: str) -> CampaignRows:
    """One more pair to judge."""
    return CampaignRows(documents=[DocumentRow(name, name.encode())], pool=[(topic, name)])
