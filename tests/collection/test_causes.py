"""The overview's first sentence names what goes wrong, and is silent of healthy campaigns."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.causes import NAME, SITUATIONS, Situation, campaign, healthy_setting, lived, seen
from tests.collection.making import PLAN, Site, make_site, material

from qrowd.collection.database.schema import assignment, place
from qrowd.collection.office.causes import surely_above
from qrowd.collection.office.todo import overview
from qrowd.collection.plan.sections import DAY
from qrowd.collection.record import audit
from qrowd.quality.copies import copies


@pytest.mark.parametrize("made", SITUATIONS, ids=lambda each: each.cause)
def test_the_first_sentence_names_the_cause(made: Situation) -> None:
    looked, sentence = seen(made.setting, made.live, 90_210)
    assert [cause.name for cause in looked.causes][:1] == [made.cause]
    assert sentence == str(looked.causes[0].text)
    assert looked.causes[0].act or looked.causes[0].page  # what helps


@pytest.mark.parametrize("seed", range(3))
def test_a_healthy_campaign_is_given_none(seed: int) -> None:
    setting = replace(healthy_setting(random.Random(seed)), documents=30, topics=4)
    looked, sentence = seen(setting, lived, seed)
    assert looked.causes == []
    assert sentence == str(looked.pace.sentence(pay_of_made(setting)))


def pay_of_made(setting: Any) -> Any:
    """What its plan pays."""
    with campaign(setting, 1) as made, made.store.read(NAME) as work:
        return work.plan.pay


def causes(site: Site) -> list[str]:
    """The names of the causes."""
    with site.store.read("tiny") as work:
        return [cause.name for cause in overview(work).causes]


def test_what_was_before_a_resume_is_not_held_against_it(url: str) -> None:
    site = make_site(
        url, PLAN.replace("at_least = 0", "at_least = 6"), material(pool=40, gold_sets=12)
    )
    for number in range(8):
        site.clock.forward(1)
        site.whole(site.worker(f"p{number}"))  # a second a document
    with site.store.read("tiny") as work:
        [first, *_] = overview(work).causes
    assert (first.name, first.act) == ("fast", "pause")
    expected = "8 of 8 batches failed: answered in under 6 seconds a document, by 8 people."
    assert str(first.text) == expected
    site.work(audit.perform, "o", "pause")
    with site.store.read("tiny") as work:
        [first, *_] = overview(work).causes
    assert (first.name, first.act) == ("fast", "")  # it is paused
    site.clock.forward(1)
    site.work(audit.perform, "o", "resume")
    assert causes(site) == []
    site.store.engine.dispose()


def test_nobody_is_called_missing_on_the_first_day(site: Site) -> None:
    site.clock.forward(12 * 60)
    assert causes(site) == []
    site.clock.forward(3 * 24 * 60)
    assert causes(site) == ["nobody"]
    site.work(audit.perform, "o", "close")
    assert causes(site) == []


def test_done_counts_what_is_good_and_reserved_stands_apart(site: Site) -> None:
    site.whole(site.worker("ann"))
    site.next(site.worker("bob"))
    with site.store.read("tiny") as work:
        pace = overview(work).pace
        sizes = dict.fromkeys(("submitted", "accepted", "active"), 0)
        query = (
            assignment.join(place, place.c.assignment_id == assignment.c.id)
            .select()
            .where(place.c.held == 1)
        )
        for row in work.db.execute(query).mappings():
            size = len(row["shown"].split())
            sizes[row[assignment.c.state]] += size
        assert pace.valid == sizes["accepted"] + sizes["submitted"]
        assert pace.pending == sizes["active"] > 0
        assert pace.held == pace.valid + pace.pending
        assert "reserved" in str(pace.sentence(work.plan.pay))
    assert pace.share == pace.valid / pace.wanted
    site.clock.forward(2 * DAY / 60_000)
    site.work(audit.perform, "o", "pause")


def test_surely_above_is_the_exact_binomial_tail() -> None:
    assert surely_above(9, 9, 0.5)  # 1 in 512
    assert not surely_above(8, 8, 0.5)  # 1 in 256
    assert not surely_above(0, 100, 0.0)
    assert not surely_above(0, 0, 0.5)


def made_answers(seed: int, *, copying: bool = False, camps: bool = False) -> tuple[Any, Any, Any]:
    """Ten people of very different skill on 120 documents, all of them; two perhaps copy.

    Of two camps, one sees a fifth of the documents otherwise than the other, and both mean it.
    """
    chance = np.random.default_rng(seed)
    truth = np.tile(chance.integers(0, 3, 120), (10, 1))
    if camps:
        truth[:5] = np.where(chance.random(120) < 0.2, (truth[0] + 1) % 3, truth[0])
    skills = np.linspace(0.3, 0.98, 10)[:, None]
    said = np.where(chance.random((10, 120)) < skills, truth, chance.integers(0, 3, (10, 120)))
    if copying:
        said[4] = np.where(chance.random(120) < 0.9, said[3], said[4])
    who, pair = np.divmod(np.arange(said.size), 120)
    return pair.astype(np.int32), who.astype(np.int32), said.ravel().astype(np.int32)


def test_copies_are_found_and_good_people_who_agree_are_not() -> None:
    found = [copies(*made_answers(seed, copying=True), 0.002) for seed in range(10)]
    assert all(each and {each[0].one, each[0].other} == {3, 4} for each in found)
    for camps in (False, True):
        accused = [copies(*made_answers(seed, camps=camps), 0.002) for seed in range(40)]
        assert not any(accused), camps
