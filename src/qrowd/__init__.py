"""qrowd: from the disagreeing judgements of many to relevance, and scores, that can be trusted."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qrowd.aggregation.informing import inform as inform
    from qrowd.aggregation.recalibrating import recalibrate as recalibrate
    from qrowd.comparison.anova import Anova as Anova
    from qrowd.comparison.anova import anova as anova
    from qrowd.comparison.calibration import Calibration as Calibration
    from qrowd.comparison.compare import Comparison as Comparison
    from qrowd.comparison.compare import compare as compare
    from qrowd.comparison.correlation import places as places
    from qrowd.comparison.correlation import rbo as rbo
    from qrowd.comparison.correlation import spearman as spearman
    from qrowd.comparison.correlation import tau_a as tau_a
    from qrowd.comparison.correlation import tau_ap as tau_ap
    from qrowd.comparison.correlation import tau_b as tau_b
    from qrowd.comparison.distance import max_drop as max_drop
    from qrowd.comparison.distance import rmse as rmse
    from qrowd.comparison.intervals import Intervals as Intervals
    from qrowd.comparison.intervals import intervals as intervals
    from qrowd.comparison.labels import LabelScores as LabelScores
    from qrowd.comparison.labels import score_labels as score_labels
    from qrowd.comparison.significance import holm as holm
    from qrowd.comparison.significance import paired_test as paired_test
    from qrowd.data.documents import Documents as Documents
    from qrowd.data.given import NOTHING as NOTHING
    from qrowd.data.given import Given as Given
    from qrowd.data.given import Merger as Merger
    from qrowd.data.given import ScoreMerger as ScoreMerger
    from qrowd.data.index import Index as Index
    from qrowd.data.index import Pairs as Pairs
    from qrowd.data.judgements import Judgements as Judgements
    from qrowd.data.merged import AssessorTable as AssessorTable
    from qrowd.data.merged import Fit as Fit
    from qrowd.data.merged import Merged as Merged
    from qrowd.data.qrels import Qrels as Qrels
    from qrowd.data.qrels import QrelsSet as QrelsSet
    from qrowd.data.qrels import SoftQrels as SoftQrels
    from qrowd.data.qrels import SoftQrelsSet as SoftQrelsSet
    from qrowd.data.runs import RunSet as RunSet
    from qrowd.data.scale import Scale as Scale
    from qrowd.data.scores import Scores as Scores
    from qrowd.data.topics import Topics as Topics
    from qrowd.evaluation.engine import evaluate as evaluate
    from qrowd.evaluation.measure import Measure as Measure
    from qrowd.evaluation.random_assessors import random_scores as random_scores
    from qrowd.io.assessors import read_assessors as read_assessors
    from qrowd.io.documents import read_documents as read_documents
    from qrowd.io.judgements import read_judgements as read_judgements
    from qrowd.io.probabilities import read_probabilities as read_probabilities
    from qrowd.io.qrels import read_pairs as read_pairs
    from qrowd.io.qrels import read_qrels as read_qrels
    from qrowd.io.runs import read_runs as read_runs
    from qrowd.io.save import save as save
    from qrowd.io.scores import read_scores as read_scores
    from qrowd.io.topics import read_topics as read_topics
    from qrowd.quality.agreement import agreement as agreement
    from qrowd.quality.agreement import krippendorff_alpha as krippendorff_alpha
    from qrowd.quality.assessing import assessors as assessors
    from qrowd.quality.couples import cohen as cohen
    from qrowd.quality.operating import simulate_checks as simulate_checks
    from qrowd.quality.screening import Screened as Screened
    from qrowd.quality.screening import screen as screen
    from qrowd.registry import get as get
    from qrowd.registry import measure as measure
    from qrowd.registry import method as method
    from qrowd.registry import param as param
    from qrowd.registry import rule as rule
    from qrowd.reporting.page import Report as Report
    from qrowd.reporting.report import report as report
    from qrowd.reporting.study import Study as Study
    from qrowd.reporting.study import study as study
    from qrowd.simulation.collection import Collection as Collection
    from qrowd.simulation.collection import simulate as simulate
    from qrowd.simulation.setting import Setting as Setting

__version__ = "0.1.0"

_HOMES = {
    "Anova": "comparison.anova",
    "AssessorTable": "data.merged",
    "Calibration": "comparison.calibration",
    "Collection": "simulation.collection",
    "Comparison": "comparison.compare",
    "Documents": "data.documents",
    "Fit": "data.merged",
    "Given": "data.given",
    "Index": "data.index",
    "Intervals": "comparison.intervals",
    "Judgements": "data.judgements",
    "LabelScores": "comparison.labels",
    "Measure": "evaluation.measure",
    "Merged": "data.merged",
    "Merger": "data.given",
    "NOTHING": "data.given",
    "Pairs": "data.index",
    "Qrels": "data.qrels",
    "QrelsSet": "data.qrels",
    "Report": "reporting.page",
    "RunSet": "data.runs",
    "Scale": "data.scale",
    "ScoreMerger": "data.given",
    "Scores": "data.scores",
    "Screened": "quality.screening",
    "Setting": "simulation.setting",
    "SoftQrels": "data.qrels",
    "SoftQrelsSet": "data.qrels",
    "Study": "reporting.study",
    "Topics": "data.topics",
    "agreement": "quality.agreement",
    "anova": "comparison.anova",
    "assessors": "quality.assessing",
    "cohen": "quality.couples",
    "compare": "comparison.compare",
    "evaluate": "evaluation.engine",
    "get": "registry",
    "holm": "comparison.significance",
    "inform": "aggregation.informing",
    "intervals": "comparison.intervals",
    "krippendorff_alpha": "quality.agreement",
    "max_drop": "comparison.distance",
    "measure": "registry",
    "method": "registry",
    "paired_test": "comparison.significance",
    "param": "registry",
    "places": "comparison.correlation",
    "random_scores": "evaluation.random_assessors",
    "rbo": "comparison.correlation",
    "read_assessors": "io.assessors",
    "read_documents": "io.documents",
    "read_judgements": "io.judgements",
    "read_pairs": "io.qrels",
    "read_probabilities": "io.probabilities",
    "read_qrels": "io.qrels",
    "read_runs": "io.runs",
    "read_scores": "io.scores",
    "read_topics": "io.topics",
    "recalibrate": "aggregation.recalibrating",
    "report": "reporting.report",
    "rmse": "comparison.distance",
    "rule": "registry",
    "save": "io.save",
    "score_labels": "comparison.labels",
    "screen": "quality.screening",
    "simulate": "simulation.collection",
    "simulate_checks": "quality.operating",
    "spearman": "comparison.correlation",
    "study": "reporting.study",
    "tau_a": "comparison.correlation",
    "tau_ap": "comparison.correlation",
    "tau_b": "comparison.correlation",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Nouns and verbs from their modules; methods, measures and rules from the registry."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"qrowd.{_HOMES[name]}"), name)
    if not name.startswith("_") and not find_spec(f"qrowd.{name}"):
        registry = importlib.import_module("qrowd.registry")
        for kind in ("method", "rule"):
            for card in registry.cards(kind).values():
                if card.cls.__name__ == name:
                    return card.cls
        measures = registry.cards("measure")
        if name in measures:
            return measures[name].cls()
    raise AttributeError(f"module 'qrowd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
