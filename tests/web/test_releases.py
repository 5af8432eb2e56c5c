"""A release of a robots' campaign, read by `qrowd report` alone, has the live page's figures."""

from __future__ import annotations

import html
import math
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.web.serving import API, Server

import qrowd as q
from qrowd.cli.main import main
from qrowd.collection.adjudication import expert_sample
from qrowd.reporting.report import study_of
from qrowd.simulation.setting import Setting
from qrowd.web import tasks
from qrowd.web.robots.crowd import Crowd
from qrowd.web.robots.rehearsal import judge
from qrowd.web.robots.traffic import Clock


@pytest.fixture
def judged(server: Server, tmp_path: Path) -> Server:
    """A campaign that robots judged, with two runs and an expert's decision."""
    clock = Clock(server.site.clock.now)
    object.__setattr__(server.site.store, "clock", clock)
    crowd = Crowd(robots=10, setting=Setting(biased=0, random=0, yes=0, no=0))
    judge(server.site.store, clock, tmp_path, "tiny", crowd)
    organiser = server.token("organiser")
    for name, step in (("mine", 1), ("theirs", -1)):
        order = range(7)[::step]
        rows = [
            f"t{t} Q0 d{t}-{d} {at} {9 - at} {name}\n"
            for t in range(3)
            for at, d in enumerate(order)
        ]
        sent = {"file": (f"{name}.run", "".join(rows))}
        reply = server.client.post(f"{API}/runs", files=sent, headers=organiser)
        assert reply.status_code == 201
    with server.site.store.write("tiny") as work:
        expert_sample.decide(
            work, "eve", expert_sample.pair_named(work, "t1", "d1-2"), 2, "it says so"
        )
    return server


def result(server: Server, kind: str, method: str) -> Any:
    """What the live page shows of a kind."""
    organiser = server.token("organiser")
    asked = server.client.post(f"{API}/results/{kind}", json={"method": method}, headers=organiser)
    assert asked.status_code == 202
    assert tasks.run_one(server.site.store, server.settings.folder)
    return server.client.get(f"{API}/results/{kind}", headers=organiser).json()["result"]


def make(server: Server, method: str) -> Any:
    """The release's zip, by way of the interface."""
    organiser = server.token("organiser")
    unsure = server.client.post(f"{API}/releases", json={"method": method}, headers=organiser)
    assert (unsure.status_code, unsure.json()["error"]["code"]) == (409, "ask-twice")
    wanted = {"method": method, "sure": True}
    assert server.client.post(f"{API}/releases", json=wanted, headers=organiser).status_code == 202
    assert tasks.run_one(server.site.store, server.settings.folder)
    found = server.client.get(f"{API}/releases", headers=organiser).json()
    assert found[-1]["here"] is True
    return server.client.get(f"{API}/releases/{found[-1]['number']}/zip", headers=organiser)


