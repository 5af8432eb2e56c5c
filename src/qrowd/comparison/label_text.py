"""`LabelScores` for people, and as JSON has them."""

from __future__ import annotations

from typing import Any

from qrowd.comparison.calibration import Calibration
from qrowd.comparison.labels import LabelScores
from qrowd.rendering import aligned, plain

_BOTH = ("accuracy", "precision", "recall", "specificity", "f1", "balanced_accuracy", "lam")


def as_text(scores: LabelScores) -> str:
    """The headline: quantised and fractional answers side by side, then the rest."""
    blocks = [_title(scores), _headline(scores), _overall(scores)]
    if len(scores.scale) > 2:
        blocks.append(confusion_text(scores))
    if scores.given is not None:
        blocks.append(f"apart: {_title(scores.given)}, gold given\n{_overall(scores.given)}")
    blocks += [f"note: {note}" for note in scores.notes]
    return "\n".join(blocks)


def _title(scores: LabelScores) -> str:
    return f"{len(scores)} pairs of {len(scores.topics)} topics"


def _headline(scores: LabelScores) -> str:
    """Agreement beyond chance first: where one grade is common, accuracy says little."""
    constant = scores.overall["constant_accuracy"]
    lines = [_with_interval(scores, name) for name in ("kappa", "balanced_accuracy", "accuracy")]
    lines[-1] += f"; the best constant answer has {constant:.4f}"
    return "\n".join(lines) + "\n"


def _with_interval(scores: LabelScores, name: str) -> str:
    line = f"{name.replace('_', ' ')} {scores.overall[name]:.4f}"
    low, high = scores.interval(name)
    return line if low != low else f"{line}, 95 % over topics [{low:.4f}, {high:.4f}]"


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


def confusion_text(scores: LabelScores) -> str:
    """Gold grades down, merged grades across."""
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
    head = aligned(["p", "pairs", "predicted", "observed", "90 % interval"], rows)
    return (
        head + "\n\n" + aligned(["part", "value"], [list(part) for part in table.parts().items()])
    )


def as_dict(scores: LabelScores) -> dict[str, Any]:
    """Everything as plain lists and dictionaries."""
    found: dict[str, Any] = {
        "pairs": len(scores),
        "topics": len(scores.topics),
        "grades": list(scores.scale.grades),
        "overall": scores.overall,
        "standard_errors": scores.errors,
        "clip": scores.clip,
        "topic_means": scores.topic_means,
        "by_topic": {
            topic: {name: float(values[at]) for name, values in scores.by_topic.items()}
            for at, topic in enumerate(scores.topics)
        },
        "confusion": scores.confusion,
        "calibration": {"bins": scores.calibration.rows(), **scores.calibration.parts()},
        "given": as_dict(scores.given) if scores.given is not None else None,
        "notes": list(scores.notes),
    }
    result: dict[str, Any] = plain(found)
    return result
