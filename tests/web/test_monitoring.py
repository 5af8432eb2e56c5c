"""`/health` and `/metrics`: what they tell whom, and what neither they nor the log ever hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.collection.making import make_site
from tests.web.serving import API, Server, make_server

from qrowd.collection.database.opening import newest_version
from qrowd.collection.database.triggers import TRIGGERS
from qrowd.web import jobs
from qrowd.web.api.monitoring import RequestCounts, text_form
from qrowd.web.app import make_app
from qrowd.web.settings import MONITORING_VARIABLE, Settings

TOKEN = "a-monitoring-token-2718281828"
WATCHER = {"Authorization": f"Bearer {TOKEN}"}
# a line of Prometheus' text form: a name, labels, a number
LINE = re.compile(r'(qrowd_\w+?)(?:\{((?:\w+="[^"\\]*",?)*)\})? (\S+)')


@pytest.fixture
def watched(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server with a monitoring token, on each engine."""
    monkeypatch.setenv(MONITORING_VARIABLE, TOKEN)
    with make_server(tmp_path, url) as made:
        yield made


def figures(text: str) -> dict[str, float]:
    """Every line of `/metrics` as name and labels, and its number."""
    found = {}
    for line in text.splitlines():
        if line.startswith(("# HELP qrowd_", "# TYPE qrowd_")):
            continue
        match = LINE.fullmatch(line)
        assert match, line
        found[f"{match[1]}{{{match[2]}}}" if match[2] else match[1]] = float(match[3])
    return found


def at(server: Server, host: str, **headers: str) -> TestClient:
    """Somebody at an address, who asks this server by a name."""
    app: Any = server.client.app
    base = f"http://{headers.pop('asked', 'localhost')}"
    return TestClient(app, base_url=base, client=(host, 5000), headers=headers)


def test_strangers_learn_that_it_lives_and_no_more(watched: Server) -> None:
    strangers = [
        at(watched, "203.0.113.7"),
        at(watched, "127.0.0.1", asked="qrowd.example.org"),  # through a proxy that says its name
        at(watched, "127.0.0.1", **{"X-Forwarded-For": "127.0.0.1"}),  # or what it was told
        at(watched, "203.0.113.7", Authorization="Bearer wrong"),
        at(watched, "127.0.0.1", Authorization="Bearer wrong"),
        at(watched, "127.0.0.1", **watched.token("organiser", campaign_id=None)),
    ]
    for stranger in strangers:
        health, metrics = stranger.get("/health"), stranger.get("/metrics")
        assert (health.status_code, health.json()) == (200, {"live": True})
        assert (metrics.status_code, "qrowd_" in metrics.text) == (401, False)


@pytest.mark.parametrize("who", ["local", "token"])
def test_whoever_watches_learns_the_rest(watched: Server, who: str) -> None:
    near, far = at(watched, "127.0.0.1"), at(watched, "203.0.113.7", **WATCHER)
    watcher = near if who == "local" else far
    health = watcher.get("/health").json()
    assert (health["ready"], health["problem"], health["schema"]) == (True, "", newest_version())
    assert health["free_disk"] > 0
    metrics = watcher.get("/metrics")
    assert metrics.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert figures(metrics.text)["qrowd_disk_free_bytes"] > 0


def test_no_token_is_no_way_in(server: Server) -> None:
    for header in ("Bearer ", "Bearer"):
        assert at(server, "203.0.113.7", Authorization=header).get("/metrics").status_code == 401


