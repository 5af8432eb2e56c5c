"""Files of which nobody said what they are: `kind_of` looks, `read_any` reads."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qrowd.data.frames import Framed
from qrowd.data.judgements import Judgements
from qrowd.data.orders import Orders
from qrowd.data.provenance import Provenance
from qrowd.data.qrels import Qrels
from qrowd.errors import DataWarning, FormatError, UnknownNameError
from qrowd.io import documents, topics
from qrowd.io.documents import are_files, read_documents
from qrowd.io.formats import format_of
from qrowd.io.formats.tool import Tool
from qrowd.io.judgements import read_assessors, read_judgements
from qrowd.io.orders import read_orders
from qrowd.io.provenance import read_provenance_file
from qrowd.io.qrels import read_probabilities, read_qrels
from qrowd.io.roles import is_header, plain_name, recognised
from qrowd.io.runs import read_runs, read_scores
from qrowd.io.source import PROVENANCE, Source, is_folder, is_part, opened, sources
from qrowd.io.topics import read_topics

# The first row whose columns are all there decides: those with more columns stand first.
_KINDS_BY_COLUMNS = (
    ("scores", ("run", "topic", "measure", "value")),
    ("scores", ("run", "measure", "value", "human_low")),  # corrected by few labels
    ("runs", ("run", "topic", "doc", "score")),
    ("judgements", ("doc", "assessor", "grade")),
    ("orders", ("left", "right", "won")),
    ("orders", ("topic", "doc", "assessor", "chosen")),
    ("qrels", ("topic", "doc", "grade", "score")),  # of dicts, whole numbers: see nested.py
    ("runs", ("topic", "doc", "score")),
    ("qrels", ("topic", "doc", "grade")),
    ("orders", ("topic", "doc", "assessor", "place")),
    ("orders", ("topic", "better", "worse", "assessor")),
)
_COLLECTION = ("qrels", "corpus", "queries")  # folders of BEIR, MTEB and their kin
_KINDS_BY_WIDTH = {3: "runs", 4: "judgements", 6: "runs"}  # no header, as TREC and MS MARCO have
_FEW = 50  # lines by which ranks are told from grades
_BEIR = {"query_id", "corpus_id", "score"}
_RANX = {"q_id", "doc_id", "score"}


def kind_of(source: Source, format: str | None = None) -> str:
    """What a file holds, by its header or its number of columns.

    Four columns without a header are `judgements`, also where they are qrels: who reads them finds
    out (`read_any` does).
    """
    if source.name.endswith(PROVENANCE):
        return "provenance"
    form = format_of(source, format)
    if isinstance(form, Tool):
        return "judgements" if form.names_people else "qrels"
    for kind, looks_like in (("topics", topics.matches), ("documents", documents.matches)):
        if looks_like(source):
            return kind
    names = form.fields(source)
    if form.headed or is_header(names):
        return _by_names(source, names)
    if len(names) in _KINDS_BY_WIDTH and (len(names) != 3 or _has_ranks(source)):
        return _KINDS_BY_WIDTH[len(names)]
    raise source.error(
        f"cannot tell what this is: {len(names)} columns and no header that is known; judgements "
        "and qrels have 4 columns without a header, runs have 6",
        line=1,
    )


def kind_of_path(path: str | Path | Source, format: str | None = None) -> str:
    """What a file, or the files of a folder, hold; files that hold nothing else are documents."""
    files = sources(path)
    try:
        kind = kind_of(_first_filled(files), format)
        # several qrels may be one assessor's each: who reads them finds out
        alone = len(files) == 1 or all(is_part(file.name) for file in files)
        return "judgements" if kind == "qrels" and not alone else kind
    except FormatError:
        if is_folder(path) and are_files(files):
            return "documents"
        raise


def _first_filled(files: list[Source]) -> Source:
    """The first file with something in it: somebody may have judged nothing."""
    return next((file for file in files if file.start.strip()), files[0])


def kinds_in(path: str | Path) -> dict[str, str]:
    """What the files of a folder are, and of the folders `qrels` and the like in it; {} where one
    of them cannot be told, or where there is no folder.
    """
    if not is_folder(path):
        return {}
    try:
        inside = [each for each in sorted(Path(path).iterdir()) if each.name[0] != "."]
        own = [str(each) for each in inside if each.is_file()]
        folders = [each for each in inside if each.is_dir()]
        folders = [each for each in folders if not own or each.name.lower() in _COLLECTION]
        files = [file.name for each in folders for file in sources(str(each))] + own
        return {file: kind_of(sources(file)[0]) for file in files}
    except (FormatError, OSError):
        return {}


def _by_names(source: Source, names: list[str]) -> str:
    if any(re.fullmatch(r"p\((-?\d+)\)", name) for name in names):
        return "probabilities"
    # the first column of pandas' index has no name, or an odd one
    plain = {plain_name(name) for name in names if name and not name.startswith("Unnamed:")}
    if plain == _BEIR or (plain == _RANX and not _has_fractions(source)):
        return "qrels"
    for kind, columns in _KINDS_BY_COLUMNS:
        if len(recognised(names, columns)) == len(columns):
            return kind
    if len(recognised(names, ("doc", "topic", "assessor", "grade"))) >= 2:
        return "judgements"  # who reads them says what is missing
    if recognised(names, ("assessor",)):
        return "assessors"
    raise source.error(
        f"cannot tell what this is from the columns {' '.join(names)}; say what they are, e.g. "
        "--columns topic=NAME,doc=NAME,assessor=NAME,grade=NAME"
    )


def read_any(
    source: str | Path | Source,
    kind: str | None = None,
    *,
    format: str | None = None,
    **grading: Any,
) -> Framed | Provenance:
    """The noun that a file holds, whichever it is.

    Judgements by one assessor only, with one grade for each pair, are taken for qrels, unless a
    header says who judged. `grading` is what `read_judgements` and `read_qrels` know of grades.
    """
    source = opened(source)
    kind = kind or kind_of_path(source, format)
    if kind not in _READERS:
        raise UnknownNameError.among("kind of file", kind, _READERS)
    return _READERS[kind](source, format, grading)


def _judgements_or_qrels(
    source: str | Path | Source, format: str | None, grading: dict[str, Any]
) -> Judgements | Qrels:
    judgements = read_judgements(source, format=format, **grading)
    if len(judgements.assessors) > 1 or _names_assessors(source, format):
        return judgements
    return read_qrels(source, format=format, **_of_qrels(grading))


def _names_assessors(source: str | Path | Source, format: str | None) -> bool:
    """Whether a header says who judged."""
    file = _first_filled(sources(source))
    form = format_of(file, format)
    names = form.fields(file)
    return bool(recognised(names, ("assessor",))) and (form.headed or is_header(names))


def _of_qrels(grading: dict[str, Any]) -> dict[str, Any]:
    return {name: grading[name] for name in ("grades", "missing", "cut") if name in grading}


def _has_ranks(source: Source) -> bool:
    """Whether the third of three columns counts 1, 2, ... in each topic and so is no grade."""
    lines = source.start.decode("utf-8", "ignore").splitlines()[:_FEW]
    rows = [row for line in lines if len(row := re.split(r"[\s,;]+", line.strip())) == 3]
    ranks: dict[str, list[str]] = {}
    for topic, _, rank in rows:
        ranks.setdefault(topic, []).append(rank)
    counted = all(own == [str(at + 1) for at in range(len(own))] for own in ranks.values())
    return counted and any(len(own) > 1 for own in ranks.values())


def _has_fractions(source: Source) -> bool:
    """Whether the scores of a table are no grades."""
    import polars as pl

    frame = format_of(source).read(source)[1].lazy().select("score").collect()
    values = frame["score"].cast(pl.Float64, strict=False)
    return bool((values % 1 != 0).any())


_READERS: dict[str, Callable[[Any, str | None, dict[str, Any]], Framed | Provenance]] = {
    "judgements": _judgements_or_qrels,
    "qrels": lambda file, format, grading: read_qrels(file, format=format, **_of_qrels(grading)),
    "runs": lambda source, format, _: read_runs(source, format=format),
    "scores": lambda source, format, _: read_scores(source, format=format),
    "probabilities": lambda source, format, _: read_probabilities(source, format=format),
    "assessors": lambda source, format, _: read_assessors(source, format=format),
    "topics": lambda source, *_: read_topics(source),
    "documents": lambda source, *_: read_documents(source),
    "orders": lambda source, format, _: read_orders(source, format=format),
    "provenance": lambda source, *_: read_provenance_file(source),
}


def read_ranked(
    files: Sequence[str | Path], format: str | None = None, **grading: Any
) -> tuple[Orders, Judgements | None]:
    """The orders and the judgements of these files; one with grades and ranks holds both.

    Without any order, there are none over the pool of the judgements.
    """
    kinds = {file: kind_of_path(file, format) for file in map(opened, files)}
    for file, kind in kinds.items():
        if kind not in ("orders", "judgements", "qrels"):
            message = f"these are {kind}; expected orders, or judgements with a column rank"
            raise FormatError(message, file=getattr(file, "name", str(file)))
    graded = [file for file, kind in kinds.items() if kind != "orders"]
    ranked = [file for file, kind in kinds.items() if kind == "orders" or has_ranks(file, format)]
    with ranks_are_read():
        judgements = read_judgements(_alone(graded), format=format, **grading) if graded else None
    if ranked:
        return read_orders(_alone(ranked), format=format), judgements
    assert judgements is not None
    return Orders.none(judgements.pairs, judgements.assessors), judgements


def _alone(files: list[Any]) -> Any:
    """A single file by itself: it may be a folder."""
    return files[0] if len(files) == 1 else files


def has_ranks(file: str | Path | Source, format: str | None = None) -> bool:
    """Whether a file of judgements has ranks, too."""
    filled = (each for each in sources(file) if each.start.strip())
    fields = (format_of(each, format).fields(each) for each in filled)
    return any(recognised(names, ("rank",)) for names in fields)


@contextmanager
def ranks_are_read() -> Iterator[None]:
    """Inside, nobody warns that judgements leave ranks out: they are read, too."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*ranks are no part", category=DataWarning)
        yield
