"""Ratings: events with a value of their own. Notices keep the values of their words."""

from __future__ import annotations

from alembic import op

from qrowd.errors import StoreError

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_COLUMNS = (
    "id, worker_id, place_id, position, kind, grade, ranking, milliseconds, at, key, follows, stale"
)
_BEFORE = {
    "kind_known": "kind IN ('grade', 'ranking', 'cannot-tell', 'broken', 'clear')",
    "grade_has_a_grade": "(kind = 'grade') = (grade IS NOT NULL)",
}
_AFTER = {
    "kind_known": "kind IN ('grade', 'ranking', 'rating', 'cannot-tell', 'broken', 'clear')",
    "grade_has_a_grade": "(kind IN ('grade', 'rating')) = (grade IS NOT NULL)",
    "rating_has_a_value": "(kind = 'rating') = (value IS NOT NULL)",
    "value_from_0_to_100": "value >= 0 AND value <= 100",
}
# SQLite has no other way to change a rule of a table than to make the table anew.
_TABLE = """
CREATE TABLE made_anew (
    id INTEGER NOT NULL,
    worker_id INTEGER NOT NULL,
    place_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    kind VARCHAR(20) NOT NULL,
    grade SMALLINT,
    ranking TEXT,{value}
    milliseconds BIGINT DEFAULT 0 NOT NULL,
    at BIGINT NOT NULL,
    "key" VARCHAR(64) NOT NULL,
    follows INTEGER,
    stale SMALLINT DEFAULT 0 NOT NULL,
    CONSTRAINT pk_event PRIMARY KEY (id),
    CONSTRAINT uq_event_worker_id_key UNIQUE (worker_id, "key"),
    {rules},
    CONSTRAINT ck_event_ranking_has_an_order CHECK ((kind = 'ranking') = (ranking IS NOT NULL)),
    CONSTRAINT ck_event_ranking_is_of_the_set CHECK (kind <> 'ranking' OR position = 0),
    CONSTRAINT ck_event_time_runs_forward CHECK (milliseconds >= 0),
    CONSTRAINT fk_event_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id),
    CONSTRAINT fk_event_place_id FOREIGN KEY(place_id) REFERENCES place (id)
)"""


def upgrade() -> None:
    """To this version."""
    _change(_BEFORE, _AFTER, "FLOAT")
    op.execute("ALTER TABLE notice ADD COLUMN details TEXT DEFAULT '' NOT NULL")


def downgrade() -> None:
    """Back to the version before, unless there are ratings, which it could not keep."""
    rated = op.get_bind().exec_driver_sql("SELECT 1 FROM event WHERE kind = 'rating' LIMIT 1")
    if rated.first() is not None:
        raise StoreError("there are ratings, which an older qrowd cannot keep; nothing was changed")
    _change(_AFTER, _BEFORE, "")
    op.execute("ALTER TABLE notice DROP COLUMN details")


def _change(old: dict[str, str], new: dict[str, str], value: str) -> None:
    """Put other rules on events, which have the column `value` of that type, or none."""
    rules = [f"CONSTRAINT ck_event_{name} CHECK ({rule})" for name, rule in new.items()]
    if op.get_bind().dialect.name == "sqlite":
        column = f"\n    value {value}," if value else ""
        op.execute(_TABLE.format(value=column, rules=",\n    ".join(rules)))
        op.execute(f"INSERT INTO made_anew ({_COLUMNS}) SELECT {_COLUMNS} FROM event ORDER BY id")
        op.execute("DROP TABLE event")
        op.execute("ALTER TABLE made_anew RENAME TO event")
        op.execute("CREATE INDEX ix_event_place_id ON event (place_id)")
        return
    for name in old:
        op.execute(f"ALTER TABLE event DROP CONSTRAINT ck_event_{name}")
    op.execute(f"ALTER TABLE event {f'ADD COLUMN value {value}(53)' if value else 'DROP value'}")
    for rule in rules:
        op.execute(f"ALTER TABLE event ADD {rule}")
