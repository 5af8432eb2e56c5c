"""Which sets come next and which are decided: `[next]` of a plan, at work; on both engines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.collection.making import Site, make_site, material

import qrowd as q
from qrowd.cli.main import main
from qrowd.collection.adjudication import expert_sample
from qrowd.collection.books import notices
from qrowd.collection.books.progress import coverage
from qrowd.collection.database.schema import NAMED_PAIRS, PAIR_NAMES, judging_set, member, pair
from qrowd.collection.database.schema import audit as audit_table
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import picks
from qrowd.collection.office.acts.next_sets import (
    FIRST,
    ChooseNext,
    Decided,
    NextSets,
    decided_now,
    is_stopped,
)
from qrowd.collection.office.pace import pace_of
from qrowd.collection.plan.files import priority_rows
from qrowd.collection.plan.forecast import refuse_unmeetable
from qrowd.collection.plan.rows import CampaignRows, DocumentRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.publishing.collected import collected
from qrowd.collection.publishing.datasheet import Figures
from qrowd.collection.publishing.export import export
from qrowd.collection.publishing.imports import import_judgements
from qrowd.collection.publishing.release import release
from qrowd.collection.record import audit
from qrowd.errors import InputError, RuleError
from qrowd.rendering import spaced_percent
from qrowd.web import tasks
from qrowd.web.next_sets import choose

PLAN = """
[campaign]
name = "tiny"
seed = 1
[sets]
size = 1
target = 5
[hit]
sets = 20
gold = 0
[checks.seconds]
at_least = 0
[next]
pick = "margin"
"""
MADE = material(topics=3, pool=20, gold_sets=0)
DIVIDED = {row.name for row in MADE.documents if row.title.endswith("2")}
AGREED = {row.name for row in MADE.documents} - DIVIDED


@pytest.fixture
def site(url: str) -> Iterator[Site]:
    made = make_site(url, PLAN, MADE)
    yield made
    made.store.engine.dispose()


def voter(number: int) -> Callable[[str, int], int]:
    """Right on documents of the grades 0 and 1; on those of grade 2 people are divided."""
    return lambda title, right: number % 2 if right == 2 else right


def vote(site: Site, *numbers: int, batches: int = 3) -> None:
    """Let people judge; three batches are the whole pool."""
    for number in numbers:
        worker = site.worker(f"p{number}")
        for _ in range(batches):
            site.whole(worker, voter(number))


def sets_of(site: Site) -> dict[str, Any]:
    """The sets by their only document; all rules hold."""
    joined = judging_set.join(member, member.c.set_id == judging_set.c.id)
    query = select(judging_set, PAIR_NAMES[1], pair.c.priority.label("of_pair")).select_from(
        joined.join(NAMED_PAIRS, pair.c.id == member.c.pair_id)
    )
    with site.store.read("tiny") as work:
        assert broken(work) == []
        return {row.doc: row for row in work.db.execute(query)}


def now(site: Site) -> Decided:
    with site.store.read("tiny") as work:
        decided = decided_now(work)
    assert decided is not None
    return decided


def targets(site: Site, names: set[str]) -> set[int]:
    return {row.target for name, row in sets_of(site).items() if name in names}


def test_what_is_decided_gives_its_places_back(site: Site) -> None:
    vote(site, 0, 1)
    choose(site.store, "tiny", "qrowd")
    assert targets(site, AGREED) == {2}
    assert targets(site, DIVIDED) == {5}
    assert all(row.priority == row.of_pair for row in sets_of(site).values())
    told = now(site)
    assert (told.documents, told.decided) == (60, len(AGREED))
    assert told.saved == pytest.approx(3 * len(AGREED) / (5 * 60))
    assert str(told.sentence) == (
        f"{len(AGREED)} of 60 documents are decided at risk {spaced_percent(0.1)}; "
        f"{spaced_percent(told.saved)} of votes saved"
    )
    vote(site, 2, 3, 4, 5, 6)  # only what is left is given out
    rows = sets_of(site)
    assert {rows[name].held for name in AGREED} == {2}
    assert {rows[name].held for name in DIVIDED} == {5}


def test_least_comes_first(site: Site) -> None:
    """A document with one vote is before one that is divided and has three."""
    vote(site, 0, 1)
    worker = site.worker("p9")
    site.whole(worker, voter(1))  # 20 sets have three
    more = CampaignRows(documents=[DocumentRow("new", b"x", "page 1")], pool=[("t0", "new")])
    site.work(audit.perform, "o", "extend", {"rows": more})
    choose(site.store, "tiny", "qrowd")
    rows = sets_of(site)
    assert (rows["new"].priority, rows["new"].target) == (FIRST, 5)
    assert max(row.priority for name, row in rows.items() if name != "new") == 1.0
    for _ in range(2):
        with site.store.read("tiny") as work:
            assert picks.pick(work, site.worker(f"q{_}"), 1)[0].id == rows["new"].id
        site.whole(site.worker(f"q{_}"))
    with site.store.read("tiny") as work:  # it has two now: at the next time it is one of many
        assert picks.pick(work, site.worker("q2"), 1)[0].id == rows["new"].id
    choose(site.store, "tiny", "qrowd")
    assert sets_of(site)["new"].priority <= 1


def test_what_is_open_again_gets_places_up_to_most(site: Site) -> None:
    vote(site, 0, 1)
    numbers = {name: row.id for name, row in sets_of(site).items()}

    def write(worth: float | None, **one: float | None) -> int:
        priorities = {number: one.get(name, worth) for name, number in numbers.items()}
        return int(site.work(audit.perform, "o", ChooseNext(chosen=NextSets(priorities, 60, 60))))

    write(None)
    assert targets(site, AGREED | DIVIDED) == {2}
    write(None, **{"d0-0": 0.5})
    rows = sets_of(site)
    assert (rows["d0-0"].target, rows["d0-0"].priority, rows["d0-1"].target) == (5, 0.5, 2)
    site.work(audit.perform, "o", "raise target", {"target": 7, "topic": "t0"})
    raised = site.work(audit.perform, "o", "raise target", {"target": 6, "topic": "t1"})
    write(None, **{"d0-0": 0.5, "d1-0": 0.5, "d2-0": 0.5})
    rows = sets_of(site)
    assert [rows[f"d{at}-0"].target for at in range(3)] == [7, 6, 5]
    assert rows["d0-1"].target == 2
    site.work(audit.undo, "o", raised)
    write(0.5)
    assert [sets_of(site)[f"d{at}-1"].target for at in range(3)] == [7, 5, 5]


def test_never_below_what_is_held(site: Site) -> None:
    vote(site, 0, 1, 2)
    reserved = site.next(site.worker("p3"))  # 20 sets are reserved for a fourth vote
    assert len(reserved.sets) == 20
    choose(site.store, "tiny", "qrowd")
    rows = sets_of(site)
    assert {rows[name].target - rows[name].held for name in AGREED} == {0}
    assert {rows[name].held for name in AGREED} == {3, 4}


def test_undo_brings_all_back_and_stops_it(site: Site, tmp_path: Path) -> None:
    vote(site, 0, 1)
    priorities = [["t0", "d0-1", 3.0], ["t1", "d1-1", 2.0]]
    site.work(audit.perform, "o", "prioritise", {"priorities": priorities})
    before = {name: tuple(row) for name, row in sets_of(site).items()}
    number = choose(site.store, "tiny", "qrowd")
    assert {name: tuple(row) for name, row in sets_of(site).items()} != before
    site.clock.forward(30)
    site.work(audit.undo, "o", number)
    assert {name: tuple(row) for name, row in sets_of(site).items()} == before
    with site.store.read("tiny") as work:
        assert is_stopped(work)
        assert decided_now(work) is None
    vote(site, 2, batches=1)
    site.clock.forward(30)
    asked = tasks.refresh_all(site.store, tmp_path)  # not for this
    choose(site.store, "tiny", "o")
    vote(site, 3, batches=1)
    site.clock.forward(30)
    assert (asked, tasks.refresh_all(site.store, tmp_path)) == (1, 1)


def test_the_job(site: Site, tmp_path: Path) -> None:
    vote(site, 0, 1)
    assert tasks.refresh_all(site.store, tmp_path) == 0
    site.clock.forward(14)
    assert tasks.refresh_all(site.store, tmp_path) == 0
    site.clock.forward(2)
    assert tasks.refresh_all(site.store, tmp_path) == 2  # quality, and this
    while tasks.run_one(site.store, tmp_path):
        pass
    assert targets(site, AGREED) == {2}
    site.clock.forward(60)
    assert tasks.refresh_all(site.store, tmp_path) == 0  # nothing came in since
    with site.store.read("tiny") as work:
        who = work.db.scalar(select(audit_table.c.who).where(audit_table.c.act == "choose next"))
    assert who == "qrowd"


def test_a_job_that_fails_leaves_all_and_tells(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vote(site, 0, 1)
    choose(site.store, "tiny", "qrowd")
    before = {name: tuple(row) for name, row in sets_of(site).items()}

    def failing(*_: Any) -> int:
        raise MemoryError("not enough of it")

    vote(site, 2, batches=1)
    held = {name: tuple(row) for name, row in sets_of(site).items()}
    site.clock.forward(30)
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "choose", failing)
        tasks.refresh_all(site.store, tmp_path)
        while tasks.run_one(site.store, tmp_path):
            pass
    assert {name: tuple(row) for name, row in sets_of(site).items()} == held != before
    with site.store.read("tiny") as work:
        told = [str(notices.text_of(row)) for row in notices.notices(work)]
    assert told == [
        "What comes next could not be worked out (not enough of it). Priorities stay as they were."
    ]
    site.clock.forward(1)
    vote(site, 3, batches=1)
    site.clock.forward(30)
    tasks.refresh_all(site.store, tmp_path)
    while tasks.run_one(site.store, tmp_path):
        pass
    with site.store.read("tiny") as work:
        assert notices.notices(work) == []


def test_machine_judges_alone_are_refused(site: Site, tmp_path: Path) -> None:
    rows = [f"{topic}\t{doc}\tm\t1" for topic, doc in MADE.pool]
    file = tmp_path / "machine.tsv"
    file.write_text("\n".join(["topic\tdoc\tassessor\tgrade", *rows, ""]))
    site.work(import_judgements, file)
    with pytest.raises(RuleError, match="made rankings of systems worse"):
        choose(site.store, "tiny", "qrowd")
    vote(site, 0, 1)
    choose(site.store, "tiny", "qrowd")
    assert now(site).decided == len(AGREED)  # the machine's votes count for nothing


def test_what_an_expert_decided_is_decided(site: Site) -> None:
    vote(site, 0, 1)
    name = min(DIVIDED)
    with site.store.write("tiny") as work:
        number = expert_sample.pair_named(work, f"t{name[1]}", name)
        expert_sample.decide(work, "eve", number, 1, "sure")
    choose(site.store, "tiny", "qrowd")
    assert (sets_of(site)[name].target, now(site).decided) == (2, len(AGREED) + 1)


def test_a_set_is_decided_when_all_its_documents_are(url: str) -> None:
    site = make_site(url, PLAN.replace("size = 1", "size = 4"), MADE)
    vote(site, 0, 1, batches=1)
    choose(site.store, "tiny", "qrowd")
    whole = {row.id: set[str]() for row in sets_of(site).values()}
    with site.store.read("tiny") as work:
        joined = NAMED_PAIRS.join(member, member.c.pair_id == pair.c.id)
        for number, name in work.db.execute(
            select(member.c.set_id, PAIR_NAMES[1]).select_from(joined)
        ):
            whole.setdefault(number, set()).add(name)
    by_id = {row.id: row for row in sets_of(site).values()}
    for number, row in by_id.items():
        assert row.target == (5 if whole[number] & DIVIDED else 2)
    assert now(site).decided == len(AGREED)
    site.store.engine.dispose()


def test_systems(site: Site) -> None:
    vote(site, 0, 1)
    with pytest.raises(RuleError, match="no runs"):
        choose(site.store, "tiny", "qrowd", pick="systems")
    rows = [
        (f"r{step}", f"t{t}", f"d{t}-{(d * step) % 20}", 20.0 - d)
        for t in range(3)
        for step in (1, 3, 7)
        for d in range(20)
    ]
    runs = q.RunSet.of(*zip(*rows, strict=True))
    choose(site.store, "tiny", "qrowd", runs, pick="systems")
    assert targets(site, AGREED) == {2}
    assert targets(site, DIVIDED) == {5}


def test_the_pace_where_targets_were_lowered(url: str) -> None:
    paid = PLAN + "[pay]\nhit = 1.00\nbudget = 100.00\n"
    site = make_site(url, paid, MADE)
    vote(site, 0, 1)
    site.clock.forward(60)
    with site.store.read("tiny") as work:
        before, (wanted, held, _) = pace_of(work), coverage(work)
    choose(site.store, "tiny", "qrowd")
    with site.store.read("tiny") as work:
        after = pace_of(work)
    assert (before.wanted, before.held) == (wanted, held) == (300, 120)
    assert after.wanted == 300 - 3 * len(AGREED)
    assert after.decided == now(site)
    # of the 9 batches that were left it takes as many as the divided documents' votes are
    left = 3 * len(DIVIDED) / 180
    assert after.expected - 600 == pytest.approx((before.expected - 600) * left, rel=0.1)
    vote(site, 2, 3, 4, 5, 6)
    with site.store.read("tiny") as work:
        assert pace_of(work).verdict == "done"
    site.store.engine.dispose()


def test_the_record_stays_small(url: str) -> None:
    """The state before of 3,000 sets, every third of them changed."""
    rows = material(topics=3, pool=1000, gold_sets=0)
    site = make_site(url, PLAN, rows)
    with site.store.read("tiny") as work:
        numbers = list(work.db.scalars(select(judging_set.c.id)))
    worth = {number: None if number % 3 else 0.1 * (number % 7) for number in numbers}
    before = {name: tuple(row) for name, row in sets_of(site).items()}
    act = site.work(audit.perform, "o", ChooseNext(chosen=NextSets(worth, 3000, 2000)))
    with site.store.read("tiny") as work:
        assert len(audit.act_numbered(work, act).details) < 3000
    site.work(audit.undo, "o", act)
    assert {name: tuple(row) for name, row in sets_of(site).items()} == before
    site.store.engine.dispose()


def test_exports_say_that_documents_were_chosen(site: Site, tmp_path: Path) -> None:
    vote(site, 0, 1)
    with site.store.read("tiny") as work:
        export(work, tmp_path, merge=q.MajorityVote())
        crowd = collected(work).judgements
    assert crowd.choice is not None
    assert not crowd.choice.adaptive.any()  # each has the two judgements that all get
    merged = q.read_qrels(tmp_path / "merged.qrels")
    assert merged.provenance is not None
    assert merged.provenance.chosen == ("labels",)
    about = json.loads((tmp_path / "manifest.json").read_text())
    assert about["chosen"] == {
        "pick": "margin",
        "risk": 0.1,
        "least": 2,
        "most": 5,
        "random_sample": False,
    }


def test_a_release_says_that_documents_were_chosen(site: Site, tmp_path: Path) -> None:
    vote(site, 0, 1)
    choose(site.store, "tiny", "qrowd")
    vote(site, 2)
    figures = Figures(merge=q.MajorityVote(), method="mv")
    release(site.store, "tiny", tmp_path / "out", figures, who="o", sure=True)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["chosen"]["most"] == 5
    sheet = (tmp_path / "out" / "datasheet.md").read_text()
    assert "Up to 5 judgements were wanted of every document" in sheet
    assert "these judgements are no random sample" in sheet
    assert "It is not that of a random sample: divided documents got more" in sheet
    judgements = q.read_release(tmp_path / "out").judgements
    assert judgements is not None
    said = f"{len(DIVIDED)} pairs were chosen by what had been said before (labels)"
    assert said in q.agreement(judgements).notes[0]
    main(["report", str(tmp_path / "out"), "-o", str(tmp_path / "report.html"), "-q"])
    assert f"Agreement: {said}" in (tmp_path / "report.html").read_text(encoding="utf-8")


# --- plans ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('pick = "margin"', 'pick = "margin"\nmost = 6', "must be at most 5, as .sets. target"),
        ('pick = "margin"', 'pick = "margin"\nleast = 6', "must be at most 5"),
        ('pick = "margin"', 'pick = "margin"\nmost = 3\nleast = 4', "must be at most 3"),
        ('pick = "margin"', 'pick = "margin"\nrisk = 0.5', "below 0.5"),
        ('pick = "margin"', 'pick = "margin"\nrisk = 0', "above 0"),
        ('pick = "margin"', 'pick = "systems"', "runs"),
        ('pick = "margin"', 'pick = "largest"', "even, margin, systems"),
        ("seed = 1", 'mode = "priorities"', "mode crowd"),
        ("seed = 1", 'way = "preferences"', "no grades"),
    ],
)
def test_plans_that_contradict_themselves(old: str, new: str, problem: str) -> None:
    plan = PLAN.replace(old, new)
    if "preferences" in new:
        plan = plan.replace("size = 1", "size = 2")
    with pytest.raises(InputError, match=problem):
        parse_plan(plan)


def test_a_budget_below_least_is_a_problem() -> None:
    paid = PLAN + "[pay]\nhit = 1.00\nbudget = {}\n"
    with pytest.raises(InputError, match=r"below 6\.00 EUR, what 2 judgements of every document"):
        refuse_unmeetable(parse_plan(paid.format("5.99")), MADE)
    refuse_unmeetable(parse_plan(paid.format("6.00")), MADE)
    even = paid.format("5.99").replace("margin", "even")
    refuse_unmeetable(parse_plan(even), MADE)


def test_priorities_from_a_file_of_next(site: Site, tmp_path: Path) -> None:
    vote(site, 0, 1)
    with site.store.read("tiny") as work:
        export(work, tmp_path)
    crowd = q.read_judgements(tmp_path / "judgements.tsv").binary(1)
    todo = q.undecided(crowd, most=5, number=5)
    q.save(todo, tmp_path / "next.tsv")
    rows = priority_rows(tmp_path / "next.tsv")
    assert {name for (_, name), _ in rows} <= DIVIDED
    assert [worth for _, worth in rows] == pytest.approx(todo.worth.tolist())
    priorities = [[*names, worth] for names, worth in rows]
    site.work(audit.perform, "o", "prioritise", {"priorities": priorities})
    first = {name for name, row in sets_of(site).items() if row.priority > 0}
    assert first == {name for (_, name), _ in rows}
    lines = ["topic\tdoc\tworth\tgoal", "t\ta\t0.0\tuniform", "t\tb\t0.5\tlabels"]
    (tmp_path / "uniform.tsv").write_text("\n".join(lines) + "\n")
    assert [priority for _, priority in priority_rows(tmp_path / "uniform.tsv")] == [1.5, 0.5]
    (tmp_path / "odd.tsv").write_text("topic\tdoc\treason\nt\td\tnone\n")
    with pytest.raises(InputError, match="topic, doc, priority"):
        priority_rows(tmp_path / "odd.tsv")
