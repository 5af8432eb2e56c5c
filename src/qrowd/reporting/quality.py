"""How far judgements can be trusted: every figure of it once, for live pages and for reports.

A verdict is a level and the findings that led to it, the weightiest first. Their words are texts
by ids (`qrowd.texts`), so that a page and a report say the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from qrowd.aggregation.judgements.ds import DawidSkene
from qrowd.comparison.labels import LabelScores
from qrowd.data.arrays import Array
from qrowd.data.collected import Collected
from qrowd.data.given import Given, Merger
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Merged
from qrowd.data.qrels import Qrels
from qrowd.data.scale import Scale
from qrowd.quality.agreement import Agreement, Coefficient, agreement
from qrowd.quality.assessors import table_of
from qrowd.quality.consensus import ConsensusGain, consensus_gain
from qrowd.quality.detection import detection
from qrowd.quality.evidence import Evidence
from qrowd.quality.independence import Independence, independence
from qrowd.quality.suspicion import SUSPICIOUS, UNTOLD
from qrowd.rendering import spaced_percent
from qrowd.texts import Text

ALPHA = "alpha-ordinal"  # of two grades it is alpha-nominal
RIGHT = 0.8  # share of right answers from which on it counts as good
CALIBRATED = 0.1  # expected calibration error
MODERATE = 0.4  # agreement beyond chance, from which on it counts as moderate
ENOUGH = 10  # check questions, or judgements that experts judged again, that tell something
LEVELS = ("bad", "caution", "unknown", "good")
_AGREE = {0.2: "hardly", MODERATE: "little", 0.667: "moderately"}
_CHECKED = 200_000  # judgements at most whose independence is checked


@dataclass(frozen=True)
class Finding:
    """A reason to trust judgements, or not to: what it is about, how it stands, its words."""

    name: str
    level: str
    text: Text


@dataclass(frozen=True, eq=False, kw_only=True)
class Quality:
    """What is known about the judgements, and what follows from it.

    `merged` is what a method made of them; `assessors` is the table that `qrowd.assessors` makes,
    of everybody with an answer, to check questions too. Topics (or pairs) were drawn again for the
    intervals of agreement, as `over` says.
    """

    crowd: Collected
    merged: Merged
    agreement: Agreement
    over: str
    assessors: AssessorTable
    gain: ConsensusGain | None
    independence: Independence
    labels: LabelScores | None = None

    @property
    def alpha(self) -> Coefficient:
        """Krippendorff's, on which the verdict rests."""
        return self.agreement[ALPHA]

    @cached_property
    def types(self) -> dict[str, int]:
        """How many of those whose judgements count seem to be of each type."""
        return dict(Counter(self._types[self._counts > 0].tolist()))

    @property
    def _types(self) -> Array:
        return self.assessors["type"]

    @property
    def _counts(self) -> Array:
        return self.assessors["judgements"]

    @property
    def told(self) -> int:
        """Of how many it can be told what they are."""
        return sum(self.types.values()) - self.types.get(UNTOLD, 0)

    @property
    def good(self) -> int:
        """How many are good."""
        return self.types.get("good", 0)

    @property
    def suspects(self) -> Array:
        """The rows of those who tell nothing or mislead, the worst first, as far as they count."""
        doubted = np.isin(self._types.astype(str), SUSPICIOUS) & (self._counts > 0)
        worst = np.argsort(self.assessors["informedness"], kind="stable")
        return np.asarray(worst[doubted[worst]])

    @property
    def suspected_share(self) -> float:
        """Their share of the judgements."""
        return float(self._counts[self.suspects].sum() / max(len(self.crowd.judgements), 1))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The reasons, those that speak against the judgements first, and causes before signs."""
        found = [self._judges(), self._right(), self._sample(), self._agree(), self._errors()]
        there = [finding for finding in found if finding is not None]

        def weight(finding: Finding) -> tuple[int, bool]:
            proof = finding.name == "right" and finding.level == "good"
            return LEVELS.index(finding.level), not proof

        return tuple(sorted(there, key=weight))

    @property
    def level(self) -> str:
        """good, caution, bad, or unknown: nothing tells yet."""
        levels = [finding.level for finding in self.findings]
        if "bad" in levels:
            return "bad"
        if not {"good", "caution"} & {f.level for f in self.findings if f.name != "errors"}:
            return "unknown"
        return "good" if set(levels) == {"good"} else "caution"

    @property
    def answer(self) -> Text:
        """Whether these judgements can be trusted, in a few words."""
        return Text(f"office.verdict.{self.level}")

    def plain(self) -> dict[str, Any]:
        """All figures, for pages and programs."""
        gain, judgements = self.gain, self.crowd.judgements
        return {
            "method": self.merged.fit.method,
            "choice": self.merged.fit.choice,
            "judgements": len(judgements),
            "pairs": len(judgements.pairs),
            "assessors": len(judgements.assessors),
            "level": self.level,
            "findings": [
                {
                    "name": each.name,
                    "level": each.level,
                    "id": each.text.id,
                    "values": each.text.values,
                }
                for each in self.findings
            ],
            "agreement": self.agreement.table(),
            "over": self.over,
            "chosen": 0 if judgements.choice is None else int(judgements.choice.adaptive.sum()),
            "gain": None if gain is None else {**asdict(gain), "known": gain.known},
            "kinds": self.types,
            "good": self.good,
            "told": self.told,
            "suspected_share": self.suspected_share,
            "independence": self.independence.verdict,
            "sample": None if self.crowd.sample is None else asdict(self.crowd.sample),
        }

    # --- findings ---------------------------------------------------------------------------------

    def _agree(self) -> Finding:
        alpha = self.alpha
        if math.isnan(alpha.value):
            return _finding("agreement", "unknown", "unknown")
        how = next((word for bound, word in _AGREE.items() if alpha.value < bound), "well")
        level = "good" if alpha.value >= MODERATE else "caution"
        if alpha.high <= 0:
            level = "bad"
        shown = {name: f"{getattr(alpha, name):.2f}" for name in ("value", "low", "high")}
        return _finding("agreement", level, how, **shown)

    def _judges(self) -> Finding:
        if not self.told:
            return _finding("judges", "unknown", "unknown")
        share = self.suspected_share
        level = "good" if 2 * self.good >= self.told else "caution"
        figures: dict[str, Any] = {"good": self.good, "told": self.told}
        if not len(self.suspects):
            return _finding("judges", level, "known", **figures)
        figures |= {"n": len(self.suspects), "share": spaced_percent(share)}
        level = "bad" if share >= 0.5 else level
        return _finding("judges", level, "doubted", **figures)

    def _right(self) -> Finding:
        """How right they are, by the best that is known."""
        if self.labels is not None:
            scores, error = self.labels, self.labels.calibration.expected_error
            fine = error <= CALIBRATED and scores["kappa"] >= MODERATE
            return _finding(
                "right",
                "good" if fine else "caution",
                "labels",
                method=f"`{self.merged.fit.method}`",
                share=spaced_percent(scores["accuracy"]),
                kappa=f"{scores['kappa']:.2f}",
                error=f"{error:.2f}",
            )
        gain = self.gain
        if gain is None:
            if self.crowd.gold is None:
                return _finding("right", "unknown", "no-gold")
            return _finding("right", "unknown", "given", n=len(self.crowd.gold))
        best = gain.merged if gain.known else gain.single
        level = "good" if best.value >= RIGHT else "caution"
        if gain.pairs < ENOUGH:
            level = "unknown"
        elif (best.high if best.high == best.high else best.value) < gain.usual:
            level = "bad"
        shown: dict[str, Any] = {
            "single": spaced_percent(gain.single.value),
            "answers": gain.answers,
        }
        if not gain.known:
            return _finding("right", level, "single", **shown)
        shown |= {"merged": spaced_percent(best.value), "pairs": gain.pairs}
        return _finding("right", level, "checked", **shown)

    def _errors(self) -> Finding:
        check = self.independence
        if check.together:
            return _finding("errors", "caution", "together")
        proven = self.gain is not None and self.gain.pairs >= ENOUGH
        if check.cleared or proven or self.labels is not None:  # gold shows errors that all share
            return _finding("errors", "good", "apart")
        return _finding("errors", "unknown", "unknown")

    def _sample(self) -> Finding | None:
        rate = self.crowd.sample
        if rate is None or rate.judged < ENOUGH:
            return None
        level = "good" if rate.rate <= 1 - RIGHT else "caution"
        shown = {name: spaced_percent(getattr(rate, name)) for name in ("rate", "low", "high")}
        return _finding(
            "sample", "bad" if rate.low > 0.5 else level, "known", n=rate.judged, **shown
        )


def _finding(name: str, level: str, words: str, **values: Any) -> Finding:
    return Finding(name, level, Text(f"office.verdict.{name}.{words}", **values))


# --- the recipe -----------------------------------------------------------------------------------


def quality_of(
    crowd: Collected,
    merged: Merged,
    method: Merger,
    *,
    gold: Qrels | None = None,
    labels: LabelScores | None = None,
    kept: Judgements | None = None,
    fits: Mapping[str, Merged] | None = None,
    seed: int = 0,
) -> Quality:
    """All that is known of how good judgements are.

    `merged` is what `method` made of the judgements, the experts' grades being given. `gold` is
    what else is known of the truth, and `labels` how far the merged grades agree with it. Where
    some judgements were left out before merging, `kept` are the others; `fits` are what several
    methods made of those, for what they have found out already.
    """
    judgements, scale = crowd.judgements, crowd.judgements.scale
    over = "topics" if len(judgements.topics) > 1 else "pairs"
    truth = gold if gold is not None else crowd.truth
    if gold is not None and crowd.key is not None:
        truth = replace(crowd, gold=gold).truth
    return Quality(
        crowd=crowd,
        merged=merged,
        agreement=agreement(judgements, resample=over),
        over=over,
        assessors=_assessors(crowd, truth, merged),
        gain=_gain(crowd, method, scale),
        independence=_independence(
            judgements if kept is None else kept, fits or {"": merged}, seed
        ),
        labels=labels,
    )


def relevant_from(scale: Scale, gold: Qrels | None) -> int:
    """From which grade of gold on a pair is relevant: as in the scale, if it is gold's too."""
    same = gold is not None and set(gold.grade.tolist()) <= set(scale.grades)
    return scale.relevant_from if same else 1


