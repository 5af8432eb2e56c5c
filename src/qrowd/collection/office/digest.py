"""A digest for organisers who want it: what needs a decision, that all is judged, the budget.

At most one a day to each address, and only where there is something that it was not told before.
What is told is written down before the mail is handed over: a digest may be lost, never told twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from email.message import EmailMessage
from urllib.parse import quote

from sqlalchemy import select

from qrowd.collection.database import schema
from qrowd.collection.database.schema import digest
from qrowd.collection.database.store import Store, Work
from qrowd.collection.office.todo import overview
from qrowd.collection.people import letters
from qrowd.collection.people.letters import LATER
from qrowd.collection.people.mailer import Mailer, MailError
from qrowd.collection.plan.sections import DAY
from qrowd.texts import Text

SPENT = (0.5, 0.8, 1.0)  # shares of the budget that are told when they are passed


def wanted(work: Work) -> list[schema.Digest]:
    """Who wants one."""
    query = select(digest).where(work.own(digest)).order_by(digest.c.id)
    return work.rows(query, schema.Digest)


def ask(work: Work, addresses: Sequence[str]) -> list[str]:
    """Tell these addresses from now on; those that were not told before."""
    known = {row.address for row in wanted(work)}
    new = [address for address in addresses if address not in known]
    work.insert_all(digest, [{"address": address, "made_at": work.now} for address in new])
    return new


def stop(work: Work, addresses: Sequence[str]) -> list[str]:
    """Tell these addresses nothing more; those that were told before."""
    known = [row.address for row in wanted(work) if row.address in addresses]
    work.delete(digest, work.own(digest), digest.c.address.in_(known))
    return known


def news(work: Work) -> dict[str, tuple[Text, str]]:
    """What there is to tell now, by what it is about: the sentence, and the page that helps."""
    seen = overview(work)
    told: dict[str, tuple[Text, str]] = {}
    for cause in seen.causes:
        told[f"cause {cause.name}"] = (cause.text, "")
    for need in seen.needs:
        # not how many there are of it: nobody is told again because one more has come
        about = need.notice or sorted(need.details.items())
        told[f"{need.text.id} {about}"] = (need.text, need.page)
    if work.state == "closed":
        told["closed"] = (Text("office.digest.closed"), "")
    pace = seen.pace
    passed = [share for share in SPENT if pace.budget and pace.spent >= share * pace.budget]
    if passed:
        share, money = passed[-1], work.plan.pay.shown
        values = {"spent": money(pace.spent), "budget": money(pace.budget)}
        told[f"spent {share}"] = (Text("office.digest.spent", **values), "/money")
    return told


def digest_of(
    work: Work, row: schema.Digest, address: str
) -> tuple[EmailMessage, list[str]] | None:
    """What an address is to be told today, and what it knows afterwards; None if it is nothing."""
    if row.sent_at is not None and row.sent_at > work.now - DAY:
        return None
    known, now = set(json.loads(row.told or "[]")), news(work)
    # a share of the budget stays passed; all else may come again once it was gone
    new = [about for about in now if about not in known]
    if not new:
        return None
    mail, page = work.plan.mail, f"{address}/campaigns/{quote(work.name, safe='')}"
    lines = [f"- {now[about][0]}\n  {page}{now[about][1]}" for about in new]
    message = letters.new_message(
        letters.address_of("qrowd", mail.contact), letters.address_of("", row.address), work.now
    )
    message["Subject"] = letters.one_line(str(Text("office.digest.subject", campaign=work.name)))
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n\n".join([*lines, str(Text("office.digest.why"))]) + "\n")
    return message, sorted(now)


def send_digests(store: Store, campaign: str | int, mailer: Mailer, address: str) -> int:
    """Tell everybody who wants it what they do not know yet; how many were told."""
    with store.read(campaign) as work:
        if not work.plan.mail.contact:
            return 0
        rows = wanted(work)
    sent = 0
    for row in rows:
        with store.read(campaign) as work:
            due = digest_of(work, row, address)
        if due is None:
            continue
        mailer.connect()
        message, told = due
        with store.write(campaign) as work:
            now = {"sent_at": work.now, "told": json.dumps(told)}
            work.update(digest, digest.c.id == row.id, **now)
        problem = None
        try:
            outcome = mailer.deliver(message)
        except MailError as error:  # it takes no mail from the contact: nothing was handed over
            problem, outcome = error, letters.Outcome(LATER)
        if outcome.kind == LATER:
            with store.write(campaign) as work:
                before = {"sent_at": row.sent_at, "told": row.told}
                work.update(digest, digest.c.id == row.id, **before)
        if problem is not None:
            raise problem
        sent += outcome.kind == letters.SENT
    return sent
