"""A qualification that is taken elsewhere: the test to download, results to send, who passed."""

from __future__ import annotations

from fastapi import Response
from sqlalchemy import select

from qrowd.collection.database.schema import listed_person
from qrowd.collection.office.acts.people import Passed, QualifyPeople
from qrowd.collection.publishing import qualification
from qrowd.collection.publishing.qualification import Result
from qrowd.collection.record import audit
from qrowd.errors import QrowdError
from qrowd.io.save import encoded_table
from qrowd.texts import Text
from qrowd.web.pages.frame import CampaignVisit, KeeperVisit, attached, page_router
from qrowd.web.pages.money import asked_before, read_upload

router = page_router()
LINES = 200  # of a table


@router.get("/campaigns/{name}/qualification")
def look(visit: KeeperVisit) -> Response:
    """The test and who passes it; what to download, and where to send results."""
    return _page(visit, [])


def _page(visit: CampaignVisit, results: list[Result]) -> Response:
    passed = {result.person: result.share for result in results if result.passed}
    with visit.read() as work:
        sets = qualification.sets_of_try(work)
        mine = work.own(listed_person) & listed_person.c.qualified_at.is_not(None)
        act = QualifyPeople(passed=Passed(passed))
        data = {
            "sets": len(sets),
            "documents": sum(len(each.documents) for each in sets),
            "chances": [
                (Text(f"office.crowd.{kind.replace(' ', '-')}"), chance)
                for kind, chance in qualification.chances(work).items()
            ],
            "with_ranks": work.plan.test_ranks(elsewhere=True),
            "qualified": len(work.db.scalars(select(listed_person.c.id).where(mine)).all()),
            "luck": qualification.luck(work, results) if results else None,
            "asked": act.foretell(work) if act.new(work) else None,
            **visit.top(work, "/workers"),
        }
    signed = visit.settings.signer("passed").dumps([visit.name, list(passed.items())])
    return visit.show(
        "organiser/qualification.html.j2",
        results=results[:LINES],
        total=len(results),
        passed=len(passed),
        oddities=qualification.oddities(results),
        signed=signed,
        **data,
    )


@router.get("/campaigns/{name}/qualification/task.csv")
def task(visit: KeeperVisit, rows: str = "documents") -> Response:
    """The test for another platform, without grades."""
    with visit.read() as work:
        table = qualification.task_table(work, per_set=rows == "sets")
    headers = attached(f"{visit.name}-task.csv")
    return Response(encoded_table(table, "task.csv"), media_type="text/csv", headers=headers)


@router.get("/campaigns/{name}/qualification/ids.csv")
def ids(visit: KeeperVisit) -> Response:
    """The ids of those who passed, one a line, for a platform's list."""
    with visit.read() as work:
        names = qualification.qualified_ids(work)
    text = "".join(f"{name}\n" for name in names)
    return Response(text, media_type="text/csv", headers=attached(f"{visit.name}-ids.csv"))


@router.post("/campaigns/{name}/qualification")
def score(visit: KeeperVisit) -> Response:
    """What the results come to; then those who passed are put on the list."""
    try:
        if visit.sure:
            return _put_on_list(visit)
        with visit.read() as work:
            results = read_upload(
                visit, "results", lambda path: qualification.read_results(work, str(path))
            )
    except QrowdError as error:
        return _page(visit.with_problem(error, 422), [])
    return _page(visit, results)


def _put_on_list(visit: CampaignVisit) -> Response:
    passed = Passed(dict(asked_before(visit, "passed", visit.text("passed"))))
    with visit.write() as work:
        number = audit.perform(work, visit.member.name, QualifyPeople(passed=passed))
        said = audit.said_of(work, number)
    return visit.go(visit.address("/people"), message=said, undo=number)
