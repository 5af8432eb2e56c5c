"""What a screening rule says: whom it doubts, on what value, in which words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from qrowd.data.arrays import Floats, Mask
from qrowd.errors import UsageError
from qrowd.quality.evidence import Evidence
from qrowd.registry import Card, get, spec_of


@dataclass(frozen=True, eq=False)
class Doubt:
    """The verdict of one rule on every assessor.

    `value` is the evidence, drawn from `n` cases; `weight` is the share of a vote that a doubted
    assessor keeps when doubt weighs down instead of leaving out; `say(k)` tells why in words.
    """

    value: Floats
    n: Floats
    doubted: Mask
    weight: Floats
    say: Callable[[int], str]


def below(value: Floats, n: Floats, least: float, enough: float, words: str) -> Doubt:
    """Doubt who lies below `least` with enough evidence; weighed down to value / least."""
    with np.errstate(invalid="ignore", divide="ignore"):
        doubted = (value < least) & (n >= enough)
        weight = np.where(doubted, np.clip(value / least, 0, 1), 1.0)
    return Doubt(value, n, np.asarray(doubted), weight, _sentence(words, value, n))


def above(value: Floats, n: Floats, most: float, enough: float, words: str) -> Doubt:
    """Doubt who reaches `most` with enough evidence; weighed down to most / value, halved."""
    with np.errstate(invalid="ignore", divide="ignore"):
        doubted = (value >= most) & (n >= enough)
        weight = np.where(doubted, np.clip(most / value, 0, 1) / 2, 1.0)
    return Doubt(value, n, np.asarray(doubted), weight, _sentence(words, value, n))


def _sentence(words: str, value: Floats, n: Floats) -> Callable[[int], str]:
    return lambda assessor: words.format(value=float(value[assessor]), n=int(n[assessor]))


class Rule:
    """The base of screening rules: values without data, combined by `&` (both must doubt).

    A list of rules doubts whom any of them doubts.
    """

    card: ClassVar[Card]

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        raise NotImplementedError

    def __and__(self, other: Rule) -> Both:
        return Both(self, other)

    @property
    def needs(self) -> tuple[str, ...]:
        """What must be given: gold, seconds."""
        return self.card.needs

    @property
    def spec(self) -> str:
        """The rule as a spec string."""
        return spec_of(self)


@dataclass(frozen=True)
class Both(Rule):
    """Doubts whom both rules doubt."""

    one: Rule
    other: Rule

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom both doubt; the words of both, the larger of the two weights."""
        first, second = self.one.doubts(evidence), self.other.doubts(evidence)
        doubted = first.doubted & second.doubted
        weight = np.where(doubted, np.maximum(first.weight, second.weight), 1.0)
        n = np.minimum(first.n, second.n)
        return Doubt(
            first.value, n, doubted, weight, lambda k: f"{first.say(k)}; and {second.say(k)}"
        )

    @property
    def needs(self) -> tuple[str, ...]:
        """What either needs."""
        return tuple(dict.fromkeys((*self.one.needs, *self.other.needs)))

    @property
    def spec(self) -> str:
        """Both specs, joined."""
        return f"{self.one.spec} & {self.other.spec}"

    def __repr__(self) -> str:
        return self.spec


def rule_of(spec: str | Rule) -> Rule:
    """A rule from its spec string; `&` joins two that must both doubt."""
    if isinstance(spec, Rule):
        return spec
    parts: list[Any] = [get(part, "rule") for part in spec.split("&")]
    result: Rule = parts[0]
    for part in parts[1:]:
        result = result & part
    return result


def check_needs(rule: Rule, evidence: Evidence) -> None:
    """An error if the rule needs something that is not there."""
    if "gold" in rule.needs and evidence.given.gold is None:
        raise UsageError(
            f"{rule.spec} needs gold; pass Given(gold=...), on the command line --gold"
        )
    if "known" in rule.needs and evidence.given.known is None:
        raise UsageError(
            f"{rule.spec} learns from people whom somebody has marked; pass Given(known=...), on "
            "the command line --known"
        )
    if "seconds" in rule.needs and evidence.judgements.seconds is None:
        raise UsageError(f"{rule.spec} needs a column `seconds` in the judgements; there is none")