def test_figures_are_those_of_the_campaign(watched: Server) -> None:
    organiser = watched.token("organiser")
    ann = watched.worker("ann")
    batch = watched.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    answer = {"key": "k", "place": batch["sets"][0]["key"], "kind": "grade", "position": 1}
    told = watched.client.post(f"{API}/judging/answers", json={**answer, "grade": 1}, headers=ann)
    assert told.status_code == 200
    watched.client.post(f"{API}/results/merge", json={}, headers=organiser)
    with watched.site.store.transaction() as db:
        jobs.ask_for_draft(db, watched.site.store.clock(), "quaggadraft", {"version": 1})
    watched.site.clock.now += 5_000
    text = at(watched, "127.0.0.1").get("/metrics").text
    assert "quaggadraft" not in text
    found = figures(text)
    assert (
        found[
            'qrowd_requests_total{route="POST /api/campaigns/{name}/judging/answers",status="2xx"}'
        ]
        == 1
    )
    assert (
        found['qrowd_request_seconds_count{route="POST /api/campaigns/{name}/judging/next"}'] == 1
    )
    assert found['qrowd_jobs{kind="merge",state="waiting"}'] == 1
    assert found['qrowd_jobs{kind="rehearsal",state="waiting"}'] == 1
    assert found["qrowd_job_waiting_seconds"] == 5
    assert found['qrowd_batches{state="active"}'] == 1
    assert found["qrowd_answers_total"] == 1
    assert found["qrowd_places_held"] > 0
    assert found["qrowd_rules_missing"] == found["qrowd_rules_broken"] == 0
    assert found["qrowd_leases_overdue"] == 0
    watched.site.clock.now += 10 * 86_400_000
    with watched.site.store.transaction() as db:
        rule = TRIGGERS[0]
        on = "" if watched.site.store.is_sqlite else f" ON {rule.table}"
        db.exec_driver_sql(f"DROP TRIGGER {rule.name}{on}")
    found = figures(at(watched, "127.0.0.1").get("/metrics").text)
    assert (found["qrowd_leases_overdue"], found["qrowd_rules_missing"]) == (1, 1)


def test_a_server_that_cannot_work_says_why(
    watched: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = at(watched, "127.0.0.1")
    monkeypatch.setattr("qrowd.web.api.monitoring.LEAST_FREE", 2**70)
    full = near.get("/health")
    assert (full.status_code, full.json()["ready"]) == (503, False)
    assert "make room" in full.json()["problem"]
    with watched.site.store.transaction() as db:
        db.exec_driver_sql("DROP TABLE alembic_version")
    assert "another schema" in near.get("/health").json()["problem"]
    assert at(watched, "203.0.113.7").get("/health").json() == {"live": True}


def test_processes_count_together(tmp_path: Path) -> None:
    first = RequestCounts(["GET /a", "GET /b"], str(tmp_path))
    first.add("GET /a", 200, 0.01)
    first.add("GET /a", 503, 7.0)
    first.add("DELETE /never/heard/of", 404, 0.2)
    (tmp_path / "ended").write_bytes(bytes(first.cells))
    (tmp_path / "beginning").write_bytes(b"")
    found = figures(text_form(first.families()))
    assert found['qrowd_requests_total{route="GET /a",status="2xx"}'] == 2
    assert found['qrowd_requests_total{route="GET /a",status="5xx"}'] == 2
    assert found['qrowd_requests_total{route="other",status="4xx"}'] == 2
    assert found['qrowd_request_seconds_sum{route="GET /a"}'] == pytest.approx(14.02)
    buckets = [
        found[f'qrowd_request_seconds_bucket{{route="GET /a",le="{bound}"}}']
        for bound in ("0.025", "5.0", "+Inf")
    ]
    assert buckets == [2, 2, 4]


def test_every_route_is_counted_by_its_template(server: Server) -> None:
    from tests.web.test_roles import routes_of

    assert set(routes_of(server)) <= set(server.client.app.state.counts.routes)  # type: ignore[attr-defined]


def test_a_short_token_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from qrowd.errors import UsageError

    monkeypatch.setenv(MONITORING_VARIABLE, "short")
    with pytest.raises(UsageError, match="at least 16 characters"):
        Settings.of_folder(tmp_path)


def test_a_database_that_is_gone_is_told_in_health(tmp_path: Path) -> None:
    site = make_site(f"sqlite:///{tmp_path / 'campaign.db'}")
    settings = Settings.of_folder(tmp_path, site.store.url)
    with TestClient(
        make_app(settings, site.store), base_url="http://localhost", client=("127.0.0.1", 1)
    ) as near:
        (tmp_path / "campaign.db").unlink()
        health = near.get("/health")
        assert (health.status_code, health.json()["live"]) == (503, True)
        assert "was removed" in health.json()["problem"]
