"""The wizard: one step a page, from an empty draft to a plan; the plan file both ways; own gold."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, BinaryIO
from urllib.parse import quote

from fastapi import Depends, Response
from fastapi.responses import StreamingResponse
from markupsafe import Markup
from sqlalchemy import select

from qrowd.collection.database.schema import campaign
from qrowd.collection.drafts import contents, forms, own_gold
from qrowd.collection.drafts.draft import Draft, discard, new_draft, open_draft
from qrowd.collection.drafts.launch import problems
from qrowd.collection.drafts.plan_file import draft_of_files, plan_of, write_bundle
from qrowd.collection.drafts.steps import STEPS, StepForm, suggested
from qrowd.collection.judging.offer import Body
from qrowd.collection.plan.rows import GoldRow, TopicRow
from qrowd.data.documents import Documents
from qrowd.errors import InputError, QrowdError, RuleError
from qrowd.io.documents import read_documents
from qrowd.web.files import drafts_in
from qrowd.web.pages.frame import AdministratorVisit, Confirmation, Visit, page_router
from qrowd.web.pages.judging import kind_of
from qrowd.web.sanitiser import reader_of_html, reader_of_text, text_of

router = page_router()
LONGEST_SHEET = 20_000  # characters of a document that are shown to be graded
LONGEST_REASON = 2_000


@dataclass(frozen=True)
class StepPage:
    """What only the page of a step knows; the keys of its form are in `STEPS`."""

    short: str  # its name in the list
    question: str
    off: Mapping[str, str] = field(default_factory=dict)  # keys with a switch: what "off" means
    percents: tuple[str, ...] = ()  # keys that the form asks for in percent; plans have shares


STEP_PAGES = {
    "name": StepPage("Name", "What is the campaign called?"),
    "topics": StepPage("Topics", "Which topics?"),
    "documents": StepPage("Documents", "Where are the documents?"),
    "pool": StepPage("Pool", "Which documents are judged?"),
    "mode": StepPage(
        "Who judges what",
        "Many people, or one for each topic?",
        percents=("hit.second_share",),
    ),
    "way": StepPage("Way of judging", "How is a document judged?"),
    "grades": StepPage("Grades", "Which grades are there?"),
    "sets": StepPage("Batches", "How is the work cut up?"),
    "target": StepPage("Target", "How many people judge each document?"),
    "gold": StepPage("Gold", "How do you find out who judges badly?"),
    "checks": StepPage("Checks", "What must a batch reach, and what if it does not?"),
    "qualification": StepPage(
        "Qualification",
        "Is there a test before the first batch?",
        off={"qualification.sets": "0"},
        percents=("qualification.pass_share",),
    ),
    "techniques": StepPage(
        "Further controls",
        "Do you want further controls?",
        off={
            "techniques.justification": "none",
            "techniques.expertise_share": "0",
            "techniques.review_share": "0",
            "techniques.expert_share": "0",
        },
        percents=(
            "techniques.expertise_share",
            "techniques.review_share",
            "techniques.expert_share",
        ),
    ),
    "words": StepPage("Instructions", "What do people read before they start?"),
    "people": StepPage("People", "Where do the people come from?", off={"people.recognise": "no"}),
    "pay": StepPage("Pay", "What do they get for a batch?"),
    "budget": StepPage("Budget", "How much may be spent?"),
}
PAGES = {
    **STEP_PAGES,
    "passing": StepPage("Who would pass", "Who would pass?"),
    "rehearsal": StepPage("Dry run", "What would happen? A dry run with robots"),
    "launch": StepPage("Launch", "Ready to launch?"),
}
ORDER = tuple(PAGES)


def _open_draft(key: str, visit: AdministratorVisit) -> Draft:
    return open_draft(drafts_in(visit.settings.folder), key)


OpenDraft = Annotated[Draft, Depends(_open_draft)]


def _step_page(step: str, _: AdministratorVisit) -> str:
    if step not in STEP_PAGES:
        raise RuleError("not-found", "there is no such question")
    return step


Step = Annotated[str, Depends(_step_page)]


def address(draft: Draft, step: str) -> str:
    """The address of a step of a draft."""
    return f"/drafts/{draft.key}/{step}"


def shared(draft: Draft, step: str) -> dict[str, Any]:
    """What every page of the wizard shows: the list of steps, the one before, the next."""
    at = ORDER.index(step)
    return {
        "draft": draft,
        "plan": draft.plan,
        "step": step,
        "words": PAGES[step],
        "names": PAGES,
        "at": at + 1,
        "of": len(ORDER),
        "before": ORDER[at - 1] if at else "",
        "lacks": {problem.step for problem in problems(draft)} & set(draft.answered),
    }


# --- a draft --------------------------------------------------------------------------------------


@router.post("/drafts")
def begin(visit: AdministratorVisit) -> Response:
    """A new draft: empty, or from a plan file and the files that it names."""
    name, now, folder = visit.signed.name, visit.store.clock(), drafts_in(visit.settings.folder)
    files = visit.files("plan")
    if not files:
        return visit.go(address(new_draft(folder, name, now), "name"))
    draft, missing = draft_of_files(folder, name, now, files)
    wanted = f" Still wanted: {', '.join(missing)}." if missing else ""
    return visit.go(address(draft, _first_open(draft)), message=f"The plan was read.{wanted}")


@router.get("/drafts/{key}")
def resume(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Go on where one left."""
    return visit.go(address(draft, _first_open(draft)))


