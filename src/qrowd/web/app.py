"""The application: routes, the database, one shape of errors, headers that keep browsers safe."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import qrowd
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store
from qrowd.errors import QrowdError
from qrowd.texts import Text
from qrowd.web import access, limits, problems
from qrowd.web.api import (
    accounts,
    campaigns,
    experts,
    manage,
    monitoring,
    own,
    results,
    work,
)
from qrowd.web.api import workers as api_workers
from qrowd.web.api.monitoring import RequestCounts
from qrowd.web.pages import (
    acts,
    adjudication,
    documents,
    drafts,
    judging,
    launch,
    live,
    money,
    office,
    own_gold,
    panel,
    people,
    prolific,
    qualification,
    quality,
    releases,
    workers,
)
from qrowd.web.pages.frame import Visit
from qrowd.web.pages.templates import FOLDER
from qrowd.web.settings import Settings

_log = logging.getLogger(__name__)

API = (
    accounts.router,
    accounts.members,
    campaigns.router,
    work.router,
    own.router,
    experts.router,
    manage.router,
    api_workers.router,
    manage.extensions,
    results.router,
    monitoring.router,
)
PAGES = (
    judging.router,
    office.router,
    launch.router,  # before drafts, whose addresses end in the name of any step
    drafts.router,
    own_gold.router,
    live.router,
    money.router,
    prolific.router,
    prolific.public,
    panel.router,
    qualification.router,
    quality.router,
    workers.router,
    people.router,
    people.public,
    acts.router,
    releases.router,
    adjudication.router,
    documents.router,
)
DESCRIPTION = """
Send `Authorization: Bearer TOKEN`. A token comes from `/api/campaigns/{name}/enter` (a worker's
link), `/api/sign-in` (an account) or `/api/campaigns/{name}/tokens` (a program, with scopes).
Every error is `{"error": {"code": ..., "message": ...}}`: a short name for programs, a sentence for
people. One that nobody foresaw (500, `unforeseen`) also has the `id` of the request, as in the
header `X-Request-Id` of every response and in the server's log. Times are milliseconds since 1970,
money is in minor units (cents).
"""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; "
    "script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",  # what is not private says so itself
}


def make_app(settings: Settings, store: Store | None = None) -> FastAPI:
    """The application over the settings' database, which is opened (and made) here."""
    opened = store or open_store(settings.database, new=True)

    @asynccontextmanager
    async def closing(_: FastAPI) -> AsyncIterator[None]:
        yield
        opened.close()

    app = FastAPI(
        title="qrowd",
        version=qrowd.__version__,
        summary="Collect relevance judgements.",
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=closing,
    )
    app.state.store, app.state.settings = opened, settings
    problems.install(app, _page_of_nothing)
    routers = (*API, *PAGES)
    routes = {f"{method} {path}" for path, method in _addresses(routers)}
    app.state.counts = RequestCounts(sorted(routes), settings.counts)
    app.add_middleware(Guard, counts=app.state.counts)
    for router in routers:
        app.include_router(router)
    app.mount("/static", judging.Static(directory=FOLDER / "static"))
    return app


def _addresses(routers: Iterable[APIRouter]) -> Iterator[tuple[str, str]]:
    """Template and method of every route."""
    yield from (("/static", "GET"), ("/api/openapi.json", "GET"))
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute):
                yield from ((route.path, method) for method in route.methods or ())


