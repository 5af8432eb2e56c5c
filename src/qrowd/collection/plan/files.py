"""What a plan's files hold: topics, documents, pool, gold, questions, priorities.

A file that is missing or cannot be used is reported at the line of the plan that names it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from qrowd.collection.plan.rows import DocumentRow, GoldRow, Material, QuestionRow, TopicRow
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import wrong
from qrowd.data.documents import Documents
from qrowd.data.runs import RunSet
from qrowd.errors import FormatError, InputError
from qrowd.io.documents import read_documents
from qrowd.io.qrels import read_pairs, read_qrels
from qrowd.io.records import strict_rows
from qrowd.io.runs import read_runs
from qrowd.io.topics import read_topics


def gather(plan: Plan, file: str | Path, within: Path | None = None) -> Material:
    """Everything that a plan file names, read; paths are relative to the plan.

    With `within`, files outside of this folder are refused: what others send must not name them.
    """
    here = Path(file).parent
    if within is not None:
        _refuse_outside(_named(plan, here), within)
    found = Material(
        topics=topic_rows(_path(plan, here, file, "topics")),
        documents=document_rows(_path(plan, here, file, "documents"), within),
        pool=_pool(plan, here, file),
        gold=_optional(plan, here, file, "gold", gold_rows),
        qualification=_optional(plan, here, file, "qualification", gold_rows),
        questions=_optional(plan, here, file, "questions", question_rows),
        priorities=dict(_optional(plan, here, file, "priorities", priority_rows)),
    )
    return replace(found, topics=_topics_in_use(found), documents=_documents_in_use(found))


def _named(plan: Plan, here: Path) -> list[Path]:
    """All files that a plan names."""
    files = plan.files
    one = (
        files.topics,
        files.documents,
        files.pool,
        files.gold,
        files.qualification,
        files.questions,
        files.priorities,
    )
    return [here / name for name in (*one, *files.runs) if name]


def _refuse_outside(files: Iterable[str | Path], within: Path) -> None:
    root = within.resolve()
    for file in files:
        if not Path(file).resolve().is_relative_to(root):
            name = Path(file).name
            raise InputError(f"{name} is not among the files that were sent; send it too")


def _path(plan: Plan, here: Path, file: str | Path, key: str) -> Path:
    given = getattr(plan.files, key)
    if not given:
        raise wrong(plan, "files", key, f"say where the {key} are", str(file))
    path: Path = here / given
    if not path.exists():
        raise wrong(plan, "files", key, f"there is no file {path}", str(file))
    return path


def _optional(plan: Plan, here: Path, file: str | Path, key: str, read: Any) -> Any:
    return read(_path(plan, here, file, key)) if getattr(plan.files, key) else ()


def _pool(plan: Plan, here: Path, file: str | Path) -> list[tuple[str, str]]:
    if plan.files.pool:
        return pool_rows(_path(plan, here, file, "pool"))
    if not plan.files.runs:
        raise wrong(
            plan, "files", "pool", "say which pairs to judge: pool, or runs and depth", str(file)
        )
    return pool_of_runs(read_runs([str(here / one) for one in plan.files.runs]), plan.files.depth)


def _topics_in_use(found: Material) -> list[TopicRow]:
    used = {name for name, _ in found.pool} | {
        row.topic for row in (*found.gold, *found.qualification)
    }
    return [one for one in found.topics if one.name in used]


def _documents_in_use(found: Material) -> Iterator[DocumentRow]:
    used = {name for _, name in found.pool} | {
        row.document for row in (*found.gold, *found.qualification)
    }
    return (one for one in found.documents if one.name in used)


# --- single files ---------------------------------------------------------------------------------


def topic_rows(path: str | Path) -> list[TopicRow]:
    """The topics of a file."""
    topics = read_topics(path)
    return [TopicRow(*topics[name]) for name in topics.index]


def document_rows(path: str | Path, within: Path | None = None) -> Iterator[DocumentRow]:
    """The documents of a file or folder; their bytes are read one at a time."""
    documents = read_documents(path)
    if within is not None:
        _refuse_outside((file for file in documents.file if file), within)
    return (_document(documents, name) for name in documents.index)


def _document(documents: Documents, name: str) -> DocumentRow:
    """A document; the text that comes with a picture describes it."""
    one = documents[name]
    media = one.media or "text/plain"
    described = [one.title, one.text] if media.startswith("image/") else [one.title]
    title = ": ".join(text.strip() for text in described if text.strip())
    return DocumentRow(name, documents.read_bytes(name), title, one.url, media)


def pool_rows(path: str | Path) -> list[tuple[str, str]]:
    """The pairs of a file, sorted."""
    pairs = read_pairs(str(path))
    names = zip(pairs.topic_names.tolist(), pairs.document_names.tolist(), strict=True)
    return sorted(names)


def pool_of_runs(runs: RunSet, depth: int) -> list[tuple[str, str]]:
    """The documents that any run has among its first `depth`, sorted."""
    return sorted(_first(runs, depth))


def _first(runs: RunSet, depth: int) -> set[tuple[str, str]]:
    names, topics = runs.documents.names, runs.topics.names
    found: set[tuple[str, str]] = set()
    for cell in range(len(runs.starts) - 1):
        start, end = int(runs.starts[cell]), int(runs.starts[cell + 1])
        topic = str(topics[cell // len(runs)])
        codes = runs.document[start : min(end, start + depth)]
        found |= {(topic, str(names[code])) for code in codes}
    return found


def pool_sizes(runs: RunSet, depths: Sequence[int] = (5, 10, 20, 50, 100)) -> dict[int, int]:
    """How many pairs a pool of each depth has."""
    return {depth: len(_first(runs, depth)) for depth in depths}


def _has_header(path: Path) -> bool:
    """Whether the first line names columns; TREC's four columns of qrels do not."""
    with path.open("rb") as file:
        first = file.readline(10_000).split()
    return len(first) != 4 or not first[3].lstrip(b"-").isdigit()


