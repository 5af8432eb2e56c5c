from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import qrowd as q
from qrowd.data.arrays import Floats
from qrowd.data.index import Index

TrecEval = Callable[..., Floats]


@dataclass(frozen=True)
class Collection:
    """Runs and qrels, as nouns and as the dictionaries of trec_eval's Python face."""

    runs: q.RunSet
    qrels: q.Qrels
    run_dicts: dict[str, dict[str, dict[str, float]]]
    qrel_dicts: dict[str, dict[str, int]]


def dicts_of_qrels(qrels: q.Qrels) -> dict[str, dict[str, int]]:
    result: dict[str, dict[str, int]] = {}
    pairs = qrels.pairs
    for topic, document, grade in zip(
        pairs.topic_names, pairs.document_names, qrels.grade.tolist(), strict=True
    ):
        result.setdefault(topic, {})[document] = grade
    return result


def dicts_of_runs(runs: q.RunSet) -> dict[str, dict[str, dict[str, float]]]:
    result: dict[str, dict[str, dict[str, float]]] = {name: {} for name in runs.runs}
    for topic, topic_name in enumerate(runs.topics):
        for run, run_name in enumerate(runs.runs):
            cell = topic * len(runs) + run
            rows = slice(runs.starts[cell], runs.starts[cell + 1])
            names = runs.documents.names[runs.document[rows]]
            if len(names):
                scored = dict(zip(names, runs.score[rows].tolist(), strict=True))
                result[run_name][topic_name] = scored
    return result


def make_collection(
    seed: int = 0, *, topics: int = 7, grades: tuple[int, ...] = (-2, -1, 0, 0, 0, 0, 1, 1, 2, 3)
) -> Collection:
    """Runs with ties (also ties that only float32 has), missing topics, negative grades."""
    random = np.random.default_rng(seed)
    rows: list[tuple[str, str, str, float]] = []
    judged: list[tuple[str, str, int]] = []
    for topic in range(topics):
        names = [f"D{number:03d}" for number in random.permutation(400)]
        pool = names[:120] if topic else names[:1]  # one judged document on the first topic
        judged += [(f"t{topic}", name, int(random.choice(grades))) for name in pool[1:]]
        judged += [(f"t{topic}", pool[0], 1)]  # trec_eval's Python face crashes on negatives alone
        for run in range(6):
            if random.random() < 0.15:
                continue
            ranked = random.permutation(names)[: int(random.integers(1, 250))]
            scores = np.round(random.normal(size=len(ranked)), 1) + 1e-9 * random.random(
                len(ranked)
            )
            rows += [
                (f"r{run}", f"t{topic}", name, score)
                for name, score in zip(ranked, scores.tolist(), strict=True)
            ]
    rows += [("r0", "unjudged", "D001", 1.0)]
    judged += [("only-judged", "D001", 1), ("no-relevant", "D001", 0)]
    runs = q.RunSet.of(*map(list, zip(*rows, strict=True)))
    qrels = q.Qrels.of(*map(list, zip(*judged, strict=True)))
    return Collection(runs, qrels, dicts_of_runs(runs), dicts_of_qrels(qrels))


@pytest.fixture(scope="session")
def made() -> Collection:
    return make_collection()


@pytest.fixture(scope="session")
def trec_eval() -> TrecEval:
    """values[topics, runs] by trec_eval; 0 where a run lacks a topic."""
    pytrec_eval = pytest.importorskip("pytrec_eval")

    def score(case: Collection, name: str, topics: Index, **options: int) -> Floats:
        base = name.rsplit("_", 1)[0] if name[-1].isdigit() else name
        family = f"{base}.{name.rsplit('_', 1)[1]}" if name[-1].isdigit() else name
        evaluator = pytrec_eval.RelevanceEvaluator(case.qrel_dicts, {family}, **options)
        values = np.zeros((len(topics), len(case.runs)))
        for run, run_name in enumerate(case.runs.runs):
            found = evaluator.evaluate(case.run_dicts[run_name])
            for topic, topic_name in enumerate(topics):
                values[topic, run] = found.get(topic_name, {}).get(name, 0.0)
        return values

    return score
