"""What background jobs do: export, merge, look at assessors, score systems, by the whole library.

Each task works on an export of the campaign (one snapshot) in a temporary folder; what it finds is
JSON, and files that people want are kept in the folder of results, pictures too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import qrowd as q
from qrowd.collection.drafts.draft import open_draft
from qrowd.collection.drafts.launch import plan_of
from qrowd.collection.judging import gold as gold_sets
from qrowd.collection.plan.files import gather
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.publishing.datasheet import Figures
from qrowd.collection.publishing.export import export
from qrowd.collection.publishing.release import release
from qrowd.errors import RuleError
from qrowd.evaluation.measure import measures_of
from qrowd.io.atomic import written
from qrowd.rendering import plain, tsv
from qrowd.web import decided
from qrowd.web.folders import Place, drafts_in

if TYPE_CHECKING:
    import polars as pl

    from qrowd.reporting.parts import Figure

DRAWS = 300
MEASURES = ("AP", "nDCG@10")
METHOD = "auto"  # what pages ask for first


@dataclass(frozen=True)
class Material:
    """What a campaign has so far: judgements that count, and the experts' grades.

    `checks` are the answers to check questions, `truth` the experts' grades of these and of `gold`.
    """

    judgements: q.Judgements
    gold: q.Qrels | None
    relevant_from: int
    checks: q.Judgements | None = None
    truth: q.Qrels | None = None
    together: q.Judgements | None = None

    def given(self) -> q.Given:
        """What methods may know beside the judgements."""
        return q.NOTHING if self.gold is None else q.Given(gold=self.gold)


@contextmanager
def exported(place: Place, *, checks: bool = False) -> Iterator[Material]:
    """The campaign as it is now; with `checks`, answers to check questions too."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with place.store.read(place.campaign) as work:
            rows = {one.name: one.rows for one in export(work, folder)}
            grades = work.plan.scale
            known = gold_sets.all_grades(work) if checks else {}
        if not rows["judgements.tsv"]:
            preferred = (
                "there are preferences only: export them, then `qrowd rank METHOD orders.tsv`"
            )
            told = preferred if rows["orders.tsv"] else "there are no judgements yet"
            raise RuleError("no-judgements", told)
        gold = q.read_qrels(folder / "gold.qrels") if rows["gold.qrels"] else None
        scale = grades.scale
        judgements = q.read_judgements(folder / "judgements.tsv", scale=scale)
        asked = _checks(folder) if checks and known and rows["controls.tsv"] else None
        if asked is None or not len(asked):
            yield Material(judgements, gold, grades.relevant_from, truth=gold, together=judgements)
            return
        both = _frame(folder / "judgements.tsv").vstack(asked)
        yield Material(
            judgements,
            gold,
            grades.relevant_from,
            q.read_judgements(asked, scale=scale),
            _qrels(known, gold),
            q.read_judgements(both, scale=scale),
        )


def _frame(path: Path) -> pl.DataFrame:
    import polars as pl

    names = dict.fromkeys(("topic", "doc", "assessor"), pl.String)
    numbers = {"grade": pl.Int64, "seconds": pl.Float64, "time": pl.Int64}
    kinds = {**names, **numbers}
    return pl.read_csv(path, separator="\t", schema_overrides=kinds, quote_char=None)


def _checks(folder: Path) -> pl.DataFrame:
    import polars as pl

    frame = _frame(folder / "controls.tsv")
    asked = frame.filter(pl.col("kind").is_in(["gold", "qualification"])).drop("kind")
    return asked.unique(["topic", "doc", "assessor"], keep="first", maintain_order=True)


def _qrels(known: Mapping[tuple[str, str], int], gold: q.Qrels | None) -> q.Qrels:
    """Gold of check questions, and of the pool."""
    found = dict(known)
    if gold is not None:
        names = zip(gold.pairs.topic_names, gold.pairs.document_names, strict=True)
        found |= dict(zip(names, gold.grade.tolist(), strict=True))
    topics, documents = zip(*found, strict=True)
    return q.Qrels.of(topics, documents, list(found.values()))


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
    """The table of assessors, how far they agree, what merging gains, disputed pairs, pictures."""
    from qrowd.web import findings

    method = str(parameters.get("method", "mv"))
    with exported(place, checks=True) as material:
        found = findings.quality(material, merger(method))
    frame = found.assessors.to_polars()
    with written(place.results / "assessors.tsv") as beside:
        beside.write_text(tsv(frame.to_dict(as_series=False)), encoding="utf-8")
    result: dict[str, Any] = {"method": method, **found.summary, "files": ["assessors.tsv"]}
    shown: dict[str, Any] = plain(result | {"pictures": _drawn(place, found.pictures)})
    return shown


def systems(place: Place, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Scores and places of the uploaded runs, with intervals over draws and topics."""
    from qrowd.web import findings

    if not any(place.runs.iterdir()):
        raise RuleError("no-runs", "there are no runs yet; add some")
    measures = list(parameters.get("measures") or MEASURES)
    with exported(place) as material:
        merged = _merged(material, str(parameters.get("method", "mv")))
    found = findings.systems(merged, q.read_runs(place.runs), measures, DRAWS)
    result = {"method": merged.fit.method, **found.summary}
    shown: dict[str, Any] = plain(result | {"pictures": _drawn(place, found.pictures)})
    return shown


def _drawn(place: Place, pictures: Mapping[str, Figure]) -> list[dict[str, str]]:
    """Pictures kept as files; their words."""
    for name, figure in pictures.items():
        with written(place.results / f"{name}.svg") as beside:
            beside.write_text(figure.svg, encoding="utf-8")
    return [
        {"file": f"{name}.svg", "alt": figure.alt, "caption": figure.caption}
        for name, figure in pictures.items()
    ]


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


def rehearsal(place: Place, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A dry run of a draft, by robots."""
    from qrowd.web.robots.trying import try_out  # robots use the application, which uses tasks

    draft = open_draft(drafts_in(place.folder), parameters["draft"], parameters["version"])
    plan = parse_plan(plan_of(draft))
    material = gather(draft.plan, draft.plan_path)
    chosen = {"crowd": parameters["crowd"], "per_hour": parameters["per_hour"]}
    return try_out(plan, material, **chosen, told=place.told).to_dict()


Task = Callable[[Place, Mapping[str, Any]], dict[str, Any]]
TASKS: dict[str, Task] = {
    "decisions": decided.moved,
    "export": export_files,
    "merge": merge,
    "quality": quality,
    "release": make_release,
    "systems": systems,
}
DRAFT_TASKS: dict[str, Task] = {"rehearsal": rehearsal}
