"""A release: what a campaign publishes. `qrowd.io.release` says which files it has, and reads it.

People are numbers drawn at random for each release, rows are sorted by names: nothing tells who
judged, when, or in which order. Times, reasons and passages stay in the campaign; what times tell
is one line for each person: the median, and how far answers follow a pattern. A release cannot be
taken back, so it is asked twice, and written down with the checksum of its manifest.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlalchemy import ColumnElement, func, select

from qrowd import __version__
from qrowd.collection.adjudication import expert_sample
from qrowd.collection.database import schema
from qrowd.collection.database.schema import assignment, consent, document, topic, worker
from qrowd.collection.database.store import Store, Work
from qrowd.collection.publishing.collected import check_answers, check_grades
from qrowd.collection.publishing.datasheet import Figures, datasheet
from qrowd.collection.publishing.export import chosen_in, export
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.io.atomic import made_folder, written
from qrowd.io.judgements import read_judgements
from qrowd.io.release import FORMAT, MANIFEST, SUMS, VERSION
from qrowd.io.source import PROVENANCE, sha256_of
from qrowd.quality.assessors import habits
from qrowd.rendering import plain, thousands

_TIMELESS = (1980, 1, 1, 0, 0, 0)  # of files in a zip
_NAMED = ("topic", "doc", "assessor")
_SAID = ("judgements.tsv", "ratings.tsv", "orders.tsv")
_MERGED = ("gold.qrels", "merged.qrels", "probabilities.tsv")
_TEXTS = ("query", "description", "narrative", "category", "language")


@dataclass(frozen=True)
class ReleaseFiles:
    """What the record keeps of a release."""

    sha256: str
    judgements: int
    method: str
    file: str
    choice: str = ""  # what a method that chooses has taken


@dataclass(frozen=True)
class Released:
    """A release that was made: how many rows each file has; the manifest's checksum."""

    files: Mapping[str, int]
    sha256: str
    judgements: int
    act: int


def release(
    store: Store,
    name: str | int,
    target: str | Path,
    figures: Figures,
    *,
    who: str,
    runs: Sequence[Path] = (),
    sure: bool = False,
) -> Released:
    """Write a release to a folder, or to a zip if `target` ends in `.zip`, and write that down."""
    if not sure:
        raise RuleError("ask-twice", "a release cannot be taken back; confirm it")
    path = Path(target)
    # a release never replaces another
    if path.is_dir() and any(path.iterdir()):
        raise RuleError("conflict", f"{path} is not empty; name a new folder, or a .zip")
    if path.is_file():
        raise RuleError("conflict", f"there is a file {path} already; name another")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) if path.suffix == ".zip" else made_folder(path)
        with store.read(name) as work:
            rows, choice = _write(work, folder, figures, runs)
        if path.suffix == ".zip":
            _pack(folder, path)
        sha = sha256_of(folder / MANIFEST)
    judgements = rows["judgements.tsv"]
    files = ReleaseFiles(sha, judgements, figures.method, path.name, choice)
    with store.write(name) as work:
        act = audit.perform(work, who, "release", {"files": files}, sure=True)
    return Released(rows, sha, judgements, act)


def releases(work: Work) -> list[schema.Audit]:
    """The releases so far, the oldest first."""
    acts = schema.audit
    query = select(acts).where(work.own(acts), acts.c.act == "release").order_by(acts.c.id)
    return work.rows(query, schema.Audit)


def voided_by(work: Work, worker_id: int) -> list[schema.Audit]:
    """The releases that hold answers of this worker: voiding these would make them disagree."""
    mine = (assignment.c.worker_id == worker_id) & (assignment.c.state == "accepted")
    first = work.db.scalar(select(func.min(assignment.c.ended_at)).where(mine))
    return [] if first is None else [row for row in releases(work) if row.at >= first]


