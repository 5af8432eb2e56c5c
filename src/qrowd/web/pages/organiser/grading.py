"""A page of the wizard on which the organiser grades documents, which become gold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fastapi import Response
from markupsafe import Markup

from qrowd.collection.drafts import contents, own_gold
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.judging.offer import Body
from qrowd.collection.plan.rows import GoldRow, TopicRow
from qrowd.data.documents import Documents
from qrowd.errors import InputError
from qrowd.io.documents import read_documents
from qrowd.web.pages.organiser.frame import Visit, Visiting, page_router
from qrowd.web.pages.organiser.wizard import address, opened, shared
from qrowd.web.pages.reader import kind_of
from qrowd.web.sanitising import reader_of_html, reader_of_text, text_of

router = page_router()
LONGEST = 20_000  # characters of a document that are shown


@dataclass(frozen=True)
class Sheet:
    """A document to grade."""

    name: str
    title: str
    html: Markup


@lru_cache(maxsize=2)
def _documents(path: str) -> Documents:
    return read_documents(path)


@router.get("/drafts/{key}/gold/grade")
def ask(key: str, visit: Visiting) -> Response:
    """Documents of one topic to grade."""
    return _page(visit, opened(visit, key))


def _page(visit: Visit, draft: Draft, problem: str = "") -> Response:
    ready = bool(draft.plan.files.documents and contents.pool_of(draft))
    pairs = own_gold.proposed(draft) if ready else []
    topics = {row.name: row for row in contents.material_of(draft).topics}
    topic = topics.get(pairs[0][0], TopicRow(pairs[0][0])) if pairs else None
    return visit.show(
        "organiser/grade.html.j2",
        status=422 if problem else 200,
        topic=topic,
        problem=problem,
        sheets=[_sheet(draft, one) for _, one in pairs],
        plan=draft.plan,
        labels=draft.plan.scale.labels or tuple(map(str, draft.plan.scale.grades)),
        done=len(own_gold.graded(draft)),
        sets=own_gold.sets_made(draft),
        found=contents.outlook(draft),
        **shared(draft, "gold"),
    )


def _sheet(draft: Draft, name: str) -> Sheet:
    documents = _documents(str(draft.folder / draft.plan.files.documents))
    if name not in documents.index:
        return Sheet(name, "", Markup("<p>There is no text.</p>"))
    one = documents[name]
    content = documents.read_bytes(name)
    body = Body(one.title, one.url, one.media or "text/plain", content, "")
    marked_up = kind_of(body) == "html"
    text = text_of(body.content, marked_up=marked_up)[:LONGEST]
    return Sheet(
        name, one.title, Markup(reader_of_html(text) if marked_up else reader_of_text(text))
    )


@router.post("/drafts/{key}/gold/grade")
def take(key: str, visit: Visiting) -> Response:
    """Keep the grades, and propose the next documents."""
    draft = opened(visit, key)
    try:
        own_gold.keep(draft, _rows(visit, draft), visit.signed.name, visit.store.clock())
    except InputError as error:
        return _page(visit, draft, str(error))
    return visit.go(f"{address(draft, 'gold')}/grade", told="Your grades are kept.")


def _rows(visit: Visit, draft: Draft) -> list[GoldRow]:
    topic, allowed = visit.text("topic"), {str(grade) for grade in draft.plan.scale.grades}
    names = {document for name, document in contents.pool_of(draft) if name == topic}
    return [
        GoldRow(topic, name, int(visit.text(f"grade-{name}")), visit.text(f"reason-{name}")[:2000])
        for name in visit.texts("document")
        if name in names and visit.text(f"grade-{name}") in allowed
    ]
