"""A qualification taken elsewhere: the test that goes out, what comes back, who needs none here."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.collection.making import PLAN, Site, make_site, material, wrong

from qrowd.collection.database.schema import listed_person
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import submission
from qrowd.collection.judging.offer import Offer
from qrowd.collection.office.acts.people import Passed, QualifyPeople
from qrowd.collection.people import entry, workers
from qrowd.collection.plan.pass_rates import passes_test
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.publishing import qualification
from qrowd.collection.publishing.qualification import Result
from qrowd.collection.record import audit
from qrowd.errors import InputError, QrowdError, RuleError
from qrowd.quality.pass_chances import WORKERS, Worker

TESTED = PLAN + "[qualification]\nsets = 4\ntries = 1\n"
RANKED = TESTED.replace("seed = 1", 'seed = 1\nway = "ranked"')
Answer = Callable[[str, int], int]


def made_site(url: str, plan: str = TESTED) -> Site:
    return make_site(url, plan, material(qualification=6))


@pytest.fixture
def site(url: str) -> Iterator[Site]:
    made = made_site(url)
    yield made
    made.store.engine.dispose()


def right(doc: str) -> int:
    """The gold of a document of the test."""
    return (0, 1, 2)[int(doc.split("-")[1])]


def task(site: Site) -> list[tuple[str, str]]:
    table = site.work(qualification.task_table)
    return list(zip(table["topic"], table["doc"], strict=True))


def answered(site: Site, *people: tuple[str, int], file: Path) -> Path:
    """A file in which each of these people got so many of the first documents right."""
    lines = ["WorkerID,query_id,docno,label"]
    for person, good in people:
        for at, (topic, doc) in enumerate(task(site)):
            grade = right(doc) if at < good else 0 if right(doc) else 2
            lines.append(f"{person},{topic},{doc},{grade}")
    file.write_text("\n".join(lines) + "\n")
    return file


def read(site: Site, *files: Path) -> dict[str, Result]:
    results = site.work(qualification.read_results, [str(file) for file in files])
    return {result.person: result for result in results}


def passed(results: dict[str, Result]) -> QualifyPeople:
    shares = {name: result.share for name, result in results.items() if result.passed}
    return QualifyPeople(passed=Passed(shares))


# --- what goes out --------------------------------------------------------------------------------


def test_the_task_has_all_that_is_asked_and_no_grades(site: Site) -> None:
    table = site.work(qualification.task_table)
    names = ["set", "topic", "query", "description", "narrative", "position"]
    assert list(table) == [*names, "doc", "title", "url", "text"]
    assert len(table["doc"]) == len(set(table["doc"])) == 12
    assert table["set"] == [str(at) for at in (1, 2, 3, 4) for _ in range(3)]
    assert table["position"] == ["1", "2", "3"] * 4
    assert table["query"][0] == f"query {table['topic'][0][1:]}"
    assert table["text"][0] == f"text {table['doc'][0]}"
    # the first position does not tell which one counts where one of each set does
    firsts = {doc.split("-")[1] for doc in table["doc"][::3]}
    assert len(firsts) > 1
    assert site.work(qualification.task_table) == table


def test_a_row_for_each_set(site: Site) -> None:
    table = site.work(qualification.task_table, per_set=True)
    assert len(table["topic"]) == 4
    several = [table[f"doc{at}"][row] for row in range(4) for at in (1, 2, 3)]
    assert several == site.work(qualification.task_table)["doc"]
    assert "text3" in table


def test_a_question_form_of_mechanical_turk(site: Site) -> None:
    form = ElementTree.fromstring(site.work(qualification.question_form))
    names = {"f": qualification.QUESTION_FORM}
    questions = form.findall("f:Question", names)
    table = site.work(qualification.task_table)
    asked = [each.findtext("f:QuestionIdentifier", "", names) for each in questions]
    assert asked == [
        f"{topic} {doc}" for topic, doc in zip(table["topic"], table["doc"], strict=True)
    ]
    assert [each.tag.split("}")[1] for each in form[:5]] == [
        "Overview",
        *["Question"] * 3,
        "Overview",
    ]
    assert form[0].findtext("f:Title", "", names) == table["query"][0]
    first = questions[0]
    texts = [each.text for each in first.findall("f:QuestionContent/f:Text", names)]
    assert texts == [table["text"][0]]
    choices = first.findall(".//f:Selection/f:SelectionIdentifier", names)
    assert [each.text for each in choices] == ["0", "1", "2"]  # and no expert's grade
    kept = ElementTree.Element("x")
    qualification._add(kept, "Text", "a\x00b\x0b<c> & \U0001f600")
    text = ElementTree.fromstring(ElementTree.tostring(kept))[0].text
    assert text == "a b <c> & \U0001f600"


def test_a_campaign_without_one(url: str) -> None:
    site = make_site(url)
    with pytest.raises(RuleError, match="has no qualification"):
        site.work(qualification.task_table)
    site.store.close()


# --- what comes back ------------------------------------------------------------------------------


def test_results_are_scored_by_the_plan(site: Site, tmp_path: Path) -> None:
    one = answered(site, ("ann", 12), ("bob", 9), ("cat", 8), file=tmp_path / "a.csv")
    two = answered(site, ("dan", 0), file=tmp_path / "b.csv")
    results = read(site, one, two)
    shares = {name: (result.right, result.counted) for name, result in results.items()}
    assert shares == {"ann": (12, 12), "bob": (9, 12), "cat": (8, 12), "dan": (0, 12)}
    assert [name for name, result in results.items() if result.passed] == ["ann", "bob"]
    # a random worker passes with 9 or more of 12: 299 of 4,096 ways; two failed
    p = sum(math.comb(12, n) for n in range(9, 13)) / 2**12
    with site.store.read("tiny") as work:
        assert qualification.chances(work)["random"] == pytest.approx(p)
        said = str(qualification.luck(work, list(results.values())))
    assert f"about {2 * p / (1 - p):.1f} of the 2 who passed" in said
    assert "2 who did not pass" in said


def test_one_of_each_set_counts(url: str, tmp_path: Path) -> None:
    site = made_site(url, TESTED.replace("sets = 4", 'sets = 4\ngold = "one"'))
    file = tmp_path / "a.csv"
    lines = ["person\ttopic\tdoc\tgrade"]
    for at, (topic, doc) in enumerate(task(site)):
        counts = doc.endswith("-0")  # the first of each set, as its file has it
        grade = right(doc) if counts and at >= 3 else 0 if right(doc) else 2
        lines.append(f"eve\t{topic}\t{doc}\t{grade}")
    file.write_text("\n".join(lines))
    result = read(site, file)["eve"]
    assert (result.right, result.counted, result.passed) == (3, 4, True)
    with site.store.read("tiny") as work:
        assert qualification.chances(work)["random"] == pytest.approx(5 / 16)
    site.store.close()


def test_a_part_counts_as_wrong_and_the_first_of_two_answers_counts(
    site: Site, tmp_path: Path
) -> None:
    whole = answered(site, ("ann", 12), file=tmp_path / "a.csv").read_text().splitlines()
    part = tmp_path / "part.csv"
    part.write_text("\n".join(whole[:11]))
    result = read(site, part)["ann"]
    assert (result.right, result.counted, result.answered) == (10, 12, 10)
    assert result.passed
    twice = tmp_path / "twice.csv"
    worse = answered(site, ("ann", 0), file=tmp_path / "w.csv").read_text().splitlines()
    twice.write_text("\n".join(worse + whole[1:]))
    result = read(site, twice)["ann"]
    assert (result.right, result.twice, result.passed) == (0, 12, False)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ann,t0,elsewhere,1", "t0 elsewhere is not of the test: these are results of another"),
        ("ann,{topic},{doc},7", "grade 7 is not on the scale 0 1 2"),
        ("an\x07n,{topic},{doc},1", "an id has 1 to 400 characters"),
    ],
)
def test_other_results_are_one_line_and_nothing_is_stored(
    site: Site, tmp_path: Path, line: str, message: str
) -> None:
    topic, doc = task(site)[0]
    file = tmp_path / "results.csv"
    good = f"bob,{topic},{doc},1\n"
    file.write_text("worker,topic,doc,grade\n" + good + line.format(topic=topic, doc=doc) + "\n")
    with pytest.raises(InputError) as refused:
        read(site, file)
    assert message in str(refused.value)
    assert str(refused.value).startswith(f"{file}:3: ")
    assert site.work(entry.people) == []


def test_a_closed_campaign_qualifies_nobody(site: Site, tmp_path: Path) -> None:
    file = answered(site, ("ann", 12), file=tmp_path / "a.csv")
    wanted = passed(read(site, file))
    site.work(audit.perform, "o", "close")
    for refused in (lambda: read(site, file), lambda: site.work(audit.perform, "o", wanted)):
        with pytest.raises(RuleError, match="this campaign is closed"):
            refused()
    assert site.work(entry.people) == []


def test_ranks_count_where_sets_are_ranked(url: str, tmp_path: Path) -> None:
    site = made_site(url, RANKED)
    lines = ["worker,topic,doc,grade,rank"]
    orders: dict[str, Callable[[int], int]] = {
        "best": lambda grade: 3 - grade,
        "worst": lambda grade: grade + 1,
        "tied": lambda grade: 1,
    }
    for person, order in orders.items():
        for topic, doc in task(site):
            grade = right(doc)
            lines.append(f"{person},{topic},{doc},{grade},{order(grade)}")
    file = tmp_path / "a.csv"
    file.write_text("\n".join(lines))
    results = read(site, file)
    assert all(result.right == 12 for result in results.values())
    assert {name: result.passed for name, result in results.items()} == {
        "best": True,
        "worst": False,
        "tied": False,
    }
    assert results["best"].ranks == pytest.approx(1)
    assert results["tied"].ranks == 0
    file.write_text("\n".join(line.rpartition(",")[0] for line in lines))
    with pytest.raises(QrowdError, match="no column for rank"):
        read(site, file)
    site.store.close()


def test_a_batch_file_of_mechanical_turk_with_a_job_for_each_set(url: str, tmp_path: Path) -> None:
    site = made_site(url, RANKED)
    table = site.work(qualification.task_table, per_set=True)
    docs = [f"doc{at}" for at in (1, 2, 3)]
    numbers = (1, 2, 3)
    names = ["WorkerId", "Input.topic", *(f"Input.{name}" for name in docs)]
    names += [f"Answer.{what}{at}" for at in numbers for what in ("grade", "rank")]
    lines = [",".join(names)]
    for row, topic in enumerate(table["topic"]):
        shown = [table[name][row] for name in docs]
        said = [str(each) for doc in shown for each in (right(doc), 3 - right(doc))]
        lines.append(",".join(["A1", topic, *shown, *said]))
    file = tmp_path / "batch.csv"
    file.write_text("\n".join(lines))
    result = read(site, file)["A1"]
    assert (result.right, result.passed) == (12, True)
    assert result.ranks == pytest.approx(1)
    site.store.close()


# --- those who passed -----------------------------------------------------------------------------


def test_who_passed_elsewhere_is_not_tested_here(site: Site, tmp_path: Path) -> None:
    """By a link and by the platform's door; whoever was here already goes on at once."""
    here, failed = site.worker("here"), site.worker("failed")
    assert site.next(here).kind == "qualification"
    site.whole(failed, wrong)
    assert site.work(workers.worker_of, failed).state == "failed"
    file = answered(
        site,
        ("here", 12),
        ("failed", 12),
        ("linked", 10),
        ("sent", 9),
        ("bad", 3),
        file=tmp_path / "a.csv",
    )
    number = site.work(audit.perform, "o", passed(read(site, file)))
    lines = {line.platform_id: line for line in site.work(entry.people)}
    assert set(lines) == {"here", "failed", "linked", "sent"}
    assert lines["linked"].test_share == pytest.approx(10 / 12)
    assert lines["sent"].qualified_at == site.clock.now
    link = site.work(entry.make_link, "linked")
    came = site.work(lambda work: entry.come_in(work, entry.admitted(work, link)))
    assert came.state == "qualified"
    batch = site.next(came.id)
    assert isinstance(batch, Offer)
    assert batch.kind == "judge"
    row = site.work(entry.listed_as, "sent")
    sent = site.work(entry.come_in, entry.Entrant("own", "sent", None, row))
    assert sent.state == "qualified"
    other = site.worker("other")
    assert site.work(workers.worker_of, other).state == "new"
    # an open test does no harm to somebody who has passed meanwhile
    site.judge(here, site.next(here), wrong)
    site.work(submission.finish, here, site.next(here).key)
    assert site.work(workers.worker_of, here).state == "qualified"
    assert site.work(workers.worker_of, failed).state == "failed"
    stored = audit.details_of(site.work(audit.act_numbered, number))
    assert all(isinstance(value, int) for rows in stored.values() for value in rows)
    assert sorted(site.work(qualification.qualified_ids)) == ["failed", "here", "linked", "sent"]
    site.work(audit.undo, "o", number)
    assert site.work(entry.people) == []
    for worker_id in (here, came.id, sent.id):
        assert site.work(workers.worker_of, worker_id).state == "new"
    with site.store.read("tiny") as work:
        assert broken(work) == []


