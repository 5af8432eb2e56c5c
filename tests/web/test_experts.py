"""Experts: blind first by the server's rule, then votes; decisions, objections, what they move."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.collection.making import PLAN, Site, make_site, wrong
from tests.web.office import Desk, desk, words
from tests.web.serving import API, Server
from tests.web.test_work import judge

from qrowd.collection.adjudication import appeals, cases, expert_sample
from qrowd.collection.judging import submission
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.web import neighbours, tasks
from qrowd.web.app import make_app
from qrowd.web.settings import Settings

HOME = "/campaigns/tiny/experts"
JUSTIFIED = PLAN + '[techniques]\njustification = "reason"\nexpert_share = 0.5\n'


def judge_all(site: Site) -> None:
    """Ann is right, Bob always wrong (outside of check questions), each with a reason."""
    for name, says in (("ann", lambda _, right: right), ("bob", wrong)):
        worker = site.worker(name)
        for _ in range(6):
            offer = site.next(worker)
            if not hasattr(offer, "sets"):
                break
            for shown in offer.sets:
                for one in shown.documents:
                    right = int(one.title.split()[-1])
                    gold = b"text g" in _text(site, worker, shown.key, one.position)
                    grade = right if gold else says(one.title, right)
                    site.say(worker, shown.key, one.position, grade, reason=f"{name} thinks so")
            site.work(submission.finish, worker, offer.key)
            site.work(submission.submit, worker, offer.key)


def _text(site: Site, worker: int, key: str, position: int) -> bytes:
    from qrowd.collection.judging.offer import body_of

    with site.store.read("tiny") as work:
        return body_of(work, worker, key, position).content


@pytest.fixture
def disputed(tmp_path: Path) -> Any:
    """A campaign on which two judges disagree."""
    from starlette.testclient import TestClient

    where = f"sqlite:///{tmp_path / 'c.db'}"
    site = make_site(where, JUSTIFIED)
    judge_all(site)
    settings = Settings.of_folder(tmp_path, where, "http://testserver")
    with TestClient(make_app(settings, site.store)) as client:
        yield Server(site, settings, client)


def pair_page(topic: str, doc: str) -> str:
    """The address of a pair's page."""
    return f"{HOME}/pair?topic={topic}&doc={doc}"


def decide(eve: Desk, topic: str, doc: str, **fields: Any) -> Any:
    """Send a pair's form."""
    return eve.post(f"{HOME}/pair", topic=topic, doc=doc, **fields)


def test_what_judges_said_is_refused_before_ones_own_judgement(disputed: Server) -> None:
    eve = disputed.token("expert")
    pair = disputed.client.get(f"{API}/experts/queue", headers=eve).json()[0]
    asked = f"{API}/experts/votes?topic={pair['topic']}&doc={pair['doc']}"
    refused = disputed.client.get(asked, headers=eve)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "blind-first")
    body = {**pair, "grade": 1}
    assert disputed.client.post(f"{API}/experts/decisions", json=body, headers=eve).is_success
    seen = disputed.client.get(asked, headers=eve).json()
    assert sorted(one["reasons"][0] for one in seen["votes"]) == [
        "ann thinks so",
        "bob thinks so",
    ]
    others = disputed.token("expert", worker_id=_expert(disputed, "max"))
    assert disputed.client.get(asked, headers=others).status_code == 409


def test_another_experts_decision_is_shown_after_ones_own_judgement(disputed: Server) -> None:
    eve, client = disputed.token("expert"), disputed.client
    pair, other = client.get(f"{API}/experts/queue", headers=eve).json()[:2]
    said = {**pair, "grade": 2, "reason": "eve knows"}
    assert client.post(f"{API}/experts/decisions", json=said, headers=eve).is_success
    max_number = _expert(disputed, "max")
    header = disputed.token("expert", worker_id=max_number)
    page = desk(disputed, "expert", worker_id=max_number)
    blind = pair_page(other["topic"], other["doc"])
    topic = f"{HOME}/topic?topic={pair['topic']}"
    assert client.get(f"{API}/experts/decisions", headers=header).json() == []
    for path in (HOME, topic, blind):
        assert "eve knows" not in words(page.get(path))
    assert "eve knows" in words(desk(disputed, "organiser").get("/campaigns/tiny/decisions"))
    own = {**pair, "grade": 1, "reason": "max does not"}
    assert client.post(f"{API}/experts/decisions", json=own, headers=header).is_success
    assert len(client.get(f"{API}/experts/decisions", headers=header).json()) == 1


