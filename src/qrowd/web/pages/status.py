"""A plain page that says that the server runs, and which campaigns it has."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import select

from qrowd.collection.schema import campaign
from qrowd.web.access import TheStore

router = APIRouter(include_in_schema=False)

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>qrowd</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"></head>
<body><main><h1>qrowd</h1><p>This server is running.</p>
<table><thead><tr><th>Campaign</th><th>State</th></tr></thead><tbody>{rows}</tbody></table>
<p>Programs talk to <a href="/api/openapi.json">its interface</a>.</p></main></body></html>"""


@router.get("/")
def status(store: TheStore) -> HTMLResponse:
    """The campaigns and their states; nothing that is not public."""
    with store.snapshot() as db:
        query = select(campaign.c.name, campaign.c.state).order_by(campaign.c.id)
        found = [(row.name, row.state) for row in db.execute(query)]
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{state}</td></tr>" for name, state in found)
    return HTMLResponse(_PAGE.format(rows=rows or "<tr><td>none yet</td><td></td></tr>"))
