"""Buckets: the topics that sentences were put to, beside the grades that follow."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from qrowd.errors import StoreError

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """To this version."""
    op.create_table(
        "bucket",
        sa.Column("event_id", _ID, nullable=False, autoincrement=False),
        sa.Column("topic_id", _ID),
        sa.PrimaryKeyConstraint("event_id", name="pk_bucket"),
        sa.ForeignKeyConstraint(["event_id"], ["event.id"], "fk_bucket_event_id"),
        sa.ForeignKeyConstraint(["topic_id"], ["topic.id"], "fk_bucket_topic_id"),
    )
    op.create_index("ix_bucket_topic_id", "bucket", ["topic_id"])


def downgrade() -> None:
    """Back to the version before, unless there are buckets, which it could not keep."""
    if op.get_bind().execute(sa.text("SELECT 1 FROM bucket LIMIT 1")).first() is not None:
        raise StoreError("there are buckets, which an older qrowd cannot keep; nothing was changed")
    op.drop_table("bucket")
