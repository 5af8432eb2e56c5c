"""What a measure is: a value that scores one topic's rankings under relevance.

A measure is one class in `measures/`, with parameters, registered with `@measure`, whose
instances are the values that people write: `q.AP`, `q.nDCG @ 20`, `q.AP(rel=2)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from qrowd.data.arrays import Array, Floats
from qrowd.data.details import Caution
from qrowd.data.scale import Scale
from qrowd.errors import UsageError
from qrowd.evaluation.relevance import Certain, Random
from qrowd.evaluation.trec_eval import NICKNAMES, specs_of
from qrowd.registry import Card, build, get, param, parse_spec

DEEPEST = 2**31 - 1
MOST_RANKS = 2**31 - 1  # which the kernels' integers hold


class Measure:
    """The base of all measures: made into other values by calling it, and cut by `@`.

    A subclass scores certain relevance in `score`; where it has an expectation under random
    relevance, it gives that in `expectation`.
    """

    card: ClassVar[Card]
    needs_cutoff: ClassVar[bool] = False
    of_subtopics: ClassVar[bool] = False  # it looks at all columns of qrels by subtopic at once

    if TYPE_CHECKING:

        def __init__(self, **parameters: Any) -> None: ...

    def __call__(self, **changes: Any) -> Self:
        """The same measure with these parameters changed."""
        current = {param.name: getattr(self, param.name) for param in self.card.params}
        changed: Self = build(self.card, [], current | changes)
        return changed

    def __matmul__(self, cutoff: int) -> Self:
        """The same measure of the first `cutoff` documents."""
        if not any(param.name == "cutoff" for param in self.card.params):
            raise UsageError(f"{self.card.id} takes no cutoff; write {self!r} without @{cutoff}")
        return self.__call__(cutoff=cutoff)

    @property
    def level(self) -> int:
        """The lowest grade that counts as relevant."""
        return int(getattr(self, "rel", 1))

    @property
    def depth(self) -> int:
        """How many documents of a ranking count."""
        return int(getattr(self, "cutoff", None) or DEEPEST)

    def check(self) -> None:
        """Raise a `UsageError` if this value lacks a cutoff that it needs."""
        if self.needs_cutoff and getattr(self, "cutoff", None) is None:
            raise UsageError(f"{self!r} needs a cutoff, as in {self!r}@10")

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        raise NotImplementedError

    def expectation(self, case: Random) -> Floats:
        """The expected scores[runs] of one topic under random relevance."""
        raise UsageError(
            f"{self!r} has no expectation that can be computed exactly under random relevance; "
            f"score draws instead: merged.draws(1000), on the command line --draws 1000"
        )

    def under(self, case: Certain | Random) -> Floats:
        """The scores of one topic: [runs, columns], or the expected ones [runs]."""
        only = getattr(self, "judged_only", False)
        if isinstance(case, Certain):
            return case.judged_only(self.score) if only else self.score(case)
        return self.expectation(case.judged_only() if only else case)

    def notes(self, unjudged: float, scale: Scale) -> tuple[str, ...]:
        """What a reader of its expected scores should know."""
        return ()

    def _above_one(self, base: str) -> Caution:
        return Caution(
            f"{self!r} can exceed 1: relevant documents outside the pool are not in its {base}"
        )

    def _refuse_unjudged(self, case: Random, instead: str = "") -> None:
        if case.unjudged > 0:
            raise UsageError(
                f"{self!r} needs the number of relevant documents, which has no distribution when "
                f"documents outside the pool may be relevant (unjudged = {case.unjudged:g}); "
                f"leave unjudged at 0{instead}"
            )


@dataclass(frozen=True, kw_only=True, repr=False)
class OfFirst(Measure):
    """The base of measures of the relevant documents among the first of a ranking."""

    cutoff: int | None = param(None, "the first k documents", at_least=1, at_most=MOST_RANKS)
    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")


def share(part: Array, whole: Array) -> Floats:
    """A share: part / whole, and 0 where there is nothing to divide by."""
    shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    result: Floats = np.zeros(shape)
    np.divide(part, whole, out=result, where=np.broadcast_to(np.asarray(whole) > 0, shape))
    return result


def measures_of(
    wanted: Measure | str | Iterable[Measure | str], rel: int | None = None
) -> tuple[Measure, ...]:
    """The measures that are wanted, as values or by name, each ready to score; at least one.

    A name may stand for several: `P_5,10`, `iprec_at_recall`, `official`. `rel` is the lowest
    relevant grade of those that have such a parameter and leave it as it is.
    """
    listed = [wanted] if isinstance(wanted, Measure | str) else list(wanted)
    measures: list[Measure] = []
    for item in listed:
        for spec in specs_of(item) if isinstance(item, str) else [item]:
            measure = get(spec, "measure") if isinstance(spec, str) else spec
            if not isinstance(measure, Measure):
                raise UsageError(f"a measure must be a value like AP or nDCG@20, got {measure!r}")
            measure.check()
            measures.append(measure if rel is None else _with_rel(rel, spec, measure))
    if not measures:
        raise UsageError("no measure is given; name at least one, as in AP or nDCG@20")
    names = [repr(measure) for measure in measures]
    twice = {name for name in names if names.count(name) > 1}
    if any(isinstance(item, str) and item in NICKNAMES for item in listed):
        return tuple(dict.fromkeys(measures))  # trec_eval's lists repeat: Rprec is Rprec_mult_1.00
    if twice:
        raise UsageError(f"measures are named twice: {', '.join(sorted(twice))}")
    return tuple(measures)


def _with_rel(rel: int, spec: Measure | str, measure: Measure) -> Measure:
    if isinstance(spec, str) and "rel" in parse_spec(spec.strip())[2]:
        return measure
    default = {param.name: param.default for param in measure.card.params}.get("rel")
    return measure(rel=rel) if default is not None and measure.level == default else measure


def parse_measure(spec: str) -> Measure:
    """The measure of a string: ours, ir_measures' (`nDCG@20`) or trec_eval's (`ndcg_cut_20`)."""
    specs = specs_of(spec)
    if len(specs) > 1:
        raise UsageError(f"{spec} names {len(specs)} measures, {', '.join(specs)}; name one")
    measure: Measure = get(specs[0], "measure")
    return measure
