"""A qualification that people take elsewhere: what goes out, and how what comes back is scored.

task_table(work)                     the documents of one try, for another platform; no grades
results = read_results(work, files)  what each person answered there, by the plan's rule
luck(work, results)                  how many of those who passed may have answered at random
qualified_ids(work)                  whom that platform should let in

The test is one try of the plan: its first sets that are in use. Those who pass are put on the
campaign's list by an act (`qualify people`).
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from sqlalchemy import select

from qrowd.collection.database.schema import (
    NAMED_PAIRS,
    TypedRow,
    content,
    document,
    gold,
    judging_set,
    listed_person,
    member,
    pair,
    topic,
    with_contents,
)
from qrowd.collection.database.store import Work
from qrowd.collection.judging.checks import counted_right, set_ndcg
from qrowd.collection.people.entry import LISTED
from qrowd.collection.people.workers import refuse_odd_id
from qrowd.collection.plan.pass_rates import level_of, passes_test
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.way import Opinion
from qrowd.errors import InputError, RuleError
from qrowd.io.columns import Reading, Wanted, tables
from qrowd.io.documents import text_of_html
from qrowd.io.people import safe
from qrowd.io.table import Table
from qrowd.quality.pass_chances import WORKERS
from qrowd.rendering import Table as Columns
from qrowd.rendering import spaced_percent
from qrowd.texts import Text

RESULTS = Wanted(
    "results",
    needed=("assessor", "topic", "doc", "grade"),
    optional=("rank",),
    stated=True,
    graded=True,
)
RANKED = Wanted("results", needed=(*RESULTS.needed, "rank"), stated=True, graded=True)
_OF_TOPIC = ("topic", "query", "description", "narrative")
QUESTION_FORM = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2017-11-06/QuestionForm.xsd"
)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OTHERS = "these are results of another campaign, or of a test that has changed since"


# --- the test -------------------------------------------------------------------------------------


class TryDocument(TypedRow):
    """A document of the test; `grade` is the expert's, where there is one."""

    set_id: int
    position: int
    topic: str
    query: str
    description: str
    narrative: str
    doc: str
    title: str
    url: str
    media_type: str
    body: bytes | None
    grade: int | None


@dataclass(frozen=True)
class TrySet:
    """A set of the test: the experts' grades and the names of its documents, by position."""

    experts: dict[int, int]
    documents: dict[int, TryDocument]


def sets_of_try(work: Work) -> list[TrySet]:
    """The test: the sets of one try."""
    wanted = work.plan.qualification.sets
    if not wanted:
        raise RuleError("wrong-state", "this campaign has no qualification: its plan has none")
    s = judging_set.c
    mine = (work.own(judging_set), s.role == "qualification", s.open == 1)
    chosen = list(work.db.scalars(select(s.id).where(*mine).order_by(s.id).limit(wanted)))
    t, d = topic.c, document.c
    columns = (t.query, t.description, t.narrative, d.title, d.url, d.media_type, content.c.body)
    query = (
        select(member.c.set_id, member.c.position, *columns, gold.c.grade)
        .add_columns(t.name.label("topic"), d.name.label("doc"))
        .select_from(
            with_contents(NAMED_PAIRS.join(member, member.c.pair_id == pair.c.id)).outerjoin(
                gold, gold.c.pair_id == pair.c.id
            )
        )
        .where(member.c.set_id.in_(chosen))
        .order_by(member.c.set_id, member.c.position)
    )
    sets = []
    for _, rows in groupby(work.rows(query, TryDocument), key=lambda row: row.set_id):
        documents = {row.position: row for row in rows}
        grades = {at: row.grade for at, row in documents.items() if row.grade is not None}
        sets.append(TrySet(grades, documents))
    return sets


def task_table(work: Work, *, per_set: bool = False) -> Columns:
    """What another platform shows: a row for each document, or for each set of them.

    In a row for a set the columns of documents have numbers (`doc1 title1 ... doc2 ...`). The order
    within a set is drawn once: where one document of each set counts, no position tells which.
    """
    rows: list[dict[str, Any]] = []
    for number, each in enumerate(sets_of_try(work), 1):
        chance = random.Random(f"{work.plan.campaign.seed} elsewhere {number}")
        shown = chance.sample(list(each.documents.values()), len(each.documents))
        about = {"set": str(number)} | {name: getattr(shown[0], name) for name in _OF_TOPIC}
        told = [
            {"doc": row.doc, "title": row.title, "url": row.url, "text": _text(row)}
            for row in shown
        ]
        if per_set:
            numbered = enumerate(told, 1)
            rows.append(about | {f"{key}{at}": row[key] for at, row in numbered for key in row})
        else:
            rows += [about | {"position": str(at)} | row for at, row in enumerate(told, 1)]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name, "") for row in rows] for name in names}


