"""The pages of a running campaign, without a browser: what they show, ask, do and undo."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2", reason="pages need the extra serve")

from sqlalchemy import select
from tests.collection.making import EXCLUDING, Site, make_site, material, wrong
from tests.web.serving import API, Server
from tests.web.test_office import account, sign_in

from qrowd.cli.main import main
from qrowd.collection.adjudication import appeals
from qrowd.collection.books import ledger
from qrowd.collection.database.schema import assignment, campaign, judging_set
from qrowd.collection.judging import submission
from qrowd.collection.record import audit
from qrowd.web import jobs, tasks
from qrowd.web.app import make_app
from qrowd.web.robots.crowd import Crowd
from qrowd.web.robots.rehearsal import judge
from qrowd.web.robots.traffic import Clock
from qrowd.web.settings import Settings

AT = "/campaigns/tiny"
BY_HAND = EXCLUDING.replace("seed = 1", 'seed = 1\naccept = "by hand"')
PAGES = (
    "",
    "/coverage",
    "/quality",
    "/systems",
    "/workers",
    "/workers/1",
    "/money",
    "/acts",
    "/appeals",
    "/batches",
    "/gold",
    "/disputed",
    "/extend",
)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Server]:
    """A campaign with some work in it, and its organiser signed in."""
    from starlette.testclient import TestClient

    where = f"sqlite:///{tmp_path / 'campaign.db'}"
    site = make_site(where, BY_HAND, material(pool=9))
    for name, choose in (("ann", None), ("bob", wrong), ("cat", None)):
        site.whole(site.worker(name), choose)
    settings = Settings.of_folder(tmp_path, where, "http://testserver")
    with TestClient(make_app(settings, site.store)) as client:
        server = Server(site, settings, client)
        account(server, "ann", "organiser")
        sign_in(server, "ann")
        yield server


def fields(page: str, act: str, **more: str) -> dict[str, str]:
    """The hidden fields of a page's form for an act."""
    for form in re.findall(r"<form.*?</form>", page, re.S):
        found = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
        if found.get("act") == act and all(found.get(key) == value for key, value in more.items()):
            return {key: unescape(value) for key, value in found.items()}
    raise AssertionError(f"no form for {act}")


def asked(office: Server, page: str, act: str, **more: str) -> tuple[str, dict[str, str]]:
    """The question that an act asks first; and what its answer sends."""
    known = {key: value for key, value in more.items() if key in ("worker", "assignment", "set")}
    sent = fields(office.client.get(AT + page).text, act, **known) | more
    question = office.client.post(f"{AT}/act", data=sent)
    assert question.status_code == 200, question.text
    form = re.search(r"<main.*?</main>", question.text, re.S)
    assert form
    kept = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form[0]))
    return unescape(re.sub(r"<[^>]+>", " ", form[0])), {k: unescape(v) for k, v in kept.items()}


def done(office: Server, kept: dict[str, str]) -> str:
    """Say yes; the page that follows."""
    reply = office.client.post(f"{AT}/act", data={**kept, "sure": "yes"})
    assert reply.status_code == 200, reply.text
    return reply.text


def undo(office: Server, page: str) -> str:
    """Press the undo that a page offers."""
    found = re.search(
        r'action="([^"]+/undo)"[^>]*>\s*<input type="hidden" name="forgery" value="(\w+)"', page
    )
    assert found
    reply = office.client.post(found[1], data={"forgery": found[2]})
    assert reply.status_code == 200, reply.text
    return reply.text


def state(office: Server) -> Any:
    """The campaign's row."""
    with office.site.store.read("tiny") as work:
        return work.db.execute(select(campaign).where(campaign.c.id == work.campaign)).one()


