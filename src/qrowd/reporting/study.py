"""The whole way once: merge, score the labels, evaluate runs, compare, draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qrowd import registry
from qrowd.aggregation.revision import inform
from qrowd.comparison.compare import Comparison, compare
from qrowd.comparison.intervals import Intervals, intervals
from qrowd.comparison.labels import LabelScores, score_labels
from qrowd.data.arrays import Floats
from qrowd.data.collected import Collected
from qrowd.data.given import NOTHING, Given
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Merged
from qrowd.data.qrels import Qrels, QrelsSet
from qrowd.data.runs import RunSet
from qrowd.data.scores import Scores
from qrowd.errors import UnknownNameError
from qrowd.evaluation.engine import evaluate
from qrowd.quality.independence import Independence
from qrowd.quality.screening import Screened, screen
from qrowd.reporting.quality import Quality, quality_of

if TYPE_CHECKING:
    from qrowd.evaluation.measure import Measure
    from qrowd.quality.doubt import Rule

MEASURES = ("AP", "nDCG@20")
_METHODS = ("mv", "ds", "auto")
_GRADED_METHODS = ("mv", "wmv-iter", "ds", "auto")
_STATISTICS = ("tau_ap", "tau_b", "rmse", "max_drop")
_CELLS = 100_000_000  # scores that are kept topic by topic
_WHOLE = 0.95  # share of a topic's judged pairs that gold must have to rank systems


@dataclass(frozen=True, eq=False)
class Study:
    """What came out at each station of the way; what there were no data for is empty or None.

    Ways of merging are named by their spec strings; `chosen` is the one whose draws are behind
    `intervals` (over draws of relevance) and `wide` (over draws and topics), and whose estimates
    are in `quality`: how far the judgements can be trusted. `by_gold` is on topics where gold
    has nearly every judged pair; `given` if methods learned from some gold. `known` is the truth
    about the assessors where the crowd is simulated.
    """

    quality: Quality
    gold: Qrels | None
    runs: RunSet | None
    merged: Mapping[str, Merged]
    labels: Mapping[str, LabelScores]
    by_gold: Scores | None
    by_merged: Mapping[str, Scores]
    comparison: Comparison | None
    intervals: Intervals | None
    wide: Intervals | None
    chosen: str
    informed: bool
    seed: int
    given: bool = False
    screened: Screened | None = None
    known: AssessorTable | None = None

    @property
    def judgements(self) -> Judgements:
        """The judgements that count."""
        return self.quality.crowd.judgements

    @property
    def assessors(self) -> AssessorTable:
        """The table that `qrowd.assessors` makes."""
        return self.quality.assessors

    @property
    def independence(self) -> Independence:
        """Whether assessors err together."""
        return self.quality.independence

    def __repr__(self) -> str:
        return f"Study({', '.join(self.merged)} of {self.judgements!r})"

    @property
    def gold_means(self) -> Floats | None:
        """The systems' means under gold, where it is whole on all topics; by the first measure."""
        if self.by_gold is None or len(self.judgements.topics.without(self.by_gold.topics)):
            return None
        means: Floats = self.by_gold.means()[0, 0]
        return means

    @property
    def partial_gold(self) -> str:
        """A sentence where gold has a part of the judged pairs only; empty otherwise."""
        if self.gold is None or self.runs is None or self.gold_means is not None:
            return ""
        pairs = self.judgements.pairs
        has = int((self.gold.pairs.locate(pairs) >= 0).sum())
        topics = 0 if self.by_gold is None else len(self.by_gold.topics)
        ranked = f"only on the {topics} topics where it has all" if topics else "not"
        return (
            f"gold has {has} of {len(pairs)} judged pairs: labels are compared with it pair by "
            f"pair, systems are {ranked} ranked under it; if these pairs were chosen at random, "
            "`qrowd evaluate --human GOLD --sampled random` scores systems by them"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, from all stations, each once."""
        unsettled = [
            f"{name} did not settle within {merged.fit.iterations} iterations"
            for name, merged in self.merged.items()
            if not merged.fit.converged
        ]
        fits = [f"{name}: {note}" for name, m in self.merged.items() for note in m.fit.notes]
        scores = [self.by_gold, *self.by_merged.values()]
        stations = [self.screened, *self.labels.values(), *scores, self.comparison, self.intervals]
        others = [note for station in stations if station is not None for note in station.notes]
        partial = [self.partial_gold] if self.partial_gold else []
        return tuple(dict.fromkeys([*partial, *unsettled, *fits, *others]))


def study(
    judgements: Judgements | Collected,
    runs: RunSet | None = None,
    gold: Qrels | None = None,
    *,
    rules: Sequence[Rule | str] = (),
    methods: Sequence[str] = (),
    measures: Sequence[str | Measure] = MEASURES,
    given: Given = NOTHING,
    chosen: str | None = None,
    informed: bool = False,
    draws: int = 1000,
    level: float = 0.9,
    seed: int = 0,
) -> Study:
    """Merge judgements by each method and follow every consequence, for a report.

    `judgements` may be all that a campaign has collected, answers to check questions too; the
    experts' grades are `given` then. Without runs there are no scores of systems; without gold
    nothing is compared with it. What methods and rules may learn from is `given`; its pairs and
    topics are left out of every comparison with `gold`. Assessors whom one of the screening `rules`
    doubts are left out. The usual `methods` are `mv`, `ds` and `auto` (for more than two grades
    also `wmv-iter`). `chosen` names the method whose `draws` become intervals (`auto` if there is
    one, else a hierarchical one, then `ds`, then the last); `informed` lets it know how the systems
    rank the documents, as `inform` does: not for `auto`, nor where assessors err together, for then
    the systems' consensus outweighs the votes.

    >>> import qrowd as q
    >>> made = q.simulate(topics=6, documents=30, assessors=12, votes=3, runs=4, seed=1)
    >>> q.study(made.judgements, made.runs, made.gold, methods=["mv", "ds"], draws=50)
    Study(mv, ds of Judgements(540 judgements of 180 pairs in 6 topics by 12 assessors; ...))
    """
    if isinstance(judgements, Collected):
        crowd, judgements = judgements, judgements.judgements
        given = crowd.given if given is NOTHING else given
    else:
        crowd = Collected(judgements, gold=given.gold)
    judgements.scale.require_order("a study")
    usual = _METHODS if judgements.scale.binary else _GRADED_METHODS
    makers = {repr(maker): maker for maker in map(registry.get, methods or usual)}
    screened = screen(judgements, rules, given) if rules else None
    kept = screened.kept if screened else judgements
    merged = {name: maker.fit(kept, given) for name, maker in makers.items()}
    chosen = _chosen(chosen, list(merged))
    labels = {} if gold is None else {n: score_labels(m, gold) for n, m in merged.items()}
    whole = None if gold is None else _whole(gold, judgements)
    by_gold = None if whole is None or runs is None else evaluate(runs, whole, measures)
    by_merged, narrow, wide = {}, None, None
    if runs is not None:
        by_merged = {name: evaluate(runs, m.qrels(), measures) for name, m in merged.items()}
        belief = inform(merged[chosen], runs, seed) if informed else merged[chosen]
        narrow, wide = places_of(runs, belief.draws(draws, seed), measures, level, seed)
    quality = quality_of(
        crowd,
        merged[chosen],
        makers[chosen],
        gold=gold,
        labels=labels.get(chosen),
        kept=kept,
        fits=merged,
        seed=seed,
    )
    return Study(
        quality=quality,
        gold=gold,
        runs=runs,
        merged=merged,
        labels=labels,
        by_gold=by_gold,
        by_merged=by_merged,
        comparison=_compared(by_merged, by_gold, given, seed),
        intervals=narrow,
        wide=wide,
        chosen=chosen,
        informed=informed,
        seed=seed,
        given=given.gold is not None,
        screened=screened,
    )


def _whole(gold: Qrels, judgements: Judgements) -> Qrels | None:
    """The gold on topics where it has nearly every judged pair: what it lacks counts as not
    relevant, so that elsewhere it would rank systems by chance.
    """
    pairs = judgements.pairs
    has = np.bincount(pairs.topic, gold.pairs.locate(pairs) >= 0, len(pairs.topics))
    whole = has >= _WHOLE * np.bincount(pairs.topic, minlength=len(pairs.topics))
    kept = gold.topics.intersection(Index(pairs.topics.names[whole]))
    return gold[kept] if len(kept) else None


def _chosen(wanted: str | None, names: list[str]) -> str:
    if wanted is None:
        ranked = [card for card in registry.cards("method").values() if card.draws_rank]
        ranked.sort(key=lambda card: -card.draws_rank)
        return next((card.id for card in ranked if card.id in names), names[-1])
    spec = repr(registry.get(wanted))
    if spec not in names:
        raise UnknownNameError.among("method in this study", spec, names)
    return spec


def places_of(
    runs: RunSet,
    drawn: QrelsSet,
    measures: Sequence[str | Measure],
    level: float = 0.9,
    seed: int = 0,
) -> tuple[Intervals, Intervals | None]:
    """Scores and places of systems with intervals over draws; and over draws and topics.

    The latter are None where there is one topic, or they would take too much memory.
    """
    cells = len(drawn) * len(drawn.topics) * len(runs) * len(measures)
    keep = "topics" if cells <= _CELLS and len(drawn.topics) > 1 else "means"
    scores = evaluate(runs, drawn, measures, keep=keep)
    narrow = intervals(scores, over="draws", level=level, seed=seed)
    if len(scores.topics) < 2:
        return narrow, None
    return narrow, intervals(scores, over="both", level=level, seed=seed)


def _compared(
    by_merged: Mapping[str, Scores], by_gold: Scores | None, given: Given, seed: int
) -> Comparison | None:
    """Rankings against gold's, on topics that no method was given; None if there is nothing."""
    if by_gold is None:
        return None
    learned = given.gold.topics if given.gold is not None else None
    left = by_gold.topics if learned is None else by_gold.topics.without(learned)
    if len(left) == 0:
        return None
    return compare(by_merged, by_gold, leave_out=learned, statistics=_STATISTICS, seed=seed)
