"""Columns that many tables share, and the names of constraints."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    MetaData,
    SmallInteger,
    Text,
    text,
)

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
metadata = MetaData(naming_convention=NAMES)

Id = BigInteger().with_variant(Integer, "sqlite")
ROLES = ("pool", "gold", "qualification")
EVENT_KINDS = ("grade", "ranking", "cannot-tell", "broken", "clear")
OPEN_SETS = "role = 'pool' AND open = 1 AND held < target"
ACCOUNTS = ("outside", "free", "promised", "owed", "settled")


def one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    """A check that a column has one of these values."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def yes_no(name: str) -> Column[int]:
    """A column of 0 or 1."""
    return Column(name, SmallInteger, nullable=False, server_default=text("0"))


def number(name: str = "id") -> Column[int]:
    """A number that names the row."""
    return Column(name, Id, primary_key=True, autoincrement=True)


def to(name: str, target: str, nullable: bool = False, index: bool = False) -> Column[int]:
    """The number of a row of another table."""
    return Column(name, Id, ForeignKey(target), nullable=nullable, index=index)


def count(name: str, start: int = 0) -> Column[int]:
    """A whole number that starts somewhere."""
    return Column(name, BigInteger, nullable=False, server_default=text(str(start)))


def words(name: str) -> Column[str]:
    """Text that may be empty."""
    return Column(name, Text, nullable=False, server_default=text("''"))
