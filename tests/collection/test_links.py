"""Signed links: for one person, until a day, of one campaign."""

from __future__ import annotations

import pytest
from tests.collection.making import Site

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
