"""Questions over HTTP: many at a time, tried again where that helps, within limits."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from qrowd.asking.answers import Answer, read_answer
from qrowd.asking.journal import Journal
from qrowd.asking.questions import Question
from qrowd.errors import InputError, MissingExtraError, UsageError
from qrowd.http import LONGEST_WAIT, TOO_LATE, asked_to_wait, pause, words_of

if TYPE_CHECKING:
    import httpx

_BUSY = (409, 425, 429, 500, 502, 503, 529)  # worth another try
_TOO_MANY = 429  # of a server that answers others meanwhile, no try is used up
_NO_ACCESS = (401, 402, 403, 404, 405)  # nothing that follows would fare better
_FLAGGED = (403, 404, 405)  # after an answer: some servers say so of a single text
_LARGEST = 1 << 20  # bytes of a response
_SHOWN = 200  # letters of what a server says is wrong
_IN_VAIN = 20  # questions without an answer, from the start or in a row: it is not up to them
_LONGEST_PAUSE = 6  # tries after which pauses do not grow
_SECRET = 12  # letters that a key has at least; shorter ones (EMPTY, ollama) stand for none
_HIGHER = "with a higher limit the same command goes on from here"


Progress = Callable[[int, int, float], None]  # questions done, missing of them, money


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

    def __init__(
        self,
        why: str,
        wait: float | None = None,
        lost: bool = False,
        away: bool = False,
        too_many: bool = False,
    ) -> None:
        super().__init__(why)
        self.wait, self.lost, self.away, self.too_many = wait, lost, away, too_many


def shown_address(endpoint: str) -> str:
    """The address of a server without a password that may be in it; an error if it is none."""
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise UsageError("--endpoint is an address such as http://127.0.0.1:8080/v1")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{parts.path}"


@dataclass
class Client:
    """Asks all questions that the journal has no answer to."""

    endpoint: str
    journal: Journal
    limits: Limits = field(default_factory=Limits)
    key: str = ""
    structured: bool = True  # until the server says that it cannot
    stopped: str = ""  # why not all was asked
    progress: Progress = lambda done, missing, spent: None

    def run(self, questions: Iterator[Question]) -> None:
        """Until all is answered, or money or questions are used up; an error if the server is of
        no use.
        """
        self._failure: InputError | None = None
        self._answered = 0  # by this server, in this run
        self._useful = False  # whether one was with a grade
        self._useless = 0  # answers without a grade, before the first one with it
        self._in_vain: list[tuple[Question, Answer]] = []  # tried to the end since the last answer
        self._pause_until, self._done, self._missing = 0.0, 0, 0
        asyncio.run(self._run(questions))
        if self._failure is not None:
            raise self._failure

    async def _run(self, questions: Iterator[Question]) -> None:
        self._freed = asyncio.Event()
        async with self._opened() as self._http:
            workers = [
                asyncio.create_task(self._work(questions)) for _ in range(self.limits.at_once)
            ]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
        if self._failure is None:
            await self._enter_in_vain()

    def _opened(self) -> httpx.AsyncClient:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError.needed("asking machine judges", "ask") from None
        try:
            self._url = httpx.URL(f"{self.endpoint.rstrip('/')}/chat/completions")
            return httpx.AsyncClient(
                headers={"authorization": f"Bearer {self.key}"} if self.key else {},
                limits=httpx.Limits(max_connections=self.limits.at_once),
                timeout=self.limits.seconds,
                follow_redirects=False,
            )
        # a proxy in the environment, too
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise UsageError(f"no way to the server: {self._brief(error)}") from None

    async def _work(self, questions: Iterator[Question]) -> None:
        for question in questions:  # shared by all workers
            if question.key in self.journal:
                continue
            if self.stopped or not await self._may(question):
                return
            await self._settle(question)
            self._done += 1
            self.progress(self._done, self._missing, self.journal.spent)

    async def _may(self, question: Question) -> bool:
        """Whether there is money and a question left, which are taken; waits for what others may
        give back.
        """
        most, cap = self.limits.most, self.limits.cap
        while not self.stopped:
            if most is not None and self.journal.sent >= most:
                self.stopped = f"{most} questions were asked (--most); {_HIGHER}"
            elif cap is None or self.journal.spent + self.journal.under_way + question.worst <= cap:
                self.journal.reserve(question.key, question.worst)
                return True
            elif self.journal.idle:
                self.stopped = f"the next question could exceed the cap of {cap:g}; {_HIGHER}"
            else:
                self._freed.clear()
                await self._freed.wait()
        return False

    async def _settle(self, question: Question) -> None:
        """Ask until there is an answer, or a reason why there is none."""
        started, key = time.monotonic(), question.key
        busy: _BusyError | None = None
        tries, waits, answered = 0, 0, self._answered
        while tries < self.limits.tries:
            if busy is not None:
                if not busy.wait:
                    await asyncio.sleep(pause(min(waits, _LONGEST_PAUSE)))
                waits += 1
                if not await self._may(question):
                    return
            await asyncio.sleep(max(0.0, self._pause_until - time.monotonic()))
            await self.journal.asked(key)
            try:
                body = await self._sent(question)
            except _BusyError as error:
                busy = error
                tries += not busy.too_many or self._answered == answered
                answered = self._answered
                await (self.journal.lost(key) if busy.lost else self.journal.free(key))
                self._freed.set()
                if busy.wait is not None:  # as long as the server asks for, and everybody
                    until = time.monotonic() + min(busy.wait, LONGEST_WAIT)
                    self._pause_until = max(self._pause_until, until)
            except _UselessError as useless:
                cost = question.worst if useless.paid else 0.0
                await self._enter(question, Answer(missing=str(useless)), cost, 0.0)
                return
            except InputError as error:
                await self.journal.free(key)
                self._fail(error)
                return
            else:
                answer = read_answer(body, question.judge.prompt)
                seconds = time.monotonic() - started
                cost = paid(question, answer)
                await self._enter(question, answer, cost, seconds)
                await self._enter_in_vain()
                if cost > question.worst and self.limits.cap is not None:
                    self.stopped = (
                        "an answer had more tokens than were allowed, so that no cap holds"
                    )
                return
        answer = Answer(missing=f"{busy}, {self.limits.tries} times")
        if busy is not None and busy.away:
            self._fail(self._no_use(f"{answer.missing}; see --endpoint"))
            return
        # missing once another one is answered, or all have been asked; else it is the server
        self._in_vain.append((question, answer))
        if len(self._in_vain) >= _IN_VAIN:
            message = f"{_IN_VAIN} questions in a row without an answer: {answer.missing}"
            self._fail(self._no_use(f"{message}; the same command goes on"))

    async def _enter_in_vain(self) -> None:
        in_vain, self._in_vain = self._in_vain, []
        for question, answer in in_vain:
            await self._enter(question, answer, 0.0, 0.0)

    async def _enter(self, question: Question, answer: Answer, cost: float, seconds: float) -> None:
        self._missing += bool(answer.missing)
        self._useful |= not answer.missing
        self._useless += not self._useful
        await self.journal.answered(question.key, line_of(answer, cost, seconds))
        self._freed.set()
        if self._useless >= _IN_VAIN:
            message = f"{_IN_VAIN} questions and not one answer that can be read: {answer.missing}"
            hint = "look at --prompt and --parameter; --again asks them again"
            self._fail(self._no_use(f"{message}; {hint}"))

    def _no_use(self, message: str) -> InputError:
        return InputError(message, file=shown_address(self.endpoint))

    def _fail(self, error: InputError) -> None:
        """What is under way is waited for, and nothing else is asked."""
        self._failure = self._failure or error
        self.stopped = self.stopped or "the server refused"
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
            raise _BusyError(f"no connection ({self._brief(error)})", away=True) from None
        except httpx.HTTPError as error:
            raise _BusyError(f"the connection broke ({self._brief(error)})", lost=True) from None
        if status in (*_BUSY, *TOO_LATE):
            is_lost = status in TOO_LATE  # a model may have worked, and be paid
            wait, too_many = asked_to_wait(headers), status == _TOO_MANY
            raise _BusyError(f"HTTP {status}", wait, is_lost, too_many=too_many)
        words = words_of(content)
        if status in _NO_ACCESS and not (self._answered and status in _FLAGGED):
            key = "the key" if self.key else "the key, of which there is none (QROWD_ASK_KEY)"
            message = f"the server says {status}: {words}; see --endpoint, --model and {key}"
            raise self._no_use(message)
        if status >= 400:
            if "response_format" in body and ("response_format" in words or "schema" in words):
                self.structured = False  # it cannot: an answer is read as text from now on
                return await self._sent(question)
            raise _UselessError(f"refused by the server: {status} {words}")
        if status != 200:
            raise self._no_use(f"the server answers {status}; see --endpoint")
        self._answered += 1
        if len(content) > _LARGEST:
            raise _UselessError("unreadable: a response of more than a megabyte", paid=True)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise _UselessError("unreadable: a response that is no JSON", paid=True) from None

    def _brief(self, error: Exception) -> str:
        text = str(error) or type(error).__name__
        return (text.replace(self.key, "***") if self._is_secret else text)[:_SHOWN]

    @property
    def _is_secret(self) -> bool:
        return len(self.key) >= _SECRET

    async def _posted(self, body: Mapping[str, Any]) -> tuple[int, httpx.Headers, bytes]:
        async with self._http.stream("POST", self._url, json=body) as response:
            content = b""
            async for part in response.aiter_bytes():
                content += part
                if len(content) > _LARGEST:  # no answer is: the rest is not read
                    break
            if self._is_secret:  # some servers repeat it
                content = content.replace(self.key.encode(), b"***")
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
