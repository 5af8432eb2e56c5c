"""Who may come in: lists of people, links that can be revoked, and a rule of the plan.

Plans keep the rules that they had: defaults that change with this version are written into them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from qrowd.collection.plan.former import with_former_defaults
from qrowd.collection.plan.toml import rewritten
from qrowd.errors import StoreError

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_NEW_KEYS = {"people": ("entry",), "platform": ("places", "shapes")}
_PLANS = sa.table("campaign", sa.column("id"), sa.column("plan"))


def upgrade() -> None:
    """To this version."""
    op.create_table(
        "listed_person",
        sa.Column("id", _ID, nullable=False),
        sa.Column("campaign_id", _ID, nullable=False),
        sa.Column("worker_id", _ID),
        sa.Column("platform", sa.String(40), nullable=False),
        sa.Column("platform_id", sa.String(400), nullable=False),
        sa.Column("name", sa.Text, server_default=sa.text("''"), nullable=False),
        sa.Column("email", sa.Text, server_default=sa.text("''"), nullable=False),
        sa.Column("language", sa.String(40), server_default="", nullable=False),
        sa.Column("state", sa.String(20), server_default="listed", nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_listed_person"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], "fk_listed_person_campaign_id"),
        sa.ForeignKeyConstraint(["worker_id"], ["worker.id"], "fk_listed_person_worker_id"),
        sa.UniqueConstraint("worker_id", name="uq_listed_person_worker_id"),
        sa.UniqueConstraint(
            "campaign_id",
            "platform",
            "platform_id",
            name="uq_listed_person_campaign_id_platform_platform_id",
        ),
    )
    op.create_table(
        "link",
        sa.Column("id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("key", sa.String(32), nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_link"),
        sa.ForeignKeyConstraint(["person_id"], ["listed_person.id"], "fk_link_person_id"),
        sa.UniqueConstraint("key", name="uq_link_key"),
    )
    op.create_index("ix_link_person_id", "link", ["person_id"])
    for number, plan in _plans():
        _write(number, with_former_defaults(plan, "0003"))


def downgrade() -> None:
    """Back to the version before, unless there are lists, which it could not keep."""
    if op.get_bind().execute(sa.text("SELECT 1 FROM listed_person LIMIT 1")).first() is not None:
        message = "there are people on lists, which an older qrowd cannot keep; nothing was changed"
        raise StoreError(message)
    op.drop_table("link")
    op.drop_table("listed_person")
    for number, plan in _plans():
        for section, keys in _NEW_KEYS.items():
            plan = rewritten(plan, section, dict.fromkeys(keys))
        _write(number, plan)


def _plans() -> list[tuple[int, str]]:
    return [(number, plan) for number, plan in op.get_bind().execute(sa.select(_PLANS))]


def _write(number: int, plan: str) -> None:
    op.get_bind().execute(sa.update(_PLANS).where(_PLANS.c.id == number).values(plan=plan))
