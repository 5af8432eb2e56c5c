"""What earlier versions have stored is read, gone on with and undone by this one, on both engines.

`stored/make.py` says how the generations were made, and how a further one is.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.collection.conftest import ENGINES, fresh_postgresql
from tests.collection.making import Clock, Site
from tests.collection.stored.make import (
    PASSWORD,
    UPLOADED,
    answer_rest,
    as_suggested,
    drafts_summary,
    rules_of,
    summary,
    upload,
)

from qrowd.collection.adjudication import appeals, cases
from qrowd.collection.books import ledger, notices
from qrowd.collection.database import opening
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import assignment, campaign, completion_code, person, worker
from qrowd.collection.database.schema import audit as audit_table
from qrowd.collection.database.store import Store
from qrowd.collection.database.verification import broken
from qrowd.collection.drafts import contents, launch
from qrowd.collection.drafts.draft import Draft, all_drafts, open_draft
from qrowd.collection.drafts.forms import fill_in
from qrowd.collection.drafts.launch import problems
from qrowd.collection.drafts.plan_file import plan_of
from qrowd.collection.drafts.steps import StepForm, all_steps
from qrowd.collection.judging import submission
from qrowd.collection.judging.assignments import by_id
from qrowd.collection.judging.offer import show
from qrowd.collection.judging.queue import Nothing
from qrowd.collection.office import erasure
from qrowd.collection.office.pace import pace_of
from qrowd.collection.office.todo import needs
from qrowd.collection.people import entry, workers
from qrowd.collection.people.workers import leave, use_code
from qrowd.collection.plan.former import FORMER
from qrowd.collection.plan.toml import rewritten
from qrowd.collection.publishing.release import releases
from qrowd.collection.record import audit
from qrowd.collection.record.act import all_acts
from qrowd.errors import RuleError
from qrowd.io.plan_files import table_at
from qrowd.web import access, accounts, jobs, tasks

STORED = Path(__file__).parent / "stored"
GENERATIONS = sorted(path.parent.name for path in STORED.glob("*/expected.json"))


@dataclass
class Kept:
    """A database of a generation, at the time at which it was left, and what is expected of it."""

    store: Store
    clock: Clock
    expected: dict[str, Any]

    def site(self, name: str) -> Site:
        """One of its campaigns."""
        return Site(self.store, self.clock, name, itertools.count(1_000_000))

    def refuse_broken(self) -> None:
        """Every rule must hold in every campaign."""
        for name in self.store.campaigns():
            with self.store.read(name) as work:
                assert (name, broken(work)) == (name, [])


def expected_of(generation: str) -> dict[str, Any]:
    """What must be read from a generation."""
    text = (STORED / generation / "expected.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def restored(folder: Path, engine: str, request: pytest.FixtureRequest, target: Path) -> str:
    """The URL of a copy of a generation's database: raw, without any code of qrowd's."""
    if engine == "sqlite":
        body = gzip.decompress((folder / "campaigns.db.gz").read_bytes())
        (target / "campaigns.db").write_bytes(body)
        return f"sqlite:///{target / 'campaigns.db'}"
    url = fresh_postgresql(request.getfixturevalue("postgresql"))
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as db:
        db.execute(gzip.decompress((folder / "campaigns.sql.gz").read_bytes()))
    return url


@pytest.fixture(params=itertools.product(GENERATIONS, ENGINES), ids="-".join)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    """Each database of each generation, brought to this version of the schema."""
    generation, engine = request.param
    expected, clock = expected_of(generation), Clock()
    clock.now = expected["now"]
    url = restored(STORED / generation, engine, request, tmp_path)
    store = open_store(url, clock=clock, seed=1, check_version=False)
    if opening.version(store) != opening.newest_version():
        opening.upgrade(store)
    opening.refuse_other_version(store)
    yield Kept(store, clock, expected)
    store.engine.dispose()


# --- campaigns ------------------------------------------------------------------------------------


def test_what_is_stored_is_read_and_exported_as_before(kept: Kept, tmp_path: Path) -> None:
    now = summary(kept.store, tmp_path / "out")
    for name in kept.store.campaigns():
        with kept.store.read(name) as work:
            before = plan_of_before(work.plan.text, kept.expected["rules"])
        now[name]["manifest"]["plan_sha256"] = hashlib.sha256(before.encode()).hexdigest()
    assert now == kept.expected["campaigns"]
    kept.refuse_broken()
    with kept.store.read("free") as work:
        (row,) = releases(work)
    assert json.loads(row.details)["file"] == "release.zip"


def plan_of_before(text: str, rules: dict[str, Any]) -> str:
    """A plan without what migrations have written into it; no scene says these values itself."""
    if rules["people"].get("entry") is None:
        text = rewritten(text, "people", {"entry": None})
    if rules["checks"]["screen_out_after"] == 3:
        for former in FORMER:
            tables = tomllib.loads(text)
            value = table_at(tables, former.section).get(former.key)
            if former.until == "0005" and value == former.value(tables):
                text = rewritten(text, former.section, {former.key: None})
    return text


def test_no_rule_of_a_stored_plan_changes(kept: Kept) -> None:
    """A plan is stored without its defaults: whoever changes one writes the old one into it."""
    with kept.store.read("full") as work:
        now = rules_of(work.plan)
    for section, rules in kept.expected["rules"].items():
        assert {name: now[section][name] for name in rules} == rules


PARAMETERS = {
    "own": {"worker": "mallory"},
    "generic": {"worker": "mallory"},
    "prolific": {"PROLIFIC_PID": "mallory"},
    "mturk": {"workerId": "mallory"},
}


def test_who_may_come_in_stays_as_it_was(kept: Kept) -> None:
    """What was open goes on, with pay too, says so, and is closed by an act that can be undone."""
    of_before = "entry" not in kept.expected["rules"]["people"]
    for name in kept.expected["campaigns"]:
        with kept.store.write(name) as work:
            preset, rule = work.plan.platform.preset, work.plan.entry
            if not of_before:
                assert (name, rule) in {("panel", "listed"), (name, ENTRY[preset])}
                if preset != "generic":  # which has free places, and ids of any shape
                    with pytest.raises(RuleError):
                        entry.admitted(work, parameters=PARAMETERS[preset])
                continue
            assert rule == "open"
            came = entry.come_in(work, entry.admitted(work, parameters=PARAMETERS[preset]))
            assert entry.admitted(work, parameters=PARAMETERS[preset]).worker == came.id
            urgent = [need for need in needs(work, pace_of(work)) if need.urgent]
            assert len(urgent) == (work.state != "closed")
            closed = {"places": 1} | (urgent[0].details if urgent else {"entry": "links"})
            number = audit.perform(work, "ada", "change entry", closed)
        site = kept.site(name)
        another = dict.fromkeys(PARAMETERS[preset], "trudy")
        with kept.store.write(name) as work, pytest.raises(RuleError):
            entry.admitted(work, parameters=another)
        site.work(audit.undo, "ada", number)
        assert site.work(entry.admitted, parameters=PARAMETERS[preset]).worker == came.id
    kept.refuse_broken()


ENTRY = {"own": "links", "generic": "platform", "prolific": "platform", "mturk": "platform"}


def test_links_and_lists_are_kept(kept: Kept) -> None:
    if "list people" not in acts_of(kept.expected):
        return
    with kept.store.write("panel") as work:
        lines = {line.platform_id: line for line in entry.people(work)}
        assert {name: line.state for name, line in lines.items()} == {
            "zoe": "listed",
            "yan": "off",
            "ann": "listed",
            "xan": "listed",
            "wes": "listed",
        }
        assert (lines["zoe"].name, lines["zoe"].email) == ("Zoe", "zoe@example.org")
        assert {name for name, line in lines.items() if line.key} == {"ann", "xan"}
        came = entry.admitted(work, entry.link_text(work, str(lines["ann"].key)))
        assert came.worker == lines["ann"].worker_id
        assert came.worker is not None


def record(store: Store) -> list[tuple[str, Any]]:
    """Every act of the record with its campaign, the newest first."""
    with store.snapshot() as db:
        joined = audit_table.join(campaign, campaign.c.id == audit_table.c.campaign_id)
        query = select(audit_table, campaign.c.name.label("campaign")).select_from(joined)
        rows = db.execute(query.order_by(audit_table.c.id.desc())).all()
    return [(str(row.campaign), row) for row in rows]


def test_every_act_is_in_a_record() -> None:
    """An act without a fixture: add it to the scenes of `make.py`, and make a new generation."""
    done = {act for name in GENERATIONS for act in acts_of(expected_of(name))}
    assert done - set(all_acts()) == {"forget", "undo bonus", "undo pause", "undo stop"}
    assert set(all_acts()) - done == set()


def acts_of(expected: dict[str, Any]) -> set[str]:
    """The acts that a generation's record has."""
    return {act for one in expected["campaigns"].values() for act in one["acts"]}


