"""Words of pages are in one file: in a made-up language no English is left but data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2", reason="pages need the extra serve")

from tests.collection.campaign_files import write_files
from tests.collection.making import PLAN, make_site, material, wrong
from tests.web.office import Desk
from tests.web.serving import API, Server, make_server
from tests.web.test_files_with_people import hidden, results, send
from tests.web.test_office import PASSWORD, account
from tests.web.test_wizard import Wizard

from qrowd import texts
from qrowd.collection.adjudication import appeals, expert_sample
from qrowd.collection.books import ledger, notices
from qrowd.collection.database.schema import place
from qrowd.collection.drafts.steps import all_steps
from qrowd.collection.judging import submission
from qrowd.collection.judging.offer import Offer
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.record import audit
from qrowd.data.topics import Topic
from qrowd.web import tasks
from qrowd.web.access import OFFICE_COOKIE
from qrowd.web.app import make_app
from qrowd.web.pages.launch import duration
from qrowd.web.robots import rehearsal
from qrowd.web.settings import Settings, set_up_code

SOURCES = Path(texts.__file__).parent
HOLE = re.compile(r"((?<!\{)\{\w+\}(?!\}))")  # {{word}} is a brace that people read
AT = "/campaigns/tiny"
ADMINISTRATOR, ORGANISER, EXPERT = "ZZadministrator", "ZZorganiser", "ZZexpert"

# --- a made-up language ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A language `xx`: English in which every text is between « and », its values outside."""
    folder = tmp_path_factory.mktemp("texts")
    for path in texts.FOLDER.glob("*.json"):
        (folder / path.name).write_bytes(path.read_bytes())
    english = json.loads((folder / "en.json").read_text("utf-8"))
    other = {
        id: "".join(_wrapped(part) for part in HOLE.split(text)) for id, text in english.items()
    }
    (folder / "xx.json").write_text(json.dumps(other), "utf-8")
    kept = (texts.languages, texts.office_languages, texts.catalogue, texts.worker_words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "FOLDER", folder)
        for function in kept:
            function.cache_clear()
        yield
    for function in kept:
        function.cache_clear()


def _wrapped(part: str) -> str:
    return part if not part.strip() or HOLE.fullmatch(part) else f"«{part}»"


# --- what is left of a page -----------------------------------------------------------------------

