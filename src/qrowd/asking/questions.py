"""One question to a machine judge: its key, what is sent, what it costs at most."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qrowd.asking.prompts import Prompt
from qrowd.data.documents import Document, Documents
from qrowd.data.topics import Topic, Topics
from qrowd.errors import InputError
from qrowd.rendering import some_of

LIMITS = ("max_tokens", "max_completion_tokens")
_TEMPLATE = 500  # tokens that a server's own chat template adds, at most
_PER_TOKEN = 4  # letters of a token, about


@dataclass(frozen=True)
class Price:
    """Of a million tokens, of questions and of answers."""

    asked: float
    answered: float

    def of(self, tokens_in: float, tokens_out: float) -> float:
        """What so many cost."""
        return (tokens_in * self.asked + tokens_out * self.answered) / 1e6


@dataclass(frozen=True)
class Judge:
    """A model with a prompt and how it is sampled: an assessor."""

    model: str
    prompt: Prompt
    price: Price | None = None
    samples: int = 1
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As an assessor."""
        return f"{self.model}/{self.prompt.name}"

    @property
    def most_tokens(self) -> int:
        """Of an answer, thinking included."""
        given = [self.parameters[name] for name in LIMITS if name in self.parameters]
        return max(given, default=self.prompt.tokens)


@dataclass(frozen=True)
class Item:
    """What is judged: a document for a topic, or two of them in this order."""

    topic: Topic
    documents: tuple[Document, ...]
    cut: bool = False  # whether a text was too long

    @property
    def names(self) -> tuple[str, ...]:
        """Of the documents."""
        return tuple(document.name for document in self.documents)


@dataclass(frozen=True)
class Question:
    """One request; two with the same `key` are the same question."""

    key: str
    judge: Judge
    item: Item
    sample: int
    body: Mapping[str, Any]

    def with_schema(self) -> dict[str, Any]:
        """What is sent to a server that can hold an answer to a form."""
        schema = self.judge.prompt.schema()
        form = {"name": "answer", "strict": True, "schema": schema}
        more = {"response_format": {"type": "json_schema", "json_schema": form}} if schema else {}
        return {**self.body, **more}

    @property
    def worst(self) -> float:
        """What it costs at most: a token is a byte at least, an answer has all its tokens."""
        if self.judge.price is None:
            return 0.0
        letters = sum(len(each["content"].encode()) for each in self.body["messages"])
        return self.judge.price.of(letters + _TEMPLATE, self.judge.most_tokens)

    @property
    def expected(self) -> float:
        """What it costs, about."""
        return self.judge.price.of(self.tokens, self.judge.prompt.tokens) if self.judge.price else 0

    @property
    def tokens(self) -> int:
        """Of what is sent, about."""
        return sum(len(each["content"]) for each in self.body["messages"]) // _PER_TOKEN


def questions(judges: Sequence[Judge], items: Sequence[Item]) -> Iterator[Question]:
    """All questions, one judge after another, always in this order."""
    for judge in judges:
        for item in items:
            messages = judge.prompt.messages(item.topic, item.documents)
            body = {"model": judge.model, "messages": messages, **judge.parameters}
            if not body.keys() & set(LIMITS):
                body["max_tokens"] = judge.prompt.tokens
            for sample in range(judge.samples):
                asked = [item.topic.name, *item.names, judge.prompt.hash, body, sample]
                text = json.dumps(asked, sort_keys=True, ensure_ascii=False)
                key = hashlib.sha256(text.encode()).hexdigest()[:32]
                yield Question(key, judge, item, sample, body)


def items(
    pairs: Sequence[tuple[str, ...]], topics: Topics, documents: Documents, longest: int
) -> list[Item]:
    """What is judged of `(topic, doc)` or `(topic, left, right)`; texts are cut at `longest`.

    Two documents are asked about in both orders.
    """
    names = sorted({pair[0] for pair in pairs})
    no_query = [
        name for name in names if name not in topics.index or not topics[name].query.strip()
    ]
    if no_query:
        raise InputError(f"no query of {some_of(no_query, 'topic')}; --topics must have them all")
    absent = sorted({doc for pair in pairs for doc in pair[1:] if doc not in documents.index})
    if absent:
        raise InputError(f"no text of {some_of(absent, 'document')}; --documents must have them")
    made = []
    for topic, *docs in pairs:
        for names in [docs, docs[::-1]] if len(docs) == 2 else [docs]:
            texts = [cut_text(documents[name], longest) for name in names]
            cut = any(is_cut for _, is_cut in texts)
            made.append(Item(topics[topic], tuple(text for text, _ in texts), cut))
    empty = sorted({each.name for item in made for each in item.documents if not each.text.strip()})
    if empty:
        message = f"no text in {some_of(empty, 'document')}; leave them out of the pool"
        raise InputError(message)
    return made


def cut_text(document: Document, longest: int) -> tuple[Document, bool]:
    """The beginning of the text, up to the end of a word, where it is too long."""
    text = document.text
    if len(text) <= longest:
        return document, False
    kept = text[:longest]
    words = kept.rsplit(None, 1)
    kept = words[0] if len(words) == 2 and len(words[0]) > longest // 2 else kept
    return document._replace(text=f"{kept}\n[cut after {len(kept)} of {len(text)} letters]"), True