def test_every_act_that_can_be_undone_is_undone(kept: Kept) -> None:
    rows = record(kept.store)
    assert {row.act for _, row in rows} == acts_of(kept.expected)
    gone = {row.undoes for _, row in rows}
    able = {name for name, act in all_acts().items() if not act.final}
    left = [(name, row) for name, row in rows if row.undoes is None and row.id not in gone]
    undone, refused = set(), []
    for name, row in left:
        if row.act not in able:
            with pytest.raises(RuleError, match="cannot be undone"):
                kept.site(name).work(audit.undo, "bob", row.id)
            continue
        try:
            number = kept.site(name).work(audit.undo, "bob", row.id)
        except RuleError as error:
            refused.append((name, row.act, error.code))
        else:
            undone.add(row.act)
            assert number > row.id
    assert undone == able & acts_of(kept.expected)
    # work was given out: of all that was done, only the launch stays
    had_work = {name for name, one in kept.expected["campaigns"].items() if one["assignments"]}
    assert sorted(refused) == sorted((name, "launch", "not-allowed") for name in had_work)
    kept.refuse_broken()


def test_open_batches_are_judged_to_their_end(kept: Kept) -> None:
    a = assignment.c
    with kept.store.snapshot() as db:
        joined = assignment.join(campaign, campaign.c.id == a.campaign_id)
        query = select(a.id, a.key, a.worker_id, a.state, a.kind, campaign.c.name)
        ongoing = a.state.in_(("active", "finished", "expired"))
        rows = db.execute(query.select_from(joined).where(ongoing).order_by(a.id)).all()
    ways = {row.name for row in rows if row.state == "active"}
    newer = {"slider", "game", "phases"}  # which the first generations do not have
    assert ways - newer == {"panel", "prolific", "ranked", "couples", "owner", "peers"}
    ended, refused = [], []
    for row in rows:
        site = kept.site(row.name)
        offer = site.work(lambda work, number: show(work, by_id(work, number)), row.id)
        if row.state != "finished":
            try:
                answer_rest(site, row.worker_id, offer)
            except RuleError as error:
                refused.append(error.code)
                continue
        site.work(submission.finish, row.worker_id, row.key)
        ended.append(site.work(submission.submit, row.worker_id, row.key))
    # a batch that ended days ago, and one whose topic's questions were failed
    assert sorted(refused) == ["not-allowed", "too-late"]
    assert {one.state for one in ended} == {"accepted", "submitted", "excluded"}
    kept.refuse_broken()


