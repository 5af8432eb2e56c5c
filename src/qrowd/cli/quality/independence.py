"""Whether assessors err together, and who with whom."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from qrowd.cli.output import say, show, show_json

if TYPE_CHECKING:
    from qrowd.data.judgements import Judgements
    from qrowd.quality.independence import Independence


def run(
    crowd: Judgements,
    *,
    per_topic: bool,
    seed: int,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **_: Any,
) -> None:
    """The verdict on stderr; couples who agree more than they should, or topics, as a table."""
    from qrowd.aggregation.judgements.ds import DawidSkene
    from qrowd.quality.independence import independence

    found = independence(crowd, DawidSkene(smoothing=1), seed=seed)
    if as_json and not output:
        show_json(_account(found))
        return
    for line in str(found).splitlines()[:2]:
        say(line, quiet)
    if per_topic:
        columns: dict[str, Any] = {"topic": found.topics, "rho": found.by_topic.tolist()}
    else:
        names = ("one", "other", "shared", "agreement", "expected", "z")
        columns = {name: [getattr(each, name) for each in found.couples] for name in names}
    show(columns, output, as_json)


def _account(found: Independence) -> dict[str, Any]:
    figures = (
        "verdict",
        "together",
        "rho",
        "low",
        "high",
        "level",
        "agreement",
        "expected",
        "freedom",
        "method",
    )
    by_topic = dict(zip(found.topics, found.by_topic.tolist(), strict=True))
    couples = [asdict(each) for each in found.couples]
    account = {name: getattr(found, name) for name in figures}
    return {**account, "by_topic": by_topic, "couples": couples}