def test_every_page_before_and_after_results(office: Server, tmp_path: Path) -> None:
    for page in PAGES:
        reply = office.client.get(AT + page)
        assert reply.status_code == 200, (page, reply.text)
        assert 'style="' not in reply.text
    run = "".join(f"t{t} Q0 d{t}-{d} {d} {9 - d} mine\n" for t in range(3) for d in range(5))
    other = run.replace("mine", "yours").replace(" 9 ", " 1 ")
    token = fields(office.client.get(AT).text, "pause")["forgery"]
    sent = [("runs", ("mine.run", run)), ("runs", ("yours.run", other))]
    taken = office.client.post(f"{AT}/runs", files=sent, data={"forgery": token})
    assert "2 runs were taken in" in taken.text
    office.site.work(accept_all)
    for kind in ("quality", "merge", "systems"):
        wanted = {"forgery": token, "kind": kind, "method": "mv", "back": f"{AT}/quality"}
        assert "worked out in the background" in office.client.post(f"{AT}/find", data=wanted).text
    while tasks.run_one(office.site.store, office.settings.folder):
        pass
    pages = {page: office.client.get(AT + page).text for page in PAGES}
    assert "agreement cannot be told" in pages[""]  # no document has two answers yet
    assert "leads by AP" in pages[""]
    for page, word in (
        ("/quality", "A single answer is right"),
        ("/quality", "merged.qrels"),
        ("/systems", "mine"),
        ("/workers", "w1"),
        ("/workers/2", "sensitivity"),
    ):
        text = pages.get(page) or office.client.get(AT + page).text
        assert word.lower() in text.lower(), (page, word)
    for page in ("/quality", "/systems", "/coverage"):
        text = office.client.get(AT + page).text
        assert "<svg" in text, page
        assert 'style="' not in text
    suspicious = office.client.get(f"{AT}/workers?order=suspicion").text
    assert re.findall(r">w(\d)</a>", suspicious)[0] == "2"


def accept_all(work: Any) -> None:
    """Accept what waits."""
    own = select(assignment.c.id).where(assignment.c.state == "submitted")
    for number in list(work.db.scalars(own)):
        audit.perform(work, "o", "accept", {"assignment": number})


