"""A study at Prolific, against a server that follows its documentation: told once, to the penny."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from sqlalchemy import func, select

pytest.importorskip("httpx", reason="no client to call Prolific with")

from benchmarks.prolific import _ROUTES, Participant, Platform, serving, survive
from tests.collection.making import PLAN, Site, make_site, material, wrong

from qrowd.collection.books import ledger, notices
from qrowd.collection.database.schema import event, judging_set, place, platform_call
from qrowd.collection.database.schema import submission as submission_table
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import submission
from qrowd.collection.office import erasure
from qrowd.collection.office.acts.prolific import (
    Made,
    MakeStudy,
    PublishStudy,
    RaisePlaces,
    RejectSubmission,
    SendBonuses,
    TakeStudy,
    TellDecisions,
)
from qrowd.collection.people import entry
from qrowd.collection.plan.platforms import provider_of
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.prolific import calls, contract, submissions
from qrowd.collection.prolific.submissions import Heard
from qrowd.collection.record import audit
from qrowd.errors import InputError, RuleError, UsageError
from qrowd.http import Client, LaterError, LostError, RefusedError

PROLIFIC = f"""{PLAN.replace("[pay]", "[pay]" + chr(10) + 'currency = "GBP"')}
[checks.binary]
action = "screen-out"
[checks]
screen_out_after = 1
[platform]
preset = "prolific"
places = 3
"""
ADDRESS = "https://judge.example.org"
REASON = "You were asked to read each page and to say whether it is about the topic. " * 2


@pytest.fixture
def platform() -> Iterator[Platform]:
    """A platform that does not fail."""
    made = Platform()
    with serving(made):
        yield made


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """Somebody with the token, who waits for nothing."""
    with closing(calls.open_client(wait=lambda _: None)) as opened:
        yield opened


@pytest.fixture
def site(url: str) -> Iterator[Site]:
    """A running campaign whose people come from Prolific."""
    made = make_site(url, PROLIFIC, material(pool=9))
    yield made
    with made.store.read("tiny") as work:
        assert broken(work) == []
    made.store.engine.dispose()


def do(site: Site, act: Any) -> int:
    return int(site.work(audit.perform, "o", act, sure=True))


def published(site: Site, client: Client) -> str:
    for act in (MakeStudy(address=ADDRESS), PublishStudy()):
        do(site, act)
        assert calls.send_all(site.store, "tiny", client) == {"done": 1}
    with site.store.read("tiny") as work:
        return str(submissions.made_study(work).platform_id)


def came(site: Site, platform: Platform, at: int, state: str = contract.ACTIVE) -> int:
    """Somebody takes a place, and comes here by it."""
    number, name = f"{at:024x}", f"{at + 10**6:024x}"
    study = next(iter(platform.studies))
    platform.people[number] = Participant(number, name, state)
    seen = {"PROLIFIC_PID": name, "STUDY_ID": study, "SESSION_ID": number}
    entrant = site.work(entry.admitted, "", seen)
    return int(site.work(entry.come_in, entrant).id)


def leave(platform: Platform, at: int, state: str = contract.AWAITING) -> None:
    platform.people[f"{at:024x}"].status = state


def state_of(platform: Platform, at: int) -> str:
    return platform.people[f"{at:024x}"].status


def bonuses_of(platform: Platform, at: int) -> list[int]:
    return [amount for _, amount in platform.people[f"{at:024x}"].bonuses]


def sync(site: Site, client: Client, act: Any = None) -> dict[str, int]:
    calls.listen(site.store, "tiny", client)
    do(site, act or TellDecisions())
    return dict(calls.send_all(site.store, "tiny", client))


def told(platform: Platform) -> list[tuple[str, str]]:
    """Calls that changed something, or were meant to."""
    return [(method, path) for method, path in platform.calls if method != "GET"]


def settled(site: Site) -> int:
    with site.store.read("tiny") as work:
        return ledger.balance(work).settled


# --- the study ------------------------------------------------------------------------------------


def test_the_draft_says_what_the_plan_says(site: Site, platform: Platform, client: Client) -> None:
    do(site, MakeStudy(address=f"{ADDRESS}/"))
    assert told(platform) == []
    calls.send_all(site.store, "tiny", client)
    (body,) = platform.studies.values()
    assert body["status"] == "UNPUBLISHED"
    assert body["external_study_url"] == (
        f"{ADDRESS}/judge/tiny?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&STUDY_ID={{{{%STUDY_ID%}}}}"
        "&SESSION_ID={{%SESSION_ID%}}"
    )
    assert (body["reward"], body["total_available_places"]) == (100, 3)
    assert body["estimated_completion_time"] == 3  # nine documents of 20 seconds
    assert body["prolific_id_option"] == "url_parameters"
    config = body["submissions_config"]
    assert (config["max_submissions_per_participant"], config["auto_rejection_categories"]) == (
        1,
        [],
    )
    codes = {each["code"]: each for each in body["completion_codes"]}
    assert len(codes) == 4
    assert all(each["actions"] == [{"action": "MANUALLY_REVIEW"}] for each in codes.values())
    with site.store.read("tiny") as work:
        of, provider = submissions.made_study(work), provider_of(work.plan.platform)
        assert (of.platform_id, of.state) == (body["id"], "UNPUBLISHED")
        assert set(provider.codes.values()) == set(codes)
        assert provider.shapes["STUDY_ID"] == body["id"]  # those of another study stay out
        assert provider.shapes["PROLIFIC_PID"] == "[0-9a-f]{24}"


@pytest.mark.parametrize("failure", ["errs before", "errs after", "drops", "busy"])
def test_a_study_is_made_once(site: Site, platform: Platform, client: Client, failure: str) -> None:
    do(site, MakeStudy(address=ADDRESS))
    platform.planned = [("POST studies/", failure)]
    assert calls.send_all(site.store, "tiny", client) == {"done": 1}
    assert len(platform.studies) == 1
    assert platform.planned == []


def test_of_several_batches_the_first_is_the_reward(url: str) -> None:
    plan = PROLIFIC.replace("seed = 1", "seed = 1\nhits_per_session = 3").replace(
        "[platform]", "[qualification]\nsets = 1\n[platform]"
    )
    plan = plan.replace("hit = 1.00", "hit = 1.00\nqualification = 0.50")
    site = make_site(url, plan, material(qualification=4))
    do(site, MakeStudy(address=ADDRESS))
    with site.store.read("tiny") as work:
        (call,) = calls.calls_in(work, "waiting")
    body = json.loads(call.body)
    assert body["reward"] == 150
    assert body["estimated_completion_time"] == 4  # the test has three documents
    assert "up to 3; each further one is paid 1.00 GBP as a bonus" in body["description"]
    site.store.close()


def test_places_only_grow(site: Site, platform: Platform, client: Client) -> None:
    published(site, client)
    for few in (1, 3):
        with pytest.raises(RuleError, match="the study has 3 places, 0 of them taken; places only"):
            do(site, RaisePlaces(places=few))
    do(site, RaisePlaces(places=8))
    platform.planned = [("PATCH", "errs after")]
    assert calls.send_all(site.store, "tiny", client) == {"done": 1}
    (body,) = platform.studies.values()
    assert body["total_available_places"] == 8
    with site.store.read("tiny") as work:
        assert work.plan.platform.places == 8  # so many come in here, too


def test_fewer_places_than_people_are_refused(site: Site) -> None:
    for at in range(2):
        who = {"PROLIFIC_PID": f"{at:024x}", "STUDY_ID": "0" * 24, "SESSION_ID": "1" * 24}
        site.work(entry.come_in, site.work(entry.admitted, "", who))
    with pytest.raises(RuleError, match="2 places are taken already, so that 1 are too few"):
        do(site, MakeStudy(address=ADDRESS, places=1))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('preset = "prolific"', 'preset = "generic"'), r"its plan must say \[platform\] preset"),
        (("hit = 1.00", "hit = 0.20"), "Prolific asks for 6.00 GBP at least"),
        (
            ("[platform]", "[qualification]\nsets = 1\ntries = 1\n[platform]"),
            "Prolific asks for 2 tries of a comprehension test, got 1",
        ),
        (('currency = "GBP"', 'currency = "GBP"\ndigits = 3'), "counts in hundredths"),
    ],
)
def test_plans_that_break_the_platform_s_rules(
    change: tuple[str, str], problem: str, tmp_path: Any
) -> None:
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    site = make_site(url, PROLIFIC.replace(*change), material(qualification=4))
    with pytest.raises(RuleError, match=problem):
        do(site, MakeStudy(address=ADDRESS))
    site.store.close()


def test_names_that_were_not_seen_are_settings() -> None:
    plan = f'{PROLIFIC}[prolific]\nnames = ["code.failed=NOT_PASSED"]\n'
    assert parse_plan(plan).prolific.names == ("code.failed=NOT_PASSED",)
    with pytest.raises(InputError, match=r"plan:29: \[prolific\] names: 'code.odd' is none of"):
        parse_plan(plan.replace("code.failed", "code.odd"))


def test_a_lost_draft_is_told_from_others_by_its_codes(
    site: Site, platform: Platform, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform.make({"completion_codes": [], "name": "another", "reward": 7}, "")

    def brief(platform: Platform, body: Any, query: str) -> Any:
        """A list that says little."""
        keys = ("id", "name", "status")
        return {"results": [{key: each[key] for key in keys} for each in platform.studies.values()]}

    monkeypatch.setitem(_ROUTES, "GET studies/", brief)
    for failure in ("errs before", "errs after"):
        platform.planned.append(("POST studies/", failure))
    do(site, MakeStudy(address=ADDRESS))
    assert calls.send_all(site.store, "tiny", client)["done"] == 1
    assert len(platform.studies) == 2
    with site.store.read("tiny") as work:
        assert submissions.made_study(work).platform_id == f"{2:024x}"


def test_a_study_is_sent_as_it_was_shown(site: Site) -> None:
    with site.store.read("tiny") as work:
        codes = contract.codes_of(work)
        assert codes == contract.codes_of(work)
    assert len(set(codes.values())) == 4
    assert all(len(code) == 8 for code in codes.values())


# --- refused before anything is sent --------------------------------------------------------------


def test_without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(calls.TOKEN_VARIABLE, raising=False)
    with pytest.raises(UsageError, match="set QROWD_PROLIFIC_TOKEN"):
        calls.open_client()


def test_a_token_that_may_not(site: Site, platform: Platform, client: Client) -> None:
    platform.token = "another"
    with pytest.raises(
        RuleError, match=r"lets this token do nothing here \(401 .*nothing was sent"
    ):
        calls.refuse_unfit(site.store, "tiny", client)
    do(site, MakeStudy(address=ADDRESS))
    with pytest.raises(RuleError, match="lets this token do nothing"):
        calls.send_due(site.store, "tiny", client)
    with site.store.read("tiny") as work:
        assert [row.state for row in calls.calls_in(work, "waiting")] == ["waiting"]


def test_another_currency(site: Site, platform: Platform, client: Client) -> None:
    platform.currency = "USD"
    with pytest.raises(RuleError, match="the account pays in USD, the plan in GBP; nothing was"):
        calls.refuse_unfit(site.store, "tiny", client)
    assert told(platform) == []


def test_a_study_of_another_campaign(site: Site, platform: Platform, client: Client) -> None:
    number = published(site, client)
    platform.studies[number]["external_study_url"] = f"{ADDRESS}/judge/other?PROLIFIC_PID=x"
    before = told(platform)
    with pytest.raises(
        RuleError, match=f"study {number} leads to .*/judge/other.* not campaign 't"
    ):
        calls.refuse_unfit(site.store, "tiny", client)
    with pytest.raises(RuleError, match="nothing was sent"):
        calls.study_to_take(site.store, "tiny", client, number)
    with pytest.raises(RuleError, match="Prolific knows nothing of that"):
        calls.study_to_take(site.store, "tiny", client, "nosuch")
    assert told(platform) == before


def test_another_session_number_is_no_other_visit(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    ann = came(site, platform, 1)
    site.whole(ann)
    assert site.next(ann).code == "visit-done"
    site.clock.forward(1)
    seen = {"PROLIFIC_PID": f"{1 + 10**6:024x}", "STUDY_ID": f"{1:024x}", "SESSION_ID": "f" * 24}
    assert site.work(entry.come_in, site.work(entry.admitted, "", seen)).id == ann
    assert site.next(ann).code == "visit-done"


def test_a_study_that_was_made_by_hand(site: Site, platform: Platform, client: Client) -> None:
    codes = [{"code": "MADE", "code_type": "COMPLETED"}, {"code": "F", "code_type": "FAILED_CHECK"}]
    body = {
        "external_study_url": f"{ADDRESS}/judge/tiny?PROLIFIC_PID=x",
        "completion_codes": codes,
        "reward": 120,
        "total_available_places": 12,
    }
    number = platform.make(body, "")["id"]
    do(site, TakeStudy(made=Made(calls.study_to_take(site.store, "tiny", client, number))))
    with site.store.read("tiny") as work:
        assert provider_of(work.plan.platform).codes == {"completed": "MADE", "failed": "F"}
        assert submissions.made_study(work).reward == 120
        assert work.plan.platform.places == 12


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"max_submissions_per_participant": 3}, "lets a person submit 3 times"),
        ({"auto_rejection_categories": ["EXCEPTIONALLY_FAST"]}, r"rejects by itself \(EXCEPTION"),
    ],
)
def test_a_study_that_breaks_what_is_kept_is_not_taken(
    site: Site, platform: Platform, config: dict[str, Any], problem: str
) -> None:
    body = {
        "external_study_url": f"{ADDRESS}/judge/tiny?PROLIFIC_PID=x",
        "completion_codes": [{"code": "MADE", "code_type": "COMPLETED"}],
        "reward": 120,
        "total_available_places": 12,
        "submissions_config": config,
    }
    with pytest.raises(RuleError, match=problem):
        do(site, TakeStudy(made=Made(platform.make(body, ""))))


# --- what became of submissions -------------------------------------------------------------------


def test_each_ends_as_the_campaign_decided(site: Site, platform: Platform, client: Client) -> None:
    published(site, client)
    site.whole(came(site, platform, 1))
    site.whole(came(site, platform, 2), wrong)  # screened out at the first failure
    came(site, platform, 4)  # and did nothing
    for at in (1, 2, 4):
        leave(platform, at)
    assert sync(site, client) == {"done": 4}
    assert [state_of(platform, at) for at in (1, 2, 4)] == ["APPROVED", "SCREENED OUT", "RETURNED"]
    assert settled(site) == 120
    with site.store.read("tiny") as work:
        assert submissions.told_to_pay(work) == (120, 0)
        assert submissions.decisions(work) == []
        (act,) = [row for row in audit.acts(work) if row.act == "tell decisions"]
        details = audit.details_of(act)
        assert (details["approved"], details["screened_out"], details["returned"]) == (
            [1],
            [2],
            [3],
        )
    (body,) = platform.studies.values()
    assert body["total_available_places"] > 3  # for what was screened out and never done
    with pytest.raises(RuleError, match="there is nothing to tell"):
        do(site, TellDecisions())


def test_nothing_is_decided_while_a_batch_is_open(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    site.next(came(site, platform, 1))
    leave(platform, 1)
    calls.listen(site.store, "tiny", client)
    with site.store.read("tiny") as work:
        assert submissions.decisions(work) == []


@pytest.mark.parametrize("failure", ["errs before", "errs after", "drops", "busy"])
def test_an_approval_whose_answer_is_lost(
    site: Site, platform: Platform, client: Client, failure: str
) -> None:
    published(site, client)
    site.whole(came(site, platform, 1))
    leave(platform, 1)
    platform.planned = [("transition", failure)]
    sync(site, client)
    assert state_of(platform, 1) == "APPROVED"
    assert settled(site) == 100
    with site.store.read("tiny") as work:
        assert calls.calls_in(work, "waiting", "sending", "refused") == []


def test_who_returned_meanwhile_is_not_approved(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    site.whole(came(site, platform, 1))
    leave(platform, 1)
    calls.listen(site.store, "tiny", client)
    do(site, TellDecisions())
    leave(platform, 1, contract.RETURNED)
    assert calls.send_all(site.store, "tiny", client)["refused"] == 1
    assert settled(site) == 0
    # what was earned is owed all the same, and paid as a bonus
    assert sync(site, client, SendBonuses()) == {"done": 1}
    assert bonuses_of(platform, 1) == [100]
    assert settled(site) == 100


@pytest.mark.parametrize("state", [contract.RETURNED, contract.TIMED_OUT])
def test_who_leaves_frees_the_lease_and_late_work_is_kept(
    site: Site, platform: Platform, client: Client, state: str
) -> None:
    published(site, client)
    ann = came(site, platform, 1)
    offer = site.next(ann)
    site.say(ann, offer.sets[0].key, 1, 1)

    def held() -> int:
        with site.store.read("tiny") as work:
            return work.number(select(func.sum(judging_set.c.held)).where(work.pool_sets()))

    assert held() == 2
    leave(platform, 1, state)
    calls.listen(site.store, "tiny", client)
    assert held() == 0
    with site.store.read("tiny") as work:
        assert entry.places_taken(work) == 0  # somebody else may come instead
    again = site.next(ann)
    assert again.key == offer.key
    site.judge(ann, again)
    site.work(submission.finish, ann, again.key)
    assert site.work(submission.submit, ann, again.key).state == "accepted"
    with site.store.read("tiny") as work:
        assert work.count(event, event.c.worker_id == ann) == 10
    assert sync(site, client, SendBonuses()) == {"done": 1}
    assert bonuses_of(platform, 1) == [100]


def test_late_work_on_sets_that_others_did_is_surplus(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    do(site, RaisePlaces(places=40))
    calls.send_all(site.store, "tiny", client)
    ann = came(site, platform, 1)
    offer = site.next(ann)
    leave(platform, 1, contract.TIMED_OUT)
    calls.listen(site.store, "tiny", client)
    others = 2
    while not hasattr(site.whole(came(site, platform, others)), "message"):
        others += 1
    site.judge(ann, offer)
    site.work(submission.finish, ann, offer.key)
    assert site.work(submission.submit, ann, offer.key).state == "accepted"
    with site.store.read("tiny") as work:
        assert work.count(place, (place.c.worker_id == ann) & (place.c.surplus == 1)) == 2


def test_what_the_platform_approves_by_itself_is_in_the_books(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    came(site, platform, 1)
    leave(platform, 1)
    calls.listen(site.store, "tiny", client)
    leave(platform, 1, contract.APPROVED)
    calls.listen(site.store, "tiny", client)
    calls.listen(site.store, "tiny", client)
    assert settled(site) == 100
    free = site.work(ledger.balance).free
    site.work(ledger.fund, -free)
    came(site, platform, 2)
    leave(platform, 2, contract.APPROVED)
    calls.listen(site.store, "tiny", client)
    with site.store.read("tiny") as work:
        assert [row.kind for row in notices.notices(work)] == ["prolific-paid"]
    site.work(ledger.fund, 100)
    calls.listen(site.store, "tiny", client)
    assert settled(site) == 200


def test_nothing_is_kept_of_people_who_never_came(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    platform.people["1"] = Participant("1", "2" * 24, contract.RETURNED)
    calls.listen(site.store, "tiny", client)
    with site.store.read("tiny") as work:
        assert submissions.known(work) == []


def test_a_forgotten_person_is_not_heard_of_again(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    site.whole(came(site, platform, 1))
    leave(platform, 1)
    sync(site, client)
    with site.store.read("tiny") as work:
        (row,) = submissions.known(work)
        mine = erasure.my_data(work, row.worker_id or 0)["submission"]
    assert [(each["platform_id"], each["base"]) for each in mine] == [(f"{1:024x}", 100)]
    erasure.forget(site.store, "tiny", 1, who="o")
    calls.listen(site.store, "tiny", client)
    with site.store.read("tiny") as work:
        assert work.count(submission_table) == 0
        assert work.count(platform_call, platform_call.c.worker_id.is_not(None)) == 0


def test_a_decision_that_is_another_by_now_is_not_told(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    ann = came(site, platform, 1)
    leave(platform, 1)
    calls.listen(site.store, "tiny", client)
    do(site, TellDecisions())  # asked to return: nothing was done
    site.whole(ann)
    with site.store.read("tiny") as work:
        assert submissions.decisions(work) == []  # one is under way
    assert calls.send_all(site.store, "tiny", client)["refused"] == 1
    assert state_of(platform, 1) == contract.AWAITING
    sync(site, client)
    assert state_of(platform, 1) == contract.APPROVED


@pytest.mark.parametrize("sent", [True, False])
def test_who_was_paid_by_a_bonus_is_not_paid_for_the_same_again(
    site: Site, platform: Platform, client: Client, sent: bool
) -> None:
    """Somebody runs out of time, is paid all the same, and then hands in at the platform."""
    published(site, client)
    site.whole(came(site, platform, 1))
    leave(platform, 1, contract.TIMED_OUT)
    calls.listen(site.store, "tiny", client)
    do(site, SendBonuses())
    if sent:
        calls.send_all(site.store, "tiny", client)
    leave(platform, 1)
    sync(site, client)
    if not sent:
        sync(site, client)
    with site.store.read("tiny") as work:
        kinds = [row.kind for row in calls.calls_in(work, "done")]
    assert "return" in kinds
    assert "approve" not in kinds
    assert bonuses_of(platform, 1) == [100]
    assert settled(site) == 100


def test_who_was_paid_by_hand_is_not_paid_for_the_same_again(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    site.whole(came(site, platform, 1))
    leave(platform, 1)
    site.work(audit.perform, "o", "settle", {}, sure=True)
    sync(site, client)
    with site.store.read("tiny") as work:
        assert "approve" not in {row.kind for row in calls.calls_in(work, "done", "waiting")}
    assert settled(site) == 100


def test_two_submissions_of_one_person_are_one_debt(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    site.whole(came(site, platform, 1))
    again, name = f"{77:024x}", f"{1 + 10**6:024x}"
    platform.people[again] = Participant(again, name, contract.ACTIVE)
    leave(platform, 1, contract.RETURNED)
    calls.listen(site.store, "tiny", client)
    with site.store.read("tiny") as work:
        assert submissions.bonuses_due(work) == []  # the other one may pay it
    platform.people[again].status = contract.RETURNED
    assert sync(site, client, SendBonuses()) == {"done": 1}
    assert bonuses_of(platform, 1) + bonuses_of(platform, 77) == [100]
    assert settled(site) == 100


def test_nobody_is_paid_by_bonuses_who_was_rejected(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    site.whole(came(site, platform, 1))
    leave(platform, 1)
    calls.listen(site.store, "tiny", client)
    do(site, RejectSubmission(worker=1, category="LOW_EFFORT", message=REASON))
    calls.send_all(site.store, "tiny", client)
    assert state_of(platform, 1) == contract.REJECTED
    with pytest.raises(RuleError, match="nothing is owed beyond"):
        do(site, SendBonuses())


def test_what_was_approved_in_part_is_looked_at_first(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    site.whole(came(site, platform, 1))
    leave(platform, 1)
    calls.listen(site.store, "tiny", client)
    leave(platform, 1, contract.PARTLY)
    calls.listen(site.store, "tiny", client)
    with pytest.raises(RuleError, match="nothing is owed beyond"):
        do(site, SendBonuses())
    with site.store.read("tiny") as work:
        (told_of,) = notices.notices(work)
    site.work(audit.perform, "o", "settle", {}, sure=True)
    site.work(notices.dealt_with, told_of.id)
    site.work(audit.perform, "o", "bonus", {"worker": 1, "amount": 30})
    assert sync(site, client, SendBonuses()) == {"done": 1}
    assert bonuses_of(platform, 1) == [30]
    with site.store.read("tiny") as work:
        assert notices.notices(work) == []  # it is not told again and again


def test_undoing_takes_back_what_was_not_sent(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    for at in (1, 2):
        site.whole(came(site, platform, at))
        leave(platform, at)
    calls.listen(site.store, "tiny", client)
    number = do(site, TellDecisions())
    platform.planned = [("transition", "errs before")]
    with site.store.read("tiny") as work:
        first = calls.calls_in(work, "waiting")[0]
    calls._send_one(site.store, "tiny", client, first.id)
    site.work(audit.undo, "o", number)
    with site.store.read("tiny") as work:
        assert [row.id for row in calls.calls_in(work, "waiting")] == [first.id]
    calls.send_all(site.store, "tiny", client)
    assert [state_of(platform, at) for at in (1, 2)] == ["APPROVED", "AWAITING REVIEW"]
    with pytest.raises(RuleError, match="was undone already"):
        site.work(audit.undo, "o", number)


# --- bonuses --------------------------------------------------------------------------------------


def with_bonus(site: Site, platform: Platform, client: Client) -> None:
    published(site, client)
    site.whole(came(site, platform, 1))
    leave(platform, 1)
    sync(site, client)
    site.work(audit.perform, "o", "bonus", {"worker": 1, "amount": 55})
    do(site, SendBonuses())


def test_a_bonus_is_paid_once(site: Site, platform: Platform, client: Client) -> None:
    with_bonus(site, platform, client)
    with pytest.raises(RuleError, match="nothing is owed beyond"):
        do(site, SendBonuses())  # it is on its way
    assert calls.send_all(site.store, "tiny", client) == {"done": 1}
    assert bonuses_of(platform, 1) == [55]
    assert settled(site) == 155
    with site.store.read("tiny") as work:
        assert submissions.told_to_pay(work) == (100, 55)


@pytest.mark.parametrize("failure", ["errs before", "errs after", "drops"])
def test_a_bonus_in_doubt_is_asked_about(
    site: Site, platform: Platform, client: Client, failure: str
) -> None:
    with_bonus(site, platform, client)
    platform.planned = [("/pay/", failure)]
    assert calls.send_all(site.store, "tiny", client) == {"doubt": 1}
    assert calls.send_all(site.store, "tiny", client) == {"doubt": 1}  # too early to ask
    assert bonuses_of(platform, 1) == ([] if failure == "errs before" else [55])
    site.clock.forward(21)
    assert calls.send_all(site.store, "tiny", client) == {"done": 1}
    assert bonuses_of(platform, 1) == [55]
    assert settled(site) == 155


def test_whoever_is_slow_pays_nothing_that_another_process_took_up(
    site: Site, platform: Platform, client: Client
) -> None:
    with_bonus(site, platform, client)
    slow, looks = calls.open_client(wait=lambda _: None), list[int]()

    def get(path: str) -> Any:
        """Half an hour passes meanwhile, and somebody else sends."""
        if not looks:
            looks.append(1)
            site.clock.forward(30)
            assert calls.send_all(site.store, "tiny", client) == {"later": 1}
            site.clock.forward(2)
            assert calls.send_all(site.store, "tiny", client) == {"done": 1}
        return client.get(path)

    slow.get = get  # type: ignore[method-assign]
    with closing(slow):
        calls.send_all(site.store, "tiny", slow)
    assert bonuses_of(platform, 1) == [55]
    assert settled(site) == 155


def test_a_bonus_that_was_given_by_hand_is_not_taken_for_ours(
    site: Site, platform: Platform, client: Client
) -> None:
    with_bonus(site, platform, client)
    platform.people[f"{1:024x}"].bonuses.append((0.0, 70))
    platform.planned = [("/pay/", "errs before")]
    calls.send_all(site.store, "tiny", client)
    site.clock.forward(21)
    calls.send_all(site.store, "tiny", client)
    assert bonuses_of(platform, 1) == [70, 55]


def test_a_bonus_whose_preparation_is_lost_is_prepared_again(
    site: Site, platform: Platform, client: Client
) -> None:
    with_bonus(site, platform, client)
    platform.planned = [("bonus-payments/", "errs after")]
    assert calls.send_all(site.store, "tiny", client) == {"done": 1}
    assert len(platform.payments) == 2
    assert bonuses_of(platform, 1) == [55]


def test_what_was_paid_otherwise_is_not_paid_again(
    site: Site, platform: Platform, client: Client
) -> None:
    with_bonus(site, platform, client)
    site.work(audit.perform, "o", "settle", {}, sure=True)
    assert calls.send_all(site.store, "tiny", client) == {}
    assert bonuses_of(platform, 1) == []
    with site.store.read("tiny") as work:
        (row,) = calls.calls_in(work, "refused")
    assert row.problem == "so much is not owed any more"


def test_whoever_marks_a_doubtful_bonus_as_paid_ends_the_doubt(
    site: Site, platform: Platform, client: Client
) -> None:
    with_bonus(site, platform, client)
    platform.planned = [("/pay/", "errs after")]
    platform.shows_after = 10**6
    calls.send_all(site.store, "tiny", client)
    with pytest.raises(RuleError, match="being told to pay w1 just now; nothing was marked"):
        site.work(audit.perform, "o", "settle", {}, sure=True)
    site.clock.forward(21)
    site.work(audit.perform, "o", "settle", {}, sure=True)
    assert calls.send_all(site.store, "tiny", client) == {}
    assert bonuses_of(platform, 1) == [55]
    assert settled(site) == 155


def test_a_bonus_on_its_way_is_not_paid_by_a_higher_reward(
    site: Site, platform: Platform, client: Client
) -> None:
    with_bonus(site, platform, client)
    platform.planned = [("/pay/", "errs after")]
    calls.send_all(site.store, "tiny", client)
    platform.studies[f"{1:024x}"]["reward"] = 130  # somebody raised it at Prolific
    calls.listen(site.store, "tiny", client)
    with site.store.read("tiny") as work:
        number = next(row.id for row in audit.acts(work) if row.act == "bonus")
    with pytest.raises(RuleError, match="paid already"):
        site.work(audit.undo, "o", number)
    site.clock.forward(21)
    assert calls.send_all(site.store, "tiny", client) == {"done": 1}
    assert settled(site) == 130 + 55


def test_of_what_does_not_show_with_others_somebody_decides(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    for at in (1, 2):
        site.whole(came(site, platform, at))
        leave(platform, at, contract.RETURNED)
    calls.listen(site.store, "tiny", client)
    do(site, SendBonuses())
    platform.planned = [("/pay/", "errs after")]
    calls.send_all(site.store, "tiny", client)
    shown, late = (platform.people[f"{at:024x}"] for at in (1, 2))
    late.bonuses = [(at + 10**6, amount) for at, amount in late.bonuses]
    site.clock.forward(21)
    assert calls.send_all(site.store, "tiny", client) == {"done": 1, "doubt": 1}
    site.clock.forward(21)
    assert calls.send_all(site.store, "tiny", client) == {"doubt": 1}  # not told once more
    assert len(shown.bonuses) == 1
    late.bonuses = shown.bonuses
    site.clock.forward(21)
    assert calls.send_all(site.store, "tiny", client) == {"done": 1}
    assert len(platform.payments) == 1
    assert settled(site) == 200


def test_a_payment_of_which_a_part_was_marked_is_not_told_again(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    for at in (1, 2):
        site.whole(came(site, platform, at))
        leave(platform, at, contract.RETURNED)
    calls.listen(site.store, "tiny", client)
    do(site, SendBonuses())
    platform.planned = [("/pay/", "errs before")]
    calls.send_all(site.store, "tiny", client)
    site.clock.forward(21)
    site.work(audit.perform, "o", "settle", {"workers": [1]}, sure=True)
    assert calls.send_all(site.store, "tiny", client) == {"doubt": 1}
    assert bonuses_of(platform, 1) == []


@pytest.mark.parametrize("answer", ["silent", "busy"])
def test_what_cannot_be_known_is_not_paid_anew(
    site: Site, platform: Platform, client: Client, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_bonus(site, platform, client)
    platform.planned = [("/pay/", "errs after")]
    platform.shows_after = 10**6
    calls.send_all(site.store, "tiny", client)
    if answer == "silent":  # it does not say which bonuses it paid
        monkeypatch.setattr(Participant, "body", lambda one, _: {"id": one.id})
    else:
        platform.planned = [("/pay/", "busy")]
    site.clock.forward(21)
    assert calls.send_all(site.store, "tiny", client) == {"doubt": 1}
    assert bonuses_of(platform, 1) == [55]
    assert len(platform.payments) == 1


def test_an_amount_that_the_platform_reads_otherwise_is_not_paid(
    site: Site, platform: Platform, client: Client
) -> None:
    with_bonus(site, platform, client)
    platform.counts_in = 100  # it takes pounds for pence
    assert calls.send_all(site.store, "tiny", client) == {"refused": 1}
    assert bonuses_of(platform, 1) == []


# --- rejecting ------------------------------------------------------------------------------------


def test_rejecting_needs_a_category_and_a_reason(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    came(site, platform, 1)
    reject = RejectSubmission(worker=1, category="LOW_EFFORT", message=REASON)
    with pytest.raises(RuleError, match="worker w1 has no submission"):
        do(site, reject)
    calls.listen(site.store, "tiny", client)
    with pytest.raises(RuleError, match="the submission of w1 is ACTIVE"):
        do(site, reject)
    leave(platform, 1)
    calls.listen(site.store, "tiny", client)
    with pytest.raises(RuleError, match="at least 100 characters, this one has 4"):
        do(site, RejectSubmission(worker=1, category="LOW_EFFORT", message=" lazy "))
    details = {"worker": 1, "category": "BORED", "message": REASON}
    with pytest.raises(RuleError, match="category must be one of TOO_QUICKLY"):
        site.work(audit.perform, "o", "reject submission", details, sure=True)
    do(site, reject)
    with site.store.read("tiny") as work:
        assert submissions.decisions(work) == []  # nothing else is told meanwhile
    assert calls.send_all(site.store, "tiny", client) == {"done": 1}
    assert state_of(platform, 1) == "REJECTED"


def test_a_failed_test_is_no_reason_to_reject(url: str, platform: Platform, client: Client) -> None:
    plan = PROLIFIC.replace("[platform]", "[qualification]\nsets = 1\n[platform]")
    plan = plan.replace("hit = 1.00", "hit = 1.00\nqualification = 0.30")
    site = make_site(url, plan, material(qualification=4))
    published(site, client)
    ann = came(site, platform, 2)
    assert [site.whole(ann, wrong).tries_left for _ in range(2)] == [1, 0]
    leave(platform, 2)
    calls.listen(site.store, "tiny", client)
    with pytest.raises(RuleError, match="w1 failed the test, never a reason to reject"):
        do(site, RejectSubmission(worker=1, category="FAILED_CHECK", message=REASON))
    sync(site, client)
    sync(site, client, SendBonuses())
    assert (state_of(platform, 2), bonuses_of(platform, 2)) == ("RETURNED", [60])
    site.store.close()


# --- webhooks -------------------------------------------------------------------------------------


def test_repeated_events_are_heard_once_and_in_any_order(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    came(site, platform, 1)
    number, name = f"{1:024x}", f"{1 + 10**6:024x}"

    def hear(key: str, state: str) -> tuple[bool, str, int]:
        new = site.work(submissions.hear_event, key, Heard(number, state, name))
        with site.store.read("tiny") as work:
            (row,) = submissions.known(work)
        return new, row.state, row.doubtful

    assert hear("e2", contract.ACTIVE) == (True, "ACTIVE", 0)
    assert hear("e2", contract.ACTIVE) == (False, "ACTIVE", 0)
    assert hear("e3", contract.AWAITING) == (True, "AWAITING REVIEW", 0)
    assert hear("e1", contract.RESERVED) == (True, "AWAITING REVIEW", 1)
    leave(platform, 1, contract.RETURNED)
    calls.listen(site.store, "tiny", client)  # what was asked for is believed
    with site.store.read("tiny") as work:
        (row,) = submissions.known(work)
    assert (row.state, row.doubtful) == ("RETURNED", 0)
    leave(platform, 1)  # somebody at Prolific has taken it back
    assert hear("e4", contract.AWAITING) == (True, "RETURNED", 1)
    calls.listen(site.store, "tiny", client)
    assert hear("e4", contract.AWAITING) == (False, "AWAITING REVIEW", 0)


def test_states_that_nobody_knows_are_told(site: Site, client: Client) -> None:
    published(site, client)
    site.work(submissions.hear_event, "e1", Heard("1", "LOST IN SPACE", "2"))
    with site.store.read("tiny") as work:
        (told_of,) = notices.notices(work)
    assert "LOST IN SPACE" in str(notices.text_of(told_of))


def test_signatures() -> None:
    digest = hmac.new(b"secret", b"1700000000" + b"{}", hashlib.sha256).digest()
    for form in (base64.b64encode(digest).decode(), digest.hex()):
        assert contract.is_signed("secret", "1700000000", b"{}", form)
        assert not contract.is_signed("secret", "1700000001", b"{}", form)
        assert not contract.is_signed("secret", "1700000000", b"{ }", form)
        assert not contract.is_signed("other", "1700000000", b"{}", form)
    empty = hmac.new(b"", b"1" + b"{}", hashlib.sha256).hexdigest()
    assert not contract.is_signed("", "1", b"{}", empty)  # no secret: nothing is believed


# --- calls ----------------------------------------------------------------------------------------


@contextmanager
def at(platform: Platform, waited: list[float], tries: int = 6) -> Iterator[Client]:
    headers = {"Authorization": f"Token {platform.token}"}
    made = Client(platform.address, headers, tries=tries, wait=waited.append)
    with closing(made) as opened:
        yield opened


def test_a_wait_that_is_asked_for_is_waited(platform: Platform) -> None:
    waited: list[float] = []
    with at(platform, waited) as client:
        platform.planned = [("users/me/", "busy")]
        assert client.get("users/me/")["currency_code"] == "GBP"
        assert waited == [pytest.approx(1, abs=0.2)]
        # where nothing is tried again, the next call waits
        waited.clear()
        client.closed_until = 0.0
        platform.planned = [("pay/", "busy")]
        with pytest.raises(LaterError):
            client.send("POST", "pay/", {}, tries=1)
        assert waited == []
        assert client.get("users/me/")["currency_code"] == "GBP"
    assert waited == [pytest.approx(1, abs=0.2)]


def test_a_server_that_asks_for_a_long_wait_is_left_alone(platform: Platform) -> None:
    waited: list[float] = []
    with at(platform, waited) as client:
        platform.wait = 3600
        platform.planned = [("users/me/", "busy")]
        with pytest.raises(LaterError, match=r"left alone for 3[56]\d\d seconds"):
            client.get("users/me/")
        n = len(platform.calls)
        with pytest.raises(LaterError, match=r"left alone for 3[56]\d\d seconds"):
            client.send("POST", "nosuch/", {})
        assert len(platform.calls) == n
    assert waited == []


def test_only_what_was_surely_not_done_is_sent_again(platform: Platform) -> None:
    waited: list[float] = []
    with at(platform, waited, tries=3) as client:
        for failure in ("errs before", "errs after", "drops"):
            platform.planned = [("users/me/", failure)]
            assert client.get("users/me/")
            platform.calls.clear()
            platform.planned = [("POST", failure)]
            with pytest.raises(LostError):
                client.send("POST", "nosuch/", {})
            assert len(platform.calls) == 1
        platform.planned = [("POST", "busy")] * 3
        with pytest.raises(LaterError, match="429 slow down"):
            client.send("POST", "nosuch/", {})
        with pytest.raises(RefusedError, match="404 no POST nosuch/"):
            client.send("POST", "nosuch/", {})
    with (
        closing(Client("http://127.0.0.1:9/", {}, tries=2, wait=waited.append)) as nobody,
        pytest.raises(LaterError, match="no connection"),
    ):
        nobody.send("POST", "x/", {})


def test_lists_in_pages_stay_with_the_platform(
    site: Site, platform: Platform, client: Client
) -> None:
    published(site, client)
    platform.page_size = 2
    for number in range(3):
        came(site, platform, number + 1)
    calls.listen(site.store, "tiny", client)
    with site.store.read("tiny") as work:
        assert len(submissions.known(work)) == 3
    platform.address = "http://evil.example/"  # the token does not go there
    calls.listen(site.store, "tiny", client)
    assert platform.calls[-1][1].endswith("/submissions/")


def test_submissions_over_kills_and_failures(url: str) -> None:
    figures = survive(url, n=20, kills=1)
    assert figures.other_state == 0
    assert figures.bonus_wrong == 0
    assert figures.told == figures.settled > 0
    assert figures.rules_broken == 0
    assert figures.hurried == 0
    assert figures.heard_twice == figures.webhooks / 2