class Guard:
    """Refuses bodies that are too large; puts the safety headers on every response; counts and logs
    requests.

    Errors that nobody foresaw are answered here, since Starlette would answer them outside of all
    middleware, without these headers. Plain ASGI: Starlette's `BaseHTTPMiddleware` costs a task and
    a stream for every request.
    """

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self.app, self.counts = app, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, request_id, status = time.perf_counter(), secrets.token_hex(4), 0

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers["X-Request-Id"] = request_id
            await send(message)

        try:
            answer = await _refused(Request(scope)) or self.app
            await answer(scope, _in_time(scope, receive), send_safely)
        except Exception:
            failure = {"id": request_id, "route": _route(scope)}
            _log.error("unforeseen error", exc_info=True, extra=failure)
            if status:  # the response has begun: the server cuts it off
                raise
            answer = await run_in_threadpool(_unforeseen, Request(scope), request_id)
            await answer(scope, receive, send_safely)
        finally:
            seconds = time.perf_counter() - began
            self.counts.add(f"{scope['method']} {_route(scope)}", status, seconds)
            level = logging.WARNING if status >= 500 else logging.INFO
            if _log.isEnabledFor(level):
                event = {
                    "id": request_id,
                    "method": scope["method"],
                    "route": _route(scope),
                    "status": status,
                    "ms": round(seconds * 1000),
                }
                _log.log(level, "request", extra=event)


def _route(scope: Scope) -> str:
    """The template of the address: the address itself holds names, links and tickets."""
    mounted = scope.get("root_path") or "none"
    return str(getattr(scope.get("route"), "path", mounted))


def _unforeseen(request: Request, request_id: str) -> Response:
    """What somebody is told after an error that nobody foresaw: browsers get a page."""
    text = Text("problem.unforeseen", id=request_id)
    page = _page(request, 500, text)
    return page or problems.refusal("unforeseen", str(text), 500, id=request_id)


def _page_of_nothing(request: Request, status: int, text: Text) -> Response | None:
    """What browsers are shown at an address where nothing is; the interface answers in JSON."""
    return None if request.url.path.startswith("/api/") else _page(request, status, text)


def _page(request: Request, status: int, text: Text) -> Response | None:
    """An error as a page, for browsers; programs get JSON."""
    if "text/html" not in request.headers.get("Accept", ""):
        return None
    with suppress(Exception):  # what failed may be what pages need
        if request.url.path.startswith("/judge/"):
            return judging.show_problem(request, text, status)
        visit = Visit(request, access.store_of(request), access.settings_of(request))
        return visit.show_problem(status, text)
    return None


def _in_time(scope: Scope, receive: Receive) -> Receive:
    """What is received, as long as the body comes in time: it holds a task, and its connection."""
    length = _length(Request(scope))
    if not length:
        return receive
    until = time.monotonic() + limits.BODY_SECONDS + length / limits.BODY_SPEED
    whole = False

    async def receive_soon() -> Message:
        nonlocal whole
        if whole:  # what comes now is that somebody went away
            return await receive()
        try:
            async with asyncio.timeout(until - time.monotonic()):
                message = await receive()
        except TimeoutError:
            late = "the request did not come in time; send it again"
            raise HTTPException(408, late, headers={"Connection": "close"}) from None
        whole = not message.get("more_body", False)
        return message

    return receive_soon


def _length(request: Request) -> int:
    stated = request.headers.get("Content-Length", "0")
    readable = stated.isdecimal() and len(stated) < 20
    return int(stated) if readable else limits.LARGEST_UPLOAD + 1


async def _refused(request: Request) -> Response | None:
    """Why this request is not even read, if it is not."""
    if "Transfer-Encoding" in request.headers:
        message = "say how long the body is (Content-Length)"
        return problems.refusal("length-required", message, 411)
    length, most = _length(request), limits.SMALL_BODY
    if length > most:
        at_most = limits.most_bytes(request.url.path)
        if at_most > most:
            most = await run_in_threadpool(_most, request, at_most)
        if length > most:
            hint = "; sign in to send more" if most < at_most else ""
            message = f"this request has at most {most // 2**10} kB{hint}"
            return problems.refusal("too-large", message, 413, {"Connection": "close"})
    return None


def _most(request: Request, at_most: int) -> int:
    """The largest body that whoever asks may send; it is read before the routes know who asks."""
    plain = access.header_token(request)
    try:
        bearer = access.bearer_of(
            request.app.state.store, access.cookie_token(request) if plain is None else plain
        )
    except QrowdError:
        return limits.SMALL_BODY
    if bearer.administrator:
        return at_most
    return min(at_most, limits.LARGEST_BODY) if bearer.role == "organiser" else limits.SMALL_BODY