def test_new_workers_come_to_stored_campaigns(kept: Kept) -> None:
    turned_away = {}
    for name in kept.expected["campaigns"]:
        site = kept.site(name)
        new = int(site.work(workers.enter, "own", "somebody new").id)
        with kept.store.write(name) as work:
            workers.give_consent(work, new, work.plan.people.consent_version)
        offer = site.next(new)
        if isinstance(offer, Nothing):
            turned_away[name] = offer.code
            continue
        answer_rest(site, new, offer)
        site.work(submission.finish, new, offer.key)
        site.work(submission.submit, new, offer.key)
    closed = {"free": "not-running", "waiting": "not-running"}
    assert turned_away.pop("phases", "later") == "later"  # two others are in its training
    assert turned_away == closed | {"full": "no-work-left", "couples": "no-budget"}
    with kept.store.write("waiting") as work:
        audit.perform(work, "ada", "launch")
    kept.refuse_broken()


def test_notices_appeals_cases_and_debts_are_dealt_with(kept: Kept) -> None:
    site = kept.site("panel")
    with kept.store.write("panel") as work:
        eva = cases.seen_as(work, None, "eva")
        for row in cases.queue(work):
            assert cases.decide(work, eva, row.id, 2, "clear now")
            cases.votes(work, eva, row.id)
        (objection,) = cases.disagreements(work)
        cases.decide(work, eva, objection.pair, 0)
        shown = cases.disagreement(work, eva, objection.id)
        assert (shown.text, shown.gold, shown.reason) == ("look again", 0, "because")
        cases.answer_disagreement(work, "eva", eva, objection.id, right=True, reply="yes")
        (refusal,) = appeals.open_appeals(work)
        answer = {"appeal": refusal.id, "won": True, "reply": "you are right"}
        audit.perform(work, "ada", "answer appeal", answer)
        assert appeals.appeals_of(work, refusal.worker_id)[0].reply == "you are right"
        assert [row.text for row in workers.messages(work, refusal.worker_id)] == [
            "thank you",
            "you are welcome",
        ]
        for notice in notices.notices(work):
            notices.dealt_with(work, notice.id)
        assert notices.notices(work) == []
        assert len(cases.decisions(work)) >= 6
    site.work(audit.perform, "ada", "settle", {}, sure=True)
    assert site.work(ledger.owed) == []
    kept.refuse_broken()


