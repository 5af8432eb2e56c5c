"""Signed links: for one person, until a day, of one campaign."""

from __future__ import annotations

import pytest
from tests.collection.making import Site

from qrowd.collection.database.schema import person
from qrowd.collection.people import workers
from qrowd.errors import RuleError


def test_a_link_is_for_one_person_until_its_day(site: Site) -> None:
    link = site.work(workers.make_link, "ann@example.org", 1)
    assert site.work(workers.open_link, link) == "ann@example.org"
    site.clock.forward(24 * 60 + 1)
    with pytest.raises(RuleError, match="has ended"):
        site.work(workers.open_link, link)


@pytest.mark.parametrize("change", [lambda link: link[:-1], lambda link: "x" + link, lambda _: ""])
def test_a_changed_link_opens_nothing(site: Site, change) -> None:  # type: ignore[no-untyped-def]
    link = site.work(workers.make_link, "ann", 1)
    with pytest.raises(RuleError, match="not complete") as refused:
        site.work(workers.open_link, change(link))
    assert refused.value.code == "expired-link"


ODD = ["", " ", "x" * 401, "a\tb", "a\nb", "a\r=1", "a\0b", "a\x7fb", "a\u2028b", "a\u202eb"]


@pytest.mark.parametrize("odd", ODD)
def test_an_id_is_one_line_of_plain_text(site: Site, odd: str) -> None:
    for act in (workers.make_link, workers.expert, lambda w, p: workers.enter(w, "own", p)):
        with pytest.raises(RuleError) as refused:
            site.work(act, odd)
        assert refused.value.code == "malformed"


@pytest.mark.parametrize(
    "name", ["+49 170 1", "a+b@example.org", "@ann", "=1", "-", "Zoë 雪", "x" * 400]
)
def test_ids_may_hold_what_spreadsheets_run(site: Site, name: str) -> None:
    link = site.work(workers.make_link, name, 1)
    assert site.work(workers.open_link, link) == name
    first = site.work(workers.enter, "own", name)
    assert site.work(workers.enter, "own", name).id == first.id


def test_who_is_known_by_an_odd_id_goes_on(site: Site) -> None:
    worker = site.worker("ann")
    with site.store.write("tiny") as work:
        work.update(person, person.c.worker_id == worker, platform_id="a\tb")
    assert site.work(workers.enter, "own", "a\tb").id == worker