@pytest.mark.parametrize("method", ["mv", "ds"])
def test_report_of_a_release_has_the_live_figures(
    judged: Server, tmp_path: Path, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    live = {kind: result(judged, kind, method) for kind in ("merge", "quality", "systems")}
    qrels = judged.client.get(f"{API}/files/merged.qrels", headers=judged.token("organiser")).text
    path = tmp_path / "alone" / "tiny.zip"
    path.parent.mkdir()
    path.write_bytes(make(judged, method).content)

    read = q.read_release(path)
    with zipfile.ZipFile(path) as archive:
        assert archive.read("merged.qrels").decode() == qrels
    done = study_of(read)
    assert len(done.judgements) == live["merge"]["judgements"]
    assert done.merged[done.chosen].qrels().grade.tolist() == [
        int(line.split()[3]) for line in qrels.splitlines()
    ]
    agreed = q.agreement(done.judgements, resample="topics").table()
    for part in ("value", "low", "high"):
        shown = [math.nan if each is None else each for each in live["quality"]["agreement"][part]]
        assert agreed[part] == pytest.approx(shown, nan_ok=True)
    assert done.wide is not None
    rows = {(row["measure"], row["run"]): row for row in done.wide.to_polars().to_dicts()}
    assert len(rows) == 4
    for row in live["systems"]["systems"]:
        assert rows[row["measure"], row["run"]] == pytest.approx(row)

    main(["report", str(path), "-o", str(path.with_suffix(".html"))])
    page = html.unescape(path.with_suffix(".html").read_text("utf-8"))
    assert capsys.readouterr().out.strip().endswith("tiny.html")
    value = dict(zip(agreed["coefficient"], agreed["value"], strict=True))["alpha-ordinal"]
    assert re.search(rf"alpha-ordinal.{{0,200}}{value:.3f}", page, re.S)
    best = max(
        (row for row in live["systems"]["systems"] if row["measure"] == "AP"),
        key=lambda row: row["mean"],
    )
    assert f"{best['mean']:.3f}" in page


def test_what_is_wrong_with_a_release(judged: Server) -> None:
    organiser = judged.token("organiser")
    for wanted in ({"method": "nonsense"}, {"method": "aware"}, {"measures": ["nonsense"]}):
        body = {**wanted, "sure": True}
        reply = judged.client.post(f"{API}/releases", json=body, headers=organiser)
        assert reply.status_code == 422, reply.text
    aside = judged.client.post(f"{API}/results/release", json={}, headers=organiser)
    assert aside.status_code == 403
    assert judged.client.get(f"{API}/releases/1/zip", headers=organiser).status_code == 404
    reader = judged.token("organiser", scopes=["read"])
    assert judged.client.get(f"{API}/releases", headers=reader).status_code == 403


def test_a_deletion_that_would_void_a_release(judged: Server) -> None:
    organiser = judged.token("organiser")
    make(judged, "mv")
    with judged.site.store.write("tiny") as work:
        from qrowd.collection.books import ledger

        ledger.settle(work, [row.id for row in ledger.owed(work)])
    workers = judged.client.get(f"{API}/workers", headers=organiser).json()
    paths = [f"{API}/workers/{one['worker']}/forget" for one in workers if one["batches"]]
    wanted: dict[str, bool] = {"void": True, "sure": True}
    told = judged.client.post(paths[0], json=wanted, headers=organiser)
    assert (told.status_code, told.json()["error"]["code"]) == (409, "released")
    wanted["despite_release"] = True
    # who still has a batch or a promise waits, and who that is differs by the sets that were drawn
    codes = [judged.client.post(path, json=wanted, headers=organiser).status_code for path in paths]
    assert 204 in codes


def test_the_page_of_releases(judged: Server) -> None:
    from tests.web.office import desk, words

    ada, page = desk(judged, "organiser"), "/campaigns/tiny/releases"
    assert "Make a release" in words(ada.get(page))
    assert "No method 'nonsense'" in words(ada.post(page, method="nonsense", sure="yes"))
    asked = ada.post(page, method="mv")
    assert "This cannot be undone." in words(asked)
    assert not judged.client.get(f"{API}/releases", headers=judged.token("organiser")).json()
    made = ada.post(page, method="mv", sure="yes")
    assert made.status_code == 303
    assert "A release is being made." in words(ada.get(page))
    assert tasks.run_one(judged.site.store, judged.settings.folder)
    assert "Release 1 as zip" in ada.get(page).text
    assert "chose" not in words(ada.get(page))
    ada.post(page, method="auto", sure="yes")
    assert tasks.run_one(judged.site.store, judged.settings.folder)
    chosen = judged.client.get(f"{API}/releases", headers=judged.token("organiser")).json()
    assert [bool(made["choice"]) for made in chosen] == [False, True]
    assert f"auto chose: {chosen[1]['choice']}" in words(ada.get(page))
    zipped = ada.get(f"{page}/1/zip")
    assert zipped.content[:2] == b"PK"
    assert ada.get(f"{page}/3/zip").status_code == 404
