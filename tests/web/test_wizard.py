"""The wizard's pages without a browser: wrong files, two people, previews, dry runs, launch."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from sqlalchemy import select

pytest.importorskip("jinja2", reason="pages need the extra serve")

from tests.collection.campaign_files import write_files
from tests.web.office import Desk, desk, words
from tests.web.serving import Server

from qrowd.collection.books.prospect import foreseen_cost
from qrowd.collection.database import schema
from qrowd.collection.drafts import contents
from qrowd.collection.drafts.contents import rows_of
from qrowd.collection.drafts.draft import Draft, all_drafts, open_draft, save
from qrowd.collection.drafts.launch import problems
from qrowd.collection.drafts.steps import all_steps
from qrowd.collection.office.pace import pace_of
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.sections import CHECKS, SURELY, Checks
from qrowd.collection.plan.way import Way
from qrowd.collection.record.act import act_named
from qrowd.errors import RuleError
from qrowd.web import jobs, tasks
from qrowd.web.access import OFFICE_COOKIE, forgery_token
from qrowd.web.files import CampaignFiles, drafts_in, only_file
from qrowd.web.robots import rehearsal

UPLOADS = {
    **{step: step for step in ("topics", "documents", "pool", "gold", "qualification")},
    "techniques": "questions",
    "mode": "priorities",
}


class Wizard:
    """Somebody who answers questions of one draft."""

    def __init__(self, server: Server) -> None:
        self.desk = desk(server, "organiser", campaign_id=None)
        self.server = server
        made = self.desk.post("/drafts")
        self.address = made.headers["location"].removesuffix("/name")

    @property
    def draft(self) -> Draft:
        """The draft as it is now."""
        folder = drafts_in(self.server.settings.folder)
        return open_draft(folder, self.address.rpartition("/")[2])

    def answer(self, step: str, files: Any = None, **fields: Any) -> Any:
        """Send the form of a question."""
        server, token = self.server, self.desk.token
        sent = {"forgery": forgery_token(server.settings, token), **fields}
        server.client.cookies.clear()
        return server.client.post(
            f"{self.address}/{step}",
            data=sent,
            follow_redirects=False,
            files=[(name, (path.name, path.read_bytes())) for name, path in (files or {}).items()],
            headers={"Cookie": f"{OFFICE_COOKIE}={token}"},
        )

    def whole(self, paths: dict[str, Path]) -> None:
        """Answer everything as it is suggested."""
        self.answer("name", **{"campaign.title": "Which pages help?"})
        for step in ("topics", "documents", "pool"):
            assert self.answer(step, {step: paths[step]}).status_code == 303
        self.answer("gold", {"gold": paths["gold"]}, source="arranged")
        for step, fields in (("pay", {"pay.hit": "1"}), ("budget", {"pay.budget": "50"})):
            self.answer(step, **fields)


@pytest.fixture
def wizard(server: Server) -> Wizard:
    """An empty draft."""
    return Wizard(server)


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, Path]:
    """Files of a small campaign."""
    return write_files(tmp_path / "mine")


def test_gold_with_grades_of_its_own(wizard: Wizard, paths: dict[str, Path]) -> None:
    """Of three grades where people say relevant or not: refused with the way out, then planned."""
    wizard.answer("name", **{"campaign.title": "Which pages help?"})
    for step in ("topics", "documents", "pool"):
        wizard.answer(step, {step: paths[step]})
    grades = {"scale.grades": "0, 1", "scale.labels": "No\nYes", "scale.relevant_from": "1"}
    wizard.answer("grades", **grades)
    refused = wizard.answer("gold", {"gold": paths["gold"]}, source="arranged")
    assert refused.status_code == 422
    assert "is not on the scale 0 1" in words(refused)
    own = {"scale.gold_grades": "0, 1, 2", "scale.gold_cuts": "2"}
    assert (
        wizard.answer("gold", {"gold": paths["gold"]}, source="arranged", **own).status_code == 303
    )
    shown = words(wizard.desk.get(f"{wizard.address}/passing"))
    assert "0, 1 count as “No”; 2 counts as “Yes”" in shown
    assert "2" in wizard.desk.get(f"{wizard.address}/gold/grade").text


@pytest.mark.parametrize("step", sorted(UPLOADS))
def test_a_wrong_file_in_every_upload(wizard: Wizard, step: str, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    reply = wizard.answer(step, {UPLOADS[step]: picture}, source="arranged")
    assert reply.status_code == 422
    assert "picture.png" in words(reply)
    assert "Wanted: " in words(reply)
    assert step not in wizard.draft.answered
    assert wizard.desk.get("/campaigns").status_code == 200


def test_every_question_has_its_page_from_the_start(wizard: Wizard) -> None:
    for step in (*all_steps(), "passing", "rehearsal", "launch", "plan"):
        assert wizard.desk.get(f"{wizard.address}/{step}").status_code == 200, step
    assert wizard.desk.get(f"{wizard.address}/nothing").status_code == 404
    assert "There are no topics yet" not in words(wizard.desk.get(f"{wizard.address}/topics"))
    lacking = words(wizard.desk.get(f"{wizard.address}/launch"))
    assert "Not yet" in lacking
    assert wizard.desk.post(f"{wizard.address}/launch", sure="yes").status_code == 303
    assert wizard.draft.version == 1


def test_cuts_are_asked_for_where_documents_get_numbers(
    wizard: Wizard, paths: dict[str, Path]
) -> None:
    wizard.whole(paths)
    page = words(wizard.desk.get(f"{wizard.address}/way"))
    assert all(str(way.says("title")) in page for way in Way.all())
    assert "Where each grade begins" not in words(wizard.desk.get(f"{wizard.address}/grades"))
    assert wizard.answer("way", **{"campaign.way": "slider"}).status_code == 303
    assert "Where each grade begins" in words(wizard.desk.get(f"{wizard.address}/grades"))
    wrong = wizard.answer("grades", **{"scale.cuts": "67, 34"})
    assert wrong.status_code == 422
    assert "Must rise, the lowest first" in words(wrong)
    assert wizard.answer("grades", **{"scale.cuts": "34, 67"}).status_code == 303
    assert list(wizard.draft.plan.scale.cuts) == [34, 67]
    assert "34, 67" in wizard.desk.get(f"{wizard.address}/grades").text
    assert "A number from 0 to 100" in words(wizard.desk.get(f"{wizard.address}/launch"))
    wizard.answer("way", **{"campaign.way": "preferences"})
    assert not wizard.draft.plan.scale.cuts
    assert "Couples of each document" in words(wizard.desk.get(f"{wizard.address}/way"))
    assert "there is no gold" in words(wizard.desk.get(f"{wizard.address}/gold"))


def test_a_pool_without_the_documents_text(wizard: Wizard, paths: dict[str, Path]) -> None:
    for step in ("topics", "documents"):
        wizard.answer(step, {step: paths[step]})
    paths["pool"].write_text("topic\tdoc\nt1\tnobody\n", "utf-8")
    reply = wizard.answer("pool", {"pool": paths["pool"]})
    assert reply.status_code == 422
    assert "1 document (nobody) of the pool is not in the documents' file" in words(reply)


def test_two_people_answer_one_question(wizard: Wizard) -> None:
    seen = str(wizard.draft.version)
    assert wizard.answer("target", version=seen, **{"sets.target": "5"}).status_code == 303
    late = wizard.answer("target", version=seen, **{"sets.target": "7"})
    assert late.status_code == 422
    assert "meanwhile (target = 5)" in words(late)
    assert 'value="7" checked' in late.text
    assert wizard.draft.plan.sets.target == 5
    newest = str(wizard.draft.version)
    assert wizard.answer("target", version=newest, **{"sets.target": "7"}).status_code == 303
    assert wizard.draft.plan.sets.target == 7


def test_what_it_comes_to_changes_with_the_answers(wizard: Wizard, paths: dict[str, Path]) -> None:
    wizard.whole(paths)
    before = wizard.draft.version
    shown = words(wizard.answer("target/preview", **{"sets.target": "5"}))
    assert "150 was 90" in shown
    assert "was about" in shown
    wrong = wizard.answer("target/preview", **{"sets.target": "-1"})
    assert "target must be" in words(wrong)
    assert wizard.draft.version == before


def test_a_name_is_taken_once(wizard: Wizard) -> None:
    reply = wizard.answer("name", **{"campaign.title": "Tiny"})
    assert "There is a campaign 'tiny' already" in words(reply)
    assert wizard.draft.answered == ()
    odd = wizard.answer("name", **{"campaign.title": "A", "campaign.name": "a/b"})
    assert odd.status_code == 422


def forecasts(wizard: Wizard) -> str:
    """The cost that every page states, which is one and the same."""
    pages = [words(wizard.desk.get(f"{wizard.address}/{page}")) for page in ("pay", "launch")]
    assert all("as the dry run found it" in page for page in pages)
    stated = [re.search(r"Cost ([\d.]+) EUR", page) for page in pages]
    stated += [re.search(r"cost about ([\d.]+) EUR", words(wizard.answer("launch")))]
    stated += [re.search(r"Likely to be spent: ([\d.]+) EUR", pages[1])]
    rehearsed = words(wizard.desk.get(f"{wizard.address}/rehearsal"))
    amounts = {match.group(1) for match in stated if match}
    assert (len(amounts), None in stated) == (1, False)
    amount = amounts.pop()
    assert f"{amount} EUR" in rehearsed
    return amount


def test_a_dry_run_then_launch(
    wizard: Wizard, paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("TIMES", 2), ("MOST_JUDGEMENTS", 30), ("LEAST_ROBOTS", 6)):
        monkeypatch.setattr(rehearsal, name, value)
    wizard.whole(paths)
    for step in all_steps():
        assert wizard.desk.get(f"{wizard.address}/{step}").status_code == 200, step
    server = wizard.server
    odd = wizard.answer("rehearsal", crowd="mixed", per_hour="none")
    assert "how many come in an hour" in words(odd)
    assert wizard.answer("rehearsal", crowd="careful", per_hour="20").status_code == 303
    assert "It will start soon" in words(wizard.desk.get(f"{wizard.address}/rehearsal"))
    assert tasks.run_one(server.site.store, server.settings.folder)
    done = words(wizard.desk.get(f"{wizard.address}/rehearsal"))
    assert "2 dry runs on 1 topics" in done
    assert "of the merged grades are right" in done
    assert "Continue" in done
    amount = forecasts(wizard)
    wizard.answer("words", **{"campaign.instructions": "Read it all."})
    wizard.answer("budget", **{"pay.budget": "1"})
    assert forecasts(wizard) == amount  # nothing of that matters
    asked = words(wizard.answer("launch"))
    assert "Look at the budget again: 1.00 EUR will not suffice" in asked
    assert ("The budget will end first" in asked, "I am sure" in asked) == (True, True)
    wizard.answer("target", **{"sets.target": "5"})
    outdated = words(wizard.desk.get(f"{wizard.address}/rehearsal"))
    assert "The plan was changed after this dry run in a way that matters" in outdated
    assert "as the dry run found it" not in words(wizard.desk.get(f"{wizard.address}/launch"))
    wizard.answer("target", **{"sets.target": "3"})
    wizard.answer("budget", **{"pay.budget": "50"})
    assert forecasts(wizard) == amount
    asked = words(wizard.answer("launch"))
    assert "Look at the budget again" not in asked
    gone = wizard.answer("launch", sure="yes")
    with server.site.store.read("which-pages-help") as work:
        assert f"{foreseen_cost(work) / 100:.2f}" == amount
        assert pace_of(work).expected == round(foreseen_cost(work))
    assert gone.headers["location"].startswith("/campaigns/which-pages-help?told=")
    live = wizard.desk.get(gone.headers["location"])
    assert "People can start now" in words(live)
    assert all_drafts(drafts_in(server.settings.folder)) == []
    assert wizard.desk.get(f"{wizard.address}/target").status_code == 404


def test_who_would_pass_follows_what_a_failed_check_does(
    wizard: Wizard, paths: dict[str, Path]
) -> None:
    wizard.whole(paths)
    for action, stays in (("exclude", True), ("screen-out", False), ("stop", False)):
        actions = {"checks.binary.action": action, "checks.seconds.action": "exclude"}
        wizard.answer("checks", **actions)
        page = words(wizard.desk.get(f"{wizard.address}/passing"))
        assert ("Nobody is screened out for missing gold" in page) == stays
        assert ("still there after 5" in page) != stays
        assert ("Right: the share who have not been screened out" in page) != stays
        assert ".5 is a guess" in page  # how well gold could be told


def test_gold_that_everybody_passes_is_asked_about(wizard: Wizard, paths: dict[str, Path]) -> None:
    lines = paths["gold"].read_text("utf-8").splitlines()
    easy = [lines[0], *(line.rsplit("\t", 2)[0] + "\t2\tBecause." for line in lines[1:])]
    wizard.whole(paths)
    paths["gold"].write_text("\n".join(easy) + "\n", "utf-8")
    assert wizard.answer("gold", {"gold": paths["gold"]}, source="chosen").status_code == 303
    assert "Choose other gold" in words(wizard.desk.get(f"{wizard.address}/passing"))
    asked = words(wizard.answer("launch"))
    assert "Everybody passes the gold. Launch all the same?" in asked
    assert ("This cannot be undone" in asked, "I am sure" in asked) == (False, True)
    assert wizard.draft.plan.files.gold


def test_the_plan_file_both_ways(wizard: Wizard, paths: dict[str, Path], tmp_path: Path) -> None:
    wizard.whole(paths)
    packed = tmp_path / "all.zip"
    packed.write_bytes(wizard.desk.get(f"{wizard.address}/plan.zip").content)
    alone = wizard.desk.get(f"{wizard.address}/plan.toml")
    assert alone.headers["content-disposition"] == 'attachment; filename="plan.toml"'
    server, token = wizard.server, wizard.desk.token

    def begin(path: Path) -> Any:
        server.client.cookies.clear()
        return server.client.post(
            "/drafts",
            data={"forgery": forgery_token(server.settings, token)},
            files=[("plan", (path.name, path.read_bytes()))],
            headers={"Cookie": f"{OFFICE_COOKIE}={token}"},
            follow_redirects=False,
        )

    again = begin(packed)
    assert again.headers["location"].partition("?")[0].endswith("/passing")
    other = Desk(server, token).get(
        again.headers["location"].partition("/passing")[0] + "/plan.toml"
    )
    assert other.text == alone.text
    bad = tmp_path / "notes.txt"
    bad.write_text("hello", "utf-8")
    refused = begin(bad)
    assert (refused.status_code, "end one plan file" in words(refused)) == (422, True)


def test_a_plan_whose_name_is_not_latin(wizard: Wizard) -> None:
    """As a plan file may have it."""
    plan = set_key(wizard.draft.plan, "campaign", "name", "\u6587")
    save(wizard.draft, plan, "ada", 1, "name")
    packed = wizard.desk.get(f"{wizard.address}/plan.zip")
    assert packed.headers["content-disposition"] == "attachment; filename*=utf-8''%E6%96%87.zip"


def test_numbers_of_thousands_of_digits(wizard: Wizard) -> None:
    sent = wizard.answer("name", **{"campaign.title": "A", "version": "9" * 5_000})
    assert sent.status_code == 303
    ada = desk(wizard.server, "organiser")
    drawn = ada.post("/campaigns/tiny/decisions/sample", size="9" * 5_000)
    assert "a whole number from 1 on" in words(drawn)
    with pytest.raises(RuleError, match="must be a whole number"):
        act_named("raise target").of({"target": "9" * 5_000})
    for page in ("workers/99999999999999999999", "acts?before=99999999999999999999"):
        found = ada.get(f"/campaigns/tiny/{page}")
        assert (found.status_code, "There is no such number" in words(found)) == (404, True)


def test_gold_is_graded_on_a_page(wizard: Wizard, paths: dict[str, Path]) -> None:
    address = f"{wizard.address}/gold/grade"
    assert "which documents are judged" in words(wizard.desk.get(address))
    for step in ("topics", "documents", "pool"):
        wizard.answer(step, {step: paths[step]})
    page = wizard.desk.get(address)
    names = re.findall(r'name="document" value="([^"]+)"', page.text)
    assert len(names) == 7
    assert f"text of {names[0]}" in words(page)
    sent = {f"grade-{name}": str(at % 2) for at, name in enumerate(names)}
    assert "Grade at least one" in words(wizard.answer("gold/grade", topic="t1", document=names))
    kept = wizard.answer("gold/grade", topic="t1", document=[*names, "strange"], **sent)
    assert kept.status_code == 303
    assert "7 graded so far, 1 set of gold" in words(wizard.desk.get(address))
    assert "query of t2" in words(wizard.desk.get(address))


def test_a_draft_is_deleted_after_a_question(wizard: Wizard) -> None:
    assert "I am sure" in words(wizard.answer("delete"))
    assert wizard.answer("delete", sure="yes").status_code == 303
    assert all_drafts(drafts_in(wizard.server.settings.folder)) == []


def test_one_wage_for_organisers_and_workers(wizard: Wizard, paths: dict[str, Path]) -> None:
    """Sets of 4 and 5 documents, and a test that pays less than batches do."""
    wizard.whole(paths)
    tests = paths["gold"].with_name("tests.tsv")
    tests.write_text(
        paths["pool"].read_text("utf-8").replace("\n", "\t1\n").replace("doc\t1", "doc\tgrade"),
        "utf-8",
    )
    fields = {"on-qualification.sets": "yes", "has-qualification.sets": "yes"}
    numbers = {"qualification.sets": "1", "qualification.tries": "1"}
    wizard.answer("qualification", {"qualification": tests}, **fields, **numbers)
    wizard.answer("pay", **{"pay.hit": "1", "pay.qualification": "0.05"})
    said = re.search(
        r"batch, ([\d.]+) EUR an hour", words(wizard.desk.get(f"{wizard.address}/launch"))
    )
    assert said is not None
    assert wizard.answer("launch", sure="yes").status_code == 303
    about = wizard.server.client.get("/api/campaigns/which-pages-help/about").json()
    assert f"{about['hourly'] / 100:.2f}" == said.group(1)


def test_a_pool_that_was_drawn_is_kept_for_corrected_scores(
    wizard: Wizard, paths: dict[str, Path]
) -> None:
    rows = paths["pool"].read_text("utf-8").splitlines()
    drawn = ["topic\tdoc\tprobability\tby", *(f"{row}\t0.25\trandom" for row in rows[1:])]
    paths["pool"].write_text("\n".join(drawn) + "\n", "utf-8")
    wizard.whole(paths)
    assert wizard.answer("launch", sure="yes").status_code == 303
    store = wizard.server.site.store
    with store.read("which-pages-help") as work:
        files = CampaignFiles(store, wizard.server.settings.folder, work.campaign)
    kept = only_file(files.sample)
    assert kept is not None
    assert kept.read_text("utf-8") == paths["pool"].read_text("utf-8")
    page = words(wizard.desk.get("/campaigns/which-pages-help/systems"))
    assert "There are: pool.tsv." in page


# --- files, and what was read of them -------------------------------------------------------------


def told(reply: Any, wizard: Wizard) -> str:
    """What the page says to which a form leads."""
    return words(wizard.desk.get(reply.headers["location"]))


def test_each_file_that_was_read_is_confirmed(wizard: Wizard, paths: dict[str, Path]) -> None:
    topics = paths["topics"].read_text("utf-8") + '{"topic": "t9", "query": "of nobody"}\n'
    paths["topics"].write_text(topics, "utf-8")
    wizard.answer("name", **{"campaign.title": "Which pages help?"})
    assert "topics.jsonl was read: 4 topics." in told(
        wizard.answer("topics", {"topics": paths["topics"]}), wizard
    )
    sent = wizard.answer("documents", paths_of(paths, "documents"))
    assert "documents.jsonl was read: 48 documents." in told(sent, wizard)
    sent = wizard.answer("pool", paths_of(paths, "pool"))
    assert "pool.tsv was read: 30 documents to judge, of 3 topics." in told(sent, wizard)
    page = words(wizard.desk.get(f"{wizard.address}/topics"))
    assert "4 topics. Not used: 1 topic that has nothing to judge." in page
    page = words(wizard.desk.get(f"{wizard.address}/documents"))
    assert "Not used: 18 documents that are not judged for any topic." in page
    sent = wizard.answer("gold", paths_of(paths, "gold"), source="chosen")
    assert "gold.tsv was read: 18 graded documents of 3 topics" in told(sent, wizard)


def paths_of(paths: dict[str, Path], kind: str) -> dict[str, Path]:
    return {kind: paths[kind]}


@pytest.mark.parametrize("choice", ["title", "leave out"])
def test_documents_with_a_title_and_no_text(
    wizard: Wizard, paths: dict[str, Path], choice: str
) -> None:
    lines = [json.loads(line) for line in paths["documents"].read_text("utf-8").splitlines()]
    for line in lines[:2]:
        line["text"] = ""
    paths["documents"].write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    wizard.answer("name", **{"campaign.title": "Which pages help?"})
    wizard.answer("topics", paths_of(paths, "topics"))
    asked = wizard.answer("documents", paths_of(paths, "documents"))
    assert "2 documents have a title and no text" in told(asked, wizard)
    refused = words(wizard.answer("pool", paths_of(paths, "pool")))
    assert "asks whether they are judged by title or left out" in refused
    wizard.answer("documents", **{"files.blank": choice})
    assert wizard.answer("pool", paths_of(paths, "pool")).status_code == 303
    wizard.answer("gold", paths_of(paths, "gold"), source="arranged")
    wizard.answer("budget", **{"pay.budget": "0"})
    assert wizard.answer("launch", sure="yes").status_code == 303
    with wizard.server.site.store.read("which-pages-help") as work:
        columns = (schema.document.c.name, schema.document.c.content)
        rows = work.db.execute(select(*columns).where(work.own(schema.document)))
        stored = {row.name: row.content for row in rows}
    blank = {line["doc"] for line in lines[:2]}
    if choice == "leave out":
        assert not blank & stored.keys()
    else:
        assert [stored[name] for name in blank] == [
            hashlib.sha256(name.encode()).hexdigest() for name in blank
        ]


def test_a_test_is_split_off_the_gold(wizard: Wizard, paths: dict[str, Path]) -> None:
    gold = [f"t{t}\tt{t}-d{d}\t{d % 3}\tBecause." for t in (1, 2, 3) for d in range(6)]
    more = paths["gold"].read_text("utf-8") + "\n".join(gold) + "\n"
    paths["gold"].write_text(more, "utf-8")
    wizard.whole(paths)
    wizard.answer("sets", **{"sets.size": "3"})
    before = {row.pair for row in rows_of(wizard.draft, "gold")}
    page = words(wizard.desk.get(f"{wizard.address}/qualification"))
    assert "Split a test off the gold" in page
    assert wizard.answer("qualification", source="gold").status_code == 303
    draft = wizard.draft
    kept, tests = ({row.pair for row in rows_of(draft, key)} for key in ("gold", "qualification"))
    assert kept | tests == before
    assert not kept & tests
    sets = {row.set for row in rows_of(draft, "qualification")}
    assert draft.plan.qualification.sets * draft.plan.qualification.tries == len(sets) > 1
    assert problems(draft) == []
    assert "Split a test" not in words(wizard.desk.get(f"{wizard.address}/qualification"))


def test_too_little_gold_for_a_test(wizard: Wizard, paths: dict[str, Path]) -> None:
    wizard.whole(paths)
    reply = wizard.answer("qualification", source="gold")
    assert (reply.status_code, "a test needs one of them at least" in words(reply)) == (422, True)


def test_suggestions_for_the_rest(wizard: Wizard, paths: dict[str, Path]) -> None:
    wizard.answer("name", **{"campaign.title": "Which pages help?"})
    for step in ("topics", "documents"):
        wizard.answer(step, paths_of(paths, step))
    wizard.answer("pool", paths_of(paths, "pool"))
    assert "Take the suggestions for the rest" in words(wizard.desk.get(f"{wizard.address}/mode"))
    stopped = wizard.answer("mode", rest="yes", **{"campaign.mode": "crowd"})
    assert stopped.headers["location"].partition("?")[0].endswith("/gold")
    assert "this question only you can answer" in told(stopped, wizard)
    done = wizard.answer("gold", paths_of(paths, "gold"), source="arranged", rest="yes")
    assert done.headers["location"].partition("?")[0].endswith("/passing")
    draft = wizard.draft
    assert set(draft.answered) == set(all_steps())
    assert draft.plan.pay.hit > 0
    assert draft.plan.scale.labels
    assert problems(draft) == []
    assert "may not suffice" not in words(wizard.desk.get(f"{wizard.address}/launch"))
    assert "suggestions for the rest" not in words(wizard.desk.get(f"{wizard.address}/mode"))


def test_licence_and_contact_are_asked_for_last(wizard: Wizard, paths: dict[str, Path]) -> None:
    wizard.whole(paths)
    page = wizard.desk.get(f"{wizard.address}/launch").text
    assert 'value="CC BY 4.0"' in page
    wizard.answer("launch", **{"release.licence": "CC0 1.0", "release.contact": "ann@x.org"})
    assert wizard.draft.plan.release.contact == "ann@x.org"
    wizard.answer("launch", sure="yes")
    with wizard.server.site.store.read("which-pages-help") as work:
        assert (work.plan.release.licence, work.plan.release.contact) == ("CC0 1.0", "ann@x.org")


# --- what can go wrong meanwhile ------------------------------------------------------------------


def test_a_title_of_2000_characters(wizard: Wizard) -> None:
    reply = wizard.answer("name", **{"campaign.title": "Which? " * 286})
    assert reply.status_code == 422
    assert "The title has 2,001 characters; 200 at most. Shorten it" in words(reply)
    assert wizard.draft.answered == ()


def test_a_wizard_left_for_a_month(wizard: Wizard, paths: dict[str, Path]) -> None:
    """The session has ended, a file is gone, and the dry run was made by an earlier version."""
    wizard.whole(paths)
    draft = wizard.draft
    old = {"times": 4, "cost": {"middle": 1.0, "low": 1.0, "high": 1.0}}
    with wizard.server.site.store.transaction() as db:
        number = jobs.ask_for_draft(db, 1, draft.key, {"version": 1})
    jobs.finish(wizard.server.site.store, number, json.dumps(old), 1)
    assert "as the dry run found it" not in words(wizard.desk.get(f"{wizard.address}/launch"))
    assert wizard.desk.get(f"{wizard.address}/rehearsal").status_code == 200
    shutil.rmtree((draft.folder / draft.plan.files.documents).parent)
    contents.texts.cache_clear()
    for page in (*all_steps(), "passing", "rehearsal", "launch", "plan"):
        assert wizard.desk.get(f"{wizard.address}/{page}").status_code == 200, page
    grading = words(wizard.desk.get(f"{wizard.address}/gold/grade"))
    assert "file documents.jsonl is not there; upload it" in grading
    page = words(wizard.desk.get(f"{wizard.address}/launch"))
    assert "documents.jsonl is not there; upload it" in page
    session, wizard.desk.token = wizard.desk.token, "ended"
    gone = wizard.answer("target", **{"sets.target": "5"})
    assert gone.headers["location"].startswith("/sign-in?next=%2Fdrafts%2F")
    page = words(wizard.server.client.get(gone.headers["location"]))
    assert "What you sent just now was not saved; everything before it was" in page
    assert "%2Ftarget&" in gone.headers["location"]
    wizard.desk.token = session
    assert wizard.draft.plan.sets.target == 3


def test_a_draft_of_an_older_version_opens_keeps_everything_and_can_take_the_new_default(
    wizard: Wizard, paths: dict[str, Path]
) -> None:
    wizard.whole(paths)
    before = wizard.draft
    newest = before.folder / "versions" / f"{before.version:06}.json"
    stored = json.loads(newest.read_text("utf-8"))
    for name in ("since", "defaults"):  # drafts did not say that then
        del stored[name]
    newest.write_text(json.dumps(stored), "utf-8")
    old = wizard.draft
    checks = old.plan.checks
    assert {getattr(checks, name).action for name in CHECKS} == {"exclude"}
    assert (checks.screen_out_after, old.plan.entry) == (3, "open")
    rules: dict[str, Any] = {
        "checks": before.plan.checks,
        "people": before.plan.people,
        "text": before.plan.text,
    }
    assert replace(old.plan, **rules) == before.plan
    assert old.answered == before.answered
    for step in (*all_steps(), "passing", "launch", "plan"):
        assert wizard.desk.get(f"{wizard.address}/{step}").status_code == 200, step
    page = wizard.desk.get(f"{wizard.address}/checks").text
    assert page.count('<option value="exclude" selected>') == 2
    new = {"checks.binary.action": SURELY, "checks.seconds.action": "screen-out"}
    kept = {"checks.binary.at_least": "0.85", "checks.seconds.at_least": "6"}
    sent = {**new, **kept, "checks.screen_out_after": "2"}
    assert wizard.answer("checks", **sent).status_code == 303
    chosen = wizard.draft.plan
    assert (chosen.checks.binary, chosen.checks.seconds) == (Checks().binary, Checks().seconds)
    assert chosen.checks.screen_out_after == 2
    assert chosen.entry == "open"  # what was not touched stays as it was
    assert replace(chosen, **rules) == before.plan


def test_a_wizard_left_for_a_month_says_what_was_not_saved_and_goes_on_where_it_was(
    wizard: Wizard, paths: dict[str, Path]
) -> None:
    wizard.whole(paths)
    before = wizard.draft
    wizard.server.site.clock.forward(31 * 24 * 60)
    reply = wizard.answer("target", **{"sets.target": "5"})
    assert reply.status_code == 303
    said = words(Desk(wizard.server, "").get(reply.headers["location"]))
    assert "What you sent just now was not saved; everything before it was." in said
    assert "Sign in, and fill in that page once more." in said
    assert wizard.draft == before
    wizard.desk = desk(wizard.server, "organiser", campaign_id=None)  # signed in again
    back = dict(parse_qsl(urlsplit(reply.headers["location"]).query))
    assert back["next"].startswith(f"{wizard.address}/target")
    assert wizard.desk.get(back["next"]).status_code == 200
    assert wizard.answer("target", **{"sets.target": "5"}).status_code == 303
    assert wizard.draft.plan.sets.target == 5
