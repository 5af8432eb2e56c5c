"""A made server of the chat interface: honest judges, judges that fall for things, and troubles."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]


@dataclass
class Reply:
    """What is sent back: `status`, JSON or raw bytes; `trouble` is something that goes wrong."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    trouble: str = ""  # closed, stall, drip, half

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def said(text: Any, **more: Any) -> Reply:
    """A usual answer with this text."""
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **more}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return Reply({"model": "made-1.0", "choices": [choice], "usage": usage})


def grade(number: int) -> Reply:
    return said(json.dumps({"grade": number}))


TRIES, SECONDS = 2, 5  # a busy machine is slow, too
#: by name: what is sent when the same was asked so often before, the grade, or why there is none;
#: a try of `TRIES` takes at most `SECONDS`
TROUBLES: dict[str, tuple[Callable[[int], Reply], int | None, str]] = {
    "fine": (lambda n: grade(2), 2, ""),
    "busy once": (lambda n: Reply({}, 429) if n == 0 else grade(1), 1, ""),
    "waits": (lambda n: Reply({}, 429, {"retry-after": "0.1"}) if n == 0 else grade(1), 1, ""),
    "waits not": (lambda n: Reply({}, 429, {"retry-after": "0"}) if n == 0 else grade(1), 1, ""),
    "a date": (
        lambda n: (
            Reply({}, 503, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) if n == 0 else grade(1)
        ),
        1,
        "",
    ),
    "busy": (lambda n: Reply({}, 429), None, "HTTP 429, 2 times"),
    "500": (lambda n: Reply(b"oops", 500), None, "HTTP 500, 2 times"),
    "closed": (lambda n: Reply(trouble="closed"), None, "the connection broke"),
    "stall": (lambda n: Reply(trouble="stall"), None, "no answer in 5 seconds, 2 times"),
    "drip": (lambda n: Reply(grade(1).body, trouble="drip"), None, "no answer in 5 seconds"),
    "half": (lambda n: Reply(grade(1).body, trouble="half"), None, "the connection broke"),
    "no json": (lambda n: Reply(b'{"choices": [{'), None, "unreadable: a response that is no"),
    "list": (lambda n: Reply([1, 2]), None, "unreadable: no JSON object"),
    "nothing": (lambda n: Reply({"choices": []}), None, "unreadable: no message"),
    "error in 200": (
        lambda n: Reply({"error": {"message": "no provider"}}),
        None,
        "unreadable: no message in it, but \"{'message': 'no provider'}\"",
    ),
    "deep": (lambda n: Reply(b"[" * 100_000), None, "unreadable: a response that is no JSON"),
    "large": (lambda n: said("x" * 3_000_000), None, "unreadable: a response of more than"),
    "refusal": (lambda n: said(None, message={"refusal": "no"}), None, "refused"),
    "filter": (lambda n: said("", finish_reason="content_filter"), None, "refused"),
    "empty": (lambda n: said(""), None, "empty"),
    "none": (lambda n: said(None), None, "empty"),
    "words": (lambda n: said("It is relevant."), None, "unreadable: 'It is relevant.'"),
    "zero words": (lambda n: said("I cannot. 0"), None, "unreadable: 'I cannot. 0'"),
    "other scale": (lambda n: grade(7), None, "unreadable: 7 is no grade of the scale"),
    "true": (lambda n: said('{"grade": true}'), None, "unreadable: "),
    "text grade": (lambda n: said('{"grade": "2"}'), 2, ""),
    "fenced": (lambda n: said('```json\n{"grade": 3}\n```'), 3, ""),
    "cut": (lambda n: said('{"grade": 3', finish_reason="length"), None, "cut: "),
    "thought": (lambda n: said('<think>{"grade": 0}</think>\n{"grade": 3}'), 3, ""),
    "thought away": (lambda n: said('{"grade": 0}?</think>{"grade": 3}'), 3, ""),
    "thinking": (lambda n: said('<think>{"grade": 0}'), None, "cut: nothing but thinking"),
    "apart": (lambda n: said('{"grade": 3}', message={"reasoning_content": "0"}), 3, ""),
    "parts": (lambda n: said([{"type": "text", "text": '{"grade": 1}'}]), 1, ""),
    "half a letter": (lambda n: said('{"grade": 2, "reason": "nice \\ud83d"}'), 2, ""),
    "gateway": (lambda n: Reply({}, 504), None, "HTTP 504, 2 times"),
    "flagged": (lambda n: Reply({"error": "flagged"}, 403), None, "refused by the server: 403 fla"),
    "too long": (
        lambda n: Reply({"error": {"message": "context length exceeded"}}, 400),
        None,
        "refused by the server: 400 context length exceeded",
    ),
}


def text_of(body: Body) -> str:
    """The document in a question of our prompts: between the lines of the mark."""
    prompt = body["messages"][-1]["content"]
    return re.split(r"(?m)^=+$", prompt)[1].strip()


def query_of(body: Body) -> str:
    return str(body["messages"][-1]["content"].split("searched for:")[1].split("\n")[2])


class Server:
    """Where it listens, and what it was asked."""

    def __init__(self, judge: Callable[[Body, int], Reply]) -> None:
        self.judge = judge  # what is asked, and how often the same was asked before
        self.asked: Counter[str] = Counter()
        self.bodies: list[Body] = []
        self.most_at_once = self._now = 0
        self.keep = True
        self.port = 0
        self.loop: asyncio.AbstractEventLoop
        self.ended: asyncio.Event

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"(?i)content-length: *(\d+)", head)
                body = json.loads(await reader.readexactly(int(length.group(1)) if length else 0))
                key = json.dumps([body["model"], body["messages"]])
                self._now += 1
                self.most_at_once = max(self.most_at_once, self._now)
                reply = self.judge(body, self.asked[key])
                self.asked[key] += 1
                if self.keep:
                    self.bodies.append({**body, "head": head.decode()})
                try:
                    await self._send(writer, reply)
                finally:
                    self._now -= 1
                if reply.trouble:
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter, reply: Reply) -> None:
        if reply.trouble == "closed":
            return
        if reply.trouble == "stall":
            await asyncio.sleep(30)
            return
        content = reply.content()
        lines = [f"HTTP/1.1 {reply.status} X", "content-type: application/json"]
        lines += [f"content-length: {len(content)}"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        if reply.trouble == "half":
            content = content[: len(content) // 2]
        if reply.trouble == "drip":
            for at in range(len(content)):
                writer.write(content[at : at + 1])
                await writer.drain()
                await asyncio.sleep(0.2)
        writer.write(content)
        await writer.drain()


@contextmanager
def serving(judge: Callable[[Body, int], Reply]) -> Iterator[Server]:
    """A server in a thread of its own."""
    server, ready = Server(judge), threading.Event()

    async def run() -> None:
        server.loop, server.ended = asyncio.get_running_loop(), asyncio.Event()
        listening = await asyncio.start_server(server._serve, "127.0.0.1", 0, limit=1 << 24)
        server.port = listening.sockets[0].getsockname()[1]
        ready.set()
        await server.ended.wait()
        listening.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        server.loop.call_soon_threadsafe(server.ended.set)
        thread.join()
