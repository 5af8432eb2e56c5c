"""Every measure of trec_eval on all runs of two real collections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qrowd as q
from qrowd.data.arrays import Floats

SAME = {
    "AP": "map",
    "AP@100": "map_cut_100",
    "P@10": "P_10",
    "R@100": "recall_100",
    "RR": "recip_rank",
    "Rprec": "Rprec",
    "Bpref": "bpref",
    "infAP": "infAP",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg_cut_10",
    "nDCG@20": "ndcg_cut_20",
}
SETS = {"trec8_t21": "nist.qrels.gz", "dl21": "gold.qrels.gz"}


def trec_eval_of(runs: q.RunSet, qrels: q.Qrels, topics: Any, level: int) -> Floats:
    """values[measures, topics, runs] by trec_eval."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    judged: dict[str, dict[str, int]] = {name: {} for name in topics}
    pairs = qrels.pairs
    for topic, document, grade in zip(
        pairs.topic_names, pairs.document_names, qrels.grade.tolist(), strict=True
    ):
        judged[topic][document] = grade
    families = {"map", "map_cut.100", "P.10", "recall.100", "recip_rank", "Rprec", "bpref"}
    families |= {"infAP", "ndcg", "ndcg_cut.10,20"}
    evaluator = pytrec_eval.RelevanceEvaluator(judged, families, relevance_level=level)
    values = np.zeros((len(SAME), len(topics), len(runs)))
    for run in range(len(runs)):
        found = evaluator.evaluate(dict_of_run(runs, run))
        for topic, name in enumerate(topics):
            for at, measure in enumerate(SAME.values()):
                values[at, topic, run] = found.get(name, {}).get(measure, 0.0)
    return values


def dict_of_run(runs: q.RunSet, run: int) -> dict[str, dict[str, float]]:
    result = {}
    for topic, name in enumerate(runs.topics):
        cell = topic * len(runs) + run
        rows = slice(runs.starts[cell], runs.starts[cell + 1])
        documents = runs.documents.names[runs.document[rows]]
        if len(documents):
            result[name] = dict(zip(documents, runs.score[rows].tolist(), strict=True))
    return result


@pytest.mark.parametrize("folder", SETS)
@pytest.mark.parametrize("level", [1, 2])
def test_all_runs_equal_trec_eval(folder: str, level: int, real_data: Path) -> None:
    if folder == "trec8_t21" and level == 2:
        pytest.skip("trec8_t21 has no grade 2")
    runs = q.read_runs(str(real_data / folder / "runs" / "*.gz"))
    qrels = q.read_qrels(real_data / folder / SETS[folder])
    levelled = [q.get(name, "measure") for name in SAME]
    measures = [m(rel=level) if hasattr(m, "rel") else m for m in levelled]
    scores = q.evaluate(runs, qrels, measures)
    expected = trec_eval_of(runs, qrels, scores.topics, level)
    np.testing.assert_allclose(scores.values[:, 0], expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(printed(scores.values[:, 0]), printed(expected))
    np.testing.assert_array_equal(printed(scores.means()[:, 0]), printed(expected.mean(axis=1)))


def printed(values: Floats) -> Any:
    return np.char.mod("%.4f", values)
