"""The study at Prolific: where it stands, what Prolific would be told; and its webhooks."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from qrowd.collection.database.store import Store, Work
from qrowd.collection.office.acts.prolific import fee_words
from qrowd.collection.prolific import calls, contract, submissions
from qrowd.collection.prolific.submissions import Heard
from qrowd.errors import RuleError
from qrowd.web.access import settings_of, store_of
from qrowd.web.limits import WRONG_LINKS, Caller
from qrowd.web.pages.frame import ReaderVisit, page_router

router = page_router()
public = APIRouter(include_in_schema=False)  # for the platform, which signs what it sends
LINES = 200  # of a page
CHANGE = "submission.status.change"
STATES = ("unmade", "unpublished", "active", "paused", "awaiting-review", "completed")


@router.get("/campaigns/{name}/prolific")
def study(visit: ReaderVisit) -> Response:
    """Where the study stands, and what Prolific would be told now."""
    with visit.read() as work:
        fits = work.plan.platform.preset == "prolific"
        of = submissions.study_of(work)
        base, bonuses = submissions.told_to_pay(work)
        rules = work.plan.prolific
        https = visit.settings.address.startswith("https://")
        data = {
            "fits": fits,
            "study": of,
            "address": visit.settings.address if https else "",
            "reward": contract.reward_of(work),
            "minutes": contract.minutes_of(work),
            "hourly": round(contract.reward_of(work) * 60 / contract.minutes_of(work)),
            "fee": fee_words(work),
            "fee_sum": round((base + bonuses) * rules.fee * (1 + rules.tax)),
            "base": base,
            "bonuses": bonuses,
            "automatic": contract.AUTOMATIC_DAYS,
            "server": visit.settings.tells_prolific,
            "taken": submissions.places_taken(work),
            **_planned(work),
            **visit.top(work, "/money"),
        }
        state = (of.state if of else "").lower().replace(" ", "-") or "unmade"
    data["state_text"] = visit.say(f"office.prolific.study.{state}") if state in STATES else state
    return visit.show("organiser/prolific.html.j2", **data)


def _planned(work: Work) -> dict[str, object]:
    """What Prolific would be told, what waits, and what it refused."""
    of = submissions.study_of(work)
    if of is None:
        return {}
    made = of.platform_id is not None
    decided = submissions.decisions(work) if made else []
    due = submissions.bonuses_due(work) if made else []
    places = submissions.places_wanted(work) if made else of.places
    possible = {"publish study"} if of.state == contract.DRAFT else set()
    possible |= {"tell decisions"} if decided or places > of.places else set()
    possible |= {"send bonuses"} if due else set()
    planned = [(each.submission, each.kind, each.amount) for each in decided]
    planned += [(each.submission, contract.BONUS, each.amount) for each in due]
    states = submissions.by_state(work)
    return {
        "planned": planned[:LINES],
        "places": places,
        "possible": possible,
        "states": states,
        "total": sum(states.values()),
        "waiting": len(calls.calls_in(work, calls.WAITING)),
        "doubtful": len(calls.in_doubt(work)),
        "refused": calls.calls_in(work, calls.REFUSED)[-LINES:],
    }


@public.post("/api/campaigns/{name}/prolific")
async def webhook(name: str, request: Request) -> Response:
    """What Prolific tells of a submission; only what it has signed is believed, and that once."""
    body = await request.body()
    await run_in_threadpool(_heard, name, request, body)
    return Response(status_code=204)


def _heard(name: str, request: Request, body: bytes) -> None:
    headers, store = request.headers, store_of(request)
    signature = headers.get("X-Prolific-Request-Signature", "")
    timestamp = headers.get("X-Prolific-Request-Timestamp", "")
    secret = settings_of(request).prolific_secret
    with Caller.of(request).wrong(WRONG_LINKS):
        if not contract.is_signed(secret, timestamp, body, signature):
            raise RuleError("no-access", "this was not signed by Prolific")
    event = headers.get("X-Event-Id", "")[:100]
    try:
        said = json.loads(body)
        is_change = said["event_type"] == CHANGE and bool(event)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RuleError("bad-value", "this is no event") from None
    if is_change:
        _take_in(store, name, event, said)


def _take_in(store: Store, name: str, event: str, said: dict[str, object]) -> None:
    with store.write(name) as work:
        names, of = contract.names_of(work), submissions.study_of(work)
        number, state, participant, study_id = (
            str(said.get(names[f"event.{key}"], "") or "")
            for key in ("submission", "state", "participant", "study")
        )
        # a workspace tells of all its studies; of which one is not always said
        ours = of is not None and (
            study_id == of.platform_id
            if study_id
            else any(row.platform_id == number for row in submissions.known(work))
        )
        if ours:
            submissions.hear_event(work, event, Heard(number, state, participant))
