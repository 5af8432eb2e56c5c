"""Mode hierarchy: training, judging in the order of the texts, revision; on both engines."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.event import listen, remove
from tests.collection.making import Site, make_site

import qrowd as q
from qrowd.collection.adjudication import cases, expert_sample
from qrowd.collection.books import ledger, notices
from qrowd.collection.database.schema import assignment, event, judging_set, member, pair, place
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import hierarchy, picks, submission
from qrowd.collection.judging.offer import Offer
from qrowd.collection.judging.queue import Nothing
from qrowd.collection.plan.forecast import forecast, refuse_unmeetable
from qrowd.collection.plan.rows import CampaignRows, DocumentRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.publishing.collected import collected
from qrowd.collection.publishing.datasheet import Figures
from qrowd.collection.publishing.release import release
from qrowd.collection.record import audit
from qrowd.data.topics import Topic
from qrowd.errors import InputError, RuleError
from qrowd.web import tasks
from qrowd.web.hierarchy import Campaign
from qrowd.web.next_sets import choose

PLAN = """
[campaign]
name = "tiny"
mode = "hierarchy"
seed = 1
[scale]
grades = [0, 1]
[sets]
size = 2
target = 2
[hierarchy]
training = 4
hours = 3
contradiction = 0.6
[hit]
sets = 5
gold = 0
[pay]
hit = 1.00
review = 0.50
budget = 1000.00
[checks.seconds]
at_least = 0
"""
WORDS = ("alpha beta gamma delta", "one two three four")


def material(topics: int = 2, pool: int = 40, strength: float = 1.0) -> CampaignRows:
    """Documents whose titles end in their true grade; a share of their words tells it."""
    chance = random.Random(7)
    texts, documents, pairs = [], [], []
    for t in range(topics):
        texts.append(Topic(f"t{t}", query=f"query {t}"))
        for d in range(pool):
            grade, name = d % 2, f"d{t}-{d}"
            told = [
                chance.choice(
                    WORDS[grade if chance.random() < strength else chance.randrange(2)].split()
                )
                for _ in range(30)
            ]
            documents.append(DocumentRow(name, " ".join(told).encode(), f"page {grade}"))
            pairs.append((f"t{t}", name))
    return CampaignRows(texts, documents, pairs)


MADE = material()


@pytest.fixture
def site(url: str) -> Iterator[Site]:
    made = make_site(url, PLAN, MADE)
    yield made
    made.store.engine.dispose()


def right(title: str, grade: int) -> int:
    return grade


def phases(site: Site) -> dict[str, str]:
    with site.store.read("tiny") as work:
        assert broken(work) == []
        return {line.topic: line.phase for line in hierarchy.hierarchy(work).topics}


def lines(site: Site) -> hierarchy.Hierarchy:
    with site.store.read("tiny") as work:
        assert broken(work) == []
        return hierarchy.hierarchy(work)


def everything(site: Site, *people: int, choose_grade: Any = right) -> None:
    """Let people judge until there is nothing for them."""
    for who in people:
        while not isinstance(site.whole(who, choose_grade), Nothing):
            pass


def expert_decides(site: Site, reason: str = "it says so") -> int:
    """An expert decides all that waits, as the titles say; how much that was."""
    with site.store.read("tiny") as work:
        waiting = cases.queue(work)
    for row in waiting:
        truth = int(row.title.split()[-1])
        site.work(expert_sample.decide, "Eve", row.id, truth, reason)
    return len(waiting)


def trained(site: Site) -> tuple[int, int]:
    """Two people do the training; the second errs on everything; an expert settles it."""
    ann, bob = site.worker("ann"), site.worker("bob")
    everything(site, ann)
    everything(site, bob, choose_grade=lambda _, grade: 1 - grade)
    return ann, bob


def test_training_comes_first_and_waits_for_experts(site: Site) -> None:
    ann, _ = trained(site)
    with site.store.read("tiny") as work:
        sets = set(hierarchy.training_sets(work))
        held = dict(work.db.execute(select(judging_set.c.id, judging_set.c.held)).all())
        assert {number for number, n in held.items() if n} == sets
        assert len(sets) == 8
        first = cases.waiting(work).pairs
    assert set(held.values()) == {0, 2}
    assert phases(site) == {"t0": "training", "t1": "training"}
    assert lines(site).waits == "no-expert"  # said: there is none yet
    assert site.next(ann).code == "later"  # nothing is lost, and nobody is sent away for good
    assert len(first) == 16
    assert expert_decides(site) == 16
    assert phases(site) == {"t0": "judging", "t1": "judging"}
    assert isinstance(site.next(ann), Offer)


def test_what_an_expert_says_of_training_is_told_once(site: Site) -> None:
    ann, bob = trained(site)
    site.clock.forward(5)
    expert_decides(site, "the second line says it")
    site.clock.forward(5)
    told = []
    for who in (bob, bob, ann):
        offer = site.next(who)
        site.judge(who, offer)
        done = site.work(submission.finish, who, offer.key)
        told.append(len(done.lessons))
        again = site.work(submission.review, who, offer.key)
        assert again.lessons == done.lessons
        site.clock.forward(5)
        site.work(submission.submit, who, offer.key)
        if told == [16]:
            assert {each.reason for each in done.lessons} == {"the second line says it"}
            assert all(each.said != each.expert for each in done.lessons)
    assert told == [16, 0, 0]  # once; and nothing to whoever was right


def judged(site: Site, also: int = 0) -> tuple[int, int]:
    """Training, and as much of judging that the classifier tells."""
    ann, bob = trained(site)
    expert_decides(site)
    for _ in range(3 + also):
        site.whole(ann)
    choose(site.store, "tiny", "qrowd")
    return ann, bob


def test_likely_relevant_sets_come_first_and_to_the_best(site: Site) -> None:
    ann, bob = judged(site)
    cleo = site.worker("cleo")
    found = lines(site)
    assert all(line.text.tells and (line.text.low or 0) > 0.5 for line in found.topics)
    with site.store.read("tiny") as work:
        assert hierarchy.findings(work).best == {ann}
        kept = set(
            work.db.scalars(
                select(judging_set.c.id).where(judging_set.c.priority.in_(hierarchy.TOP))
            )
        )
        open_to = {
            who: set(work.db.scalars(select(judging_set.c.id).where(picks.open_to(work, who))))
            for who in (ann, bob, cleo)
        }
    assert open_to[ann] & kept
    assert not open_to[bob] & kept
    assert not open_to[cleo] & kept
    assert open_to[cleo]
    site.clock.forward(3 * 60 + 1)  # the plan's hours: open to all, without any job
    with site.store.read("tiny") as work:
        assert (
            set(work.db.scalars(select(judging_set.c.id).where(picks.open_to(work, cleo)))) & kept
        )
        best = picks.pick(work, cleo, 1)[0]
    assert best.priority == hierarchy.TOP[0]


def finished(site: Site) -> tuple[int, int, list[int]]:
    """All is judged; Dan errs on six documents of either topic; the texts are asked."""
    ann, _ = trained(site)
    expert_decides(site)
    dan = site.worker("dan")
    with site.store.read("tiny") as work:
        sets = set(hierarchy.training_sets(work))
    count = {"n": 0}

    def errs(title: str, grade: int) -> int:
        count["n"] += 1
        return 1 - grade if count["n"] % 8 == 1 else grade

    everything(site, dan, choose_grade=errs)
    everything(site, ann)
    choose(site.store, "tiny", "qrowd")
    return ann, dan, sorted(sets)


def keys_of(value: Any) -> set[str]:
    """The names of all fields, whatever they are inside."""
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    if isinstance(value, list | tuple):
        return set().union(*map(keys_of, value))
    return set()


def test_revision_replaces_an_answer_once_and_keeps_both(site: Site) -> None:
    usual = keys_of(asdict(site.next(site.worker("zoe"))))
    usual |= {"event", "kind", "grade", "ranks", "value", "bucket"}  # of an answer
    with site.store.read("tiny") as work:
        zoe = work.db.scalar(select(assignment.c.key))
    site.work(submission.give_back, site.worker("zoe"), zoe)
    _, dan, _ = finished(site)
    with site.store.read("tiny") as work:
        asked = hierarchy.findings(work).asked
        before = collected(work).judgements
        events = len(work.db.execute(select(event)).all())
    assert set(asked) == {dan}
    assert set(phases(site).values()) == {"revision"}
    assert lines(site).waits == "people"
    offer = site.next(dan)
    assert isinstance(offer, Offer)
    assert offer.kind == "revision"
    assert offer.pay == 50
    shown = [document for each in offer.sets for document in each.documents]
    assert len(shown) == len(asked[dan])  # these alone, not all of their sets
    assert {each.reviewed.grade if each.reviewed else None for each in shown} <= {0, 1}
    assert keys_of(asdict(offer)) == usual  # nothing of the classifier is in it
    keep, change = shown[0], shown[1:]
    for each in offer.sets:
        for document in each.documents:
            truth = int(document.title.split()[-1])
            assert document.reviewed is not None
            assert document.reviewed.grade == 1 - truth
            grade = 1 - truth if document is keep else truth
            site.say(dan, each.key, document.position, grade)
    with site.store.read("tiny") as work:  # pending: what was said first counts
        assert collected(work).judgements.grade.tolist() == before.grade.tolist()
    site.work(submission.finish, dan, offer.key)
    for _ in range(2):
        assert site.work(submission.submit, dan, offer.key).earned == 50
    with site.store.read("tiny") as work:
        after = collected(work).judgements
        assert len(work.db.execute(select(event)).all()) == events + len(shown)
        number = work.number(select(assignment.c.id).where(assignment.c.key == offer.key))
    assert len(after) == len(before)
    assert (after.grade != before.grade).sum() == len(change)
    found = lines(site)
    assert (found.count("revised"), found.count("changed")) == (len(shown), len(change))
    assert found.count("sent") == 1  # what is kept goes to the experts
    assert expert_decides(site) == 1
    assert set(phases(site).values()) == {"done"}
    assert site.next(dan).code == "no-work-left"
    act = site.work(audit.perform, "o", "exclude", {"assignment": number})  # and back again
    with site.store.read("tiny") as work:
        assert broken(work) == []
        assert collected(work).judgements.grade.tolist() == before.grade.tolist()
    site.work(audit.undo, "o", act)
    with site.store.read("tiny") as work:
        assert broken(work) == []
        assert collected(work).judgements.grade.tolist() == after.grade.tolist()


def test_nobody_is_asked_more_often_than_planned(url: str) -> None:
    made = make_site(url, PLAN.replace("hours = 3", "hours = 3\nrevisions = 1"), MADE)
    _, dan, _ = finished(made)
    offer = made.next(dan)
    assert sum(len(each.documents) for each in offer.sets) == 1
    made.whole(dan)
    assert made.next(dan).code == "no-work-left"
    made.store.engine.dispose()


def test_a_revision_given_back_changes_nothing(site: Site) -> None:
    _, dan, _ = finished(site)
    with site.store.read("tiny") as work:
        before = collected(work).judgements.grade.tolist()
    offer = site.next(dan)
    site.judge(dan, offer)
    site.work(submission.give_back, dan, offer.key)
    with site.store.read("tiny") as work:
        assert broken(work) == []
        assert collected(work).judgements.grade.tolist() == before
    assert set(phases(site).values()) == {"done"}


@pytest.mark.parametrize("texts", ["noise", "none"])
def test_a_text_that_does_not_tell_is_not_used(url: str, texts: str) -> None:
    made = material(strength=0.0)
    if texts == "none":
        bare = [replace(row, body=b"", title=row.title[-1]) for row in made.documents]
        made = replace(made, documents=bare)
    site = make_site(url, PLAN, made)
    everything(site, *(site.worker(name) for name in ("ann", "bob", "ann", "bob")))
    choose(site.store, "tiny", "qrowd")
    found = lines(site)
    assert {line.phase for line in found.topics} == {"done"}
    assert not any(line.text.tells for line in found.topics)
    assert (found.count("asked"), found.count("revised")) == (0, 0)
    assert found.blank == (80 if texts == "none" else 0)
    with site.store.read("tiny") as work:
        assert len(set(work.db.scalars(select(judging_set.c.priority)))) == 1
        assert hierarchy.findings(work).asked == {}
    site.store.engine.dispose()


@pytest.mark.parametrize(
    ("change", "line", "told"),
    [
        (
            ('mode = "hierarchy"', 'mode = "hierarchy"\nway = "preferences"'),
            5,
            "grades each document alone",
        ),
        (
            ('mode = "hierarchy"', 'mode = "hierarchy"\nway = "ranked"'),
            5,
            "grades each document alone",
        ),
        (("target = 2", "target = 1"), 11, "at most 1"),
        (("training = 4", "training = 4\nvotes = 1"), 13, "at least 2"),
        (("[hit]", '[files]\npriorities = "p.tsv"\n[hit]'), 16, "texts make the order"),
        (("[hit]", '[next]\npick = "systems"\n[hit]'), 16, "hierarchy"),
    ],
)
def test_refused_in_one_line(change: tuple[str, str], line: int, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        parse_plan(PLAN.replace(*change))
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


def test_said_before_anything_is_spent() -> None:
    plan = parse_plan(PLAN)
    blank = replace(MADE, documents=[replace(row, body=b"") for row in MADE.documents])
    assert "80 documents of the pool have no text" in str(
        [str(each.message) for each in forecast(plan, blank).warnings]
    )
    alone = parse_plan(PLAN + "[people]\nworkers = 1\n")
    with pytest.raises(InputError, match="above the number of workers, 1"):
        refuse_unmeetable(alone, MADE)


def test_undone_the_texts_are_forgotten(site: Site) -> None:
    _, dan, _ = finished(site)
    act = site.work(audit.last_act)
    site.work(audit.undo, "o", act)
    with site.store.read("tiny") as work:
        assert hierarchy.findings(work) == hierarchy.Findings()
        assert set(work.db.scalars(select(pair.c.priority))) == {0.0}
        assert work.count(place, place.c.kind == "review") == 0
    assert site.next(dan).code == "later"


def test_nobody_has_judged(site: Site) -> None:
    with pytest.raises(RuleError, match="no judgements yet"):
        choose(site.store, "tiny", "qrowd")


def with_next(plan: str, **keys: Any) -> str:
    """The plan by margin, with these judgements at least."""
    return plan + '[next]\npick = "margin"\n' + "".join(f"{k} = {v}\n" for k, v in keys.items())


@pytest.mark.parametrize(("votes", "least", "by_expert"), [(3, 2, False), (2, 1, True)])
def test_training_keeps_the_places_that_it_waits_for(
    url: str, votes: int, least: int, by_expert: bool
) -> None:
    plan = PLAN.replace("training = 4", f"training = 4\nvotes = {votes}")
    plan = with_next(plan.replace("target = 2", f"target = {votes}"), least=least)
    site = make_site(url, plan, MADE)
    everything(site, *(site.worker(f"w{n}") for n in range(votes - 1)))
    if by_expert:
        with site.store.read("tiny") as work:
            sets = hierarchy.training_sets(work)
            pairs = work.db.scalars(select(member.c.pair_id).where(member.c.set_id.in_(sets))).all()
        for number in pairs:
            site.work(expert_sample.decide, "Eve", number, 1, "it says so")
    choose(site.store, "tiny", "qrowd")
    everything(site, site.worker("last"))
    assert set(phases(site).values()) == {"judging"}
    site.store.engine.dispose()


def test_nothing_is_kept_where_nobody_is_best(url: str) -> None:
    plan = PLAN.replace("training = 4", "training = 1").replace("size = 2", "size = 4")
    site = make_site(url, plan.replace("sets = 5", "sets = 1"), MADE)
    for n in range(30):  # four answers each: too few to say how good somebody is
        site.whole(site.worker(f"w{n}"))
    choose(site.store, "tiny", "qrowd")
    with site.store.read("tiny") as work:
        found = hierarchy.findings(work)
    assert any(each.tells for each in found.topics.values())
    assert found.best == frozenset()
    left = [site.whole(site.worker(f"v{n}")) for n in range(10)]
    assert not any(isinstance(each, Nothing) for each in left)
    site.store.engine.dispose()


def test_the_better_half_of_one_is_one(url: str) -> None:
    site = make_site(url, PLAN.replace("sets = 5", "sets = 1"), MADE)
    ann = site.worker("ann")
    everything(site, ann)
    for n in range(8):  # two answers each: too few
        site.whole(site.worker(f"w{n}"))
    choose(site.store, "tiny", "qrowd")
    with site.store.read("tiny") as work:
        assert hierarchy.findings(work).best == {ann}
    site.store.engine.dispose()


def test_without_money_for_revision_it_is_said_and_done(url: str) -> None:
    site = make_site(url, PLAN.replace("review = 0.50", "review = 5.00"), MADE)
    _, dan, _ = finished(site)
    assert lines(site).waits == "people"
    with site.store.read("tiny") as work:
        free = ledger.balance(work).free
    site.work(ledger.fund, 499 - free)
    assert site.next(dan).code == "no-work-left"
    with site.store.read("tiny") as work:
        assert [row.kind for row in notices.notices(work)] == ["no-budget"]
    assert set(phases(site).values()) == {"done"}
    site.work(ledger.fund, 1)
    assert lines(site).waits == "people"
    assert isinstance(site.next(dan), Offer)
    assert lines(site).waits == "people"  # though nothing is free any more: the batch is open
    site.store.engine.dispose()


def statements(site: Site, act: Callable[[], Any]) -> int:
    """How many statements go to the database."""
    said: list[str] = []

    def note(*args: Any) -> None:
        said.append(args[2])

    listen(site.store.engine, "before_cursor_execute", note)
    try:
        act()
    finally:
        remove(site.store.engine, "before_cursor_execute", note)
    return len(said)


def test_what_is_left_takes_as_many_statements_however_many_are_asked(site: Site) -> None:
    finished(site)
    with site.store.read("tiny") as work:
        (answers,) = hierarchy.findings(work).asked.values()

        now = hierarchy.Standing.of(work)
        one, many = (
            replace(now, texts=replace(now.texts, asked=dict.fromkeys(range(1, n), answers)))
            for n in (2, 6)
        )
        left = partial(hierarchy.left_to_revise, work)
        assert statements(site, partial(left, one)) == statements(site, partial(left, many))


def test_phases_are_worked_out_once_for_a_request(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, _ = judged(site)
    calls: Counter[str] = Counter()

    def counted(name: str, function: Callable[..., Any], *args: Any) -> Any:
        calls[name] += 1
        return function(*args)

    for name in ("phases", "findings", "training_sets"):
        function = getattr(hierarchy, name)
        monkeypatch.setattr(hierarchy, name, partial(counted, name, function))
    assert isinstance(site.next(ann), Offer)
    assert calls == {"phases": 1, "findings": 1, "training_sets": 1}


def test_what_is_handed_in_meanwhile_is_not_missed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, _ = trained(site)
    expert_decides(site)
    offer = site.next(ann)
    site.judge(ann, offer)
    site.work(submission.finish, ann, offer.key)
    site.clock.forward(1)
    find = Campaign.find

    def slow(self: Campaign, pool: Any) -> Any:
        site.clock.forward(1)
        site.work(submission.submit, ann, offer.key)
        site.clock.forward(1)
        return find(self, pool)

    monkeypatch.setattr(Campaign, "find", slow)
    site.clock.forward(20)
    assert tasks.refresh_all(site.store, tmp_path) == 2  # quality, and this
    while tasks.run_one(site.store, tmp_path):
        pass
    with site.store.read("tiny") as work:
        assert hierarchy.is_behind(work, hierarchy.findings(work))
    site.clock.forward(60)
    monkeypatch.undo()
    tasks.refresh_all(site.store, tmp_path)
    while tasks.run_one(site.store, tmp_path):
        pass
    with site.store.read("tiny") as work:
        assert not hierarchy.is_behind(work, hierarchy.findings(work))


def test_a_plan_in_which_revision_is_not_paid_is_warned_of() -> None:
    def warned(text: str) -> list[str]:
        plan = parse_plan(text)
        return [each.key for each in forecast(plan, MADE).warnings if each.section == "pay"]

    unpaid = PLAN.replace("review = 0.50\n", "")
    assert warned(unpaid) == ["review"]
    assert warned(PLAN) == []
    assert warned(unpaid.replace("hit = 1.00\n", "")) == []  # volunteers
    assert warned(unpaid.replace("hours = 3", "hours = 3\nrevisions = 0")) == []
    made = forecast(parse_plan(unpaid), MADE)  # a dry run does not change it
    again = made.rehearsed(parse_plan(unpaid), made.spend, made.accuracy)
    assert [each.key for each in again.warnings] == [each.key for each in made.warnings]


def test_the_datasheet_names_the_mode_and_what_was_looked_at_again(
    site: Site, tmp_path: Path
) -> None:
    _, dan, _ = finished(site)
    site.whole(dan)
    found = lines(site)
    figures = Figures(merge=q.MajorityVote(), method="mv")
    release(site.store, "tiny", tmp_path / "out", figures, who="o", sure=True)
    sheet = (tmp_path / "out" / "datasheet.md").read_text()
    assert "in the mode hierarchy" in sheet
    assert f"{found.count('revised')} answers were looked at again" in sheet
    assert f"{found.count('changed')} of them were changed" in sheet
