"""What a plan comes to: figures that can be worked out by hand, and the paper's own leak."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from itertools import combinations
from operator import attrgetter

import numpy as np
import pytest

from qrowd.collection.plan.forecast import essentials, forecast, set_sizes
from qrowd.collection.plan.gold_sets import cut_gold, pool_sizes
from qrowd.collection.plan.pass_rates import (
    Batch,
    better_gold,
    consequences,
    margin,
    nobody_leaves,
    passing,
    qualifies,
    survival,
)
from qrowd.collection.plan.rows import CampaignRows, GoldRow
from qrowd.collection.plan.toml import parse_plan, stored_plan
from qrowd.quality.pass_chances import WORKERS

HEAD = '[campaign]\nname = "x"\n'
OUT = "".join(f'[checks.{name}]\naction = "screen-out"\n' for name in ("binary", "ndcg"))


def test_the_papers_checks_leak() -> None:
    plan = parse_plan(HEAD + 'way = "free-ranks"\n[checks]\nscreen_out_after = 1\n' + OUT)
    found = {one.worker: one for one in passing(plan, [(0, 1, 1, 2, 2)])}
    assert found["always relevant"].batch == pytest.approx(0.567, abs=5e-4)
    assert found["good"].batch == pytest.approx(0.787, abs=5e-4)  # fails 21 %
    assert found["good"].survives == pytest.approx([0.787, 0.787**5, 0.787**10], abs=2e-3)


def test_four_gold_pairs_let_random_workers_qualify() -> None:
    plan = parse_plan(HEAD + '[qualification]\nsets = 4\ngold = "one"\ntries = 1\n')
    tests = [GoldRow("t", f"d{at}", at % 2) for at in range(20)]
    chance = next(one for one in WORKERS if one.name == "random")
    assert qualifies(plan, tests, chance) == pytest.approx(5 / 16)
    twice = parse_plan(HEAD + '[qualification]\nsets = 4\ngold = "one"\ntries = 2\n')
    assert qualifies(twice, tests, chance) == pytest.approx(1 - (11 / 16) ** 2)
    every = parse_plan(HEAD + "[qualification]\nsets = 4\ntries = 1\n")
    assert qualifies(every, tests, chance) < 0.03


def test_cost_wage_and_time_by_hand() -> None:
    plan = parse_plan(
        HEAD + "[sets]\nsize = 5\ntarget = 3\n[hit]\nsets = 6\n[pay]\nhit = 1.2\nbudget = 50\n"
        "seconds_per_document = 12\n"
    )
    pool = [(f"t{t}", f"d{d}") for t in range(10) for d in range(10)]
    gold = [GoldRow("t0", f"g{at}", at % 2, set=f"s{at // 5}") for at in range(20)]
    found = forecast(plan, CampaignRows(pool=pool, gold=gold))
    assert (found.sets, found.judgements, found.batches) == (20, 300, 12)
    assert (found.cost, found.budget) == (1440, 5000)
    assert found.minutes_per_batch == pytest.approx(30 * 12 / 60)
    assert found.hourly == 1200
    assert (found.gold_sets, found.batches_per_worker, found.workers_needed) == (4, 4, 3)


def made_rows(tests: int = 16) -> CampaignRows:
    return CampaignRows(
        pool=[(f"t{t}", f"d{t}-{at}") for t in range(4) for at in range(30)],
        gold=[GoldRow("t0", f"g{at}", at % 2, set=f"s{at // 5}") for at in range(50)],
        qualification=[GoldRow("t0", f"q{at}", at % 2, set=f"s{at // 4}") for at in range(tests)],
    )


PAID = HEAD + "[qualification]\nsets = 2\n[pay]\nhit = 1.00\nqualification = 0.5\n"


def test_the_forecast_is_the_sum_of_its_items() -> None:
    rows = made_rows()
    free, paid = (forecast(stored_plan(PAID + f"budget = {n}\n"), rows).spend for n in (0, 99))
    assert free == paid  # what may be spent does not change what is
    assert paid.total == round(sum(vars(paid.items).values()))
    assert 0 < paid.low < paid.total < paid.high < 2 * paid.low
    items = paid.items
    assert items.judging == pytest.approx(5 * items.gold)  # five sets of six count
    assert items.judging + items.gold == pytest.approx(100 * (14.4 + 1.5), rel=0.05)
    assert items.failed > 0
    assert items.tests > 0
    assert (items.screened_out, items.reviews) == (0, 0)
    cheap = forecast(stored_plan(PAID.replace("qualification = 0.5", "")), rows).spend
    assert cheap.items.tests == 0
    assert cheap.items.judging == items.judging


def test_worse_people_cost_more() -> None:
    plan, rows = stored_plan(PAID), made_rows()
    spent = [forecast(plan, rows, crowd=name).spend for name in ("careful", "mixed", "rough")]
    assert spent[0].total < spent[1].total < spent[2].total
    none = stored_plan(
        PAID + '[checks.binary]\naction = "none"\n[checks.seconds]\naction = "none"\n'
    )
    assert forecast(none, rows, crowd="rough").spend.items.failed == 0


def test_a_campaign_of_volunteers_costs_nothing() -> None:
    found = forecast(stored_plan(HEAD), made_rows())
    assert (found.spend.total, found.spend.high, found.warnings) == (0, 0, ())


def test_a_budget_within_the_interval_is_warned_of_and_one_below_more() -> None:
    rows = made_rows()
    spend = forecast(stored_plan(PAID), rows).spend
    said = []
    for budget in (spend.low / 2, spend.total, spend.high + 1):
        found = forecast(stored_plan(PAID + f"budget = {budget / 100}\n"), rows)
        said.append([str(each.message) for each in found.warnings if each.section == "pay"])
    assert "will not suffice" in said[0][0]
    assert "may not suffice" in said[1][0]
    assert said[2] == []


def test_the_wage_has_the_test() -> None:
    rows = made_rows(tests=20)
    text = HEAD + "[qualification]\nsets = 6\n[pay]\nhit = 1.00\n"
    batch = 30 * 20 / 3600  # hours
    without = forecast(stored_plan(HEAD + "[pay]\nhit = 1.00\n"), rows)
    assert without.hourly == round(100 / batch)
    unpaid = forecast(stored_plan(text), rows)
    assert unpaid.hourly == round(5 * 100 / (6 * batch))
    as_batch = forecast(stored_plan(text + "qualification = 1.00\n"), rows)
    assert as_batch.hourly == without.hourly


def test_gold_before_the_first_batch_is_in_the_numbers() -> None:
    rows = made_rows()
    plain, more = (
        forecast(stored_plan(f"{PAID}[hit]\nfirst_gold = {n}\n"), rows, crowd="rough")
        for n in (0, 4)
    )
    assert (plain.batches_per_worker, more.batches_per_worker) == (10, 6)
    documents = 30 * 5 + 2 * 5  # of five batches and the test
    assert more.hourly == pytest.approx(plain.hourly * documents / (documents + 4 * 5), abs=1)
    assert more.hours == pytest.approx(plain.hours + more.workers_needed * 4 * 5 * 20 / 3600)
    # more people fail their first batch, and are found out with it
    assert more.spend.items.failed + more.spend.items.screened_out > 1.1 * (
        plain.spend.items.failed + plain.spend.items.screened_out
    )


def test_what_a_forecast_depends_on() -> None:
    text = PAID.replace("[qualification]", 'title = "One"\n[qualification]')
    plan = stored_plan(text + "budget = 9\n")
    same = (
        text.replace('"One"', '"Another"'),
        text + "budget = 100\n",
        text + '[people]\nconsent = "I agree."\n[release]\nlicence = "CC0"\n',
    )
    other = (
        text.replace("hit = 1.00", "hit = 1.10"),
        text + "[sets]\ntarget = 5\n",
        text + '[checks.binary]\naction = "stop"\n',
        text + '[files]\ngold = "other.tsv"\n',
    )
    assert all(essentials(stored_plan(each)) == essentials(plan) for each in same)
    assert all(essentials(stored_plan(each)) != essentials(plan) for each in other)


ACTIONS = ("none", "return", "exclude", "screen-out", "screen-out-surely", "stop")


@pytest.mark.parametrize("binary", ACTIONS)
@pytest.mark.parametrize("seconds", ACTIONS)
def test_what_a_failed_check_does_is_what_the_end_of_a_batch_does(
    binary: str, seconds: str
) -> None:
    """The rules of `submission`, written out once more for one batch at a time."""
    plan = stored_plan(
        HEAD + f'[checks.binary]\naction = "{binary}"\n[checks.seconds]\naction = "{seconds}"\n'
        "[checks]\nscreen_out_after = 2\n"
    )
    for names in ((), ("binary",), ("seconds",), ("binary", "seconds")):
        for before, worse in ((0, False), (1, False), (0, True)):
            actions = {{"binary": binary, "seconds": seconds}[name] for name in names}
            failed = {name: np.array([name in names]) for name in ("binary", "seconds")}
            found = [
                each[0]
                for each in consequences(plan, failed, np.array([before]), np.array([worse]))
            ]
            sent_back = "return" in actions
            void = not sent_back and bool(actions & {"exclude", "screen-out"})
            count = before + (sent_back or void)
            out = void and "screen-out" in actions and count >= 2
            sure = worse and not sent_back and "screen-out-surely" in (binary, seconds)
            out = out or sure
            void = void or sure or (not sent_back and "screen-out-surely" in actions)
            stopped = not sent_back and not void and "stop" in actions
            assert found == [sent_back, void, out or stopped, count]


def test_sizes_are_as_equal_as_possible() -> None:
    plan = parse_plan(HEAD)
    assert sorted(set_sizes(plan, [("t", f"d{at}") for at in range(12)])) == [4, 4, 4]
    pairs = parse_plan(HEAD + 'way = "preferences"\n[sets]\nsize = 2\n')
    assert len(set_sizes(pairs, [("t", f"d{at}") for at in range(10)])) == 20


def test_gold_that_would_do_better_is_named() -> None:
    plan = parse_plan(HEAD)
    assert better_gold(plan, [(0, 1, 1, 2, 2)])
    best = tuple(int(one) for one in better_gold(plan, [(0, 1, 1, 2, 2)]).split())
    assert better_gold(plan, [best]) == ""


def test_gold_that_can_be_told_is_warned_of() -> None:
    plan = parse_plan(HEAD + "[pay]\nbudget = 1\n")
    gold = [GoldRow("strange", f"g{at}", at % 2, set="s") for at in range(3)]
    found = forecast(plan, CampaignRows(pool=[("t", f"d{at}") for at in range(10)], gold=gold))
    assert any("no pool" in str(one.message) for one in found.warnings)
    assert any("by their size" in str(one.message) for one in found.warnings)


PAIR = attrgetter("pair")


def rows_in_sets(sets: int, size: int) -> list[GoldRow]:
    return [GoldRow("t", f"g{s}-{d}", d % 3, set=f"s{s}") for s in range(sets) for d in range(size)]


def test_gold_sets_are_cut_to_the_pools_sizes() -> None:
    plan = parse_plan(HEAD)
    sizes = pool_sizes(plan, [("t", f"d{at}") for at in range(24)])
    assert sizes == {"t": {5: 4, 4: 1}}
    sets, left = cut_gold(plan, rows_in_sets(10, 5), sizes)
    assert Counter(map(len, sets)) == {5: 8, 4: 2}
    assert [len(part) for part in left] == [2]
    assert all(len({row.set for row in part}) == 1 for part in sets)  # no set is mixed up
    for part in sets:  # the best part of a set is kept
        of_file = [row.grade or 0 for row in rows_in_sets(1, 5)]
        subsets = {tuple(sorted(some)) for some in combinations(of_file, len(part))}
        best = max(margin(plan, levels) for levels in subsets)
        assert margin(plan, tuple(sorted(row.grade or 0 for row in part))) == best
    loose = [GoldRow("t", f"g{at}", at % 3) for at in range(23)]
    sets, left = cut_gold(plan, loose, sizes)
    assert Counter(map(len, sets)) == {5: 3, 4: 2}
    assert not left
    assert sum(map(len, cut_gold(plan, loose[:3], sizes)[0])) == 3  # too few for a set: one, small


def test_small_gold_sets_and_those_of_other_topics_stay() -> None:
    plan = parse_plan(HEAD)
    sizes = pool_sizes(plan, [("u", f"d{at}") for at in range(24)])
    for gold in (rows_in_sets(2, 5), [replace(row, topic="u") for row in rows_in_sets(2, 3)]):
        sets, left = cut_gold(plan, gold, sizes)
        assert sorted((row for part in sets for row in part), key=PAIR) == sorted(gold, key=PAIR)
        assert len(sets) == 2
        assert not left


# --- who stays ------------------------------------------------------------------------------------


def stays(more: str, gold: tuple[int, ...] = (0, 0, 1, 1, 2)) -> dict[str, tuple[float, ...]]:
    plan = parse_plan(HEAD + more)
    return {row.worker: row.survives for row in passing(plan, [gold])}


@pytest.mark.parametrize("action", ["exclude", "return", "none"])
def test_nobody_is_screened_out_by_an_action_that_screens_nobody_out(action: str) -> None:
    more = f'[checks.binary]\naction = "{action}"\n[checks.seconds]\naction = "{action}"\n'
    assert set(stays(more).values()) == {(1.0, 1.0, 1.0)}
    assert nobody_leaves(parse_plan(HEAD + more)) is not None


def test_stopped_at_the_first_failure_or_out_after_some() -> None:
    fails = 1 - next(
        row.batch for row in passing(parse_plan(HEAD), [(0, 0, 1, 1, 2)]) if row.worker == "random"
    )
    stopped = stays('[checks.binary]\naction = "stop"\n')["random"]
    assert stopped == pytest.approx([(1 - fails) ** n for n in (1, 5, 10)])
    out = stays('[checks.binary]\naction = "screen-out"\n[checks]\nscreen_out_after = 2\n')
    few = [
        sum(math.comb(n, k) * fails**k * (1 - fails) ** (n - k) for k in (0, 1)) for n in (1, 5, 10)
    ]
    assert out["random"] == pytest.approx(few)
    assert nobody_leaves(parse_plan(HEAD + '[checks.binary]\naction = "stop"\n')) is None


@pytest.mark.parametrize("binary", ["exclude", "return", "stop", "screen-out"])
@pytest.mark.parametrize("ndcg", ["none", "return", "screen-out"])
def test_who_stays_is_what_the_end_of_a_batch_does(binary: str, ndcg: str) -> None:
    """Workers who fail one check, both or none at random, by the rules of `submission` in loops."""
    plan = parse_plan(
        HEAD + f'way = "ranked"\n[checks.binary]\naction = "{binary}"\n'
        f'[checks.ndcg]\naction = "{ndcg}"\n[checks]\nscreen_out_after = 3\n'
    )
    failures = {
        frozenset({"binary"}): 0.2,
        frozenset({"ndcg"}): 0.1,
        frozenset({"binary", "ndcg"}): 0.1,
    }
    actions = {"binary": binary, "ndcg": ndcg}
    chance, left = random.Random(1), Counter[int]()
    for _ in range(4000):
        failed, there = 0, True
        for batch in range(1, 11):
            names = chance.choices([*failures, frozenset[str]()], [*failures.values(), 0.6])[0]
            done = {actions[name] for name in names}
            if "return" in done:
                failed += 1
            elif done & {"exclude", "screen-out"}:
                failed += 1
                there = not ("screen-out" in done and failed >= 3)
            elif "stop" in done:
                there = False
            if not there:
                break
            left[batch] += 1
    chances = {Batch(names): p for names, p in failures.items()} | {Batch(): 0.6}
    for batch, share in enumerate(survival(plan, chances, 10), 1):
        assert left[batch] / 4000 == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("action", ["none", "exclude"])
def test_gold_that_everybody_passes_is_never_recommended(action: str) -> None:
    plan = parse_plan(HEAD + f'[checks.binary]\nat_least = 0\naction = "{action}"\n')
    assert better_gold(plan, [(0, 0, 1, 1, 2)]) == ""
    strict = parse_plan(HEAD)
    levels = tuple(int(grade) for grade in better_gold(strict, [(0, 0, 0, 0, 0)]).split())
    assert margin(strict, levels) > 0