def test_the_first_line_says_how_it_goes(
    office: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    page = unescape(re.sub(r"<[^>]+>", "", office.client.get(AT).text))
    assert re.search(
        r"On track: \d+\s% done, ready \w+[\w ]* at this pace, 1 of 100 EUR spent", page
    )
    assert "2 batches wait to be accepted" in page
    with office.site.store.write("tiny") as work:
        ledger.fund(work, -ledger.balance(work).free)
    page = unescape(re.sub(r"<[^>]+>", "", office.client.get(AT).text))
    # the cause comes first, with what helps; then how far it is, and nothing says "on track"
    assert "The budget is used up at" in page
    assert "On track" not in page
    html = office.client.get(AT).text
    first = re.search(r'<h1 class="outlook cause" data-cause="(\w+)">(.*?)</h1>', html)
    assert first is not None
    assert first[1] == "spent"
    assert fields(html, "fund")["amount"]
    # the page, the interface and the command say the same
    token = office.token("organiser", scopes=("read",))
    told = office.client.get("/api/campaigns/tiny/overview", headers=token).json()
    assert told["sentence"] == unescape(first[2]) == told["causes"][0]["text"]
    main(["campaign", "status", office.site.store.shown])
    by_command = capsys.readouterr().out
    assert by_command.startswith(told["sentence"])
    assert "What helps: act fund amount=" in by_command.splitlines()[0]


ACTS = [
    ("", "pause", {}, "Nobody gets a new batch"),
    ("", "close", {}, "payments go on"),
    ("", "raise target", {"target": "4"}, "This costs"),
    ("/coverage", "raise target", {"target": "3", "topic": "t1"}, "of topic t1"),
    ("", "fund", {"amount": "12.50"}, "becomes 112.50 EUR"),
    ("/workers/1", "stop", {"worker": "1"}, "No more batches"),
    ("/workers/1", "screen out", {"worker": "1"}, "Accepted work stays"),
    ("/workers/1", "bonus", {"worker": "1", "amount": "2,5"}, "This costs 2.50 EUR; 97.00 EUR"),
    ("/workers/1", "accept", {}, "1.00 EUR are owed to worker w1"),
    ("/workers/1", "exclude", {}, "judged again by somebody else"),
    ("/batches", "refuse", {}, "can appeal for 14 days"),
    ("/gold", "retire gold", {}, "gold sets are left"),
]


@pytest.mark.parametrize(("page", "act", "more", "words"), ACTS)
def test_an_act_tells_its_cost_is_done_and_undone(
    office: Server, page: str, act: str, more: dict[str, str], words: str
) -> None:
    before = state(office)
    question, kept = asked(office, page, act, **more)
    assert words in re.sub(r"\s+", " ", question)
    assert state(office) == before
    told = done(office, kept)
    with office.site.store.read("tiny") as work:
        assert audit.acts(work)[0].act == act
        assert audit.acts(work)[0].who == "ann"
    back = undo(office, told)
    assert f"Taken back: {act}" in back
    if act != "refuse":  # which is undone by accepting
        assert state(office) == before


def test_what_cannot_be_undone_is_asked_with_a_box(office: Server) -> None:
    question, kept = asked(office, "/workers/1", "message", worker="1", text="Thank you <b>")
    assert "cannot be undone" in question
    assert "Thank you <b>" in question
    page = done(office, kept)
    assert "Thank you &lt;b&gt;" in page
    assert "/undo" not in page
    office.site.work(accept_all)
    sent = {"forgery": kept["forgery"]}
    file = {"payout": ("payout.csv", office.client.get(f"{AT}/money/payout.csv").text)}
    question = office.client.post(f"{AT}/money/paid", data=sent, files=file).text
    assert "3 workers are marked as paid: 3.00 EUR in all" in question
    assert 'type="checkbox" name="sure"' in question
    kept = dict(re.findall(r'type="hidden" name="(rows|seen)" value="([^"]*)"', question))
    office.client.post(f"{AT}/money/paid", data={**sent, **kept, "sure": "yes"})
    assert state(office).settled == 300


def test_two_people_at_once(office: Server) -> None:
    """Both have the question open; the second is told what the first did, and nothing is lost."""
    owed = state(office).owed
    _, mine = asked(office, "/workers/1", "bonus", worker="1", amount="2")
    done(office, mine)
    again = office.client.post(f"{AT}/act", data={**mine, "sure": "yes"})
    assert again.status_code == 409
    assert "Meanwhile ann did this: bonus" in again.text
    assert state(office).owed == owed + 200
    _, pause = asked(office, "", "pause")
    done(office, pause)
    refused = office.client.post(f"{AT}/act", data={**pause, "sure": "yes"})
    assert (refused.status_code, "meanwhile ann" in refused.text.lower()) == (409, True)


def test_an_appeal_is_answered(office: Server) -> None:
    site: Site = office.site
    with site.store.read("tiny") as work:
        row = work.db.execute(select(assignment).where(assignment.c.worker_id == 1)).one()
    site.work(audit.perform, "o", "refuse", {"assignment": row.id})
    site.work(appeals.appeal_refusal, 1, row.key, "I worked <well>")
    dan = site.worker("dan")
    offer = site.next(dan)
    site.judge(dan, offer, wrong)
    missed = site.work(submission.finish, dan, offer.key).missed[0]
    site.work(appeals.disagree, dan, missed.place, missed.position, "look again")
    page = office.client.get(f"{AT}/appeals").text
    assert "I worked &lt;well&gt;" in page
    assert "The expert said" in page
    assert "2 workers wait for an answer" in office.client.get(AT).text
    question, kept = asked(office, "/appeals", "answer appeal", won="yes", reply="You are right")
    assert "1.00 EUR are owed" in question
    owed = state(office).owed
    told = done(office, kept)
    assert state(office).owed == owed + 100
    undo(office, told)
    assert state(office).owed == owed


def test_more_pool_is_told_asked_and_withdrawn(office: Server) -> None:
    page = office.client.get(f"{AT}/extend").text
    token, seen = (re.search(rf'name="{key}" value="(\w+)"', page) for key in ("forgery", "seen"))
    assert token
    assert seen
    sent = {"forgery": token[1], "seen": seen[1], "depth": "20"}
    files = {
        "pool": ("pool.tsv", "topic\tdoc\nt0\tn1\nt1\tn1\n"),
        "documents": ("d.tsv", "doc\ttext\nn1\thello\n"),
    }
    empty = office.client.post(f"{AT}/extend", data=sent)
    assert (empty.status_code, "Choose at least one file" in empty.text) == (422, True)
    bad = office.client.post(f"{AT}/extend", data=sent, files={"pool": ("x.pdf", b"%PDF-1.4 \0")})
    assert bad.status_code == 422
    question = office.client.post(f"{AT}/extend", data=sent, files=files)
    assert "2 new pairs of 2 topics" in question.text, question.text
    kept = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', question.text))
    with office.site.store.read("tiny") as work:
        before = work.db.execute(select(judging_set).order_by(judging_set.c.id)).all()
    added = office.client.post(f"{AT}/extend", data={**kept, "sure": "yes"})
    assert "Added: 2 pairs in 2 sets" in added.text
    again = office.client.post(f"{AT}/extend", data={**kept, "sure": "yes"})
    assert (again.status_code, "choose them again" in again.text) == (409, True)
    undo(office, added.text)
    with office.site.store.read("tiny") as work:
        assert work.db.execute(select(judging_set).order_by(judging_set.c.id)).all() == before


@pytest.mark.parametrize("page", PAGES)
def test_others_see_nothing(office: Server, page: str) -> None:
    account(office, "eve", "expert")
    sign_in(office, "eve")
    assert office.client.get(AT + page).status_code in (403, 404)
    office.client.cookies.clear()
    assert office.client.get(AT + page).url.path == "/sign-in"


def test_what_the_record_shows(office: Server) -> None:
    _, kept = asked(office, "", "pause")
    done(office, kept)
    page = office.client.get(f"{AT}/acts").text
    assert len(re.findall(r"/undo\"", page)) == 1  # the launch cannot be undone below the pause
    undo(office, page)
    page = office.client.get(f"{AT}/acts").text
    assert "undo pause" in page
    assert re.search(r"act \d+</a>", page)


def test_odd_addresses_and_answers(office: Server) -> None:
    for page in ("/workers/999", "/acts/999/undo", "/nothing"):
        assert office.client.get(AT + page).status_code in (404, 405)
    for query in ("/workers?page=99&order=odd&state=odd", "/coverage?page=0", "/disputed?page=-1"):
        assert office.client.get(AT + query).status_code == 200
    token = fields(office.client.get(AT).text, "pause")["forgery"]
    for sent in (
        {"act": "forget"},
        {"act": "raise target"},
        {"act": "bonus", "worker": "x"},
        {"act": "bonus", "worker": "1"},
        {"act": "fund", "amount": "nan"},
        {"act": "settle", "workers": "1 x"},
        {"act": "extend"},
        {"act": "prioritise", "priorities": "a b 1"},
        {"act": "refuse", "assignment": "99"},
    ):
        for sure in ("", "yes"):
            reply = office.client.post(f"{AT}/act", data={"forgery": token, "sure": sure, **sent})
            assert 400 <= reply.status_code < 500, (sent, reply.text)
    for sent in (
        {"kind": "odd"},
        {"kind": "merge", "method": "nonsense"},
        {"kind": "merge", "method": "aware"},
        {"kind": "systems", "method": "mv", "measures": "nonsense"},
    ):
        reply = office.client.post(f"{AT}/find", data={"forgery": token, **sent})
        assert reply.status_code == 422, sent


def test_people_are_invited_and_forgotten(office: Server) -> None:
    token = fields(office.client.get(AT).text, "pause")["forgery"]
    sent = {"forgery": token, "people": "new one\r\n\r\nnew two", "days": "3", "sure": "yes"}
    page = unescape(office.client.post(f"{AT}/people", data=sent).text)
    found = re.findall(r">http://testserver(/judge/tiny\?link=[^<\s]+)", page)
    assert len(found) == 2
    assert office.client.get(found[0]).status_code == 200
    for wrong_one in ({"people": " "}, {"people": "x", "days": "soon"}, {"people": "y\ny"}):
        reply = office.client.post(f"{AT}/people", data={"forgery": token, **wrong_one})
        assert reply.status_code == 422
    address, sure = f"{AT}/workers/1/forget", {"forgery": token, "void": "yes", "sure": "yes"}
    question = office.client.post(address, data={"forgery": token, "void": "yes"})
    assert "places open again" in question.text
    owed = office.client.post(address, data=sure)
    assert owed.status_code == 409  # what is promised or owed comes first
    office.site.work(accept_all)
    office.site.work(audit.perform, "o", "settle", {"workers": [1]}, sure=True)
    assert "Forgotten." in office.client.post(address, data=sure).text
    assert office.client.get(f"{AT}/workers/1").status_code == 200


def test_a_draft_is_launched(tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    where = f"sqlite:///{tmp_path / 'campaign.db'}"
    site = make_site(where, start=False)
    settings = Settings.of_folder(tmp_path, where, "http://testserver")
    with TestClient(make_app(settings, site.store)) as client:
        server = Server(site, settings, client)
        account(server, "ann", "organiser")
        sign_in(server, "ann")
        assert "Not launched" in client.get(AT).text
        question, kept = asked(server, "", "launch")
        assert re.search(
            r"(?s)This costs (\d+\.\d\d EUR);.*planned, \1 .*of 100\.00 EUR are spent", question
        )
        page = done(server, kept)
        assert state(server).state == "running"
        undo(server, page)
        assert state(server).state == "draft"


def test_results_are_refreshed_by_themselves(office: Server) -> None:
    store, folder, clock = office.site.store, office.settings.folder, office.site.clock
    office.site.work(accept_all)
    assert tasks.refresh_all(store, folder) == 0  # too early
    clock.forward(16)
    assert tasks.refresh_all(store, folder) == 1
    assert tasks.refresh_all(store, folder) == 0  # it waits already
    with store.read("tiny") as work:
        first = jobs.newest(work, "quality")
    assert first is not None
    assert '"auto"' in first.parameters
    assert tasks.run_one(store, folder)
    clock.forward(16)
    assert tasks.refresh_all(store, folder) == 0  # nothing new came in
    office.site.whole(office.site.worker("eve"))
    clock.forward(16)
    assert tasks.refresh_all(store, folder) == 1


def test_how_many_documents_are_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page, the interface, the command and the record; robots have chosen, too."""
    from starlette.testclient import TestClient
    from tests.collection.test_next_sets import MADE
    from tests.collection.test_next_sets import PLAN as CHOOSING

    where = f"sqlite:///{tmp_path / 'campaign.db'}"
    site = make_site(where, CHOOSING, MADE)
    clock = Clock(site.clock.now)
    object.__setattr__(site.store, "clock", clock)
    judge(site.store, clock, tmp_path, "tiny", Crowd(robots=8))
    settings = Settings.of_folder(tmp_path, where, "http://testserver")
    with TestClient(make_app(settings, site.store)) as client:
        server = Server(site, settings, client)
        account(server, "ann", administrator=True)
        sign_in(server, "ann")
        page = client.get(AT).text
        record = client.get(f"{AT}/acts").text
        told = client.get(f"{API}/overview", headers=server.token("organiser")).json()["decided"]
    assert re.fullmatch(
        r"\d+ of 60 documents are decided at risk 10\W%; \d+\W% of votes saved", told
    )
    assert told in unescape(page)
    main(["campaign", "status", str(tmp_path / "campaign.db"), "--acts"])
    printed = capsys.readouterr().out
    assert told in printed
    acts = [line for line in printed.splitlines() if "choose next" in line]
    assert len(acts) > 1
    assert not any("before" in line for line in acts)
    assert len(re.findall(r"<td>choose next</td>", record)) == 1
    assert "more of these just before" in record
    site.store.engine.dispose()
