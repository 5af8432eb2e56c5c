"""A study at Prolific: its submissions, what the platform is told, what it has told."""

from __future__ import annotations

import tomllib

import sqlalchemy as sa
from alembic import op

from qrowd.collection.plan.toml import rewritten
from qrowd.errors import StoreError

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TABLES = ("platform_event", "platform_call", "submission", "study")
_PLANS = sa.table("campaign", sa.column("id"), sa.column("plan"))
_SECTION = "prolific"


def upgrade() -> None:
    """To this version."""
    op.create_table(
        "study",
        sa.Column("id", _ID, nullable=False),
        sa.Column("campaign_id", _ID, nullable=False),
        sa.Column("platform_id", sa.String(64)),
        sa.Column("state", sa.String(40), server_default="", nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("reward", sa.BigInteger, nullable=False),
        sa.Column("screen_out", sa.BigInteger, nullable=False),
        sa.Column("places", sa.Integer, nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("heard_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_study"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], "fk_study_campaign_id"),
        sa.UniqueConstraint("campaign_id", name="uq_study_campaign_id"),
    )
    op.create_table(
        "submission",
        sa.Column("id", _ID, nullable=False),
        sa.Column("campaign_id", _ID, nullable=False),
        sa.Column("worker_id", _ID),
        sa.Column("platform_id", sa.String(64), nullable=False),
        sa.Column("state", sa.String(40), nullable=False),
        sa.Column("doubtful", sa.SmallInteger, server_default=sa.text("0"), nullable=False),
        sa.Column("base", sa.BigInteger, server_default=sa.text("0"), nullable=False),
        sa.Column("bonuses", sa.BigInteger, server_default=sa.text("0"), nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("heard_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_submission"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], "fk_submission_campaign_id"),
        sa.ForeignKeyConstraint(["worker_id"], ["worker.id"], "fk_submission_worker_id"),
        sa.UniqueConstraint(
            "campaign_id", "platform_id", name="uq_submission_campaign_id_platform_id"
        ),
        sa.CheckConstraint("base >= 0 AND bonuses >= 0", name="ck_submission_no_debt"),
    )
    op.create_index("ix_submission_worker_id", "submission", ["worker_id"])
    op.create_table(
        "platform_call",
        sa.Column("id", _ID, nullable=False),
        sa.Column("campaign_id", _ID, nullable=False),
        sa.Column("submission_id", _ID),
        sa.Column("worker_id", _ID),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("state", sa.String(20), server_default="waiting", nullable=False),
        sa.Column("amount", sa.BigInteger, server_default=sa.text("0"), nullable=False),
        sa.Column("body", sa.Text, server_default=sa.text("'{}'"), nullable=False),
        sa.Column("payment", sa.String(64), server_default="", nullable=False),
        sa.Column("before", sa.BigInteger, server_default=sa.text("0"), nullable=False),
        sa.Column("attempts", sa.BigInteger, server_default=sa.text("0"), nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("next_at", sa.BigInteger, nullable=False),
        sa.Column("tried_at", sa.BigInteger),
        sa.Column("problem", sa.Text, server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_platform_call"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], "fk_platform_call_campaign_id"),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submission.id"], "fk_platform_call_submission_id"
        ),
        sa.ForeignKeyConstraint(["worker_id"], ["worker.id"], "fk_platform_call_worker_id"),
        sa.CheckConstraint(
            "state IN ('waiting', 'sending', 'done', 'refused')",
            name="ck_platform_call_state_known",
        ),
    )
    op.create_index("ix_platform_call_worker_id", "platform_call", ["worker_id"])
    op.create_index("ix_platform_call_due", "platform_call", ["campaign_id", "state", "next_at"])
    is_open = sa.text("state IN ('waiting', 'sending')")
    op.create_index(
        "uq_platform_call_one_open",
        "platform_call",
        ["submission_id"],
        unique=True,
        sqlite_where=is_open,
        postgresql_where=is_open,
    )
    op.create_table(
        "platform_event",
        sa.Column("id", _ID, nullable=False),
        sa.Column("campaign_id", _ID, nullable=False),
        sa.Column("platform_id", sa.String(100), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_platform_event"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], "fk_platform_event_campaign_id"),
        sa.UniqueConstraint(
            "campaign_id", "platform_id", name="uq_platform_event_campaign_id_platform_id"
        ),
    )


def downgrade() -> None:
    """Back to the version before, unless a platform would be told twice what it was told once."""
    for table in _TABLES:
        if op.get_bind().execute(sa.text(f"SELECT 1 FROM {table} LIMIT 1")).first() is not None:
            raise StoreError(
                "there is a study at Prolific, which an older qrowd cannot keep; nothing changed"
            )
    for table in _TABLES:
        op.drop_table(table)
    for number, plan in op.get_bind().execute(sa.select(_PLANS)).all():
        keys = dict.fromkeys(tomllib.loads(plan).get(_SECTION, ()))
        plan = rewritten(plan, _SECTION, keys)
        op.get_bind().execute(sa.update(_PLANS).where(_PLANS.c.id == number).values(plan=plan))
