"""What a plan's files hold: topics, documents, pool, gold, questions, priorities.

A file that is missing or cannot be used is reported at the line of the plan that names it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow, Pair, QuestionRow
from qrowd.collection.plan.sections import Plan
from qrowd.data.documents import Documents
from qrowd.data.index import Pairs
from qrowd.data.runs import RunSet
from qrowd.data.sample import UNIFORM
from qrowd.data.topics import Topic
from qrowd.errors import FormatError, InputError
from qrowd.io.documents import read_documents
from qrowd.io.qrels import read_pairs, read_qrels
from qrowd.io.records import strict_rows
from qrowd.io.runs import read_runs
from qrowd.io.topics import read_topics

LONGEST_MEDIA = 200
_MEDIA = re.compile(r"[!-~]+/[!-~]+(;[ -~]*)?")  # it becomes a header
OPTIONAL = ("gold", "qualification", "questions", "priorities")


def read_plan_files(plan: Plan, file: str | Path, within: Path | None = None) -> CampaignRows:
    """Everything that a plan file names, read; paths are relative to the plan.

    With `within`, files outside of this folder are refused: what others send must not name them.
    """
    files, path_of = plan.files, partial(_path, plan, Path(file))
    if within is not None:
        single = [getattr(files, key) for key in ("topics", "documents", "pool", *OPTIONAL)]
        named = [Path(file).parent / name for name in (*single, *files.runs) if name]
        for path in named:
            if not path.resolve().is_relative_to(within.resolve()):
                message = f"{path.name} is not among the files that were sent; send it too"
                raise InputError(message)
    topics, documents = topic_rows(path_of("topics")), document_rows(path_of("documents"))
    if files.pool:
        pool = pool_rows(path_of("pool"))
    elif files.runs:
        runs = read_runs([str(Path(file).parent / name) for name in files.runs])
        pool = pool_of_runs(runs, files.depth)
    else:
        raise Complaint.of("files.pool", "office.plan.files.pool").error(plan, file)
    optional = {kind: READERS[kind](path_of(kind)) for kind in OPTIONAL if getattr(files, kind)}
    priorities = dict(optional.pop("priorities", ()))
    rows = CampaignRows(pool=pool, priorities=priorities, **optional)
    if files.blank == "leave out":
        rows = rows.without(blank_documents(document_rows(path_of("documents"))))
    if files.blank == "title":
        documents = map(by_title, documents)
    rows = plan.way.prepare(plan, replace(rows, topics=topics, documents=documents), str(file))
    pairs = {*rows.pool, *(row.pair for row in (*rows.gold, *rows.qualification))}
    used_topics = {topic for topic, _ in pairs}
    used_documents = {document for _, document in pairs}
    return replace(
        rows,
        topics=[row for row in rows.topics if row.name in used_topics],
        documents=(row for row in rows.documents if row.name in used_documents),
    )


def _path(plan: Plan, file: Path, key: str) -> Path:
    """The file of a key; an error, at its line of the plan, where there is none."""
    name = getattr(plan.files, key)
    path: Path = file.parent / name
    if not name:
        raise Complaint.of(f"files.{key}", "office.plan.files.where", key=key).error(plan, file)
    if not path.exists():
        lost = Complaint.of(f"files.{key}", "office.plan.files.lost", path=str(path))
        raise lost.error(plan, file)
    return path


def read_extension(
    *,
    topics: str | Path | None = None,
    documents: str | Path | None = None,
    pool: str | Path | None = None,
    runs: Sequence[str | Path] = (),
    depth: int = 20,
    gold: str | Path | None = None,
    into: Sequence[str] = (),
) -> CampaignRows:
    """What files add to a campaign; of the documents only those that the pool and gold use.

    All documents of the file go `into` the pools of these topics.
    """
    pairs = pool_rows(pool) if pool else []
    if into and documents:
        names = documents_beside(documents).index
        pairs += [(topic, name) for topic in into for name in names]
    if runs:
        pairs += pool_of_runs(read_runs(list(runs)), depth)
    golds = gold_rows(gold) if gold else []
    used = {document for _, document in pairs} | {row.document for row in golds}
    read = document_rows(documents) if documents else iter(())
    return CampaignRows(
        topics=topic_rows(topics) if topics else [],
        documents=[row for row in read if row.name in used],
        pool=pairs,
        gold=golds,
    )


# --- single files ---------------------------------------------------------------------------------


def topic_rows(path: str | Path) -> list[Topic]:
    """The topics of a file."""
    topics = read_topics(path)
    for name in topics.index:
        _refuse_odd_name(name, path)
    return [topics[name] for name in topics.index]


def _refuse_odd_name(name: str, path: str | Path) -> None:
    """Exports have names in columns, a line for each answer."""
    if re.search(r"[\0\t\r\n]", name):
        message = f"{name[:60]!r} cannot be a name: it holds a tab or a line end; rename it"
        raise InputError(message, file=str(path))


def document_rows(path: str | Path) -> Iterator[DocumentRow]:
    """The documents of a file or folder; their bytes are read one at a time."""
    documents = documents_beside(path)
    return (_document_row(documents, name, path) for name in documents.index)


def blank_documents(rows: Iterable[DocumentRow]) -> set[str]:
    """The names of those without a text."""
    return {row.name for row in rows if not row.body.strip()}


def by_title(row: DocumentRow) -> DocumentRow:
    """A document whose text is its title, where it has no other."""
    if row.body.strip():
        return row
    return replace(row, body=row.title.encode(), media_type="text/plain")


def documents_beside(path: str | Path) -> Documents:
    """The documents of a file or folder; an error where one's bytes are in another folder.

    What is in a campaign is shown to strangers: a table from elsewhere must not name our files,
    nor a folder hold links to them.
    """
    documents, is_folder = read_documents(path), Path(path).is_dir()
    root = (Path(path) if is_folder else Path(path).parent).resolve()
    named = [Path(file) for file in documents.file if file]
    for file in [*named, *(Path(path).iterdir() if is_folder else ())]:
        if not file.resolve().is_relative_to(root):
            where = "that folder" if is_folder else f"the folder of {Path(path).name}"
            message = f"{file.name} is not among the files in {where}; copy it there"
            raise InputError(message, file=str(path))
    return documents


def _document_row(documents: Documents, name: str, path: str | Path) -> DocumentRow:
    """A document; the text that comes with a picture describes it."""
    _refuse_odd_name(name, path)
    document = documents[name]
    media = document.media or "text/plain"
    if len(media) > LONGEST_MEDIA or not _MEDIA.fullmatch(media):
        message = f"document {name!r}: media must be like text/html, got {media[:60]!r}"
        raise InputError(message, file=str(path))
    title = document.title.strip()
    if media.startswith("image/"):
        title = ": ".join(filter(None, (title, document.text.strip())))
    return DocumentRow(name, documents.read_bytes(name), title, document.url, media)


def pool_rows(path: str | Path) -> list[Pair]:
    """The pairs of a file, sorted."""
    return _sorted(read_pairs(str(path)))


def pool_of_runs(runs: RunSet, depth: int) -> list[Pair]:
    """The documents that any run has among its first `depth`, sorted."""
    return _sorted(runs.pool(depth))


def _sorted(pairs: Pairs) -> list[Pair]:
    return sorted(zip(pairs.topic_names.tolist(), pairs.document_names.tolist(), strict=True))


def gold_rows(path: str | Path) -> list[GoldRow]:
    """Gold: TSV with topic, doc, grade and, if wanted, reason, passage, set; or TREC's qrels."""
    source = Path(path)
    if _is_qrels(source):
        qrels = read_qrels(str(source))
        topics, documents = qrels.pairs.topic_names.tolist(), qrels.pairs.document_names.tolist()
        return list(map(GoldRow, topics, documents, qrels.grade.tolist()))
    rows = []
    optional = ("reason", "passage", "set")
    for line, row in strict_rows(source, ("topic", "doc", "grade"), optional):
        try:
            grade = int(row["grade"]) if row["grade"] else None
        except ValueError:
            message = f"grade must be a whole number, got {row['grade']!r}; fix this line"
            raise FormatError(message, file=str(source), line=line) from None
        texts = {name: row.get(name, "") for name in optional}
        rows.append(GoldRow(row["topic"], row["doc"], grade, **texts))
    twice = [pair for pair, times in Counter(row.pair for row in rows).items() if times > 1]
    if twice:
        raise InputError(f"{' '.join(twice[0])} is there twice; keep one line", file=str(source))
    return rows


