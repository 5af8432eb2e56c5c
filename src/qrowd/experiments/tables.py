"""The tables of the papers: figures by panel size, agreement with gold, significance."""

from __future__ import annotations

import numpy as np

from qrowd.comparison.significance import holm, paired_t
from qrowd.data.arrays import Floats
from qrowd.evaluation.engine import evaluate
from qrowd.experiments.material import Material
from qrowd.experiments.results import Results, Table, jackknifed
from qrowd.simulation.trec21 import retrieved_share


def by_size(results: Results) -> Table:
    """A row per gold, measure and approach (and run set), a column per panel size."""
    plan = results.book.plan
    rows = [
        name
        for name in ("runs", "gold", "measure", "approach")
        if name == "approach" or results.frame[name].n_unique() > 1
    ]
    found = results.means([*rows, "size"]).pivot("size", index=rows, values=results.statistic)
    ordered = found.select([*rows, *map(str, plan.panels.sizes)])
    return {name: ordered[name].to_list() for name in ordered.columns}


def agreement(material: Material, depth: int = 20) -> Table:
    """The share of pairs on which each assessor agrees with gold, by topic (Piazzon 2019, 5.3).

    Over the documents that some run has among its first `depth`; pairs that the assessor judged.
    """
    gold, crowd = material.gold, material.crowd
    shares = [retrieved_share(gold, runs, depth) for runs in material.runs.values()]
    seen = np.max(shares, axis=0) > 0
    at = gold.pairs.locate(crowd.pairs)[crowd.pair]
    counted = (at >= 0) & seen[np.maximum(at, 0)]
    topic = gold.pairs.topic[at[counted]].astype(np.int64)
    cell = topic * len(crowd.assessors) + crowd.assessor[counted]
    shape = (len(gold.topics), len(crowd.assessors))
    relevant = np.array(crowd.scale.grades)[crowd.grade[counted]] >= crowd.scale.relevant_from
    right = relevant == (gold.grade[at[counted]] > 0)
    total = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    agreed = np.bincount(cell, right, shape[0] * shape[1]).reshape(shape)
    share = np.divide(agreed, total, out=np.full(shape, np.nan), where=total > 0)
    columns: Table = {"assessor": list(crowd.assessors)}
    columns |= {name: share[row].tolist() for row, name in enumerate(gold.topics)}
    return columns | {"mean": np.nanmean(share, axis=0).tolist()}


def significance(material: Material, level: float = 0.05) -> Table:
    """How many differences between runs are significant under gold as it is, and as random.

    Paired t-tests over topics of all pairs of runs, as they are and by Holm; `kept` are the pairs
    that are significant under both kinds of gold, `turned` those whose sign differs (both Holm).
    `more` is the share of pairs that only random gold adds, less those it loses, with its interval:
    all tests again without each topic in turn.
    """
    grid = material.plan.grid
    blurred = material.gold.soft(grid.p_rel, grid.p_nonrel)
    columns = (
        "runs",
        "measure",
        "pairs",
        "certain",
        "random",
        "more",
        "low",
        "high",
        "certain Holm",
        "random Holm",
        "kept",
        "turned",
    )
    table: Table = {name: [] for name in columns}
    for name, runs in material.runs.items():
        hard = evaluate(runs, material.gold, material.measures).values[:, 0]
        soft = evaluate(runs, blurred, material.measures).values[:, 0]
        for measure, *both in zip(material.measures, hard, soft, strict=True):
            row = (name, measure, *_significant(both[0], both[1], level))
            for key, value in zip(table, row, strict=True):
                table[key].append(value)
    return table


def _significant(certain: Floats, random: Floats, level: float) -> list[float]:
    """The counts of `significance`, of two kinds of values[topic, run]."""
    sides = [_pairwise(values) for values in (certain, random)]
    plain = [int((p < level).sum()) for _, p in sides]
    strict = [holm(p) < level for _, p in sides]
    both = strict[0] & strict[1]
    turned = both & (np.sign(sides[0][0]) != np.sign(sides[1][0]))
    pairs = len(both)
    left = [
        _more(np.delete(certain, at, 0), np.delete(random, at, 0), level)
        for at in range(len(certain))
    ]
    more = jackknifed((plain[1] - plain[0]) / pairs, np.array(left))
    return [pairs, *plain, *more, *(int(one.sum()) for one in (*strict, both, turned))]


def _more(certain: Floats, random: Floats, level: float) -> float:
    counts = [(_pairwise(values)[1] < level).mean() for values in (certain, random)]
    return float(counts[1] - counts[0])


def _pairwise(values: Floats) -> tuple[Floats, Floats]:
    """Mean difference and p of the paired t-test of every pair of runs, of values[topic, run]."""
    first, second = np.triu_indices(values.shape[1], 1)
    differences = (values[:, first] - values[:, second]).T
    return differences.mean(axis=1), paired_t(differences)
