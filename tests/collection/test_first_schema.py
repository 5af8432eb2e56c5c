"""A database of the first schema goes through every migration, and on from there, on both engines.

Its rows were stored by commit cea8415e, the last one whose newest schema was 0001: a campaign that
runs (a batch half judged, a refusal that is appealed, an expert's sample half done, acts of every
family), one that is over and settled, with somebody forgotten, and a draft. `kept.json` is what
that version exported and said of them. Other generations (`test_stored.py`) began later.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sqlalchemy import select
from tests.collection.conftest import ENGINES
from tests.collection.making import Clock, Site
from tests.collection.stored.make import answer_rest
from tests.collection.test_stored import STORED, restored

from qrowd.cli.main import main
from qrowd.collection.adjudication import appeals, expert_sample
from qrowd.collection.books import ledger
from qrowd.collection.database import opening
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import assignment, worker
from qrowd.collection.database.store import Store, Work
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import submission
from qrowd.collection.judging.assignments import by_id
from qrowd.collection.judging.offer import show
from qrowd.collection.publishing.export import export
from qrowd.collection.record import audit
from qrowd.errors import RuleError, StoreError

FIRST = STORED / "v0001"
KEPT: dict[str, Any] = json.loads((FIRST / "kept.json").read_text(encoding="utf-8"))
NOW = KEPT.pop("now")


@pytest.fixture(params=ENGINES)
def upgraded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """The database of the first schema, which `qrowd campaign upgrade` brought to this one."""
    url = restored(FIRST, request.param, request, tmp_path)
    before = open_store(url, check_version=False)
    assert opening.version(before) == "0001"
    with pytest.raises(StoreError, match="campaign upgrade"):
        opening.refuse_other_version(before)
    before.engine.dispose()
    main(["campaign", "upgrade", url.removeprefix("sqlite:///").replace("+psycopg", "")])
    clock = Clock()
    clock.now = NOW
    store = open_store(url, clock=clock, seed=1)
    yield store
    store.engine.dispose()


def refuse_broken(store: Store) -> None:
    """Every rule of this version must hold in every campaign."""
    for name in KEPT:
        with store.read(name) as work:
            assert (name, broken(work)) == (name, [])


def numbered(work: Work, table: Any) -> dict[str, int]:
    """How many rows of a campaign are in which state."""
    return dict(Counter(work.db.scalars(select(table.c.state).where(work.own(table)))))


def test_everything_is_as_the_first_version_said(upgraded: Store, tmp_path: Path) -> None:
    assert sorted(upgraded.campaigns()) == sorted(KEPT)
    for name, was in KEPT.items():
        with upgraded.read(name) as work:
            export(work, tmp_path / name)
            rows = pl.read_csv(tmp_path / name / "judgements.tsv", separator="\t")
            columns = ["topic", "doc", "assessor", "grade"]
            balance = ledger.balance(work)
            now = {
                "state": work.state,
                "judgements": [] if rows.is_empty() else sorted(map(list, rows[columns].rows())),
                "money": {column: getattr(balance, column) for column in was["money"]},
                "owed": [[row.number, row.amount] for row in ledger.owed(work)],
                "acts": dict(Counter(row.act for row in audit.acts(work))),
                "workers": numbered(work, worker),
                "assignments": numbered(work, assignment),
                "appeals": len(appeals.open_appeals(work)),
                "sample": len(expert_sample.to_judge(work)),
            }
        assert now == was, name
    refuse_broken(upgraded)


def test_work_goes_on_where_it_was_left(upgraded: Store) -> None:
    clock = upgraded.clock
    assert isinstance(clock, Clock)
    site = Site(upgraded, clock, "running", itertools.count(1_000_000))
    with upgraded.read("running") as work:
        half = select(assignment).where(work.own(assignment), assignment.c.state == "active")
        row = work.db.execute(half).one()
        offer = show(work, by_id(work, row.id))
    said = [document.answer is not None for one in offer.sets for document in one.documents]
    assert (sum(said), len(said)) == (3, 8)
    answer_rest(site, row.worker_id, offer)
    site.work(submission.finish, row.worker_id, row.key)
    assert site.work(submission.submit, row.worker_id, row.key).state == "submitted"
    (refusal,) = site.work(appeals.open_appeals)
    answer = {"appeal": refusal.id, "won": True, "reply": "you are right"}
    site.work(audit.perform, "ada", "answer appeal", answer)
    with upgraded.read("running") as work:
        assert numbered(work, assignment) == {"accepted": 3, "excluded": 1, "submitted": 1}
    refuse_broken(upgraded)


def test_acts_of_the_first_version_are_undone(upgraded: Store) -> None:
    """The record had less in it: what cannot be brought back is refused in words."""
    clock = upgraded.clock
    assert isinstance(clock, Clock)
    refused, undone = {}, set()
    for name in KEPT:
        site = Site(upgraded, clock, name)
        with upgraded.read(name) as work:
            rows = audit.acts(work)
        gone = {row.undoes for row in rows}
        for row in (row for row in rows if row.undoes is None and row.id not in gone):
            try:
                site.work(audit.undo, "bob", row.id)
            except RuleError as error:
                refused[name, row.act] = str(error)
            else:
                undone.add(row.act)
    final = dict.fromkeys(("forget", "settle", "message"), "cannot be undone")
    launched = {"launch": "work was given out already"}
    unknown = dict.fromkeys(("accept", "exclude", "answer appeal"), "not in the record")
    restored_since = {"refuse": "cannot restore a batch that is accepted"}  # by the appeal
    why = final | launched | unknown | restored_since
    assert {act for _, act in refused} == why.keys()
    assert {name: said for name, said in refused.items() if why[name[1]] not in said} == {}
    done = {act for was in KEPT.values() for act in was["acts"]} - {"undo pause"}
    assert undone == done - why.keys() | {"refuse"}  # of the other batch
    refuse_broken(upgraded)
