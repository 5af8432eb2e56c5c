"""The application: routes, the database, one shape of errors, headers that keep browsers safe."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import qrowd
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store
from qrowd.errors import QrowdError
from qrowd.web import access, problems
from qrowd.web.api import (
    accounts,
    campaigns,
    experts,
    extensions,
    manage,
    members,
    own,
    releases,
    results,
    work,
    workers,
)
from qrowd.web.pages import judging, reader
from qrowd.web.pages.expert import objections, pair, queue
from qrowd.web.pages.organiser import accounts as account_pages
from qrowd.web.pages.organiser import (
    acting,
    adjudicated,
    findings,
    grading,
    home,
    inviting,
    launching,
    live,
    publishing,
    quality,
    record,
    signing,
    wizard,
)
from qrowd.web.pages.organiser import workers as worker_pages
from qrowd.web.settings import Settings

DESCRIPTION = """
Send `Authorization: Bearer TOKEN`. A token comes from `/api/campaigns/{name}/enter` (a worker's
link), `/api/sign-in` (an account) or `/api/campaigns/{name}/tokens` (a program, with scopes).
Every error is `{"error": {"code": ..., "message": ...}}`: a short name for programs, a sentence for
people. Times are milliseconds since 1970, money is in minor units (cents).
"""
SMALL_BODY = 2**20  # of somebody who is not signed in
LARGEST_BODY = 64 * 2**20
LARGEST_UPLOAD = 2**30  # of a draft's files
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; "
    "script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def make_app(settings: Settings, store: Store | None = None) -> FastAPI:
    """The application over the settings' database, which is opened (and made) here."""
    held = store or open_store(settings.database, new=True)

    @asynccontextmanager
    async def closing(_: FastAPI) -> AsyncIterator[None]:
        yield
        held.engine.dispose()

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
    app.state.store, app.state.settings = held, settings
    problems.install(app)
    app.add_middleware(Guard)
    api = (
        accounts,
        members,
        campaigns,
        work,
        own,
        experts,
        manage,
        workers,
        extensions,
        results,
        releases,
    )
    running = (
        live,
        findings,
        quality,
        worker_pages,
        inviting,
        acting,
        record,
        adjudicated,
        publishing,
    )
    before = (signing, account_pages, home, launching, grading, wizard)
    pages = (judging, reader, *before, *running, queue, pair, objections)
    for part in (*api, *pages):
        app.include_router(part.router)
    app.mount("/static", judging.Static(directory=judging.FOLDER / "static"))
    return app


class Guard:
    """Refuses bodies that are too large; puts the safety headers on every response.

    Plain ASGI: Starlette's `BaseHTTPMiddleware` costs a task and a stream for every request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                held = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    held.setdefault(name, value)
            await send(message)

        answer = await _refused(Request(scope)) or self.app
        await answer(scope, receive, send_safely)


async def _refused(request: Request) -> Response | None:
    """Why this request is not even read, if it is not."""
    if "Transfer-Encoding" in request.headers:
        message = "say how long the body is (Content-Length)"
        return problems.refusal("length-required", message, 411)
    given = request.headers.get("Content-Length", "0")
    length = int(given) if given.isdecimal() and len(given) < 20 else LARGEST_UPLOAD + 1
    if length > SMALL_BODY:
        most = await run_in_threadpool(_most, request)
        if length > most:
            return problems.refusal("too-large", _too_large(most), 413)
    return None


def _most(request: Request) -> int:
    """The largest body that whoever asks may send; it is read before the routes know who asks."""
    header = request.headers.get("Authorization", "")
    bearer = header.startswith("Bearer ")
    plain = header.removeprefix("Bearer ").strip() if bearer else access.cookie_of(request)
    try:
        who = access.find(request.app.state.store, plain)
    except QrowdError:
        return SMALL_BODY
    drafts = who.administrator and request.url.path.startswith("/drafts")
    return LARGEST_UPLOAD if drafts else LARGEST_BODY


def _too_large(most: int) -> str:
    who_may = "; sign in to send more" if most == SMALL_BODY else ""
    return f"a request has at most {most // 2**20} MB{who_may}"