READ_OUT = ("aria-label", "aria-description", "title", "alt", "placeholder")
VOID = {"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
UNREAD = {"script", "style", "code", "pre", "textarea"}  # code, and what fields hold, are data
# names of things, the same in every language: of the product, methods, measures, files, currencies
NAMES = {
    "qrowd",
    "zip",
    "tiny",
    "EUR",
    "UTC",
    "AP",
    "mv",
    "fleiss",
    "ac1",
    "bp",
    "conger",
    "raw",
    "English",
    "Deutsch",
}
# what the tests' campaigns hold; names of coefficients, of files, checksums
DATA = re.compile(
    r"ZZ[\w-]*|[dgpstw]\d+(-[dg]?\d+)?|alpha-\w+|\w+\.(qrels|tsv|npz|run|jsonl)|[0-9a-f]{40,64}"
)


class Reader(HTMLParser):
    """All that a page says: visible text, and what is read out; not what says it is English."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, bool]] = []
        self.said: list[str] = []

    @property
    def silent(self) -> bool:
        """Whether this part of the page does not count."""
        return any(unread for _, unread in self.open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A part begins."""
        values = dict(attrs)
        unread = tag in UNREAD or values.get("lang") == "en"
        if not unread and not self.silent:
            self.said += [values[name] or "" for name in READ_OUT if name in values]
            if tag == "input" and values.get("type") in ("submit", "button", "reset"):
                self.said.append(values.get("value") or "")
        if tag not in VOID:
            self.open.append((tag, unread))

    def handle_endtag(self, tag: str) -> None:
        """A part ends."""
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Text."""
        if not self.silent:
            self.said.append(data)


def english_left(page: str) -> set[str]:
    """Words of a page in the made-up language that neither its file nor the data has."""
    reader = Reader()
    reader.feed(page)
    # what a clarification adds to a topic is kept with the topic, in English
    left = [re.sub(r"«[^«»]*»|Clarified on [\d-]+:", " ", text) for text in reader.said]
    words = {word for text in left for word in re.findall(r"[^\W\d_][\w.@-]*\w|[^\W\d_]", text)}
    words |= {text.strip() for text in left if "«" in text or "»" in text}
    return {word for word in words if word not in NAMES and not DATA.fullmatch(word)}


def check(reply: Any, status: int = 200) -> None:
    """A page that has no English left."""
    assert reply.status_code == status, reply.text
    assert '<html lang="xx">' in reply.text
    assert "«" in reply.text
    assert not english_left(reply.text)


def test_english_is_found_where_it_is_left() -> None:
    page = '<p title="One">«Two {n}» <code>three</code> four ZZ5 <b lang="en">five</b></p>'
    assert english_left(page) == {"One", "four"}


# --- a campaign whose data are recognised ---------------------------------------------------------


def rows() -> CampaignRows:
    """Topics and documents; titles end in their true grade."""
    topics = [Topic(f"t{t}", f"ZZquery{t}", f"ZZdescription{t}") for t in range(3)]
    pairs = [(f"t{t}", f"d{t}-{d}") for t in range(3) for d in range(7)]
    documents = [
        DocumentRow(doc, f"ZZtext{doc[1]} ZZtext ZZtext{doc}".encode(), f"ZZpage {number % 3}")
        for number, (_, doc) in enumerate(pairs)
    ]
    gold = [
        GoldRow(f"t{s % 3}", f"g{s}-{d}", d, "ZZgoldreason", "", f"s{s}")
        for s in range(6)
        for d in range(3)
    ]
    documents += [DocumentRow(row.document, b"ZZtext", f"ZZgold {row.grade}") for row in gold]
    return CampaignRows(topics, documents, pairs, gold, [])


def judged(title: str, right: int, *, contrary: bool) -> int:
    """What somebody says who is right on check questions, and may be wrong elsewhere."""
    return wrong(title, right) if contrary and "gold" not in title else right


@pytest.fixture(scope="module")
def campaign(made_up: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A campaign with work, results, decisions, an objection, a release; its people, a draft."""
    from starlette.testclient import TestClient

    folder = tmp_path_factory.mktemp("server")
    where = f"sqlite:///{folder / 'campaign.db'}"
    plan = PLAN.replace("seed = 1", 'seed = 1\ntitle = "ZZtitle"')
    site = make_site(where, f"{plan}[techniques]\nexpert_share = 0.5\n", rows(), start=False)
    site.work(audit.perform, "ZZlauncher", "launch")
    for name, contrary in (("ann", False), ("bob", True)):
        worker = site.worker(name)
        for _ in range(6):
            offer = site.next(worker)
            if not isinstance(offer, Offer):
                break
            for shown in offer.sets:
                for one in shown.documents:
                    right = int(one.title.split()[-1])
                    grade = judged(one.title, right, contrary=contrary)
                    more = {"reason": "ZZreason", "passage": "ZZpassage", "seconds": 1.0}
                    site.say(worker, shown.key, one.position, grade, **more)
            site.work(submission.finish, worker, offer.key)
            site.work(submission.submit, worker, offer.key)
    settings = Settings.of_folder(folder, where, "http://testserver")
    with TestClient(make_app(settings, site.store), headers={"Accept-Language": "xx"}) as client:
        server = Server(site, settings, client)
        account(server, ADMINISTRATOR, administrator=True)
        account(server, ORGANISER, "organiser")
        _experts(server)
        _results(server)
        yield server


def _experts(server: Server) -> None:
    """An expert's account; a sample, decisions, a clarification, an objection."""
    at_desk(server, ADMINISTRATOR).post("/accounts", login=EXPERT, role="expert", campaign="tiny")
    account(server, EXPERT)
    given = at_desk(server, ADMINISTRATOR).post(
        "/accounts", login=EXPERT, role="expert", campaign="tiny"
    )
    assert given.status_code == 303
    with server.site.store.write("tiny") as work:
        expert_sample.draw_sample(work, 5)
        drawn = expert_sample.to_judge(work)[0]
        notices.tell(work, "no-budget")
        gold = work.db.execute(place.select().where(place.c.kind == "gold")).first()
        assert gold
        appeals.disagree(work, gold.worker_id, gold.key, 1, "ZZobjection")
    eve = at_desk(server, EXPERT)
    names = {"topic": drawn.topic, "doc": drawn.doc, "grade": "1", "reason": "ZZwhy"}
    for more in ({}, {"step": "decide", "code": "careless", "clarify": "ZZclarified"}):
        assert eve.post(f"{AT}/experts/pair", **names, **more).status_code == 303


def _results(server: Server) -> None:
    """Runs, results of every kind, a release, a draft."""
    organiser = server.token("organiser")
    for name, step in (("ZZmine", 1), ("ZZtheirs", -1)):
        ranked = ((t, d, at) for t in range(3) for at, d in enumerate(range(7)[::step]))
        run = "".join(f"t{t} Q0 d{t}-{d} {at} {9 - at} {name}\n" for t, d, at in ranked)
        sent = {"file": (f"{name}.run", run)}
        assert server.client.post(f"{API}/runs", files=sent, headers=organiser).is_success
    for kind in ("quality", "merge", "systems", "decisions"):
        asked = {"method": "mv", "measures": ["AP"]}
        reply = server.client.post(f"{API}/results/{kind}", json=asked, headers=organiser)
        assert reply.is_success, reply.text
    made = at_desk(server, ORGANISER).post(f"{AT}/releases", method="mv", sure="yes")
    assert made.status_code == 303
    while tasks.run_one(server.site.store, server.settings.folder):
        pass
    assert at_desk(server, ADMINISTRATOR).post("/drafts").status_code == 303


def at_desk(server: Server, login: str) -> Desk:
    """Somebody who signed in."""
    server.site.clock.forward(1)  # there are so many sign-ins a minute
    server.client.cookies.clear()
    sent = {"login": login, "password": PASSWORD, "goal": "/campaigns"}
    server.client.post("/sign-in", data=sent, follow_redirects=False)
    return Desk(server, server.client.cookies[OFFICE_COOKIE])


PAGES = (
    (ADMINISTRATOR, "/campaigns"),
    (ADMINISTRATOR, "/accounts"),
    (ADMINISTRATOR, "/accounts/1"),
    (ADMINISTRATOR, "/password"),
    (ADMINISTRATOR, f"{AT}/decisions"),
    (ORGANISER, "/campaigns"),
    (ORGANISER, AT),
    (ORGANISER, f"{AT}/coverage"),
    (ORGANISER, f"{AT}/money"),
    (ORGANISER, f"{AT}/workers"),
    (ORGANISER, f"{AT}/people"),
    (ORGANISER, f"{AT}/workers?order=suspicion"),
    (ORGANISER, f"{AT}/workers/1"),
    (ORGANISER, f"{AT}/acts"),
    (ORGANISER, f"{AT}/appeals"),
    (ORGANISER, f"{AT}/batches"),
    (ORGANISER, f"{AT}/gold"),
    (ORGANISER, f"{AT}/extend"),
    (ORGANISER, f"{AT}/quality"),
    (ORGANISER, f"{AT}/disputed"),
    (ORGANISER, f"{AT}/systems"),
    (ORGANISER, f"{AT}/decisions"),
    (ORGANISER, f"{AT}/releases"),
    (EXPERT, "/campaigns"),
    (EXPERT, f"{AT}/experts"),
    (EXPERT, f"{AT}/experts/topic?topic=t0"),
    (EXPERT, f"{AT}/experts/pair?topic=t0&doc=d0-0"),
    (EXPERT, f"{AT}/experts/pair?topic=t0&doc=d0-0&whole=yes"),
)


@pytest.mark.parametrize(("login", "page"), PAGES)
def test_no_page_has_english_of_its_own(campaign: Server, login: str, page: str) -> None:
    check(at_desk(campaign, login).get(page))


@pytest.mark.parametrize(
    ("login", "page", "form", "status"),
    [
        (
            ADMINISTRATOR,
            "/accounts",
            {"login": "ZZnew", "role": "organiser", "campaign": "tiny"},
            200,
        ),
        (ADMINISTRATOR, "/accounts", {"login": "", "role": "expert", "campaign": "tiny"}, 422),
        (ADMINISTRATOR, "/accounts/1/reset", {}, 200),
        (ADMINISTRATOR, "/accounts/1/remove", {}, 200),
        (ORGANISER, f"{AT}/releases", {"method": "mv"}, 200),
        (ORGANISER, f"{AT}/releases", {"method": "nothing"}, 409),
        (ORGANISER, f"{AT}/decisions/sample", {"size": "none"}, 409),
        (ORGANISER, f"{AT}/find", {"kind": "none"}, 422),
        (EXPERT, f"{AT}/experts/pair", {"topic": "t0", "doc": "d0-0"}, 409),
        (ORGANISER, f"{AT}/people", {"people": "ZZann", "days": "3"}, 200),
        (ORGANISER, f"{AT}/people", {"people": "ZZann\nZZann"}, 422),
        (ORGANISER, f"{AT}/workers/2/forget", {"void": "yes"}, 200),
        (ORGANISER, f"{AT}/extend", {"depth": "3"}, 422),
    ],
)
def test_nor_what_a_form_answers(
    campaign: Server, login: str, page: str, form: dict[str, str], status: int
) -> None:
    check(at_desk(campaign, login).post(page, **form), status)


@pytest.mark.parametrize(
    ("login", "page", "form"),
    [
        (ADMINISTRATOR, "/accounts", {"login": ORGANISER, "role": "expert", "campaign": "tiny"}),
        (
            ADMINISTRATOR,
            "/accounts/roles",
            {"login": ORGANISER, "role": "expert", "campaign": "tiny"},
        ),
        (ORGANISER, f"{AT}/find", {"kind": "quality", "method": "mv", "back": f"{AT}/quality"}),
        (ORGANISER, f"{AT}/runs", {}),
        (ORGANISER, f"{AT}/decisions/sample", {"size": "6"}),
        (ORGANISER, f"{AT}/decisions/effect", {}),
        (ORGANISER, f"{AT}/releases", {"method": "mv", "sure": "yes"}),
    ],
)
def test_nor_what_is_said_when_something_was_done(
    campaign: Server, login: str, page: str, form: dict[str, str]
) -> None:
    desk = at_desk(campaign, login)
    done = desk.post(page, **form)
    assert (done.status_code, "told=" in done.headers["location"]) == (303, True)
    check(desk.get(done.headers["location"]))


def test_an_experts_way_through_a_document_and_an_objection(campaign: Server) -> None:
    eve = at_desk(campaign, EXPERT)
    check(eve.get(eve.get(f"{AT}/experts/next").headers["location"]))
    with campaign.site.store.read("tiny") as work:
        objection = appeals.open_appeals(work)[0]
    first = eve.get(f"{AT}/experts/objections/{objection.id}").headers["location"]
    topic, doc = re.findall(r"(?:topic|doc)=([\w-]+)", first)
    pair = f"{AT}/experts/pair"
    assert eve.post(pair, topic=topic, doc=doc, grade="1").status_code == 303
    check(eve.get(f"{AT}/experts/objections/{objection.id}"))
    check(eve.post(f"{AT}/experts/objections/{objection.id}", right="yes"), 409)
    whole = {"topic": "t1", "whole": "yes"}
    while "/pair?" in (at := eve.get(f"{AT}/experts/next?topic=t1").headers["location"]):
        doc = at.partition("doc=")[2].partition("&")[0]
        eve.post(pair, doc=doc, grade="0", **whole)
        check(eve.get(at))
        done = eve.post(pair, doc=doc, grade="0", step="decide", code="careless", **whole)
        check(eve.get(done.headers["location"]))
    check(eve.get(at))


def test_pages_before_there_is_anything(made_up: None, server: Server) -> None:
    server.client.headers["Accept-Language"] = "xx"
    check(server.client.get("/sign-in"))
    check(server.client.get(f"/set-up?code={set_up_code(server.settings)}"))
    check(server.client.get("/join?invitation=none"), 403)
    account(server, ADMINISTRATOR, administrator=True)
    check(server.client.get("/sign-in"))
    check(server.client.post("/sign-in", data={"login": "ZZ", "password": "none"}), 401)
    desk = at_desk(server, ADMINISTRATOR)
    for page in ("quality", "disputed", "systems", "decisions", "releases", "coverage", "money"):
        check(desk.get(f"{AT}/{page}"))
    for page in ("workers", "gold", "batches", "appeals", "extend"):
        check(desk.get(f"{AT}/{page}"))
    check(desk.get("/campaigns/none"), 404)
    for role, more in (("administrator", {}), ("expert", {"campaign": "tiny"})):
        invited = desk.post("/accounts", login="ZZguest", role=role, **more).text
        link = re.search(r"(/join\?invitation=[^<\s]+)", invited)
        assert link
        check(Desk(server, "").get(link[1]))


def test_files_with_people_up_and_down(made_up: None, tmp_path: Path) -> None:
    """A test that people took elsewhere, and a payout file that marks everybody as paid."""
    plan = f"{PLAN}[qualification]\nsets = 2\n".replace("seed = 1", 'seed = 1\nway = "ranked"')
    with make_server(tmp_path, plan=plan, made=material(qualification=4)) as server:
        server.client.headers["Accept-Language"] = "xx"
        account(server, ADMINISTRATOR, administrator=True)
        desk = at_desk(server, ADMINISTRATOR)
        page = f"{AT}/qualification"
        check(desk.get(page))
        check(desk.get(f"{AT}/people"))
        lines = results(desk.get(f"{page}/task.csv").text, ZZann=6, ZZbob=6).splitlines()
        ranks = [f"{line},{3 - int(line[-1])}" for line in lines[1:]]
        part = "\n".join([f"{lines[0]},rank", *ranks[:-1], ranks[0]])
        seen = send(desk, page, "results", part)
        check(seen)
        assert "ZZann" in seen.text
        done = desk.post(page, passed=hidden(seen, "passed"), sure="yes")
        check(desk.get(done.headers["location"]))
        check(desk.get(page))
        check(send(desk, page, "results", "nothing"), 422)
        server.site.work(ledger.bonus, server.site.worker("ZZann"), 100)
        money = f"{AT}/money"
        check(desk.get(money))
        file = desk.get(f"{money}/payout.csv").text
        server.site.work(ledger.bonus, server.site.worker("ZZbob"), 100)
        asked = send(desk, f"{money}/paid", "payout", file)
        check(asked)
        check(send(desk, f"{money}/paid", "payout", f"{file}x"), 422)
        paid = desk.post(f"{money}/paid", rows=hidden(asked, "rows"), sure="yes")
        check(desk.get(paid.headers["location"]))
        check(send(desk, f"{money}/paid", "payout", file), 422)


# what acts on the campaign are told; each is asked, done, and taken back where that can be: in this
# order, in which there is something to settle
ACTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("pause", {}),
    ("raise target", {"target": "3"}),
    ("raise target", {"target": "4", "topic": "t1"}),
    ("fund", {"amount": "5"}),
    ("fund", {"amount": "-5"}),
    ("bonus", {"worker": "1", "amount": "1.50"}),
    ("message", {"worker": "1", "text": "ZZmessage"}),
    ("stop", {"worker": "1"}),
    ("screen out", {"worker": "1"}),
    ("exclude", {"assignment": "1"}),
    ("retire gold", {"set": "1"}),
    ("clarify topic", {"topic": "t0", "text": "ZZclarified"}),
    ("settle", {"workers": "1 2"}),
    ("close", {}),
)


