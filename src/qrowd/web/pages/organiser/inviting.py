"""People: links for one's own panel, and a person who is forgotten."""

from __future__ import annotations

from fastapi import Response

from qrowd.errors import RuleError
from qrowd.web.api import workers as api
from qrowd.web.api.workers import Forgetting, LinksWanted
from qrowd.web.pages.organiser.frame import Question, Visiting, campaign_address, page_router
from qrowd.web.pages.organiser.live import shown

router = page_router()


@router.post("/campaigns/{name}/links")
def links(name: str, visit: Visiting) -> Response:
    """Signed links for people of one's own panel."""
    member = visit.organiser(name, "people")
    people = list(dict.fromkeys(line.strip() for line in visit.text("people").splitlines()))
    try:
        days = float(visit.text("days", "30"))
        wanted = LinksWanted(people=[one for one in people if one], days=days)
    except ValueError:  # pydantic's too
        told = "write one name or number a line, and for how many days the links are good"
        raise RuleError("bad-value", told) from None
    made = api.make_links(wanted, member, visit.settings)
    with member.store.read(member.campaign) as work:
        data = shown(member, name, "/workers", work)
    return visit.show("organiser/links.html.j2", links=made, days=wanted.days, **data)


@router.post("/campaigns/{name}/workers/{number}/forget")
def forget(name: str, number: int, visit: Visiting) -> Response:
    """Erase the person behind a worker, after two questions where a release would be broken."""
    member = visit.organiser(name, "people")
    page = campaign_address(name, f"/workers/{number}")
    void, despite = (visit.text(key) == "yes" for key in ("void", "despite"))
    if not visit.sure:
        return visit.ask(_question(number, void, page))
    try:
        wanted = Forgetting(void=void, sure=True, despite_release=despite)
        api.forget(number, wanted, member)
    except RuleError as error:
        if error.code != "released":
            raise
        question = Question(
            "A release has these answers",
            (f"{error}.",),
            button="Forget and void",
            back=page,
            final=True,
        )
        kept = [("void", "yes"), ("despite", "yes")]
        return visit.show("organiser/question.html.j2", question=question, kept=kept)
    return visit.go(page, told="Forgotten.")


def _question(number: int, void: bool, back: str) -> Question:
    follows = [
        "Name, address, platform's id, visits, messages, reasons and marked passages are erased.",
        "The answers are void, and their places open again."
        if void
        else "The answers stay, under a number that means nothing.",
        "Earlier backups are yours to erase.",
    ]
    return Question(
        f"Forget the person behind w{number}?",
        follows,
        "This costs nothing.",
        "Forget",
        back,
        final=True,
    )
