"""Ways of judging: one class each; and the slider, from what is said to what is exported."""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import random
import re
from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.collection.making import PLAN, Site, make_site, material

import qrowd as q
from qrowd.collection.database.schema import event
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import events, submission
from qrowd.collection.judging.events import Said
from qrowd.collection.judging.offer import Offer
from qrowd.collection.plan import way as registry
from qrowd.collection.plan.changes import change
from qrowd.collection.plan.forecast import forecast, refuse_unmeetable
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import parse_plan, plan_text
from qrowd.collection.plan.way import Opinion, Way
from qrowd.collection.publishing.datasheet import Figures
from qrowd.collection.publishing.export import export
from qrowd.collection.publishing.imports import import_judgements
from qrowd.collection.publishing.release import release
from qrowd.data.topics import Topic
from qrowd.errors import InputError, RuleError

SLIDER = PLAN.replace("[sets]", 'way = "slider"\n[scale]\ncuts = [34, 67]\n[sets]')
HEAD = '[campaign]\nname = "a"\n'
SOURCE = Path(registry.__file__).parents[2]


def refused(code: str, words: str) -> Any:
    """Expects a rule to say no, by its code and words."""
    return pytest.raises(RuleError, match=words, check=lambda error: error.code == code)


# --- a way is a class -----------------------------------------------------------------------------


def test_a_way_is_added_by_one_class(tmp_path: Path) -> None:
    class Thumbs(Way):
        name = "thumbs"
        script = "thumbs"
        order = 6
        kinds = frozenset({"grade"})
        sizes = (1, 1)

        def missing(self, plan: Plan, answers: Any, size: int) -> str:
            return "" if answers else "no thumb was shown"

    try:
        assert Way.names()[-1] == "thumbs"
        plan = change(Plan(), {"campaign.way": "thumbs", "campaign.name": "a"})
        assert plan.sets.size == 1
        assert parse_plan(plan_text(plan)).way is plan.way
        site = make_site(
            f"sqlite:///{tmp_path / 'c.db'}",
            PLAN.replace("[sets]\nsize = 3", 'way = "thumbs"\n[sets]\nsize = 1'),
            material(size=1),
        )
        ann = site.worker("ann")
        offer = site.next(ann)
        assert {len(shown.documents) for shown in offer.sets} == {1}
        with refused("incomplete", "no thumb was shown"):
            site.work(submission.finish, ann, offer.key)
        assert site.whole(ann).state == "accepted"
        site.store.engine.dispose()
    finally:
        registry._WAYS.pop("thumbs")


def test_nothing_else_names_a_way() -> None:
    names = "|".join(name for name in Way.names() if name != "grades")  # a word of other things too
    quoted = re.compile(rf"""["'](?:{names})["']""")
    files = [
        path
        for room in ("collection", "web", "cli/campaign")
        for kind in ("*.py", "*.j2")
        for path in (SOURCE / room).rglob(kind)
        if path.parent.name != "ways"
    ]
    assert len(files) > 100
    files.append(SOURCE / "cli" / "serve.py")
    assert [path.name for path in files if quoted.search(path.read_text())] == []


@pytest.mark.parametrize("way", Way.names())
def test_every_way_can_be_tried_and_has_words(way: str) -> None:
    from qrowd.web.trial import plan_text as trial_plan
    from qrowd.web.trial import trial_rows

    plan, rows = parse_plan(trial_plan(way)), trial_rows(way)
    refuse_unmeetable(plan, rows)
    assert forecast(plan, rows).batches
    assert bool(rows.gold) == plan.way.gold
    assert all(str(plan.way.says(part)) for part in ("title", "means", "datasheet"))


def test_an_unknown_way_is_refused_at_its_line() -> None:
    with pytest.raises(InputError, match=r"plan:3: .*no way 'sliders'; did you mean slider\?"):
        parse_plan(HEAD + 'way = "sliders"\n')


# --- cuts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ("[34]", "must be 2, the lowest value of each grade above the lowest"),
        ("[34, 50, 67]", "must be 2"),
        ("[67, 34]", "must rise"),
        ("[34, 34]", "must rise"),
        ("[0, 67]", "must be above 0 and at most 100"),
        ("[34, 101]", "must be above 0 and at most 100"),
        ("[33.5, 67]", "must be a list of whole numbers"),
    ],
)
def test_cuts_must_fit_the_grades(cuts: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"plan:5: \[scale\].* {message}"):
        parse_plan(f'{HEAD}way = "slider"\n[scale]\ncuts = {cuts}\n')


