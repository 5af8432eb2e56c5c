"""The page where workers judge: what everybody may see of a campaign; documents made safe to read.

A document is the reader's HTML or pages, and its original for a frame. The frame's address carries
a signed ticket instead of a cookie, so that it also works where browsers refuse cookies (inside a
platform's page).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import HTMLResponse
from itsdangerous import BadSignature
from pydantic import BaseModel
from starlette.staticfiles import StaticFiles

from qrowd.collection.database.store import Store, Work
from qrowd.collection.judging import offer
from qrowd.collection.judging.offer import Body
from qrowd.collection.people import entry
from qrowd.collection.plan.platforms import provider_of
from qrowd.collection.plan.sections import Plan
from qrowd.errors import RuleError
from qrowd.texts import Text, language_of, worker_words
from qrowd.web import access, pictures, sanitiser
from qrowd.web.access import TheSettings, TheStore, Worker
from qrowd.web.api.campaigns import about
from qrowd.web.api.work import PICTURES, Key, in_whole_steps
from qrowd.web.limits import WRONG_LINKS, Caller
from qrowd.web.pages.templates import templates
from qrowd.web.problems import status_of
from qrowd.web.settings import Settings

router = APIRouter(include_in_schema=False)
_HOST = re.compile(r"(\*\.)?[A-Za-z0-9.-]+(:\d+)?")
Position = Annotated[int, Path(ge=1, le=1000)]
TICKET_SECONDS = 2 * 86_400
HTML = ("text/html", "application/xhtml+xml")
PDF = ("application/pdf", "application/x-pdf")
SVG = "image/svg+xml"
IMAGES = (*PICTURES, SVG)
ORIGINAL = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    "X-DNS-Prefetch-Control": "off",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, max-age=3600",
}


class Static(StaticFiles):
    """Our scripts and styles; browsers ask each time whether they have changed."""

    def file_response(self, *arguments: Any, **named: Any) -> Any:
        """A file, to be checked before it is used again."""
        response = super().file_response(*arguments, **named)
        response.headers["Cache-Control"] = "no-cache"
        return response


@router.get("/judge/{name}")
@router.get("/judge/{name}/me")
def judging(name: str, request: Request, store: TheStore, lang: str = "") -> HTMLResponse:
    """The page of a campaign's workers, at the screen that fits; or their own page."""
    try:
        with store.read(name) as work:
            plan, campaign = work.plan, about(work)
            refused = _refused(work, request)
    except RuleError as error:
        return show_problem(request, Text("problem.campaign"), status_of(error), str(error))
    if refused is not None:
        return show_problem(request, Text(f"error.{refused.code}"), status_of(refused))
    language = language_of(lang, campaign.language)
    template = templates().get_template("judging.html.j2")
    page = template.render(
        about=campaign,
        language=language,
        texts=worker_words(language),
        own=request.url.path.endswith("/me"),
        data=page_data(campaign.model_dump(), language),
        money=f"{campaign.pay / 10**campaign.digits:.{campaign.digits}f} {campaign.currency}",
        labels=campaign.labels or [str(grade) for grade in campaign.grades],
        minutes=max(1, round(campaign.minutes_per_batch)),
    )
    return HTMLResponse(page, headers={"Content-Security-Policy": policy(plan)})


def _refused(work: Work, request: Request) -> RuleError | None:
    """Why whoever opens this address is not let in; whoever is in already may come back by it."""
    parameters = {key: text for key, text in request.query_params.items() if key != "lang"}
    if not parameters:
        return None
    try:
        with Caller.of(request).wrong(WRONG_LINKS):  # nobody finds out here who is on a list
            entry.admitted(work, parameters.get("link", ""), parameters)
    except RuleError as error:
        try:
            bearer = access.bearer_of(access.store_of(request), access.cookie_token(request))
        except RuleError:
            return error
        return None if bearer.campaign == work.campaign else error
    return None


def show_problem(request: Request, text: Text, status: int, more: str = "") -> HTMLResponse:
    """A page that says what happened, instead of the one that was asked for."""
    wanted = request.headers.get("Accept-Language", "").split(",")[0]
    language = language_of(request.query_params.get("lang", ""), wanted)
    template = templates().get_template("problem.html.j2")
    page = template.render(
        language=language, texts=worker_words(language), lead=text.say(language), message=more
    )
    return HTMLResponse(page, status)


