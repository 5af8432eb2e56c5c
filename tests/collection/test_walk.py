"""One worker's way, from the link to the pay, on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.collection.making import EXCLUDING, Site, make_site, wrong

from qrowd.collection.books import ledger
from qrowd.collection.judging import queue
from qrowd.collection.judging.offer import Offer
from qrowd.errors import RuleError


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


def test_the_end_of_a_batch_and_the_next_one_in_one_step(site: Site) -> None:
    worker = site.worker("ann")
    first = site.next(worker)
    with pytest.raises(RuleError, match="document"):
        site.work(queue.end_batch, worker, first.key, go_on=True)
    site.judge(worker, first)
    ending = site.work(queue.end_batch, worker, first.key, go_on=True)
    assert (ending.ended.state, ending.ended.earned) == ("accepted", 100)
    assert ending.batch == site.next(worker)
    assert ending.batch.key != first.key
    again = site.work(queue.end_batch, worker, first.key, go_on=True)  # its reply was lost
    assert (again.ended, again.batch) == (ending.ended, ending.batch)
    site.judge(worker, ending.batch)
    last = site.work(queue.end_batch, worker, ending.batch.key, go_on=False)
    assert last.ended.state == "accepted"
    assert last.batch is last.nothing is None


def test_what_was_missed_is_read_before_the_batch_is_handed_in(tmp_path: Path) -> None:
    site = make_site(f"sqlite:///{tmp_path / 'campaign.db'}", EXCLUDING)
    worker = site.worker("bob")
    offer = site.next(worker)
    site.judge(worker, offer, wrong)
    ending = site.work(queue.end_batch, worker, offer.key, go_on=True)
    assert ending.finished.state == "finished"
    assert ending.finished.missed
    assert ending.ended is ending.batch is ending.nothing is None


def test_a_batch_has_its_gold_and_two_sets_of_different_topics(site: Site) -> None:
    offer = site.next(site.worker("ann"))
    assert isinstance(offer, Offer)
    assert len(offer.sets) == 3
