"""The people page: a list is pasted or uploaded, looked at with a real name, invited, handed out or
sent; what became of it.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from tests.collection.making import PLAN
from tests.web.office import Desk, desk, words
from tests.web.serving import Server, make_server

from qrowd.collection.people import letters
from qrowd.collection.people.letters import Outcome
from qrowd.collection.record import audit
from qrowd.io.people import read_pasted
from qrowd.web.access import OFFICE_COOKIE, forgery_token

AT = "/campaigns/tiny/people"
MAIL = PLAN + '[mail]\ncontact = "lab@example.org"\nsender = "The Search Lab"\nper_minute = 2\n'
PEOPLE = (
    "person\tname\temail\tlanguage\n"
    "ann\tAnn Lee\tann@example.org\t\n"
    "bea\tBea Roth\tbea@example.org\tde\n"
    "cy\tCy\tcy@example.org\t\n"
)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Desk]:
    """An organiser whose plan says whom letters come from."""
    with make_server(tmp_path, plan=MAIL) as server:
        yield desk(server, "organiser")


def states(server: Server) -> list[str]:
    """What the page says became of each person."""
    people = server.site.work(letters.invited)
    return [letters.shown_state(person, server.site.clock.now) for person in people]


def with_mail(server: Server) -> None:
    """From now on the server has a mail server."""
    app: Any = server.client.app
    app.state.settings = replace(server.settings, mail="smtp://localhost")


# --- what is looked at ----------------------------------------------------------------------------


def test_the_letter_is_shown_with_a_real_name_and_nothing_is_stored(office: Desk) -> None:
    page = office.post(AT, people=PEOPLE, days="5")
    said = words(page)
    assert page.status_code == 200
    assert "Invite 3 people?" in said
    assert "This is the letter that Ann Lee gets." in said
    assert "Ann Lee <ann@example.org>" in said
    assert "The Search Lab <lab@example.org>" in said
    assert "Hello Ann Lee," in said
    assert "The letter that Bea Roth gets, in another language" in said
    assert "Guten Tag Bea Roth," in said
    assert not re.search(r"link=[^…]", page.text)  # a link that leads somewhere is not there yet
    assert states(office.server) == []
    with office.server.site.store.read("tiny") as work:
        assert [row.act for row in audit.acts(work)] == ["launch"]
    # what the form of this page sends is what was looked at
    kept = re.search(r'name="people" value="([^"]*)"', page.text)
    assert kept
    assert [fields["id"] for _, fields in read_pasted(kept[1])] == ["ann", "bea", "cy"]
    done = office.post(AT, people=kept[1], days="5", sure="yes")
    assert done.status_code == 303
    assert states(office.server) == ["waiting"] * 3
    again = office.post(AT, people=PEOPLE, sure="yes")
    assert (again.status_code, "invited already" in words(again)) == (422, True)


@pytest.mark.parametrize(
    ("people", "problem"),
    [
        ("ann\nbob\nann", "Line 3: 'ann' has a row already; each person has one"),
        ("ann;a@example.org\nbob;A@example.org", "Line 2: 'A@example.org' is 'ann' already"),
        ("id;name;email\nann;Ann;nowhere", "Line 2: an address has an @, got 'nowhere'"),
        ("a\na\nb\nb", "Line 2: 'a' has a row already; each person has one; line 4: 'b' has"),
        ("id\tshoe size\nann\t9", "'shoe size' is none of them"),
        ("a;b;c;d;e", "pasted:1: 5 fields, but there are 4"),
        ("", "were invited already"),
    ],
)
def test_what_is_wrong_is_said_by_line_and_nothing_is_kept(
    office: Desk, people: str, problem: str
) -> None:
    for sure in ("", "yes"):
        page = office.post(AT, people=people, sure=sure)
        assert (page.status_code, problem in words(page)) == (422, True), words(page)
        assert people.split("\n")[0] in page.text  # it can be mended where it was typed
    assert states(office.server) == []


def test_a_closed_campaign_invites_nobody(office: Desk) -> None:
    office.server.site.work(audit.perform, "o", "close", sure=True)
    page = office.post(AT, people=PEOPLE, sure="yes")
    assert (page.status_code, "this campaign is closed" in words(page).lower()) == (422, True)


def upload(office: Desk, name: str, content: bytes, **more: str) -> Any:
    """The form with a file."""
    client = office.server.client
    client.cookies.clear()
    forgery = forgery_token(office.server.settings, office.token)
    headers = {"Cookie": f"{OFFICE_COOKIE}={office.token}"}
    sent = {"forgery": forgery, "people": "", **more}
    return client.post(AT, data=sent, files={"file": (name, content)}, headers=headers)


def test_a_file_is_uploaded(office: Desk) -> None:
    page = upload(office, "people.csv", b"email,name\nann@example.org,Ann Lee\n")
    assert "This is the letter that Ann Lee gets." in words(page)
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("Participant id", "E-Mail", "Name"), ("x1", "bea@example.org", "Bea Roth")):
        book.active.append(row)
    content = io.BytesIO()
    book.save(content)
    page = upload(office, "people.xlsx", content.getvalue())
    assert "This is the letter that Bea Roth gets." in words(page)
    bad = upload(office, "people.csv", b"email,name\nann@example.org,Ann\nnowhere,Bob\n")
    assert (bad.status_code, "Line 3: an address has an @" in words(bad)) == (422, True)


def test_whom_letters_come_from_is_asked_once(tmp_path: Path) -> None:
    with make_server(tmp_path) as server:
        office = desk(server, "organiser")
        assert 'name="contact"' in office.get(AT).text
        page = office.post(AT, people="ann@example.org")
        assert (page.status_code, "no [mail] contact" in words(page)) == (422, True)
        who = {"contact": "lab@example.org", "sender": "The Lab"}
        page = office.post(AT, people="ann@example.org", **who)
        assert "The Lab asks for your help" in words(page)
        assert 'name="contact"' in office.get(AT).text  # only looked at
        office.post(AT, people="ann@example.org", sure="yes", **who)
        assert 'name="contact"' not in office.get(AT).text.partition("<h2>Who may come in")[0]
        with server.site.store.read("tiny") as work:
            assert (work.plan.mail.contact, work.plan.mail.who) == ("lab@example.org", "The Lab")
            assert [row.act for row in audit.acts(work)][:2] == ["invite people", "change mail"]


def test_people_without_an_address_get_links_to_hand_over(tmp_path: Path) -> None:
    with make_server(tmp_path) as server:
        office = desk(server, "organiser")
        said = words(office.post(AT, people="ann\nbob"))
        assert "None of them has an address" in said
        office.post(AT, people="ann\nbob", sure="yes")
        table = office.get(f"{AT}/letters.csv").text.splitlines()
        assert table[0].startswith("person,email,name")
        assert "letters.zip" not in office.get(AT).text


# --- how letters go out ---------------------------------------------------------------------------


def test_letters_for_ones_own_mailer(office: Desk) -> None:
    office.post(AT, people=PEOPLE, sure="yes")
    page = office.get(AT)
    assert "3 letters wait to be sent" in words(page)
    assert "Send 3 letters" not in words(page)  # there is no mail server
    copied = re.search(r"<textarea[^>]*readonly>(.*?)</textarea>", page.text, re.S)
    assert copied
    assert len(copied[1].strip().splitlines()) == 4  # a header, and a row for each
    table = office.get(f"{AT}/letters.csv")
    assert table.headers["Content-Disposition"] == 'attachment; filename="letters.csv"'
    assert "ann,ann@example.org,Ann Lee,,Invitation: tiny,http://" in table.text
    packed = zipfile.ZipFile(io.BytesIO(office.get(f"{AT}/letters.zip").content))
    mails = [message_from_bytes(packed.read(name), policy=default) for name in packed.namelist()]
    assert [mail["To"].addresses[0].display_name for mail in mails] == ["Ann Lee", "Bea Roth", "Cy"]
    assert states(office.server) == ["waiting"] * 3  # to fetch a file changes nothing
    last = re.search(r'name="last" value="(\d+)"', page.text)
    assert last
    office.post(AT, people="dan@example.org", sure="yes")  # after the page was loaded
    office.post(f"{AT}/sent", last=last[1])
    assert states(office.server) == ["sent"] * 3 + ["waiting"]


def test_a_server_with_mail_waits_to_be_told(office: Desk) -> None:
    server = office.server
    with_mail(server)
    office.post(AT, people=PEOPLE + "dan\tDan\t\t\n", sure="yes")
    assert server.site.work(letters.due) == []
    said = words(office.get(AT))
    assert "Send 3 letters" in said  # Dan has no address
    assert "2 a minute, so it takes about 2 minutes" in said
    sent = office.post(f"{AT}/send")
    assert sent.status_code == 303
    assert len(server.site.work(letters.ready, 10)) == 3
    said = words(office.get(AT))
    assert "3 letters are going out: about 2 min." in said
    assert "1 letter waits to be sent" in said
    assert "Send 1 letter" not in said


def test_what_became_of_them_reminders_doubt_and_letters_that_came_back(office: Desk) -> None:
    server, site = office.server, office.server.site
    office.post(AT, people=PEOPLE, sure="yes")
    kinds = ("sent", "doubt", "refused")
    for row, kind in zip(site.work(letters.waiting), kinds, strict=True):
        site.work(letters.begin, row.letter)
        site.work(letters.done, row.letter, Outcome(kind, f"{kind} it was"))
    said = words(office.get(AT))
    assert "1 letter: did it go out?" in said
    assert "Bea Roth, bea@example.org" in said
    for step in ("invited 3", "letter sent, not come yet 1", "letter in doubt 1"):
        assert step in said
    asked = office.post("/campaigns/tiny/act", act="settle doubt", sent="yes")
    assert "These letters count as sent." in words(asked)
    office.post("/campaigns/tiny/act", act="settle doubt", sent="yes", sure="yes")
    assert states(server) == ["sent", "sent", "refused"]
    assert "Remind" not in words(office.get(AT))  # not on the same day
    site.clock.forward(25 * 60)
    assert "Remind 2 people who have not come" in words(office.get(AT))
    bounced = {"act": "mark refused", "addresses": "bea@example.org", "sure": "yes"}
    office.post("/campaigns/tiny/act", **bounced)
    asked = office.post("/campaigns/tiny/act", act="remind")
    assert "Remind 1 person?" in words(asked)
    office.post("/campaigns/tiny/act", act="remind", sure="yes")
    assert states(server) == ["waiting", "refused", "refused"]
    office.post("/campaigns/tiny/act", act="send digests", addresses="me@example.org", sure="yes")
    said = words(office.get(AT))
    assert "Digests by mail: to 1 address me@example.org" in said