def test_platform_workers_come_back_and_leave(kept: Kept) -> None:
    site = kept.site("prolific")

    def enter(name: str) -> int:
        return int(site.work(workers.enter, "prolific", name).id)

    with kept.store.read("prolific") as work:
        own = (worker.c.campaign_id == work.campaign) & worker.c.forgotten_at.is_not(None)
        forgotten = work.db.execute(select(worker).where(own)).one()
        known = {row.platform_id: row.worker_id for row in work.db.execute(select(person))}
        query = select(completion_code).where(completion_code.c.used_at.is_(None))
        codes = {row.worker_id: row.code for row in work.db.execute(query)}
    assert enter("p-gone") == forgotten.id  # by a keyed hash
    assert enter("p-back") == known["p-back"]
    assert site.next(enter("p-used")).code == "visit-done"
    assert site.work(leave, enter("p-failed"), worked=True).address.endswith("?cc=F41LED")
    looked = enter("p-looked")
    departure = site.work(leave, looked, worked=False)
    assert departure.address.endswith(f"?cc={codes[looked]}")
    assert site.work(use_code, codes[looked])[1] == "no-work"
    with pytest.raises(RuleError, match="was used already"):
        site.work(use_code, codes[looked])
    (asked,) = site.work(erasure.waiting)
    site.work(audit.perform, "ada", "settle", {"workers": [asked.number]}, sure=True)
    erasure.forget(kept.store, "prolific", asked.number, who="ada", void=True)
    kept.refuse_broken()


