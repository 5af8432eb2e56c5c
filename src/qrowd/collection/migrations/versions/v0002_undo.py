"""Steps of a batch that undo what an organiser did: the same tables, other rules between them."""

from __future__ import annotations

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The rules are put in force after every change of version."""


def downgrade() -> None:
    """No table changes."""