def _is_qrels(path: Path) -> bool:
    """Whether the first line is one of TREC's qrels, and names no columns."""
    with path.open("rb") as file:
        first = file.readline(10_000).split()
    return len(first) == 4 and first[3].lstrip(b"-").isdigit()


def priority_rows(path: str | Path) -> list[tuple[Pair, float]]:
    """Priorities: TSV with topic, doc, priority; or what `qrowd next` writes, by its worth.

    What was drawn uniformly comes first, whatever its worth: scores need all of it.
    """
    source, rows, uniform = Path(path), [], []
    others = ("priority", "worth", "reason", "p_wrong", "probability", "goal")
    for line, row in strict_rows(source, ("topic", "doc"), others):
        key = "priority" if "priority" in row else "worth"
        if key not in row:
            message = "the first line must name the columns topic, doc, priority (or worth)"
            raise FormatError(message, file=str(source), line=1)
        try:
            rows.append(((row["topic"], row["doc"]), float(row[key])))
        except ValueError:
            message = f"{key} must be a number, got {row[key]!r}; fix this line"
            raise FormatError(message, file=str(source), line=line) from None
        uniform.append(key == "worth" and row.get("goal") == UNIFORM)
    first = max((priority for _, priority in rows), default=0.0) + 1
    return [
        (names, first if drawn else priority)
        for (names, priority), drawn in zip(rows, uniform, strict=True)
    ]


def question_rows(path: str | Path) -> list[QuestionRow]:
    """Questions: JSON lines with topic, question, choices, right (counted from 0)."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise FormatError("cannot be read as text in UTF-8", file=str(path)) from None
    rows = []
    for line, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            fields = json.loads(text)
            choices = tuple(str(choice) for choice in fields["choices"])
            row = QuestionRow(
                str(fields["topic"]), str(fields["question"]), choices, int(fields["right"])
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            message = 'expected {"topic": ..., "question": ..., "choices": [...], "right": 0}'
            raise FormatError(message, file=str(path), line=line) from None
        if not 0 <= row.right < len(choices):
            message = f"right must be 0 to {len(choices) - 1}, the place of a choice"
            raise FormatError(message, file=str(path), line=line)
        rows.append(row)
    return rows


#: the reader of each kind of file that is a list of rows
READERS: dict[str, Callable[[str | Path], Sequence[Any]]] = {
    "topics": topic_rows,
    "pool": pool_rows,
    "gold": gold_rows,
    "qualification": gold_rows,
    "questions": question_rows,
    "priorities": priority_rows,
}
