"""qrowd: from the disagreeing judgements of many to relevance, and scores, that can be trusted.

Nothing heavy is imported before it is used. Editors and type checkers read `__init__.pyi`, which
`python docs/stub.py` writes: run it after a change of `_HOMES`, or after a new method.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Anova": "comparison.anova",
    "AssessorTable": "data.merged",
    "Calibration": "comparison.label_measures",
    "ClusterTest": "content.hypothesis",
    "Collection": "simulation.collection",
    "Comparison": "comparison.compare",
    "Consensus": "data.consensus",
    "Corrected": "comparison.prediction_powered",
    "Curves": "budget.curves",
    "Documents": "data.documents",
    "Fit": "data.merged",
    "Given": "data.given",
    "Independence": "quality.independence",
    "Index": "data.index",
    "Intervals": "comparison.intervals",
    "Judgements": "data.judgements",
    "LabelScores": "comparison.labels",
    "Loop": "budget.loop",
    "Measure": "evaluation.measure",
    "Merged": "data.merged",
    "Merger": "data.given",
    "NOTHING": "data.given",
    "OrderMerger": "data.given",
    "Orders": "data.orders",
    "Pairs": "data.index",
    "Qrels": "data.qrels",
    "QrelsSet": "data.qrels",
    "Release": "io.release",
    "Report": "reporting.parts",
    "RunSet": "data.runs",
    "Sample": "data.sample",
    "Scale": "data.scale",
    "ScoreMerger": "data.given",
    "Scores": "data.scores",
    "Screened": "quality.screening",
    "Setting": "simulation.setting",
    "SoftQrels": "data.qrels",
    "SoftQrelsSet": "data.qrels",
    "Study": "reporting.study",
    "SystemComparison": "comparison.systems",
    "Topics": "data.topics",
    "Vectors": "content.vectors",
    "agreement": "quality.agreement",
    "anova": "comparison.anova",
    "assessors": "quality.assessors",
    "cluster_test": "content.hypothesis",
    "cohen": "quality.independence",
    "compare": "comparison.compare",
    "compare_systems": "comparison.systems",
    "correct": "aggregation.correction",
    "evaluate": "evaluation.engine",
    "expected_majority": "budget.votes",
    "get": "registry",
    "gold_minus_majority": "budget.votes",
    "holm": "comparison.significance",
    "independence": "quality.independence",
    "inform": "aggregation.revision",
    "intervals": "comparison.intervals",
    "judges": "aggregation.run_scores",
    "krippendorff_alpha": "quality.agreement",
    "max_drop": "comparison.correlation",
    "measure": "registry",
    "method": "registry",
    "order_agreement": "quality.rankings",
    "order_checks": "quality.rankings",
    "paired_test": "comparison.significance",
    "param": "registry",
    "places": "comparison.correlation",
    "ppi_mean": "comparison.prediction_powered",
    "random_scores": "evaluation.engine",
    "rbo": "comparison.correlation",
    "read_assessors": "io.judgements",
    "read_documents": "io.documents",
    "read_judgements": "io.judgements",
    "read_orders": "io.orders",
    "read_pairs": "io.qrels",
    "read_probabilities": "io.qrels",
    "read_qrels": "io.qrels",
    "read_release": "io.release",
    "read_runs": "io.runs",
    "read_sample": "io.qrels",
    "read_scores": "io.runs",
    "read_topics": "io.topics",
    "read_vectors": "io.documents",
    "recalibrate": "aggregation.revision",
    "report": "reporting.report",
    "rmse": "comparison.correlation",
    "rogan_gladen": "comparison.prediction_powered",
    "rule": "registry",
    "sample": "budget.sampling_design",
    "sample_of": "data.sample",
    "save": "io.save",
    "score_labels": "comparison.labels",
    "screen": "quality.screening",
    "simulate": "simulation.collection",
    "simulate_checks": "quality.pass_chances",
    "spearman": "comparison.correlation",
    "study": "reporting.study",
    "tau_a": "comparison.correlation",
    "tau_ap": "comparison.correlation",
    "tau_b": "comparison.correlation",
    "tfidf": "content.vectors",
    "vote_by_vote": "budget.loop",
    "with_text": "content.similarity",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Nouns and verbs from their modules; methods, measures and rules from the registry."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"qrowd.{_HOMES[name]}"), name)
    if not name.startswith("_") and not find_spec(f"qrowd.{name}"):
        registered = _registered()
        if name in registered:
            return registered[name]
    raise AttributeError(f"module 'qrowd' has no attribute {name!r}")


def _registered() -> dict[str, Any]:
    """Classes of methods and rules by their names, measures by their ids."""
    registry = importlib.import_module("qrowd.registry")
    classes = [card.cls for kind in ("method", "rule") for card in registry.cards(kind).values()]
    measures = {id: card.cls() for id, card in registry.cards("measure").items()}
    return {cls.__name__: cls for cls in classes} | measures


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_registered()})
