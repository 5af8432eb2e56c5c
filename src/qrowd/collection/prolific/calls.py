"""What Prolific is told: written down first, shown, then sent, each once over kills.

    write(work, APPROVE, submission, amount=100)       it waits
    client = open_client()                             the token is in the environment, only there
    refuse_unfit(store, "web-2026", client)            before anything is sent
    listen(store, "web-2026", client)                  what became of the study and its submissions
    send_due(store, "web-2026", client)                what waits, and what is in doubt

A call is marked before it is sent, and once more after the answer. Whoever dies in between leaves
one of which nobody knows whether it was taken: the platform is asked. Of a bonus, the sum of
bonuses that the platform knew of is written down before, so that the payment shows, or does not;
and whoever is about to pay it claims it once more (`attempts`), so that nobody does who was slow
and was given up by another process.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from sqlalchemy import func, select

from qrowd.collection.books import ledger
from qrowd.collection.database import schema
from qrowd.collection.database.schema import (
    person,
    platform_call,
    study,
    submission,
    worker,
)
from qrowd.collection.database.store import Store, Work
from qrowd.collection.people.mailer import Stop
from qrowd.collection.plan.platforms import provider_of
from qrowd.collection.plan.sections import MINUTE
from qrowd.collection.plan.toml import rewritten
from qrowd.collection.prolific import contract, submissions
from qrowd.collection.prolific.contract import (
    APPROVE,
    AWAITING,
    BONUS,
    DRAFT,
    PLACES,
    PUBLISH,
    RETURN,
    SCREEN_OUT,
    STUDY,
    TARGETS,
    names_of,
)
from qrowd.collection.prolific.submissions import Heard, made_study, study_of
from qrowd.errors import RuleError, UsageError
from qrowd.http import CallError, Client, LaterError, LostError, RefusedError

TOKEN_VARIABLE, API_VARIABLE = "QROWD_PROLIFIC_TOKEN", "QROWD_PROLIFIC_API"
API = "https://api.prolific.com/api/v1/"
WAITING, SENDING, DONE, REFUSED = "waiting", "sending", "done", "refused"
LATER, DOUBT = "later", "doubt"  # of an outcome, beside done and refused
DOUBT_AFTER = 20 * MINUTE  # longer than all tries of one call: nobody is sending it any more
PAUSES = (0, 1, 5, 15, 60)  # minutes until the next try, the last of them from then on
AT_ONCE = 100  # bonuses of one payment
MOST_PAGES = 1000
DECISIONS = (APPROVE, SCREEN_OUT, RETURN)
NOT_OWED = "so much is not owed any more"
_NO_ACCESS = (401, 403)
_log = logging.getLogger(__name__)


def open_client(**settings: Any) -> Client:
    """The platform, by the token of the environment."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise UsageError(
            f"Prolific needs a token: set {TOKEN_VARIABLE} (a workspace's settings, API tokens); "
            "nothing was sent"
        )
    address = os.environ.get(API_VARIABLE, "").strip() or API
    return Client(address, {"Authorization": f"Token {token}"}, **settings)


# --- written --------------------------------------------------------------------------------------


class KnownCall(schema.PlatformCall):
    """A call with the submission that it is about, and who that is."""

    submission: str | None
    number: int | None
    participant: str | None


def _calls(work: Work) -> Any:
    rows = platform_call.outerjoin(submission, submission.c.id == platform_call.c.submission_id)
    rows = rows.outerjoin(worker, worker.c.id == platform_call.c.worker_id)
    rows = rows.outerjoin(person, person.c.worker_id == worker.c.id)
    query = select(
        platform_call,
        submission.c.platform_id.label("submission"),
        worker.c.number,
        person.c.platform_id.label("participant"),
    )
    return query.select_from(rows).where(work.own(platform_call)).order_by(platform_call.c.id)


def calls_in(work: Work, *states: str) -> list[KnownCall]:
    """Calls in these states, the oldest first."""
    return work.rows(_calls(work).where(platform_call.c.state.in_(states)), KnownCall)


