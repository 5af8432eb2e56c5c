"""Files with people, by page: a payout and the same file back; a test taken elsewhere."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.collection.making import PLAN, material
from tests.web.office import Desk, desk, words
from tests.web.serving import Server, make_server

from qrowd.collection.books import ledger
from qrowd.collection.people import entry, workers
from qrowd.collection.record import audit
from qrowd.web.access import OFFICE_COOKIE, forgery_token

AT = "/campaigns/tiny"
MONEY, TEST = f"{AT}/money", f"{AT}/qualification"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    plan = f"{PLAN}[qualification]\nsets = 2\n"
    with make_server(tmp_path, plan=plan, made=material(qualification=4)) as made:
        yield made


def send(office: Desk, page: str, field: str, content: str, name: str = "file.csv") -> Any:
    """A form with a file."""
    token = office.token
    return office.server.client.post(
        page,
        data={"forgery": forgery_token(office.server.settings, token)},
        files={field: (name, content)},
        headers={"Cookie": f"{OFFICE_COOKIE}={token}"},
        follow_redirects=False,
    )


def hidden(page: Any, name: str) -> str:
    """What a field of a form holds."""
    match = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert match, page.text
    return html.unescape(match[1])


def kept(server: Server) -> list[Path]:
    """The files that a server has kept of uploads."""
    folder = server.settings.folder / "files"
    return [path for path in folder.rglob("*") if path.is_file()]


# --- money ----------------------------------------------------------------------------------------


@pytest.fixture
def office(server: Server) -> Desk:
    """Ann is owed 2.50, Bob 1.00."""
    listed = entry.PersonRow("ann", "=Ann", "ann@example.org")
    server.site.work(audit.perform, "o", "list people", {"people": [listed]})
    for name, amount in (("ann", 250), ("bob", 100)):
        row = server.site.work(entry.listed_as, name)
        came = server.site.work(entry.come_in, entry.Entrant("own", name, None, row))
        server.site.work(ledger.bonus, came.id, amount)
    return desk(server, "organiser")


def money(server: Server) -> tuple[int, int]:
    with server.site.store.read("tiny") as work:
        balance = ledger.balance(work)
        return balance.owed, balance.settled


def test_pay_by_a_file(server: Server, office: Desk) -> None:
    page = office.get(MONEY)
    assert f"{MONEY}/payout.csv" in page.text
    sent = office.get(f"{MONEY}/payout.csv")
    assert sent.headers["content-disposition"] == 'attachment; filename="tiny-payout.csv"'
    assert sent.headers["cache-control"] == "no-store"
    rows = list(csv.DictReader(io.StringIO(sent.text)))
    assert [row["name"] for row in rows] == ["'=Ann", ""]
    server.site.work(ledger.bonus, 2, 70)  # meanwhile
    asked = send(office, f"{MONEY}/paid", "payout", sent.text)
    assert "2 workers are marked as paid: 3.50 EUR in all" in words(asked)
    assert "cannot be undone" in words(asked)
    assert "=Ann" not in asked.text
    assert money(server) == (420, 0)
    signed, seen = hidden(asked, "rows"), hidden(asked, "seen")
    assert office.post(f"{MONEY}/paid", rows=signed, seen=seen, sure="yes").status_code == 303
    assert money(server) == (70, 350)
    twice = office.post(f"{MONEY}/paid", rows=signed, seen="", sure="yes")
    assert twice.status_code == 422
    assert "All of this file was marked as paid before" in words(twice)
    again = send(office, f"{MONEY}/paid", "payout", sent.text)
    assert again.status_code == 422
    assert money(server) == (70, 350)
    assert kept(server) == []


def test_a_changed_or_missing_payout_file(server: Server, office: Desk) -> None:
    text = office.get(f"{MONEY}/payout.csv").text
    for content, message in (
        (text.replace("2.50", "9.50"), "row 1 (w1) was changed since it was written"),
        (text.replace("tiny", "other"), "this file is of campaign 'other'"),
        ("a,b\n1,2\n", "this is no payout file"),
    ):
        page = send(office, f"{MONEY}/paid", "payout", content)
        assert page.status_code == 422
        assert f"file.csv: {message}" in words(page)
        assert "/tmp" not in page.text
    nothing = office.post(f"{MONEY}/paid")
    assert "Choose a file" in words(nothing)
    forged = office.post(f"{MONEY}/paid", rows="W10", sure="yes")
    assert "choose the file again" in words(forged)
    assert money(server) == (350, 0)


def test_names_are_for_those_who_may_know_people(server: Server, office: Desk) -> None:
    payer = desk(server, "organiser", scopes=["read", "pay"])
    assert f"{MONEY}/payout.csv" not in payer.get(MONEY).text
    assert payer.get(f"{MONEY}/payout.csv").status_code == 403
    reader = desk(server, "organiser", scopes=["read", "people"])
    assert reader.get(f"{MONEY}/payout.csv").status_code == 403


# --- a qualification elsewhere --------------------------------------------------------------------


def results(task: str, **people: int) -> str:
    rows = list(csv.DictReader(io.StringIO(task)))
    lines = ["worker,topic,doc,grade"]
    for person, number in people.items():
        for at, row in enumerate(rows):
            right = int(row["doc"].split("-")[1])
            grade = right if at < number else 0 if right else 2
            lines.append(f"{person},{row['topic']},{row['doc']},{grade}")
    return "\n".join(lines)


def test_a_test_taken_elsewhere(server: Server) -> None:
    office = desk(server, "organiser")
    assert TEST in office.get(f"{AT}/people").text
    page = words(office.get(TEST))
    assert "The test has 2 sets, 6 documents in all" in page
    task = office.get(f"{TEST}/task.csv").text
    assert "grade" not in task.splitlines()[0]
    assert office.get(f"{TEST}/task.csv?rows=sets").text.count("\n") == 3
    sent = results(task, zoe=6, yan=5, bad=1)
    seen = send(office, TEST, "results", sent)
    assert "2 of 3 passed." in words(seen)
    assert "about 0.1 of the 2 who passed did, too" in words(seen)
    assert server.site.work(entry.people) == []
    done = office.post(TEST, passed=hidden(seen, "passed"), sure="yes")
    assert done.status_code == 303
    assert done.headers["location"].startswith(f"{AT}/people")
    people = office.get(done.headers["location"])
    assert {"zoe", "yan"} <= set(words(people).split())
    assert "/undo" in people.text
    assert office.get(f"{TEST}/ids.csv").text == "yan\nzoe\n"
    link = server.link("zoe")
    came = server.site.work(lambda work: entry.come_in(work, entry.admitted(work, link)))
    assert came.state == "qualified"
    again = send(office, TEST, "results", sent)
    assert "2 of 3 passed." in words(again)
    assert 'name="passed"' not in again.text  # nobody is new: nothing to press
    server.site.work(audit.perform, "o", "close")
    closed = send(office, TEST, "results", sent)
    assert closed.status_code == 422
    assert "This campaign is closed" in words(closed)
    assert kept(server) == []


def test_other_results_are_one_sentence(server: Server) -> None:
    office = desk(server, "organiser")
    page = send(office, TEST, "results", "worker,topic,doc,grade\nzoe,t9,d9,1\n")
    assert page.status_code == 422
    assert "file.csv:2: t9 d9 is not of the test" in words(page)
    assert "zoe" not in words(page)
    assert "Choose a file" in words(office.post(TEST))
    forged = office.post(TEST, passed="W10", sure="yes")
    assert "choose the file again" in words(forged)
    assert server.site.work(entry.people) == []


def test_a_campaign_without_a_test(tmp_path: Path) -> None:
    with make_server(tmp_path) as made:
        office = desk(made, "organiser")
        assert TEST not in office.get(f"{AT}/people").text
        page = office.get(TEST)
        assert page.status_code == 409
        assert "This campaign has no qualification" in words(page)
        made.site.work(workers.enter, "own", "ann")
