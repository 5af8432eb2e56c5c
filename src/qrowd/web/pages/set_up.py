"""The page behind the link that `qrowd serve` prints the first time: make the first account."""

from __future__ import annotations

from html import escape
from typing import Annotated

from fastapi import APIRouter, Form, Response
from fastapi.responses import HTMLResponse

from qrowd.errors import RuleError
from qrowd.web.access import TheSettings, TheStore
from qrowd.web.api.accounts import FirstAccount, set_up
from qrowd.web.passwords import LEAST_PASSWORD
from qrowd.web.problems import STATUS

router = APIRouter(include_in_schema=False)

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>qrowd: the first account</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"></head>
<body><main><h1>{title}</h1>{body}</main></body></html>"""
_FORM = """<p>{told}</p><form method="post" action="/set-up">
<input type="hidden" name="code" value="{code}">
<p><label>Name to sign in with<br><input name="login" value="{login}" maxlength="200" required
autocomplete="username"></label></p>
<p><label>Password, {least} characters at least<br><input name="password" type="password"
minlength="{least}" maxlength="1000" required autocomplete="new-password"></label></p>
<p><button>Make the account</button></p></form>"""
_DONE = """<p>The account is made, and this browser is signed in. Programs send this token as
<code>Authorization: Bearer</code>; it is shown this once:</p><p><code>{token}</code></p>
<p><a href="/">To the campaigns</a></p>"""


def _asked(code: str, told: str, login: str = "", status: int = 200) -> HTMLResponse:
    body = _FORM.format(
        told=escape(told), code=escape(code), login=escape(login), least=LEAST_PASSWORD
    )
    return HTMLResponse(_PAGE.format(title="The first account", body=body), status)


@router.get("/set-up")
def ask(code: str = "") -> HTMLResponse:
    """The form."""
    return _asked(code, "Whoever has this account can make campaigns and do everything in them.")


@router.post("/set-up")
def make(
    code: Annotated[str, Form(max_length=200)],
    login: Annotated[str, Form(min_length=1, max_length=200)],
    password: Annotated[str, Form(min_length=1, max_length=1000)],
    store: TheStore,
    settings: TheSettings,
) -> HTMLResponse:
    """Make the account; or say why not, and ask again."""
    cookie = Response()
    try:
        given = FirstAccount(login=login, password=password, code=code)
        made = set_up(given, cookie, store, settings)
    except RuleError as error:
        return _asked(code, str(error), login, STATUS.get(error.code, 409))
    page = HTMLResponse(_PAGE.format(title="Done", body=_DONE.format(token=made.token)), 201)
    page.raw_headers += [pair for pair in cookie.raw_headers if pair[0] == b"set-cookie"]
    return page