def test_words_of_a_page_that_is_nested_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    import nh3

    parsed: list[str] = []
    clean = nh3.clean

    def seen(text: str, **more: Any) -> str:
        parsed.append(text)
        return clean(text, **more)

    monkeypatch.setattr(nh3, "clean", seen)
    body = b"<p>words</p>" + b"<div>" * 10_000
    row: Any = SimpleNamespace(title="t", media_type="text/html", body=body)
    assert neighbours.words_of(row) == "t words"
    assert parsed[0].count("<div>") < 1_000  # parsing takes time with the square of their number


def _expert(server: Server, name: str) -> int:
    from qrowd.collection.people import workers

    return int(server.site.work(workers.expert, name))


def test_nothing_that_an_expert_gets_before_tells_votes_or_systems(disputed: Server) -> None:
    _runs(disputed)
    eve = desk(disputed, "expert")
    disputed.site.work(expert_sample.draw_sample, 5)
    page = eve.get(HOME)
    assert "documents wait for you" in words(page)
    first = eve.get(f"{HOME}/next").headers["location"]
    blind = words(eve.get(first))
    assert "What others said is shown after that." in blind
    assert "thinks so" not in blind
    for path in ("disputed", "sample", "queue", "topics?topic=t0", "decisions", "objections"):
        found = disputed.client.get(f"{API}/experts/{path}", headers=disputed.token("expert"))
        assert found.status_code == 200
        assert not {"votes", "relevant", "grade"} & {key for one in found.json() for key in one}
    for path in (HOME, first, f"{HOME}/topic?topic=t0"):
        assert "mine" not in words(eve.get(path))  # the name of a system


def test_judge_blind_then_decide(disputed: Server) -> None:
    eve = desk(disputed, "expert")
    with disputed.site.store.read("tiny") as work:
        row = cases.queue(work)[0]
    said = decide(eve, row.topic, row.doc, grade="2", reason="the second paragraph")
    assert said.status_code == 303
    shown = words(eve.get(said.headers["location"]))
    assert "You said 2 : the second paragraph" in shown
    assert "ann thinks so" in shown
    assert "Alike by their words" in words(eve.get(f"{HOME}/alike?topic={row.topic}&doc={row.doc}"))
    again = decide(eve, row.topic, row.doc, grade="0")
    assert "You have judged this document before" in words(again)
    fields = {"step": "decide", "reason": "now sure", "clarify": "Only <b>printed</b> pages."}
    final = decide(eve, row.topic, row.doc, grade="1", code="misread topic", **fields)
    assert "Decided: 1." in words(eve.get(final.headers["location"]))
    with disputed.site.store.read("tiny") as work:
        standing = cases.decisions(work)[0]
        last = audit.acts(work, 1)[0]
    assert (standing.grade, standing.code, standing.reason) == (1, "misread topic", "now sure")
    assert last.act == "clarify topic"
    topic = eve.get(f"{HOME}/topic?topic={row.topic}")
    assert "Clarified on 2027-01-15: Only <b>printed</b> pages." in words(topic)
    assert "<b>printed" not in topic.text


@pytest.fixture
def agreed(tmp_path: Path) -> Any:
    """A campaign on which two judges say the same, all of it drawn for experts."""
    from starlette.testclient import TestClient

    where = f"sqlite:///{tmp_path / 'c.db'}"
    site = make_site(where)
    for name in ("ann", "bob"):
        site.whole(site.worker(name))
    site.work(expert_sample.draw_sample, 1000)
    settings = Settings.of_folder(tmp_path, where, "http://testserver")
    with TestClient(make_app(settings, site.store)) as client:
        yield Server(site, settings, client)