def _write(
    work: Work, folder: Path, figures: Figures, runs: Sequence[Path]
) -> tuple[dict[str, int], str]:
    """How many rows each file has, and what a method that chooses has taken."""
    with tempfile.TemporaryDirectory() as made:
        inside = Path(made)
        exported = {file.name: file.rows for file in export(work, inside, merge=figures.merge)}
        if not exported["judgements.tsv"] and not exported["orders.tsv"]:
            raise RuleError("no-judgements", "there are no judgements to release yet")
        merged = json.loads((inside / "manifest.json").read_text("utf-8")).get("merged", {})
        choice = str(merged.get("choice", ""))
        rows = _without_people(work, inside, folder)
        for name in exported:
            if name.removesuffix(PROVENANCE) in _MERGED:
                shutil.move(inside / name, folder / name)  # perhaps to another disk
                rows[name] = exported[name]
        key = sorted(check_grades(work, inside).items())
    lines = (f"{topic}\t0\t{doc}\t{grade}\n" for (topic, doc), grade in key)
    rows["checks.qrels"] = _put(folder / "checks.qrels", lines)
    rows |= _material(work, folder) | _copied_runs(work, folder, runs)
    rows["consent.txt"] = _put(folder / "consent.txt", _consent(work))
    sheet = datasheet(work, folder, rows, figures, choice)
    rows["datasheet.md"] = _put(folder / "datasheet.md", [sheet])
    _write_manifest(work, folder, rows, figures, merged)
    return rows, choice


