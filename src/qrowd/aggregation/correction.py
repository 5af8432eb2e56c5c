"""Scores of runs from few human labels beside many machine labels: `correct`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import ClassVar

import numpy as np

from qrowd import registry
from qrowd.aggregation.one_step import (
    FEWEST_LABELS,
    FEWEST_RELEVANT,
    OneStep,
    can_step,
    gains_of,
)
from qrowd.aggregation.revision import recalibrate
from qrowd.comparison import prediction_powered
from qrowd.comparison.correlation import places
from qrowd.comparison.prediction_powered import (
    OVER,
    Corrected,
    Estimate,
    PairSample,
    weighted_sums,
)
from qrowd.data.arrays import Codes, Floats, Mask
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import NOT_JUDGED, Qrels, QrelsSet, SoftQrels
from qrowd.data.runs import RunSet
from qrowd.data.sample import Sample, sample_of
from qrowd.data.scores import MEAN
from qrowd.errors import InputError, ParameterError, ScaleError, UsageError, require_choice
from qrowd.evaluation.engine import evaluate
from qrowd.evaluation.linear import is_linear, pair_gains, pair_weights
from qrowd.evaluation.measure import Measure, measures_of
from qrowd.evaluation.measures.average_precision import AP
from qrowd.evaluation.measures.gain import DCG
from qrowd.evaluation.measures.precision import P
from qrowd.evaluation.notes import provenance_notes
from qrowd.rendering import percent

METHODS = ("ppi", "recalibrate", "rg", "human")
FEWEST = {"pair": 10, "topic": 3}  # judged by a human
NOT_SAMPLED = -1  # to infAP: in the pool, but not judged
_DRAWN = 20  # labels as they could be
_PER_JUDGE = 10  # labels for each judge whose weight is learned
_SURE = 4.0  # F of one judge's labels, from which on they count as related to the human ones
_ROW = ("low", "high", "human", "human_low", "human_high", "place_low", "place_high")
_ALIKE = (
    "rg takes the judge to err alike in all runs; where it does not, its intervals do not hold; "
    "ppi needs no such assumption"
)
_NO_LEVEL = (
    "recalibrate is good for the order of systems: the level of its scores depends on a model of "
    "the machine's errors, and intervals over that model's draws hardly ever held, so there are "
    "none; ppi has intervals"
)


def correct(
    runs: RunSet,
    machine: Merged | Judgements,
    human: Sample | Qrels,
    measures: Measure | str | Iterable[Measure | str] = ("P@10",),
    *,
    method: str = "ppi",
    sampled: str | None = None,
    over: str = "pool",
    level: float = 0.9,
    quantiles: str = "t",
    seed: int = 0,
) -> Corrected:
    """Score runs by machine labels that a few human labels correct, with intervals.

    `machine`: merged labels (one judge) or judgements (each assessor a judge, all at once).
    `human`: a `Sample` with grades; plain qrels need `sampled`: 'random' (pairs) or 'topic' (whole
    topics). `ppi` is prediction-powered inference: P, DCG, RBP, AP and nDCG from sampled pairs (in
    one step, see `aggregation.one_step`), any measure from sampled topics. `recalibrate` scores
    under recalibrated labels: for the order of systems, without intervals. `rg` corrects P by the
    judge's sensitivity and specificity (Rogan & Gladen 1978). The human-only estimate is always
    beside it; with `human` there is nothing else, and `machine` only says what the pool is. The
    target are the scores that a human who judged the whole pool would give. Intervals need enough
    labelled pairs for a run and measure. Human labels of pairs may have grades that the merged
    machine does not know. `quantiles`: the intervals of `ppi` and of the human labels alone are by
    Student's t, or by a bootstrap, which need not lie evenly about the value. With `over` 'topics'
    the intervals of `ppi` are for more topics like these, of which these are a random sample.

    >>> import qrowd as q
    >>> made = q.simulate(topics=8, documents=60, assessors=9, votes=3, runs=5, seed=2)
    >>> chosen = q.sample(made.judgements, 120, by="weight", runs=made.runs)
    >>> machine = q.get("mv").fit(made.judgements)
    >>> q.correct(made.runs, machine, chosen.labelled(made.truth), ["P@10"])
    Corrected(P@10: 5 runs by ppi, 120 of 480 pairs judged by a human)
    """
    require_choice("method", method, METHODS)
    machine.scale.require_order("a correction of scores")
    chosen = measures_of(measures)
    require_choice("over", over, tuple(OVER))
    sample = _labels(human, machine, sampled)
    if over == "topics" and method != "ppi":
        raise UsageError(f"intervals over topics are by ppi, there are none by {method}")
    if over == "topics" and len(machine.pairs.topics) < 2:
        raise UsageError("intervals over topics need two or more topics")
    design = (_Topicwise if sample.by == "topic" else _Pairwise)(runs, machine, sample, over)
    if quantiles not in prediction_powered.QUANTILES:
        raise ParameterError(f"quantiles must be t or bootstrap, got {quantiles!r}")
    return _Correction(design, method, level, quantiles, seed).of(chosen)


def uniform_scores(
    runs: RunSet,
    judgements: Judgements,
    labels: Merged,
    measures: Measure | str | Iterable[Measure | str] = ("P@10",),
    *,
    level: float = 0.9,
) -> Corrected:
    """Score runs by those pairs alone that lists of `qrowd next` drew uniformly from the pool.

    `judgements` are over the pool that the lists were drawn from (`with_pool`) and know them
    (`choice`, of `read_choice`); `labels` are what was merged of them. All other pairs were chosen
    by what had been said before: they tell nothing of the pool, and do not count.
    """
    if judgements.choice is None:
        raise UsageError(
            "nothing says which pairs were drawn uniformly: read_choice(lists) does, on the "
            "command line --worklist"
        )
    at = judgements.pairs.locate(labels.pairs)
    judged = (at >= 0) & (np.diff(judgements.pair_starts) > 0)[at]
    sample = judgements.choice.sample(labels.qrels().select(judged), judgements.pairs)
    return correct(runs, labels, sample, measures, method="human", level=level)


@dataclass(frozen=True, eq=False)
class _Correction:
    """One call of `correct`."""

    design: _Pairwise | _Topicwise
    method: str
    level: float
    quantiles: str
    seed: int

    def of(self, measures: tuple[Measure, ...]) -> Corrected:
        """The corrected scores of these measures."""
        short = too_few(self.design.labels, self.design.unit)
        notes: list[str] = ([short] if short else []) + self._partial_judges() + self._told()
        made = [self._blank() if short else self._of(measure, notes) for measure in measures]
        rows, estimates = [row for row, _ in made], tuple(estimate for _, estimate in made)
        if self.method == "human":
            ranked, scores, drawn = None, None, None
            order = np.nan_to_num(np.stack([row[0] for row in rows]))
            others = dict.fromkeys(("machine", "infap"), np.full(order.shape, np.nan))
        else:
            ranked = self.design.labels_for_ranking(self.seed)
            scores = evaluate(self.design.runs, ranked, measures)
            drawn = None if short else self.design.drawn(ranked, self.seed)
            order = scores.means()[:, 0]
            others = self.design.others(measures)
        value, *beside = map(np.stack, zip(*rows, strict=True))
        return Corrected(
            measures=tuple(map(repr, measures)),
            axis="",
            columns=Index.of(["-"]),
            topics=Index.of([MEAN]),
            runs=self.design.runs.runs,
            values=value[:, None, None, :],
            **dict(zip(_ROW, beside, strict=True)),
            **others,
            place=places(order),
            estimates=estimates,
            by_topic=scores,
            believed=ranked,
            drawn=drawn,
            method=self.method,
            level=self.level,
            over=self.design.over,
            unit=self.design.unit,
            labels=self.design.labels,
            size=self.design.size,
            notes=tuple(dict.fromkeys(notes)),
        )

    def _partial_judges(self) -> list[str]:
        """A sentence where judges cover a part of the pool only."""
        if isinstance(self.design.machine, Merged):
            return []
        each = self.design.machine.one_each()
        share = np.bincount(each.assessor, minlength=len(each.assessors)) / len(each.pairs)
        part = share < 1
        least = int(np.argmin(share))
        if not part.any():
            return []
        return [
            f"{int(part.sum())} of {len(share)} judges cover a part of the pool only (least: "
            f"{each.assessors.names[least]}, {percent(share[least])}); where a judge is silent, "
            "their own mean stands in"
        ]

    def _told(self) -> list[str]:
        """Where merged labels come from, and whether they have seen what is to correct them."""
        machine, human = self.design.machine, self.design.sample.pairs
        if not isinstance(machine, Merged) or self.method == "human":
            return []
        at = machine.pairs.locate(human)
        seen = int(machine.given[at[at >= 0]].sum())
        given = (
            f"{seen} of {len(human)} human labels were given to the method as gold, which makes no "
            "errors there: the correction is too small; use labels that it has not seen"
        )
        notes = provenance_notes(machine.provenance, self.design.runs)
        return [*notes, *([given] if seen else [])]

    def _blank(self) -> tuple[list[Floats], Estimate | None]:
        return [np.full(len(self.design.runs), np.nan)] * (1 + len(_ROW)), None

    def _of(self, measure: Measure, notes: list[str]) -> tuple[list[Floats], Estimate | None]:
        """value, low, high, human, human_low, human_high, place_low, place_high of one measure."""
        nothing, _ = self._blank()
        if not self.design.fits(measure):
            notes.append(
                f"{measure!r} cannot be estimated from a sample of pairs: P, DCG, RBP, AP and nDCG "
                "can; sample whole topics (by topic)"
            )
            if self.method == "recalibrate":
                return self._recalibrated(measure, notes) + nothing[:5], None
            return nothing, None
        human = self.design.human(measure)
        about = repr(measure) if self.method == "human" else f"{measure!r}, human labels alone"
        alone = self._bounded(human, measure, notes, about)
        why = "" if is_linear(measure) else self.design.unsure(measure, self.method == "human")
        if why:  # of AP and nDCG, all that comes from sampled pairs
            alone = [alone[0], *nothing[:2]]
        if self.method == "human":
            notes += [why] if why else []
            return alone + alone + (nothing[:2] if why else self._placed(human)), None
        if self.method == "recalibrate":
            return self._recalibrated(measure, notes) + alone + nothing[:2], None
        if self.method == "rg":
            notes.append(_ALIKE)
            corrected = self._bounded(self.design.rogan_gladen(measure), measure, notes)
            return corrected + alone + nothing[:2], None
        powered = self.design.powered(measure)
        if not powered.share.any():
            notes.append(
                f"{measure!r}: the machine's labels say nothing about the human ones in this "
                "sample, so the estimate is that of the human labels alone"
            )
        why = why or self.design.unsure(measure)
        # what is so of some runs need not be said where it is so of all of them
        bounded = self._bounded(powered, measure, [] if why else notes)
        if why:
            notes.append(why)
            return [bounded[0], *nothing[:2], *alone, *nothing[:2]], None
        return bounded + alone + self._placed(powered), powered

    def _placed(self, estimate: Estimate) -> list[Floats]:
        if np.isnan(estimate.value).any():
            return self._blank()[0][:2]
        return list(estimate.places(self.level, self.seed))

    def _bounded(
        self, estimate: Estimate, measure: Measure, notes: list[str], about: str = ""
    ) -> list[Floats]:
        """The value and its bounds, where scores can be; none where a run's labels are alike.
        `about` is what notes begin with.
        """
        about = about or repr(measure)
        runs = len(self.design.runs)
        way = self.quantiles if estimate.parts is not None else "t"
        low, high = estimate.interval(self.level, way, self.seed)
        few = np.zeros(runs, np.bool_)
        if estimate.effective is not None:
            few = ~np.isnan(estimate.value) & (estimate.effective < estimate.enough)
            notes += self._too_few(estimate, few, about)
        alike = estimate.alike & ~np.isnan(estimate.value) & ~few
        if alike.any():
            notes.append(
                f"{about}: {int(alike.sum())} of {runs} runs have no interval: all human "
                "labels that their scores depend on are alike; judge more pairs"
            )
        unknown = int(np.isnan(estimate.value).sum())
        if unknown:
            notes.append(
                f"{unknown} of {runs} runs have no estimate: too few human labels on the "
                "pairs that their scores depend on, or a judge too weak to be corrected"
            )
        ends = [estimate.value, *(np.where(alike | few, np.nan, end) for end in (low, high))]
        unbounded = isinstance(measure, DCG) or getattr(measure, "gains", None)
        highest = np.inf if unbounded else 1.0
        return [np.clip(end, 0.0, highest) for end in ends]

    def _too_few(self, estimate: Estimate, few: Mask, about: str) -> list[str]:
        """A sentence about runs whose scores rest on too few labels, and how many would do."""
        if not few.any():
            return []
        assert estimate.effective is not None
        worth = estimate.effective[np.isfinite(estimate.effective)]
        labels, least = self.design.labels, float(worth.min())
        # twice what the run in the middle needs: others, and other samples, have fewer that count;
        # where that is no more than there are now, what the run with the fewest needs
        usual = max(float(np.median(worth)) / 2, 0.5)
        usual = min(usual, least) if usual >= estimate.enough else usual
        enough = min(ceil(labels * estimate.enough / max(usual, 1e-9)), self.design.size)
        return [
            f"{about}: {int(few.sum())} of {len(few)} runs have no interval: the labelled "
            f"pairs that their scores rest on are worth {least:.1f} equal "
            f"ones at the least, {estimate.enough:g} are needed; about {enough} labels chosen like "
            f"these {labels} would do"
        ]

    def _recalibrated(self, measure: Measure, notes: list[str]) -> list[Floats]:
        notes.append(_NO_LEVEL)
        made = recalibrate(self.design.merged, self.design.sample.qrels, self.seed)
        value = evaluate(self.design.runs, made.soft(), measure).means()[0, 0]
        return [value, *self._blank()[0][:2]]


def labels_for_ranking(merged: Merged, human: Qrels, seed: int = 0) -> SoftQrels:
    """Recalibrated labels, under which systems are ordered.

    A machine whose labels do not correlate surely with the human ones (F below 4) only adds noise:
    it is left out, and what remains are the human labels and each topic's share of relevant ones.
    """
    at = merged.pairs.locate(human.pairs)
    truth = (human.grade >= merged.scale.relevant_from).astype(np.float64)
    if not _correlate(merged.relevant[at], truth):
        relevant = merged.scale.relevant
        even = np.where(relevant, 0.5 / relevant.sum(), 0.5 / max((~relevant).sum(), 1))
        merged = replace(merged, posterior=np.tile(even, (len(merged.pairs), 1)), samples=None)
    return recalibrate(merged, human, seed).soft()


def _correlate(machine: Floats, truth: Floats) -> bool:
    """Whether two columns correlate, in either direction, by more than chance explains."""
    if len(machine) < 3 or np.ptp(machine) == 0 or np.ptp(truth) == 0:
        return False
    square = float(np.corrcoef(machine, truth)[0, 1]) ** 2
    return square * (len(machine) - 2) >= _SURE * (1 - square)


# --- what was sampled: pairs, or whole topics -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Design:
    """The `sample` that a human judged, beside the labels of the machine."""

    runs: RunSet
    machine: Merged | Judgements
    sample: Sample
    over: str

    @cached_property
    def merged(self) -> Merged:
        """The machines as one."""
        if isinstance(self.machine, Merged):
            return self.machine
        merged: Merged = registry.get("mv").fit(self.machine)
        return merged

    def labels_for_ranking(self, seed: int) -> SoftQrels:
        """What systems are ordered by."""
        return labels_for_ranking(self.merged, self.sample.qrels, seed)

    def drawn(self, believed: SoftQrels, seed: int) -> QrelsSet:
        """Labels as they could be."""
        coins = np.random.default_rng(seed).random((len(believed), _DRAWN, 1))
        code = (coins >= np.cumsum(believed.p, axis=1)[:, None, :-1]).sum(axis=2)
        return QrelsSet.of_draws(believed.pairs, np.array(believed.scale.grades, np.int8)[code])

    def others(self, measures: tuple[Measure, ...]) -> dict[str, Floats]:
        """The machine's labels alone; and for AP what infAP makes of the human labels."""
        shape = (len(measures), len(self.runs))
        machine, inferred = np.full(shape, np.nan), np.full(shape, np.nan)
        labels, known = self.merged.qrels(), max(self.merged.scale.grades)
        sampled = np.full(len(labels), NOT_SAMPLED, np.int8)
        sampled[self.merged.pairs.locate(self.sample.pairs)] = self.sample.qrels.grade
        for m, measure in enumerate(measures):
            if getattr(measure, "rel", 1) <= known:  # else the machine has no such grade
                machine[m] = evaluate(self.runs, labels, measure).means()[0, 0]
            if isinstance(measure, AP):
                pool = Qrels(self.merged.pairs, sampled)
                name = f"infAP(rel={measure.level})"
                inferred[m] = evaluate(self.runs, pool, name).means()[0, 0]
        return {"machine": machine, "infap": inferred}

    def unsure(self, measure: Measure, alone: bool = False) -> str:
        """A sentence where intervals would hold too little, for all runs; `alone`: without the
        machine.
        """
        return ""

    @property
    def same_grades(self) -> bool:
        """Whether humans use no grade that the machine does not know."""
        return set(self.sample.qrels.scale.grades) <= set(self.machine.scale.grades)

    def refuse_other_grades(self) -> None:
        """An error where humans use other grades."""
        if not self.same_grades:
            human, machine = self.sample.qrels.scale.grades, self.machine.scale.grades
            raise ScaleError(
                f"human labels have grades {' '.join(map(str, human))} but the machine's have "
                f"{' '.join(map(str, machine))}; make them binary: human.binary(at_least=...), on "
                "the command line --gold-rel"
            )