def test_undo_leaves_those_who_passed_here(site: Site, tmp_path: Path) -> None:
    ann = site.worker("ann")
    site.whole(ann)
    assert site.work(workers.worker_of, ann).state == "qualified"
    site.work(audit.perform, "o", "list people", {"people": ["ann"]})
    file = answered(site, ("ann", 12), file=tmp_path / "a.csv")
    number = site.work(audit.perform, "o", passed(read(site, file)))
    site.work(audit.undo, "o", number)
    assert site.work(workers.worker_of, ann).state == "qualified"
    (line,) = site.work(entry.people)
    assert (line.platform_id, line.qualified_at, line.test_share) == ("ann", None, None)


def test_nobody_is_qualified_twice_nor_put_back(site: Site, tmp_path: Path) -> None:
    site.work(audit.perform, "o", "list people", {"people": ["off"]})
    site.work(audit.perform, "o", "take off list", {"person": 1})
    file = answered(site, ("ann", 12), ("off", 12), file=tmp_path / "a.csv")
    wanted = passed(read(site, file))
    site.work(audit.perform, "o", wanted)
    assert site.work(qualification.qualified_ids) == ["ann"]
    assert site.work(entry.listed_as, "off").state == "off"
    with pytest.raises(RuleError, match="none of them is new"):
        site.work(audit.perform, "o", wanted)