def gold_rows(path: str | Path) -> list[GoldRow]:
    """Gold: TSV with topic, doc, grade and, if wanted, reason, passage, set; or TREC's qrels."""
    source, found = Path(path), []
    if not _has_header(source):
        qrels = read_qrels(str(source))
        names = zip(
            qrels.pairs.topic_names.tolist(),
            qrels.pairs.document_names.tolist(),
            qrels.grade.tolist(),
            strict=True,
        )
        return [GoldRow(*row) for row in names]
    for line, row in strict_rows(source, ("topic", "doc", "grade"), ("reason", "passage", "set")):
        try:
            grade = int(row["grade"]) if row["grade"] else None
        except ValueError:
            message = f"grade must be a whole number, got {row['grade']!r}; fix this line"
            raise FormatError(message, file=str(source), line=line) from None
        more = (row.get("reason", ""), row.get("passage", ""), row.get("set", ""))
        found.append(GoldRow(row["topic"], row["doc"], grade, *more))
    twice = [key for key, n in Counter((row.topic, row.document) for row in found).items() if n > 1]
    if twice:
        raise InputError(f"{' '.join(twice[0])} is there twice; keep one line", file=str(source))
    return found


def priority_rows(path: str | Path) -> list[tuple[tuple[str, str], float]]:
    """Priorities: TSV with topic, doc, priority."""
    source, found = Path(path), []
    for line, row in strict_rows(source, ("topic", "doc", "priority")):
        try:
            found.append(((row["topic"], row["doc"]), float(row["priority"])))
        except ValueError:
            message = f"priority must be a number, got {row['priority']!r}; fix this line"
            raise FormatError(message, file=str(source), line=line) from None
    return found


def question_rows(path: str | Path) -> list[QuestionRow]:
    """Questions: JSON lines with topic, question, choices, right (counted from 0)."""
    found = []
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise FormatError("cannot be read as text in UTF-8", file=str(path)) from None
    for line, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
            choices = tuple(str(one) for one in row["choices"])
            one = QuestionRow(str(row["topic"]), str(row["question"]), choices, int(row["right"]))
        except (ValueError, KeyError, TypeError):
            message = 'expected {"topic": ..., "question": ..., "choices": [...], "right": 0}'
            raise FormatError(message, file=str(path), line=line) from None
        if not 0 <= one.right < len(choices):
            message = f"right must be 0 to {len(choices) - 1}, the place of a choice"
            raise FormatError(message, file=str(path), line=line)
        found.append(one)
    return found


def extension(
    *,
    topics: str | Path | None = None,
    documents: str | Path | None = None,
    pool: str | Path | None = None,
    runs: Sequence[str | Path] = (),
    depth: int = 20,
    gold: str | Path | None = None,
    within: Path | None = None,
) -> Material:
    """What files add to a campaign; of the documents only those that the pool and gold use."""
    pairs = pool_rows(pool) if pool else []
    if runs:
        pairs += pool_of_runs(read_runs(list(runs)), depth)
    golds = gold_rows(gold) if gold else []
    used = {doc for _, doc in pairs} | {row.document for row in golds}
    found = document_rows(documents, within) if documents else iter(())
    return Material(
        topics=topic_rows(topics) if topics else [],
        documents=[one for one in found if one.name in used],
        pool=pairs,
        gold=golds,
    )
