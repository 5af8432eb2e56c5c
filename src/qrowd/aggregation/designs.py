"""How human labels were sampled, and what follows for estimates: pairs, or whole topics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qrowd.comparison.prediction_powered import Estimate, PairSample, topic_means, weighted_sums
from qrowd.comparison.rogan_gladen import rogan_gladen
from qrowd.data.arrays import Codes, Floats, Mask
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import NOT_JUDGED
from qrowd.data.runs import RunSet
from qrowd.data.sample import Sample
from qrowd.errors import InputError, UsageError
from qrowd.evaluation.engine import evaluate
from qrowd.evaluation.linear import is_linear, pair_gains, pair_weights
from qrowd.evaluation.measure import Measure
from qrowd.evaluation.measures.p import P

FEWEST_PAIRS, FEWEST_TOPICS = 10, 3
_PER_JUDGE = 10  # labels for each judge whose weight is learned


@dataclass(frozen=True, eq=False)
class Pairwise:
    """Pairs were sampled, each with its probability."""

    runs: RunSet
    machine: Merged | Judgements
    known: Sample
    unit: str = "pair"

    @property
    def labels(self) -> int:
        """How many pairs a human judged."""
        return len(self.known)

    @property
    def size(self) -> int:
        """How many pairs there are."""
        return len(self.machine.pairs)

    @property
    def share(self) -> float:
        """The least probability of a sampled pair; 1: all of the pool was judged."""
        return float(self.known.probability.min(initial=1.0))

    @cached_property
    def at(self) -> Codes:
        """Where the labelled pairs are in the pool."""
        return self.machine.pairs.locate(self.known.pairs)

    def too_few(self) -> str:
        """A sentence if the labels are too few for any estimate."""
        if self.labels >= FEWEST_PAIRS:
            return ""
        return f"{self.labels} human labels are too few for an estimate; judge {FEWEST_PAIRS} pairs"

    def fits(self, measure: Measure) -> bool:
        """Whether a sample of pairs can estimate it."""
        return is_linear(measure)

    def _sample(self, measure: Measure) -> PairSample:
        human = pair_gains(measure, self.known.qrels.grade)
        machine = machine_gains(self.machine, measure)
        _refuse_many(machine.shape[1], self.labels)
        return PairSample(self.at, human, self.known.probability, machine)

    def human(self, measure: Measure) -> Estimate:
        """Hajek's estimate from the human labels."""
        weights = pair_weights(self.runs, self.machine.pairs, measure)
        gains = pair_gains(measure, self.known.qrels.grade)
        nobody = np.zeros((self.size, 0))
        return weighted_sums(weights, PairSample(self.at, gains, self.known.probability, nobody))

    def powered(self, measure: Measure) -> Estimate:
        """PPI++."""
        weights = pair_weights(self.runs, self.machine.pairs, measure)
        return weighted_sums(weights, self._sample(measure))

    def rogan_gladen(self, measure: Measure) -> Estimate:
        """The machine's rate of relevant documents, corrected by its errors on the sample.

        A pair counts by its weight in all runs: the judge's errors are wanted where runs have
        their documents, and there they differ from those in the rest of the pool.
        """
        if not isinstance(measure, P) or not isinstance(self.machine, Merged):
            raise UsageError("rg corrects rates: P@k, under merged labels (a --method)")
        weights = pair_weights(self.runs, self.machine.pairs, measure)
        says = (self.machine.grades() >= measure.level).astype(np.float64)
        true = pair_gains(measure, self.known.qrels.grade)
        over = np.asarray(weights.sum(axis=0)).ravel()[self.at] / self.known.probability
        total = np.asarray(weights.sum(axis=1)).ravel()
        right = _rate(says[self.at] == 1, true == 1, over)
        left = _rate(says[self.at] == 0, true == 0, over)
        size = float((weights != 0).sum(axis=1).mean())
        rate = weights @ says / np.maximum(total, 1e-300)
        found = rogan_gladen(rate, size, right, left)
        return Estimate(found.value * total, found.error * total, found.freedom, found.share)


def _rate(right: Mask, of: Mask, over: Floats) -> tuple[float, float]:
    """How often a judge is right among these pairs, which count by `over`; and how many equal
    ones they are worth.
    """
    total, squares = over[of].sum(), np.square(over[of]).sum()
    if not total:
        return 0.0, 0.0
    return float(over[right & of].sum() / total), float(total**2 / squares)


@dataclass(frozen=True, eq=False)
class Topicwise:
    """Whole topics were sampled at random; a topic's score is the observation."""

    runs: RunSet
    machine: Merged | Judgements
    known: Sample
    unit: str = "topic"

    def __post_init__(self) -> None:
        pool = self.machine.pairs
        wanted = int(pool.of_topics(self.known.pairs.topics).sum())
        if wanted > len(self.known):
            raise InputError(
                f"topics were sampled, but {wanted - len(self.known)} of their {wanted} pairs have "
                "no human label; judge them, or sample pairs at random"
            )

    @property
    def labels(self) -> int:
        """How many topics a human judged."""
        return len(self.known.pairs.topics)

    @property
    def size(self) -> int:
        """How many topics there are."""
        return len(self.machine.pairs.topics)

    @property
    def share(self) -> float:
        """The share of topics that were sampled."""
        return self.labels / self.size

    def too_few(self) -> str:
        """A sentence if the topics are too few for any estimate."""
        if self.labels >= FEWEST_TOPICS:
            return ""
        return f"{self.labels} topics are too few for an estimate; judge {FEWEST_TOPICS} or more"

    def fits(self, measure: Measure) -> bool:
        """Topics can estimate every measure."""
        return True

    def _human(self, measure: Measure) -> tuple[Floats, Codes]:
        """The scores on the sampled topics, and where these are among all."""
        scores = evaluate(self.runs, self.known.qrels, measure)
        return scores.values[0, 0], self.machine.pairs.topics.find(scores.topics)

    def human(self, measure: Measure) -> Estimate:
        """The mean of the sampled topics."""
        scores, at = self._human(measure)
        return topic_means(scores, np.zeros((self.size, 0, len(self.runs))), at)

    def powered(self, measure: Measure) -> Estimate:
        """PPI++ over topics."""
        scores, at = self._human(measure)
        machine = self.machine
        labels = machine.soft() if isinstance(machine, Merged) else machine.by_assessor()
        many = evaluate(self.runs, labels, measure)
        _refuse_many(len(many.columns), self.labels * 2)
        values = many.values[0].transpose(1, 0, 2)  # topic, judge, run
        known = np.nanmean(values, axis=0, keepdims=True)
        return topic_means(scores, np.where(np.isnan(values), known, values), at)

    def rogan_gladen(self, measure: Measure) -> Estimate:
        """Only for pairs."""
        raise UsageError("rg needs a sample of pairs, not of whole topics; use ppi")


Design = Pairwise | Topicwise


def machine_gains(machine: Merged | Judgements, measure: Measure) -> Floats:
    """gains[pool, judges]: expected ones of merged labels; of an assessor what they said.

    Where an assessor has not judged a pair, their own mean stands for it.
    """
    of_grades = pair_gains(measure, np.array(machine.scale.grades))
    if isinstance(machine, Merged):
        return np.asarray(machine.posterior @ of_grades)[:, None]
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
