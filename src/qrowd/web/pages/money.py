"""Money: spend and forecast, who is owed what; a payout file, and the same file back."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from fastapi import Response
from itsdangerous import BadData

from qrowd.collection.books import ledger
from qrowd.collection.office.acts.money import Payout, Settle
from qrowd.collection.office.pace import pace_of
from qrowd.collection.office.payout import Payment, payout_table, read_payout
from qrowd.collection.record import audit
from qrowd.errors import QrowdError, RuleError
from qrowd.io.people import encoded_people
from qrowd.web.files import keep_upload
from qrowd.web.pages.frame import (
    CampaignVisit,
    Confirmation,
    PayerVisit,
    ReaderVisit,
    Visit,
    attached,
    page_router,
)

router = page_router()
T = TypeVar("T")
LINES = 200  # of a page
ASKED_SECONDS = 86_400  # how long a question waits for its answer


@router.get("/campaigns/{name}/money")
def money(visit: ReaderVisit) -> Response:
    """Spend and forecast; who is owed what."""
    with visit.read() as work:
        owed = ledger.owed(work) if "pay" in visit.member.scopes else []
        data = {
            "ahead": pace_of(work),
            "balance": ledger.balance(work),
            "owed": list(owed[:LINES]),
            "owed_workers": len(owed),
            **visit.top(work, "/money"),
        }
    return visit.show("organiser/money.html.j2", **data)


@router.get("/campaigns/{name}/money/payout.csv")
def payout(visit: PayerVisit) -> Response:
    """Who gets what, with names: only for those who may know people."""
    visit.member.refuse_without("people")
    with visit.read() as work:
        content = encoded_people(payout_table(work), "payout.csv")
    return Response(content, media_type="text/csv", headers=attached(f"{visit.name}-payout.csv"))


@router.post("/campaigns/{name}/money/paid")
def paid(visit: PayerVisit) -> Response:
    """What a payout file says is marked as paid, once that is asked twice."""
    try:
        if visit.sure:
            return _mark(visit)
        with visit.read() as work:
            payments = read_upload(visit, "payout", lambda path: read_payout(work, path))
            asked = Settle(payout=Payout(payments)).foretell(work)
    except QrowdError as error:
        return money(visit.with_problem(error, 422))
    page, rows = visit.address("/money"), [vars(payment) for payment in payments]
    signed = str(visit.settings.signer("paid").dumps([visit.name, rows]))
    question = Confirmation(asked.question, asked.follows, asked.price, asked.button, page, True)
    return visit.confirm(question, [("rows", signed), ("seen", visit.text("seen"))])


def _mark(visit: CampaignVisit) -> Response:
    rows = asked_before(visit, "paid", visit.text("rows"))
    act = Settle(payout=Payout([Payment(**row) for row in rows]))
    with visit.write() as work:
        number = audit.perform(work, visit.member.name, act, sure=True, seen=visit.number("seen"))
        said = audit.said_of(work, number)
    return visit.go(visit.address("/money"), message=said)


# --- files with people, of which the server keeps nothing -----------------------------------------


def read_upload(visit: Visit, field: str, read: Callable[[Path], T]) -> T:
    """What a file says that was sent; it is gone afterwards."""
    sent = visit.files(field)
    if not sent:
        raise RuleError("bad-value", "choose a file")
    with tempfile.TemporaryDirectory() as folder:
        return read(keep_upload(Path(folder), *sent[0]))


def asked_before(visit: CampaignVisit, what: str, signed: str) -> list[Any]:
    """What a question was about, as its page sends it back."""
    try:
        name, rows = visit.settings.signer(what).loads(signed, max_age=ASKED_SECONDS)
    except BadData:
        name, rows = "", []
    if name != visit.name:
        raise RuleError("conflict", "the question is too old; choose the file again")
    return list(rows)