@dataclass(frozen=True, eq=False)
class _Pairwise(_Design):
    """Pairs were sampled, each with its probability."""

    unit: ClassVar[str] = "pair"

    @cached_property
    def _stepped(self) -> OneStep:
        return OneStep(self.runs, self.merged, self.sample, self.over == "topics")

    def labels_for_ranking(self, seed: int) -> SoftQrels:
        """What systems are ordered by; labels of more grades than the machine's go in one step."""
        return super().labels_for_ranking(seed) if self.same_grades else self._stepped.labels

    def drawn(self, believed: SoftQrels, seed: int) -> QrelsSet:
        """Labels as they could be, errors of a topic's together."""
        return self._stepped.drawn(_DRAWN, seed)

    @property
    def labels(self) -> int:
        """How many pairs a human judged."""
        return len(self.sample)

    @property
    def size(self) -> int:
        """How many pairs there are."""
        return len(self.machine.pairs)

    @property
    def share(self) -> float:
        """The least probability of a sampled pair; 1: all of the pool was judged."""
        return float(self.sample.probability.min(initial=1.0))

    @cached_property
    def at(self) -> Codes:
        """Where the labelled pairs are in the pool."""
        return self.machine.pairs.locate(self.sample.pairs)

    def fits(self, measure: Measure) -> bool:
        """Whether a sample of pairs can estimate it."""
        return can_step(measure)

    def unsure(self, measure: Measure, alone: bool = False) -> str:
        """One step needs labels to learn from; AP and nDCG of topics with few relevant documents
        depend on which ones.
        """
        if self.share >= 1 or (is_linear(measure) and not isinstance(self.machine, Merged)):
            return ""
        if self.labels < FEWEST_LABELS:
            return (
                f"{measure!r} has no intervals: from {self.labels} human labels they held too "
                f"little; judge {FEWEST_LABELS} pairs"
            )
        relevant = (self._stepped.alone if alone else self._stepped).relevant(measure)
        if relevant >= FEWEST_RELEVANT:
            return ""
        return (
            f"{measure!r} has no intervals: the median topic has about {relevant:.0f} "
            f"relevant documents, and below {FEWEST_RELEVANT} intervals from sampled pairs held "
            "too little, whatever their number; sample whole topics (by topic), or take P or DCG"
        )

    def _beside(self, machine: Floats, measure: Measure) -> Estimate:
        weights = pair_weights(self.runs, self.machine.pairs, measure)
        human = pair_gains(measure, self.sample.qrels.grade)
        topic = self.machine.pairs.topic[self.at] if self.over == "topics" else None
        sample = PairSample(self.at, human, self.sample.probability, machine, topic)
        found = weighted_sums(weights, sample)
        return self._with_exact(found, measure)

    def _with_exact(self, estimate: Estimate, measure: Measure) -> Estimate:
        """With what is known exactly, and without errors that are seen from labels all alike."""
        sure = np.zeros(self.size, np.bool_)
        sure[self.at[self.sample.probability >= 1]] = True
        if is_linear(measure):
            reach = pair_weights(self.runs, self.machine.pairs, measure) != 0
            exact, on = ~np.asarray(reach @ ~sure, np.bool_), reach[:, self.at].toarray()
        else:  # all relevant documents of a topic count, a run's own decide how much
            exact, on = np.full(len(self.runs), sure.all()), self._stepped.shown(measure)
        gain = gains_of(measure, self.sample.qrels.grade)
        alike = np.where(on, gain, np.inf).min(axis=1) >= np.where(on, gain, -np.inf).max(axis=1)
        by_chance = (on & (self.sample.probability < 1)).any(axis=1)
        certain = exact & (self.over != "topics")  # others of which are not known
        assert estimate.effective is not None
        return replace(
            estimate,
            error=np.where(certain, 0.0, np.where(alike & ~exact, np.nan, estimate.error)),
            freedom=np.where(certain, np.inf, estimate.freedom),
            effective=np.where(exact, np.inf, np.where(by_chance, estimate.effective, 0.0)),
        )

    def human(self, measure: Measure) -> Estimate:
        """Hajek's estimate from the human labels; else one step from them and the runs' ranks."""
        if not is_linear(measure):
            return self._with_exact(self._stepped.alone.of(measure), measure)
        return self._beside(np.zeros((self.size, 0)), measure)

    def powered(self, measure: Measure) -> Estimate:
        """In one step from merged labels; weighted sums from several judges by PPI++."""
        if isinstance(self.machine, Merged) or not is_linear(measure):
            return self._with_exact(self._stepped.of(measure), measure)
        self.refuse_other_grades()
        if self.over == "topics":
            raise UsageError(
                "intervals over topics take one judge: merge the judges first (--method mv)"
            )
        machine = _machine_gains(self.machine, measure)
        _refuse_many(machine.shape[1], self.labels)
        return self._beside(machine, measure)

    def rogan_gladen(self, measure: Measure) -> Estimate:
        """The machine's rate of relevant documents, corrected by its errors on the sample.

        A pair counts by its weight in all runs: the judge's errors are wanted where runs have
        their documents, and there they differ from those in the rest of the pool.
        """
        if not isinstance(measure, P) or not isinstance(self.machine, Merged):
            raise UsageError("rg corrects rates: P@k, under merged labels (a --method)")
        self.refuse_other_grades()
        weights = pair_weights(self.runs, self.machine.pairs, measure)
        says = (self.machine.grades() >= measure.level).astype(np.float64)
        true = pair_gains(measure, self.sample.qrels.grade)
        over = np.asarray(weights.sum(axis=0)).ravel()[self.at] / self.sample.probability
        total = np.asarray(weights.sum(axis=1)).ravel()
        right = _rate(says[self.at] == 1, true == 1, over)
        left = _rate(says[self.at] == 0, true == 0, over)
        size = float((weights != 0).sum(axis=1).mean())
        rate = weights @ says / np.maximum(total, 1e-300)
        rates = prediction_powered.rogan_gladen(rate, size, right, left)
        return replace(rates, value=rates.value * total, error=rates.error * total)


