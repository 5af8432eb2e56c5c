"""The net under typed rows: a class that does not tell the truth about its query is found out."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import literal, null, select
from tests.collection.making import Site

from qrowd.collection.database.schema import TypedRow, Worker, total, worker


class Sum(TypedRow):
    """A query's own columns."""

    n: int
    name: str | None


def test_rows_are_what_their_class_says(site: Site) -> None:
    with site.store.read(site.name) as work:
        query = select(literal(1).label("n"), null().label("name"))
        assert work.existing(query, "", Sum).n == 1
        whole = select(total(worker.c.number).label("n"), literal("w").label("name"))
        assert work.rows(whole, Sum)[0].n == 0  # not a decimal


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ((literal(1).label("n"),), "declares ['name']"),
        ((literal("1").label("n"), literal("a").label("name")), "n is '1'"),
        ((literal(1.0).label("n"), literal("a").label("name")), "n is 1.0"),
        ((null().label("n"), literal("a").label("name")), "n is None"),
        ((literal(1).label("n"), literal(b"a").label("name")), "name is b'a'"),
    ],
)
def test_a_class_that_lies_is_refused(site: Site, columns: tuple[Any, ...], complaint: str) -> None:
    with site.store.read(site.name) as work:
        for ask in (
            lambda: work.rows(select(*columns), Sum),
            lambda: work.row(select(*columns), Sum),
            lambda: work.existing(select(*columns), "", Sum),
            lambda: Sum.rows(work.db, select(*columns)),
        ):
            with pytest.raises(AssertionError) as lie:
                ask()
            assert complaint in str(lie.value)


def test_columns_of_a_table_are_looked_at_too(site: Site) -> None:
    worker_id = site.worker("ann")
    with site.store.read(site.name) as work:
        one = worker.c.id == worker_id
        assert work.existing(select(worker).where(one), "", Worker).name is None
        with pytest.raises(AssertionError, match="declares"):
            work.rows(select(worker.c.id).where(one), Worker)