def test_accounts_tokens_and_jobs(kept: Kept, tmp_path: Path) -> None:
    assert accounts.check_password(kept.store, "ada", PASSWORD)[1]
    number, administrator = accounts.check_password(kept.store, "eva", PASSWORD)
    assert not administrator
    tokens = kept.expected["tokens"]
    assert access.bearer_of(kept.store, tokens["administrator"]).administrator
    eva = access.bearer_of(kept.store, tokens["account"])
    assert eva.account == number
    for name, role, scope in (("panel", "expert", "judge"), ("prolific", "organiser", "pay")):
        assert access.member_of(kept.store, eva, name, role, scope).bearer.role == role
    leo = access.bearer_of(kept.store, tokens["worker"])
    assert leo.worker == kept.site("panel").work(workers.enter, "own", "leo").id
    with pytest.raises(RuleError, match="not valid any more"):
        access.bearer_of(kept.store, tokens["revoked"])
    with kept.store.read("panel") as work:
        before = jobs.latest(work, "export")
    assert tasks.run_one(kept.store, tmp_path)
    assert not tasks.run_one(kept.store, tmp_path)
    with kept.store.read("panel") as work:
        after = jobs.latest(work, "export")
    assert before is not None
    assert after is not None
    assert after.number > before.number
    assert after.result == before.result


# --- drafts ---------------------------------------------------------------------------------------


@pytest.fixture(params=GENERATIONS)
def drafts(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A generation's folder of drafts, and what is expected of each."""
    with zipfile.ZipFile(STORED / request.param / "drafts.zip") as packed:
        packed.extractall(tmp_path / "drafts")
    return tmp_path / "drafts", expected_of(request.param)["drafts"]


def test_drafts_are_read_as_before(drafts: tuple[Path, dict[str, Any]]) -> None:
    folder, expected = drafts
    now = drafts_summary(folder)
    for key, one in expected.items():
        for section, rules in one.pop("rules").items():
            assert {name: now[key]["rules"][section][name] for name in rules} == rules
        del now[key]["rules"]
        # steps that came later are open too
        now[key]["open"] = [step for step in now[key]["open"] if step in one["open"]]
    assert now == expected
    for draft in all_drafts(folder):
        for version in range(1, draft.version + 1):
            assert open_draft(folder, draft.key, version).version == version
        contents.forecast_of(draft)
        plan_of(draft)


def uploaded(draft: Draft, step: str) -> StepForm:
    """A file like that of the other draft, for a question that asks for one."""
    paths = sorted(draft.folder.parent.glob(f"*/files/*/{step}.tsv"))
    path = max(paths, key=lambda path: path.stat().st_size)  # gold in sets has fewer rows
    return upload(step, UPLOADED[step], path, source="arranged")


def test_drafts_are_answered_on_and_launched(
    drafts: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder, expected = drafts
    store = open_store(tmp_path / "new.db", new=True)
    for key, one in expected.items():
        draft = open_draft(folder, key)
        # the questions that are open, and last of all what keeps it from being launched
        left = [step for step in all_steps() if step not in draft.answered]
        assert set(one["open"]) <= set(left)
        for step in left:
            given = uploaded(draft, step) if step in UPLOADED else as_suggested(draft, step)
            draft = fill_in(draft, given, "new", one["at"] + 1)
        if one["title"] == "An old draft":
            assert [[at.step, str(at.message)] for at in problems(draft)] == one["problems"]
            draft = fill_in(draft, StepForm("budget", {"pay.budget": "5000"}), "new", one["at"] + 2)
        assert problems(draft) == []
        assert set(draft.answered) == set(all_steps())
        rule = draft.plan.entry
        assert (draft.since < "0004") == (
            rule == "open"
        )  # which is allowed to those of before only
        assert launch.launch(store, draft, "new") > 0
        with store.read(draft.plan.campaign.name) as work:
            assert work.plan.entry == rule
    assert sorted(store.campaigns()) == ["half-a-campaign", "nearly-ready", "old"]
    for name in store.campaigns():
        with store.read(name) as work:
            assert (work.state, broken(work)) == ("running", [])
    store.engine.dispose()
