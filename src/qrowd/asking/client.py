"""Questions over HTTP: many at a time, tried again where that helps, within limits."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from qrowd.asking.answers import Answer, read_answer
from qrowd.asking.journal import Journal
from qrowd.asking.questions import Question
from qrowd.errors import InputError, MissingExtraError
from qrowd.http import LONGEST_WAIT, TOO_LATE, asked_to_wait, pause, words_of

if TYPE_CHECKING:
    import httpx

_BUSY = (409, 425, 429, 500, 502, 503, 529)  # worth another try
_NO_ACCESS = (401, 402, 403, 404, 405)  # nothing that follows would fare better
_FLAGGED = (403, 404, 405)  # after an answer: some servers say so of a single text
_LARGEST = 1 << 20  # bytes of a response
_SHOWN = 200  # letters of what a server says is wrong


@dataclass(frozen=True)
class Limits:
    """How a server is asked, and when it is enough."""

    at_once: int = 8
    tries: int = 6
    seconds: float = 120.0  # of one try
    cap: float | None = None  # money
    most: int | None = None  # questions


class _UselessError(Exception):
    """No answer, and another try would give none either; `paid` if the model did work."""

    def __init__(self, why: str, paid: bool = False) -> None:
        super().__init__(why)
        self.paid = paid


class _BusyError(Exception):
    """Try again, after so many seconds if it says so."""

    def __init__(self, why: str, wait: float | None = None, lost: bool = False) -> None:
        super().__init__(why)
        self.wait, self.lost = wait, lost


@dataclass
class Client:
    """Asks all questions that the journal has no answer to."""

    endpoint: str
    journal: Journal
    limits: Limits = field(default_factory=Limits)
    key: str = ""
    structured: bool = True  # until the server says that it cannot
    stopped: str = ""  # why not all was asked
    progress: Callable[[int, float], None] = lambda done, spent: None

    def run(self, questions: Iterator[Question]) -> None:
        """Until all is answered, or money or questions are used up."""
        asyncio.run(self._run(questions))

    async def _run(self, questions: Iterator[Question]) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError.needed("asking machine judges", "ask") from None
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        self._answered = False  # by this server, in this run
        limits = httpx.Limits(max_connections=self.limits.at_once)
        self._pause_until, self._done = 0.0, 0
        self._freed = asyncio.Event()
        async with httpx.AsyncClient(
            headers=headers, limits=limits, timeout=self.limits.seconds, follow_redirects=False
        ) as http:
            self._http = http
            workers = [
                asyncio.create_task(self._work(questions)) for _ in range(self.limits.at_once)
            ]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()

    async def _work(self, questions: Iterator[Question]) -> None:
        for question in questions:  # shared by all workers
            if question.key in self.journal:
                continue
            if self.stopped or not await self._may(question):
                return
            await self._settle(question)
            self._done += 1
            self.progress(self._done, self.journal.spent)

    async def _may(self, question: Question) -> bool:
        """Whether there is money and a question left, which are taken; waits for what others may
        give back.
        """
        most, cap = self.limits.most, self.limits.cap
        while not self.stopped:
            if most is not None and self.journal.sent >= most:
                self.stopped = f"{most} questions were asked (--most)"
            elif cap is None or self.journal.spent + self.journal.under_way + question.worst <= cap:
                self.journal.reserve(question.key, question.worst)
                return True
            elif self.journal.idle:
                self.stopped = f"the next question could exceed the cap of {cap:g}"
            else:
                self._freed.clear()
                await self._freed.wait()
        return False

    async def _settle(self, question: Question) -> None:
        """Ask until there is an answer, or a reason why there is none."""
        started, why, key = time.monotonic(), "", question.key
        for attempt in range(self.limits.tries):
            if attempt and not await self._may(question):
                return
            await asyncio.sleep(max(0.0, self._pause_until - time.monotonic()))
            await self.journal.asked(key)
            try:
                body = await self._sent(question)
            except _BusyError as busy:
                why = str(busy)
                if busy.lost:
                    await self.journal.lost(key)
                else:
                    await self.journal.free(key)
                self._freed.set()
                await self._wait(attempt, busy.wait)
            except _UselessError as useless:
                cost = question.worst if useless.paid else 0.0
                await self._enter(question, Answer(missing=str(useless)), cost, 0.0)
                return
            except InputError:
                await self.journal.free(key)
                raise
            else:
                answer = read_answer(body, question.judge.prompt)
                seconds = time.monotonic() - started
                cost = paid(question, answer)
                await self._enter(question, answer, cost, seconds)
                if cost > question.worst and self.limits.cap is not None:
                    self.stopped = (
                        "an answer had more tokens than were allowed, so that no cap holds"
                    )
                return
        await self._enter(question, Answer(missing=f"{why}, {self.limits.tries} times"), 0.0, 0.0)

    async def _wait(self, attempt: int, wait: float | None) -> None:
        """As long as the server asks for, and everybody; else longer from time to time."""
        if wait is not None:
            self._pause_until = time.monotonic() + min(wait, LONGEST_WAIT)
        else:
            await asyncio.sleep(pause(attempt))

    async def _enter(self, question: Question, answer: Answer, cost: float, seconds: float) -> None:
        await self.journal.answered(question.key, line_of(answer, cost, seconds))
        self._freed.set()

    async def _sent(self, question: Question) -> Any:
        import httpx

        body = question.with_schema() if self.structured else question.body
        try:
            async with asyncio.timeout(self.limits.seconds):
                status, headers, content = await self._posted(body)
        except (TimeoutError, httpx.TimeoutException):
            seconds = f"{self.limits.seconds:g}"
            raise _BusyError(f"no answer in {seconds} seconds", lost=True) from None
        except httpx.ConnectError as error:
            raise _BusyError(f"no connection ({self._brief(error)})") from None
        except httpx.HTTPError as error:
            raise _BusyError(f"the connection broke ({self._brief(error)})", lost=True) from None
        if status in (*_BUSY, *TOO_LATE):
            is_lost = status in TOO_LATE  # a model may have worked, and be paid
            raise _BusyError(f"HTTP {status}", asked_to_wait(headers), is_lost)
        words = words_of(content)
        if status in _NO_ACCESS and not (self._answered and status in _FLAGGED):
            key = "the key" if self.key else "the key, of which there is none (QROWD_ASK_KEY)"
            message = f"the server says {status}: {words}; see --endpoint, --model and {key}"
            raise InputError(message, file=self.endpoint)
        if status >= 400:
            if "response_format" in body and ("response_format" in words or "schema" in words):
                self.structured = False  # it cannot: an answer is read as text from now on
                return await self._sent(question)
            raise _UselessError(f"refused by the server: {status} {words}")
        if status != 200:
            raise InputError(f"the server answers {status}; see --endpoint", file=self.endpoint)
        self._answered = True
        if len(content) > _LARGEST:
            raise _UselessError("unreadable: a response of more than a megabyte", paid=True)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise _UselessError("unreadable: a response that is no JSON", paid=True) from None

    def _brief(self, error: Exception) -> str:
        text = str(error) or type(error).__name__
        return (text.replace(self.key, "***") if self.key else text)[:_SHOWN]

    async def _posted(self, body: Mapping[str, Any]) -> tuple[int, httpx.Headers, bytes]:
        url = f"{self.endpoint.rstrip('/')}/chat/completions"
        async with self._http.stream("POST", url, json=body) as response:
            content = b""
            async for part in response.aiter_bytes():
                content += part
                if len(content) > _LARGEST:  # no answer is: the rest is not read
                    break
            return response.status_code, response.headers, content


def paid(question: Question, answer: Answer) -> float:
    """What an answer cost; the most that it can have, where the server does not tell."""
    if question.judge.price is None:
        return 0.0
    if answer.tokens_in is None or answer.tokens_out is None:
        return question.worst
    return question.judge.price.of(answer.tokens_in, answer.tokens_out)


def line_of(answer: Answer, cost: float, seconds: float) -> dict[str, Any]:
    """An answer as the journal has it."""
    known = {name: value for name, value in asdict(answer).items() if value not in (None, "")}
    return {**known, "cost": cost, "seconds": round(seconds, 3)}