def test_cuts_are_equal_parts_unless_they_are_named_and_only_where_there_are_values() -> None:
    plan = parse_plan(HEAD + 'way = "slider"\n[scale]\ngrades = [0, 1, 2, 3]\n')
    assert plan.way.cuts(plan) == (25, 50, 75)
    named = change(plan, {"scale.cuts": "10, 20, 30"})
    assert named.way.cuts(named) == (10, 20, 30)
    assert parse_plan(plan_text(named)).scale.cuts == (10, 20, 30)
    graded = change(named, {"campaign.way": "grades"})
    assert (graded.scale.cuts, graded.way.cuts(graded)) == ((), ())
    with pytest.raises(InputError, match=r"plan:4: \[scale\] cuts: there are no values"):
        parse_plan(HEAD + "[scale]\ncuts = [34, 67]\n")


@pytest.mark.parametrize("cuts", [(34, 67), (1, 100), (99, 100), (), (50, 51)])
def test_a_robots_number_lies_within_the_cuts_of_its_grade(cuts: tuple[int, ...]) -> None:
    plan = parse_plan(SLIDER)
    plan = replace(plan, scale=replace(plan.scale, cuts=cuts))
    seen = set()
    for grade, chance in itertools.product(plan.scale.grades, (0.0, 0.3, 0.5, 0.9999999)):
        said = plan.way.robot_says(plan, {}, grade, itertools.repeat(chance).__next__)
        assert plan.way.grade(plan, Opinion(**said)) == grade
        seen.add(said["value"])
    assert {0, 100} <= seen


# --- what is said ---------------------------------------------------------------------------------


@pytest.fixture
def rated(url: str) -> Any:
    """A small campaign by a slider."""
    made = make_site(url, SLIDER)
    yield made
    made.store.engine.dispose()


def test_a_number_is_stored_with_the_grade_that_the_cuts_make_of_it(rated: Site) -> None:
    ann = rated.worker("ann")
    key = rated.next(ann).sets[0].key
    expected = {0: 0, 33.999: 0, 34: 1, 66: 1, 67: 2, 100: 2}
    for value in expected:
        rated.say(ann, key, 1, None, kind="rating", value=value)
    with rated.store.read("tiny") as work:
        rows = work.db.execute(select(event.c.value, event.c.grade).order_by(event.c.id)).all()
    assert [tuple(row) for row in rows] == list(expected.items())
    answer = rated.next(ann).sets[0].documents[0].answer
    assert (answer.kind, answer.value, answer.grade) == ("rating", 100, 2)


def test_what_is_no_number_from_0_to_100_is_refused_and_nothing_is_lost(rated: Site) -> None:
    ann = rated.worker("ann")
    key = rated.next(ann).sets[0].key
    saved = rated.say(ann, key, 1, None, kind="rating", value=70.5)
    for value in (-0.5, 100.5, float("nan"), float("inf")):
        with refused("malformed", "value must be a number from 0 to 100"):
            rated.say(ann, key, 1, None, kind="rating", value=value)
    with refused("malformed", "a rating, and only it, has a value"):
        rated.say(ann, key, 1, None, kind="rating")
    with refused("not-allowed", "asks for no grade; send a rating"):
        rated.say(ann, key, 1, 2)
    with refused("not-allowed", "asks for no ranking; send a rating"):
        rated.say(ann, key, 0, None, kind="ranking", ranks=(1, 2, 3))
    answer = rated.next(ann).sets[0].documents[0].answer
    assert (answer.event, answer.value) == (saved.event, 70.5)


def test_other_ways_take_no_number(site: Site) -> None:
    ann = site.worker("ann")
    key = site.next(ann).sets[0].key
    with refused("not-allowed", "asks for no rating; send a grade"):
        site.say(ann, key, 1, None, kind="rating", value=50)
    with refused("malformed", "a rating, and only it, has a value"):
        site.say(ann, key, 1, 1, value=50)


def test_an_answer_that_was_sent_before_there_were_values_is_recognised() -> None:
    said = Said(key="k", place="p", kind="grade", position=1, grade=2)
    body = {name: each for name, each in asdict(said).items() if name not in ("value", "bucket")}
    known = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    assert said.digest() == known != replace(said, value=1.0).digest()


