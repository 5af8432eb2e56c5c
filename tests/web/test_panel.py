"""People of an earlier campaign, by page: only where the organiser has rights in both."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.collection.making import PLAN, Site, material
from tests.web.office import Desk, desk, words
from tests.web.serving import Server, make_server

from qrowd.collection.database.schema import worker
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.people import entry
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.record import audit
from qrowd.web import accounts
from qrowd.web.access import new_token

PAGE = "/campaigns/tiny/people/before"
WANTED = f"{PAGE}?other=spring&passed=70&at_least=12"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Beside the campaign an earlier one, where one of two people agreed to be asked again."""
    with make_server(tmp_path) as made:
        plan = PLAN.replace('"tiny"', '"spring"').replace("target = 2", "target = 4")
        create_campaign(made.site.store, parse_plan(plan), material(topics=4, pool=12))
        spring = Site(made.site.store, made.site.clock, "spring")
        spring.work(audit.perform, "o", "launch")
        row = entry.PersonRow("zoe-7", "Zoe; <b>", "zoe@example.org", "de")
        spring.work(audit.perform, "o", "list people", {"people": [row]})
        for name in ("zoe-7", "bob"):
            on_list = spring.work(entry.listed_as, name)
            came = spring.work(entry.come_in, entry.Entrant("own", name, None, on_list))
            for _ in range(4):
                spring.whole(came.id)
        with made.site.store.write("spring") as work:
            work.update(worker, work.own(worker), worker.c.number == 1, ask_again_at=work.now)
        yield made


def organiser_of(server: Server, login: str, *campaigns: str) -> Desk:
    """Somebody with an account who is an organiser of these campaigns."""
    store = server.site.store
    with store.transaction() as db:
        number = accounts.new_account(db, store.clock(), login, "a long password")
    for name in campaigns:
        accounts.give_role(store, login, name, "organiser", who="ann")
    with store.transaction() as db:
        plain = new_token(db, store.clock(), "organiser", account_id=number)
    return Desk(server, plain)


def test_they_are_found_and_invited(server: Server) -> None:
    office = organiser_of(server, "ann", "tiny", "spring")
    assert PAGE in office.get("/campaigns/tiny/people").text
    assert "spring" in words(office.get(PAGE))
    page = office.get(WANTED)
    assert "1 person may be asked again" in words(page)
    assert "Zoe; &lt;b&gt;" in page.text
    assert "bob" not in words(page)
    lines = re.search(r"<textarea[^>]*>(.*?)</textarea>", page.text, re.S)
    assert lines
    form = {"act": "invite people", "people": html.unescape(lines[1])}
    assert "1 " in words(office.post("/campaigns/tiny/act", **form))
    assert office.post("/campaigns/tiny/act", sure="yes", **form).status_code == 303
    (line,) = server.site.work(entry.people)
    said = (line.platform_id, line.name, line.email, line.language)
    assert said == ("zoe-7", "Zoe, <b>", "zoe@example.org", "de")


def test_only_with_rights_in_both(server: Server) -> None:
    one = organiser_of(server, "bob", "tiny")
    page = one.get(WANTED)
    assert page.status_code in (403, 404)
    assert "zoe" not in page.text
    assert organiser_of(server, "cat", "spring").get(WANTED).status_code in (403, 404)
    assert desk(server, "organiser").get(WANTED).status_code in (403, 404)  # a token of one


def test_nobody_is_one_sentence(server: Server) -> None:
    office = organiser_of(server, "ann", "tiny", "spring")
    page = office.get(f"{PAGE}?other=spring&passed=90&at_least=20")
    assert page.status_code == 404
    assert "Nobody of 'spring' can be asked: of 2 workers 1 agreed" in words(page)
    page = office.get(f"{PAGE}?other=tiny")
    assert "the people of this campaign" in words(page)
    assert office.get(f"{PAGE}?other=spring&passed=100").status_code == 422
