"""Tools of search engines, whose files are one JSON object: Quepid, OpenSearch, Elasticsearch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from qrowd.io.formats.tool import Layout, Tool


class Rated(Tool):
    """A list of objects, each with ratings; where its layout names no assessor, qrels."""

    inside: ClassVar[tuple[str, str]]
    """The key of the list, and one that its objects have."""
    layout: ClassVar[Layout]
    """With paths from each of these objects."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.names_people = "assessor" in cls.layout.columns

    def knows(self, record: Mapping[str, Any]) -> bool:
        """The two keys."""
        items = record.get(self.inside[0])
        first = items[0] if isinstance(items, list) and items else None
        return isinstance(first, Mapping) and self.inside[1] in first

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """People's judgements are no gold."""
        at = f"{self.inside[0]}[]."
        columns = {role: f"{at}{path}" for role, path in self.layout.columns.items()}
        where = tuple(f"{at}{condition}" for condition in self.layout.where)
        return [] if gold and self.names_people else [Layout(columns, where)]


class RankEval(Rated):
    """A request to `_rank_eval`: rated documents by query."""

    name = "rank-eval"
    title = "a request to _rank_eval"
    inside = ("requests", "ratings")
    layout = Layout({"topic": "id", "doc": "ratings[]._id", "grade": "ratings[].rating"})


class Workbench(Rated):
    """A list of judgements of OpenSearch's Search Relevance Workbench."""

    name = "opensearch"
    title = "OpenSearch's judgements"
    inside = ("judgmentRatings", "ratings")
    layout = Layout({"topic": "query", "doc": "ratings[].docId", "grade": "ratings[].rating"})


class QuepidBook(Rated):
    """A book: pairs of query and document, each with judgements."""

    name = "quepid-book"
    title = "Quepid's book"
    inside = ("query_doc_pairs", "judgements")
    layout = Layout(
        {
            "topic": "query_text",
            "doc": "doc_id",
            "assessor": "judgements[].user_email|user_name|judge",
            "grade": "judgements[].rating",
        },
        ("judgements[].unrateable!=true", "judgements[].judge_later!=true"),
    )


class QuepidCase(Rated):
    """A case: ratings by query, `{document: rating}`."""

    name = "quepid-case"
    title = "Quepid's case"
    inside = ("queries", "ratings")
    layout = Layout({"topic": "query|query_text", "doc": "ratings{key}", "grade": "ratings{}"})


class Rre(Rated):
    """A case for Rated Ranking Evaluator, with gains."""

    name = "rre"
    title = "RRE's ratings"
    inside = ("queries", "relevant_documents")
    layout = Layout(
        {
            "topic": "placeholders.$query",
            "doc": "relevant_documents{key}",
            "grade": "relevant_documents{}.gain",
        }
    )