def write(
    work: Work,
    kind: str,
    about: schema.Submission | None = None,
    amount: int = 0,
    body: Mapping[str, Any] | None = None,
) -> int:
    """A call that waits; its number."""
    return work.insert(
        platform_call,
        kind=kind,
        submission_id=about.id if about else None,
        worker_id=about.worker_id if about else None,
        amount=amount,
        body=json.dumps(body or {}),
        made_at=work.now,
        next_at=work.now,
    )


def take_back(work: Work, numbers: Sequence[int]) -> int:
    """Calls that were never tried are gone; how many there were."""
    untried = (
        work.own(platform_call)
        & platform_call.c.id.in_(numbers)
        & (platform_call.c.state == WAITING)
        & (platform_call.c.attempts == 0)
    )
    n = work.count(platform_call, untried)
    work.delete(platform_call, untried)
    return n


@dataclass(frozen=True)
class Request:
    """A call as it goes out, and whom it is about."""

    method: str
    path: str
    body: Mapping[str, Any]
    who: str = ""

    def __str__(self) -> str:
        """One line, as it is shown before it is made."""
        about = f"  ({self.who})" if self.who else ""
        return f"{self.method} {self.path} {json.dumps(self.body, ensure_ascii=False)}{about}"


def requests_of(work: Work, rows: Sequence[KnownCall]) -> list[Request]:
    """Calls as they go out; bonuses are one payment, in two steps."""
    singles = [_request(work, row) for row in rows if row.kind != BONUS]
    bonuses = [row for row in rows if row.kind == BONUS]
    for start in range(0, len(bonuses), AT_ONCE):
        part = bonuses[start : start + AT_ONCE]
        who = ", ".join(f"w{row.number}" for row in part)
        singles.append(_payment(work, part, who))
        path = "bulk-bonus-payments/<its id>/pay/"
        singles.append(Request("POST", path, {}, work.plan.pay.shown(_total(part))))
    return singles


def _total(rows: Sequence[KnownCall]) -> int:
    return sum(row.amount for row in rows)


def _payment(work: Work, rows: Sequence[KnownCall], who: str = "") -> Request:
    lines = [f"{row.participant},{row.amount / 100:.2f}" for row in rows]
    body = {"study_id": made_study(work).platform_id, "csv_bonuses": "\n".join(lines)}
    return Request("POST", "submissions/bonus-payments/", body, who)


def _request(work: Work, row: KnownCall) -> Request:
    body, of = json.loads(row.body), study_of(work)
    number = of.platform_id if of else None
    if row.kind == STUDY:
        return Request("POST", "studies/", body)
    if row.kind == PUBLISH:
        return Request("POST", f"studies/{number}/transition/", {"action": "PUBLISH"})
    if row.kind == PLACES:
        return Request("PATCH", f"studies/{number}/", body)
    action = names_of(work)["return"] if row.kind == RETURN else row.kind.upper().replace("-", "_")
    paid = f", {work.plan.pay.shown(row.amount)}" if row.amount else ""
    who = (f"w{row.number}" if row.number else "somebody who never came in") + paid
    path = f"submissions/{row.submission}/transition/"
    return Request("POST", path, {"action": action, **body}, who)


# --- asked ----------------------------------------------------------------------------------------


def refuse_unfit(store: Store, name: str | int, client: Client) -> None:
    """An error where the token may not, or the study is not this campaign's; nothing is sent."""
    with store.read(name) as work:
        contract.refuse_odd_plan(work)
        names, of = names_of(work), study_of(work)
    account = _asked(client, names["account"])
    body = _asked(client, f"studies/{of.platform_id}/") if of and of.platform_id else None
    with store.read(name) as work:
        contract.refuse_other_currency(work, account, "account.currency", "the account")
        if body is not None:
            contract.refuse_other_study(work, body)


