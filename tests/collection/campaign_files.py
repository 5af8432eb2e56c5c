"""Files of a small campaign, as an organiser has them on disk."""

from __future__ import annotations

import json
from pathlib import Path

TOPICS = ("t1", "t2", "t3")
POOL, GOLD = 10, 6  # documents of each topic


def write_files(folder: Path) -> dict[str, Path]:
    """Topics, documents, pairs, gold and two runs."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {
        "topics": folder / "topics.jsonl",
        "documents": folder / "documents.jsonl",
        "pool": folder / "pool.tsv",
        "gold": folder / "gold.tsv",
        "run": folder / "one.run",
        "other": folder / "two.run",
    }
    topics = [{"topic": name, "query": f"query of {name}"} for name in TOPICS]
    names = [(name, f"{name}-d{at}") for name in TOPICS for at in range(POOL)]
    graded = [(name, f"{name}-g{at}", at % 3) for name in TOPICS for at in range(GOLD)]
    all_names = [one[1] for one in (*names, *graded)]
    documents = [{"doc": one, "title": one, "text": f"text of {one}"} for one in all_names]
    _lines(paths["topics"], [json.dumps(one) for one in topics])
    _lines(paths["documents"], [json.dumps(one) for one in documents])
    _lines(paths["pool"], ["topic\tdoc", *(f"{a}\t{b}" for a, b in names)])
    gold = [f"{a}\t{b}\t{grade}\tBecause." for a, b, grade in graded]
    _lines(paths["gold"], ["topic\tdoc\tgrade\treason", *gold])
    for key, step in (("run", 1), ("other", 2)):
        _lines(paths[key], _run(key, step))
    return paths


def _run(name: str, step: int) -> list[str]:
    """A run that ranks a topic's documents in steps."""
    return [
        f"{topic} Q0 {topic}-d{(at * step + step) % POOL} {at + 1} {POOL - at} {name}"
        for topic in TOPICS
        for at in range(POOL if step == 1 else POOL // 2)
    ]


def _lines(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
