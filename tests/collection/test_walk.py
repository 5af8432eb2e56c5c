"""One worker's way, from the link to the pay, on both engines."""

from __future__ import annotations

from pathlib import Path

from tests.collection.making import EXCLUDING, Site, make_site, wrong

from qrowd.collection.books import ledger
from qrowd.collection.judging.offer import Offer


def test_from_the_first_batch_to_the_pay(site: Site) -> None:
    worker = site.worker("ann")
    ended = site.whole(worker)
    assert ended.state == "accepted"
    assert ended.earned == 100
    assert site.work(ledger.balance) == ledger.Balance(10000, 9900, 0, 100, 0)


def test_who_misses_gold_is_paid_and_excluded(tmp_path: Path) -> None:
    site = make_site(f"sqlite:///{tmp_path / 'campaign.db'}", EXCLUDING)
    worker = site.worker("bob")
    ended = site.whole(worker, wrong)
    assert (ended.state, ended.failed) == ("excluded", ("binary",))
    assert site.work(ledger.balance).owed == 100


def test_a_batch_has_its_gold_and_two_sets_of_different_topics(site: Site) -> None:
    offer = site.next(site.worker("ann"))
    assert isinstance(offer, Offer)
    assert len(offer.sets) == 3