def _asked(client: Client, path: str) -> Any:
    try:
        return client.get(path)
    except CallError as error:
        raise _plainly(error, client) from None


def _plainly(error: CallError, client: Client) -> RuleError:
    if error.status in _NO_ACCESS:
        message = f"Prolific lets this token do nothing here ({error}); see {TOKEN_VARIABLE}"
        return RuleError("no-access", f"{message}; nothing was sent")
    if error.status == 404:
        return RuleError("not-found", f"Prolific knows nothing of that ({error}); nothing was sent")
    return RuleError("no-platform", f"{client.address} cannot be asked: {error}; try again later")


def study_to_take(store: Store, name: str | int, client: Client, number: str) -> dict[str, Any]:
    """A study that somebody has made by hand, as the platform has it; an error unless it fits."""
    body = dict(_asked(client, f"studies/{quote(number, safe='')}/"))
    with store.read(name) as work:
        contract.refuse_other_study(work, body)
    return body


@dataclass(frozen=True)
class News:
    """What the platform said when it was asked."""

    study: Mapping[str, Any]
    submissions: Sequence[Heard]


def ask(store: Store, name: str | int, client: Client) -> News:
    """What the platform has of the study and its submissions; nothing is stored."""
    with store.read(name) as work:
        names, number = names_of(work), made_study(work).platform_id
    body = _asked(client, f"studies/{number}/")
    said = []
    for row in _listed(client, names["submissions"].format(study=number)):
        participant = str(row.get(names["submission.participant"], ""))
        said.append(Heard(str(row["id"]), str(row["status"]), participant))
    return News(body, said)


def _listed(client: Client, path: str) -> list[Mapping[str, Any]]:
    """All rows of a list that may come in pages."""
    rows: list[Mapping[str, Any]] = []
    for _ in range(MOST_PAGES):
        page = _asked(client, path)
        rows += page.get("results", ())
        following = page.get("next") or (page.get("_links", {}).get("next") or {}).get("href")
        # the token goes to the platform and nowhere else
        if not following or not str(following).startswith(client.address):
            break
        path = str(following).removeprefix(client.address)
    return rows


def take_in(work: Work, news: News) -> int:
    """Store what the platform said; how many submissions are in another state than before."""
    _know_study(work, news.study)
    return submissions.hear(work, news.submissions, asked=True)


def listen(store: Store, name: str | int, client: Client) -> int:
    """Ask, and store what was said."""
    news = ask(store, name, client)
    with store.write(name) as work:
        return take_in(work, news)


def _know_study(work: Work, body: Mapping[str, Any]) -> None:
    """The study as the platform has it; only those whom it sends come in."""
    of = study_of(work)
    if of is None:
        return
    number, places = str(body.get("id", of.platform_id)), body.get("total_available_places")
    work.update(
        study,
        study.c.id == of.id,
        platform_id=number,
        state=str(body.get("status", of.state))[:40],
        places=int(places or of.places),
        reward=int(body.get("reward", of.reward)),
        heard_at=work.now,
    )
    provider = provider_of(work.plan.platform)
    shapes = [f"{name}={shape}" for name, shape in provider.shapes.items()]
    own = f"{provider.study}={number}"
    wanted = (*(text for text in shapes if not text.startswith(f"{provider.study}=")), own)
    keys: dict[str, Any] = {}
    if own not in work.plan.platform.shapes:
        keys["shapes"] = wanted
    if places and int(places) > work.plan.platform.places:
        keys["places"] = int(places)
    if keys:
        work.store_plan(rewritten(work.plan.text, "platform", keys))


# --- sent -----------------------------------------------------------------------------------------


