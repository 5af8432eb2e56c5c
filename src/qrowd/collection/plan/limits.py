"""What one look at a plan alone can tell: keys that contradict each other, or cannot be met."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qrowd.collection.plan.addresses import wire_address
from qrowd.collection.plan.platforms import OUTCOMES, is_plain, prolific_names
from qrowd.collection.plan.sections import CHECKS, SURELY, Plan
from qrowd.errors import InputError, RuleError
from qrowd.io.plan_files import find_line, parsed_toml, table_at
from qrowd.texts import Text

LARGEST = 10**15  # minor units: far beyond any budget, well within every database
LONGEST_NAME = 100
MAIL_HOLES = {"name", "title", "sender", "contact", "pay", "minutes", "until", "link", "decline"}
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

    @classmethod
    def of(cls, at: str, text: str, /, because: str = "", **values: Any) -> Complaint:
        """What a text says, with its values, of a key: `checks.binary.at_least`."""
        section, _, key = at.rpartition(".")
        return cls(section, key, Text(text, **values), because)

    def error(self, plan: Plan, file: str | Path = "plan") -> InputError:
        """The error, at the line of the key or, where the plan leaves it out, of `because`."""
        line = find_line(plan.text, self.section, self.key)
        if not line and self.because:
            line = find_line(plan.text, *self.because.rsplit(".", 1))
        message = f"[{self.section}] {self.key}: {self.message}"
        return InputError(message, file=str(file), line=line or 1)


def complaints(plan: Plan) -> Iterator[Complaint]:
    """Everything that is wrong."""
    parts = (
        _campaign,
        _scale,
        _batches,
        _next,
        _hierarchy,
        _way,
        _checks,
        _money,
        _platform,
        entry,
        mail,
        _prolific,
    )
    for part in parts:
        yield from part(plan)


def _campaign(plan: Plan) -> Iterator[Complaint]:
    name = plan.campaign.name
    if not name:
        yield Complaint.of("campaign.name", "office.plan.name.none")
    plain = not NAME_LACKS & set(name) and name == name.strip() and not name.startswith(".")
    if not plain or len(name) > LONGEST_NAME:
        yield Complaint.of("campaign.name", "office.plan.name.odd", longest=LONGEST_NAME)


def _scale(plan: Plan) -> Iterator[Complaint]:
    grades, labels = plan.scale.grades, plan.scale.labels
    if len(grades) < 2 or list(grades) != sorted(set(grades)):
        yield Complaint.of("scale.grades", "office.plan.grades.order")
    if any(not -128 <= grade <= 127 for grade in grades):
        yield Complaint.of("scale.grades", "office.plan.grades.range")
    if plan.scale.relevant_from not in grades[1:]:
        yield Complaint.of("scale.relevant_from", "office.plan.relevant-from")
    if labels and len(labels) != len(grades):
        yield Complaint.of("scale.labels", "office.plan.labels", grades=len(grades))
    yield from _gold_scale(plan)


def _gold_scale(plan: Plan) -> Iterator[Complaint]:
    scale, wanted = plan.scale, len(plan.scale.grades) - 1
    grades, cuts = scale.gold_grades, scale.gold_cuts
    if not grades:
        if cuts:
            yield Complaint.of("scale.gold_cuts", "office.plan.gold-cuts.alone")
        return
    if len(grades) < 2 or list(grades) != sorted(set(grades)):
        yield Complaint.of("scale.gold_grades", "office.plan.grades.order")
    elif any(not -128 <= grade <= 127 for grade in grades):
        yield Complaint.of("scale.gold_grades", "office.plan.grades.range")
    elif cuts and (len(cuts) != wanted or list(cuts) != sorted(set(cuts))):
        yield Complaint.of("scale.gold_cuts", "office.plan.gold-cuts.number", wanted=wanted)
    elif not grades[0] < scale.gold_relevant_from <= grades[-1]:
        # every check question would have the same right answer
        text, because = "office.plan.gold-cuts.one-side", "scale.gold_grades"
        yield Complaint.of("scale.gold_cuts", text, because=because)


def _batches(plan: Plan) -> Iterator[Complaint]:
    hit, sets = plan.hit, plan.sets
    if plan.gold_per_hit >= hit.sets:
        yield Complaint.of("hit.gold", "office.plan.all-gold", sets=hit.sets)
    if hit.lease_minutes > hit.longest_minutes:
        lease = "hit.lease_minutes"
        yield Complaint.of("hit.longest_minutes", "office.plan.longest-minutes", because=lease)
    if plan.owner and sets.target != 1:
        yield Complaint.of("sets.target", "office.plan.target.owner", because="campaign.mode")
    shortest = plan.checks.seconds.at_least * hit.sets * sets.size / 60
    if not plan.owner and shortest > hit.longest_minutes:
        key, longest = "checks.seconds.at_least", f"{hit.longest_minutes:g}"
        yield Complaint.of(key, "office.plan.seconds", minutes=round(shortest), longest=longest)


def _next(plan: Plan) -> Iterator[Complaint]:
    chosen, pick = plan.next, "next.pick"
    if chosen.pick == "even":
        return
    mode = plan.campaign.mode
    if mode not in ("crowd", "hierarchy") or (mode == "hierarchy" and chosen.pick == "systems"):
        yield Complaint.of(pick, "office.plan.next.mode", mode=mode)
    if not plan.way.graded:
        yield Complaint.of(pick, "office.plan.next.way", way=plan.way.name)
    if chosen.pick == "systems" and not plan.files.runs:
        yield Complaint.of(pick, "office.plan.next.runs")
    if chosen.most > plan.sets.target:
        yield Complaint.of("next.most", "office.plan.next.most", target=plan.sets.target)
    elif chosen.least > plan.most_votes:
        yield Complaint.of(
            "next.least", "office.plan.next.least", because=pick, most=plan.most_votes
        )


def _hierarchy(plan: Plan) -> Iterator[Complaint]:
    if not plan.in_phases:
        return
    mode = "campaign.mode"
    if not plan.way.graded or plan.way.ballots == "set":  # a ranking is not revised in part
        name = plan.way.name
        yield Complaint.of("campaign.way", "office.plan.hierarchy.way", because=mode, way=name)
    if plan.hierarchy.votes > plan.most_votes:
        key, most = "hierarchy.votes", plan.most_votes
        yield Complaint.of(key, "office.plan.hierarchy.votes", because=mode, most=most)
    if plan.files.priorities:
        yield Complaint.of("files.priorities", "office.plan.hierarchy.priorities")


def _way(plan: Plan) -> Iterator[Complaint]:
    way, (least, most) = plan.way, plan.way.sizes
    if not least <= plan.sets.size <= most:
        text = "office.plan.size.exact" if way.fixed_size else "office.plan.size.least"
        yield Complaint.of("sets.size", text, because="campaign.way", size=least, way=way.name)
    if not way.gold and plan.qualification.sets > 0:
        yield Complaint.of("qualification.sets", "office.plan.qualification.way", way=way.name)
    if plan.scale.cuts and not way.rated:
        yield Complaint.of("scale.cuts", "office.plan.cuts.way", way=way.name)
    yield from way.complaints(plan)


def _checks(plan: Plan) -> Iterator[Complaint]:
    if plan.checks.seconds.action == SURELY:
        yield Complaint.of("checks.seconds.action", "office.plan.surely.seconds")


def without_effect(plan: Plan) -> Iterator[Complaint]:
    """Keys on checks that the plan's text gives, and that change nothing under its actions."""
    for name in CHECKS:
        for key in ("at_least", "action"):
            at = f"checks.{name}.{key}"
            if not is_given(plan.text, f"checks.{name}", key):
                continue
            if name not in plan.used_checks:
                yield Complaint.of(at, "office.plan.check.unused")
            elif key == "at_least" and plan.used_checks[name].action == "none":
                yield Complaint.of(at, "office.plan.check.idle")
    if is_given(plan.text, "checks", "screen_out_after") and not plan.acts("screen-out"):
        yield Complaint.of("checks.screen_out_after", "office.plan.screen-out-after.idle")


