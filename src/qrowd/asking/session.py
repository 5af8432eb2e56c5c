"""Ask machine judges about pairs, by a server or by files, and make judgements of the answers."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qrowd.asking.answers import Answer, read_answer
from qrowd.asking.client import Client, Limits, line_of, paid
from qrowd.asking.journal import Journal
from qrowd.asking.questions import Item, Judge, Question, questions
from qrowd.errors import InputError

URL = "/v1/chat/completions"
_COLUMNS = (
    *("topic", "doc", "assessor", "kind", "grade", "missing", "reason", "expected", "sample"),
    *("seconds", "tokens_in", "tokens_out", "cost", "version", "cut", "raw"),
)


@dataclass(frozen=True)
class Estimate:
    """What asking would take: of questions that have no answer yet."""

    questions: int
    answered: int
    tokens: int
    cost: float
    cut: int  # questions with a text that was too long


@dataclass(frozen=True)
class Session:
    """Judges, what they are asked about, and the journal of it."""

    judges: Sequence[Judge]
    items: Sequence[Item]
    journal: Journal

    def __iter__(self) -> Iterator[Question]:
        return questions(self.judges, self.items)

    def open(self) -> Iterator[Question]:
        """Those that have no answer yet."""
        return (question for question in self if question.key not in self.journal)

    def estimate(self) -> Estimate:
        """Before the first question is sent."""
        number = tokens = cut = 0
        cost = 0.0
        for question in self.open():
            number, tokens = number + 1, tokens + question.tokens
            cost, cut = cost + question.expected, cut + question.item.cut
        total = len(self.items) * sum(judge.samples for judge in self.judges)
        return Estimate(number, total - number, tokens, cost, cut)

    def ask(
        self,
        endpoint: str,
        limits: Limits,
        key: str = "",
        progress: Callable[[int, float], None] = lambda done, spent: None,
    ) -> str:
        """Ask a server; "" when all is answered, else why it stopped."""
        client = Client(endpoint, self.journal, limits, key, progress=progress)
        client.run(self.open())
        return client.stopped

    # --- by files, as batch interfaces have them ---

    def requests(self) -> Iterator[str]:
        """A line for each open question."""
        for question in self.open():
            body = question.with_schema()
            line = {"custom_id": question.key, "method": "POST", "url": URL, "body": body}
            yield json.dumps(line, ensure_ascii=False) + "\n"

    def take(self, path: str | Path) -> tuple[int, int]:
        """Enter the answers of a file: how many are of open questions, and how many of none."""
        by_key = {question.key: question for question in self.open()}
        taken: dict[str, dict[str, Any]] = {}
        strangers = 0
        try:
            with Path(path).open(encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        key, body, why = _batch_line(line, str(path), number)
                        if key not in by_key:
                            strangers += 1
                        else:
                            taken[key] = _entered(by_key[key], body, why)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read: {error}", file=str(path)) from None

        async def enter() -> None:
            await asyncio.gather(*(self.journal.answered(key, each) for key, each in taken.items()))

        asyncio.run(enter())
        return len(taken), strangers

    # --- what came of it ---

    def answers(self) -> Iterator[tuple[Question, dict[str, Any]]]:
        """Each question that has an answer, with its line of the journal."""
        for question in self:
            line = self.journal.answer(question.key)
            if line is not None:
                yield question, line

    def judgements(self) -> dict[str, list[Any]]:
        """A row for each question about one document; without a grade where it is missing."""
        table: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for question, line in self.answers():
            if question.judge.prompt.documents == 1:
                for name, value in _row(question, line).items():
                    table[name].append(value)
        return table

    def preferences(self) -> dict[str, list[Any]]:
        """A row for each two documents that were asked about in both orders; else a tie."""
        said: dict[tuple[str, str, tuple[str, ...], int], list[str | None]] = {}
        for question, line in self.answers():
            if question.judge.prompt.documents == 2:
                names = question.item.names
                side = line.get("value")
                doc = {"A": names[0], "B": names[1], "tie": "tie"}.get(str(side))
                key = (question.item.topic.name, question.judge.name, tuple(sorted(names)))
                said.setdefault((*key, question.sample), []).append(doc)
        table: dict[str, list[Any]] = {
            name: [] for name in ("topic", "left", "right", "winner", "assessor", "kind")
        }
        for (topic, judge, (left, right), _), docs in said.items():
            if len(docs) == 2 and None not in docs:
                winner = docs[0] if docs[0] == docs[1] else "tie"
                row = (topic, left, right, winner, judge, "machine")
                for column, value in zip(table.values(), row, strict=True):
                    column.append(value)
        return table

    def missing(self) -> Counter[str]:
        """How many answers are missing, by the first words of why."""
        return Counter(
            line["missing"].split(":")[0] for _, line in self.answers() if line.get("missing")
        )

    def first_place(self) -> tuple[int, int]:
        """Of how many answers that prefer one, so many prefer the text shown first."""
        sides = Counter(line.get("value") for _, line in self.answers())
        return sides["A"], sides["A"] + sides["B"]


def _row(question: Question, line: dict[str, Any]) -> dict[str, Any]:
    return {
        "topic": question.item.topic.name,
        "doc": question.item.names[0],
        "assessor": question.judge.name,
        "kind": "machine",
        "grade": line.get("value"),
        "missing": line.get("missing", ""),
        "reason": line.get("reason", ""),
        "expected": line.get("expected"),
        "sample": question.sample,
        "seconds": line["seconds"],
        "tokens_in": line.get("tokens_in"),
        "tokens_out": line.get("tokens_out"),
        "cost": line["cost"],
        "version": line.get("version", ""),
        "cut": question.item.cut,
        "raw": line.get("raw", ""),
    }


def _batch_line(line: str, file: str, number: int) -> tuple[str, Any, str]:
    """The key, the response's body, and why there is none."""
    try:
        found = json.loads(line)
        key, error = str(found["custom_id"]), found.get("error")
        response = found.get("response") or {}
        status, body = response.get("status_code", 0), response.get("body")
    except (ValueError, KeyError, TypeError, AttributeError):
        message = "no answer of a batch interface: a JSON object with custom_id and response"
        raise InputError(message, file=file, line=number) from None
    if error or status != 200:
        words = error.get("message", error) if isinstance(error, dict) else error or body
        return key, None, f"refused by the server: {status or ''} {str(words)[:200]}".strip()
    return key, body, ""


def _entered(question: Question, body: Any, why: str) -> dict[str, Any]:
    if why:
        return line_of(Answer(missing=why), 0.0, 0.0)
    answer = read_answer(body, question.judge.prompt)
    return line_of(answer, paid(question, answer), 0.0)
