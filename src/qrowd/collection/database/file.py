"""The file of a SQLite database: private, and the same one as long as a store has it open.

SQLite goes on writing to a file that was removed, replaced or overwritten, and says that it did:
what people say would be acknowledged into nothing. Two looks at the folder and one at the first
bytes tell (microseconds, no SQL).
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from qrowd.errors import StoreError

Identity: TypeAlias = tuple[int, int]  # device and number of a file

KIND = slice(0, 24)  # of the first bytes: that it is a database, its page size and its journal
CHANGES = slice(24, 28)  # a counter that never goes back
_log = logging.getLogger(__name__)


def make_private(path: Path) -> None:
    """Make the file if it is not there; nobody but its owner may read it, nor its WAL, which gets
    the same mode from SQLite. A group that may write was let in on purpose, and stays.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreError(f"cannot be made: {error.strerror}", file=str(path)) from None
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with contextlib.suppress(OSError):  # not there, or not ours
            mode = stat.S_IMODE(file.stat().st_mode)
            wanted = 0o600 | (mode & 0o060 if mode & 0o020 else 0)
            if mode != wanted:
                file.chmod(wanted)


def _identity(path: str) -> Identity | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - at every step of everybody
    except OSError:
        return None
    return found.st_dev, found.st_ino


class DatabaseFile:
    """The file at a path, which must stay what it was when its first connection was made."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.opened: _Opened | None = None
        self.lost = False  # it was logged
        self.turn = threading.Lock()  # a thread must not compare with what another has seen later

    def refuse_other(self) -> None:
        """An error where the file is another one than before; called while it is connected."""
        with self.turn:
            self.opened = self.opened or _Opened.of(self.path)
            problem = self.opened.problem(self.path)
        if problem and not self.lost:
            _log.error("the database's file is another one")
        self.lost = bool(problem)
        if problem:
            raise StoreError(
                f"the database's file {problem} while it was in use; nothing of this step is "
                "stored; bring it back, or start the server again",
                file=self.path,
            )

    def forget(self) -> None:
        """All connections are closed: whatever is at the path next will do."""
        with self.turn:
            if self.opened:
                _give_back(self.opened.identity)
            self.opened = None


@dataclass
class _Opened:
    """A file as it was when it was opened, and its WAL, which lives as long as a connection."""

    identity: Identity
    descriptor: int
    kind: bytes
    changes: bytes = b""
    wal: Identity | None = None

    @classmethod
    def of(cls, path: str) -> _Opened:
        descriptor = _borrowed(path)
        found = os.fstat(descriptor)
        kind = os.pread(descriptor, KIND.stop, 0)
        return cls((found.st_dev, found.st_ino), descriptor, kind)

    def problem(self, path: str) -> str:
        identity = _identity(path)
        if identity != self.identity:
            return "was replaced" if identity else "was removed"
        wal = _identity(f"{path}-wal")
        if self.wal and wal != self.wal:
            return "lost its WAL"
        self.wal = wal
        header = os.pread(self.descriptor, CHANGES.stop, 0)
        if header[KIND] != self.kind or header[CHANGES] < self.changes:
            return "was overwritten"
        self.changes = header[CHANGES]
        return ""


# Closing any descriptor of a file drops all locks that this process has on it, SQLite's too: one is
# shared by all stores of a file, and closed after the last of them.
_turn = threading.Lock()
_descriptors: dict[Identity, int] = {}
_users: Counter[Identity] = Counter()


def _borrowed(path: str) -> int:
    with _turn:
        identity = _identity(path)
        if identity is None:
            raise StoreError("the database's file was removed", file=path)
        if identity not in _descriptors:
            _descriptors[identity] = os.open(path, os.O_RDONLY)
        _users[identity] += 1
        return _descriptors[identity]


def _give_back(identity: Identity) -> None:
    with _turn:
        _users[identity] -= 1
        if not _users[identity]:
            os.close(_descriptors.pop(identity))
            del _users[identity]
