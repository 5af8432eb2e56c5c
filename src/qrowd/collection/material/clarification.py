"""Changes of a topic's instructions while a campaign runs: dated paragraphs of its narrative.

Workers who come later read them; what was judged before stays. The audit has each with its day,
and the act can be undone.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select, update

from qrowd.collection.database.schema import audit, topic
from qrowd.collection.database.store import Found, Work
from qrowd.errors import RuleError

ACT = "clarify topic"
LONGEST = 2_000


def clarify(work: Work, details: dict[str, Any]) -> dict[str, Any]:
    """Add `text` to the instructions of `topic`, with the day."""
    words = " ".join(str(details["text"]).split())
    if not words or len(words) > LONGEST or "\0" in words:
        raise RuleError("malformed", f"a clarification has 1 to {LONGEST:,} characters")
    found = topic_named(work, str(details["topic"]))
    added = f"Clarified on {day(work.now)}: {words}"
    _set(work, found.id, f"{found.narrative}\n\n{added}" if found.narrative else added)
    return {"text": words, "added": added}


def take_back(work: Work, details: dict[str, Any]) -> None:
    """Remove the paragraph; what was added later stays."""
    found = topic_named(work, str(details["topic"]))
    parts = str(found.narrative).split("\n\n")
    if details["added"] in parts:
        last = len(parts) - 1 - parts[::-1].index(details["added"])
        del parts[last]
    _set(work, found.id, "\n\n".join(parts))


def clarifications(work: Work, name: str | None = None) -> list[Found]:
    """What was clarified and not taken back: rows of the audit, the oldest first."""
    undone = select(audit.c.undoes).where(audit.c.undoes.is_not(None))
    own = (audit.c.campaign_id == work.campaign) & (audit.c.act == ACT)
    query = select(audit).where(own, audit.c.id.not_in(undone)).order_by(audit.c.id)
    rows = list(work.db.execute(query))
    return [row for row in rows if name in (None, json.loads(row.details)["topic"])]


def words_of(row: Found) -> dict[str, str]:
    """What was clarified: `topic`, `text`."""
    found: dict[str, str] = json.loads(row.details)
    return found


def day(at: int) -> str:
    """The day of a time, such as 2026-11-16."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d")


def topic_named(work: Work, name: str) -> Found:
    """A topic of this campaign by its name."""
    own = (topic.c.campaign_id == work.campaign) & (topic.c.name == name)
    found = work.db.execute(select(topic).where(own)).one_or_none()
    if found is None:
        raise RuleError("not-found", f"there is no topic {name!r} in this campaign")
    return found


def _set(work: Work, topic_id: int, narrative: str) -> None:
    work.db.execute(update(topic).where(topic.c.id == topic_id).values(narrative=narrative))