@pytest.mark.parametrize("odd", ["=1+1", "a,b", 'a"b', "+49170"])
def test_an_id_that_no_platform_has_is_refused(site: Site, odd: str) -> None:
    site.work(audit.perform, "o", QualifyPeople(passed=Passed({odd: 1.0, "ann": 1.0})))
    with pytest.raises(InputError, match="cannot stand in a platform's list"):
        site.work(qualification.qualified_ids)
    with site.store.write("tiny") as work:
        work.update(listed_person, listed_person.c.platform_id == odd, state="off")
    assert site.work(qualification.qualified_ids) == ["ann"]


# --- how often who passes -------------------------------------------------------------------------

HEAD = '[campaign]\nname = "x"\n[qualification]\nsets = 4\ntries = 1\n'
KINDS = {kind.name: kind for kind in WORKERS}


def simulated(
    plan: Plan, test: Sequence[tuple[int, ...]], kind: Worker, tries: int = 20_000
) -> float:
    """How many of many people pass, who answer one by one."""
    chance, passes = random.Random(3), 0
    pairs = [level for each in test for level in each]
    for _ in range(tries):
        says = [chance.random() < (kind.hit if level else kind.false_alarm) for level in pairs]
        right = sum(said == (level > 0) for said, level in zip(says, pairs, strict=True))
        passes += right >= plan.qualification.pass_share * len(pairs)
    return passes / tries


