"""What background jobs do: export, merge, look at assessors, score systems, by the whole library.

Each task works on an export of the campaign (one snapshot) in a temporary folder; what it finds is
JSON, and files that people want are kept in the folder of results.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import qrowd as q
from qrowd.collection.export import export
from qrowd.collection.release import Figures, release
from qrowd.errors import RuleError
from qrowd.evaluation.measure import measures_of
from qrowd.rendering import plain
from qrowd.web.folders import Place

DRAWS = 300
MEASURES = ("AP", "nDCG@10")
WORST = 10_000  # rows of a table that are kept


@dataclass(frozen=True)
class Material:
    """What a campaign has so far: judgements that count, and the experts' grades."""

    judgements: q.Judgements
    gold: q.Qrels | None
    relevant_from: int

    def given(self) -> q.Given:
        """What methods may know beside the judgements."""
        return q.NOTHING if self.gold is None else q.Given(gold=self.gold)


@contextmanager
def exported(place: Place) -> Iterator[Material]:
    """The campaign as it is now."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with place.store.read(place.campaign) as work:
            rows = {one.name: one.rows for one in export(work, folder)}
            grades = work.plan.scale
        if not rows["judgements.tsv"]:
            raise RuleError("no-judgements", "there are no judgements yet")
        gold = q.read_qrels(folder / "gold.qrels") if rows["gold.qrels"] else None
        judgements = q.read_judgements(folder / "judgements.tsv", scale=grades.scale)
        yield Material(judgements, gold, grades.relevant_from)


def merge(place: Place, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the judgements by a method (a spec string); qrels and probabilities are kept."""
    with exported(place) as material:
        merged = _merged(material, str(parameters.get("method", "mv")))
    q.save(merged.qrels(), place.results / "merged.qrels")
    q.save(merged, place.results / "probabilities.tsv")
    grades, counts = _counts(merged.qrels())
    return {
        "method": merged.fit.method,
        "pairs": len(merged.pairs),
        "judgements": len(material.judgements),
        "assessors": len(material.judgements.assessors),
        "grades": dict(zip(grades, counts, strict=True)),
        "converged": merged.fit.converged,
        "seconds": merged.fit.seconds,
        "notes": [str(note) for note in merged.fit.notes],
        "files": ["merged.qrels", "probabilities.tsv"],
    }


def _merged(material: Material, spec: str) -> q.Merged:
    merged: q.Merged = merger(spec).fit(material.judgements, material.given())
    return merged


def merger(spec: str) -> q.Merger:
    """The merging method of a spec string."""
    method = q.get(spec)
    if method.card.level != "judgements":
        raise RuleError("bad-value", f"{spec} does not merge judgements")
    found: q.Merger = method
    return found


def _counts(qrels: q.Qrels) -> tuple[list[str], list[int]]:
    grades = [str(grade) for grade in qrels.scale.grades]
    return grades, [int((qrels.grade == grade).sum()) for grade in qrels.scale.grades]


def quality(place: Place, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The table of assessors, and how far they agree."""
    with exported(place) as material:
        table = q.assessors(
            material.judgements, material.given(), merge=q.get(str(parameters.get("method", "mv"))),
            gold_rel=material.relevant_from,
        )  # fmt: skip
        agreed = q.agreement(material.judgements)
    frame = table.to_polars().head(WORST)
    return {
        "assessors": plain(frame.to_dicts()),
        "agreement": plain(agreed.table()),
    }


def systems(place: Place, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Scores and places of the uploaded runs, with intervals over draws and topics."""
    if not any(place.runs.iterdir()):
        raise RuleError("no-runs", "there are no runs yet; add some")
    measures = list(parameters.get("measures") or MEASURES)
    with exported(place) as material:
        merged = _merged(material, str(parameters.get("method", "mv")))
    runs = q.read_runs(place.runs)
    by_draw = q.evaluate(runs, merged.draws(DRAWS), measures)
    found = q.intervals(by_draw)
    return {"method": merged.fit.method, "systems": plain(found.to_polars().to_dicts())}


def export_files(place: Place, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """All files of an export, kept until the next one."""
    with place.store.read(place.campaign) as work:
        done = export(work, place.results, parquet=bool(parameters.get("parquet")))
    return {"files": [*(one.name for one in done), "manifest.json"]}


def figures_of(spec: str, measures: Sequence[str] = ()) -> Figures:
    """How a campaign's figures are made, for its release."""
    method = merger(spec)
    named = tuple(repr(one) for one in measures_of(measures or MEASURES))
    return Figures(merge=method, method=repr(method), measures=named, draws=DRAWS)


def make_release(place: Place, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A release as a zip that stays; `who` asked for it, twice."""
    taken = [int(path.stem) for path in place.releases.glob("*.zip") if path.stem.isdecimal()]
    path = place.releases / f"{max(taken, default=0) + 1}.zip"
    figures = figures_of(
        str(parameters.get("method", "mv")), list(parameters.get("measures") or ())
    )
    runs = sorted(one for one in place.runs.iterdir() if one.is_file())
    made = release(
        place.store, place.campaign, path, figures, who=str(parameters["who"]), runs=runs, sure=True
    )
    return {"act": made.act, "sha256": made.sha256, "files": dict(made.files)}


Task = Callable[[Place, Mapping[str, Any]], dict[str, Any]]
TASKS: dict[str, Task] = {
    "export": export_files,
    "merge": merge,
    "quality": quality,
    "release": make_release,
    "systems": systems,
}
