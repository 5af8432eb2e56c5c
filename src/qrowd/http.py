"""Calls over HTTP to other people's servers: what an answer means for the next try.

    client = Client("https://api.example.org/v1/", {"authorization": "Token ..."})
    client.get("studies/1/")                      tried again until there is an answer
    client.send("POST", "pay/", {"amount": 1})    sent again only if it surely was not taken

Whoever dies after `send`, or gets a `LostError`, does not know whether the server did it: ask.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from qrowd.errors import MissingExtraError, QrowdError

if TYPE_CHECKING:
    import httpx

TOO_LATE = (408, 504, 520, 521, 522, 523, 524)  # nobody knows whether the server did it
LONGEST_WAIT = 120.0  # seconds between two tries; where a server asks for more, nothing is tried
_SHOWN = 200  # letters of what a server says is wrong
_UNTOUCHED = 429  # a call that was turned away before it was looked at


def pause(attempt: int) -> float:
    """Seconds until the next try, where the server does not say: longer from time to time."""
    seconds: float = min(LONGEST_WAIT, 0.5 * 2**attempt) * random.uniform(0.5, 1)
    return seconds


def asked_to_wait(headers: httpx.Headers) -> float | None:
    """Retry-After: seconds, or a date."""
    said = headers.get("retry-after", "")
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def words_of(content: bytes) -> str:
    """What a server says is wrong, in one line."""
    text = content[:4000].decode(errors="replace")
    try:
        body = json.loads(content)
        error = body.get("error", body)
        if isinstance(error, dict):
            error = error.get("message", error.get("detail", error))
        text = str(error)
    except (ValueError, AttributeError, RecursionError):
        pass
    return " ".join(text.split())[:_SHOWN]


class CallError(QrowdError):
    """A call that did not work; `status` of the answer, 0 where there is none."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class RefusedError(CallError):
    """The server says no: nothing was done, and another try would give the same."""


class LaterError(CallError):
    """Nothing was done; the server is away or busy, also after several tries.

    `wait`: the seconds that it asks for.
    """

    wait: float | None = None


class LostError(CallError):
    """Nobody knows whether it was done: there was no answer, or an error of the server."""


class Client:
    """A server with an interface of JSON."""

    def __init__(
        self,
        address: str,
        headers: Mapping[str, str],
        *,
        tries: int = 6,
        seconds: float = 30.0,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError.needed("calls to other servers", "serve") from None
        self.address, self.tries, self.seconds = address.rstrip("/") + "/", tries, seconds
        self.wait = wait or threading.Event().wait  # true: do not go on
        self.closed_until = 0.0  # on the monotonic clock: it asked to be left alone so long
        self.http = httpx.Client(headers=dict(headers), timeout=seconds, follow_redirects=False)

    def close(self) -> None:
        """End the connection."""
        self.http.close()

    def get(self, path: str) -> Any:
        """What stands at a path."""
        return self._called("GET", path, None, self.tries)

    def send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, tries: int = 0
    ) -> Any:
        """Have something done, at most once."""
        return self._called(method, path, body, tries or self.tries)

    def _called(self, method: str, path: str, body: Mapping[str, Any] | None, tries: int) -> Any:
        problem: CallError = LaterError("it was not tried")
        for attempt in range(tries):
            self._stay_away()
            try:
                return self._once(method, path, body)
            except LaterError as error:
                problem = error
                if error.wait is not None:
                    self.closed_until = time.monotonic() + error.wait
                    continue
            except LostError as error:
                if method != "GET":
                    raise
                problem = error
            if attempt + 1 < tries:
                self.wait(pause(attempt))
        raise problem

    def _stay_away(self) -> None:
        """Wait as long as the server asked for, whatever was to be called; an error where that is
        too long, or where whoever waits is woken.
        """
        left = self.closed_until - time.monotonic()
        if left > LONGEST_WAIT or (left > 0 and self.wait(left)):
            raise LaterError(f"the server asked to be left alone for {left:.0f} seconds more")

    def _once(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        import httpx

        try:
            response = self.http.request(method, self.address + path, json=body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise LaterError(f"no connection ({str(error)[:_SHOWN]})") from None
        except httpx.HTTPError as error:
            raise LostError(f"no answer ({str(error)[:_SHOWN] or type(error).__name__})") from None
        status, words = response.status_code, words_of(response.content)
        if status == _UNTOUCHED:
            busy = LaterError(f"{status} {words}", status)
            busy.wait = asked_to_wait(response.headers)
            raise busy
        if status >= 500 or status in TOO_LATE:
            raise LostError(f"{status} {words}", status)
        if not 200 <= status < 300:
            raise RefusedError(f"{status} {words}", status)
        try:
            return response.json() if response.content else {}
        except (ValueError, RecursionError):
            raise LostError("a response that is no JSON", status) from None
