"""Changes of a topic's instructions while a campaign runs: dated paragraphs of its narrative.

Workers who come later read them; what was judged before stays. The audit has each with its day,
and the act can be undone.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select

from qrowd.collection.database.schema import Audit, Topic, audit, topic
from qrowd.collection.database.store import Work
from qrowd.errors import RuleError
from qrowd.rendering import thousands

ACT = "clarify topic"
LONGEST = 2_000


def clarify(work: Work, name: str, text: str) -> dict[str, Any]:
    """Add a text to the instructions of a topic, with the day; both as they are recorded."""
    words = " ".join(text.split())
    if not words or len(words) > LONGEST or "\0" in words:
        raise RuleError("malformed", f"a clarification has 1 to {thousands(LONGEST)} characters")
    row = topic_named(work, name)
    added = f"Clarified on {day(work.now)}: {words}"
    narrative = f"{row.narrative}\n\n{added}" if row.narrative else added
    work.update(topic, topic.c.id == row.id, narrative=narrative)
    return {"text": words, "added": added}


def take_back(work: Work, name: str, added: str) -> None:
    """Remove the paragraph; what was added later stays."""
    row = topic_named(work, name)
    parts = str(row.narrative).split("\n\n")
    if added in parts:
        last = len(parts) - 1 - parts[::-1].index(added)
        del parts[last]
    work.update(topic, topic.c.id == row.id, narrative="\n\n".join(parts))


def clarifications(work: Work) -> list[Audit]:
    """What was clarified and not taken back: rows of the audit, the oldest first."""
    return work.rows(select(audit).where(work.standing_acts(ACT)).order_by(audit.c.id), Audit)


def words_of(row: Audit) -> dict[str, str]:
    """What was clarified: `topic`, `text`."""
    details: dict[str, str] = json.loads(row.details)
    return details


def day(at: int) -> str:
    """The day of a time, such as 2026-11-16."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d")


def topic_named(work: Work, name: str) -> Topic:
    """A topic of this campaign by its name."""
    query = select(topic).where(work.own(topic), topic.c.name == name)
    return work.existing(query, f"there is no topic {name!r} in this campaign", Topic)