def _assessors(crowd: Collected, truth: Qrels | None, merged: Merged) -> AssessorTable:
    """What is known of everybody; as judgements are counted those that count."""
    bound = relevant_from(crowd.judgements.scale, truth)
    evidence = Evidence(crowd.together, Given(gold=truth), bound, merged, habits=crowd.habits)
    table = table_of(evidence)
    at = crowd.judgements.assessors.find(table.assessors)  # -1: nothing counts
    counts = np.append(crowd.judgements.per_assessor, 0)[at]
    return AssessorTable(table.assessors, {**table.columns, "judgements": counts})


def _gain(crowd: Collected, method: Merger, scale: Scale) -> ConsensusGain | None:
    """Single answers against merged ones on check questions, whose grades the method is not told.

    It sees all judgements, as when it merges those that count. Answers are of people whose
    judgements count: all of theirs, since what counts was chosen by these answers.
    """
    if crowd.answers is None or crowd.key is None:
        return None
    answers = crowd.answers.of_assessors(crowd.judgements.assessors)
    several = bool((np.diff(answers.pair_starts) > 1).any())
    untold = method.fit(crowd.judgements.joined(answers)) if several else None
    bound = relevant_from(scale, crowd.key)
    return consensus_gain(answers, untold, crowd.key, gold_rel=bound)


