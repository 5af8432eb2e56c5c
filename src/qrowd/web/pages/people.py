"""People of a campaign before they are workers: who may come in, the list, letters to those on it;
and the page of those who say no.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from qrowd.collection.database.schema import listed_person
from qrowd.collection.database.store import Store
from qrowd.collection.office import erasure
from qrowd.collection.office.acts.people import MakeLinks
from qrowd.collection.people import declined, entry, letters
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.texts import Text, language_of
from qrowd.web.access import TheStore
from qrowd.web.api.workers import judging_page, links_of_act
from qrowd.web.limits import WRONG_LINKS, Caller
from qrowd.web.pages.frame import Confirmation, KeeperVisit, Part, page_router
from qrowd.web.pages.judging import show_problem
from qrowd.web.pages.templates import templates
from qrowd.web.problems import status_of

router = page_router()
public = APIRouter(include_in_schema=False)  # for people who have nothing but a link
PAGE = 100


@router.get("/campaigns/{name}/people")
def people_page(visit: KeeperVisit, page: int = 1) -> Response:
    """Who may come in: the rule, the list with everybody's link, and the acts that change them."""
    with visit.read() as work:
        part = Part.of(work.count(listed_person, work.own(listed_person)), page, PAGE)
        lines = [
            (line, judging_page(work, visit.settings, entry.link_text(work, line.key)))
            if line.key
            else (line, "")
            for line in entry.people(work, limit=part.end)[part.start :]
        ]
        data = {
            "lines": lines,
            "rule": work.plan.rule,
            "taken": entry.places_taken(work),
            "page": part.page,
            "pages": part.pages,
            **visit.top(work, "/workers"),
        }
    return visit.show("organiser/people.html.j2", **data)


@router.post("/campaigns/{name}/links")
def links(visit: KeeperVisit) -> Response:
    """Signed links for people, shown at once."""
    with visit.write() as work:
        wanted = MakeLinks.of_form(visit.text, work.plan.pay)
        number = audit.perform(work, visit.member.name, wanted)
        made = links_of_act(work, visit.settings, number)
        data = visit.top(work, "/workers")
    return visit.show("organiser/links.html.j2", links=made, days=wanted.days, **data)


@router.post("/campaigns/{name}/people/{number}/forget")
def forget_person(number: int, visit: KeeperVisit) -> Response:
    """Erase somebody on the list who never came in."""
    page = visit.address("/people")
    if not visit.sure:
        question = Confirmation(
            Text("office.people.forget-question", person=f"p{number}"),
            [Text("office.people.forget-follows"), Text("office.worker.forget-backups")],
            Text("office.price.nothing"),
            Text("office.worker.forget-button"),
            page,
            final=True,
        )
        return visit.confirm(question)
    erasure.forget_listed(visit.store, visit.name, number, who=visit.member.name)
    return visit.go(page, message=Text("office.worker.forgotten"))


# --- not interested -------------------------------------------------------------------------------


@public.get("/decline/{name}")
def asked(name: str, request: Request, store: TheStore, link: str = "") -> HTMLResponse:
    """Who asked, and a button that says no. Looking changes nothing: mail servers do it, too."""
    return _declining(name, request, store, link)


@public.post("/decline/{name}")
def decline(name: str, request: Request, store: TheStore, link: str = "") -> HTMLResponse:
    """Say no, by the button or by a mail program's one-click form (RFC 8058).

    The link is all that shows who says it: there is no cookie, so nothing can be forged with one.
    """
    return _declining(name, request, store, link, sure=True)


def _declining(
    name: str, request: Request, store: Store, link: str, sure: bool = False
) -> HTMLResponse:
    try:
        with Caller.of(request).wrong(WRONG_LINKS), store.read(name) as work:
            plan = work.plan
            key, row = entry.person_of_link(work, link)
            done = declined.by_link(work, key)
            if row is None and not done:
                raise RuleError("expired-link", entry.ENDED)
        if sure and not done:
            with store.write(name) as work:
                letters.decline(work, link)
            erasure.scrub(store)
    except RuleError as error:
        known = error.code in ("expired-link", "too-many")
        words = Text(f"error.{error.code}" if known else "problem.campaign")
        return show_problem(request, words, status_of(error))
    browser = request.headers.get("Accept-Language", "").split(",")[0]
    language = language_of(row.language if row else browser, plan.campaign.language)
    page = (
        templates()
        .get_template("decline.html.j2")
        .render(
            language=language,
            t=lambda id, **values: Text(id, **values).say(language),
            title=plan.campaign.title or name,
            who=plan.mail.who,
            worker=row is not None and row.worker_id is not None,
            asked=not (sure or done),
        )
    )
    return HTMLResponse(page)
