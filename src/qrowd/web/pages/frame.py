"""What every page of an organiser or an expert shares: who visits, how a page is made, errors."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, BinaryIO, Self
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from itsdangerous import BadSignature
from starlette.datastructures import FormData, UploadFile
from starlette.requests import ClientDisconnect

from qrowd.collection.database.store import Store, Work
from qrowd.collection.record import audit
from qrowd.errors import QrowdError, RuleError
from qrowd.texts import Text, language_of, office_languages
from qrowd.web import access
from qrowd.web.access import SAFE_METHODS, Bearer, Member, TheSettings, TheStore
from qrowd.web.files import CampaignFiles
from qrowd.web.limits import Caller
from qrowd.web.pages.templates import templates
from qrowd.web.problems import sentence_of, status_of
from qrowd.web.settings import Settings

# a campaign's pages: the ends of their addresses; `office.tab.*` is what tabs are called
TABS = (
    "",
    "/coverage",
    "/hierarchy",
    "/quality",
    "/systems",
    "/workers",
    "/money",
    "/decisions",
    "/releases",
    "/acts",
)
YES = Text("office.confirmation.yes")
MESSAGE_SECONDS = 3600
MOST_FIELDS = 5_000
_DRAFT_FORM = re.compile(r"/drafts/[a-z0-9]{12}(/(?!delete)[a-z]+)?")
_OWN = re.compile(r"/(?![/\\])[^\x00-\x20\\]*")


@dataclass(frozen=True)
class Confirmation:
    """What is asked before something is done: what follows from it, and what it costs."""

    title: Text
    follows: Sequence[Text | str] = ()  # a str is the sentence of an error
    cost: Text | str = ""
    button: Text = YES
    back: str = "/campaigns"
    final: bool = False  # cannot be undone: asked with a box to tick
    doubtful: bool = False  # can be undone, and asked with a box to tick all the same
    offers: Sequence[tuple[Text, Mapping[str, str]]] = ()  # other acts: a button, its form


@dataclass(frozen=True)
class Visit:
    """A request for a page: who asks, the database, what the form sent."""

    request: Request
    store: Store
    settings: Settings
    bearer: Bearer | None = None
    form: FormData = field(default_factory=FormData)
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    status: int = 200  # of the page that is shown
    problem: Text | str = ""  # what is wrong with the form that was sent

    @property
    def forgery(self) -> str:
        """What forms of this page send back."""
        return access.forgery_token(self.settings, self.bearer.token) if self.bearer else ""

    @property
    def caller(self) -> Caller:
        """Whose tries are counted."""
        return Caller.of(self.request)

    @property
    def sure(self) -> bool:
        """Whether the question before this act was answered."""
        return self.text("sure") == "yes"

    @property
    def signed(self) -> Bearer:
        """Who is signed in; an error where nobody is."""
        if self.bearer is None:
            raise RuleError("no-sign-in", "please sign in")
        return self.bearer

    def text(self, name: str, default: str = "") -> str:
        """A field of the form, without blanks around it."""
        value = self.form.get(name, default)
        return value.strip() if isinstance(value, str) else default

    def texts(self, name: str) -> list[str]:
        """All values of a field."""
        return [value.strip() for value in self.form.getlist(name) if isinstance(value, str)]

    def files(self, name: str) -> list[tuple[str, BinaryIO]]:
        """The files that were chosen in a field, by their names."""
        return [
            (file.filename, file.file)
            for file in self.form.getlist(name)
            if isinstance(file, UploadFile) and file.filename
        ]

    def number(self, name: str, default: str = "") -> int | None:
        """A field that holds a whole number which a database can keep."""
        text = self.text(name, default)
        return int(text) if text.isdecimal() and len(text) < 19 else None

    def enter(self, name: str, scope: str, role: str = "organiser") -> CampaignVisit:
        """The visitor in a campaign; an error unless it is this role, with this scope."""
        member = access.member_of(self.store, self.signed, name, role, scope)
        return CampaignVisit(**vars(self), name=name, member=member)

    @property
    def language(self) -> str:
        """The first language that the browser asks for and that has words for these pages."""
        asked = self.request.headers.get("accept-language", "")
        wanted = [part.split(";")[0].strip() for part in asked.split(",")]
        return language_of(*wanted, among=office_languages())

    def say(self, said: Text | str, **values: Any) -> str:
        """Words by their id, in the visitor's language; values that are HTML stay so."""
        text = said if isinstance(said, Text) else Text(said, **values)
        return text.say(self.language)

    def with_problem(self, error: QrowdError | Text, status: int) -> Self:
        """The same visit, for the page of a form that is shown again with what is wrong."""
        problem = error if isinstance(error, Text) else sentence_of(error)
        return replace(self, problem=problem, status=status)

    def show(self, template: str, **data: Any) -> HTMLResponse:
        """A page."""
        page = templates().get_template(template)
        told = self._message()
        text = page.render(visit=self, t=self.say, told=told, problem=self.problem, **data)
        return HTMLResponse(text, self.status, headers=_headers(self.nonce))

    def show_problem(self, status: int, message: Text | str) -> HTMLResponse:
        """A page that says what happened, instead of the one that was asked for."""
        visit = replace(self, status=status)
        return visit.show("organiser/problem.html.j2", message=message, missing=status == 404)

    def go(
        self, address: str, message: Text | None = None, undo: int | None = None
    ) -> RedirectResponse:
        """To another page, which shows what was done (and how to take it back)."""
        if message is not None:
            ticket = self.settings.signer("told").dumps([self.say(message), undo])
            address += ("&" if "?" in address else "?") + urlencode({"told": ticket})
        return RedirectResponse(address, 303)

    def confirm(
        self, confirmation: Confirmation, kept: Sequence[tuple[str, str]] | None = None
    ) -> HTMLResponse:
        """Ask before doing what this form wants; "yes" sends it again, with `sure`.

        What the form holds is sent along, or instead of it what is to be `kept`.
        """
        if kept is None:
            kept = [
                (name, value)
                for name, value in self.form.multi_items()
                if isinstance(value, str) and name not in ("forgery", "sure")
            ]
        return self.show("organiser/confirmation.html.j2", confirmation=confirmation, kept=kept)

    def _message(self) -> tuple[str, int | None]:
        ticket = self.request.query_params.get("told", "")
        try:
            text, undo = self.settings.signer("told").loads(ticket, max_age=MESSAGE_SECONDS)
        except BadSignature:
            return "", None
        return text, undo


