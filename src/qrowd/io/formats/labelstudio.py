"""Label Studio: its JSON (also snapshots), JSON_MIN, CSV and TSV; choices and ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qrowd.io.formats.tool import ROW, Answer, Layout, Tool
from qrowd.io.roles import SYNONYMS, plain_name, recognised
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

_CONTROL, _GOLD = "control", "ground truth"  # columns that are looked at, and left out
_FLAT = {"annotator", "annotation_id", "created_at", "updated_at", "lead_time"}
_OWN = {*_FLAT, "id"}
_KINDS = ("choices", "rating", "number")  # of controls that ask for a grade


class LabelStudio(Tool):
    """Tasks with `data`, `annotations` and `predictions`.

    Cancelled annotations are left out, drafts too; predictions are judgements of machines, and what
    is flagged as ground truth is gold. Somebody all of whose annotations are gold judged nothing.
    """

    name = "label-studio"
    title = "Label Studio's JSON"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """A task with annotations."""
        annotations = record.get("annotations")
        return (
            isinstance(record.get("data"), dict)
            and isinstance(annotations, list)
            and all(isinstance(each, Mapping) for each in annotations)
        )

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """Annotations, predictions by themselves, and predictions that annotations began with."""
        data = {
            role: f"data.{name}"
            for role, name in recognised(list(record["data"]), ("topic", "doc")).items()
        }
        data.setdefault("doc", "id")
        who = "completed_by"
        if any(isinstance(each.get(who), dict) for each in record["annotations"]):
            who += ".email"
        people = {
            **_answers(data, "annotations[]", who),
            "seconds": "annotations[].lead_time",
            "time": "annotations[].created_at",
            _GOLD: "annotations[].ground_truth",
        }
        done = "annotations[].was_cancelled!=true"
        if gold:
            return [Layout(people, (done, "annotations[].ground_truth=true"))]
        machines = [
            Layout(_answers(data, at, "model_version"), always={"kind": "machine"}, once=True)
            for at in ("predictions[]", "annotations[].prediction")
        ]
        return [Layout(people, (done,)), *machines]

    def settled(
        self, source: Source, frame: pl.DataFrame, gold: bool
    ) -> tuple[pl.DataFrame, list[str]]:
        """Answers to one control, without those of who only gave gold."""
        import polars as pl

        graded = pl.col("grade").is_not_null()
        machine = pl.lit(False) if gold else pl.col("kind").fill_null("") == "machine"
        # a comment beside a grade is no answer without a grade; a prediction may be named only
        stays = graded | (~machine & ~graded.any().over(ROW, "assessor"))
        control = self._control(
            source, frame.filter(graded)[_CONTROL].drop_nulls().cast(str).unique().to_list()
        )
        stays &= (pl.col(_CONTROL).cast(str) == control) | ~graded
        notes = []
        if not gold:
            flagged = pl.col(_GOLD).fill_null("false") == "true"
            only = flagged.all().over("assessor") & ~machine
            count = frame.filter(stays).select(only.sum()).item()
            if count:
                notes.append(
                    f"{count} by who only gave ground truth: gold, if the file is named as --gold"
                )
            stays &= ~only
        return frame.filter(stays).drop(_GOLD, _CONTROL, strict=False), notes

    def _control(self, source: Source, names: Sequence[str]) -> str:
        """The control that asks for the grade, where there are several."""
        if len(names) > 1 and not (likeliest := recognised(names, ("grade",))):
            raise source.error(
                f"several controls have answers ({', '.join(sorted(names))}); choose one: --where "
                f"'annotations[].result[].from_name={min(names)}'"
            )
        return names[0] if len(names) == 1 else likeliest["grade"] if names else ""


def _answers(data: Mapping[str, str], at: str, who: str) -> dict[str, str]:
    return {
        **data,
        "assessor": f"{at}.{who}",
        "grade": f"{at}.result[].value.choices|rating|number",
        _CONTROL: f"{at}.result[].from_name",
    }


def _is_rating(held: Any) -> bool:
    first = held[0] if isinstance(held, list) and held else None
    return isinstance(first, Mapping) and bool(first.keys() & {"rating", "number"})


class Predictions:
    """Grades on their way back into a project, of which these are the tasks.

    Those of its annotators are annotations, all others predictions.
    """

    strangers = "not annotators of the project; their grades become predictions"

    def __init__(self, tasks: Sequence[Mapping[str, Any]]) -> None:
        answers = [
            result
            for task in tasks
            for each in [*(task.get("annotations") or []), *(task.get("predictions") or [])]
            if isinstance(each, Mapping)
            for result in each.get("result") or []
            if result.get("type") in _KINDS and "from_name" in result
        ]
        names = list(dict.fromkeys(str(answer["from_name"]) for answer in answers))
        control = recognised(names, ("grade",)).get("grade") or (names or [""])[0]
        self.shown = [answer for answer in answers if answer["from_name"] == control]
        self.people: dict[str, Any] = {}  # by name, as an annotation has them
        for task in tasks:
            for each in task.get("annotations") or []:
                who = each.get("completed_by")
                if isinstance(who, Mapping) and "email" in who:
                    self.people[str(who["email"])] = {"email": who["email"]}
                elif who is not None:
                    self.people[str(who)] = who
        data = recognised(list(tasks[0]["data"]), ("topic", "doc"))
        self.topic, self.doc = data.get("topic"), data.get("doc")

    @property
    def words(self) -> list[str]:
        """What people answered."""
        choices = [answer["value"].get("choices") or ["0"] for answer in self.shown]
        return [str(choice[0]) for choice in choices]

    def pair(self, task: Mapping[str, Any]) -> tuple[str, str]:
        """The topic and the document of a task."""
        doc = task["data"].get(self.doc) if self.doc else task.get("id")
        return str(task["data"].get(self.topic, "")), str(doc)

    def answered(self, task: Mapping[str, Any], answers: Sequence[Answer]) -> dict[str, Any]:
        """The task with predictions and annotations, as Label Studio imports it."""
        shown = {name: self.shown[0][name] for name in ("from_name", "to_name", "type")}
        kind = shown["type"]
        record = {"id": task["id"]} if "id" in task else {}
        record["data"] = task["data"]
        for answer in answers:
            value = {kind: [answer.said] if kind == "choices" else float(answer.said)}
            given: dict[str, Any] = {"result": [{**shown, "value": value}]}
            if answer.by in self.people:
                given = {"completed_by": self.people[answer.by], **given}
                extra, held = {"lead_time": answer.seconds}, "annotations"
            else:
                given = {"model_version": answer.by, **given}
                extra, held = {"score": answer.chance}, "predictions"
            given |= {name: number for name, number in extra.items() if number is not None}
            record.setdefault(held, []).append(given)
        return record


class LabelStudioTable(Tool):
    """CSV, TSV and JSON_MIN: an annotation in each row, columns named after data and controls."""

    name = "label-studio-table"
    title = "Label Studio's table"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """An annotation's own columns."""
        return record.keys() >= _FLAT

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """The column of grades is called so, or holds a rating."""
        names = [name for name in record if name not in _OWN]
        columns = recognised(names, ("topic", "doc", "grade"))
        stars = [name for name in names if _is_rating(record[name])]
        grade = columns.get("grade") or (stars[0] if len(stars) == 1 else None)
        if grade in stars:
            columns["grade"] = f"{grade}[0].rating|number"
        if "grade" not in columns:
            known = {plain_name(word) for words in SYNONYMS.values() for word in words.split()}
            texts = {"text", "title", "body", "comment", "reason", *known}
            rest = [name for name in names if plain_name(name) not in texts and name not in stars]
            columns |= {"grade": rest[0]} if len(rest) == 1 and not stars else {}
        if gold:
            return []
        columns.setdefault("doc", "id")
        extras = {"assessor": "annotator", "seconds": "lead_time", "time": "created_at"}
        return [Layout(columns | extras)]
