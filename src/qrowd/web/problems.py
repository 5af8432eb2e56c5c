"""One shape for every error: {"error": {"code": ..., "message": ...}}, with a fitting status."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from qrowd.errors import InputError, QrowdError, RuleError, StoreError
from qrowd.texts import Text
from qrowd.web.logs import cause_of

_log = logging.getLogger(__name__)
# the part of a path before the last name
_FOLDERS = re.compile(r"(?<![\w:/.])/([^\s/:;,'\"()]+/)+")
WAIT = {"Retry-After": "5"}  # seconds
# the codes of rules that are not a conflict (409)
STATUS_OF_RULE = {
    "not-found": 404,
    "no-access": 403,
    "no-sign-in": 401,
    "expired-link": 401,
    "needs-link": 401,
    "wrong-address": 401,
    "not-listed": 403,
    "no-places": 403,
    "too-many": 429,
    "bad-value": 422,
}


class Problem(BaseModel):
    """Why something was refused: a short name for programs, a sentence for people."""

    code: str
    message: str
    id: str = ""  # of the request, where nobody foresaw the error: its traceback is in the log


class Refusal(BaseModel):
    """The body of every error."""

    error: Problem


RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": HTTPStatus(status).phrase}
    for status in (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503)
}


def status_of(error: QrowdError) -> int:
    """The status that fits an error."""
    if isinstance(error, RuleError):
        return STATUS_OF_RULE.get(error.code, 409)
    return 503 if isinstance(error, StoreError) else 422


def sentence_of(error: QrowdError) -> str:
    """An error for people, without folders of the server: files are known by their names."""
    text = str(error)
    if isinstance(error, InputError):
        text = error.message
        if error.file and not isinstance(error, StoreError):
            line = f":{error.line}" if error.line else ""
            text = f"{Path(error.file).name}{line}: {text}"
    return _FOLDERS.sub("", text)


def refusal(
    code: str, message: str, status: int, headers: Mapping[str, str] | None = None, **more: str
) -> JSONResponse:
    """An error as a response."""
    if status == 401:
        headers = {"WWW-Authenticate": "Bearer"}
    if status in (429, 503):
        headers = WAIT
    return JSONResponse({"error": {"code": code, "message": message, **more}}, status, headers)


NO_PAGE = Text("problem.address")
PAGES = {"not-found": NO_PAGE, "store": Text("error.store")}  # what browsers are told, by code


def install(app: FastAPI, page: Callable[[Request, int, Text], Response | None]) -> None:
    """Let every error of the application have the one shape; browsers get a page, where it can be
    made.
    """

    @app.exception_handler(QrowdError)
    def _ours(request: Request, error: QrowdError) -> Response:
        code = "store" if isinstance(error, StoreError) else "bad-input"
        if isinstance(error, RuleError):
            code = error.code
        if isinstance(error, StoreError):
            _log.error("database cannot be used", extra={"cause": cause_of(error)})
        status, words = status_of(error), PAGES.get(code)
        if words and (shown := page(request, status, words)):
            return shown
        return refusal(code, sentence_of(error), status)

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> Response:
        if error.status_code in (404, 405) and (shown := page(request, error.status_code, NO_PAGE)):
            return shown
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
        return refusal(code, str(error.detail), error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    def _invalid(request: Request, error: RequestValidationError) -> Response:
        if shown := page(request, 404, NO_PAGE):
            return shown
        sentences = []
        for problem in error.errors():
            where = ".".join(str(part) for part in problem["loc"] if part != "body")
            sentences.append(f"{where}: {problem['msg']}" if where else str(problem["msg"]))
        return refusal("bad-value", "; ".join(sentences), 422)
