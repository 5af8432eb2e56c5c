"""A worker's way over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.collection.making import PLAN
from tests.web.serving import API, Server, make_server

from qrowd.collection.database.schema import document
from qrowd.collection.office import erasure
from qrowd.collection.people import workers
from qrowd.collection.record import audit


def judge(server: Server, headers: dict[str, str], batch: dict[str, Any]) -> None:
    """Judge a batch as the titles say."""
    for shown in batch["sets"]:
        for page in shown["documents"]:
            place = f"{shown['key']}/{page['position']}"
            answer = {
                "key": place,
                "place": shown["key"],
                "kind": "grade",
                "position": page["position"],
                "grade": int(page["title"].split()[-1]),
            }
            reply = server.client.post(f"{API}/judging/answers", json=answer, headers=headers)
            assert reply.status_code == 200, reply.text


def test_from_the_link_to_the_pay(server: Server) -> None:
    ann = server.worker("ann")
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    assert len(batch["sets"]) == 3
    shown = batch["sets"][0]
    body = server.client.get(f"{API}/judging/sets/{shown['key']}/documents/1", headers=ann)
    assert body.text.startswith("text ")
    assert "sandbox" in body.headers["Content-Security-Policy"]
    judge(server, ann, batch)
    finished = server.client.post(
        f"{API}/judging/batches/{batch['key']}/finish", headers=ann
    ).json()
    assert (finished["state"], finished["can_submit"]) == ("finished", True)
    ended = server.client.post(f"{API}/judging/batches/{batch['key']}/submit", headers=ann).json()
    assert (ended["state"], ended["earned"]) == ("accepted", 100)
    again = server.client.post(f"{API}/judging/batches/{batch['key']}/submit", headers=ann).json()
    assert again == ended
    money = ("unsettled", "owed", "settled")
    me = server.client.get(f"{API}/judging/me", headers=ann).json()
    assert [me[name] for name in money] == [100, 100, 0]
    with server.site.store.write("tiny") as work:
        audit.perform(work, "organiser", "settle", {"workers": [1]}, sure=True)
    me = server.client.get(f"{API}/judging/me", headers=ann).json()
    assert [me[name] for name in money] == [0, 0, 100]


def test_the_end_of_a_batch_and_the_next_one_are_one_request(server: Server) -> None:
    ann = server.worker("ann")
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    end = f"{API}/judging/batches/{batch['key']}/end"
    refused = server.client.post(end, json={"go_on": True}, headers=ann)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "incomplete")
    judge(server, ann, batch)
    reply = server.client.post(end, json={"go_on": True}, headers=ann).json()
    assert (reply["ended"]["state"], reply["ended"]["earned"]) == ("accepted", 100)
    following = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    assert reply["batch"] == following
    assert following["key"] != batch["key"]


def test_a_number_comes_back_as_it_was_sent(tmp_path: Path) -> None:
    plan = PLAN.replace("[sets]", 'way = "slider"\n[scale]\ncuts = [34, 67]\n[sets]')
    with make_server(tmp_path, plan=plan) as server:
        about = server.client.get(f"{API}/about").json()
        assert (about["way"], about["script"], about["cuts"]) == ("slider", "slider", [34, 67])
        ann = server.worker("ann")
        batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
        answer = {"place": batch["sets"][0]["key"], "position": 1, "kind": "rating"}

        def send(**more: Any) -> str:
            reply = server.client.post(
                f"{API}/judging/answers", json={**answer, **more}, headers=ann
            )
            return str(reply.json().get("error", {}).get("code", ""))

        assert send(key="a", value=66.5) == ""
        assert send(key="b", value=100.5) == "malformed"
        assert send(key="c") == "malformed"
        assert send(key="d", kind="grade", grade=1) == "not-allowed"
        again = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
        said = again["sets"][0]["documents"][0]["answer"]
        assert (said["kind"], said["value"], said["grade"]) == ("rating", 66.5, 1)


def test_other_ways_have_a_script_and_no_cuts(server: Server) -> None:
    about = server.client.get(f"{API}/about").json()
    assert (about["script"], about["cuts"]) == ("grades", [])
    ann = server.worker("ann")
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    answer = {"key": "k", "place": batch["sets"][0]["key"], "position": 1, "kind": "rating"}
    reply = server.client.post(f"{API}/judging/answers", json={**answer, "value": 5}, headers=ann)
    assert reply.json()["error"]["code"] == "not-allowed"


def test_a_repeated_answer_and_a_reused_key(server: Server) -> None:
    ann = server.worker("ann")
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    answer = {"key": "k", "place": batch["sets"][0]["key"], "kind": "grade", "position": 1}
    one, two = (
        server.client.post(
            f"{API}/judging/answers", json={**answer, "grade": 1}, headers=ann
        ).json()
        for _ in range(2)
    )
    assert one["event"] == two["event"]
    assert (one["repeated"], two["repeated"]) == (False, True)
    other = server.client.post(f"{API}/judging/answers", json={**answer, "grade": 2}, headers=ann)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "key-reused")


def test_nobody_sees_or_answers_anothers_batch(server: Server) -> None:
    ann, bob = server.worker("ann"), server.worker("bob")
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    place = batch["sets"][0]["key"]
    assert (
        server.client.get(f"{API}/judging/sets/{place}/documents/1", headers=bob).status_code == 404
    )
    answer = {"key": "k", "place": place, "kind": "grade", "position": 1, "grade": 1}
    assert server.client.post(f"{API}/judging/answers", json=answer, headers=bob).status_code == 404
    path = f"{API}/judging/batches/{batch['key']}"
    for act in ("finish", "submit", "return"):
        assert server.client.post(f"{path}/{act}", headers=bob).status_code == 404


def test_what_cannot_be_has_the_one_shape(server: Server) -> None:
    ann = server.worker("ann")
    bodies: list[Any] = [
        {},
        {"key": "k"},
        [],
        {"key": "k", "place": "p", "kind": "grade", "seconds": -1},
    ]
    for body in bodies:
        reply = server.client.post(f"{API}/judging/answers", json=body, headers=ann)
        assert reply.status_code == 422
        assert reply.json()["error"]["code"] == "bad-value"
    assert server.client.get("/nowhere").json()["error"]["code"] == "not-found"
    assert server.client.delete("/").json()["error"]["code"] == "method-not-allowed"


def test_no_batch_says_why(server: Server) -> None:
    ann = server.worker("ann")
    with server.site.store.write("tiny") as work:
        audit.perform(work, "test", "pause")
    found = server.client.post(f"{API}/judging/next", headers=ann).json()
    assert found["batch"] is None
    assert found["nothing"]["code"] == "not-running"


@pytest.mark.parametrize(
    "media", ["text/html", "image/svg+xml", "application/pdf", "a\r\nX: 1", "雪/x"]
)
def test_bytes_of_documents_are_nothing_that_a_browser_follows(server: Server, media: str) -> None:
    with server.site.store.write("tiny") as work:
        work.update(document, work.own(document), media_type=media)
    ann = server.worker("ann")
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    key = batch["sets"][0]["key"]
    raw = server.client.get(f"{API}/judging/sets/{key}/documents/1", headers=ann)
    assert (raw.status_code, raw.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert raw.headers["X-Content-Type-Options"] == "nosniff"
    shown = server.client.get(f"/judge/tiny/documents/{key}/1", headers=ann)
    assert shown.status_code == 200


def test_whoever_agrees_is_asked_again_until_they_change_their_mind(server: Server) -> None:
    ann, clock = server.worker("ann"), server.site.clock

    def me() -> Any:
        return server.client.get(f"{API}/judging/me", headers=ann).json()["ask_again"]

    def say(agreed: bool) -> Any:
        body = {"agreed": agreed}
        reply = server.client.post(f"{API}/judging/ask-again", json=body, headers=ann)
        assert reply.status_code == 204
        return server.client.get(f"{API}/judging/data", headers=ann).json()["ask_again_at"]

    assert me() is False
    at = clock.now
    assert say(True) == at
    clock.forward(60)
    assert say(True) == at  # when they first agreed
    assert me() is True
    assert say(False) is None
    assert me() is False
    say(True)
    server.site.work(erasure.erase, 1, who="o")
    with server.site.store.read("tiny") as work:
        assert workers.worker_by_number(work, 1).ask_again_at is None


def test_who_is_out_reads_why_and_appeals(server: Server) -> None:
    ann, admin = server.worker("ann"), server.token("organiser")

    def post(path: str, **body: Any) -> Any:
        return server.client.post(f"{API}/judging/{path}", json=body, headers=ann)

    assert server.client.get(f"{API}/judging/me", headers=ann).json()["out"] is None
    assert post("appeal", text="why?").status_code == 409

    def judge_wrong() -> Any:
        batch = post("next").json()["batch"]
        for shown in batch["sets"]:
            for page in shown["documents"]:
                wrong = 0 if int(page["title"].split()[-1]) else 2
                about = {"place": shown["key"], "kind": "grade", "position": page["position"]}
                key = f"{batch['key']}/{shown['key']}/{page['position']}"
                post("answers", key=key[-60:], grade=wrong, **about)
        post(f"batches/{batch['key']}/finish")
        return post(f"batches/{batch['key']}/submit").json()

    ended = judge_wrong()
    if ended["state"] == "excluded":  # a gold set of two documents is not enough to be sure
        ended = judge_wrong()
    assert (ended["state"], ended["failed"]) == ("screened-out", ["binary", "surely"])

    me = server.client.get(f"{API}/judging/me", headers=ann).json()
    reasons = {"failed": ["binary", "surely"], "pay": 20}
    assert me["out"] == {**reasons, "can_appeal": True, "appealed": False}
    assert me["batches"][-1]["failed"] == ["binary", "surely"]
    assert post("appeal", text="I read every page").status_code == 201
    me = server.client.get(f"{API}/judging/me", headers=ann).json()
    assert me["out"] == {**reasons, "can_appeal": False, "appealed": True}
    (waiting,) = server.client.get(f"{API}/appeals", headers=admin).json()
    assert waiting["kind"] == "screen-out"
    answer = {"won": True, "reply": "you are right"}
    path = f"{API}/appeals/{waiting['number']}"
    assert server.client.post(path, json=answer, headers=admin).status_code == 204
    me = server.client.get(f"{API}/judging/me", headers=ann).json()
    assert (me["state"], me["out"]) == ("qualified", None)
    assert me["owed"] == 100 * len(me["batches"])
