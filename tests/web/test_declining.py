"""People who were asked say no: by the page's button, or by their mail program's."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import select
from tests.collection.making import PLAN
from tests.web.office import words
from tests.web.serving import API, Server, make_server

from qrowd.collection.database.schema import declined, link, listed_person, worker
from qrowd.collection.people import entry, letters
from qrowd.collection.people.entry import PersonRow
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.web import tasks
from qrowd.web.access import OFFICE_COOKIE
from qrowd.web.limits import WRONG_LINKS

MAIL = PLAN + '[mail]\ncontact = "lab@example.org"\nsender = "The Search Lab"\n'
ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@pytest.fixture
def invited(tmp_path: Path) -> Any:
    """A server whose organiser has invited Ann, and Bea, who reads German."""
    rows = [
        PersonRow("ann", "Ann Lee", "ann@example.org"),
        PersonRow("bea", "Bea Roth", "bea@example.org", "de"),
    ]
    with make_server(tmp_path, plan=MAIL) as server:
        server.site.work(audit.perform, "o", "invite people", {"people": rows})
        yield server


def address_of(server: Server, person: str) -> str:
    """Where somebody says no, as their letter has it."""
    waiting = server.site.work(letters.waiting)
    row = next(row for row in waiting if row.platform_id == person)
    said = server.site.work(letters.words_of, row, 0, "")
    return str(said.decline)


def names(server: Server) -> set[str]:
    """Who is on the list."""
    with server.site.store.snapshot() as db:
        return set(db.scalars(select(listed_person.c.platform_id)))


def test_looking_changes_nothing_and_the_button_erases(invited: Server) -> None:
    client, address = invited.client, address_of(invited, "ann")
    for _ in range(2):  # mail servers follow links, too
        page = client.get(address)
        assert page.status_code == 200
        assert "The Search Lab asked you to judge" in words(page)
        assert names(invited) == {"ann", "bea"}
    done = client.post(address)
    assert (done.status_code, "Nobody writes to you again" in words(done)) == (200, True)
    assert names(invited) == {"bea"}
    tasks.scrub_declined(invited.site.store, 0)  # by the process for jobs, within seconds
    database = invited.settings.folder / "campaign.db"
    for file in (database, Path(f"{database}-wal")):  # nothing is left of them in the bytes
        assert not file.exists() or b"ann@example.org" not in file.read_bytes()
    for reply in (client.get(address), client.post(address)):
        assert (reply.status_code, "Nobody writes to you again" in words(reply)) == (200, True)
    assert client.post(f"{API}/enter", json={"link": address.partition("=")[2]}).status_code == 401
    again = {"people": [PersonRow("ann", email="ann@example.org")]}
    with pytest.raises(RuleError, match="not interested"):
        invited.site.work(audit.perform, "o", "invite people", again)


def test_a_mail_program_declines_by_one_click_without_cookie_or_token(invited: Server) -> None:
    headers = {"Origin": "https://mail.example.com", "Cookie": f"{OFFICE_COOKIE}=whatever"}
    reply = invited.client.post(address_of(invited, "ann"), data=ONE_CLICK, headers=headers)
    assert reply.status_code == 200
    assert not reply.history  # no redirection: RFC 8058 forbids it
    boundary = invited.client.post(address_of(invited, "bea"), files={"List-Unsubscribe": "x"})
    assert boundary.status_code == 200  # a form of several parts, as the RFC allows
    assert names(invited) == set()
    # no other route takes a form of another site
    forged = invited.client.post("/campaigns/tiny/act", data=ONE_CLICK, headers=headers)
    assert forged.status_code in (303, 403)


def test_the_page_is_in_the_persons_language(invited: Server) -> None:
    address = address_of(invited, "bea")
    page = invited.client.get(address, headers={"Accept-Language": "en"})
    assert '<html lang="de">' in page.text
    assert "The Search Lab hat Sie gebeten" in words(page)
    assert "Ihnen schreibt niemand mehr" in words(invited.client.post(address))


def test_every_link_of_somebody_who_declined_says_that_it_is_done(invited: Server) -> None:
    first = address_of(invited, "ann")
    number = invited.site.work(entry.listed_as, "ann").id
    (later,) = invited.site.work(entry.new_links, [number], 3)
    with invited.site.store.read("tiny") as work:
        key = work.db.scalar(select(link.c.key).where(link.c.id == later))
        second = f"/decline/tiny?link={quote(entry.link_text(work, str(key)), safe='')}"
    invited.client.post(first)
    assert "Nobody writes to you again" in words(invited.client.get(second))
    with invited.site.store.snapshot() as db:
        hashes = list(db.scalars(select(declined.c.hash)))
    assert len(hashes) == 4  # the id, the address, two links
    assert not any("ann" in text for text in hashes)


def test_who_has_come_in_keeps_answers_pay_and_link(invited: Server) -> None:
    address = address_of(invited, "ann")
    text = address.partition("=")[2]
    assert invited.client.post(f"{API}/enter", json={"link": text}).status_code == 200
    invited.client.cookies.clear()
    assert "Your answers, your pay and your link stay yours" in words(invited.client.get(address))
    for _ in range(2):
        assert "Your address is erased here" in words(invited.client.post(address))
    with invited.site.store.snapshot() as db:
        assert list(db.scalars(select(listed_person.c.email))) == ["", "bea@example.org"]
        assert len(list(db.scalars(select(worker.c.id)))) == 1
    assert invited.client.post(f"{API}/enter", json={"link": text}).status_code == 200
    funnel = invited.site.work(letters.funnel)  # counted once, as somebody who came
    assert (funnel.invited, funnel.entered, funnel.declined) == (2, 1, 0)


def test_made_up_links_are_refused_and_slowed_down(invited: Server) -> None:
    for address, status in (("/decline/tiny", 401), ("/decline/nowhere?link=x", 404)):
        for method in ("GET", "POST"):
            assert invited.client.request(method, address).status_code == status
    for at in range(WRONG_LINKS.times):
        assert invited.client.post(f"/decline/tiny?link=x.y{at}").status_code in (401, 429)
    invited.client.get(address_of(invited, "ann"))
    assert invited.client.get(address_of(invited, "ann")).status_code == 429
    assert names(invited) == {"ann", "bea"}
