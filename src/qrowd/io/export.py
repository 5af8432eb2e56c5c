"""What we hold, in the files of other tools: back to where judgements came from.

A target is one function of `Labels` (a grade for each pair, or several people's), of runs, or of
topics and documents, under the name that `--to` knows. Those that go back into a project take
`like`, an export of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.documents import Documents
from qrowd.data.frames import polars_frame
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Merged
from qrowd.data.orders import Orders
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.topics import Topics
from qrowd.errors import InputError, UnknownNameError, UsageError
from qrowd.io.atomic import made_folder, write
from qrowd.io.documents import encoded_documents
from qrowd.io.formats import FORMATS, format_of
from qrowd.io.formats.argilla import Suggestions
from qrowd.io.formats.labelstudio import Predictions
from qrowd.io.formats.tool import Answer
from qrowd.io.grades import Words, meaning, plain, scale_of
from qrowd.io.origin import say
from qrowd.io.source import sources
from qrowd.rendering import some_of


@dataclass(frozen=True)
class Label:
    """One pair, and what is known of it."""

    topic: str
    query: str  # its text, where that is known: else the topic
    doc: str
    grade: int
    by: str  # the method that merged, or the assessor; else qrowd
    chance: float | None = None  # of the grade
    seconds: float | None = None


@dataclass(frozen=True)
class Labels:
    """Grades of pairs, in the order of topics, and what the target must know beside."""

    rows: tuple[Label, ...]
    name: str
    like: str | None
    words: Words
    labels: tuple[str, ...]  # where grades stand for labels without an order
    several: bool  # people's judgements

    def by_topic(self) -> Iterator[tuple[Label, list[Label]]]:
        """The labels of each topic, after the first of them."""
        for _, group in groupby(self.rows, key=lambda row: row.topic):
            rows = list(group)
            yield rows[0], rows


def convert(
    noun: Any,
    path: str | Path,
    to: str,
    *,
    like: str | Path | None = None,
    topics: Topics | None = None,
    documents: Documents | None = None,
    grades: Words = None,
) -> None:
    """Write a noun as a file (or, of BEIR, as a folder) of another tool.

    `to` is one of `beir hugging-face ranx quepid rank-eval opensearch label-studio argilla
    pyterrier msmarco`; what it cannot hold is an error, what is left out is said. `like` is an
    export of the project that labels go back to; `topics` have the texts of queries, `grades` the
    words of grades (`{"Relevant": 1}`). Label Studio, Argilla and Hugging Face also hold
    judgements.

    >>> import qrowd as q, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "labels.csv"
    >>> q.convert(q.Qrels.of(["cats"], ["d1"], [2]), path, "quepid")
    >>> print(path.read_text(), end="")
    query,docid,rating
    cats,d1,2
    """
    if to not in TARGETS:
        raise UnknownNameError.among("format to write", to, TARGETS)
    holds, write_it = TARGETS[to]
    if not isinstance(noun, holds):
        raise UsageError(_cannot(noun, to, holds))
    if like is not None and to not in LIKE:
        raise UsageError(f"--like is for {' and '.join(LIKE)}; {to} needs none")
    if isinstance(noun, RunSet) and len(noun) != 1:
        raise UsageError(f"{to} holds one run; there are {len(noun)}: convert them one by one")
    if isinstance(noun, Merged | Qrels | Judgements) and to not in SEVERAL:
        noun.scale.require_order(to)
    if isinstance(noun, Merged | Qrels) or (isinstance(noun, Judgements) and to in LIKE):
        noun = _labels(noun, Path(path), to, like, topics, grades)
    if to == "beir":
        _beir(noun, Path(path), topics, documents)
    else:
        write(path, write_it(noun))


def _cannot(noun: Any, to: str, holds: tuple[type, ...]) -> str:
    what = {Qrels: "qrels", RunSet: "a run", Topics: "topics", Documents: "documents"}
    held = " or ".join(what[kind] for kind in holds if kind in what)
    got = {RunSet: "runs", AssessorTable: "a table of assessors", Orders: "orders"}.get(
        type(noun), type(noun).__name__.lower()
    )
    if got == "judgements":
        got += ", in which several people grade a pair"
        held += "; merge them first: qrowd merge ds FILE --probabilities merged.tsv"
    return f"{to} cannot hold {got}; it holds {held}"


def _labels(
    noun: Qrels | Merged | Judgements,
    path: Path,
    to: str,
    like: str | Path | None,
    topics: Topics | None,
    words: Words,
) -> Labels:
    pair = noun.pair if isinstance(noun, Judgements) else np.arange(len(noun.pairs))
    nothing: list[float | None] = [None] * len(pair)
    by, chance, seconds = ["qrowd"] * len(pair), nothing, nothing
    if isinstance(noun, Judgements):
        grade = np.array(noun.scale.grades)[noun.grade]
        by = noun.assessors.names[noun.assessor].tolist()
        if noun.seconds is not None:
            seconds = [None if math.isnan(each) else each for each in noun.seconds.tolist()]
        lost = [name for name in ("weight", "time") if getattr(noun, name) is not None]
        if lost:
            say(f"the file cannot hold {' and '.join(lost)} of judgements: left out")
    elif isinstance(noun, Merged):
        grade = noun.grades()
        at = np.searchsorted(np.array(noun.scale.grades), grade)
        chance = noun.posterior[np.arange(len(at)), at].tolist()
        if to not in _WITH_CHANCE:
            say(f"{to} holds one grade of each pair: their probabilities are left out")
    else:
        grade = noun.grade
    if not isinstance(noun, Judgements) and noun.provenance:
        by = [noun.provenance.method] * len(pair)
    known = dict(zip(topics.index, topics.query, strict=True)) if topics else {}
    missing = [name for name in noun.topics if not known.get(name)] if topics else []
    if missing:
        raise InputError(f"there is no query for topic {missing[0]} among the topics")
    columns = zip(
        np.array(noun.pairs.topic_names, object)[pair],
        np.array(noun.pairs.document_names, object)[pair],
        grade.tolist(),
        by,
        chance,
        seconds,
        strict=True,
    )
    rows = [Label(topic, known.get(topic, topic), *rest) for topic, *rest in columns]
    from_project = str(like) if like else None
    several = isinstance(noun, Judgements)
    return Labels(tuple(rows), path.stem, from_project, words, noun.scale.words, several)


# --- targets --------------------------------------------------------------------------------------


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def _table(form: str, *names: str) -> Callable[[Labels], bytes]:
    """A table of topic (or, where it is called `query`, its text), document and grade."""

    def encoded(labels: Labels) -> bytes:
        texts = [row.query if names[0] == "query" else row.topic for row in labels.rows]
        said = [labels.labels[row.grade] if labels.labels else row.grade for row in labels.rows]
        columns = (texts, [row.doc for row in labels.rows], said)
        frame = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
        return FORMATS[form].write(polars_frame(frame), labels.name)

    return encoded


def _by_query(target: Callable[[Labels], bytes]) -> Callable[[Labels], bytes]:
    """A target that knows topics by the texts of their queries only."""

    def encoded(labels: Labels) -> bytes:
        topics: dict[str, str] = {}
        for row in labels.rows:
            other = topics.setdefault(row.query, row.topic)
            if other != row.topic:
                raise InputError(
                    f"topics {other} and {row.topic} have the same query, {row.query!r}, which is "
                    "all that tells topics apart there; convert them apart, or change one"
                )
        return target(labels)

    return encoded


def _hugging_face(noun: Labels | Judgements) -> bytes:
    names = ("query-id", "corpus-id", "score")
    if isinstance(noun, Labels):
        return _table("parquet", *names)(noun)
    theirs = dict(zip(("topic", "doc", "grade"), names, strict=True))
    return FORMATS["parquet"].write(noun.to_polars().rename(theirs), "judgements")


def _ranx(noun: Labels | RunSet) -> bytes:
    if isinstance(noun, Labels):
        return _json(
            {first.topic: {row.doc: row.grade for row in rows} for first, rows in noun.by_topic()}
        )
    result: dict[str, dict[str, float]] = {}
    for row in noun.to_polars().iter_rows(named=True):
        result.setdefault(row["topic"], {})[row["doc"]] = float(row["score"])
    return _json(result)


def _msmarco(noun: Labels | RunSet) -> bytes:
    if isinstance(noun, Labels):
        lines = [f"{row.topic}\t0\t{row.doc}\t{row.grade}\n" for row in noun.rows]
    else:
        say("MS MARCO's runs have ranks and no scores: the scores are left out")
        rows = noun.to_polars().select("topic", "doc", "rank").iter_rows()
        lines = ["\t".join(map(str, row)) + "\n" for row in rows]
    return "".join(lines).encode()


def _rank_eval(labels: Labels) -> bytes:
    index, own, asked = "documents", {}, {}
    if labels.like:
        own = _like(labels, "rank-eval")[0]
        asked = {each.get("id"): each for each in own["requests"]}
        if not asked.keys() & {row.topic for row in labels.rows}:
            message = "none of its requests has the id of a topic: is it another project's?"
            raise InputError(message, file=labels.like)
        rated = [rating for each in own["requests"] for rating in each.get("ratings", [])]
        index = next((rating["_index"] for rating in rated if "_index" in rating), index)
    else:
        say(f"the index is called {index!r} and requests are simple queries: --like takes yours")

    def request(first: Label, rows: Sequence[Label]) -> dict[str, Any]:
        simple = {"request": {"query": {"query_string": {"query": first.query}}}}
        held = asked.get(first.topic) or {"id": first.topic, **simple}
        indexes = {rating["_id"]: rating.get("_index", index) for rating in held.get("ratings", [])}
        usual = next(iter(indexes.values()), index)
        rated = [
            {"_index": indexes.get(row.doc, usual), "_id": row.doc, "rating": row.grade}
            for row in rows
        ]
        return {**held, "ratings": rated}

    requests = [request(first, rows) for first, rows in labels.by_topic()]
    return _json({"metric": {"dcg": {"k": 10, "normalize": True}}, **own, "requests": requests})


def _opensearch(labels: Labels) -> bytes:
    ratings = [
        {
            "query": first.query,
            "ratings": [{"docId": row.doc, "rating": str(float(row.grade))} for row in rows],
        }
        for first, rows in labels.by_topic()
    ]
    about = {"name": labels.name, "description": "by qrowd", "type": "IMPORT_JUDGMENT"}
    return _json({**about, "judgmentRatings": ratings})


def _beir(
    noun: Labels | Topics | Documents,
    folder: Path,
    topics: Topics | None,
    documents: Documents | None,
) -> None:
    made_folder(folder)
    taken = sorted(file.name for file in folder.iterdir())
    if taken:
        message = f"there is something in this folder ({', '.join(taken[:3])}); name a new one"
        raise InputError(message, file=str(folder))
    if isinstance(noun, Labels):
        made_folder(folder / "qrels")
        write(folder / "qrels" / "test.tsv", _table("tsv", "query-id", "corpus-id", "score")(noun))
    elif isinstance(noun, Topics):
        topics = noun
    else:
        documents = noun
    if topics:
        lost = [name for name in topics.known if name != "query"]
        if lost:
            say(f"BEIR's queries have one text: {' and '.join(lost)} of topics left out")
        rows = zip(topics.index, topics.query, strict=True)
        lines = [json.dumps({"_id": name, "text": text}, ensure_ascii=False) for name, text in rows]
        write(folder / "queries.jsonl", "\n".join(lines) + "\n")
    if documents:
        texts = encoded_documents(documents, "jsonl", str(folder / "corpus.jsonl")).decode()
        records = [json.loads(line) for line in texts.splitlines()]
        lines = [
            json.dumps({"_id": record.pop("doc"), "title": "", **record}, ensure_ascii=False)
            for record in records
        ]
        write(folder / "corpus.jsonl", "\n".join(lines) + "\n")


def _like(labels: Labels, name: str) -> list[Any]:
    """The records of the export that labels go back to."""
    if not labels.like:
        raise UsageError(f"{name} needs --like, an export of the project: ids, names of fields")
    source = sources(labels.like)[0]
    form = format_of(source)
    if form.name != name:
        raise source.error(f"--like must be an export of {name}; this is {form.name}")
    return [record for _, record in form.rows(source)]


def _back(name: str, tool: type[Predictions | Suggestions]) -> Callable[[Labels], bytes]:
    """Records of the project, each with the merged grade of its pair, or with all judgements."""

    def encoded(labels: Labels) -> bytes:
        records = _like(labels, name)
        project = tool(records)
        if not project.shown:
            raise InputError("nobody answered: what is asked is not known", file=labels.like or "")
        word = _words(labels, project.words)
        answers: dict[tuple[str, str], list[Answer]] = {}
        for row in labels.rows:
            answer = Answer(word(row.grade), row.by, row.chance, row.seconds)
            for key in {row.topic, row.query}:
                answers.setdefault((key, row.doc), []).append(answer)
        pairs = [project.pair(each) for each in records]
        done = [
            project.answered(each, answers[pair])
            for each, pair in zip(records, pairs, strict=True)
            if pair in answers
        ]
        if not done:
            topic, doc = project.pair(records[0])
            raise InputError(
                f"none of its records is about a pair of the labels (the first is about topic "
                f"{topic!r}, document {doc!r}); is it of another project?",
                file=labels.like or "",
            )
        strangers = sorted({row.by for row in labels.rows} - {*project.people})
        if labels.several and strangers:
            say(f"{some_of(strangers, 'assessor')}: {project.strangers}")
        known = {*pairs}
        lacking = {(row.topic, row.doc) for row in labels.rows if (row.topic, row.doc) not in known}
        lacking -= {(row.topic, row.doc) for row in labels.rows if (row.query, row.doc) in known}
        if lacking:
            say(f"{len(lacking)} labels have no record in {labels.like}")
        if name == "label-studio":
            return _json(done)
        return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in done).encode()

    return encoded


def _words(labels: Labels, said: Sequence[str]) -> Callable[[int], str]:
    """How a grade is written: as people answered, by the words that were stated or are known."""
    if labels.labels:
        return lambda grade: labels.labels[grade]
    stated: Mapping[str, int | None] = meaning(labels.words)
    if all(each.lstrip("-").isdigit() for each in said):
        return str
    known = stated or {plain(word): grade for word, grade in scale_of(sorted(set(said))).items()}
    words = {known[plain(word)]: word for word in said if plain(word) in known}
    words |= {grade: word for word, grade in known.items() if grade not in words}
    for row in labels.rows:
        if row.grade not in words:
            raise InputError(
                f"answers are words ({', '.join(sorted(set(said)))}), and none is known for grade "
                f"{row.grade}; say what they mean: --grades 'WORD={row.grade},...'",
                file=labels.like or "",
            )
    return lambda grade: words[grade]


LIKE = ("rank-eval", "label-studio", "argilla")
_WITH_CHANCE = ("label-studio", "argilla")  # which hold the probability of a grade
SEVERAL = ("label-studio", "argilla", "hugging-face")  # which hold judgements, and words
_LABELS = (Qrels, Merged)
_ALL = (*_LABELS, Judgements)
TARGETS: dict[str, tuple[tuple[type, ...], Callable[[Any], bytes]]] = {
    "beir": ((*_LABELS, Topics, Documents), bytes),
    "hugging-face": (_ALL, _hugging_face),
    "pyterrier": (_LABELS, _table("tsv", "qid", "docno", "label")),
    "ranx": ((*_LABELS, RunSet), _ranx),
    "msmarco": ((*_LABELS, RunSet), _msmarco),
    "quepid": (_LABELS, _by_query(_table("csv", "query", "docid", "rating"))),
    "rank-eval": (_LABELS, _rank_eval),
    "opensearch": (_LABELS, _by_query(_opensearch)),
    "label-studio": (_ALL, _back("label-studio", Predictions)),
    "argilla": (_ALL, _back("argilla", Suggestions)),
}