def question_form(work: Work) -> str:
    """The same as a QuestionForm of Mechanical Turk (Piazzon 2019, Figure 2.5): after each topic a
    question for every document, called `topic doc`, whose answers are the grades.
    """
    if work.plan.test_ranks(elsewhere=True):
        raise RuleError(
            "not-allowed",
            "a QuestionForm cannot ask for ranks; export a table, or set [qualification] ranks = "
            '"never"',
        )
    form, scale = Element("QuestionForm", xmlns=QUESTION_FORM), work.plan.scale
    table, told = task_table(work), ""
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    for number, row in enumerate(rows, 1):
        if row["set"] != told:
            overview, told = SubElement(form, "Overview"), row["set"]
            _add(overview, "Title", row["query"] or row["topic"])
            for name in ("description", "narrative"):
                _add(overview, "Text", row[name])
        question = SubElement(form, "Question")
        _add(question, "QuestionIdentifier", f"{row['topic']} {row['doc']}")
        _add(question, "DisplayName", f"Question {number}")
        _add(question, "IsRequired", "true")
        content = SubElement(question, "QuestionContent")
        for name in ("title", "url", "text"):
            _add(content, "Title" if name == "title" else "Text", row[name])
        answer = SubElement(SubElement(question, "AnswerSpecification"), "SelectionAnswer")
        _add(answer, "StyleSuggestion", "radiobutton")
        selections = SubElement(answer, "Selections")
        for grade, label in scale.names.items():
            selection = SubElement(selections, "Selection")
            _add(selection, "SelectionIdentifier", str(grade))
            _add(selection, "Text", label)
    indent(form)
    return tostring(form, encoding="unicode", xml_declaration=True) + "\n"


def _add(parent: Element, name: str, text: str) -> None:
    if text.strip():
        SubElement(parent, name).text = _NOT_XML.sub(" ", text)


def _text(row: TryDocument) -> str:
    """What a document says, where that is text; pictures and PDF files have their address only."""
    if row.body is None or not row.media_type.startswith(("text/", "application/xhtml")):
        return ""
    text = row.body.decode("utf-8", "replace")
    return text if row.media_type == "text/plain" else text_of_html(text)


