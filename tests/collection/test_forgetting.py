"""Somebody who was written to, qualified elsewhere, judged and was paid is erased: nowhere is left
a name, an id, an address, nor what a mail server said of them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.collection.making import PLAN, Site, make_site, material
from tests.collection.test_rules import everywhere

from qrowd.collection.database.schema import audit as audit_table
from qrowd.collection.database.schema import declined, letter, listed_person, worker
from qrowd.collection.database.verification import broken
from qrowd.collection.office import erasure
from qrowd.collection.office.acts.money import Payout, Settle
from qrowd.collection.office.acts.people import Passed, QualifyPeople
from qrowd.collection.office.panel import people_of_before
from qrowd.collection.office.payout import payout_table, read_payout
from qrowd.collection.people import entry, letters
from qrowd.collection.people.entry import PersonRow
from qrowd.collection.publishing import qualification
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.io.people import save_people

MAIL = '[mail]\ncontact = "office@example.org"\n'
TESTED = f"{PLAN}[qualification]\nsets = 1\n{MAIL}"
# of somebody who judged, and of somebody who never came
CAME = ("Zebulon Quux", "platform-id-77", "zebulon@quux.example")
ABSENT = ("Yolanda Fnord", "platform-id-88", "yolanda@fnord.example")
SECRETS = (*CAME, *ABSENT, "no such mailbox of Fnord")


@pytest.fixture
def site(url: str) -> Iterator[Site]:
    made = make_site(url, TESTED, material(qualification=2))
    yield made
    made.store.engine.dispose()


def invite(site: Site, *people: tuple[str, str, str]) -> None:
    rows = [PersonRow(number, name, email) for name, number, email in people]
    site.work(audit.perform, "o", "invite people", {"people": rows})
    for waiting in site.work(letters.waiting):
        site.work(letters.begin, waiting.letter)
        kind = "refused" if waiting.email == ABSENT[2] else "sent"
        site.work(letters.done, waiting.letter, letters.Outcome(kind, f"550 {SECRETS[-1]}"))


def qualify(site: Site, file: Path, *ids: str) -> None:
    with site.store.read("tiny") as work:
        table = qualification.task_table(work)
    rows = [
        f"{person},{topic},{doc},{doc.split('-')[1]}"
        for person in ids
        for topic, doc in zip(table["topic"], table["doc"], strict=True)
    ]
    file.write_text("\n".join(["worker,topic,doc,grade", *rows]))
    results = site.work(qualification.read_results, str(file))
    shares = {result.person: result.share for result in results if result.passed}
    assert set(shares) == set(ids)
    site.work(audit.perform, "o", QualifyPeople(passed=Passed(shares)))


def pay(site: Site, file: Path) -> None:
    with site.store.write("tiny") as work:
        save_people(payout_table(work), file)
        act = Settle(payout=Payout(read_payout(work, file)))
        audit.perform(work, "o", act, sure=True)


def test_nothing_is_left_of_a_person(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "qrowd")
    outside = tmp_path / "outside"  # what the organiser keeps elsewhere
    outside.mkdir()
    invite(site, CAME, ABSENT)
    qualify(site, outside / "results.csv", CAME[1], ABSENT[1])
    site.work(audit.perform, "o", "mark refused", {"addresses": [CAME[2]]})
    link = site.work(entry.make_link, CAME[1])
    came = site.work(lambda work: entry.come_in(work, entry.admitted(work, link)))
    assert came.state == "qualified"
    site.whole(came.id)
    with site.store.write("tiny") as work:
        work.update(worker, worker.c.id == came.id, ask_again_at=work.now)
    pay(site, outside / "payout.csv")
    own = site.work(erasure.my_data, came.id)
    assert own["listed_person"][0]["email"] == CAME[2]
    assert own["listed_person"][0]["test_share"] == 1
    assert len(own["letter"]) == 1
    before = everywhere(site, tmp_path / "before", SECRETS)
    assert all(before.values()), before  # the search finds what is there
    erasure.forget(site.store, "tiny", came.number, who="o")
    half = everywhere(site, tmp_path / "half", SECRETS)
    assert not any(half[secret] for secret in CAME)
    assert all(half[secret] for secret in ABSENT)
    absent = site.work(entry.listed_as, ABSENT[1]).id
    erasure.forget_listed(site.store, "tiny", absent, who="o")
    assert everywhere(site, tmp_path / "after", SECRETS) == {secret: [] for secret in SECRETS}
    with site.store.read("tiny") as work:
        assert broken(work) == []
        for table in (letter, listed_person, declined):
            assert work.count(table) == 0
        done = select(audit_table.c.details).where(audit_table.c.act != "launch")
        for details in work.db.scalars(done):
            assert_numbers_only(json.loads(details))
        assert qualification.qualified_ids(work) == []
        assert payout_table(work)["worker"] == []
        assert letters.list_of(work)["email"] == []
        with pytest.raises(RuleError, match="0 agreed to be asked again"):
            people_of_before(work, 0.5, 1)
    logged = "\n".join(str(vars(record)) + record.getMessage() for record in caplog.records)
    assert "act" in logged
    assert not [secret for secret in SECRETS if secret in logged]


def assert_numbers_only(value: object) -> None:
    """Details of the acts here are numbers, and lists of numbers."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            assert_numbers_only(each)
    else:
        assert isinstance(value, int | float), value


def test_who_declined_and_is_paid_leaves_hashes_only(site: Site, tmp_path: Path) -> None:
    invite(site, ABSENT)
    key = site.work(entry.people)[0].key
    link = site.work(entry.link_text, key)
    site.work(letters.decline, link)
    erasure.scrub(site.store)
    assert everywhere(site, tmp_path / "after", ABSENT) == {secret: [] for secret in ABSENT}
    # nor does a qualification elsewhere bring them back
    with pytest.raises(RuleError, match="none of them is new"):
        qualify(site, tmp_path / "results.csv", ABSENT[1])
    assert site.work(entry.people) == []
