"""`qrowd report` on a release gives the live page's figures: every number that both show."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.collection.making import PLAN, make_site, material
from tests.web.office import desk
from tests.web.serving import API, Server

import qrowd as q
from qrowd.cli.main import main
from qrowd.collection.adjudication import expert_sample
from qrowd.collection.database.schema import assignment
from qrowd.collection.judging.assignments import by_id, move
from qrowd.collection.plan.rows import CampaignRows
from qrowd.collection.publishing.imports import import_judgements
from qrowd.rendering import plain
from qrowd.reporting.report import study_of
from qrowd.simulation.setting import Setting
from qrowd.web import tasks
from qrowd.web.app import make_app
from qrowd.web.robots.crowd import Crowd
from qrowd.web.robots.rehearsal import judge
from qrowd.web.robots.traffic import Clock
from qrowd.web.settings import Settings

TOPICS, POOL = 3, 10
SEED = 3  # with it, the check questions of `graded` are of one topic: no interval
DRAWN = Setting(good=6, sloppy=3, random=2, yes=1, no=0, pattern=1, biased=0, adversarial=0)


def _plan(way: str, grades: int, gold: int) -> str:
    bound = 2 if grades > 3 else 1
    scale = f"[scale]\ngrades = {list(range(grades))}\nrelevant_from = {bound}\n[sets]"
    plan = PLAN.replace("seed = 1", f'seed = 1\nway = "{way}"').replace("[sets]", scale)
    return plan.replace("gold = 1", f"gold = {gold}")


def _rows(grades: int, gold: int) -> CampaignRows:
    """Material whose gold uses all grades of the scale."""
    made = material(topics=TOPICS, pool=POOL, gold_sets=8 if gold else 0)
    spread = {2: (0, 1, 1), 3: (0, 1, 2), 4: (0, 2, 3)}[grades]
    rows = [replace(row, grade=spread[row.grade or 0]) for row in made.gold]
    return replace(made, gold=rows)


@contextmanager
def _judged(folder: Path, way: str, grades: int, gold: int) -> Iterator[Server]:
    """A campaign that robots have judged, good and bad; with all that may come beside them."""
    from starlette.testclient import TestClient

    where = f"sqlite:///{folder / 'campaign.db'}"
    site = make_site(where, _plan(way, grades, gold), _rows(grades, gold), seed=SEED)
    clock = Clock(site.clock.now)
    object.__setattr__(site.store, "clock", clock)
    judge(
        site.store, clock, folder, "tiny", Crowd(robots=12, setting=DRAWN, seed=4, most_batches=3)
    )
    settings = Settings.of_folder(folder, where, "http://testserver")
    pairs = [(f"t{t}", f"d{t}-{d}") for t in range(TOPICS) for d in range(POOL)]
    for kind, called in (("machine", "gpt-x"), ("expert", "ada")):
        lines = [
            f"{t}\t{d}\t{called}\t{(len(d) + at) % grades}\n" for at, (t, d) in enumerate(pairs)
        ]
        (folder / f"{kind}.tsv").write_text("topic\tdoc\tassessor\tgrade\n" + "".join(lines))
        with site.store.write("tiny") as work:
            import_judgements(work, folder / f"{kind}.tsv", kind)
    with site.store.write("tiny") as work:
        expert_sample.draw_sample(work, 15)
        for case in list(expert_sample.to_judge(work))[:12]:
            pair = expert_sample.pair_named(work, case.topic, case.doc)
            expert_sample.decide(work, "eve", pair, grades - 1, "it says so")
    with site.store.write("tiny") as work:  # all of one worker's answers are void
        batches = work.db.execute(
            assignment.select().where(
                work.own(assignment), assignment.c.state == "accepted", assignment.c.kind == "judge"
            )
        ).all()
        for batch in batches:
            if batch.worker_id == batches[0].worker_id:
                move(work, by_id(work, batch.id), "exclude")
    with TestClient(make_app(settings, site.store)) as client:
        server = Server(site, settings, client)
        for name, step in (("mine", 1), ("theirs", -1), ("other", 3)):
            rows = [
                f"t{t} Q0 d{t}-{(d * step) % POOL} {d} {99 - d} {name}\n"
                for t in range(TOPICS)
                for d in range(POOL)
            ]
            sent = {"file": (f"{name}.run", "".join(rows))}
            headers = server.token("organiser")
            reply = server.client.post(f"{API}/runs", files=sent, headers=headers)
            assert reply.status_code == 201, reply.text
        yield server


def _asked(server: Server, path: str, **body: Any) -> None:
    headers = server.token("organiser")
    reply = server.client.post(f"{API}/{path}", json=body, headers=headers)
    assert reply.status_code == 202, reply.text
    assert tasks.run_one(server.site.store, server.settings.folder)


def _result(server: Server, kind: str) -> dict[str, Any]:
    headers = server.token("organiser")
    done: dict[str, Any] = server.client.get(f"{API}/results/{kind}", headers=headers).json()
    return dict(done["result"])


def _close(one: Any, other: Any, at: str = "") -> None:
    """The same at any depth, numbers but for rounding."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), at
        for key in one:
            _close(one[key], other[key], f"{at}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), at
        for number, each in enumerate(one):
            _close(each, other[number], f"{at}[{number}]")
    elif isinstance(one, float):
        assert other == pytest.approx(one, abs=1e-9), at
    else:
        assert one == other, at


def _words(page: str) -> str:
    bare = re.sub(r"<(style|script|svg).*?</\1>", " ", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", bare)).split())


def _tables(page: str) -> list[dict[str, list[str]]]:
    """The tables of a page: the cells of each row, by its first one."""
    tables = []
    for table in re.findall(r"<tbody.*?</tbody>", page, re.S):
        rows = [
            [_words(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)]
            for row in re.findall(r"<tr.*?</tr>", table, re.S)
        ]
        tables.append({row[0]: row[1:] for row in rows if row})
    return tables


def _table(page: str, *names: str) -> dict[str, list[str]]:
    return next(table for table in _tables(page) if set(names) <= table.keys())


SITUATIONS = {
    "graded": ("grades", 3, 1, "auto"),
    "binary": ("grades", 2, 1, "ds"),
    "relevant from 2": ("grades", 4, 1, "mv"),
    "without gold": ("grades", 3, 0, "auto"),
    "ranked": ("free-ranks", 3, 1, "auto"),
    "slider": ("slider", 2, 1, "auto"),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_number_that_both_show(
    situation: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    way, grades, gold, method = SITUATIONS[situation]
    with _judged(tmp_path, way, grades, gold) as server:
        for kind in ("quality", "systems", "merge"):
            _asked(server, f"results/{kind}", method=method)
        _asked(server, "releases", method=method, sure=True)
        live = {kind: _result(server, kind) for kind in ("quality", "systems", "merge")}
        page = desk(server, "organiser").get("/campaigns/tiny/quality").text
        systems_page = desk(server, "organiser").get("/campaigns/tiny/systems").text
        overview = desk(server, "organiser").get("/campaigns/tiny").text
        files = server.settings.folder / "files" / "1"
        table = (files / "results" / "assessors.tsv").read_text()
        path = files / "releases" / "1.zip"
    done = study_of(q.read_release(path))

    # what was found out, whole: from the release's files alone it is the same
    figures = json.loads(json.dumps(plain(done.quality.plain())))
    assert figures["assessors"] >= 3
    assert (figures["gain"] is not None) == bool(gold)
    assert figures["choice"] or method != "auto"
    _close({key: live["quality"][key] for key in figures}, figures)
    shown = done.wide or done.intervals
    assert shown is not None
    _close(live["systems"]["systems"], json.loads(json.dumps(plain(shown.to_polars().to_dicts()))))
    assert live["systems"]["contenders"] == list(shown.contenders())
    merged = done.merged[done.chosen]
    labels = merged.qrels()
    assert live["merge"]["choice"] == merged.fit.choice
    assert live["merge"]["grades"] == {
        str(grade): int((labels.grade == grade).sum()) for grade in labels.scale.grades
    }

    # the table of assessors, whatever they are called
    head, *rows = [line.split("\t") for line in table.splitlines()]
    mine = done.assessors.to_polars()
    assert head == mine.columns
    from_release = [list(map(str, row)) for row in mine.iter_rows()]
    for one, other in zip(_nameless(rows), _nameless(from_release), strict=True):
        for column, a, b in zip(head[1:], one, other, strict=True):
            same = a == b if isinstance(a, str) else b == pytest.approx(a, nan_ok=True, abs=1e-9)
            assert same, (column, a, b)

    # what is read: the live page, and the report
    target = tmp_path / "report.html"
    main(["report", str(path), "-o", str(target)])
    capsys.readouterr()
    report = target.read_text("utf-8")
    live_words, report_words = _words(page), _words(report)
    for finding in done.quality.findings:
        assert str(finding.text).replace("\u00a0", " ") in live_words.replace("\u00a0", " ")
        if finding.name != "errors":  # a report says more about that
            assert str(finding.text).replace("\u00a0", " ") in report_words.replace("\u00a0", " ")
    assert str(done.quality.answer) in live_words
    assert str(done.quality.answer) in report_words
    verdict = done.independence.verdict[1:]
    assert verdict in live_words
    assert verdict in report_words
    assert _table(page, "raw", "ac1") == _table(report, "raw", "ac1")
    assert f"{done.quality.alpha.value:.2f}" in _words(overview)
    gain = done.quality.gain
    if gain is not None:
        assert gain.known
        assert (gain.topics == 1) == (situation == "graded")
        of_report = _table(report, "single answers", "gained")
        for name, part in (("single", "single answers"), ("merged", "merged answers")):
            share = getattr(gain, name)
            between = " to ".join(f"{100 * end:.1f} %" for end in (share.low, share.high))
            if gain.topics == 1:
                between = "no interval: check questions of one topic only"
            assert between in live_words.replace("\u00a0", " ")
            numbers = [float(cell) if cell != "–" else math.nan for cell in of_report[part]]
            found = [share.value, share.low, share.high]
            assert numbers == pytest.approx(found, abs=6e-4, nan_ok=True)
    for name, cells in _table(systems_page, *_starred(shown)).items():
        in_report = _table(report, *shown.runs.names)[name.removesuffix(" *")]
        assert float(cells[0]) == pytest.approx(float(in_report[0].split()[0]), abs=6e-4)
        low, high = in_report[1].split("(")[1].rstrip(")").split(" … ")
        assert [int(float(cell)) for cell in cells[-4:-1]] == [
            int(float(in_report[1].split()[0])),
            int(float(low)),
            int(float(high)),
        ]
        assert int(cells[-1].split()[0]) == pytest.approx(100 * float(in_report[2]), abs=0.6)


def _starred(shown: q.Intervals) -> list[str]:
    return [f"{name} *" if name in shown.contenders() else name for name in shown.runs.names]


def _nameless(rows: list[list[str]]) -> list[list[Any]]:
    """Rows without names, in an order of their own that rounding does not change."""
    numbers = [[_number(cell) for cell in row[1:]] for row in rows]
    return sorted(numbers, key=lambda row: [f"{x:.6f}" if isinstance(x, float) else x for x in row])


def _number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return float("nan") if cell in ("", "None") else cell
