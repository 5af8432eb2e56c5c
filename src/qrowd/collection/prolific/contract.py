"""What Prolific is sent and says: addresses, the study that a plan makes, words for states.

The documentation as far as it was seen; what was not seen is in `plan.platforms.PROLIFIC_NAMES`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from qrowd.collection.books.prospect import batch_documents
from qrowd.collection.database.store import Work
from qrowd.collection.people.workers import secret_of
from qrowd.collection.plan.platforms import OUTCOMES, prolific_names, provider_of
from qrowd.errors import RuleError

RESERVED, ACTIVE, AWAITING = "RESERVED", "ACTIVE", "AWAITING REVIEW"
APPROVED, REJECTED, PARTLY = "APPROVED", "REJECTED", "PARTIALLY APPROVED"
RETURNED, TIMED_OUT, SCREENED_OUT = "RETURNED", "TIMED-OUT", "SCREENED OUT"
# what was told out of order is not believed where it leads back
ORDER = {
    RESERVED: 0,
    ACTIVE: 1,
    TIMED_OUT: 2,
    AWAITING: 3,
    RETURNED: 4,
    SCREENED_OUT: 4,
    PARTLY: 4,
    REJECTED: 4,
    APPROVED: 5,
}
OVER = (APPROVED, REJECTED, PARTLY, RETURNED, TIMED_OUT, SCREENED_OUT)
DRAFT = "UNPUBLISHED"
APPROVE, SCREEN_OUT, RETURN, REJECT = "approve", "screen-out", "return", "reject"
TARGETS = {APPROVE: APPROVED, SCREEN_OUT: SCREENED_OUT, RETURN: RETURNED, REJECT: REJECTED}
STUDY, PUBLISH, PLACES, BONUS = "study", "publish", "places", "bonus"
LEAST_REASON = 100  # characters of why a submission is rejected
CATEGORIES = (
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK"),
    *("LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
)
LEAST_HOURLY = {"GBP": 600, "USD": 800}  # in minor units; the platform's rule
LEAST_TRIES = 2  # of a comprehension test
AUTOMATIC_DAYS = 21  # after which the platform approves by itself


def names_of(work: Work) -> dict[str, str]:
    """What the platform calls things."""
    return prolific_names(work.plan.prolific.names)


# --- the study ------------------------------------------------------------------------------------


def address_of(work: Work, server: str) -> str:
    """Where the platform sends participants, with its own holes for who they are."""
    provider = provider_of(work.plan.platform)
    holes = zip(
        (provider.person, provider.study, provider.session),
        ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
        strict=True,
    )
    query = "&".join(f"{name}={{{{%{hole}%}}}}" for name, hole in holes)
    return f"{server.rstrip('/')}/judge/{quote(work.name, safe='')}?{query}"


def is_of_campaign(address: str, work: Work) -> bool:
    """Whether an address that a study sends participants to is this campaign's."""
    return urlsplit(address).path.rstrip("/") == f"/judge/{quote(work.name, safe='')}"


def reward_of(work: Work) -> int:
    """What a submission is paid: the first batch, with its test; more is told as bonuses."""
    plan = work.plan
    test = plan.pay_of("qualification") if plan.qualification.sets else 0
    return plan.pay_of("judge") + test


def minutes_of(work: Work) -> int:
    """How long that takes, in whole minutes."""
    plan = work.plan
    test = plan.qualification.sets * plan.sets.size
    return max(1, math.ceil(plan.seconds_of(math.ceil(batch_documents(work)) + test) / 60))


def codes_of(work: Work) -> dict[str, str]:
    """A completion code for each outcome: those of the plan, else such as nobody can guess.

    They are the same whenever one looks, so that a study is sent as it was shown.
    """
    known, secret = provider_of(work.plan.platform).codes, secret_of(work).encode()
    made = {
        outcome: hmac.new(secret, f"code {outcome}".encode(), hashlib.sha256).hexdigest()[:8]
        for outcome in OUTCOMES
    }
    return {outcome: known.get(outcome) or code.upper() for outcome, code in made.items()}


