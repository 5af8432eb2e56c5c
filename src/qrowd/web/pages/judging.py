"""The judging page: what everybody may see of a campaign, and the place where its worker works."""

from __future__ import annotations

import json
import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

from qrowd.collection.plan.platforms import provider_of
from qrowd.collection.plan.sections import Plan
from qrowd.errors import RuleError
from qrowd.web.access import TheStore
from qrowd.web.api.campaigns import About, about
from qrowd.web.pages.templates import catalogue, language_of, templates
from qrowd.web.problems import status_of

router = APIRouter(include_in_schema=False)
_HOST = re.compile(r"(\*\.)?[A-Za-z0-9.-]+(:\d+)?")


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
            plan, campaign = work.plan, about(work.plan, work.state)
    except RuleError as error:
        language = language_of(lang)
        template = templates().get_template("problem.html.j2")
        page = template.render(language=language, texts=catalogue(language), message=str(error))
        return HTMLResponse(page, status_of(error))
    language = language_of(lang, campaign.language)
    template = templates().get_template("judging.html.j2")
    page = template.render(
        about=campaign,
        language=language,
        texts=catalogue(language),
        own=request.url.path.endswith("/me"),
        data=_data(campaign, language),
        money=f"{campaign.pay / 10**campaign.digits:.{campaign.digits}f} {campaign.currency}",
        labels=campaign.labels or [str(grade) for grade in campaign.grades],
        minutes=max(1, round(campaign.minutes_per_batch)),
    )
    return HTMLResponse(page, headers={"Content-Security-Policy": policy(plan)})


def policy(plan: Plan) -> str:
    """What the page may load and who may frame it: its own, and the platform's hosts."""
    hosts = [host for host in provider_of(plan.platform).hosts if _HOST.fullmatch(host)]
    ours = " ".join(["'self'", *(f"https://{host}" for host in hosts)])
    own = "; ".join(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect", "frame"))
    outside = f"base-uri 'none'; form-action {ours}; frame-ancestors {ours}"
    return f"default-src 'none'; {own}; {outside}"


def _data(campaign: About, language: str) -> str:
    """What scripts need to know, as JSON inside of HTML."""
    data = {
        "about": campaign.model_dump(),
        "language": language,
        "texts": dict(catalogue(language)),
    }
    text = json.dumps(data, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
