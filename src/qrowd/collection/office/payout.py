"""What is owed as a file for whoever pays it; the same file back marks it as paid.

table = payout_table(work)               a row for each worker who is owed something
payments = read_payout(work, "p.csv")    what such a file says, once it is sure to be ours
plan = settlement(work, payments)        which rows still stand

Each row has a keyed hash over its values, and says what had been paid to its worker before. It
stands only while that is still so: of two files with one debt, the second pays nothing.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from qrowd.collection.books import ledger
from qrowd.collection.database.schema import TypedRow, listed_person, person, worker
from qrowd.collection.database.store import Work
from qrowd.collection.people.workers import secret_of
from qrowd.collection.plan.sections import Pay
from qrowd.errors import InputError
from qrowd.io.people import read_people
from qrowd.rendering import Table

_SIGNED = ("worker", "name", "platform", "id", "email", "amount", "currency", "paid_before")
COLUMNS = (*_SIGNED, "campaign", "check")
_AGAIN = "nothing was marked; write the file again: `qrowd campaign pay DATABASE -o payout.csv`"


@dataclass(frozen=True)
class Payment:
    """What a row says: a worker's number, an amount, and what had been paid before, minor units."""

    worker: int
    amount: int
    before: int


class Payee(TypedRow):
    """Who is behind a worker, as far as that is known."""

    id: int
    name: str
    email: str


def payout_table(work: Work) -> Table:
    """Everybody who is owed something: who they are, how much, and a hash of the row."""
    debts, paid, pay = ledger.owed(work), ledger.settled(work), work.plan.pay
    names = {row.id: row for row in _payees(work)}
    rows = []
    for debt in debts:
        known = names.get(debt.id)
        values = {
            "worker": f"w{debt.number}",
            "name": known.name if known else "",
            "platform": debt.platform or "",
            "id": debt.platform_id or "",
            "email": known.email if known else "",
            "amount": _shown(debt.amount, pay),
            "currency": pay.currency,
            "paid_before": _shown(paid.get(debt.id, 0), pay),
        }
        signed = _check(work, values, debt.amount, paid.get(debt.id, 0))
        rows.append({**values, "campaign": work.name, "check": signed})
    return {name: [row[name] for row in rows] for name in COLUMNS}


def _payees(work: Work) -> list[Payee]:
    """What the list says of workers, else what they said themselves."""
    name = func.coalesce(func.nullif(listed_person.c.name, ""), person.c.name, "")
    email = func.coalesce(func.nullif(listed_person.c.email, ""), person.c.address, "")
    joined = worker.outerjoin(person, person.c.worker_id == worker.c.id).outerjoin(
        listed_person, listed_person.c.worker_id == worker.c.id
    )
    query = select(worker.c.id, name.label("name"), email.label("email"))
    return work.rows(query.select_from(joined).where(work.own(worker)), Payee)


def _shown(amount: int, pay: Pay) -> str:
    return f"{amount / 10**pay.digits:.{pay.digits}f}"


def _check(work: Work, values: Mapping[str, str], amount: int, before: int) -> str:
    """A hash over the values, not over how they are written: 2.50 may come back as 2.5."""
    parts = {**values, "amount": str(amount), "paid_before": str(before)}
    text = "\0".join(["payout", work.name, *(parts[name].strip() for name in _SIGNED)])
    digest = hmac.new(secret_of(work).encode(), text.encode(), hashlib.sha256).hexdigest()
    return f"q{digest[:32]}"  # a letter first: no spreadsheet takes it for a number


# --- the file back --------------------------------------------------------------------------------


def read_payout(work: Work, path: str | Path) -> list[Payment]:
    """What a payout file of this campaign says; an error where a row is not as it was written.

    Rows may be left out, and in another order; so may further columns be there.
    """
    table = read_people(path)
    if not table:
        raise InputError(f"there are no payments in this file; {_AGAIN}", file=str(path))
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        message = f"this is no payout file: it has no column {missing[0]}; {_AGAIN}"
        raise InputError(message, file=str(path))
    return list(dict.fromkeys(_payments(work, table, str(path))))


def _payments(work: Work, table: Mapping[str, Sequence[Any]], file: str) -> Iterator[Payment]:
    rows = zip(*(table[name] for name in COLUMNS), strict=True)
    for number, cells in enumerate(rows, 1):
        values = {
            name: "" if cell is None else str(cell).strip()
            for name, cell in zip(COLUMNS, cells, strict=True)
        }
        if values["campaign"] != work.name:
            message = f"this file is of campaign {values['campaign']!r}, not of {work.name!r}"
            raise InputError(f"{message}; nothing was marked", file=file)
        amount, before = (_minor(values[name], work.plan.pay) for name in ("amount", "paid_before"))
        sure = hmac.compare_digest(
            _check(work, values, amount, before).encode(), values["check"].encode()
        )
        plain = values["worker"].removeprefix("w")
        if not sure or not plain.isdecimal() or min(amount, before) < 0:
            who = values["worker"] or "nobody"
            message = f"row {number} ({who:.20}) was changed since it was written"
            raise InputError(f"{message}, or is of another database; {_AGAIN}", file=file)
        yield Payment(int(plain), amount, before)


def _minor(text: str, pay: Pay) -> int:
    """An amount as a spreadsheet may have written it, in minor units; -1 for what is none."""
    whole, comma, part = text.partition(",")
    if comma and len(part) <= pay.digits and "." not in text:
        text = f"{whole}.{part}"
    try:
        amount = Decimal(text).scaleb(pay.digits)
    except InvalidOperation:
        return -1
    return int(amount) if amount.is_finite() and amount == amount.to_integral_value() else -1


@dataclass(frozen=True)
class Settlement:
    """Payments that stand, and workers' numbers of others: paid before, or owed something else."""

    due: tuple[Payment, ...]
    paid: tuple[int, ...]
    changed: tuple[int, ...]

    @property
    def total(self) -> int:
        """What is marked as paid."""
        return sum(payment.amount for payment in self.due)


def settlement(work: Work, payments: Sequence[Payment]) -> Settlement:
    """Which payments stand: nothing was paid to the worker since, and so much is still owed."""
    owed = {row.number: row.amount for row in ledger.owed(work)}
    numbers = dict(
        work.db.execute(select(worker.c.id, worker.c.number).where(work.own(worker))).all()
    )
    settled = {numbers[worker_id]: amount for worker_id, amount in ledger.settled(work).items()}
    due, paid, changed = [], [], []
    for payment in payments:
        now = settled.get(payment.worker, 0)
        if now == payment.before and owed.get(payment.worker, 0) >= payment.amount:
            due.append(payment)
            # rows of two files may stand in one: the second is about a debt that is paid by then
            settled[payment.worker] = now + payment.amount
            owed[payment.worker] -= payment.amount
        elif now >= payment.before + payment.amount:
            paid.append(payment.worker)
        else:
            changed.append(payment.worker)
    return Settlement(tuple(due), tuple(paid), tuple(changed))
