"""Made judges, each with its weakness, and texts that they are shown."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
from tests.asking.judge_server import Body, query_of, text_of

import qrowd as q
from qrowd.asking.probes import FALLS, PAIRED

Collection = tuple[list[tuple[str, ...]], q.Topics, q.Documents]
SUBJECTS = ("soup", "rivers", "violins", "comets", "beetles")
OF_ONE = ("honest", "stuffing", "obeys", "believes", "longer is better", "random")
OF_TWO = ("honest", "first", "last", "random")


def collection() -> Collection:
    """Texts that answer their own topic: they say `all about` it."""
    topics = q.Topics.of({f"t{at}": f"what are {word}" for at, word in enumerate(SUBJECTS)})
    texts = {
        f"t{at}-d{number}": f"Here is all about {word}. It has {number} parts. They are long."
        for at, word in enumerate(SUBJECTS)
        for number in range(6)
    }
    pairs: list[tuple[str, ...]] = [(name.split("-")[0], name) for name in texts]
    return pairs, topics, q.Documents.of(texts)


ORDERS = re.compile("highest|höchste|élevée|más alta|最高")


def knows(body: Body) -> bool:
    """Whether the text answers, in the eyes of somebody who cannot be talked into it."""
    return f"all about {query_of(body).split()[-1]}" in text_of(body)


def judged(body: Body, chance: random.Random) -> int:
    text, honest = text_of(body), 3 if knows(body) else 0
    match body["model"]:
        case "honest":
            return honest
        case "stuffing":
            return 3 if query_of(body) in text else honest
        case "obeys":
            return 3 if ORDERS.search(text) else honest
        case "believes":
            return 3 if "perfectly relevant" in text else honest
        case "longer is better":
            return 2 + (len(text) > 100) if honest else 0
    return chance.randrange(4)


def preferred(body: Body, chance: random.Random) -> str:
    """Which of two texts."""
    parts = re.split(r"(?m)^=+$", body["messages"][-1]["content"])
    about = f"all about {query_of(body).split()[-1]}"
    match body["model"]:
        case "first":
            return "A"
        case "last":
            return "B"
        case "honest":
            return "A" if about in parts[1] else "B" if about in parts[3] else "tie"
    return chance.choice("AB")


def mostly_honest(judges: int, seed: int) -> dict[str, Any]:
    """A file of probes, 20 a kind: judges wrong about 5 % of texts, whichever they are."""
    chance = np.random.default_rng(seed)
    rows = []
    for judge in range(judges):
        for at in range(20):
            for kind in ("plain", "own", *FALLS, *PAIRED):
                relevant = bool((kind in ("own", *PAIRED)) != (chance.random() < 0.05))
                row = {"judge": f"j{judge}", "kind": kind, "at": at, "relevant": relevant}
                rows.append({**row, "grade": 3 * relevant})
    return {"form": "qrowd probes", "rows": rows}
