"""A campaign as the library reads it: judgements that count, and all that tells how good they are.

The live pages and a release are made from the same: what is said of one is said of the other.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import or_, select

from qrowd.collection.adjudication import expert_sample
from qrowd.collection.database.schema import assignment, worker
from qrowd.collection.database.states import VALID
from qrowd.collection.database.store import Work
from qrowd.collection.judging.gold import named_grades
from qrowd.collection.publishing.export import assessor_names, export, read_exported
from qrowd.data.collected import Collected, qrels_of
from qrowd.errors import RuleError
from qrowd.io.judgements import read_judgements
from qrowd.io.qrels import read_qrels

if TYPE_CHECKING:
    import polars as pl

CHECKS = ("gold", "qualification")
_GIVEN_BACK = ("returned", "expired")  # by the worker, or by time


def collected(work: Work) -> Collected:
    """The campaign as it is now."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = {file.name: file.rows for file in export(work, folder)}
        if not rows["judgements.tsv"]:
            message = "there are no judgements yet"
            if rows["orders.tsv"]:
                message = "there are orders only: export them, then `qrowd rank METHOD orders.tsv`"
            raise RuleError("no-judgements", message)
        scale, answers = work.plan.scale.scale, check_answers(work, folder)
        key = check_grades(work, folder)
        return Collected(
            judgements=read_exported(folder, work.plan),
            gold=read_qrels(folder / "gold.qrels") if rows["gold.qrels"] else None,
            answers=read_judgements(answers, scale=scale) if len(answers) else None,
            key=qrels_of(key) if key else None,
            sample=expert_sample.error_rate(work),
        )


def check_answers(work: Work, folder: Path) -> pl.DataFrame:
    """The first answer of each assessor to each check question, of an export in `folder`.

    Whether or not the batch counts: what counts was chosen by these answers. Left out is who has
    given back all batches, or is erased with all that counted.
    """
    import polars as pl

    a, w = assignment.c, worker.c
    stays = or_(a.state.in_(VALID), w.forgotten_at.is_(None) & a.state.not_in(_GIVEN_BACK))
    query = select(w.id).distinct().select_from(assignment.join(worker, w.id == a.worker_id))
    called = assessor_names(work)
    kept = [called[id][0] for id in work.db.scalars(query.where(work.own(worker), stays))]
    names = dict.fromkeys(("topic", "doc", "assessor"), pl.String)
    numbers = {"grade": pl.Int64, "seconds": pl.Float64, "time": pl.Int64}
    rows = pl.read_csv(
        folder / "controls.tsv",
        separator="\t",
        schema_overrides={**names, **numbers},
        quote_char=None,
    )
    rows = rows.filter(pl.col("kind").is_in(CHECKS), pl.col("assessor").is_in(kept))
    rows = rows.with_columns(kind=pl.lit("person"))  # who alone gets such questions
    return rows.unique(["topic", "doc", "assessor"], keep="first", maintain_order=True)


def check_grades(work: Work, folder: Path) -> dict[tuple[str, str], int]:
    """The experts' grades of the check questions that were answered: others stay secret."""
    asked = set(check_answers(work, folder).select("topic", "doc").iter_rows())
    return {pair: grade for pair, grade in named_grades(work).items() if pair in asked}