# --- what came back -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """How somebody did: counted documents that were right, documents answered, and again; the mean
    NDCG score of the sets, where ranks count.
    """

    person: str
    right: int
    counted: int
    answered: int
    documents: int
    twice: int
    ranks: float | None
    passed: bool

    @property
    def share(self) -> float:
        """The share of what counts that was right."""
        return self.right / self.counted if self.counted else 1.0


def read_results(work: Work, files: Any, reading: Reading | None = None) -> list[Result]:
    """How everybody in these files did, by the plan's rule; nothing is stored.

    What somebody did not answer is wrong; of two answers to one document the first one of the file
    counts; a set that is not ranked as a whole, each rank once, has a score of 0.
    """
    if work.state == "closed":
        raise RuleError("closed", "this campaign is closed; nobody can qualify for it any more")
    test, plan = sets_of_try(work), work.plan
    places = {
        (row.topic, row.doc): (number, at)
        for number, each in enumerate(test)
        for at, row in each.documents.items()
    }
    ranked = plan.test_ranks(elsewhere=True)
    people: dict[str, _Answers] = defaultdict(_Answers)
    for table in tables(files, RANKED if ranked else RESULTS, reading or Reading()):
        for row, (person, place, grade, rank) in enumerate(_rows(table, places, ranked)):
            if grade not in plan.scale.grades:
                listed = " ".join(map(str, plan.scale.grades))
                raise table.origin.error(f"grade {grade} is not on the scale {listed}", row)
            people[person].add(place, grade, rank)
    return [_scored(plan, test, person, said) for person, said in sorted(people.items())]


class _Answers:
    """What one person said: grades and ranks by (set, position)."""

    def __init__(self) -> None:
        self.grades: dict[tuple[int, int], int] = {}
        self.ranks: dict[tuple[int, int], float] = {}
        self.twice: set[tuple[int, int]] = set()

    def add(self, place: tuple[int, int], grade: int, rank: float) -> None:
        if place in self.grades:
            self.twice.add(place)
        else:
            self.grades[place], self.ranks[place] = grade, rank


def _rows(
    table: Table, places: dict[tuple[str, str], tuple[int, int]], ranked: bool
) -> Iterable[tuple[str, tuple[int, int], int, float]]:
    """Person, set and position, grade and rank of each row; an error names the line."""
    ranks = table.numbers("rank").tolist() if ranked else [0.0] * len(table)
    grades = table.whole_numbers("grade").tolist()
    names = [table.names(name).to_list() for name in ("assessor", "topic", "doc")]
    for row, (person, topic_name, doc) in enumerate(zip(*names, strict=True)):
        try:
            refuse_odd_id(person)
        except RuleError as error:
            raise table.origin.error(str(error), row) from None
        place = places.get((topic_name, doc))
        if place is None:
            raise table.origin.error(f"{topic_name} {doc} is not of the test: {_OTHERS}", row)
        yield person.strip(), place, grades[row], ranks[row]


def _scored(plan: Plan, test: Sequence[TrySet], person: str, said: _Answers) -> Result:
    right = counted = 0
    scores = []
    for number, each in enumerate(test):
        opinions = {
            at: Opinion(kind="grade", grade=said.grades[number, at])
            for at in each.documents
            if (number, at) in said.grades
        }
        of_set = counted_right(plan, each.experts, opinions)
        right, counted = right + of_set[0], counted + of_set[1]
        if plan.test_ranks(elsewhere=True) and any(
            level_of(plan, grade) for grade in each.experts.values()
        ):
            ranks = {at: said.ranks.get((number, at), 0.0) for at in each.documents}
            whole = sorted(ranks.values()) == [*range(1, len(ranks) + 1)]
            of_gold = {at: int(ranks[at]) for at in each.experts}
            scores.append(set_ndcg(plan, each.experts, of_gold) if whole else 0.0)
    mean = sum(scores) / len(scores) if scores else None
    enough = right >= plan.qualification.pass_share * counted - 1e-9
    return Result(
        person=person,
        right=right,
        counted=counted,
        answered=len(said.grades),
        documents=sum(len(each.documents) for each in test),
        twice=len(said.twice),
        ranks=mean,
        passed=enough and (mean is None or mean >= plan.checks.ndcg.at_least - 1e-12),
    )


def oddities(results: Sequence[Result]) -> list[Text]:
    """How many answered a part only, or something twice."""
    counts = {
        "part": sum(result.answered < result.documents for result in results),
        "twice": sum(result.twice > 0 for result in results),
    }
    return [Text(f"office.qualification.{name}", n=n) for name, n in counts.items() if n]


def chances(work: Work) -> dict[str, float]:
    """How often each kind of worker passes the test, in the one try that there is elsewhere."""
    plan, only = work.plan, work.plan.qualification.gold == "one"
    levels = []
    for each in sets_of_try(work):
        counted = [level_of(plan, grade) for _, grade in sorted(each.experts.items())]
        levels.append(tuple(counted[:1] if only else counted))
    levels = [each for each in levels if each]
    ranked = plan.test_ranks(elsewhere=True) and any(any(each) for each in levels)
    return {kind.name: passes_test(plan, levels, kind, ranked=ranked) for kind in WORKERS}


def luck(work: Work, results: Sequence[Result]) -> Text:
    """How many of those who passed would have answered at random, if all who failed did.

    Of n people who answer at random, n p pass: where f fail, f p / (1 - p) have passed.
    """
    chance = chances(work)["random"]
    passed = sum(result.passed for result in results)
    failed = len(results) - passed
    share = spaced_percent(chance)
    if not failed or not passed:
        return Text(f"office.qualification.luck-{'all' if passed else 'nobody'}", share=share)
    expected = min(passed, failed * chance / (1 - chance)) if chance < 1 else passed
    values = {"n": failed, "passed": passed, "expected": f"{expected:.1f}", "share": share}
    return Text("office.qualification.luck", **values)


def qualified_ids(work: Work) -> list[str]:
    """The ids of those on the list who have passed elsewhere, as they are.

    A platform's list is read by programs: what would need quotes or an apostrophe is refused.
    """
    passed = (listed_person.c.qualified_at.is_not(None)) & (listed_person.c.state == LISTED)
    query = select(listed_person.c.platform_id).where(work.own(listed_person), passed)
    ids = list(work.db.scalars(query.order_by(listed_person.c.id)))
    for each in ids:
        if safe(each) != each or set(each) & set(',;"'):
            message = f"{each!r} cannot stand in a platform's list as it is; take it off the list"
            raise InputError(message)
    return ids
