"""Signed links: for one person, until a day, of one campaign; nobody reads from one whose it is."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest
from itsdangerous import URLSafeSerializer
from tests.collection.making import MINUTE, Site

from qrowd.collection.database.schema import person
from qrowd.collection.database.verification import broken
from qrowd.collection.office import erasure
from qrowd.collection.people import entry, workers
from qrowd.collection.record import audit
from qrowd.errors import RuleError

DAY = 24 * 60


def opened(site: Site, link: str) -> int:
    """The worker who comes in by a link."""
    return int(site.work(lambda work: entry.come_in(work, entry.admitted(work, link))).id)


def of_before(site: Site, person: str, days: int = 30) -> str:
    """A link as versions before lists made it: its text says who and until when."""
    until = site.clock.now + days * DAY * MINUTE
    secret = site.work(workers.secret_of)
    signer = URLSafeSerializer(secret, salt="worker-link")
    return str(signer.dumps({"person": person, "until": until}))


def test_a_link_is_for_one_person_until_its_day(site: Site) -> None:
    link = site.work(entry.make_link, "ann@example.org", 1)
    ann = opened(site, link)
    assert opened(site, link) == ann
    assert opened(site, site.work(entry.make_link, "ann@example.org", 1)) == ann
    assert opened(site, site.work(entry.make_link, "bob", 9)) != ann
    site.clock.forward(DAY + 1)
    with pytest.raises(RuleError, match="has ended"):
        opened(site, link)


@pytest.mark.parametrize("change", [lambda link: link[:-1], lambda link: "x" + link, lambda _: "x"])
def test_a_changed_link_opens_nothing(site: Site, change: Callable[[str], str]) -> None:
    link = site.work(entry.make_link, "ann", 1)
    with pytest.raises(RuleError, match="not complete") as refused:
        opened(site, change(link))
    assert refused.value.code == "expired-link"


def test_nobody_reads_a_name_from_a_link(site: Site) -> None:
    link = site.work(entry.make_link, "ann@example.org", 1)
    payload = link.split(".")[0]
    text = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    assert b"ann" not in link.encode() + text
    assert b"ann" in base64.urlsafe_b64decode(of_before(site, "ann").split(".")[0] + "===")


def test_links_of_before_go_on_until_they_expire(site: Site) -> None:
    link = of_before(site, "ann", 3)
    ann = opened(site, link)
    assert opened(site, site.work(entry.make_link, "ann")) == ann  # by a new link the same
    assert opened(site, of_before(site, "ann")) == ann
    site.clock.forward(3 * DAY)
    with pytest.raises(RuleError, match="has ended"):
        opened(site, link)


def test_a_link_leads_to_the_worker_who_is_known_by_that_name(site: Site) -> None:
    """Also where somebody came by an id, by a link of before, or has another id than the name."""
    ann = site.worker("ann")
    assert opened(site, site.work(entry.make_link, "ann")) == ann
    bob = site.work(workers.enter, "link", "bob").id
    assert opened(site, site.work(entry.make_link, "bob")) == bob
    assert opened(site, of_before(site, "bob")) == bob
    cat = site.work(workers.enter, "own", "c17", name="Cat", address="cat@example.org").id
    for name in ("Cat", "cat@example.org", "c17"):
        assert opened(site, site.work(entry.make_link, name)) == cat
    dan = opened(site, of_before(site, "dan"))
    site.work(entry.put_on_list, [entry.PersonRow("dan", "Dan Deer")])
    assert opened(site, site.work(entry.make_link, "Dan Deer")) == dan


def test_a_name_of_several_people_must_be_an_id(site: Site) -> None:
    site.work(entry.put_on_list, [entry.PersonRow("p1", "Ann"), entry.PersonRow("p2", "Ann")])
    with pytest.raises(RuleError, match="'Ann' is several people; say which id: p1, p2"):
        site.work(entry.make_link, "Ann")


def test_links_are_revoked_and_that_is_undone(site: Site) -> None:
    first, second = (site.work(entry.make_link, "ann") for _ in range(2))
    ann = opened(site, first)
    number = site.work(entry.listed_as, "ann").id
    act = site.work(audit.perform, "o", "revoke links", {"person": number})
    for link in (first, second):
        with pytest.raises(RuleError, match="has ended"):
            opened(site, link)
    assert opened(site, site.work(entry.make_link, "ann")) == ann
    site.work(audit.undo, "o", act)
    assert opened(site, first) == ann


def test_who_is_taken_off_the_list_has_no_door(site: Site) -> None:
    links = [site.work(entry.make_link, "ann"), of_before(site, "ann")]
    ann = opened(site, links[0])
    number = site.work(entry.listed_as, "ann").id
    act = site.work(audit.perform, "o", "take off list", {"person": number})
    for link in links:
        with pytest.raises(RuleError, match="has ended"):
            opened(site, link)
    site.work(audit.undo, "o", act)
    assert {opened(site, link) for link in links} == {ann}


def test_a_link_of_another_campaign_opens_nothing(site: Site) -> None:
    from tests.collection.making import PLAN, material

    from qrowd.collection.material.campaign_rows import create_campaign
    from qrowd.collection.plan.toml import parse_plan

    create_campaign(site.store, parse_plan(PLAN.replace('"tiny"', '"other"')), material())
    link = site.work(entry.make_link, "ann")
    with site.store.write("other") as work, pytest.raises(RuleError, match="not complete"):
        entry.admitted(work, link)


ODD = ["", " ", "x" * 401, "a\tb", "a\nb", "a\r=1", "a\0b", "a\x7fb", "a\u2028b", "a\u202eb"]


@pytest.mark.parametrize("odd", ODD)
def test_an_id_is_one_line_of_plain_text(site: Site, odd: str) -> None:
    for act in (entry.make_link, workers.expert, lambda w, p: workers.enter(w, "own", p)):
        with pytest.raises(RuleError) as refused:
            site.work(act, odd)
        assert refused.value.code == "malformed"


@pytest.mark.parametrize(
    "name", ["+49 170 1", "a+b@example.org", "@ann", "=1", "-", "Zoë 雪", "x" * 400]
)
def test_ids_may_hold_what_spreadsheets_run(site: Site, name: str) -> None:
    first = opened(site, site.work(entry.make_link, name, 1))
    assert site.work(entry.listed_as, name).worker_id == first
    assert site.work(workers.enter, "own", name).id == first


def test_who_is_known_by_an_odd_id_goes_on(site: Site) -> None:
    worker = site.worker("ann")
    with site.store.write("tiny") as work:
        work.update(person, person.c.worker_id == worker, platform_id="a\tb")
    assert site.work(workers.enter, "own", "a\tb").id == worker


def test_forgetting_erases_the_list_and_links(site: Site) -> None:
    """Of a worker, and of somebody on the list who never came in; nothing is left in the record."""
    secret = ("Zebulon", "zeb@quux.example", "zeb-77")
    for number in (1, 2):
        row = entry.PersonRow(f"zeb-77{number}", f"Zebulon {number}", f"{number}zeb@quux.example")
        site.work(audit.perform, "o", "list people", {"people": [row]})
    link = site.work(entry.make_link, "Zebulon 1")
    key = site.work(entry.people)[0].key
    worker = site.work(workers.worker_of, opened(site, link))
    absent = site.work(entry.listed_as, "zeb-772").id
    with pytest.raises(RuleError, match=f"p{absent - 1} is worker w{worker.number}: forget that"):
        erasure.forget_listed(site.store, "tiny", absent - 1, who="o")
    erasure.forget(site.store, "tiny", worker.number, who="o")
    erasure.forget_listed(site.store, "tiny", absent, who="o")
    assert site.work(entry.people) == []
    with pytest.raises(RuleError, match="has ended"):
        opened(site, link)
    with site.store.read("tiny") as work:
        assert broken(work) == []
        assert not [row for row in audit.acts(work) if any(word in row.details for word in secret)]
    if site.store.is_sqlite:
        path = Path(str(site.store.engine.url.database))
        kept = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
        assert not [word for word in (*secret, key) if str(word).encode() in kept]