def _independence(judgements: Judgements, merged: Mapping[str, Merged], seed: int) -> Independence:
    """The check of independence, as a method has made it already or made now, with its bound."""
    model = DawidSkene(smoothing=1)
    for fitted in merged.values():
        if "independence" in fitted.details.named:
            check: Independence = fitted.details["independence"]
            if check.freedom < 1:
                return check
            return replace(check, detection=detection(judgements, model, seed=seed))
    return independence(judgements, model, most=_CHECKED, bound=True, seed=seed)


# --- disputed pairs -------------------------------------------------------------------------------


def disputed(
    judgements: Judgements, merged: Merged, decided: Qrels | None, most: int
) -> list[list[Any]]:
    """Pairs whose judges disagree most, the most votes first: topic, doc, votes, relevant, belief.

    Belief is the method's probability of relevance. What an expert decided is left out.
    """
    relevant = judgements.scale.relevant
    votes = np.diff(judgements.pair_starts)
    sums = np.concatenate([[0], np.cumsum(relevant[judgements.grade])])
    yes = sums[judgements.pair_starts[1:]] - sums[judgements.pair_starts[:-1]]
    open_still = (yes > 0) & (yes < votes)
    if decided is not None:
        at = judgements.pairs.locate(decided.pairs)
        open_still[at[at >= 0]] = False
    order = np.lexsort((-votes, np.abs(2 * yes - votes) / np.maximum(votes, 1)))
    chosen = order[open_still[order]][:most]
    belief = merged.posterior[merged.pairs.locate(judgements.pairs)][:, relevant].sum(axis=1)
    topics, documents = judgements.pairs.topic_names, judgements.pairs.document_names
    return [
        [str(topics[at]), str(documents[at]), int(votes[at]), int(yes[at]), float(belief[at])]
        for at in chosen
    ]
