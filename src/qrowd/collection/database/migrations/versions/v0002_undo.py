"""Other rules between the same tables: steps that undo an act, imports in several parts."""

from __future__ import annotations

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The rules are put in force after every change of version."""


def downgrade() -> None:
    """No table changes."""