def _rate(right: Mask, of: Mask, over: Floats) -> tuple[float, float]:
    """How often a judge is right among these pairs, which count by `over`; and how many equal
    ones they are worth.
    """
    total, squares = over[of].sum(), np.square(over[of]).sum()
    if not total:
        return 0.0, 0.0
    return float(over[right & of].sum() / total), float(total**2 / squares)


@dataclass(frozen=True, eq=False)
class _Topicwise(_Design):
    """Whole topics were sampled at random; a topic's score is the observation."""

    unit: ClassVar[str] = "topic"

    def __post_init__(self) -> None:
        self.refuse_other_grades()
        wanted = int(self.machine.pairs.of_topics(self.sample.pairs.topics).sum())
        missing = wanted - len(self.sample)
        if missing > 0:
            raise InputError(
                f"topics were sampled, but {missing} of their {wanted} pairs have "
                "no human label; judge them, or sample pairs at random"
            )

    @property
    def labels(self) -> int:
        """How many topics a human judged."""
        return len(self.sample.pairs.topics)

    @property
    def size(self) -> int:
        """How many topics there are."""
        return len(self.machine.pairs.topics)

    @property
    def share(self) -> float:
        """The share of topics that were sampled."""
        return self.labels / self.size

    def fits(self, measure: Measure) -> bool:
        """Topics can estimate every measure."""
        return True

    def _human(self, measure: Measure) -> tuple[Floats, Codes]:
        """The scores on the sampled topics, and where these are among all."""
        scores = evaluate(self.runs, self.sample.qrels, measure)
        return scores.values[0, 0], self.machine.pairs.topics.find(scores.topics)

    def human(self, measure: Measure) -> Estimate:
        """The mean of the sampled topics."""
        scores, at = self._human(measure)
        nobody = np.zeros((self.size, 0, len(self.runs)))
        return prediction_powered.topic_means(scores, nobody, at, self.over == "topics")

    def powered(self, measure: Measure) -> Estimate:
        """PPI++ over topics."""
        scores, at = self._human(measure)
        machine = self.machine
        labels = machine.soft() if isinstance(machine, Merged) else machine.by_assessor()
        many = evaluate(self.runs, labels, measure)
        _refuse_many(len(many.columns), self.labels * 2)
        values = many.values[0].transpose(1, 0, 2)  # topic, judge, run
        own_mean = np.nanmean(values, axis=0, keepdims=True)
        filled = np.where(np.isnan(values), own_mean, values)
        return prediction_powered.topic_means(scores, filled, at, self.over == "topics")

    def rogan_gladen(self, measure: Measure) -> Estimate:
        """Only for pairs."""
        raise UsageError("rg needs a sample of pairs, not of whole topics; use ppi")


