"""Rules between tables that the database itself enforces, on both engines.

A `Guard` refuses a statement; a `Follower` does something after one. Their SQL is the same for
SQLite and PostgreSQL: only the frame around it differs. So the counters (`held`, the accounts,
`answer`) cannot be forgotten by code, and a statement written by hand cannot break them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import Connection, text

from qrowd.collection.database.states import IMPORTED, STEPS, VOID


@dataclass(frozen=True)
class Trigger:
    """A rule on `operation` on a row of `table`, where `condition` holds."""

    name: str
    table: str
    operation: str
    condition: str
    when: ClassVar[str]

    def body(self, dialect: str) -> str:
        """What is done, in the words of an engine."""
        raise NotImplementedError

    def create(self, db: Connection) -> None:
        """Put it in force."""
        body = self.body(db.dialect.name)
        on = f"{self.when} {self.operation} ON {self.table} FOR EACH ROW"
        head = f"CREATE TRIGGER {self.name} {on}"
        if db.dialect.name == "sqlite":
            db.exec_driver_sql(f"{head} WHEN {self.condition} BEGIN {body} END")
            return
        row = "OLD" if self.operation == "DELETE" else "NEW"
        body = f"BEGIN IF {self.condition} THEN {body} END IF; RETURN {row}; END"
        function = f"FUNCTION {self.name}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$"
        db.execute(text(f"CREATE OR REPLACE {function}".replace(":", "\\:")))
        db.execute(text(f"{head} EXECUTE FUNCTION {self.name}()"))


@dataclass(frozen=True)
class Guard(Trigger):
    """Refuses the operation."""

    message: str
    when = "BEFORE"

    def body(self, dialect: str) -> str:
        """An error."""
        if dialect == "sqlite":
            return f"SELECT RAISE(ABORT, '{self.message}');"
        code = "USING ERRCODE = 'integrity_constraint_violation'"
        return f"RAISE EXCEPTION '{self.message}' {code};"


@dataclass(frozen=True)
class Follower(Trigger):
    """Runs `statements` after the operation."""

    statements: tuple[str, ...]
    when = "AFTER"

    def body(self, dialect: str) -> str:
        """The statements: the same for both engines."""
        return " ".join(f"{statement};" for statement in self.statements)


def _listed(values: tuple[str, ...]) -> str:
    return "(" + ", ".join(f"'{value}'" for value in values) + ")"


def _moved(account: str) -> str:
    """How an account changes by an entry."""
    plus = f"CASE WHEN NEW.target = '{account}' THEN NEW.amount ELSE 0 END"
    minus = f"CASE WHEN NEW.source = '{account}' THEN NEW.amount ELSE 0 END"
    return f"({plus}) - ({minus})"


_STATE = "(SELECT state FROM assignment WHERE id = NEW.assignment_id)"
_ANSWERS = "(SELECT a.state FROM assignment a JOIN place p ON p.assignment_id = a.id"
_ANSWERS += " WHERE p.id = NEW.place_id)"
_PLACE_KIND = "(SELECT kind FROM place WHERE id = NEW.place_id)"
_HELD = "(SELECT count(*) FROM place WHERE set_id = NEW.id AND held = 1)"
_STEPS = " OR ".join(f"(OLD.state = '{a}' AND NEW.state = '{b}')" for a, b in STEPS)
_RECOUNT = "UPDATE judging_set SET held = held + {} WHERE id = NEW.set_id"
_ALWAYS = "1 = 1"

APPEND_ONLY = ("event", "entry", "audit", "outcome", "decision", "consent")

TRIGGERS: tuple[Trigger, ...] = (
    *(
        Guard(f"{table}_keeps_{word}", table, operation, _ALWAYS, f"{table} is append-only")
        for table in APPEND_ONLY
        for word, operation in (("rows", "DELETE"), ("values", "UPDATE"))
    ),
    # sets: fixed after their first lease; the counter is what the places say
    *(
        Guard(
            f"member_fixed_{operation.lower()}",
            "member",
            operation,
            f"EXISTS (SELECT 1 FROM place WHERE set_id = {row}.set_id)",
            "a set does not change after its first lease",
        )
        for operation, row in (("INSERT", "NEW"), ("UPDATE", "OLD"), ("DELETE", "OLD"))
    ),
    Guard(
        "set_counts",
        "judging_set",
        "UPDATE",
        f"NEW.held <> {_HELD}",
        "held must be the number of held places",
    ),
    Guard(
        "set_starts_at_none",
        "judging_set",
        "INSERT",
        "NEW.held <> 0",
        "held must be the number of held places",
    ),
    Follower("place_holds", "place", "INSERT", "NEW.held = 1", (_RECOUNT.format("1"),)),
    Follower(
        "place_changes",
        "place",
        "UPDATE",
        "NEW.held <> OLD.held",
        (_RECOUNT.format("(NEW.held - OLD.held)"),),
    ),
    Guard(
        "place_stays",
        "place",
        "UPDATE",
        "NEW.set_id <> OLD.set_id OR NEW.worker_id <> OLD.worker_id OR NEW.kind <> OLD.kind"
        " OR NEW.assignment_id <> OLD.assignment_id",
        "a place stays what it was leased as",
    ),
    Guard("place_is_kept", "place", "DELETE", _ALWAYS, "places are kept"),
    *(
        Guard(
            f"place_held_{word}",
            "place",
            operation,
            f"NEW.held = 1 AND {_STATE} IN {_listed(VOID)}",
            "a void assignment holds no place",
        )
        for word, operation in (("new", "INSERT"), ("again", "UPDATE"))
    ),
    # assignments: only the ways of the table of moves
    Guard(
        "assignment_moves",
        "assignment",
        "UPDATE",
        f"NEW.state <> OLD.state AND NOT ({_STEPS})",
        "there is no way to this state",
    ),
    Guard(
        "assignment_frees",
        "assignment",
        "UPDATE",
        f"NEW.state IN {_listed(VOID)} AND EXISTS"
        " (SELECT 1 FROM place WHERE assignment_id = NEW.id AND held = 1)",
        "a void assignment holds no place",
    ),
    Guard("assignment_is_kept", "assignment", "DELETE", _ALWAYS, "assignments are kept"),
    Guard(
        "assignment_stays",
        "assignment",
        "UPDATE",
        "NEW.worker_id <> OLD.worker_id OR NEW.kind <> OLD.kind",
        "an assignment stays with its worker",
    ),
    # events: by the worker who holds the place, while answers are open; the last one counts
    Guard(
        "event_while_open",
        "event",
        "INSERT",
        f"{_ANSWERS} <> 'active' AND {_PLACE_KIND} NOT IN {_listed(IMPORTED)}",
        "answers are closed",
    ),
    Guard(
        "event_by_its_worker",
        "event",
        "INSERT",
        "NEW.worker_id <> (SELECT worker_id FROM place WHERE id = NEW.place_id)",
        "this place is another worker''s",
    ),
    Follower(
        "event_counts",
        "event",
        "INSERT",
        "NEW.stale = 0",
        (
            "INSERT INTO answer (place_id, position, event_id)"
            " VALUES (NEW.place_id, NEW.position, NEW.id)"
            " ON CONFLICT (place_id, position) DO UPDATE SET event_id = excluded.event_id",
        ),
    ),
    # money: accounts follow the entries
    Follower(
        "entry_moves_money",
        "entry",
        "INSERT",
        _ALWAYS,
        (
            "UPDATE campaign SET "
            + ", ".join(
                f"{name} = {name} + {_moved(name)}"
                for name in ("free", "promised", "owed", "settled")
            )
            + f", budget = budget - ({_moved('outside')}) WHERE id = NEW.campaign_id",
            f"UPDATE assignment SET promised = promised + {_moved('promised')},"
            f" earned = earned + {_moved('owed')}, paid = paid + {_moved('settled')}"
            " WHERE id = NEW.assignment_id",
        ),
    ),
)


def create_triggers(db: Connection) -> None:
    """Put all rules in force."""
    for trigger in TRIGGERS:
        trigger.create(db)


def drop_triggers(db: Connection) -> None:
    """Take all rules out of force, to copy rows that were made under them."""
    for trigger in TRIGGERS:
        if db.dialect.name == "sqlite":
            db.exec_driver_sql(f"DROP TRIGGER IF EXISTS {trigger.name}")
        else:
            db.execute(text(f"DROP TRIGGER IF EXISTS {trigger.name} ON {trigger.table}"))
            db.execute(text(f"DROP FUNCTION IF EXISTS {trigger.name}()"))
