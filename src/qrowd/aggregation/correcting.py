"""Scores of runs from few human labels beside many machine labels: `correct`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from qrowd import registry
from qrowd.aggregation.designs import Design, Pairwise, Topicwise
from qrowd.aggregation.recalibrating import recalibrate
from qrowd.comparison.corrected import Corrected
from qrowd.comparison.correlation import places
from qrowd.comparison.prediction_powered import QUANTILES, Estimate
from qrowd.data.arrays import Floats
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels, SoftQrels
from qrowd.data.runs import RunSet
from qrowd.data.sample import Sample, sample_of
from qrowd.data.scores import MEAN
from qrowd.errors import InputError, ParameterError, ScaleError, UsageError
from qrowd.evaluation.engine import evaluate
from qrowd.evaluation.measure import Measure, measures_of
from qrowd.evaluation.measures.dcg import DCG

METHODS = ("ppi", "recalibrate", "rg")
_BESIDE = ("low", "high", "human", "human_low", "human_high")
_DRAWS = 300
_ALIKE = (
    "rg takes the judge to err alike in all runs; where it does not, its intervals do not hold; "
    "ppi needs no such assumption"
)
_SURE = 4.0  # F of one judge's labels, from which on they count as related to the human ones


def correct(
    runs: RunSet,
    machine: Merged | Judgements,
    human: Sample | Qrels,
    measures: Measure | str | Iterable[Measure | str] = ("P@10",),
    *,
    method: str = "ppi",
    sampled: str | None = None,
    level: float = 0.9,
    quantiles: str = "t",
    seed: int = 0,
) -> Corrected:
    """Score runs by machine labels that a few human labels correct, with intervals.

    `machine`: merged labels (one judge) or judgements (each assessor a judge, all at once).
    `human`: a `Sample` with grades; plain qrels need `sampled`: 'random' (pairs) or 'topic' (whole
    topics). `ppi` is prediction-powered inference: P, DCG and RBP from sampled pairs, any measure
    from sampled topics. `recalibrate` scores under recalibrated labels, `rg` corrects P by the
    judge's sensitivity and specificity (Rogan & Gladen 1978). The human-only estimate is always
    beside it. The target are the scores that a human who judged the whole pool would give.
    `quantiles`: the intervals of `ppi` and of the human labels alone are by Student's t, or by a
    bootstrap, which need not lie evenly about the value.

    >>> import qrowd as q
    >>> made = q.simulate(topics=8, documents=60, assessors=9, votes=3, runs=5, seed=2)
    >>> chosen = q.sample(made.judgements, 120, by="weight", runs=made.runs)
    >>> machine = q.get("mv").fit(made.judgements)
    >>> found = q.correct(made.runs, machine, chosen.labelled(made.truth), ["P@10"])
    >>> found
    Corrected(P@10: 5 runs by ppi, 120 of 480 pairs judged by a human)
    """
    if method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    chosen = measures_of(measures)
    known = _labels(human, machine, sampled)
    design: Design = (Topicwise if known.by == "topic" else Pairwise)(runs, machine, known)
    if quantiles not in QUANTILES:
        raise ParameterError(f"quantiles must be t or bootstrap, got {quantiles!r}")
    work = _Work(runs, machine, known, design, method, level, quantiles, seed)
    return work.result(chosen)


@dataclass(frozen=True, eq=False)
class _Work:
    """One call of `correct`."""

    runs: RunSet
    machine: Merged | Judgements
    known: Sample
    design: Design
    method: str
    level: float
    quantiles: str
    seed: int

    def result(self, measures: tuple[Measure, ...]) -> Corrected:
        """All measures."""
        short = self.design.too_few()
        said: list[str] = ([short] if short else []) + self._parts()
        rows = [self._blank() if short else self._of(measure, said) for measure in measures]
        ranked = labels_for_ranking(self._merged(), self.known.qrels, self.seed)
        order = evaluate(self.runs, ranked, measures).means()[:, 0]
        value, *beside = map(np.stack, zip(*rows, strict=True))
        return Corrected(
            measures=tuple(map(repr, measures)),
            axis="",
            columns=Index.of(["-"]),
            topics=Index.of([MEAN]),
            runs=self.runs.runs,
            values=value[:, None, None, :],
            **dict(zip(_BESIDE, beside, strict=True)),
            place=places(order),
            method=self.method,
            level=self.level,
            unit=self.design.unit,
            labels=self.design.labels,
            size=self.design.size,
            notes=tuple(dict.fromkeys(said)),
        )

    def _parts(self) -> list[str]:
        """A sentence where judges cover a part of the pool only."""
        if isinstance(self.machine, Merged):
            return []
        each = self.machine.one_each()
        share = np.bincount(each.assessor, minlength=len(each.assessors)) / len(each.pairs)
        part = share < 1
        least = int(np.argmin(share))
        return [
            f"{int(part.sum())} of {len(share)} judges cover a part of the pool only (least: "
            f"{each.assessors.names[least]}, {share[least]:.0%}); where a judge is silent, their "
            "own mean stands in"
        ][: int(part.any())]

    def _merged(self) -> Merged:
        """The machines as one."""
        if isinstance(self.machine, Merged):
            return self.machine
        merged: Merged = registry.get("mv").fit(self.machine)
        return merged

    def _blank(self) -> list[Floats]:
        return [np.full(len(self.runs), np.nan)] * 6

    def _of(self, measure: Measure, said: list[str]) -> list[Floats]:
        """value, low, high, human, human_low, human_high of one measure."""
        if not self.design.fits(measure):
            said.append(
                f"{measure!r} is no weighted sum over pairs, so a sample of pairs gives no "
                "human-only estimate of it; sample whole topics (by topic)"
            )
            return (
                self._recalibrated(measure) + self._blank()[:3]
                if self.method == "recalibrate"
                else self._blank()
            )
        alone = self._bounded(self.design.human(measure), measure, said)
        if self.method == "recalibrate":
            return self._recalibrated(measure) + alone
        if self.method == "rg":
            said.append(_ALIKE)
            return self._bounded(self.design.rogan_gladen(measure), measure, said) + alone
        found = self.design.powered(measure)
        if not found.share.any():
            said.append(
                f"{measure!r}: the machine's labels say nothing about the human ones in this "
                "sample, so the estimate is that of the human labels alone"
            )
        return self._bounded(found, measure, said) + alone

    def _bounded(self, found: Estimate, measure: Measure, said: list[str]) -> list[Floats]:
        """The value and its bounds, where scores can be; none where a run's labels are alike."""
        way = self.quantiles if found.parts is not None else "t"
        low, high = found.interval(self.level, way, self.seed)
        alike = (found.error == 0) & np.isfinite(found.freedom) & (self.design.share < 1)
        if alike.any():
            said.append(
                f"{int(alike.sum())} of {len(self.runs)} runs have no interval: all human labels "
                "that their scores depend on are alike; judge more pairs"
            )
        unknown = int(np.isnan(found.value).sum())
        if unknown:
            said.append(
                f"{unknown} of {len(self.runs)} runs have no estimate: too few human labels on the "
                "pairs that their scores depend on, or a judge too weak to be corrected"
            )
        ends = [found.value, np.where(alike, np.nan, low), np.where(alike, np.nan, high)]
        return [np.clip(end, 0.0, _highest(measure)) for end in ends]

    def _recalibrated(self, measure: Measure) -> list[Floats]:
        made = recalibrate(self._merged(), self.known.qrels, self.seed, _DRAWS)
        value = evaluate(self.runs, made.soft(), measure).means()[0, 0]
        drawn = evaluate(self.runs, made.draws(_DRAWS, self.seed), measure, keep="means").means()[0]
        low, high = np.quantile(drawn, [(1 - self.level) / 2, (1 + self.level) / 2], axis=0)
        return [value, low, high]


def _highest(measure: Measure) -> float:
    """The highest score there can be."""
    return np.inf if isinstance(measure, DCG) or getattr(measure, "gains", None) else 1.0


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


def _correlate(said: Floats, truth: Floats) -> bool:
    """Whether two columns correlate, in either direction, by more than chance explains."""
    if len(said) < 3 or np.ptp(said) == 0 or np.ptp(truth) == 0:
        return False
    square = float(np.corrcoef(said, truth)[0, 1]) ** 2
    return square * (len(said) - 2) >= _SURE * (1 - square)


# --- what the labels must be ----------------------------------------------------------------------


def _labels(human: Sample | Qrels, machine: Merged | Judgements, sampled: str | None) -> Sample:
    """Human labels with probabilities, all of them about pairs of the pool, on its scale."""
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
    off = set(human.qrels.scale.grades) - set(machine.scale.grades)
    if off:
        raise ScaleError(
            f"human labels have grades {' '.join(map(str, human.qrels.scale.grades))} but the "
            f"machine's have {' '.join(map(str, machine.scale.grades))}; make them binary: "
            "human.binary(at_least=...), on the command line --gold-rel"
        )
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
