"""The first schema."""

from __future__ import annotations

from alembic import op

from qrowd.collection.schema import metadata
from qrowd.collection.triggers import create_triggers, drop_triggers

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """To this version."""
    metadata.create_all(op.get_bind())
    create_triggers(op.get_bind())


def downgrade() -> None:
    """Back to nothing."""
    drop_triggers(op.get_bind())
    metadata.drop_all(op.get_bind())