def is_given(text: str, section: str, key: str) -> bool:
    """Whether a plan's text says a key, rather than leaving it at its default."""
    return key in table_at(parsed_toml(text, "plan"), section)


def _money(plan: Plan) -> Iterator[Complaint]:
    pay = plan.pay
    names = ("hit", "screen_out", "qualification", "review", "budget")
    amounts = {f"pay.{name}": getattr(pay, name) for name in names}
    for key, amount in amounts.items():
        if amount * 10**pay.digits > LARGEST:
            yield Complaint.of(key, "office.plan.amount.large")
    for key, amount in amounts.items():
        if amount > 0 and pay.minor(amount) == 0:
            yield Complaint.of(key, "office.plan.amount.small", smallest=f"{1 / 10**pay.digits:g}")
    test = pay.qualification if plan.qualification.sets else 0.0
    if pay.minor(pay.hit) > pay.minor(pay.budget):
        shown = f"{pay.hit:g}"
        yield Complaint.of("pay.budget", "office.plan.budget.batch", because="pay.hit", pay=shown)
    if pay.minor(pay.hit) + pay.minor(test) > pay.minor(pay.budget):
        shown = f"{pay.hit + test:g}"
        yield Complaint.of("pay.budget", "office.plan.budget.test", because="pay.hit", pay=shown)
    if pay.screen_out > pay.hit:
        yield Complaint.of("pay.screen_out", "office.plan.screen-out")


