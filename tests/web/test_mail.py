"""The server's process for jobs sends what is due, and wipes who declined."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the web application needs the extra serve")
pytest.importorskip("aiosmtpd", reason="no mail server to test with")

from benchmarks._campaign import launched, made_material
from benchmarks.mail import NAME, PLAN, serving

from qrowd.collection.database.store import Store
from qrowd.collection.people import entry, letters
from qrowd.collection.people.entry import PersonRow
from qrowd.collection.record import audit
from qrowd.web import logs, tasks
from qrowd.web.settings import Settings

PEOPLE = [PersonRow(f"zyx{at}", f"Zyxname{at}", f"zyx{at}@example.org") for at in range(3)]


class Inbox:
    """Takes every letter; while it is `closed`, none."""

    def __init__(self) -> None:
        self.got: list[str] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.got.append(envelope.rcpt_tos[0])
        return "250 OK"


@contextmanager
def at_work(settings: Settings) -> Iterator[None]:
    """The process for jobs, in a thread."""
    stop = threading.Event()
    thread = threading.Thread(target=tasks.work_forever, args=(settings, stop))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)
        assert not thread.is_alive()


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen within a minute")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(tasks, "LETTERS_EVERY", 0.1)
    made = launched(f"sqlite:///{tmp_path / 'qrowd.db'}", PLAN, made_material(20))
    with made.write(NAME) as work:
        audit.perform(work, "o", "invite people", {"people": PEOPLE})
        audit.perform(work, "o", "send digests", {"addresses": "boss@example.org"})
    yield made
    made.close()


def test_letters_and_digests_go_out(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.set_up("debug", "text")
    settings, inbox = Settings.of_folder(tmp_path, store.url, "https://j.example.org"), Inbox()
    with serving(inbox) as port:
        pass  # nobody listens there: letters wait
    settings = replace(settings, mail=f"smtp://127.0.0.1:{port}")
    said = ""

    def away() -> bool:
        nonlocal said
        said += capsys.readouterr().err
        return "letters not sent" in said

    with at_work(settings):
        wait_for(away)
    with store.read(NAME) as work:
        assert len(letters.waiting(work)) == 3
    with serving(inbox) as port, at_work(replace(settings, mail=f"smtp://127.0.0.1:{port}")):
        wait_for(lambda: len(inbox.got) == 4)
        time.sleep(0.5)  # nothing comes twice
    assert sorted(inbox.got) == ["boss@example.org", *(one.email for one in PEOPLE)]
    said += capsys.readouterr().err
    for trace in ("zyx", "Zyxname", "boss@", "example.org"):
        assert trace not in said


def test_who_declined_is_wiped(store: Store, tmp_path: Path) -> None:
    with store.write(NAME) as work:
        row = next(one for one in entry.people(work) if one.platform_id == "zyx1")
        assert row.key is not None
        letters.decline(work, entry.link_text(work, row.key))

    def wiped() -> bool:
        content = b"".join(path.read_bytes() for path in tmp_path.glob("qrowd.db*"))
        return b"zyx1@" not in content and b"Zyxname1" not in content

    assert not wiped()
    with at_work(Settings.of_folder(tmp_path, store.url)):
        wait_for(wiped)
