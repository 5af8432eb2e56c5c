"""Statements written by hand that would break a rule: the database refuses each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import exc as sql_errors
from sqlalchemy import text
from tests.collection.making import PLAN, Site, make_site

_FILE = Path(__file__).with_name("forbidden.sql").read_text()
FORBIDDEN = dict(re.findall(r"^-- (.+)\n((?:[^-\n].*\n)+)", _FILE, re.MULTILINE))
REFUSED = (sql_errors.IntegrityError, sql_errors.InternalError, sql_errors.OperationalError)


@pytest.fixture
def busy(url: str) -> Iterator[Site]:
    """A campaign with batches that are accepted, returned and active, and an accepted consent."""
    from qrowd.collection.judging import submission
    from qrowd.collection.people import workers

    plan = PLAN.replace("[sets]", '[people]\nconsent = "yes"\n[sets]')
    site = make_site(url, plan)
    ann, bob, cat = (site.worker(name) for name in ("ann", "bob", "cat"))
    for one in (ann, bob, cat):
        site.work(workers.give_consent, one, "1")
    site.whole(ann)
    site.work(submission.give_back, bob, site.next(bob).key)
    offer = site.next(cat)
    site.say(cat, offer.sets[0].key, 1, 1)
    yield site
    site.store.engine.dispose()


def test_statements_that_would_break_a_rule_are_refused(busy: Site) -> None:
    assert len(FORBIDDEN) > 30
    allowed = []
    for what, statement in FORBIDDEN.items():
        with busy.store.engine.connect() as db, db.begin() as step:
            try:
                db.execute(text(statement))
            except (
                sql_errors.IntegrityError,
                sql_errors.InternalError,
                sql_errors.OperationalError,
            ):
                step.rollback()
            else:
                allowed.append(what)
                step.rollback()
    assert allowed == []


def test_the_statements_are_refused_for_a_rule_and_not_for_a_slip(busy: Site) -> None:
    reasons = {}
    for what, statement in FORBIDDEN.items():
        with busy.store.engine.connect() as db, db.begin() as step:
            with pytest.raises(sql_errors.DBAPIError) as found:
                db.execute(text(statement))
            step.rollback()
        reasons[what] = str(found.value.orig)
    slips = ("syntax", "no such", "does not exist", "NOT NULL", "null value", "ambiguous")
    assert {what: said for what, said in reasons.items() if any(s in said for s in slips)} == {}
