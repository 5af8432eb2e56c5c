"""What one look at a plan alone can tell: keys that contradict each other, or cannot be met."""

from __future__ import annotations

import string
from collections.abc import Iterator
from pathlib import Path

from qrowd.collection.plan.platforms import OUTCOMES
from qrowd.collection.plan.sections import Plan

LARGEST = 10**15  # minor units: far beyond any budget, well within every database
LONGEST_NAME = 100
NAME_LACKS = frozenset("/\\?#%") | {chr(code) for code in range(32)}
Complaint = tuple[bool, str, str, str]  # whether it holds, the section, the key, the message


# where a key is left out, the key that its default does not go with
BECAUSE = {
    "sets.target": "campaign.mode",
    "sets.size": "campaign.way",
    "pay.budget": "pay.hit",
    "hit.longest_minutes": "hit.lease_minutes",
}


def complaints(plan: Plan) -> Iterator[Complaint]:
    """Everything that is looked at, and whether it is wrong."""
    for part in (_campaign, _scale, _batches, _money, _platform):
        yield from part(plan)


def _campaign(plan: Plan) -> Iterator[Complaint]:
    name = plan.campaign.name
    plain = not NAME_LACKS & set(name) and name == name.strip() and not name.startswith(".")
    yield not name, "campaign", "name", "a campaign needs a name"
    yield (
        not plain or len(name) > LONGEST_NAME,
        "campaign",
        "name",
        f"it is part of addresses: at most {LONGEST_NAME} characters, none of / \\ ? # %, no "
        "blank at its ends, no dot at its start",
    )


def _scale(plan: Plan) -> Iterator[Complaint]:
    one = plan.scale
    in_order = len(one.grades) >= 2 and list(one.grades) == sorted(set(one.grades))
    yield (not in_order, "scale", "grades", "must be two or more whole numbers, the lowest first")
    yield (
        any(not -128 <= grade <= 127 for grade in one.grades),
        "scale",
        "grades",
        "must be within -128 and 127",
    )
    yield (
        one.relevant_from not in one.grades[1:],
        "scale",
        "relevant_from",
        "must be one of the grades above the lowest",
    )
    yield (
        bool(one.labels) and len(one.labels) != len(one.grades),
        "scale",
        "labels",
        f"must be {len(one.grades)} names, one per grade, or none",
    )


def _batches(plan: Plan) -> Iterator[Complaint]:
    hit, sets = plan.hit, plan.sets
    shortest = plan.checks.seconds.at_least * hit.sets * sets.size / 60
    yield (
        plan.gold_per_hit >= hit.sets,
        "hit",
        "gold",
        f"a batch of {hit.sets} sets must have a set that is not gold",
    )
    yield (
        hit.lease_minutes > hit.longest_minutes,
        "hit",
        "longest_minutes",
        "must be at least lease_minutes",
    )
    yield plan.preferences and sets.size != 2, "sets", "size", "must be 2 for preferences"
    yield plan.ranked and sets.size < 2, "sets", "size", "must be at least 2 to be ranked"
    yield (
        plan.owner and sets.target != 1,
        "sets",
        "target",
        "must be 1 where a topic has one owner; second_share has some judged again",
    )
    yield (
        plan.preferences and plan.qualification.sets > 0,
        "qualification",
        "sets",
        "there is no qualification by preferences: leave it out",
    )
    yield (
        not plan.owner and shortest > hit.longest_minutes,
        "checks.seconds",
        "at_least",
        f"nobody can pass: a batch would take {shortest:,.0f} minutes, and is reserved for "
        f"{hit.longest_minutes:g} at most",
    )


def _money(plan: Plan) -> Iterator[Complaint]:
    pay = plan.pay
    amounts = ("hit", "screen_out", "qualification", "review", "budget")
    for name in amounts:
        yield (getattr(pay, name) * 10**pay.digits > LARGEST, "pay", name, "is too large")
    for name in amounts:
        given = getattr(pay, name)
        yield (
            given > 0 and pay.minor(given) == 0,
            "pay",
            name,
            f"is below the smallest amount, {1 / 10**pay.digits:g}",
        )
    test = pay.qualification if plan.qualification.sets else 0.0
    yield (
        pay.minor(pay.hit) > pay.minor(pay.budget),
        "pay",
        "budget",
        f"is below the pay of one batch, {pay.hit:g}",
    )
    yield (
        pay.minor(pay.hit) + pay.minor(test) > pay.minor(pay.budget),
        "pay",
        "budget",
        f"is below the pay of one qualification and one batch, {pay.hit + test:g}",
    )
    yield pay.screen_out > pay.hit, "pay", "screen_out", "is above the pay of a batch"


def _platform(plan: Plan) -> Iterator[Complaint]:
    one = plan.platform
    codes = [given.partition("=") for given in one.codes]
    bad = next((name for name, mark, code in codes if not (mark and code)), None)
    strange = next((name for name, _, _ in codes if name not in OUTCOMES), None)
    yield bad is not None, "platform", "codes", f"must be outcome=code, got {bad!r}"
    yield (
        strange is not None,
        "platform",
        "codes",
        f"no outcome {strange!r}; there are {', '.join(OUTCOMES)}",
    )
    problem = _template_problem(one.redirect)
    yield bool(problem), "platform", "redirect", problem
    yield (
        bool(one.jwks) and not Path(one.jwks).is_absolute(),
        "platform",
        "jwks",
        "must be the whole path of a file on the server: /etc/qrowd/keys.json",
    )
    yield (
        bool(one.jwks) and not one.audience,
        "platform",
        "audience",
        "say whom signed visits are meant for",
    )


def _template_problem(redirect: str) -> str:
    """Why an address with {code} and the like cannot be used; "" if it can."""
    if redirect and not redirect.startswith(("https://", "http://")):
        return "must begin with https://"
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(redirect) if name is not None}
    except ValueError:
        return "a { or } has no partner"
    unknown = sorted(names - {"code", "worker", "session", "study"})
    listed = "there are {code} {worker} {session} {study}"
    return f"no {{{unknown[0]}}}; {listed}" if unknown else ""