def send_due(
    store: Store, name: str | int, client: Client, stop: Stop | None = None
) -> Counter[str]:
    """Send what waits, and find out what became of calls in doubt; how many were done, refused,
    put off, are still in doubt. An error where the platform lets the token do nothing.
    """
    ended = stop or threading.Event()
    tally: Counter[str] = Counter()
    _settle_doubts(store, name, client, ended, tally)
    with store.read(name) as work:
        ready = [row.id for row in _due(work) if row.kind != BONUS]
    for number in ready:
        if ended.is_set():
            return tally
        tally[_send_one(store, name, client, number)] += 1
    while not ended.is_set():
        with store.write(name) as work:
            part = _begin_bonuses(work)
        if not part:
            break
        outcome = _pay(store, name, client, part)
        tally[outcome] += len(part)
        if outcome != DONE:
            break
    return tally


def send_all(store: Store, name: str | int, client: Client) -> Counter[str]:
    """Send until nothing is due any more; of each call what became of it at last."""
    tally: Counter[str] = Counter()
    while True:
        tally += send_due(store, name, client)
        with store.read(name) as work:
            if not _due(work):
                tally[LATER] = len(calls_in(work, WAITING))
                tally[DOUBT] = len(calls_in(work, SENDING))
                return +tally


def are_due(work: Work) -> bool:
    """Whether anything is to be sent now, or asked about."""
    return bool(_due(work) or in_doubt(work))


def _due(work: Work) -> list[KnownCall]:
    return [row for row in calls_in(work, WAITING) if row.next_at <= work.now]


def _begin(work: Work, numbers: Sequence[int], **columns: Any) -> None:
    """Mark calls as being sent, which must be committed before they are."""
    mine = platform_call.c.id.in_(numbers)
    again = {"attempts": platform_call.c.attempts + 1, "problem": ""}
    work.update(platform_call, mine, state=SENDING, tried_at=work.now, **again, **columns)


def _begin_bonuses(work: Work) -> list[KnownCall]:
    """The bonuses of the next payment, marked; none that was paid otherwise meanwhile."""
    owed = {row.id: row.amount for row in ledger.owed(work)}
    due = [row for row in _due(work) if row.kind == BONUS]
    gone = [row.id for row in due if owed.get(row.worker_id or 0, 0) < row.amount]
    _refuse(work, gone, NOT_OWED)
    numbers = [row.id for row in due if row.id not in gone][:AT_ONCE]
    _begin(work, numbers, payment="")
    return _as_now(work, numbers)


def _refuse(work: Work, numbers: Sequence[int], problem: str) -> None:
    """End calls that are not sent (again), and say why."""
    work.update(platform_call, platform_call.c.id.in_(numbers), state=REFUSED, problem=problem)


def _as_now(work: Work, numbers: Sequence[int]) -> list[KnownCall]:
    return work.rows(_calls(work).where(platform_call.c.id.in_(numbers)), KnownCall)


def _still_ours(work: Work, part: Sequence[KnownCall]) -> list[KnownCall]:
    """Of calls that are being sent, those that nobody else has taken up since."""
    now = {row.id: row for row in _as_now(work, [row.id for row in part])}
    return [
        row
        for row in part
        if row.id in now and (now[row.id].state, now[row.id].attempts) == (SENDING, row.attempts)
    ]


def _claim(work: Work, part: Sequence[KnownCall], **columns: Any) -> list[KnownCall]:
    """Take all of these calls up anew, or none where somebody else has one of them."""
    if len(_still_ours(work, part)) < len(part):
        return []
    numbers = [row.id for row in part]
    _begin(work, numbers, **columns)
    return _as_now(work, numbers)


def _end(work: Work, numbers: Sequence[int], outcome: str, problem: str = "") -> None:
    """What became of calls that were being sent."""
    mine = platform_call.c.id.in_(numbers) & (platform_call.c.state == SENDING)
    columns: dict[str, Any] = {"problem": problem[:300]}
    if outcome == LATER:
        tries = work.number(select(func.max(platform_call.c.attempts)).where(mine))
        minutes = PAUSES[min(tries, len(PAUSES)) - 1] if tries else 0
        columns |= {"state": WAITING, "payment": "", "next_at": work.now + minutes * MINUTE}
    elif outcome != DOUBT:
        columns["state"] = outcome
    work.update(platform_call, mine, **columns)
    _log.info("platform call", extra={"number": list(numbers)[:1], "outcome": outcome})


