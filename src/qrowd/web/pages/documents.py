"""Documents for organisers: one with all that was said of it, and those that do not load."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Response
from markupsafe import Markup

from qrowd.collection.adjudication.expert_sample import pair_named
from qrowd.collection.judging.offer import document_of
from qrowd.collection.material import clarification
from qrowd.collection.office import documents
from qrowd.web.pages.frame import ReaderVisit, page_router
from qrowd.web.pages.judging import readable, shown_original, shown_picture

router = page_router()


@router.get("/campaigns/{name}/document")
def one_document(visit: ReaderVisit, topic: str = "", doc: str = "") -> Response:
    """A document under its topic, what people and experts said of it, and the text."""
    original = f"{visit.address('/document/original')}?{urlencode({'topic': topic, 'doc': doc})}"
    with visit.read() as work:
        found = documents.record(work, topic, doc)
        read = readable(document_of(work, found.pair.id), original, visit.settings)
        data = {
            "found": found,
            "text": clarification.topic_named(work, topic),
            "labels": work.plan.scale.names,
            "relevant_from": work.plan.scale.relevant_from,
            **visit.top(work, "/coverage"),
        }
    pages = [
        (f"{original}&page={number}", " ".join(piece[4] for piece in pieces))
        for number, (_, _, pieces) in enumerate(read.pages, 1)
    ]
    html = Markup(read.html)  # made safe by `sanitiser`
    return visit.show("organiser/document.html.j2", read=read, pages=pages, html=html, **data)


@router.get("/campaigns/{name}/document/original")
def original(visit: ReaderVisit, topic: str = "", doc: str = "", page: int = 0) -> Response:
    """The original in a frame, or a page's picture: nothing in it runs, loads or leads anywhere."""
    with visit.read() as work:
        body = document_of(work, pair_named(work, topic, doc))
    return shown_picture(body, page, visit.settings) if page else shown_original(body)


@router.get("/campaigns/{name}/documents")
def broken_documents(visit: ReaderVisit) -> Response:
    """What people call broken."""
    with visit.read() as work:
        data = {"rows": documents.broken(work), **visit.top(work, "/coverage")}
    return visit.show("organiser/broken.html.j2", **data)
