"""What every page of an organiser shares: who visits, how a page is made, errors, questions."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.datastructures import FormData, UploadFile
from starlette.requests import ClientDisconnect

from qrowd.collection.database.store import Store
from qrowd.errors import QrowdError, RuleError, StoreError
from qrowd.web.access import (
    OFFICE_COOKIE,
    SAFE_METHODS,
    Member,
    TheSettings,
    TheStore,
    Who,
    find,
    forgery_token,
    member_of,
    refuse_forged,
    settings_of,
)
from qrowd.web.pages.templating import templates
from qrowd.web.problems import STATUS
from qrowd.web.settings import Settings

# a campaign's pages: the end of the address, and what the tab is called
TABS: tuple[tuple[str, str], ...] = (
    ("", "Overview"),
    ("/coverage", "Coverage"),
    ("/quality", "Quality"),
    ("/systems", "Systems"),
    ("/workers", "Workers"),
    ("/money", "Money"),
    ("/decisions", "Experts"),
    ("/releases", "Release"),
    ("/acts", "Record"),
)
TOLD_SECONDS = 3600
MOST_FIELDS = 5_000
_OWN = re.compile(r"/(?![/\\])[^\x00-\x20\\]*")


@dataclass(frozen=True)
class Question:
    """What is asked before something is done: what follows from it, and what it costs."""

    title: str
    follows: Sequence[str] = ()
    cost: str = ""
    button: str = "Do it"
    back: str = "/campaigns"
    final: bool = False  # cannot be undone: asked with a box to tick
    doubtful: bool = False  # can be undone, and asked with a box to tick all the same


@dataclass(frozen=True)
class Visit:
    """A request for a page: who asks, the database, what the form sent."""

    request: Request
    store: Store
    settings: Settings
    who: Who | None = None
    form: FormData = field(default_factory=FormData)
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(16))

    @property
    def forgery(self) -> str:
        """What forms of this page send back."""
        return forgery_token(self.settings, self.who.token) if self.who else ""

    @property
    def sure(self) -> bool:
        """Whether the question before this act was answered."""
        return self.text("sure") == "yes"

    @property
    def signed(self) -> Who:
        """Who is signed in; an error where nobody is."""
        if self.who is None:
            raise RuleError("no-sign-in", "please sign in")
        return self.who

    def text(self, name: str, default: str = "") -> str:
        """A field of the form, without blanks around it."""
        value = self.form.get(name, default)
        return value.strip() if isinstance(value, str) else default

    def texts(self, name: str) -> list[str]:
        """All values of a field."""
        return [one.strip() for one in self.form.getlist(name) if isinstance(one, str)]

    def files(self, name: str) -> list[UploadFile]:
        """The files that were chosen in a field."""
        found = self.form.getlist(name)
        return [one for one in found if isinstance(one, UploadFile) and one.filename]

    def organiser(self, name: str, scope: str = "read") -> Member:
        """The visitor as organiser of a campaign; an error where that is not so."""
        return member_of(self.store, self.signed, name, "organiser", scope)

    def expert(self, name: str) -> Member:
        """The visitor as expert of a campaign."""
        return member_of(self.store, self.signed, name, "expert", "judge")

    def administrator(self) -> Who:
        """The visitor, to whom all campaigns are open."""
        if not self.signed.administrator or "manage" not in self.signed.scopes:
            raise RuleError("no-access", "only an administrator of this server may do that")
        return self.signed

    def show(self, template: str, *, status: int = 200, **data: Any) -> HTMLResponse:
        """A page."""
        told = self._told()
        page = templates().get_template(template).render(visit=self, told=told, **data)
        return HTMLResponse(page, status, headers=_headers(self.nonce))

    def go(self, address: str, told: str = "", undo: int | None = None) -> RedirectResponse:
        """To another page, which shows what was done (and how to take it back)."""
        if told:
            ticket = _signer(self.settings).dumps([told, undo])
            address += ("&" if "?" in address else "?") + urlencode({"told": ticket})
        return RedirectResponse(address, 303)

    def ask(self, question: Question) -> HTMLResponse:
        """Ask before doing what this form wants; "yes" sends it again, with `sure`."""
        kept = [
            (name, value)
            for name, value in self.form.multi_items()
            if isinstance(value, str) and name not in ("forgery", "sure")
        ]
        return self.show("organiser/question.html.j2", question=question, kept=kept)

    def _told(self) -> tuple[str, int | None]:
        try:
            held = _signer(self.settings).loads(
                self.request.query_params.get("told", ""), max_age=TOLD_SECONDS
            )
        except BadSignature:
            return "", None
        return held[0], held[1]


def _signer(settings: Settings) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(settings.secret, salt="told")


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


def own_address(given: str, otherwise: str = "/campaigns") -> str:
    """An address of this server, as it was given; any other is replaced."""
    return given if _OWN.fullmatch(given) else otherwise


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
    plain = request.cookies.get(OFFICE_COOKIE, "")
    try:
        who = find(store, plain) if plain else None
    except RuleError:
        who = None
    if request.method not in SAFE_METHODS:
        sent = str(form.get("forgery", ""))
        refuse_forged(request, who.token, sent) if who else _refuse_foreign(request)
    return Visit(request, store, settings, who, form)


def _refuse_foreign(request: Request) -> None:
    """Nobody is signed in, so there is no token to check: the form must be of this server."""
    own = (settings_of(request).address, f"{request.url.scheme}://{request.url.netloc}")
    if request.headers.get("Origin") not in (None, *own):
        raise RuleError("no-access", "this form is not of this server; reload the page")


def visitor(visit: Annotated[Visit, Depends(anybody)]) -> Visit:
    """A visit of somebody who is signed in."""
    assert visit.signed
    return visit


Anybody = Annotated[Visit, Depends(anybody)]
Visiting = Annotated[Visit, Depends(visitor)]


class PageRoute(APIRoute):
    """A route whose errors are pages: what happened, and what to do."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler, with errors shown."""
        handler = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handler(request)
            except RuleError as error:
                return _problem(request, error.code, str(error))
            except OverflowError:  # a number that no database holds
                return _problem(request, "not-found", "there is no such number")
            except StoreError as error:
                return _problem(request, "store", error.message)
            except QrowdError as error:
                return _problem(request, "bad-value", str(error))

        return shown


def _problem(request: Request, code: str, message: str) -> Response:
    status = 503 if code == "store" else STATUS.get(code, 409)
    if status == 401:
        here = request.url.path if request.method in SAFE_METHODS else "/campaigns"
        return RedirectResponse(f"/sign-in?{urlencode({'next': here})}", 303)
    visit = Visit(request, request.app.state.store, settings_of(request))
    shown = "organiser/problem.html.j2"
    return visit.show(shown, status=status, message=message, missing=status == 404)


def page_router() -> APIRouter:
    """A router for pages."""
    return APIRouter(include_in_schema=False, route_class=PageRoute)
