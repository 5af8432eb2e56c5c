"""Documents that the organiser of a draft grades, which become its gold."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePosixPath

from fastapi import Response
from markupsafe import Markup

from qrowd.collection.drafts import contents, own_gold
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.judging.offer import Body
from qrowd.collection.plan.files import documents_beside
from qrowd.collection.plan.rows import GoldRow
from qrowd.collection.plan.sections import Grades
from qrowd.data.documents import Documents
from qrowd.data.topics import Topic
from qrowd.errors import InputError
from qrowd.texts import Text
from qrowd.web.pages.drafts import OpenDraft, address, shared
from qrowd.web.pages.frame import AdministratorVisit, Visit, page_router
from qrowd.web.pages.judging import kind_of
from qrowd.web.sanitiser import reader_of_html, reader_of_text, text_of

router = page_router()
LONGEST_SHEET = 20_000  # characters of a document that are shown to be graded
LONGEST_REASON = 2_000


@lru_cache(maxsize=2)
def _documents(path: str) -> Documents:
    return documents_beside(path)


@router.get("/drafts/{key}/gold/grade")
def sheets(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Documents of one topic to grade."""
    if lost := contents.lost_files(draft, "documents"):
        raise InputError(str(Text("office.plan.uploaded.lost", name=PurePosixPath(lost[0]).name)))
    ready = bool(draft.plan.files.documents and contents.pool_of(draft))
    pairs = own_gold.proposed(draft) if ready else []
    topics = {row.name: row for row in contents.rows_of(draft, "topics")}
    return visit.show(
        "organiser/grade.html.j2",
        topic=topics.get(pairs[0][0], Topic(pairs[0][0])) if pairs else None,
        sheets=[_sheet(visit, draft, document) for _, document in pairs],
        grades=_grades(draft.plan.scale),
        done=len(own_gold.graded(draft)),
        sets=own_gold.sets_made(draft),
        **shared(draft, "gold"),
    )


@router.post("/drafts/{key}/gold/grade")
def keep_grades(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Keep the grades, and propose the next documents."""
    topic, allowed = visit.text("topic"), {str(grade) for grade in draft.plan.scale.of_gold}
    pool = {document for name, document in contents.pool_of(draft) if name == topic}
    rows = []
    for name in visit.texts("document"):
        grade, reason = visit.text(f"grade-{name}"), visit.text(f"reason-{name}")
        if name in pool and grade in allowed:
            rows.append(GoldRow(topic, name, int(grade), reason[:LONGEST_REASON]))
    try:
        own_gold.keep(draft, rows, visit.signed.name, visit.store.clock())
    except InputError as error:
        return sheets(draft, visit.with_problem(error, 422))
    return visit.go(f"{address(draft, 'gold')}/grade", message=Text("office.grade.kept"))


def _grades(scale: Grades) -> list[tuple[int, str]]:
    """The grades that can be given, and their names; those of gold alone are numbers."""
    if scale.gold_grades:
        return [(grade, str(grade)) for grade in scale.gold_grades]
    return list(scale.names.items())


def _sheet(visit: Visit, draft: Draft, name: str) -> dict[str, str]:
    """A document to grade, as the page shows it."""
    documents = _documents(str(draft.folder / draft.plan.files.documents))
    if name not in documents.index:
        nothing = Markup("<p>{}</p>").format(visit.say("office.grade.no-text"))
        return {"name": name, "title": "", "html": nothing}
    document = documents[name]
    media = document.media or "text/plain"
    body = Body(document.title, document.url, media, documents.read_bytes(name), "")
    marked_up = kind_of(body) == "html"
    text = text_of(body.content, marked_up=marked_up)[:LONGEST_SHEET]
    page = reader_of_html(text) if marked_up else reader_of_text(text)
    return {"name": name, "title": document.title, "html": Markup(page)}
