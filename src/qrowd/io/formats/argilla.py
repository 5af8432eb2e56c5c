"""Argilla: datasets of version 2 (lists side by side, or objects by question) and 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from qrowd.io.formats.tool import Answer, Layout, Tool
from qrowd.io.roles import recognised
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

_LIST = ".responses"


class Argilla(Tool):
    """Records with responses to questions; suggestions are judgements of machines.

    Responses that were discarded, or are drafts, are left out where their status is there.
    """

    name = "argilla"
    title = "Argilla's records"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """Responses to questions, with who gave them."""
        return bool(_questions(record))

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """The question that is called as grades are, or the only one."""
        questions = _questions(record)
        question = recognised(list(questions), ("grade",)).get("grade")
        if gold or (question is None and len(questions) > 1):
            return []
        shared = _shared(record)
        layouts = questions[question] if question else next(iter(questions.values()))
        return [replace(each, columns={**shared, **each.columns}) for each in layouts]

    def settled(
        self, source: Source, frame: pl.DataFrame, gold: bool
    ) -> tuple[pl.DataFrame, list[str]]:
        """Suggestions need not say which agent made them."""
        import polars as pl

        if "kind" in frame.columns:
            machine = pl.col("kind") == "machine"
            nameless = machine & pl.col("assessor").is_null()
            named = pl.when(nameless).then(pl.lit("suggestion")).otherwise(pl.col("assessor"))
            frame = frame.with_columns(named.alias("assessor"))
            frame = frame.filter(~machine.fill_null(False) | pl.col("grade").is_not_null())
        return frame, []


class Suggestions:
    """Grades on their way back into a dataset, of which these are the records."""

    strangers = "not users of the dataset; a record holds one suggestion, that of the last"

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        names = {name for record in records for name in _questions(record)}
        self.question = recognised(sorted(names), ("grade",)).get("grade") or min(names, default="")
        nested = [isinstance(record.get("responses"), Mapping) for record in records]
        self.nested, self.records = any(nested), records
        self.shown = names
        self.at = [_shared(records[0]).get(role, "").split(".") for role in ("topic", "doc")]

    @property
    def answers(self) -> list[Any]:
        """What people answered: words, or the whole numbers of a rating."""
        words: list[Any] = []
        for record in self.records:
            if self.nested:
                words += [answer["value"] for answer in self._responses(record)]
            else:
                words += record.get(self.question + _LIST) or []
        return words

    def _responses(self, record: Mapping[str, Any]) -> list[Any]:
        return (record.get("responses") or {}).get(self.question) or []

    @property
    def words(self) -> list[str]:
        """The same as words."""
        return [str(answer) for answer in self.answers]

    def pair(self, record: Mapping[str, Any]) -> tuple[str, str]:
        """The topic and the document of a record."""
        names = []
        for path in self.at:
            value: Any = record
            for key in path:
                value = value.get(key, "") if isinstance(value, Mapping) else ""
            names.append(str(value))
        return names[0], names[1]

    def answered(self, record: Mapping[str, Any], answers: Sequence[Answer]) -> dict[str, Any]:
        """The record with a suggestion, or with the responses of its users and a suggestion."""
        number = isinstance(next(iter(self.answers), ""), int)
        said = [(int(each.said) if number else each.said, each) for each in answers]
        people = [(value, each.by) for value, each in said if each.by in self.people]
        others = [(value, each) for value, each in said if each.by not in self.people]
        result = dict(record)
        if self.nested:
            given = [{"value": v, "user_id": by, "status": "submitted"} for v, by in people]
            if people:
                held = record.get("responses") or {}
                result["responses"] = {**held, self.question: given}
            for value, each in others[-1:]:
                own = {"value": value, "agent": each.by, "score": each.chance}
                held = record.get("suggestions") or {}
                result["suggestions"] = {**held, self.question: own}
            return result
        if people:
            at = self.question + _LIST
            result[at] = [value for value, _ in people]
            result[f"{at}.users"] = [by for _, by in people]
            result[f"{at}.status"] = ["submitted"] * len(people)
        for value, each in others[-1:]:
            at = f"{self.question}.suggestion"
            result |= {at: value, f"{at}.agent": each.by, f"{at}.score": each.chance}
        return result

    @cached_property
    def people(self) -> set[str]:
        """Who answered the question."""
        who: set[str] = set()
        for record in self.records:
            if self.nested:
                who |= {str(answer.get("user_id")) for answer in self._responses(record)}
            else:
                who |= {str(by) for by in record.get(f"{self.question}{_LIST}.users") or []}
        return who


def _shared(record: Mapping[str, Any]) -> dict[str, str]:
    """The paths of topic and document: columns of their own, or in fields and metadata."""
    columns: dict[str, str] = {}
    for inside in ("", "metadata", "fields"):
        held = record.get(inside) if inside else record
        if isinstance(held, Mapping):
            for role, name in recognised(list(held), ("topic", "doc")).items():
                columns.setdefault(role, f"{inside}.{name}" if inside else name)
    columns.setdefault("doc", "id" if "id" in record else "external_id")
    return columns


def _questions(record: Mapping[str, Any]) -> dict[str, list[Layout]]:
    """The questions of a record, and where the answers of people and of machines are."""
    questions: dict[str, list[Layout]] = {}
    for key, held in record.items():
        name = key.removesuffix(_LIST)
        if key != name and f"{key}.users" in record:  # version 2: lists side by side
            status = f"{key}.status[]" if f"{key}.status" in record else ""
            agent, said = f"{name}.suggestion.agent", f"{name}.suggestion"
            machine = [_machine(agent, said)] if agent in record else []
            questions[name] = [_people(f"{key}.users[]", f"{key}[]", status), *machine]
        elif _is_answers(held):  # version 1: a list of answers for each question
            agent, said = f"{key}-suggestion-metadata.agent", f"{key}-suggestion"
            machine = [_machine(agent, said)] if said in record else []
            questions[key] = [_answers(key, held), *machine]
    responses, machines = record.get("responses"), record.get("suggestions") or {}
    if isinstance(responses, Mapping):  # version 2: objects, by question
        for name, held in responses.items():
            at, by = f"responses.{name}", f"suggestions.{name}"
            suggested = isinstance(machines, Mapping) and name in machines
            machine = [_machine(f"{by}.agent", f"{by}.value")] if suggested else []
            if _is_answers(held):
                questions[name] = [_answers(at, held), *machine]
    elif isinstance(responses, list) and responses:  # version 1, as its objects are
        values = responses[0].get("values") if isinstance(responses[0], Mapping) else None
        for name in values if isinstance(values, Mapping) else ():
            where = (f"suggestions[].question_name={name}",)
            machine = [_machine("suggestions[].agent", "suggestions[].value", where)]
            at = f"responses[].values.{name}.value"
            people = _people("responses[].user_id", at, "responses[].status")
            questions[name] = [people, *(machine if machines else [])]
    if record.keys() >= {"annotation", "annotation_agent", "status"}:  # version 1, before questions
        columns = {"assessor": "annotation_agent", "grade": "annotation"}
        questions["annotation"] = [Layout(columns, ("status!=Discarded",))]
    return questions


def _is_answers(held: Any) -> bool:
    first = held[0] if isinstance(held, list) and held else None
    return isinstance(first, Mapping) and first.keys() >= {"user_id", "value"}


def _answers(at: str, held: list[Mapping[str, Any]]) -> Layout:
    """Of a question whose answers say who gave them."""
    status = f"{at}[].status" if "status" in held[0] else ""
    return _people(f"{at}[].user_id", f"{at}[].value", status)


def _people(who: str, grade: str, status: str) -> Layout:
    return Layout({"assessor": who, "grade": grade}, (f"{status}=submitted",) if status else ())


def _machine(who: str, grade: str, where: tuple[str, ...] = ()) -> Layout:
    return Layout({"assessor": who, "grade": grade}, where, always={"kind": "machine"})