@pytest.mark.parametrize(
    ("gold", "kind", "figure"),
    [
        ("one", "random", 0.31),
        ("one", "good", 0.95),
        ("all", "random", 0.02),
        ("all", "good", 0.99),
    ],
)
def test_the_papers_four_jobs_of_five(gold: str, kind: str, figure: float) -> None:
    """One gold document in each, 3 of 4 right; and all 20 at .75: by sums, and by simulation."""
    plan = parse_plan(f'{HEAD}gold = "{gold}"\n')
    test = [(level,) if gold == "one" else (0, 1, level, 0, 1) for level in (0, 1, 2, 0)]
    n, least = (4, 3) if gold == "one" else (20, 15)
    p = KINDS[kind].hit
    assert 1 - KINDS[kind].false_alarm == p
    exact = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(least, n + 1))
    chance = passes_test(plan, test, KINDS[kind], ranked=False)
    assert chance == pytest.approx(exact)
    assert chance == pytest.approx(figure, abs=0.01)
    assert simulated(plan, test, KINDS[kind]) == pytest.approx(figure, abs=0.01)


def test_ranks_make_it_harder_for_those_who_answer_at_random() -> None:
    plan = parse_plan(HEAD.replace('"x"', '"x"\nway = "ranked"'))
    test = [(0, 1, 1, 2, 2)] * 4
    both, grades = (
        [passes_test(plan, test, KINDS[kind], ranked=ranked) for kind in ("random", "good")]
        for ranked in (True, False)
    )
    assert both[0] < grades[0]
    assert both[1] == pytest.approx(grades[1], abs=0.01)
    everybody = passes_test(plan, test, KINDS["always relevant"], ranked=False)
    assert everybody == 1  # 16 of 20 are relevant
    assert passes_test(plan, test, KINDS["always relevant"], ranked=True) < 1
