"""What one look at a plan alone can tell: keys that contradict each other, or cannot be met."""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from qrowd.collection.plan.platforms import OUTCOMES
from qrowd.collection.plan.sections import Plan
from qrowd.errors import InputError
from qrowd.io.plan_files import find_line
from qrowd.rendering import thousands

LARGEST = 10**15  # minor units: far beyond any budget, well within every database
LONGEST_NAME = 100
NAME_LACKS = frozenset("/\\?#%") | {chr(code) for code in range(32)}


@dataclass(frozen=True)
class Complaint:
    """What is wrong with a key. `because` is the key that its default does not go with."""

    section: str
    key: str
    message: str
    because: str = ""

    def error(self, plan: Plan, file: str | Path = "plan") -> InputError:
        """The error, at the line of the key or, where the plan leaves it out, of `because`."""
        line = find_line(plan.text, self.section, self.key)
        if not line and self.because:
            line = find_line(plan.text, *self.because.rsplit(".", 1))
        message = f"[{self.section}] {self.key}: {self.message}"
        return InputError(message, file=str(file), line=line or 1)


def complaints(plan: Plan) -> Iterator[Complaint]:
    """Everything that is wrong."""
    for part in (_campaign, _scale, _batches, _way, _money, _platform):
        yield from part(plan)


def _campaign(plan: Plan) -> Iterator[Complaint]:
    name = plan.campaign.name
    if not name:
        yield Complaint("campaign", "name", "a campaign needs a name")
    plain = not NAME_LACKS & set(name) and name == name.strip() and not name.startswith(".")
    if not plain or len(name) > LONGEST_NAME:
        yield Complaint(
            "campaign",
            "name",
            f"it is part of addresses: at most {LONGEST_NAME} characters, none of / \\ ? # %, no "
            "blank at its ends, no dot at its start",
        )


def _scale(plan: Plan) -> Iterator[Complaint]:
    grades, labels = plan.scale.grades, plan.scale.labels
    if len(grades) < 2 or list(grades) != sorted(set(grades)):
        message = "must be two or more whole numbers, the lowest first"
        yield Complaint("scale", "grades", message)
    if any(not -128 <= grade <= 127 for grade in grades):
        yield Complaint("scale", "grades", "must be within -128 and 127")
    if plan.scale.relevant_from not in grades[1:]:
        yield Complaint("scale", "relevant_from", "must be one of the grades above the lowest")
    if labels and len(labels) != len(grades):
        message = f"must be {len(grades)} names, one per grade, or none"
        yield Complaint("scale", "labels", message)


def _batches(plan: Plan) -> Iterator[Complaint]:
    hit, sets = plan.hit, plan.sets
    if plan.gold_per_hit >= hit.sets:
        message = f"a batch of {hit.sets} sets must have a set that is not gold"
        yield Complaint("hit", "gold", message)
    if hit.lease_minutes > hit.longest_minutes:
        message = "must be at least lease_minutes"
        yield Complaint("hit", "longest_minutes", message, because="hit.lease_minutes")
    if plan.owner and sets.target != 1:
        message = "must be 1 where a topic has one owner; second_share has some judged again"
        yield Complaint("sets", "target", message, because="campaign.mode")
    shortest = plan.checks.seconds.at_least * hit.sets * sets.size / 60
    if not plan.owner and shortest > hit.longest_minutes:
        yield Complaint(
            "checks.seconds",
            "at_least",
            f"nobody can pass: a batch would take {thousands(shortest)} minutes, and is "
            f"reserved for {hit.longest_minutes:g} at most",
        )


def _way(plan: Plan) -> Iterator[Complaint]:
    way, (least, most) = plan.way, plan.way.sizes
    if not least <= plan.sets.size <= most:
        wanted = f"must be {least if way.fixed_size else f'at least {least}'} for {way.name}"
        yield Complaint("sets", "size", wanted, because="campaign.way")
    if not way.gold and plan.qualification.sets > 0:
        message = f"there is no qualification by {way.name}: leave it out"
        yield Complaint("qualification", "sets", message)
    if plan.scale.cuts and not way.rated:
        message = f"there are no values by {way.name} to be cut: leave them out"
        yield Complaint("scale", "cuts", message)
    yield from way.complaints(plan)


def _money(plan: Plan) -> Iterator[Complaint]:
    pay = plan.pay
    names = ("hit", "screen_out", "qualification", "review", "budget")
    amounts = {name: getattr(pay, name) for name in names}
    for name, amount in amounts.items():
        if amount * 10**pay.digits > LARGEST:
            yield Complaint("pay", name, "is too large")
    for name, amount in amounts.items():
        if amount > 0 and pay.minor(amount) == 0:
            message = f"is below the smallest amount, {1 / 10**pay.digits:g}"
            yield Complaint("pay", name, message)
    test = pay.qualification if plan.qualification.sets else 0.0
    if pay.minor(pay.hit) > pay.minor(pay.budget):
        message = f"is below the pay of one batch, {pay.hit:g}"
        yield Complaint("pay", "budget", message, because="pay.hit")
    if pay.minor(pay.hit) + pay.minor(test) > pay.minor(pay.budget):
        message = f"is below the pay of one qualification and one batch, {pay.hit + test:g}"
        yield Complaint("pay", "budget", message, because="pay.hit")
    if pay.screen_out > pay.hit:
        yield Complaint("pay", "screen_out", "is above the pay of a batch")


def _platform(plan: Plan) -> Iterator[Complaint]:
    platform = plan.platform
    codes = [text.partition("=") for text in platform.codes]
    incomplete = [name for name, mark, code in codes if not (mark and code)]
    unknown = [name for name, _, _ in codes if name not in OUTCOMES]
    if incomplete:
        yield Complaint("platform", "codes", f"must be outcome=code, got {incomplete[0]!r}")
    if unknown:
        message = f"no outcome {unknown[0]!r}; there are {', '.join(OUTCOMES)}"
        yield Complaint("platform", "codes", message)
    if problem := _template_problem(platform.redirect):
        yield Complaint("platform", "redirect", problem)
    if platform.jwks and not Path(platform.jwks).is_absolute():
        message = "must be the whole path of a file on the server: /etc/qrowd/keys.json"
        yield Complaint("platform", "jwks", message)
    if platform.jwks and not platform.audience:
        yield Complaint("platform", "audience", "say whom signed visits are meant for")


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
