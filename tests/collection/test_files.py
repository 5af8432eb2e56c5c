"""Exports, imports, backups and moves: the same bytes from either engine."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.event import listen
from tests.collection.conftest import fresh_postgresql
from tests.collection.making import PLAN, Site, make_site, wrong

import qrowd as q
from qrowd.collection.database import transfer
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import event
from qrowd.collection.database.store import Store
from qrowd.collection.database.verification import broken
from qrowd.collection.publishing.export import export
from qrowd.collection.publishing.imports import import_judgements
from qrowd.errors import InputError, StoreError

RANKED = PLAN.replace("[sets]", 'way = "free-ranks"\n[sets]')


@pytest.fixture
def judged(site: Site) -> Site:
    """A campaign in which three workers did what they could."""
    for name in ("ann", "bob", "cat"):
        worker = site.worker(name)
        while getattr(site.whole(worker), "state", "") == "accepted":
            pass
    site.whole(site.worker("dan"), wrong)
    return site


def files_of(store: Store, name: str, folder: Path) -> dict[str, bytes]:
    """All files of an export."""
    with store.read(name) as work:
        export(work, folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_an_export_is_read_by_the_library(judged: Site, tmp_path: Path) -> None:
    with judged.store.read("tiny") as work:
        done = export(work, tmp_path / "out", parquet=True)
    crowd = q.read_judgements(tmp_path / "out" / "judgements.tsv")
    rows = {one.name: one.rows for one in done}
    assert len(crowd) == rows["judgements.tsv"] == 2 * 21
    assert (
        q.read_judgements(tmp_path / "out" / "judgements.parquet")
        .to_polars()
        .equals(crowd.to_polars())
    )
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["files"]["judgements.tsv"]["rows"] == 42
    assert manifest["spent"]["owed"] > 0


def other_engine(store: Store, folder: Path, server: Any) -> Store:
    """An empty database of the engine that this one is not."""
    where = fresh_postgresql(server) if store.is_sqlite else str(folder / "moved.db")
    return open_store(where, new=True)


def test_a_move_to_the_other_engine_and_back_gives_the_same_bytes(
    judged: Site, tmp_path: Path, postgresql: Any
) -> None:
    before = files_of(judged.store, "tiny", tmp_path / "before")
    there = other_engine(judged.store, tmp_path, postgresql)
    transfer.move(judged.store, there)
    assert files_of(there, "tiny", tmp_path / "there") == before
    back = open_store(tmp_path / "back.db", new=True)
    transfer.move(there, back)
    assert files_of(back, "tiny", tmp_path / "back") == before
    moved = Site(back, judged.clock)
    assert moved.whole(moved.worker("eve")) is not None  # work goes on under the rules
    with back.read("tiny") as work:
        assert broken(work) == []
    with pytest.raises(StoreError, match="not empty"):
        transfer.move(judged.store, there)
    there.engine.dispose()
    back.engine.dispose()


def test_a_backup_under_load_is_one_commit(judged: Site, tmp_path: Path) -> None:
    stop, counts = threading.Event(), []

    def load() -> None:
        at = 0
        while not stop.is_set():
            worker = judged.worker(f"load {at}")
            judged.next(worker)
            at += 1

    thread = threading.Thread(target=load)
    thread.start()
    try:
        for number in range(3):
            path = transfer.backup(judged.store, tmp_path / f"b{number}.db")
            copy = open_store(path)
            with copy.read("tiny") as work:
                assert broken(work) == []
                counts.append(work.db.scalar(select(func.count()).select_from(event)) or 0)
            copy.engine.dispose()
    finally:
        stop.set()
        thread.join()
    assert counts[0] > 0
    with pytest.raises(StoreError, match="file already"):
        transfer.backup(judged.store, tmp_path / "b0.db")


def test_a_backup_that_does_not_fit_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site(f"sqlite:///{tmp_path / 'c.db'}")
    (tmp_path / "there").mkdir()
    connect = sqlite3.connect

    def full(where: Any, *more: Any, **named: Any) -> Any:
        found = connect(where, *more, **named)
        if "there" in str(where):
            found.execute("PRAGMA max_page_count = 2")
        return found

    monkeypatch.setattr("qrowd.collection.database.transfer.sqlite3.connect", full)
    with pytest.raises(StoreError, match="the copy failed: database or disk is full"):
        transfer.backup(site.store, tmp_path / "there" / "b.db")
    assert list((tmp_path / "there").iterdir()) == []
    site.store.engine.dispose()


def test_a_backup_is_restored(judged: Site, tmp_path: Path) -> None:
    path = transfer.backup(judged.store, tmp_path / "b.db")
    fresh = open_store(tmp_path / "restored.db", new=True)
    transfer.restore(path, fresh)
    before = files_of(judged.store, "tiny", tmp_path / "one")
    assert files_of(fresh, "tiny", tmp_path / "two") == before
    fresh.engine.dispose()


def test_machine_judges_come_in_and_never_count(judged: Site, tmp_path: Path) -> None:
    file = tmp_path / "machine.tsv"
    rows = "".join(f"t{t}\td{t}-{d}\tjudge-1\t1\t0.103\t\n" for t in range(3) for d in range(7))
    file.write_text(f"topic\tdoc\tassessor\tgrade\tseconds\ttime\n{rows}t9\tx\tjudge-1\t1\t\t\n")
    done = judged.work(import_judgements, file)
    assert (done.judgements, done.assessors, done.unknown) == (21, 1, 1)
    with judged.store.read("tiny") as work:
        assert broken(work) == []
        export(work, tmp_path / "out")
    crowd = q.read_judgements(tmp_path / "out" / "judgements.tsv")
    assert len(crowd) == 42 + 21
    assert "judge-1" in crowd.assessors
    text = (tmp_path / "out" / "judgements.tsv").read_text()
    assert text.count("\tjudge-1\t1\t0.103\t") == 21


def test_a_machine_judges_in_parts_and_nothing_twice(site: Site, tmp_path: Path) -> None:
    head = "topic\tdoc\tassessor\tgrade\n"
    for number in range(7):  # documents of the same sets, one file each
        file = tmp_path / f"{number}.tsv"
        file.write_text(f"{head}t0\td0-{number}\tm\t1\n")
        assert site.work(import_judgements, file).judgements == 1
    with pytest.raises(InputError, match=r"6\.tsv:2: m judged t0 d0-6 in an earlier import"):
        site.work(import_judgements, file)
    with site.store.read("tiny") as work:
        assert broken(work) == []
        assert work.db.scalar(select(func.count()).select_from(event)) == 7


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("t0\td0-0\tm\t7\n", "grade 7 is not on the scale 0 1 2"),
        ("t0\td0-0\tm\tx\n", "must be numbers"),
        ("t0\td0-0\tm\n", "has 3 columns"),
        ("t0\td0-0\tm\t1\nt0\td0-0\tm\t2\n", "twice"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_stored(
    site: Site, tmp_path: Path, line: str, said: str
) -> None:
    file = tmp_path / "machine.tsv"
    file.write_text(f"topic\tdoc\tassessor\tgrade\n{line}")
    with pytest.raises(InputError, match=said):
        site.work(import_judgements, file)
    with site.store.read("tiny") as work:
        assert work.db.scalar(select(func.count()).select_from(event)) == 0


def test_an_import_goes_through_the_file_row_by_row(tmp_path: Path) -> None:
    """In any other order a large file takes hours."""
    site = make_site(f"sqlite:///{tmp_path / 'c.db'}")
    plans: list[list[str]] = []

    def explain(_: Any, cursor: Any, statement: str, values: Any, *__: Any) -> None:
        if "incoming i" in statement:
            rows = cursor.connection.cursor()
            rows.execute(f"EXPLAIN QUERY PLAN {statement}", values)
            plans.append([row[3] for row in rows.fetchall()])

    listen(site.store.engine, "before_cursor_execute", explain)
    file = tmp_path / "machine.tsv"
    file.write_text("topic\tdoc\tassessor\tgrade\nt0\td0-0\tm\t1\n")
    site.work(import_judgements, file)
    assert len(plans) == 3
    for plan in plans:
        assert "SCAN i" in plan
        assert not any(step.startswith("SEARCH i ") for step in plan)
    site.store.engine.dispose()


KINDS = "topic\tdoc\tassessor\tgrade\tkind\n"


def test_a_file_says_who_is_a_machine_and_who_an_expert(judged: Site, tmp_path: Path) -> None:
    file = tmp_path / "both.tsv"
    rows = ("m\t1\t", "ute\t2\tExpert", "gpt\t0\tmachine")  # of m it says nothing
    lines = [f"t0\td0-{d}\t{row}\n" for row in rows for d in range(2)]
    lines.append("t0\td0-2\tute\t2\t\n")  # once is enough
    file.write_text(KINDS + "".join(lines))
    done = judged.work(import_judgements, file)
    assert (done.judgements, done.assessors) == (7, 3)
    with judged.store.read("tiny") as work:
        assert broken(work) == []
        export(work, tmp_path / "out")
    crowd = q.read_judgements(tmp_path / "out" / "judgements.tsv")
    assert crowd.kinds is not None
    kinds = dict(zip(crowd.assessors, crowd.kinds, strict=True))
    assert {name for name, kind in kinds.items() if kind == "machine"} == {"gpt", "m"}
    assert {kind for name, kind in kinds.items() if name[0] == "w"} == {"person"}
    controls = (tmp_path / "out" / "controls.tsv").read_text()
    assert controls.count("\tute\t") == controls.count("\texpert\n") == 3


def test_as_says_what_they_are_whatever_the_file_says(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "people.tsv"
    file.write_text(f"{KINDS}t0\td0-0\tann\t1\tperson\nt0\td0-0\tbob\t1\tgold\n")
    assert site.work(import_judgements, file, "machine").judgements == 2
    with site.store.read("tiny") as work:
        export(work, tmp_path / "out")
    crowd = q.read_judgements(tmp_path / "out" / "judgements.tsv")
    assert crowd.kind_counts == {"machine": 2}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("ann\t1\tperson", r":2: ann is a person, .*; else say what they are: --as machine"),
        ("ann\t1\tgold", r":2: kind must be machine or expert, got 'gold'; or say"),
        (
            "ann\t1\texpert\nt0\td0-1\tann\t1\tmachine",
            r":3: the kind of assessor ann is machine here and expert before",
        ),
    ],
)
def test_other_kinds_are_refused_and_nothing_is_stored(
    site: Site, tmp_path: Path, rows: str, said: str
) -> None:
    file = tmp_path / "kinds.tsv"
    file.write_text(f"{KINDS}t0\td0-0\t{rows}\n")
    with pytest.raises(InputError, match=said):
        site.work(import_judgements, file)
    with site.store.read("tiny") as work:
        assert work.db.scalar(select(func.count()).select_from(event)) == 0


def test_a_machine_that_is_called_like_a_number_stays_apart(judged: Site, tmp_path: Path) -> None:
    file = tmp_path / "machine.tsv"
    file.write_text("topic\tdoc\tassessor\tgrade\nt0\td0-0\tw1\t1\n")
    judged.work(import_judgements, file)
    with judged.store.read("tiny") as work:
        export(work, tmp_path / "out")
    crowd = q.read_judgements(tmp_path / "out" / "judgements.tsv")
    assert list(crowd.of_kind("machine").assessors) == ["w1"]
    assert list(crowd.of_kind("person").assessors) == ["w2", "ww1"]


@pytest.fixture
def ranked(url: str) -> Iterator[Site]:
    site = make_site(url, RANKED)
    yield site
    site.store.engine.dispose()


def test_rankings_are_exported_as_orders(ranked: Site, tmp_path: Path) -> None:
    from qrowd.collection.judging import submission

    worker = ranked.worker("ann")
    offer = ranked.next(worker)
    ranked.judge(worker, offer)
    for shown in offer.sets:
        grades = [int(document.title.split()[-1]) for document in shown.documents]
        order = sorted(range(len(grades)), key=lambda at: -grades[at])
        ranks = tuple(order.index(at) + 1 for at in range(len(grades)))
        ranked.say(worker, shown.key, 0, None, kind="ranking", ranks=ranks)
    ranked.work(submission.finish, worker, offer.key)
    assert ranked.work(submission.submit, worker, offer.key).state == "accepted"
    with ranked.store.read("tiny") as work:
        export(work, tmp_path / "out")
    orders = (tmp_path / "out" / "orders.tsv").read_text().splitlines()
    judged = (tmp_path / "out" / "judgements.tsv").read_text().splitlines()
    assert len(orders) == len(judged)
    grade = {tuple(row.split("\t")[:2]): int(row.split("\t")[3]) for row in judged[1:]}
    ballots: dict[str, list[tuple[int, int]]] = {}
    for row in orders[1:]:
        ballot, topic, doc, _, place = row.split("\t")
        ballots.setdefault(ballot, []).append((int(place), grade[topic, doc]))
    for found in ballots.values():
        by_place = [given for _, given in sorted(found)]
        assert by_place == sorted(by_place, reverse=True)


def test_every_connection_is_safe(tmp_path: Path) -> None:
    store = open_store(tmp_path / "x.db", new=True)
    with store.snapshot() as one, store.snapshot() as two:
        for db in (one, two):
            assert db.exec_driver_sql("PRAGMA synchronous").scalar() == 2
            assert db.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
            assert db.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    store.engine.dispose()
    assert sqlite3.sqlite_version_info >= (3, 35)


def test_writing_waits_for_others_and_says_so_when_that_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site(f"sqlite:///{tmp_path / 'c.db'}")
    monkeypatch.setattr("qrowd.collection.database.store.BUSY_MS", 60)
    process = sqlite3.connect(tmp_path / "c.db", isolation_level=None)
    process.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked; somebody else is writing"), site.store.write(1):
        pass
    process.execute("END")
    process.close()
    with (
        site.store.turn,  # as another thread has it
        pytest.raises(StoreError, match="locked; somebody else is writing"),
        site.store.write(1),
    ):
        pass
    with site.store.write(1) as work:
        assert work.name == "tiny"
    site.store.engine.dispose()
