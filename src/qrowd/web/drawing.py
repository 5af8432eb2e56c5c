"""Pictures of documents, made before anybody asks: the time would tell what others have seen."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from qrowd.collection.database.schema import campaign, content, document
from qrowd.collection.database.store import Store
from qrowd.web import pictures


def undrawn_documents(store: Store, folder: Path) -> list[str]:
    """The hashes of PDF documents without pictures of their pages."""
    open_ones = campaign.c.state.in_(("draft", "running", "paused"))
    joined = document.join(campaign, campaign.c.id == document.c.campaign_id)
    query = select(document.c.content).distinct().select_from(joined).where(open_ones)
    query = query.where(document.c.media_type.like("application/%pdf%"), document.c.content != "")
    with store.snapshot() as db:
        found = list(db.scalars(query))
    return [one for one in found if not pictures.folder_of(folder, one).exists()]


def draw_one(store: Store, folder: Path, undrawn: list[str]) -> bool:
    """Draw one of these documents; whether there was one."""
    if not undrawn:
        return False
    digest = undrawn.pop()
    with store.snapshot() as db:
        body = db.scalar(select(content.c.body).where(content.c.hash == digest))
    try:
        pictures.pages_of(folder, digest, body or b"")
    except OSError:  # no room to keep it; who asks for the document is told so
        return False
    return True
