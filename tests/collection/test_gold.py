"""Gold with grades of its own, and gold that good workers miss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.collection.making import PLAN, Site, make_site, material, wrong

from qrowd.collection.adjudication import cases, expert_sample
from qrowd.collection.books import ledger
from qrowd.collection.database.schema import Worker, assignment, judging_set, outcome, worker
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import submission
from qrowd.collection.judging.checks import gold_record
from qrowd.collection.judging.offer import Offer
from qrowd.collection.office import erasure
from qrowd.collection.office.acts.sets import contested_sets
from qrowd.collection.office.todo import overview
from qrowd.collection.people import workers
from qrowd.collection.plan.forecast import forecast, unmeetable
from qrowd.collection.plan.pass_rates import gold_words
from qrowd.collection.plan.rows import CampaignRows
from qrowd.collection.plan.toml import parse_plan, plan_text
from qrowd.collection.publishing.export import export
from qrowd.collection.record import audit
from qrowd.collection.record.act import act_named
from qrowd.errors import InputError, RuleError
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
    in_pool = [made.gold[1].pair, made.gold[2].pair]  # of grades 1 and 2
    made = replace(made, pool=[*made.pool, *in_pool])
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
            scores[person] = dict(rows.all())
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
        "Gold has grades of its own: 0 counts as “Irrelevant”; 1, 2 count as “Relevant”."
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


# --- gold that good workers miss ------------------------------------------------------------------


def wrong_gold(size: int = 5) -> CampaignRows:
    """Material in which gold says 2 of g0-0, which is not relevant as its title says."""
    made = material(pool=40, gold_sets=4, size=size)
    rows = [replace(row, grade=2) if row.document == "g0-0" else row for row in made.gold]
    return replace(made, gold=rows)


def by_title(site: Site, names: Sequence[str], batches: int = 4) -> dict[str, list[Any]]:
    """People who judge as titles say: how their batches ended."""
    ended: dict[str, list[Any]] = {name: [] for name in names}
    for name in names:
        person = site.worker(name)
        for _ in range(batches):
            site.clock.forward(1)
            ended[name].append(site.whole(person))
    return ended


FIVES = PLAN.replace("size = 3", "size = 5").replace("sets = 3", "sets = 2")
_AFTER_ONE = "[checks]\nscreen_out_after = 1\n"
BY_CHECKS = {
    "exclude": f'{FIVES}[checks.binary]\naction = "exclude"\n',
    "return": f'{FIVES}[checks.binary]\naction = "return"\n',
    "screen-out": f'{FIVES}{_AFTER_ONE}[checks.binary]\naction = "screen-out"\n',
}


def contested_site(url: str, action: str, people: Sequence[str] = ("ann", "bob", "cat")) -> Any:
    """People fail by wrong gold, and an expert decides against it."""
    site = make_site(url, BY_CHECKS[action], wrong_gold())
    ended = by_title(site, people)
    with site.store.read("tiny") as work:
        (row,) = expert_sample.missed_by_good(work) or expert_sample.named(
            work, [expert_sample.pair_named(work, "t0", "g0-0")]
        )
    assert (row.topic, row.doc) == ("t0", "g0-0")
    site.work(expert_sample.decide, "eve", row.id, 0, "it is not", "gold wrong")
    with site.store.read("tiny") as work:
        (number,) = contested_sets(work)
    return site, ended, number


def states(site: Site) -> Counter[str]:
    with site.store.read("tiny") as work:
        assert broken(work) == []
        money = ledger.balance(work)
        assert money.budget == money.free + money.promised + money.owed + money.settled
        return Counter(work.db.scalars(select(assignment.c.state)))


def owed(site: Site) -> int:
    with site.store.read("tiny") as work:
        return sum(row.amount for row in ledger.owed(work))


def test_gold_that_good_people_miss_is_a_case_for_experts(url: str) -> None:
    site = make_site(url, BY_CHECKS["exclude"], wrong_gold())
    by_title(site, ["ann", "bob"])
    with site.store.read("tiny") as work:
        assert cases.waiting(work).missed == 0  # two are too few to doubt it
    site.whole(site.worker("dan"), wrong)  # and who is wrong on everything does not count
    by_title(site, ["cat"])
    with site.store.read("tiny") as work:
        waiting = cases.waiting(work)
        assert waiting.missed == 1
        assert ("t0", "g0-0") in {(row.topic, row.doc) for row in waiting.pairs}
        (row,) = expert_sample.missed_by_good(work)
    eve = site.work(workers.expert, "eve")
    with pytest.raises(RuleError, match="judge this document first"):
        site.work(cases.gold_says, eve, row.id)
    site.work(cases.decide, eve, row.id, 0)
    with site.store.read("tiny") as work:
        says = cases.gold_says(work, eve, row.id)
        assert says is not None
        assert (says.grade, cases.waiting(work).missed) == (2, 0)
        said = Counter(vote.grade for vote in cases.votes(work, eve, row.id))
        assert said[0] >= 3  # what people said of the check question, though it does not count
        assert any(need.act == "check again" for need in overview(work).needs)
    site.store.engine.dispose()


def test_batches_that_failed_by_wrong_gold_are_accepted_and_paid_once(url: str) -> None:
    site, ended, number = contested_site(url, "exclude")
    failed = sum(each.state == "excluded" for rows in ended.values() for each in rows)
    assert failed == 3
    before, due = states(site), owed(site)
    act = site.work(audit.perform, "o", "check again", {"set": number})
    assert states(site) == before + Counter(accepted=3) - Counter(excluded=3)
    assert owed(site) == due  # excluded batches were paid already
    with site.store.read("tiny") as work:
        assert {row.failed_hits for row in work.rows(select(worker), Worker)} == {0}
        assert contested_sets(work) == {}
    with pytest.raises(RuleError, match="nothing is left to check again"):
        site.work(audit.perform, "o", "check again", {"set": number})
    site.work(audit.undo, "o", act)
    assert (states(site), owed(site)) == (before, due)
    with site.store.read("tiny") as work:
        assert list(contested_sets(work)) == [number]
        assert {row.failed_hits for row in work.rows(select(worker), Worker)} == {0, 1}
    site.work(audit.perform, "o", "check again", {"set": number})
    assert states(site)["excluded"] == 0
    site.store.engine.dispose()


def test_a_check_without_a_consequence_keeps_no_batch_void(tmp_path: Path) -> None:
    """Too fast, which the plan only notes, and excluded by wrong gold."""
    fast = '[checks.seconds]\nat_least = 30\naction = "none"'
    plan = BY_CHECKS["exclude"].replace("[checks.seconds]\nat_least = 0", fast)
    site = make_site(f"sqlite:///{tmp_path / 'c.db'}", plan, wrong_gold())
    by_title(site, ["ann", "bob", "cat"])
    with site.store.read("tiny") as work:
        pair = expert_sample.pair_named(work, "t0", "g0-0")
    site.work(expert_sample.decide, "eve", pair, 0, "", "gold wrong")
    with site.store.read("tiny") as work:
        (number,) = contested_sets(work)
    assert states(site)["excluded"] == 3
    site.work(audit.perform, "o", "settle", {}, sure=True)
    erasure.forget(site.store, "tiny", 1, who="o", void=True)
    void = states(site)["excluded"]
    site.work(audit.perform, "o", "check again", {"set": number})
    assert states(site)["excluded"] == void - 2  # all of whoever was forgotten stays void
    site.store.engine.dispose()


def test_who_was_screened_out_by_wrong_gold_comes_in_again(url: str) -> None:
    site, ended, number = contested_site(url, "screen-out")
    out = [
        name
        for name, rows in ended.items()
        if any(getattr(each, "state", "") == "screened-out" for each in rows)
    ]
    assert len(out) == 3  # by the one wrong answer of gold
    act = act_named("check again").of({"set": number})
    before, due = states(site), owed(site)
    cost = site.work(act.foretell).cost
    site.work(audit.perform, "o", act)
    assert states(site)["screened-out"] == before["screened-out"] - len(out) == 0
    assert owed(site) - due == cost == len(out) * 80  # screen-out pay was .20 of 1.00
    assert getattr(site.next(site.worker(out[0])), "code", "") != "screened-out"
    site.store.engine.dispose()


def test_a_first_failure_by_wrong_gold_is_forgotten(url: str) -> None:
    """Out with the second failed batch; the first one was the gold's fault."""
    site = make_site(url, BY_CHECKS["screen-out"].replace("after = 1", "after = 2"), wrong_gold())
    second = ""
    for name in ("ann", "bob", "cat", "dan"):  # somebody for whom it is not the last gold set
        person = site.worker(name)
        while site.whole(person).state != "excluded":
            pass
        second = getattr(site.whole(person, wrong), "state", "")
        if second == "screened-out":
            break
    assert second == "screened-out"
    with site.store.read("tiny") as work:
        pair = expert_sample.pair_named(work, "t0", "g0-0")
    site.work(expert_sample.decide, "eve", pair, 0, "", "gold wrong")
    with site.store.read("tiny") as work:
        (number,) = contested_sets(work)
    site.clock.forward(1)
    site.work(audit.perform, "o", "check again", {"set": number})
    with site.store.read("tiny") as work:
        assert workers.worker_of(work, person).state == "qualified"
    assert states(site)["excluded"] == states(site)["screened-out"] == 0
    site.store.engine.dispose()