def _send_one(store: Store, name: str | int, client: Client, number: int) -> str:
    """One call that is no bonus: what became of it."""
    with store.write(name) as work:
        row = next((row for row in _due(work) if row.id == number), None)
        if row is None:
            return LATER  # somebody else sends it
        number_of = row.submission_id
        if row.kind in DECISIONS and not submissions.is_decided(work, number_of or 0, row.kind):
            _refuse(work, [number], "the campaign decides otherwise by now")
            return REFUSED
        request = _request(work, row)
        _begin(work, [number])
    try:
        answer = client.send(request.method, request.path, request.body)
    except LaterError as error:
        return _ended(store, name, [number], LATER, str(error))
    except RefusedError as error:
        if error.status in _NO_ACCESS:
            _ended(store, name, [number], LATER, str(error))
            raise _plainly(error, client) from None
        return _found_out(store, name, client, row, str(error))
    except LostError as error:
        return _found_out(store, name, client, row, str(error), lost=True)
    with store.write(name) as work:
        _know_answer(work, row, answer)
        _end(work, [number], DONE)
    return DONE


def _ended(
    store: Store, name: str | int, numbers: Sequence[int], outcome: str, problem: str = ""
) -> str:
    with store.write(name) as work:
        _end(work, numbers, outcome, problem)
    return outcome


def _know_answer(work: Work, row: KnownCall, answer: Mapping[str, Any]) -> None:
    """What the platform answered to a call that it took."""
    if row.submission is None:
        if row.kind == PUBLISH:  # which tells nothing else of the study
            answer = {key: answer[key] for key in ("id", "status") if key in answer}
        _know_study(work, answer)
        return
    said = str(answer.get("status", TARGETS[row.kind]))
    submissions.hear(work, [Heard(row.submission, said)], asked=True)


def _found_out(
    store: Store, name: str | int, client: Client, row: KnownCall, why: str, lost: bool = False
) -> str:
    """Of a call that was refused, or of which nobody knows: what the platform has now."""
    try:
        with store.read(name) as work:
            names, of = names_of(work), study_of(work)
        assert of is not None
        if row.submission is not None:
            return _found_submission(store, name, client, row, why, lost)
        body: Mapping[str, Any] | None
        if row.kind == STUDY:
            body = _made_of(client, names["studies"], json.loads(row.body))
            is_done = body is not None
        else:
            body = client.get(f"studies/{of.platform_id}/")
            places = json.loads(row.body).get("total_available_places", 0)
            has_places = int(body.get("total_available_places", 0)) >= places
            is_done = body.get("status") != DRAFT if row.kind == PUBLISH else has_places
    except (CallError, RuleError) as error:
        return _ended(store, name, [row.id], DOUBT, str(error))
    with store.write(name) as work:
        if body is not None:
            _know_study(work, body)
        outcome = DONE if is_done else LATER if lost else REFUSED
        _end(work, [row.id], outcome, "" if is_done else why)
    return outcome


