"""Merged labels against gold: `score_labels` and its `LabelScores`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qrowd.comparison import label_measures as lm
from qrowd.comparison.label_measures import Calibration, Scored, calibration_of, mean_of_topics
from qrowd.comparison.significance import jackknife_error, wilson
from qrowd.data.arrays import Array, Codes, Floats, Grades, Mask
from qrowd.data.details import Caution
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index, Pairs
from qrowd.data.merged import Merged, tied_argmax
from qrowd.data.provenance import ADJUDICATED
from qrowd.data.qrels import Qrels, SoftQrels
from qrowd.data.scale import Scale
from qrowd.errors import InputError, UsageError, require_name
from qrowd.rendering import Readable, aligned, between, percent, plain

# What is usual: errors within a topic correlate by so much (.04 to .08 on three real crowds), which
# counts as so many degrees of freedom. Both chosen on made samples (benchmarks/label_intervals.py).
_WITHIN, _USUAL = 0.1, 0.5
_BOTH = ("accuracy", "precision", "recall", "specificity", "f1", "balanced_accuracy", "lam")


@dataclass(frozen=True, eq=False)
class LabelScores(Readable, Framed):
    """How right merged labels are: `scores["f1"]`, or per topic, `scores.by_topic["f1"]`.

    `overall` pools all pairs, except that `map` and `ndcg` are means over topics; `topic_means` are
    means over the topics where a measure is defined. `errors` are standard errors of `overall` that
    take the topics for a sample (a pair of a topic is not independent of the next one): each topic
    left out in turn (the jackknife; `without` has these figures); NaN with one topic.
    `constant_accuracy` is the accuracy of the best constant answer, the grade that gold has most.
    `confusion[gold grade, merged grade]` counts pairs. `clip` is how far from 0 and 1 probabilities
    are kept in the log loss. What was given to the method as gold is not in any of these but apart,
    in `given`.
    """

    topics: Index
    scale: Scale
    overall: dict[str, float]
    without: dict[str, Floats]
    by_topic: dict[str, Floats]
    pairs_by_topic: Floats
    confusion: Floats
    calibration: Calibration
    given: LabelScores | None = None
    notes: tuple[str, ...] = ()
    clip: float = lm.CLIP
    level: float = 0.9  # of intervals, unless asked otherwise

    def __getitem__(self, measure: str) -> float:
        require_name("measure of labels", measure, self.overall)
        return self.overall[measure]

    def __len__(self) -> int:
        return int(self.pairs_by_topic.sum())

    def __repr__(self) -> str:
        shown = ("accuracy", "f1", "auc", "log_loss")
        figures = ", ".join(f"{name} {self.overall[name]:.4f}" for name in shown)
        return f"LabelScores({len(self)} pairs of {len(self.topics)} topics: {figures})"

    def __str__(self) -> str:
        blocks = [_title(self), _headline(self), _overall(self)]
        if len(self.scale) > 2:
            blocks.append(_confusion(self))
        if self.given is not None:
            blocks.append(f"apart: {_title(self.given)}, gold given\n{_overall(self.given)}")
        blocks += [f"note: {note}" for note in self.notes]
        return "\n".join(blocks)

    @property
    def topic_means(self) -> dict[str, float]:
        """Each measure's mean over the topics where it is defined."""
        return {name: mean_of_topics(values) for name, values in self.by_topic.items()}

    @property
    def errors(self) -> dict[str, float]:
        """The standard error of each overall figure over topics."""
        return {name: self._error(name, values) for name, values in self.without.items()}

    def interval(self, measure: str, level: float | None = None) -> tuple[float, float]:
        """The interval of an overall figure over topics, inside the figure's own range.

        By Wilson's formula with the effective number of pairs: as many independent ones as would
        have this standard error (Korn & Graubard 1998), of which topics tell the more the more of
        them have a part in it; the rest is what is usual. Their degrees of freedom are Student's,
        too: few where errors sit in a few topics. A log loss has no upper end: plain Student's t.
        """
        value, error = self[measure], self._error(measure, self.without[measure])
        if measure == "log_loss" or np.isnan(error):
            half = self._quantile(level) * error
            return value - half, value + half
        least = -1.0 if measure == "kappa" else 0.0
        share, error = min((value - least) / (1 - least), 1.0), error / (1 - least)
        pairs, effect = self._independent_pairs(measure), self._usual_effect
        freedom = float(max(self._topics - 1, 1))
        if 0 < share < 1 and error > 0:
            without = self.without[measure][self._part(measure)]
            squares = np.square(without - without.mean())
            freedom = 2 * squares.sum() ** 2 / np.square(squares).sum()  # Satterthwaite's
            seen = error**2 * pairs / (share * (1 - share))
            effect = (_USUAL * effect + freedom * seen) / (_USUAL + freedom)
        quantile = self._quantile(level, _USUAL + freedom)
        ends = wilson(np.array(share * pairs / effect), np.array(pairs / effect), quantile)
        low, high = (least + float(end) * (1 - least) for end in ends)
        return low, high

    @property
    def _usual_effect(self) -> float:
        """How many times the variance is that of independent pairs, where errors correlate by
        `_WITHIN` within a topic.
        """
        return float(1 + _WITHIN * (np.square(self.pairs_by_topic).sum() / len(self) - 1))

    def _independent_pairs(self, measure: str) -> float:
        """How many pairs a figure rests on, were they independent."""
        if measure.removeprefix("fractional_") == "accuracy":
            return float(len(self))
        # fewer where a grade is rare: an error costs kappa as much as chance leaves room to err
        share = self.confusion.sum(axis=1) / max(self.confusion.sum(), 1)
        return float(len(self) * max(2 * (1 - np.square(share).sum()), 1e-9))

    def less(
        self, other: LabelScores, measure: str, level: float | None = None
    ) -> tuple[float, float, float]:
        """How far a figure is above that of other labels on the same gold; its interval."""
        value = self[measure] - other[measure]
        without = self.without[measure] - other.without[measure]
        half = self._quantile(level) * self._error(measure, without)
        return value, value - half, value + half

    @property
    def _topics(self) -> int:
        return int((self.pairs_by_topic > 0).sum())

    def _part(self, measure: str) -> Mask:
        """The topics that have a part in a figure."""
        ranked = measure in ("map", "ndcg")
        return ~np.isnan(self.by_topic[measure]) if ranked else self.pairs_by_topic > 0

    def _error(self, measure: str, without: Floats) -> float:
        return jackknife_error(without[self._part(measure)])

    def _quantile(self, level: float | None, freedom: float | None = None) -> float:
        """Student's; with a degree of freedom fewer than topics, unless said."""
        from scipy.special import stdtrit

        level = self.level if level is None else level
        return float(stdtrit(freedom or max(self._topics - 1, 1), (1 + level) / 2))

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON would have it (undefined figures are None)."""
        account = {
            "pairs": len(self),
            "topics": len(self.topics),
            "grades": list(self.scale.grades),
            "overall": self.overall,
            "standard_errors": self.errors,
            "clip": self.clip,
            "topic_means": self.topic_means,
            "by_topic": {
                topic: {name: float(values[at]) for name, values in self.by_topic.items()}
                for at, topic in enumerate(self.topics)
            },
            "confusion": self.confusion,
            "calibration": {"bins": self.calibration.rows(), **self.calibration.parts()},
            "given": self.given.to_dict() if self.given is not None else None,
            "notes": list(self.notes),
        }
        return dict(plain(account))

    def frame_columns(self) -> dict[str, Coded | Array]:
        """One row per topic, one column per measure."""
        topic = Coded(self.topics, np.arange(len(self.topics), dtype=np.int32))
        return {"topic": topic, "pairs": self.pairs_by_topic.astype(np.int64), **self.by_topic}


def score_labels(
    merged: Merged | Qrels | SoftQrels,
    gold: Qrels | SoftQrels,
    *,
    given: Qrels | None = None,
    ties: str | None = None,
    bins: int = 10,
    clip: float = lm.CLIP,
    level: float = 0.9,
) -> LabelScores:
    """Score merged labels against gold, overall and per topic.

    Two ways of answering are scored side by side. *Quantised*: one grade per pair, the likeliest
    (ties as in `Merged.grades`). *Fractional* (`fractional_accuracy`, ...): a probability p of
    relevance counts as p of an answer that it is relevant and 1 - p that it is not. `accuracy` is
    agreement on the grade; the others are about relevance, from the scale's `relevant_from` on.

    Pairs without gold are not scored. Those whose gold the method was given (marked in a `Merged`,
    known by the provenance of qrels; for others, name them by `given`) are reported apart.

    >>> from qrowd import Qrels
    >>> gold = Qrels.of(["t"] * 4, ["a", "b", "c", "d"], [1, 1, 0, 0])
    >>> merged = Qrels.of(["t"] * 4, ["a", "b", "c", "d"], [1, 0, 0, 0])
    >>> scores = score_labels(merged, gold)
    >>> scores["accuracy"], scores["recall"], scores["precision"]
    (0.75, 0.5, 1.0)
    """
    belief = _belief(merged, gold, ties)
    truth = _truth(gold, belief.scale)
    at = belief.pairs.locate(truth.pairs)
    labelled = at >= 0
    if not labelled.any():
        raise InputError(
            "merged labels and gold have no pair in common; do topic and document names match?"
        )
    shown = belief.given.copy()  # pairs whose gold the method had
    if given is not None:
        rows = belief.pairs.locate(given.pairs)
        shown[rows[rows >= 0]] = True
    seen = shown[at] & labelled
    headline = _score(belief, truth, at, labelled & ~seen, bins, clip)
    apart = _score(belief, truth, at, seen, bins, clip) if seen.any() else None
    notes = (*_provenance_notes(merged, gold), *_notes(labelled, seen, belief, truth))
    return replace(headline, given=apart, notes=notes, level=level)


@dataclass(frozen=True, eq=False)
class _Labels:
    """One side: a distribution over the grades of a scale for each pair, and one grade."""

    pairs: Pairs
    scale: Scale
    p: Floats
    code: Codes | Grades
    given: Mask


def _belief(
    merged: Merged | Qrels | SoftQrels, gold: Qrels | SoftQrels, ties: str | None
) -> _Labels:
    if isinstance(merged, Qrels):
        grade = np.maximum(merged.grade, 0).astype(np.int8)
        scale = merged.scale if merged.words else Scale.of(grade)
        if not merged.words and isinstance(gold, Qrels) and len(scale) > 2:
            # merged labels may lack a grade by chance
            scale = Scale.of(np.concatenate([grade, np.maximum(gold.grade, 0)]))
        certain = _certain(merged.pairs, scale.codes(grade), scale)
        return replace(certain, given=_given(merged))
    if isinstance(merged, SoftQrels):
        codes = tied_argmax(merged.p, merged.pairs, ties or "coin")
        return _Labels(merged.pairs, merged.scale, merged.p, codes, _given(merged))
    if not isinstance(merged, Merged):
        raise UsageError(
            f"score_labels scores merged labels or qrels, got {type(merged).__name__}; merge "
            "judgements first, e.g. with DawidSkene().fit(crowd)"
        )
    p = merged.posterior / merged.posterior.sum(axis=1, keepdims=True)
    codes = merged.scale.codes(merged.grades(ties)).astype(np.int32)
    return _Labels(merged.pairs, merged.scale, p, codes, merged.given)


def _given(labels: Qrels | SoftQrels) -> Mask:
    if labels.provenance is None:
        return np.zeros(len(labels), np.bool_)
    return labels.provenance.gave(labels.pairs)


def _certain(pairs: Pairs, code: Grades, scale: Scale) -> _Labels:
    p = (code[:, None] == np.arange(len(scale))[None, :]).astype(np.float64)
    return _Labels(pairs, scale, p, code, np.zeros(len(pairs), np.bool_))


def _truth(gold: Qrels | SoftQrels, scale: Scale) -> _Labels:
    """Gold on the scale of the merged labels; an error that names the cut if it does not fit."""
    if isinstance(gold, SoftQrels):
        if gold.scale.grades != scale.grades:
            raise scale.misfit(gold.scale, "merged labels")
        codes = tied_argmax(gold.p, gold.pairs)
        return _Labels(gold.pairs, scale, gold.p, codes, np.zeros(len(gold), np.bool_))
    scale.require_words(gold.words, "merged labels")
    return _certain(gold.pairs, scale.codes_of_gold(gold.grade, "merged labels"), scale)


def _score(
    belief: _Labels, truth: _Labels, at: Codes, rows: Mask, bins: int, clip: float
) -> LabelScores:
    """The scores of the gold pairs marked in `rows`; `at` says where merged labels have them."""
    mine, pairs = at[rows], truth.pairs.select(rows)
    groups, scale = len(pairs.topics), belief.scale
    scored = Scored(scale, belief.p[mine], truth.p[rows], belief.code[mine], pairs.topic, groups)
    by_topic, overall, without = scored.figures(clip)
    count = np.bincount(pairs.topic, minlength=groups).astype(np.float64)
    table = calibration_of(scored.answer, scored.truth, bins)
    confusion = scored.confusions.sum(axis=0)
    return LabelScores(
        pairs.topics, scale, overall, without, by_topic, count, confusion, table, clip=clip
    )


def _provenance_notes(merged: Merged | Qrels | SoftQrels, gold: Qrels | SoftQrels) -> list[str]:
    """Where both come from, as far as they were read from files."""
    notes = [] if merged.provenance is None else list(merged.provenance.notes)
    if gold.provenance is not None and gold.provenance.method.startswith(ADJUDICATED):
        nominator = gold.provenance.method.removeprefix(ADJUDICATED)
        notes += [f"gold was {gold.provenance.method}"]
        if merged.provenance is not None and merged.provenance.method == nominator:
            notes.append(
                Caution(
                    f"gold was judged again where {nominator} contradicted it, and only there: its "
                    "figures are in its own favour, those of other methods are not"
                )
            )
    elif gold.provenance is not None:
        by_method = "gold is merged labels itself, so that to agree with it is not to be right"
        notes += [f"{by_method}: {note}" for note in gold.provenance.notes]
    return notes


def _notes(labelled: Mask, seen: Mask, belief: _Labels, truth: _Labels) -> tuple[str, ...]:
    missing, without = int((~labelled).sum()), len(belief.pairs) - int(labelled.sum())
    scored = labelled & ~seen
    relevant = truth.p[:, truth.scale.relevant].sum(axis=1)[scored]
    one_sided = "of this gold is relevant: what needs both kinds is undefined (--gold-rel)"
    lines = {
        f"{missing} gold pairs have no merged label and are not scored": missing,
        f"{without} merged pairs have no gold and are not scored": without,
        f"{seen.sum()} pairs whose gold was given are left out": seen.any(),
        "every pair with gold was given: nothing is left to score": not scored.any(),
        f"not one pair {one_sided}": scored.any() and not relevant.any(),
        f"every pair {one_sided}": scored.any() and relevant.min() >= 1,
    }
    return tuple(line for line, applies in lines.items() if applies)


# --- text -----------------------------------------------------------------------------------------


def _title(scores: LabelScores) -> str:
    return f"{len(scores)} pairs of {len(scores.topics)} topics"


def _headline(scores: LabelScores) -> str:
    """Agreement beyond chance first: where one grade is common, accuracy says little."""
    constant = scores.overall["constant_accuracy"]
    lines = []
    for name in ("kappa", "balanced_accuracy", "accuracy"):
        low, high = scores.interval(name)
        ends = (
            "" if np.isnan(low) else f", {percent(scores.level)} over topics {between(low, high)}"
        )
        lines.append(f"{name.replace('_', ' ')} {scores.overall[name]:.4f}{ends}")
    return "\n".join(lines) + f"; the best constant answer has {constant:.4f}\n"


def _overall(scores: LabelScores) -> str:
    o, e = scores.overall, scores.errors
    columns = ("", "fractional_")
    both = [[name, *(part[kind + name] for kind in columns for part in (o, e))] for name in _BOTH]
    rest = [name for name in o if name not in _BOTH and not name.startswith("fractional_")]
    single = [[name, o[name], e[name]] for name in rest]
    header = ["measure", "quantised", "s.e.", "fractional", "s.e."]
    legend = "s.e.: the standard error over topics"
    legend += "" if len(scores.topics) > 1 else ", of which there is only one"
    legend += f"\nlog_loss: probabilities clipped at {scores.clip:g}"
    first, second = aligned(header, both), aligned(["measure", "value", "s.e."], single)
    return f"{first}\n\n{second}\n{legend}"


def per_topic_text(scores: LabelScores) -> str:
    """One line per topic."""
    names = ("accuracy", "precision", "recall", "f1", "auc", "log_loss", "rmse", "map", "ndcg")
    rows = [
        [
            topic,
            int(scores.pairs_by_topic[at]),
            *(float(scores.by_topic[name][at]) for name in names),
        ]
        for at, topic in enumerate(scores.topics)
    ]
    means = scores.topic_means
    mean = ["mean of topics", len(scores), *(means[name] for name in names)]
    return aligned(["topic", "pairs", *names], [*rows, mean], digits=3)


def _confusion(scores: LabelScores) -> str:
    grades = scores.scale.grades
    rows = [
        [f"gold {grade}", *(f"{count:.10g}" for count in row)]
        for grade, row in zip(grades, scores.confusion, strict=True)
    ]
    return aligned(["", *(f"as {grade}" for grade in grades)], rows)


def calibration_text(table: Calibration) -> str:
    """The bins, then the Brier score and its parts."""
    rows = [
        [
            f"{row['from']:.2f}-{row['to']:.2f}",
            int(row["count"]),
            row["predicted"],
            row["observed"],
            f"{row['low']:.3f}-{row['high']:.3f}",
        ]
        for row in table.rows()
    ]
    bins = aligned(["p", "pairs", "predicted", "observed", "90 % interval"], rows)
    parts = aligned(["part", "value"], list(table.parts().items()))
    return f"{bins}\n\n{parts}"