@dataclass(frozen=True)
class Part:
    """A page of a long list: its number from 1 on, and where it begins and ends."""

    page: int
    pages: int
    start: int
    end: int

    @classmethod
    def of(cls, total: int, page: int, size: int) -> Part:
        """The page that was asked for, or the nearest that there is."""
        pages = max(1, -(-total // size))
        page = max(1, min(page, pages))
        return cls(page, pages, (page - 1) * size, page * size)


@dataclass(frozen=True, kw_only=True)
class CampaignVisit(Visit):
    """A visit of a page of one campaign, by somebody with a role there."""

    name: str
    member: Member

    @property
    def storage(self) -> CampaignFiles:
        """The campaign's files."""
        return CampaignFiles.of(self.member, self.settings)

    def read(self) -> AbstractContextManager[Work]:
        """A snapshot of the campaign."""
        return self.member.read()

    def write(self) -> AbstractContextManager[Work]:
        """A transaction on the campaign."""
        return self.member.write()

    def address(self, page: str = "") -> str:
        """The address of one of the campaign's pages."""
        return campaign_address(self.name, page)

    def back(self) -> str:
        """The page that the form was on."""
        return own_address(self.text("back"), self.address())

    def top(self, work: Work, tab: str) -> dict[str, Any]:
        """What `organiser/campaign.html.j2` and most pages under it want to know."""
        return {
            "member": self.member,
            "name": self.name,
            "title": work.plan.campaign.title or work.name,
            "state": work.state,
            "tab": tab,
            "tabs": [tab for tab in TABS if tab != "/hierarchy" or work.plan.in_phases],
            "seen": audit.last_act(work),
            "pay": work.plan.pay,
            "plan": work.plan,
            "scopes": self.member.scopes,
        }


def _headers(nonce: str) -> Mapping[str, str]:
    """Only our own scripts and styles; forms need the origin, which `no-referrer` would hide."""
    own = f"script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data:"
    policy = f"default-src 'none'; {own}; connect-src 'self'; frame-src 'self'"
    outside = "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    return {
        "Content-Security-Policy": f"{policy}; {outside}",
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


def attached(name: str) -> dict[str, str]:
    """The headers of a file of this name, to keep."""
    quoted = quote(name, safe="")
    named = f'filename="{name}"' if quoted == name else f"filename*=utf-8''{quoted}"
    return {
        "Content-Disposition": f"attachment; {named}",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }


def own_address(address: str, otherwise: str = "/campaigns") -> str:
    """An address of this server as it is; any other is replaced."""
    return address if _OWN.fullmatch(address) else otherwise


def campaign_address(name: str, page: str = "") -> str:
    """The address of a campaign's page."""
    return f"/campaigns/{quote(name, safe='')}{page}"


# --- what routes ask for --------------------------------------------------------------------------


async def _sent(request: Request) -> AsyncIterator[FormData]:
    if request.method in SAFE_METHODS:
        yield FormData()
        return
    try:
        form = await request.form(max_fields=MOST_FIELDS)
    except ClientDisconnect:
        raise RuleError("malformed", "the form did not arrive whole; send it again") from None
    try:
        yield form
    finally:
        await form.close()


Sent = Annotated[FormData, Depends(_sent)]


def anybody(request: Request, store: TheStore, settings: TheSettings, form: Sent) -> Visit:
    """A visit without an account; whoever is signed in is known. Forms must be our own."""
    plain = request.cookies.get(access.OFFICE_COOKIE, "")
    try:
        bearer = access.bearer_of(store, plain) if plain else None
    except RuleError:
        bearer = None
    if request.method not in SAFE_METHODS:
        if bearer is not None:
            access.refuse_forged(request, bearer.token, str(form.get("forgery", "")))
        elif access.is_foreign(request):  # nobody is signed in, so there is no token to check
            raise RuleError("no-access", "this form is not of this server; reload the page")
    return Visit(request, store, settings, bearer, form)


Anybody = Annotated[Visit, Depends(anybody)]


def visitor(visit: Anybody) -> Visit:
    """A visit of somebody who is signed in."""
    assert visit.signed
    return visit


Visiting = Annotated[Visit, Depends(visitor)]


def _administrator(visit: Visiting) -> Visit:
    access.administrator(visit.signed)
    return visit


AdministratorVisit = Annotated[Visit, Depends(_administrator)]


def _in_campaign(scope: str, role: str = "organiser") -> Any:
    """A dependency: only this role, with this scope, in the campaign of the route's `name`."""

    def check(name: str, visit: Visiting) -> CampaignVisit:
        return visit.enter(name, scope, role)

    return Depends(check)


ReaderVisit = Annotated[CampaignVisit, _in_campaign("read")]
ManagerVisit = Annotated[CampaignVisit, _in_campaign("manage")]
KeeperVisit = Annotated[CampaignVisit, _in_campaign("people")]
PayerVisit = Annotated[CampaignVisit, _in_campaign("pay")]
ExporterVisit = Annotated[CampaignVisit, _in_campaign("export")]
ExpertVisit = Annotated[CampaignVisit, _in_campaign("judge", "expert")]


class PageRoute(APIRoute):
    """A route whose errors are pages: what happened, and what to do."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler, with errors shown."""
        handler = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handler(request)
            except OverflowError:  # a number that no database holds
                return _problem(request, 404, "there is no such number")
            except QrowdError as error:
                return _problem(request, status_of(error), sentence_of(error))

        return shown


def _problem(request: Request, status: int, message: str) -> Response:
    if status == 401:
        if request.method in SAFE_METHODS:
            goal = {"next": request.url.path}
        else:  # back to the page of the form, which has to be filled in again
            form = _DRAFT_FORM.match(request.url.path)
            goal = {"next": form[0] if form else "/campaigns", "unsaved": "yes"}
        return RedirectResponse(f"/sign-in?{urlencode(goal)}", 303)
    visit = Visit(request, request.app.state.store, access.settings_of(request))
    return visit.show_problem(status, message)


def page_router() -> APIRouter:
    """A router for pages."""
    return APIRouter(include_in_schema=False, route_class=PageRoute)
