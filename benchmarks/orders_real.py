"""Real ranks: nDCG and AP of the consensus against NIST's gold, labels alone and with ranks.

python -m benchmarks.orders_real

`trec11_teams`: labels (from 0.5 on relevant) and ranks within sets of five of two teams.
`uc3m_2011`: one team's workers; in runs 2 and 3 their sliders are ranks, and labels from 50 on.
Intervals are bootstrap intervals over topics (95 %) of the difference to labels alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import qrowd as q
from benchmarks._benchmark import Table, run
from benchmarks._data import folder


@dataclass(frozen=True)
class Options:
    topics: int = 1000  # at most, of each data set
    resamples: int = 10_000


SHORT = Options(topics=3, resamples=100)


def teams() -> tuple[q.Judgements, q.Orders]:
    """Labels and ranks of teams 3 and 4."""
    rows = pl.read_csv(folder("trec11_teams") / "labels.tsv.gz", separator="\t", infer_schema=False)
    rows = rows.filter(pl.col("rank").is_not_null() & (pl.col("rank") != ""))
    topics, documents, assessors = (rows[name].to_list() for name in ("topic", "doc", "team"))
    grades = (rows["label"].cast(pl.Float64) >= 0.5).cast(pl.Int8).to_numpy()
    places = rows["rank"].cast(pl.Int64).to_numpy()
    orders = q.Orders.of(topics, documents, assessors, places, rows["set"].to_list())
    return q.Judgements.of(topics, documents, assessors, grades), orders


def workers() -> tuple[q.Judgements, q.Orders]:
    """Labels and sliders of runs 2 and 3, accepted answers."""
    rows = pl.read_csv(folder("uc3m_2011") / "answers.tsv.gz", separator="\t", infer_schema=False)
    rows = rows.filter(pl.col("run").is_in(["2", "3"]) & (pl.col("status") == "Accepted"))
    rows = rows.filter(pl.col("value").cast(pl.Float64, strict=False).is_not_null())
    sets = (rows["run"] + "-" + rows["set"] + "-" + rows["visit"]).to_list()
    topics, documents, assessors = (rows[name].to_list() for name in ("topic", "doc", "assessor"))
    value = rows["value"].cast(pl.Float64).to_numpy()
    judgements = q.Judgements.of(topics, documents, assessors, (value >= 50).astype(np.int8))
    return judgements, q.Orders.of_values(topics, documents, assessors, value, sets)


def scored(consensus: Any, gold: q.Qrels) -> np.ndarray:
    """[measure, topic] of a consensus over the documents that have gold."""
    pairs = consensus.pairs
    known = gold.pairs.locate(pairs) >= 0
    run = q.RunSet.of(
        ["r"] * int(known.sum()),
        pairs.topic_names[known].tolist(),
        pairs.document_names[known].tolist(),
        -np.asarray(consensus.ranks(), float)[known],
    )
    return np.asarray(q.evaluate(run, gold, [q.nDCG, q.AP]).values[:, 0, :, 0])


def main(options: Options) -> None:
    """Both data sets."""
    gold = q.read_qrels(folder("trec11_crowd_task1") / "gold.qrels.gz")
    data = {"trec11_teams": teams(), "uc3m_2011": workers()}
    columns = ("data", "method", "nDCG", "nDCG, difference", "AP", "AP, difference")
    table = Table(*columns, optional=("nDCG, difference", "AP, difference"))
    for name, (judgements, orders) in data.items():
        shared = gold.topics.intersection(judgements.topics)
        own = q.Qrels(gold.pairs, gold.grade)[q.Index(shared.names[: options.topics])]
        given = q.Given(judgements=judgements)
        none = q.Orders.none(judgements.pairs, judgements.assessors)
        labels = scored(q.GaussRank().fit(none, given), own)
        fits = {
            "gauss-rank, labels alone": labels,
            "gauss-rank, labels and ranks": scored(q.GaussRank().fit(orders, given), own),
            "gauss-rank, ranks alone": scored(q.GaussRank().fit(orders), own),
            "borda (ranks)": scored(q.Borda().fit(orders), own),
            "plackett-luce (ranks)": scored(q.PlackettLuce().fit(orders), own),
            "crowd-bt (ranks)": scored(q.CrowdBT().fit(orders), own),
        }
        for method, values in fits.items():
            cells = []
            for measured, base in zip(values, labels, strict=True):
                difference = _difference(measured - base, options.resamples)
                cells += [f"{np.nanmean(measured):.4f}", difference]
            table.row(name, method, *cells)


def _difference(each: np.ndarray, resamples: int) -> str:
    if not np.nanmax(np.abs(each)):
        return ""
    random = np.random.default_rng(0)
    known = each[~np.isnan(each)]
    means = known[random.integers(0, len(known), (resamples, len(known)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{known.mean():+.4f} [{low:+.4f}, {high:+.4f}]"


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
