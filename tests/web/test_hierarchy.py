"""Mode hierarchy over HTTP: the organiser's page, what people get, the command; no guess leaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the web application needs the extra serve")
pytest.importorskip("sklearn", reason="reading documents needs the extra text")

from tests.collection.test_hierarchy import MADE, PLAN, expert_decides, finished, trained
from tests.web.office import Desk, desk, words
from tests.web.serving import Server, make_server
from tests.web.test_words import check, made_up

from qrowd.cli.main import main
from qrowd.collection.database.schema import assignment
from qrowd.web import tasks

__all__ = ["made_up"]  # a fixture
AT = "/campaigns/tiny/hierarchy"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with make_server(tmp_path, plan=PLAN, made=MADE) as made:
        yield made


def page_of(server: Server) -> str:
    reply = desk(server, "organiser").get(AT)
    assert reply.status_code == 200
    return words(reply)


def test_page_says_where_each_topic_is(server: Server) -> None:
    assert "people: 8 judgements of whole sets of training" in page_of(server)
    trained(server.site)
    assert "nobody has an account as an expert yet" in page_of(server)
    assert "experts: 8 documents" in page_of(server)
    overview = words(desk(server, "organiser").get("/campaigns/tiny"))
    assert "Experts are needed, and nobody has an account" in overview
    expert_decides(server.site)
    page = page_of(server)
    assert "t0 judging" in page
    assert "16 in about" not in page  # a figure stands after its words
    assert "Invite people" in page
    asked = desk(server, "organiser").post("/campaigns/tiny/find", kind="next", back=AT)
    assert asked.status_code == 303
    assert asked.headers["location"].startswith(AT)
    assert "is being worked out" in page_of(server)
    assert tasks.run_one(server.site.store, server.settings.folder)
    assert "does not tell, not used: " in page_of(server) or "not known yet" in page_of(server)


def test_other_modes_have_no_such_page(tmp_path: Path) -> None:
    with make_server(tmp_path) as server:
        organiser = desk(server, "organiser")
        reply = organiser.get(AT)
        assert reply.status_code == 409
        assert "The mode of this campaign is crowd" in words(reply)
        assert AT not in organiser.get("/campaigns/tiny").text


def test_nothing_of_the_classifier_reaches_people(server: Server) -> None:
    """Neither by the interface nor by pages, before or after one's own answer."""
    _, dan, _ = finished(server.site)
    overview = words(desk(server, "organiser").get("/campaigns/tiny"))
    assert "people are at work" in overview  # not: close it, now that all is judged
    assert "Every judgement that was wanted is there." not in overview
    headers = server.worker("dan")
    batch = server.client.post("/api/campaigns/tiny/judging/next", headers=headers)
    offer = batch.json()["batch"]
    assert offer["kind"] == "revision"
    for each in offer["sets"]:
        for document in each["documents"]:
            assert set(document) == {"position", "title", "media_type", "answer", "reviewed"}
            assert set(document["reviewed"]) == {
                "kind",
                "grade",
                "ranks",
                "value",
                "bucket",
                "event",
            }
    sent = [batch.text, server.client.get("/judge/tiny", headers=headers).text]
    sent.append(server.client.get("/api/campaigns/tiny/about", headers=headers).text)
    sent.append(server.client.get("/api/campaigns/tiny/judging/me", headers=headers).text)
    for text in sent:
        for word in ("auc", "contradict", "posterior", "classifier", "priority"):
            assert word not in text.lower()
    with server.site.store.read("tiny") as work:
        assert work.count(assignment, assignment.c.worker_id == dan)


def test_the_server_works_it_out_by_itself(server: Server) -> None:
    trained(server.site)
    server.site.clock.forward(20)
    assert tasks.refresh_all(server.site.store, server.settings.folder) == 2  # and quality
    while tasks.run_one(server.site.store, server.settings.folder):
        pass
    assert "What the texts tell" in page_of(server)


def test_page_has_no_english_of_its_own(server: Server, made_up: None) -> None:
    finished(server.site)
    organiser: Desk = desk(server, "organiser")
    server.client.headers["Accept-Language"] = "xx"
    page = organiser.get(AT)
    page._content = page.content.replace(b">organiser<", b"><")  # what the account is called
    check(page)


def test_command_shows_the_same(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    finished(server.site)
    database = str(server.site.store.engine.url.database)
    main(["campaign", "hierarchy", database])
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].startswith("t0\trevision\t")
    assert "Nothing to decide: people are at work." in shown.err
    main(["campaign", "hierarchy", database, "--json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [line["phase"] for line in told["topics"]] == ["revision", "revision"]
    assert told["waits"] == "people"
    assert told["decisions"] == 16
