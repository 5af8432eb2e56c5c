"""Documents of a topic that are alike by their text, with what experts decided on them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import nh3
import numpy as np
from sqlalchemy import select

from qrowd.collection.adjudication import cases
from qrowd.collection.database.schema import (
    PAIR_DOCUMENTS,
    Document,
    content,
    document,
    pair,
    with_contents,
)
from qrowd.collection.database.store import Work
from qrowd.content.vectors import tfidf
from qrowd.data.documents import Documents
from qrowd.errors import MissingExtraError
from qrowd.texts import Text
from qrowd.web.sanitiser import GONE, flatter, text_of

MOST_DOCUMENTS = 1_000
SHOWN = 5
MOST_LETTERS = 20_000
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Neighbour:
    """A document that is alike (1: the same words); its grade, if an expert has decided."""

    doc: str
    title: str
    alike: float
    grade: int | None


@dataclass(frozen=True)
class Neighbours:
    """The documents most alike, the nearest first; or why there are none."""

    documents: tuple[Neighbour, ...] = ()
    problem: Text | str = ""


def neighbours(work: Work, expert_number: int, pair_id: int) -> Neighbours:
    """The documents of the same topic that are most alike; only after one's own judgement.

    What judges said of them is not told: these may be documents that the expert judges later.
    """
    cases.refuse_before_own(work, expert_number, pair_id)
    rows = _documents(work, pair_id)
    if len(rows) > MOST_DOCUMENTS:
        return Neighbours(problem=Text("office.expert.too-many", most=MOST_DOCUMENTS))
    if len(rows) < 2:
        return Neighbours()
    texts = {str(row.pair_id): words_of(row) for row in rows}
    try:
        vectors = tfidf(Documents.of(texts))
    except MissingExtraError as error:
        return Neighbours(problem=str(error))
    ids = [int(name) for name in vectors.index]
    cosines = vectors.cosines(np.arange(len(ids), dtype=np.int32))[ids.index(pair_id)]
    decided = {decision.pair: decision.grade for decision in cases.decisions(work, expert_number)}
    by_id = {row.pair_id: row for row in rows}
    nearest = [
        (by_id[ids[at]], float(cosines[at]))
        for at in np.argsort(-cosines, kind="stable")
        if ids[at] != pair_id and cosines[at] > 0.01
    ]
    alike = [
        Neighbour(row.name, row.title, cosine, decided.get(row.pair_id))
        for row, cosine in nearest[:SHOWN]
    ]
    return Neighbours(tuple(alike))


class TopicDocument(Document):
    """A document of a topic, its pair and its bytes."""

    pair_id: int
    body: bytes | None


def _documents(work: Work, pair_id: int) -> list[TopicDocument]:
    same = select(pair.c.topic_id).where(pair.c.id == pair_id).scalar_subquery()
    query = (
        select(document, pair.c.id.label("pair_id"), content.c.body)
        .select_from(with_contents(PAIR_DOCUMENTS))
        .where(work.own(pair), pair.c.topic_id == same)
    )
    return work.rows(query.order_by(pair.c.id).limit(MOST_DOCUMENTS + 1), TopicDocument)


def words_of(row: TopicDocument) -> str:
    """A document's words, without its markup; nothing of pictures and the like."""
    media = row.media_type.partition(";")[0].strip().lower()
    if not row.body or not (media.startswith("text/") or media == "application/xhtml+xml"):
        return row.title
    text = text_of(row.body[: 4 * MOST_LETTERS], marked_up="html" in media)
    if "html" in media:
        text = nh3.clean(flatter(text), tags=set(), clean_content_tags=set(GONE))
    return f"{row.title} {_SPACES.sub(' ', text)[:MOST_LETTERS]}"