def test_one_answer_where_all_agree_and_each_case_can_be_taken_back(agreed: Server) -> None:
    eve, site = desk(agreed, "expert"), agreed.site
    with site.store.read("tiny") as work:
        waiting = cases.queue(work)
        said = {row.id: set(_grades(work, row.id)) for row in waiting}
    row, other = [row for row in waiting if len(said[row.id]) == 1][:2]
    one = decide(eve, row.topic, row.doc, grade=str(*said[row.id]))
    assert f"doc={row.doc}&" not in one.headers["location"]  # the next case at once
    assert "Decided: " in words(eve.get(one.headers["location"]))
    doubted = decide(eve, other.topic, other.doc, grade="0" if said[other.id] != {0} else "2")
    assert f"doc={other.doc}" in doubted.headers["location"]  # there is something to weigh
    for case in (other, row):  # the last one first
        page = words(eve.get(eve.get(HOME + "/next").headers["location"]))
        assert f"Last case: {case.title}" in page
        back = eve.post(f"{HOME}/take-back", topic=case.topic, doc=case.doc)
        assert "What others said is shown after that." in words(eve.get(back.headers["location"]))
    assert eve.post(f"{HOME}/take-back", topic=row.topic, doc=row.doc).status_code == 404
    with site.store.read("tiny") as work:
        assert cases.decisions(work) == []
        assert {each.id for each in cases.queue(work)} == {each.id for each in waiting}
        acts = [each.act for each in audit.acts(work, 2)]
    assert acts == ["take back decision"] * 2


def test_the_next_case_is_the_one_that_was_fetched_unless_it_is_decided(agreed: Server) -> None:
    eve = desk(agreed, "expert")
    with agreed.site.store.read("tiny") as work:
        first, second, third = cases.queue(work)[:3]
    asked = f"{HOME}/following?topic={first.topic}&doc={first.doc}"
    following = eve.get(asked).json()
    assert (following["topic"], following["doc"]) == (second.topic, second.doc)
    assert eve.get(following["reading"]).json()["kind"] == "text"
    for wanted, arrived in ((third, third), (third, first)):
        foreseen = {"next_topic": wanted.topic, "next_doc": wanted.doc}
        with agreed.site.store.read("tiny") as work:
            row = second if wanted is arrived else third
            grade = str(_grades(work, row.id)[0])
        said = decide(eve, row.topic, row.doc, grade=grade, **foreseen)
        assert f"topic={arrived.topic}&doc={arrived.doc}&" in said.headers["location"]


def test_what_another_expert_decided_stands_again(disputed: Server) -> None:
    site = disputed.site
    mine, theirs = (_expert(disputed, name) for name in ("eve", "adam"))
    with site.store.write("tiny") as work:
        row = cases.queue(work)[0]
        cases.decide(work, theirs, row.id, 0, "as it is")
        cases.decide(work, mine, row.id, 1)
        cases.decide(work, mine, row.id, 2)
        number = cases.take_back(work, "eve", mine, row.id)
        assert [each.grade for each in cases.decisions(work)] == [0]
        assert cases.decisions(work, mine) == []
        with pytest.raises(RuleError, match="no decision of yours"):
            cases.take_back(work, "eve", mine, row.id)
        audit.undo(work, "ada", number)
        assert [(each.grade, each.expert) for each in cases.decisions(work)] == [(2, "eve")]


