"""People of an earlier campaign who may be asked again: looked for, and written to by an act."""

from __future__ import annotations

from fastapi import Response

from qrowd.collection.office.panel import people_of_before, refuse_others
from qrowd.collection.people.entry import PersonRow
from qrowd.errors import QrowdError, RuleError
from qrowd.web import access
from qrowd.web.api.campaigns import listed
from qrowd.web.pages.frame import CampaignVisit, KeeperVisit, page_router
from qrowd.web.problems import status_of

router = page_router()
PASSED, AT_LEAST = 90, 20  # per cent, and check questions


@router.get("/campaigns/{name}/people/before")
def before(
    visit: KeeperVisit, other: str = "", passed: int = PASSED, at_least: int = AT_LEAST
) -> Response:
    """Who of another campaign agreed and is surely good enough; a button writes to them."""
    people: list[PersonRow] = []
    try:
        if other:
            people = _found(visit, other, passed, at_least)
    except QrowdError as error:
        visit = visit.with_problem(error, status_of(error))
    with visit.read() as work:
        data = visit.top(work, "/workers")
    return visit.show(
        "organiser/panel.html.j2",
        campaigns=[
            (row.name, row.name)
            for row in listed(visit.signed, visit.store)
            if row.name != visit.name
        ],
        other=other,
        passed=passed,
        at_least=at_least,
        people=people,
        # as the act reads them; a semicolon would part a name in two
        lines="\n".join(
            "\t".join((row.id, row.name, row.email, row.language)).replace(";", ",")
            for row in people
        ),
        **data,
    )


def _found(visit: CampaignVisit, other: str, passed: int, at_least: int) -> list[PersonRow]:
    # the organiser must be one in both campaigns, and know people there
    member = access.member_of(visit.store, visit.signed, other, "organiser", "people")
    if not 0 < passed < 100:
        raise RuleError("bad-value", "the share must be above 0 and below 100 per cent")
    with member.read() as earlier, visit.read() as work:
        refuse_others(earlier, work)
        return people_of_before(earlier, passed / 100, at_least)
