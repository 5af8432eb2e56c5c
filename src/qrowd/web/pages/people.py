"""People of a campaign before they are workers: who may come in, the list, letters to those on it;
and the page of those who say no.
"""

from __future__ import annotations

from fastapi import Response

from qrowd.collection.database.schema import listed_person
from qrowd.collection.office import erasure
from qrowd.collection.office.acts.people import MakeLinks
from qrowd.collection.people import entry
from qrowd.collection.record import audit
from qrowd.texts import Text
from qrowd.web.api.workers import judging_page, links_of_act
from qrowd.web.pages.frame import Confirmation, KeeperVisit, Part, page_router

router = page_router()
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
