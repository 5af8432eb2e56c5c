"""Gold with grades of its own, and gold that good workers miss."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select
from tests.collection.making import PLAN, Site, make_site, material

from qrowd.collection.database.schema import outcome
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import submission
from qrowd.collection.judging.checks import gold_record
from qrowd.collection.judging.offer import Offer
from qrowd.collection.plan.forecast import forecast, unmeetable
from qrowd.collection.plan.pass_rates import gold_words
from qrowd.collection.plan.toml import parse_plan, plan_text
from qrowd.collection.publishing.export import export
from qrowd.errors import InputError
from qrowd.quality.against_gold import binary_score, ndcg_score

# Xia et al. (2011): people say relevant or not and rank, gold has three grades
XIA = (
    PLAN.replace("[sets]", 'way = "free-ranks"\n[sets]')
    + """
[scale]
grades = [0, 1]
labels = ["Irrelevant", "Relevant"]
gold_grades = [0, 1, 2]
"""
)


# --- gold with grades of its own ------------------------------------------------------------------


def judge_and_rank(site: Site, person: int, offer: Offer, yes: int = 1) -> None:
    """Relevant from `yes` on; relevant ones first, in the order in which they are shown."""
    for shown in offer.sets:
        said = []
        for document in shown.documents:
            said.append(int(int(document.title.split()[-1]) >= yes))
            site.say(person, shown.key, document.position, said[-1], seconds=9.0)
        order = sorted(range(len(said)), key=lambda at: -said[at])
        ranks = tuple(order.index(at) + 1 for at in range(len(said)))
        site.say(person, shown.key, 0, None, kind="ranking", ranks=ranks)


def test_gold_of_three_grades_checks_workers_who_give_two(url: str, tmp_path: Path) -> None:
    made = material(pool=9, gold_sets=6)
    in_pool = made.gold[1].pair, made.gold[2].pair  # of grades 1 and 2
    made.pool.extend(in_pool)
    site = make_site(url, XIA, made)
    ann, bob = site.worker("ann"), site.worker("bob")
    scores = {}
    for person, yes in ((ann, 1), (bob, 2)):
        offer = site.next(person)
        judge_and_rank(site, person, offer, yes)
        finished = site.work(submission.finish, person, offer.key)
        with site.store.read("tiny") as work:
            gold = select(outcome.c["check"], outcome.c.value).where(
                outcome.c["check"] != "seconds"
            )
            rows = work.db.execute(gold.order_by(outcome.c.id.desc()).limit(2))
            scores[person] = {name: value for name, value in rows}
        missed = [(each.said, each.expert) for each in finished.missed]
        assert missed == ([] if yes == 1 else [(0, 1)])  # on the scale that people know
        site.work(submission.submit, person, offer.key)
    assert scores[ann]["binary"] == 1
    assert scores[bob]["binary"] == pytest.approx(binary_score([0, 1, 2], [0, 0, 1]))
    # the order of the relevant ones counts by gold's own grades
    either = [ndcg_score([0, 1, 2], ranks) for ranks in ((3, 1, 2), (3, 2, 1))]
    assert any(scores[ann]["ndcg"] == pytest.approx(score) for score in either)
    with site.store.read("tiny") as work:
        record = gold_record(work, bob)
        assert (record.missed, record.relevant, record.false_alarms, record.other) == (1, 2, 0, 1)
        assert broken(work) == []
        export(work, tmp_path / "out")
    given = (tmp_path / "out" / "gold.qrels").read_text().split("\n")
    assert sorted(line.split()[-1] for line in given if line) == ["1", "1"]
    site.store.engine.dispose()


def test_which_grades_of_gold_count_as_which_answer() -> None:
    plan = parse_plan(XIA)
    assert [plan.scale.counts_as(grade) for grade in (0, 1, 2)] == [0, 1, 1]
    assert str(gold_words(plan)) == (
        "Gold has grades of its own: 0 counts as “Irrelevant”, 1, 2 count as “Relevant”."
    )
    strict = parse_plan(XIA + "gold_cuts = [2]\n")
    assert [strict.scale.counts_as(grade) for grade in (0, 1, 2)] == [0, 0, 1]
    assert parse_plan(plan_text(strict)).scale == strict.scale
    five = "[campaign]\nname = 'x'\n[scale]\ngold_grades = [0, 1, 2, 3, 4]\ngold_cuts = [2, 4]\n"
    scale = parse_plan(five).scale
    assert [scale.counts_as(grade) for grade in range(5)] == [0, 0, 1, 1, 2]
    assert scale.gold_relevant_from == 2


def test_without_the_key_gold_is_refused_with_the_way_out() -> None:
    plan = parse_plan(XIA.replace("gold_grades = [0, 1, 2]", ""))
    problems = [str(each.message) for each in unmeetable(plan, material())]
    assert problems == [
        "grade 2 of t0 g0-2 is not on the scale 0 1; where gold has other grades than people give, "
        "say so in [scale] gold_grades"
    ]
    assert list(unmeetable(parse_plan(XIA), material())) == []


def test_who_passes_is_worked_out_by_golds_own_grades() -> None:
    """As with three grades for people, too: what is checked are two sides and an order."""
    two, three = parse_plan(XIA), parse_plan(XIA.split("[scale]")[0])
    found, usual = (forecast(plan, material()) for plan in (two, three))
    assert found.passing == usual.passing
    strict = forecast(parse_plan(XIA + "gold_cuts = [2]\n"), material())
    assert strict.passing != found.passing
    assert found.spend.total > 0


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("gold_grades = [2, 1]", r"\[scale\] gold_grades: .*lowest first"),
        ("gold_grades = [0, 300]", r"\[scale\] gold_grades: .*-128"),
        ("gold_grades = [0, 1, 2]\ngold_cuts = [1, 2]", r"gold_cuts: must be 1 rising numbers"),
        ("gold_grades = [1, 2]", r"gold_cuts: some grades of gold must count as relevant"),
        ("gold_grades = [0, 1, 2]\ngold_cuts = [3]", r"gold_cuts: some grades of gold must count"),
        ("gold_cuts = [1]", r"gold_cuts: .*give gold_grades"),
    ],
)
def test_grades_of_gold_that_make_no_sense(lines: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_plan(XIA.replace("gold_grades = [0, 1, 2]", lines))