def test_acts_that_are_asked_done_and_taken_back(campaign: Server) -> None:
    desk = at_desk(campaign, ORGANISER)
    for act, details in ACTS:
        form = {"act": act, "back": f"{AT}/acts", **details}
        check(desk.post(f"{AT}/act", **form))
        done = desk.post(f"{AT}/act", sure="yes", **form)
        page = desk.get(done.headers["location"])
        check(page)
        # in what is said of this act, not further down in the record
        undo = re.search(rf'role="status"(?:(?!</div>).)*?({AT}/acts/\d+/undo)', page.text, re.S)
        if undo:
            back = desk.post(undo[1], back=f"{AT}/workers/1")
            check(desk.get(back.headers["location"]))


def renamed(path: Path) -> None:
    """Let the words of a file of the wizard's tests be recognised as data."""
    text = re.sub(r"(query|text) of ", "ZZtext ", path.read_text("utf-8"))
    path.write_text(text.replace("Because.", "ZZreason"), "utf-8")


def test_the_wizard_from_an_empty_draft_to_the_launch(
    made_up: None, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("TIMES", 2), ("MOST_JUDGEMENTS", 30), ("LEAST_ROBOTS", 6)):
        monkeypatch.setattr(rehearsal, name, value)
    server.client.headers["Accept-Language"] = "xx"
    account(server, ADMINISTRATOR, administrator=True)
    wizard = Wizard(server)
    wizard.desk = at_desk(server, ADMINISTRATOR)
    pages = (*all_steps(), "passing", "rehearsal", "launch", "plan", "gold/grade")
    for page in pages:
        check(wizard.desk.get(f"{wizard.address}/{page}"))
    paths = write_files(tmp_path / "mine")
    for path in paths.values():
        renamed(path)
    check(wizard.answer("topics", {"topics": paths["run"]}), 422)
    wizard.whole(paths)
    wizard.answer("name", **{"campaign.title": "ZZdraft", "campaign.name": "t9"})
    for page in pages:
        check(wizard.desk.get(f"{wizard.address}/{page}"))
    check(wizard.answer("rehearsal", crowd="mixed", per_hour="none"), 422)
    wizard.answer("rehearsal", crowd="mixed", per_hour="20")
    check(wizard.desk.get(f"{wizard.address}/rehearsal"))
    assert tasks.run_one(server.site.store, server.settings.folder)
    check(wizard.desk.get(f"{wizard.address}/rehearsal"))
    assert not english_left(wizard.answer("target/preview", **{"sets.target": "5"}).text)
    check(wizard.answer("delete"))
    check(wizard.desk.get("/campaigns"))
    check(wizard.answer("launch"))
    check(wizard.desk.get(wizard.answer("launch", sure="yes").headers["location"]))


