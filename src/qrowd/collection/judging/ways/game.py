"""A game: each sentence of a document is put to one of three topics, or to none (GeAnn).

The game is described in Piazzon (2019, 2.5.3), its rules are not: that a set's topic is one of
three, how known sentences are made, and what brings points is ours.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.plan.sections import Pay, Plan
from qrowd.collection.plan.way import Chance, Opinion, Opinions, Points, Trial, Way
from qrowd.content.sentences import FEWEST_WORDS, Keywords, numbered, sentences, words
from qrowd.data.topics import Topic
from qrowd.errors import RuleError
from qrowd.io.markup import plain, without, without_comments

if TYPE_CHECKING:
    from qrowd.collection.database.schema import Assignment
    from qrowd.collection.database.store import Work

KNOWN, AGREED = 10, 5  # points for a known sentence, and for saying what most said before
USUAL_SECONDS, MOST_SECONDS = 6, 10  # that a sentence takes
USUAL_LEAST, MOST_LEAST = 1, 2  # that may be asked for: players read fast
MADE = ":description"  # ends the names of documents that are made of topics' descriptions
SHOWN = 3  # names in a message
MARKUP = ("text/html", "application/xhtml+xml")
_SENTENCE = re.compile(r"(.+)#(\d+)", re.DOTALL)
_ENDS = re.compile(  # elements before and after which a sentence ends
    r"</?(?:address|article|aside|blockquote|br|caption|d[dlt]|div|fig\w+|footer|h[1-6r]|header|li|"
    r"main|nav|ol|option|p|pre|section|t[dhr]|table|title|ul)\b[^<>]*>",
    re.IGNORECASE,
)


class Game(Way):
    """Sentences, as documents of their own (`doc#3`), put to topics; 1: to the set's own one."""

    name = "game"
    script = "game"
    order = 6
    kinds = frozenset({"grade"})
    buckets = 3
    anew = True
    trial = Trial(
        grades=(0, 1),
        seconds=6,
        instructions="Three people look for something, and sentences come out of pages that a "
        "search engine found. Put each sentence to the request that it would help with, or to none "
        "of them. Take your time: fast answers bring no points, right ones do.",
    )

    # --- plans ------------------------------------------------------------------------------------

    def settle(self, plan: Plan) -> Plan:
        plan = super().settle(plan)
        scale, pay, seconds = plan.scale, plan.pay, plan.checks.seconds
        if len(scale.grades) != 2:
            scale = replace(scale, grades=(0, 1), labels=(), relevant_from=1)
        if seconds.at_least > MOST_LEAST:
            seconds = replace(seconds, at_least=USUAL_LEAST)
        if pay.seconds_per_document > MOST_SECONDS:
            pay = replace(pay, seconds_per_document=USUAL_SECONDS)
        return replace(plan, scale=scale, pay=pay, checks=replace(plan.checks, seconds=seconds))

    def complaints(self, plan: Plan) -> Iterator[Complaint]:
        limits = {
            "scale.grades": len(plan.scale.grades) == 2,
            "scale.gold_grades": not plan.scale.gold_grades,
            "campaign.mode": plan.campaign.mode in ("crowd", "priorities"),
            "hit.repeats": not plan.hit.repeats,
            "techniques.justification": plan.techniques.justification == "none",
            "techniques.expertise_share": not plan.techniques.expertise_share,
            "techniques.review_share": not plan.techniques.review_share,
            "checks.seconds.at_least": plan.checks.seconds.at_least <= MOST_LEAST,
            "pay.seconds_per_document": plan.pay.seconds_per_document <= MOST_SECONDS,
        }
        for key, is_kept in limits.items():
            if not is_kept:
                values = {"least": MOST_LEAST, "most": MOST_SECONDS}
                text = f"office.plan.game.{key.replace('.', '-').replace('_', '-')}"
                yield Complaint.of(key, text, because="campaign.way", **values)

    def unmeetable(self, rows: CampaignRows) -> Iterator[Complaint]:
        queries = Counter(" ".join(topic.query.lower().split()) for topic in rows.topics)
        twice = [query for query, times in queries.items() if query and times > 1]
        blank = sorted(topic.name for topic in rows.topics if not topic.query.strip())
        if blank:
            yield Complaint.of("files.topics", "office.plan.game.blank", topic=blank[0])
        if len(rows.topics) < self.buckets:
            yield Complaint.of("files.topics", "office.plan.game.topics", n=len(rows.topics))
        if twice:
            yield Complaint.of("files.topics", "office.plan.game.queries", query=min(twice))

    def warnings(self, plan: Plan, rows: CampaignRows) -> Iterator[Complaint]:
        documents = len({(topic, document_of(name)) for topic, name in rows.pool})
        each, seconds = len(rows.pool) / max(1, documents), plan.pay.seconds_per_document
        yield Complaint.of(
            "pay.seconds_per_document",
            "office.plan.game.attention",
            sentences=len(rows.pool),
            documents=documents,
            each=f"{each:.1f}",
            seconds=round(each * seconds),
            grade=round(Pay().seconds_per_document),
        )
        made = {row.topic for row in rows.gold if document_of(row.document).endswith(MADE)}
        if made:
            yield Complaint.of("files.gold", "office.plan.game.made", n=len(made))

    def prepare(self, plan: Plan, rows: CampaignRows, file: str = "plan") -> CampaignRows:
        """Sentences in the place of documents, of those that are judged or known.

        A sentence's title is its keyword, which the page marks.
        """
        documents = {row.name: row for row in rows.documents}
        graded = [*rows.gold, *rows.qualification]
        used = {name for _, name in rows.pool} | {
            row.document if row.document in documents else document_of(row.document)
            for row in graded
        }
        parts = {name: _sentences(row) for name, row in documents.items() if name in used}
        mute = sorted(name for name, part in parts.items() if not part)
        if mute and plan.files.blank != "leave out":
            first = [f"{name} ({documents[name].media_type})" for name in mute[:SHOWN]]
            raise Complaint.of(
                "files.documents",
                "office.plan.game.mute",
                n=len(mute),
                names=", ".join([*first, *(["..."] if len(mute) > SHOWN else [])]),
                words=FEWEST_WORDS,
            ).error(plan, file)
        rows = rows.without(mute)
        known = list(_known(plan, rows.gold, parts))
        for topic in _unknown(plan, rows, known) if plan.gold_per_hit else ():
            name, on = f"{topic.name}{MADE}", plan.scale.grades[-1]
            parts[name] = sentences(topic.description)
            known += [GoldRow(topic.name, part, on) for part in _names(name, parts)]
        again = _repeated(parts)
        keywords = Keywords(" ".join(part) for part in parts.values())
        return replace(
            rows,
            documents=[
                DocumentRow(name, text.encode(), keywords.of(text))
                for document, part in parts.items()
                for name, text in numbered(document, part).items()
                if name not in again
            ],
            pool=[
                (topic, part)
                for topic, name in rows.pool
                for part in _names(name, parts)
                if part not in again
            ],
            gold=[row for row in known if row.document not in again],
            qualification=[
                row for row in _known(plan, rows.qualification, parts) if row.document not in again
            ],
            priorities={
                (topic, part): priority
                for (topic, name), priority in rows.priorities.items()
                for part in _names(name, parts)
                if part not in again
            },
        )

    def document_of(self, name: str) -> str:
        return document_of(name)

    # --- answers ----------------------------------------------------------------------------------

    def refuse(self, plan: Plan, said: Opinion, size: int, earlier: Callable[[], Opinions]) -> None:
        super().refuse(plan, said, size, earlier)
        if said.kind == "grade" and said.bucket is None:
            raise RuleError("malformed", "name the bucket: a topic's query, or nothing for none")

    def points(self, work: Work, assigned: Assignment) -> Points | None:
        """For known sentences, and for what most of those said who had finished before; never
        for speed.
        """
        # the names of ways are known without a database, for plans
        from sqlalchemy import select

        from qrowd.collection.database.schema import (
            PLACED_ANSWERS,
            assignment,
            event,
            gold,
            member,
            place,
        )

        a, e, m = assignment.c, event.c, member.c
        query = (
            select(a.id, a.finished_at, a.worker_id, m.pair_id, e.grade, gold.c.grade, place.c.kind)
            .select_from(PLACED_ANSWERS.outerjoin(gold, gold.c.pair_id == m.pair_id))
            .where(work.own(assignment), a.finished_at.is_not(None), e.grade.is_not(None))
        )
        mine = place.c.worker_id == assigned.worker_id
        own = work.db.execute(query.where(mine)).all()
        same = select(m.pair_id).select_from(PLACED_ANSWERS).where(mine)
        others = query.where(~mine, place.c.kind == "count", m.pair_id.in_(same))
        said: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for _, finished, _, pair, grade, _, _ in work.db.execute(others):
            said[pair].append((finished, grade))
        made: Counter[int] = Counter()
        for batch, finished, _, pair, grade, expert, kind in own:
            if kind == "gold":
                made[batch] += KNOWN * (grade == expert)
            elif kind == "count":
                votes = Counter(vote for then, vote in said[pair] if then < finished)
                made[batch] += AGREED * (2 * votes[grade] > votes.total())
        return Points(made[assigned.id], max(made.values(), default=0))

    # --- robots -----------------------------------------------------------------------------------

    def robot_says(
        self, plan: Plan, shown: Mapping[str, Any], grade: int, chance: Chance
    ) -> dict[str, Any]:
        own = shown["topic"]["query"]
        others = ["", *(topic["query"] for topic in shown["buckets"] if topic["query"] != own)]
        bucket = own
        if grade < plan.scale.relevant_from:  # most often none of them
            at = int(chance() * 2 * len(others))
            bucket = others[at] if at < len(others) else ""
        return {"kind": "grade", "grade": grade, "bucket": bucket}


