"""Made judges, each with its weakness: probes name it."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("httpx", reason="asking machine judges needs the extra ask")
pytest.importorskip("jinja2", reason="asking machine judges needs the extra ask")

from tests.asking.judge_server import Body, Reply, grade, query_of, said, serving, text_of

import qrowd as q
from qrowd.asking.client import Limits
from qrowd.asking.journal import Journal
from qrowd.asking.probes import (
    FALLS,
    PAIRED,
    POSITION,
    Probe,
    Probes,
    probe_items,
    read_probes,
    save_probes,
)
from qrowd.asking.prompts import read_prompt
from qrowd.asking.questions import Judge
from qrowd.asking.session import Session
from qrowd.cli.main import main
from qrowd.errors import InputError

SUBJECTS = ("soup", "rivers", "violins", "comets", "beetles")


@pytest.fixture
def collection() -> tuple[list[tuple[str, ...]], q.Topics, q.Documents]:
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


def asked(
    tmp_path: Path,
    collection: tuple[list[tuple[str, ...]], q.Topics, q.Documents],
    models: list[str],
    prompt: str = "graded",
) -> Probes:
    chance = random.Random(1)
    of_two = prompt == "preference"
    made = probe_items(*collection, 20, seed=3, of_two=of_two)
    judges = [Judge(model, read_prompt(prompt)) for model in models]

    def judge(body: Body, n: int) -> Reply:
        if of_two:
            return said(json.dumps({"better": preferred(body, chance)}))
        return grade(judged(body, chance))

    with serving(judge) as server, Journal(tmp_path / "j") as journal:
        session = Session(judges, made, journal)
        session.ask(server.url, Limits(at_once=16))
        save_probes(session, tmp_path / "probes.json")
    return read_probes(tmp_path / "probes.json")


def by_kind(probes: Probes, model: str) -> dict[str, Probe]:
    return {each.kind: each for each in probes.probes if each.judge.startswith(f"{model}/")}


def test_each_judge_is_named_for_what_it_is(
    tmp_path: Path,
    collection: tuple[list[tuple[str, ...]], q.Topics, q.Documents],
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ["honest", "stuffing", "obeys", "believes", "longer is better", "random"]
    found = asked(tmp_path, collection, names)
    falls = {name: found.falls(f"{name}/graded") for name in names}
    assert falls == {
        "honest": (),
        "stuffing": ("query", "stuffed", "praise"),  # praise names the query
        "obeys": ("order", "hidden"),
        "believes": ("praise",),
        "longer is better": (),
        "random": ("again",),  # says anything to anything
    }
    assert by_kind(found, "random")["again"].same < 0.6
    assert by_kind(found, "stuffing")["again"].same == 1
    assert by_kind(found, "longer is better")["doubled"].low > 0
    main(["judges", "--probes", str(tmp_path / "probes.json")])
    shown = capsys.readouterr()
    assert "obeys/graded falls for: order, hidden" in shown.err
    assert "honest/graded falls for: none of them" in shown.err
    assert shown.out.splitlines()[0].startswith("judge\tkind\tprobes\tmissing\trate")
    assert len(found.notes) == 4


def test_who_goes_by_the_place_is_named(
    tmp_path: Path, collection: tuple[list[tuple[str, ...]], q.Topics, q.Documents]
) -> None:
    names = ["honest", "first", "last", "random"]
    found = asked(tmp_path, collection, names, "preference")
    probes = {name: by_kind(found, name) for name in names}
    assert all(list(kinds) == [POSITION] for kinds in probes.values())
    falls = {name: kinds[POSITION].falls for name, kinds in probes.items()}
    assert falls == {"honest": False, "first": True, "last": True, "random": False}
    honest, first, last, by_chance = (kinds[POSITION] for kinds in probes.values())
    assert (honest.rate, honest.usual, honest.same) == (0.5, 0.5, 1)
    assert (first.rate, first.usual, first.same) == (1, 0, 0)
    assert last.difference == -1
    assert by_chance.same < 0.8


def test_an_honest_judge_is_hardly_ever_accused(tmp_path: Path) -> None:
    """Wrong about 5 % of what it is shown, whatever that is, 20 probes a kind: 400 such judges."""
    chance = np.random.default_rng(5)
    rows = []
    for judge in range(400):
        for at in range(20):
            for kind in ("plain", "own", *FALLS, *PAIRED):
                truth = kind in ("own", *PAIRED)
                relevant = bool(truth != (chance.random() < 0.05))
                row = {"judge": f"j{judge}", "kind": kind, "at": at, "relevant": relevant}
                rows.append({**row, "grade": 3 * relevant})
    path = tmp_path / "probes.json"
    path.write_text(json.dumps({"form": "qrowd probes", "rows": rows}))
    found = read_probes(path)
    assert np.mean([bool(found.falls(judge)) for judge in found.judges]) <= 0.05


def test_probes_are_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "probes.json").write_text('{"form": "qrowd probes", "rows": []}')
    with pytest.raises(InputError):
        q.read_judgements(tmp_path / "probes.json")
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(InputError, match="no probes; `qrowd ask --probe 20` writes them"):
        read_probes(tmp_path / "other.json")


def test_probes_need_two_topics(
    collection: tuple[list[tuple[str, ...]], q.Topics, q.Documents],
) -> None:
    pairs, topics, documents = collection
    with pytest.raises(InputError, match="texts of two topics"):
        probe_items(pairs[:6], topics, documents, 5, 0)