def policy(plan: Plan) -> str:
    """What the page may load and who may frame it: its own, and the platform's hosts."""
    hosts = [host for host in provider_of(plan.platform).hosts if _HOST.fullmatch(host)]
    ours = " ".join(["'self'", *(f"https://{host}" for host in hosts)])
    own = "; ".join(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect", "frame"))
    outside = f"base-uri 'none'; form-action {ours}; frame-ancestors {ours}"
    return f"default-src 'none'; {own}; {outside}"


def page_data(about: Mapping[str, Any], language: str) -> str:
    """What scripts need to know, as JSON inside of HTML."""
    texts = dict(worker_words(language))
    text = json.dumps({"about": about, "language": language, "texts": texts}, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


# --- documents ------------------------------------------------------------------------------------

Piece = tuple[int, int, int, int, str]


class Reading(BaseModel):
    """A document to read. `kind` is text, image, pages or none.

    `original` is the address of the frame or the image; those of pages follow it ("/1", ...). A
    page is (width, height, pieces of text), a piece (left, top, width, height, text) on a grid
    of 10,000 by 10,000.
    """

    kind: str
    title: str
    html: str = ""
    original: str = ""
    cut: bool = False
    pages: list[tuple[int, int, list[Piece]]] = []


@router.get("/judge/{name}/documents/{key}/{position}")
def reading(
    name: str,
    key: Key,
    position: Position,
    worker: Worker,
    settings: TheSettings,
    response: Response,
) -> Reading:
    """A document of one's own batch, made safe."""
    ticket = settings.signer("original").dumps([worker.campaign, worker.worker, key, position])
    response.headers["Cache-Control"] = "private, max-age=3600"
    with in_whole_steps():
        with worker.read() as work:
            body = offer.body_of(work, worker.worker, key, position)
        return readable(body, f"/judge/{quote(name, safe='')}/original/{ticket}", settings)


def kind_of(body: Body) -> str:
    """How a document is shown."""
    media = body.media
    if not body.content:
        return "none"
    if media in HTML:
        return "html"
    if media in PDF:
        return "pages"
    if media in IMAGES:
        return "image" if sanitiser.can_be_shown(body.content) else "none"
    return "text" if media.startswith("text/") or media in ("", "application/json") else "none"


def readable(body: Body, address: str, settings: Settings) -> Reading:
    """A document made safe; `address` is that of its original."""
    kind, title = kind_of(body), body.title
    if kind == "image":
        return Reading(kind=kind, title=title, original=address)
    if kind == "pages":
        drawn = pictures.pages_of(settings.folder, body.hash, body.content)
        kind = "pages" if drawn.pages else "none"
        return Reading(kind=kind, title=title, original=address, cut=drawn.cut, pages=drawn.pages)
    cut = len(body.content) > sanitiser.LARGEST
    if kind == "html":
        page = sanitiser.reader_of_html(sanitiser.text_of(body.content, marked_up=True))
        return Reading(kind="text", title=title, html=page, original=address, cut=cut)
    if kind == "text":
        page = sanitiser.reader_of_text(sanitiser.text_of(body.content))
        return Reading(kind=kind, title=title, html=page, cut=cut)
    return Reading(kind="none", title=title)


@router.get("/judge/{name}/original/{ticket}/{number}")
def page_picture(
    name: str, ticket: str, number: Position, store: TheStore, settings: TheSettings
) -> Response:
    """The picture of a page of a PDF document."""
    with in_whole_steps():
        return shown_picture(_ticketed(name, ticket, store, settings), number, settings)


def shown_picture(body: Body, number: int, settings: Settings) -> Response:
    """A page of a PDF document as a picture."""
    picture = pictures.picture(settings.folder, body.hash, number)
    if not picture:
        raise RuleError("not-found", "there is no such page")
    return Response(picture, media_type="image/webp", headers=ORIGINAL)


@router.get("/judge/{name}/original/{ticket}")
def original(name: str, ticket: str, store: TheStore, settings: TheSettings) -> Response:
    """The original of a document: nothing in it runs, loads or leads anywhere."""
    with in_whole_steps():
        return shown_original(_ticketed(name, ticket, store, settings))


def shown_original(body: Body) -> Response:
    """A document as it is, harmless, for a frame."""
    if kind_of(body) == "image":
        picture = sanitiser.without_links(body.content) if body.media == SVG else body.content
        return Response(picture, media_type=body.media, headers=ORIGINAL)
    page = sanitiser.original_of_html(sanitiser.text_of(body.content, marked_up=True))
    return Response(page, media_type="text/html; charset=utf-8", headers=ORIGINAL)


def _ticketed(name: str, ticket: str, store: Store, settings: Settings) -> Body:
    """The document of the campaign that a ticket is for."""
    closed = RuleError("not-found", "this document is not open any more; reload the page")
    try:
        campaign, worker, key, position = settings.signer("original").loads(
            ticket, max_age=TICKET_SECONDS
        )
    except BadSignature:
        raise closed from None
    with store.read(campaign) as work:
        if work.name != name:
            raise closed
        return offer.body_of(work, worker, key, position)
