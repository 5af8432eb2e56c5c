"""UMBRELA and LLMJudge: answers of machine judges, with texts instead of ids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qrowd.io.formats.tool import Layout, Tool
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

_ANSWER = "answer"
_GRADE = re.compile(r"(?i)final score\W*\d|\"?O\"?\W*\d|^\W*\d\W*$")


class Umbrela(Tool):
    """`{"model", "query", "passage", "prediction" (once `predition`), "judgment"}`.

    An answer that could not be read is grade 0 in the file: it is left out, by its status, or by
    its text.
    """

    name = "umbrela"
    title = "UMBRELA's judgements"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """The texts that were judged, and the judge's words."""
        return record.keys() >= {"model", "query", "passage", "judgment"} and bool(
            record.keys() & {"prediction", "predition"}
        )

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """Ids where the file has them, else texts."""
        topic = next((name for name in ("qid", "query_id") if name in record), None)
        doc = next((name for name in ("docid", "doc_id", "pid") if name in record), None)
        answer = "prediction" if "prediction" in record else "predition"
        columns = {
            "topic" if topic else "topic_text": topic or "query",
            "doc" if doc else "doc_text": doc or "passage",
            "assessor": "model",
            "grade": "judgment",
            _ANSWER: answer,
        }
        known = ("result_status!=0",) if "result_status" in record else ()
        return [] if gold else [Layout(columns, known, always={"kind": "machine"})]

    def settled(
        self, source: Source, frame: pl.DataFrame, gold: bool
    ) -> tuple[pl.DataFrame, list[str]]:
        """Without grades of answers in which there is none."""
        import polars as pl

        read = pl.Series([bool(_GRADE.search(text or "")) for text in frame[_ANSWER]])
        lost = int((~read).sum())
        notes = [f"{lost} answers say no grade: left out, though the file has 0"] if lost else []
        return frame.filter(read).drop(_ANSWER), notes
