"""Tools of search engines, whose files are one JSON object: Quepid, OpenSearch, Elasticsearch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from qrowd.io.formats.tool import Layout, Tool


class Rated(Tool):
    """A list of objects, each with ratings, at one key; where `layout` names no assessor, qrels."""

    inside: ClassVar[tuple[str, str]]
    """The key of the list, and one that its objects have."""
    layout: ClassVar[Layout]

    def knows(self, record: Mapping[str, Any]) -> bool:
        """The two keys."""
        key, inner = self.inside
        items = record.get(key)
        first = items[0] if isinstance(items, list) and items else None
        return isinstance(first, Mapping) and inner in first

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """People's judgements are no gold."""
        return [] if gold and self.names_people else [self.layout]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.names_people = "assessor" in cls.layout.columns


class RankEval(Rated):
    """A request to `_rank_eval`: rated documents by query."""

    name = "rank-eval"
    title = "a request to _rank_eval"
    inside = ("requests", "ratings")
    layout = Layout(
        {
            "topic": "requests[].id",
            "doc": "requests[].ratings[]._id",
            "grade": "requests[].ratings[].rating",
        }
    )


class Workbench(Rated):
    """A list of judgements of OpenSearch's Search Relevance Workbench."""

    name = "opensearch"
    title = "OpenSearch's judgements"
    inside = ("judgmentRatings", "ratings")
    layout = Layout(
        {
            "topic": "judgmentRatings[].query",
            "doc": "judgmentRatings[].ratings[].docId",
            "grade": "judgmentRatings[].ratings[].rating",
        }
    )


class QuepidBook(Rated):
    """A book: pairs of query and document, each with judgements."""

    name = "quepid-book"
    title = "Quepid's book"
    inside = ("query_doc_pairs", "judgements")
    layout = Layout(
        {
            "topic": "query_doc_pairs[].query_text",
            "doc": "query_doc_pairs[].doc_id",
            "assessor": "query_doc_pairs[].judgements[].user_email|user_name|judge",
            "grade": "query_doc_pairs[].judgements[].rating",
        },
        where=(
            "query_doc_pairs[].judgements[].unrateable!=true",
            "query_doc_pairs[].judgements[].judge_later!=true",
        ),
    )


class QuepidCase(Rated):
    """A case: ratings by query, `{document: rating}`."""

    name = "quepid-case"
    title = "Quepid's case"
    inside = ("queries", "ratings")
    layout = Layout(
        {
            "topic": "queries[].query|query_text",
            "doc": "queries[].ratings{key}",
            "grade": "queries[].ratings{}",
        }
    )


class Rre(Rated):
    """A case for Rated Ranking Evaluator, with gains."""

    name = "rre"
    title = "RRE's ratings"
    inside = ("queries", "relevant_documents")
    layout = Layout(
        {
            "topic": "queries[].placeholders.$query",
            "doc": "queries[].relevant_documents{key}",
            "grade": "queries[].relevant_documents{}.gain",
        }
    )
