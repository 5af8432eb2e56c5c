"""What was sent and answered, a line each, appended and synced: stop and go on at any time.

    {"asked": KEY, "worst": 0.0004}                 before a question is sent
    {"free": KEY}                                   it was turned away, and cost nothing
    {"lost": KEY}                                   nobody knows whether the server answered
    {"answered": KEY, "cost": 0.0001, ...}          what came of it

A question that was sent and never answered counts as spent, at the most that it can have cost.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from qrowd.errors import InputError, UsageError


class Journal:
    """One file; one process writes it at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.spent = 0.0  # answered, or lost on the way
        self.under_way = 0.0  # of what was sent now
        self.sent = 0  # questions, each once
        self.unpriced = 0  # answers whose tokens the server did not tell
        self._open: dict[str, float] = {}
        self._answers: dict[str, int] = {}  # the place of each in the file
        self._missing: set[str] = set()
        self._waiting: list[tuple[str, bytes, asyncio.Future[None]]] = []
        self._flushing: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        _lock(self._file, self.path)
        self._read()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        os.close(self._file)

    @property
    def idle(self) -> bool:
        """Whether nothing is under way; the sum of money may miss 0 by a rounding."""
        return not self._open

    def __contains__(self, key: str) -> bool:
        return key in self._answers

    def forget_missing(self) -> None:
        """What is missing is asked again."""
        for key in self._missing:
            del self._answers[key]
        self._missing.clear()

    def answer(self, key: str) -> dict[str, Any] | None:
        """The line of an answer, read from the file."""
        if key not in self._answers:
            return None
        with self.path.open("rb") as file:
            file.seek(self._answers[key])
            line: dict[str, Any] = json.loads(file.readline())
        return line

    def reserve(self, key: str, worst: float) -> None:
        """The money of a question that will be sent; what is still open of it counts as spent."""
        self.spent += self._open.pop(key, 0.0)
        self._open[key] = worst
        self.under_way += worst
        self.sent += 1

    async def asked(self, key: str) -> None:
        """On the disk before it is sent."""
        await self._write({"asked": key, "worst": self._open[key]})

    async def free(self, key: str) -> None:
        """The server turned it away."""
        self.sent -= 1
        self.under_way -= self._open.pop(key, 0.0)
        await self._write({"free": key})

    async def lost(self, key: str) -> None:
        """Nobody knows whether the server answered: it counts as spent."""
        worst = self._open.pop(key, 0.0)
        self.under_way -= worst
        self.spent += worst
        await self._write({"lost": key})

    async def answered(self, key: str, line: Mapping[str, Any]) -> None:
        """On the disk before anybody hears of it."""
        self.under_way -= self._open.pop(key, 0.0)
        self.spent += line["cost"]
        await self._write({"answered": key, **line})
        self._known(key, line)

    def _known(self, key: str, line: Mapping[str, Any]) -> None:
        self.unpriced += line.get("tokens_in") is None and bool(line.get("cost"))
        (self._missing.add if line.get("missing") else self._missing.discard)(key)

    # --- the file ---

    def _read(self) -> None:
        """All lines; what a kill left of the last one is cut off."""
        size = os.fstat(self._file).st_size
        with self.path.open("rb") as file:
            number = 0
            while line := file.readline():
                number += 1
                if not line.endswith(b"\n"):
                    os.ftruncate(self._file, size - len(line))
                    break
                try:
                    self._take(json.loads(line), file.tell() - len(line))
                except (ValueError, KeyError, TypeError, AttributeError):
                    message = "no line of a journal of `qrowd ask`; name another file"
                    raise InputError(message, file=str(self.path), line=number) from None
        self.spent += sum(self._open.values())  # sent, and never heard of again
        self._open.clear()

    def _take(self, line: dict[str, Any], at: int) -> None:
        if "asked" in line:
            self.sent += 1
            self.spent += self._open.pop(line["asked"], 0.0)
            self._open[line["asked"]] = float(line["worst"])
        elif "free" in line:
            self.sent -= 1
            self._open.pop(line["free"], None)
        elif "lost" in line:
            self.spent += self._open.pop(line["lost"], 0.0)
        else:
            key = line["answered"]
            self._open.pop(key, None)
            self.spent += float(line["cost"])
            self._answers[key] = at
            self._known(key, line)

    async def _write(self, line: Mapping[str, Any]) -> None:
        """Returns when it is on the disk; what is written at the same moment goes with it."""
        text = json.dumps(line).encode() + b"\n"  # ASCII: a judge may write half a character
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((str(line.get("answered", "")), text, done))
        if self._flushing is None:
            self._flushing = asyncio.ensure_future(self._flush())
        await done

    async def _flush(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            end = os.fstat(self._file).st_size
            try:
                await asyncio.to_thread(self._sync, b"".join(text for _, text, _ in waiting))
            except OSError as error:  # the disk is full
                with suppress(OSError):
                    os.ftruncate(self._file, end)  # no half of a line before the next one
                for *_, done in waiting:
                    if not done.done():
                        done.set_exception(_unwritable(self.path, error))
                continue
            for key, text, done in waiting:
                if key:
                    self._answers[key] = end
                end += len(text)
                if not done.done():  # who waited may have been stopped
                    done.set_result(None)
        self._flushing = None

    def _sync(self, text: bytes) -> None:
        while text:
            text = text[os.write(self._file, text) :]
        os.fdatasync(self._file) if hasattr(os, "fdatasync") else os.fsync(self._file)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot be written: {error.strerror}", file=str(path))


def _lock(file: int, path: Path) -> None:
    """Two that write one journal would each spend the whole cap."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise UsageError(f"{path}: another `qrowd ask` is writing it; wait for it") from None
