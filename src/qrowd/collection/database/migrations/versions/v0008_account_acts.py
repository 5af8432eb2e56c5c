"""What was done to accounts is written down, which also says which links are still good."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """To this version."""
    op.create_table(
        "account_act",
        sa.Column("id", _ID, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("act", sa.String(40), nullable=False),
        sa.Column("login", sa.String(200), nullable=False),
        sa.Column("details", sa.Text, server_default=sa.text("'{}'"), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_account_act"),
    )
    op.create_index("ix_account_act_login", "account_act", ["login"])


def downgrade() -> None:
    """Back to the version before, which has no such record."""
    op.drop_table("account_act")
