"""The first schema, as it was: a file of statements for each engine."""

from __future__ import annotations

import re
from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _statements() -> list[str]:
    engine = op.get_bind().dialect.name
    text = Path(__file__).with_name(f"v0001_{engine}.sql").read_text(encoding="utf-8")
    return [part.strip() for part in text.split(";\n") if part.strip()]


def upgrade() -> None:
    """To this version."""
    for statement in _statements():
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    """Back to nothing."""
    for name in reversed(re.findall(r"CREATE TABLE (\w+)", "\n".join(_statements()))):
        op.get_bind().exec_driver_sql(f"DROP TABLE {name}")