def document_of(name: str) -> str:
    """The document of a sentence: `doc` of `doc#3`; what is no sentence is its own."""
    match = _SENTENCE.fullmatch(name)
    return match[1] if match else name


def _names(document: str, parts: Mapping[str, Sequence[str]]) -> list[str]:
    """The names of its sentences; its own, so that it is missed, where there is no document."""
    return list(numbered(document, parts[document])) if document in parts else [document]


def _repeated(parts: Mapping[str, Sequence[str]]) -> set[str]:
    """The names of sentences that stood in a document before, such as a notice on every page.

    Nobody reads a text twice: they would close the sets that they are in.
    """
    seen: set[str] = set()
    again = set()
    for document, part in parts.items():
        for name, text in numbered(document, part).items():
            if text in seen:
                again.add(name)
            seen.add(text)
    return again


def _sentences(row: DocumentRow) -> list[str]:
    """The sentences of a document; none of a picture or a PDF."""
    media = row.media_type.partition(";")[0].strip().lower()
    text = row.body.decode(errors="replace")
    if media in MARKUP:
        text = without(without_comments(text), "head", "script", "style", "template")
        return sentences(plain(_ENDS.sub("\n\n", text)))
    return sentences(text) if media.startswith("text/") or not media else []


def _known(
    plan: Plan, rows: Iterable[GoldRow], parts: Mapping[str, Sequence[str]]
) -> Iterator[GoldRow]:
    """Sentences that experts' grades tell of.

    One that they marked themselves; of a document, all where it is not relevant, else those in
    the passage that was marked: a relevant document has many sentences on other things.
    """
    off, on = plan.scale.grades
    for row in rows:
        relevant = row.grade is not None and row.grade >= plan.scale.relevant_from
        grade = None if row.grade is None else on if relevant else off
        if row.document not in parts:
            yield replace(row, grade=grade)
            continue
        for name, text in numbered(row.document, parts[row.document]).items():
            if not relevant or _is_in(text, row.passage):
                yield GoldRow(row.topic, name, grade, row.reason)


def _is_in(sentence: str, passage: str) -> bool:
    """Whether a marked passage has a sentence, or enough of it to tell."""
    whole = " ".join(passage.split())
    lines = (" ".join(line.split()) for line in passage.splitlines())
    return sentence in whole or any(
        line in sentence and len(words(line)) >= FEWEST_WORDS for line in lines
    )


def _unknown(plan: Plan, rows: CampaignRows, known: Iterable[GoldRow]) -> list[Topic]:
    """The topics that are judged and have known sentences, none of which is on them."""
    grades: dict[str, set[int | None]] = defaultdict(set)
    for row in known:
        grades[row.topic].add(row.grade)
    judged, on = {topic for topic, _ in rows.pool}, plan.scale.grades[-1]
    return [
        topic
        for topic in rows.topics
        if topic.name in judged and topic.name in grades and on not in grades[topic.name]
    ]
