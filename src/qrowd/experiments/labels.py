"""Merged labels against gold that was held out: cells, and figures with intervals over topics.

A cell is what an approach says of one pair of the gold, its gold not given. The figures of an
approach are those of all these pairs together; MAP and NDCG rank each topic's pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.comparison.labels import LabelScores, score_labels
from qrowd.data.arrays import Codes
from qrowd.data.given import NOTHING, Given
from qrowd.data.index import Pairs
from qrowd.data.qrels import Qrels, SoftQrels
from qrowd.data.scale import Scale
from qrowd.errors import UnknownNameError
from qrowd.experiments.material import Material
from qrowd.experiments.tasks import Columns, Task

if TYPE_CHECKING:
    from qrowd.experiments.run import Book

Table = dict[str, list[Any]]


def folds_of(gold: Qrels, folds: int, seed: int) -> Codes:
    """The part 1..folds of each pair of the gold: equally large, whatever the order of rows."""
    hashes = gold.pairs.hashes(np.arange(len(gold), dtype=np.int32), seed)
    place = np.empty(len(gold), np.int32)
    place[np.argsort(hashes, kind="stable")] = np.arange(len(gold), dtype=np.int32)
    return np.asarray(place % folds + 1, np.int32)


def label_cells(material: Material, task: Task) -> Columns:
    """A row for every pair of the gold that is held out in a task."""
    gold, labels = material.gold, material.plan.labels
    crowd = material.crowd.with_pool(gold.pairs)
    fold = folds_of(gold, labels.folds, labels.seed)
    held = (fold == task.fold) | (task.fold == 0)
    given = Given(gold=gold.select(~held)) if task.fold else NOTHING
    merged = material.plan.method(task.approach).fit(crowd, given)
    rows = gold.select(held)
    p = merged.posterior[merged.pairs.locate(rows.pairs)]
    columns: Columns = {
        "approach": np.full(len(rows), task.approach, object),
        "fold": fold[held].astype(np.int16),
        "topic": rows.pairs.topic_names,
        "doc": rows.pairs.document_names,
        "gold": rows.grade,
    }
    return columns | {f"p({grade})": p[:, code] for code, grade in enumerate(merged.scale.grades)}


@dataclass(frozen=True, eq=False)
class LabelResults:
    """The cells of a plan of labels."""

    book: Book
    frame: Any

    @classmethod
    def of(cls, book: Book) -> LabelResults:
        """The cells of a folder."""
        from qrowd.experiments.run import cells

        return cls(book, cells(book))

    @property
    def caption(self) -> str:
        """What the figures are, and what of the data is real."""
        plan = self.book.plan
        pairs, topics = self.frame.n_unique(["topic", "doc"]), self.frame["topic"].n_unique()
        return (
            f"{plan.experiment.name}: labels of {pairs} pairs of {topics} topics against gold, "
            f"each in one of {plan.labels.folds} parts whose gold was not given; +- is half the "
            f"95 % interval over topics; {plan.legend}{self.book.caption}"
        )

    @cached_property
    def scores(self) -> dict[str, LabelScores]:
        """The figures of every approach."""
        return {name: self._scores(name) for name in self.book.plan.grid.approaches}

    def _scores(self, approach: str) -> LabelScores:
        own = self.frame.filter(self.frame["approach"] == approach).sort("topic", "doc")
        names = [name for name in own.columns if name.startswith("p(")]
        scale = Scale(tuple(int(name[2:-1]) for name in names))
        pairs = Pairs.of(own["topic"].to_list(), own["doc"].to_list())
        said = SoftQrels(pairs, scale, own.select(names).to_numpy())
        gold = Qrels(pairs, own["gold"].to_numpy())
        return score_labels(said, gold, ties=self.book.plan.labels.ties)

    def table(self) -> Table:
        """A row for every approach and way to answer, two columns for every figure."""
        table: Table = {"approach": [], "answers": []}
        for approach, answers in self._rows():
            table["approach"].append(approach)
            table["answers"].append(answers)
            for name in self.book.plan.grid.statistics:
                scores, figure = self.scores[approach], self._figure(name, answers)
                low, high = scores.interval(figure)
                table.setdefault(name, []).append(scores[figure])
                table.setdefault(f"{name} +-", []).append((high - low) / 2)
        return table

    def against(self, baseline: str, statistic: str = "") -> Table:
        """Every approach less a baseline that answers likewise, with intervals."""
        grid = self.book.plan.grid
        statistic = statistic or grid.statistics[0]
        for what, name, known in (
            ("approach", baseline, grid.approaches),
            ("statistic", statistic, grid.statistics),
        ):
            if name not in known:
                raise UnknownNameError.among(f"{what} of this plan", name, known)
        rows = [row for row in self._rows() if row[0] != baseline]
        found = [
            self.scores[name].less(self.scores[baseline], self._figure(statistic, answers))
            for name, answers in rows
        ]
        return {
            "approach": [name for name, _ in rows],
            "answers": [answers for _, answers in rows],
            f"less {baseline}": [one[0] for one in found],
            "low": [one[1] for one in found],
            "high": [one[2] for one in found],
        }

    def _rows(self) -> list[tuple[str, str]]:
        plan = self.book.plan
        return [(name, answers) for name in plan.grid.approaches for answers in plan.labels.answers]

    def _figure(self, statistic: str, answers: str) -> str:
        """Rankings and losses are of probabilities, whichever way labels are answered."""
        name = f"fractional_{statistic}"
        known = next(iter(self.scores.values())).overall
        return name if answers == "fractional" and name in known else statistic