def test_check_questions_are_judged_by_the_grade_of_the_cuts(url: str) -> None:
    plan = SLIDER + '[checks.binary]\naction = "return"\n[qualification]\nsets = 1\ntries = 1\n'
    site = make_site(url, plan, material(qualification=2))

    def rate(worker: int, low: float, high: float) -> Any:
        offer = site.next(worker)
        for shown in offer.sets:
            for document in shown.documents:
                value = high if int(document.title.split()[-1]) else low
                site.say(worker, shown.key, document.position, None, kind="rating", value=value)
        finished = site.work(submission.finish, worker, offer.key)
        return finished, site.work(submission.submit, worker, offer.key)

    ann, bob = site.worker("ann"), site.worker("bob")
    finished, ended = rate(ann, 33, 34)
    assert (finished.missed, ended.qualified) == ((), True)
    finished, ended = rate(ann, 33, 34)
    assert (finished.passed, ended.state) == (True, "accepted")
    finished, ended = rate(bob, 34, 33)
    assert {(each.said, each.expert) for each in finished.missed} == {(1, 0), (0, 1), (0, 2)}
    assert ended.qualified is False
    assert site.work(broken) == []
    site.store.engine.dispose()


# --- what is exported -----------------------------------------------------------------------------


def test_pairs_stay_on_one_topic_for_a_while(url: str) -> None:
    plan = PLAN.replace("[sets]", 'way = "preferences"\n[sets]').replace("size = 3", "size = 2")
    plan = plan.replace("sets = 3", "sets = 5").replace("gold = 1", "gold = 0")
    rows = replace(material(topics=3, pool=6), gold=())
    site = make_site(url, plan, rows)
    ann = site.worker("ann")
    seen: list[str] = []
    while isinstance(offer := site.next(ann), Offer):
        seen += [shown.topic.query for shown in offer.sets]
        topics = [
            topic for topic, _ in itertools.groupby(shown.topic.query for shown in offer.sets)
        ]
        assert len(topics) == len(set(topics))  # what is left of a topic comes together
        assert len(topics) == 1 or len(seen) > 5
        for shown in offer.sets:
            said = Said(key=shown.key, place=shown.key, kind="ranking", ranks=(1, 2))
            site.work(events.save, ann, said)
        site.work(submission.finish, ann, offer.key)
        site.work(submission.submit, ann, offer.key)
    assert len(seen) == 3 * 12  # 6 documents in 4 couples each
    site.store.engine.dispose()


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of an exported table."""
    with (folder / name).open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def many() -> CampaignRows:
    """Three topics with 100 documents each, whose titles are their names; gold."""
    topics = [Topic(f"t{t}", query=f"query {t}") for t in range(3)]
    gold = [
        GoldRow(f"t{s % 3}", f"g{s}-{d}", grade, "", "", f"s{s}")
        for s in range(21)
        for d, grade in enumerate((0, 1, 2, 0, 1))
    ]
    pool = [(row.name, f"{row.name}-d{d}") for row in topics for d in range(100)]
    names = [name for _, name in pool] + [row.document for row in gold]
    documents = [DocumentRow(name, name.encode(), name) for name in names]
    return CampaignRows(topics, documents, pool, gold)


def test_values_grades_and_orders_of_300_documents_are_what_was_said(
    url: str, tmp_path: Path
) -> None:
    plan = SLIDER.replace("size = 3", "size = 5").replace("target = 2", "target = 1")
    plan = plan.replace("sets = 3", "sets = 4") + '[checks.binary]\naction = "none"\n'
    site, chance = make_site(url, plan, many()), random.Random(8)
    people = [site.worker("ann"), site.worker("bob")]
    said: dict[tuple[str, str], float] = {}
    for person, name in itertools.cycle(zip(people, ("w1", "w2"), strict=True)):
        offer = site.next(person)
        if not isinstance(offer, Offer):
            break
        for shown in offer.sets:
            for document in shown.documents:
                # some are the same, and many whole ones come before the first that is not
                digits = chance.choice((0, 0, 6)) if len(said) > 150 else 0
                value = round(chance.uniform(0, 100), digits)
                said[name, document.title] = value
                site.say(person, shown.key, document.position, None, kind="rating", value=value)
        site.work(submission.finish, person, offer.key)
        assert site.work(submission.submit, person, offer.key).state == "accepted"
    machine = tmp_path / "machine.tsv"
    machine.write_text("topic\tdoc\tassessor\tgrade\nt0\tt0-d0\tllm\t2\n")
    site.work(import_judgements, machine)
    with site.store.read("tiny") as work:
        exported = {file.name: file.rows for file in export(work, tmp_path / "out", parquet=True)}
        assert broken(work) == []
    site.store.engine.dispose()

    counted = {key: value for key, value in said.items() if not key[1].startswith("g")}
    assert len(counted) == 300 == exported["ratings.tsv"] == exported["orders.tsv"]
    ratings = rows_of(tmp_path / "out", "ratings.tsv")
    assert list(ratings[0]) == ["topic", "doc", "assessor", "value", "seconds", "time"]
    assert {(row["assessor"], row["doc"]): float(row["value"]) for row in ratings} == counted
    assert all(not row["value"].endswith(".0") for row in ratings)

    import polars as pl

    table = pl.read_parquet(tmp_path / "out" / "ratings.parquet")
    assert (
        dict(zip(zip(table["assessor"], table["doc"], strict=True), table["value"], strict=True))
        == counted
    )

    def grade(value: float) -> int:
        return (value >= 34) + (value >= 67)

    judgements = rows_of(tmp_path / "out", "judgements.tsv")
    grades = {(row["assessor"], row["doc"]): int(row["grade"]) for row in judgements}
    assert grades.pop(("llm", "t0-d0")) == 2  # who gave no number, and is in no order
    assert grades == {key: grade(value) for key, value in counted.items()}
    controls = rows_of(tmp_path / "out", "controls.tsv")
    assert {(row["assessor"], row["doc"]): int(row["grade"]) for row in controls} == {
        key: grade(value) for key, value in said.items() if key not in counted
    }

    ballots: dict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    for row in rows_of(tmp_path / "out", "orders.tsv"):
        ballots[row["ballot"], row["assessor"], row["topic"]][row["doc"]] = int(row["place"])
    assert len(ballots) == len({key[1:] for key in ballots}) == 6
    ties = 0
    for (_, assessor, _), places in ballots.items():
        values = {name: counted[assessor, name] for name in places}
        best_first = sorted(set(values.values()), reverse=True)
        assert places == {name: best_first.index(value) + 1 for name, value in values.items()}
        ties += len(places) - len(best_first)
    assert ties
    orders = q.read_orders(tmp_path / "out" / "orders.tsv")
    assert len(orders.pairs) == 300
    assert q.get("borda").fit(orders).ranks() is not None
    crowd = q.read_judgements(tmp_path / "out" / "judgements.tsv")
    assert len(q.get("mv").fit(crowd).qrels()) == 300


def test_a_release_has_the_numbers_and_nobody(rated: Site, tmp_path: Path) -> None:
    for who in (rated.worker("ann"), rated.worker("bob")) * 2:  # who see all of the pool
        offer = rated.next(who)
        for shown in offer.sets:
            for document in shown.documents:
                value = (10, 50.5, 99)[int(document.title.split()[-1])]
                rated.say(who, shown.key, document.position, None, kind="rating", value=value)
        rated.work(submission.finish, who, offer.key)
        assert rated.work(submission.submit, who, offer.key).state == "accepted"
    figures = Figures(merge=q.get("mv"), method="mv")
    release(rated.store, "tiny", tmp_path / "out", figures, who="ada", sure=True)
    with rated.store.read("tiny") as work:
        export(work, tmp_path / "own")
    released, own = (rows_of(tmp_path / name, "ratings.tsv") for name in ("out", "own"))
    assert list(released[0]) == ["topic", "doc", "assessor", "value"]
    assert {row["assessor"] for row in released} == {"a1", "a2"}
    values = [{(row["doc"], row["value"]) for row in rows} for rows in (released, own)]
    assert values[0] == values[1]
    assert {value for _, value in values[0]} == {"10", "50.5", "99"}
    read = q.read_release(tmp_path / "out")
    assert read.judgements is not None
    assert read.orders is not None
    assert len(read.judgements) == len(released)
    sheet = (tmp_path / "out" / "datasheet.md").read_text()
    assert "got a number from 0 to 100" in sheet
    assert f"| numbers from 0 to 100 | {len(released)} |" in sheet


def test_robots_rate(tmp_path: Path) -> None:
    from qrowd.web.robots.crowd import Crowd
    from qrowd.web.robots.rehearsal import dry_run

    site = make_site(f"sqlite:///{tmp_path / 'c.db'}", SLIDER)
    done = dry_run(site.store, "tiny", Crowd(robots=6, seed=3))
    assert done.judgements > 0
    assert done.batches["accepted"] > 0
    site.store.engine.dispose()
