"""The application: routes, the database, one shape of errors, headers that keep browsers safe."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response

import qrowd
from qrowd.collection.store import Store, open_store
from qrowd.web import problems
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
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=closing,
    )
    app.state.store, app.state.settings = held, settings
    problems.install(app)
    app.middleware("http")(_guarded)
    api = (accounts, members, campaigns, work, own, experts, manage, workers, extensions, results,
           releases)  # fmt: skip
    running = (live, findings, quality, worker_pages, inviting, acting, record, adjudicated,
               publishing)  # fmt: skip
    before = (signing, account_pages, home, launching, grading, wizard)
    pages = (judging, reader, *before, *running, queue, pair, objections)
    for part in (*api, *pages):
        app.include_router(part.router)
    app.mount("/static", judging.Static(directory=judging.FOLDER / "static"))
    return app


async def _guarded(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    """Refuse bodies that are too large; put the safety headers on every response."""
    length = request.headers.get("Content-Length", "0")
    most = LARGEST_UPLOAD if request.url.path.startswith("/drafts") else LARGEST_BODY
    if not length.isdigit() or int(length) > most:
        limit = f"{most // 2**20} MB"
        return problems.refusal("too-large", f"a request has at most {limit}", 413)
    response = await answer(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response
