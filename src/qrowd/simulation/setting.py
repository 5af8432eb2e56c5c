"""What a simulated collection is like: parameters as data, and named presets of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from qrowd.errors import ParameterError
from qrowd.registry import param, params_of

KINDS = ("good", "sloppy", "biased", "random", "yes", "no", "pattern", "adversarial")
SPAM = ("random", "yes", "no", "pattern")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Everything that `simulate` can be told.

    The shares of the kinds of assessors need not sum to one: they are weights. *good* assessors
    err seldom, *sloppy* ones often, *biased* ones lean to one side (one half is lenient, one half
    strict), *adversarial* ones answer the opposite of what they see; *random* spammers throw a coin
    of their own, *yes* and *no* spammers always give the highest or the lowest grade, *pattern*
    spammers repeat a sequence of grades in the order in which they judge.
    """

    topics: int = param(20, "topics", at_least=1)
    documents: int = param(100, "documents of each topic", at_least=1)
    grades: int = param(2, "grades of the scale, from 0 up; 2 is binary", at_least=2, at_most=20)
    prevalence: float = param(0.3, "mean share of relevant documents", above=0, below=1)
    runs: int = param(12, "systems that rank the documents; 0 for none", at_least=0)
    depth: int = param(100, "documents that each run ranks per topic, at most", at_least=1)
    pool: int | None = param(
        None, "judge the union of the runs' documents down to this rank; none: all", at_least=1
    )
    worst: float = param(0.2, "signal of the weakest run (0: none at all)", at_least=0)
    best: float = param(1.5, "signal of the strongest run", at_least=0)
    alike: float = param(
        0.5, "share of the runs' noise that they have in common", at_least=0, at_most=1
    )
    assessors: int = param(30, "assessors", at_least=1)
    votes: float = param(5.0, "mean number of judgements per pair", above=0)
    whole: bool = param(False, "whether an assessor judges all of a topic's pairs, or none")
    skew: float = param(1.0, "how unequal the assessors' workloads are (0: equal)", at_least=0)
    again: float = param(
        0.0, "share of judgements made twice by the same assessor", at_least=0, at_most=1
    )
    difficulty: float = param(
        0.0,
        "correlation of the assessors' errors through difficult documents (0: none)",
        at_least=0,
        below=1,
    )
    gold: float = param(1.0, "share of the pairs that have gold", at_least=0, at_most=1)
    timed: bool = param(True, "whether judgements have seconds and a time")
    good: float = param(0.5, "weight of good assessors", at_least=0)
    sloppy: float = param(0.2, "weight of sloppy assessors", at_least=0)
    biased: float = param(0.12, "weight of biased assessors", at_least=0)
    random: float = param(0.06, "weight of random spammers", at_least=0)
    yes: float = param(0.04, "weight of always-yes spammers", at_least=0)
    no: float = param(0.04, "weight of always-no spammers", at_least=0)
    pattern: float = param(0.02, "weight of spammers who repeat a pattern", at_least=0)
    adversarial: float = param(0.02, "weight of assessors who say the opposite", at_least=0)
    orders: bool = param(False, "whether assessors also rank sets of documents")
    size: int = param(5, "documents of each set that is ranked", at_least=2)
    consistent: bool = param(True, "whether ranks put what the assessor graded higher first")
    insight: float = param(
        0.8, "how well ranks follow the true order (0: at random)", at_least=0, at_most=1
    )
    text: float | None = param(
        None,
        "strength of made text: what it says about relevance (0: nothing)",
        at_least=0,
        at_most=1,
    )
    sentences: int | None = param(
        None, "sentences of each document, which are judged instead of it", at_least=1
    )
    on_topic: float = param(
        1 / 3, "share of a relevant document's sentences on its topic", at_least=0, at_most=1
    )
    off_topic: float = param(
        0.03, "share of other documents' sentences on the topic", at_least=0, at_most=1
    )
    model: str = param(
        "kinds",
        "where assessors come from: the kinds above (kinds), or the populations of Carpenter 2011",
        choices=("kinds", "carpenter"),
    )
    seed: int = param(0, "random seed", at_least=0)

    def __post_init__(self) -> None:
        for parameter in params_of(type(self)):
            checked = parameter.check(getattr(self, parameter.name), "simulate")
            object.__setattr__(self, parameter.name, checked)
        if not any(self.weights):
            raise ParameterError(f"simulate: one of {', '.join(KINDS)} must be above 0, got none")
        if self.worst > self.best:
            raise ParameterError(
                f"simulate: worst must be at most best ({self.best:g}), got {self.worst:g}"
            )

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each kind of assessor, in the order of KINDS."""
        return tuple(getattr(self, kind) for kind in KINDS)


CROWDS: Mapping[str, Setting] = MappingProxyType(
    {
        "mixed": Setting(),
        "careful": Setting(
            good=0.8, sloppy=0.12, biased=0.08, random=0, yes=0, no=0, pattern=0, adversarial=0
        ),
        "rough": Setting(
            good=0.3,
            sloppy=0.25,
            biased=0.12,
            random=0.13,
            yes=0.08,
            no=0.06,
            pattern=0.04,
            adversarial=0.02,
        ),
    }
)
"""Who may come to a campaign: its forecast and its dry run are made with one of these."""

PRESETS: Mapping[str, Setting] = MappingProxyType(
    {
        "carpenter": Setting(
            topics=100,
            documents=191,
            prevalence=0.59,
            runs=0,
            assessors=762,
            votes=89_624 / 19_033,
            skew=1.5,
            gold=2_275 / 19_033,
            timed=False,
            model="carpenter",
        ),
        "demo": Setting(
            topics=20,
            documents=80,
            assessors=40,
            votes=3.5,
            runs=12,
            worst=0.5,
            best=0.9,
            difficulty=0.2,
            sloppy=0.25,
            biased=0.16,
            random=0.1,
            good=0.4,
        ),
        "graded": Setting(grades=4, votes=5, difficulty=0.2),
        "panel": Setting(topics=10, documents=100, assessors=31, votes=31, skew=0, runs=30),
    }
)
"""Settings with a name: `demo` is what `qrowd demo` shows; `graded` has the grades 0 to 3; in
`panel` every assessor judges every pair; `carpenter` is like the crowd of TREC 2011 that Carpenter
2011 describes: 19,033 pairs of 100 topics, 89,624 judgements by 762 assessors, two of them busy
spammers, and gold for 2,275 pairs."""
