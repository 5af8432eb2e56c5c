"""Labels of several teams against one gold: a row each, and their mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qrowd.comparison.labels import score_labels
from qrowd.data.index import Index
from qrowd.data.qrels import Qrels, TeamLabels
from qrowd.data.runs import RunSet
from qrowd.errors import InputError
from qrowd.evaluation.engine import evaluate

FIGURES = ("accuracy", "recall", "precision", "specificity", "f1", "log_loss", "rmse")
MEAN = "mean"


def score_teams(teams: Mapping[str, TeamLabels], gold: Qrels) -> list[dict[str, Any]]:
    """A row for every team with its figures, and a last one with the mean of each.

    Labels between 0 and 1 count as parts of an answer in the figures `fractional ...`; the others
    take the likelier one, and a label of .5 is not relevant. `map` and `ndcg` are of a team's own
    rankings, where it has them, else of each topic's documents by their labels. A team without a
    label on any pair of the gold has no figures, and is not in the mean.
    """
    rows = []
    nothing = [
        name for name, team in teams.items() if (team.labels.pairs.locate(gold.pairs) < 0).all()
    ]
    if len(nothing) == len(teams):
        raise InputError("no team has a label on any pair of the gold: do the names of both match?")
    for name, team in teams.items():
        if name in nothing:
            continue
        scores = score_labels(team.labels, gold, ties="nonrelevant")
        row: dict[str, Any] = {"team": name, "pairs": len(scores)}
        row |= {figure: scores[figure] for figure in FIGURES}
        row |= {f"fractional {each}": scores[f"fractional_{each}"] for each in FIGURES[:4]}
        own = team.rank is not None
        row["map"], row["ndcg"] = _ranked(team, gold) if own else (scores["map"], scores["ndcg"])
        row["ranks"] = "own" if own else "by label"
        rows.append(row)
    figures = [name for name in rows[0] if name not in ("team", "ranks")]
    means = dict.fromkeys(figures, float("nan"))
    for figure in figures:
        known = [row[figure] for row in rows if not np.isnan(row[figure])]
        if known:
            means[figure] = float(np.mean(known))
    empty = [
        {"team": name, "pairs": 0, **dict.fromkeys(figures[1:], float("nan")), "ranks": ""}
        for name in nothing
    ]
    return [*rows, *empty, {"team": MEAN, **means, "ranks": ""}]


def _ranked(team: TeamLabels, gold: Qrels) -> tuple[float, float]:
    """The mean AP and nDCG of a team's own rankings that have something relevant; not a number
    where none has.
    """
    assert team.ranking is not None
    assert team.rank is not None
    pairs = team.labels.pairs
    at = gold.pairs.locate(pairs)
    known = np.flatnonzero((at >= 0) & ~np.isnan(team.rank))
    names = [f"{pairs.topic_names[row]}/{team.ranking[row]}" for row in known]
    documents = pairs.document_names[known]
    judged = Qrels.of(names, documents, gold.grade[at[known]])
    useful = {
        topic
        for topic, grade in zip(judged.pairs.topic_names, judged.grade, strict=True)
        if grade > 0
    }
    if not useful:
        return float("nan"), float("nan")
    run = RunSet.of(["team"] * len(known), names, documents, -team.rank[known])
    topics = Index.of(sorted(useful))
    values = evaluate(run, judged, ["AP", "nDCG"])[topics].values[:, 0, :, 0]
    return float(values[0].mean()), float(values[1].mean())