def study_body(work: Work, address: str, places: int) -> dict[str, Any]:
    """The study as the platform is told it, a draft; its codes stand in the plan."""
    plan, names = work.plan, names_of(work)
    codes = provider_of(plan.platform).codes
    types = {"completed": "COMPLETED"} | {
        outcome: names[f"code.{outcome}"] for outcome in OUTCOMES if outcome != "completed"
    }
    about = plan.prolific.description or plan.campaign.instructions or plan.campaign.title
    batches = plan.campaign.hits_per_session
    if batches > 1 and plan.pay.hit:
        pay = plan.pay.shown(plan.pay_of("judge"))
        about += (
            f"\n\nThe reward is for the first batch. You may do up to {batches}; each further one "
            f"is paid {pay} as a bonus."
        )
    body = {
        "name": plan.campaign.title or work.name,
        "internal_name": work.name,
        "description": about or work.name,
        "external_study_url": address,
        "prolific_id_option": "url_parameters",
        "completion_codes": [
            {
                "code": codes[outcome],
                "code_type": types[outcome],
                "actor": "participant",
                "actions": [{"action": "MANUALLY_REVIEW"}],
            }
            for outcome in OUTCOMES
        ],
        "total_available_places": places,
        "estimated_completion_time": minutes_of(work),
        "maximum_allowed_time": math.ceil(plan.hit.longest_minutes * batches),
        "reward": reward_of(work),
        "device_compatibility": ["desktop", "tablet", "mobile"],
        "filters": [],
        "submissions_config": {
            "max_submissions_per_participant": 1,
            "max_concurrent_submissions": -1,
            "auto_rejection_categories": [],
        },
    }
    return body | ({"project": plan.prolific.project} if plan.prolific.project else {})


def refuse_odd_plan(work: Work) -> None:
    """An error where the plan is none for Prolific, or breaks its rules."""
    plan = work.plan
    if plan.platform.preset != "prolific":
        raise RuleError(
            "wrong-state",
            f"this campaign's people come from {plan.platform.preset!r}; its plan must say "
            '[platform] preset = "prolific"',
        )
    if plan.pay.digits != 2:
        raise RuleError("bad-value", "[pay] digits: Prolific counts in hundredths; it must be 2")
    if plan.qualification.sets and plan.qualification.tries < LEAST_TRIES:
        raise RuleError(
            "bad-value",
            f"[qualification] tries: Prolific asks for {LEAST_TRIES} tries of a comprehension "
            f"test, got {plan.qualification.tries}",
        )
    least = LEAST_HOURLY.get(plan.pay.currency, 0)
    hourly = round(reward_of(work) * 60 / minutes_of(work))
    if hourly < least:
        raise RuleError(
            "bad-value",
            f"[pay] hit: {plan.pay.shown(reward_of(work))} for {minutes_of(work)} minutes is "
            f"{plan.pay.shown(hourly)} an hour; Prolific asks for {plan.pay.shown(least)} at least",
        )


def refuse_other_study(work: Work, body: Mapping[str, Any]) -> None:
    """An error where a study is of another campaign, or pays in another currency."""
    address, number = str(body.get("external_study_url", "")), body.get("id", "?")
    if not is_of_campaign(address, work):
        raise RuleError(
            "conflict",
            f"study {number} leads to {address or 'no address'}, which is not campaign "
            f"{work.name!r}; nothing was sent",
        )
    refuse_other_currency(work, body, "study.currency", f"study {number}")


def refuse_odd_study(body: Mapping[str, Any]) -> None:
    """An error where a study that somebody made breaks what a campaign keeps."""
    number, config = body.get("id", "?"), body.get("submissions_config") or {}
    most = config.get("max_submissions_per_participant") or 1
    if most != 1:
        raise RuleError(
            "bad-value", f"study {number} lets a person submit {most} times; it must be once"
        )
    if config.get("auto_rejection_categories"):
        raise RuleError(
            "bad-value",
            f"study {number} rejects by itself "
            f"({', '.join(map(str, config['auto_rejection_categories']))}); switch that off there",
        )


def refuse_other_currency(work: Work, body: Mapping[str, Any], name: str, whose: str) -> None:
    """An error where something at the platform is in another currency than the plan."""
    said = str(body.get(names_of(work)[name], "") or "")
    if said and said.upper() != work.plan.pay.currency.upper():
        raise RuleError(
            "conflict",
            f"{whose} pays in {said}, the plan in {work.plan.pay.currency}; nothing was sent: "
            "change [pay] currency, or the account",
        )


# --- what is told by webhooks ---------------------------------------------------------------------


def is_signed(secret: str, timestamp: str, body: bytes, signature: str) -> bool:
    """Whether a message is the platform's: HMAC-SHA256 over timestamp and body.

    How the digest is written was not seen: in base 64 or in hexadecimal digits, either will do.
    """
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    said = signature.strip().encode()
    forms = (base64.b64encode(digest), digest.hex().encode())
    return bool(secret) and any(hmac.compare_digest(form, said) for form in forms)