def _made_of(client: Client, path: str, wanted: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The study that was made of a body: its codes are in no other. A list may not say all."""
    codes = {each["code"] for each in wanted["completion_codes"]}
    for each in _listed(client, path):
        if each.get("internal_name", wanted["internal_name"]) != wanted["internal_name"]:
            continue
        body: Mapping[str, Any] = client.get(f"studies/{quote(str(each['id']), safe='')}/")
        if {each.get("code") for each in body.get("completion_codes", ())} == codes:
            return body
    return None


def _found_submission(
    store: Store, name: str | int, client: Client, row: KnownCall, why: str, lost: bool
) -> str:
    body = client.get(f"submissions/{row.submission}/")
    state = str(body["status"])
    with store.write(name) as work:
        assert row.submission is not None
        submissions.hear(work, [Heard(row.submission, state)], asked=True)
        outcome = LATER if lost and state == AWAITING else REFUSED
        outcome = DONE if state == TARGETS[row.kind] else outcome
        problem = "" if outcome == DONE else why if state == AWAITING else f"it is {state} already"
        _end(work, [row.id], outcome, problem)
    return outcome


# --- bonuses --------------------------------------------------------------------------------------


def _pay(store: Store, name: str | int, client: Client, part: Sequence[KnownCall]) -> str:
    """Bonuses that are marked, as one payment: prepared, written down, then paid."""
    try:
        with store.read(name) as work:
            request, names = _payment(work, part), names_of(work)
        before = {row.id: _bonuses_seen(client, row, names) or 0 for row in part}
        answer = client.send(request.method, request.path, request.body)
        payment, amount = str(answer["id"]), answer.get(names["payment.amount"])
    except RefusedError as error:
        if error.status in _NO_ACCESS:
            _ended_ours(store, name, part, LATER, str(error))
            raise _plainly(error, client) from None
        return _ended_ours(store, name, part, REFUSED, str(error))
    except CallError as error:  # prepared perhaps, paid never
        return _ended_ours(store, name, part, LATER, str(error))
    if amount is not None and round(float(amount)) != _total(part):
        problem = f"Prolific would pay {amount} for {_total(part)}; it was not told to"
        return _ended_ours(store, name, part, REFUSED, problem)
    with store.write(name) as work:
        claimed = _claim(work, part, payment=payment)
        if claimed:
            work.update_all(platform_call, "before", before)
    return _pay_out(store, name, client, claimed, payment) if claimed else LATER


def _pay_out(
    store: Store,
    name: str | int,
    client: Client,
    part: Sequence[KnownCall],
    payment: str,
    again: bool = False,
) -> str:
    """Have a payment done that was just claimed; one try, which is soon over.

    Where it was told `again`, an error says nothing of the first time: it stays in doubt.
    """
    try:
        client.send("POST", f"bulk-bonus-payments/{quote(payment, safe='')}/pay/", {}, tries=1)
    except CallError as error:
        outcome = LATER if isinstance(error, LaterError) else REFUSED
        outcome = DOUBT if again or isinstance(error, LostError) else outcome
        return _ended_ours(store, name, part, outcome, str(error))
    with store.write(name) as work:
        _paid(work, part)
    return DONE


def _ended_ours(
    store: Store, name: str | int, part: Sequence[KnownCall], outcome: str, problem: str
) -> str:
    with store.write(name) as work:
        _end(work, [row.id for row in _still_ours(work, part)], outcome, problem)
    return outcome


def _paid(work: Work, part: Sequence[KnownCall]) -> None:
    """Bonuses that were paid, in the books too; in doubt until the books can have them."""
    booked = []
    for row in _still_ours(work, part):
        assert row.worker_id is not None
        if submissions.book(work, row.worker_id, row.amount):
            sums = {"bonuses": submission.c.bonuses + row.amount}
            work.update(submission, submission.c.id == row.submission_id, **sums)
            booked.append(row.id)
    _end(work, booked, DONE)


def _bonuses_seen(client: Client, row: KnownCall, names: Mapping[str, str]) -> int | None:
    """The sum of bonuses that the platform knows of for a submission, if it says them."""
    body, name = client.get(f"submissions/{row.submission}/"), names["submission.bonuses"]
    return sum(int(amount) for amount in body[name] or ()) if name in body else None


def mark_paid(work: Work, worker_ids: Sequence[int]) -> None:
    """Somebody says that these workers were paid: bonuses in doubt are not asked about any more.

    An error where one is being sent just now.
    """
    doubted = {row.id for row in in_doubt(work)}
    theirs = [
        row
        for row in calls_in(work, SENDING)
        if row.kind == BONUS and row.worker_id in set(worker_ids)
    ]
    fresh = [row for row in theirs if row.id not in doubted]
    if fresh:
        raise RuleError(
            "conflict",
            f"Prolific is being told to pay w{fresh[0].number} just now; nothing was marked: "
            "look again in half an hour",
        )
    _refuse(work, [row.id for row in theirs], "somebody marked this as paid")


def in_doubt(work: Work) -> list[KnownCall]:
    """Calls that nobody sends any more, and of which nobody knows whether they were taken."""
    settle = round(work.plan.prolific.settle_minutes * MINUTE)
    return [
        row
        for row in calls_in(work, SENDING)
        if (row.tried_at or 0)
        <= work.now - (max(DOUBT_AFTER, settle) if row.kind == BONUS else DOUBT_AFTER)
    ]


def _settle_doubts(
    store: Store, name: str | int, client: Client, ended: Stop, tally: Counter[str]
) -> None:
    """Ask about calls in doubt."""
    with store.write(name) as work:
        names, numbers = names_of(work), [row.id for row in in_doubt(work)]
        again = {"attempts": platform_call.c.attempts + 1, "tried_at": work.now}
        work.update(platform_call, platform_call.c.id.in_(numbers), **again)
        doubted = _as_now(work, numbers)
    payments: dict[str, list[KnownCall]] = {}
    for row in doubted:
        if ended.is_set():
            return
        if row.kind == BONUS:
            payments.setdefault(row.payment, []).append(row)
        else:
            tally[_found_out(store, name, client, row, "no answer", lost=True)] += 1
    for payment, part in payments.items():
        if not ended.is_set():
            _settle_payment(store, name, client, part, payment, names, tally)


def _settle_payment(
    store: Store,
    name: str | int,
    client: Client,
    part: Sequence[KnownCall],
    payment: str,
    names: Mapping[str, str],
    tally: Counter[str],
) -> None:
    """Find out whether a payment was done; where nothing of it shows, have it done."""
    if not payment:  # it was never prepared, or nobody wrote down which it was: it was not paid
        tally[_ended_ours(store, name, part, LATER, "no answer")] += len(part)
        return
    try:
        seen = {row.id: _bonuses_seen(client, row, names) for row in part}
    except CallError as error:
        tally[_ended_ours(store, name, part, DOUBT, str(error))] += len(part)
        return
    shown = [row for row in part if (seen[row.id] or 0) >= row.before + row.amount]
    rest = [row for row in part if row not in shown]
    with store.write(name) as work:
        _paid(work, shown)
        owed = {row.id: row.amount for row in ledger.owed(work)}
        # of the same payment, but not in doubt any more: they would be paid again
        same = work.own(platform_call) & (platform_call.c.payment == payment)
        others = work.count(platform_call, same) - len(rest)
        problem = (
            "it was to be paid with others, and does not show"
            if others
            else "Prolific does not say which bonuses it paid"
            if None in seen.values()
            else NOT_OWED
            if any(owed.get(row.worker_id or 0, 0) < row.amount for row in rest)
            else ""
        )
        # the same payment again: never a second one for the same; else somebody has to look
        claimed = [] if problem else _claim(work, part)
        if problem:
            _end(work, [row.id for row in _still_ours(work, rest)], DOUBT, problem)
    tally[DONE] += len(shown)
    tally[DOUBT] += len(rest) if problem else 0
    if claimed:
        tally[_pay_out(store, name, client, claimed, payment, again=True)] += len(claimed)


def refuse_odd_reason(category: str, message: str) -> None:
    """An error unless somebody can be rejected for this, in these words."""
    if category not in contract.CATEGORIES:
        listed = ", ".join(contract.CATEGORIES)
        raise RuleError("bad-value", f"category must be one of {listed}, got {category!r:.40}")
    if len(message.strip()) < contract.LEAST_REASON:
        raise RuleError(
            "bad-value",
            f"Prolific asks for a reason of at least {contract.LEAST_REASON} characters, "
            f"this one has {len(message.strip())}",
        )
