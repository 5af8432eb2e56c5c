"""qrowd: from the disagreeing judgements of many to relevance, and scores, that can be trusted.

Nothing heavy is imported before it is used. Editors and type checkers read `__init__.pyi`, which
`python docs/stub.py` writes: run it after a change of `_NAMES`, or after a new method.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

__version__ = "0.1.0"

_NAMES = {
    "aggregation.correction": "correct uniform_scores",
    "aggregation.fusion": "fuse",
    "aggregation.revision": "inform recalibrate",
    "aggregation.run_scores": "judges",
    "aggregation.verbs": "evaluate merge",
    "asking.probes": "Probes read_probes",
    "budget.curves": "Curves",
    "budget.loop": "Loop vote_by_vote",
    "budget.sampling_design": "sample",
    "budget.couples": "Couples couples",
    "budget.decisions": "Decisions decisions",
    "budget.adjudication": "adjudicated adjudication_table contested gold_hash",
    "budget.worklist": "Worklist contradictions undecided",
    "budget.votes": "expected_majority gold_minus_majority",
    "comparison.anova": "Anova anova",
    "comparison.baseline": "Contrast against",
    "comparison.compare": "Comparison compare",
    "comparison.correlation": (
        "max_drop places rbo rbo_lists rmse spearman tau_a tau_ap tau_b tau_p"
    ),
    "comparison.intervals": "Intervals intervals",
    "comparison.label_measures": "Calibration",
    "comparison.labels": "LabelScores score_labels",
    "comparison.pooling": "Reusability Unjudged leave_out_runs unjudged",
    "comparison.prediction_powered": "Corrected ppi_mean rogan_gladen",
    "comparison.significance": "corrected holm paired_test",
    "comparison.teams": "score_teams",
    "comparison.systems": "SystemComparison compare_systems",
    "content.hypothesis": "ClusterTest cluster_test",
    "content.similarity": "with_text",
    "content.vectors": "Vectors tfidf",
    "data.consensus": "Consensus",
    "data.documents": "Documents",
    "data.features": "Features",
    "data.given": "Given Merger NOTHING OrderMerger ScoreMerger",
    "data.index": "Index Pairs",
    "data.judgements": "Judgements",
    "data.merged": "AssessorTable Fit Merged",
    "data.orders": "Orders",
    "data.provenance": "Provenance",
    "data.qrels": "Qrels QrelsSet SoftQrels SoftQrelsSet",
    "data.runs": "RunSet",
    "data.sample": "Choice Sample sample_of",
    "data.scale": "Scale",
    "data.scores": "Scores",
    "data.topics": "Topics",
    "evaluation.engine": "random_scores",
    "evaluation.measure": "Measure parse_measure",
    "io.export": "convert",
    "io.documents": "read_documents read_vectors",
    "io.judgements": "read_assessors read_features read_judgements",
    "io.orders": "read_orders",
    "io.people": "read_people",
    "io.qrels": "read_choice read_decisions read_drawn read_pairs read_probabilities read_qrels "
    "read_sample read_subtopics read_teams",
    "io.release": "Release read_release",
    "io.runs": "read_groups read_runs read_scores",
    "io.save": "save",
    "io.topics": "read_topics",
    "quality.agreement": "agreement krippendorff_alpha pair_agreement",
    "quality.assessors": "assessors",
    "quality.consensus": "gain_by_topic",
    "quality.detection": "Detection",
    "quality.independence": "Independence cohen independence",
    "quality.pass_chances": "simulate_checks",
    "quality.rankings": "order_agreement order_checks",
    "quality.people": "Quantity groups quantity",
    "quality.screening": "Screened screen",
    "registry": "get measure method param rule",
    "reporting.parts": "Report",
    "reporting.report": "report",
    "reporting.study": "Study study",
    "simulation.collection": "Collection simulate",
    "simulation.setting": "Setting",
}
_HOMES = dict(sorted((name, home) for home, names in _NAMES.items() for name in names.split()))

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