def _platform(plan: Plan) -> Iterator[Complaint]:
    platform = plan.platform
    codes = [text.partition("=") for text in platform.codes]
    incomplete = [name for name, mark, code in codes if not (mark and code)]
    unknown = [name for name, _, _ in codes if name not in OUTCOMES]
    if incomplete:
        yield Complaint.of("platform.codes", "office.plan.codes.form", code=repr(incomplete[0]))
    if unknown:
        values = {"outcome": repr(unknown[0]), "outcomes": ", ".join(OUTCOMES)}
        yield Complaint.of("platform.codes", "office.plan.codes.outcome", **values)
    if problem := _template_problem(platform.redirect):
        yield Complaint("platform", "redirect", problem)
    if platform.jwks and not Path(platform.jwks).is_absolute():
        yield Complaint.of("platform.jwks", "office.plan.jwks")
    if platform.jwks and not platform.audience:
        yield Complaint.of("platform.audience", "office.plan.audience")


def entry(plan: Plan) -> Iterator[Complaint]:
    """What is wrong with who may come in."""
    platform = plan.platform
    if plan.entry == "open" and plan.paid:
        yield Complaint.of("people.entry", "office.plan.entry.open", because="pay.hit")
    if plan.entry == "platform" and not platform.jwks:
        if platform.preset == "own":
            yield Complaint.of("people.entry", "office.plan.entry.own")
        elif not platform.places:
            text, preset = "office.plan.entry.places", "platform.preset"
            yield Complaint.of("platform.places", text, because=preset)
    for text in platform.shapes:
        name, _, shape = text.partition("=")
        try:
            re.compile(shape)
        except re.error:
            shape = ""
        if not name or not shape:
            yield Complaint.of("platform.shapes", "office.plan.shapes", shape=repr(text))


def _prolific(plan: Plan) -> Iterator[Complaint]:
    try:
        prolific_names(plan.prolific.names)
    except RuleError as error:
        yield Complaint.of("prolific.names", "office.plan.prolific.names", problem=str(error))


def mail(plan: Plan) -> Iterator[Complaint]:
    """What is wrong with letters."""
    letters = plan.mail
    if letters.contact:
        try:
            wire_address(letters.contact)
        except RuleError as error:
            yield Complaint.of("mail.contact", "office.plan.mail.contact", problem=str(error))
    if not is_plain(letters.sender):
        yield Complaint.of("mail.sender", "office.plan.mail.line")
    if not is_plain(letters.subject):
        yield Complaint.of("mail.subject", "office.plan.mail.line")
    for key in ("subject", "text"):
        text = getattr(letters, key)
        try:
            parsed = [(name, form, kind) for _, name, form, kind in string.Formatter().parse(text)]
        except ValueError:
            yield Complaint.of(f"mail.{key}", "office.plan.mail.braces")
            continue
        names = {name for name, _, _ in parsed if name is not None}
        plain = all(not form and kind is None for _, form, kind in parsed)
        if names - MAIL_HOLES or not plain:
            holes = ", ".join(f"{{{name}}}" for name in sorted(MAIL_HOLES))
            yield Complaint.of(f"mail.{key}", "office.plan.mail.hole", holes=holes)
        elif key == "text" and text and not {"link", "decline"} <= names:
            yield Complaint.of("mail.text", "office.plan.mail.link")


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