def _put(path: Path, lines: Iterable[str]) -> int:
    """Write lines, their ends included; how many."""
    number = 0
    with written(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        for line in lines:
            file.write(line)
            number += 1
    return number


# --- judgements, answers to check questions, ratings and orders -----------------------------------


def _without_people(work: Work, source: Path, folder: Path) -> dict[str, int]:
    """All that people said under new numbers, sorted by them, without times; and their habits."""
    import polars as pl

    said = {
        name: pl.read_csv(source / name, separator="\t", infer_schema=False, quote_char=None)
        for name in _SAID
        if (source / name).is_file()
    }
    said["checks.tsv"] = answers = check_answers(work, source)
    tables = {name: table.drop("seconds", "time", strict=False) for name, table in said.items()}
    if len(tables["judgements.tsv"]):
        scale = work.plan.scale.scale
        crowd = read_judgements(source / "judgements.tsv", scale=scale)
        if len(answers):
            crowd = crowd.joined(read_judgements(answers, scale=scale))
        tables["assessors.tsv"] = habits(crowd).to_polars()
    assessors = {name for table in tables.values() for name in table["assessor"].unique()}
    numbers = {"assessor": _numbers(work, sorted(assessors))}
    numbers["ballot"] = _mixed(work, sorted(tables["orders.tsv"]["ballot"].unique()), "b")
    rows = {}
    for name, table in tables.items():
        anonymous = table.with_columns(
            pl.col(column).replace_strict(names, return_dtype=pl.String)
            for column, names in numbers.items()
            if column in table.columns
        )
        order = [column for column in ("ballot", *_NAMED) if column in table.columns]
        anonymous.sort(order).write_csv(folder / name, separator="\t", quote_style="never")
        rows[name] = len(table)
    return rows


def _numbers(work: Work, assessors: Sequence[str]) -> dict[str, str]:
    """New names of assessors; machines keep theirs."""
    query = select(worker.c.name).where(work.own(worker), worker.c.kind == "machine")
    machines = set(work.db.scalars(query))
    people = [name for name in assessors if name not in machines]
    letter = "a"  # doubled until no machine's name begins like a number
    while any(name.startswith(letter) for name in machines):
        letter += "a"
    return {name: name for name in machines} | _mixed(work, people, letter)


def _mixed(work: Work, names: Sequence[str], letter: str) -> dict[str, str]:
    """A letter and a random number for each name."""
    numbers = work.random.sample(range(1, len(names) + 1), len(names))
    return {name: f"{letter}{number}" for name, number in zip(names, numbers, strict=True)}


# --- topics, pool, documents, runs, consent -------------------------------------------------------


def _material(work: Work, folder: Path) -> dict[str, int]:
    texts = work.plan.release.text
    documents = "documents.jsonl" if texts else "documents.tsv"
    lines = _with_text(work) if texts else _ids(work)
    return {
        "topics.jsonl": _put(folder / "topics.jsonl", _topics(work)),
        "pool.tsv": _put(folder / "pool.tsv", _pool(work)) - 1,
        documents: _put(folder / documents, lines) - (not texts),
    }


def _topics(work: Work) -> Iterator[str]:
    query = select(topic).where(work.own(topic)).order_by(topic.c.name)
    for row in work.db.execute(query).mappings():
        texts = {name: row[name] for name in _TEXTS if row[name]}
        yield json.dumps({"topic": row["name"], **texts}, ensure_ascii=False) + "\n"


def _pool(work: Work) -> Iterator[str]:
    names = work.db.execute(
        select(*schema.PAIR_NAMES).select_from(schema.NAMED_PAIRS).where(work.pool_pairs())
    )
    yield "topic\tdoc\n"
    yield from sorted(f"{topic}\t{doc}\n" for topic, doc in names)


def _in_pool(work: Work) -> ColumnElement[bool]:
    return document.c.id.in_(select(schema.pair.c.document_id).where(work.pool_pairs()))


def _ids(work: Work) -> Iterator[str]:
    names = work.db.scalars(select(document.c.name).where(_in_pool(work)))
    yield "doc\n"
    yield from sorted(f"{name}\n" for name in names)


def _with_text(work: Work) -> Iterator[str]:
    d = document.c
    names = (d.name.label("doc"), d.title, d.url, d.media_type.label("media"))
    query = (
        select(*names, schema.content.c.body.label("text"))
        .select_from(schema.with_contents(document))
        .where(_in_pool(work))
        .order_by(d.name)
    )
    for row in work.db.execution_options(yield_per=200).execute(query).mappings():
        texts = {**row, "text": (row["text"] or b"").decode("utf-8", "replace")}
        filled = {name: text for name, text in texts.items() if text}
        yield json.dumps(filled, ensure_ascii=False) + "\n"


def _copied_runs(work: Work, folder: Path, runs: Sequence[Path]) -> dict[str, int]:
    if not work.plan.release.runs or not runs:
        return {}
    (folder / "runs").mkdir()
    rows = {}
    for path in sorted(runs):
        body = path.read_bytes()
        (folder / "runs" / path.name).write_bytes(body)
        rows[f"runs/{path.name}"] = body.count(b"\n")
    return rows


def _consent(work: Work) -> Iterator[str]:
    """What people agreed to, and how many of them."""
    c = consent.c
    people = select(worker.c.id).where(work.own(worker))
    query = (
        select(c.version, c.text, func.count(c.worker_id.distinct()))
        .where(c.worker_id.in_(people))
        .group_by(c.version, c.text)
        .order_by(c.version)
    )
    versions = work.db.execute(query).all()
    for version, text, number in versions:
        yield f"Version {version}, accepted by {thousands(number)} people:\n\n{text}\n\n"
    if not versions:
        yield f"{work.plan.people.consent or 'No consent was asked for.'}\n"


# --- manifest and zip -----------------------------------------------------------------------------


def _write_manifest(
    work: Work,
    folder: Path,
    rows: Mapping[str, int],
    figures: Figures,
    merged: Mapping[str, str],
) -> None:
    sums = {name: sha256_of(folder / name) for name in sorted(rows)}
    scale = work.plan.scale
    about = {
        "format": FORMAT,
        "version": VERSION,
        "qrowd": __version__,
        "campaign": work.name,
        "title": work.plan.campaign.title or work.name,
        "scale": list(scale.grades),
        "labels": list(scale.labels),
        "relevant_from": scale.relevant_from,
        "licence": work.plan.release.licence,
        "figures": figures.plain(),
        "merged": merged,  # by which method, and what it chose
        **chosen_in(work.plan),
        "sample": plain(asdict(expert_sample.error_rate(work))),
        "files": {name: {"rows": rows[name], "sha256": sha} for name, sha in sums.items()},
    }
    text = json.dumps(about, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    sums[MANIFEST] = sha256_of(folder / MANIFEST)
    _put(folder / SUMS, (f"{sha}  {name}\n" for name, sha in sorted(sums.items())))


def _pack(folder: Path, path: Path) -> None:
    """All files in one zip, without the times at which they were written."""
    with written(path) as beside, zipfile.ZipFile(beside, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                entry = zipfile.ZipInfo(file.relative_to(folder).as_posix(), _TIMELESS)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes())