def test_stretches_of_work_in_words() -> None:
    said = [str(duration(hours)) for hours in (0.5, 1 / 60, 1.99, 2)]
    assert said == ["30 minutes", "1 minute", "119 minutes", "2.0 hours"]


# --- ids ------------------------------------------------------------------------------------------

OF_OFFICE = re.compile(r"office(\.[a-z0-9{}-]+){2,}")
QUOTED = re.compile(r"""["'`]([a-z](?:[\w.-]|\$?\{[^{}"]*\})*)["'`]""")


def named() -> set[str]:
    """What sources quote that may be the id of a text; holes as {}, an open end as well."""
    paths = [*SOURCES.rglob("*.py"), *SOURCES.rglob("*.j2"), *SOURCES.rglob("*.js")]
    quoted = {name for path in paths for name in QUOTED.findall(path.read_text("utf-8"))}
    filled = (re.sub(r"\$?\{[^}]*\}", "{}", name) for name in quoted)
    return {f"{name}{{}}" if name.endswith(".") else name for name in filled}


def matcher(name: str) -> re.Pattern[str]:
    """What an id with holes stands for."""
    return re.compile(r"[\w.-]*".join(re.escape(part) for part in name.split("{}")))


def test_every_text_that_is_named_is_there() -> None:
    ids = texts.catalogue("en").keys()
    missing = {
        name
        for name in named()
        if OF_OFFICE.fullmatch(name) and not any(matcher(name).fullmatch(id) for id in ids)
    }
    assert not missing


def test_no_text_is_left_that_nothing_names() -> None:
    known = named()
    patterns = [matcher(name) for name in known if "{}" in name and "." in name.split("{}")[0]]
    unused = {
        id
        for id in texts.catalogue("en")
        if id not in known
        and id.removesuffix(".one") not in known
        and not any(pattern.fullmatch(id) for pattern in patterns)
    }
    assert not unused


def test_holes_of_a_text_and_its_singular_are_the_same() -> None:
    words = texts.catalogue("en")
    for id, text in words.items():
        if id.endswith(".one"):
            assert set(HOLE.findall(text)) <= set(HOLE.findall(words[id.removesuffix(".one")])), id
