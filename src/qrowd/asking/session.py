"""Ask machine judges about pairs, by a server or by files, and make judgements of the answers."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qrowd.asking.answers import Answer, read_answer
from qrowd.asking.client import Client, Limits, Progress, line_of, paid
from qrowd.asking.journal import Journal
from qrowd.asking.questions import Item, Judge, Question, questions
from qrowd.errors import InputError

URL = "/v1/chat/completions"
_COLUMNS = (
    *("topic", "doc", "assessor", "kind", "grade", "missing", "reason", "expected", "sample"),
    *("seconds", "tokens_in", "tokens_out", "cost", "version", "cut", "raw"),
)
_COLUMNS_OF_TWO = (
    *("topic", "left", "right", "winner", "assessor", "kind", "missing", "reason"),
    *("reason_turned", "sample", "seconds", "tokens_in", "tokens_out", "cost", "version", "cut"),
    *("raw", "raw_turned"),
)


@dataclass(frozen=True)
class Estimate:
    """What asking would take: of questions that have no answer yet."""

    questions: int
    answered: int
    tokens: int
    cost: float
    most: float  # what it can cost
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
        cost = most = 0.0
        for question in self.open():
            number, tokens = number + 1, tokens + question.tokens
            cost, most = cost + question.expected, most + question.worst
            cut += question.item.cut
        total = len(self.items) * sum(judge.samples for judge in self.judges)
        return Estimate(number, total - number, tokens, cost, most, cut)

    def ask(
        self,
        endpoint: str,
        limits: Limits,
        key: str = "",
        progress: Progress = lambda done, missing, spent: None,
    ) -> str:
        """Ask a server; "" when all is answered, else why it stopped."""
        client = Client(endpoint, self.journal, limits, key, progress=progress)
        client.run(self.open())
        return client.stopped

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
        """A row for each two documents that were asked about in both orders: who won in both, a
        tie where that is not the same, nobody where an answer is missing.
        """
        both: dict[tuple[Any, ...], list[tuple[str | None, dict[str, Any]]]] = {}
        for question, line in self.answers():
            if question.judge.prompt.documents == 2:
                left, right = question.item.names
                winner = {"A": left, "B": right, "tie": "tie"}.get(str(line.get("value")))
                key = (question.item.topic.name, question.judge.name, *sorted((left, right)))
                row = _row(question, line) | {"left": left, "right": right}
                both.setdefault((*key, question.sample), []).append((winner, row))
        table: dict[str, list[Any]] = {name: [] for name in _COLUMNS_OF_TWO}
        for answers in both.values():
            (winner, first), (other, second) = answers[0], answers[-1]
            if len(answers) < 2:
                continue
            row = first | {"winner": winner if winner == other else "tie"}
            if winner is None or other is None:
                row |= {"winner": None, "missing": first["missing"] or second["missing"]}
            for name in ("seconds", "tokens_in", "tokens_out", "cost"):
                known = first[name] is not None and second[name] is not None
                row[name] = first[name] + second[name] if known else None
            row |= {f"{name}_turned": second[name] for name in ("reason", "raw")}
            for name, column in table.items():
                column.append(row[name])
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


# --- by files, as batch interfaces have them ---


def batch(questions: Iterable[Question], journal: Journal, limits: Limits) -> Iterator[str]:
    """A line of a batch interface for each question, as many as the limits have room for."""
    spent, sent = journal.spent, journal.sent
    for question in questions:
        spent, sent = spent + question.worst, sent + 1
        if limits.cap is not None and spent > limits.cap:
            return
        if limits.most is not None and sent > limits.most:
            return
        body = question.with_schema()
        line = {"custom_id": question.key, "method": "POST", "url": URL, "body": body}
        yield json.dumps(line, ensure_ascii=False) + "\n"


def take(path: str | Path, questions: Iterable[Question], journal: Journal) -> tuple[int, int]:
    """Enter the answers of a file: how many are of these questions, and how many of none."""
    by_key = {question.key: question for question in questions}
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
        await asyncio.gather(*(journal.answered(key, each) for key, each in taken.items()))

    asyncio.run(enter())
    return len(taken), strangers


def _batch_line(line: str, file: str, number: int) -> tuple[str, Any, str]:
    """The key, the response's body, and why there is none."""
    try:
        record = json.loads(line)
        key, error = str(record["custom_id"]), record.get("error")
        response = record.get("response") or {}
        status, body = response.get("status_code", 0), response.get("body")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
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
