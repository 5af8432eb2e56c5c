"""A document is one click away, wherever its id stands; a worker's page begins with a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

pytest.importorskip("jinja2", reason="pages need the extra serve")

from sqlalchemy import select, update
from tests.collection.making import PLAN, make_site, material, wrong
from tests.web.serving import Server
from tests.web.test_live import AT, fields
from tests.web.test_office import account, sign_in

from qrowd.collection.books.progress import counts, status
from qrowd.collection.database.schema import content, document, worker
from qrowd.collection.database.states import VALID
from qrowd.collection.office import worker_record
from qrowd.collection.office.acts.sets import Extend, outside_pool
from qrowd.collection.people import workers
from qrowd.collection.plan.rows import CampaignRows, DocumentRow
from qrowd.collection.record import audit
from qrowd.web import jobs, tasks
from qrowd.web.app import make_app
from qrowd.web.settings import Settings

KEPT = PLAN + '[checks.binary]\naction = "none"\n'  # so that wrong answers count, too
LONG = "A title " * 249 + "the end."  # 2,000 characters


@pytest.fixture
def office(url: str, tmp_path: Path) -> Iterator[Server]:
    """A campaign with work in it, an expert, and its organiser signed in; on both engines."""
    from starlette.testclient import TestClient

    site = make_site(url, KEPT, material(pool=9, gold_sets=8))
    for name, choose in (("ann", None), ("bob", wrong), ("cat", None)):
        for _ in range(2):
            site.whole(site.worker(name), choose)
    site.work(workers.expert, "eve")
    settings = Settings.of_folder(tmp_path, url, "http://testserver")
    with TestClient(make_app(settings, site.store)) as client:
        server = Server(site, settings, client)
        account(server, "ann", "organiser")
        sign_in(server, "ann")
        yield server
    site.store.engine.dispose()


def text_of(office: Server, page: str) -> str:
    """The words of a page."""
    reply = office.client.get(AT + page)
    assert reply.status_code == 200, reply.text
    return unescape(re.sub(r"<[^>]+>", "", reply.text))


def test_a_document_with_all_that_was_said_of_it(office: Server) -> None:
    at = f"/document?{urlencode({'topic': 't0', 'doc': 'g0-0'})}"
    page = text_of(office, at)
    assert "page 0" in page  # its title
    assert "It is a check question. The expert's grade: 0, because because" in page
    assert "text g0-0" in page
    reply = office.client.get(f"{AT}/document/original?topic=t0&doc=g0-0")
    assert reply.status_code == 200
    for unknown in ("topic=t0&doc=none", "topic=none&doc=g0-0", ""):
        reply = office.client.get(f"{AT}/document?{unknown}")
        assert reply.status_code == 404
        assert "here is no document" in reply.text
        assert "ids are as in its files" in reply.text


def test_a_document_that_vanished_says_what_to_do(office: Server) -> None:
    with office.site.store.write("tiny") as work:
        work.db.execute(update(document).where(document.c.name == "d0-1").values(content=None))
    page = text_of(office, "/document?topic=t0&doc=d0-1")
    assert "The text of this document is not in the database" in page
    assert "Add a file with this document under Extend" in page


def test_titles_stand_where_ids_stood(office: Server) -> None:
    for name in ("ann", "cat") * 3:  # until somebody has judged what bob did
        office.site.whole(office.site.worker(name))
    with office.site.store.write("tiny") as work:
        work.db.execute(update(document).values(title=LONG))
        jobs.ask(work, "quality", {"method": "auto"})
    tasks.run_one(office.site.store, office.settings.folder)
    for page in ("/disputed", "/gold", "/workers/2"):
        html = office.client.get(AT + page).text
        links = re.findall(
            r'<a class="document" href="[^"]*/document\?[^"]*"[^>]*>([^<]*)</a>', html
        )
        assert links, page
        assert all(link.startswith("A title") and len(link) < 100 for link in links), page
        address = unescape(re.findall(r'<a class="document" href="([^"]*)"', html)[0])
        assert office.client.get(address).status_code == 200
    # what a method that chooses chose is said
    assert re.search(r"by auto, which chose: .+\.", text_of(office, "/disputed"))


def test_a_worker_begins_with_a_sentence(office: Server) -> None:
    page = text_of(office, "/workers/2")
    assert re.search(r"Missed \d+ of \d+ check questions: more than good people do\.", page)
    assert re.search(r"Right on (\d+) of \1 check questions", text_of(office, "/workers/1"))
    # somebody who always says the same
    site = office.site
    dan = site.worker("dan")
    for _ in range(4):
        site.whole(dan, lambda title, right: 0)
    with site.store.read("tiny") as work:
        number = workers.worker_of(work, dan).number
        said = str(worker_record.standing(work, number).sentence)
    assert re.fullmatch(r"Gave the same answer \(0\) \d+ times: every time\.", said)


def test_experts_are_not_among_workers(office: Server) -> None:
    with office.site.store.read("tiny") as work:
        everybody = work.count(worker, work.own(worker))
        assert sum(counts(work, worker).values()) == sum(status(work).workers.values()) == 3
        assert worker_record.numbers(work, 0, 10) == [1, 2, 3]
    assert everybody == 4
    assert "3 workers" in text_of(office, "/workers")
    at, token = "/api/campaigns/tiny/workers", office.token("organiser")

    def listed(query: str = "") -> list[tuple[int, str]]:
        rows = office.client.get(at + query, headers=token).json()
        return [(row["worker"], row["kind"]) for row in rows]

    assert listed() == [(number, "human") for number in (1, 2, 3)]
    assert listed("?kind=expert") == [(4, "expert")]
    assert listed("?kind=machine") == []
    assert office.client.get(f"{at}?kind=robot", headers=token).status_code == 422


def test_all_answers_of_a_worker_are_void_in_one_act_and_back(office: Server) -> None:
    def valid() -> tuple[int, int]:
        with office.site.store.read("tiny") as work:
            standing = worker_record.standing(work, 1)
            state = status(work)
        return sum(batch.state in VALID for batch in standing.batches), state.valid

    before = valid()
    assert before[0] == 2
    form = fields(office.client.get(f"{AT}/workers/1").text, "void answers")
    asked = office.client.post(f"{AT}/act", data=form).text
    page = unescape(re.sub(r"<[^>]+>", "", asked))
    assert "2 batches of worker w1 do not count any more." in page
    assert "judged again by somebody else" in page
    assert "This costs" in page
    sure = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', asked))
    done = office.client.post(f"{AT}/act", data=sure, follow_redirects=True)
    assert "do not count any more" in done.text
    assert valid()[0] == 0
    assert valid()[1] < before[1]
    with office.site.store.write("tiny") as work:
        last = audit.acts(work, 1)[0]
        assert last.act == "void answers"
        audit.undo(work, "o", last.id)
    assert valid() == before
    # whoever has nothing that counts
    again = office.client.get(f"{AT}/workers/99")
    assert again.status_code == 404


def test_an_extension_says_in_the_preview_what_it_will_refuse(office: Server) -> None:
    address = f"{AT}/extend"
    form = dict(
        re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', office.client.get(address).text)
    )
    pool = "topic\tdoc\nt0\tnowhere\nt0\td0-0\nt9\td0-1\n"
    sent = {"pool": ("pool.tsv", pool.encode())}
    reply = office.client.post(address, data=form, files=sent)
    page = unescape(reply.text)
    assert reply.status_code == 422
    assert "neither the campaign nor the files have the topic 't9'" in page
    assert "neither the campaign nor the files have the document 'nowhere'" in page
    gold = "topic\tdoc\tgrade\nt0\td0-0\t1\n"
    reply = office.client.post(address, data=form, files={"gold": ("gold.tsv", gold.encode())})
    assert "the gold pair t0 d0-0 is in the campaign already" in unescape(reply.text)
    # the interface tells the same without being sure
    token = office.token("organiser")
    told = office.client.post("/api/campaigns/tiny/extensions", files=sent, headers=token).json()
    assert len(told["refused"]) == 2
    assert told["added"] is None


def test_documents_that_are_not_in_a_pool_are_added_to_it(office: Server) -> None:
    form = dict(
        re.findall(
            r'type="hidden" name="(\w+)" value="([^"]*)"', office.client.get(f"{AT}/extend").text
        )
    )
    with office.site.store.read("tiny") as work:
        missing = outside_pool(work, "t0")
    assert ("t0", "d1-0") in missing
    assert ("t0", "d0-0") not in missing
    asked = office.client.post(f"{AT}/extend", data={**form, "into": "t0"}).text
    assert f"{len(missing)} new pairs of 1 topics" in unescape(re.sub(r"<[^>]+>", "", asked))
    sure = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', asked))
    office.client.post(f"{AT}/extend", data=sure, follow_redirects=True)
    with office.site.store.read("tiny") as work:
        assert outside_pool(work, "t0") == []
        assert len(outside_pool(work, "t1")) == len(missing)


@pytest.mark.parametrize(
    ("blank", "said", "pairs"),
    [
        ("title", "1 document has no text: it is judged by its title, as the plan says.", 2),
        ("leave out", "1 document has no text: it is left out, as the plan says.", 1),
        ("", "", 2),
    ],
)
def test_an_extension_does_with_documents_without_text_what_the_plan_says(
    url: str, blank: str, said: str, pairs: int
) -> None:
    site = make_site(url, f'{PLAN}[files]\nblank = "{blank}"\n', material())
    documents = [DocumentRow("n1", b"", "only a title"), DocumentRow("n2", b"text", "page 1")]
    more = CampaignRows(documents=documents, pool=[("t0", "n1"), ("t0", "n2")])
    with site.store.write("tiny") as work:
        asked = Extend(rows=more).foretell(work)
        assert Extend(rows=more).cost(work).pairs == pairs
        audit.perform(work, "o", Extend(rows=more))
        stored = select(document.c.name, content.c.body)
        joined = stored.outerjoin_from(document, content, content.c.hash == document.c.content)
        bodies = dict(work.db.execute(joined.where(document.c.name.in_(("n1", "n2")))).all())
    assert said in [str(text) for text in asked.follows] or not said
    assert sum("no text" in str(text) for text in asked.follows) == bool(said)
    wanted = {"n2": b"text"}
    if blank != "leave out":
        wanted["n1"] = b"only a title" if blank else b""
    assert bodies == wanted
    site.store.engine.dispose()