def _first_open(draft: Draft) -> str:
    """The first step that is not filled in, or what comes after them."""
    return next((step for step in STEP_PAGES if step not in draft.answered), "passing")


@router.post("/drafts/{key}/delete")
def delete(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Delete a draft, after a question."""
    if not visit.sure:
        follows = ["The answers and the uploaded files are deleted."]
        question = Confirmation("Delete this draft?", follows, button="Delete it", final=True)
        return visit.confirm(question)
    discard(draft)
    return visit.go("/campaigns", message="The draft was deleted.")


@router.get("/drafts/{key}/plan")
def plan(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """The plan file so far."""
    return visit.show("organiser/plan.html.j2", draft=draft, text=plan_of(draft))


@router.get("/drafts/{key}/plan.toml")
def plan_file(draft: OpenDraft) -> Response:
    """The plan file, to keep."""
    text = plan_of(draft)
    return Response(text, media_type="application/toml", headers=_attached("plan.toml"))


@router.get("/drafts/{key}/plan.zip")
def bundle(draft: OpenDraft) -> Response:
    """The plan file and the files that it names."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (closed when sent)
    write_bundle(draft, file)
    file.seek(0)
    name = f"{draft.plan.campaign.name or 'campaign'}.zip"
    return StreamingResponse(_sent(file), media_type="application/zip", headers=_attached(name))


def _sent(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while part := file.read(2**16):
            yield part


def _attached(name: str) -> dict[str, str]:
    quoted = quote(name, safe="")
    named = f'filename="{name}"' if quoted == name else f"filename*=utf-8''{quoted}"
    return {"Content-Disposition": f"attachment; {named}", "X-Content-Type-Options": "nosniff"}


# --- steps ----------------------------------------------------------------------------------------


@router.get("/drafts/{key}/{step}")
def show_step(draft: OpenDraft, step: Step, visit: AdministratorVisit) -> Response:
    """A step, with what is suggested where nothing was filled in."""
    return _step(visit, replace(draft, plan=suggested(draft, step)), step)


@router.post("/drafts/{key}/{step}")
def take(draft: OpenDraft, step: Step, visit: AdministratorVisit) -> Response:
    """A filled-in form: saved, then the next step; or the same again, and what is wrong."""
    version = visit.number("version")
    if not version or version > draft.version:
        version = draft.version
    seen = open_draft(draft.folder.parent, draft.key, version)
    form = _form(visit, step)
    try:
        _refuse_taken(visit, draft, form)
        saved = forms.fill_in(seen, form, visit.signed.name, visit.store.clock())
    except (InputError, RuleError) as error:
        if isinstance(error, RuleError) and error.code != "conflict":
            raise
        return _again(visit.with_problem(error, 422), draft, form)
    if step == "pool" and form.files.get("runs"):
        return visit.go(address(saved, step))  # now the depths are known
    return visit.go(address(saved, ORDER[ORDER.index(step) + 1]))


@router.post("/drafts/{key}/{step}/preview")
def preview(draft: OpenDraft, step: Step, visit: AdministratorVisit) -> Response:
    """What the form on the page would come to; nothing is saved."""
    changed, expected, problem = draft, None, ""
    try:
        form = replace(_form(visit, step), files={}, choices={})
        changed = replace(draft, plan=forms.planned(draft, form))
        expected = contents.forecast_of(changed)
    except QrowdError as error:
        problem = str(error)
    return visit.show(
        "organiser/side.html.j2",
        plan=changed.plan,
        found=expected,
        saved=contents.forecast_of(draft),
        side_problem=problem,
        step=step,
    )


def _form(visit: Visit, step: str) -> StepForm:
    """What the form of a step says: texts by key of the plan, files by kind."""
    page, kinds = STEP_PAGES[step], STEPS[step].uploads
    texts: dict[str, str] = {}
    for key in STEPS[step].keys:
        if key.removeprefix("files.") in kinds:
            continue  # a text must not name a file of the server
        if key in page.off and f"has-{key}" in visit.form:
            on = visit.text(f"on-{key}") == "yes"
            texts[key] = (visit.text(key) or "yes") if on else page.off[key]
        elif key in visit.form:
            texts[key] = visit.text(key)
        if key in texts and key in page.percents:
            texts[key] = _share(texts[key])
    files = {kind: sent for kind in kinds if (sent := visit.files(kind))}
    source = visit.text("source")  # where gold comes from
    return StepForm(step, texts, files, {"source": source} if source else {})


def _share(percent: str) -> str:
    try:
        return repr(float(percent.replace(",", ".")) / 100)
    except ValueError:
        return percent  # whoever reads the plan says what is wrong with it


def _refuse_taken(visit: Visit, draft: Draft, form: StepForm) -> None:
    """A name that a campaign has already is told at once, not at launch."""
    if form.step != "name":
        return
    name = forms.planned(draft, form).campaign.name
    with visit.store.snapshot() as db:
        taken = db.scalar(select(campaign.c.id).where(campaign.c.name == name))
    if taken is not None:
        raise InputError(f"there is a campaign {name!r} already; choose another name")


def _again(visit: Visit, draft: Draft, form: StepForm) -> Response:
    """The same step, with what was filled in where it can be kept."""
    texts = {key: text for key, text in form.texts.items() if text}
    try:
        plan = forms.planned(draft, StepForm(form.step, texts))
    except QrowdError:
        plan = draft.plan
    return _step(visit, replace(draft, plan=plan), form.step)


def _step(visit: Visit, draft: Draft, step: str) -> Response:
    data = {
        **shared(draft, step),
        "found": contents.forecast_of(draft),
        "material": contents.campaign_rows(draft),
        "side_problem": "",
        "saved": None,
    }
    if step == "pool":
        data["depths"] = contents.depth_costs(draft)
    if step == "gold":
        data["arranged"] = own_gold.is_arranged(draft) or not draft.plan.files.gold
    return visit.show(f"organiser/steps/{step}.html.j2", **data)


# --- documents that the organiser grades, which become gold ---------------------------------------


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
def sheets(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Documents of one topic to grade."""
    ready = bool(draft.plan.files.documents and contents.pool_of(draft))
    pairs = own_gold.proposed(draft) if ready else []
    topics = {row.name: row for row in contents.rows_of(draft, "topics")}
    scale = draft.plan.scale
    return visit.show(
        "organiser/grade.html.j2",
        topic=topics.get(pairs[0][0], TopicRow(pairs[0][0])) if pairs else None,
        sheets=[_sheet(draft, document) for _, document in pairs],
        labels=scale.names,
        done=len(own_gold.graded(draft)),
        sets=own_gold.sets_made(draft),
        found=contents.forecast_of(draft),
        **shared(draft, "gold"),
    )


@router.post("/drafts/{key}/gold/grade")
def keep_grades(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Keep the grades, and propose the next documents."""
    topic, allowed = visit.text("topic"), {str(grade) for grade in draft.plan.scale.grades}
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
    return visit.go(f"{address(draft, 'gold')}/grade", message="Your grades are kept.")


def _sheet(draft: Draft, name: str) -> Sheet:
    documents = _documents(str(draft.folder / draft.plan.files.documents))
    if name not in documents.index:
        return Sheet(name, "", Markup("<p>There is no text.</p>"))
    document = documents[name]
    media = document.media or "text/plain"
    body = Body(document.title, document.url, media, documents.read_bytes(name), "")
    marked_up = kind_of(body) == "html"
    text = text_of(body.content, marked_up=marked_up)[:LONGEST_SHEET]
    page = reader_of_html(text) if marked_up else reader_of_text(text)
    return Sheet(name, document.title, Markup(page))