def test_a_reason_code_is_wanted_where_most_judges_said_something_else(tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    where = f"sqlite:///{tmp_path / 'c.db'}"
    site = make_site(where)
    site.whole(site.worker("ann"))
    site.whole(site.worker("bob"))
    settings = Settings.of_folder(tmp_path, where, "http://testserver")
    with TestClient(make_app(settings, site.store)) as client:
        eve = desk(Server(site, settings, client), "expert")
        with site.store.write("tiny") as work:
            expert_sample.draw_sample(work, 3)
            row = expert_sample.to_judge(work)[0]
            said = _grades(work, row.id)
        other = "0" if said[0] else "2"
        decide(eve, row.topic, row.doc, grade=other)
        refused = decide(eve, row.topic, row.doc, grade=other, step="decide")
        assert "Most judges said something else" in words(refused)
        done = decide(eve, row.topic, row.doc, grade=other, step="decide", code="careless")
        assert done.status_code == 303
        rate = client.get(f"{API}/experts/error-rate", headers=_organiser(site)).json()
    assert (rate["judged"], rate["wrong"]) == (1, 1)
    assert 0 < rate["low"] < rate["high"] <= 1


def _organiser(site: Site) -> dict[str, str]:
    from qrowd.web.access import new_token

    with site.store.write("tiny") as work:
        plain = new_token(work.db, work.now, "organiser", campaign_id=work.campaign)
    return {"Authorization": f"Bearer {plain}"}


def _grades(work: Any, pair: int) -> list[int]:
    return [row.grade for row in work.db.execute(cases._answers(work, pair))]


def test_bad_forms_are_told_and_nothing_is_kept(disputed: Server) -> None:
    eve = desk(disputed, "expert")
    with disputed.site.store.read("tiny") as work:
        row = cases.queue(work)[0]
    for grade in ("", "7", "x", "99999"):
        page = decide(eve, row.topic, row.doc, grade=grade)
        assert page.status_code == 409, grade
        assert "How relevant is it?" in words(page)
    assert decide(eve, row.topic, "nothing", grade="1").status_code == 404
    assert eve.get(pair_page("t0", "nothing")).status_code == 404
    assert eve.get(f"{HOME}/topic?topic=nothing").status_code == 404
    assert eve.get(f"{HOME}/objections/999").status_code == 404
    with disputed.site.store.read("tiny") as work:
        assert cases.decisions(work) == []


def test_a_whole_topic_with_earlier_decisions_in_sight(disputed: Server) -> None:
    eve = desk(disputed, "expert")
    at, steps = f"{HOME}/next?topic=t1", 0
    while "/pair?" in (place := eve.get(at).headers["location"]):
        page = eve.get(place)
        assert page.status_code == 200
        if steps:
            assert f"Earlier decisions on this topic ({steps})" in words(page)
        doc = place.partition("doc=")[2].partition("&")[0]
        assert decide(eve, "t1", doc, grade="0", reason=f"r{steps}", whole="yes").status_code == 303
        steps += 1
    assert steps == 7
    assert "7 of 7 documents are judged by you." in words(eve.get(f"{HOME}/topic?topic=t1"))


def test_an_objection_is_judged_blind_and_answered(server: Server) -> None:
    ann = server.worker("ann")
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    judge(server, ann, batch)
    path = f"{API}/judging/batches/{batch['key']}"
    server.client.post(f"{path}/finish", headers=ann)
    with server.site.store.write("tiny") as work:
        place = work.db.execute(_gold_place()).one()
        number = appeals.disagree(work, place.worker_id, place.key, 1, "the page says otherwise")
    eve = desk(server, "expert")
    assert "“I disagree”" in words(eve.get(HOME))
    api = f"{API}/experts/objections/{number}"
    assert server.client.get(api, headers=server.token("expert")).status_code == 409
    blind = eve.get(f"{HOME}/objections/{number}")
    assert "/experts/pair?" in blind.headers["location"]
    row = server.client.get(f"{API}/experts/objections", headers=server.token("expert")).json()[0]
    unseen = words(eve.get(blind.headers["location"]))
    assert "the page says otherwise" not in unseen
    back = decide(eve, row["topic"], row["doc"], grade="0", objection=str(number))
    assert back.headers["location"] == f"{HOME}/objections/{number}"
    sides = words(eve.get(f"{HOME}/objections/{number}"))
    assert "the page says otherwise" in sides
    unanswered = eve.post(f"{HOME}/objections/{number}", right="yes", reply="")
    assert "An answer has 1 to" in words(unanswered)
    assert eve.post(f"{HOME}/objections/{number}", reply="x").status_code == 409
    done = eve.post(f"{HOME}/objections/{number}", right="yes", reply="You are right.")
    assert done.status_code == 303
    mine = server.client.get(f"{API}/judging/me", headers=ann).json()["appeals"][0]
    assert (mine["won"], mine["reply"]) == (True, "You are right.")
    with server.site.store.read("tiny") as work:
        told = [one.act for one in audit.acts(work, 3)]
    assert told[:2] == ["retire gold", "answer appeal"]


def _gold_place() -> Any:
    from sqlalchemy import select

    from qrowd.collection.database.schema import place

    return select(place).where(place.c.kind == "gold")


def _runs(server: Server) -> None:
    organiser = server.token("organiser")
    for name, step in (("mine", 1), ("theirs", -1)):
        rows = [
            f"t{t} Q0 d{t}-{d} {at} {9 - at} {name}\n"
            for t in range(3)
            for at, d in enumerate(range(7)[::step])
        ]
        sent = {"file": (f"{name}.run", "".join(rows))}
        assert server.client.post(f"{API}/runs", files=sent, headers=organiser).is_success


def test_which_systems_a_decision_moves(disputed: Server) -> None:
    organiser, ask = disputed.token("organiser"), {"method": "mv", "measures": ["AP"]}
    path = f"{API}/results/decisions"
    for why in ("decided nothing", "no runs"):
        disputed.client.post(path, json=ask, headers=organiser)
        tasks.run_one(disputed.site.store, disputed.settings.folder)
        number = disputed.client.post(path, json=ask, headers=organiser).json()["number"] - 1
        state = disputed.client.get(f"{API}/jobs/{number}", headers=organiser).json()
        tasks.run_one(disputed.site.store, disputed.settings.folder)
        assert why in state["problem"]
        with disputed.site.store.write("tiny") as work:
            expert_sample.decide(work, "eve", expert_sample.pair_named(work, "t1", "d1-2"), 2)
    _runs(disputed)
    with disputed.site.store.write("tiny") as work:
        expert_sample.decide(work, "eve", expert_sample.pair_named(work, "t1", "d1-2"), 0, "no")
    before = _means(disputed, organiser)
    disputed.client.post(path, json=ask, headers=organiser)
    assert tasks.run_one(disputed.site.store, disputed.settings.folder)
    found = disputed.client.get(path, headers=organiser).json()["result"]
    rows = {row["run"]: row for row in found["systems"]}
    assert set(rows) == {"mine", "theirs"}
    for name, row in rows.items():
        assert row["after"] == pytest.approx(before[name])
        assert row["low"] <= row["moved"] <= row["high"]
    assert found["each"][0]["grade"] == 0
    assert found["each"][0]["systems"] in (0, 2)


def _means(server: Server, organiser: dict[str, str]) -> dict[str, float]:
    """The scores under the merged qrels with all decisions, by the library itself."""
    import qrowd as q

    server.client.post(f"{API}/results/merge", json={"method": "mv"}, headers=organiser)
    assert tasks.run_one(server.site.store, server.settings.folder)
    folder = next(server.settings.folder.rglob("merged.qrels")).parent
    runs = q.read_runs(folder.parent / "runs")
    scores = q.evaluate(runs, q.read_qrels(folder / "merged.qrels"), ["AP"])
    return dict(zip(scores.runs, scores.means()[0, 0].tolist(), strict=True))


def test_neighbours_by_text(disputed: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn", reason="neighbours need the extra text")
    with disputed.site.store.write("tiny") as work:
        pair = expert_sample.pair_named(work, "t0", "d0-1")
        eve = _known(work)
        cases.decide(work, eve, pair, 1)
        documents = neighbours.neighbours(work, eve, pair).documents
        assert documents
        assert documents[0].alike > 0
        assert all(one.grade is None for one in documents)

        def missing(_: Any) -> Any:
            from qrowd.errors import MissingExtraError

            raise MissingExtraError.needed("reading documents", "text")

        monkeypatch.setattr(neighbours, "tfidf", missing)
        assert "pip install 'qrowd[text]'" in str(neighbours.neighbours(work, eve, pair).problem)


def _known(work: Any) -> int:
    from qrowd.collection.people import workers

    return workers.expert(work, "eve")


def test_an_organiser_draws_a_sample_and_puts_it_back(disputed: Server) -> None:
    organiser = disputed.token("organiser")
    done = disputed.client.post(f"{API}/experts/draw", json={"size": 6}, headers=organiser)
    assert done.status_code == 201
    assert len(disputed.site.work(expert_sample.to_judge)) > 0
    number = done.json()["number"]
    assert disputed.client.post(f"{API}/acts/{number}/undo", headers=organiser).is_success
    assert disputed.site.work(expert_sample.to_judge) == []


def test_the_organisers_page_about_experts(disputed: Server) -> None:
    ada, page = desk(disputed, "organiser"), "/campaigns/tiny/decisions"
    assert "is not known yet" in words(ada.get(page))
    for size in ("", "0", "many", "-3"):
        wrong_size = ada.post(f"{page}/sample", size=size)
        assert (wrong_size.status_code, "a whole number" in words(wrong_size)) == (409, True)
    drawn = ada.post(f"{page}/sample", size="4")
    shown = ada.get(drawn.headers["location"])
    assert "Drawn for experts. Undo" in words(shown)
    eve = desk(disputed, "expert")
    with disputed.site.store.read("tiny") as work:
        row = expert_sample.to_judge(work)[0]
    decide(eve, row.topic, row.doc, grade="1", reason="a <b>reason</b>")
    decide(eve, row.topic, row.doc, grade="1", step="decide", code="borderline", clarify="print")
    _runs(disputed)
    assert ada.post(f"{page}/effect").status_code == 303
    assert tasks.run_one(disputed.site.store, disputed.settings.folder)
    text = words(ada.get(page))
    assert "of the judgements are wrong about relevance" in text
    assert "borderline" in text
    assert "theirs" in text
    assert "Take back" in text
    assert "<b>reason" not in ada.get(page).text