def _machine_gains(machine: Judgements, measure: Measure) -> Floats:
    """gains[pool, judges]: of an assessor what they said.

    Where an assessor has not judged a pair, their own mean stands for it.
    """
    many = machine.by_assessor()
    blocks = [many.block(topic, 0, len(many)) for topic in range(len(many.topics))]
    grades = np.concatenate(blocks)
    gains = np.where(grades == NOT_JUDGED, np.nan, pair_gains(measure, np.maximum(grades, -127)))
    return np.where(np.isnan(gains), np.nanmean(gains, axis=0), gains)


def _refuse_many(judges: int, labels: int) -> None:
    """A weight for each judge has to be learned from the labels."""
    if judges > 1 and judges * _PER_JUDGE > labels:
        raise UsageError(
            f"{judges} judges at once are too many for these human labels ({_PER_JUDGE} for each "
            "are needed); merge the judges first (--method mv), or judge more"
        )


# --- what the labels must be ----------------------------------------------------------------------


def too_few(labels: int, unit: str) -> str:
    """A sentence if so many judged pairs (topics) are too few for any estimate."""
    if labels >= FEWEST[unit]:
        return ""
    return (
        f"{labels} {unit}s judged by a human are too few for an estimate; judge {FEWEST[unit]} or "
        "more"
    )


def _labels(human: Sample | Qrels, machine: Merged | Judgements, sampled: str | None) -> Sample:
    """Human labels with probabilities, all of them about pairs of the pool."""
    if isinstance(human, Qrels):
        if sampled is None:
            raise UsageError(
                "human labels without probabilities: say how they were chosen, sampled='random' "
                "(pairs at random) or 'topic' (whole topics; --sampled on the command line); "
                "labels that were not chosen at random cannot correct scores"
            )
        _refuse_outside(human.pairs, machine.pairs)
        human = sample_of(human, machine.pairs, sampled)
    elif sampled is not None and sampled != human.by:
        raise UsageError(f"the labels say that they were sampled by {human.by}, not by {sampled}")
    _refuse_outside(human.pairs, machine.pairs)
    return human


def _refuse_outside(labelled: Pairs, pool: Pairs) -> None:
    outside = pool.locate(labelled) < 0
    if outside.any():
        row = int(np.argmax(outside))
        raise InputError(
            f"{int(outside.sum())} of {len(labelled)} human labels are about pairs that no machine "
            f"judged, first topic {labelled.topic_names[row]} document "
            f"{labelled.document_names[row]}; remove them, or do names differ?"
        )
