"""People of an earlier campaign: who agreed, and was surely good enough."""

from __future__ import annotations

from typing import Any

import pytest
from tests.collection.making import PLAN, Site, make_site, material, wrong

from qrowd.collection.database.schema import worker
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.office.panel import people_of_before, refuse_others
from qrowd.collection.people import entry, workers
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.record import audit
from qrowd.errors import RuleError

# gold that nobody can be thrown out by, and much of it
PANEL = PLAN.replace("target = 2", "target = 6") + '[checks.binary]\naction = "none"\n'


@pytest.fixture
def site(url: str) -> Any:
    """Each of four people has answered 12 check questions: only one of them wrongly."""
    made = make_site(url, PANEL, material(topics=4, pool=12, gold_sets=6))
    listed = entry.PersonRow("ann", "Ann", "ann@example.org", "de")
    made.work(audit.perform, "o", "list people", {"people": [listed]})
    for name in ("ann", "bob", "cat", "bad"):
        row = made.work(entry.listed_as, name)
        who = made.work(entry.come_in, entry.Entrant("own", name, None, row)).id
        for _ in range(4):
            made.whole(who, wrong if name == "bad" else None)
    made.work(workers.enter, "own", "bob", name="ignored")
    yield made
    made.store.engine.dispose()


def agree(site: Site, *names: str) -> None:
    with site.store.write("tiny") as work:
        for name in names:
            worker_id = workers.enter(work, "own", name).id
            work.update(worker, worker.c.id == worker_id, ask_again_at=work.now)


def asked(site: Site, passed: float, at_least: int) -> list[entry.PersonRow]:
    with site.store.read("tiny") as work:
        return people_of_before(work, passed, at_least)


def test_who_may_be_asked_again(site: Site) -> None:
    with pytest.raises(RuleError, match="of 4 workers 0 agreed to be asked again"):
        asked(site, 0.7, 12)
    agree(site, "ann", "bob", "bad")
    people = asked(site, 0.75, 12)  # 12 of 12 are surely 12 / (12 + 1.96 ** 2) = .757
    assert people == [
        entry.PersonRow("ann", "Ann", "ann@example.org", "de"),
        entry.PersonRow("bob"),
    ]
    with pytest.raises(
        RuleError, match=r"3 of them answered at least 12 .* none is surely right 76"
    ):
        asked(site, 0.76, 12)
    with pytest.raises(RuleError, match="0 of them answered at least 13"):
        asked(site, 0.5, 13)
    with pytest.raises(RuleError, match="above 0 and below 1"):
        asked(site, 1.0, 1)


def test_not_who_is_out_off_the_list_or_to_be_forgotten(site: Site) -> None:
    agree(site, "ann", "bob", "cat")
    number = site.work(audit.perform, "o", "stop", {"worker": 2})
    assert [row.id for row in asked(site, 0.7, 5)] == ["ann", "cat"]
    site.work(audit.undo, "o", number)
    site.work(audit.perform, "o", "take off list", {"person": 1})
    assert [row.id for row in asked(site, 0.7, 5)] == ["bob", "cat"]
    with site.store.write("tiny") as work:
        work.update(worker, worker.c.number == 3, forget_asked=work.now)
    assert [row.id for row in asked(site, 0.7, 5)] == ["bob"]


def test_of_another_campaign_with_the_same_kind_of_ids(site: Site) -> None:
    for name, more in (("next", ""), ("sent", '[platform]\npreset = "prolific"\nplaces = 5\n')):
        plan = parse_plan(PANEL.replace('"tiny"', f'"{name}"') + more)
        create_campaign(site.store, plan, material())
    with site.store.read("tiny") as before:
        with site.store.read("next") as now:
            refuse_others(before, now)
        with site.store.read("sent") as now, pytest.raises(RuleError, match="have ids of own"):
            refuse_others(before, now)
        with pytest.raises(RuleError, match="the people of this campaign"):
            refuse_others(before, before)
