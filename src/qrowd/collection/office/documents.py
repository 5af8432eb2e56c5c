"""Documents as an organiser looks at them: their titles, and all that was said of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import alias, exists, func, select

from qrowd.collection.adjudication.expert_sample import NAMED_PAIR, NamedPair, pair_named
from qrowd.collection.database.schema import (
    NAMED_PAIRS,
    PLACED_ANSWERS,
    TAKEN_BACK,
    Gold,
    TypedRow,
    assignment,
    decision,
    document,
    event,
    gold,
    member,
    pair,
    place,
    with_pairs,
    worker,
)
from qrowd.collection.database.store import Work
from qrowd.collection.judging.gold import right_answer

LISTED = 200  # documents, and answers to one
AT_ONCE = 500  # names in a question to the database
LATEST = 5_000  # gold sets that were answered, or events


def titles(work: Work, names: Iterable[str]) -> dict[str, str]:
    """What these documents are called; one without a title, or that is gone, by its id."""
    wanted = list(dict.fromkeys(names))
    found = {}
    for start in range(0, len(wanted), AT_ONCE):
        some = document.c.name.in_(wanted[start : start + AT_ONCE])
        query = select(document.c.name, document.c.title).where(work.own(document), some)
        found.update({name: title for name, title in work.db.execute(query) if title})
    return {name: found.get(name, name) for name in wanted}


class Answered(TypedRow):
    """What somebody said of a document; `state` is that of the batch."""

    number: int
    worker_kind: str
    place_kind: str
    state: str
    kind: str
    grade: int | None
    milliseconds: int
    at: int


class DecidedBy(TypedRow):
    """An expert's decision."""

    expert: str | None
    grade: int
    reason: str
    at: int


@dataclass(frozen=True)
class DocumentRecord:
    """A document under its topic, and all that is known of it."""

    pair: NamedPair
    stored: bool  # whether its text is there
    url: str
    gold: Gold | None
    answers: list[Answered]
    decisions: list[DecidedBy]


def record(work: Work, topic: str, doc: str) -> DocumentRecord:
    """All that was said of a document, the newest first; an error where there is none."""
    pair_id = pair_named(work, topic, doc)
    named = select(*NAMED_PAIR).select_from(NAMED_PAIRS).where(pair.c.id == pair_id)
    held = select(document.c.content, document.c.url).join_from(
        document, pair, pair.c.document_id == document.c.id
    )
    content, url = work.db.execute(held.where(pair.c.id == pair_id)).one()
    e = event.c
    columns = (
        worker.c.number,
        worker.c.kind.label("worker_kind"),
        place.c.kind.label("place_kind"),
        assignment.c.state,
        e.kind,
        e.grade,
        e.milliseconds,
        e.at,
    )
    answers = (
        select(*columns)
        .select_from(PLACED_ANSWERS.join(worker, worker.c.id == place.c.worker_id))
        .where(member.c.pair_id == pair_id)
        .order_by(e.id.desc())
    )
    later = alias(decision, "later")
    taken_back = exists().where(
        later.c.pair_id == decision.c.pair_id,
        later.c.expert_id == decision.c.expert_id,
        later.c.id > decision.c.id,
        later.c.code == TAKEN_BACK,
    )
    decided = (
        select(worker.c.name.label("expert"), decision.c.grade, decision.c.reason, decision.c.at)
        .join_from(decision, worker, worker.c.id == decision.c.expert_id)
        .where(decision.c.pair_id == pair_id, decision.c.code != TAKEN_BACK, ~taken_back)
        .order_by(decision.c.id.desc())
    )
    return DocumentRecord(
        pair=work.existing(named, "there is no such document", NamedPair),
        stored=content is not None,
        url=str(url),
        gold=work.row(select(gold).where(gold.c.pair_id == pair_id), Gold),
        answers=work.rows(answers.limit(LISTED), Answered),
        decisions=work.rows(decided, DecidedBy),
    )


class BrokenDocument(NamedPair):
    """A document that so many people call broken."""

    people: int


def broken(work: Work) -> list[BrokenDocument]:
    """What does not load, as people say, what most of them say first."""
    # first the few events, then what they are about: by themselves, engines begin with all pairs
    said = (
        select(event.c.place_id, event.c.position, event.c.worker_id)
        .join_from(event, worker, worker.c.id == event.c.worker_id)
        .where(work.own(worker), event.c.kind == "broken")
        .order_by(event.c.id.desc())
        .limit(LATEST)
        .subquery()
    )
    people = func.count(said.c.worker_id.distinct()).label("people")
    query = (
        select(*NAMED_PAIR, people)
        .select_from(with_pairs(said))
        .group_by(*NAMED_PAIR)
        .order_by(people.desc(), pair.c.id)
    )
    return work.rows(query.limit(LISTED), BrokenDocument)


@dataclass(frozen=True)
class CheckQuestion:
    """A document of a gold set: the expert's grade, and how many said otherwise."""

    topic: str
    doc: str
    title: str
    grade: int
    reason: str
    answered: int
    missed: int


def check_questions(work: Work) -> dict[int, list[CheckQuestion]]:
    """The documents of each gold set; missed is an answer on the other side of relevance.

    Of the answers the latest are counted: a large campaign has very many.
    """
    is_gold = place.c.kind.in_(("gold", "qualification"))
    own_places = select(place.c.id).join_from(place, worker, worker.c.id == place.c.worker_id)
    latest = own_places.where(work.own(worker), is_gold).order_by(place.c.id.desc())
    answers = PLACED_ANSWERS.select().with_only_columns(
        place.c.set_id, member.c.pair_id, event.c.kind, event.c.grade, func.count().label("n")
    )
    counted = answers.where(place.c.id.in_(latest.limit(LATEST)))
    counted = counted.where(assignment.c.finished_at.is_not(None))
    counted = counted.group_by(place.c.set_id, member.c.pair_id, event.c.kind, event.c.grade)
    said: dict[tuple[int, int], list[tuple[str, int | None, int]]] = defaultdict(list)
    for set_id, pair_id, kind, grade, n in work.db.execute(counted):
        said[set_id, pair_id].append((kind, grade, n))
    joined = NAMED_PAIRS.join(member, member.c.pair_id == pair.c.id)
    query = select(
        member.c.set_id, *NAMED_PAIR, right_answer(work.plan), gold.c.reason
    ).select_from(joined.join(gold, gold.c.pair_id == pair.c.id))
    own = work.own(pair) & (member.c.role == "gold")
    rel = work.plan.scale.relevant_from
    questions: dict[int, list[CheckQuestion]] = defaultdict(list)
    rows: Any = work.db.execute(query.where(own).order_by(member.c.set_id, member.c.position))
    for set_id, pair_id, topic, doc, title, expert, reason in rows:
        graded = [each for each in said[set_id, pair_id] if each[0] != "broken"]
        missed = sum(
            n for _, grade, n in graded if grade is None or (grade >= rel) != (expert >= rel)
        )
        answered = sum(n for _, _, n in graded)
        line = CheckQuestion(topic, doc, title or doc, expert, reason, answered, missed)
        questions[set_id].append(line)
    return dict(questions)
