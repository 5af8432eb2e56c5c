"""The page of a study at Prolific, its acts, and what Prolific tells by webhooks."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

pytest.importorskip("httpx", reason="no client to call Prolific with")

from benchmarks.prolific import Participant, Platform, serving
from starlette.testclient import TestClient
from tests.collection.making import material
from tests.collection.test_prolific import PROLIFIC
from tests.web.office import desk, words
from tests.web.serving import Server, make_server

from qrowd.collection.people import entry
from qrowd.collection.prolific import calls, contract, submissions
from qrowd.web import tasks
from qrowd.web.app import make_app

PAGE = "/campaigns/tiny/prolific"
HOOK = "/api/campaigns/tiny/prolific"
SECRET = "a-secret-of-sixteen-characters"


@pytest.fixture
def platform() -> Iterator[Platform]:
    made = Platform()
    with serving(made):
        yield made


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Server]:
    """A server whose campaign's people come from Prolific."""
    with make_server(tmp_path, plan=PROLIFIC, made=material(pool=9)) as server:
        yield server


def act(server: Server, name: str, **details: str) -> str:
    """An act by its form: what is asked, and done when it is answered with yes."""
    manager = desk(server, "organiser")
    asked = manager.post("/campaigns/tiny/act", act=name, back=PAGE, **details)
    assert asked.status_code == 200, asked.text
    done = manager.post("/campaigns/tiny/act", act=name, back=PAGE, sure="yes", **details)
    assert done.status_code == 303, words(done)
    return words(asked)


def page(server: Server) -> str:
    return words(desk(server, "organiser").get(PAGE))


def send(server: Server) -> dict[str, int]:
    with closing(calls.open_client()) as client:
        if is_made(server):
            calls.listen(server.site.store, "tiny", client)
        return dict(calls.send_all(server.site.store, "tiny", client))


def is_made(server: Server) -> bool:
    with server.site.store.read("tiny") as work:
        of = submissions.study_of(work)
    return of is not None and of.platform_id is not None


def come(server: Server, platform: Platform, at: int) -> int:
    number, name = f"{at:024x}", f"{at + 10**6:024x}"
    platform.people[number] = Participant(number, name, contract.ACTIVE)
    study = next(iter(platform.studies))
    seen = {"PROLIFIC_PID": name, "STUDY_ID": study, "SESSION_ID": number}
    site = server.site
    return int(site.work(entry.come_in, site.work(entry.admitted, "", seen)).id)


def test_from_no_study_to_a_bonus(office: Server, platform: Platform) -> None:
    first = page(office)
    assert "There is no study yet" in first
    assert "1.00 GBP" in first
    assert "40.0 %" in first  # a third, and a fifth of that
    asked = act(office, "make study", address="https://judge.example.org", places="5")
    assert "It stays a draft" in asked
    assert "The study has 5 places" in asked
    assert "1 call waits to be sent" in page(office)
    assert send(office) == {"done": 1}
    assert "a draft" in page(office)
    assert "People come at once" in act(office, "publish study")
    send(office)
    assert "published" in page(office)
    ann = come(office, platform, 1)
    office.site.whole(ann)
    platform.people[f"{1:024x}"].status = contract.AWAITING
    send(office)
    shown = page(office)
    assert "w1 approve 1.00 GBP" in shown
    assert "waits for review 1" in shown
    assert "Approved: 1. Screened out: 0. Asked to return: 0." in act(office, "tell decisions")
    assert send(office) == {"done": 2}  # and places for what is open
    act(office, "bonus", worker="1", amount="0.40")
    assert "w1 pay a bonus 0.40 GBP" in page(office)
    asked = act(office, "send bonuses")
    assert "1 person is paid 0.40 GBP" in asked
    assert "Prolific's fee, about 0.16 GBP, comes on top" in asked
    assert send(office) == {"done": 1}
    shown = page(office)
    assert "1.40 GBP" in shown
    assert "0.40 GBP of it in bonuses" in shown
    assert "There is nothing to tell" in shown
    record = words(desk(office, "organiser").get("/campaigns/tiny/acts"))
    assert "tell decisions" in record
    assert "approved: w1" in record


