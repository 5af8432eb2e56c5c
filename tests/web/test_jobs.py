"""Background jobs: asked for, done elsewhere, the last result with its age; robots as the crowd."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import shutil
import socket
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from polars.exceptions import ColumnNotFoundError
from sqlalchemy import select, update
from tests.collection.making import PLAN, make_site
from tests.web.office import desk, words
from tests.web.serving import API, Server

from qrowd.collection.database.schema import document, job
from qrowd.collection.database.store import Work
from qrowd.data.collected import grades_of
from qrowd.errors import RuleError
from qrowd.simulation.setting import Setting
from qrowd.web import jobs, tasks
from qrowd.web.access import OFFICE_COOKIE, forgery_token
from qrowd.web.robots.crowd import Crowd, by_content, truth_of
from qrowd.web.robots.rehearsal import judge
from qrowd.web.robots.robot import Call
from qrowd.web.robots.traffic import Clock, in_process
from qrowd.web.settings import Settings


@pytest.fixture
def judged(server: Server, tmp_path: Path) -> Server:
    """A server whose campaign was judged by robots."""
    clock = Clock(server.site.clock.now)
    object.__setattr__(server.site.store, "clock", clock)
    crowd = Crowd(robots=10, setting=Setting(sloppy=0, biased=0, random=0, yes=0, no=0))
    judge(server.site.store, clock, tmp_path, "tiny", crowd)
    return server


def test_results_come_from_jobs(judged: Server) -> None:
    organiser = judged.token("organiser")
    client, store = judged.client, judged.site.store
    assert client.get(f"{API}/results/merge", headers=organiser).status_code == 404
    asked = client.post(f"{API}/results/merge", json={"method": "ds"}, headers=organiser)
    assert (asked.status_code, asked.json()["state"]) == (202, "waiting")
    again = client.post(f"{API}/results/merge", json={"method": "ds"}, headers=organiser)
    assert again.json()["number"] == asked.json()["number"]
    assert tasks.run_one(store, judged.settings.folder)
    assert not tasks.run_one(store, judged.settings.folder)
    found = client.get(f"{API}/results/merge", headers=organiser).json()
    assert found["result"]["method"] == "ds"
    assert found["age"] == 0
    assert sum(found["result"]["grades"].values()) == found["result"]["pairs"] > 0
    qrels = client.get(f"{API}/files/merged.qrels", headers=organiser)
    assert len(qrels.text.splitlines()) == found["result"]["pairs"]


def test_quality_systems_and_export(judged: Server) -> None:
    organiser = judged.token("organiser")
    client, store = judged.client, judged.site.store
    run = "".join(f"t{t} Q0 d{t}-{d} {d} {9 - d} mine\n" for t in range(3) for d in range(5))
    sent = {"file": ("mine.run", run)}
    stored = client.post(f"{API}/runs", files=sent, headers=organiser)
    assert stored.json() == {"name": "mine.run", "runs": 1, "topics": 3}
    for kind in ("quality", "systems", "export"):
        assert client.post(f"{API}/results/{kind}", json={}, headers=organiser).status_code == 202
        assert tasks.run_one(store, judged.settings.folder)
        job_row = client.get(f"{API}/results/{kind}", headers=organiser)
        assert job_row.status_code == 200, kind
    systems = client.get(f"{API}/results/systems", headers=organiser).json()["result"]["systems"]
    assert {row["run"] for row in systems} == {"mine"}
    manifest = client.get(f"{API}/files/manifest.json", headers=organiser).json()
    judgements = client.get(f"{API}/files/judgements.tsv", headers=organiser).text
    assert manifest["files"]["judgements.tsv"]["rows"] == len(judgements.splitlines()) - 1 > 0


def test_a_wrong_run_is_refused_and_nothing_is_kept(server: Server) -> None:
    organiser = server.token("organiser")
    sent = {"file": ("../../mine.run", "this is no run")}
    reply = server.client.post(f"{API}/runs", files=sent, headers=organiser)
    assert reply.status_code == 422
    assert not list(server.settings.folder.rglob("*mine*"))


@pytest.mark.parametrize("module", [bz2, gzip, lzma])
def test_files_that_unpack_to_too_much_are_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch, module: Any
) -> None:
    monkeypatch.setattr("qrowd.io.source.MOST_UNPACKED", 2**20)
    organiser = server.token("organiser")
    run = b"t0 Q0 d0-0 1 1 mine\n"
    fine, bomb = module.compress(run), module.compress(run + b"\n" * 2**21)
    for path, field in (("runs", "file"), ("extensions", "runs")):
        for content, status in ((fine, 201 if path == "runs" else 200), (bomb, 422)):
            sent = {field: ("mine.run.packed", content)}
            reply = server.client.post(f"{API}/{path}", files=sent, headers=organiser)
            assert reply.status_code == status, reply.text
        assert "larger than 1 MB" in reply.json()["error"]["message"]
    ada = desk(server, "organiser")
    reply = server.client.post(
        "/campaigns/tiny/extend",
        files={"runs": ("mine.run", bomb)},
        data={"forgery": forgery_token(server.settings, ada.token), "depth": "20"},
        headers={"Cookie": f"{OFFICE_COOKIE}={ada.token}"},
    )
    assert "larger than 1 MB" in words(reply)


def test_a_failed_job_says_why(server: Server) -> None:
    organiser = server.token("organiser")
    made = server.client.post(f"{API}/results/merge", json={"method": "mv"}, headers=organiser)
    tasks.run_one(server.site.store, server.settings.folder)
    found = server.client.get(f"{API}/jobs/{made.json()['number']}", headers=organiser).json()
    assert (found["state"], "no judgements yet" in found["problem"]) == ("failed", True)
    wrong = server.client.post(f"{API}/results/nonsense", json={}, headers=organiser)
    assert wrong.status_code == 422


@pytest.mark.parametrize("error", [OSError, KeyError, TypeError, RuntimeError, ColumnNotFoundError])
def test_no_error_of_a_job_ends_the_process(
    server: Server, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def broken(*_: object) -> dict[str, object]:
        raise error("nobody foresaw this")

    monkeypatch.setitem(tasks.TASKS, "merge", broken)
    with server.site.store.write("tiny") as work:
        number = jobs.ask(work, "merge", {"method": "mv"})
    assert tasks.run_one(server.site.store, server.settings.folder)
    with server.site.store.read("tiny") as work:
        row = jobs.state_of(work, number)
    assert (row.state, "nobody foresaw this" in str(row.problem)) == ("failed", True)


def test_what_is_due_may_fail_and_jobs_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_site(f"sqlite:///{tmp_path / 'qrowd.db'}").store.engine.dispose()
    stop = threading.Event()
    calls = []

    def broken(*_: object) -> int:
        calls.append(1)
        if len(calls) > 1:
            stop.set()
        raise FileNotFoundError("a file that was removed meanwhile")

    monkeypatch.setattr(tasks, "sweep_all", broken)
    monkeypatch.setattr(tasks, "PAUSE", 0.01)
    tasks.work_forever(Settings.of_folder(tmp_path), stop)
    assert len(calls) == 2


def test_a_run_that_is_still_being_read_is_not_listed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    import qrowd as q

    listed: list[Path] = []
    read = q.read_runs

    def reading(path: Path) -> object:
        listed.extend(server.settings.folder.glob("files/*/runs/*"))
        return read(path)

    monkeypatch.setattr(q, "read_runs", reading)
    sent = {"file": ("mine.run", "t0 Q0 d0-0 1 1 mine\n")}
    reply = server.client.post(f"{API}/runs", files=sent, headers=server.token("organiser"))
    assert reply.json() == {"name": "mine.run", "runs": 1, "topics": 1}
    assert listed == []
    assert [one.name for one in server.settings.folder.glob("files/*/*/*")] == ["mine.run"]


def test_a_job_whose_process_died_is_taken_again_then_given_up(server: Server) -> None:
    store = server.site.store
    with store.write("tiny") as work:
        number = jobs.ask(work, "merge", {"method": "mv"})
    for attempt in range(jobs.MOST_ATTEMPTS):
        row = jobs.take(store)
        assert row is not None
        assert (row.id, row.attempts) == (number, attempt)
        assert jobs.take(store) is None
        server.site.clock.forward(jobs.LEASE / 60_000 + 1)
    assert jobs.take(store) is None
    with store.read("tiny") as work:
        assert "died 3 times" in str(jobs.state_of(work, number).problem)
        with pytest.raises(RuleError, match="no such job"):
            jobs.state_of(work, number + 1)


def test_pages_open_where_the_database_came_without_its_files(judged: Server) -> None:
    organiser, folder = judged.token("organiser"), judged.settings.folder
    run = "".join(f"t{t} Q0 d{t}-{d} {d} {9 - d} mine\n" for t in range(3) for d in range(5))
    sent = {"file": ("mine.run", run)}
    judged.client.post(f"{API}/runs", files=sent, headers=organiser)
    for kind in ("quality", "systems"):
        judged.client.post(f"{API}/results/{kind}", json={}, headers=organiser)
        assert tasks.run_one(judged.site.store, folder)
    office = desk(judged, "organiser")
    pages = ["/quality", "/coverage", "/systems"]
    before = [office.get(f"/campaigns/tiny{page}") for page in pages]
    assert all("<svg" in page.text for page in before)
    shutil.rmtree(folder / "files")
    after = [office.get(f"/campaigns/tiny{page}") for page in pages]
    assert [page.status_code for page in after] == [200, 200, 200]
    assert "Work it out again" in words(after[0]), words(after[0])


def test_a_long_job_is_begun_by_no_other_server(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, clock = server.site.store, server.site.clock
    monkeypatch.setattr(jobs, "LEASE", 400)  # renewed four times in it, by the real clock
    with store.write("tiny") as work:
        number = jobs.ask(work, "merge", {"method": "mv"})
    assert jobs.take(store) is not None

    def lease() -> int:
        with store.read("tiny") as work:
            return jobs.state_of(work, number).leased_until or 0

    with jobs.kept(store, number) as began:
        for _ in range(3):
            clock.now += 300
            until = time.monotonic() + 60
            while lease() < clock.now + jobs.LEASE and time.monotonic() < until:
                time.sleep(0.05)
            assert jobs.take(store) is None
    jobs.finish(store, number, "{}", began)
    with store.read("tiny") as work:
        done = jobs.state_of(work, number)
    assert (done.state, done.leased_until) == ("done", began + jobs.LEASE)


def test_what_is_due_is_done(server: Server) -> None:
    server.site.next(server.site.worker("ann"))
    assert tasks.sweep_all(server.site.store) == 0
    server.site.clock.forward(11)
    assert tasks.sweep_all(server.site.store) == 1


def test_jobs_are_rows(server: Server) -> None:
    store = server.site.store
    with store.write("tiny") as work:
        jobs.ask(work, "merge", {"method": "mv"})
        work.db.execute(
            update(job).values(state="done", result=json.dumps({"a": 1}), finished_at=5)
        )
        found = jobs.latest(work, "merge")
        assert found is not None
        assert found.result == {"a": 1}
        assert work.db.scalar(select(job.c.kind)) == "merge"


def test_the_same_seed_gives_the_same_dry_run(tmp_path: Path) -> None:
    from qrowd.web.robots.rehearsal import dry_run

    site = make_site(f"sqlite:///{tmp_path / 'c.db'}")
    one, two = (dry_run(site.store, "tiny", Crowd(robots=6, seed=3)) for _ in range(2))
    assert (one.requests, one.hours, one.spent) == (two.requests, two.hours, two.spent)
    assert one.judgements > 0
    assert not site.work(lambda work: jobs.latest(work, "merge"))


def test_robots_know_a_document_without_content(server: Server) -> None:
    site = server.site
    site.work(Work.update, document, document.c.name == "d0-0", content=None)
    with site.store.read("tiny") as work:
        truth = truth_of(work)
        known = by_content(work, truth)
    empty = hashlib.sha256(b"").hexdigest()  # what a robot finds at its address
    assert known["query 0", empty] == grades_of(truth)["t0", "d0-0"]


@pytest.mark.parametrize("way", ["ranked", "free-ranks"])
def test_robots_rank_sets(way: str, tmp_path: Path) -> None:
    from qrowd.web.robots.rehearsal import dry_run

    plan = PLAN.replace("[sets]", f'way = "{way}"\n[sets]')
    site = make_site(f"sqlite:///{tmp_path / 'c.db'}", plan)
    found = dry_run(site.store, "tiny", Crowd(robots=4, seed=3))
    assert found.batches.get("accepted", 0) > 0
    site.store.engine.dispose()


def test_preferences_are_no_grades(tmp_path: Path) -> None:
    from qrowd.web.robots.rehearsal import dry_run

    plan = PLAN.replace("[sets]\nsize = 3", 'way = "preferences"\n[sets]\nsize = 2')
    site = make_site(f"sqlite:///{tmp_path / 'c.db'}", plan)
    with pytest.raises(RuleError, match="there are orders only"):
        dry_run(site.store, "tiny", Crowd(robots=2, seed=3))
    site.store.engine.dispose()


def test_the_process_for_jobs_ends_with_a_server_that_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_site(f"sqlite:///{tmp_path / 'qrowd.db'}").store.engine.dispose()
    server = SimpleNamespace(is_alive=lambda: False)
    monkeypatch.setattr("multiprocessing.parent_process", lambda: server)
    stop = threading.Event()
    late = threading.Timer(20, stop.set)  # so that a failure does not hang
    late.start()
    tasks.work_forever(Settings.of_folder(tmp_path), stop)
    late.cancel()
    assert not stop.is_set()


def test_robots_work_where_an_event_loop_runs_already(server: Server) -> None:
    """As in a notebook."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    async def inside() -> int:
        with in_process(server.client.app) as send:
            return send(Call("GET", f"{API}/about")).status

    with ThreadPoolExecutor(1) as thread:  # other tests may leave a loop running in this one
        assert thread.submit(asyncio.run, inside()).result() == 200


def test_the_process_for_jobs_is_started_again(
    judged: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qrowd.web import server

    monkeypatch.setattr(server, "AGAIN_AFTER", 0.05)
    with server.JobsProcess(judged.settings) as kept:
        first = kept.process
        first.kill()
        first.join()
        for _ in range(600):
            if kept.process is not first and kept.process.is_alive():
                break
            time.sleep(0.05)
        assert kept.process is not first
        assert kept.process.is_alive()
        last = kept.process
    last.join(10)
    assert not last.is_alive()


def test_replies_of_several_processes_leave_at_once() -> None:
    import uvicorn

    from qrowd.web.server import listening_socket

    with listening_socket(uvicorn.Config("none", host="127.0.0.1", port=0)) as made:
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        made.listen()
        with socket.create_connection(made.getsockname()):
            taken, _ = made.accept()
            with taken:
                assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
