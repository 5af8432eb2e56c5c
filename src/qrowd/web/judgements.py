"""A campaign's judgements as the library reads them, and the methods that merge them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import qrowd as q
from qrowd.collection.judging import gold as gold_sets
from qrowd.collection.publishing.datasheet import Figures
from qrowd.collection.publishing.export import export
from qrowd.errors import RuleError
from qrowd.evaluation.measure import measures_of
from qrowd.web.files import CampaignFiles

if TYPE_CHECKING:
    import polars as pl

DRAWS = 300
MEASURES = ("AP", "nDCG@10")


@dataclass(frozen=True)
class Snapshot:
    """What a campaign has so far: judgements that count, and the experts' grades."""

    judgements: q.Judgements
    gold: q.Qrels | None
    relevant_from: int
    #: answers to check questions
    checks: q.Judgements | None
    #: the experts' grades of check questions, and `gold`
    truth: q.Qrels | None
    #: judgements and checks
    together: q.Judgements

    def given(self) -> q.Given:
        """What methods may know beside the judgements."""
        return q.NOTHING if self.gold is None else q.Given(gold=self.gold)


def snapshot(files: CampaignFiles, *, checks: bool = False) -> Snapshot:
    """The campaign as it is now; with `checks`, answers to check questions too."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with files.read() as work:
            rows = {file.name: file.rows for file in export(work, folder)}
            grades = work.plan.scale
            check_grades = gold_sets.named_grades(work) if checks else {}
        if not rows["judgements.tsv"]:
            message = "there are no judgements yet"
            if rows["orders.tsv"]:
                message = "there are orders only: export them, then `qrowd rank METHOD orders.tsv`"
            raise RuleError("no-judgements", message)
        gold = q.read_qrels(folder / "gold.qrels") if rows["gold.qrels"] else None
        judgements = q.read_judgements(folder / "judgements.tsv", scale=grades.scale)
        answers = None
        if check_grades and rows["controls.tsv"]:
            answers = _check_answers(folder / "controls.tsv")
        if answers is None or not len(answers):
            return Snapshot(judgements, gold, grades.relevant_from, None, gold, judgements)
        together = _frame(folder / "judgements.tsv").vstack(answers)
        return Snapshot(
            judgements,
            gold,
            grades.relevant_from,
            checks=q.read_judgements(answers, scale=grades.scale),
            truth=qrels_of({**check_grades, **grades_of(gold)}),
            together=q.read_judgements(together, scale=grades.scale),
        )


def _check_answers(path: Path) -> pl.DataFrame:
    """The first answer of each assessor to each check question."""
    import polars as pl

    rows = _frame(path).filter(pl.col("kind").is_in(["gold", "qualification"]))
    rows = rows.with_columns(kind=pl.lit("person"))  # who alone gets such questions
    return rows.unique(["topic", "doc", "assessor"], keep="first", maintain_order=True)


def _frame(path: Path) -> pl.DataFrame:
    import polars as pl

    names = dict.fromkeys(("topic", "doc", "assessor"), pl.String)
    numbers = {"grade": pl.Int64, "seconds": pl.Float64, "time": pl.Int64}
    return pl.read_csv(path, separator="\t", schema_overrides={**names, **numbers}, quote_char=None)


def qrels_of(grades: Mapping[tuple[str, str], int]) -> q.Qrels:
    """Qrels of (topic, document) -> grade; at least one."""
    topics, documents = zip(*grades, strict=True)
    return q.Qrels.of(topics, documents, list(grades.values()))


def grades_of(qrels: q.Qrels | None) -> dict[tuple[str, str], int]:
    """(topic, document) -> grade."""
    if qrels is None:
        return {}
    names = zip(qrels.pairs.topic_names, qrels.pairs.document_names, strict=True)
    return dict(zip(names, qrels.grade.tolist(), strict=True))


def merger_of(spec: str) -> q.Merger:
    """The merging method of a spec string."""
    method = q.get(spec)
    if method.card.level != "judgements":
        raise RuleError("bad-value", f"{spec} does not merge judgements")
    merger: q.Merger = method
    return merger


def merged(files: CampaignFiles, spec: str) -> tuple[Snapshot, q.Merged]:
    """The campaign as it is now, and its judgements merged by a method."""
    taken = snapshot(files)
    return taken, merger_of(spec).fit(taken.judgements, taken.given())


def chosen_by(belief: q.Merged) -> str:
    """What a method that chooses another one (`auto`) chose; "" for all others."""
    sign = "chosen: "
    notes = (str(note) for note in belief.fit.notes)
    return next((note.removeprefix(sign) for note in notes if note.startswith(sign)), "")


def figures_of(spec: str, measures: Sequence[str] = ()) -> Figures:
    """How a campaign's figures are made, for its release."""
    method = merger_of(spec)
    names = tuple(repr(measure) for measure in measures_of(measures or MEASURES))
    return Figures(merge=method, method=repr(method), measures=names, draws=DRAWS)