def test_a_page_of_people_from_elsewhere(server: Server) -> None:
    assert "do not come from Prolific" in page(server)
    assert desk(server, "nobody").get(PAGE).status_code == 303
    assert desk(server, "worker").get(PAGE).status_code == 403


# --- webhooks -------------------------------------------------------------------------------------


@pytest.fixture
def hooked(office: Server, platform: Platform) -> Iterator[tuple[Server, Platform, TestClient]]:
    """A server that knows the secret by which Prolific signs."""
    act(office, "make study", address="https://judge.example.org")
    send(office)
    settings = replace(office.settings, prolific_secret=SECRET)
    with TestClient(make_app(settings, office.site.store)) as client:
        yield office, platform, client


def told(client: TestClient, event: str, secret: str = SECRET, **said: Any) -> int:
    body = json.dumps({"event_type": "submission.status.change", **said}).encode()
    signature = hmac.new(secret.encode(), b"1700000000" + body, hashlib.sha256).hexdigest()
    headers = {
        "X-Prolific-Request-Signature": signature,
        "X-Prolific-Request-Timestamp": "1700000000",
        "X-Event-Id": event,
    }
    return client.post(HOOK, content=body, headers=headers).status_code


def states(server: Server) -> list[str]:
    with server.site.store.read("tiny") as work:
        return [row.state for row in submissions.known(work)]


def test_what_is_signed_is_heard_once(hooked: tuple[Server, Platform, TestClient]) -> None:
    server, platform, client = hooked
    study = next(iter(platform.studies))
    ann = come(server, platform, 1)
    server.site.next(ann)
    person = {"resource_id": f"{1:024x}", "participant_id": f"{1 + 10**6:024x}"}
    assert told(client, "e1", status="ACTIVE", study_id=study, **person) == 204
    assert states(server) == ["ACTIVE"]
    assert told(client, "e2", status="RETURNED", **person) == 204  # of a submission that is known
    assert told(client, "e1", status="ACTIVE", study_id=study, **person) == 204
    assert states(server) == ["RETURNED"]
    # the lease is free at once
    with server.site.store.read("tiny") as work:
        assert entry.places_taken(work) == 0


def test_what_is_not_signed_is_not(hooked: tuple[Server, Platform, TestClient]) -> None:
    server, platform, client = hooked
    come(server, platform, 1)
    person = {"resource_id": f"{1:024x}", "participant_id": f"{1 + 10**6:024x}"}
    study = next(iter(platform.studies))
    assert told(client, "e1", "x" * 20, status="ACTIVE", study_id=study, **person) == 403
    assert client.post(HOOK, content=b"{}").status_code == 403
    assert told(client, "e2", status="ACTIVE", study_id="of another campaign", **person) == 204
    assert told(client, "e3", status="ACTIVE", resource_id="2") == 204  # of nobody who is known
    assert told(client, "", status="ACTIVE", study_id=study, **person) == 204
    assert states(server) == []
    # without a secret nothing is believed
    assert told(server.client, "e4", "", status="ACTIVE", study_id=study, **person) == 403


# --- a server that has the token ------------------------------------------------------------------


class Rounds(Event):
    """Stops after some rounds."""

    rounds = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.rounds += 1
        return self.rounds > 3


def test_the_server_asks_and_sends_by_itself(office: Server, platform: Platform) -> None:
    act(office, "make study", address="https://judge.example.org")
    tasks.tell_prolific(office.site.store, Rounds())
    assert len(platform.studies) == 1
    come(office, platform, 1)
    tasks.tell_prolific(office.site.store, Rounds())
    assert states(office) == ["ACTIVE"]


def test_the_server_sends_nothing_in_another_currency(office: Server, platform: Platform) -> None:
    act(office, "make study", address="https://judge.example.org")
    platform.currency = "USD"
    tasks.tell_prolific(office.site.store, Rounds())
    assert platform.studies == {}
    overview = words(desk(office, "organiser").get("/campaigns/tiny"))
    assert "Prolific could not be told: the account pays in USD, the plan in GBP" in overview
    platform.currency = "GBP"
    tasks.tell_prolific(office.site.store, Rounds())
    assert len(platform.studies) == 1
    assert "could not be told" not in words(desk(office, "organiser").get("/campaigns/tiny"))
