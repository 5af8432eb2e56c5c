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
from qrowd.texts import Text

LARGEST = 10**15  # minor units: far beyond any budget, well within every database
LONGEST_NAME = 100
NAME_LACKS = frozenset("/\\?#%") | {chr(code) for code in range(32)}


@dataclass(frozen=True)
class Complaint:
    """What is wrong with a key. `because` is the key that its default does not go with.

    Commands make a line of a file of it, the wizard finds the step that asks for the key.
    """

    section: str
    key: str
    message: Text
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
        yield Complaint("campaign", "name", Text("office.plan.name.none"))
    plain = not NAME_LACKS & set(name) and name == name.strip() and not name.startswith(".")
    if not plain or len(name) > LONGEST_NAME:
        yield Complaint("campaign", "name", Text("office.plan.name.odd", longest=LONGEST_NAME))


def _scale(plan: Plan) -> Iterator[Complaint]:
    grades, labels = plan.scale.grades, plan.scale.labels
    if len(grades) < 2 or list(grades) != sorted(set(grades)):
        yield Complaint("scale", "grades", Text("office.plan.grades.order"))
    if any(not -128 <= grade <= 127 for grade in grades):
        yield Complaint("scale", "grades", Text("office.plan.grades.range"))
    if plan.scale.relevant_from not in grades[1:]:
        yield Complaint("scale", "relevant_from", Text("office.plan.relevant-from"))
    if labels and len(labels) != len(grades):
        yield Complaint("scale", "labels", Text("office.plan.labels", grades=len(grades)))


def _batches(plan: Plan) -> Iterator[Complaint]:
    hit, sets = plan.hit, plan.sets
    if plan.gold_per_hit >= hit.sets:
        yield Complaint("hit", "gold", Text("office.plan.all-gold", sets=hit.sets))
    if hit.lease_minutes > hit.longest_minutes:
        message = Text("office.plan.longest-minutes")
        yield Complaint("hit", "longest_minutes", message, because="hit.lease_minutes")
    if plan.owner and sets.target != 1:
        message = Text("office.plan.target.owner")
        yield Complaint("sets", "target", message, because="campaign.mode")
    shortest = plan.checks.seconds.at_least * hit.sets * sets.size / 60
    if not plan.owner and shortest > hit.longest_minutes:
        message = Text(
            "office.plan.seconds", minutes=round(shortest), longest=f"{hit.longest_minutes:g}"
        )
        yield Complaint("checks.seconds", "at_least", message)


def _way(plan: Plan) -> Iterator[Complaint]:
    way, (least, most) = plan.way, plan.way.sizes
    if not least <= plan.sets.size <= most:
        name = "office.plan.size.exact" if way.fixed_size else "office.plan.size.least"
        message = Text(name, size=least, way=way.name)
        yield Complaint("sets", "size", message, because="campaign.way")
    if not way.gold and plan.qualification.sets > 0:
        message = Text("office.plan.qualification.way", way=way.name)
        yield Complaint("qualification", "sets", message)
    if plan.scale.cuts and not way.rated:
        yield Complaint("scale", "cuts", Text("office.plan.cuts.way", way=way.name))
    yield from way.complaints(plan)


def _money(plan: Plan) -> Iterator[Complaint]:
    pay = plan.pay
    names = ("hit", "screen_out", "qualification", "review", "budget")
    amounts = {name: getattr(pay, name) for name in names}
    for name, amount in amounts.items():
        if amount * 10**pay.digits > LARGEST:
            yield Complaint("pay", name, Text("office.plan.amount.large"))
    for name, amount in amounts.items():
        if amount > 0 and pay.minor(amount) == 0:
            message = Text("office.plan.amount.small", smallest=f"{1 / 10**pay.digits:g}")
            yield Complaint("pay", name, message)
    test = pay.qualification if plan.qualification.sets else 0.0
    if pay.minor(pay.hit) > pay.minor(pay.budget):
        message = Text("office.plan.budget.batch", pay=f"{pay.hit:g}")
        yield Complaint("pay", "budget", message, because="pay.hit")
    if pay.minor(pay.hit) + pay.minor(test) > pay.minor(pay.budget):
        message = Text("office.plan.budget.test", pay=f"{pay.hit + test:g}")
        yield Complaint("pay", "budget", message, because="pay.hit")
    if pay.screen_out > pay.hit:
        yield Complaint("pay", "screen_out", Text("office.plan.screen-out"))


def _platform(plan: Plan) -> Iterator[Complaint]:
    platform = plan.platform
    codes = [text.partition("=") for text in platform.codes]
    incomplete = [name for name, mark, code in codes if not (mark and code)]
    unknown = [name for name, _, _ in codes if name not in OUTCOMES]
    if incomplete:
        message = Text("office.plan.codes.form", code=repr(incomplete[0]))
        yield Complaint("platform", "codes", message)
    if unknown:
        outcomes = ", ".join(OUTCOMES)
        message = Text("office.plan.codes.outcome", outcome=repr(unknown[0]), outcomes=outcomes)
        yield Complaint("platform", "codes", message)
    if problem := _template_problem(platform.redirect):
        yield Complaint("platform", "redirect", problem)
    if platform.jwks and not Path(platform.jwks).is_absolute():
        yield Complaint("platform", "jwks", Text("office.plan.jwks"))
    if platform.jwks and not platform.audience:
        yield Complaint("platform", "audience", Text("office.plan.audience"))


def _template_problem(redirect: str) -> Text | None:
    """Why an address with {code} and the like cannot be used; None if it can."""
    if redirect and not redirect.startswith(("https://", "http://")):
        return Text("office.plan.redirect.https")
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(redirect) if name is not None}
    except ValueError:
        return Text("office.plan.redirect.braces")
    unknown = sorted(names - {"code", "worker", "session", "study"})
    return Text("office.plan.redirect.hole", name=unknown[0]) if unknown else None
