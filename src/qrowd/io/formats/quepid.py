"""Quepid: books and cases as JSON, cases for RRE; its CSV files are plain and wide tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qrowd.io.formats.tool import Layout, Tool


class QuepidBook(Tool):
    """A book: pairs of query and document, each with judgements."""

    name = "quepid-book"
    title = "Quepid's book"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """Pairs of query and document."""
        return isinstance(record.get("query_doc_pairs"), list)

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """Without what could not be rated, or is to be judged later."""
        pair = "query_doc_pairs[]"
        columns = {
            "topic": f"{pair}.query_text",
            "doc": f"{pair}.doc_id",
            "assessor": f"{pair}.judgements[].user_email|user_name|judge",
            "grade": f"{pair}.judgements[].rating",
        }
        skipped = ("unrateable", "judge_later")
        where = tuple(f"{pair}.judgements[].{name}!=true" for name in skipped)
        return [] if gold else [Layout(columns, where)]


class QuepidCase(Tool):
    """A case: ratings by query, `{document: rating}`; or for RRE, with gains."""

    name = "quepid-case"
    title = "Quepid's case"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """Queries with ratings."""
        queries = record.get("queries")
        first = queries[0] if isinstance(queries, list) and queries else {}
        return isinstance(first, Mapping) and bool(first.keys() & {"ratings", "relevant_documents"})

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """Qrels: nobody says who rated."""
        first = record["queries"][0]
        if "ratings" in first:
            topic, rated, grade = "queries[].query|query_text", "queries[].ratings", "{}"
        else:
            topic, rated, grade = (
                "queries[].placeholders.$query",
                "queries[].relevant_documents",
                "{}.gain",
            )
        return [Layout({"topic": topic, "doc": f"{rated}{{key}}", "grade": f"{rated}{grade}"})]
