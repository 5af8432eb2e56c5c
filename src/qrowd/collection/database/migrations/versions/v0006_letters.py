"""People are written to: letters, who declined, a qualification elsewhere, digests."""

from __future__ import annotations

import tomllib

import sqlalchemy as sa
from alembic import op

from qrowd.collection.plan.toml import rewritten
from qrowd.errors import StoreError

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_NEW_COLUMNS = (
    ("worker", "ask_again_at", "BIGINT"),
    ("listed_person", "test_share", "FLOAT"),
    ("listed_person", "qualified_at", "BIGINT"),
)
_NEW_TABLES = ("digest", "declined", "letter")
_NEW_SECTIONS = ("mail", "next")
_PLANS = sa.table("campaign", sa.column("id"), sa.column("plan"))


def upgrade() -> None:
    """To this version."""
    for table, column, kind in _NEW_COLUMNS:
        op.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
    op.create_table(
        "letter",
        sa.Column("id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("link_id", _ID, nullable=False),
        sa.Column("state", sa.String(20), server_default="waiting", nullable=False),
        sa.Column("attempts", sa.BigInteger, server_default=sa.text("0"), nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("next_at", sa.BigInteger, nullable=False),
        sa.Column("tried_at", sa.BigInteger),
        sa.Column("problem", sa.Text, server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_letter"),
        sa.ForeignKeyConstraint(["person_id"], ["listed_person.id"], "fk_letter_person_id"),
        sa.ForeignKeyConstraint(["link_id"], ["link.id"], "fk_letter_link_id"),
        sa.UniqueConstraint("person_id", "round", name="uq_letter_person_id_round"),
        sa.CheckConstraint("round >= 0 AND round <= 2", name="ck_letter_at_most_two_reminders"),
        sa.CheckConstraint(
            "state IN ('waiting', 'sending', 'sent', 'refused')", name="ck_letter_state_known"
        ),
    )
    op.create_index("ix_letter_due", "letter", ["state", "next_at"])
    op.create_table(
        "declined",
        sa.Column("id", _ID, nullable=False),
        sa.Column("campaign_id", _ID, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_declined"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], "fk_declined_campaign_id"),
        sa.UniqueConstraint(
            "campaign_id", "kind", "hash", name="uq_declined_campaign_id_kind_hash"
        ),
        sa.CheckConstraint("kind IN ('person', 'email', 'link')", name="ck_declined_kind_known"),
    )
    op.create_table(
        "digest",
        sa.Column("id", _ID, nullable=False),
        sa.Column("campaign_id", _ID, nullable=False),
        sa.Column("address", sa.String(400), nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("sent_at", sa.BigInteger),
        sa.Column("told", sa.Text, server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_digest"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], "fk_digest_campaign_id"),
        sa.UniqueConstraint("campaign_id", "address", name="uq_digest_campaign_id_address"),
    )


def downgrade() -> None:
    """Back to the version before, unless somebody would be written to again who declined."""
    for table in _NEW_TABLES:
        if op.get_bind().execute(sa.text(f"SELECT 1 FROM {table} LIMIT 1")).first() is not None:
            raise StoreError(
                "there are letters, or people who want none, which an older qrowd cannot keep; "
                "nothing was changed"
            )
    for table in _NEW_TABLES:
        op.drop_table(table)
    for table, column, _ in _NEW_COLUMNS:
        op.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    for number, plan in op.get_bind().execute(sa.select(_PLANS)).all():
        for section in _NEW_SECTIONS:
            plan = rewritten(plan, section, dict.fromkeys(tomllib.loads(plan).get(section, ())))
        op.get_bind().execute(sa.update(_PLANS).where(_PLANS.c.id == number).values(plan=plan))
