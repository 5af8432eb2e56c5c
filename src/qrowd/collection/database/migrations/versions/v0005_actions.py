"""Checks that act by default: workers who were screened out can appeal, and be let in again.

Plans keep the rules that they had: defaults that change with this version are written into them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from qrowd.collection.plan.former import with_former_defaults
from qrowd.collection.plan.sections import CHECKS, SURELY
from qrowd.collection.plan.toml import rewritten, stored_plan
from qrowd.errors import StoreError

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_PLANS = sa.table("campaign", sa.column("id"), sa.column("plan"))
_COLUMNS = (
    "id, worker_id, assignment_id, kind, position, place_id, at, text, answered_at, won, reply"
)
_BEFORE = "kind IN ('refusal', 'gold')"
_AFTER = "kind IN ('refusal', 'gold', 'screen-out')"
# SQLite has no other way to change a rule of a table than to make the table anew.
_TABLE = """
CREATE TABLE made_anew (
    id INTEGER NOT NULL,
    worker_id INTEGER NOT NULL,
    assignment_id INTEGER,
    kind VARCHAR(20) NOT NULL,
    position INTEGER,
    place_id INTEGER,
    at BIGINT NOT NULL,
    text TEXT NOT NULL,
    answered_at BIGINT,
    won SMALLINT,
    reply TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_appeal PRIMARY KEY (id),
    CONSTRAINT ck_appeal_kind_known CHECK ({rule}),
    CONSTRAINT fk_appeal_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id),
    CONSTRAINT fk_appeal_assignment_id FOREIGN KEY(assignment_id) REFERENCES assignment (id),
    CONSTRAINT fk_appeal_place_id FOREIGN KEY(place_id) REFERENCES place (id)
)"""


def upgrade() -> None:
    """To this version."""
    op.execute("ALTER TABLE worker ADD COLUMN readmitted_at BIGINT")
    _change(_AFTER)
    for number, plan in _plans():
        _write(number, with_former_defaults(plan, "0004"))


def downgrade() -> None:
    """Back to the version before, unless there are appeals that it could not keep.

    The rules that are defaults of this version only are written into plans; under the action that
    an older version does not know, batches that fail stay void, and nobody is screened out.
    """
    appealed = sa.text("SELECT 1 FROM appeal WHERE kind = 'screen-out' LIMIT 1")
    if op.get_bind().execute(appealed).first() is not None:
        raise StoreError(
            "there are appeals against being screened out, which an older qrowd cannot keep; "
            "nothing was changed"
        )
    _change(_BEFORE)
    op.execute("ALTER TABLE worker DROP COLUMN readmitted_at")
    for number, plan in _plans():
        checks = stored_plan(plan).checks
        for name in CHECKS:
            action = getattr(checks, name).action
            known = "exclude" if action == SURELY else action
            plan = rewritten(plan, f"checks.{name}", {"action": known})
        after = {"screen_out_after": checks.screen_out_after}
        _write(number, rewritten(plan, "checks", after))


def _change(rule: str) -> None:
    """Put another rule on the kinds of appeals."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute(_TABLE.format(rule=rule))
        op.execute(f"INSERT INTO made_anew ({_COLUMNS}) SELECT {_COLUMNS} FROM appeal ORDER BY id")
        op.execute("DROP TABLE appeal")
        op.execute("ALTER TABLE made_anew RENAME TO appeal")
        op.execute("CREATE INDEX ix_appeal_worker_id ON appeal (worker_id)")
        return
    op.execute("ALTER TABLE appeal DROP CONSTRAINT ck_appeal_kind_known")
    op.execute(f"ALTER TABLE appeal ADD CONSTRAINT ck_appeal_kind_known CHECK ({rule})")


def _plans() -> list[tuple[int, str]]:
    return [(number, plan) for number, plan in op.get_bind().execute(sa.select(_PLANS))]


def _write(number: int, plan: str) -> None:
    op.get_bind().execute(sa.update(_PLANS).where(_PLANS.c.id == number).values(plan=plan))
