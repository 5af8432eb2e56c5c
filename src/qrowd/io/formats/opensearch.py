"""OpenSearch and Elasticsearch: `_rank_eval` requests, and judgements of the Workbench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qrowd.io.formats.tool import Layout, Tool


class RankEval(Tool):
    """A request to `_rank_eval`: rated documents by query."""

    name = "rank-eval"
    title = "a request to _rank_eval"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """Requests with ratings."""
        return _first_has(record.get("requests"), "ratings")

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """Qrels: nobody says who rated."""
        rated = "requests[].ratings[]"
        return [
            Layout({"topic": "requests[].id", "doc": f"{rated}._id", "grade": f"{rated}.rating"})
        ]


class Workbench(Tool):
    """A list of judgements of OpenSearch's Search Relevance Workbench."""

    name = "opensearch"
    title = "OpenSearch's judgements"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """Ratings by query."""
        return _first_has(record.get("judgmentRatings"), "ratings")

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """Qrels: nobody says who rated."""
        rated = "judgmentRatings[].ratings[]"
        columns = {
            "topic": "judgmentRatings[].query",
            "doc": f"{rated}.docId",
            "grade": f"{rated}.rating",
        }
        return [Layout(columns)]


def _first_has(items: object, key: str) -> bool:
    return (
        isinstance(items, list) and bool(items) and isinstance(items[0], dict) and key in items[0]
    )