def test_work_that_was_sent_back_by_wrong_gold_is_paid(url: str) -> None:
    site, ended, number = contested_site(url, "return")
    back = sum(each.state == "returned" for rows in ended.values() for each in rows)
    assert back
    before, due = states(site), owed(site)
    act = site.work(audit.perform, "o", "check again", {"set": number})
    assert states(site) == before  # others have the places
    assert owed(site) == due + back * 100
    site.work(audit.undo, "o", act)
    assert owed(site) == due
    site.store.engine.dispose()


def test_gold_that_no_expert_contradicts_is_not_checked_again(url: str) -> None:
    site = make_site(url, BY_CHECKS["exclude"], wrong_gold())
    by_title(site, ["ann"], 1)
    with site.store.read("tiny") as work:
        number = work.number(select(judging_set.c.id).where(judging_set.c.role == "gold"))
    with pytest.raises(RuleError, match="no expert has decided otherwise"):
        site.work(audit.perform, "o", "check again", {"set": number})
    site.store.engine.dispose()


# --- ranks of a qualification ---------------------------------------------------------------------

TESTED = (
    XIA.replace("[pay]", "[checks.ndcg]\nat_least = 0.9\n[pay]") + "[qualification]\nsets = 1\n"
)


@pytest.mark.parametrize(("ranks", "passes"), [("always", False), ("elsewhere", True)])
def test_ranks_of_a_qualification_are_scored(url: str, ranks: str, passes: bool) -> None:
    site = make_site(url, f'{TESTED}ranks = "{ranks}"\n', material(pool=9, qualification=2))
    ann, bob = site.worker("ann"), site.worker("bob")
    outcomes = []
    for person, best_first in ((ann, True), (bob, False)):
        offer = site.next(person)
        assert offer.kind == "qualification"
        (shown,) = offer.sets
        grades = [int(document.title.split()[-1]) for document in shown.documents]
        for document, grade in zip(shown.documents, grades, strict=True):
            site.say(person, shown.key, document.position, int(grade > 0), seconds=9.0)
        # both say what is relevant; one ranks 1 above 2
        order = sorted(grades, key=lambda grade: (-(grade > 0), -grade if best_first else grade))
        places = tuple(order.index(grade) + 1 for grade in grades)
        site.say(person, shown.key, 0, None, kind="ranking", ranks=places)
        finished = site.work(submission.finish, person, offer.key)
        outcomes.append(
            (finished.failed, site.work(submission.submit, person, offer.key).qualified)
        )
    assert outcomes == [((), True), (() if passes else ("ndcg",), passes)]
    site.store.engine.dispose()


def test_ranks_that_count_keep_more_random_workers_out() -> None:
    rows = material(pool=9, qualification=4, size=3)
    plain, ranked = (parse_plan(TESTED + f'ranks = "{each}"\n') for each in ("never", "always"))
    usual, strict = (
        {row.worker: row.qualification for row in forecast(plan, rows).passing}
        for plan in (plain, ranked)
    )
    assert strict["random"] < usual["random"] - 0.1
    assert strict["good"] == pytest.approx(
        usual["good"], abs=0.01
    )  # who ranks as well as they grade
    assert forecast(ranked, rows).spend.total != forecast(plain, rows).spend.total
